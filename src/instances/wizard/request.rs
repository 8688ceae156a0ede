//! A new instance as the wizard has it: what was typed, what is wrong with it, what it would cost, and what it becomes.

use atelier_engine::run::CommandId;
use atelier_studio::instances::create::InstanceRequest;
use atelier_studio::schedules::commands::NewSchedule;

/// An instance as somebody asks for it, every field judged by itself.
#[derive(Clone, Debug)]
pub struct NewInstanceForm {
    /// The id of the command, so that the same form sent twice makes one instance.
    pub id: CommandId,
    pub request: InstanceRequest,
    /// When it starts and stops by itself.
    pub schedules: Vec<NewSchedule>,
}
