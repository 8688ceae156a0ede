//! Which of the machine's GPUs a node gets.
//!
//! What a node holds stands in its `agent.json` and nowhere else, so that a server that was restarted finds
//! it again; it is free once the node's folder is gone.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use atelier_domain::compute::NodeId;
use atelier_domain::text::counted;
use atelier_protocol::AgentConfig;

use super::process::{CONFIG, look};

/// Those with the lowest numbers that nobody holds.
pub(super) fn choose(machine: u64, held: &BTreeSet<u64>, wanted: u64) -> Result<Vec<u64>, String> {
    let free: Vec<u64> = (0..machine).filter(|gpu| !held.contains(gpu)).collect();
    match usize::try_from(wanted).ok().and_then(|count| free.get(..count)) {
        Some(chosen) => Ok(chosen.to_vec()),
        None => Err(format!(
            "it needs {}, and {} of the machine’s {} are free: other nodes hold the rest until they are gone",
            counted(wanted, "GPU", "GPUs"),
            free.len(),
            machine
        )),
    }
}

/// What all other nodes in that folder hold, also those whose agents are dead: their jobs may still run until
/// they are removed.
pub(super) fn held(nodes: &Path, but: NodeId) -> Result<BTreeSet<u64>, String> {
    let cannot = |error: io::Error| format!("which GPUs other nodes hold cannot be seen: {error}");
    let entries = match std::fs::read_dir(nodes) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
        Err(error) => return Err(cannot(error)),
    };
    let mut held = BTreeSet::new();
    for entry in entries {
        let entry = entry.map_err(cannot)?;
        let Some(node) = entry.file_name().to_str().and_then(NodeId::parse).filter(|node| *node != but) else {
            continue;
        };
        match AgentConfig::read(&entry.path().join(CONFIG)) {
            Ok(config) => held.extend(config.devices()),
            // It was being made or removed when the server ended, and nothing runs there.
            Err(_) if look(&entry.path()) == Ok(false) => {}
            Err(why) => return Err(format!("which GPUs {node} holds cannot be seen. {why}")),
        }
    }
    Ok(held)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_node_gets_cards_of_its_own() {
        type Case<'a> = (u64, &'a [u64], u64, Result<&'a [u64], &'a str>);
        let cases: [Case<'_>; 8] = [
            (0, &[], 0, Ok(&[])),
            (4, &[], 1, Ok(&[0])),
            (4, &[0], 1, Ok(&[1])),
            (4, &[1, 2], 2, Ok(&[0, 3])),
            (4, &[0, 1, 2, 3], 0, Ok(&[])),
            (4, &[0, 1, 3], 2, Err("it needs 2 GPUs, and 1 of the machine’s 4 are free")),
            (0, &[], 1, Err("it needs 1 GPU, and 0 of the machine’s 0 are free")),
            // A card was taken out of the machine: what its node held is not another's loss.
            (2, &[0, 7], 1, Ok(&[1])),
        ];
        for (machine, held, wanted, expected) in cases {
            let chosen = choose(machine, &held.iter().copied().collect(), wanted);
            match expected {
                Ok(gpus) => assert_eq!(chosen.as_deref(), Ok(gpus), "{machine} {held:?} {wanted}"),
                Err(words) => assert!(chosen.as_ref().is_err_and(|why| why.starts_with(words)), "{chosen:?}"),
            }
        }
    }

    #[test]
    fn what_nodes_hold_is_read_from_their_folders() {
        let folder = tempfile::tempdir().expect("a folder");
        let nodes = folder.path().join("nodes");
        assert_eq!(held(&nodes, NodeId(1)), Ok(BTreeSet::new()));
        let make = |node: u64, shape: u64, gpus: &[u64]| {
            let own = nodes.join(NodeId(node).to_string());
            std::fs::create_dir_all(&own).expect("made");
            let mut config = AgentConfig::new("unix:/x", NodeId(node), "t", &own);
            (config.shape.gpus, config.gpus) = (shape, gpus.to_vec());
            config.write(&own.join(CONFIG)).expect("written");
            own
        };
        make(1, 1, &[2]);
        make(2, 0, &[]);
        // Made by a server that did not say which.
        make(3, 2, &[]);
        let broken = make(4, 1, &[5]);
        assert_eq!(held(&nodes, NodeId(9)), Ok(BTreeSet::from([0, 1, 2, 5])));
        assert_eq!(held(&nodes, NodeId(1)), Ok(BTreeSet::from([0, 1, 5])));
        // Half a file holds nothing, unless somebody lives there.
        std::fs::write(broken.join(CONFIG), "{").expect("written");
        assert_eq!(held(&nodes, NodeId(9)), Ok(BTreeSet::from([0, 1, 2])));
        let lock = std::fs::File::create(broken.join("lock")).expect("made");
        lock.lock().expect("is free");
        assert!(held(&nodes, NodeId(9)).is_err_and(|why| why.contains("which GPUs node-4 holds")));
    }
}
