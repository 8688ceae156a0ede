//! Coming in and going out: set-up, sign-in, sign-out.

use leptos::prelude::*;
use serde::{Deserialize, Serialize};
#[cfg(feature = "ssr")]
use {
    crate::error::AppError,
    crate::server::caller::Browser,
    crate::server::session_store::keys,
    crate::server::{local_path, user_agent},
    atelier_domain::account::AccountState,
    atelier_domain::name::{EmailAddress, PersonName, parse_workspace_name},
    atelier_domain::text::{Problem, and_list},
    atelier_domain::zone::ZoneName,
    atelier_domain::{Timestamp, password, paths},
    atelier_engine::clock,
    atelier_engine::store::{Account, FirstAccount},
    atelier_studio::account::{entrance, sessions},
    atelier_studio::typed::Problems,
    axum::http::header,
    tower_sessions::cookie::time::OffsetDateTime,
    tower_sessions::{Expiry, Session},
};

use crate::done::Done;
use crate::error::FnError;

/// The first workspace and its Owner as they are typed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SetUpForm {
    pub code: String,
    pub workspace: String,
    pub name: String,
    pub email: String,
    pub password: String,
    pub time_zone: String,
}

/// Makes the first workspace and its Owner, on a server without accounts, for who knows the code from the
/// log.
#[server(prefix = "/fn", endpoint = "set_up")]
pub async fn set_up(#[server(flatten)] form: SetUpForm) -> Result<Done, FnError> {
    let browser = Browser::here()?;
    let caller = &browser.caller;
    let now = clock::now();
    let tries = [entrance::tries_from(caller)];
    entrance::refuse_if_paused(caller, &tries, now).await?;
    if normal_code(&form.code) != normal_code(&browser.state.set_up_code()) {
        caller.checked(caller.store().add_failure(&tries, now).await)?;
        let message = "This is not the code. It is printed in the server’s log at each start, on the line that says \
                       nobody has an account yet.";
        return Err(Problem::new("code", message).into());
    }
    let mut problems = Problems::default();
    let workspace = problems.take(parse_workspace_name(&form.workspace));
    let name = problems.take(PersonName::parse(&form.name));
    let email = problems.take(EmailAddress::parse(&form.email));
    let strength = problems.take(password::check("password", &form.password, &form.email));
    let zone = problems.take(ZoneName::parse(match form.time_zone.trim() {
        "" => "UTC",
        zone => zone,
    }));
    let (Some(workspace), Some(name), Some(email), Some(()), Some(zone)) = (workspace, name, email, strength, zone)
    else {
        return Err(problems.into_error().into());
    };
    let password_hash = caller.checked(browser.state.passwords().hash(form.password.into()).await)?;
    let first = FirstAccount {
        workspace,
        name: name.as_str().to_owned(),
        email: email.as_str().to_owned(),
        password_hash,
        time_zone: zone.as_str().to_owned(),
    };
    let made = entrance::set_up(caller, &first).await?;
    caller.checked(browser.state.set_up_done().await)?;
    let workspace = made.ok_or_else(|| AppError::Refused {
        code: "set-up.done".into(),
        message: "Somebody has set this server up in the meantime. Sign in instead.".into(),
    })?;
    let account = caller.checked(caller.store().account_by_email(&first.email).await)?.ok_or(AppError::SignedOut)?;
    start_session(&browser, &account, false, now).await?;
    Ok(Done::go(paths::home(&workspace.slug), format!("Welcome, {}. {} is ready.", first.name, workspace.name)))
}

#[server(prefix = "/fn", endpoint = "sign_in")]
pub async fn sign_in(
    email: String,
    password: String,
    #[server(default)] keep: String,
    #[server(default)] next: String,
) -> Result<Done, FnError> {
    let browser = Browser::here()?;
    let caller = &browser.caller;
    let now = clock::now();
    let email = EmailAddress::parse(&email)?;
    if password.is_empty() {
        return Err(Problem::new("password", "Enter your password.").into());
    }
    let tries = entrance::tries(email.as_str(), caller).await?;
    // Whoever has to wait takes nobody's place at the hasher.
    entrance::refuse_if_paused(caller, &tries, now).await?;
    // The count is looked at again, the password checked and the failure counted in one turn, so that many
    // tries at once do not slip past the count.
    let turn = browser.turn().await?;
    entrance::refuse_if_paused(caller, &tries, now).await?;
    let account = caller.checked(caller.store().account_by_email(email.as_str()).await)?;
    let hash = account.as_ref().map(|account| account.password_hash.clone());
    let checked = browser.state.passwords().verify(turn, bounded(password).into(), hash).await;
    let (fits, turn) = caller.checked(checked)?;
    let Some(account) = account.filter(|_| fits) else {
        metrics::counter!("atelier_sign_in_failures_total").increment(1);
        return Err(entrance::count_failure(caller, &email, &tries, now).await?.into());
    };
    drop(turn);
    if account.person.state == AccountState::Disabled {
        // Said only to who knows the password.
        let helpers = caller.checked(caller.store().owner_names(&account.person.workspace, 3).await)?;
        let who = if helpers.is_empty() { "an Owner".to_owned() } else { and_list(&helpers) };
        let message = format!("This account is disabled. Ask {who} to enable it.");
        return Err(AppError::Refused { code: "account.disabled".into(), message }.into());
    }
    entrance::forget_tries(caller, email.as_str(), now).await?;
    start_session(&browser, &account, keep == "on", now).await?;
    let workspace = caller.studio.workspace_by_id(&account.person.workspace);
    let slug = workspace.map(|workspace| workspace.slug).unwrap_or_default();
    Ok(Done::go(local_path::parse(&next).unwrap_or_else(|| paths::home(&slug)), ""))
}

/// Signs out of this session.
#[server(prefix = "/fn", endpoint = "sign_out")]
pub async fn sign_out() -> Result<Done, FnError> {
    let browser = Browser::here()?;
    sessions::sign_out(&browser.caller).await?;
    browser.caller.checked(browser.session()?.flush().await)?;
    Ok(Done::go(paths::SIGN_IN, "You are signed out."))
}

/// Puts the person into a session with a new id, and records it. What was in the browser before counts no
/// more.
#[cfg(feature = "ssr")]
async fn start_session(browser: &Browser, account: &Account, keep: bool, now: Timestamp) -> Result<(), AppError> {
    let (caller, person) = (&browser.caller, &account.person);
    let session: &Session = browser.session()?;
    caller.checked(session.cycle_id().await)?;
    let agent = browser.headers.get(header::USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    caller.checked(session.insert(keys::USER, person.id.as_str()).await)?;
    caller.checked(session.insert(keys::WORKSPACE, person.workspace.as_str()).await)?;
    caller.checked(session.insert(keys::DEVICE, user_agent::describe(agent)).await)?;
    caller.checked(session.insert(keys::ADDRESS, caller.request.address.to_string()).await)?;
    caller.checked(session.insert(keys::CREATED_AT, now.0).await)?;
    caller.checked(session.insert(keys::EPOCH, account.session_epoch).await)?;
    let end = now.plus(caller.studio.settings().sessions.absolute);
    let end = caller.checked(OffsetDateTime::from_unix_timestamp(end.0.div_euclid(1_000)))?;
    // Without "keep", the cookie ends with the browser; the server's own limits hold either way.
    session.set_expiry(Some(if keep { Expiry::AtDateTime(end) } else { Expiry::OnSessionEnd }));
    entrance::signed_in(caller, person).await
}

/// A password longer than any that is taken is cut, so that no request makes the server hash megabytes; it
/// cannot fit anyway.
#[cfg(feature = "ssr")]
fn bounded(password: String) -> String {
    if password.chars().count() <= password::MAX_LENGTH {
        password
    } else {
        password.chars().take(password::MAX_LENGTH + 1).collect()
    }
}

/// Case, spaces and hyphens in a code do not matter.
#[cfg(feature = "ssr")]
fn normal_code(code: &str) -> String {
    code.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase()
}
