//! Ports in place of names: for sites that cannot have a wildcard in their DNS.
//!
//! Each application gets a port of its own, so its pages are of another origin than the portal's. Cookies,
//! however, know hosts and not ports: a page of an application can set cookies that the portal is sent too.
//! That is why this must be asked for, and why pages that lead to applications say so.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::server::apps::host;
use crate::server::apps::host::Place;

/// The most ports for applications.
const MOST_PORTS: u16 = 500;

/// Ports, the last one included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortRange {
    pub first: u16,
    pub last: u16,
}

impl PortRange {
    /// Parses `3100-3199`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("is not a range of 2 to {MOST_PORTS} ports, such as 3100-3199");
        let (first, last) = text.split_once('-').ok_or_else(wrong)?;
        let number = |text: &str| text.trim().parse::<u16>().ok().filter(|port| *port > 0);
        let (first, last) = number(first).zip(number(last)).ok_or_else(wrong)?;
        if first >= last || last - first >= MOST_PORTS { Err(wrong()) } else { Ok(Self { first, last }) }
    }

    /// Whether a port is one of them.
    pub const fn contains(self, port: u16) -> bool {
        self.first <= port && port <= self.last
    }

    pub fn ports(self) -> impl Iterator<Item = u16> {
        self.first..=self.last
    }
}

impl fmt::Display for PortRange {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} to {}", self.first, self.last)
    }
}

/// The port that a request came to, where it is one for applications.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AppPort(pub u16);

/// Which port is whose. Written to a file, so that tabs find their applications again after a restart.
#[derive(Debug)]
pub struct Ports {
    range: PortRange,
    file: PathBuf,
    /// The one that was given away first stands first.
    given: Mutex<Vec<(u16, Place)>>,
}

impl Ports {
    /// Reads what was given away before; what is not of this range any more is forgotten.
    pub fn open(range: PortRange, file: PathBuf) -> Self {
        let read = std::fs::read(&file).ok().and_then(|text| serde_json::from_slice::<Vec<(u16, String)>>(&text).ok());
        let given = read.unwrap_or_default().into_iter();
        let given = given.filter(|(port, _)| range.contains(*port));
        let given = given.filter_map(|(port, label)| Some((port, host::read_label(&label)?))).collect();
        Self { range, file, given: Mutex::new(given) }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(u16, Place)>> {
        self.given.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whose port it is.
    pub fn place(&self, port: u16) -> Option<Place> {
        self.lock().iter().find(|(known, _)| *known == port).map(|(_, place)| place.clone())
    }

    /// The port of an application: its own, else a fresh one, else the one that was given away first.
    pub fn of(&self, place: &Place) -> u16 {
        let mut given = self.lock();
        if let Some((port, _)) = given.iter().find(|(_, known)| known == place) {
            return *port;
        }
        let fresh = self.range.ports().find(|port| given.iter().all(|(known, _)| known != port));
        let port = fresh.unwrap_or_else(|| given.remove(0).0);
        given.push((port, place.clone()));
        self.write(&given);
        port
    }

    /// A file that cannot be written costs a click after the next restart, and nothing else.
    fn write(&self, given: &[(u16, Place)]) {
        let list: Vec<(u16, String)> = given.iter().map(|(port, place)| (*port, place.to_string())).collect();
        let beside = self.file.with_extension("new");
        let written = serde_json::to_vec(&list)
            .map_err(std::io::Error::other)
            .and_then(|text| std::fs::write(&beside, text))
            .and_then(|()| std::fs::rename(&beside, &self.file));
        if let Err(error) = written {
            tracing::warn!(%error, "the ports of applications could not be written down");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(instance: &str) -> Place {
        Place { app: "jupyter".into(), instance: instance.into(), workspace: "main".into() }
    }

    #[test]
    fn an_application_keeps_its_port_also_over_a_restart() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("app-ports.json");
        let range = PortRange { first: 4_000, last: 4_002 };
        let ports = Ports::open(range, file.clone());
        assert_eq!((ports.of(&place("a")), ports.of(&place("b")), ports.of(&place("a"))), (4_000, 4_001, 4_000));
        assert_eq!((ports.place(4_001), ports.place(4_002)), (Some(place("b")), None));

        let again = Ports::open(range, file.clone());
        assert_eq!(
            (again.place(4_000), again.of(&place("b")), again.of(&place("c"))),
            (Some(place("a")), 4_001, 4_002)
        );
        // All are in use: who had the first gets another one when it is opened again.
        assert_eq!((again.of(&place("d")), again.place(4_000)), (4_000, Some(place("d"))));
        assert_eq!(again.of(&place("a")), 4_001);

        let smaller = Ports::open(PortRange { first: 4_001, last: 4_001 }, file);
        assert_eq!((smaller.place(4_000), smaller.place(4_001)), (None, Some(place("a"))));
    }

    #[test]
    fn a_range_is_two_ports_or_more() {
        assert_eq!(PortRange::parse("3100-3199"), Ok(PortRange { first: 3_100, last: 3_199 }));
        for wrong in
            ["", "3100", "3100-", "3199-3100", "3100-3100", "0-10", "1-65536", "1000-1500", "a-b", "3100-3199-1"]
        {
            assert!(PortRange::parse(wrong).is_err_and(|why| why.contains("such as 3100-3199")), "{wrong}");
        }
    }

    #[test]
    fn a_file_that_says_nothing_useful_is_no_obstacle() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("app-ports.json");
        for text in ["", "{", "[[4000,\"no label\"]]", "[[99999,\"a--b--c\"]]"] {
            std::fs::write(&file, text).expect("written");
            let ports = Ports::open(PortRange { first: 4_000, last: 4_001 }, file.clone());
            assert_eq!((ports.place(4_000), ports.of(&place("a"))), (None, 4_000));
        }
    }
}
