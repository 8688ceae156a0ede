//! A new instance as the wizard has it: what was typed, what is wrong with it, what it would cost, and what it becomes.

mod draft;
mod judge;
mod make;
mod summary;
mod wizard;

use atelier_engine::run::CommandId;

use crate::studio::instance::InstanceRequest;
use crate::studio::schedule::NewSchedule;

pub use draft::{load, save};
pub use judge::{Known, defaults, judge};
pub use make::make;
pub use summary::{QuotaAfter, Summary, cost_of, month_of, quote};
pub use wizard::{FIELDS, NameVerdict, Step, Wizard, check_name, is_shown, known, wizard};

/// An instance as somebody asks for it, every field judged by itself.
#[derive(Clone, Debug)]
pub struct NewInstanceForm {
    /// The id of the command, so that the same form sent twice makes one instance.
    pub id: CommandId,
    /// The instance.
    pub request: InstanceRequest,
    /// When it starts and stops by itself.
    pub schedules: Vec<NewSchedule>,
}
