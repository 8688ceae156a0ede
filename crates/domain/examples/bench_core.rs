//! How fast the core decides, on one thread: `cargo xtask bench engine` runs this and prints a table. With
//! the word `scheduling` only the case of `cargo xtask bench scheduling`.
//!
//! A site with so many ready nodes and so many waiting jobs goes round and round: a job starts, ends, frees
//! its place, the next one takes it, a new one is submitted. Every input is one of those reports or orders.

#![expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]

use std::time::Instant;

use atelier_domain::compute::cluster::ScaleSettings;
use atelier_domain::compute::job::{JobSpec, Priority, Target};
use atelier_domain::compute::script::Scripts;
use atelier_domain::compute::size::{ComputeName, Family, Price, SiteName, Size, SizeName, Tier};
use atelier_domain::compute::tags::Tags;
use atelier_domain::compute::{ClusterId, Resources};
use atelier_domain::schedule::{Action, Cron, StopJobs, Timetable, Trigger, Zone};
use atelier_domain::time::{Mono, Now, Span, Timestamp};
use atelier_domain::world::{
    AllocationKey, Answer, Command, Effect, Exit, Input, NewInstance, Order, Outcome, Report, ScheduleTarget, World,
};
use atelier_domain::{UserId, WorkspaceId};

const BATCH: usize = 128;

fn main() {
    // Only the case in which fair share and backfill have most to do.
    if std::env::args().nth(1).as_deref() == Some("scheduling") {
        return core(10, 100_000, 1_000_000, 1_000);
    }
    for (clusters, nodes, queued, people) in
        [(1, 100, 1_000, 1), (10, 100_000, 1_000_000, 1), (10, 100_000, 1_000_000, 1_000)]
    {
        core(clusters, nodes, queued, people);
    }
    schedules();
}

struct Bench {
    world: World,
    now: u64,
    workspace: WorkspaceId,
    user: UserId,
}

impl Bench {
    fn step(&mut self, inputs: &[Input]) -> Outcome {
        self.now += 1;
        let now = Now { wall: Timestamp(1_772_438_400_000 + self.now as i64), mono: Mono(self.now) };
        self.world.step(inputs, now)
    }

    fn order(&self, order: Order) -> Input {
        let (workspace, user) = (self.workspace.clone(), Some(self.user.clone()));
        Input::Command(Command { workspace, user, name: "ada".into(), order })
    }

    /// A job of one of so many people. With many people every fourth job wants a part of a node only, so that
    /// there is room beside others and something to look for before the first in the queue.
    fn submit(&self, cluster: u64, number: u64, people: u64) -> Input {
        let shape =
            if people > 1 && number.is_multiple_of(4) { Resources::new(3, 4, 0) } else { Resources::new(4, 8, 0) };
        let order = Order::Submit(JobSpec {
            target: Target::Cluster(ClusterId(cluster)),
            shape,
            nodes: 1,
            priority: Priority::Medium,
            timeout: Some(Span::hours(1)),
            grace: Span::seconds(30),
            retry: None,
            tier: Tier::Dedicated,
            after: Vec::new(),
            environment: None,
        });
        let user = UserId::new(format!("person-{}", number / 10 % people));
        Input::Command(Command { workspace: self.workspace.clone(), user: Some(user), name: "ada".into(), order })
    }
}

fn site() -> SiteName {
    SiteName::parse("local").expect("a short name")
}

fn new_bench() -> Bench {
    let mut bench =
        Bench { world: World::default(), now: 0, workspace: WorkspaceId::new("studio"), user: UserId::new("ada") };
    let capacity = Resources::new(10_000_000, 40_000_000, 0);
    bench.step(&[Input::Report(Report::Site { site: site(), capacity })]);
    let size = Size {
        name: SizeName::parse("general-4").expect("a short name"),
        family: Family::parse("general").expect("a short name"),
        site: site(),
        shape: Resources::new(4, 8, 0),
        price: Price(100_000),
    };
    let order = bench.order(Order::PutSize(size));
    bench.step(&[order]);
    bench
}

fn core(clusters: u64, nodes: u64, queued: u64, people: u64) {
    let mut bench = new_bench();
    let per_cluster = u32::try_from(nodes / clusters).expect("few enough");
    for number in 1..=clusters {
        let order = bench.order(Order::CreateCluster {
            name: ComputeName::parse(&format!("cluster-{number}")).expect("a short name"),
            size: SizeName::parse("general-4").expect("a short name"),
            scale: ScaleSettings { min: per_cluster, max: per_cluster, idle: Span::seconds(120), warm: 0 },
            tier: Tier::Dedicated,
            tags: Tags::default(),
        });
        let outcome = bench.step(&[order]);
        let up = outcome.effects.iter().filter_map(|effect| match effect {
            Effect::Launch { node, .. } => Some(Input::Report(Report::NodeUp(*node))),
            _ => None,
        });
        let up: Vec<Input> = up.collect();
        bench.step(&up);
    }
    // Fill the nodes, then the queues.
    let mut running: Vec<AllocationKey> = Vec::new();
    let mut batch = Vec::new();
    for number in 0..nodes + queued {
        batch.push(bench.submit(number % clusters + 1, number, people));
        if batch.len() == 1_000 || number + 1 == nodes + queued {
            let outcome = bench.step(&batch);
            batch.clear();
            collect(&outcome, &mut running);
        }
    }
    assert_eq!(bench.world.queued() as u64, queued);

    // Among many people jobs take seconds, so that nothing is handed over ahead of time and every start is a
    // decision.
    let is_slow = people > 1;
    let mut begun = 0;
    if is_slow {
        let starts: Vec<Input> = running.iter().map(|part| Input::Report(Report::JobStarted(*part))).collect();
        begun = starts.len();
        bench.step(&starts);
        bench.now += 2_000;
    }
    let seconds = if queued > 100_000 { 6.0 } else { 4.0 };
    let (mut inputs, mut next, mut submitted) = (0_u64, 0_usize, 0_u64);
    let start = Instant::now();
    while start.elapsed().as_secs_f64() < seconds {
        batch.clear();
        // Four inputs for each job that goes through: it runs, it ends, nothing is left of it, another one
        // comes.
        for _ in 0..BATCH / 4 {
            let part = running[next];
            next += 1;
            submitted += 1;
            let started = if is_slow { running.get(begun).copied() } else { Some(part) };
            begun += usize::from(started.is_some());
            batch.extend(started.map(|part| Input::Report(Report::JobStarted(part))));
            batch.push(Input::Report(Report::JobExited { part, exit: Exit::Code(0) }));
            batch.push(Input::Report(Report::JobOff { part, exit: Exit::Code(0) }));
            batch.push(bench.submit(submitted % clusters + 1, submitted, people));
        }
        let outcome = bench.step(&batch);
        assert_eq!(outcome.ended.len(), BATCH / 4, "every job ended");
        collect(&outcome, &mut running);
        inputs += batch.len() as u64;
        if next > 1_000_000 {
            running.drain(..next);
            begun = begun.saturating_sub(next);
            next = 0;
        }
    }
    let rate = inputs as f64 / start.elapsed().as_secs_f64();
    println!(
        "{{\"figure\":\"core\",\"queued\":{queued},\"nodes\":{nodes},\"people\":{people},\
         \"inputs_per_second\":{rate:.0},\"resident_mb\":{:.0}}}",
        resident_mb()
    );
}

fn collect(outcome: &Outcome, running: &mut Vec<AllocationKey>) {
    running.extend(outcome.effects.iter().filter_map(|effect| match effect {
        Effect::StartJob { part, .. } => Some(*part),
        _ => None,
    }));
}

/// A million schedules: how long to plan them, and to act on ten thousand that are due in the same second.
fn schedules() {
    let mut bench = new_bench();
    let berlin = Zone::parse("Europe/Berlin").expect("a zone");
    let count: u64 = 1_000_000;
    let start = Instant::now();
    let mut batch = Vec::new();
    // Sixteen schedules for an instance at most.
    for number in 0..count / 16 {
        batch.push(bench.order(Order::CreateInstance(Box::new(NewInstance {
            name: ComputeName::parse(&format!("i-{number}")).expect("a short name"),
            size: SizeName::parse("general-4").expect("a short name"),
            owner: bench.user.clone(),
            owner_name: "Bench".into(),
            scripts: Scripts::default(),
            tags: Tags::default(),
            keeps_quota: false,
            idle: None,
            starts: false,
        }))));
        if batch.len() == 1_000 || number + 1 == count / 16 {
            for reply in bench.step(&batch).replies.into_iter().flatten() {
                assert!(matches!(reply, Ok(Answer::Instance(_))), "{reply:?}");
            }
            batch.clear();
        }
    }
    // The clock shows 09:00 in Berlin. Ten thousand are due at 09:01, the others in the rest of the day's
    // minutes.
    for number in 0..count {
        let minute = if number < 10_000 { 541 } else { 542 + number % 800 };
        let cron = Cron::parse(&format!("{} {} * * *", minute % 60, minute / 60)).expect("a cron expression");
        let timetable = Timetable::new(Trigger::Cron(cron), berlin.clone(), None).expect("a timetable");
        batch.push(bench.order(Order::AddSchedule {
            target: ScheduleTarget::Instance(atelier_domain::compute::InstanceId(number % (count / 16) + 1)),
            action: Action::Start,
            timetable: Box::new(timetable),
            jobs: StopJobs::Now,
        }));
        if batch.len() == 1_000 || number + 1 == count {
            for reply in bench.step(&batch).replies.into_iter().flatten() {
                assert!(matches!(reply, Ok(Answer::Schedule(_))), "{reply:?}");
            }
            batch.clear();
        }
    }
    let planned = start.elapsed().as_secs_f64();
    let wall = Timestamp(1_772_438_400_000 + 60_000);
    let start = Instant::now();
    let outcome = bench.world.step(&[], Now { wall, mono: Mono(bench.now + 1) });
    let fired = outcome.decisions.iter().filter(|decision| decision.reason.code() == "fired").count();
    println!(
        "{{\"figure\":\"schedules\",\"count\":{count},\"planned_seconds\":{planned:.2},\"due\":{fired},\
         \"fired_seconds\":{:.3},\"resident_mb\":{:.0}}}",
        start.elapsed().as_secs_f64(),
        resident_mb()
    );
}

/// What this process has in memory now.
fn resident_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kib| kib.parse::<f64>().ok()).unwrap_or(0.0) / 1_024.0
}
