//! What pages read.

use atelier_domain::error::AppError;
use atelier_engine::store::Person;

use crate::caller::Caller;
use crate::instances::sharing;
use crate::instances::sharing::{ShareRow, SharedWithMe};

/// What the tab of an instance shows.
#[derive(Clone, Debug)]
pub struct SharingView {
    /// The shares.
    pub rows: Vec<ShareRow>,
    /// With whom else something could be shared.
    pub colleagues: Vec<Person>,
}

/// The shares of one's own instance. Needs `instance.share`.
pub async fn sharing(caller: &Caller, name: &str) -> Result<SharingView, AppError> {
    let (_, rows) = sharing::list(caller, name).await?;
    Ok(SharingView { rows, colleagues: sharing::colleagues(caller).await? })
}

/// What others share with the viewer.
pub async fn shared_with_me(caller: &Caller) -> Result<Vec<SharedWithMe>, AppError> {
    sharing::with_me(caller).await
}
