//! Reasons: why something waits, is refused, stops, or changes in number. A closed list; there is no "other".
//!
//! Each has a code for machines, its numbers, a sentence for people and, where somebody can do something
//! about it, the next step. Pages, the API and the command line print the same ones.

use serde::{Deserialize, Serialize};

use crate::compute::idle::Evidence;
use crate::compute::ids::{JobId, NodeId};
use crate::compute::instance::{InstanceState, Trigger};
use crate::compute::quota::Shortage;
use crate::compute::resources::{Memory, Resources};
use crate::compute::room::Filled;
use crate::compute::verb::InstanceVerb;
use crate::id::UserId;
use crate::money::Money;
use crate::text::{Problem, Text, and_list, counted, grouped};
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
    ($(
        $(#[$doc:meta])*
        $name:ident $( { $( $(#[$field_doc:meta])* $field:ident : $type:ty, )* } )? = $kind:ident, $code:literal;
    )*) => {
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
    InQueue {
        /// Its place, from 1.
        position: u64,
        /// How many wait in all.
        of: u64,
    } = Wait, "in-queue";
    /// Others come first who have used less of their share, or came before.
    FairQueue {
        /// Its place, from 1, if people take turns from now on.
        position: u64,
        /// How many wait in all.
        of: u64,
        /// How many people are before.
        before: u64,
        /// What its owner has used lately, in tenths of core-hours.
        used: u64,
        /// What everybody in the workspace has.
        used_by_all: u64,
        weight: u64,
        /// The weights of all who wait there.
        weights: u64,
    } = Wait, "fair-queue";
    /// It is first, and nodes for it are on their way.
    NodesStarting {
        /// Nodes that could take it now.
        ready: u64,
        /// Nodes on their way.
        starting: u64,
        needed: u64,
    } = Wait, "nodes-starting";
    /// It is first, and all nodes are taken.
    NodesBusy {
        busy: u64,
        /// Nodes that the cluster may have.
        max: u64,
        /// What it needs on each.
        shape: Resources,
    } = Wait, "nodes-busy";
    /// It is first, all nodes are taken, and what takes them has time limits.
    Reserved {
        needed: u64,
        left: Span,
    } = Wait, "reserved";
    /// It is first, some of its nodes are ready and wait for the rest.
    Gathering {
        ready: u64,
        needed: u64,
        /// When it lets others pass.
        left: Span,
    } = Wait, "gathering";
    /// Its nodes did not come together; others may pass for a while.
    SteppedAside {
        needed: u64,
        /// How often so far.
        times: u32,
        left: Span,
    } = Wait, "stepped-aside";
    /// The cluster kept nodes waiting in vain and leaves them to others for a while.
    Yielding {
        left: Span,
    } = Wait, "yielding";
    /// A retry waits its pause.
    RetryPause {
        attempt: u32,
        /// How the one before ended.
        after: String,
        left: Span,
    } = Wait, "retry-pause";
    /// A quota is used up.
    QuotaInUse {
        shortage: Shortage,
    } = Wait, "quota-in-use";
    /// The machines are full.
    CapacityInUse {
        site: String,
        /// What one node needs.
        needed: Resources,
        free: Resources,
    } = Wait, "capacity-in-use";
    /// Room is kept for dedicated work that waits for it.
    RoomForDedicated {
        site: String,
        /// How many computes wait.
        waiting: u64,
    } = Wait, "room-for-dedicated";
    /// Launches failed; the next try waits.
    LaunchPause {
        /// How many one after another.
        failures: u32,
        /// What the driver said last.
        last: Text,
        left: Span,
    } = Wait, "launch-pause";
    /// Old nodes must be gone before new ones are made.
    NodesLeaving {
        leaving: u64,
        /// The most there may be.
        max: u64,
    } = Wait, "nodes-leaving";
    /// Its owner has as much running as they may; others pass.
    OwnLimit {
        shortage: Shortage,
    } = Wait, "own-limit";
    /// Somebody holds it back.
    OnHold {
        by: Text,
        why: String,
    } = Wait, "on-hold";
    /// Its Python environment is being built.
    EnvironmentComing {
        environment: String,
    } = Wait, "environment-coming";
    /// Other jobs must have ended before.
    WaitsForJobs {
        /// The first of them.
        jobs: Vec<JobId>,
        /// How many in all.
        count: u64,
        /// Whether they must end well.
        needs_success: bool,
    } = Wait, "waits-for-jobs";
    /// The cluster was paused.
    ClusterPaused {
        cluster: String,
        by: Text,
    } = Wait, "cluster-paused";
    /// All acting was paused.
    EnginePaused {
        by: Text,
        why: String,
    } = Wait, "engine-paused";
    /// The instance does not run yet.
    InstanceNotReady {
        instance: String,
        state: InstanceState,
    } = Wait, "instance-not-ready";
    /// An instance runs one job for each of its cores.
    SlotsBusy {
        running: u64,
        /// The most at once.
        slots: u64,
    } = Wait, "slots-busy";
    /// An instance has a free slot but not enough memory or GPUs.
    InstanceFull {
        /// What the job needs.
        needed: Resources,
        free: Resources,
    } = Wait, "instance-full";
    /// An instance is about to stop and waits for what runs there.
    InstanceDraining {
        instance: String,
        /// How long it waits at most.
        left: Span,
    } = Wait, "instance-draining";
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
        node: NodeId,
        /// How often it was told.
        tries: u32,
        waiting: Span,
    } = Wait, "release-unconfirmed";
    /// Outputs are being collected.
    Collecting {
        /// Nodes that have not finished.
        waiting: u64,
    } = Wait, "collecting";
    /// Atelier sets an instance up, or its script runs.
    SettingUp {
        state: InstanceState,
        /// When that counts as failed.
        left: Span,
    } = Wait, "setting-up";
    /// It is on its way and nothing stands against it.
    OnItsWay {
        /// When that counts as failed.
        left: Span,
    } = Wait, "on-its-way";
    /// A node has not been heard from for a while.
    NodeSilent {
        node: NodeId,
        silent: Span,
        /// Then it counts as lost.
        left: Span,
    } = Wait, "node-silent";
    /// A node has not been heard from for too long, and is kept since it may come back.
    NodeUnusable {
        node: NodeId,
        /// For at least so long.
        silent: Span,
    } = Wait, "node-unusable";

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
    /// The job is not alive.
    IsOver {
        job: JobId,
    } = Refusal, "is-over";
    /// Something of that name exists.
    NameTaken {
        name: String,
    } = Refusal, "name-taken";
    /// The verb is not legal in this state.
    NotNow {
        verb: String,
        /// The name of the thing.
        name: String,
        state: String,
        help: String,
    } = Refusal, "not-now";
    /// There is no such size.
    UnknownSize {
        size: String,
        known: Vec<String>,
    } = Refusal, "unknown-size";
    /// The job would never fit on a node of that size.
    TooLarge {
        /// What it needs on each node.
        needed: Resources,
        /// What a node has.
        node: Resources,
        size: String,
        /// Sizes on which it would fit.
        fitting: Vec<String>,
    } = Refusal, "too-large";
    /// More nodes than the cluster may ever have.
    TooManyNodes {
        needed: u64,
        /// The most.
        max: u64,
        cluster: String,
    } = Refusal, "too-many-nodes";
    /// An instance is one node.
    OneNodeOnly {
        needed: u64,
    } = Refusal, "one-node-only";
    /// The quota would never suffice for so many, but for fewer.
    QuotaTooSmall {
        shortage: Shortage,
        /// So many nodes would do.
        valid: u64,
    } = Refusal, "quota-too-small";
    /// The quota does not allow a single one.
    QuotaNone {
        shortage: Shortage,
        /// Sizes that would do.
        instead: Vec<String>,
    } = Refusal, "quota-none";
    /// More than its owner may ever have running.
    AboveOwnLimit {
        shortage: Shortage,
    } = Refusal, "above-own-limit";
    /// As many instances and clusters as allowed.
    TooManyComputes {
        shortage: Shortage,
    } = Refusal, "too-many-computes";
    /// The machines are smaller than that.
    CapacityTooSmall {
        site: String,
        /// What is asked for.
        needed: Resources,
        total: Resources,
    } = Refusal, "capacity-too-small";
    /// The limit is below what is held.
    LimitBelowUse {
        /// The numbers; `needed` is the new limit.
        shortage: Shortage,
    } = Refusal, "limit-below-use";
    /// Something still uses it.
    InUse {
        what: String,
        by: Vec<String>,
    } = Refusal, "in-use";
    /// There is no site of that name.
    UnknownSite {
        site: String,
        known: Vec<String>,
    } = Refusal, "unknown-site";
    /// Schedules act on things that exist, by rules of their own.
    CannotSkip {
        why: String,
    } = Refusal, "cannot-skip";
    /// There is no stop that could be put off.
    CannotPostpone {
        why: String,
    } = Refusal, "cannot-postpone";
    /// Only its owner may do that.
    OwnerOnly {
        instance: String,
        /// What: the start of a sentence.
        what: String,
    } = Refusal, "owner-only";
    /// It was given away, and its new owner has not said yet that what is in it may run as them.
    AwaitsAcceptance {
        instance: String,
        from: Text,
    } = Refusal, "awaits-acceptance";
    /// Somebody changed the scripts since they were read.
    ScriptsChanged {
        instance: String,
        /// The change that was read.
        read: u32,
        now: u32,
    } = Refusal, "scripts-changed";
    /// The disk is full; only what frees something is taken.
    DiskFull {
        /// Bytes left.
        free: u64,
        /// Bytes that must be left.
        floor: u64,
    } = Refusal, "disk-full";
    /// A budget is spent, and refuses new work.
    OverBudget {
        /// Whether it is the person's own.
        is_personal: bool,
        /// What was spent in the month, in billionths of the currency.
        spent: u64,
        /// How much it is.
        amount: u64,
        /// What the currency is called.
        currency: Text,
        /// When the next month begins, for people.
        ends: String,
    } = Refusal, "over-budget";
    /// The whole installation has as many live jobs as it can keep.
    TooManyJobs {
        live: u64,
        /// The most.
        limit: u64,
    } = Refusal, "too-many-jobs";

    /// A person did it.
    ByPerson {
        name: Text,
    } = Stop, "by-person";
    /// A schedule did it.
    BySchedule {
        schedule: String,
    } = Stop, "by-schedule";
    /// Nothing that counts happened for too long.
    Idle {
        /// For how long nothing did.
        quiet: Span,
        /// How long is allowed.
        window: Span,
        last: Option<String>,
        /// When each kind of activity was last seen, the latest first.
        #[serde(default)]
        evidence: Vec<Evidence>,
    } = Stop, "idle";
    /// A person had kept it running until now, over a scheduled stop.
    AsPostponed {
        by: Text,
    } = Stop, "as-postponed";
    /// It filled the disk.
    Filled {
        /// With the numbers.
        filled: Filled,
    } = Stop, "filled-disk";
    /// The node was not heard of for too long.
    NodeLost {
        node: NodeId,
        silent: Span,
    } = Stop, "node-lost";
    /// The node's capacity was taken back.
    NodePreempted {
        node: NodeId,
    } = Stop, "node-preempted";
    /// A node is taken back for dedicated work.
    NodeReclaimed {
        node: NodeId,
        /// Where room is lacking.
        site: String,
        /// What runs there has so long to end.
        grace: Span,
    } = Stop, "node-reclaimed";
    /// Somebody took a node or a job back by hand.
    Evicted {
        by: Text,
        /// What runs has so long to end.
        grace: Span,
    } = Stop, "evicted";
    /// The node went away by itself.
    NodeGone {
        node: NodeId,
    } = Stop, "node-gone";
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
        limit: Span,
    } = Stop, "launch-timed-out";
    /// Waiting for quota, capacity or a node took too long.
    StartTimedOut {
        limit: Span,
        /// What it waited for.
        waiting: Option<Box<Reason>>,
    } = Stop, "start-timed-out";
    /// A set-up or a script failed.
    SetupFailed {
        what: String,
        /// What it said last.
        detail: Text,
    } = Stop, "setup-failed";
    /// A set-up or a script took too long.
    SetupTimedOut {
        what: String,
        limit: Span,
    } = Stop, "setup-timed-out";
    /// The driver could not change the size.
    ResizeFailed {
        detail: Text,
    } = Stop, "resize-failed";
    /// The instance that it belonged to stops or goes.
    InstanceStops {
        instance: String,
    } = Stop, "instance-stops";
    /// The cluster that it belonged to goes.
    ClusterDeleted {
        cluster: String,
        by: Text,
    } = Stop, "cluster-deleted";
    /// The job that it was made for is over, or gave it back.
    JobDone {
        job: JobId,
    } = Stop, "job-done";
    /// A job would not end on it.
    WouldNotEnd {
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
    /// Jobs of an array were over before they were started.
    RestEnded {
        /// How many, one after another.
        count: u64,
        /// How: the end of a sentence that starts with a job.
        what: String,
    } = Stop, "rest-ended";
    /// An attempt was over, and another follows.
    AttemptEnded {
        what: String,
        attempt: u32,
        /// The pause before the next.
        pause: Span,
    } = Stop, "attempt-ended";

    /// Nodes are added for queued jobs.
    ScaleUp {
        added: u64,
        /// Called back from leaving, of these.
        called_back: u64,
        busy: u64,
        /// Nodes that queued jobs need.
        demand: u64,
        /// The most.
        max: u64,
        /// Who is first in the queue.
        head: Option<JobId>,
    } = Scaling, "scale-up";
    /// Nodes are made for one serverless job.
    OwnNodes {
        added: u64,
        size: String,
    } = Scaling, "own-nodes";
    /// Nodes are added to reach the minimum.
    ScaleToMin {
        added: u64,
        min: u64,
    } = Scaling, "scale-to-min";
    /// Nodes are added to be ready before they are needed.
    ScaleWarm {
        added: u64,
        /// So many are kept ready.
        warm: u64,
        busy: u64,
    } = Scaling, "scale-warm";
    /// A node goes because nothing ran on it.
    ScaleDownIdle {
        idle: Span,
        /// How long is allowed.
        allowed: Span,
        stays: u64,
    } = Scaling, "scale-down-idle";
    /// An idle node goes because others wait for what it holds.
    NeededElsewhere {
        /// For how long it was idle.
        idle: Span,
        stays: u64,
    } = Scaling, "needed-elsewhere";
    /// A node goes because the maximum is lower.
    OverMax {
        nodes: u64,
        /// The most.
        max: u64,
    } = Scaling, "over-max";
    /// As many nodes as wanted.
    Steady {
        nodes: u64,
        busy: u64,
        queued: u64,
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
        state: String,
    } = Note, "already-so";
    /// A schedule's time passed while nobody could act.
    FiringsMissed {
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
        why: Box<Reason>,
    } = Note, "firing-failed";
    Fired {
        what: String,
        late: Span,
    } = Note, "fired";
    /// An instance was made.
    Created {
        by: Text,
        /// For whom, if that is somebody else.
        owner: Option<Text>,
        size: String,
    } = Note, "created";
    /// Something is to be done with an instance.
    OperationBegun {
        verb: InstanceVerb,
        trigger: Trigger,
    } = Note, "operation-begun";
    OperationDone {
        verb: InstanceVerb,
        /// How long after it was wished.
        took: Span,
    } = Note, "operation-done";
    /// Something else was wanted before it was done.
    OperationOvertaken {
        /// What was not done.
        verb: InstanceVerb,
        /// What was wanted instead.
        by: InstanceVerb,
    } = Note, "operation-overtaken";
    /// An instance's node is up.
    NodeReady {
        node: NodeId,
        /// How long after the start was wished.
        after: Span,
    } = Note, "node-ready";
    /// All standard applications answer.
    AppsReady {
        /// How long after the start was wished.
        after: Span,
    } = Note, "apps-ready";
    /// Somebody set what runs when it starts.
    ScriptsSet {
        by: Text,
        /// Whether the owner must read and accept them first.
        awaits_owner: bool,
    } = Note, "scripts-set";
    /// It was given to somebody else.
    Transferred {
        by: Text,
        from: Text,
        to: Text,
    } = Note, "transferred";
    /// Its home could not be made its new owner's yet.
    TransferDelayed {
        detail: Text,
    } = Note, "transfer-delayed";
    /// The owner accepted scripts that somebody else had made.
    ScriptsAccepted {
        by: Text,
    } = Note, "scripts-accepted";
    /// The new owner accepted what the owner before has left in it.
    GiftAccepted {
        by: Text,
        from: Text,
    } = Note, "gift-accepted";
    /// It will stop by schedule.
    StopWarning {
        /// How long until then.
        left: Span,
        /// Which schedule, or who put it off until then.
        why: String,
    } = Note, "stop-warning";
    /// A stop waits for running jobs.
    StopDrains {
        jobs: u64,
        /// How long it waits at most.
        limit: Span,
        schedule: String,
    } = Note, "stop-drains";
    /// A stop was left out because jobs run.
    StopSkippedForJobs {
        jobs: u64,
        schedule: String,
    } = Note, "stop-skipped-for-jobs";
    /// Somebody put the scheduled stop off.
    StopPostponed {
        by: Text,
        /// It stops so long from now.
        left: Span,
    } = Note, "stop-postponed";
    /// Somebody leaves the next scheduled stop out.
    StopLeftOut {
        by: Text,
        /// It would have come so long from now.
        left: Span,
    } = Note, "stop-left-out";
    /// A schedule's stop did not act: somebody keeps the instance running past it.
    FiringPostponed {
        by: Text,
    } = Note, "firing-postponed";
    /// An administrator's rule changed when it stops for lack of activity.
    IdleRuled {
        by: Text,
        /// After how long from now on.
        window: Span,
    } = Note, "idle-ruled";
    /// It will stop for lack of activity.
    IdleWarning {
        /// How long until then.
        left: Span,
        /// For how long nothing did.
        quiet: Span,
    } = Note, "idle-warning";
    /// Somebody keeps it running.
    KeptRunning {
        by: Text,
        span: Span,
    } = Note, "kept-running";
    IdleOver {
        source: String,
    } = Note, "idle-over";
    /// A job started before others, since that delays nobody who is first.
    Backfilled {
        head: JobId,
        /// It is over within, if that is why.
        within: Option<Span>,
        /// The first one cannot start before that has passed.
        earliest: Span,
    } = Note, "backfilled";
    /// Somebody let a job start that was held back.
    HoldOver {
        by: Text,
    } = Note, "hold-over";
    /// Somebody changed a job's place in its queue.
    MovedInQueue {
        by: Text,
        /// Where to: the end of a sentence.
        to: String,
    } = Note, "moved-in-queue";
    /// So much of a budget is spent.
    BudgetWarning {
        /// Whose it is; nobody's if it is the workspace's.
        person: Option<UserId>,
        /// How much of it, in hundredths.
        percent: u8,
        /// What was spent in the month, in billionths of the currency.
        spent: u64,
        /// How much it is.
        amount: u64,
        /// What the currency is called.
        currency: Text,
        /// When the next month begins, for people.
        ends: String,
        /// What happens when all of it is spent: `warn`, `refuse` or `stop-idle`.
        action: String,
    } = Note, "budget-warning";
    /// Something exists that the engine does not know.
    Unknown {
        /// What the driver calls it.
        name: String,
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
            Self::FairQueue { position, of, before, used, used_by_all, weight, weights } => format!(
                "Waits in the queue: place {position} of {of}, {} before. Its owner has used {} of {} core-hours \
                 lately and has a share of {weight} of {weights}.",
                counted(*before, "person is", "people are"),
                tenths(*used),
                tenths(*used_by_all),
            ),
            Self::NodesStarting { ready, starting, needed } => {
                format!("Waits for nodes: {needed} needed, {ready} ready, {starting} starting.")
            }
            Self::NodesBusy { busy, max, shape } => format!(
                "First in the queue. {} of at most {max} {} busy and none has {shape} free.",
                counted(*busy, "node", "nodes"),
                if *busy == 1 { "is" } else { "are" },
            ),
            Self::Reserved { needed, left } => format!(
                "First in the queue. By the time limits of what runs there, {} free in {left} at the latest.",
                counted(*needed, "node is", "nodes are"),
            ),
            Self::Gathering { ready, needed, left } => format!(
                "{ready} of {needed} nodes are ready and kept for it; if the rest is not ready in {left}, others may \
                 pass."
            ),
            Self::SteppedAside { needed, times, left } => format!(
                "Its {needed} nodes did not come together in time{}; others may pass for {left}.",
                if *times > 1 { format!(", {times} times so far") } else { String::new() },
            ),
            Self::Yielding { left } => format!(
                "Its nodes waited for others in vain, so it leaves the room to whoever waits too; it asks again in \
                 {left}."
            ),
            Self::RetryPause { attempt, after, left } => {
                format!("Attempt {} {after}; attempt {attempt} follows in {left}.", attempt.saturating_sub(1))
            }
            Self::QuotaInUse { shortage } => format!("Waits for quota: {}.", shortage.sentence()),
            Self::CapacityInUse { site, needed, free } => {
                format!("Waits for room on {site}: {needed} needed; free: {free}.")
            }
            Self::RoomForDedicated { site, waiting } => format!(
                "Waits for room on {site}: {} there first, for dedicated work.",
                counted(*waiting, "compute waits", "computes wait"),
            ),
            Self::LaunchPause { failures: 0 | 1, last, left } => {
                format!("A launch failed: {last}. The next try is in {left}.")
            }
            Self::LaunchPause { failures, last, left } => {
                format!("{failures} launches in a row failed, the last: {last}. The next try is in {left}.")
            }
            Self::NodesLeaving { leaving, max } => format!(
                "{leaving} of at most {max} nodes {} still leaving; a new one follows when that is gone.",
                if *leaving == 1 { "is" } else { "are" },
            ),
            Self::OwnLimit { shortage } => format!("Others may pass: {}.", shortage.sentence()),
            Self::OnHold { by, why } if why.is_empty() => format!("Held back by {by}."),
            Self::OnHold { by, why } => format!("Held back by {by}: {why}."),
            Self::EnvironmentComing { environment } => {
                format!("It waits for its environment {environment}, which has to be built before a node is used.")
            }
            Self::WaitsForJobs { jobs, count, needs_success } => {
                let mut names: Vec<String> = jobs.iter().map(ToString::to_string).collect();
                let more = count.saturating_sub(jobs.len() as u64);
                names.extend((more > 0).then(|| format!("{more} more")));
                let have = if *count == 1 { "has" } else { "have" };
                let well = if *needs_success { " well" } else { "" };
                format!("Waits until {} {have} ended{well}.", and_list(&names))
            }
            Self::ClusterPaused { cluster, by } => format!("{cluster} was paused by {by} and starts nothing."),
            Self::EnginePaused { by, why } if why.is_empty() => format!("{by} paused all acting."),
            Self::EnginePaused { by, why } => format!("{by} paused all acting: {why}."),
            Self::InstanceNotReady { instance, state } => {
                format!("{instance} is {} and takes jobs when it runs.", said_state(state.key()))
            }
            Self::SlotsBusy { running, slots } => {
                format!("{running} of {slots} jobs run; an instance runs one for each of its cores.")
            }
            Self::InstanceFull { needed, free } => {
                format!("Waits for room on the instance: {} needed; free: {}.", room(*needed), room(*free))
            }
            Self::InstanceDraining { instance, left } => {
                format!("{instance} is about to stop and starts nothing more; what runs there has {left} left.")
            }
            Self::Handed { waiting, nodes } => {
                let has = if *waiting == 1 { "has" } else { "have" };
                format!("Handed to its nodes; {waiting} of {nodes} {has} not started it yet.")
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
                format!("Outputs are being collected; {} not finished.", counted(*waiting, "node has", "nodes have"))
            }
            Self::SettingUp { state, left } => {
                let what = match state {
                    InstanceState::UserSettingUp => "Its script runs",
                    InstanceState::Restarting => "It is restarting",
                    _ => "It is being set up",
                };
                format!("{what}; that counts as failed in {left}.")
            }
            Self::OnItsWay { left } => format!("On its way; that counts as failed in {left}."),
            Self::NodeSilent { node, silent, .. } => format!("{node} hasn’t been heard from for {silent}."),
            Self::NodeUnusable { node, silent } => format!("{node} hasn’t been heard from for over {silent}."),

            Self::Invalid { problem } => problem.message.clone(),
            Self::NotFound { what } => format!("There is no {what}."),
            Self::IsOver { job } => format!("{job} is over, or does not exist."),
            Self::NameTaken { name } => format!("{name} exists already."),
            Self::NotNow { verb, name, state, .. } => {
                format!("{name} is {}: {verb} is not possible now.", said_state(state))
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
                shortage.limits(),
                counted(*valid, "node", "nodes"),
            ),
            Self::QuotaNone { shortage, .. } => format!("There is no quota for this: {}.", shortage.limits()),
            Self::AboveOwnLimit { shortage } => format!("This could never run: {}.", shortage.limits()),
            Self::TooManyComputes { shortage } => {
                let whose = if shortage.is_personal { "The owner has" } else { "The workspace has" };
                let held: Vec<&str> = shortage.held_by.iter().map(|held| held.by.as_str()).collect();
                let names = if held.is_empty() { String::new() } else { format!(": {}", held.join(", ")) };
                format!("{whose} {} of {} instances and clusters{names}.", shortage.used, shortage.limit)
            }
            Self::CapacityTooSmall { site, needed, total } => {
                format!("{site} has {total} in all; this needs {needed}.")
            }
            Self::LimitBelowUse { shortage } => {
                format!("The limit cannot be {}: {}.", shortage.resource.amount(shortage.needed), shortage.in_use(),)
            }
            Self::InUse { what, by } => format!("{what} is used by {}.", and_list(by)),
            Self::UnknownSite { site, .. } => format!("There is no site {site}."),
            Self::CannotSkip { why } | Self::CannotPostpone { why } => why.clone(),
            Self::OwnerOnly { instance, what } => format!("{what} {instance} is for its owner alone."),
            Self::AwaitsAcceptance { instance, from } => format!(
                "{instance} was {from}’s, and what is in its home and its environment may run as its new owner, who \
                 has not accepted that yet."
            ),
            Self::ScriptsChanged { instance, read, now } => {
                format!("The scripts of {instance} have changed since they were read: change {now}, not {read}.")
            }
            Self::DiskFull { free, floor } => format!(
                "The server’s disk is full: {} MB are left and {} MB are needed. Only what stops, cancels or deletes \
                 is taken.",
                free / 1_000_000,
                floor / 1_000_000,
            ),
            Self::OverBudget { is_personal, spent, amount, currency, .. } => format!(
                "{} spent {} of {} for this month.",
                if *is_personal { "Its owner has" } else { "The workspace has" },
                Money(*spent).said(currency),
                Money(*amount).said(currency),
            ),
            Self::TooManyJobs { live, limit } => {
                format!("{live} jobs wait or run, and the server keeps at most {limit}.")
            }

            Self::ByPerson { name } => format!("Stop wished by {name}."),
            Self::BySchedule { schedule } => format!("By schedule: {schedule}."),
            Self::Idle { quiet, window, last, evidence } => {
                let last = match last {
                    Some(last) => format!("last activity: {last}"),
                    None => "there was no activity since it started".into(),
                };
                let seen: Vec<String> = evidence.iter().map(say_evidence).collect();
                let seen = if seen.is_empty() { String::new() } else { format!(" Last seen: {}.", seen.join("; ")) };
                format!("Idle for {quiet} (limit {window}); {last}.{seen}")
            }
            Self::Filled { filled } => format!("It {}.", filled.phrase()),
            Self::AsPostponed { by } => format!("{by} had kept it running until now, over a scheduled stop."),
            Self::NodeLost { node, silent } => format!("{node} was not heard of for {silent}."),
            Self::NodePreempted { node } => format!("The capacity of {node} was taken back."),
            Self::NodeReclaimed { node, site, grace } => format!(
                "{node} is taken back, since dedicated work lacks room on {site}; what runs there has {grace} to end \
                 and goes back to the queue."
            ),
            Self::Evicted { by, grace } => {
                format!("{by} took it back by hand; what runs has {grace} to end and goes back to the queue.")
            }
            Self::NodeGone { node } => format!("{node} went away by itself."),
            Self::LaunchFailed { node, detail } => format!("{node} could not be launched: {detail}."),
            Self::LaunchTimedOut { node, limit } => format!("{node} did not come up within {limit}."),
            Self::StartTimedOut { limit, waiting } => match waiting {
                Some(waiting) => format!("It did not start within {limit}. At the end: {}", waiting.sentence()),
                None => format!("It did not start within {limit}."),
            },
            Self::SetupFailed { what, detail } => format!("{what} failed: {detail}."),
            Self::SetupTimedOut { what, limit } => format!("{what} took longer than {limit}."),
            Self::ResizeFailed { detail } => format!("The size could not be changed: {detail}."),
            Self::InstanceStops { instance } => format!("{instance} stops."),
            Self::ClusterDeleted { cluster, by } => format!("{cluster} is being deleted by {by}."),
            Self::JobDone { job } => format!("Made for {job}, which no longer needs it."),
            Self::WouldNotEnd { job, waited } => format!("{job} did not end there within {waited}, so the node goes."),
            Self::JobEnded { what, attempts: 0 | 1 } => format!("It {what}."),
            Self::JobEnded { what, attempts } => format!("It {what}, after {attempts} attempts."),
            Self::RestEnded { count: 1, what } => format!("It {what}, before it was started."),
            Self::RestEnded { count, what } => format!(
                "It {what}, before it was started; the same holds for the next {} of its array.",
                counted_in_thousands(count.saturating_sub(1), "job", "jobs"),
            ),
            Self::AttemptEnded { what, attempt, pause: Span::ZERO } => {
                format!("Attempt {attempt} {what}; the next follows at once.")
            }
            Self::AttemptEnded { what, attempt, pause } => {
                format!("Attempt {attempt} {what}; the next follows in {pause}.")
            }

            Self::ScaleUp { added, called_back, busy, demand, max, head } => {
                let back = match (*called_back, *added) {
                    (0, _) => String::new(),
                    (back, all) if back == all => ", called back from leaving".to_owned(),
                    (back, _) => format!(", {back} of them called back from leaving"),
                };
                let head = head.map_or(String::new(), |job| format!(", {job} first"));
                format!(
                    "+{}{back}: queued jobs need {demand}{head}; {busy} busy, at most {max}.",
                    counted(*added, "node", "nodes"),
                )
            }
            Self::OwnNodes { added, size } => {
                format!("+{} of the size {size}, for this job alone.", counted(*added, "node", "nodes"))
            }
            Self::ScaleToMin { added, min } => {
                format!("+{}: the minimum is {min}.", counted(*added, "node", "nodes"))
            }
            Self::ScaleWarm { added, warm, busy } => {
                format!("+{}: {warm} kept ready beyond what is needed; {busy} busy.", counted(*added, "node", "nodes"),)
            }
            Self::ScaleDownIdle { idle, allowed, stays } => {
                format!("−1 node: idle for {idle} (limit {allowed}); {} left.", counted(*stays, "node is", "nodes are"))
            }
            Self::NeededElsewhere { idle, stays } => format!(
                "−1 node: idle for {idle}, and others wait for the room it takes; {} left.",
                counted(*stays, "node is", "nodes are"),
            ),
            Self::OverMax { nodes, max } => {
                format!("−1 node when it is free: there are {nodes} and the maximum is {max}.")
            }
            Self::Steady { nodes, busy, queued, min, max } => format!(
                "{} ({busy} busy), {} waiting; between {min} and {max}.",
                counted(*nodes, "node", "nodes"),
                counted(*queued, "job", "jobs"),
            ),
            Self::AtMax { max, wanted } => format!("At the maximum of {max}; queued jobs could use {wanted} more."),

            Self::AlreadySo { state } => format!("It was {} already.", said_state(state)),
            Self::FiringsMissed { missed, is_more, grace } => format!(
                "{}{} passed while nobody could act; only the last is made up, and only within {grace}.",
                if *is_more { "More than " } else { "" },
                counted(u64::from(*missed), "planned time", "planned times"),
            ),
            Self::FiringDismissed => "That time had been skipped by hand.".into(),
            Self::Overruled => "Somebody acted by hand after the planned time.".into(),
            Self::Superseded => "A later time of another schedule counted instead.".into(),
            Self::FiringFailed { why } => format!("The schedule could not act. {}", why.sentence()),
            Self::Fired { what, late } if *late < Span::minutes(1) => format!("Done as planned: {what}."),
            Self::Fired { what, late } => format!("Done {late} late: {what}."),
            Self::Created { by, owner: None, size } => format!("Created by {by}, of the size {size}."),
            Self::Created { by, owner: Some(owner), size } => {
                format!("Created by {by} for {owner}, of the size {size}.")
            }
            Self::OperationBegun { verb, trigger } => format!("{} wished {}.", verb.phrase(), trigger.phrase()),
            Self::OperationDone { verb: InstanceVerb::Stop, took } => format!("Stopped, after {took}."),
            Self::OperationDone { verb: InstanceVerb::Delete, took } => format!("Gone, after {took}."),
            Self::OperationDone { verb: InstanceVerb::Resize, took } => format!("Size changed, after {took}."),
            Self::OperationDone { verb: InstanceVerb::Transfer, took } => {
                format!("Clean for its new owner, after {took}.")
            }
            Self::OperationDone { verb, took } => {
                format!("Runs, {took} after its {} was wished.", verb.phrase().to_lowercase())
            }
            Self::OperationOvertaken { verb, by } => {
                format!("{} not finished: {} came before.", verb.phrase(), article(by.phrase()))
            }
            Self::NodeReady { node, after } => format!("{node} is up, {after} after the start was wished."),
            Self::AppsReady { after } => format!("Its applications answer, {after} after the start was wished."),
            Self::ScriptsSet { by, awaits_owner: false } => format!("{by} set its scripts."),
            Self::ScriptsSet { by, awaits_owner: true } => format!(
                "{by} set its scripts. Until the owner has accepted them they run without the owner’s home and tokens."
            ),
            Self::Transferred { by, from, to } => {
                format!(
                    "{by} gave it from {from} to {to}, without the keys, tokens and histories in its home. It starts \
                     when {to} has accepted it: what {from} left in it may run as {to}."
                )
            }
            Self::TransferDelayed { detail } => {
                format!("Its home could not be given to its new owner yet: {detail}. That is tried again every minute.")
            }
            Self::ScriptsAccepted { by } => {
                format!("{by} accepted its scripts: from the next start on they get the home.")
            }
            Self::GiftAccepted { by, from } => {
                format!("{by} accepted what {from} left in it: from the next start on it may run as {by}.")
            }
            Self::StopWarning { left, why } => format!("It stops in {left}: {why}."),
            Self::StopDrains { jobs, limit, schedule } => format!(
                "{} there; it stops when none is left, in {limit} at the latest: {schedule}.",
                counted(*jobs, "job runs", "jobs run"),
            ),
            Self::StopSkippedForJobs { jobs, schedule } => {
                format!("Not stopped, since {} there: {schedule}.", counted(*jobs, "job runs", "jobs run"))
            }
            Self::StopPostponed { by, left } => format!("{by} put its stop off: it stops in {left} instead."),
            Self::StopLeftOut { by, left } => format!("{by} left out the stop that would have come in {left}."),
            Self::FiringPostponed { by } => format!("Left out: {by} keeps it running past that time."),
            Self::IdleRuled { by, window } => {
                format!("By a rule of {by} for the workspace it stops after {window} without activity.")
            }
            Self::IdleWarning { left, quiet } => {
                format!("Idle for {quiet}; it stops in {left} unless something happens.")
            }
            Self::KeptRunning { by, span } => format!("{by} keeps it running for {span}."),
            Self::IdleOver { source } => format!("In use again: {source}."),
            Self::Backfilled { head, within: Some(within), earliest } => format!(
                "Starts before {head}, which is first and cannot start for {earliest}: this is over in {within} at the \
                 latest."
            ),
            Self::Backfilled { head, within: None, .. } => {
                format!("Starts before {head}, which is first and does not need this room to start.")
            }
            Self::BudgetWarning { person, percent, spent, amount, currency, ends, .. } => format!(
                "{} of {} {} for this month are spent ({percent} %); the month ends on {ends}.",
                Money(*spent).said(currency),
                person.as_ref().map_or_else(|| "the workspace’s".to_owned(), |person| format!("{person}’s")),
                Money(*amount).said(currency),
            ),
            Self::HoldOver { by } => format!("{by} let it start again."),
            Self::MovedInQueue { by, to } => format!("{by} moved it {to}."),
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
            Self::Gathering { .. } | Self::SteppedAside { .. } | Self::Yielding { .. } => {
                "Ask for fewer nodes, or stop what takes the room.".into()
            }
            Self::InstanceNotReady { state, .. } => match state {
                InstanceState::Stopped | InstanceState::Stopping => "Start the instance.".into(),
                InstanceState::SetupFailed | InstanceState::UserSetupFailed | InstanceState::Unusable => {
                    "Restart the instance.".into()
                }
                _ => return None,
            },
            Self::InstanceFull { .. } => "Wait for a job to end, or submit it to a cluster.".into(),
            Self::QuotaInUse { .. } => "Stop what is not needed, or ask an Owner for a higher limit.".into(),
            Self::CapacityInUse { .. } => "Stop what is not needed, or choose a smaller size.".into(),
            Self::OwnLimit { .. } => {
                "It starts when another job of its owner has ended; an Owner can raise the limit.".into()
            }
            Self::OnHold { .. } => "Release it.".into(),
            Self::AboveOwnLimit { .. } => "Ask for less, or ask an Owner for a higher limit.".into(),
            Self::LaunchPause { .. } => "Look at the failed launches.".into(),
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
            Self::TooManyNodes { max: 0, .. } => "Raise the cluster’s maximum.".into(),
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
            Self::NodeSilent { left, .. } => {
                format!("Wait: it goes on when the node answers, and the node counts as lost in {left}.")
            }
            Self::NodeUnusable { .. } => "Wait for it to answer, or restart or stop what runs there.".into(),
            Self::NameTaken { .. } => "Choose another name.".into(),
            Self::DiskFull { .. } => "An operator must free space on the server’s disk.".into(),
            Self::OverBudget { ends, .. } => {
                format!("An Owner can raise the budget; the next month begins on {ends}.")
            }
            Self::BudgetWarning { percent: 100, action, .. } => match action.as_str() {
                "refuse" => "New work is refused until an Owner raises the budget or the month is over.".into(),
                "stop-idle" => {
                    "New work is refused and what is idle stops, until an Owner raises the budget or the month is \
                     over."
                        .into()
                }
                _ => "An Owner can raise the budget. Work goes on.".into(),
            },
            Self::BudgetWarning { .. } => "Stop what is not needed, or ask an Owner for a higher budget.".into(),
            Self::TooManyJobs { .. } => "Wait until some have ended, or cancel some.".into(),
            Self::CannotPostpone { .. } => "Nothing needs to be done to keep it running.".into(),
            Self::OwnerOnly { .. } => "Ask its owner, or use an instance of your own.".into(),
            Self::AwaitsAcceptance { .. } => "Its owner accepts it on its page, or deletes it.".into(),
            Self::ScriptsChanged { .. } => "Read them again, then accept them.".into(),
            Self::StopWarning { .. } => "Put it off, keep it running for longer, or leave this stop out.".into(),
            Self::StopDrains { .. } => "Put the stop off, or leave it out, if more is to run.".into(),
            Self::InstanceDraining { .. } => "It starts when the instance runs again.".into(),
            Self::Filled { filled } => filled.next_step().into(),
            Self::Idle { .. } => "Start it again, or set a longer idle time.".into(),
            Self::IdleWarning { .. } => "Use it, or keep it running for a while.".into(),
            Self::NodeLost { .. } => "Jobs with a retry rule for lost nodes start again by themselves.".into(),
            Self::SetupFailed { .. } | Self::SetupTimedOut { .. } => {
                "Open the rescue terminal, mend it, and restart.".into()
            }
            Self::StartTimedOut { .. } => "Start it again when there is room, or choose a smaller size.".into(),
            Self::LaunchFailed { .. } | Self::LaunchTimedOut { .. } => {
                "Look at what the driver said; it is tried again up to three times for an instance, else for as long \
                 as needed."
                    .into()
            }
            Self::Unknown { .. } => "Remove it from the quarantine list if nobody needs it.".into(),
            _ => return None,
        };
        Some(text)
    }
}

/// Tenths, as people say them: `12`, `0.5`.
fn tenths(count: u64) -> String {
    match (count / 10, count % 10) {
        (whole, 0) => whole.to_string(),
        (whole, rest) => format!("{whole}.{rest}"),
    }
}

/// `1 job`, `12,000 jobs`.
fn counted_in_thousands(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(count), if count == 1 { one } else { many })
}

/// `a start`, `an opening`.
fn article(noun: &str) -> String {
    let noun = noun.to_lowercase();
    if noun.starts_with(['a', 'e', 'i', 'o', 'u']) { format!("an {noun}") } else { format!("a {noun}") }
}

fn say_evidence(evidence: &Evidence) -> String {
    let counts = if evidence.counts { "" } else { " (does not count)" };
    format!("{}, {} ago{counts}", evidence.source.label(), evidence.ago)
}

/// A state's key as the end of a sentence.
fn said_state(key: &str) -> String {
    match key {
        "deleting" => "being deleted".into(),
        "setting-up" => "being set up".into(),
        "user-setting-up" => "running its script".into(),
        "create-failed" => "a failed creation".into(),
        "setup-failed" => "up, but its set-up failed".into(),
        "user-setup-failed" => "up, but its script failed".into(),
        "unknown" => "out of contact".into(),
        other => other.replace('-', " "),
    }
}

/// Memory and GPUs alone: an instance's cores are shared.
fn room(resources: Resources) -> String {
    let memory = Memory(resources.memory);
    match resources.gpus {
        0 => memory.to_string(),
        gpus => format!("{memory}, {}", counted(gpus, "GPU", "GPUs")),
    }
}

fn or_list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} or {last}", most.join(", ")),
    }
}
