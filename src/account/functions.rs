//! One's own account: profile, password, sessions, tokens, SSH keys.

use atelier_domain::account::Theme;
use leptos::prelude::*;
#[cfg(feature = "ssr")]
use {
    crate::error::AppError,
    crate::server::caller::{Browser, here},
    crate::server::page::{NAV_COOKIE, THEME_COOKIE},
    crate::server::request::cookie_name,
    atelier_domain::access::{Action, Whose},
    atelier_domain::account::{AccountState, Ending},
    atelier_domain::name::PersonName,
    atelier_domain::text::{Problem, counted},
    atelier_domain::token::{Lifetime, TokenName},
    atelier_domain::workload::Scope,
    atelier_domain::zone::ZoneName,
    atelier_domain::{password as passwords, paths},
    atelier_engine::clock,
    atelier_studio::account::{entrance, profile, sessions, tokens},
    atelier_studio::instances::commands::find,
    atelier_studio::instances::ssh,
    atelier_studio::token_scope,
    atelier_studio::typed::Problems,
    axum::http::{HeaderValue, header},
    leptos_axum::ResponseOptions,
};

use crate::done::Done;
use crate::error::FnError;

/// Changes one's own name, time zone and theme.
#[server(prefix = "/fn", endpoint = "update_profile")]
pub async fn update_profile(name: String, time_zone: String, #[server(default)] theme: Theme) -> Result<Done, FnError> {
    let browser = Browser::here()?;
    let mut problems = Problems::default();
    let name = problems.take(PersonName::parse(&name));
    let zone = problems.take(ZoneName::parse(&time_zone));
    let (Some(name), Some(zone)) = (name, zone) else { return Err(problems.into_error().into()) };
    remember(&browser, THEME_COOKIE, theme.key());
    profile::set_profile(&browser.caller, &name, &zone, theme).await?;
    Ok(Done::stay("Your profile is saved."))
}

/// Changes one's own password; every other session ends, and personal tokens and SSH keys if that is wanted.
/// A first password comes with the browser's time zone.
#[server(prefix = "/fn", endpoint = "change_password")]
pub async fn change_password(
    current: String,
    password: String,
    #[server(default)] time_zone: String,
    #[server(default)] end_tokens: String,
    #[server(default)] end_ssh_keys: String,
) -> Result<Done, FnError> {
    let browser = Browser::here()?;
    let caller = &browser.caller;
    let actor = caller.authorise_for(Action::ProfileWrite, Whose::Own).await?;
    let person = &actor.person;
    passwords::check("password", &password, &person.email)?;
    if password == current {
        return Err(Problem::new("password", "This is the password you have. Choose a new one.").into());
    }
    let zone = if time_zone.is_empty() { None } else { Some(ZoneName::parse(&time_zone)?) };
    let now = clock::now();
    let tries = entrance::tries(&person.email, caller).await?;
    entrance::refuse_if_paused(caller, &tries, now).await?;
    let turn = browser.turn().await?;
    entrance::refuse_if_paused(caller, &tries, now).await?;
    let account = caller.checked(caller.store().account_by_email(&person.email).await)?.ok_or(AppError::SignedOut)?;
    let old = account.password_hash;
    let checked = browser.state.passwords().verify(turn, current.into(), Some(old.clone())).await;
    let (fits, turn) = caller.checked(checked)?;
    if !fits {
        caller.checked(caller.store().add_failure(&tries, now).await)?;
        return Err(Problem::new("current", "This is not your present password.").into());
    }
    drop(turn);
    let hash = caller.checked(browser.state.passwords().hash(password.into()).await)?;
    let ending = Ending { tokens: end_tokens == "on", ssh_keys: end_ssh_keys == "on" };
    let (sessions, ended) = profile::set_password(caller, &old, &hash, zone.as_ref(), ending).await?;
    let sessions = match sessions {
        0 => String::new(),
        count => format!(" {} elsewhere ended.", counted(count, "session", "sessions")),
    };
    let message = format!("Your password is changed.{sessions}{}", ended.said());
    Ok(match person.state {
        AccountState::Waiting => Done::go(paths::home(&actor.workspace.slug), message),
        AccountState::Active | AccountState::Disabled => Done::stay(message),
    })
}

/// Ends one of one's own sessions.
#[server(prefix = "/fn", endpoint = "end_session")]
pub async fn end_session(key: String) -> Result<Done, FnError> {
    let browser = Browser::here()?;
    if !sessions::end(&browser.caller, &key).await? {
        return Ok(Done::stay("The session has ended."));
    }
    browser.caller.checked(browser.session()?.flush().await)?;
    Ok(Done::go(paths::SIGN_IN, "You are signed out."))
}

/// Ends all of one's own sessions, this one included.
#[server(prefix = "/fn", endpoint = "sign_out_everywhere")]
pub async fn sign_out_everywhere() -> Result<Done, FnError> {
    let browser = Browser::here()?;
    sessions::end_all(&browser.caller).await?;
    browser.caller.checked(browser.session()?.flush().await)?;
    Ok(Done::go(paths::SIGN_IN, "You are signed out everywhere."))
}

/// Sets the theme, from the menu.
#[server(prefix = "/fn", endpoint = "set_theme")]
pub async fn set_theme(theme: Theme) -> Result<Done, FnError> {
    let browser = Browser::here()?;
    remember(&browser, THEME_COOKIE, theme.key());
    profile::set_theme(&browser.caller, theme).await?;
    Ok(Done::default())
}

/// Folds or unfolds the navigation, in this browser.
#[server(prefix = "/fn", endpoint = "set_nav")]
pub async fn set_nav(#[server(default)] collapsed: String) -> Result<Done, FnError> {
    let browser = Browser::here()?;
    browser.caller.authorise_for(Action::ProfileWrite, Whose::Own).await?;
    remember(&browser, NAV_COOKIE, if collapsed == "on" { "collapsed" } else { "open" });
    Ok(Done::default())
}

/// Marks what the bell holds as read.
#[server(prefix = "/fn", endpoint = "read_notices")]
pub async fn read_notices() -> Result<Done, FnError> {
    profile::read_notices(&here()?).await?;
    Ok(Done::default())
}

/// Makes a token; its secret is shown once.
#[server(prefix = "/fn", endpoint = "create_token")]
pub async fn create_token(name: String, #[server(default)] days: String) -> Result<Done, FnError> {
    let caller = here()?;
    caller.authorise_for(Action::ProfileWrite, Whose::Own).await?;
    let mut problems = Problems::default();
    let name = problems.take(TokenName::parse(&name));
    let life = problems.take(Lifetime::parse(&days));
    let (Some(name), Some(life)) = (name, life) else { return Err(problems.into_error().into()) };
    let secret = tokens::create(&caller, &name, life).await?;
    let name = name.as_str();
    Ok(Done {
        secret_label: format!("Token “{name}”"),
        secret,
        ..Done::stay(format!("The token “{name}” was made. It works for {} days.", life.days()))
    })
}

/// Takes one of one's own tokens away.
#[server(prefix = "/fn", endpoint = "revoke_token")]
pub async fn revoke_token(token: String) -> Result<Done, FnError> {
    let name = tokens::revoke(&here()?, &token).await?;
    Ok(Done::stay(format!("The token “{name}” was revoked and works no more.")))
}

/// Adds a key to the own profile.
#[server(prefix = "/fn", endpoint = "add_ssh_key")]
pub async fn add_ssh_key(key: String, #[server(default)] name: String) -> Result<Done, FnError> {
    let key = ssh::add_key(&here()?, &name, &key).await?;
    Ok(Done::stay(format!("The key “{}” was added. It opens your instances for which SSH is on.", key.name)))
}

/// Removes one of one's own keys.
#[server(prefix = "/fn", endpoint = "remove_ssh_key")]
pub async fn remove_ssh_key(key_id: String) -> Result<Done, FnError> {
    let name = ssh::remove_key(&here()?, &key_id).await?;
    Ok(Done::stay(format!("The key “{name}” was removed. Connections that came in with it end now.")))
}

/// Lets an instance be entered by SSH, or not any more.
#[server(prefix = "/fn", endpoint = "switch_ssh")]
pub async fn switch_ssh(instance: String, is_on: String) -> Result<Done, FnError> {
    let caller = here()?;
    let subject = find(&caller, &instance).await?;
    let is_on = is_on == "on";
    ssh::switch(&caller, &subject, is_on).await?;
    Ok(Done::stay(match is_on {
        true => format!("{} can be entered by SSH now.", subject.name),
        false => format!("{} cannot be entered by SSH any more. Open connections end now.", subject.name),
    }))
}

/// Sets how far the tokens of an instance, or of a cluster's jobs, reach.
#[server(prefix = "/fn", endpoint = "set_token_scope")]
pub async fn set_token_scope(compute: String, scope: String) -> Result<Done, FnError> {
    let caller = here()?;
    let scope = Scope::from_key(&scope).ok_or_else(|| Problem::new("scope", "Choose how far the tokens reach."))?;
    token_scope::set_token_scope(&caller, token_scope::Noun::Any, &compute, scope).await?;
    Ok(Done::stay(match scope {
        Scope::Own => format!("Tokens of {compute} change only what their owners own."),
        Scope::All => format!("Tokens of {compute} change everything that their owners may change."),
    }))
}

/// A cookie for looks alone, kept for a year.
#[cfg(feature = "ssr")]
fn remember(browser: &Browser, name: &str, value: &str) {
    let secure = if browser.state.config().is_secure() { "; Secure" } else { "" };
    let name = cookie_name(name, browser.state.config().is_secure());
    let cookie = format!("{name}={value}; Path=/; Max-Age=31536000; HttpOnly; SameSite=Lax{secure}");
    if let (Some(options), Ok(value)) = (use_context::<ResponseOptions>(), HeaderValue::from_str(&cookie)) {
        options.append_header(header::SET_COOKIE, value);
    }
}
