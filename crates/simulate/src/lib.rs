//! The simulator for people: what a policy would do to waits, machines and money, before anybody trusts it.
//!
//! The core that decides is the real one ([`World::step`](atelier_domain::world::World::step)); around it are
//! a model of drivers (how long a launch takes, what fails, what is lost) and of people (who submits what
//! when), or a recorded history in their place. Time is virtual: it jumps from one event to the next, so that
//! cost follows what happens and not how long the scenario is. There is no clock, no randomness of the system
//! and no I/O, so the same scenario gives the same report, byte for byte; all policies meet the same jobs
//! with the same run times.
//!
//! ```
//! use atelier_simulate::{Scenario, simulate};
//! use std::ops::ControlFlow;
//!
//! let scenario = Scenario::from_toml(
//!     r#"
//!     name = "A morning"
//!     start = "2026-03-02T08:00"
//!     length = "4 h"
//!     site = [{ name = "local" }]
//!     size = [{ name = "small", site = "local", cores = 2, memory_gib = 4 }]
//!     cluster = [{ name = "shared", size = "small", max = 4 }]
//!     people = [{ name = "ada" }]
//!     jobs = [{ name = "cells", per_hour = 6, cluster = "shared", runs = { fixed = "5 min" } }]
//!     policy = [{ name = "from zero" }, { name = "one warm", min = 1 }]
//!     "#,
//! )?;
//! let report = simulate(&scenario, &mut |_| ControlFlow::Continue(()))?;
//! println!("{}", report.table());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod dice;
pub mod forecast;
mod histogram;
mod length;
mod maths;
pub mod recorded;
pub mod report;
mod run;
pub mod scenario;
pub mod setup;

pub use recorded::{Recorded, read_history};
pub use report::Report;
pub use run::{Progress, Stopped, Timeline, simulate};
pub use scenario::{Draft, Refused, Scenario};
pub use setup::{Policy, Setup, apply_policy};
