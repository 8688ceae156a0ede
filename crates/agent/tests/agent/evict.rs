//! Notice of eviction: a file in the job's folder before anybody is asked to end, and the folder goes along
//! to the next attempt.

use atelier_domain::time::Span;
use atelier_domain::world::{AllocationKey, Exit};
use atelier_protocol::{Start, ToAgent};

use crate::common::agent::Agent;
use crate::common::jobs::{part, script};

/// On TERM it keeps what it has if it was evicted; the next attempt goes on from there.
const RESUMES: &str = r#"
[ -e checkpoint ] && echo "resumes at $(cat checkpoint) in attempt $ATELIER_ATTEMPT" && exit 0
trap '[ -f "$ATELIER_EVICTION_FILE" ] && echo "notice of $(cat "$ATELIER_EVICTION_FILE") s" && echo 41 >checkpoint && echo out >outputs/o; exit 3' TERM
echo ready
while :; do sleep 0.02; done
"#;

fn attempt(number: u32, mut start: Start) -> Start {
    start.part = AllocationKey { attempt: number, ..start.part };
    start
}

async fn evicted_and_resumed(start: Start) {
    let (agent, mut server) = Agent::with_server().await;
    server.start(&start).await;
    server.printed(part(1), "ready\n").await;
    server.say(&ToAgent::End { part: part(1), grace: Span::seconds(20), is_preempted: true }).await;
    assert_eq!(server.off(part(1)).await, Exit::Code(3), "{}", server.text(part(1)));
    assert!(server.text(part(1)).ends_with("notice of 20 s\n"), "{}", server.text(part(1)));
    let second = AllocationKey { attempt: 2, ..part(1) };
    server.start(&attempt(2, start)).await;
    assert_eq!(server.off(second).await, Exit::Code(0), "{}", server.text(second));
    assert_eq!(server.text(second), "resumes at 41 in attempt 2\n");
    // What it left as output is that of the last attempt, and nothing else stays.
    let look = "cd ..; ls -A1 . 2.*/.. | sort -u; cat */outputs/o";
    let third = part(9);
    server.start(&script(9, look)).await;
    server.off(third).await;
    let text = server.text(third);
    assert!(text.contains("1.2.0") && !text.contains("1.1.0") && text.contains("out\n"), "{text}");
    drop(agent);
}

#[tokio::test]
async fn an_evicted_job_sees_the_notice_and_its_next_attempt_finds_what_it_kept() {
    evicted_and_resumed(script(1, RESUMES)).await;
}

#[tokio::test]
async fn a_job_in_a_sandbox_of_its_own_does_too() {
    let mut start = script(1, RESUMES);
    start.task.is_alone = true;
    evicted_and_resumed(start).await;
}

#[tokio::test]
async fn who_is_only_ended_sees_no_notice_and_leaves_nothing() {
    let (_agent, mut server) = Agent::with_server().await;
    server.start(&script(1, RESUMES)).await;
    server.printed(part(1), "ready\n").await;
    server.end(part(1), Span::seconds(20)).await;
    assert_eq!(server.off(part(1)).await, Exit::Code(3));
    assert!(!server.text(part(1)).contains("notice"), "{}", server.text(part(1)));
    let second = AllocationKey { attempt: 2, ..part(1) };
    server.start(&attempt(2, script(1, "ls -A; echo $ATELIER_ATTEMPT"))).await;
    assert_eq!(server.off(second).await, Exit::Code(0));
    assert_eq!(server.text(second), ".atelier-script\noutputs\n2\n");
}

#[tokio::test]
async fn who_does_not_listen_is_killed_after_the_grace_and_still_keeps_its_folder() {
    let (_agent, mut server) = Agent::with_server().await;
    let deaf = "trap '' TERM; echo 7 >state; echo ready; while :; do sleep 0.02; done";
    server.start(&script(1, deaf)).await;
    server.printed(part(1), "ready\n").await;
    server.say(&ToAgent::End { part: part(1), grace: Span::millis(100), is_preempted: true }).await;
    assert_eq!(server.off(part(1)).await, Exit::Code(137));
    let second = AllocationKey { attempt: 2, ..part(1) };
    server.start(&attempt(2, script(1, "cat state; [ -e \"$ATELIER_EVICTION_FILE\" ] || echo clear"))).await;
    assert_eq!(server.off(second).await, Exit::Code(0), "{}", server.text(second));
    assert_eq!(server.text(second), "7\nclear\n");
}
