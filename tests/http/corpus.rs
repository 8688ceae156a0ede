//! Replays what fuzzers have kept (`fuzz/corpus`), so that what they found once stays fixed without them.

#[path = "../../fuzz/src/targets.rs"]
mod targets;

/// The inputs that are kept for a target.
fn kept(target: &str) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    entries.flatten().map(|entry| (entry.path(), std::fs::read(entry.path()).expect("reads"))).collect()
}

#[test]
fn every_kept_input_is_taken_as_it_must_be() {
    for (name, target) in targets::ALL {
        let kept = kept(name);
        assert!(kept.len() >= 3, "{name} has a corpus");
        for (path, bytes) in kept {
            println!("{}", path.display());
            target(&bytes);
        }
    }
}
