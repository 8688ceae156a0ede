//! Quick jobs that workers have before their turn: each runs once, none gets what is meant for another.

use atelier_domain::time::Span;
use atelier_domain::world::Exit;
use atelier_protocol::{Event, Start, ToAgent};

use crate::common::Server;
use crate::common::agent::{Agent, processes_with};
use crate::common::jobs::{argv, part, script};

/// A job that takes the whole node, so that the next has to wait for it.
fn whole(mut start: Start) -> Start {
    start.shape.cores = 2_000;
    start
}

fn count_of_ends(server: &Server, job: u64) -> usize {
    let is_end = |event: &&Event| match event {
        Event::Off { part: of, .. } | Event::Refused { part: of, .. } | Event::GivenBack(of) => *of == part(job),
        _ => false,
    };
    server.events.iter().filter(is_end).count()
}

#[tokio::test]
async fn many_quick_jobs_each_find_a_folder_as_if_it_was_new() {
    let (agent, mut server) = Agent::with_server().await;
    let look = "pwd | grep -o '[^/]*$'; ls -A . outputs; stat -c %a . outputs; [ $PWD/outputs = $ATELIER_OUTPUT_DIR ]";
    // What some leave behind must not be found by the next.
    let leave =
        ["", "touch left", "touch outputs/left", "chmod 777 . outputs", "rm -r outputs", "mkdir d; touch .x", "exit 7"];
    let jobs = 1..=70_u64;
    for number in jobs.clone() {
        let left = leave[usize::try_from(number).unwrap() % leave.len()];
        server.start(&whole(script(number, &format!("{look} || exit 1\n{left}\n")))).await;
    }
    for number in jobs.clone() {
        let code = if number % 7 == 6 { 7 } else { 0 };
        assert_eq!(server.off(part(number)).await, Exit::Code(code), "{}", server.text(part(number)));
        let expected = format!("{number}.1.0\n.:\n.atelier-script\noutputs\n\noutputs:\n700\n700\n");
        assert_eq!(server.text(part(number)), expected);
        assert_eq!(count_of_ends(&server, number), 1);
    }
    let mut left: Vec<String> = std::fs::read_dir(agent.config.jobs.join("person-1"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort_unstable_by_key(|name| name.split('.').next().unwrap().parse::<u64>().unwrap());
    let expected: Vec<String> = jobs.filter(|number| number % 7 == 2).map(|number| format!("{number}.1.0")).collect();
    assert_eq!(left, expected);
}

#[tokio::test]
async fn programs_without_scripts_run_one_after_another_in_order() {
    let (_agent, mut server) = Agent::with_server().await;
    let command = |number| {
        let tell = "printf '%s ' \"$ATELIER_JOB\" >> \"$ATELIER_SHARED_DIR/order\"; pwd; ls -A . outputs";
        whole(argv(number, &["/bin/sh", "-c", tell]))
    };
    for number in 1..=100 {
        server.start(&command(number)).await;
    }
    for number in 1..=100 {
        assert_eq!(server.off(part(number)).await, Exit::Code(0));
        assert!(server.text(part(number)).ends_with(&format!("/{number}.1.0\n.:\noutputs\n\noutputs:\n")));
    }
    let order = std::fs::read_to_string(_agent.config.shared.join("order")).unwrap();
    let expected: String = (1..=100).map(|number| format!("job-{number} ")).collect();
    assert_eq!(order, expected);
}

#[tokio::test]
async fn what_is_next_goes_back_if_the_one_before_it_takes_long() {
    let (agent, mut server) = Agent::with_server().await;
    let wait = "echo one; until [ -e $ATELIER_SHARED_DIR/gate ]; do sleep 0.02; done";
    server.start(&whole(argv(1, &["true"]))).await;
    server.off(part(1)).await;
    server.start(&whole(script(2, wait))).await;
    for number in 3..=5 {
        server.start(&whole(argv(number, &["echo", "ran"]))).await;
    }
    // At once, so that one of them has been handed over already; and of another the end.
    server.say(&ToAgent::GiveBack { part: part(3) }).await;
    server.end(part(4), Span::seconds(10)).await;
    let given = Event::GivenBack(part(3));
    server.until("it is given back", |server| server.events.contains(&given).then_some(())).await;
    assert_eq!(server.off(part(4)).await, Exit::Code(143));
    assert_eq!(server.printed(part(2), "one").await, "one\n");
    std::fs::write(agent.config.shared.join("gate"), "").unwrap();
    assert_eq!(server.off(part(2)).await, Exit::Code(0));
    assert_eq!(server.off(part(5)).await, Exit::Code(0));
    assert_eq!((server.text(part(3)), server.text(part(4))), (String::new(), String::new()));
    assert_eq!(server.text(part(5)), "ran\n");
}

#[tokio::test]
async fn a_worker_that_is_killed_by_its_job_takes_nothing_else_along() {
    let (_agent, mut server) = Agent::with_server().await;
    for number in (1..=20).step_by(2) {
        server.start(&whole(script(number, "echo one; kill -KILL $PPID; sleep 980980"))).await;
        server.start(&whole(script(number + 1, "echo ran"))).await;
    }
    for number in (1..=20).step_by(2) {
        assert_eq!(server.off(part(number)).await, Exit::Code(137));
        assert_eq!(server.off(part(number + 1)).await, Exit::Code(0));
        assert_eq!(server.text(part(number + 1)), "ran\n");
    }
    assert_eq!(processes_with("980980"), [0_u32; 0]);
}

#[tokio::test]
async fn the_end_of_one_never_hits_the_next() {
    let (_agent, mut server) = Agent::with_server().await;
    for round in 0..40_u64 {
        let (first, second, third) = (3 * round + 1, 3 * round + 2, 3 * round + 3);
        // From one that is over before it could be ended to one that never is.
        let length = ["true", "sleep 0.002", "sleep 0.006", "sleep 0.012", "sleep 1000"][(round % 5) as usize];
        server.start(&whole(script(first, length))).await;
        server.start(&whole(script(second, "sleep 0.003; echo ran"))).await;
        server.start(&whole(script(third, "echo ran"))).await;
        if round % 2 == 0 {
            // It has begun for certain, or is over.
            let begun = |server: &Server| {
                let is_of = |event: &Event| match event {
                    Event::Started(of) | Event::Off { part: of, .. } => *of == part(first),
                    _ => false,
                };
                server.events.iter().any(is_of).then_some(())
            };
            server.until("the first to begin", begun).await;
        }
        server.end(part(first), if round % 3 == 0 { Span::ZERO } else { Span::seconds(20) }).await;
        let exit = server.off(part(first)).await;
        assert!(matches!(exit, Exit::Code(0 | 137 | 143)), "{exit:?}");
        for number in [second, third] {
            assert_eq!(server.off(part(number)).await, Exit::Code(0));
            assert_eq!(server.text(part(number)), "ran\n");
        }
    }
}

#[tokio::test]
async fn who_ran_out_of_memory_is_told_and_nobody_else() {
    if atelier_confine::Confinement::detect().is_none() {
        println!("skipped: this machine has no control groups");
        return;
    }
    let (_agent, mut server) = Agent::with_server().await;
    let small = |start| {
        let mut start = whole(start);
        start.shape.memory = 64;
        start
    };
    for number in (1..=12).step_by(3) {
        let greedy = "head -c 400000000 /dev/zero | tail -c 300000000 >/dev/null; exit $?";
        server.start(&small(script(number, greedy))).await;
        server.start(&small(argv(number + 1, &["/bin/sh", "-c", "exit 9"]))).await;
        server.start(&small(argv(number + 2, &["/bin/true"]))).await;
    }
    for number in (1..=12).step_by(3) {
        assert_eq!(server.off(part(number)).await, Exit::OutOfMemory);
        assert_eq!(server.off(part(number + 1)).await, Exit::Code(9));
        assert_eq!(server.off(part(number + 2)).await, Exit::Code(0));
    }
}
