//! How many `/bin/true` a second an agent runs as jobs on a node with two slots, against a server in this
//! process that keeps a few starts ahead; in a resident sandbox and in a fresh one for each. Also what the
//! bare system can do, and how much memory an idle agent has.
//!
//! `cargo run --release -p atelier-agent --example bench_spawn`, after
//! `cargo build --release -p atelier-agent`.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a measurement, run by hand")]

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use atelier_agent::AgentConfig;
use atelier_domain::UserId;
use atelier_domain::compute::{JobId, NodeId, Resources};
use atelier_domain::time::Span;
use atelier_domain::world::AllocationKey;
use atelier_protocol::{Event, Person, Run, Start, Task, ToAgent, ToServer, decode_to_server, encode};
use futures_util::{SinkExt, StreamExt};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

const AHEAD: u64 = 4;
type Link = WebSocketStream<tokio::net::UnixStream>;

fn start(job: u64, is_alone: bool) -> ToAgent {
    ToAgent::Start(Box::new(Start {
        part: AllocationKey { job: JobId(job), attempt: 1, node: NodeId(1) },
        rank: 0,
        peers: Vec::new(),
        shape: Resources { cores: 1_000, memory: 256, gpus: 0 },
        timeout: None,
        grace: Span::seconds(1),
        array: None,
        person: Person { id: UserId::new("somebody"), handle: "somebody".to_owned(), uid: Some(70_000) },
        task: Task {
            run: Run::Argv(vec!["/bin/true".to_owned()]),
            environment: Vec::new(),
            files: Vec::new(),
            is_alone,
        },
        environment: None,
    }))
}

async fn next(link: &mut Link) -> Option<ToServer> {
    match link.next().await.unwrap().unwrap() {
        Message::Text(text) => Some(decode_to_server(&text).unwrap()),
        _ => None,
    }
}

async fn measure(link: &mut Link, first: u64, is_alone: bool, lasting: Duration) -> (u64, Duration) {
    let (mut sent, mut done) = (first, 0);
    let began = Instant::now();
    let (mut last, mut pauses) = (began, Vec::new());
    for _ in 0..2 + AHEAD {
        link.feed(Message::text(encode(&start(sent, is_alone)))).await.unwrap();
        sent += 1;
    }
    link.flush().await.unwrap();
    while done < sent - first {
        let Some(ToServer::Events(events)) = next(link).await else { continue };
        let heard = events.last().unwrap().number;
        link.feed(Message::text(encode(&ToAgent::Heard(heard)))).await.unwrap();
        for event in events {
            match event.event {
                Event::Off { exit, .. } => {
                    assert_eq!(exit, atelier_domain::world::Exit::Code(0));
                    done += 1;
                    pauses.push(last.elapsed());
                    last = Instant::now();
                    if began.elapsed() < lasting {
                        link.feed(Message::text(encode(&start(sent, is_alone)))).await.unwrap();
                        sent += 1;
                    }
                }
                Event::Refused { detail, .. } => panic!("{detail}"),
                _ => {}
            }
        }
        link.flush().await.unwrap();
    }
    pauses.sort_unstable_by(|one, other| other.cmp(one));
    println!("longest pauses between two ends: {:.1?}", &pauses[..5.min(pauses.len())]);
    (done, began.elapsed())
}

/// What two threads can do that only spawn and wait.
fn bare(lasting: Duration) -> f64 {
    let began = Instant::now();
    let spawn = move || {
        let mut count = 0_u32;
        while began.elapsed() < lasting {
            let mut command = Command::new("/bin/true");
            command.env_clear().stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap().wait().unwrap();
            count += 1;
        }
        count
    };
    let threads = [std::thread::spawn(spawn), std::thread::spawn(spawn)];
    let count: u32 = threads.map(|thread| thread.join().unwrap()).iter().sum();
    let (_, children) = spent(std::process::id());
    println!("bare spawning, processor time for each: {} µs", children / u64::from(count));
    f64::from(count) / began.elapsed().as_secs_f64()
}

fn resident_kib(pid: u32) -> String {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    status.lines().find(|line| line.starts_with("VmRSS")).unwrap_or("VmRSS: unknown").to_owned()
}

/// Processor time of a process, its own and that of children it has waited for, in microseconds.
fn spent(pid: u32) -> (u64, u64) {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let words: Vec<u64> =
        stat.rsplit_once(')').unwrap().1.split_whitespace().map(|word| word.parse().unwrap_or(0)).collect();
    ((words[11] + words[12]) * 10_000, (words[13] + words[14]) * 10_000)
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let lasting = Duration::from_secs(4);
    println!("bare spawning by two threads: {:.0} a second", bare(lasting));
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("socket");
    let listener = tokio::net::UnixListener::bind(&socket).unwrap();
    let mut config =
        AgentConfig::new(format!("unix:{}", socket.display()), NodeId(1), "token", &folder.path().join("node"));
    config.installation = format!("bench-{}", std::process::id());
    config.shape = Resources { cores: 2_000, memory: 1_024, gpus: 0 };
    let file = folder.path().join("config");
    config.write(&file).unwrap();
    let program = std::env::current_exe().unwrap();
    let program = program.parent().unwrap().parent().unwrap().join("atelier-agent");
    let mut agent = Command::new(program).arg("agent").arg("--config").arg(&file).spawn().unwrap();
    let mut link = tokio_tungstenite::accept_async(listener.accept().await.unwrap().0).await.unwrap();
    while !matches!(next(&mut link).await, Some(ToServer::Hello(_))) {}
    link.send(Message::text(encode(&ToAgent::Welcome { heard: 0, kept: Vec::new() }))).await.unwrap();
    while !matches!(next(&mut link).await, Some(ToServer::Sample(_))) {}
    println!("idle agent, {}", resident_kib(agent.id()));
    for (name, first, is_alone) in [("resident sandbox", 1_000_000, false), ("fresh sandbox each", 2_000_000, true)] {
        let group = atelier_confine::Confinement::detect().map(|confinement| confinement.node(&config.installation, 1));
        let all = || group.as_ref().map_or(0, |group| group.usage().cpu / 1_000);
        let (before, all_before) = (spent(agent.id()).0, all());
        let (count, took) = measure(&mut link, first, is_alone, lasting).await;
        #[expect(clippy::cast_precision_loss, reason = "a measurement")]
        let rate = count as f64 / took.as_secs_f64();
        let own = (spent(agent.id()).0 - before) / count;
        let whole = (all() - all_before) / count;
        println!("{name}: {rate:.0} jobs a second ({count} in {took:.1?})");
        println!("    processor time for each: {whole} µs for all of the node, of that the agent itself {own} µs");
    }
    println!("agent after that, {}", resident_kib(agent.id()));
    link.send(Message::text(encode(&ToAgent::Quit { grace: Span::ZERO }))).await.unwrap();
    while link.next().await.is_some_and(|message| message.is_ok()) {}
    agent.wait().unwrap();
}
