//! Golden files of the engine's core: every reason as a sentence, the verb tables, and plans as timelines.
//!
//! `UPDATE_GOLDEN=1 cargo test -p atelier-domain --test domain golden_engine::` writes them anew; the
//! difference is then read like code.

use std::fmt::Write as _;

use atelier_domain::compute::idle::{Evidence, Source};
use atelier_domain::compute::instance::{InstanceState, Trigger};
use atelier_domain::compute::job::{JobSpec, JobState, Priority, RetryCause, Target};
use atelier_domain::compute::quota::{Held, Resource, Scope, Shortage};
use atelier_domain::compute::room::Filled;
use atelier_domain::compute::script::Scripts;
use atelier_domain::compute::verb::{ClusterState, ClusterVerb, InstanceVerb, JobVerb, Legality};
use atelier_domain::compute::{JobId, NodeId, Resources};
use atelier_domain::reason::Reason;
use atelier_domain::schedule::{Action, StopJobs};
use atelier_domain::text::Problem;
use atelier_domain::time::{Mono, Span, Timestamp};
use atelier_domain::world::{Exit, FoundNode, Order, Report, ScheduleTarget};

use crate::script::{
    Stage, cores, family, gang, idle_after, job, local, new_instance, retry, scale, size, startup, timetable,
};
use crate::support::golden;

// ---- reasons
// --------------------------------------------------------------------------------------------------------

fn held(by: &str, amount: u64) -> Held {
    Held { by: by.into(), amount }
}

fn cores_shortage(needed: u64, used: u64, limit: u64, held_by: Vec<Held>) -> Shortage {
    let resource = Resource::Cores(family("general"));
    let (needed, used, limit) = (needed * 1_000, used * 1_000, limit * 1_000);
    Shortage { resource, is_personal: false, needed, used, limit, held_by }
}

fn gpu_shortage(needed: u64, used: u64, limit: u64) -> Shortage {
    Shortage {
        resource: Resource::Gpus,
        is_personal: true,
        needed,
        used,
        limit,
        held_by: vec![held("vision-lab", used)],
    }
}

fn running_shortage(resource: Resource, needed: u64, used: u64, limit: u64) -> Shortage {
    Shortage { resource, is_personal: true, needed, used, limit, held_by: Vec::new() }
}

fn waits() -> Vec<Reason> {
    let shortage = cores_shortage(4, 30, 32, vec![held("train-pool", 24_000), held("ines-lab", 6_000)]);
    vec![
        Reason::InQueue { position: 3, of: 17 },
        Reason::FairQueue { position: 4, of: 17, before: 3, used: 120, used_by_all: 400, weight: 100, weights: 300 },
        Reason::FairQueue { position: 2, of: 2, before: 1, used: 5, used_by_all: 5, weight: 1_000, weights: 1_100 },
        Reason::NodesStarting { ready: 0, starting: 1, needed: 1 },
        Reason::NodesStarting { ready: 1, starting: 3, needed: 4 },
        Reason::NodesBusy { busy: 1, max: 1, shape: Resources::new(4, 16, 0) },
        Reason::NodesBusy { busy: 8, max: 8, shape: Resources::new(4, 16, 1) },
        Reason::Reserved { needed: 1, left: Span::minutes(35) },
        Reason::Reserved { needed: 4, left: Span::hours(3) },
        Reason::Gathering { ready: 2, needed: 3, left: Span::minutes(9) },
        Reason::SteppedAside { needed: 3, times: 1, left: Span::seconds(40) },
        Reason::SteppedAside { needed: 16, times: 0, left: Span::seconds(60) },
        Reason::Yielding { left: Span::seconds(45) },
        Reason::RetryPause { attempt: 2, after: "lost node-12".into(), left: Span::seconds(30) },
        Reason::RetryPause { attempt: 3, after: "ended with exit code 3".into(), left: Span::minutes(2) },
        Reason::QuotaInUse { shortage },
        Reason::QuotaInUse { shortage: gpu_shortage(1, 2, 2) },
        Reason::CapacityInUse {
            site: "local".into(),
            needed: Resources::new(16, 64, 1),
            free: Resources::new(6, 100, 0),
        },
        Reason::RoomForDedicated { site: "local".into(), waiting: 1 },
        Reason::LaunchPause { failures: 1, last: "no such image".into(), left: Span::seconds(5) },
        Reason::LaunchPause { failures: 4, last: "no route to host".into(), left: Span::seconds(40) },
        Reason::NodesLeaving { leaving: 1, max: 4 },
        Reason::NodesLeaving { leaving: 2, max: 2 },
        Reason::OwnLimit { shortage: running_shortage(Resource::RunningJobs, 1, 4, 4) },
        Reason::OwnLimit { shortage: running_shortage(Resource::RunningCores, 2_000, 15_500, 16_000) },
        Reason::OnHold { by: "Mara Lindqvist".into(), why: "the data set is being mended".into() },
        Reason::OnHold { by: "Mara Lindqvist".into(), why: String::new() },
        Reason::EnvironmentComing { environment: "churn:3".into() },
        Reason::WaitsForJobs { jobs: vec![JobId(41)], count: 1, needs_success: true },
        Reason::WaitsForJobs { jobs: (41..46).map(JobId).collect(), count: 7, needs_success: false },
        Reason::ClusterPaused { cluster: "train-pool".into(), by: "Mara Lindqvist".into() },
        Reason::EnginePaused { by: "Mara Lindqvist".into(), why: "the storage is moved".into() },
        Reason::EnginePaused { by: "Mara Lindqvist".into(), why: String::new() },
        Reason::InstanceNotReady { instance: "ines-lab".into(), state: InstanceState::UserSettingUp },
        Reason::InstanceNotReady { instance: "ines-lab".into(), state: InstanceState::Unusable },
        Reason::SlotsBusy { running: 4, slots: 4 },
        Reason::InstanceFull {
            needed: Resources { cores: 0, memory: 12 * 1024, gpus: 0 },
            free: Resources::new(4, 4, 1),
        },
        Reason::InstanceDraining { instance: "ines-lab".into(), left: Span::minutes(25) },
        Reason::Handed { waiting: 1, nodes: 1 },
        Reason::Handed { waiting: 2, nodes: 3 },
        Reason::Ending { waiting: 1, what: "It was canceled by Ines Okafor".into() },
        Reason::Ending { waiting: 3, what: "It ended with exit code 0".into() },
        Reason::ReleaseUnconfirmed { node: NodeId(12), tries: 6, waiting: Span::minutes(7) },
        Reason::Collecting { waiting: 1 },
        Reason::SettingUp { state: InstanceState::SettingUp, left: Span::minutes(4) },
        Reason::SettingUp { state: InstanceState::UserSettingUp, left: Span::minutes(25) },
        Reason::SettingUp { state: InstanceState::Restarting, left: Span::minutes(4) },
        Reason::OnItsWay { left: Span::minutes(8) },
        Reason::NodeSilent { node: NodeId(7), silent: Span::seconds(45), left: Span::seconds(75) },
        Reason::NodeUnusable { node: NodeId(7), silent: Span::minutes(2) },
    ]
}

fn refusals() -> Vec<Reason> {
    vec![
        Reason::Invalid { problem: Problem::new("nodes", "A job runs on 1 to 65000 nodes, not on 0.") },
        Reason::NotFound { what: "cluster-9".into() },
        Reason::IsOver { job: JobId(41) },
        Reason::NameTaken { name: "ines-lab".into() },
        Reason::NotNow {
            verb: "resize".into(),
            name: "ines-lab".into(),
            state: "job-running".into(),
            help: "Its size changes only while it is stopped. Stop it first.".into(),
        },
        Reason::NotNow {
            verb: "prioritise".into(),
            name: "job-41".into(),
            state: "running".into(),
            help: "It has left the queue.".into(),
        },
        Reason::UnknownSize { size: "huge".into(), known: vec!["big".into(), "gpu".into(), "small".into()] },
        Reason::UnknownSize { size: "huge".into(), known: Vec::new() },
        Reason::TooLarge {
            needed: Resources::new(8, 16, 0),
            node: Resources::new(4, 16, 0),
            size: "small".into(),
            fitting: vec!["gpu".into(), "big".into()],
        },
        Reason::TooLarge {
            needed: Resources::new(128, 16, 0),
            node: Resources::new(16, 64, 0),
            size: "big".into(),
            fitting: Vec::new(),
        },
        Reason::TooManyNodes { needed: 8, max: 4, cluster: "train-pool".into() },
        Reason::OneNodeOnly { needed: 2 },
        Reason::QuotaTooSmall { shortage: cores_shortage(64, 8, 32, vec![held("train-pool", 8_000)]), valid: 2 },
        Reason::QuotaNone { shortage: gpu_shortage(1, 0, 0), instead: vec!["big".into(), "small".into()] },
        Reason::QuotaNone { shortage: cores_shortage(16, 0, 8, Vec::new()), instead: Vec::new() },
        Reason::AboveOwnLimit { shortage: running_shortage(Resource::RunningGpus, 4, 0, 2) },
        Reason::TooManyComputes {
            shortage: Shortage {
                resource: Resource::Computes,
                is_personal: true,
                needed: 1,
                used: 2,
                limit: 2,
                held_by: vec![held("train-pool", 1), held("ines-lab", 1)],
            },
        },
        Reason::CapacityTooSmall {
            site: "local".into(),
            needed: Resources::new(64, 256, 0),
            total: Resources::new(32, 128, 0),
        },
        Reason::LimitBelowUse { shortage: cores_shortage(8, 12, 8, vec![held("train-pool", 12_000)]) },
        Reason::LimitBelowUse { shortage: gpu_shortage(0, 1, 0) },
        Reason::InUse { what: "The size small".into(), by: vec!["train-pool".into(), "serverless jobs".into()] },
        Reason::UnknownSite { site: "slurm".into(), known: vec!["local".into()] },
        Reason::UnknownSite { site: "slurm".into(), known: Vec::new() },
        Reason::CannotSkip { why: "The schedule is disabled, so there is nothing to skip.".into() },
        Reason::CannotPostpone { why: "ines-lab has no stop ahead: no schedule stops it, and no idle time.".into() },
        Reason::OwnerOnly { instance: "ines-lab".into(), what: "Accepting the scripts of".into() },
        Reason::AwaitsAcceptance { instance: "ines-lab".into(), from: "Mara".into() },
        Reason::ScriptsChanged { instance: "ines-lab".into(), read: 2, now: 3 },
        Reason::DiskFull { free: 180_000_000, floor: 500_000_000 },
        Reason::OverBudget {
            is_personal: false,
            spent: 512_340_000_000,
            amount: 500_000_000_000,
            currency: "EUR".into(),
            ends: "1 Apr 2026 (Europe/Berlin)".into(),
        },
        Reason::TooManyJobs { live: 2_000_000, limit: 2_000_000 },
    ]
}

fn stop_reasons() -> Vec<Reason> {
    let waiting = Some(Box::new(Reason::CapacityInUse {
        site: "local".into(),
        needed: Resources::new(16, 64, 0),
        free: Resources::new(6, 100, 0),
    }));
    let last = Some("a busy notebook kernel, 58 min ago".into());
    vec![
        Reason::ByPerson { name: "Ines Okafor".into() },
        Reason::BySchedule { schedule: "Stop Mon–Fri at 19:00, Europe/Berlin".into() },
        Reason::Idle {
            quiet: Span::minutes(60),
            window: Span::minutes(60),
            last,
            evidence: vec![
                Evidence { source: Source::Processor, ago: Span::minutes(2), counts: false },
                Evidence { source: Source::Kernel, ago: Span::minutes(58), counts: true },
                Evidence { source: Source::Terminal, ago: Span::hours(2), counts: true },
            ],
        },
        Reason::Idle { quiet: Span::minutes(16), window: Span::minutes(15), last: None, evidence: Vec::new() },
        Reason::AsPostponed { by: "Ines Okafor".into() },
        Reason::Filled { filled: Filled::Disk { wrote: 5 << 30, free: 190 << 20 } },
        Reason::Filled { filled: Filled::Limit { used: 21 << 30, limit: 20 << 30 } },
        Reason::NodeLost { node: NodeId(12), silent: Span::seconds(90) },
        Reason::NodePreempted { node: NodeId(12) },
        Reason::NodeReclaimed { node: NodeId(12), site: "local".into(), grace: Span::seconds(30) },
        Reason::Evicted { by: "Ines Okafor".into(), grace: Span::seconds(30) },
        Reason::NodeGone { node: NodeId(12) },
        Reason::LaunchFailed { node: NodeId(12), detail: "no such image".into() },
        Reason::LaunchTimedOut { node: NodeId(12), limit: Span::minutes(10) },
        Reason::StartTimedOut { limit: Span::minutes(10), waiting },
        Reason::StartTimedOut { limit: Span::minutes(20), waiting: None },
        Reason::SetupFailed { what: "The script".into(), detail: "line 3: pip: command not found".into() },
        Reason::SetupTimedOut { what: "The set-up".into(), limit: Span::minutes(5) },
        Reason::ResizeFailed { detail: "the volume is busy".into() },
        Reason::InstanceStops { instance: "ines-lab".into() },
        Reason::ClusterDeleted { cluster: "train-pool".into(), by: "Mara Lindqvist".into() },
        Reason::JobDone { job: JobId(41) },
        Reason::WouldNotEnd { job: JobId(41), waited: Span::seconds(60) },
        Reason::JobEnded { what: "ended with exit code 3".into(), attempts: 1 },
        Reason::JobEnded { what: "took more memory than it asked for and was killed".into(), attempts: 3 },
        Reason::JobEnded { what: "was canceled by Ines Okafor".into(), attempts: 0 },
        Reason::RestEnded { count: 1, what: "was canceled by Ines Okafor".into() },
        Reason::RestEnded { count: 999_984, what: "was canceled by Ines Okafor".into() },
        Reason::AttemptEnded { what: "lost node-12".into(), attempt: 1, pause: Span::seconds(30) },
        Reason::AttemptEnded { what: "lost node-12".into(), attempt: 1, pause: Span::ZERO },
    ]
}

const fn begun(verb: InstanceVerb, trigger: Trigger) -> Reason {
    Reason::OperationBegun { verb, trigger }
}

fn scalings_and_notes() -> Vec<Reason> {
    vec![
        Reason::ScaleUp { added: 1, called_back: 0, busy: 0, demand: 1, max: 4, head: Some(JobId(41)) },
        Reason::ScaleUp { added: 3, called_back: 2, busy: 1, demand: 3, max: 8, head: Some(JobId(41)) },
        Reason::ScaleUp { added: 1, called_back: 1, busy: 1, demand: 1, max: 8, head: Some(JobId(41)) },
        Reason::OwnNodes { added: 2, size: "gpu".into() },
        Reason::ScaleToMin { added: 2, min: 2 },
        Reason::ScaleWarm { added: 1, warm: 2, busy: 3 },
        Reason::ScaleDownIdle { idle: Span::seconds(120), allowed: Span::seconds(120), stays: 0 },
        Reason::ScaleDownIdle { idle: Span::minutes(5), allowed: Span::minutes(5), stays: 1 },
        Reason::NeededElsewhere { idle: Span::seconds(8), stays: 2 },
        Reason::OverMax { nodes: 4, max: 2 },
        Reason::Steady { nodes: 1, busy: 1, queued: 0, min: 0, max: 4 },
        Reason::Steady { nodes: 4, busy: 2, queued: 1, min: 2, max: 8 },
        Reason::AtMax { max: 4, wanted: 2 },
        Reason::AlreadySo { state: "stopped".into() },
        Reason::AlreadySo { state: "at a minimum of 2 nodes".into() },
        Reason::FiringsMissed { missed: 1, is_more: false, grace: Span::hours(1) },
        Reason::FiringsMissed { missed: 1_000, is_more: true, grace: Span::hours(1) },
        Reason::FiringDismissed,
        Reason::Overruled,
        Reason::Superseded,
        Reason::FiringFailed {
            why: Box::new(Reason::NotNow {
                verb: "start".into(),
                name: "ines-lab".into(),
                state: "unusable".into(),
                help: "Its node does not answer. Restart it to give it another node.".into(),
            }),
        },
        Reason::Fired { what: "Stop".into(), late: Span::ZERO },
        Reason::Fired { what: "Set the minimum to 4 nodes".into(), late: Span::minutes(25) },
        Reason::Created { by: "Ines Okafor".into(), owner: None, size: "small".into() },
        Reason::Created { by: "Mara Lindqvist".into(), owner: Some("Ines Okafor".into()), size: "small".into() },
        begun(InstanceVerb::Start, Trigger::Person { name: "Ines Okafor".into() }),
        begun(InstanceVerb::Start, Trigger::Wake { name: "Ines Okafor".into() }),
        begun(InstanceVerb::Start, Trigger::Schedule),
        begun(InstanceVerb::Start, Trigger::System),
        begun(InstanceVerb::Stop, Trigger::Idle),
        begun(InstanceVerb::Stop, Trigger::Policy),
        begun(InstanceVerb::Rebuild, Trigger::Person { name: "Ines Okafor".into() }),
        begun(InstanceVerb::Resize, Trigger::Person { name: "Ines Okafor".into() }),
        begun(InstanceVerb::Delete, Trigger::Person { name: "Ines Okafor".into() }),
        Reason::OperationDone { verb: InstanceVerb::Create, took: Span::seconds(9) },
        Reason::OperationDone { verb: InstanceVerb::Start, took: Span::seconds(7) },
        Reason::OperationDone { verb: InstanceVerb::Stop, took: Span::seconds(4) },
        Reason::OperationDone { verb: InstanceVerb::Resize, took: Span::seconds(2) },
        Reason::OperationDone { verb: InstanceVerb::Transfer, took: Span::seconds(2) },
        Reason::OperationDone { verb: InstanceVerb::Delete, took: Span::seconds(3) },
        Reason::OperationOvertaken { verb: InstanceVerb::Start, by: InstanceVerb::Stop },
        Reason::OperationOvertaken { verb: InstanceVerb::Restart, by: InstanceVerb::Delete },
        Reason::NodeReady { node: NodeId(12), after: Span::seconds(3) },
        Reason::AppsReady { after: Span::seconds(11) },
        Reason::ScriptsSet { by: "Ines Okafor".into(), awaits_owner: false },
        Reason::ScriptsSet { by: "Mara Lindqvist".into(), awaits_owner: true },
        Reason::Transferred { by: "Oskar".into(), from: "Ines Okafor".into(), to: "Mara Lindqvist".into() },
        Reason::TransferDelayed { detail: "no space left on device".into() },
        Reason::ScriptsAccepted { by: "Ines Okafor".into() },
        Reason::GiftAccepted { by: "Ines Okafor".into(), from: "Mara".into() },
        Reason::StopWarning { left: Span::minutes(15), why: "Stop Mon–Fri at 19:00, Europe/Berlin".into() },
        Reason::StopWarning { left: Span::minutes(15), why: "Ines Okafor keeps it running until then".into() },
        Reason::StopDrains {
            jobs: 2,
            limit: Span::minutes(30),
            schedule: "Stop Mon–Fri at 19:00, Europe/Berlin; waits up to 30 min for jobs".into(),
        },
        Reason::StopSkippedForJobs {
            jobs: 1,
            schedule: "Stop Mon–Fri at 19:00, Europe/Berlin; not while jobs run".into(),
        },
        Reason::StopPostponed { by: "Ines Okafor".into(), left: Span::minutes(75) },
        Reason::StopLeftOut { by: "Ines Okafor".into(), left: Span::minutes(15) },
        Reason::FiringPostponed { by: "Ines Okafor".into() },
        Reason::IdleRuled { by: "Mara Lindqvist".into(), window: Span::hours(2) },
        Reason::IdleWarning { left: Span::minutes(5), quiet: Span::minutes(55) },
        Reason::KeptRunning { by: "Ines Okafor".into(), span: Span::hours(1) },
        Reason::IdleOver { source: "an editor".into() },
        Reason::Backfilled { head: JobId(41), within: Some(Span::minutes(20)), earliest: Span::minutes(35) },
        Reason::Backfilled { head: JobId(41), within: None, earliest: Span::minutes(35) },
        Reason::HoldOver { by: "Mara Lindqvist".into() },
        Reason::MovedInQueue { by: "Mara Lindqvist".into(), to: "to the front of the queue".into() },
        warned_of_budget(None, 50, "warn"),
        warned_of_budget(Some("ines"), 80, "refuse"),
        warned_of_budget(None, 100, "warn"),
        warned_of_budget(None, 100, "refuse"),
        warned_of_budget(None, 100, "stop-idle"),
        Reason::Unknown { name: "atelier-node-99".into(), site: "local".into() },
    ]
}

#[test]
fn every_reason_has_its_sentence() {
    let samples: Vec<Reason> = [waits(), refusals(), stop_reasons(), scalings_and_notes()].concat();
    let mut codes: Vec<&str> = samples.iter().map(Reason::code).collect();
    codes.dedup();
    assert_eq!(codes, Reason::CODES, "one sample at least for each reason, in the order of the list");
    let mut text = String::new();
    let mut kind = None;
    for reason in &samples {
        if kind != Some(reason.kind()) {
            kind = Some(reason.kind());
            writeln!(text, "{}# {:?}\n", if text.is_empty() { "" } else { "\n" }, reason.kind())
                .expect("writing to a string");
        }
        writeln!(text, "{:<24}{}", reason.code(), reason.sentence()).expect("writing to a string");
        if let Some(next) = reason.next_step() {
            writeln!(text, "{:<24}→ {next}", "").expect("writing to a string");
        }
        assert!(reason.sentence().ends_with('.'), "{} is no whole sentence", reason.code());
        let wire = serde_json::to_string(reason).expect("it can be written");
        assert_eq!(serde_json::from_str::<Reason>(&wire).expect("it can be read"), *reason, "{wire}");
        assert!(wire.contains(&format!("\"code\":\"{}\"", reason.code())), "{wire}");
    }
    golden("engine/reasons.txt", &text);
}

// ---- verbs
// ----------------------------------------------------------------------------------------------------------

fn say_legality(legality: Legality) -> String {
    match legality {
        Legality::Yes => "yes".into(),
        Legality::Later => "later".into(),
        Legality::Already => "already".into(),
        Legality::No(help) => format!("no: {help}"),
    }
}

#[test]
fn the_verb_tables_are_reviewed() {
    let mut text = String::new();
    let mut table = |title: &str, verbs: Vec<(&str, Vec<(&str, Legality)>)>| {
        writeln!(text, "{}# {title}", if text.is_empty() { "" } else { "\n" }).expect("writing to a string");
        for (verb, states) in verbs {
            writeln!(text, "\n{verb}").expect("writing to a string");
            for (state, legality) in states {
                writeln!(text, "  {state:<20}{}", say_legality(legality)).expect("writing to a string");
            }
        }
    };
    let states = |verb: InstanceVerb| InstanceState::ALL.iter().map(|s| (s.key(), verb.in_state(*s))).collect();
    table("Instances", InstanceVerb::ALL.into_iter().map(|verb| (verb.key(), states(verb))).collect());
    let states = |verb: ClusterVerb| ClusterState::ALL.into_iter().map(|s| (s.key(), verb.in_state(s))).collect();
    table("Clusters", ClusterVerb::ALL.into_iter().map(|verb| (verb.key(), states(verb))).collect());
    let states = |verb: JobVerb| JobState::ALL.into_iter().map(|s| (s.key(), verb.in_state(s))).collect();
    table("Jobs", JobVerb::ALL.into_iter().map(|verb| (verb.key(), states(verb))).collect());
    golden("engine/verbs.txt", &text);
}

#[test]
fn stop_and_delete_are_legal_everywhere() {
    for state in &InstanceState::ALL {
        for verb in [InstanceVerb::Stop, InstanceVerb::Delete] {
            assert!(!matches!(verb.in_state(*state), Legality::No(_)), "{} in {}", verb.key(), state.key());
        }
    }
    for state in ClusterState::ALL {
        assert!(!matches!(ClusterVerb::Delete.in_state(state), Legality::No(_)), "{}", state.key());
    }
    for state in JobState::ALL {
        let is_refused = matches!(JobVerb::Cancel.in_state(state), Legality::No(_));
        assert_eq!(is_refused, matches!(state, JobState::Completed | JobState::Failed), "{}", state.key());
    }
}

// ---- plans
// ----------------------------------------------------------------------------------------------------------

const SECOND: Span = Span::seconds(1);
const MINUTE: Span = Span::minutes(1);

fn plan(name: &str, title: &str, stage: &Stage) {
    golden(&format!("plans/{name}.txt"), &format!("# {title}\n\n{}", stage.text));
}

#[test]
fn from_zero_and_back() {
    let mut stage = Stage::roomy();
    let pool = stage.cluster("train-pool", "small", scale(0, 4, Span::seconds(120)));
    stage.pass(Span::seconds(10));
    let first = stage.submit(job(Target::Cluster(pool), cores(2)), MINUTE);
    stage.pass(SECOND);
    stage.ask_job(first);
    stage.ask_cluster(pool);
    stage.pass(Span::minutes(5));
    stage.ask_cluster(pool);
    plan("from-zero-and-back", "One job brings one node; two idle minutes later it goes again", &stage);
}

#[test]
fn burst() {
    let mut stage = Stage::roomy();
    let pool = stage.cluster("train-pool", "small", scale(0, 4, Span::seconds(30)));
    stage.say("20 jobs of one core each in one second; a node has 4 cores, the cluster at most 4 nodes.");
    let mut jobs = Vec::new();
    for _ in 0..20 {
        jobs.push(stage.submit(job(Target::Cluster(pool), cores(1)), MINUTE));
        stage.pass(Span::millis(50));
    }
    stage.ask_job(jobs[0]);
    stage.ask_job(jobs[19]);
    stage.ask_cluster(pool);
    stage.pass(Span::minutes(4));
    plan("burst", "20 one-core jobs on 4-core nodes, at most 4: 16 run at once, the last 4 after them", &stage);
}

#[test]
fn scale_down_canceled() {
    let mut stage = Stage::roomy();
    let pool = stage.cluster("train-pool", "small", scale(0, 2, Span::seconds(10)));
    stage.submit(job(Target::Cluster(pool), cores(4)), Span::seconds(5));
    stage.pass(Span::seconds(17));
    stage.pass(Span::millis(250));
    stage.say("The node is cordoned and its agent has not yet confirmed; a job comes in between.");
    stage.submit(job(Target::Cluster(pool), cores(4)), Span::seconds(5));
    stage.pass(Span::minutes(1));
    assert!(stage.text.contains("called back"), "{}", stage.text);
    plan("scale-down-canceled", "A job that comes while a node leaves calls it back", &stage);
}

#[test]
fn lower_max() {
    let mut stage = Stage::roomy();
    let pool = stage.cluster("train-pool", "small", scale(0, 3, Span::seconds(10)));
    for runs in [60, 90, 120] {
        stage.submit(job(Target::Cluster(pool), cores(4)), Span::seconds(runs));
    }
    stage.pass(Span::seconds(10));
    stage.say("Three nodes are busy; the maximum is lowered to one. Nothing is killed.");
    stage.must("Ada", Order::ScaleCluster { cluster: pool, scale: scale(0, 1, Span::seconds(10)) });
    let fourth = stage.submit(job(Target::Cluster(pool), cores(4)), Span::seconds(20));
    stage.ask_cluster(pool);
    stage.ask_job(fourth);
    stage.pass(Span::minutes(4));
    plan("lower-max", "A lower maximum drains busy nodes and never kills", &stage);
}

#[test]
fn minimum_kept() {
    let mut stage = Stage::roomy();
    let pool = stage.cluster("train-pool", "small", scale(2, 4, Span::seconds(10)));
    stage.pass(Span::minutes(5));
    for _ in 0..3 {
        stage.submit(job(Target::Cluster(pool), cores(4)), Span::seconds(5));
    }
    stage.pass(Span::minutes(2));
    stage.say("One of the two is lost; it is replaced.");
    let node = stage.world.nodes().next().expect("a node").id;
    stage.lose(node);
    stage.report(Report::NodeSilent(node));
    stage.pass(Span::minutes(3));
    plan("minimum-kept", "A minimum of two nodes is kept without jobs, after jobs, and after a loss", &stage);
}

#[test]
fn failed_launches() {
    let mut stage = Stage::roomy();
    let pool = stage.cluster("train-pool", "small", scale(0, 2, Span::seconds(30)));
    stage.reality.failing_launches = 3;
    let waiting = stage.submit(job(Target::Cluster(pool), cores(4)), Span::seconds(5));
    stage.pass(Span::seconds(3));
    stage.ask_job(waiting);
    stage.ask_cluster(pool);
    stage.pass(Span::minutes(2));
    let history = &stage.world.cluster(pool).expect("it exists").trouble.history;
    let history: Vec<String> = history.iter().map(|failed| format!("{}: {}", failed.node, failed.detail)).collect();
    stage.say(&format!("What the cluster remembers: {}.", history.join("; ")));
    plan("failed-launches", "Three launches fail, with a longer pause after each; the fourth works", &stage);
}

#[test]
fn gang_gathers() {
    let mut stage = Stage::roomy();
    let pool = stage.cluster("train-pool", "small", scale(0, 3, Span::seconds(20)));
    stage.submit(job(Target::Cluster(pool), cores(4)), Span::seconds(30));
    stage.pass(Span::seconds(5));
    let three = stage.submit(gang(pool, cores(4), 3), MINUTE);
    let behind = stage.submit(job(Target::Cluster(pool), cores(1)), Span::seconds(5));
    stage.pass(Span::seconds(5));
    stage.ask_job(three);
    stage.ask_job(behind);
    stage.pass(Span::minutes(3));
    plan("gang-gathers", "A job on three nodes starts on all of them or on none; nobody overtakes it", &stage);
}

#[test]
fn two_gangs() {
    let mut stage = Stage::new(Resources::new(16, 64, 0));
    stage.say("Room for four nodes of 4 cores; two clusters, each with a job on three.");
    let one = stage.cluster("pool-one", "small", scale(0, 3, Span::seconds(30)));
    let two = stage.cluster("pool-two", "small", scale(0, 3, Span::seconds(30)));
    // Both have two nodes before either asks for three.
    for pool in [one, two] {
        stage.submit(gang(pool, cores(4), 2), Span::seconds(10));
    }
    stage.pass(Span::seconds(4));
    let first = stage.submit(gang(one, cores(4), 3), MINUTE);
    let second = stage.submit(gang(two, cores(4), 3), MINUTE);
    stage.pass(Span::seconds(20));
    stage.ask_job(first);
    stage.ask_job(second);
    stage.ask_cluster(one);
    stage.ask_cluster(two);
    stage.pass(Span::minutes(30));
    plan("two-gangs", "Two jobs on three nodes each do not wait for each other for ever where four nodes fit", &stage);
    assert_eq!(stage.world.jobs().count(), 0, "both came to their end");
}

#[test]
fn serverless() {
    let mut stage = Stage::new(Resources::new(20, 80, 0));
    let target = || Target::Serverless(size("small"));
    stage.submit(job(target(), cores(4)), Span::seconds(20));
    stage.pass(Span::seconds(1));
    stage.say("Two nodes for one job, all or none; then one that does not fit as well.");
    stage.submit(JobSpec { nodes: 2, ..job(target(), cores(4)) }, Span::seconds(30));
    let third = stage.submit(JobSpec { nodes: 3, ..job(target(), cores(4)) }, Span::seconds(10));
    stage.ask_job(third);
    stage.pass(Span::minutes(2));
    plan("serverless", "A serverless job gets nodes of its own and gives them back", &stage);
}

#[test]
fn quota() {
    let mut stage = Stage::roomy();
    let general = || Resource::Cores(family("general"));
    let limit = |count: u64| Order::SetLimit {
        scope: Scope::Workspace,
        resource: Resource::Cores(family("general")),
        limit: Some(count * 1_000),
    };
    stage.must("Owner", limit(8));
    let pool = stage.cluster("train-pool", "small", scale(0, 4, Span::seconds(10)));
    stage.say("Too small for so many: how many would do.");
    drop(stage.order("Ada", Order::Submit(gang(pool, cores(4), 3))));
    stage.say("None at all: which other sizes would do.");
    drop(stage.order("Ada", Order::Submit(job(Target::Serverless(size("big")), cores(4)))));
    drop(stage.order("Ada", Order::CreateInstance(Box::new(new_instance("big-lab", "big")))));
    stage.say("Enough in all but in use: it waits, and says who holds it.");
    let lab = stage.instance(new_instance("ines-lab", "small"));
    stage.submit(job(Target::Cluster(pool), cores(4)), MINUTE);
    let second = stage.submit(job(Target::Cluster(pool), cores(4)), MINUTE);
    stage.pass(Span::seconds(5));
    stage.ask_job(second);
    stage.ask_cluster(pool);
    stage.say("The limit cannot go below what is held; a raise lets it go on at once.");
    drop(stage.order("Owner", limit(4)));
    stage.must("Owner", limit(12));
    stage.pass(Span::seconds(10));
    stage.say("A person's own limit.");
    let own = Order::SetLimit { scope: Scope::Everybody, resource: general(), limit: Some(4_000) };
    stage.must("Owner", own);
    let other = stage.submit(job(Target::Serverless(size("tiny")), cores(1)), Span::seconds(5));
    stage.ask_job(other);
    stage.must("Ada", Order::StopInstance(lab));
    stage.pass(Span::minutes(2));
    plan("quota", "The three answers to a quota that does not suffice", &stage);
}

fn quiet_minutes(stage: &mut Stage, instance: atelier_domain::compute::InstanceId, minutes: u32) {
    for _ in 0..minutes {
        stage.pass(MINUTE);
        stage.report(Report::Activity { instance, active: Vec::new(), stretch: MINUTE });
    }
}

#[test]
fn instance_life() {
    let mut stage = Stage::roomy();
    let scripts = startup(Span::minutes(10));
    let idle = idle_after(Span::minutes(15));
    let lab = stage.instance(atelier_domain::world::NewInstance { scripts, idle, ..new_instance("ines-lab", "small") });
    stage.ask_instance(lab);
    stage.pass(Span::millis(2_500));
    stage.ask_instance(lab);
    stage.pass(Span::seconds(1));
    stage.ask_instance(lab);
    stage.pass(Span::seconds(10));
    stage.say("It runs. Every minute its agent says what went on; 15 minutes of nothing are allowed.");
    quiet_minutes(&mut stage, lab, 11);
    stage.must("Ines", Order::ExtendInstance { instance: lab, by: Span::minutes(5) });
    quiet_minutes(&mut stage, lab, 12);
    stage.say("A job counts as activity and takes the warning back.");
    stage.submit(job(Target::Instance(lab), cores(1)), Span::seconds(90));
    quiet_minutes(&mut stage, lab, 16);
    stage.pass(Span::seconds(10));
    plan("instance-life", "An instance from its creation to its stop for want of activity", &stage);
}

#[test]
fn stop_and_delete_early() {
    let mut stage = Stage::roomy();
    let first = stage.instance(new_instance("first-lab", "small"));
    stage.pass(SECOND);
    stage.say("Stop while its first node starts.");
    stage.must("Ada", Order::StopInstance(first));
    stage.pass(Span::seconds(3));
    stage.say("Start, and stop and start again while it stops.");
    stage.must("Ada", Order::StartInstance(first));
    stage.pass(Span::seconds(10));
    stage.must("Ada", Order::StopInstance(first));
    stage.must("Bo", Order::StartInstance(first));
    stage.pass(Span::seconds(10));
    stage.say("Delete while it starts.");
    let second = stage.instance(new_instance("second-lab", "small"));
    stage.pass(SECOND);
    stage.must("Ada", Order::DeleteInstance(second));
    stage.must("Ada", Order::DeleteInstance(second));
    drop(stage.order("Ada", Order::StartInstance(second)));
    stage.pass(Span::seconds(3));
    drop(stage.order("Ada", Order::StopInstance(second)));
    plan("stop-and-delete-early", "Stop and delete in the middle of a start", &stage);
}

#[test]
fn schedules() {
    let mut stage = Stage::roomy();
    let lab = stage.instance(new_instance("ines-lab", "small"));
    let target = ScheduleTarget::Instance(lab);
    stage.schedule(target, Action::Start, "0 9 * * *");
    let stop = stage.schedule(target, Action::Stop, "0 19 * * *");
    stage.say("Stopped by hand before 09:00: the start of 09:00 acts, as the next boundary.");
    stage.must("Ada", Order::StopInstance(lab));
    stage.pass(Span::minutes(70));
    stage.say("19:00 stops it; started by hand at 20:00 it stays until the next boundary.");
    stage.pass(Span::hours(10));
    stage.pass(Span::minutes(50));
    stage.must("Ada", Order::StartInstance(lab));
    stage.pass(Span::hours(14));
    stage.say("The engine is down from 18:50 to 19:20: the stop of 19:00 is made up.");
    stage.pass_until(34 * 3_600_000 + 50 * 60_000);
    stage.sleep(Span::minutes(30));
    stage.pass(MINUTE);
    stage.say("Down for two days: too late to be made up.");
    stage.sleep(Span::hours(52));
    stage.pass(MINUTE);
    stage.say("The next stop is skipped once.");
    stage.must("Ada", Order::SkipSchedule { schedule: stop, skips: true });
    stage.pass(Span::hours(24));
    plan("schedules", "Start at 09:00, stop at 19:00, what people do in between, and what was missed", &stage);
}

#[test]
fn stops() {
    let mut stage = Stage::roomy();
    let lab = stage.instance(new_instance("ines-lab", "small"));
    let stop = |cron: &str, jobs: StopJobs| Order::AddSchedule {
        target: ScheduleTarget::Instance(lab),
        action: Action::Stop,
        timetable: timetable(cron),
        jobs,
    };
    stage.pass(Span::seconds(10));
    stage.must("Ines", stop("0 9 * * *", StopJobs::Now));
    stage.say("Fifteen minutes before the stop people are warned; somebody wants one hour more.");
    stage.pass_until(50 * 60_000);
    let until = |hours: u32| Timestamp(crate::script::MORNING).plus(Span::hours(hours));
    stage.must("Ines", Order::PostponeStop { instance: lab, until: until(2) });
    stage.pass_until(121 * 60_000);
    stage.say("This one is left out.");
    stage.must("Ines", Order::StartInstance(lab));
    stage.must("Ines", stop("0 11 * * *", StopJobs::Drain(Span::minutes(30))));
    stage.pass_until(170 * 60_000);
    stage.must("Ines", Order::SkipStop { instance: lab });
    stage.pass_until(181 * 60_000);
    stage.say("A stop that waits for jobs, and starts no others.");
    stage.must("Ines", stop("0 12 * * *", StopJobs::Drain(Span::minutes(30))));
    stage.submit(job(Target::Instance(lab), cores(1)), Span::minutes(70));
    stage.pass_until(241 * 60_000);
    let waiting = stage.submit(job(Target::Instance(lab), cores(1)), MINUTE);
    stage.ask_job(waiting);
    stage.pass(Span::minutes(15));
    plan("stops", "Scheduled stops: announced, put off, left out, and waiting for jobs", &stage);
}

#[test]
fn scripts_and_rebuild() {
    let mut stage = Stage::roomy();
    let scripts = Scripts {
        creation: Some(crate::script::script(Span::minutes(10))),
        startup: Some(crate::script::script(Span::minutes(5))),
    };
    let new = atelier_domain::world::NewInstance {
        owner: atelier_domain::UserId::new("ines"),
        owner_name: "Ines".into(),
        scripts,
        ..new_instance("ines-lab", "small")
    };
    stage.say("Made by Mara for Ines: until Ines has accepted them the scripts run without her home.");
    let atelier_domain::world::Answer::Instance(lab) = stage.must("Mara", Order::CreateInstance(Box::new(new))) else {
        panic!("an instance")
    };
    stage.pass(Span::seconds(10));
    stage.report(Report::Healthy { instance: lab, generation: 1 });
    drop(stage.order("Mara", Order::AcceptScripts { instance: lab, revision: 1 }));
    stage.must("Ines", Order::AcceptScripts { instance: lab, revision: 1 });
    stage.say("The first restart after that runs both with the home, and so does a fresh environment.");
    stage.must("Ines", Order::RestartInstance(lab));
    stage.pass(Span::seconds(10));
    stage.must("Ines", Order::RebuildInstance(lab));
    stage.pass(Span::seconds(10));
    stage.say("A script fails: the rescue terminal opens, and a restart tries again.");
    stage.reality.failing_scripts = true;
    stage.must("Ines", Order::RestartInstance(lab));
    stage.pass(Span::seconds(10));
    stage.reality.failing_scripts = false;
    stage.must("Ines", Order::RestartInstance(lab));
    stage.pass(Span::seconds(10));
    plan("scripts-and-rebuild", "Scripts, who trusts them, and a fresh environment", &stage);
}

#[test]
fn engine_paused() {
    let mut stage = Stage::roomy();
    let pool = stage.cluster("train-pool", "small", scale(0, 2, Span::seconds(10)));
    stage.submit(job(Target::Cluster(pool), cores(4)), MINUTE);
    stage.pass(Span::seconds(10));
    stage.must("Owner", Order::Pause { why: "the storage is moved".into() });
    let waiting = stage.submit(job(Target::Cluster(pool), cores(4)), Span::seconds(5));
    stage.ask_job(waiting);
    stage.say("For half an hour nothing is told to anybody, and nothing expires.");
    stage.pass(Span::minutes(30));
    stage.must("Owner", Order::Resume);
    stage.pass(Span::minutes(2));
    plan("engine-paused", "All acting paused: planning goes on, nothing is done, nothing expires", &stage);
}

#[test]
fn node_lost() {
    let mut stage = Stage::roomy();
    let pool = stage.cluster("train-pool", "small", scale(0, 2, Span::seconds(20)));
    let retry = retry(2, &[RetryCause::NodeLost, RetryCause::ExitCode], Span::seconds(30));
    let spec = JobSpec { retry, ..job(Target::Cluster(pool), cores(4)) };
    let fragile = stage.submit_as("Ada", spec, MINUTE, Exit::Code(3));
    let plain = stage.submit(job(Target::Cluster(pool), cores(4)), Span::minutes(10));
    stage.pass(Span::seconds(10));
    stage.say("Both machines are lost. One job has a rule for that, the other has none.");
    for node in [NodeId(1), NodeId(2)] {
        stage.lose(node);
        stage.report(Report::NodeSilent(node));
    }
    stage.pass(Span::seconds(95));
    stage.ask_job(fragile);
    stage.ask_job(plain);
    stage.say("The second attempt ends with exit code 3, which is a cause too; the pause is twice as long.");
    stage.pass(Span::minutes(6));
    plan("node-lost", "Lost nodes: retries by cause, with a pause that doubles, then the end", &stage);
}

#[test]
fn cancel_everywhere() {
    let mut stage = Stage::roomy();
    let pool = stage.cluster("train-pool", "small", scale(0, 1, Span::seconds(20)));
    let spec = || job(Target::Cluster(pool), cores(4));
    stage.say("In the queue, while its node starts.");
    let queued = stage.submit(spec(), MINUTE);
    stage.must("Ada", Order::Cancel(queued));
    drop(stage.order("Ada", Order::Cancel(queued)));
    stage.pass(Span::seconds(5));
    stage.say("Handed over and not yet running.");
    let starting = stage.submit(spec(), MINUTE);
    stage.must("Ada", Order::Cancel(starting));
    stage.must("Ada", Order::Cancel(starting));
    stage.ask_job(starting);
    stage.pass(Span::seconds(2));
    stage.say("Running.");
    let running = stage.submit(spec(), MINUTE);
    stage.pass(Span::seconds(2));
    stage.must("Ada", Order::Cancel(running));
    stage.ask_job(running);
    stage.pass(Span::seconds(2));
    stage.say("Its output is being collected.");
    let ending = stage.submit(spec(), Span::seconds(5));
    stage.pass(Span::millis(5_150));
    stage.ask_job(ending);
    stage.must("Ada", Order::Cancel(ending));
    stage.pass(Span::seconds(2));
    stage.say("Between two attempts.");
    let retry = retry(3, &[RetryCause::ExitCode], MINUTE);
    let again = stage.submit_as("Ada", JobSpec { retry, ..spec() }, Span::seconds(1), Exit::Code(1));
    stage.pass(Span::seconds(3));
    stage.ask_job(again);
    stage.must("Ada", Order::Cancel(again));
    stage.pass(Span::minutes(1));
    plan("cancel-everywhere", "A cancel in every phase of a job", &stage);
}

#[test]
fn cluster_paused() {
    let mut stage = Stage::roomy();
    let pool = stage.cluster("train-pool", "small", scale(1, 2, Span::seconds(10)));
    stage.submit(job(Target::Cluster(pool), cores(4)), MINUTE);
    stage.pass(Span::seconds(5));
    stage.must("Mara", Order::PauseCluster(pool));
    let waiting = stage.submit(JobSpec { priority: Priority::High, ..job(Target::Cluster(pool), cores(4)) }, MINUTE);
    stage.ask_job(waiting);
    stage.ask_cluster(pool);
    stage.say("What runs goes on; the node goes when it is idle.");
    stage.pass(Span::minutes(3));
    stage.must("Mara", Order::ResumeCluster(pool));
    stage.pass(Span::minutes(2));
    stage.say("Deleted with a job running: that is waited for.");
    stage.submit(job(Target::Cluster(pool), cores(4)), Span::seconds(30));
    stage.pass(Span::seconds(1));
    stage.must("Mara", Order::DeleteCluster { cluster: pool, ends_jobs: false });
    drop(stage.order("Ada", Order::Submit(job(Target::Cluster(pool), cores(4)))));
    stage.pass(Span::minutes(1));
    plan("cluster-paused", "A cluster paused, resumed and deleted", &stage);
}

#[test]
fn unknown_found() {
    let mut stage = Stage::roomy();
    let pool = stage.cluster("train-pool", "small", scale(2, 2, Span::seconds(10)));
    stage.pass(Span::seconds(5));
    stage.say("The driver lists one of the two nodes and something that nobody asked for.");
    let known = FoundNode { name: "atelier-1".into(), node: Some(NodeId(1)) };
    let stranger = FoundNode { name: "atelier-99".into(), node: Some(NodeId(99)) };
    stage.lose(NodeId(2));
    let found = |nodes: Vec<FoundNode>, now: u64| Report::Found { site: local(), nodes, as_of: Mono(now) };
    let list = found(vec![known.clone(), stranger.clone()], stage.now);
    stage.report(list);
    stage.pass(Span::seconds(10));
    let all = || vec![known.clone(), FoundNode { name: "atelier-3".into(), node: Some(NodeId(3)) }, stranger.clone()];
    let list = found(all(), stage.now);
    stage.report(list);
    stage.say("Somebody decides that it goes; told again as long as it is listed.");
    stage.must("Mara", Order::RemoveUnknown { site: local(), name: "atelier-99".into() });
    let list = found(all(), stage.now);
    stage.report(list);
    let list = found(all()[..2].to_vec(), stage.now);
    stage.report(list);
    drop(stage.order("Mara", Order::RemoveUnknown { site: local(), name: "atelier-99".into() }));
    stage.ask_cluster(pool);
    plan("unknown-found", "A driver lists something that is not known: it is shown and left alone", &stage);
}

fn warned_of_budget(person: Option<&str>, percent: u8, action: &str) -> Reason {
    Reason::BudgetWarning {
        person: person.map(atelier_domain::UserId::new),
        percent,
        spent: u64::from(percent) * 5_012_300_000,
        amount: 500_000_000_000,
        currency: "EUR".into(),
        ends: "1 Apr 2026 (Europe/Berlin)".into(),
        action: action.into(),
    }
}
