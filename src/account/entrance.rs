//! Coming in and going out: set-up, sign-in, sign-out.

use atelier_domain::access::{Action, Whose};
use atelier_domain::history::{Actor, Event};
use atelier_domain::name::{EmailAddress, PersonName, parse_workspace_name};
use atelier_domain::text::{Problem, counted};
use atelier_domain::throttle::{self, Limit, Verdict};
use atelier_domain::zone::ZoneName;
use atelier_domain::{Timestamp, password, paths};
use atelier_engine::clock;
use atelier_engine::store::{Account, Author, FirstAccount};
use atelier_studio::caller::{Caller, RequestInfo};
use atelier_studio::studio::Studio;
use axum::http::header;
use tower_sessions::cookie::time::OffsetDateTime;
use tower_sessions::{Expiry, Session};

use crate::done::Done;
use crate::error::AppError;
use crate::server::caller::Browser;
use crate::server::request::throttle_subject;
use crate::server::session_store::keys;
use crate::server::{local_path, user_agent};

pub async fn set_up(
    code: &str,
    workspace: &str,
    name: &str,
    email: &str,
    password: String,
    time_zone: &str,
) -> Result<Done, AppError> {
    let browser = Browser::here()?;
    let caller = &browser.caller;
    let now = clock::now();
    let address = (throttle_subject(caller.request.address), throttle::ADDRESS);
    refuse_if_paused(caller, std::slice::from_ref(&address), now).await?;
    if normal_code(code) != normal_code(&browser.state.set_up_code()) {
        caller.checked(caller.store().add_failure(&[address], now).await)?;
        let message = "This is not the code. It is printed in the server’s log at each start, on the line that says nobody has an account yet.";
        return Err(Problem::new("code", message).into());
    }
    let workspace = parse_workspace_name(workspace);
    let name = PersonName::parse(name);
    let address = EmailAddress::parse(email);
    let strength = password::check("password", &password, email);
    let zone = if time_zone.trim().is_empty() { ZoneName::parse("UTC") } else { ZoneName::parse(time_zone) };
    let (workspace, name, email, zone) = match (workspace, name, address, strength, zone) {
        (Ok(workspace), Ok(name), Ok(email), Ok(()), Ok(zone)) => (workspace, name, email, zone),
        (a, b, c, d, e) => {
            let problems = [a.err(), b.err(), c.err(), d.err(), e.err()].into_iter().flatten().collect();
            return Err(AppError::Invalid { problems });
        }
    };
    let password_hash = caller.checked(browser.state.passwords().hash(password.into()).await)?;
    let first = FirstAccount {
        workspace,
        name: name.as_str().to_owned(),
        email: email.as_str().to_owned(),
        password_hash,
        time_zone: zone.as_str().to_owned(),
    };
    // The store puts the new person in the place of this one.
    let actor = Actor::Person { id: atelier_domain::UserId::new(""), name: first.name.clone() };
    let author = Author { actor, request: caller.request.id.clone(), why: None };
    let Some((workspace, _)) = caller.checked(caller.store().set_up(&first, &author).await)? else {
        caller.checked(browser.state.set_up_done().await)?;
        return Err(AppError::Refused {
            code: "set-up.done".into(),
            message: "Somebody has set this server up in the meantime. Sign in instead.".into(),
        });
    };
    caller.checked(browser.state.set_up_done().await)?;
    let account = caller.checked(caller.store().account_by_email(&first.email).await)?.ok_or(AppError::SignedOut)?;
    start_session(&browser, &account, false, now).await?;
    Ok(Done::go(paths::home(&workspace.slug), format!("Welcome, {}. {} is ready.", first.name, workspace.name)))
}

pub async fn sign_in(email: &str, password: String, keep: bool, next: &str) -> Result<Done, AppError> {
    let browser = Browser::here()?;
    let caller = &browser.caller;
    let now = clock::now();
    let email = EmailAddress::parse(email)?;
    if password.is_empty() {
        return Err(Problem::new("password", "Enter your password.").into());
    }
    let subjects = subjects(email.as_str(), caller);
    // The count is looked at, the password checked and the failure counted in one turn, so that many tries at once do not
    // slip past the count.
    let turn = browser.turn().await?;
    refuse_if_paused(caller, &subjects, now).await?;
    let account = caller.checked(caller.store().account_by_email(email.as_str()).await)?;
    let hash = account.as_ref().map(|account| account.password_hash.clone());
    let checked = browser.state.passwords().verify(turn, bounded(password).into(), hash).await;
    let (fits, turn) = caller.checked(checked)?;
    let Some(account) = account.filter(|_| fits) else {
        return Err(count_failure(caller, &email, &subjects, now).await?);
    };
    drop(turn);
    if account.person.state == atelier_domain::account::AccountState::Disabled {
        // Said only to who knows the password.
        let helpers = caller.checked(caller.store().owner_names(&account.person.workspace, 3).await)?;
        let who = if helpers.is_empty() { "an Owner".to_owned() } else { atelier_domain::text::and_list(&helpers) };
        return Err(AppError::Refused {
            code: "account.disabled".into(),
            message: format!("This account is disabled. Ask {who} to enable it."),
        });
    }
    caller.checked(caller.store().clear_failures(&subjects[0].0).await)?;
    caller.checked(caller.store().clear_failures(&subjects[1].0).await)?;
    start_session(&browser, &account, keep, now).await?;
    let slug =
        caller.studio.workspace_by_id(&account.person.workspace).map(|workspace| workspace.slug).unwrap_or_default();
    Ok(Done::go(local_path::parse(next).unwrap_or_else(|| paths::home(&slug)), ""))
}

pub async fn sign_out() -> Result<Done, AppError> {
    let browser = Browser::here()?;
    let caller = &browser.caller;
    let actor = caller.actor()?;
    let author = caller.author(None)?;
    let mut tx = caller.begin(Action::ProfileWrite, Whose::Own).await?;
    caller.checked(tx.end_session(&actor.person.id, &actor.session).await)?;
    caller.checked(tx.record(&actor.workspace.id, &author, Some(&actor.person.subject()), &Event::SignedOut).await)?;
    caller.checked(tx.commit().await)?;
    caller.checked(browser.session()?.flush().await)?;
    caller.studio.live().cut(atelier_engine::live::Cut::Session(actor.session.clone()));
    Ok(Done::go(paths::SIGN_IN, "You are signed out."))
}

/// Puts the person into a session with a new id, and records it. What was in the browser before counts no more.
async fn start_session(browser: &Browser, account: &Account, keep: bool, now: Timestamp) -> Result<(), AppError> {
    let (caller, person) = (&browser.caller, &account.person);
    let session: &Session = browser.session()?;
    caller.checked(session.cycle_id().await)?;
    let agent = browser.headers.get(header::USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let address = caller.request.address.to_string();
    caller.checked(session.insert(keys::USER, person.id.as_str()).await)?;
    caller.checked(session.insert(keys::WORKSPACE, person.workspace.as_str()).await)?;
    caller.checked(session.insert(keys::DEVICE, user_agent::describe(agent)).await)?;
    caller.checked(session.insert(keys::ADDRESS, &address).await)?;
    caller.checked(session.insert(keys::CREATED_AT, now.0).await)?;
    caller.checked(session.insert(keys::EPOCH, account.session_epoch).await)?;
    let end = now.plus(caller.studio.settings().sessions.absolute);
    let end = caller.checked(OffsetDateTime::from_unix_timestamp(end.0.div_euclid(1_000)))?;
    // Without "keep", the cookie ends with the browser; the server's own limits hold either way.
    session.set_expiry(Some(if keep { Expiry::AtDateTime(end) } else { Expiry::OnSessionEnd }));
    let author = Author {
        actor: Actor::Person { id: person.id.clone(), name: person.name.clone() },
        request: caller.request.id.clone(),
        why: None,
    };
    let mut tx = caller.checked(caller.store().begin(now).await)?;
    caller
        .checked(tx.record(&person.workspace, &author, Some(&person.subject()), &Event::SignedIn { address }).await)?;
    caller.checked(tx.commit().await)?;
    Ok(())
}

/// What a try is counted under: the account from this address, the account from anywhere, the address.
pub(super) fn subjects(email: &str, caller: &Caller) -> [(String, Limit); 3] {
    let address = throttle_subject(caller.request.address);
    [
        (format!("account:{email}|{address}"), throttle::ACCOUNT),
        (format!("account:{email}"), throttle::ACCOUNT_ANYWHERE),
        (address, throttle::ADDRESS),
    ]
}

pub(super) async fn refuse_if_paused(
    caller: &Caller,
    subjects: &[(String, Limit)],
    now: Timestamp,
) -> Result<(), AppError> {
    for (subject, limit) in subjects {
        let count = caller.checked(caller.store().failures(subject).await)?;
        if let Verdict::Paused { until } = limit.verdict(count, now) {
            return Err(paused(subject, until, now));
        }
    }
    Ok(())
}

fn paused(subject: &str, until: Timestamp, now: Timestamp) -> AppError {
    let wait = until.since(now);
    let whose = if subject.starts_with("account:") { "with this e-mail address" } else { "from your network address" };
    AppError::TooMany {
        message: format!(
            "Too many failed tries {whose}. Wait {wait}, then try again. If you forgot the password, an Owner can reset it under Admin → People."
        ),
        retry_after_secs: u32::try_from(wait.as_millis() / 1_000 + 1).unwrap_or(u32::MAX),
    }
}

/// Counts a failure for account and address, and says how many tries are left. The words are the same for an account that
/// does not exist.
async fn count_failure(
    caller: &Caller,
    email: &EmailAddress,
    subjects: &[(String, Limit)],
    now: Timestamp,
) -> Result<AppError, AppError> {
    let counts = caller.checked(caller.store().add_failure(subjects, now).await)?;
    metrics::counter!("atelier_sign_in_failures_total").increment(1);
    let mut left = u32::MAX;
    for ((subject, limit), count) in subjects.iter().zip(counts) {
        match limit.verdict(count, now) {
            Verdict::Try { left: more } => left = left.min(more),
            Verdict::Paused { until } => {
                if subject.starts_with("account:") && count.failures == limit.tries {
                    // On its own, since only an account that exists is recorded, and the time taken must not tell.
                    tokio::spawn(record_pause(
                        caller.studio.clone(),
                        caller.request.clone(),
                        email.clone(),
                        count.failures,
                    ));
                }
                return Ok(paused(subject, until, now));
            }
        }
    }
    let tries = counted(u64::from(left), "try", "tries");
    let message = format!(
        "That password does not fit this e-mail address. {tries} left before a pause of {}.",
        throttle::ACCOUNT.window
    );
    Ok(Problem::new("password", message).into())
}

/// A pause of an account that exists goes to the history, where its owner sees it in the bell.
async fn record_pause(studio: Studio, request: RequestInfo, email: EmailAddress, failures: u32) {
    let record = async {
        let Some(account) = studio.store().account_by_email(email.as_str()).await? else {
            return Ok(());
        };
        let author = Author { actor: Actor::System, request: request.id.clone(), why: None };
        let event = Event::SignInPaused { failures, address: request.address.to_string() };
        let mut tx = studio.store().begin(clock::now()).await?;
        tx.record(&account.person.workspace, &author, Some(&account.person.subject()), &event).await?;
        tx.commit().await.map(drop)
    };
    let done: atelier_engine::store::Result<()> = record.await;
    if let Err(error) = done {
        tracing::error!(%error, "a pause of sign-in was not recorded");
    }
}

/// A password longer than any that is taken is cut, so that nobody makes us hash megabytes; it cannot fit anyway.
fn bounded(password: String) -> String {
    if password.chars().count() <= password::MAX_LENGTH {
        password
    } else {
        password.chars().take(password::MAX_LENGTH + 1).collect()
    }
}

/// Case, spaces and hyphens in a code do not matter.
fn normal_code(code: &str) -> String {
    code.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase()
}
