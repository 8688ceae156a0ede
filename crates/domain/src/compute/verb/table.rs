//! One row for each thing that people can do to instances, clusters, jobs and all else: its key, its words,
//! the right it needs, the states it is legal in, and where it is offered. Pages, REST, rights and history
//! read this table; `tests/golden/verb_table.txt` prints it.

use super::{ClusterState, ClusterVerb, InstanceVerb, JobVerb, Legality};
use crate::access::Action;
use crate::compute::instance::InstanceState;
use crate::compute::job::JobState;

crate::keyed_enum! {
    /// What verbs are about.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
    pub enum Noun {
        Instance = "instance", "instances";
        Cluster = "cluster", "clusters";
        /// A job, or all jobs of an array.
        Job = "job", "jobs";
        Node = "node", "nodes";
        /// A schedule of an instance or of a cluster.
        Schedule = "schedule", "schedules";
        /// A size of the catalog.
        Size = "size", "sizes";
        /// What a workspace allows: limits, budgets, weights, rules.
        Policy = "policy", "policies";
        /// The engine as a whole.
        Engine = "engine", "engines";
    }
}

/// The table that says in which state a verb is legal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Judged {
    Instance(InstanceVerb),
    Cluster(ClusterVerb),
    Job(JobVerb),
    /// Only while it runs.
    Up,
    /// While it runs or is on its way there: only then is a stop ahead. The core looks at the wish as well.
    Ahead,
    /// As a change of the settings of what it belongs to.
    Settings,
    Free,
}

/// What people are asked before it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// What it means, if that is the same for all that is selected; else empty.
    pub text: &'static str,
    /// The button that leaves everything as it is.
    pub keep: &'static str,
    /// Whether people may say why.
    pub wants_why: bool,
    /// Whether something is lost.
    pub is_dangerous: bool,
    /// Whether it asks only where several are selected.
    pub is_only_bulk: bool,
}

/// How the REST API offers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The method: `POST`.
    pub method: &'static str,
    /// What follows the address of the thing, or of all things of its kind: `/start`, or nothing.
    pub path: &'static str,
    /// The status when it is done: 201 made something, 202 goes on after the answer.
    pub status: u16,
}

#[derive(Clone, Copy)]
struct Row {
    noun: Noun,
    key: &'static str,
    word: &'static str,
    label: &'static str,
    right: Action,
    judged: Judged,
    going: (&'static str, &'static str),
    done: &'static str,
    event: &'static str,
    ask: Option<Ask>,
    is_bulk: bool,
    endpoint: Option<Endpoint>,
    frees: bool,
}

const fn row(noun: Noun, key: &'static str, word: &'static str, right: Action, judged: Judged) -> Row {
    Row {
        noun,
        key,
        word,
        label: word,
        right,
        judged,
        going: ("", ""),
        done: "",
        event: "",
        ask: None,
        is_bulk: false,
        endpoint: None,
        frees: false,
    }
}

const fn instance(key: &'static str, word: &'static str, right: Action, judged: InstanceVerb) -> Row {
    row(Noun::Instance, key, word, right, Judged::Instance(judged))
}

const fn cluster(key: &'static str, word: &'static str, right: Action, judged: ClusterVerb) -> Row {
    row(Noun::Cluster, key, word, right, Judged::Cluster(judged))
}

const fn job(key: &'static str, word: &'static str, right: Action, judged: JobVerb) -> Row {
    row(Noun::Job, key, word, right, Judged::Job(judged))
}

/// Needs the right of what the schedule belongs to: see [`Verb::right_on`].
const fn schedule(key: &'static str, word: &'static str) -> Row {
    row(Noun::Schedule, key, word, Action::InstanceConfigure, Judged::Settings)
}

const fn free(noun: Noun, key: &'static str, word: &'static str, right: Action) -> Row {
    row(noun, key, word, right, Judged::Free)
}

impl Row {
    /// The words on its button, where they are more than the verb.
    const fn button(mut self, label: &'static str) -> Self {
        self.label = label;
        self
    }

    /// The words while it is being done, for one and for several.
    const fn going(mut self, one: &'static str, many: &'static str) -> Self {
        self.going = (one, many);
        self
    }

    /// What somebody has done, before the name, and the key of the event.
    const fn done(mut self, words: &'static str, event: &'static str) -> Self {
        (self.done, self.event) = (words, event);
        self
    }

    const fn asks(mut self, text: &'static str, keep: &'static str) -> Self {
        self.ask = Some(Ask { text, keep, wants_why: false, is_dangerous: false, is_only_bulk: false });
        self
    }

    const fn asks_only_bulk(mut self, keep: &'static str) -> Self {
        self.ask = Some(Ask { text: "", keep, wants_why: false, is_dangerous: false, is_only_bulk: true });
        self
    }

    /// The question looks like one: something is lost.
    const fn dangerous(mut self) -> Self {
        if let Some(ask) = &mut self.ask {
            ask.is_dangerous = true;
        }
        self
    }

    const fn with_why(mut self) -> Self {
        if let Some(ask) = &mut self.ask {
            ask.wants_why = true;
        }
        self
    }

    const fn bulk(mut self) -> Self {
        self.is_bulk = true;
        self
    }

    const fn at(mut self, method: &'static str, path: &'static str, status: u16) -> Self {
        self.endpoint = Some(Endpoint { method, path, status });
        self
    }

    /// It only frees things: it is taken also when the disk is full.
    const fn frees(mut self) -> Self {
        self.frees = true;
        self
    }
}

macro_rules! verbs {
    ($( $(#[$doc:meta])* $name:ident: $row:expr; )*) => {
        /// Something that people can do.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Verb { $( $(#[$doc])* $name, )* }

        impl Verb {
            /// All of them, in the order of the table.
            pub const ALL: [Self; [$( stringify!($name), )*].len()] = [$( Self::$name, )*];

            const fn row(self) -> &'static Row {
                match self {
                    $( Self::$name => const { &$row }, )*
                }
            }
        }
    };
}

verbs! {
    /// Make an instance. For somebody else it needs `instance.create-for` too.
    CreateInstance: instance("create", "Create", Action::InstanceCreate, InstanceVerb::Create)
        .button("Create instance").going("is being created", "are being created")
        .done("created", "instance-created").at("POST", "", 201);
    /// Give it a node.
    StartInstance: instance("start", "Start", Action::InstanceOperate, InstanceVerb::Start)
        .going("is starting", "are starting").done("started", "instance-started")
        .asks_only_bulk("Leave it off").bulk().at("POST", "/start", 202);
    /// The same, because somebody opens an application of it.
    WakeInstance: instance("wake", "Start", Action::InstanceOperate, InstanceVerb::Start)
        .button("Start and open").going("is starting", "are starting").done("started", "instance-started");
    /// Take its node away; the home stays.
    StopInstance: instance("stop", "Stop", Action::InstanceOperate, InstanceVerb::Stop)
        .going("is stopping", "are stopping").done("stopped", "instance-stopped")
        .asks("", "Keep running").dangerous().bulk().at("POST", "/stop", 202).frees();
    /// Start its applications again.
    RestartInstance: instance("restart", "Restart", Action::InstanceOperate, InstanceVerb::Restart)
        .going("is restarting", "are restarting").done("restarted", "instance-restarted")
        .asks("", "Keep running").dangerous().bulk().at("POST", "/restart", 202);
    /// A fresh environment; the home stays.
    RebuildInstance: instance("rebuild", "Rebuild", Action::InstanceConfigure, InstanceVerb::Rebuild)
        .button("Rebuild environment").going("gets a fresh environment", "get fresh environments")
        .done("rebuilt", "instance-rebuilt")
        .asks("", "Keep as it is").dangerous().at("POST", "/rebuild", 202);
    ResizeInstance: instance("resize", "Resize", Action::InstanceConfigure, InstanceVerb::Resize)
        .button("Change size").going("is being resized", "are being resized")
        .done("resized", "instance-resized").at("POST", "/resize", 202);
    /// Another owner. Asks on a form of its own: to whom?
    TransferInstance: instance("transfer", "Transfer", Action::InstanceTransfer, InstanceVerb::Transfer)
        .going("is being transferred", "are being transferred")
        .done("transferred", "instance-transferred").at("POST", "/transfer", 202);
    /// Take it away, home and all.
    DeleteInstance: instance("delete", "Delete", Action::InstanceDelete, InstanceVerb::Delete)
        .going("is being deleted", "are being deleted").done("deleted", "instance-deleted")
        .asks("", "Keep as it is").dangerous().with_why().bulk().at("DELETE", "", 202).frees();
    /// Keep it running for a while, whatever its activity.
    ExtendInstance: row(Noun::Instance, "extend", "Keep running", Action::InstanceOperate, Judged::Up)
        .going("is kept running", "are kept running").done("extended", "instance-extended").at("POST", "/extend", 200);
    /// Keep it running until a time, over scheduled stops.
    PostponeStop: row(Noun::Instance, "postpone", "Postpone", Action::InstanceOperate, Judged::Ahead)
        .button("Postpone the stop").going("stops later", "stop later")
        .done("postponed the stop of", "instance-stop-postponed").at("POST", "/postpone", 200);
    /// Leave its next scheduled stop out.
    SkipStop: row(Noun::Instance, "skip-stop", "Skip", Action::InstanceOperate, Judged::Ahead)
        .button("Skip the stop").going("skips its next stop", "skip their next stops")
        .done("skipped the next stop of", "instance-stop-skipped").at("POST", "/skip-stop", 200);
    /// Idle shutdown and quota.
    ConfigureInstance: instance("configure", "Configure", Action::InstanceConfigure, InstanceVerb::Configure)
        .button("Save").going("has new settings", "have new settings")
        .done("changed the settings of", "instance-configured").at("PATCH", "", 200);
    /// What people note about it.
    TagInstance: instance("tag", "Tag", Action::InstanceConfigure, InstanceVerb::Configure)
        .button("Save tags").going("has new tags", "have new tags")
        .done("changed the tags of", "instance-tagged").at("PATCH", "", 200);
    /// What runs when it starts.
    SetScripts: instance("set-scripts", "Set scripts", Action::InstanceConfigure, InstanceVerb::Configure)
        .button("Save scripts").going("has new scripts", "have new scripts")
        .done("changed the scripts of", "instance-scripts-set").at("PUT", "/scripts", 200);
    /// Let scripts that somebody else wrote use the owner's home. Scripts run as the owner, so it needs what
    /// a terminal needs.
    AcceptScripts: instance("accept-scripts", "Accept scripts", Action::InstanceConnect, InstanceVerb::Configure)
        .going("runs its new scripts", "run their new scripts")
        .done("accepted the scripts of", "instance-scripts-accepted").at("POST", "/accept-scripts", 200);
    OpenInstance: instance("open", "Open", Action::InstanceConnect, InstanceVerb::Open);
    /// Run a job on it.
    SubmitToInstance: instance("submit", "Submit", Action::JobSubmit, InstanceVerb::Submit).button("Submit job");

    CreateCluster: row(Noun::Cluster, "create", "Create", Action::ClusterCreate, Judged::Free)
        .button("Create cluster").going("is being created", "are being created")
        .done("created", "cluster-created").at("POST", "", 201);
    /// Min nodes, max nodes, idle time.
    ScaleCluster: cluster("scale", "Scale", Action::ClusterScale, ClusterVerb::Scale)
        .button("Save").going("has new settings", "have new settings")
        .done("changed the settings of", "cluster-scaled").at("PATCH", "", 200);
    /// What people note about it.
    TagCluster: cluster("tag", "Tag", Action::ClusterScale, ClusterVerb::Scale)
        .button("Save tags").going("has new tags", "have new tags")
        .done("changed the tags of", "cluster-tagged").at("PATCH", "", 200);
    /// How its queue is served, or that of serverless jobs.
    SetQueuePolicy: cluster("set-queue-policy", "Set queue policy", Action::ClusterScale, ClusterVerb::Scale)
        .button("Save").going("has a new queue policy", "have new queue policies")
        .done("changed the queue policy of", "queue-policy-set").at("PATCH", "", 200);
    PauseCluster: cluster("pause", "Pause", Action::ClusterScale, ClusterVerb::Pause)
        .going("is paused", "are paused").done("paused", "cluster-paused").at("POST", "/pause", 200).frees();
    ResumeCluster: cluster("resume", "Resume", Action::ClusterScale, ClusterVerb::Resume)
        .going("is resumed", "are resumed").done("resumed", "cluster-resumed").at("POST", "/resume", 200);
    /// Run a job on it.
    SubmitToCluster: cluster("submit", "Submit", Action::JobSubmit, ClusterVerb::Submit).button("Submit job");
    /// Take it away. The question has a choice of its own: what becomes of running jobs?
    DeleteCluster: cluster("delete", "Delete", Action::ClusterDelete, ClusterVerb::Delete)
        .going("is being deleted", "are being deleted").done("deleted", "cluster-deleted")
        .asks("", "Keep it").dangerous().with_why().at("DELETE", "", 202).frees();

    /// Run something, once or as an array. Too common for the history: jobs have a list of their own.
    SubmitJob: row(Noun::Job, "submit", "Submit", Action::JobSubmit, Judged::Free)
        .button("Submit job").going("was submitted", "were submitted").at("POST", "", 201);
    CancelJob: job("cancel", "Cancel", Action::JobCancel, JobVerb::Cancel)
        .going("is being canceled", "are being canceled").done("canceled", "job-cancelled")
        .asks("Running jobs are asked to end, then killed. Logs and outputs are kept.", "Keep running")
        .dangerous().bulk().at("POST", "/cancel", 200).frees();
    PrioritiseJob: job("prioritise", "Change priority", Action::JobQueue, JobVerb::Prioritise)
        .going("has a new priority", "have a new priority").done("changed the priority of", "job-prioritised");
    /// Keep it from starting.
    HoldJob: job("hold", "Hold", Action::JobQueue, JobVerb::Hold)
        .going("is held", "are held").done("held", "job-held")
        .asks("Held jobs keep their place in the queue, but don't start until they are released.", "Leave in the queue")
        .with_why().bulk().at("POST", "/hold", 200).frees();
    /// Let it start again.
    ReleaseJob: job("release", "Release", Action::JobQueue, JobVerb::Release)
        .going("is released", "are released").done("released", "job-released")
        .asks("Released jobs wait for their turn again.", "Keep held").bulk().at("POST", "/release", 200);
    /// Change its place in the queue.
    MoveJob: job("move", "Move", Action::JobQueue, JobVerb::Move)
        .going("has moved", "have moved").done("moved", "job-moved").at("POST", "/move", 200);
    /// End it as if its node were taken back.
    EvictJob: job("evict", "Evict", Action::JobCancel, JobVerb::Evict)
        .going("is being evicted", "are being evicted").done("evicted", "job-evicted")
        .asks("Ends the job as if its preemptible node were taken back, so that you can test checkpoints. \
               $ATELIER_EVICTION_FILE appears and processes get SIGTERM; after the grace period they are killed. \
               The job goes back to the queue with its folder, and uses no retry.", "Keep running")
        .dangerous().with_why().bulk().at("POST", "/evict", 200);

    /// Take a node back now, as dedicated work would.
    EvictNode: free(Noun::Node, "evict", "Evict", Action::ClusterScale)
        .going("is being evicted", "are being evicted").done("evicted", "node-evicted").at("POST", "/evict", 202);

    AddSchedule: schedule("add", "Add").button("Add schedule")
        .going("is added", "are added").done("added", "schedule-added").at("POST", "", 201);
    EditSchedule: schedule("edit", "Edit").button("Save schedule")
        .going("is changed", "are changed").done("changed", "schedule-changed").at("PATCH", "", 200);
    /// Switch it on or off.
    EnableSchedule: schedule("enable", "Enable")
        .going("is switched", "are switched").done("switched", "schedule-switched").at("PATCH", "", 200);
    /// Leave its next time out, or take that back.
    SkipSchedule: schedule("skip", "Skip").button("Skip the next run")
        .going("skips its next run", "skip their next run").done("skipped the next run of", "schedule-skipped")
        .at("POST", "/skip", 200);
    RemoveSchedule: schedule("remove", "Remove").button("Remove schedule")
        .going("is removed", "are removed").done("removed", "schedule-removed").at("DELETE", "", 200).frees();

    /// Add a size to the catalog, or change it.
    PutSize: free(Noun::Size, "put", "Save", Action::SizeWrite).button("Save size")
        .going("is saved", "are saved").done("saved", "size-put").at("PUT", "", 200);
    /// Take a size out of the catalog.
    RemoveSize: free(Noun::Size, "remove", "Remove", Action::SizeWrite).button("Remove size")
        .going("is removed", "are removed").done("removed", "size-removed").at("DELETE", "", 200);
    /// Set a limit, or lift it.
    SetLimit: free(Noun::Policy, "set-limit", "Set limit", Action::QuotaWrite).done("set a limit of", "limit-set");
    /// Set how much may be spent in a month, or lift it.
    SetBudget: free(Noun::Policy, "set-budget", "Set budget", Action::BudgetWrite)
        .done("set the budget of", "budget-set");
    /// Set somebody's weight in fair share.
    SetShare: free(Noun::Policy, "set-share", "Set weight", Action::QuotaWrite).done("set the weight of", "share-set");
    /// Set after how long use counts half in fair share.
    SetHalfLife: free(Noun::Policy, "set-half-life", "Set half-life", Action::QuotaWrite)
        .done("set the half-life of", "half-life-set");
    /// Set what is allowed and required of idle shutdown.
    SetIdleRules: free(Noun::Policy, "set-idle-rules", "Set idle rules", Action::WorkspaceWrite)
        .done("set the idle rules of", "idle-rules-set");

    /// Start and stop nothing more.
    PauseEngine: free(Noun::Engine, "pause", "Pause", Action::EngineWrite).button("Pause scheduling")
        .going("is paused", "are paused").done("paused", "engine-paused").frees();
    ResumeEngine: free(Noun::Engine, "resume", "Resume", Action::EngineWrite).button("Resume scheduling")
        .going("is resumed", "are resumed").done("resumed", "engine-resumed");
    /// Remove something that was found and is not known.
    RemoveUnknown: free(Noun::Engine, "remove-unknown", "Remove", Action::EngineWrite)
        .button("Remove unknown node").going("is being removed", "are being removed")
        .done("removed", "unknown-removed").frees();
}

/// Why something that is not up cannot be kept up.
const NOT_UP: Legality = Legality::No("Only what runs can be kept running. Start it first.");
/// Why something that is not up has no stop to put off.
pub(crate) const NOTHING_AHEAD: &str = "Only what runs has a stop ahead. Start it first.";

const fn kept_up(state: InstanceState) -> Legality {
    match state {
        InstanceState::Running | InstanceState::JobRunning | InstanceState::Unknown => Legality::Yes,
        _ => NOT_UP,
    }
}

const fn has_stop_ahead(state: InstanceState) -> Legality {
    use InstanceState as S;
    match state {
        S::Stopping | S::Stopped | S::Resizing | S::Transferring | S::Deleting | S::CreateFailed => {
            Legality::No(NOTHING_AHEAD)
        }
        _ => Legality::Yes,
    }
}

/// Said where a verb is asked of something it is not for.
const NOT_FOR_THIS: Legality = Legality::No("This can't be done here.");

impl Verb {
    /// The verb of that key, if there is one.
    pub fn from_key(noun: Noun, key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verb| verb.noun() == noun && verb.key() == key)
    }

    /// The verbs that are offered where several are selected.
    pub fn in_bulk(noun: Noun) -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(move |verb| verb.noun() == noun && verb.is_bulk())
    }

    /// What it is about.
    pub const fn noun(self) -> Noun {
        self.row().noun
    }

    /// The name in addresses, in forms and in the API: `stop`.
    pub const fn key(self) -> &'static str {
        self.row().key
    }

    /// The verb before a name: `Stop`.
    pub const fn word(self) -> &'static str {
        self.row().word
    }

    /// The words on its button: `Rebuild environment`.
    pub const fn label(self) -> &'static str {
        self.row().label
    }

    /// The right that it needs.
    pub const fn right(self) -> Action {
        self.row().right
    }

    /// The same where it is done to a part of something: the schedules of a cluster need the right to scale
    /// it.
    pub const fn right_on(self, target: Noun) -> Action {
        match (self.row().judged, target) {
            (Judged::Settings, Noun::Cluster) => Action::ClusterScale,
            _ => self.right(),
        }
    }

    /// What it does to an instance in that state.
    pub const fn in_instance(self, state: InstanceState) -> Legality {
        match self.row().judged {
            Judged::Instance(verb) => verb.in_state(state),
            Judged::Settings => InstanceVerb::Configure.in_state(state),
            Judged::Up => kept_up(state),
            Judged::Ahead => has_stop_ahead(state),
            _ => NOT_FOR_THIS,
        }
    }

    /// What it does to a cluster in that state.
    pub const fn in_cluster(self, state: ClusterState) -> Legality {
        match self.row().judged {
            Judged::Cluster(verb) => verb.in_state(state),
            Judged::Settings => ClusterVerb::Scale.in_state(state),
            _ => NOT_FOR_THIS,
        }
    }

    /// What it does to a job in that state.
    pub const fn in_job(self, state: JobState) -> Legality {
        match self.row().judged {
            Judged::Job(verb) => verb.in_state(state),
            _ => NOT_FOR_THIS,
        }
    }

    /// The verb of the core that it is judged as, for instances.
    pub const fn as_instance(self) -> Option<InstanceVerb> {
        match self.row().judged {
            Judged::Instance(verb) => Some(verb),
            _ => None,
        }
    }

    /// The same for clusters.
    pub const fn as_cluster(self) -> Option<ClusterVerb> {
        match self.row().judged {
            Judged::Cluster(verb) => Some(verb),
            _ => None,
        }
    }

    /// The same for jobs.
    pub const fn as_job(self) -> Option<JobVerb> {
        match self.row().judged {
            Judged::Job(verb) => Some(verb),
            _ => None,
        }
    }

    /// The words while it is being done, for one or for several, after the name: `is stopping`.
    pub const fn going(self, is_one: bool) -> &'static str {
        let (one, many) = self.row().going;
        if is_one { one } else { many }
    }

    /// What somebody has done, before the name: `stopped`.
    pub const fn done(self) -> &'static str {
        self.row().done
    }

    /// The key of the event in the history; none for what is too common to be told.
    pub const fn event(self) -> Option<&'static str> {
        match self.row().event.as_bytes() {
            [] => None,
            _ => Some(self.row().event),
        }
    }

    /// What people are asked first; none if it is done at once or has a form of its own.
    pub const fn ask(self) -> Option<Ask> {
        self.row().ask
    }

    /// Whether it is offered where several are selected.
    pub const fn is_bulk(self) -> bool {
        self.row().is_bulk
    }

    /// How the REST API offers it, if it does.
    pub const fn endpoint(self) -> Option<Endpoint> {
        self.row().endpoint
    }

    /// Whether it only frees things: such orders are taken also when the disk is full.
    pub const fn frees(self) -> bool {
        self.row().frees
    }
}
