//! What the rules promise, stated one by one: stop and delete arrive from everywhere, silence leads out of
//! every phase, refusals change nothing, queues are fair, the ledger adds up, and a World is its records.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use atelier_domain::UserId;
use atelier_domain::compute::cluster::{Plan, ScaleSettings};
use atelier_domain::compute::fair_share::QueuePolicy;
use atelier_domain::compute::idle::{IdlePolicy, IdleRules};
use atelier_domain::compute::instance::InstanceState;
use atelier_domain::compute::job::{
    After, AfterWhat, JobPhase, JobSpec, JobState, Priority, RetryCause, RetryPolicy, Target, Verdict,
};
use atelier_domain::compute::node::NodePhase;
use atelier_domain::compute::quota::{Resource, Scope};
use atelier_domain::compute::script::{MAX_SCRIPT, Script, Scripts};
use atelier_domain::compute::size::{Price, SiteName, Size, Tier};
use atelier_domain::compute::tags::Tags;
use atelier_domain::compute::{ClusterId, InstanceId, JobId, NodeId, Resources, ScheduleId};
use atelier_domain::reason::Reason;
use atelier_domain::schedule::{Action, StopJobs};
use atelier_domain::time::{Mono, Now, Span, Timestamp};
use atelier_domain::world::{
    About, AllocationKey, Answer, ClusterChange, Command, Effect, Exit, FoundNode, Input, Key, MoveTo, NewInstance,
    Order, Outcome, PoolKey, Record, Report, ScheduleTarget, World,
};
use proptest::prelude::*;

use crate::script::{
    Stage, compute, cores, family, gang, idle_after, job, local, new_instance, ok, order_elsewhere, order_of, retry,
    scale, size, startup, timetable,
};
use crate::support::{cases, golden};

// ---- every phase of an instance
// -------------------------------------------------------------------------------------

const LAB: InstanceId = InstanceId(1);

fn quiet_stage() -> Stage {
    let mut stage = Stage::roomy();
    stage.is_writing = false;
    stage
}

fn state(stage: &Stage, id: InstanceId) -> Option<InstanceState> {
    stage.world.instance(id).map(|instance| stage.world.instance_state(instance))
}

fn node_of(stage: &Stage, id: InstanceId) -> NodeId {
    stage.world.instance(id).and_then(|instance| instance.node).expect("it has a node")
}

fn generation(stage: &Stage, id: InstanceId) -> u64 {
    stage.world.instance(id).expect("it exists").generation
}

fn transfer(instance: InstanceId, from: &str, to: &str) -> Order {
    Order::TransferInstance { instance, from: UserId::new(from), to: UserId::new(to), to_name: to.into() }
}

/// Leads an instance into that state, word by word; nobody else says anything.
fn in_state(wanted: InstanceState) -> Stage {
    use InstanceState as S;
    let mut stage = quiet_stage();
    stage.reality.is_mute = true;
    let scripts = startup(Span::minutes(2));
    stage.instance(NewInstance { scripts, idle: idle_after(Span::minutes(15)), ..new_instance("ines-lab", "small") });
    if wanted == S::CreateFailed {
        for _ in 0..3 {
            let node = node_of(&stage, LAB);
            stage.report(Report::LaunchFailed { node, detail: "no such image".into() });
            if state(&stage, LAB) == Some(S::CreateFailed) {
                break;
            }
            stage.report(Report::NodeGone(node));
            stage.pass(Span::minutes(2));
        }
    }
    if matches!(wanted, S::Creating | S::CreateFailed) {
        return arrived(stage, wanted);
    }
    let node = node_of(&stage, LAB);
    stage.report(Report::NodeUp(node));
    let said = |failure: bool| failure.then(|| "it broke".into());
    if wanted != S::SettingUp {
        let generation = generation(&stage, LAB);
        stage.report(Report::SetUp { instance: LAB, generation, failure: said(wanted == S::SetupFailed) });
    }
    if !matches!(wanted, S::SettingUp | S::SetupFailed | S::UserSettingUp) {
        let generation = generation(&stage, LAB);
        let failure = said(wanted == S::UserSetupFailed);
        stage.report(Report::ScriptDone { instance: LAB, generation, creation_done: false, failure });
    }
    match wanted {
        S::JobRunning => {
            let id = stage.submit(job(Target::Instance(LAB), cores(1)), Span::hours(1));
            stage.report(Report::JobStarted(AllocationKey { job: id, attempt: 1, node }));
        }
        S::Restarting => drop(stage.must("Ada", Order::RestartInstance(LAB))),
        S::Unknown | S::Unusable => drop(stage.report(Report::NodeSilent(node))),
        S::Deleting => drop(stage.must("Ada", Order::DeleteInstance(LAB))),
        S::Stopping | S::Stopped | S::Resizing | S::Transferring | S::Starting => {
            let _ = stage.must("Ada", Order::StopInstance(LAB));
        }
        _ => {}
    }
    if wanted == S::Unusable {
        stage.pass(Span::minutes(3));
    }
    if matches!(wanted, S::Stopped | S::Resizing | S::Transferring | S::Starting) {
        stage.report(Report::NodeGone(node));
    }
    match wanted {
        S::Resizing => drop(stage.must("Ada", Order::ResizeInstance { instance: LAB, size: size("big") })),
        S::Transferring => drop(stage.must("Ada", transfer(LAB, "ada", "bo"))),
        S::Starting => drop(stage.must("Ada", Order::StartInstance(LAB))),
        _ => {}
    }
    arrived(stage, wanted)
}

fn arrived(stage: Stage, wanted: InstanceState) -> Stage {
    assert_eq!(state(&stage, LAB), Some(wanted));
    stage
}

#[test]
fn stop_arrives_from_every_phase() {
    for wanted in &InstanceState::ALL {
        let mut stage = in_state(*wanted);
        stage.speak();
        stage.must("Ada", Order::StopInstance(LAB));
        stage.pass(Span::minutes(10));
        let expected = match wanted {
            InstanceState::CreateFailed => Some(InstanceState::CreateFailed),
            InstanceState::Deleting => None,
            _ => Some(InstanceState::Stopped),
        };
        assert_eq!(state(&stage, LAB), expected, "stopped while {}", wanted.key());
        assert_eq!(stage.world.nodes().count(), 0, "stopped while {}", wanted.key());
        assert!(stage.reality.machines.is_empty(), "stopped while {}", wanted.key());
    }
}

#[test]
fn delete_arrives_from_every_phase() {
    for wanted in &InstanceState::ALL {
        let mut stage = in_state(*wanted);
        stage.speak();
        stage.must("Ada", Order::DeleteInstance(LAB));
        stage.pass(Span::minutes(10));
        assert_eq!(state(&stage, LAB), None, "deleted while {}", wanted.key());
        assert_eq!(stage.world.nodes().count(), 0, "deleted while {}", wanted.key());
        assert_eq!(stage.world.jobs().count(), 0, "deleted while {}", wanted.key());
        assert!(stage.reality.machines.is_empty(), "deleted while {}", wanted.key());
        let name_is_free = stage.order("Ada", Order::CreateInstance(Box::new(new_instance("ines-lab", "small"))));
        assert!(name_is_free.is_ok(), "{name_is_free:?}");
    }
}

/// How often drivers were told to remove each node, from that outcome on.
fn terminations(stage: &Stage, from: usize) -> BTreeMap<NodeId, usize> {
    let mut told = BTreeMap::new();
    for effect in stage.outcomes[from..].iter().flat_map(|outcome| &outcome.effects) {
        if let Effect::Terminate { node, .. } = effect {
            *told.entry(*node).or_default() += 1;
        }
    }
    told
}

/// Every node that is left is on its way out, and its driver is told so again and again.
fn all_are_told_to_go(stage: &Stage, from: usize, when: &str) {
    let told = terminations(stage, from);
    for node in stage.world.nodes() {
        assert!(matches!(node.phase, NodePhase::Releasing { .. }), "{when}: {:?}", node.phase);
        let times = told.get(&node.id).copied().unwrap_or_default();
        assert!(times >= 5, "{when}: {} was told {times} times to go", node.id);
        let why = stage.world.explain_node(node.id).map(|reason| reason.code());
        assert_eq!(why, Some("release-unconfirmed"), "{when}");
    }
}

#[test]
fn stop_and_delete_go_on_telling_when_nobody_answers() {
    for wanted in &InstanceState::ALL {
        for order in [Order::StopInstance(LAB), Order::DeleteInstance(LAB)] {
            let when = format!("{} while {}", crate::script::say_order(&order), wanted.key());
            let mut stage = in_state(*wanted);
            stage.must("Ada", order.clone());
            let from = stage.outcomes.len();
            stage.pass(Span::hours(1));
            all_are_told_to_go(&stage, from, &when);
            // The driver's word is all that was missing.
            let nodes: Vec<NodeId> = stage.world.nodes().map(|node| node.id).collect();
            nodes.into_iter().for_each(|node| drop(stage.report(Report::NodeGone(node))));
            // Whoever gives it to its new owner is told again and again, too.
            let is_given = *wanted == InstanceState::Transferring && state(&stage, LAB) == Some(*wanted);
            let is_stopped =
                is_given || matches!(state(&stage, LAB), Some(InstanceState::Stopped | InstanceState::CreateFailed));
            let is_delete = matches!(order, Order::DeleteInstance(_)) || *wanted == InstanceState::Deleting;
            assert!(
                if is_delete { state(&stage, LAB).is_none() } else { is_stopped },
                "{when}: {:?}",
                state(&stage, LAB)
            );
        }
    }
}

#[test]
fn silence_leads_out_of_every_phase() {
    use InstanceState as S;
    for (wanted, after) in [
        (S::Creating, S::CreateFailed),
        (S::Starting, S::Stopping),
        (S::SettingUp, S::SetupFailed),
        (S::UserSettingUp, S::UserSetupFailed),
        (S::Restarting, S::SetupFailed),
        (S::Resizing, S::Stopped),
        (S::Unknown, S::Unusable),
        (S::Stopping, S::Stopping),
        (S::Deleting, S::Deleting),
    ] {
        let mut stage = in_state(wanted);
        let from = stage.outcomes.len();
        stage.pass(Span::hours(1));
        assert_eq!(state(&stage, LAB), Some(after), "silence while {}", wanted.key());
        if matches!(after, S::Stopping | S::Deleting | S::CreateFailed) {
            all_are_told_to_go(&stage, from, wanted.key());
        }
        if wanted != S::Unknown && !matches!(after, S::Stopping | S::Deleting) {
            let operation = &stage.world.instance(LAB).expect("it exists").operation;
            let failed =
                matches!(operation.result, Some(atelier_domain::compute::instance::OperationResult::Failed(_)));
            assert!(failed, "silence while {}: {operation:?}", wanted.key());
        }
    }
}

#[test]
fn every_phase_with_a_deadline_says_what_it_waits_for() {
    for wanted in &InstanceState::ALL {
        let stage = in_state(*wanted);
        let has_deadline = stage.world.instance(LAB).is_some_and(|instance| instance.phase.deadline().is_some());
        assert_eq!(stage.world.explain_instance(LAB).is_some(), has_deadline, "{}", wanted.key());
    }
}

// ---- jobs and nodes that nobody answers for
// --------------------------------------------------------------------------

/// A job in each of its phases on a node of its own, with mute agents and drivers from then on.
fn job_in(wanted: JobState) -> Option<(Stage, JobId)> {
    let mut stage = quiet_stage();
    let pool = stage.cluster("train-pool", "small", scale(0, 1, Span::seconds(30)));
    stage.reality.is_mute = true;
    let timeout = Some(Span::minutes(5));
    let id = stage.submit(JobSpec { timeout, ..job(Target::Cluster(pool), cores(4)) }, Span::hours(1));
    let part = AllocationKey { job: id, attempt: 1, node: NodeId(1) };
    if wanted != JobState::Queued {
        stage.report(Report::NodeUp(NodeId(1)));
    }
    match wanted {
        JobState::Queued | JobState::Starting => {}
        JobState::Running => drop(stage.report(Report::JobStarted(part))),
        JobState::Finalizing => {
            stage.report(Report::JobStarted(part));
            stage.report(Report::JobExited { part, exit: Exit::Code(0) });
        }
        JobState::CancelRequested => {
            stage.report(Report::JobStarted(part));
            stage.must("Ada", Order::Cancel(id));
        }
        JobState::NotResponding => {
            stage.report(Report::JobStarted(part));
            stage.report(Report::NodePreempted(NodeId(1)));
        }
        JobState::Completed | JobState::Failed | JobState::Canceled => return None,
    }
    assert_eq!(stage.world.job(id).map(|job| job.state()), Some(wanted));
    Some((stage, id))
}

#[test]
fn jobs_come_to_an_end_when_nobody_answers() {
    for wanted in JobState::ALL {
        let Some((mut stage, id)) = job_in(wanted) else { continue };
        let from = stage.outcomes.len();
        stage.pass(Span::hours(1));
        let told = terminations(&stage, from);
        assert!(told.get(&NodeId(1)).is_some_and(|times| *times >= 5), "{}: {told:?}", wanted.key());
        // Only the driver's word that the machine is gone ends what may still run there.
        let is_waiting = stage.world.job(id).is_some();
        assert!(is_waiting, "{}: it may still run", wanted.key());
        let outcome = stage.report(Report::NodeGone(NodeId(1)));
        let verdict = outcome.ended.first().map(|ended| &ended.verdict);
        match wanted {
            JobState::Queued => assert!(stage.world.job(id).is_some_and(|job| job.is_queued())),
            JobState::Starting => assert!(matches!(verdict, Some(Verdict::StartFailed { .. })), "{verdict:?}"),
            JobState::Running => assert!(matches!(verdict, Some(Verdict::TimedOut { .. })), "{verdict:?}"),
            JobState::Finalizing => assert_eq!(verdict, Some(&Verdict::Succeeded)),
            JobState::CancelRequested => assert!(matches!(verdict, Some(Verdict::Canceled { .. })), "{verdict:?}"),
            // Whoever was taken the node from waits for another one.
            _ => assert!(stage.world.job(id).is_some_and(|job| job.is_queued() && job.past.len() == 1)),
        }
    }
}

#[test]
fn a_job_whose_node_falls_silent_says_so_until_it_answers() {
    let (mut stage, id) = job_in(JobState::Running).expect("it runs");
    let state = |stage: &Stage| stage.world.job(id).map(|job| job.state());
    assert_eq!(stage.world.explain_job(id), None);
    stage.report(Report::NodeSilent(NodeId(1)));
    assert_eq!(state(&stage), Some(JobState::NotResponding));
    let reason = stage.world.explain_job(id).expect("a reason");
    assert_eq!(reason.code(), "node-silent");
    assert!(reason.sentence().contains("node-1 hasn’t been heard from for 30 s"), "{}", reason.sentence());
    // Said again, it changes nothing.
    stage.report(Report::NodeSilent(NodeId(1)));
    stage.report(Report::NodeUp(NodeId(1)));
    assert_eq!((state(&stage), stage.world.explain_job(id)), (Some(JobState::Running), None));
    assert_eq!(stage.world.audit(), Vec::<String>::new());
}

#[test]
fn a_program_that_fills_the_disk_is_stopped_with_the_numbers() {
    use atelier_domain::compute::room::{Filled, Program};
    let filled = Filled::Disk { wrote: 5 << 30, free: 100 << 20 };
    let (mut stage, id) = job_in(JobState::Running).expect("it runs");
    // An attempt that is over is not meant.
    stage.report(Report::Fills { program: Program::Job { job: id, attempt: 9 }, filled });
    assert_eq!(stage.world.job(id).map(|job| job.state()), Some(JobState::Running));
    let outcome = stage.report(Report::Fills { program: Program::Job { job: id, attempt: 1 }, filled });
    let ends = outcome.effects.iter().any(|effect| match effect {
        atelier_domain::world::Effect::EndJob { part, grace, .. } => part.job == id && *grace == Span::ZERO,
        _ => false,
    });
    assert!(ends, "it is ended at once: {:?}", outcome.effects);
    let part = AllocationKey { job: id, attempt: 1, node: NodeId(1) };
    let outcome = stage.report(Report::JobOff { part, exit: Exit::Code(137) });
    let verdict = &outcome.ended.first().expect("it is over").verdict;
    assert_eq!(*verdict, Verdict::Filled { filled });
    assert!(verdict.phrase().contains("100 MiB were left, and it had written 5.0 GiB"), "{}", verdict.phrase());

    let mut stage = in_state(InstanceState::Running);
    let generation = stage.world.instance(LAB).expect("it exists").generation;
    let program = |generation| Program::Instance { instance: LAB, generation };
    stage.report(Report::Fills { program: program(generation + 1), filled });
    assert_eq!(state(&stage, LAB), Some(InstanceState::Running));
    let outcome = stage.report(Report::Fills { program: program(generation), filled });
    assert_eq!(state(&stage, LAB), Some(InstanceState::Stopping));
    assert!(outcome.decisions.iter().any(|decision| decision.reason == Reason::Filled { filled }));
}

#[test]
fn a_cancel_is_final_in_every_phase() {
    for wanted in JobState::ALL {
        let Some((mut stage, id)) = job_in(wanted) else { continue };
        stage.must("Bo", Order::Cancel(id));
        let nodes: Vec<NodeId> = stage.world.nodes().map(|node| node.id).collect();
        nodes.into_iter().for_each(|node| drop(stage.report(Report::NodeGone(node))));
        let ended: Vec<&Verdict> = stage
            .outcomes
            .iter()
            .flat_map(|outcome| &outcome.ended)
            .filter(|ended| ended.job.id == id)
            .map(|ended| &ended.verdict)
            .collect();
        assert!(matches!(ended[..], [Verdict::Canceled { .. }]), "{}: {ended:?}", wanted.key());
    }
}

#[test]
fn a_cordoned_node_goes_also_without_a_word() {
    let mut stage = quiet_stage();
    let pool = stage.cluster("train-pool", "small", scale(1, 1, Span::seconds(30)));
    stage.pass(Span::seconds(5));
    stage.reality.is_mute = true;
    stage.must("Ada", Order::ScaleCluster { cluster: pool, scale: scale(0, 0, Span::ZERO) });
    let from = stage.outcomes.len();
    stage.pass(Span::hours(1));
    all_are_told_to_go(&stage, from, "cordoned");
}

// ---- refusals
// -------------------------------------------------------------------------------------------------------

const POOL: ClusterId = ClusterId(1);
const FOREIGN_POOL: ClusterId = ClusterId(2);
const FOREIGN_LAB: InstanceId = InstanceId(2);

/// A running instance with 16 schedules, a cluster with a waiting and a running job, limits, and another
/// workspace.
fn furnished() -> Stage {
    let mut stage = Stage::new(Resources::new(64, 256, 4));
    stage.is_writing = false;
    stage.instance(new_instance("ines-lab", "small"));
    stage.cluster("train-pool", "small", scale(0, 2, Span::seconds(30)));
    stage.submit(gang(POOL, cores(4), 2), Span::hours(10));
    stage.pass(Span::seconds(10));
    stage.submit(gang(POOL, cores(4), 2), Span::hours(10));
    for hour in 0..16 {
        stage.schedule(ScheduleTarget::Instance(LAB), Action::Stop, &format!("0 {hour} 1 1 *"));
    }
    let limits = [
        (Scope::Workspace, Resource::Cores(family("general")), 24_000),
        (Scope::Workspace, Resource::Gpus, 0),
        (Scope::Person(UserId::new("ada")), Resource::Computes, 2),
    ];
    for (scope, resource, limit) in limits {
        stage.must("Owner", Order::SetLimit { scope, resource, limit: Some(limit) });
    }
    let name = compute("other-pool");
    stage.step(vec![
        order_elsewhere(Order::CreateCluster {
            name,
            size: size("small"),
            scale: scale(0, 2, Span::ZERO),
            tier: Tier::Dedicated,
            tags: Tags::default(),
        }),
        order_elsewhere(Order::CreateInstance(Box::new(NewInstance {
            starts: false,
            ..new_instance("other-lab", "small")
        }))),
        order_elsewhere(Order::Submit(gang(FOREIGN_POOL, cores(1), 1))),
        order_elsewhere(Order::AddSchedule {
            target: ScheduleTarget::Instance(FOREIGN_LAB),
            action: Action::Start,
            timetable: timetable("0 9 * * *"),
            jobs: StopJobs::Now,
        }),
    ]);
    stage.pass(Span::seconds(10));
    stage
}

fn bad_orders() -> Vec<(&'static str, Order)> {
    let on_pool = |shape: Resources| job(Target::Cluster(POOL), shape);
    let with_retry = |policy: RetryPolicy| JobSpec { retry: Some(Box::new(policy)), ..on_pool(cores(1)) };
    let policy = || RetryPolicy { max: 1, on: vec![RetryCause::ExitCode], exit_codes: vec![], pause: Span::ZERO };
    let new = |name: &str, size_name: &str| NewInstance { owner: UserId::new("bo"), ..new_instance(name, size_name) };
    let cluster = |name: &str, size_name: &str, min: u32, max: u32, idle: Span| Order::CreateCluster {
        name: compute(name),
        size: size(size_name),
        scale: scale(min, max, idle),
        tier: Tier::Dedicated,
        tags: Tags::default(),
    };
    let after = |job: JobId| JobSpec {
        after: vec![After { job, needs: AfterWhat::Success, ended: None }],
        ..on_pool(cores(1))
    };
    let idle = |window: Span| Some(IdlePolicy::after(window));
    let limit = |scope: Scope, resource: Resource, limit: u64| Order::SetLimit { scope, resource, limit: Some(limit) };
    let sized = |shape: Resources, price: u64, site: SiteName| {
        Order::PutSize(Size { name: size("odd"), family: family("general"), site, shape, price: Price(price) })
    };
    let add = |target: ScheduleTarget, action: Action| Order::AddSchedule {
        target,
        action,
        timetable: timetable("0 9 * * *"),
        jobs: StopJobs::Now,
    };
    let change = |action: Action, jobs: StopJobs| Order::EditSchedule {
        schedule: ScheduleId(1),
        action,
        timetable: timetable("0 9 * * *"),
        jobs,
    };
    let later = |minutes: i64| Timestamp(crate::script::MORNING + minutes * 60_000);
    let many_tags = || Tags((0..21).map(|number| (format!("t{number}"), String::new())).collect());
    let several = |scale: ScaleSettings, tags: Tags| {
        let change = ClusterChange { scale: Some(scale), queue: Some(QueuePolicy::plain()), tags: Some(tags) };
        Order::ChangeCluster { cluster: POOL, change: Box::new(change) }
    };
    let scripts = |blob: &str, arguments: &str| Scripts {
        creation: None,
        startup: Some(Script { blob: blob.into(), arguments: arguments.into(), limit: Span::minutes(1) }),
    };
    let rules = |min: Span, max: Span, default: Option<Span>, is_required: bool| {
        Order::SetIdleRules(IdleRules { default, min, max, is_required })
    };
    let lab = ScheduleTarget::Instance(LAB);
    let pool = ScheduleTarget::Cluster(POOL);
    let years = Span::hours(24 * 365 * 3);
    let serverless = |name: &str, shape: Resources| job(Target::Serverless(size(name)), shape);
    let slurm = ok(SiteName::parse("slurm"));
    vec![
        ("a size that is not there", Order::CreateInstance(Box::new(new("new-lab", "huge")))),
        ("a cluster of a size that is not there", cluster("new-pool", "huge", 0, 1, Span::ZERO)),
        ("a serverless job on a size that is not there", Order::Submit(serverless("huge", cores(1)))),
        ("a size on a site that is not there", sized(Resources::new(1, 1, 0), 0, slurm)),
        ("a size of no cores", sized(Resources::new(0, 1, 0), 0, local())),
        ("a size of 5,000 cores", sized(Resources::new(5_000, 1, 0), 0, local())),
        ("a size that costs the world", sized(Resources::new(1, 1, 0), u64::MAX, local())),
        ("a size in use, otherwise", Order::PutSize(Size { shape: cores(5), ..crate::script::sizes().remove(0) })),
        ("a size in use, away", Order::RemoveSize(size("small"))),
        ("a size that is not there, away", Order::RemoveSize(size("huge"))),
        ("a name that is taken", Order::CreateInstance(Box::new(new("train-pool", "small")))),
        ("a name that is taken by an instance", cluster("ines-lab", "small", 0, 1, Span::ZERO)),
        ("a third compute of somebody who may have two", cluster("new-pool", "small", 0, 1, Span::ZERO)),
        ("an instance without a GPU quota", Order::CreateInstance(Box::new(new("gpu-lab", "gpu")))),
        (
            "a script of no time",
            Order::CreateInstance(Box::new(NewInstance { scripts: startup(Span::ZERO), ..new("new-lab", "tiny") })),
        ),
        (
            "a script of more than a day",
            Order::CreateInstance(Box::new(NewInstance {
                scripts: startup(MAX_SCRIPT.plus(Span::millis(1))),
                ..new("new-lab", "tiny")
            })),
        ),
        (
            "an idle time of a minute",
            Order::CreateInstance(Box::new(NewInstance { idle: idle(Span::minutes(1)), ..new("new-lab", "tiny") })),
        ),
        ("an idle time of years", Order::ConfigureInstance { instance: LAB, idle: idle(years), keeps_quota: false }),
        ("an extension of years", Order::ExtendInstance { instance: LAB, by: years }),
        ("an extension of nothing", Order::ExtendInstance { instance: LAB, by: Span::ZERO }),
        ("a minimum above the maximum", cluster("new-pool", "small", 3, 2, Span::ZERO)),
        ("70,000 nodes", cluster("new-pool", "small", 0, 70_000, Span::ZERO)),
        ("nodes that idle for years", cluster("new-pool", "small", 0, 1, years)),
        ("a minimum that the quota never allows", cluster("new-pool", "small", 9, 9, Span::ZERO)),
        ("a maximum below what a job waits for", Order::ScaleCluster { cluster: POOL, scale: scale(0, 1, Span::ZERO) }),
        ("a cluster that is not there", Order::PauseCluster(ClusterId(99))),
        ("a cluster of another workspace", Order::PauseCluster(FOREIGN_POOL)),
        ("another workspace’s cluster, away", Order::DeleteCluster { cluster: FOREIGN_POOL, ends_jobs: true }),
        ("an instance that is not there", Order::StopInstance(InstanceId(99))),
        ("an instance of another workspace", Order::DeleteInstance(FOREIGN_LAB)),
        ("a job that is not there", Order::Cancel(JobId(99))),
        ("a job of another workspace", Order::Cancel(JobId(3))),
        ("a schedule of another workspace", Order::RemoveSchedule(ScheduleId(17))),
        ("a schedule that is not there", Order::SkipSchedule { schedule: ScheduleId(99), skips: true }),
        ("a running job first", Order::Prioritise { job: JobId(1), priority: Priority::High }),
        ("an array of nothing", Order::SubmitArray { spec: on_pool(cores(1)), count: 0 }),
        ("an array of more than a million", Order::SubmitArray { spec: on_pool(cores(1)), count: 1_000_001 }),
        ("a job on no nodes", Order::Submit(gang(POOL, cores(1), 0))),
        ("a job on 70,000 nodes", Order::Submit(gang(POOL, cores(1), 70_000))),
        ("a job on more nodes than there may be", Order::Submit(gang(POOL, cores(1), 3))),
        (
            "a job on two nodes of an instance",
            Order::Submit(JobSpec { nodes: 2, ..job(Target::Instance(LAB), cores(1)) }),
        ),
        ("a job of no cores", Order::Submit(on_pool(Resources::NONE))),
        ("a job of all cores of the world", Order::Submit(on_pool(Resources { cores: u64::MAX, memory: 1, gpus: 0 }))),
        ("a job of no memory", Order::Submit(on_pool(Resources { cores: 1_000, memory: 0, gpus: 0 }))),
        ("a job of 1 PiB", Order::Submit(on_pool(Resources::new(1, 1_048_576, 0)))),
        ("a job of 300 GPUs", Order::Submit(on_pool(Resources::new(1, 1, 300)))),
        ("a job larger than its node", Order::Submit(on_pool(Resources::new(8, 8, 0)))),
        ("a job with a GPU where there is none", Order::Submit(on_pool(Resources::new(1, 1, 1)))),
        ("a job larger than any node", Order::Submit(on_pool(Resources::new(64, 8, 0)))),
        ("a job that the quota never allows", Order::Submit(JobSpec { nodes: 8, ..serverless("small", cores(4)) })),
        ("a job that the GPU quota never allows", Order::Submit(serverless("gpu", Resources::new(8, 8, 1)))),
        ("a time limit of years", Order::Submit(JobSpec { timeout: Some(years), ..on_pool(cores(1)) })),
        ("a time limit of nothing", Order::Submit(JobSpec { timeout: Some(Span::ZERO), ..on_pool(cores(1)) })),
        ("a grace of an hour", Order::Submit(JobSpec { grace: Span::hours(1), ..on_pool(cores(1)) })),
        ("a million retries", Order::Submit(with_retry(RetryPolicy { max: 1_000_000, ..policy() }))),
        ("a retry on exit code 0", Order::Submit(with_retry(RetryPolicy { exit_codes: vec![0], ..policy() }))),
        ("a retry on exit code 256", Order::Submit(with_retry(RetryPolicy { exit_codes: vec![1, 256], ..policy() }))),
        ("33 exit codes", Order::Submit(with_retry(RetryPolicy { exit_codes: (1..=33).collect(), ..policy() }))),
        ("a pause of an hour", Order::Submit(with_retry(RetryPolicy { pause: Span::hours(1), ..policy() }))),
        ("a job for a cluster that is not there", Order::Submit(job(Target::Cluster(ClusterId(99)), cores(1)))),
        ("a job for another workspace’s cluster", Order::Submit(job(Target::Cluster(FOREIGN_POOL), cores(1)))),
        ("a job for another workspace’s instance", Order::Submit(job(Target::Instance(FOREIGN_LAB), cores(1)))),
        ("a start of another workspace’s instance", Order::StartInstance(FOREIGN_LAB)),
        ("a transfer while it runs", transfer(LAB, "ada", "bo")),
        ("a transfer of what is somebody else’s", transfer(LAB, "bo", "cy")),
        ("a transfer of another workspace’s instance", transfer(FOREIGN_LAB, "ada", "bo")),
        ("another size while it runs", Order::ResizeInstance { instance: LAB, size: size("tiny") }),
        ("a limit below what is used", limit(Scope::Workspace, Resource::Cores(family("general")), 4_000)),
        ("a person’s limit below what they have", limit(Scope::Person(UserId::new("ada")), Resource::Computes, 1)),
        ("everybody’s limit below what one has", limit(Scope::Everybody, Resource::Cores(family("general")), 1)),
        ("a 17th schedule", add(lab, Action::Start)),
        ("a minimum of nodes for an instance", add(lab, Action::MinNodes(2))),
        ("a start for a cluster", add(pool, Action::Start)),
        ("a scheduled minimum above the maximum", add(pool, Action::MinNodes(3))),
        ("a schedule of another workspace’s cluster", add(ScheduleTarget::Cluster(FOREIGN_POOL), Action::MinNodes(1))),
        (
            "a schedule changed to what it cannot do",
            Order::EditSchedule {
                schedule: ScheduleId(1),
                action: Action::MinNodes(1),
                timetable: timetable("0 9 * * *"),
                jobs: StopJobs::Now,
            },
        ),
        ("a stop that waits for a week", change(Action::Stop, StopJobs::Drain(Span::hours(168)))),
        ("a start that waits for jobs", change(Action::Start, StopJobs::Drain(Span::minutes(5)))),
        ("a stop put off for a week", Order::PostponeStop { instance: LAB, until: later(10_080) }),
        ("a stop put off until yesterday", Order::PostponeStop { instance: LAB, until: later(-1_440) }),
        ("a stop put off that comes later anyway", Order::PostponeStop { instance: LAB, until: later(60) }),
        ("a stop put off of one that is stopped", Order::PostponeStop { instance: FOREIGN_LAB, until: later(60) }),
        ("a rebuild of another workspace’s instance", Order::RebuildInstance(FOREIGN_LAB)),
        ("an open application of another workspace’s instance", Order::WakeInstance(FOREIGN_LAB)),
        ("21 tags", Order::TagInstance { instance: LAB, tags: many_tags() }),
        ("a script that is no hash", Order::SetScripts { instance: LAB, scripts: scripts("../../etc/passwd", "") }),
        (
            "a script with a quote left open",
            Order::SetScripts { instance: LAB, scripts: scripts(&"5c".repeat(32), "'a") },
        ),
        ("scripts that were changed meanwhile", Order::AcceptScripts { instance: LAB, revision: 7 }),
        ("an idle time above the rules’ end", rules(Span::minutes(15), Span::hours(100), None, false)),
        ("idle rules upside down", rules(Span::hours(2), Span::hours(1), None, false)),
        ("a default outside of the rules", rules(Span::hours(1), Span::hours(2), Some(Span::hours(3)), false)),
        ("required idle times without a default", rules(Span::hours(1), Span::hours(2), None, true)),
        (
            "more nodes kept ready than there may be",
            Order::ScaleCluster { cluster: POOL, scale: ScaleSettings { warm: 3, ..scale(0, 2, Span::ZERO) } },
        ),
        (
            "a change with good tags, a good policy and a bad maximum",
            several(scale(0, 1, Span::ZERO), ok(Tags::parse("team=vision"))),
        ),
        ("a change with a good maximum and 21 tags", several(scale(0, 9, Span::ZERO), many_tags())),
        ("an eviction of a waiting job", Order::EvictJob(JobId(2))),
        ("an eviction of a node that is not there", Order::EvictNode(NodeId(99))),
        ("an eviction of an instance’s node", Order::EvictNode(NodeId(1))),
        ("a hold on a running job", Order::Hold { job: JobId(1), why: String::new() }),
        ("a hold with a reason of 10 MB", Order::Hold { job: JobId(2), why: "x".repeat(10_000_000) }),
        ("a hold on another workspace’s job", Order::Hold { job: JobId(3), why: String::new() }),
        ("a move of a running job", Order::Move { job: JobId(1), to: MoveTo::Front, over_all: true }),
        ("a move before a running job", Order::Move { job: JobId(2), to: MoveTo::Before(JobId(1)), over_all: true }),
        ("a move before itself", Order::Move { job: JobId(2), to: MoveTo::Before(JobId(2)), over_all: true }),
        (
            "a move before another workspace’s job",
            Order::Move { job: JobId(2), to: MoveTo::Before(JobId(3)), over_all: true },
        ),
        ("a job after one that is not there", Order::Submit(after(JobId(99)))),
        ("a job after itself", Order::Submit(after(JobId(4)))),
        ("a job after another workspace’s", Order::Submit(after(JobId(3)))),
        (
            "a job after 101 others",
            Order::Submit(JobSpec { after: vec![after(JobId(1)).after.remove(0); 101], ..on_pool(cores(1)) }),
        ),
        ("a workspace’s limit of running jobs", limit(Scope::Workspace, Resource::RunningJobs, 5)),
        ("a limit below what somebody has running", limit(Scope::Everybody, Resource::RunningCores, 4_000)),
        ("a weight of nothing", Order::SetFairShare { person: UserId::new("bo"), weight: 0 }),
        ("a weight below nothing", Order::SetFairShare { person: UserId::new("bo"), weight: -5 }),
        ("a weight of a million", Order::SetFairShare { person: UserId::new("bo"), weight: 1_000_000 }),
        ("a half-life of a minute", Order::SetHalfLife(Span::minutes(1))),
        ("a half-life of three years", Order::SetHalfLife(years)),
        (
            "a policy of another workspace’s cluster",
            Order::SetQueuePolicy { cluster: Some(FOREIGN_POOL), policy: QueuePolicy::plain() },
        ),
        ("a reason of 10 MB", Order::Pause { why: "x".repeat(10_000_000) }),
        ("an unknown thing that was not found", Order::RemoveUnknown { site: local(), name: "atelier-99".into() }),
        ("an unknown thing with a name of 10 MB", Order::RemoveUnknown { site: local(), name: "y".repeat(10_000_000) }),
        ("a skipped time skipped again", Order::SkipSchedule { schedule: ScheduleId(2), skips: true }),
    ]
}

#[test]
fn a_refused_order_changes_nothing_and_says_what_is_allowed() {
    let mut stage = furnished();
    stage.must("Ada", Order::SkipSchedule { schedule: ScheduleId(2), skips: true });
    let before = stage.world.fingerprint();
    let mut text = String::from("# Orders that are refused, and what is said\n");
    let orders = bad_orders();
    for (what, order) in &orders {
        let outcome = stage.step(vec![order_of("Ada", order.clone())]);
        let Some(Some(Err(reason))) = outcome.replies.first() else {
            panic!("{what} was taken: {:?}", outcome.replies);
        };
        assert_eq!(stage.world.fingerprint(), before, "{what} changed something");
        assert!(outcome.changed.is_empty() && outcome.gone.is_empty(), "{what}: {:?}", outcome.changed);
        assert!(outcome.effects.is_empty() && outcome.decisions.is_empty() && outcome.ended.is_empty(), "{what}");
        assert!(reason.sentence().len() < 400, "{what} is answered at length");
        writeln!(text, "\n{what}").expect("writing to a string");
        let field = match reason {
            Reason::Invalid { problem } => format!(" ({})", problem.field),
            _ => String::new(),
        };
        writeln!(text, "  {}{field}: {}", reason.code(), reason.sentence()).expect("writing to a string");
        if let Some(next) = reason.next_step() {
            writeln!(text, "  → {next}").expect("writing to a string");
        }
    }
    // Nobody's things need an owner.
    for order in [
        Order::Submit(job(Target::Cluster(POOL), cores(1))),
        Order::CreateCluster {
            name: compute("new-pool"),
            size: size("small"),
            scale: scale(0, 1, Span::ZERO),
            tier: Tier::Dedicated,
            tags: Tags::default(),
        },
    ] {
        let Input::Command(command) = order_of("Ada", order) else { continue };
        let outcome = stage.step(vec![Input::Command(Command { user: None, ..command })]);
        let refused = matches!(&outcome.replies[0], Some(Err(Reason::Invalid { problem })) if problem.field == "owner");
        assert!(refused && stage.world.fingerprint() == before, "{:?}", outcome.replies);
    }
    assert!(orders.len() >= 70, "{} orders", orders.len());
    golden("engine/refusals.txt", &text);
}

#[test]
fn what_drivers_and_agents_say_at_length_is_kept_short() {
    let mut stage = quiet_stage();
    stage.reality.is_mute = true;
    let huge = || -> atelier_domain::text::Text { "z".repeat(10_000_000).into() };
    let pool = stage.cluster("train-pool", "small", scale(0, 1, Span::seconds(30)));
    stage.instance(new_instance("ines-lab", "small"));
    let id = stage.submit(job(Target::Cluster(pool), cores(1)), Span::hours(1));
    let (lab_node, pool_node) = (NodeId(1), NodeId(2));
    stage.report(Report::NodeUp(lab_node));
    stage.report(Report::SetUp { instance: LAB, generation: 1, failure: Some(huge()) });
    stage.report(Report::LaunchFailed { node: pool_node, detail: huge() });
    let found = FoundNode { name: "y".repeat(10_000_000), node: None };
    stage.report(Report::Found { site: local(), nodes: vec![found], as_of: Mono(0) });
    stage.report(Report::NodeGone(pool_node));
    stage.pass(Span::minutes(1));
    let node = stage.world.nodes().map(|node| node.id).max().expect("the next try");
    stage.report(Report::NodeUp(node));
    stage.report(Report::JobRefused { part: AllocationKey { job: id, attempt: 1, node }, detail: huge() });
    let bytes = serde_json::to_string(&stage.world.records()).expect("it can be written").len();
    assert!(bytes < 20_000, "{bytes} bytes are kept");
    let said: usize = stage.outcomes.iter().map(|outcome| format!("{outcome:?}").len()).sum();
    assert!(said < 200_000, "{said} bytes are written down");
}

// ---- queues
// ---------------------------------------------------------------------------------------------------------

fn places(stage: &Stage, pool: &PoolKey) -> Vec<JobId> {
    stage.world.pool(pool).map(|pool| pool.queue.in_order(usize::MAX)).unwrap_or_default()
}

#[test]
fn an_instance_runs_one_job_for_each_core_as_far_as_memory_goes() {
    for (shape, at_once) in [
        (Resources::new(1, 1, 0), 4),
        (Resources::new(4, 1, 0), 4),
        (Resources { cores: 100, memory: 64, gpus: 0 }, 4),
        (Resources::new(1, 8, 0), 2),
        (Resources::new(1, 16, 0), 1),
    ] {
        let mut stage = quiet_stage();
        stage.instance(new_instance("ines-lab", "small"));
        stage.pass(Span::seconds(10));
        let jobs: Vec<JobId> =
            (0..10).map(|_| stage.submit(job(Target::Instance(LAB), shape), Span::minutes(1))).collect();
        let node = node_of(&stage, LAB);
        let on = |stage: &Stage| stage.world.on_node(node).map_or(0, |on| on.jobs.len());
        assert_eq!(on(&stage), at_once, "{shape}");
        assert_eq!(stage.world.position(jobs[9]), Some((10 - at_once as u64, 10 - at_once as u64)), "{shape}");
        while stage.world.jobs().count() > 0 && stage.now < 3_600_000 {
            stage.pass(Span::seconds(1));
            assert!(on(&stage) <= at_once, "{shape}");
        }
        assert_eq!(stage.world.jobs().count(), 0, "{shape}");
        assert_eq!(stage.outcomes.iter().map(|outcome| outcome.ended.len()).sum::<usize>(), 10);
    }
}

proptest! {
    #![proptest_config(cases(64))]

    /// Places in a queue are by priority and then by arrival, whatever is raised, lowered and canceled.
    #[test]
    fn the_position_in_the_queue_is_right(
        jobs in proptest::collection::vec((0usize..3, 1u32..4), 1..30),
        changes in proptest::collection::vec((0usize..30, 0usize..4), 0..30),
    ) {
        let mut stage = quiet_stage();
        let pool = stage.cluster("train-pool", "small", scale(0, 4, Span::seconds(30)));
        stage.must("Ada", Order::PauseCluster(pool));
        let mut expected: Vec<(usize, JobId)> = Vec::new();
        for (priority, nodes) in jobs {
            let spec = JobSpec { priority: Priority::ALL[priority], ..gang(pool, cores(1), nodes) };
            expected.push((priority, stage.submit(spec, Span::minutes(1))));
        }
        for (index, change) in changes {
            if expected.is_empty() {
                break;
            }
            let index = index % expected.len();
            let id = expected[index].1;
            match Priority::ALL.get(change) {
                Some(priority) => {
                    stage.must("Ada", Order::Prioritise { job: id, priority: *priority });
                    expected[index].0 = change;
                }
                None => {
                    stage.must("Ada", Order::Cancel(id));
                    expected.remove(index);
                }
            }
        }
        expected.sort_unstable();
        let of = expected.len() as u64;
        for (place, (_, id)) in expected.iter().enumerate() {
            prop_assert_eq!(stage.world.position(*id), Some((place as u64 + 1, of)));
        }
        let order: Vec<JobId> = expected.iter().map(|(_, id)| *id).collect();
        prop_assert_eq!(places(&stage, &PoolKey::Cluster(pool)), order);
    }

    /// Nobody is started while somebody who came before them in the same queue still waits.
    #[test]
    fn nobody_overtakes_in_a_queue(
        jobs in proptest::collection::vec((0usize..3, 1u32..4, 1u64..5, 0u32..40, 1u32..90), 1..25),
        on_instance in any::<bool>(),
    ) {
        let mut stage = quiet_stage();
        let pool = stage.cluster("train-pool", "small", scale(0, 3, Span::seconds(20)));
        stage.instance(new_instance("ines-lab", "small"));
        stage.must("Owner", Order::SetQueuePolicy { cluster: Some(pool), policy: QueuePolicy::plain() });
        for (priority, nodes, width, pause, runs) in jobs {
            let target = if on_instance { Target::Instance(LAB) } else { Target::Cluster(pool) };
            let nodes = if on_instance { 1 } else { nodes };
            let spec = JobSpec { priority: Priority::ALL[priority], nodes, ..job(target, cores(width)) };
            stage.submit(spec, Span::seconds(runs));
            stage.pass(Span::seconds(pause));
        }
        stage.pass(Span::hours(10));
        prop_assert_eq!(&stage.overtaking, &Vec::new());
        prop_assert_eq!(stage.world.jobs().count(), 0, "everybody came to an end");
    }

    /// A node's time is shared by what runs on it, by cores, and the shares are the whole.
    #[test]
    fn the_ledger_adds_up(
        first in (1u64..4_000, 1u32..3_000),
        second in (1u64..4_000, 1u32..3_000),
    ) {
        let (first_cores, first_runs) = first;
        let second_cores = second.0.min(4_000 - first_cores);
        prop_assume!(second_cores > 0);
        let second_runs = second.1;
        let mut stage = quiet_stage();
        let pool = stage.cluster("train-pool", "small", scale(0, 1, Span::seconds(7)));
        let shape = |cores| Resources { cores, memory: 512, gpus: 0 };
        let one = stage.submit(job(Target::Cluster(pool), shape(first_cores)), Span::seconds(first_runs));
        let two = stage.submit_as(
            "Bo",
            job(Target::Cluster(pool), shape(second_cores)),
            Span::seconds(second_runs),
            Exit::Code(0),
        );
        stage.pass(Span::hours(2));
        prop_assert_eq!(stage.world.nodes().count(), 0);
        let mut millis: BTreeMap<Option<JobId>, u64> = BTreeMap::new();
        let (mut cost, mut charges) = (0, 0);
        for (key, charge) in stage.outcomes.iter().flat_map(|outcome| &outcome.ledger) {
            *millis.entry(key.job).or_default() += charge.millis;
            cost += charge.cost;
            charges += 1;
            let user = match key.job {
                Some(job) if job == two => "bo",
                _ => "ada",
            };
            prop_assert_eq!(key.user.as_str(), user);
        }
        // Made at 0, up after 2 s, 200 ms more than the jobs run, 7 s idle, drained in 0.1 s, gone after 1 s.
        let longest = u64::from(first_runs.max(second_runs)) * 1_000 + 200;
        let life = 2_000 + longest + 7_000 + 100 + 1_000;
        prop_assert_eq!(millis.values().sum::<u64>(), life);
        prop_assert_eq!(millis[&None], life - longest);
        let overlap = u64::from(first_runs.min(second_runs)) * 1_000 + 200;
        let share = overlap * first_cores / (first_cores + second_cores);
        let alone = if first_runs > second_runs { longest - overlap } else { 0 };
        prop_assert!(millis[&Some(one)].abs_diff(share + alone) <= 2, "{:?}, {share} and {alone}", millis);
        // 0.4 an hour, in billionths; each charge may lose less than one billionth.
        let whole = 400_000 * life / 3_600;
        prop_assert!(cost <= whole && whole - cost <= charges, "{cost} of {whole} in {charges} charges");
    }
}

// ---- clocks
// ---------------------------------------------------------------------------------------------------------

/// Something of everything: all that has a deadline, or could.
fn busy_site() -> Stage {
    let mut stage = quiet_stage();
    let pool = stage.cluster("train-pool", "small", scale(1, 3, Span::seconds(120)));
    let idle = idle_after(Span::minutes(15));
    stage.instance(NewInstance { idle, ..new_instance("ines-lab", "small") });
    stage.instance(new_instance("slow-lab", "small"));
    let timeout = Some(Span::hours(2));
    stage.submit(JobSpec { timeout, ..job(Target::Cluster(pool), cores(4)) }, Span::hours(1));
    stage.pass(Span::seconds(30));
    stage.reality.is_mute = true;
    stage.submit(job(Target::Cluster(pool), cores(4)), Span::hours(1));
    stage.submit(gang(pool, cores(4), 3), Span::hours(1));
    stage.submit(job(Target::Serverless(size("tiny")), cores(1)), Span::hours(1));
    stage.must("Ada", Order::StopInstance(InstanceId(2)));
    stage.report(Report::Activity { instance: LAB, active: Vec::new(), stretch: Span::seconds(20) });
    stage
}

#[test]
fn a_jump_of_the_wall_clock_expires_nothing() {
    for hours in [10_i64, -10, 24 * 365, -24 * 365] {
        let mut stage = busy_site();
        let before = stage.world.fingerprint();
        stage.skew = hours * 3_600_000;
        let outcome = stage.step(Vec::new());
        // A clock that was wrong by hours takes what was done by hand under it along; nothing else moves.
        if hours > 0 {
            assert_eq!(stage.world.fingerprint(), before, "{hours} h");
        }
        assert!(outcome.decisions.is_empty() && outcome.ended.is_empty(), "{hours} h: {:?}", outcome.decisions);
        assert!(outcome.effects.is_empty() && outcome.ledger.is_empty(), "{hours} h: {:?}", outcome.effects);
        // And what follows is what would have followed: only the wall clock is written differently.
        let mut straight = busy_site();
        for _ in 0..60 {
            stage.pass(Span::minutes(1));
            straight.pass(Span::minutes(1));
        }
        let told =
            |stage: &Stage| stage.outcomes.iter().flat_map(|outcome| outcome.effects.clone()).collect::<Vec<_>>();
        assert_eq!(told(&stage), told(&straight), "{hours} h");
    }
}

#[test]
fn a_clock_that_goes_back_fires_no_schedule_twice() {
    let mut stage = quiet_stage();
    stage.instance(NewInstance { starts: false, ..new_instance("ines-lab", "small") });
    stage.schedule(ScheduleTarget::Instance(LAB), Action::Start, "0 9 * * *");
    stage.pass(Span::minutes(61));
    assert_eq!(state(&stage, LAB), Some(InstanceState::Running));
    let fired = |stage: &Stage| {
        let decisions = stage.outcomes.iter().flat_map(|outcome| &outcome.decisions);
        decisions.filter(|decision| matches!(decision.reason.code(), "fired" | "already-so")).count()
    };
    assert_eq!(fired(&stage), 1);
    // Ten minutes back, over the planned time: it was looked at already.
    stage.skew -= 600_000;
    stage.pass(Span::minutes(30));
    assert_eq!(fired(&stage), 1);
    // A step back in the other clock changes nothing at all.
    let before = stage.world.fingerprint();
    let now = Now { mono: Mono(0), ..stage.clocks() };
    let outcome = stage.world.step(&[], now);
    assert!(outcome.changed.is_empty() && outcome.effects.is_empty());
    assert_eq!(stage.world.fingerprint(), before);
}

// ---- histories
// ------------------------------------------------------------------------------------------------------

type Wish = (u8, u8, u8, u16);

fn pick<T: Copy>(list: &[T], index: u8) -> Option<T> {
    if list.is_empty() { None } else { list.get(usize::from(index) % list.len()).copied() }
}

/// What people do and what goes wrong, one thing after another.
fn live(wishes: &[Wish]) -> Stage {
    let mut stage = Stage::new(Resources::new(40, 160, 2));
    stage.is_writing = false;
    let sizes = ["small", "tiny", "big", "gpu"];
    for (number, (kind, a, b, pause)) in wishes.iter().enumerate() {
        let (a, b) = (*a, *b);
        let clusters: Vec<ClusterId> = stage.world.clusters().map(|cluster| cluster.id).collect();
        let instances: Vec<InstanceId> = stage.world.instances().map(|instance| instance.id).collect();
        let jobs: Vec<JobId> = stage.world.jobs().map(|job| job.id).collect();
        let nodes: Vec<NodeId> = stage.world.nodes().map(|node| node.id).collect();
        let schedules: Vec<ScheduleId> = stage.world.schedules().map(|entry| entry.id).collect();
        let name = compute(&format!("compute-{number}"));
        let size_name = size(sizes[usize::from(a) % 4]);
        let warm = u32::from(a % 8 == 0);
        let settings = ScaleSettings { warm, ..scale(u32::from(b % 3), u32::from(b % 5), Span::seconds(u32::from(a))) };
        let order = match (kind % 24, pick(&clusters, a), pick(&instances, a), pick(&jobs, b)) {
            (0 | 1, ..) => Some(Order::CreateCluster {
                name,
                size: size_name,
                scale: settings,
                tier: Tier::Dedicated,
                tags: Tags::default(),
            }),
            (2, ..) => Some(Order::CreateInstance(Box::new(NewInstance {
                scripts: if b % 2 == 0 { startup(Span::minutes(2)) } else { Scripts::default() },
                idle: (b % 3 == 0).then(|| IdlePolicy::after(Span::minutes(15))),
                keeps_quota: b % 5 == 0,
                starts: b % 4 != 0,
                ..new_instance(name.as_str(), size_name.as_str())
            }))),
            (3..=9, cluster, instance, _) => {
                let target = match (b % 4, cluster, instance) {
                    (0, _, Some(instance)) => Target::Instance(instance),
                    (1, ..) => Target::Serverless(size_name),
                    (_, Some(cluster), _) => Target::Cluster(cluster),
                    _ => Target::Serverless(size_name),
                };
                let retry =
                    retry(2, &[RetryCause::NodeLost, RetryCause::ExitCode, RetryCause::Preempted], Span::seconds(5));
                let code = if b % 5 == 0 { 3 } else { 0 };
                stage.reality.runs.insert(
                    JobId(stage.world.state().jobs + 1),
                    (Span::seconds(1 + u32::from(a) * 2), Exit::Code(code)),
                );
                Some(Order::Submit(JobSpec {
                    nodes: if b % 3 == 0 { 1 + u32::from(a % 3) } else { 1 },
                    priority: Priority::ALL[usize::from(b) % 3],
                    timeout: (a % 7 == 0).then(|| Span::minutes(3)),
                    retry: if a % 2 == 0 { retry } else { None },
                    after: pick(&jobs, a)
                        .filter(|_| b % 4 == 2)
                        .map(|job| After {
                            job,
                            needs: if a % 2 == 0 { AfterWhat::Success } else { AfterWhat::Any },
                            ended: None,
                        })
                        .into_iter()
                        .collect(),
                    ..job(target, cores(1 + u64::from(a % 3)))
                }))
            }
            (10, _, _, Some(job)) => Some(match a % 7 {
                6 => Order::EvictJob(job),
                0 => Order::Hold { job, why: "a test".into() },
                1 => Order::Release(job),
                2 => Order::Move { job, to: MoveTo::Front, over_all: b % 2 == 0 },
                3 => Order::Move { job, to: MoveTo::Back, over_all: b % 2 == 0 },
                4 => pick(&jobs, a).map_or(Order::Resume, |other| Order::Move {
                    job,
                    to: MoveTo::Before(other),
                    over_all: b % 2 == 0,
                }),
                _ => Order::Cancel(job),
            }),
            (11, _, _, Some(job)) => Some(Order::Prioritise { job, priority: Priority::ALL[usize::from(a) % 3] }),
            (12, Some(cluster), ..) => Some(Order::ScaleCluster { cluster, scale: settings }),
            (13, Some(cluster), ..) => Some(Order::PauseCluster(cluster)),
            (14, Some(cluster), ..) => Some(Order::ResumeCluster(cluster)),
            (15, Some(cluster), ..) => Some(Order::DeleteCluster { cluster, ends_jobs: b % 2 == 0 }),
            (16, _, Some(instance), _) => Some(match b % 10 {
                5 => Order::RebuildInstance(instance),
                6 => Order::PostponeStop { instance, until: stage.clocks().wall.plus(Span::minutes(u32::from(a) / 8)) },
                7 => Order::SkipStop { instance },
                8 => Order::SetScripts { instance, scripts: startup(Span::minutes(1 + u32::from(a))) },
                9 => Order::AcceptScripts { instance, revision: u32::from(a % 3) },
                0 => Order::StopInstance(instance),
                1 => Order::StartInstance(instance),
                2 => Order::RestartInstance(instance),
                3 => Order::DeleteInstance(instance),
                _ => Order::ResizeInstance { instance, size: size_name },
            }),
            (17, _, Some(instance), _) => Some(Order::AddSchedule {
                target: ScheduleTarget::Instance(instance),
                action: if b % 2 == 0 { Action::Start } else { Action::Stop },
                timetable: timetable(if a % 2 == 0 { "*/3 * * * *" } else { "*/20 * * * *" }),
                jobs: match b % 6 {
                    1 => StopJobs::Drain(Span::minutes(2)),
                    3 => StopJobs::Skip,
                    _ => StopJobs::Now,
                },
            }),
            (18, ..) if b % 4 == 0 => Some(Order::SetLimit {
                scope: Scope::Everybody,
                resource: Resource::RUNNING[usize::from(a) % 3].clone(),
                limit: (b % 8 != 0).then(|| u64::from(a % 8) * if a % 3 == 1 { 1_000 } else { 1 }),
            }),
            (18, ..) => Some(Order::SetLimit {
                scope: if a % 2 == 0 { Scope::Workspace } else { Scope::Everybody },
                resource: Resource::Cores(family("general")),
                limit: (b % 3 != 0).then(|| u64::from(b % 40) * 1_000),
            }),
            (19, ..) if b % 2 == 0 => Some(Order::Pause { why: "a test".into() }),
            (19, ..) => Some(Order::Resume),
            (20, ..) => Some(Order::SetIdleRules(IdleRules {
                min: Span::minutes(15 + u32::from(a)),
                is_required: b % 2 == 0,
                ..IdleRules { default: Some(Span::hours(10)), ..IdleRules::default() }
            })),
            (21, ..) => pick(&schedules, a).map(|schedule| Order::SkipSchedule { schedule, skips: b % 2 == 0 }),
            _ => None,
        };
        match (order, pick(&nodes, b)) {
            (Some(order), _) => drop(stage.order(if a % 2 == 0 { "Ada" } else { "Bo" }, order)),
            (None, Some(node)) => match a % 4 {
                0 => {
                    stage.lose(node);
                    stage.report(Report::NodeSilent(node));
                }
                1 => drop(stage.report(Report::NodePreempted(node))),
                2 => drop(stage.report(Report::NodeUp(node))),
                _ => stage.reality.failing_launches += 2,
            },
            (None, None) => {}
        }
        stage.pass(Span::millis(u64::from(*pause) * 5));
    }
    stage.must("Ada", Order::Resume);
    stage.pass(Span::minutes(20));
    stage
}

fn wishes() -> impl Strategy<Value = Vec<Wish>> {
    proptest::collection::vec((any::<u8>(), any::<u8>(), any::<u8>(), any::<u16>()), 1..40)
}

/// A job whose nodes have gathered for too long is judged by who else waits for room, which a loaded World
/// finds out only in its first step.
fn stops_gathering(world: &World, now: Now) -> bool {
    world.jobs().any(|job| {
        matches!(job.phase, JobPhase::Queued { hold: None, gathering: Some(_) })
            && job.deadline().is_some_and(|until| until <= now.mono)
    })
}

/// Where a World comes to rest if nothing happens and no time passes: a load looks at every pool, a step only
/// at those in which something happened.
fn at_rest(world: &World, now: Now) -> Vec<Record> {
    let mut world = World::load(world.records(), now);
    for _ in 0..4 {
        world.step(&[], now);
        world = World::load(world.records(), now);
    }
    without_plans(&world)
}

/// All records, without the plans of clusters.
/// The records without the words: of two reasons that hold at once for letting a node go, either may be said.
fn without_plans(world: &World) -> Vec<Record> {
    let mut records = world.records();
    for record in &mut records {
        match record {
            Record::Cluster(cluster) => cluster.plan = Plan::default(),
            Record::Node(node) => {
                if let NodePhase::Cordoned { why, .. }
                | NodePhase::Reclaiming { why, .. }
                | NodePhase::Releasing { why, .. } = &mut node.phase
                {
                    **why = Reason::Overruled;
                }
            }
            _ => {}
        }
    }
    records
}

proptest! {
    #![proptest_config(cases(64))]

    /// The same inputs at the same times give the same outcomes, and the same World.
    #[test]
    fn the_same_inputs_give_the_same_outcomes(wishes in wishes()) {
        let stage = live(&wishes);
        let mut world = World::default();
        for ((inputs, now), expected) in stage.inputs.iter().zip(&stage.outcomes) {
            prop_assert_eq!(&world.step(inputs, *now), expected);
        }
        prop_assert_eq!(world.fingerprint(), stage.world.fingerprint());
    }

    /// A World that is loaded from its records goes on as the one that was saved: it answers the same, the
    /// same jobs come to the same end, the same time is charged, and it comes to rest in the same place.
    #[test]
    fn a_loaded_world_goes_on_as_the_one_that_was_saved(wishes in wishes()) {
        let stage = live(&wishes);
        let mut world = World::default();
        let mut before = Now::default();
        for (number, (inputs, now)) in stage.inputs.iter().enumerate() {
            let mut records = world.records();
            if number % 8 == 0 {
                // Through the store's own form, and in another order.
                let text = serde_json::to_string(&records).expect("records can be written");
                records = serde_json::from_str(&text).expect("records can be read");
                records.reverse();
            }
            let mut loaded = World::load(records, before);
            prop_assert_eq!(loaded.fingerprint(), world.fingerprint());
            // While acting is paused, a launch that waits after a failure is planned again by a load only.
            let is_comparable = !stops_gathering(&world, *now) && world.state().pause.is_none();
            let again = loaded.step(inputs, *now);
            let outcome = world.step(inputs, *now);
            prop_assert_eq!(&again.replies, &outcome.replies);
            if is_comparable {
                let over = |outcome: &Outcome| -> BTreeMap<JobId, Verdict> {
                    outcome.ended.iter().map(|ended| (ended.job.id, ended.verdict.clone())).collect()
                };
                prop_assert_eq!(over(&again), over(&outcome), "step {} at {:?}", number, now);
                let charged = |outcome: &Outcome| outcome.ledger.values().map(|charge| charge.millis).sum::<u64>();
                prop_assert_eq!(charged(&again), charged(&outcome), "step {} at {:?}", number, now);
                prop_assert_eq!(at_rest(&loaded, *now), at_rest(&world, *now), "step {} at {:?}", number, now);
            }
            prop_assert_eq!(loaded.audit(), Vec::<String>::new());
            before = *now;
        }
    }

    /// What changed is said: a store that follows `changed` and `gone` holds what the World holds.
    #[test]
    fn a_store_that_follows_the_outcomes_has_the_world(wishes in wishes()) {
        let stage = live(&wishes);
        let mut world = World::default();
        let mut store: BTreeMap<Key, Record> = BTreeMap::new();
        for (inputs, now) in &stage.inputs {
            let outcome = world.step(inputs, *now);
            for key in &outcome.gone {
                prop_assert!(world.record(key).is_none(), "{key:?} is said to be gone");
                store.remove(key);
            }
            for key in &outcome.changed {
                let Some(record) = world.record(key) else {
                    return Err(TestCaseError::fail(format!("{key:?} is said to have changed and is not there")));
                };
                store.insert(key.clone(), record);
            }
        }
        store.entry(Key::State).or_insert_with(|| world.record(&Key::State).expect("there is always a state"));
        let kept = World::load(store.into_values(), stage.clocks());
        prop_assert_eq!(kept.fingerprint(), world.fingerprint());
    }
}

#[test]
fn an_empty_world_answers_and_does_nothing() {
    let mut world = World::default();
    let outcome = world.step(&[], Now { wall: Timestamp(0), mono: Mono(0) });
    assert!(outcome.changed.is_empty() && outcome.effects.is_empty() && outcome.wake.is_none());
    let outcome = world.step(&[order_of("Ada", Order::Resume)], Now::default());
    assert_eq!(outcome.replies, [Some(Ok(Answer::Already))]);
}

// ---- what once went wrong
// -------------------------------------------------------------------------------------------

fn cores_limit(scope: Scope, whole: u64) -> Order {
    Order::SetLimit { scope, resource: Resource::Cores(family("general")), limit: Some(whole * 1_000) }
}

fn codes(stage: &Stage, about: About) -> Vec<&'static str> {
    let decisions = stage.outcomes.iter().flat_map(|outcome| &outcome.decisions);
    decisions.filter(|decision| decision.about == about).map(|decision| decision.reason.code()).collect()
}

#[test]
fn a_person_s_own_quota_takes_no_idle_node_from_anybody() {
    let mut stage = Stage::roomy();
    let pool = stage.cluster("train-pool", "small", scale(0, 2, Span::hours(1)));
    stage.submit(job(Target::Cluster(pool), cores(1)), Span::minutes(1));
    stage.pass(Span::minutes(2));
    stage.must("Ada", cores_limit(Scope::Everybody, 4));
    let serverless = || job(Target::Serverless(size("small")), cores(1));
    stage.submit(serverless(), Span::minutes(20));
    let waiting = stage.submit(serverless(), Span::minutes(20));
    stage.pass(Span::minutes(10));
    let why = stage.world.explain_job(waiting);
    assert!(matches!(&why, Some(Reason::QuotaInUse { shortage }) if shortage.is_personal), "{why:?}");
    let kept = stage.world.pool(&PoolKey::Cluster(pool)).map(|pool| pool.live);
    assert_eq!(kept, Some(1), "the idle node of the cluster holds nothing that is missing");
}

#[test]
fn one_person_s_quota_holds_nobody_else_up() {
    let mut stage = Stage::roomy();
    stage.must("Ada", cores_limit(Scope::Everybody, 4));
    let serverless = || job(Target::Serverless(size("small")), cores(1));
    stage.submit_as("Ada", serverless(), Span::hours(20), Exit::Code(0));
    let second = stage.submit_as("Ada", serverless(), Span::hours(20), Exit::Code(0));
    let of_bo = stage.submit_as("Bo", serverless(), Span::hours(1), Exit::Code(0));
    stage.pass(Span::minutes(1));
    let state = |job| stage.world.job(job).map(atelier_domain::compute::job::Job::state);
    assert_eq!((state(second), state(of_bo)), (Some(JobState::Queued), Some(JobState::Running)));
}

#[test]
fn a_job_that_can_never_start_holds_no_nodes_and_says_why() {
    let mut stage = Stage::roomy();
    let pool = stage.cluster("train-pool", "small", scale(0, 4, Span::seconds(60)));
    stage.must("Ada", Order::PauseCluster(pool));
    let large = stage.submit(gang(pool, cores(4), 3), Span::minutes(1));
    let small = stage.submit(job(Target::Cluster(pool), cores(4)), Span::minutes(1));
    stage.must("Ada", cores_limit(Scope::Workspace, 8));
    stage.must("Ada", Order::ResumeCluster(pool));
    stage.pass(Span::hours(2));
    let why = stage.world.explain_job(large);
    assert!(matches!(&why, Some(Reason::QuotaTooSmall { valid: 2, .. })), "{why:?}");
    assert!(stage.world.job(small).is_none(), "whoever comes after it has passed");
    assert_eq!(stage.world.nodes().count(), 0);
    // The limit is raised: it starts within the time after which it is looked at again.
    stage.must("Ada", cores_limit(Scope::Workspace, 16));
    stage.pass(Span::minutes(10));
    assert!(stage.world.job(large).is_none());
}

#[test]
fn a_job_between_two_reports_is_activity() {
    let mut stage = quiet_stage();
    let lab = stage.instance(NewInstance { idle: idle_after(Span::minutes(15)), ..new_instance("ines-lab", "small") });
    stage.pass(Span::minutes(1));
    let quiet = |stage: &mut Stage, minutes: u32| {
        for _ in 0..minutes {
            stage.pass(Span::minutes(1));
            stage.report(Report::Activity { instance: lab, active: Vec::new(), stretch: Span::minutes(1) });
        }
    };
    quiet(&mut stage, 13);
    stage.submit(job(Target::Instance(lab), cores(1)), Span::seconds(20));
    stage.pass(Span::seconds(40));
    quiet(&mut stage, 9);
    assert_eq!(state(&stage, lab), Some(InstanceState::Running));
}

#[test]
fn an_instance_made_smaller_says_what_does_not_fit() {
    let mut stage = quiet_stage();
    let lab = stage.instance(new_instance("ines-lab", "small"));
    let large = Resources { memory: 12 * 1024, ..cores(1) };
    stage.pass(Span::minutes(1));
    stage.submit(job(Target::Instance(lab), large), Span::minutes(9));
    let second = stage.submit(job(Target::Instance(lab), large), Span::minutes(9));
    stage.pass(Span::minutes(1));
    let why = stage.world.explain_job(second);
    assert!(matches!(why, Some(Reason::InstanceFull { .. })), "{why:?}");
    stage.must("Ada", Order::StopInstance(lab));
    stage.pass(Span::minutes(2));
    stage.must("Ada", Order::ResizeInstance { instance: lab, size: size("tiny") });
    stage.pass(Span::minutes(1));
    stage.must("Ada", Order::StartInstance(lab));
    stage.pass(Span::minutes(2));
    let why = stage.world.explain_job(second);
    assert!(matches!(why, Some(Reason::TooLarge { .. })), "{why:?}");
}

#[test]
fn a_start_wished_while_stopping_is_its_own_operation() {
    let mut stage = quiet_stage();
    let lab = stage.instance(new_instance("ines-lab", "small"));
    stage.pass(Span::minutes(1));
    stage.must("Ada", Order::StopInstance(lab));
    assert_eq!(stage.must("Bo", Order::StartInstance(lab)), Answer::Later);
    stage.pass(Span::minutes(2));
    let operation = stage.world.instance(lab).map(|lab| (lab.operation.verb, lab.operation.trigger.clone()));
    let by_bo = atelier_domain::compute::instance::Trigger::Person { name: "Bo".into() };
    assert_eq!(operation, Some((atelier_domain::compute::verb::InstanceVerb::Start, by_bo)));
    assert_eq!(state(&stage, lab), Some(InstanceState::Running));
}

#[test]
fn what_is_kept_running_is_kept_through_a_restart() {
    let mut stage = quiet_stage();
    let lab = stage.instance(NewInstance { idle: idle_after(Span::minutes(15)), ..new_instance("ines-lab", "small") });
    stage.pass(Span::minutes(1));
    stage.must("Ada", Order::ExtendInstance { instance: lab, by: Span::hours(2) });
    assert_eq!(codes(&stage, About::Instance(lab)).last(), Some(&"kept-running"));
    stage.must("Ada", Order::RestartInstance(lab));
    stage.pass(Span::minutes(1));
    for _ in 0..60 {
        stage.pass(Span::minutes(1));
        stage.report(Report::Activity { instance: lab, active: Vec::new(), stretch: Span::minutes(1) });
    }
    assert_eq!(state(&stage, lab), Some(InstanceState::Running));
    stage.must("Ada", Order::StopInstance(lab));
    stage.pass(Span::minutes(2));
    let refused = stage.order("Ada", Order::ExtendInstance { instance: lab, by: Span::hours(2) });
    assert!(matches!(refused, Err(Reason::NotNow { .. })), "{refused:?}");
}

#[test]
fn what_was_done_by_hand_under_a_wrong_clock_does_not_silence_schedules() {
    let mut stage = quiet_stage();
    let lab = stage.instance(new_instance("ines-lab", "small"));
    stage.pass(Span::minutes(1));
    stage.schedule(ScheduleTarget::Instance(lab), Action::Start, "*/10 * * * *");
    stage.skew = 36_000_000;
    stage.must("Ada", Order::StopInstance(lab));
    stage.pass(Span::seconds(30));
    stage.skew = 0;
    stage.step(Vec::new());
    stage.pass(Span::minutes(12));
    assert_eq!(state(&stage, lab), Some(InstanceState::Running));
}

#[test]
fn an_instance_that_changes_hands_starts_for_nobody_until_it_is_clean() {
    let mut stage = in_state(InstanceState::Transferring);
    let lab = stage.world.instance(LAB).cloned().expect("is there");
    assert_eq!((lab.owner.as_str(), lab.owner_name.as_ref(), lab.creator().as_str()), ("bo", "bo", "ada"));
    assert!(lab.awaits_acceptance(), "what it runs was set by somebody else");
    let told = |stage: &Stage, from: usize| {
        let effects = stage.outcomes[from..].iter().flat_map(|outcome| &outcome.effects);
        effects.filter(|effect| matches!(effect, Effect::Transfer { .. })).count()
    };
    for who in ["Ada", "Bo"] {
        assert!(stage.order(who, Order::StartInstance(LAB)).is_err(), "{who}");
    }
    assert_eq!(stage.order("Ada", transfer(LAB, "ada", "bo")), Ok(Answer::Already));
    assert!(stage.order("Ada", transfer(LAB, "bo", "cy")).is_err(), "one after another");
    // It failed, and nothing was heard for an hour: it is told again and again.
    let generation = lab.generation;
    let failure = Some("the disk is full".into());
    stage.report(Report::Transferred { instance: LAB, generation, failure });
    let from = stage.outcomes.len();
    stage.pass(Span::hours(1));
    assert!(told(&stage, from) >= 50, "{}", told(&stage, from));
    assert_eq!(state(&stage, LAB), Some(InstanceState::Transferring));
    // What an earlier operation says counts for nothing.
    stage.report(Report::Transferred { instance: LAB, generation: generation - 1, failure: None });
    assert_eq!(state(&stage, LAB), Some(InstanceState::Transferring));
    stage.report(Report::Transferred { instance: LAB, generation, failure: None });
    assert_eq!(state(&stage, LAB), Some(InstanceState::Stopped));
    assert!(stage.order("Bo", Order::StartInstance(LAB)).is_err(), "what is in it is not accepted yet");
}

#[test]
fn what_was_given_away_runs_only_with_the_word_of_its_new_owner() {
    let mut stage = in_state(InstanceState::Stopped);
    stage.schedule(ScheduleTarget::Instance(LAB), Action::Start, "*/10 * * * *");
    stage.must("Ada", Order::SetScripts { instance: LAB, scripts: Scripts::default() });
    stage.must("Ada", transfer(LAB, "ada", "bo"));
    let generation = stage.world.instance(LAB).expect("is there").generation;
    stage.report(Report::Transferred { instance: LAB, generation, failure: None });
    let given = |stage: &Stage| stage.world.instance(LAB).cloned().expect("is there");
    assert!(given(&stage).awaits_acceptance(), "also without any script");
    // Neither a person nor a schedule starts it, and nothing but the owner's word changes that.
    let why = |refused: Result<Answer, Reason>| refused.is_err_and(|reason| reason.code() == "awaits-acceptance");
    for who in ["Ada", "Bo"] {
        assert!(why(stage.order(who, Order::StartInstance(LAB))), "{who}");
        assert!(why(stage.order(who, Order::WakeInstance(LAB))), "{who}");
    }
    stage.pass(Span::minutes(25));
    assert_eq!(state(&stage, LAB), Some(InstanceState::Stopped));
    let fired = stage.outcomes.iter().flat_map(|outcome| &outcome.decisions);
    assert!(
        fired
            .clone()
            .any(|one| matches!(&one.reason, Reason::FiringFailed { why } if why.code() == "awaits-acceptance")),
        "the schedule says why"
    );
    stage.must("Bo", Order::SetScripts { instance: LAB, scripts: startup(Span::minutes(5)) });
    assert!(given(&stage).awaits_acceptance() && !given(&stage).scripts_accepted, "other scripts are no acceptance");
    let accept = |revision| Order::AcceptScripts { instance: LAB, revision };
    let revision = given(&stage).scripts_revision;
    assert!(stage.order("Ada", accept(revision)).is_err(), "not by who had it");
    assert!(stage.order("Bo", accept(revision - 1)).is_err(), "nor unread");
    stage.must("Bo", accept(revision));
    assert!(!given(&stage).awaits_acceptance());
    assert!(codes(&stage, About::Instance(LAB)).contains(&"gift-accepted"));
    assert_eq!(stage.must("Bo", Order::StartInstance(LAB)), Answer::Done);
}

#[test]
fn nobody_is_given_more_than_they_may_have() {
    let mut stage = in_state(InstanceState::Stopped);
    let scope = Scope::Person(UserId::new("bo"));
    stage.must("Ada", Order::SetLimit { scope, resource: Resource::Computes, limit: Some(0) });
    let refused = stage.order("Ada", transfer(LAB, "ada", "bo"));
    assert!(matches!(refused, Err(Reason::TooManyComputes { .. })), "{refused:?}");
    assert_eq!(stage.world.instance(LAB).map(|lab| lab.owner.to_string()).as_deref(), Some("ada"), "nothing changed");
}
