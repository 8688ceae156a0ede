//! Accounts from the server's own shell, for the administrator who is locked out.

use atelier_domain::account::{AccountVerb, Ending};
use atelier_domain::history::Actor;
use atelier_domain::name::EmailAddress;
use atelier_engine::clock;
use atelier_engine::store::{Author, Missing};

use crate::server::config::Config;
use crate::server::passwords::{Passwords, temporary};
use crate::server::serve::open_store;

/// Sets a temporary password and prints it. A server that runs on the same database need not be stopped.
pub async fn reset_password(config: Config, email: String, ending: Ending) -> Result<(), String> {
    let email = EmailAddress::parse(&email).map_err(|problem| problem.message)?;
    let store = open_store(&config, Missing::Refuse).await?;
    let text = |error: atelier_engine::store::Error| error.to_string();
    let Some(account) = store.account_by_email(email.as_str()).await.map_err(text)? else {
        store.close().await;
        return Err(format!("nobody has an account with the address {email}; nothing was changed"));
    };
    let password = temporary();
    let hasher = Passwords::new().map_err(|error| error.to_string())?;
    let hash = hasher.hash(password.clone().into()).await.map_err(|error| error.to_string())?;
    let author = Author { actor: Actor::Console, request: String::new(), why: None };
    let mut tx = store.begin(clock::now()).await.map_err(text)?;
    let outcome =
        tx.change_account(AccountVerb::ResetPassword, &account.person, Some(&hash), &author).await.map_err(text)?;
    if let Err(refusal) = outcome {
        drop(tx);
        store.close().await;
        return Err(format!("{email}: {refusal}"));
    }
    let ended = tx.end_access(&account.person, ending, &author).await.map_err(text)?;
    tx.commit().await.map_err(text)?;
    store.close().await;
    println!("{password}");
    eprintln!(
        "This is the temporary password of {email}. It must be replaced at the next sign-in; all sessions of the \
         account have ended.{}",
        ended.said()
    );
    Ok(())
}
