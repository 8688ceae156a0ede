//! Jobs for tests.

use atelier_domain::UserId;
use atelier_domain::compute::{JobId, NodeId, Resources};
use atelier_domain::time::Span;
use atelier_domain::world::AllocationKey;
use atelier_protocol::{Peer, Person, Run, Start, Task};

pub const NODE: NodeId = NodeId(7);

pub fn part(job: u64) -> AllocationKey {
    AllocationKey { job: JobId(job), attempt: 1, node: NODE }
}

/// A person with a user of the system of their own.
pub fn person(number: u32) -> Person {
    Person {
        id: UserId::new(format!("person-{number}")),
        handle: format!("handle{number}"),
        uid: Some(70_000 + number),
    }
}

pub fn job(number: u64, run: Run) -> Start {
    Start {
        part: part(number),
        rank: 0,
        peers: vec![Peer { node: NODE, host: "127.0.0.1".to_owned() }],
        shape: Resources { cores: 500, memory: 256, gpus: 0 },
        timeout: None,
        grace: Span::millis(200),
        array: None,
        person: person(1),
        task: Task { run, environment: Vec::new(), files: Vec::new(), is_alone: false },
        environment: None,
    }
}

pub fn argv(number: u64, arguments: &[&str]) -> Start {
    job(number, Run::Argv(arguments.iter().map(ToString::to_string).collect()))
}

pub fn script(number: u64, text: &str) -> Start {
    job(number, Run::Script(text.to_owned()))
}
