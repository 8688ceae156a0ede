//! What happened: a closed list of events, each of which can say itself as a sentence.
//!
//! The history is append-only and written in the same transaction as the change. An event keeps the names as
//! they were, so that a sentence stays true after somebody is renamed.

use serde::{Deserialize, Serialize};

use crate::access::Role;
use crate::compute::job::Priority;
use crate::compute::{JobId, NodeId, ScheduleId};
use crate::id::UserId;
use crate::text::{and_list, counted};
use crate::time::Span;

/// Who did something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Actor {
    /// A person, by the name borne then.
    Person {
        id: UserId,
        /// The name at that time.
        name: String,
    },
    /// Somebody with a shell on the server, through the command line.
    Console,
    System,
}

impl Actor {
    /// The name for people.
    pub fn name(&self) -> &str {
        match self {
            Self::Person { name, .. } => name,
            Self::Console => "Server console",
            Self::System => "Atelier",
        }
    }
}

/// The person something was done to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    pub id: UserId,
    /// The name at that time.
    pub name: String,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "kebab-case")]
pub enum Event {
    /// The first account was made and the workspace with it.
    SetUp {
        /// The workspace's display name.
        workspace: String,
    },
    /// An account was made.
    PersonCreated {
        roles: Vec<Role>,
    },
    RolesChanged {
        from: Vec<Role>,
        to: Vec<Role>,
    },
    /// An account was disabled.
    PersonDisabled {
        /// Sessions that were ended by it.
        sessions_ended: u64,
    },
    /// An account was enabled again.
    PersonEnabled,
    /// A temporary password was set by somebody else.
    PasswordReset {
        /// Sessions that were ended by it.
        sessions_ended: u64,
    },
    /// The person chose a new password.
    PasswordChanged {
        /// Other sessions that were ended by it.
        sessions_ended: u64,
    },
    /// The person changed the own name, time zone or theme.
    ProfileChanged,
    /// The person signed in.
    SignedIn {
        /// The network address it came from.
        address: String,
    },
    /// The person signed out.
    SignedOut,
    /// The person ended sessions of their own.
    SessionsEnded {
        count: u64,
    },
    /// Too many failed sign-ins; the account is paused.
    SignInPaused {
        /// Failures that led to it.
        failures: u32,
        /// The network address of the last one.
        address: String,
    },
    /// A personal token for the API was made.
    TokenCreated {
        /// What it is called.
        token: String,
        /// For how many days it works.
        days: u32,
    },
    /// A personal token for the API was taken away.
    TokenRevoked {
        /// What it was called.
        token: String,
    },
    /// A key for SSH was added to the own profile.
    SshKeyAdded {
        /// What it is called.
        key: String,
        fingerprint: String,
    },
    /// A key for SSH was removed.
    SshKeyRemoved {
        /// What it was called.
        key: String,
        fingerprint: String,
    },
    /// SSH was switched on or off for an instance.
    SshSwitched {
        instance: String,
        is_on: bool,
    },
    /// An Owner has confirmed that everybody trusts everybody, since the server cannot keep people apart.
    TrustConfirmed,
    /// How far the tokens of an instance reach was changed.
    InstanceTokensSet {
        instance: String,
        /// Whether they reach beyond what is its owner's own.
        is_wide: bool,
    },
    /// How far the tokens of a cluster's jobs reach was changed.
    ClusterTokensSet {
        cluster: String,
        is_wide: bool,
    },
    /// Somebody came in by SSH.
    SshConnected {
        instance: String,
        /// What the key is called.
        key: String,
        /// The network address it came from.
        address: String,
    },
    /// A connection by SSH is over.
    SshEnded {
        instance: String,
        /// The network address it came from.
        address: String,
        /// How long it lasted.
        lasted: Span,
        /// Bytes that came in.
        received: u64,
        /// Bytes that went out.
        sent: u64,
        /// Why it was ended, if the other end did not.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        why: String,
    },
    /// An instance was made.
    InstanceCreated {
        instance: String,
        size: String,
        /// For whom, if for somebody else.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        owner: Option<String>,
    },
    /// An instance was started.
    InstanceStarted {
        instance: String,
    },
    /// An instance was stopped.
    InstanceStopped {
        instance: String,
    },
    /// An instance's applications were started again.
    InstanceRestarted {
        instance: String,
    },
    /// An instance gets a fresh environment.
    InstanceRebuilt {
        instance: String,
    },
    /// The tags of an instance were changed.
    InstanceTagged {
        instance: String,
    },
    /// What runs when an instance starts was changed.
    InstanceScriptsSet {
        instance: String,
    },
    /// The owner accepted scripts that somebody else had made.
    InstanceScriptsAccepted {
        instance: String,
    },
    /// An instance's scheduled stop was put off.
    InstanceStopPostponed {
        instance: String,
    },
    /// An instance's next scheduled stop is left out.
    InstanceStopSkipped {
        instance: String,
    },
    /// What a workspace demands of idle shutdown was changed.
    IdleRulesSet {
        /// The shortest idle time.
        min: Span,
        max: Span,
        /// Whether every instance must have one.
        is_required: bool,
    },
    /// An instance gets another size.
    InstanceResized {
        instance: String,
        size: String,
    },
    /// It was changed how an instance stops and what it keeps.
    InstanceConfigured {
        instance: String,
    },
    /// An instance is kept running.
    InstanceExtended {
        instance: String,
        by: Span,
    },
    /// An instance was deleted.
    InstanceDeleted {
        instance: String,
    },
    /// An instance was given to somebody else.
    InstanceTransferred {
        instance: String,
        from: String,
        to: String,
    },
    /// An application of an instance was shared with somebody, or the share was changed.
    InstanceShared {
        instance: String,
        /// The application, for people.
        app: String,
        /// What they may do there.
        level: crate::app_sharing::Level,
        /// Until when, for people; none if it has no end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<String>,
    },
    /// A share was taken back.
    InstanceUnshared {
        instance: String,
        /// The application, for people.
        app: String,
    },
    /// A share has come to its end.
    InstanceShareEnded {
        instance: String,
        /// The application, for people.
        app: String,
    },
    /// A cluster was made.
    ClusterCreated {
        cluster: String,
        /// The size of its nodes.
        size: String,
        min: u32,
        /// The most nodes.
        max: u32,
    },
    /// The tags of a cluster were changed.
    ClusterTagged {
        cluster: String,
    },
    /// It was changed how a cluster scales.
    ClusterScaled {
        cluster: String,
        min: u32,
        /// The most nodes.
        max: u32,
        /// How long a node stays idle.
        idle: Span,
    },
    /// A cluster was paused.
    ClusterPaused {
        cluster: String,
    },
    /// A cluster goes on.
    ClusterResumed {
        cluster: String,
    },
    /// A cluster was deleted.
    ClusterDeleted {
        cluster: String,
        /// Whether running jobs were ended.
        ends_jobs: bool,
    },
    /// A job was canceled.
    #[serde(rename = "job-cancelled")]
    JobCanceled {
        job: JobId,
    },
    /// A job's place in the queue was changed.
    JobPrioritised {
        job: JobId,
        priority: Priority,
    },
    /// A budget was set, or taken away.
    BudgetSet {
        whose: String,
        /// How much a month, for people; empty if it was taken away.
        amount: String,
        /// What happens when it is spent.
        action: String,
    },
    /// Something was done to all jobs of an array.
    ArrayChanged {
        array: JobId,
        /// What was done: the beginning of a sentence that goes on with the array.
        change: String,
    },
    /// A job was held back.
    JobHeld {
        job: JobId,
    },
    /// A job was let go again.
    JobReleased {
        job: JobId,
    },
    /// A job's place in its queue was changed.
    JobMoved {
        job: JobId,
        /// Whether over the jobs of others.
        over_all: bool,
    },
    /// A job was ended as if its node were taken back.
    JobEvicted {
        job: JobId,
    },
    /// A node was taken back by hand.
    NodeEvicted {
        node: NodeId,
    },
    /// Somebody's fair share was set.
    #[serde(rename = "share-set")]
    FairShareSet {
        person: String,
        weight: u32,
    },
    /// It was set after how long use counts half.
    HalfLifeSet {
        half_life: Span,
    },
    /// It was set how a queue is served.
    QueuePolicySet {
        /// Which queue, for people.
        queue: String,
        order: String,
        /// Whether jobs may start before others that they do not delay.
        backfill: bool,
    },
    /// A schedule was added.
    ScheduleAdded {
        schedule: ScheduleId,
        /// The instance or cluster it acts on.
        target: String,
    },
    /// A schedule was changed.
    ScheduleChanged {
        schedule: ScheduleId,
        /// The instance or cluster it acts on.
        target: String,
    },
    /// A schedule was switched on or off.
    ScheduleSwitched {
        schedule: ScheduleId,
        /// The instance or cluster it acts on.
        target: String,
        is_enabled: bool,
    },
    /// A schedule's next time is left out, or is not any more.
    ScheduleSkipped {
        schedule: ScheduleId,
        /// The instance or cluster it acts on.
        target: String,
        /// Left out, or not.
        skips: bool,
    },
    /// A schedule was removed.
    ScheduleRemoved {
        schedule: ScheduleId,
        /// The instance or cluster it acted on.
        target: String,
    },
    /// A limit was set or lifted.
    LimitSet {
        whose: String,
        /// The limit, for people; empty if there is none any more.
        limit: String,
        /// What is limited, for people.
        resource: String,
    },
    /// A size was added or changed.
    SizePut {
        size: String,
    },
    /// A size was removed.
    SizeRemoved {
        size: String,
    },
    /// All acting was paused.
    EnginePaused,
    /// The engine acts again.
    EngineResumed,
    /// Something that was found and is not known is removed.
    UnknownRemoved {
        site: String,
        /// What the driver calls it.
        name: String,
    },
    /// A database from a backup was taken back.
    DatabaseRestored {
        /// How many things it doesn't know, which are in quarantine.
        things: u64,
    },
    /// Something in quarantine was given to somebody.
    QuarantineRestored {
        name: String,
        /// Where it is now, in Files.
        to: String,
    },
    /// Something in quarantine was removed for good.
    QuarantineRemoved {
        name: String,
    },
    /// The list of packages in the base environment of instances was changed.
    EnvironmentChanged {
        /// Lines that are new in it.
        added: Vec<String>,
        /// Lines that are not in it any more.
        removed: Vec<String>,
    },
    /// The base environment of instances is built anew.
    EnvironmentRebuilt,
    /// An application was added to an instance.
    AppAdded {
        instance: String,
        /// Its name in addresses.
        app: String,
    },
    /// An application of an instance was changed.
    AppChanged {
        instance: String,
        /// Its name in addresses.
        app: String,
    },
    /// An application was taken from an instance.
    AppRemoved {
        instance: String,
        /// Its name in addresses.
        app: String,
    },
    /// An editor is being installed for instances.
    EditorInstalled {
        version: String,
    },
    /// A named environment was made, or got another version.
    EnvironmentVersionMade {
        name: String,
        /// Which version; 1 for a new one.
        version: u32,
        /// How many packages it lists.
        packages: u32,
    },
    /// Somebody had a version of a named environment built.
    EnvironmentBuildAsked {
        name: String,
        version: u32,
    },
    /// A named environment was deleted with all its versions.
    EnvironmentDeleted {
        name: String,
        /// How many versions it had.
        versions: u32,
    },
    /// Something shared was moved to the trash.
    FilesDeleted {
        paths: Vec<String>,
    },
    /// Something shared has another name or place.
    FileMoved {
        from: String,
        to: String,
    },
    /// It was set how much each person may keep in Files.
    FilesLimitSet {
        /// How much, for people; empty if there is no limit any more.
        limit: String,
    },
}

crate::keyed_enum! {
    /// What a live page watches. An event belongs to one topic or more.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    pub enum Topic {
        People = "people";
        History = "history";
        /// Instances and their nodes.
        Instances = "instances";
        /// Clusters and their nodes.
        Clusters = "clusters";
        Jobs = "jobs";
        Schedules = "schedules";
        /// The engine as a whole: sizes, limits, sites, the pause, what is unknown.
        Engine = "engine";
        /// What was decided about instances, above all that one is going to stop: every page shows its
        /// viewer's own.
        Warnings = "warnings";
        /// Named environments and how they are built.
        Environments = "environments";
    }
}

impl Topic {
    /// The right that one needs to be told of it.
    pub const fn needs(self) -> crate::access::Action {
        match self {
            Self::People => crate::access::Action::MemberRead,
            Self::History => crate::access::Action::HistoryRead,
            Self::Instances | Self::Schedules | Self::Warnings => crate::access::Action::InstanceRead,
            Self::Clusters => crate::access::Action::ClusterRead,
            Self::Jobs => crate::access::Action::JobRead,
            Self::Engine => crate::access::Action::EngineRead,
            Self::Environments => crate::access::Action::EnvironmentRead,
        }
    }
}

impl Event {
    /// The stable name of the kind of event, for filters and the API.
    pub const fn key(&self) -> &'static str {
        match self {
            Self::SetUp { .. } => "set-up",
            Self::PersonCreated { .. } => "person-created",
            Self::RolesChanged { .. } => "roles-changed",
            Self::PersonDisabled { .. } => "person-disabled",
            Self::PersonEnabled => "person-enabled",
            Self::PasswordReset { .. } => "password-reset",
            Self::PasswordChanged { .. } => "password-changed",
            Self::ProfileChanged => "profile-changed",
            Self::SignedIn { .. } => "signed-in",
            Self::SignedOut => "signed-out",
            Self::SessionsEnded { .. } => "sessions-ended",
            Self::SignInPaused { .. } => "sign-in-paused",
            Self::TokenCreated { .. } => "token-created",
            Self::TokenRevoked { .. } => "token-revoked",
            Self::SshKeyAdded { .. } => "ssh-key-added",
            Self::SshKeyRemoved { .. } => "ssh-key-removed",
            Self::SshSwitched { .. } => "ssh-switched",
            Self::TrustConfirmed => "trust-confirmed",
            Self::InstanceTokensSet { .. } => "instance-tokens-set",
            Self::ClusterTokensSet { .. } => "cluster-tokens-set",
            Self::SshConnected { .. } => "ssh-connected",
            Self::SshEnded { .. } => "ssh-ended",
            Self::InstanceCreated { .. } => "instance-created",
            Self::InstanceStarted { .. } => "instance-started",
            Self::InstanceStopped { .. } => "instance-stopped",
            Self::InstanceRestarted { .. } => "instance-restarted",
            Self::InstanceRebuilt { .. } => "instance-rebuilt",
            Self::InstanceTagged { .. } => "instance-tagged",
            Self::InstanceScriptsSet { .. } => "instance-scripts-set",
            Self::InstanceScriptsAccepted { .. } => "instance-scripts-accepted",
            Self::InstanceStopPostponed { .. } => "instance-stop-postponed",
            Self::InstanceStopSkipped { .. } => "instance-stop-skipped",
            Self::IdleRulesSet { .. } => "idle-rules-set",
            Self::InstanceResized { .. } => "instance-resized",
            Self::InstanceConfigured { .. } => "instance-configured",
            Self::InstanceExtended { .. } => "instance-extended",
            Self::InstanceDeleted { .. } => "instance-deleted",
            Self::InstanceTransferred { .. } => "instance-transferred",
            Self::InstanceShared { .. } => "instance-shared",
            Self::InstanceUnshared { .. } => "instance-unshared",
            Self::InstanceShareEnded { .. } => "instance-share-ended",
            Self::ClusterCreated { .. } => "cluster-created",
            Self::ClusterTagged { .. } => "cluster-tagged",
            Self::ClusterScaled { .. } => "cluster-scaled",
            Self::ClusterPaused { .. } => "cluster-paused",
            Self::ClusterResumed { .. } => "cluster-resumed",
            Self::ClusterDeleted { .. } => "cluster-deleted",
            Self::JobCanceled { .. } => "job-cancelled",
            Self::JobPrioritised { .. } => "job-prioritised",
            Self::BudgetSet { .. } => "budget-set",
            Self::ArrayChanged { .. } => "array-changed",
            Self::JobHeld { .. } => "job-held",
            Self::JobReleased { .. } => "job-released",
            Self::JobMoved { .. } => "job-moved",
            Self::JobEvicted { .. } => "job-evicted",
            Self::NodeEvicted { .. } => "node-evicted",
            Self::FairShareSet { .. } => "share-set",
            Self::HalfLifeSet { .. } => "half-life-set",
            Self::QueuePolicySet { .. } => "queue-policy-set",
            Self::ScheduleAdded { .. } => "schedule-added",
            Self::ScheduleChanged { .. } => "schedule-changed",
            Self::ScheduleSwitched { .. } => "schedule-switched",
            Self::ScheduleSkipped { .. } => "schedule-skipped",
            Self::ScheduleRemoved { .. } => "schedule-removed",
            Self::LimitSet { .. } => "limit-set",
            Self::SizePut { .. } => "size-put",
            Self::SizeRemoved { .. } => "size-removed",
            Self::EnginePaused => "engine-paused",
            Self::EngineResumed => "engine-resumed",
            Self::UnknownRemoved { .. } => "unknown-removed",
            Self::DatabaseRestored { .. } => "database-restored",
            Self::QuarantineRestored { .. } => "quarantine-restored",
            Self::QuarantineRemoved { .. } => "quarantine-removed",
            Self::EnvironmentChanged { .. } => "environment-changed",
            Self::EnvironmentRebuilt => "environment-rebuilt",
            Self::AppAdded { .. } => "app-added",
            Self::AppChanged { .. } => "app-changed",
            Self::AppRemoved { .. } => "app-removed",
            Self::EditorInstalled { .. } => "editor-installed",
            Self::EnvironmentVersionMade { .. } => "environment-version-made",
            Self::EnvironmentBuildAsked { .. } => "environment-build-asked",
            Self::EnvironmentDeleted { .. } => "environment-deleted",
            Self::FilesDeleted { .. } => "files-deleted",
            Self::FileMoved { .. } => "file-moved",
            Self::FilesLimitSet { .. } => "files-limit-set",
        }
    }

    /// What happened as a sentence without its actor: "disabled Mara Lindqvist and ended 2 sessions".
    pub fn sentence(&self, subject: Option<&Subject>) -> String {
        let whom = subject.map_or("somebody", |subject| subject.name.as_str());
        match self {
            Self::SetUp { workspace } => format!("set up this server with the workspace {workspace}"),
            Self::PersonCreated { roles } => format!("added {whom} as {}", labels(roles)),
            Self::RolesChanged { from, to } => {
                format!("changed the roles of {whom} from {} to {}", labels(from), labels(to))
            }
            Self::PersonDisabled { sessions_ended } => format!("disabled {whom}{}", ended(*sessions_ended)),
            Self::PersonEnabled => format!("enabled {whom} again"),
            Self::PasswordReset { sessions_ended } => format!("reset the password of {whom}{}", ended(*sessions_ended)),
            Self::PasswordChanged { sessions_ended } => format!("chose a new password{}", ended(*sessions_ended)),
            Self::ProfileChanged => "changed the own profile".into(),
            Self::SignedIn { address } => format!("signed in from {address}"),
            Self::SignedOut => "signed out".into(),
            Self::SessionsEnded { count } => {
                format!("ended {} of their own", crate::text::counted(*count, "session", "sessions"))
            }
            Self::SignInPaused { failures, address } => {
                format!("paused sign-in of {whom} after {failures} failed tries, the last from {address}")
            }
            Self::TokenCreated { token, days } => {
                let life = crate::text::counted(u64::from(*days), "day", "days");
                format!("created the API token “{token}”{}, which works for {life}", of(subject))
            }
            Self::TokenRevoked { token } => format!("revoked the API token “{token}”{}", of(subject)),
            Self::SshKeyAdded { key, fingerprint } => format!("added the SSH key “{key}” ({fingerprint})"),
            Self::SshKeyRemoved { key, fingerprint } => {
                format!("removed the SSH key “{key}” ({fingerprint}){}", of(subject))
            }
            Self::SshSwitched { instance, is_on } => {
                format!("switched SSH {} for the instance {instance}", if *is_on { "on" } else { "off" })
            }
            Self::TrustConfirmed => {
                "confirmed that everybody here trusts everybody, since the server doesn't isolate people".into()
            }
            Self::InstanceTokensSet { instance, is_wide: true } => {
                format!("let the token of the instance {instance} act on everything its owner may")
            }
            Self::InstanceTokensSet { instance, is_wide: false } => {
                format!("limited the token of the instance {instance} to what its owner owns")
            }
            Self::ClusterTokensSet { cluster, is_wide: true } => {
                format!("let tokens of jobs on {cluster} act on everything their owners may")
            }
            Self::ClusterTokensSet { cluster, is_wide: false } => {
                format!("limited tokens of jobs on {cluster} to what their owners own")
            }
            Self::SshConnected { instance, key, address } => {
                format!("connected to {instance} by SSH from {address} with the key “{key}”")
            }
            Self::SshEnded { instance, address, lasted, received, sent, why } => {
                let (received, sent) = (crate::ssh::amount(*received), crate::ssh::amount(*sent));
                let why = if why.is_empty() { String::new() } else { format!("; {why}") };
                format!(
                    "left {instance}, by SSH from {address}, after {lasted}: {received} came in, {sent} went out{why}"
                )
            }
            Self::InstanceCreated { instance, size, owner } => {
                let whose = owner.as_ref().map(|owner| format!(" for {owner}")).unwrap_or_default();
                format!("created the instance {instance} of size {size}{whose}")
            }
            Self::InstanceStarted { instance } => format!("started the instance {instance}"),
            Self::InstanceStopped { instance } => format!("stopped the instance {instance}"),
            Self::InstanceRestarted { instance } => format!("restarted the instance {instance}"),
            Self::InstanceRebuilt { instance } => format!("gave the instance {instance} a fresh environment"),
            Self::InstanceTagged { instance } => format!("changed the tags of the instance {instance}"),
            Self::InstanceScriptsSet { instance } => format!("changed the scripts of the instance {instance}"),
            Self::InstanceScriptsAccepted { instance } => format!("accepted the scripts of the instance {instance}"),
            Self::InstanceStopPostponed { instance } => format!("put off the stop of the instance {instance}"),
            Self::InstanceStopSkipped { instance } => format!("left out the next stop of the instance {instance}"),
            Self::IdleRulesSet { min, max, is_required } => {
                let must = if *is_required { ", required for all instances" } else { "" };
                format!("set idle shutdown to between {min} and {max}{must}")
            }
            Self::InstanceResized { instance, size } => {
                format!("changed the size of the instance {instance} to {size}")
            }
            Self::InstanceConfigured { instance } => format!("changed the settings of the instance {instance}"),
            Self::InstanceExtended { instance, by } => format!("kept the instance {instance} running for {by}"),
            Self::InstanceDeleted { instance } => format!("deleted the instance {instance}"),
            Self::InstanceTransferred { instance, from, to } => {
                format!("gave the instance {instance} from {from} to {to}")
            }
            Self::InstanceShared { instance, app, level, until } => {
                let end = until.as_ref().map(|until| format!(" until {until}")).unwrap_or_default();
                format!("shared {app} of the instance {instance} with {whom} to {}{end}", level.key())
            }
            Self::InstanceUnshared { instance, app } => {
                format!("took back the share of {app} of the instance {instance} with {whom}")
            }
            Self::InstanceShareEnded { instance, app } => {
                format!("ended the share of {app} of the instance {instance} with {whom}: its time was over")
            }
            Self::ClusterCreated { cluster, size, min, max } => {
                format!("created the cluster {cluster} with {min} to {max} nodes of size {size}")
            }
            Self::ClusterTagged { cluster } => format!("changed the tags of the cluster {cluster}"),
            Self::ClusterScaled { cluster, min, max, idle } => {
                format!("set the cluster {cluster} to {min} to {max} nodes that stay idle for {idle}")
            }
            Self::ClusterPaused { cluster } => format!("paused the cluster {cluster}"),
            Self::ClusterResumed { cluster } => format!("resumed the cluster {cluster}"),
            Self::ClusterDeleted { cluster, ends_jobs } => {
                format!("deleted the cluster {cluster}{}", if *ends_jobs { " and ended its jobs" } else { "" })
            }
            Self::JobCanceled { job } => format!("canceled {job}"),
            Self::JobPrioritised { job, priority } => format!("gave {job} {} priority", priority.key()),
            Self::BudgetSet { whose, amount, .. } if amount.is_empty() => format!("took the budget of {whose} away"),
            Self::BudgetSet { whose, amount, action } => {
                let then = match action.as_str() {
                    "refuse" => "; when it is spent, new work is refused",
                    "stop-idle" => "; when it is spent, new work is refused and what is idle stops",
                    _ => "",
                };
                format!("set the budget of {whose} to {amount} a month{then}")
            }
            Self::ArrayChanged { array, change } => format!("{change} the array of {array}"),
            Self::JobHeld { job } => format!("held {job} back"),
            Self::JobReleased { job } => format!("let {job} start again"),
            Self::JobMoved { job, over_all: true } => format!("moved {job} over the jobs of others"),
            Self::JobMoved { job, over_all: false } => format!("moved {job} in the queue"),
            Self::JobEvicted { job } => format!("evicted {job}"),
            Self::NodeEvicted { node } => format!("evicted {node}"),
            Self::FairShareSet { person, weight } => format!("gave {person} a share of {weight}"),
            Self::HalfLifeSet { half_life } => format!("let use count half after {half_life}"),
            Self::QueuePolicySet { queue, order, backfill } => {
                format!("let {queue} be served by {order}{}", if *backfill { " with backfill" } else { "" })
            }
            Self::ScheduleAdded { schedule, target } => format!("added {schedule} to {target}"),
            Self::ScheduleChanged { schedule, target } => format!("changed {schedule} of {target}"),
            Self::ScheduleSwitched { schedule, target, is_enabled } => {
                format!("switched {schedule} of {target} {}", if *is_enabled { "on" } else { "off" })
            }
            Self::ScheduleSkipped { schedule, target, skips } => {
                let what =
                    if *skips { "left out the next time of" } else { "took back the leaving out of the next time of" };
                format!("{what} {schedule} of {target}")
            }
            Self::ScheduleRemoved { schedule, target } => format!("removed {schedule} of {target}"),
            Self::LimitSet { whose, limit, resource } => {
                if limit.is_empty() {
                    format!("lifted the limit of {whose} on {resource}")
                } else {
                    format!("limited {whose} to {limit}")
                }
            }
            Self::SizePut { size } => format!("put the size {size} into the catalogue"),
            Self::SizeRemoved { size } => format!("removed the size {size} from the catalogue"),
            Self::EnginePaused => "paused all acting of the engine".into(),
            Self::EngineResumed => "let the engine act again".into(),
            Self::UnknownRemoved { site, name } => format!("had {name} removed from {site}, where nobody knows it"),
            Self::DatabaseRestored { things: 0 } => "accepted a restored database".into(),
            Self::DatabaseRestored { things } => format!(
                "accepted a restored database and moved {} that it doesn’t know to quarantine",
                counted(*things, "thing", "things")
            ),
            Self::QuarantineRestored { name, to } => format!("restored {name} from quarantine to {to}"),
            Self::QuarantineRemoved { name } => format!("removed {name} from quarantine for good"),
            Self::EnvironmentChanged { added, removed } => {
                let said: Vec<String> = [("added", added), ("removed", removed)]
                    .into_iter()
                    .filter(|(_, lines)| !lines.is_empty())
                    .map(|(verb, lines)| format!("{verb} {}", some_of(lines)))
                    .collect();
                format!("changed the base environment of instances: {}", said.join("; "))
            }
            Self::EnvironmentRebuilt => "had the base environment of instances built anew".into(),
            Self::AppAdded { instance, app } => format!("added the application {app} to {instance}"),
            Self::AppChanged { instance, app } => format!("changed the application {app} of {instance}"),
            Self::AppRemoved { instance, app } => format!("removed the application {app} from {instance}"),
            Self::EditorInstalled { version } => format!("had VS Code (code-server {version}) installed for instances"),
            Self::EnvironmentVersionMade { name, version, packages } => {
                let packages = crate::text::counted(u64::from(*packages), "package", "packages");
                match version {
                    1 => format!("made the environment {name} of {packages}"),
                    _ => format!("made version {version} of the environment {name}, of {packages}"),
                }
            }
            Self::EnvironmentBuildAsked { name, version } => format!("had the environment {name}:{version} built"),
            Self::EnvironmentDeleted { name, versions } => {
                let versions = crate::text::counted(u64::from(*versions), "version", "versions");
                format!("deleted the environment {name} with {versions}")
            }
            Self::FilesDeleted { paths } => format!("moved {} to the trash", some_of(paths)),
            Self::FileMoved { from, to } => format!("moved {from} to {to}"),
            Self::FilesLimitSet { limit } if limit.is_empty() => "lifted the limit on people’s files".into(),
            Self::FilesLimitSet { limit } => format!("limited everybody’s files to {limit}"),
        }
    }

    /// The instance that this tells of, where the engine's decisions about it do not tell it as well.
    pub fn instance(&self) -> Option<&str> {
        match self {
            Self::SshSwitched { instance, .. }
            | Self::InstanceTokensSet { instance, .. }
            | Self::SshConnected { instance, .. }
            | Self::SshEnded { instance, .. }
            | Self::InstanceShared { instance, .. }
            | Self::InstanceUnshared { instance, .. }
            | Self::InstanceShareEnded { instance, .. }
            | Self::AppAdded { instance, .. }
            | Self::AppChanged { instance, .. }
            | Self::AppRemoved { instance, .. } => Some(instance),
            _ => None,
        }
    }

    /// Which live pages show it.
    pub const fn topics(&self) -> &'static [Topic] {
        match self {
            Self::SetUp { .. }
            | Self::PersonCreated { .. }
            | Self::RolesChanged { .. }
            | Self::PersonDisabled { .. }
            | Self::PersonEnabled
            | Self::PasswordReset { .. }
            | Self::PasswordChanged { .. }
            | Self::ProfileChanged
            | Self::TokenCreated { .. }
            | Self::TokenRevoked { .. }
            | Self::SshKeyAdded { .. }
            | Self::SshKeyRemoved { .. }
            | Self::TrustConfirmed
            | Self::SignedIn { .. } => &[Topic::People, Topic::History],
            Self::SignedOut
            | Self::SessionsEnded { .. }
            | Self::SignInPaused { .. }
            | Self::SshConnected { .. }
            | Self::SshEnded { .. } => &[Topic::History],
            Self::SshSwitched { .. }
            | Self::InstanceTokensSet { .. }
            | Self::InstanceCreated { .. }
            | Self::InstanceStarted { .. }
            | Self::InstanceStopped { .. }
            | Self::InstanceRestarted { .. }
            | Self::InstanceRebuilt { .. }
            | Self::InstanceTagged { .. }
            | Self::InstanceScriptsSet { .. }
            | Self::InstanceScriptsAccepted { .. }
            | Self::InstanceStopPostponed { .. }
            | Self::InstanceStopSkipped { .. }
            | Self::InstanceResized { .. }
            | Self::InstanceConfigured { .. }
            | Self::InstanceExtended { .. }
            | Self::AppAdded { .. }
            | Self::AppChanged { .. }
            | Self::AppRemoved { .. }
            | Self::InstanceTransferred { .. }
            | Self::InstanceShared { .. }
            | Self::InstanceUnshared { .. }
            | Self::InstanceShareEnded { .. }
            | Self::InstanceDeleted { .. } => &[Topic::Instances, Topic::History],
            Self::ClusterCreated { .. }
            | Self::ClusterScaled { .. }
            | Self::ClusterTagged { .. }
            | Self::ClusterTokensSet { .. }
            | Self::ClusterPaused { .. }
            | Self::ClusterResumed { .. }
            | Self::ClusterDeleted { .. } => &[Topic::Clusters, Topic::History],
            Self::JobCanceled { .. }
            | Self::JobPrioritised { .. }
            | Self::ArrayChanged { .. }
            | Self::JobHeld { .. }
            | Self::JobReleased { .. }
            | Self::JobMoved { .. }
            | Self::JobEvicted { .. } => &[Topic::Jobs, Topic::History],
            Self::EnvironmentVersionMade { .. }
            | Self::EnvironmentBuildAsked { .. }
            | Self::EnvironmentDeleted { .. } => &[Topic::Environments, Topic::History],
            Self::FilesDeleted { .. } | Self::FileMoved { .. } => &[Topic::History],
            Self::NodeEvicted { .. } | Self::QueuePolicySet { .. } => &[Topic::Clusters, Topic::History],
            Self::ScheduleAdded { .. }
            | Self::ScheduleChanged { .. }
            | Self::ScheduleSwitched { .. }
            | Self::ScheduleSkipped { .. }
            | Self::ScheduleRemoved { .. } => &[Topic::Schedules, Topic::History],
            Self::LimitSet { .. }
            | Self::BudgetSet { .. }
            | Self::FairShareSet { .. }
            | Self::HalfLifeSet { .. }
            | Self::IdleRulesSet { .. }
            | Self::SizePut { .. }
            | Self::SizeRemoved { .. }
            | Self::EnginePaused
            | Self::EngineResumed
            | Self::EnvironmentChanged { .. }
            | Self::EnvironmentRebuilt
            | Self::EditorInstalled { .. }
            | Self::FilesLimitSet { .. }
            | Self::DatabaseRestored { .. }
            | Self::QuarantineRestored { .. }
            | Self::QuarantineRemoved { .. }
            | Self::UnknownRemoved { .. } => &[Topic::Engine, Topic::History],
        }
    }
}

fn labels(roles: &[Role]) -> String {
    let names: Vec<&str> = roles.iter().map(|role| role.label()).collect();
    if names.is_empty() { "no role".into() } else { and_list(&names) }
}

/// A list that may be long: its first five.
fn some_of(lines: &[String]) -> String {
    match lines.get(..5) {
        Some(first) if lines.len() > 6 => format!("{} and {} more", first.join(", "), lines.len() - 5),
        _ => and_list(lines),
    }
}

fn of(subject: Option<&Subject>) -> String {
    subject.map(|subject| format!(" of {}", subject.name)).unwrap_or_default()
}

fn ended(sessions: u64) -> String {
    if sessions == 0 {
        String::new()
    } else {
        format!(" and ended {}", crate::text::counted(sessions, "session", "sessions"))
    }
}
