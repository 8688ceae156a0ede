//! One's own keys for SSH, and the switch of one's own instances.

#![allow(
    missing_docs,
    reason = "the argument structs of server functions are generated; their fields are the form's fields"
)]

use leptos::prelude::*;

use crate::api::Done;
use crate::error::AppError;

#[cfg(feature = "ssr")]
pub use reads::*;

/// Adds a key to the own profile.
#[server(prefix = "/fn", endpoint = "add_ssh_key")]
pub async fn add_ssh_key(key: String, #[server(default)] name: String) -> Result<Done, AppError> {
    changes::add(&name, &key).await
}

/// Removes one of one's own keys.
#[server(prefix = "/fn", endpoint = "remove_ssh_key")]
pub async fn remove_ssh_key(key_id: String) -> Result<Done, AppError> {
    changes::remove(&key_id).await
}

/// Lets an instance be entered by SSH, or not any more.
#[server(prefix = "/fn", endpoint = "switch_ssh")]
pub async fn switch_ssh(instance: String, is_on: String) -> Result<Done, AppError> {
    changes::switch(&instance, &is_on).await
}

#[cfg(feature = "ssr")]
mod reads {
    use atelier_engine::store::SshKey;

    use crate::api::caller::Caller;
    use crate::error::AppError;
    use crate::server::ssh::Directions;

    /// The viewer's keys, and where they lead.
    #[derive(Clone, Debug)]
    pub struct OwnKeys {
        /// Newest first.
        pub keys: Vec<SshKey>,
        /// How to connect; nothing where the server has no SSH.
        pub directions: Option<Directions>,
    }

    /// Reads them.
    pub async fn own_ssh_keys() -> Result<OwnKeys, AppError> {
        let caller = Caller::here()?;
        let keys = crate::studio::ssh::keys(&caller).await?;
        Ok(OwnKeys { keys, directions: Directions::of(&caller.state) })
    }
}

#[cfg(feature = "ssr")]
mod changes {
    use crate::api::Done;
    use crate::api::caller::Caller;
    use crate::error::AppError;
    use crate::studio::instance::find;
    use crate::studio::ssh;

    pub async fn add(name: &str, key: &str) -> Result<Done, AppError> {
        let caller = Caller::here()?;
        let key = ssh::add_key(&caller, name, key).await?;
        Ok(Done::stay(format!("The key “{}” was added. It opens your instances for which SSH is on.", key.name)))
    }

    pub async fn remove(key: &str) -> Result<Done, AppError> {
        let caller = Caller::here()?;
        let name = ssh::remove_key(&caller, key).await?;
        Ok(Done::stay(format!("The key “{name}” was removed. Connections that came in with it end now.")))
    }

    pub async fn switch(instance: &str, is_on: &str) -> Result<Done, AppError> {
        let caller = Caller::here()?;
        let subject = find(&caller, instance).await?;
        let is_on = is_on == "on";
        ssh::switch(&caller, &subject, is_on).await?;
        Ok(Done::stay(match is_on {
            true => format!("{} can be entered by SSH now.", subject.name),
            false => format!("{} cannot be entered by SSH any more. Open connections end now.", subject.name),
        }))
    }
}
