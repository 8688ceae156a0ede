//! An engine with real agents: the loop, the fleet, a driver, and the socket to which agents call.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Once};
use std::time::Duration;

use atelier_domain::compute::job::{Job, JobSpec, JobState, Priority, Target, Verdict};
use atelier_domain::compute::size::{ComputeName, SizeName};
use atelier_domain::compute::tags::Tags;
use atelier_domain::compute::{ClusterId, JobId, Resources};
use atelier_domain::history::Actor;
use atelier_domain::time::Span;
use atelier_domain::world::{Answer, Command, Order, World};
use atelier_domain::{UserId, WorkspaceId};
use atelier_engine::drivers::Driver;
use atelier_engine::drivers::local::{Isolation, Local, Settings};
use atelier_engine::fleet::{Fleet, Frame, LogName};
use atelier_engine::run::{CommandId, DiskOptions, Engine, EngineHandle, MachineClock, NewOrder, Options, Payload};
use atelier_engine::store::{Author, FirstAccount, Missing, Store};
use atelier_protocol::{Run, Task};
pub use atelier_testing::PATIENCE;
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::task::JoinHandle;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;

/// The agent's own small program; built if nobody has.
pub fn agent_program() -> PathBuf {
    static BUILT: Once = Once::new();
    let deps = std::env::current_exe().expect("a test has a path");
    let folder = deps.parent().and_then(Path::parent).expect("tests are in target/…/deps").to_owned();
    let program = folder.join("atelier-agent");
    BUILT.call_once(|| {
        if !program.exists() {
            let target = folder.parent().expect("the target directory");
            let mut cargo = std::process::Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
            cargo.args(["build", "--quiet", "--package=atelier-agent", "--bin=atelier-agent"]);
            let status = cargo.env("CARGO_TARGET_DIR", target).status().expect("cargo runs");
            assert!(status.success(), "the agent can be built");
        }
    });
    program
}

/// A running engine with everything around it.
pub struct Site {
    pub engine: EngineHandle,
    pub fleet: Fleet,
    pub driver: Arc<dyn Driver>,
    pub workspace: WorkspaceId,
    pub owner: UserId,
    store: Arc<Store>,
    door: JoinHandle<()>,
    task: JoinHandle<()>,
}

impl Site {
    /// Starts with the local driver on data in that folder.
    pub async fn start(data: &Path) -> Self {
        let settings = Settings { overcommit: 4.0, program: Some(agent_program()), ..Settings::default() };
        Self::start_with(data, settings).await
    }

    pub async fn start_with(data: &Path, settings: Settings) -> Self {
        let has_own_users = rustix::process::geteuid().is_root() && settings.isolation != Isolation::Off;
        let local = move |fleet: &Fleet, installation: &str| -> Arc<dyn Driver> {
            Arc::new(Local::new(installation, fleet.folders().clone(), settings).expect("a driver"))
        };
        Self::start_on(data, has_own_users, local).await
    }

    /// Starts with a driver of the test's own.
    pub async fn start_on(
        data: &Path,
        has_own_users: bool,
        driver: impl FnOnce(&Fleet, &str) -> Arc<dyn Driver>,
    ) -> Self {
        let store = Arc::new(Store::open_sqlite(&data.join("atelier.db"), Missing::Make).await.expect("opens"));
        let author = Author { actor: Actor::System, request: String::new(), why: None };
        let first = FirstAccount {
            workspace: "Studio".into(),
            email: "ines@example.org".into(),
            name: "Ines".into(),
            password_hash: "none".into(),
            time_zone: "UTC".into(),
        };
        let _ = store.set_up(&first, &author).await.expect("is set up");
        let workspace = store.workspaces().await.expect("reads").remove(0).id;
        let account = store.account_by_email("ines@example.org").await.expect("reads").expect("is there");
        let owner = account.person.id;
        let fleet = Fleet::new(data, Arc::clone(&store), has_own_users);
        for folder in [fleet.folders().homes(), fleet.folders().shared(), fleet.folders().jobs()] {
            std::fs::create_dir_all(folder).expect("made");
        }
        let installation = store.installation_id().await.expect("reads");
        let driver = driver(&fleet, &installation);
        let disk = DiskOptions { ballast: 1 << 16, ..DiskOptions::default() };
        let options = Options { disk, ..Options::default() };
        let started = Engine::start(Arc::clone(&store), fleet.clone(), MachineClock::new(), options).await;
        let (engine, task) = started.expect("starts");
        let door = tokio::spawn(open_door(fleet.clone()));
        fleet.attach(engine.clone(), vec![Arc::clone(&driver)]);
        engine.started().await;
        let site = Self { engine, fleet, driver, workspace, owner, store, door, task };
        site.until("there are sizes", |world| world.sizes().next().map(|_| ())).await;
        site
    }

    /// Lets nobody in any more: agents go on dialling.
    pub fn close_door(&self) {
        self.door.abort();
    }

    /// Ends the engine as a killed server would: agents find nobody.
    pub async fn crash(self) {
        self.door.abort();
        self.task.abort();
        let _ = self.task.await;
        self.store.close().await;
    }

    /// Ends everything, nodes included.
    pub async fn tear_down(self) {
        // The engine first: it would make others in place of those that go.
        let driver = std::sync::Arc::clone(&self.driver);
        self.crash().await;
        loop {
            let nodes = driver.list().await.expect("lists");
            if nodes.is_empty() {
                return;
            }
            for node in nodes {
                driver.terminate(node.name).await.expect("ends");
            }
        }
    }

    pub async fn give(&self, order: Order, payload: Option<Payload>) -> Answer {
        let command =
            Command { workspace: self.workspace.clone(), user: Some(self.owner.clone()), name: "Ines".into(), order };
        let author = Author { actor: Actor::System, request: String::new(), why: None };
        let new = NewOrder { id: CommandId::random(), payload, author, command };
        self.engine.order(new).await.expect("is taken")
    }

    /// A cluster of the smallest size, or another.
    pub async fn cluster(&self, name: &str, size: &str, min: u32, max: u32, idle: Span) -> ClusterId {
        let scale = atelier_domain::compute::cluster::ScaleSettings { min, max, idle, warm: 0 };
        let order = Order::CreateCluster {
            name: ComputeName::parse(name).expect("a name"),
            size: SizeName::parse(size).expect("a name"),
            scale,
            tier: Default::default(),
            tags: Tags::default(),
        };
        let Answer::Cluster(id) = self.give(order, None).await else { panic!("a cluster") };
        id
    }

    pub fn spec(cluster: ClusterId) -> JobSpec {
        JobSpec {
            target: Target::Cluster(cluster),
            shape: Resources { cores: 500, memory: 128, gpus: 0 },
            nodes: 1,
            priority: Priority::Medium,
            timeout: None,
            grace: Span::seconds(2),
            retry: None,
            tier: Default::default(),
            after: Vec::new(),
            environment: None,
        }
    }

    pub async fn submit(&self, spec: JobSpec, run: Run) -> JobId {
        let task = Task { run, environment: Vec::new(), files: Vec::new(), is_alone: false };
        let payload = Payload::of("test", Tags::default(), &task);
        let Answer::Job(id) = self.give(Order::Submit(spec), Some(payload)).await else { panic!("a job") };
        id
    }

    /// Runs lines of shell on a cluster.
    pub async fn script(&self, cluster: ClusterId, text: &str) -> JobId {
        self.submit(Self::spec(cluster), Run::Script(text.to_owned())).await
    }

    /// Waits until the World answers.
    pub async fn until<T: Send + 'static>(
        &self,
        what: &str,
        question: impl Fn(&World) -> Option<T> + Clone + Send + 'static,
    ) -> T {
        let mut status = self.engine.watch();
        let found = async {
            loop {
                if let Ok(Some(found)) = self.engine.ask(question.clone()).await {
                    return found;
                }
                let _ = tokio::time::timeout(Duration::from_secs(1), status.changed()).await;
            }
        };
        tokio::time::timeout(PATIENCE, found).await.unwrap_or_else(|_| panic!("waited in vain until {what}"))
    }

    /// Waits until a job is over and gives how it ended.
    pub async fn over(&self, job: JobId) -> (Job, Verdict) {
        self.until(&format!("{job} is over"), move |world| world.job(job).is_none().then_some(())).await;
        let row = self.store.job(&self.workspace, job).await.expect("reads").expect("is there");
        (row.job, row.verdict.expect("it is over"))
    }

    /// Waits until something unknown is noticed; drivers list every half minute, so the next look is asked
    /// for.
    pub async fn until_quarantined(&self, name: &str) {
        let name = name.to_owned();
        self.fleet.look_again().await;
        self.until("it is quarantined", move |world| world.unknown().find(|found| found.name == name).map(|_| ()))
            .await;
    }

    /// The state of a job that is not over.
    pub async fn until_state(&self, job: JobId, state: JobState) {
        let what = format!("{job} is {}", state.key());
        self.until(&what, move |world| world.job(job).filter(|job| job.state() == state).map(|_| ())).await;
    }

    /// Waits until that is what a job has printed.
    pub async fn until_log(&self, job: JobId, text: &str) {
        let printed = async {
            while self.log(job) != text {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(PATIENCE, printed).await.expect("is printed in time");
    }

    /// All that a job printed, of all attempts and nodes.
    pub fn log(&self, job: JobId) -> String {
        let names: Vec<LogName> = self.fleet.logs().list(job).into_iter().map(|log| log.name).collect();
        let texts = names.into_iter().map(|name| self.fleet.logs().read(name, 0, usize::MAX).expect("reads"));
        texts.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).collect()
    }
}

/// Lets agents in, as the server does.
async fn open_door(fleet: Fleet) {
    let path = fleet.folders().socket();
    let _ = std::fs::remove_file(&path);
    let listener = tokio::net::UnixListener::bind(&path).expect("a socket");
    let mut agents = tokio::task::JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await.expect("accepts");
        let fleet = fleet.clone();
        agents.spawn(async move {
            let config = WebSocketConfig::default().read_buffer_size(8 << 10).write_buffer_size(0);
            let Ok(socket) = tokio_tungstenite::accept_async_with_config(stream, Some(config)).await else { return };
            let (outgoing, incoming) = socket.split();
            let incoming = incoming.map(|message| match message {
                Ok(Message::Text(text)) => Some(Frame::Text(text.as_str().to_owned())),
                Ok(Message::Binary(bytes)) => Some(Frame::Binary(bytes.to_vec())),
                Ok(Message::Ping(_) | Message::Pong(_)) => Some(Frame::Ping),
                _ => None,
            });
            let incoming =
                incoming.take_while(|frame| std::future::ready(frame.is_some())).filter_map(std::future::ready);
            let outgoing = outgoing.with(|frame: Frame| async move {
                Ok::<_, tokio_tungstenite::tungstenite::Error>(match frame {
                    Frame::Text(text) => Message::Text(text.into()),
                    Frame::Binary(bytes) => Message::Binary(bytes.into()),
                    Frame::Ping => Message::Ping(Vec::new().into()),
                })
            });
            fleet.serve(incoming, outgoing).await;
        });
    }
}
