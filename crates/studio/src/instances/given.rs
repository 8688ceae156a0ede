//! What pages read.

use atelier_domain::error::AppError;

use crate::caller::Caller;
use crate::instances::detail::{InstanceDetail, instance};
use crate::instances::transfer::{Receiver, question, receivers};

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
