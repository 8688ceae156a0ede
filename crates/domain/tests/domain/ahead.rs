//! Where jobs are quick, nodes get the next ones ahead of time, and give them back when they wait.

use atelier_domain::compute::cluster::ScaleSettings;
use atelier_domain::compute::job::{JobSpec, JobState, Priority, Target};
use atelier_domain::compute::size::{ComputeName, Family, Price, SiteName, Size, SizeName, Tier};
use atelier_domain::compute::tags::Tags;
use atelier_domain::compute::{ClusterId, JobId, Resources};
use atelier_domain::time::{Mono, Now, Span, Timestamp};
use atelier_domain::world::{AllocationKey, Command, Effect, Exit, Input, Order, Outcome, Report, World};
use atelier_domain::{UserId, WorkspaceId};

/// One node with two slots.
struct Bench {
    world: World,
    now: u64,
}

fn order(order: Order) -> Input {
    let (workspace, user) = (WorkspaceId::new("studio"), Some(UserId::new("ada")));
    Input::Command(Command { workspace, user, name: "Ada".into(), order })
}

fn submit() -> Input {
    order(Order::Submit(JobSpec {
        target: Target::Cluster(ClusterId(1)),
        shape: Resources::new(1, 1, 0),
        nodes: 1,
        priority: Priority::Medium,
        timeout: None,
        grace: Span::seconds(30),
        retry: None,
        tier: Tier::Dedicated,
        after: Vec::new(),
        environment: None,
    }))
}

fn off(part: AllocationKey) -> Input {
    Input::Report(Report::JobOff { part, exit: Exit::Code(0) })
}

impl Bench {
    fn new() -> Self {
        let mut it = Self { world: World::default(), now: 0 };
        let site = SiteName::parse("local").expect("a name");
        let name = SizeName::parse("two").expect("a name");
        let shape = Resources::new(2, 2, 0);
        it.step(&[Input::Report(Report::Site { site: site.clone(), capacity: shape })]);
        let family = Family::parse("general").expect("a name");
        it.step(&[order(Order::PutSize(Size { name: name.clone(), family, site, shape, price: Price(0) }))]);
        let scale = ScaleSettings { min: 1, max: 1, idle: Span::seconds(120), warm: 0 };
        let pool = ComputeName::parse("pool").expect("a name");
        let made = it.step(&[order(Order::CreateCluster {
            name: pool,
            size: name,
            scale,
            tier: Tier::Dedicated,
            tags: Tags::default(),
        })]);
        let Some(Effect::Launch { node, .. }) = made.effects.first() else { panic!("a launch") };
        it.step(&[Input::Report(Report::NodeUp(*node))]);
        it
    }

    fn step(&mut self, inputs: &[Input]) -> Outcome {
        self.now += 1;
        self.at(self.now, inputs)
    }

    fn at(&mut self, now: u64, inputs: &[Input]) -> Outcome {
        self.now = now;
        let now = Now { wall: Timestamp(1_772_438_400_000 + now as i64), mono: Mono(now) };
        let outcome = self.world.step(inputs, now);
        assert_eq!(self.world.audit(), Vec::<String>::new());
        outcome
    }

    /// A job that is over in no time makes the cluster quick.
    fn quicken(&mut self) {
        let [part] = started(&self.step(&[submit()]))[..] else { panic!("one start") };
        self.step(&[off(part)]);
    }
}

fn started(outcome: &Outcome) -> Vec<AllocationKey> {
    let parts = outcome.effects.iter().filter_map(|effect| match effect {
        Effect::StartJob { part, .. } => Some(*part),
        _ => None,
    });
    parts.collect()
}

fn jobs(parts: &[AllocationKey]) -> Vec<u64> {
    parts.iter().map(|part| part.job.0).collect()
}

#[test]
fn nothing_is_handed_ahead_before_a_job_was_quick() {
    let mut it = Bench::new();
    let inputs: Vec<Input> = (0..20).map(|_| submit()).collect();
    assert_eq!(jobs(&started(&it.step(&inputs))), [1, 2]);
    it.quicken_after();
}

impl Bench {
    /// The first two end at once, so from then on the node has six for each of its slots ahead of time.
    fn quicken_after(&mut self) {
        let running: Vec<AllocationKey> = self
            .world
            .jobs()
            .flat_map(|job| {
                job.allocations.iter().map(|allocation| AllocationKey {
                    job: job.id,
                    attempt: job.attempt,
                    node: allocation.node,
                })
            })
            .collect();
        let outcome = self.step(&running.into_iter().map(off).collect::<Vec<_>>());
        assert_eq!(jobs(&started(&outcome)), (3..=16).collect::<Vec<u64>>());
    }
}

#[test]
fn what_is_ahead_gets_its_room_in_order_and_more_follows() {
    let mut it = Bench::new();
    it.quicken();
    let inputs: Vec<Input> = (0..20).map(|_| submit()).collect();
    let parts = started(&it.step(&inputs));
    assert_eq!(jobs(&parts), (2..=15).collect::<Vec<u64>>());
    // The agent has begun the third as soon as the first was off, and says both at once.
    // Who is over at once while others wait there makes the node get many more: all that are left.
    let outcome = it.step(&[off(parts[0]), Input::Report(Report::JobStarted(parts[2]))]);
    assert_eq!(jobs(&started(&outcome)), (16..=21).collect::<Vec<u64>>());
    let state = |it: &Bench, job| it.world.job(JobId(job)).map(atelier_domain::compute::job::Job::state);
    assert_eq!(state(&it, 4), Some(JobState::Running));
    assert_eq!(state(&it, 5), Some(JobState::Starting));
    // All end in the order in which they were handed over; nothing is left.
    let mut waiting: Vec<AllocationKey> = parts[1..].to_vec();
    waiting.extend(started(&outcome));
    while let Some(part) = waiting.first().copied() {
        waiting.remove(0);
        waiting.extend(started(&it.step(&[off(part)])));
    }
    assert_eq!(it.world.jobs().count(), 0);
}

#[test]
fn nodes_get_many_more_only_while_jobs_are_over_at_once() {
    let mut it = Bench::new();
    it.quicken();
    let inputs: Vec<Input> = (0..120).map(|_| submit()).collect();
    let parts = started(&it.step(&inputs));
    assert_eq!(parts.len(), 2 + 12);
    // One of the two is over at once: from then on it's 24 for each slot.
    let more = started(&it.step(&[off(parts[0])]));
    let waiting = |it: &Bench| it.world.jobs().filter(|job| job.ahead.is_some()).count();
    assert_eq!((more.len(), waiting(&it)), (1 + 36, 48));
    // The other takes longer, though it is still quick: nothing is handed over until six for each are left.
    it.step(&[Input::Report(Report::JobStarted(parts[1]))]);
    let outcome = it.at(it.now + 100, &[off(parts[1])]);
    assert_eq!((started(&outcome).len(), waiting(&it)), (0, 47));
}

#[test]
fn what_waits_too_long_is_asked_back_and_returns_to_the_queue() {
    let mut it = Bench::new();
    it.quicken();
    let inputs: Vec<Input> = (0..4).map(|_| submit()).collect();
    let parts = started(&it.step(&inputs));
    it.step(&[Input::Report(Report::JobStarted(parts[0])), Input::Report(Report::JobStarted(parts[1]))]);
    let outcome = it.at(it.now + 1_500, &[]);
    let asked: Vec<AllocationKey> = outcome
        .effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::AskBack { part } => Some(*part),
            _ => None,
        })
        .collect();
    assert_eq!(asked, parts[2..]);
    // One had begun all the same; the other comes back, and only once.
    it.step(&[off(parts[0]), Input::Report(Report::JobStarted(parts[2]))]);
    it.step(&[Input::Report(Report::JobGivenBack(parts[2])), Input::Report(Report::JobGivenBack(parts[3]))]);
    let states: Vec<JobState> = it.world.jobs().map(atelier_domain::compute::job::Job::state).collect();
    assert_eq!(states, [JobState::Running, JobState::Running, JobState::Queued]);
    it.step(&[Input::Report(Report::JobGivenBack(parts[3]))]);
    // With room again it starts as another attempt.
    let outcome = it.step(&[off(parts[1])]);
    assert_eq!(started(&outcome), [AllocationKey { attempt: 2, ..parts[3] }]);
}

#[test]
fn a_lost_node_gives_back_what_it_had_ahead() {
    let mut it = Bench::new();
    it.quicken();
    let inputs: Vec<Input> = (0..4).map(|_| submit()).collect();
    let parts = started(&it.step(&inputs));
    it.step(&[Input::Report(Report::JobStarted(parts[0])), Input::Report(Report::JobStarted(parts[1]))]);
    it.step(&[Input::Report(Report::NodeGone(parts[0].node))]);
    let left: Vec<(u64, JobState)> = it.world.jobs().map(|job| (job.id.0, job.state())).collect();
    assert_eq!(left, [(4, JobState::Queued), (5, JobState::Queued)]);
}

#[test]
fn a_server_that_was_away_gives_everybody_that_much_more_time() {
    let mut it = Bench::new();
    let parts = started(&it.step(&[submit()]));
    // Ten minutes later: without a word the start would have failed long ago.
    let away = Input::Report(Report::Absent { away: Span::minutes(10) });
    it.at(it.now + 600_000, &[away]);
    assert_eq!(it.world.job(parts[0].job).map(atelier_domain::compute::job::Job::state), Some(JobState::Starting));
    it.step(&[Input::Report(Report::JobStarted(parts[0]))]);
    assert_eq!(it.world.job(parts[0].job).map(atelier_domain::compute::job::Job::state), Some(JobState::Running));
}
