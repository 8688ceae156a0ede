//! The use cases of Atelier: what people do and what they see, whichever door they come through.
//!
//! A [`caller::Caller`] is who asks. A command is one function: who asks → may they → one order to the
//! engine, or one change in the store. A read is one function too, and gives a *read model*: state, reason,
//! next step, cost and rights as typed values. The portal, REST, the command line and SSH only shape these;
//! none of them decides anything.
//!
//! One folder a noun. What is not a noun: [`studio`] (everything that can be reached), [`orders`] (the way to
//! the engine), [`kept`] (what was read lately), [`clock`] and [`typed`] (times and numbers as people read
//! and type them).

pub mod account;
pub mod budgets;
pub mod caller;
pub mod clock;
pub mod clusters;
pub mod cost;
pub mod counts;
pub mod engines;
pub mod environments;
pub mod fair_shares;
pub mod files;
pub mod forecast;
pub mod history;
pub mod html;
pub mod instances;
pub mod jobs;
pub mod kept;
pub mod offer;
pub mod orders;
pub mod people;
pub mod presence;
pub mod quota;
pub mod schedules;
pub mod search;
pub mod seats;
pub mod secret;
pub mod sizes;
pub mod studio;
pub mod token_scope;
pub mod tokens;
pub mod typed;
pub mod uploads;
pub mod workloads;
