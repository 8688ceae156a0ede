//! When instances start and stop by themselves: the week of all, the hours of one, and the warning before a stop.

pub mod grid;
pub mod idle;
mod instance;
pub mod jobs;
mod outlook;
mod rules;
mod week;

pub use instance::InstanceSchedulesPage;
pub use outlook::part as outlook_part;
pub use rules::cron_answer;
pub use week::SchedulesPage;
