//! An agent without a node: it says what tests want to be said.

use atelier_domain::compute::idle::Source;
use atelier_domain::compute::{InstanceId, NodeId, Resources};
use atelier_engine::clock;
use atelier_engine::fleet::Frame;
use atelier_protocol::{
    Activity, AppState, AppStatus, AppsStatus, Auth, Facts, Hello, Process, Sample, Signal, ToAgent, ToServer, VERSION,
    decode_to_agent, encode,
};
use futures::StreamExt as _;
use tokio::sync::mpsc;
use tokio_stream::wrappers::UnboundedReceiverStream;

use super::{Studio, comes};

/// A connection as an agent has it.
pub struct Agent {
    node: NodeId,
    instance: InstanceId,
    say: mpsc::UnboundedSender<Frame>,
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
        // What is said to it is read and left at that.
        tokio::spawn(async move { while heard.next().await.is_some() {} });
        Self { node, instance, say }
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
