//! Which address somebody has on which node of this machine. Agents agree on that through a file, so that one
//! can name the address of a node whose own network is still to come.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::PathBuf;

use atelier_domain::UserId;
use atelier_domain::compute::NodeId;
use atelier_domain::network::Range;

/// All of them, on disk.
#[derive(Clone, Debug)]
pub struct Leases {
    folder: PathBuf,
}

impl Leases {
    pub const fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// The number of somebody's address on a node, the same for whoever asks. Those of nodes that are gone
    /// are given anew.
    pub fn number(&self, range: Range, node: NodeId, owner: &UserId) -> io::Result<u32> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        let lock = self.folder.join("lock");
        let lock = File::options().write(true).create(true).truncate(false).mode(0o600).open(lock)?;
        lock.lock()?;
        let file = self.folder.join("leases.json");
        let mut known: BTreeMap<String, u32> = match fs::read(&file) {
            Ok(text) => serde_json::from_slice(&text)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => BTreeMap::new(),
            Err(error) => return Err(error),
        };
        let key = format!("{node} {}", owner.as_str());
        if let Some(number) = known.get(&key).filter(|number| range.numbers().contains(number)) {
            return Ok(*number);
        }
        known.retain(|key, number| self.is_of_a_node(key) && range.numbers().contains(number));
        let taken: std::collections::BTreeSet<u32> = known.values().copied().collect();
        let free = range.numbers().find(|number| !taken.contains(number));
        let number = free.ok_or_else(|| io::Error::other(format!("all addresses of {range} are in use")))?;
        known.insert(key, number);
        let beside = self.folder.join("leases.new");
        fs::write(&beside, serde_json::to_vec(&known)?)?;
        fs::rename(beside, file)?;
        Ok(number)
    }

    /// Whether the node of a lease has a folder: nodes lie beside ours.
    fn is_of_a_node(&self, key: &str) -> bool {
        let node = key.split(' ').next().unwrap_or_default();
        self.folder.parent().is_none_or(|data| {
            let nodes = data.join("nodes");
            !nodes.is_dir() || nodes.join(node).exists()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_is_told_the_same_and_addresses_of_nodes_that_are_gone_are_used_again() {
        let data = tempfile::tempdir().unwrap();
        let range = Range::parse("10.213.0.0/16").unwrap();
        let leases = || Leases::new(data.path().join("network"));
        let number = |node: u64, person: &str| leases().number(range, NodeId(node), &UserId::new(person)).unwrap();
        for node in [1, 2] {
            fs::create_dir_all(data.path().join("nodes").join(NodeId(node).to_string())).unwrap();
        }
        assert_eq!([number(1, "a"), number(1, "b"), number(2, "a"), number(1, "a")], [2, 3, 4, 2]);
        fs::remove_dir(data.path().join("nodes").join(NodeId(1).to_string())).unwrap();
        assert_eq!([number(2, "b"), number(2, "a")], [2, 4]);
    }
}
