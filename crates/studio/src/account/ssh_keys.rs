//! One's own SSH keys.

use atelier_domain::error::AppError;
use atelier_engine::store::SshKey;

use crate::caller::Caller;
use crate::instances::ssh::Directions;

/// The viewer's keys, and where they lead.
#[derive(Clone, Debug)]
pub struct OwnKeys {
    pub keys: Vec<SshKey>,
    /// How to connect; nothing where the server has no SSH.
    pub directions: Option<Directions>,
}

/// Reads them.
pub async fn own_ssh_keys(caller: &Caller) -> Result<OwnKeys, AppError> {
    let keys = crate::instances::ssh::keys(caller).await?;
    Ok(OwnKeys { keys, directions: caller.studio.directions().cloned() })
}
