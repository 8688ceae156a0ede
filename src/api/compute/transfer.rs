//! Giving an instance to somebody else.

#![allow(
    missing_docs,
    reason = "the argument structs of server functions are generated; their fields are the form's fields"
)]

use leptos::prelude::*;

use crate::api::Done;
use crate::error::AppError;

#[cfg(feature = "ssr")]
pub use reads::*;

/// Gives a stopped instance to somebody else, without what opens doors in its home. Needs `instance.transfer`.
#[server(prefix = "/fn", endpoint = "transfer_instance")]
pub async fn transfer_instance(
    #[server(default)] command_id: String,
    instance: String,
    #[server(default)] to: String,
    #[server(default)] why: String,
) -> Result<Done, AppError> {
    changes::transfer(&command_id, &instance, &to, &why).await
}

#[cfg(feature = "ssr")]
mod reads {
    use crate::api::caller::Caller;
    use crate::api::compute::instances::{InstanceDetail, instance};
    use crate::error::AppError;
    use crate::studio::instance::{Receiver, question, receivers};

    /// What the question says.
    pub struct TransferView {
        /// The instance.
        pub detail: InstanceDetail,
        /// What is taken out of its home.
        pub secrets: Vec<String>,
        /// Who could have it.
        pub receivers: Vec<Receiver>,
    }

    /// What giving it away means. Needs `instance.transfer`.
    pub async fn transfer_question(caller: &Caller, name: &str) -> Result<TransferView, AppError> {
        let (subject, secrets) = question(caller, name).await?;
        let receivers = receivers(caller, &subject).await?;
        Ok(TransferView { detail: instance(caller, name).await?, secrets, receivers })
    }
}

#[cfg(feature = "ssr")]
mod changes {
    use atelier_domain::text::parse_why;
    use atelier_domain::world::Answer;

    use crate::api::Done;
    use crate::api::caller::Caller;
    use crate::error::AppError;
    use crate::paths;
    use crate::studio::command_id;
    use crate::studio::instance;

    pub async fn transfer(id: &str, name: &str, to: &str, why: &str) -> Result<Done, AppError> {
        let caller = Caller::here()?;
        let (id, why) = (command_id(id)?, parse_why(why)?);
        let (subject, person, answer) = instance::transfer(&caller, id, name, to, why).await?;
        let next = paths::instance(&caller.actor()?.workspace.slug, subject.name.as_str());
        Ok(Done::go(
            next,
            match answer {
                Answer::Already => format!("{} is {}’s already.", subject.name, person.name),
                _ => format!(
                    "{} is {}’s now. It can be started when its home is clean, in a moment.",
                    subject.name, person.name
                ),
            },
        ))
    }
}
