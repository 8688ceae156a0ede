//! Which control groups there are, and whether they may be used.

use std::fs;
use std::path::{Path, PathBuf};

use crate::files::{make, write};
use crate::{Hierarchies, One};

/// The folder that all of ours are under.
const OURS: &str = "atelier";

/// Version 2: mounted, with the controllers, and they can be given on.
pub fn two() -> Option<Hierarchies> {
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    let root = mounts.lines().find_map(|line| {
        let mut words = line.split(' ');
        let (_, folder, kind) = (words.next()?, words.next()?, words.next()?);
        (kind == "cgroup2").then(|| PathBuf::from(folder))
    })?;
    let controllers = fs::read_to_string(root.join("cgroup.controllers")).ok()?;
    let has = |name: &str| controllers.split_whitespace().any(|controller| controller == name);
    if !has("cpu") || !has("memory") {
        return None;
    }
    // The root of a container holds processes, and then it cannot give controllers on: version 2 forbids it.
    give_on(&root).ok()?;
    let ours = root.join(OURS);
    make(&ours).ok()?;
    give_on(&ours).ok()?;
    Some(Hierarchies::Two(root))
}

/// Lets groups below this one have controllers.
pub fn give_on(folder: &Path) -> std::io::Result<()> {
    let control = folder.join("cgroup.subtree_control");
    write(&control, "+cpu +memory")?;
    // Not everywhere, and only a second line of defence.
    drop(write(&control, "+pids"));
    Ok(())
}

/// Version 1: the two that matter are mounted and groups can be made in them.
pub fn one() -> Option<Hierarchies> {
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    let (mut cpu, mut memory, mut accounting, mut pids, mut names) = (None, None, None, None, Vec::new());
    for line in mounts.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let [_, folder, kind, options, ..] = words[..] else { continue };
        let folder = PathBuf::from(folder);
        if kind == "cgroup2" {
            names.push(folder);
            continue;
        }
        if kind != "cgroup" || make(&folder.join(OURS)).is_err() {
            continue;
        }
        for option in options.split(',') {
            match option {
                "cpu" => cpu = Some(folder.clone()),
                "memory" => memory = Some(folder.clone()),
                "cpuacct" => accounting = Some(folder.clone()),
                "pids" => pids = Some(folder.clone()),
                name if name.starts_with("name=") => names.push(folder.clone()),
                _ => {}
            }
        }
    }
    names.retain(|folder| make(&folder.join(OURS)).is_ok());
    Some(Hierarchies::One(One { cpu: cpu?, memory: memory?, accounting, pids, names }))
}
