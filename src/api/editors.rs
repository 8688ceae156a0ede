//! VS Code for instances: installed on the server when an operator wants it.

#![allow(
    missing_docs,
    reason = "the argument structs of server functions are generated; their fields are the form's fields"
)]

use leptos::prelude::*;

use crate::api::Done;
use crate::error::AppError;

/// Begins to install VS Code on this server. Needs `engine.write`.
#[server(prefix = "/fn", endpoint = "install_editor")]
pub async fn install_editor(#[server(default)] why: String) -> Result<Done, AppError> {
    changes::install(&why).await
}

#[cfg(feature = "ssr")]
mod changes {
    use atelier_domain::access::{Action, Whose};
    use atelier_domain::text::parse_why;
    use atelier_engine::environments::editor::InstallError;

    use crate::api::Done;
    use crate::api::caller::Caller;
    use crate::error::AppError;

    pub async fn install(why: &str) -> Result<Done, AppError> {
        let caller = Caller::here()?;
        let actor = caller.authorise(Action::EngineWrite).await?;
        let why = parse_why(why)?;
        let (workspace, author) = (actor.workspace.id.clone(), caller.author(why)?);
        let tx = caller.begin(Action::EngineWrite, Whose::Others).await?;
        match caller.state.editors().install(tx, &workspace, &author).await {
            Ok(()) => {
                Ok(Done::stay("VS Code is being installed. That takes some minutes; this page says how far it is."))
            }
            Err(InstallError::Store(error)) => caller.checked(Err(error)),
            Err(refused @ InstallError::There) => {
                Err(AppError::Refused { code: "editor-installed".into(), message: refused.to_string() })
            }
            Err(refused @ InstallError::Running) => {
                Err(AppError::Refused { code: "editor-installing".into(), message: refused.to_string() })
            }
        }
    }
}
