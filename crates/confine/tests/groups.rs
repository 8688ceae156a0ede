//! Real processes in real control groups. On a machine without them, or without the right to use them, there
//! is nothing to test.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::process::{Command, Stdio};
use std::time::Duration;

use atelier_confine::{Confinement, NodeGroup, Share};
use atelier_testing::wait_until;

/// A node's group that is gone with its test, also when that fails.
struct Node(NodeGroup);

impl std::ops::Deref for Node {
    type Target = NodeGroup;
    fn deref(&self) -> &NodeGroup {
        &self.0
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.0.kill_all();
        let _ = self.0.remove();
    }
}

fn node(number: u64) -> Option<Node> {
    let Some(confinement) = Confinement::detect() else {
        println!("skipped: this machine has no control groups that this user may use");
        return None;
    };
    let node = confinement.node(&format!("test-{}", std::process::id()), number);
    node.create(Share { cores: 500, memory: 256, processes: 200 }).unwrap();
    Some(Node(node))
}

#[test]
fn all_processes_of_a_node_are_found_and_killed() {
    let Some(node) = node(1) else { return };
    let mut part = node.part("part-0").unwrap();
    part.set(Share { cores: 500, memory: 64, processes: 100 }).unwrap();
    let mut shell = Command::new("sh")
        .args(["-c", "read go; sleep 1000 & sleep 1000 & wait"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    part.attach(shell.id()).unwrap();
    drop(shell.stdin.take());
    wait_until("both sleepers to run", Duration::from_secs(10), || (part.pids().len() == 3).then_some(()));
    assert_eq!(node.pids().len(), 3);
    assert_eq!(part.usage().processes, 3);
    node.kill_all().unwrap();
    shell.wait().unwrap();
    assert!(node.pids().is_empty());
    node.remove().unwrap();
    assert!(!node.exists());
    node.kill_all().unwrap();
    node.remove().unwrap();
}

#[test]
fn too_much_memory_is_counted_and_a_group_can_be_used_again() {
    let Some(node) = node(2) else { return };
    let mut part = node.part("part-0").unwrap();
    part.set(Share { cores: 1000, memory: 32, processes: 100 }).unwrap();
    assert_eq!(part.memory_kills(), 0);
    let greedy = || {
        let script = "read go; head -c 100000000 /dev/zero | tail -c 100000000 >/dev/null";
        Command::new("sh").args(["-c", script]).stdin(Stdio::piped()).spawn().unwrap()
    };
    let mut first = greedy();
    part.attach(first.id()).unwrap();
    drop(first.stdin.take());
    first.wait().unwrap();
    let kills = part.memory_kills();
    assert!(kills > 0, "the system killed nothing");
    part.set(Share { cores: 1000, memory: 200, processes: 100 }).unwrap();
    let mut second = greedy();
    part.attach(second.id()).unwrap();
    drop(second.stdin.take());
    assert!(second.wait().unwrap().success());
    assert_eq!(part.memory_kills(), kills);
    node.kill_all().unwrap();
    node.remove().unwrap();
}

#[test]
fn what_forks_without_end_is_killed_too() {
    let Some(node) = node(3) else { return };
    let mut part = node.part("part-0").unwrap();
    part.set(Share { cores: 500, memory: 128, processes: 60 }).unwrap();
    let mut bomb = Command::new("sh")
        .args(["-c", "read go; f() { sleep 1000 & f & f & wait; }; f 2>/dev/null"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    part.attach(bomb.id()).unwrap();
    drop(bomb.stdin.take());
    wait_until("it to fork", Duration::from_secs(10), || (part.pids().len() > 20).then_some(()));
    part.kill_all().unwrap();
    bomb.wait().unwrap();
    part.remove().unwrap();
    node.remove().unwrap();
}
