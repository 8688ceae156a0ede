//! One's own profile, password and sessions.

use atelier_domain::access::{Action, Whose};
use atelier_domain::account::{AccountState, Theme};
use atelier_domain::history::Event;
use atelier_domain::name::PersonName;
use atelier_domain::text::{Problem, is_id};
use atelier_domain::zone::ZoneName;
use atelier_domain::{SessionKey, password, paths};
use atelier_engine::clock;
use atelier_engine::live::Cut;
use axum::http::{HeaderValue, header};
use leptos::prelude::use_context;
use leptos_axum::ResponseOptions;

use crate::account::entrance::{refuse_if_paused, subjects};
use crate::done::Done;
use crate::error::AppError;
use crate::server::caller::Browser;
use crate::server::page::{NAV_COOKIE, THEME_COOKIE};
use crate::server::request::cookie_name;

pub async fn update_profile(name: &str, time_zone: &str, theme: &str) -> Result<Done, AppError> {
    let browser = Browser::here()?;
    let caller = &browser.caller;
    let actor = caller.actor()?;
    let (name, zone) = match (PersonName::parse(name), ZoneName::parse(time_zone)) {
        (Ok(name), Ok(zone)) => (name, zone),
        (a, b) => return Err(AppError::Invalid { problems: [a.err(), b.err()].into_iter().flatten().collect() }),
    };
    let theme = Theme::from_key(theme);
    remember(&browser, THEME_COOKIE, theme.key());
    let author = caller.author(None)?;
    let mut tx = caller.begin(Action::ProfileWrite, Whose::Own).await?;
    caller.checked(tx.set_profile(&actor.person.id, name.as_str(), zone.as_str(), theme).await)?;
    caller.checked(
        tx.record(&actor.workspace.id, &author, Some(&actor.person.subject()), &Event::ProfileChanged).await,
    )?;
    caller.checked(tx.commit().await)?;
    Ok(Done::stay("Your profile is saved."))
}

pub async fn change_password(current: String, new: String, time_zone: &str) -> Result<Done, AppError> {
    let browser = Browser::here()?;
    let caller = &browser.caller;
    let actor = caller.authorise_for(Action::ProfileWrite, Whose::Own).await?;
    let person = &actor.person;
    password::check("password", &new, &person.email)?;
    if new == current {
        return Err(Problem::new("password", "This is the password you have. Choose a new one.").into());
    }
    let zone = if time_zone.is_empty() { None } else { Some(ZoneName::parse(time_zone)?) };
    let now = clock::now();
    let subjects = subjects(&person.email, caller);
    let turn = browser.turn().await?;
    refuse_if_paused(caller, &subjects, now).await?;
    let account = caller.checked(caller.store().account_by_email(&person.email).await)?.ok_or(AppError::SignedOut)?;
    let old = account.password_hash;
    let checked = browser.state.passwords().verify(turn, current.into(), Some(old.clone())).await;
    let (fits, turn) = caller.checked(checked)?;
    if !fits {
        caller.checked(caller.store().add_failure(&subjects, now).await)?;
        return Err(Problem::new("current", "This is not your present password.").into());
    }
    drop(turn);
    let hash = caller.checked(browser.state.passwords().hash(new.into()).await)?;
    let author = caller.author(None)?;
    let mut tx = caller.begin(Action::ProfileWrite, Whose::Own).await?;
    if !caller.checked(tx.replace_password(&person.id, &old, &hash).await)? {
        return Err(AppError::Refused {
            code: "account.password-replaced".into(),
            message: "Your password was replaced in the meantime, and this change was not made. Sign in again.".into(),
        });
    }
    if let Some(zone) = zone {
        caller.checked(tx.set_time_zone(&person.id, zone.as_str()).await)?;
    }
    let sessions_ended = caller.checked(tx.end_sessions(&person.id, Some(&actor.session)).await)?;
    let event = Event::PasswordChanged { sessions_ended };
    caller.checked(tx.record(&actor.workspace.id, &author, Some(&person.subject()), &event).await)?;
    caller.checked(tx.commit().await)?;
    caller.studio.live().cut(Cut::PersonExcept(person.id.clone(), actor.session.clone()));
    let ended = match sessions_ended {
        0 => String::new(),
        count => format!(" {} elsewhere ended.", atelier_domain::text::counted(count, "session", "sessions")),
    };
    let message = format!("Your password is changed.{ended}");
    Ok(match person.state {
        AccountState::Waiting => Done::go(paths::home(&actor.workspace.slug), message),
        AccountState::Active | AccountState::Disabled => Done::stay(message),
    })
}

pub async fn end_session(key: &str) -> Result<Done, AppError> {
    let browser = Browser::here()?;
    let caller = &browser.caller;
    let actor = caller.actor()?;
    if !is_id(key) {
        return Err(AppError::not_found("session of yours"));
    }
    let key = SessionKey::new(key);
    let author = caller.author(None)?;
    let mut tx = caller.begin(Action::ProfileWrite, Whose::Own).await?;
    if !caller.checked(tx.end_session(&actor.person.id, &key).await)? {
        return Err(AppError::not_found("session of yours"));
    }
    caller.checked(
        tx.record(&actor.workspace.id, &author, Some(&actor.person.subject()), &Event::SessionsEnded { count: 1 })
            .await,
    )?;
    caller.checked(tx.commit().await)?;
    caller.studio.live().cut(Cut::Session(key.clone()));
    if key == actor.session {
        caller.checked(browser.session()?.flush().await)?;
        return Ok(Done::go(paths::SIGN_IN, "You are signed out."));
    }
    Ok(Done::stay("The session has ended."))
}

pub async fn sign_out_everywhere() -> Result<Done, AppError> {
    let browser = Browser::here()?;
    let caller = &browser.caller;
    let actor = caller.actor()?;
    let author = caller.author(None)?;
    let mut tx = caller.begin(Action::ProfileWrite, Whose::Own).await?;
    let count = caller.checked(tx.end_sessions(&actor.person.id, None).await)?;
    caller.checked(
        tx.record(&actor.workspace.id, &author, Some(&actor.person.subject()), &Event::SessionsEnded { count }).await,
    )?;
    caller.checked(tx.commit().await)?;
    caller.checked(browser.session()?.flush().await)?;
    caller.studio.live().cut(Cut::Person(actor.person.id.clone()));
    Ok(Done::go(paths::SIGN_IN, "You are signed out everywhere."))
}

pub async fn set_theme(theme: &str) -> Result<Done, AppError> {
    let browser = Browser::here()?;
    let caller = &browser.caller;
    let actor = caller.actor()?;
    let theme = Theme::from_key(theme);
    remember(&browser, THEME_COOKIE, theme.key());
    let author = caller.author(None)?;
    let mut tx = caller.begin(Action::ProfileWrite, Whose::Own).await?;
    caller.checked(tx.set_theme(&actor.person.id, theme).await)?;
    caller.checked(
        tx.record(&actor.workspace.id, &author, Some(&actor.person.subject()), &Event::ProfileChanged).await,
    )?;
    caller.checked(tx.commit().await)?;
    Ok(Done::default())
}

pub async fn set_nav(collapsed: bool) -> Result<Done, AppError> {
    let browser = Browser::here()?;
    let caller = &browser.caller;
    caller.authorise_for(Action::ProfileWrite, Whose::Own).await?;
    remember(&browser, NAV_COOKIE, if collapsed { "collapsed" } else { "open" });
    Ok(Done::default())
}

pub async fn read_notices() -> Result<Done, AppError> {
    let browser = Browser::here()?;
    let caller = &browser.caller;
    let actor = caller.actor()?;
    let mut tx = caller.begin(Action::ProfileWrite, Whose::Own).await?;
    caller.checked(tx.read_notices(&actor.person.id).await)?;
    caller.checked(tx.commit().await)?;
    Ok(Done::default())
}

/// A cookie for looks alone, kept for a year.
fn remember(browser: &Browser, name: &str, value: &str) {
    let secure = if browser.state.config().is_secure() { "; Secure" } else { "" };
    let name = cookie_name(name, browser.state.config().is_secure());
    let cookie = format!("{name}={value}; Path=/; Max-Age=31536000; HttpOnly; SameSite=Lax{secure}");
    if let (Some(options), Ok(value)) = (use_context::<ResponseOptions>(), HeaderValue::from_str(&cookie)) {
        options.append_header(header::SET_COOKIE, value);
    }
}
