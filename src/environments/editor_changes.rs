//! What forms change.

use atelier_domain::access::{Action, Whose};
use atelier_domain::text::parse_why;
use atelier_engine::environments::editor::InstallError;

use crate::done::Done;
use crate::error::AppError;
use crate::server::caller::here;

pub async fn install(why: &str) -> Result<Done, AppError> {
    let caller = here()?;
    let actor = caller.authorise(Action::EngineWrite).await?;
    let why = parse_why(why)?;
    let (workspace, author) = (actor.workspace.id.clone(), caller.author(why)?);
    let tx = caller.begin(Action::EngineWrite, Whose::Others).await?;
    match caller.studio.editors().install(tx, &workspace, &author).await {
        Ok(()) => Ok(Done::stay("VS Code is being installed. That takes some minutes; this page says how far it is.")),
        Err(InstallError::Store(error)) => caller.checked(Err(error)),
        Err(refused @ InstallError::There) => {
            Err(AppError::Refused { code: "editor-installed".into(), message: refused.to_string() })
        }
        Err(refused @ InstallError::Running) => {
            Err(AppError::Refused { code: "editor-installing".into(), message: refused.to_string() })
        }
    }
}
