//! Control groups of version 2, in a folder as a machine with them has it: which files are written, with
//! what, and how theirs are read. What the kernel makes of it is tested where there is one (`groups.rs`).
#![expect(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::path::Path;

use atelier_confine::{Confinement, Share, Usage, Version};

/// The files that the kernel puts into each group, as recorded.
const FILES: [(&str, &str); 10] = [
    ("cgroup.procs", ""),
    ("cgroup.subtree_control", ""),
    ("cgroup.kill", ""),
    ("cpu.max", "max 100000"),
    ("cpu.weight", "100"),
    ("cpu.stat", "usage_usec 2500\nuser_usec 2000\nsystem_usec 500\n"),
    ("memory.max", "max"),
    ("memory.swap.max", "max"),
    ("memory.stat", "anon 4096\nfile 8192\nkernel 1024\nshmem 512\n"),
    ("memory.events", "low 0\nhigh 0\nmax 9\noom 4\noom_kill 3\noom_group_kill 0\n"),
];

fn record(root: &Path, groups: &[&str]) {
    for group in groups {
        let folder = root.join(group);
        fs::create_dir_all(&folder).unwrap();
        for (name, text) in FILES.iter().chain(&[("pids.max", "max"), ("cgroup.controllers", "cpu memory pids")]) {
            fs::write(folder.join(name), text).unwrap();
        }
    }
}

#[test]
fn a_node_and_its_parts_get_their_shares() {
    let root = tempfile::tempdir().unwrap();
    let node = "atelier/an-installation/node-7";
    record(root.path(), &["", "atelier", "atelier/an-installation", node]);
    record(root.path(), &[&format!("{node}/agent"), &format!("{node}/part-0")]);
    let read = |file: &str| fs::read_to_string(root.path().join(file)).unwrap();
    let confinement = Confinement::recorded(root.path());
    assert_eq!(confinement.version(), Version::Two);
    let group = confinement.node("an-installation", 7);
    group.create(Share { cores: 1_500, memory: 512, processes: 300 }).unwrap();
    // A shorter text does not cut the rest of a real file off; the kernel takes what was written.
    assert!(read(&format!("{node}/cpu.max")).starts_with("150000 100000"));
    assert!(read(&format!("{node}/memory.max")).starts_with("536870912"));
    assert!(read(&format!("{node}/memory.swap.max")).starts_with('0'));
    assert!(read(&format!("{node}/pids.max")).starts_with("300"));
    for level in ["atelier", "atelier/an-installation", node] {
        assert!(read(&format!("{level}/cgroup.subtree_control")).starts_with("+pids"), "{level}");
    }

    // Only groups without groups below them hold processes.
    let doors = group.doors().unwrap();
    assert_eq!(doors, [root.path().join(node).join("agent/cgroup.procs")]);
    group.enter(4_711).unwrap();
    assert_eq!(
        (read(&format!("{node}/agent/cgroup.procs")).as_str(), read(&format!("{node}/cgroup.procs")).as_str()),
        ("4711", "")
    );
    assert_eq!(group.pids(), [4_711]);
    assert_eq!(group.memory_kills(), 3);
    assert_eq!(group.usage(), Usage { cpu: 2_500_000, memory: 4_096 + 512 + 1_024, shared: 512, processes: 1 });

    let mut part = group.part("part-0").unwrap();
    part.set(Share { cores: 500, memory: 64, processes: 40 }).unwrap();
    assert!(read(&format!("{node}/part-0/memory.max")).starts_with("67108864"));
    assert!(read(&format!("{node}/part-0/cpu.weight")).starts_with("50"));
    assert!(read(&format!("{node}/part-0/pids.max")).starts_with("40"));
    assert_eq!(part.memory_kills(), 3);
    part.forbid_forks();
    assert!(read(&format!("{node}/part-0/pids.max")).starts_with('0'));
}

#[test]
fn no_name_leads_out_of_the_hierarchy() {
    let root = tempfile::tempdir().unwrap();
    let group = Confinement::recorded(root.path()).node("../../etc", 1);
    assert!(!group.exists());
    record(root.path(), &["atelier/______etc/node-1"]);
    assert!(group.exists(), "every sign that is no letter is replaced");
}
