//! What a thousand agents cost the server while nothing happens: memory, and processor time.
//!
//! `cargo run --release -p atelier-engine --example bench_agents -- [agents] [seconds]`. The agents are
//! simulated by a second process; they say hello, answer, and send a sample every five seconds, as real ones
//! do. Prints a line of JSON.
#![allow(missing_docs, dead_code, reason = "a benchmark")]
#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

#[path = "../tests/engine/nodes/site.rs"]
mod site;

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use atelier_domain::compute::size::{Family, Price, SiteName, Size, SizeName};
use atelier_domain::compute::{NodeId, Resources};
use atelier_domain::time::Span;
use atelier_domain::world::FoundNode;
use atelier_engine::drivers::{Capabilities, Driver, Later, NewNode};
use atelier_protocol::{Auth, Facts, Hello, Sample, ToServer, VERSION, encode};
use futures_util::{SinkExt as _, StreamExt as _};
use site::Site;
use tokio_tungstenite::tungstenite::Message;

/// A driver whose nodes exist on paper.
#[derive(Default)]
struct Paper {
    site: Option<SiteName>,
    nodes: Arc<Mutex<Vec<NewNode>>>,
}

impl Driver for Paper {
    fn site(&self) -> &SiteName {
        self.site.as_ref().expect("it has a name")
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            kind: "paper",
            limits: String::new(),
            isolation: String::new(),
            is_isolated: true,
            changes: Vec::new(),
        }
    }

    fn capacity(&self) -> Later<'_, Resources> {
        Box::pin(async { Ok(Resources::new(1_000_000, 1_000_000, 0)) })
    }

    fn default_sizes(&self, _: Resources) -> Vec<Size> {
        let name = SizeName::parse("paper").expect("a name");
        let family = Family::parse("general").expect("a name");
        vec![Size { name, family, site: self.site().clone(), shape: Resources::new(1, 1, 0), price: Price(0) }]
    }

    fn exists(&self, node: NodeId) -> Later<'_, bool> {
        let is_there = self.nodes.lock().expect("no panic").iter().any(|new| new.node == node);
        Box::pin(async move { Ok(is_there) })
    }

    fn launch(&self, new: NewNode) -> Later<'_, ()> {
        self.nodes.lock().expect("no panic").push(new);
        Box::pin(async { Ok(()) })
    }

    fn terminate(&self, _: String) -> Later<'_, ()> {
        Box::pin(async { Ok(()) })
    }

    fn list(&self) -> Later<'_, Vec<FoundNode>> {
        let nodes = self.nodes.lock().expect("no panic");
        let found = nodes.iter().map(|new| FoundNode { name: new.node.to_string(), node: Some(new.node) }).collect();
        Box::pin(async { Ok(found) })
    }
}

#[tokio::main]
async fn main() {
    let words: Vec<String> = std::env::args().collect();
    if words.get(1).is_some_and(|word| word == "simulate") {
        return simulate(Path::new(&words[2]), Path::new(&words[3])).await;
    }
    let number = |index: usize, or: u32| words.get(index).and_then(|text| text.parse().ok()).unwrap_or(or);
    let (agents, seconds) = (number(1, 1_000), number(2, 20));
    let data = tempfile::tempdir().expect("a folder");
    let nodes = Arc::new(Mutex::new(Vec::new()));
    let paper = Paper { site: SiteName::parse("paper").ok(), nodes: Arc::clone(&nodes) };
    let site = Site::start_on(data.path(), false, |_, _| Arc::new(paper)).await;
    let before = resident();
    site.cluster("farm", "paper", agents, agents, Span::seconds(600)).await;
    while nodes.lock().expect("no panic").len() < agents as usize {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let tokens: Vec<(u64, String)> =
        nodes.lock().expect("no panic").iter().map(|new| (new.node.0, new.token.clone())).collect();
    let file = data.path().join("tokens.json");
    std::fs::write(&file, serde_json::to_vec(&tokens).expect("JSON")).expect("written");
    let mut child = std::process::Command::new(std::env::current_exe().expect("a path"))
        .arg("simulate")
        .arg(site.fleet.folders().socket())
        .arg(&file)
        .spawn()
        .expect("starts");
    while site.fleet.connected() < agents as usize {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    tokio::time::sleep(Duration::from_secs(3)).await;
    let (began, used) = (Instant::now(), processor());
    tokio::time::sleep(Duration::from_secs(seconds.into())).await;
    let share = (processor() - used) / began.elapsed().as_secs_f64() * 100.0;
    let (all, own) = (resident(), resident() - before);
    let connected = site.fleet.connected();
    println!(
        "{{\"figure\":\"agents\",\"agents\":{connected},\"resident_mb\":{all:.1},\
         \"more_mb\":{own:.1},\"percent_of_a_core\":{share:.2}}}"
    );
    child.kill().expect("it runs");
    child.wait().expect("ends");
    site.crash().await;
}

/// All agents in one process.
async fn simulate(socket: &Path, tokens: &Path) {
    let tokens: Vec<(u64, String)> = serde_json::from_slice(&std::fs::read(tokens).expect("reads")).expect("JSON");
    let agents = tokens.into_iter().map(|(node, token)| {
        let socket = socket.to_owned();
        tokio::spawn(async move {
            let stream = tokio::net::UnixStream::connect(socket).await.expect("connects");
            let (ws, _) = tokio_tungstenite::client_async("ws://localhost/agent", stream).await.expect("upgrades");
            let (mut say, mut hear) = ws.split();
            let auth = Auth::Join { token, secret: format!("secret-of-the-agent-{node}") };
            let facts = Facts { version: "simulated".into(), ..Facts::default() };
            let hello = Hello { protocol: VERSION, node: NodeId(node), auth, facts, parts: Vec::new(), more: false };
            say.send(Message::Text(encode(&ToServer::Hello(Box::new(hello))).into())).await.expect("sent");
            let mut beat = tokio::time::interval(Duration::from_secs(5));
            loop {
                tokio::select! {
                    heard = hear.next() => if !matches!(heard, Some(Ok(_))) { return },
                    _ = beat.tick() => {
                        let sample = ToServer::Sample(Box::new(Sample { over: 5_000, cores: 10, ..Sample::default() }));
                        if say.send(Message::Text(encode(&sample).into())).await.is_err() { return }
                    }
                }
            }
        })
    });
    futures_util::future::join_all(agents.collect::<Vec<_>>()).await;
}

/// Resident memory of this process, in MB.
fn resident() -> f64 {
    let text = std::fs::read_to_string("/proc/self/status").expect("reads");
    let line = text.lines().find(|line| line.starts_with("VmRSS:")).expect("is there");
    line.split_whitespace().nth(1).and_then(|text| text.parse::<f64>().ok()).expect("a number") * 1_024.0 / 1e6
}

/// Processor time of this process, in seconds.
fn processor() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").expect("reads");
    let fields: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |index: usize| fields.get(index).and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(11) + ticks(12)) / 100.0
}
