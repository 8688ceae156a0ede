//! Processes that not even a kill ends, as behind a disk that does not answer: everything else on the node
//! goes on.
//!
//! Control groups of version 1 can freeze a process so that it is in the very state in which such a process
//! is.

use std::path::PathBuf;

use atelier_domain::time::Span;
use atelier_domain::world::Exit;
use atelier_testing::wait_until;

use crate::common::agent::{Agent, marker, processes_with};
use crate::common::jobs::{argv, part, person, script};
use crate::common::{PATIENCE, Server};

/// Frozen processes; thawed with this.
struct Frozen(PathBuf);

impl Frozen {
    /// Freezes all processes with that text in their command line, once they are there.
    fn freeze(text: &str) -> Self {
        let folder = freezer().unwrap().join(format!("atelier-test-{text}"));
        std::fs::create_dir(&folder).unwrap();
        let frozen = Self(folder);
        let pids = wait_until("the process to freeze", PATIENCE, || {
            Some(processes_with(text)).filter(|pids| !pids.is_empty())
        });
        for pid in pids {
            std::fs::write(frozen.0.join("cgroup.procs"), pid.to_string()).unwrap();
        }
        std::fs::write(frozen.0.join("freezer.state"), "FROZEN").unwrap();
        wait_until("it to be frozen", PATIENCE, || {
            std::fs::read_to_string(frozen.0.join("freezer.state")).unwrap().starts_with("FROZEN").then_some(())
        });
        frozen
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        let _ = std::fs::write(self.0.join("freezer.state"), "THAWED");
        let empty = || std::fs::remove_dir(&self.0).is_ok().then_some(());
        wait_until("the frozen to end", PATIENCE, empty);
    }
}

fn freezer() -> Option<PathBuf> {
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
    let mut lines = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let found = lines.find(|words| words[2] == "cgroup" && words[3].split(',').any(|option| option == "freezer"));
    found.map(|words| PathBuf::from(words[1])).filter(|_| crate::common::agent::is_root())
}

fn can_freeze() -> bool {
    let can = freezer().is_some();
    if !can {
        println!("skipped: needs root and the freezer of control groups, version 1");
    }
    can
}

fn is_off(server: &Server, job: u64) -> bool {
    server.off.contains(&part(job))
}

/// Jobs come and go while the agent says twice how the node is doing. In that time it has tried all that it
/// can.
async fn go_on(server: &mut Server, first: u64, is_alone: bool) {
    let samples = server.samples.len();
    let mut number = first;
    while server.samples.len() < samples + 2 {
        for person_number in [1, 2] {
            let mut start = argv(number, &["echo", "fine"]);
            start.person = person(person_number);
            start.task.is_alone = is_alone;
            server.start(&start).await;
            assert_eq!(server.off(part(number)).await, Exit::Code(0));
            number += 1;
        }
    }
}

#[tokio::test]
async fn a_job_that_cannot_be_killed_holds_nobody_else_up() {
    if !can_freeze() {
        return;
    }
    for is_alone in [false, true] {
        let (agent, mut server) = Agent::with_server().await;
        let marker = marker();
        let mut start = argv(1, &["sleep", &marker]);
        start.task.is_alone = is_alone;
        server.start(&start).await;
        // Of the same person, in the same sandbox: it must not be taken along.
        let mut start = script(2, "echo ready; until [ -e $ATELIER_SHARED_DIR/gate ]; do sleep 0.02; done; echo done");
        start.task.is_alone = is_alone;
        server.start(&start).await;
        server.started(part(1)).await;
        server.printed(part(2), "ready").await;
        let frozen = Frozen::freeze(&marker);
        server.end(part(1), Span::ZERO).await;
        go_on(&mut server, 10, is_alone).await;
        assert!(!is_off(&server, 1) && !is_off(&server, 2));
        drop(frozen);
        assert_eq!(server.off(part(1)).await, Exit::Code(137));
        std::fs::write(agent.config.shared.join("gate"), "").unwrap();
        assert_eq!(server.off(part(2)).await, Exit::Code(0));
        assert_eq!(server.text(part(2)), "ready\ndone\n");
    }
}

#[tokio::test]
async fn a_sandbox_that_cannot_end_holds_nobody_else_up() {
    if !can_freeze() {
        return;
    }
    let (agent, mut server) = Agent::with_server().await;
    let marker = marker();
    server.start(&argv(1, &["sleep", &marker])).await;
    server.started(part(1)).await;
    let frozen = Frozen::freeze(&marker);
    let own = agent.pid();
    let sandboxes = std::fs::read_to_string(format!("/proc/{own}/task/{own}/children")).unwrap();
    for pid in sandboxes.split_whitespace() {
        let pid = rustix::process::Pid::from_raw(pid.parse().unwrap()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    }
    go_on(&mut server, 10, false).await;
    assert!(!is_off(&server, 1));
    drop(frozen);
    assert_eq!(server.off(part(1)).await, Exit::Code(137));
    // Its room is free again.
    let mut start = argv(2, &["true"]);
    start.shape.cores = 2_000;
    server.start(&start).await;
    assert_eq!(server.off(part(2)).await, Exit::Code(0));
}
