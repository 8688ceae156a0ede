//! What commands were answered, for who asks again when the order cannot even be made any more.

use atelier_domain::WorkspaceId;
use atelier_domain::reason::Reason;
use atelier_domain::world::Answer;

use super::sql::from_json;
use super::{Result, Store};
use crate::run::{CommandId, OrderError};

impl Store {
    /// The answer that a command got before, if it got one. An id that was used for something else is one
    /// that was reused.
    pub async fn known_answer(
        &self,
        workspace: &WorkspaceId,
        id: &CommandId,
    ) -> Result<Option<std::result::Result<Answer, OrderError>>> {
        let mut found = self.answered(&[id.as_str()]).await?;
        let Some(known) = found.remove(&(workspace.as_str().to_owned(), id.as_str().to_owned())) else {
            return Ok(None);
        };
        if id.said() != Some(known.digest.as_str()) {
            return Ok(Some(Err(OrderError::IdReused)));
        }
        let judged: std::result::Result<Answer, Reason> = from_json("an answer", &known.answer)?;
        Ok(Some(judged.map_err(OrderError::Refused)))
    }
}
