//! Root without bubblewrap: people are kept apart by their users alone.

use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use atelier_domain::world::Exit;
use atelier_protocol::Run;

use crate::common::Server;
use crate::common::agent::{Agent, is_root, marker, processes_with};
use crate::common::jobs::{argv, job, part, person, script};

fn open(path: &Path, mode: u32) {
    std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// An agent whose folders are as a server leaves them: everybody passes, nobody looks around.
async fn agent() -> Option<(Agent, Server)> {
    if !is_root() {
        println!("skipped: needs root");
        return None;
    }
    let started = Agent::with_config(|config| {
        config.view = false;
        open(config.folder.parent().unwrap(), 0o711);
    });
    Some(started.await)
}

#[tokio::test]
async fn each_person_is_a_user_who_cannot_get_at_the_others() {
    let Some((agent, mut server)) = agent().await else { return };
    let facts = &server.hellos[0].facts;
    assert!(facts.has_own_users && !facts.has_private_view, "{facts:?}");
    assert!(facts.warnings[0].contains("see each other's processes and the system: a private view was switched off"));

    let marker = marker();
    let first = format!(
        "umask 0; echo secret > $HOME/file; echo kept > $ATELIER_OUTPUT_DIR/file; echo mine > \
         $ATELIER_SHARED_DIR/mine; echo ready; exec sleep {marker}"
    );
    server.start(&script(1, &first)).await;
    server.printed(part(1), "ready").await;
    let sleeper = processes_with(&format!("sleep {marker}"))[0];

    let (folder, node) = (agent.folder.path().display(), agent.config.folder.display());
    let (homes, jobs) = (agent.config.homes.display(), agent.config.jobs.display());
    let look = format!(
        "id -u; id -G; pwd; echo $HOME; grep CapEff /proc/self/status; grep -c NoNewPrivs.*1 /proc/self/status
         for place in {homes}/person-1/file {jobs}/person-1/1.1.0/outputs/file {node}/secret {node}/lock {folder}/config.json; do
             cat $place 2>&1 | grep -c 'Permission denied'
         done
         for place in {homes} {homes}/person-1 {jobs} {jobs}/person-1 {folder} {node}; do ls $place 2>&1 | grep -c 'Permission denied'; done
         touch {homes}/x {jobs}/x {folder}/x {homes}/person-1/x 2>&1 | grep -c 'Permission denied'
         cat $ATELIER_SHARED_DIR/mine; rm -f $ATELIER_SHARED_DIR/mine 2>&1 | grep -c 'not permitted'
         cat /proc/{sleeper}/environ 2>&1 | grep -c 'Permission denied'
         kill -9 {sleeper} 2>&1 | grep -c 'not permitted'
         echo own > $HOME/file && cat $HOME/file"
    );
    let mut second = script(2, &look);
    second.person = person(2);
    server.start(&second).await;
    assert_eq!(server.off(part(2)).await, Exit::Code(0));
    let mut expected = vec!["70002".to_owned(), "70002".to_owned(), format!("{jobs}/person-2/2.1.0")];
    expected.extend([format!("{homes}/person-2"), "CapEff:\t0000000000000000".to_owned(), "1".to_owned()]);
    expected.extend((0..5 + 6).map(|_| "1".to_owned()));
    expected.extend(["4", "mine", "1", "1", "1", "own"].map(ToOwned::to_owned));
    assert_eq!(server.text(part(2)).lines().collect::<Vec<_>>(), expected);
    for (name, uid) in [("person-1", 70_001), ("person-2", 70_002)] {
        for place in [&agent.config.homes, &agent.config.jobs] {
            let found = std::fs::metadata(place.join(name)).unwrap();
            assert_eq!((found.uid(), found.mode() & 0o777), (uid, 0o700));
        }
    }
    // Nothing of that disturbed the first, who can still be ended.
    server.end(part(1), atelier_domain::time::Span::millis(50)).await;
    server.off(part(1)).await;
    assert_eq!(processes_with(&format!("sleep {marker}")), [0_u32; 0]);
}

#[tokio::test]
async fn files_scripts_and_jobs_that_are_alone_work_there_too() {
    let Some((agent, mut server)) = agent().await else { return };
    let file = server.file("data.txt", b"content");
    for (number, is_alone) in [(1, false), (2, true)] {
        let mut start =
            job(number, Run::Script("#!/bin/sh\ncat data.txt; id -u; echo x > $ATELIER_OUTPUT_DIR/x".into()));
        start.task.files = vec![file.clone()];
        start.task.is_alone = is_alone;
        server.start(&start).await;
        assert_eq!(server.off(part(number)).await, Exit::Code(0), "{}", server.text(part(number)));
        assert_eq!(server.text(part(number)), "content70001\n");
        let output = agent.config.jobs.join(format!("person-1/{number}.1.0/outputs/x"));
        assert_eq!(std::fs::metadata(output).unwrap().uid(), 70_001);
    }
    // What it forks and leaves behind ends with it.
    let marker = marker();
    server.start(&script(3, &format!("(setsid sleep {marker} &) ; exit 4"))).await;
    assert_eq!(server.off(part(3)).await, Exit::Code(4));
    assert_eq!(processes_with(&marker), [0_u32; 0]);
}

#[tokio::test]
async fn a_way_that_is_closed_is_named() {
    let Some((agent, mut server)) = agent().await else { return };
    open(agent.folder.path(), 0o700);
    let mut start = argv(1, &["true"]);
    start.task.is_alone = true;
    server.start(&start).await;
    let why = server.refused(part(1)).await;
    assert!(why.contains("jobs/person-1/1.1.0") && why.contains("Permission denied"), "{why}");
}
