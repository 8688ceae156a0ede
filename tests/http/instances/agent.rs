//! An agent without a node: it says what tests want to be said.

use std::sync::{Arc, Mutex};

use atelier_domain::compute::idle::Source;
use atelier_domain::compute::{InstanceId, NodeId, Resources};
use atelier_engine::clock;
use atelier_engine::fleet::Frame;
use atelier_protocol::terminal::TerminalFrame;
use atelier_protocol::{
    Activity, AppState, AppStatus, AppsStatus, Auth, Facts, Hello, Process, Sample, Signal, Target, ToAgent, ToServer,
    VERSION, decode_to_agent, encode,
};
use futures::StreamExt as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::mpsc;
use tokio_stream::wrappers::UnboundedReceiverStream;

use super::{Studio, comes};

/// A connection as an agent has it.
pub struct Agent {
    node: NodeId,
    instance: InstanceId,
    say: mpsc::UnboundedSender<Frame>,
    heard: mpsc::UnboundedReceiver<ToAgent>,
    /// What came to its terminals.
    pub typed: Typed,
}

/// Bytes and sizes that terminals were sent.
pub type Typed = Arc<Mutex<Vec<TerminalFrame>>>;

/// A terminal that prints one line and notes what it is sent, until that is `exit`.
async fn shell(mut stream: tokio::net::UnixStream, typed: Typed) {
    let mut frame = Vec::new();
    TerminalFrame::Bytes(b"a prompt".to_vec()).encode(&mut frame);
    stream.write_all(&frame).await.expect("written");
    let mut buffer = Vec::new();
    while stream.read_buf(&mut buffer).await.is_ok_and(|count| count > 0) {
        while let Ok(Some((frame, length))) = TerminalFrame::decode(&buffer) {
            buffer.drain(..length);
            if frame == TerminalFrame::Bytes(b"exit".to_vec()) {
                return;
            }
            typed.lock().expect("whole").push(frame);
        }
    }
}

/// An application that says which method it was asked with; `/events` never ends, and sockets say what they
/// hear.
async fn toy(mut stream: tokio::net::UnixStream) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if stream.read_exact(&mut byte).await.is_err() {
            return;
        }
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let method = head.split(' ').next().unwrap_or_default().to_owned();
    let answer = if head.to_lowercase().contains("upgrade: websocket") {
        "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\nopen".to_owned()
    } else if head.contains(" /events ") {
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: open\n\n".to_owned()
    } else {
        format!(
            "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\nasked with {method}",
            method.len() + 11
        )
    };
    stream.write_all(answer.as_bytes()).await.expect("written");
    let mut rest = [0; 1_024];
    while let Ok(count) = stream.read(&mut rest).await {
        if count == 0 || stream.write_all(&rest[..count]).await.is_err() {
            return;
        }
    }
}

impl Agent {
    /// Joins as the agent of an instance's node.
    pub async fn join(studio: &Studio, instance: InstanceId, node: NodeId) -> Self {
        let (fleet, engine) = (studio.server.state.fleet().clone(), studio.server.state.engine().clone());
        // Without drivers: nodes are made by what tests report.
        fleet.attach(engine, Vec::new());
        studio.server.state.store().expect_agent(node, "token", clock::now()).await.expect("kept");
        let (say, said) = mpsc::unbounded_channel();
        let (out, mut heard) = futures::channel::mpsc::unbounded();
        tokio::spawn(async move { fleet.serve(UnboundedReceiverStream::new(said), out).await });
        let facts =
            Facts { version: "1".into(), host: "rack1-03".into(), shape: Resources::new(2, 4, 0), ..Facts::default() };
        let auth = Auth::Join { token: "token".into(), secret: "secret".into() };
        let hello = Hello { protocol: VERSION, node, auth, facts, parts: Vec::new(), more: false };
        say.send(Frame::Text(encode(&ToServer::Hello(Box::new(hello))))).expect("sent");
        loop {
            let Some(Frame::Text(text)) = heard.next().await else { continue };
            match decode_to_agent(&text).expect("a message") {
                ToAgent::Welcome { .. } => break,
                ToAgent::Refused { why, .. } => panic!("refused: {why}"),
                _ => {}
            }
        }
        // Streams lead to a toy application; what else it is told is kept for who listens.
        let typed = Typed::default();
        let (fleet, shells) = (studio.server.state.fleet().clone(), typed.clone());
        let (told, is_told) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Some(frame) = heard.next().await {
                let Frame::Text(text) = frame else { continue };
                let message = decode_to_agent(&text).expect("a message");
                if let ToAgent::Open { ticket, target } = &message {
                    let (ours, theirs) = tokio::net::UnixStream::pair().expect("a pair of sockets");
                    fleet.stream_arrived(ticket, theirs.into());
                    match target {
                        Target::Terminal { .. } => drop(tokio::spawn(shell(ours, shells.clone()))),
                        _ => drop(tokio::spawn(toy(ours))),
                    }
                }
                // Most tests do not listen.
                let _ = told.send(message);
            }
        });
        Self { node, instance, say, heard: is_told, typed }
    }

    /// Waits until it is told something like that.
    pub async fn hears(&mut self, is_it: impl Fn(&ToAgent) -> bool) -> ToAgent {
        let wait = async {
            loop {
                let message = self.heard.recv().await.expect("connected");
                if is_it(&message) {
                    return message;
                }
            }
        };
        tokio::time::timeout(atelier_testing::PATIENCE, wait).await.expect("it is told")
    }

    /// An application that somebody added does so.
    pub async fn custom(&self, studio: &Studio, name: &str, state: AppState) {
        let generation = studio.look(self.instance, |_, instance| instance.generation).await;
        let app = AppStatus {
            name: name.to_owned(),
            state,
            since_ms: 1_000,
            took_ms: None,
            restarts: 0,
            last_lines: Vec::new(),
            is_exposed: false,
        };
        let status = AppsStatus { instance: self.instance, generation, apps: vec![app], terminals: Vec::new() };
        self.send(&ToServer::Apps(Box::new(status.clone())));
        let board = studio.server.state.fleet().board();
        comes("the applications", || board.node_apps(self.node).filter(|(_, known)| *known == status)).await;
    }

    fn send(&self, message: &ToServer) {
        self.say.send(Frame::Text(encode(message))).expect("connected");
    }

    /// JupyterLab does so, and one terminal is open.
    pub async fn jupyter(&self, studio: &Studio, state: AppState, last_lines: &[&str]) {
        let generation = studio.look(self.instance, |_, instance| instance.generation).await;
        let app = AppStatus {
            name: "jupyter".into(),
            state,
            since_ms: 1_000,
            took_ms: (state == AppState::Ready).then_some(2_700),
            restarts: 0,
            last_lines: last_lines.iter().map(|line| (*line).to_owned()).collect(),
            is_exposed: false,
        };
        let status = AppsStatus { instance: self.instance, generation, apps: vec![app], terminals: vec!["1".into()] };
        self.send(&ToServer::Apps(Box::new(status.clone())));
        let board = studio.server.state.fleet().board();
        comes("the applications", || board.node_apps(self.node).filter(|(_, known)| *known == status)).await;
    }

    /// A notebook is busy, and one process runs.
    pub async fn busy(&self, studio: &Studio) {
        let signal = Signal { source: Source::Kernel, is_active: true, detail: "fusion.ipynb".into() };
        let process = Process { pid: 4_711, name: "ipykernel".into(), cores: 930, memory: 512 };
        let activity =
            Activity { instance: self.instance, stretch_ms: 30_000, signals: vec![signal], processes: vec![process] };
        self.send(&ToServer::Activity(Box::new(activity)));
        let board = studio.server.state.fleet().board();
        comes("the activity", || board.node_activity(self.node)).await;
    }

    /// Two samples: half of the cores, then all of them.
    pub async fn samples(&self, studio: &Studio) {
        let board = studio.server.state.fleet().board();
        for (count, cores) in [1_000, 2_000].into_iter().enumerate() {
            let sample = Sample { cores, memory: 1_024, disk_free: 600, disk_total: 1_000, ..Sample::default() };
            self.send(&ToServer::Sample(Box::new(sample)));
            comes("a sample", || (board.node_samples(self.node).len() > count).then_some(())).await;
        }
    }
}
