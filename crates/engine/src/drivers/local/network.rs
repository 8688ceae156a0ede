//! Networks of people on the server's own machine: what is changed about the machine for them, and how that
//! is undone. Agents make the networks themselves.

use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use atelier_confine::net::{Denied, Firewall, Namespace, Rules, disconnect, links, release, reserve};
use atelier_domain::network::{Egress, METADATA, Range, Separation, routes};
use atelier_protocol::NetworkConfig;
use serde::{Deserialize, Serialize};

use super::process;
use crate::fleet::Folders;

const FORWARDING: &str = "/proc/sys/net/ipv4/ip_forward";

/// What may be set about networks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkSettings {
    /// The addresses they have.
    pub range: Range,
    /// Whether somebody chose these, so that no others are taken.
    pub is_chosen: bool,
    /// Where they lead.
    pub egress: Egress,
    /// What they do not reach beside this machine and its cloud: the database.
    pub denied: Vec<(std::net::Ipv4Addr, u16)>,
}

/// What was done about networks, for agents and for people.
#[derive(Clone, Debug, Default)]
pub struct Prepared {
    /// What agents are told.
    pub config: Option<NetworkConfig>,
    /// How networks are kept apart: a sentence.
    pub sentence: String,
    /// Whether nobody reaches anybody else's.
    pub is_separate: bool,
}

/// What was changed about the machine, so that it can be undone by whoever comes later.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Changes {
    range: Range,
    /// Whether packets were not forwarded before.
    turned_forwarding_on: bool,
}

/// Prepares the machine. What cannot be had is said, and the next best is taken.
pub fn prepare(installation: &str, folders: &Folders, settings: Option<&NetworkSettings>) -> Prepared {
    let shared = |why: &str| Prepared {
        sentence: format!(
            "Users share this machine’s network, so they can connect to each other’s local ports and to the \
             server’s: {why}."
        ),
        ..Prepared::default()
    };
    let Some(settings) = settings else { return shared("separate networks are switched off in the settings") };
    if let Err(error) = Namespace::new() {
        return shared(&format!("the kernel makes no network namespaces ({error})"));
    }
    let (separation, range, why) = match join(installation, folders, settings) {
        Ok(range) => (Separation::Joined, range, None),
        Err(why) => {
            undo(installation, folders);
            (Separation::Alone, settings.range, Some(why))
        }
    };
    let folder = folders.network();
    let api = folders.api_socket();
    let config = NetworkConfig { separation, range, egress: settings.egress.clone(), folder, api };
    let egress = match (&settings.egress, &why) {
        (Egress::Open, None) => "It leads everywhere but to this machine and its cloud’s metadata.".to_owned(),
        (Egress::Open, Some(_)) => "It leads out through an HTTP proxy alone.".to_owned(),
        (Egress::Proxy(proxy), _) => format!("It leads out through the HTTP proxy {proxy} alone."),
        (Egress::None, _) => "It doesn’t lead out of this machine.".to_owned(),
    };
    let without = why.map_or_else(String::new, |why| format!(" Nodes of one job can’t connect to each other: {why}."));
    let sentence = format!("Each user has a separate network on each node. {egress}{without}");
    Prepared { config: Some(config), sentence, is_separate: true }
}

/// Makes the machine join networks, and says with which addresses.
fn join(installation: &str, folders: &Folders, settings: &NetworkSettings) -> Result<Range, String> {
    let firewall = Firewall::of(installation);
    let before = read(folders);
    let listed = std::fs::read_to_string("/proc/net/route").map_err(|error| error.to_string())?;
    let mut taken = routes(&listed, firewall.prefix());
    taken.retain(|route| before.as_ref().is_none_or(|before| before.range != *route));
    let range = loop {
        let range = Range::choose(settings.range, settings.is_chosen, &taken)?;
        let is_ours = before.as_ref().is_some_and(|before| before.range == range);
        match reserve(range.first, range.length) {
            Ok(()) => break range,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && is_ours => break range,
            // Another server was quicker.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => taken.push(range),
            Err(error) => return Err(format!("no range of addresses can be reserved ({error})")),
        }
    };
    let is_off = std::fs::read_to_string(FORWARDING).is_ok_and(|text| text.trim() == "0");
    let turned_forwarding_on = is_off || before.is_some_and(|before| before.turned_forwarding_on);
    // Written before anything else is done: whoever comes after a crash knows what to undo.
    let cannot = |what: &str| {
        let what = what.to_owned();
        move |error: io::Error| format!("{what} ({error})")
    };
    write(folders, &Changes { range, turned_forwarding_on }).map_err(cannot("changes can’t be recorded"))?;
    let whole = METADATA.iter().map(|range| Denied { network: (range.first, range.length), port: None });
    let database = settings.denied.iter().map(|(address, port)| Denied { network: (*address, 32), port: Some(*port) });
    let rules = Rules {
        range: (range.first, range.length),
        is_open: settings.egress == Egress::Open,
        denied: whole.chain(database).collect(),
    };
    firewall.install(&rules).map_err(cannot("the kernel’s firewall takes no rules"))?;
    if is_off {
        std::fs::write(FORWARDING, "1").map_err(cannot("forwarding can’t be turned on"))?;
    }
    Ok(range)
}

/// What is changed about this machine for networks, in sentences; empty if nothing is.
pub fn changes(installation: &str, folders: &Folders) -> Vec<String> {
    let firewall = Firewall::of(installation);
    let mut all = Vec::new();
    if firewall.is_installed() {
        all.push(format!("Firewall table inet {} (input, forward, output and nat chains).", firewall.table()));
    }
    if let Some(Changes { range, turned_forwarding_on }) = read(folders) {
        all.push(format!("Route {range}, reserved for users’ networks."));
        if turned_forwarding_on {
            all.push("IPv4 forwarding is on; it was off.".to_owned());
        }
    }
    let links = links(firewall.prefix());
    if !links.is_empty() {
        all.push(format!("{} links: {}.", links.len(), links.join(", ")));
    }
    all
}

/// Undoes all of it, unless a node still needs it. Again is fine.
pub fn undo(installation: &str, folders: &Folders) {
    let firewall = Firewall::of(installation);
    let Some(Changes { range, turned_forwarding_on }) = read(folders) else { return };
    if process::alive(&folders.nodes()).map_or(true, |alive| !alive.is_empty()) {
        return;
    }
    // The kernel takes its time with those of agents that have just ended.
    links(firewall.prefix()).iter().for_each(|link| drop(disconnect(link)));
    let undone = firewall.remove().and_then(|()| release(range.first, range.length)).and_then(|()| {
        if turned_forwarding_on {
            std::fs::write(FORWARDING, "0")?;
        }
        std::fs::remove_dir_all(folders.network())
    });
    if let Err(error) = undone {
        tracing::warn!(%error, "what was changed about this machine’s network is not undone; see atelier network");
    }
}

fn file(folders: &Folders) -> PathBuf {
    folders.network().join("changes.json")
}

fn read(folders: &Folders) -> Option<Changes> {
    serde_json::from_slice(&std::fs::read(file(folders)).ok()?).ok()
}

fn write(folders: &Folders, changes: &Changes) -> io::Result<()> {
    let (file, folder) = (file(folders), folders.network());
    make(&folder)?;
    let beside = file.with_extension("new");
    std::fs::write(&beside, serde_json::to_vec(changes)?)?;
    std::fs::rename(beside, file)
}

fn make(folder: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}
