//! Who holds which of the places for connections, and who has to go when another comes.
//!
//! Nobody can be told apart before the first request, so everybody is let in as a stranger, and there is
//! always room: the stranger who has been quiet for longest, at the address that holds the most, makes it.
//! Who has signed in is no stranger any more and is never sent away for others.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::{IpAddr, Ipv6Addr};

/// One place, never used twice.
pub type SeatId = u64;

/// How many connections there may be.
#[derive(Clone, Debug)]
pub struct Limits {
    /// At once.
    pub most: usize,
    /// From one address, of strangers.
    pub per_address: usize,
    /// Reverse proxies, to which that does not apply: they speak for everybody.
    pub trusted: Vec<IpAddr>,
}

impl Limits {
    /// Places that strangers never get.
    fn reserve(&self) -> usize {
        self.most / 4
    }

    /// Places that strangers always have: whoever signs in next is one of them.
    fn entrance(&self) -> usize {
        (self.most / 8).max(1)
    }

    /// What one person may hold that is not taken away again.
    fn per_person(&self) -> usize {
        (self.most / 8).max(1)
    }
}

#[derive(Debug)]
struct Seat {
    from: IpAddr,
    /// When it was last used, in order.
    used: u64,
    /// Who it is, once that is known.
    person: Option<String>,
}

/// All places that are taken.
#[derive(Debug)]
pub struct Seats {
    limits: Limits,
    seats: HashMap<SeatId, Seat>,
    /// Strangers by address, in the order in which they were last heard.
    strangers: HashMap<IpAddr, BTreeMap<u64, SeatId>>,
    /// How many strangers each address has.
    crowds: BTreeSet<(usize, IpAddr)>,
    /// How many connections each person has.
    people: HashMap<String, usize>,
    known: usize,
    next: u64,
}

impl Seats {
    pub fn new(limits: Limits) -> Self {
        let (seats, strangers, people) = (HashMap::new(), HashMap::new(), HashMap::new());
        Self { limits, seats, strangers, crowds: BTreeSet::new(), people, known: 0, next: 0 }
    }

    /// Gives somebody a place, and names those who have lost theirs.
    pub fn enter(&mut self, address: IpAddr) -> (SeatId, Vec<SeatId>) {
        let from = source(address);
        let is_proxy = self.limits.trusted.contains(&address.to_canonical());
        let mut gone = Vec::new();
        if !is_proxy && self.count(from) >= self.limits.per_address {
            gone.extend(self.send_away(from));
        }
        let room = self.limits.most.saturating_sub(self.known.max(self.limits.reserve())).max(self.limits.entrance());
        while self.stranger_count() >= room {
            let Some((_, crowded)) = self.crowds.last().copied() else { break };
            match self.send_away(crowded) {
                Some(seat) => gone.push(seat),
                None => break,
            }
        }
        let (id, used) = (self.tick(), self.tick());
        self.seats.insert(id, Seat { from, used, person: None });
        self.edit_strangers(from, |strangers| {
            strangers.insert(used, id);
        });
        (id, gone)
    }

    /// A whole request has come over it.
    pub fn used(&mut self, id: SeatId) {
        let now = self.tick();
        let Some(seat) = self.seats.get_mut(&id) else { return };
        let (from, before) = (seat.from, std::mem::replace(&mut seat.used, now));
        if seat.person.is_none() {
            self.edit_strangers(from, |strangers| {
                strangers.remove(&before);
                strangers.insert(now, id);
            });
        }
    }

    /// It is known who it is: their place is kept, if they do not hold too many. Says whether it is.
    pub fn known(&mut self, id: SeatId, person: &str) -> bool {
        let held = self.people.get(person).copied().unwrap_or_default();
        let is_full = self.known >= self.limits.most || held >= self.limits.per_person();
        let Some(seat) = self.seats.get_mut(&id).filter(|seat| seat.person.is_none() && !is_full) else {
            return false;
        };
        seat.person = Some(person.to_owned());
        let (from, used) = (seat.from, seat.used);
        self.known += 1;
        self.people.insert(person.to_owned(), held + 1);
        self.edit_strangers(from, |strangers| {
            strangers.remove(&used);
        });
        true
    }

    /// It has ended.
    pub fn leave(&mut self, id: SeatId) {
        let Some(seat) = self.seats.remove(&id) else { return };
        let Some(person) = seat.person else {
            return self.edit_strangers(seat.from, |strangers| {
                strangers.remove(&seat.used);
            });
        };
        self.known -= 1;
        if let Some(held) = self.people.get_mut(&person) {
            *held -= 1;
            if *held == 0 {
                self.people.remove(&person);
            }
        }
    }

    /// How many there are: strangers, and people who are known.
    #[cfg(test)]
    fn counts(&self) -> (usize, usize) {
        (self.stranger_count(), self.known)
    }

    fn stranger_count(&self) -> usize {
        self.seats.len() - self.known
    }

    fn count(&self, from: IpAddr) -> usize {
        self.strangers.get(&from).map_or(0, BTreeMap::len)
    }

    /// Takes the place of the stranger of an address who has been quiet for longest.
    fn send_away(&mut self, from: IpAddr) -> Option<SeatId> {
        let oldest = self.strangers.get(&from).and_then(|strangers| strangers.values().next().copied())?;
        self.leave(oldest);
        Some(oldest)
    }

    fn edit_strangers(&mut self, from: IpAddr, edit: impl FnOnce(&mut BTreeMap<u64, SeatId>)) {
        let strangers = self.strangers.entry(from).or_default();
        let before = strangers.len();
        edit(strangers);
        let after = strangers.len();
        if after == 0 {
            self.strangers.remove(&from);
        }
        if before != after {
            self.crowds.remove(&(before, from));
            if after > 0 {
                self.crowds.insert((after, from));
            }
        }
    }

    const fn tick(&mut self) -> u64 {
        self.next += 1;
        self.next
    }
}

/// What counts as one address: of IPv6 the network, since anybody has a whole one.
fn source(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from(u128::from(address) & (!0 << 64))),
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn seats(most: usize, per_address: usize) -> Seats {
        Seats::new(Limits { most, per_address, trusted: vec![ip(99)] })
    }

    fn ip(last: u8) -> IpAddr {
        IpAddr::from([127, 0, 0, last])
    }

    #[test]
    fn an_address_that_holds_too_many_loses_its_own_quietest() {
        let mut seats = seats(100, 2);
        let ((one, _), (two, _), (other, _)) = (seats.enter(ip(1)), seats.enter(ip(1)), seats.enter(ip(2)));
        seats.used(one);
        let (_, gone) = seats.enter(ip(1));
        assert_eq!(gone, [two], "the first has been heard since");
        seats.leave(other);
        assert_eq!(seats.counts(), (2, 0));
    }

    #[test]
    fn proxies_speak_for_everybody() {
        let mut seats = seats(100, 2);
        for _ in 0..10 {
            assert_eq!(seats.enter(ip(99)).1, Vec::<SeatId>::new());
        }
    }

    #[test]
    fn when_all_is_taken_the_largest_crowd_makes_room() {
        let mut seats = seats(16, 100);
        let (lone, _) = seats.enter(ip(1));
        let crowd: Vec<SeatId> = (0..11).map(|_| seats.enter(ip(2)).0).collect();
        assert_eq!(seats.counts(), (12, 0), "a quarter is kept for people who are known");
        assert_eq!(seats.enter(ip(3)).1, [crowd[0]]);
        seats.known(lone, "mara");
        assert_eq!(seats.enter(ip(4)).1, Vec::<SeatId>::new());
        assert_eq!(seats.counts(), (12, 1));
    }

    #[test]
    fn nobody_who_is_known_is_sent_away_and_nobody_keeps_everything() {
        let mut seats = seats(16, 100);
        for person in 0..16 {
            for _ in 0..4 {
                let (id, _) = seats.enter(ip(1));
                seats.known(id, &person.to_string());
            }
        }
        assert_eq!(seats.counts(), (2, 16), "two of each person, and an entrance for whoever comes next");
    }

    #[test]
    fn a_network_of_ipv6_is_one_address() {
        assert_eq!(source("2001:db8::1".parse().expect("one")), source("2001:db8::ffff:2".parse().expect("one")));
        assert_ne!(source("2001:db8::1".parse().expect("one")), source("2001:db8:0:1::1".parse().expect("one")));
        assert_eq!(source("::ffff:192.0.2.1".parse().expect("one")), IpAddr::from([192, 0, 2, 1]));
    }

    proptest! {
        /// Whatever comes and goes: the numbers agree with each other, and the limits hold.
        #[test]
        fn the_books_agree(steps in proptest::collection::vec((0u8..4, any::<u8>(), 0u8..5), 0..400)) {
            let mut seats = seats(24, 6);
            let mut here: Vec<SeatId> = Vec::new();
            for (what, which, from) in steps {
                let chosen = (!here.is_empty()).then(|| here[usize::from(which) % here.len()]);
                match (what, chosen) {
                    (0, _) | (_, None) => {
                        let (id, gone) = seats.enter(ip(from));
                        here.retain(|id| !gone.contains(id));
                        here.push(id);
                    }
                    (1, Some(id)) => seats.used(id),
                    (2, Some(id)) => {
                        seats.known(id, &from.to_string());
                    }
                    (_, Some(id)) => {
                        seats.leave(id);
                        here.retain(|other| *other != id);
                    }
                }
                let (strangers, known) = seats.counts();
                prop_assert_eq!(strangers + known, here.len());
                prop_assert!(known <= 24 && strangers <= 18);
                prop_assert_eq!(seats.strangers.values().map(BTreeMap::len).sum::<usize>(), strangers);
                prop_assert_eq!(seats.crowds.iter().map(|(count, _)| count).sum::<usize>(), strangers);
                prop_assert_eq!(seats.people.values().sum::<usize>(), known);
                prop_assert!(seats.strangers.values().all(|strangers| strangers.len() <= 6));
                prop_assert!(seats.people.values().all(|held| *held <= 3));
            }
        }
    }
}
