//! People are kept apart where the agent runs as root; where it does not, everything works and it says so.

use std::os::unix::fs::MetadataExt;

use atelier_domain::world::Exit;
use atelier_protocol::Limits;

use crate::common::Server;
use crate::common::agent::{Agent, is_root, marker, processes_with};
use crate::common::jobs::{argv, part, person, script};

fn has_view() -> bool {
    let has = is_root() && std::path::Path::new("/usr/bin/bwrap").exists();
    if !has {
        println!("skipped: needs root and bubblewrap");
    }
    has
}

#[tokio::test]
async fn two_people_see_nothing_of_each_other() {
    if !has_view() {
        return;
    }
    let (agent, mut server) = Agent::with_server().await;
    let facts = &server.hellos[0].facts;
    assert!(facts.has_own_users && facts.has_private_view && facts.warnings.is_empty(), "{facts:?}");
    server
        .start(&script(
            1,
            "umask 0; echo secret > $HOME/file; echo mine > $ATELIER_SHARED_DIR/mine; echo ready; exec sleep 981981",
        ))
        .await;
    server.printed(part(1), "ready").await;
    let data = agent.config.folder.display();
    let folder = agent.folder.path().display();
    let look = format!(
        "id -u; ls /home; ls /jobs; grep -al 98198[1] /proc/[0-9]*/cmdline | grep -v self | wc -l; cat {data}/secret {folder}/config.json 2>&1 | grep -c 'No such file';
         ls {folder} / 2>/dev/null | grep -c -e homes -e work -e root; touch /usr/x /etc/x 2>&1 | grep -c 'Read-only'; cat $ATELIER_SHARED_DIR/mine;
         rm -f $ATELIER_SHARED_DIR/mine 2>&1 | grep -c 'not permitted'; grep -c NoNewPrivs.*1 /proc/self/status; grep CapEff /proc/self/status; whoami; echo $HOME; hostname; kill -0 -1 2>/dev/null; echo $?; mount -t tmpfs x /tmp 2>&1 | wc -l"
    );
    let mut start = script(2, &look);
    start.person = person(2);
    server.start(&start).await;
    server.off(part(2)).await;
    let text = server.text(part(2));
    let lines: Vec<&str> = text.lines().collect();
    let expected = [
        "70002",
        "handle2",
        "2.1.0",
        "0",
        "2",
        "0",
        "2",
        "mine",
        "1",
        "1",
        "CapEff:\t0000000000000000",
        "handle2",
        "/home/handle2",
        "node-7",
    ];
    assert_eq!(&lines[..expected.len()], &expected, "{text}");
    // Their homes and jobs belong to them alone, on the machine too.
    for (name, uid) in [("person-1", 70_001), ("person-2", 70_002)] {
        for place in [&agent.config.homes, &agent.config.jobs] {
            let found = std::fs::metadata(place.join(name)).unwrap();
            assert_eq!((found.uid(), found.mode() & 0o777), (uid, 0o700));
        }
    }
}

#[tokio::test]
async fn a_job_cannot_signal_or_look_into_what_runs_it() {
    if !has_view() {
        return;
    }
    let (_agent, mut server) = Agent::with_server().await;
    let look = "cat /proc/1/environ /proc/$PPID/environ /proc/1/maps 2>&1 | grep -c denied; kill -9 1; kill -9 -1; \
                echo still here";
    server.start(&script(1, look)).await;
    server.off(part(1)).await;
    assert!(server.text(part(1)).starts_with("3\n"), "{}", server.text(part(1)));
    server.start(&argv(2, &["true"])).await;
    assert_eq!(server.off(part(2)).await, Exit::Code(0));
}

#[tokio::test]
async fn a_person_without_a_user_of_the_system_is_refused_rather_than_run_as_root() {
    if !is_root() {
        println!("skipped: needs root");
        return;
    }
    let (_agent, mut server) = Agent::with_server().await;
    for (number, uid) in [(1, None), (2, Some(0))] {
        let mut start = argv(number, &["id"]);
        start.person.uid = uid;
        server.start(&start).await;
        assert!(server.refused(part(number)).await.contains("no user of the system"));
    }
    let mut start = argv(3, &["id"]);
    start.person.handle = "../evil".to_owned();
    start.task.is_alone = true;
    server.start(&start).await;
    assert!(server.refused(part(3)).await.contains("cannot be the name"));
}

#[tokio::test]
async fn a_job_that_wants_to_be_alone_gets_a_fresh_sandbox() {
    let (agent, mut server) = Agent::with_server().await;
    for number in 1..=3 {
        let mut start = script(number, "ls /tmp | wc -l; touch /tmp/left; ls /proc | grep -c '^[0-9]'; exit 6");
        start.task.is_alone = true;
        server.start(&start).await;
        assert_eq!(server.off(part(number)).await, Exit::Code(6));
        if has_view() {
            assert!(server.text(part(number)).starts_with("0\n"), "{}", server.text(part(number)));
        }
    }
    atelier_testing::wait_until("their folders to go", crate::common::PATIENCE, || {
        let left = std::fs::read_dir(agent.config.folder.join("tmp")).map_or(0, Iterator::count);
        (left == 0).then_some(())
    });
    let mut start = argv(4, &["no-such-program"]);
    start.task.is_alone = true;
    server.start(&start).await;
    assert!(server.refused(part(4)).await.contains("not found"));
}

#[tokio::test]
async fn a_sandbox_that_cannot_be_had_is_refused_in_words_and_the_next_is_tried() {
    if !has_view() {
        return;
    }
    let (agent, mut server) = Agent::with_server().await;
    let alone = |number: u64| {
        let mut start = argv(number, &["true"]);
        start.task.is_alone = true;
        start
    };
    server.start(&alone(1)).await;
    assert_eq!(server.off(part(1)).await, Exit::Code(0));
    let place = agent.config.folder.join("tmp");
    std::fs::remove_dir_all(&place).unwrap();
    std::fs::write(&place, "in the way").unwrap();
    server.start(&alone(2)).await;
    let why = server.refused(part(2)).await;
    assert!(why.contains("its worker cannot be started: "), "{why}");
    std::fs::remove_file(&place).unwrap();
    std::fs::create_dir(&place).unwrap();
    server.start(&alone(3)).await;
    assert_eq!(server.off(part(3)).await, Exit::Code(0));
}

#[tokio::test]
async fn jobs_that_are_alone_share_their_owners_home_and_nothing_else() {
    if !has_view() {
        return;
    }
    let (agent, mut server) = Agent::with_server().await;
    let mut first = script(
        1,
        "echo mine > $HOME/file; echo x > /tmp/x; echo x > /dev/shm/x; ipcmk -M 4096 >/dev/null; echo ready; exec \
         sleep 978978",
    );
    first.task.is_alone = true;
    server.start(&first).await;
    server.printed(part(1), "ready").await;
    let folder = agent.folder.path().display();
    let look = format!(
        "cat $HOME/file; ls -A /tmp /dev/shm; ls /dev/pts; ipcs -m | grep -c 4096; grep -al 97897[8] /proc/[0-9]*/cmdline | wc -l;
         id -u; grep CapEff /proc/self/status; grep NoNewPrivs /proc/self/status; grep -c ^Uid.*70001 /proc/1/status; hostname;
         ls {folder} 2>&1 | grep -c 'No such file'; touch /usr/x /etc/x 2>&1 | grep -c 'Read-only'; mount -t tmpfs x /tmp 2>/dev/null || echo refused;
         awk '$2 == \"/tmp\" || $2 == \"/dev/shm\" || $2 == \"/proc\" {{ print $2, ($4 ~ /nosuid/ && $4 ~ /nodev/) }}' /proc/mounts | sort -u;
         cat /proc/1/environ 2>&1 | grep -c denied; kill -9 1; kill -9 -1; echo still here"
    );
    let mut second = script(2, &look);
    second.task.is_alone = true;
    server.start(&second).await;
    server.off(part(2)).await;
    let expected = "mine\n/dev/shm:\n\n/tmp:\nptmx\n0\n0\n70001\nCapEff:\t0000000000000000\nNoNewPrivs:\t1\n1\nnode-7\n\
                    1\n2\nrefused\n/dev/shm 1\n/proc 1\n/tmp 1\n1\n";
    assert!(server.text(part(2)).starts_with(expected), "{}", server.text(part(2)));
    // The first has not noticed anything.
    server.end(part(1), atelier_domain::time::Span::ZERO).await;
    assert!(matches!(server.off(part(1)).await, Exit::Code(137 | 143)));
    assert_eq!(processes_with("978978"), [0_u32; 0]);
}

#[tokio::test]
async fn without_root_everything_works_and_it_says_that_people_are_not_isolated() {
    let mut agent = Agent::prepared();
    if is_root() {
        let give = |path: &std::path::Path| std::os::unix::fs::chown(path, Some(65_534), Some(65_534)).unwrap();
        give(agent.folder.path());
        // Below it everything is made by the agent; its configuration is the driver's.
        let config = agent.folder.path().join("config.json");
        agent.config.write(&config).unwrap();
        give(&config);
    }
    let mut server = Server::unix(&agent.socket());
    if is_root() {
        std::os::unix::fs::chown(agent.socket(), Some(65_534), Some(65_534)).unwrap();
    }
    agent.start_as(is_root().then_some(65_534));
    server.welcome().await;
    let facts = &server.hellos[0].facts;
    assert_eq!((facts.limits, facts.has_own_users, facts.has_private_view), (Limits::Rlimits, false, false));
    assert!(facts.warnings[0].contains("People are not isolated from each other on this node"), "{:?}", facts.warnings);
    let marker = marker();
    server.start(&script(1, &format!("id -u; echo $ATELIER_OUTPUT_DIR; (setsid sleep {marker} &); ulimit -v"))).await;
    assert_eq!(server.off(part(1)).await, Exit::Code(0));
    let text = server.text(part(1));
    assert!(text.contains("/jobs/person-1/1.1.0/outputs") && text.ends_with("262144\n"), "{text}");
    assert_eq!(processes_with(&marker), [0_u32; 0]);
    server
        .start(&script(2, &format!("trap '' TERM; setsid sleep {marker} & echo ready; while :; do sleep 0.1; done")))
        .await;
    server.printed(part(2), "ready").await;
    server.end(part(2), atelier_domain::time::Span::millis(50)).await;
    assert_eq!(server.off(part(2)).await, Exit::Code(137));
    assert_eq!(processes_with(&marker), [0_u32; 0]);
    server.start(&script(3, &format!("setsid sleep {marker} & kill -9 $PPID; sleep {marker}"))).await;
    assert_eq!(server.off(part(3)).await, Exit::Code(137));
    assert_eq!(processes_with(&marker), [0_u32; 0]);
    agent.child.as_mut().unwrap().kill().unwrap();
    agent.ended();
}

#[tokio::test]
async fn with_isolation_switched_off_it_says_so() {
    let (_agent, mut server) = Agent::with_config(|config| config.isolate = false).await;
    assert!(server.hellos[0].facts.warnings[0].contains("not isolated"));
    server.start(&argv(1, &["echo", "fine"])).await;
    assert_eq!(server.off(part(1)).await, Exit::Code(0));
}
