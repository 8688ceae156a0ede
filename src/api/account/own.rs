//! One's own profile, password and sessions.

use atelier_domain::account::{AccountState, Theme};
use atelier_domain::history::Event;
use atelier_domain::name::PersonName;
use atelier_domain::text::Problem;
use atelier_domain::zone::ZoneName;
use atelier_domain::{SessionKey, password};
use atelier_engine::clock;
use atelier_engine::live::Cut;
use axum::http::{HeaderValue, header};
use leptos::prelude::use_context;
use leptos_axum::ResponseOptions;

use crate::api::Done;
use crate::api::caller::Caller;
use crate::error::AppError;
use crate::paths;
use crate::server::page::{NAV_COOKIE, THEME_COOKIE};

pub async fn update_profile(name: &str, time_zone: &str, theme: &str) -> Result<Done, AppError> {
    let caller = Caller::here()?;
    let actor = caller.actor()?;
    let (name, zone) = match (PersonName::parse(name), ZoneName::parse(time_zone)) {
        (Ok(name), Ok(zone)) => (name, zone),
        (a, b) => return Err(AppError::Invalid { problems: [a.err(), b.err()].into_iter().flatten().collect() }),
    };
    let theme = Theme::from_key(theme);
    remember(&caller, THEME_COOKIE, theme.key());
    let author = caller.author(None)?;
    let mut tx = caller.checked(caller.store().begin(clock::now()).await)?;
    caller.checked(tx.set_profile(&actor.person.id, name.as_str(), zone.as_str(), theme).await)?;
    caller.checked(
        tx.record(&actor.workspace.id, &author, Some(&actor.person.subject()), &Event::ProfileChanged).await,
    )?;
    caller.checked(tx.commit().await)?;
    Ok(Done::stay("Your profile is saved."))
}

pub async fn change_password(current: String, new: String) -> Result<Done, AppError> {
    let caller = Caller::here()?;
    let actor = caller.actor()?;
    let person = &actor.person;
    password::check("password", &new, &person.email)?;
    if new == current {
        return Err(Problem::new("password", "This is the password you have. Choose a new one.").into());
    }
    let account = caller.checked(caller.store().account_by_email(&person.email).await)?.ok_or(AppError::SignedOut)?;
    let subject = format!("account:{}", person.email);
    let limit = atelier_domain::throttle::ACCOUNT;
    let now = clock::now();
    if let atelier_domain::throttle::Verdict::Paused { until } =
        limit.verdict(caller.checked(caller.store().failures(&subject).await)?, now)
    {
        let wait = until.since(now);
        return Err(AppError::TooMany {
            message: format!("Too many failed tries. Wait {wait}, then try again."),
            retry_after_secs: u32::try_from(wait.as_millis() / 1_000 + 1).unwrap_or(u32::MAX),
        });
    }
    if !caller.checked(caller.state.passwords().verify(current.into(), Some(account.password_hash)).await)? {
        caller.checked(caller.store().add_failure(&[(subject, limit)], now).await)?;
        return Err(Problem::new("current", "This is not your present password.").into());
    }
    let hash = caller.checked(caller.state.passwords().hash(new.into()).await)?;
    let author = caller.author(None)?;
    let mut tx = caller.checked(caller.store().begin(now).await)?;
    caller.checked(tx.set_password(&person.id, &hash, false).await)?;
    let sessions_ended = caller.checked(tx.end_sessions(&person.id, Some(&actor.session)).await)?;
    caller.checked(
        tx.record(&actor.workspace.id, &author, Some(&person.subject()), &Event::PasswordChanged { sessions_ended })
            .await,
    )?;
    caller.checked(tx.commit().await)?;
    caller.state.live().cut(Cut::PersonExcept(person.id.clone(), actor.session.clone()));
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
    let caller = Caller::here()?;
    let actor = caller.actor()?;
    let key = SessionKey::new(key);
    let author = caller.author(None)?;
    let mut tx = caller.checked(caller.store().begin(clock::now()).await)?;
    if !caller.checked(tx.end_session(&actor.person.id, &key).await)? {
        return Err(AppError::not_found("session of yours"));
    }
    caller.checked(
        tx.record(&actor.workspace.id, &author, Some(&actor.person.subject()), &Event::SessionsEnded { count: 1 })
            .await,
    )?;
    caller.checked(tx.commit().await)?;
    caller.state.live().cut(Cut::Session(key.clone()));
    if key == actor.session {
        caller.checked(caller.session()?.flush().await)?;
        return Ok(Done::go(paths::SIGN_IN, "You are signed out."));
    }
    Ok(Done::stay("The session has ended."))
}

pub async fn sign_out_everywhere() -> Result<Done, AppError> {
    let caller = Caller::here()?;
    let actor = caller.actor()?;
    let author = caller.author(None)?;
    let mut tx = caller.checked(caller.store().begin(clock::now()).await)?;
    let count = caller.checked(tx.end_sessions(&actor.person.id, None).await)?;
    caller.checked(
        tx.record(&actor.workspace.id, &author, Some(&actor.person.subject()), &Event::SessionsEnded { count }).await,
    )?;
    caller.checked(tx.commit().await)?;
    caller.checked(caller.session()?.flush().await)?;
    caller.state.live().cut(Cut::Person(actor.person.id.clone()));
    Ok(Done::go(paths::SIGN_IN, "You are signed out everywhere."))
}

pub async fn set_theme(theme: &str) -> Result<Done, AppError> {
    let caller = Caller::here()?;
    let actor = caller.actor()?;
    let theme = Theme::from_key(theme);
    remember(&caller, THEME_COOKIE, theme.key());
    let mut tx = caller.checked(caller.store().begin(clock::now()).await)?;
    let person = &actor.person;
    caller.checked(tx.set_profile(&person.id, &person.name, &person.time_zone, theme).await)?;
    caller.checked(tx.commit().await)?;
    Ok(Done::default())
}

pub fn set_nav(collapsed: bool) -> Result<Done, AppError> {
    let caller = Caller::here()?;
    caller.actor()?;
    remember(&caller, NAV_COOKIE, if collapsed { "collapsed" } else { "open" });
    Ok(Done::default())
}

pub async fn read_notices() -> Result<Done, AppError> {
    let caller = Caller::here()?;
    let actor = caller.actor()?;
    let mut tx = caller.checked(caller.store().begin(clock::now()).await)?;
    caller.checked(tx.read_notices(&actor.person.id).await)?;
    caller.checked(tx.commit().await)?;
    Ok(Done::default())
}

/// A cookie for looks alone, kept for a year.
fn remember(caller: &Caller, name: &str, value: &str) {
    let secure = if caller.state.config().is_secure() { "; Secure" } else { "" };
    let cookie = format!("{name}={value}; Path=/; Max-Age=31536000; HttpOnly; SameSite=Lax{secure}");
    if let (Some(options), Ok(value)) = (use_context::<ResponseOptions>(), HeaderValue::from_str(&cookie)) {
        options.append_header(header::SET_COOKIE, value);
    }
}
