//! Which users of the system people run as, and whether these are free.
//!
//! The users are numbers alone: nothing on the machine lists them. So nothing keeps `useradd` or a directory
//! from giving the same numbers to somebody else, who would then own what people have in Atelier. Where they
//! begin is a setting, and the whole range is compared with what the machine says is taken.

use std::ops::RangeInclusive;

use crate::compute::InstanceId;

/// Where the numbers of a new installation begin: above what `useradd`, containers and directories give out
/// by default.
pub const DEFAULT_FIRST: u32 = 2_100_000_000;
/// So many people have numbers.
const PEOPLE: u32 = 50_000;
/// So many numbers are for what must own nothing.
const THROW_AWAY: u32 = 10_000;
/// Where SSSD begins and ends to number the people of a directory if nobody says otherwise.
const SSSD: (u32, u32) = (200_000, 2_000_200_000);

/// The users of an installation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uids {
    first: u32,
}

impl Default for Uids {
    fn default() -> Self {
        Self { first: DEFAULT_FIRST }
    }
}

impl Uids {
    /// The least and the greatest number with which they can begin: below are the system's own, above are
    /// numbers that older programs take for negative.
    pub const FIRST: RangeInclusive<u32> = 65_536..=i32::MAX.cast_unsigned() - PEOPLE - THROW_AWAY;

    /// Those that begin with that number, as far as that can be.
    pub fn from(first: u32) -> Self {
        Self { first: first.clamp(*Self::FIRST.start(), *Self::FIRST.end()) }
    }

    /// The first person's.
    pub const fn first(self) -> u32 {
        self.first
    }

    /// Whether a person can have that number.
    pub fn is_persons(self, uid: u32) -> bool {
        (self.first..self.first + PEOPLE).contains(&uid)
    }

    /// As whom scripts of an instance run that its owner has not accepted: somebody who owns nothing.
    pub const fn throw_away(self, instance: InstanceId) -> u32 {
        // Less than the number of throw-away users, so it fits.
        self.first + PEOPLE + (instance.0 % THROW_AWAY as u64) as u32
    }

    /// All of them.
    pub const fn whole(self) -> RangeInclusive<u32> {
        self.first..=self.first + PEOPLE + THROW_AWAY - 1
    }
}

/// Numbers that the machine gives to others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    pub range: RangeInclusive<u32>,
    /// To whom and where that is written: `/etc/subuid gives them to ada`.
    pub words: String,
}

fn taken(first: u32, last: u32, words: String) -> Taken {
    Taken { range: first..=last, words }
}

/// Reads `/etc/subuid` or `/etc/subgid`: `ada:100000:65536`.
pub fn in_subordinates(text: &str, file: &str) -> Vec<Taken> {
    let read = |line: &str| {
        let mut parts = line.trim().split(':');
        let (name, first, count) = (parts.next()?, parts.next()?.parse::<u32>().ok()?, parts.next()?.parse().ok()?);
        let last = first.saturating_add(u32::checked_sub(count, 1)?);
        Some(taken(first, last, format!("{file} gives them to the containers of {name}")))
    };
    text.lines().filter_map(read).collect()
}

/// Reads `/etc/passwd` or `/etc/group`: the third field is the number.
pub fn in_accounts(text: &str, file: &str) -> Vec<Taken> {
    let read = |line: &str| {
        let mut parts = line.split(':');
        let name = parts.next()?;
        let number: u32 = parts.nth(1)?.parse().ok()?;
        Some(taken(number, number, format!("{file} has {name}")))
    };
    text.lines().filter_map(read).collect()
}

/// Reads `/etc/login.defs`: from where to where `useradd` gives numbers out.
pub fn in_login_defs(text: &str) -> Vec<Taken> {
    let value = |name: &str| {
        text.lines().find_map(|line| {
            let mut words = line.split_whitespace();
            (words.next() == Some(name)).then(|| words.next()?.parse::<u32>().ok()).flatten()
        })
    };
    let range = |what: &str, whom: &str| {
        let (first, last) = (value(&format!("{what}_MIN"))?, value(&format!("{what}_MAX"))?);
        Some(taken(first, last, format!("/etc/login.defs lets useradd give them to {whom} ({what}_MIN to {what}_MAX)")))
    };
    let kinds = [
        ("UID", "new users"),
        ("GID", "new groups"),
        ("SUB_UID", "containers of new users"),
        ("SUB_GID", "containers of new users"),
    ];
    kinds.into_iter().filter_map(|(what, whom)| range(what, whom)).collect()
}

/// Reads `/etc/sssd/sssd.conf`: which numbers people of a directory get.
pub fn in_sssd(text: &str) -> Vec<Taken> {
    let value = |name: &str| {
        text.lines().find_map(|line| {
            let (key, value) = line.split_once('=')?;
            (key.trim() == name).then(|| value.trim().parse::<u32>().ok()).flatten()
        })
    };
    let first = value("ldap_idmap_range_min").unwrap_or(SSSD.0);
    let last = value("ldap_idmap_range_max").unwrap_or(SSSD.1);
    vec![taken(first, last, "/etc/sssd/sssd.conf gives them to people of a directory".to_owned())]
}

/// What is taken of the numbers of an installation, one sentence each, with the way out.
pub fn collisions(uids: Uids, all: &[Taken]) -> Vec<String> {
    let ours = uids.whole();
    let both = |taken: &&Taken| taken.range.start() <= ours.end() && taken.range.end() >= ours.start();
    let mut said: Vec<String> = all
        .iter()
        .filter(both)
        .map(|taken| {
            let numbers = if taken.range.start() == taken.range.end() {
                format!("The user number {}", taken.range.start())
            } else {
                format!("The user numbers {} to {}", taken.range.start(), taken.range.end())
            };
            format!(
                "{numbers} overlap with those of people in Atelier, {} to {}: {}.",
                ours.start(),
                ours.end(),
                taken.words
            )
        })
        .collect();
    said.dedup();
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_and_throw_away_users_never_meet() {
        let uids = Uids::default();
        assert_eq!(uids.whole(), 2_100_000_000..=2_100_059_999);
        for instance in [0, 1, 9_999, 10_000, u64::MAX] {
            let uid = uids.throw_away(InstanceId(instance));
            assert!(!uids.is_persons(uid) && uids.whole().contains(&uid), "{uid}");
        }
        assert!(uids.is_persons(uids.first()) && uids.is_persons(uids.first() + 49_999));
        for first in [0, 1_000, u32::MAX] {
            assert!(*Uids::from(first).whole().end() <= i32::MAX.cast_unsigned());
            assert!(Uids::from(first).first() >= 65_536);
        }
    }

    #[test]
    fn what_the_machine_gives_to_others_is_found() {
        let subordinates =
            in_subordinates("ada:100000:65536\nbo:165536:65536\n# no\nodd:x:1\nnone:5:0\n", "/etc/subuid");
        assert_eq!(subordinates.len(), 2);
        let said = collisions(Uids::from(200_000), &subordinates);
        assert_eq!(
            said,
            ["The user numbers 165536 to 231071 overlap with those of people in Atelier, 200000 to 259999: \
              /etc/subuid gives them to the containers of bo."]
        );
        let defs = "# UID_MIN 1\nUID_MIN\t\t 1000\nUID_MAX 60000\nSUB_UID_MIN 100000\nSUB_UID_MAX 600100000\n";
        let ranges: Vec<_> = in_login_defs(defs).into_iter().map(|taken| taken.range).collect();
        assert_eq!(ranges, [1_000..=60_000, 100_000..=600_100_000]);
        let users = in_accounts("root:x:0:0:root:/root:/bin/sh\neve:x:200007:200007::/:/bin/sh\n", "/etc/passwd");
        assert_eq!(collisions(Uids::from(200_000), &users).len(), 1);
        assert_eq!(in_sssd("[sssd]\n")[0].range, 200_000..=2_000_200_000);
        assert_eq!(in_sssd("ldap_idmap_range_min = 5\nldap_idmap_range_max=9\n")[0].range, 5..=9);
        let all: Vec<Taken> = [subordinates, in_login_defs(defs), users, in_sssd("")].into_iter().flatten().collect();
        assert_eq!(collisions(Uids::default(), &all), Vec::<String>::new(), "nobody has the default range");
    }
}
