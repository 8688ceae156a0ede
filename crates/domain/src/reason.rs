//! Reasons: why something waits, is refused, stops, or changes in number. A closed list; there is no "other".
//!
//! Each has a code for machines, its numbers, a sentence for people and, where somebody can do something about it, the
//! next step. Pages, the API and the command line print the same ones.

use serde::{Deserialize, Serialize};

use crate::compute::ids::{JobId, NodeId};
use crate::compute::instance::InstanceState;
use crate::compute::quota::Shortage;
use crate::compute::resources::Resources;
use crate::text::{Problem, Text, and_list, counted};
use crate::time::Span;

/// What a reason is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Something waits, and will go on by itself.
    Wait,
    /// A request was not taken.
    Refusal,
    /// Something ended or stopped.
    Stop,
    /// The number of nodes changes, or does not.
    Scaling,
    /// Something was noted that changes nothing.
    Note,
}

macro_rules! reasons {
    ($( $(#[$doc:meta])* $name:ident $( { $( $(#[$field_doc:meta])* $field:ident : $type:ty, )* } )? = $kind:ident, $code:literal; )*) => {
        /// Why. See the module's page.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(tag = "code")]
        pub enum Reason {
            $( $(#[$doc])* #[serde(rename = $code)] $name $( { $( $(#[$field_doc])* $field: $type, )* } )?, )*
        }

        impl Reason {
            /// Every code, in the order of the list.
            pub const CODES: &'static [&'static str] = &[$($code,)*];

            /// The name for machines.
            pub const fn code(&self) -> &'static str {
                match self { $(Self::$name { .. } => $code,)* }
            }

            /// What it is about.
            pub const fn kind(&self) -> Kind {
                match self { $(Self::$name { .. } => Kind::$kind,)* }
            }
        }
    };
}

reasons! {
    /// Others come first.
    InQueue {
        /// Its place, from 1.
        position: u64,
        /// How many wait in all.
        of: u64,
    } = Wait, "in-queue";
    /// It is first, and nodes for it are on their way.
    NodesStarting {
        /// Nodes that could take it now.
        ready: u64,
        /// Nodes on their way.
        starting: u64,
        /// Nodes it needs.
        needed: u64,
    } = Wait, "nodes-starting";
    /// It is first, and all nodes are taken.
    NodesBusy {
        /// Nodes with jobs.
        busy: u64,
        /// Nodes that the cluster may have.
        max: u64,
        /// What it needs on each.
        shape: Resources,
    } = Wait, "nodes-busy";
    /// It is first, some of its nodes are ready and wait for the rest.
    Gathering {
        /// Ready ones.
        ready: u64,
        /// All it needs.
        needed: u64,
        /// When it lets others pass.
        left: Span,
    } = Wait, "gathering";
    /// Its nodes did not come together; others may pass for a while.
    SteppedAside {
        /// All it needs.
        needed: u64,
        /// How often so far.
        times: u32,
        /// How long still.
        left: Span,
    } = Wait, "stepped-aside";
    /// The cluster kept nodes waiting in vain and leaves them to others for a while.
    Yielding {
        /// How long still.
        left: Span,
    } = Wait, "yielding";
    /// A retry waits its pause.
    RetryPause {
        /// The next attempt.
        attempt: u32,
        /// How the one before ended.
        after: String,
        /// How long still.
        left: Span,
    } = Wait, "retry-pause";
    /// A quota is used up.
    QuotaInUse {
        /// The numbers.
        shortage: Shortage,
    } = Wait, "quota-in-use";
    /// The machines are full.
    CapacityInUse {
        /// Where.
        site: String,
        /// What one node needs.
        needed: Resources,
        /// What is free.
        free: Resources,
    } = Wait, "capacity-in-use";
    /// Launches failed; the next try waits.
    LaunchPause {
        /// How many one after another.
        failures: u32,
        /// What the driver said last.
        last: Text,
        /// How long still.
        left: Span,
    } = Wait, "launch-pause";
    /// Old nodes must be gone before new ones are made.
    NodesLeaving {
        /// How many leave.
        leaving: u64,
        /// The most there may be.
        max: u64,
    } = Wait, "nodes-leaving";
    /// The cluster was paused.
    ClusterPaused {
        /// Its name.
        cluster: String,
        /// By whom.
        by: Text,
    } = Wait, "cluster-paused";
    /// All acting was paused.
    EnginePaused {
        /// By whom.
        by: Text,
        /// Why.
        why: String,
    } = Wait, "engine-paused";
    /// The instance does not run yet.
    InstanceNotReady {
        /// Its name.
        instance: String,
        /// Where it stands.
        state: InstanceState,
    } = Wait, "instance-not-ready";
    /// An instance runs one job for each of its cores.
    SlotsBusy {
        /// Running jobs.
        running: u64,
        /// The most at once.
        slots: u64,
    } = Wait, "slots-busy";
    /// Its node was told to start and has not answered.
    Handed {
        /// Nodes that have not answered.
        waiting: u64,
        /// All it runs on.
        nodes: u64,
    } = Wait, "handed-over";
    /// Processes were asked to end.
    Ending {
        /// Nodes that have not confirmed.
        waiting: u64,
        /// How it will have ended.
        what: String,
    } = Wait, "ending";
    /// The driver was told to remove a node and has not confirmed.
    ReleaseUnconfirmed {
        /// Which.
        node: NodeId,
        /// How often it was told.
        tries: u32,
        /// For how long.
        waiting: Span,
    } = Wait, "release-unconfirmed";
    /// Outputs are being collected.
    Collecting {
        /// Nodes that have not finished.
        waiting: u64,
    } = Wait, "collecting";
    /// Atelier sets an instance up, or its script runs.
    SettingUp {
        /// What goes on.
        state: InstanceState,
        /// When that counts as failed.
        left: Span,
    } = Wait, "setting-up";
    /// It is on its way and nothing stands against it.
    OnItsWay {
        /// When that counts as failed.
        left: Span,
    } = Wait, "on-its-way";

    /// A field is wrong.
    Invalid {
        /// Which, and what is allowed.
        problem: Problem,
    } = Refusal, "invalid";
    /// There is no such thing, or it is not for you to know.
    NotFound {
        /// What was looked for.
        what: String,
    } = Refusal, "not-found";
    /// Something of that name exists.
    NameTaken {
        /// The name.
        name: String,
    } = Refusal, "name-taken";
    /// The verb is not legal in this state.
    NotNow {
        /// The verb.
        verb: String,
        /// The name of the thing.
        name: String,
        /// Its state.
        state: String,
        /// What would help.
        help: String,
    } = Refusal, "not-now";
    /// There is no such size.
    UnknownSize {
        /// The name.
        size: String,
        /// Those there are.
        known: Vec<String>,
    } = Refusal, "unknown-size";
    /// The job would never fit on a node of that size.
    TooLarge {
        /// What it needs on each node.
        needed: Resources,
        /// What a node has.
        node: Resources,
        /// The size.
        size: String,
        /// Sizes on which it would fit.
        fitting: Vec<String>,
    } = Refusal, "too-large";
    /// More nodes than the cluster may ever have.
    TooManyNodes {
        /// Asked for.
        needed: u64,
        /// The most.
        max: u64,
        /// The cluster.
        cluster: String,
    } = Refusal, "too-many-nodes";
    /// An instance is one node.
    OneNodeOnly {
        /// Asked for.
        needed: u64,
    } = Refusal, "one-node-only";
    /// The quota would never suffice for so many, but for fewer.
    QuotaTooSmall {
        /// The numbers.
        shortage: Shortage,
        /// So many nodes would do.
        valid: u64,
    } = Refusal, "quota-too-small";
    /// The quota does not allow a single one.
    QuotaNone {
        /// The numbers.
        shortage: Shortage,
        /// Sizes that would do.
        instead: Vec<String>,
    } = Refusal, "quota-none";
    /// As many instances and clusters as allowed.
    TooManyComputes {
        /// The numbers.
        shortage: Shortage,
    } = Refusal, "too-many-computes";
    /// The machines are smaller than that.
    CapacityTooSmall {
        /// Where.
        site: String,
        /// What is asked for.
        needed: Resources,
        /// All there is.
        total: Resources,
    } = Refusal, "capacity-too-small";
    /// The limit is below what is held.
    LimitBelowUse {
        /// The numbers; `needed` is the new limit.
        shortage: Shortage,
    } = Refusal, "limit-below-use";
    /// Something still uses it.
    InUse {
        /// What.
        what: String,
        /// What uses it.
        by: Vec<String>,
    } = Refusal, "in-use";
    /// There is no site of that name.
    UnknownSite {
        /// The name.
        site: String,
        /// Those there are.
        known: Vec<String>,
    } = Refusal, "unknown-site";
    /// Schedules act on things that exist, by rules of their own.
    CannotSkip {
        /// Why.
        why: String,
    } = Refusal, "cannot-skip";
    /// The disk is full; only what frees something is taken.
    DiskFull {
        /// Bytes left.
        free: u64,
        /// Bytes that must be left.
        floor: u64,
    } = Refusal, "disk-full";
    /// The whole installation has as many live jobs as it can keep.
    TooManyJobs {
        /// Live ones.
        live: u64,
        /// The most.
        limit: u64,
    } = Refusal, "too-many-jobs";

    /// A person did it.
    ByPerson {
        /// By name.
        name: Text,
    } = Stop, "by-person";
    /// A schedule did it.
    BySchedule {
        /// Which.
        schedule: String,
    } = Stop, "by-schedule";
    /// Nothing that counts happened for too long.
    Idle {
        /// For how long nothing did.
        quiet: Span,
        /// How long is allowed.
        window: Span,
        /// What counted last.
        last: Option<String>,
    } = Stop, "idle";
    /// The node was not heard of for too long.
    NodeLost {
        /// Which.
        node: NodeId,
        /// For how long.
        silent: Span,
    } = Stop, "node-lost";
    /// The node's capacity was taken back.
    NodePreempted {
        /// Which.
        node: NodeId,
    } = Stop, "node-preempted";
    /// The node went away by itself.
    NodeGone {
        /// Which.
        node: NodeId,
    } = Stop, "node-gone";
    /// A launch failed.
    LaunchFailed {
        /// Which node it would have been.
        node: NodeId,
        /// What the driver said.
        detail: Text,
    } = Stop, "launch-failed";
    /// A launch took too long.
    LaunchTimedOut {
        /// Which node it would have been.
        node: NodeId,
        /// The limit.
        limit: Span,
    } = Stop, "launch-timed-out";
    /// Waiting for quota, capacity or a node took too long.
    StartTimedOut {
        /// The limit.
        limit: Span,
        /// What it waited for.
        waiting: Option<Box<Reason>>,
    } = Stop, "start-timed-out";
    /// A set-up or a script failed.
    SetupFailed {
        /// What failed.
        what: String,
        /// What it said last.
        detail: Text,
    } = Stop, "setup-failed";
    /// A set-up or a script took too long.
    SetupTimedOut {
        /// What.
        what: String,
        /// The limit.
        limit: Span,
    } = Stop, "setup-timed-out";
    /// The driver could not change the size.
    ResizeFailed {
        /// What it said.
        detail: Text,
    } = Stop, "resize-failed";
    /// The instance that it belonged to stops or goes.
    InstanceStops {
        /// Its name.
        instance: String,
    } = Stop, "instance-stops";
    /// The cluster that it belonged to goes.
    ClusterDeleted {
        /// Its name.
        cluster: String,
        /// By whom.
        by: Text,
    } = Stop, "cluster-deleted";
    /// The job that it was made for is over, or gave it back.
    JobDone {
        /// Which.
        job: JobId,
    } = Stop, "job-done";
    /// A job would not end on it.
    WouldNotEnd {
        /// Which.
        job: JobId,
        /// How long it was waited for.
        waited: Span,
    } = Stop, "would-not-end";
    /// A job was over, and how.
    JobEnded {
        /// How: the end of a sentence that starts with the job.
        what: String,
        /// How many attempts it took.
        attempts: u32,
    } = Stop, "job-ended";
    /// An attempt was over, and another follows.
    AttemptEnded {
        /// How.
        what: String,
        /// Which attempt.
        attempt: u32,
        /// The pause before the next.
        pause: Span,
    } = Stop, "attempt-ended";

    /// Nodes are added for queued jobs.
    ScaleUp {
        /// How many.
        added: u64,
        /// Called back from leaving, of these.
        called_back: u64,
        /// Nodes with jobs.
        busy: u64,
        /// Nodes that queued jobs need.
        demand: u64,
        /// The most.
        max: u64,
        /// Who is first in the queue.
        head: Option<JobId>,
    } = Scaling, "scale-up";
    /// Nodes are added to reach the minimum.
    ScaleToMin {
        /// How many.
        added: u64,
        /// The fewest.
        min: u64,
    } = Scaling, "scale-to-min";
    /// A node goes because nothing ran on it.
    ScaleDownIdle {
        /// For how long.
        idle: Span,
        /// How long is allowed.
        allowed: Span,
        /// Nodes that stay.
        stays: u64,
    } = Scaling, "scale-down-idle";
    /// An idle node goes because others wait for what it holds.
    NeededElsewhere {
        /// For how long it was idle.
        idle: Span,
        /// Nodes that stay.
        stays: u64,
    } = Scaling, "needed-elsewhere";
    /// A node goes because the maximum is lower.
    OverMax {
        /// Nodes there are.
        nodes: u64,
        /// The most.
        max: u64,
    } = Scaling, "over-max";
    /// A node's removal was called off.
    CalledBack {
        /// Which.
        node: NodeId,
    } = Scaling, "called-back";
    /// As many nodes as wanted.
    Steady {
        /// How many.
        nodes: u64,
        /// With jobs.
        busy: u64,
        /// Waiting jobs.
        queued: u64,
        /// The fewest.
        min: u64,
        /// The most.
        max: u64,
    } = Scaling, "steady";
    /// The maximum is reached and jobs wait.
    AtMax {
        /// The most.
        max: u64,
        /// Nodes that queued jobs would need more.
        wanted: u64,
    } = Scaling, "at-max";

    /// A schedule found it so already.
    AlreadySo {
        /// The state.
        state: String,
    } = Note, "already-so";
    /// A schedule's time passed while nobody could act.
    FiringsMissed {
        /// How many.
        missed: u32,
        /// Whether there were more.
        is_more: bool,
        /// How long a missed one is made up.
        grace: Span,
    } = Note, "firings-missed";
    /// Somebody had dismissed that time.
    FiringDismissed = Note, "firing-dismissed";
    /// A person acted after the planned time.
    Overruled = Note, "overruled";
    /// Another schedule of the same thing had a later time.
    Superseded = Note, "superseded";
    /// A schedule could not do what it is for.
    FiringFailed {
        /// Why.
        why: Box<Reason>,
    } = Note, "firing-failed";
    /// A schedule acted.
    Fired {
        /// What it did.
        what: String,
        /// How late.
        late: Span,
    } = Note, "fired";
    /// It will stop for want of activity.
    IdleWarning {
        /// How long until then.
        left: Span,
        /// For how long nothing did.
        quiet: Span,
    } = Note, "idle-warning";
    /// Activity came back.
    IdleOver {
        /// What.
        source: String,
    } = Note, "idle-over";
    /// Something exists that the engine does not know.
    Unknown {
        /// What the driver calls it.
        name: String,
        /// Where.
        site: String,
    } = Note, "unknown-found";
}

impl Reason {
    /// A field is wrong.
    pub const fn invalid(problem: Problem) -> Self {
        Self::Invalid { problem }
    }

    /// Whole sentences for people, with the numbers.
    pub fn sentence(&self) -> String {
        match self {
            Self::InQueue { position, of } => format!("Waits in the queue: place {position} of {of}."),
            Self::NodesStarting { ready, starting, needed } => {
                format!("Waits for nodes: {needed} needed, {ready} ready, {starting} starting.")
            }
            Self::NodesBusy { busy, max, shape } => format!(
                "First in the queue. {} of at most {max} {} busy and none has {shape} free.",
                counted(*busy, "node", "nodes"),
                if *busy == 1 { "is" } else { "are" },
            ),
            Self::Gathering { ready, needed, left } => format!(
                "{ready} of {needed} nodes are ready and kept for it; if the rest is not ready in {left}, others may pass."
            ),
            Self::SteppedAside { needed, times, left } => format!(
                "Its {needed} nodes did not come together in time ({}); others may pass for {left}.",
                counted(u64::from(*times), "time", "times"),
            ),
            Self::Yielding { left } => format!(
                "Its nodes waited for others in vain, so it leaves the room to whoever waits too; it asks again in {left}."
            ),
            Self::RetryPause { attempt, after, left } => {
                format!("The attempt before {after}. Attempt {attempt} follows in {left}.")
            }
            Self::QuotaInUse { shortage } => format!("Waits for quota: {}.", shortage.sentence()),
            Self::CapacityInUse { site, needed, free } => {
                format!("Waits for room on {site}: a node needs {needed}; free: {free}.")
            }
            Self::LaunchPause { failures, last, left } => format!(
                "{} failed, the last with “{last}”. The next try is in {left}.",
                counted(u64::from(*failures), "launch", "launches in a row"),
            ),
            Self::NodesLeaving { leaving, max } => {
                format!("{} still leaving, and there may be {max} in all.", counted(*leaving, "node is", "nodes are"),)
            }
            Self::ClusterPaused { cluster, by } => format!("{cluster} was paused by {by} and starts nothing."),
            Self::EnginePaused { by, why } if why.is_empty() => format!("{by} paused all acting."),
            Self::EnginePaused { by, why } => format!("{by} paused all acting: {why}."),
            Self::InstanceNotReady { instance, state } => {
                format!("{instance} is {} and takes jobs when it runs.", state.key().replace('-', " "))
            }
            Self::SlotsBusy { running, slots } => {
                format!("{running} of {slots} jobs run; an instance runs one for each of its cores.")
            }
            Self::Handed { waiting, nodes } => {
                format!(
                    "Handed over; {waiting} of {} not said that it runs.",
                    counted(*nodes, "node has", "nodes have")
                )
            }
            Self::Ending { waiting, what } => format!(
                "{what}; {} not confirmed that nothing of it is left.",
                counted(*waiting, "node has", "nodes have"),
            ),
            Self::ReleaseUnconfirmed { node, tries, waiting } => format!(
                "The driver was told {} in {waiting} to remove {node} and has not confirmed it.",
                counted(u64::from(*tries), "time", "times"),
            ),
            Self::Collecting { waiting } => {
                format!("Outputs are collected; {} not finished.", counted(*waiting, "node has", "nodes have"))
            }
            Self::SettingUp { state, left } => {
                format!(
                    "{}; that may take {left} more.",
                    if *state == InstanceState::UserSettingUp { "Its script runs" } else { "It is set up" }
                )
            }
            Self::OnItsWay { left } => format!("On its way; that may take {left} more."),

            Self::Invalid { problem } => problem.message.clone(),
            Self::NotFound { what } => format!("There is no {what}."),
            Self::NameTaken { name } => format!("{name} exists already."),
            Self::NotNow { verb, name, state, .. } => {
                format!("{name} is {}, so it cannot {verb}.", state.replace('-', " "))
            }
            Self::UnknownSize { size, .. } => format!("There is no size {size}."),
            Self::TooLarge { needed, node, size, .. } => {
                format!("The job needs {needed} on a node; a node of the size {size} has {node}.")
            }
            Self::TooManyNodes { needed, max, cluster } => {
                format!("The job needs {needed} nodes; {cluster} has at most {max}.")
            }
            Self::OneNodeOnly { needed } => format!("An instance is one node; the job needs {needed}."),
            Self::QuotaTooSmall { shortage, valid } => format!(
                "The quota is too small: {}. It allows {}.",
                shortage.sentence(),
                counted(*valid, "node", "nodes"),
            ),
            Self::QuotaNone { shortage, .. } => format!("There is no quota for this: {}.", shortage.sentence()),
            Self::TooManyComputes { shortage } => format!("One more is not allowed: {}.", shortage.sentence()),
            Self::CapacityTooSmall { site, needed, total } => {
                format!("{site} has {total} in all; this needs {needed}.")
            }
            Self::LimitBelowUse { shortage } => format!(
                "The limit cannot be {}: {} held already.",
                shortage.resource.amount(shortage.needed),
                shortage.resource.amount(shortage.used),
            ),
            Self::InUse { what, by } => format!("{what} is used by {}.", and_list(by)),
            Self::UnknownSite { site, .. } => format!("There is no site {site}."),
            Self::CannotSkip { why } => why.clone(),
            Self::DiskFull { free, floor } => format!(
                "The server’s disk is full: {} MB are left and {} MB are needed. Only what stops, cancels or deletes is taken.",
                free / 1_000_000,
                floor / 1_000_000,
            ),
            Self::TooManyJobs { live, limit } => {
                format!("{live} jobs wait or run, and the server keeps at most {limit}.")
            }

            Self::ByPerson { name } => format!("By {name}."),
            Self::BySchedule { schedule } => format!("By schedule: {schedule}."),
            Self::Idle { quiet, window, last } => match last {
                Some(last) => format!("Idle for {quiet}, {window} are allowed; last activity: {last}."),
                None => format!("Idle for {quiet}, {window} are allowed; there was no activity since it started."),
            },
            Self::NodeLost { node, silent } => format!("{node} was not heard of for {silent}."),
            Self::NodePreempted { node } => format!("The capacity of {node} was taken back."),
            Self::NodeGone { node } => format!("{node} went away by itself."),
            Self::LaunchFailed { node, detail } => format!("{node} could not be launched: {detail}."),
            Self::LaunchTimedOut { node, limit } => format!("{node} did not come up within {limit}."),
            Self::StartTimedOut { limit, waiting } => match waiting {
                Some(waiting) => format!("It did not start within {limit}. {}", waiting.sentence()),
                None => format!("It did not start within {limit}."),
            },
            Self::SetupFailed { what, detail } => format!("{what} failed: {detail}."),
            Self::SetupTimedOut { what, limit } => format!("{what} took longer than {limit}."),
            Self::ResizeFailed { detail } => format!("The size could not be changed: {detail}."),
            Self::InstanceStops { instance } => format!("{instance} stops."),
            Self::ClusterDeleted { cluster, by } => format!("{cluster} is being deleted by {by}."),
            Self::JobDone { job } => format!("Made for {job}, which no longer needs it."),
            Self::WouldNotEnd { job, waited } => format!("{job} did not end there within {waited}, so the node goes."),
            Self::JobEnded { what, attempts } => {
                format!("It {what} ({}).", counted(u64::from(*attempts), "attempt", "attempts"))
            }
            Self::AttemptEnded { what, attempt, pause } => {
                format!("Attempt {attempt} {what}; the next follows in {pause}.")
            }

            Self::ScaleUp { added, called_back, busy, demand, max, head } => {
                let back = if *called_back > 0 {
                    format!(", {called_back} of them called back from leaving")
                } else {
                    String::new()
                };
                let head = head.map_or(String::new(), |job| format!(", {job} first"));
                format!(
                    "+{}{back}: queued jobs need {demand}{head}; {busy} busy, at most {max}.",
                    counted(*added, "node", "nodes"),
                )
            }
            Self::ScaleToMin { added, min } => {
                format!("+{}: the minimum is {min}.", counted(*added, "node", "nodes"))
            }
            Self::ScaleDownIdle { idle, allowed, stays } => {
                format!(
                    "−1 node: idle for {idle}, {allowed} are allowed; {} left.",
                    counted(*stays, "node is", "nodes are")
                )
            }
            Self::NeededElsewhere { idle, stays } => format!(
                "−1 node: idle for {idle}, and others wait for the room it takes; {} left.",
                counted(*stays, "node is", "nodes are"),
            ),
            Self::OverMax { nodes, max } => {
                format!("−1 node when it is free: there are {nodes} and the maximum is {max}.")
            }
            Self::CalledBack { node } => format!("{node} stays: it is needed again."),
            Self::Steady { nodes, busy, queued, min, max } => format!(
                "{} ({busy} busy), {} waiting; between {min} and {max}.",
                counted(*nodes, "node", "nodes"),
                counted(*queued, "job", "jobs"),
            ),
            Self::AtMax { max, wanted } => format!("At the maximum of {max}; queued jobs could use {wanted} more."),

            Self::AlreadySo { state } => format!("It was {} already.", state.replace('-', " ")),
            Self::FiringsMissed { missed, is_more, grace } => format!(
                "{}{} missed and not made up, which is done for {grace}.",
                if *is_more { "More than " } else { "" },
                counted(u64::from(*missed), "planned time was", "planned times were"),
            ),
            Self::FiringDismissed => "That time had been skipped by hand.".into(),
            Self::Overruled => "Somebody acted by hand after the planned time.".into(),
            Self::Superseded => "Another schedule had a later time.".into(),
            Self::FiringFailed { why } => format!("The schedule could not act. {}", why.sentence()),
            Self::Fired { what, late } if *late < Span::minutes(1) => format!("{what}."),
            Self::Fired { what, late } => format!("{what}, {late} late."),
            Self::IdleWarning { left, quiet } => {
                format!("Idle for {quiet}; it stops in {left} unless something happens.")
            }
            Self::IdleOver { source } => format!("In use again: {source}."),
            Self::Unknown { name, site } => {
                format!("{name} exists on {site} and is not known here. It was left alone.")
            }
        }
    }

    /// What somebody can do about it.
    pub fn next_step(&self) -> Option<String> {
        let text = match self {
            Self::NodesBusy { .. } | Self::AtMax { .. } => {
                "Raise the cluster’s maximum, or wait for a job to end.".into()
            }
            Self::Gathering { .. } | Self::SteppedAside { .. } => {
                "Ask for fewer nodes, or raise the cluster’s minimum.".into()
            }
            Self::QuotaInUse { .. } => "Stop what is not needed, or ask an Owner for a higher limit.".into(),
            Self::CapacityInUse { .. } => "Stop what is not needed, or choose a smaller size.".into(),
            Self::LaunchPause { .. } => "Look at the failed launches of the cluster.".into(),
            Self::ClusterPaused { .. } => "Resume the cluster.".into(),
            Self::EnginePaused { .. } => "A Compute Operator can resume it.".into(),
            Self::ReleaseUnconfirmed { .. } => "Look whether the machine behind it still exists.".into(),
            Self::NotNow { help, .. } => help.clone(),
            Self::UnknownSize { known, .. } if known.is_empty() => {
                "No sizes exist yet; a Compute Operator can add one.".into()
            }
            Self::UnknownSize { known, .. } => format!("There are: {}.", known.join(", ")),
            Self::UnknownSite { known, .. } if known.is_empty() => {
                "No place that could run nodes is connected yet.".into()
            }
            Self::UnknownSite { known, .. } => format!("There are: {}.", known.join(", ")),
            Self::TooLarge { fitting, .. } if fitting.is_empty() => "No size is large enough.".into(),
            Self::TooLarge { fitting, .. } => format!("It would fit on: {}.", fitting.join(", ")),
            Self::TooManyNodes { max, .. } => format!("Ask for at most {max} nodes, or raise the cluster’s maximum."),
            Self::OneNodeOnly { .. } => "Submit it to a cluster.".into(),
            Self::QuotaTooSmall { valid, .. } => {
                format!(
                    "Ask for at most {}, choose another size, or ask an Owner for a higher limit.",
                    counted(*valid, "node", "nodes")
                )
            }
            Self::QuotaNone { instead, .. } if instead.is_empty() => "Ask an Owner for a higher limit.".into(),
            Self::QuotaNone { instead, .. } => {
                format!("Choose {}, or ask an Owner for a higher limit.", or_list(instead))
            }
            Self::TooManyComputes { .. } => "Delete one that is not needed, or ask an Owner for a higher limit.".into(),
            Self::CapacityTooSmall { .. } => "Choose a smaller size or fewer nodes.".into(),
            Self::LimitBelowUse { .. } => "Stop something first, or choose a higher limit.".into(),
            Self::InUse { .. } => "Delete those first.".into(),
            Self::NameTaken { .. } => "Choose another name.".into(),
            Self::DiskFull { .. } => "An operator must free space on the server’s disk.".into(),
            Self::TooManyJobs { .. } => "Wait until some have ended, or cancel some.".into(),
            Self::Idle { .. } => "Start it again, or set a longer idle time.".into(),
            Self::IdleWarning { .. } => "Use it, or keep it running for a while.".into(),
            Self::NodeLost { .. } => "Jobs with a retry rule for lost nodes start again by themselves.".into(),
            Self::SetupFailed { .. } | Self::SetupTimedOut { .. } => {
                "Open the rescue terminal, mend it, and restart.".into()
            }
            Self::StartTimedOut { .. } => "Start it again when there is room, or choose a smaller size.".into(),
            Self::LaunchFailed { .. } | Self::LaunchTimedOut { .. } => {
                "Look at the driver’s message; the next try follows by itself.".into()
            }
            Self::Unknown { .. } => "Remove it from the quarantine list if nobody needs it.".into(),
            _ => return None,
        };
        Some(text)
    }
}

fn or_list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} or {last}", most.join(", ")),
    }
}
