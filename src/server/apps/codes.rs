//! One-time codes: how somebody who is signed in to the portal gets into an application at another address.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use atelier_domain::compute::InstanceId;
use atelier_domain::{SessionKey, UserId};
use atelier_engine::clock;

use crate::server::apps::host::Place;

/// How long a code counts.
const LIFE: Duration = Duration::from_secs(30);
/// So many codes wait at once; a flood of them pushes the oldest out.
const MOST: usize = 10_000;

/// What a code opens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ticket {
    pub user: UserId,
    /// Under which session of the portal.
    pub session: SessionKey,
    /// Where, by names: the address that it counts at.
    pub place: Place,
    /// The instance itself; one of the same name that comes later is another.
    pub instance: InstanceId,
}

/// Codes that were given out and not shown yet.
#[derive(Debug, Default)]
pub struct Codes {
    waiting: Mutex<HashMap<String, (Ticket, Instant)>>,
}

impl Codes {
    pub fn issue(&self, ticket: Ticket) -> String {
        let code = format!("{:032x}{:032x}", rand::random::<u128>(), rand::random::<u128>());
        let now = clock::instant();
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.retain(|_, (_, made)| now.duration_since(*made) < LIFE);
        if waiting.len() >= MOST
            && let Some(oldest) = waiting.iter().min_by_key(|(_, (_, made))| *made).map(|(code, _)| code.clone())
        {
            waiting.remove(&oldest);
        }
        waiting.insert(code.clone(), (ticket, now));
        code
    }

    /// Takes a code that is shown at that address. It counts once, also when it is shown at the wrong one.
    pub fn redeem(&self, code: &str, place: &Place) -> Option<Ticket> {
        let (ticket, made) = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(code)?;
        (made.elapsed() < LIFE && ticket.place == *place).then_some(ticket)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_counts_once_and_at_its_own_address() {
        let codes = Codes::default();
        let place = Place { app: "jupyter".into(), instance: "mara".into(), workspace: "main".into() };
        let other = Place { instance: "jonas".into(), ..place.clone() };
        let ticket = Ticket {
            user: UserId::new("u1"),
            session: SessionKey::new("s1"),
            place: place.clone(),
            instance: InstanceId(7),
        };
        let code = codes.issue(ticket.clone());
        assert_eq!(codes.redeem(&code, &place), Some(ticket.clone()));
        assert_eq!(codes.redeem(&code, &place), None, "once");
        let code = codes.issue(ticket);
        assert_eq!(codes.redeem(&code, &other), None, "at another address");
        assert_eq!(codes.redeem(&code, &place), None, "and it is worth nothing after that");
    }
}
