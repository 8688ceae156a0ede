//! How many connections there may be: in all, of strangers, and of strangers from one address.
//!
//! Without the last, whoever opens connections and says nothing keeps everybody else out for as long as
//! strangers may take.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::Limits;

/// The places of a listener.
pub struct Places {
    connections: usize,
    all: Arc<Semaphore>,
    strangers: Arc<Semaphore>,
    most_of_one: usize,
    by_address: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

/// The place of a connection, until it is over.
pub struct Place {
    _one: OwnedSemaphorePermit,
}

/// The place of somebody who has not shown a key yet, until they have.
pub struct Stranger {
    _one: OwnedSemaphorePermit,
    by_address: Arc<Mutex<HashMap<IpAddr, usize>>>,
    whose: IpAddr,
}

impl Places {
    /// As many as the limits say.
    pub fn new(limits: Limits) -> Self {
        Self {
            connections: limits.connections,
            all: Arc::new(Semaphore::new(limits.connections)),
            strangers: Arc::new(Semaphore::new(limits.strangers)),
            most_of_one: limits.strangers_of_one,
            by_address: Arc::default(),
        }
    }

    /// The places of one more connection; nothing if there are none left for it.
    pub fn take(&self, from: IpAddr) -> Option<(Place, Stranger)> {
        let whose = customer(from);
        let mut by_address = lock(&self.by_address);
        if by_address.get(&whose).copied().unwrap_or_default() >= self.most_of_one {
            return None;
        }
        let place = Place { _one: Arc::clone(&self.all).try_acquire_owned().ok()? };
        let one = Arc::clone(&self.strangers).try_acquire_owned().ok()?;
        *by_address.entry(whose).or_default() += 1;
        Some((place, Stranger { _one: one, by_address: Arc::clone(&self.by_address), whose }))
    }

    /// Waits until all connections are over.
    pub async fn all_free(&self) {
        let all = u32::try_from(self.connections).unwrap_or(u32::MAX);
        // Nobody closes it.
        let _ = self.all.acquire_many(all).await;
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        let mut by_address = lock(&self.by_address);
        if let Some(count) = by_address.get_mut(&self.whose) {
            *count -= 1;
            if *count == 0 {
                by_address.remove(&self.whose);
            }
        }
    }
}

fn lock(by_address: &Mutex<HashMap<IpAddr, usize>>) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
    by_address.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What an address counts under. A network of IPv6 belongs to one customer, who has as many addresses as they
/// like.
fn customer(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::from([a, b, c, d, 0, 0, 0, 0])
        }
        v4 @ IpAddr::V4(_) => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn one_address_takes_no_more_than_its_share_and_gives_it_back() {
        let limits = Limits { connections: 10, strangers: 6, strangers_of_one: 2, ..Limits::default() };
        let places = Places::new(limits);
        let mine: Vec<_> = (0..2).map(|_| places.take(address("192.0.2.1")).unwrap()).collect();
        assert!(places.take(address("192.0.2.1")).is_none());
        assert!(places.take(address("::ffff:192.0.2.1")).is_none(), "the same address, written as IPv6");
        // A whole network of IPv6 is one customer; the next is another.
        let _theirs: Vec<_> = ["2001:db8::1", "2001:db8::2"].map(|one| places.take(address(one)).unwrap()).into();
        assert!(places.take(address("2001:db8::3")).is_none());
        let other = places.take(address("2001:db8:0:1::1")).unwrap();
        // Who has shown a key is no stranger any more, and still a connection.
        let kept: Vec<Place> = mine.into_iter().map(|(place, _)| place).collect();
        assert!(places.take(address("192.0.2.1")).is_some());
        drop((kept, other));
        let held: Vec<_> = (3..7).map_while(|last| places.take(address(&format!("192.0.2.{last}")))).collect();
        assert_eq!(held.len(), 4, "six strangers in all, of whom two are there");
    }
}
