//! Coming in: the first account, sign-ins, and the pause after too many failed tries.

use std::net::IpAddr;

use atelier_domain::Timestamp;
use atelier_domain::error::AppError;
use atelier_domain::history::{Actor, Event};
use atelier_domain::name::EmailAddress;
use atelier_domain::text::{Problem, counted};
use atelier_domain::throttle::{self, Limit, Verdict};
use atelier_engine::clock;
use atelier_engine::store::{Author, FirstAccount, Person, Workspace};

use crate::caller::{Caller, RequestInfo};
use crate::studio::Studio;

/// Makes the first workspace and its Owner; nothing if somebody was quicker.
pub async fn set_up(caller: &Caller, first: &FirstAccount) -> Result<Option<Workspace>, AppError> {
    // The store puts the new person in the place of this one.
    let actor = Actor::Person { id: atelier_domain::UserId::new(""), name: first.name.clone() };
    let author = Author { actor, request: caller.request.id.clone(), why: None };
    let made = caller.checked(caller.store().set_up(first, &author).await)?;
    Ok(made.map(|(workspace, _)| workspace))
}

/// Notes that somebody signed in.
pub async fn signed_in(caller: &Caller, person: &Person) -> Result<(), AppError> {
    let actor = Actor::Person { id: person.id.clone(), name: person.name.clone() };
    let author = Author { actor, request: caller.request.id.clone(), why: None };
    let event = Event::SignedIn { address: caller.request.address.to_string() };
    let mut tx = caller.checked(caller.store().begin(clock::now()).await)?;
    caller.checked(tx.record(&person.workspace, &author, Some(&person.subject()), &event).await)?;
    caller.checked(tx.commit().await)?;
    Ok(())
}

/// What a failed try is counted under, and how many there may be.
pub type Tried = (String, Limit);

/// The tries at an account: from this address, from anywhere; and all from the address. Where its owner has
/// signed in from lately, what is tried from elsewhere does not count: strangers cannot keep them out.
pub async fn tries(email: &str, caller: &Caller) -> Result<Vec<Tried>, AppError> {
    let (address, limit) = tries_from(caller);
    let mut all = vec![(format!("account:{email}|{address}"), throttle::ACCOUNT)];
    if !caller.checked(caller.store().has_signed_in_from(email, &address).await)? {
        all.push((format!("account:{email}"), throttle::ACCOUNT_ANYWHERE));
    }
    all.push((address, limit));
    Ok(all)
}

/// Somebody's password fits: tries at their account begin anew, and their address is known.
pub async fn forget_tries(caller: &Caller, email: &str, now: Timestamp) -> Result<(), AppError> {
    let (address, _) = tries_from(caller);
    for subject in [format!("account:{email}|{address}"), format!("account:{email}")] {
        caller.checked(caller.store().clear_failures(&subject).await)?;
    }
    caller.checked(caller.store().note_address(email, &address, now).await)
}

/// All tries from the caller's address.
pub fn tries_from(caller: &Caller) -> Tried {
    (format!("address:{}", network(caller.request.address)), throttle::ADDRESS)
}

/// Whose an address is, as far as tries are counted: an IPv6 customer has a whole /64.
pub fn network(address: IpAddr) -> String {
    match address.to_canonical() {
        IpAddr::V4(v4) => v4.to_string(),
        IpAddr::V6(v6) => {
            let [a, b, c, d, ..] = v6.segments();
            format!("{a:x}:{b:x}:{c:x}:{d:x}::/64")
        }
    }
}

/// Refuses while there is a pause.
pub async fn refuse_if_paused(caller: &Caller, tries: &[Tried], now: Timestamp) -> Result<(), AppError> {
    for (subject, limit) in tries {
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
            "Too many failed tries {whose}. Wait {wait}, then try again. If you forgot the password, an Owner can \
             reset it under Admin → People."
        ),
        retry_after_secs: u32::try_from(wait.as_millis() / 1_000 + 1).unwrap_or(u32::MAX),
    }
}

/// Counts a password that does not fit, and says how many tries are left. The words are the same for an
/// account that does not exist.
pub async fn count_failure(
    caller: &Caller,
    email: &EmailAddress,
    tries: &[Tried],
    now: Timestamp,
) -> Result<AppError, AppError> {
    let counts = caller.checked(caller.store().add_failure(tries, now).await)?;
    let mut left = u32::MAX;
    for ((subject, limit), count) in tries.iter().zip(counts) {
        match limit.verdict(count, now) {
            Verdict::Try { left: more } => left = left.min(more),
            Verdict::Paused { until } => {
                if subject.starts_with("account:") && count.failures == limit.tries {
                    // On its own, since only an account that exists is recorded, and the time taken must not
                    // tell.
                    let (studio, request) = (caller.studio.clone(), caller.request.clone());
                    tokio::spawn(record_pause(studio, request, email.clone(), count.failures));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_one_customer_are_counted_together() {
        let of = |text: &str| network(text.parse().expect("an address"));
        assert_eq!(of("2001:db8:1:2::1"), of("2001:db8:1:2:ffff::9"));
        assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
    }
}
