//! What is promised about arrays: they are the same jobs one by one, they cost what runs of them, and the
//! whole of one can be waited for, ended, held and moved.

use std::collections::BTreeMap;

use atelier_domain::UserId;
use atelier_domain::compute::array::{MADE_AT_ONCE, MAX_ARRAY};
use atelier_domain::compute::fair_share::{QueueOrder, QueuePolicy};
use atelier_domain::compute::job::{After, AfterWhat, JobSpec, JobState, Priority, RetryCause, Target, Verdict};
use atelier_domain::compute::quota::{Resource, Scope};
use atelier_domain::compute::{ClusterId, JobId, Resources};
use atelier_domain::reason::Reason;
use atelier_domain::time::Span;
use atelier_domain::world::{
    Answer, ArrayChange, Effect, Exit, Input, Key, MoveTo, Order, Outcome, PoolKey, Record, World,
};
use proptest::prelude::*;

use crate::script::{Stage, cores, gang, job, order_of, retry, scale, size};
use crate::support::cases;

const POOL: ClusterId = ClusterId(1);

fn on_pool(shape: Resources) -> JobSpec {
    job(Target::Cluster(POOL), shape)
}

/// A cluster of so many nodes with four cores each.
fn stage(nodes: u32) -> Stage {
    let mut stage = Stage::roomy();
    stage.is_writing = false;
    stage.cluster("train-pool", "small", scale(nodes, nodes, Span::seconds(30)));
    stage.pass(Span::seconds(10));
    stage
}

fn array(stage: &mut Stage, who: &str, spec: JobSpec, count: u32) -> JobId {
    match stage.must(who, Order::SubmitArray { spec, count }) {
        Answer::Jobs { first, count: made } if made == count => first,
        other => panic!("{other:?}"),
    }
}

/// How each job ended, those that were never made among them.
fn ends(outcomes: &[Outcome]) -> BTreeMap<JobId, (Verdict, u32)> {
    let mut ends = BTreeMap::new();
    for outcome in outcomes {
        let made = outcome.ended.iter().map(|ended| (ended.job.id, (ended.verdict.clone(), ended.job.attempt)));
        let rests = outcome.ended_rests.iter().flat_map(|rest| {
            (0..rest.count).map(|ahead| (rest.first.ahead_in_array(ahead).id, (rest.verdict.clone(), 0)))
        });
        for (id, how) in made.chain(rests) {
            assert!(ends.insert(id, how).is_none(), "{id} is over twice");
        }
    }
    ends
}

/// What happened in a step, without what only says that a job belongs to an array.
fn told(outcome: &Outcome) -> Vec<String> {
    let mut lines = Vec::new();
    for effect in &outcome.effects {
        let mut effect = effect.clone();
        if let Effect::StartJob { array, .. } = &mut effect {
            *array = None;
        }
        lines.push(format!("{effect:?}"));
    }
    for (id, how) in ends(std::slice::from_ref(outcome)) {
        lines.push(format!("{id} {how:?}"));
    }
    let mut decisions: Vec<String> = outcome
        .decisions
        .iter()
        // Of jobs that end together before they are made one decision is kept, and so of those that are held.
        .filter(|it| {
            !matches!(it.reason.code(), "rest-ended" | "job-ended" | "on-hold" | "hold-over" | "moved-in-queue")
        })
        .map(|decision| format!("{decision:?}"))
        .collect();
    decisions.sort();
    lines.extend(decisions);
    lines.push(format!("{:?} {:?}", outcome.ledger, outcome.wake));
    lines
}

#[derive(Clone, Debug)]
enum Deed {
    Array { who: usize, count: u32, cores: u64, nodes: u32, minutes: u32, has_limit: bool, retries: bool, waits: bool },
    One { who: usize, cores: u64, nodes: u32, minutes: u32 },
    Cancel(u32),
    Hold(u32),
    Release(u32),
    Prioritise(u32, bool),
    Move(u32, u32, bool),
    CancelAll(u32),
    HoldAll(u32),
    ReleaseAll(u32),
    PrioritiseAll(u32, bool),
    Limit(u64),
    Share(usize, i64),
    Pass(u32),
    Restart,
}

fn deed() -> impl Strategy<Value = Deed> {
    let shape = (0_usize..3, 1_u64..=4, 1_u32..=3, 1_u32..60);
    prop_oneof![
        4 => (shape.clone(), 2_u32..40, any::<[bool; 3]>()).prop_map(|((who, cores, nodes, minutes), count, flags)| {
            // Most arrays are of jobs on one node.
            let nodes = if count % 5 == 0 { nodes } else { 1 };
            let [has_limit, retries, waits] = flags;
            Deed::Array { who, count, cores, nodes, minutes, has_limit, retries, waits }
        }),
        3 => shape.prop_map(|(who, cores, nodes, minutes)| Deed::One { who, cores, nodes, minutes }),
        2 => any::<u32>().prop_map(Deed::Cancel),
        1 => any::<u32>().prop_map(Deed::Hold),
        1 => any::<u32>().prop_map(Deed::Release),
        1 => any::<(u32, bool)>().prop_map(|(job, high)| Deed::Prioritise(job, high)),
        2 => any::<(u32, u32, bool)>().prop_map(|(job, to, over_all)| Deed::Move(job, to, over_all)),
        1 => any::<u32>().prop_map(Deed::CancelAll),
        1 => any::<u32>().prop_map(Deed::HoldAll),
        1 => any::<u32>().prop_map(Deed::ReleaseAll),
        1 => any::<(u32, bool)>().prop_map(|(job, high)| Deed::PrioritiseAll(job, high)),
        1 => (1_u64..6).prop_map(Deed::Limit),
        1 => (0_usize..3, 1_i64..1_000).prop_map(|(who, weight)| Deed::Share(who, weight)),
        8 => (1_u32..90).prop_map(Deed::Pass),
        1 => Just(Deed::Restart),
    ]
}

const PEOPLE: [&str; 3] = ["Ada", "Bo", "Cleo"];

/// Two Worlds in which the same happens: in one arrays, in the other their jobs one by one.
struct Both {
    whole: Stage,
    single: Stage,
    /// First jobs and counts.
    arrays: Vec<(JobId, u32)>,
}

impl Both {
    fn new(nodes: u32, order: QueueOrder) -> Self {
        let mut whole = stage(nodes);
        whole.world.make_at_once(0);
        let policy = QueuePolicy { order, backfill: true };
        whole.order("Owner", Order::SetQueuePolicy { cluster: Some(POOL), policy }).ok();
        let single = whole.clone();
        Self { whole, single, arrays: Vec::new() }
    }

    fn orders(&mut self, who: &str, one: Order, many: Vec<Order>) {
        let first = self.whole.step(vec![order_of(who, one)]);
        let second = self.single.step(many.into_iter().map(|order| order_of(who, order)).collect::<Vec<Input>>());
        assert_eq!(told(&first), told(&second));
        let is_taken = |outcome: &Outcome| outcome.replies.iter().flatten().any(Result::is_ok);
        assert_eq!(is_taken(&first), is_taken(&second), "{:?}\n{:?}", first.replies, second.replies);
    }

    fn same(&mut self, who: &str, order: Order) {
        self.orders(who, order.clone(), vec![order]);
    }

    fn run(&mut self, first: JobId, count: u32, minutes: u32, fails: bool) {
        for number in 0..u64::from(count) {
            let exit = if fails && number % 4 == 1 { Exit::Code(3) } else { Exit::Code(0) };
            let runs = (Span::seconds(minutes * 60 - 1), exit);
            self.whole.reality.runs.insert(JobId(first.0 + number), runs);
            self.single.reality.runs.insert(JobId(first.0 + number), runs);
        }
    }

    fn any_job(&self, pick: u32) -> JobId {
        JobId(1 + u64::from(pick) % (self.whole.world.state().jobs + 1))
    }

    fn do_it(&mut self, deed: &Deed) {
        let next = JobId(self.whole.world.state().jobs + 1);
        let array = |pick: u32| self.arrays.get(pick as usize % self.arrays.len().max(1)).copied();
        let of = |(first, count): (JobId, u32)| (0..u64::from(count)).map(move |number| JobId(first.0 + number));
        let priority = |high: bool| if high { Priority::High } else { Priority::Medium };
        match deed.clone() {
            Deed::Array { who, count, cores: width, nodes, minutes, has_limit, retries, waits } => {
                let timeout = has_limit.then(|| Span::minutes(minutes));
                let policy = retries.then(|| retry(2, &[RetryCause::ExitCode], Span::minutes(1))).flatten();
                let job = JobId(self.any_job(minutes * 7 + count).0);
                let needs = if has_limit { AfterWhat::Success } else { AfterWhat::Any };
                let after = waits.then_some(After { job, needs, ended: None }).into_iter().collect();
                let spec = JobSpec { timeout, retry: policy, after, ..gang(POOL, cores(width), nodes) };
                self.run(next, count, minutes, retries);
                let many = (0..count).map(|_| Order::Submit(spec.clone())).collect();
                self.orders(PEOPLE[who], Order::SubmitArray { spec, count }, many);
                if self.whole.world.state().jobs >= next.0 {
                    self.arrays.push((next, count));
                }
            }
            Deed::One { who, cores: width, nodes, minutes } => {
                let spec = JobSpec { timeout: Some(Span::minutes(minutes)), ..gang(POOL, cores(width), nodes) };
                self.run(next, 1, minutes, false);
                self.same(PEOPLE[who], Order::Submit(spec));
            }
            Deed::Cancel(pick) => self.same("Ada", Order::Cancel(self.any_job(pick))),
            Deed::Hold(pick) => self.same("Ada", Order::Hold { job: self.any_job(pick), why: String::new() }),
            Deed::Release(pick) => self.same("Ada", Order::Release(self.any_job(pick))),
            Deed::Prioritise(pick, high) => {
                self.same("Ada", Order::Prioritise { job: self.any_job(pick), priority: priority(high) });
            }
            Deed::Move(pick, to, over_all) => {
                let to = match to % 4 {
                    0 => MoveTo::Front,
                    1 => MoveTo::Back,
                    _ => MoveTo::Before(self.any_job(to)),
                };
                self.same("Ada", Order::Move { job: self.any_job(pick), to, over_all });
            }
            Deed::CancelAll(pick) => {
                let Some(array) = array(pick) else { return };
                let many = of(array).map(Order::Cancel).collect();
                self.orders("Ada", Order::ChangeArray { array: array.0, change: ArrayChange::Cancel }, many);
            }
            Deed::HoldAll(pick) => {
                let Some(array) = array(pick) else { return };
                let change = ArrayChange::Hold { why: String::new() };
                let many: Vec<Order> = of(array).map(|job| Order::Hold { job, why: String::new() }).collect();
                self.in_step(array, change, many);
            }
            Deed::ReleaseAll(pick) => {
                let Some(array) = array(pick) else { return };
                self.in_step(array, ArrayChange::Release, of(array).map(Order::Release).collect());
            }
            Deed::PrioritiseAll(pick, high) => {
                let Some(array) = array(pick) else { return };
                let priority = priority(high);
                let many = of(array).map(|job| Order::Prioritise { job, priority }).collect();
                self.in_step(array, ArrayChange::Prioritise(priority), many);
            }
            Deed::Limit(limit) => {
                let scope = Scope::Person(UserId::new("ada"));
                self.same("Owner", Order::SetLimit { scope, resource: Resource::RunningJobs, limit: Some(limit) });
            }
            Deed::Share(who, weight) => {
                let person = UserId::new(PEOPLE[who].to_lowercase());
                self.same("Owner", Order::SetFairShare { person, weight });
            }
            Deed::Pass(minutes) => self.pass(Span::minutes(minutes)),
            Deed::Restart => {
                for stage in [&mut self.whole, &mut self.single] {
                    let now = stage.clocks();
                    stage.world = World::load(stage.world.records(), now);
                    stage.world.make_at_once(0);
                }
            }
        }
    }

    /// Whether anything is left to change is not compared: one by one, some orders are refused and others are
    /// not.
    fn in_step(&mut self, (array, _): (JobId, u32), change: ArrayChange, many: Vec<Order>) {
        let first = self.whole.step(vec![order_of("Ada", Order::ChangeArray { array, change })]);
        let second = self.single.step(many.into_iter().map(|order| order_of("Ada", order)).collect());
        assert_eq!(told(&first), told(&second));
    }

    fn pass(&mut self, span: Span) {
        let (one, other) = (self.whole.outcomes.len(), self.single.outcomes.len());
        self.whole.pass(span);
        self.single.pass(span);
        let tell = |outcomes: &[Outcome]| outcomes.iter().map(told).collect::<Vec<_>>();
        assert_eq!(tell(&self.whole.outcomes[one..]), tell(&self.single.outcomes[other..]));
    }

    /// Whatever is asked is answered the same.
    fn compare(&self) {
        let in_order = |stage: &Stage| {
            stage.world.pool(&PoolKey::Cluster(POOL)).map(|pool| (pool.queue.in_order(usize::MAX), pool.all_jobs()))
        };
        assert_eq!(in_order(&self.whole), in_order(&self.single));
        for id in (1..=self.whole.world.state().jobs + 1).map(JobId) {
            let state = |stage: &Stage| stage.world.look_up(id).map(|job| (job.state(), job.spec.clone(), job.rank()));
            assert_eq!(state(&self.whole), state(&self.single), "{id}");
            let standing = |stage: &Stage| (stage.world.position(id), stage.world.explain_job(id));
            assert_eq!(standing(&self.whole), standing(&self.single), "{id}");
        }
        let why = |stage: &Stage| stage.world.explain_cluster(POOL);
        assert_eq!(why(&self.whole), why(&self.single));
    }
}

proptest! {
    #![proptest_config(cases(40))]

    /// Whatever people do and however queues are served, with backfill, retries, limits, dependencies and
    /// restarts: an array starts the same jobs in the same order on the same nodes as those jobs one by one,
    /// each with the same end, and while they wait each has the same place and the same reason.
    #[test]
    fn arrays_equal_the_same_jobs_one_by_one(
        deeds in proptest::collection::vec(deed(), 1..30),
        nodes in 1_u32..5,
        is_fifo in any::<bool>(),
    ) {
        let mut both = Both::new(nodes, if is_fifo { QueueOrder::Fifo } else { QueueOrder::FairShare });
        for deed in &deeds {
            both.do_it(deed);
            both.compare();
        }
        both.pass(Span::hours(300));
        both.compare();
        prop_assert_eq!(ends(&both.whole.outcomes), ends(&both.single.outcomes));
        let waiting = both.whole.world.pool(&PoolKey::Cluster(POOL)).map_or(0, |pool| pool.queue.len());
        prop_assert_eq!(waiting, 0, "somebody waits for ever");
    }
}

#[test]
fn a_million_jobs_cost_what_runs_of_them() {
    let mut stage = stage(2);
    let first = array(&mut stage, "Ada", on_pool(cores(1)), MAX_ARRAY);
    let made = |stage: &Stage| stage.world.jobs().count();
    assert_eq!(made(&stage), 9, "eight run and one is the next");
    let pool = PoolKey::Cluster(POOL);
    let counts = |stage: &Stage| stage.world.pool(&pool).map(|pool| (pool.queue.len(), pool.all_jobs()));
    assert_eq!(counts(&stage), Some((999_992, 1_000_000)));
    let last = JobId(first.0 + 999_999);
    assert_eq!(stage.world.position(last), Some((999_992, 999_992)));
    assert!(matches!(stage.world.explain_job(last), Some(Reason::InQueue { position: 999_992, of: 999_992 })));
    assert_eq!(
        stage.world.look_up(last).map(|job| (job.state(), job.array.map(|at| at.index))),
        Some((JobState::Queued, Some(999_999)))
    );
    // Somebody else's turn comes, whatever the length of the array.
    let other = stage.submit_as("Bo", on_pool(cores(1)), Span::minutes(1), Exit::Code(0));
    stage.pass(Span::minutes(3));
    assert!(stage.world.look_up(other).is_none(), "{:?}", stage.world.explain_job(other));
    assert!(made(&stage) < 20);
    // What is named is made, and nothing else.
    stage.must("Ada", Order::Hold { job: last, why: "later".into() });
    stage.must("Ada", Order::Cancel(JobId(first.0 + 500_000)));
    assert!(matches!(stage.world.explain_job(last), Some(Reason::OnHold { .. })));
    assert!(made(&stage) < 21);
    // The rest is over at once, in one go.
    let before = stage.outcomes.len();
    stage.must("Ada", Order::ChangeArray { array: first, change: ArrayChange::Cancel });
    assert_eq!(stage.outcomes[before].ended_rests.len(), 2, "before and after the one that was canceled by itself");
    stage.pass(Span::minutes(5));
    assert_eq!((made(&stage), stage.world.arrays().count(), stage.world.unmade()), (0, 0, 0));
    let ends = ends(&stage.outcomes);
    assert_eq!(ends.len(), 1_000_001);
    assert!(stage.world.look_up(last).is_none());
    let refused = stage.order("Ada", Order::ChangeArray { array: first, change: ArrayChange::Cancel });
    assert!(matches!(refused, Err(Reason::IsOver { .. })), "{refused:?}");
}

#[test]
fn a_cluster_grows_for_jobs_that_are_not_made_yet() {
    let mut stage = Stage::roomy();
    stage.is_writing = false;
    stage.world.make_at_once(0);
    stage.cluster("train-pool", "small", scale(0, 50, Span::seconds(30)));
    array(&mut stage, "Ada", on_pool(cores(1)), 100);
    assert_eq!(stage.world.nodes().count(), 25, "four on each");
    stage.pass(Span::hours(1));
    assert_eq!(ends(&stage.outcomes).len(), 100);
}

#[test]
fn a_whole_array_can_be_waited_for() {
    for (fails, needs, expected) in [
        (false, AfterWhat::AllSucceed, Verdict::Succeeded),
        (true, AfterWhat::AllOver, Verdict::Succeeded),
        (
            true,
            AfterWhat::AllSucceed,
            Verdict::DependencyFailed {
                job: JobId(1),
                what: "is of an array in which job-7 ended with exit code 3".into(),
            },
        ),
    ] {
        for at_once in [0, MADE_AT_ONCE] {
            let mut stage = stage(1);
            stage.world.make_at_once(at_once);
            if fails {
                stage.reality.runs.insert(JobId(7), (Span::minutes(1), Exit::Code(3)));
            }
            let first = array(&mut stage, "Ada", on_pool(cores(1)), 12);
            let after = vec![After { job: first, needs, ended: None }];
            let next = array(&mut stage, "Ada", JobSpec { after, ..on_pool(cores(1)) }, 3);
            assert!(matches!(stage.world.explain_job(next), Some(Reason::WaitsForJobs { .. })));
            stage.pass(Span::minutes(2));
            assert!(stage.world.look_up(next).is_some_and(|job| job.attempt == 0), "the array is not over");
            stage.pass(Span::hours(1));
            let ends = ends(&stage.outcomes);
            for number in 0..3 {
                assert_eq!(ends[&JobId(next.0 + number)].0, expected, "{needs:?} {at_once}");
            }
        }
    }
    let mut stage = stage(1);
    let one = stage.submit(on_pool(cores(1)), Span::minutes(1));
    let after = vec![After { job: one, needs: AfterWhat::AllOver, ended: None }];
    let refused = stage.order("Ada", Order::Submit(JobSpec { after, ..on_pool(cores(1)) }));
    assert!(matches!(&refused, Err(Reason::Invalid { problem }) if problem.field == "after"), "{refused:?}");
}

#[test]
fn a_job_that_is_not_made_yet_can_be_waited_for() {
    let mut stage = stage(1);
    stage.world.make_at_once(0);
    let first = array(&mut stage, "Ada", on_pool(cores(4)), 10);
    let after = |number| vec![After { job: JobId(first.0 + number), needs: AfterWhat::Success, ended: None }];
    let good = stage.submit(JobSpec { after: after(5), ..on_pool(cores(1)) }, Span::minutes(1));
    let bad = stage.submit(JobSpec { after: after(9), ..on_pool(cores(1)) }, Span::minutes(1));
    stage.pass(Span::minutes(8));
    stage.must("Ada", Order::ChangeArray { array: first, change: ArrayChange::Cancel });
    stage.pass(Span::minutes(10));
    let ends = ends(&stage.outcomes);
    assert_eq!(ends[&good].0, Verdict::Succeeded);
    assert!(matches!(ends[&bad].0, Verdict::DependencyFailed { .. }), "{:?}", ends[&bad]);
}

#[test]
fn a_whole_array_is_moved_and_stays_in_order() {
    for at_once in [0, MADE_AT_ONCE] {
        let mut stage = stage(1);
        stage.world.make_at_once(at_once);
        let running = stage.submit(on_pool(cores(4)), Span::hours(1));
        let one = array(&mut stage, "Ada", on_pool(cores(4)), 3);
        let other = array(&mut stage, "Ada", on_pool(cores(4)), 3);
        let single = stage.submit(on_pool(cores(4)), Span::minutes(1));
        let order = |stage: &Stage| {
            let pool = stage.world.pool(&PoolKey::Cluster(POOL));
            pool.map(|pool| pool.queue.in_order(usize::MAX)).unwrap_or_default()
        };
        let of = |first: JobId| (0..3).map(move |number| JobId(first.0 + number));
        let change = |to, over_all| ArrayChange::Move { to, over_all };
        let expect = |stage: &mut Stage, array, to, over_all, expected: Vec<JobId>| {
            stage.must("Ada", Order::ChangeArray { array, change: change(to, over_all) });
            assert_eq!(order(stage), expected, "{to:?} {over_all} {at_once}");
        };
        expect(&mut stage, other, MoveTo::Front, false, of(other).chain(of(one)).chain([single]).collect());
        expect(&mut stage, one, MoveTo::Back, false, of(other).chain([single]).chain(of(one)).collect());
        expect(&mut stage, one, MoveTo::Before(single), false, of(other).chain(of(one)).chain([single]).collect());
        expect(&mut stage, one, MoveTo::Front, true, of(one).chain(of(other)).chain([single]).collect());
        expect(&mut stage, other, MoveTo::Back, true, of(one).chain([single]).chain(of(other)).collect());
        let inside = Order::ChangeArray { array: one, change: change(MoveTo::Before(JobId(one.0 + 1)), false) };
        let refused = stage.order("Ada", inside);
        assert!(matches!(&refused, Err(Reason::Invalid { problem }) if problem.field == "before"), "{refused:?}");
        stage.must("Ada", Order::Cancel(running));
        stage.pass(Span::hours(1));
        assert_eq!(ends(&stage.outcomes).len(), 8);
    }
}

#[test]
fn what_can_never_start_is_set_aside_as_a_whole() {
    let mut stage = Stage::roomy();
    stage.is_writing = false;
    stage.world.make_at_once(0);
    stage.cluster("train-pool", "small", scale(0, 4, Span::seconds(30)));
    stage.must("Ada", Order::PauseCluster(POOL));
    let first = array(&mut stage, "Ada", gang(POOL, cores(4), 3), 500);
    let limit = |limit| {
        let resource = Resource::Cores(crate::script::family("general"));
        Order::SetLimit { scope: Scope::Workspace, resource, limit }
    };
    stage.must("Owner", limit(Some(8_000)));
    stage.must("Ada", Order::ResumeCluster(POOL));
    assert_eq!(stage.world.jobs().count(), 1, "one was made to find out");
    let last = JobId(first.0 + 499);
    assert!(matches!(stage.world.explain_job(last), Some(Reason::QuotaTooSmall { .. })));
    stage.must("Owner", limit(None));
    stage.pass(Span::hours(12));
    assert_eq!(ends(&stage.outcomes).len(), 500, "looked at again");
}

#[test]
fn serverless_arrays_get_their_nodes_as_there_is_room() {
    let mut stage = Stage::new(Resources::new(12, 48, 0));
    stage.is_writing = false;
    stage.world.make_at_once(0);
    let first = array(&mut stage, "Ada", job(Target::Serverless(size("small")), cores(4)), 20);
    assert_eq!(stage.world.jobs().count(), 4, "three have nodes and one is the next");
    let refused = stage.order("Owner", Order::RemoveSize(size("small")));
    assert!(matches!(refused, Err(Reason::InUse { .. })), "{refused:?}");
    stage.pass(Span::hours(2));
    assert!((0..20).all(|number| ends(&stage.outcomes).contains_key(&JobId(first.0 + number))));
}

#[test]
fn deleting_a_cluster_ends_what_is_not_made_yet() {
    let mut stage = stage(1);
    stage.world.make_at_once(0);
    let first = array(&mut stage, "Ada", on_pool(cores(4)), 1_000);
    stage.must("Ada", Order::DeleteCluster { cluster: POOL, ends_jobs: false });
    stage.pass(Span::minutes(10));
    let ends = ends(&stage.outcomes);
    assert_eq!(ends.len(), 1_000);
    assert!(matches!(ends[&JobId(first.0 + 999)].0, Verdict::ComputeGone { .. }));
    assert!(stage.world.cluster(POOL).is_none());
}

#[test]
fn arrays_come_back_as_they_were_saved() {
    let mut stage = stage(1);
    let first = array(&mut stage, "Ada", on_pool(cores(1)), 5_000);
    stage.must("Ada", Order::Cancel(JobId(first.0 + 2_500)));
    stage.must("Ada", Order::ChangeArray { array: first, change: ArrayChange::Prioritise(Priority::High) });
    let saved = stage.world.record(&Key::Array(first)).expect("it is there");
    let text = serde_json::to_string(&saved).expect("it can be written");
    assert!(text.len() < 1_000, "{text}");
    assert_eq!(serde_json::from_str::<Record>(&text).expect("it can be read"), saved);
    let again = World::load(stage.world.records(), stage.clocks());
    assert_eq!((again.audit(), again.fingerprint()), (vec![], stage.world.fingerprint()));
    assert_eq!(again.position(JobId(first.0 + 4_000)), stage.world.position(JobId(first.0 + 4_000)));
}

#[test]
fn an_excerpt_has_jobs_that_are_not_made_yet() {
    let mut stage = stage(1);
    let first = array(&mut stage, "ines", on_pool(cores(4)), 1_000);
    let far = JobId(first.0 + 900);
    let excerpt = stage.world.excerpt(&PoolKey::Cluster(POOL), &[far], 1);
    assert!(!excerpt.is_whole);
    let jobs: Vec<JobId> = excerpt
        .records
        .iter()
        .filter_map(|record| match record {
            Record::Job(job) => Some(job.id),
            _ => None,
        })
        .collect();
    // What runs, the first that waits, and the one that was asked for.
    assert_eq!(jobs, [first, JobId(first.0 + 1), far]);
}
