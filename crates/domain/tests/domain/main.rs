//! All integration tests of the core, in one program so that it is linked once. `cargo test -p atelier-domain
//! --test domain rules::` runs those of one module.
#![cfg(feature = "zones")]

mod ahead;
mod arrays;
mod budgets;
mod environments;
mod golden;
mod golden_engine;
mod instances;
mod rules;
mod schedule_golden;
mod schedule_properties;
mod schedule_zones;
mod scheduling;
mod script;
mod simulation;
mod support;
