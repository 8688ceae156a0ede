//! What the engine's tests and measurements share: a store of its own, a scripted driver, and short ways to
//! say orders.
#![allow(dead_code, reason = "not every test uses all of it")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use atelier_domain::compute::cluster::ScaleSettings;
use atelier_domain::compute::job::{JobSpec, JobState, Priority, Target};
use atelier_domain::compute::size::{ComputeName, Family, Price, SiteName, Size, SizeName};
use atelier_domain::compute::tags::Tags;
use atelier_domain::compute::{ClusterId, JobId, Resources};
use atelier_domain::history::Actor;
use atelier_domain::time::Span;
use atelier_domain::world::{AllocationKey, Answer, Command, Effect, Exit, Order, Report};
use atelier_domain::{UserId, WorkspaceId};
use atelier_engine::hands::Hands;
use atelier_engine::run::{
    CommandId, Engine, EngineHandle, MachineClock, NewOrder, Options, OrderError, Payload, Phase,
};
use atelier_engine::store::{Author, FirstAccount, Kind, Missing, Store};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// A database of its own; the folder lives as long as the test.
pub struct Place {
    pub address: String,
    pub folder: tempfile::TempDir,
}

impl Place {
    pub fn new(kind: Kind) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let address = match kind {
            Kind::Sqlite => format!("sqlite://{}?mode=rwc", folder.path().join("atelier.db").display()),
            Kind::Postgres => atelier_testing::postgres::shared().expect("PostgreSQL starts").create_database(),
        };
        Self { address, folder }
    }

    pub async fn open(&self) -> Arc<Store> {
        Arc::new(Store::open(&self.address, Missing::Make).await.expect("opens"))
    }

    /// The workspace, made at the first call.
    pub async fn workspace(store: &Store) -> (WorkspaceId, UserId) {
        let first = FirstAccount {
            workspace: "Perception".into(),
            name: "Ines Okafor".into(),
            email: "ines@example.org".into(),
            password_hash: "hash".into(),
            time_zone: "UTC".into(),
        };
        let _ = store.set_up(&first, &author()).await.expect("works");
        let workspace = store.workspaces().await.expect("reads").remove(0).id;
        (workspace, UserId::new("user-ines"))
    }
}

pub fn author() -> Author {
    Author { actor: Actor::Console, request: "test".into(), why: None }
}

/// What the driver does with what it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// Does nothing; only remembers.
    Idle,
    /// Does everything after so long, and jobs run for as long.
    Prompt(Duration),
}

/// A driver and its agents, in the test's own process.
#[derive(Clone)]
pub struct Script {
    told: Arc<Mutex<Vec<Effect>>>,
    out: mpsc::UnboundedSender<Vec<Effect>>,
}

impl Script {
    pub fn told(&self) -> Vec<Effect> {
        self.told.lock().expect("no panic").clone()
    }
}

impl Hands for Script {
    fn act(&self, effects: Vec<Effect>) {
        self.told.lock().expect("no panic").extend(effects.iter().cloned());
        // The test may be over.
        let _ = self.out.send(effects);
    }
}

/// A running engine.
pub struct Running {
    pub handle: EngineHandle,
    pub task: JoinHandle<()>,
    pub script: Script,
    pub store: Arc<Store>,
    pub workspace: WorkspaceId,
    pub user: UserId,
}

impl Running {
    pub async fn start(store: Arc<Store>, manner: Manner, options: Options) -> Self {
        let (workspace, user) = Place::workspace(&store).await;
        let (out, effects) = mpsc::unbounded_channel();
        let script = Script { told: Arc::default(), out };
        let (handle, task) =
            Engine::start(Arc::clone(&store), script.clone(), MachineClock::new(), options).await.expect("starts");
        tokio::spawn(drive(handle.clone(), effects, manner));
        if let Manner::Prompt(delay) = manner {
            finish_what_runs(&handle, delay).await;
        }
        Self { handle, task, script, store, workspace, user }
    }

    pub fn command(&self, order: Order) -> Command {
        Command { workspace: self.workspace.clone(), user: Some(self.user.clone()), name: "Ines".into(), order }
    }

    pub async fn give(&self, id: &str, order: Order) -> Result<Answer, OrderError> {
        self.give_with(id, order, None).await
    }

    pub async fn give_with(&self, id: &str, order: Order, payload: Option<String>) -> Result<Answer, OrderError> {
        let id = CommandId::parse(id).expect("an id");
        let payload = payload.map(|body| Payload { body, ..Payload::default() });
        self.handle.order(NewOrder { id, payload, author: author(), command: self.command(order) }).await
    }

    /// A site, a size and a cluster, made once for each database.
    pub async fn furnish(&self, max: u32) -> ClusterId {
        self.handle.report(site()).await.expect("heard");
        self.give("furnish-size", Order::PutSize(size())).await.expect("put");
        match self.give("furnish-cluster", cluster("pool", max)).await {
            Ok(Answer::Cluster(id)) => id,
            other => panic!("{other:?}"),
        }
    }

    pub async fn stop(self) {
        self.handle.stop();
        self.task.await.expect("ends");
        self.store.close().await;
    }
}

pub fn site() -> Report {
    Report::Site {
        site: SiteName::parse("local").expect("a name"),
        capacity: Resources { cores: 1_000_000_000, memory: 1 << 40, gpus: 0 },
    }
}

pub fn size() -> Size {
    Size {
        name: SizeName::parse("cpu-4").expect("a name"),
        family: Family::parse("general").expect("a name"),
        site: SiteName::parse("local").expect("a name"),
        shape: Resources { cores: 4_000, memory: 16 << 10, gpus: 0 },
        price: Price(1_000_000),
    }
}

pub fn cluster(name: &str, max: u32) -> Order {
    Order::CreateCluster {
        name: ComputeName::parse(name).expect("a name"),
        size: SizeName::parse("cpu-4").expect("a name"),
        scale: ScaleSettings { min: 0, max, idle: Span::seconds(120), warm: 0 },
        tier: Default::default(),
        tags: Tags::default(),
    }
}

pub fn submit(cluster: ClusterId) -> Order {
    Order::Submit(JobSpec {
        target: Target::Cluster(cluster),
        shape: Resources { cores: 1_000, memory: 1 << 10, gpus: 0 },
        nodes: 1,
        priority: Priority::Medium,
        timeout: None,
        grace: Span::seconds(30),
        retry: None,
        tier: Default::default(),
        after: Vec::new(),
        environment: None,
    })
}

pub fn job(answer: &Answer) -> JobId {
    match answer {
        Answer::Job(id) => *id,
        other => panic!("{other:?}"),
    }
}

async fn drive(handle: EngineHandle, mut effects: mpsc::UnboundedReceiver<Vec<Effect>>, manner: Manner) {
    while let Some(batch) = effects.recv().await {
        let Manner::Prompt(delay) = manner else { continue };
        for effect in batch {
            tokio::spawn(carry_out(handle.clone(), effect, delay));
        }
    }
}

/// Agents outlive the server: those of the engine before call again and tell how their jobs ended.
async fn finish_what_runs(handle: &EngineHandle, delay: Duration) {
    let parts = |world: &atelier_domain::world::World| {
        let running = world.jobs().filter(|job| job.state() != JobState::Queued);
        let part = |job: JobId, attempt| move |node| AllocationKey { job, attempt, node };
        running
            .flat_map(|job| job.allocations.iter().map(|allocation| allocation.node).map(part(job.id, job.attempt)))
            .collect::<Vec<AllocationKey>>()
    };
    for part in handle.ask(parts).await.expect("answers") {
        tokio::spawn(carry_out(handle.clone(), Effect::EndJob { part, grace: Span::ZERO, is_preempted: false }, delay));
    }
}

async fn carry_out(handle: EngineHandle, effect: Effect, delay: Duration) {
    let exit = Exit::Code(0);
    let reports = match effect {
        Effect::Launch { node, .. } => vec![Report::NodeUp(node)],
        Effect::Terminate { node, .. } => vec![Report::NodeGone(node)],
        Effect::Drain { node } => vec![Report::NodeDrained(node)],
        Effect::StartJob { part, .. } => {
            vec![Report::JobStarted(part), Report::JobExited { part, exit }, Report::JobOff { part, exit }]
        }
        Effect::EndJob { part, .. } => vec![off(part)],
        _ => Vec::new(),
    };
    for report in reports {
        tokio::time::sleep(delay).await;
        // Told again until it is durable.
        while let Err(OrderError::Uncertain) = handle.report(report.clone()).await {
            runs_again(&handle).await;
        }
    }
}

/// Waits until an engine that has to load its records again has done so, or has ended.
pub async fn runs_again(handle: &EngineHandle) {
    let mut status = handle.watch();
    let again = status.wait_for(|status| !matches!(status.phase, Phase::Recovering { .. }));
    // An engine that has gone away says nothing any more; whoever asks it next hears that.
    let _ = tokio::time::timeout(atelier_testing::PATIENCE, again).await.expect("it loads its records again in time");
}

fn off(part: AllocationKey) -> Report {
    Report::JobOff { part, exit: Exit::Code(143) }
}
