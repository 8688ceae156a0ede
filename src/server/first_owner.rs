//! The first account: by the set-up page with its one-time code, or from the configuration.

use atelier_domain::history::Actor;
use atelier_domain::password;
use atelier_engine::store::{Author, FirstAccount};
use secrecy::{ExposeSecret as _, SecretString};

use crate::server::state::AppState;

/// Makes the configured Owner if nobody has an account, or prints the code that the set-up page asks for.
pub async fn prepare(state: &AppState) -> Result<(), String> {
    if state.has_people().await.map_err(|error| error.to_string())? {
        return Ok(());
    }
    let Some((email, file)) = &state.config().admin else {
        let address = state.config().address();
        let code = state.set_up_code();
        tracing::info!("nobody has an account yet: open {address}/set-up and enter the set-up code {code}");
        return Ok(());
    };
    let shown = file.display();
    let text = std::fs::read_to_string(file)
        .map_err(|error| format!("admin_password_file: the file {shown} cannot be read: {error}"))?;
    let secret = SecretString::from(text.lines().next().unwrap_or_default().trim_end().to_owned());
    password::check("password", secret.expose_secret(), email)
        .map_err(|problem| format!("admin_password_file: the password in {shown} is refused: {}", problem.message))?;
    let password_hash = state.passwords().hash(secret).await.map_err(|error| error.to_string())?;
    let first = FirstAccount {
        workspace: "Studio".into(),
        name: email.split('@').next().unwrap_or("admin").to_owned(),
        email: email.clone(),
        password_hash,
        time_zone: "UTC".into(),
    };
    let author = Author { actor: Actor::System, request: String::new(), why: Some("admin_email is configured".into()) };
    state.store().set_up(&first, &author).await.map_err(|error| error.to_string())?;
    state.set_up_done().await.map_err(|error| error.to_string())?;
    tracing::info!("the configured Owner was made; sign in at {}", state.config().address());
    Ok(())
}
