//! Ending jobs, and jobs that do not want to end: nothing of them is left, and the node can be used again.

use atelier_domain::time::Span;
use atelier_domain::world::Exit;
use atelier_protocol::Event;

use crate::common::agent::{Agent, marker, processes_with};
use crate::common::jobs::{argv, part, script};

#[tokio::test]
async fn a_job_that_is_asked_to_end_may_clear_up() {
    let (_agent, mut server) = Agent::with_server().await;
    server.start(&script(1, "trap 'echo clearing up; exit 5' TERM; echo ready; while :; do sleep 0.05; done")).await;
    server.printed(part(1), "ready").await;
    server.end(part(1), Span::seconds(20)).await;
    assert_eq!(server.off(part(1)).await, Exit::Code(5));
    assert!(server.text(part(1)).contains("clearing up"));
}

#[tokio::test]
async fn a_job_that_ignores_the_request_is_killed_with_all_it_started() {
    let (agent, mut server) = Agent::with_server().await;
    let marker = marker();
    let stubborn = format!(
        "trap '' TERM HUP INT; setsid sleep {marker} & (sleep {marker} &) ; sleep {marker} & echo ready; while :; do \
         sleep 0.1; done"
    );
    server.start(&script(1, &stubborn)).await;
    server.printed(part(1), "ready").await;
    atelier_testing::wait_until("what it started", crate::common::PATIENCE, || {
        (processes_with(&marker).len() > 2).then_some(())
    });
    server.end(part(1), Span::millis(100)).await;
    server.end(part(1), Span::millis(100)).await;
    assert_eq!(server.off(part(1)).await, Exit::Code(137));
    assert_eq!(processes_with(&marker), [0_u32; 0]);
    // Again, late, and of one that never was.
    server.end(part(1), Span::ZERO).await;
    server.end(part(99), Span::ZERO).await;
    assert_eq!(server.off(part(99)).await, Exit::Code(143));
    assert_eq!(
        server.events.iter().filter(|event| matches!(event, Event::Off { part: of, .. } if *of == part(1))).count(),
        2
    );
    server.start(&argv(2, &["true"])).await;
    assert_eq!(server.off(part(2)).await, Exit::Code(0));
    drop(agent);
}

#[tokio::test]
async fn what_forks_away_is_gone_when_the_job_is_off() {
    let (_agent, mut server) = Agent::with_server().await;
    let marker = marker();
    let daemon = format!(
        "#!/usr/bin/env python3\nimport os, sys, time\n\
         if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        os.environ.clear()\n        \
         os.execvp('sleep', ['sleep', '{marker}'])\n    os._exit(0)\nos.wait()\nprint('left')\n"
    );
    server.start(&script(1, &daemon)).await;
    assert_eq!(server.off(part(1)).await, Exit::Code(0));
    assert_eq!(processes_with(&format!("sleep {marker}")), [0_u32; 0]);
    assert_eq!(server.text(part(1)), "left\n");
}

#[tokio::test]
async fn a_fork_bomb_is_contained_and_ended() {
    let (_agent, mut server) = Agent::with_server().await;
    let marker = marker();
    let bomb = format!("echo ready; f() {{ sleep {marker} & f & f & wait; }}; f 2>/dev/null");
    server.start(&script(1, &bomb)).await;
    server.printed(part(1), "ready").await;
    server.end(part(1), Span::ZERO).await;
    server.off(part(1)).await;
    assert_eq!(processes_with(&marker), [0_u32; 0]);
    server.start(&argv(2, &["echo", "fine"])).await;
    assert_eq!(server.off(part(2)).await, Exit::Code(0));
}

#[tokio::test]
async fn a_job_that_stops_or_kills_its_worker_hurts_only_itself() {
    let (_agent, mut server) = Agent::with_server().await;
    let marker = marker();
    server.start(&script(1, &format!("sleep {marker} & kill -STOP $PPID; echo stopped; sleep {marker}"))).await;
    server.printed(part(1), "stopped").await;
    server.end(part(1), Span::ZERO).await;
    assert_eq!(server.off(part(1)).await, Exit::Code(137));
    server.start(&script(2, &format!("setsid sleep {marker} & kill -KILL $PPID; sleep {marker}"))).await;
    assert_eq!(server.off(part(2)).await, Exit::Code(137));
    assert_eq!(processes_with(&marker), [0_u32; 0]);
    server.start(&argv(3, &["echo", "fine"])).await;
    assert_eq!(server.off(part(3)).await, Exit::Code(0));
}

#[tokio::test]
async fn a_job_that_runs_too_long_is_ended_by_the_agent_itself() {
    let (_agent, mut server) = Agent::with_server().await;
    let mut start = argv(1, &["sleep", "1000"]);
    start.timeout = Some(Span::millis(100));
    server.start(&start).await;
    assert_eq!(server.off(part(1)).await, Exit::TimedOut);
}

#[tokio::test]
async fn a_job_that_waits_is_ended_without_ever_running() {
    let (_agent, mut server) = Agent::with_server().await;
    let mut first = argv(1, &["sleep", "1000"]);
    first.shape.cores = 2_000;
    server.start(&first).await;
    server.start(&argv(2, &["echo", "never"])).await;
    server.end(part(2), Span::seconds(10)).await;
    assert_eq!(server.off(part(2)).await, Exit::Code(143));
    server.end(part(1), Span::seconds(10)).await;
    assert_eq!(server.off(part(1)).await, Exit::Code(143));
    assert!(server.text(part(2)).is_empty());
}

#[tokio::test]
async fn a_job_that_takes_too_much_memory_is_ended_and_says_so() {
    if atelier_confine::Confinement::detect().is_none() {
        println!("skipped: this machine has no control groups");
        return;
    }
    let (_agent, mut server) = Agent::with_server().await;
    let greedy = "#!/usr/bin/env python3\nprint('begin', flush=True)\nx = bytearray(400 << 20)\nprint('never')\n";
    let mut start = script(1, greedy);
    start.shape.memory = 64;
    server.start(&start).await;
    assert_eq!(server.off(part(1)).await, Exit::OutOfMemory);
    assert_eq!(server.text(part(1)), "begin\n");
    // The same with a shell around it, which dies of it, and files in memory that would stay.
    let mut start = script(
        2,
        "head -c 60000000 /dev/zero > /dev/shm/stays; head -c 400000000 /dev/zero | tail -c 200000000 >/dev/null; exit \
         $?",
    );
    start.shape.memory = 96;
    server.start(&start).await;
    assert_eq!(server.off(part(2)).await, Exit::OutOfMemory);
    let mut start = script(3, "ls /dev/shm; head -c 60000000 /dev/zero | tail -c 50000000 | wc -c; exit 9");
    start.shape.memory = 96;
    server.start(&start).await;
    assert_eq!(server.off(part(3)).await, Exit::Code(9));
    assert_eq!(server.text(part(3)), "50000000\n");
}
