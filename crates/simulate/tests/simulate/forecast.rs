//! Forecasts: what they say, and that the core then does it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use atelier_domain::compute::cluster::ScaleSettings;
use atelier_domain::compute::fair_share::{QueueOrder, QueuePolicy};
use atelier_domain::compute::job::{JobPhase, JobSpec, Priority, Target};
use atelier_domain::compute::size::{ComputeName, Family, Price, SiteName, Size, SizeName, Tier};
use atelier_domain::compute::tags::Tags;
use atelier_domain::compute::{ClusterId, JobId, NodeId, Resources};
use atelier_domain::time::{Mono, Now, Span, Timestamp};
use atelier_domain::world::{AllocationKey, Answer, Command, Effect, Exit, Input, Order, PoolKey, Report, World};
use atelier_domain::{UserId, WorkspaceId};
use atelier_simulate::forecast::{Eta, Expectations, Unknown, WhatIf, forecast, what_if};
use proptest::prelude::*;

const START: Timestamp = Timestamp(1_772_438_400_000);
const LAUNCH: Span = Span::seconds(30);
const CLUSTER: ClusterId = ClusterId(1);

fn workspace() -> WorkspaceId {
    WorkspaceId::new("studio")
}

fn order(user: &str, order: Order) -> Input {
    Input::Command(Command { workspace: workspace(), user: Some(UserId::new(user)), name: user.into(), order })
}

fn size() -> Size {
    Size {
        name: SizeName::parse("small").expect("a name"),
        family: Family::parse("general").expect("a family"),
        site: SiteName::parse("local").expect("a site"),
        shape: Resources::new(4, 16, 0),
        price: Price(200_000),
    }
}

const fn scale(max: u32) -> ScaleSettings {
    ScaleSettings { min: 0, max, idle: Span::minutes(2), warm: 0 }
}

/// Drivers and agents without any surprise, written for these tests alone.
struct Site {
    world: World,
    now: u64,
    runs: BTreeMap<JobId, u64>,
    events: BinaryHeap<Reverse<(u64, u64, String)>>,
    what: BTreeMap<String, Vec<Report>>,
    count: u64,
    wake: Option<u64>,
    ends: BTreeMap<AllocationKey, u64>,
    started: BTreeMap<JobId, Timestamp>,
}

impl Site {
    fn new(max: u32, policy: QueuePolicy) -> Self {
        let mut site = Self {
            world: World::default(),
            now: 0,
            runs: BTreeMap::new(),
            events: BinaryHeap::new(),
            what: BTreeMap::new(),
            count: 0,
            wake: None,
            ends: BTreeMap::new(),
            started: BTreeMap::new(),
        };
        let capacity = Resources::new(1_000, 4_000, 0);
        let cluster = Order::CreateCluster {
            name: ComputeName::parse("shared").expect("a name"),
            size: size().name,
            scale: scale(max),
            tags: Tags::default(),
            tier: Tier::Dedicated,
        };
        site.step(&[
            Input::Report(Report::Site { site: size().site, capacity }),
            order("op", Order::PutSize(size())),
            order("op", cluster),
            order("op", Order::SetQueuePolicy { cluster: Some(CLUSTER), policy }),
        ]);
        site
    }

    fn clocks(&self) -> Now {
        Now { wall: START.plus(Span::millis(self.now)), mono: Mono(self.now) }
    }

    fn say(&mut self, at: u64, report: Report) {
        self.count += 1;
        let name = format!("{:020}", self.count);
        self.what.insert(name.clone(), vec![report]);
        self.events.push(Reverse((at, self.count, name)));
    }

    fn step(&mut self, inputs: &[Input]) -> Vec<Option<Result<Answer, atelier_domain::reason::Reason>>> {
        let outcome = self.world.step(inputs, self.clocks());
        let now = self.now;
        for effect in &outcome.effects {
            match effect {
                Effect::Launch { node, .. } => self.say(now + 30_000, Report::NodeUp(*node)),
                Effect::Terminate { node, .. } => self.say(now + 5_000, Report::NodeGone(*node)),
                Effect::Drain { node } => self.say(now + 1, Report::NodeDrained(*node)),
                Effect::StartJob { part, .. } => {
                    if self.ends.contains_key(part) {
                        continue;
                    }
                    self.say(now + 1, Report::JobStarted(*part));
                    let run = self.runs.get(&part.job).copied();
                    self.ends.insert(*part, 0);
                    if let Some(run) = run {
                        self.say(now + 1 + run, Report::JobOff { part: *part, exit: Exit::Code(0) });
                    }
                }
                Effect::EndJob { part, .. } => {
                    self.say(now + 1_000, Report::JobOff { part: *part, exit: Exit::Code(143) });
                }
                _ => {}
            }
        }
        for job in self.world.jobs() {
            if let (JobPhase::Running { .. }, Some(at)) = (&job.phase, job.when.started) {
                self.started.entry(job.id).or_insert(at);
            }
        }
        for ended in &outcome.ended {
            if let Some(at) = ended.job.when.started {
                self.started.entry(ended.job.id).or_insert(at);
            }
        }
        self.wake = outcome.wake.map(|at| at.0);
        outcome.replies
    }

    /// Lets time pass, with nothing new but what was planned.
    fn pass(&mut self, until: u64) {
        loop {
            let next = [self.events.peek().map(|Reverse((at, ..))| *at), self.wake].into_iter().flatten().min();
            let Some(next) = next.map(|next| next.max(self.now + 1)).filter(|next| *next <= until) else { break };
            self.now = next;
            let mut inputs = Vec::new();
            while self.events.peek().is_some_and(|Reverse((at, ..))| *at <= next) {
                let Some(Reverse((_, _, name))) = self.events.pop() else { break };
                inputs.extend(self.what.remove(&name).into_iter().flatten().map(Input::Report));
            }
            self.step(&inputs);
        }
        self.now = until.max(self.now);
    }

    fn submit(&mut self, user: &str, spec: JobSpec, run: Option<u64>) -> JobId {
        let next = JobId(self.world.state().jobs + 1);
        if let Some(run) = run {
            self.runs.insert(next, run);
        }
        let replies = self.step(&[order(user, Order::Submit(spec))]);
        match replies.into_iter().next().flatten() {
            Some(Ok(Answer::Job(job))) => job,
            other => panic!("not queued: {other:?}"),
        }
    }

    fn known(&self) -> Expectations {
        Expectations {
            runs: self.runs.iter().map(|(job, run)| (*job, Span::millis(*run))).collect(),
            launches: BTreeMap::from([(size().name, LAUNCH)]),
        }
    }

    fn etas(&self, known: &Expectations, jobs: &[JobId]) -> Vec<Eta> {
        let excerpt = self.world.excerpt(&PoolKey::Cluster(CLUSTER), jobs, 100_000);
        assert!(excerpt.is_whole);
        forecast(excerpt, known, self.clocks().wall, jobs)
    }
}

fn spec(cores: u64, nodes: u32, timeout: Option<Span>) -> JobSpec {
    JobSpec {
        target: Target::Cluster(CLUSTER),
        shape: Resources { cores: cores * 1_000, memory: 1_024, gpus: 0 },
        nodes,
        priority: Priority::Medium,
        timeout,
        grace: Span::seconds(30),
        retry: None,
        tier: Tier::Dedicated,
        after: Vec::new(),
        environment: None,
    }
}

fn at(eta: &Eta) -> Timestamp {
    match eta {
        Eta::Start { at, .. } => *at,
        Eta::Unknown(why) => panic!("{}", why.sentence()),
    }
}

#[test]
fn jobs_start_when_those_before_them_end() {
    let mut site = Site::new(1, QueuePolicy::plain());
    let first = site.submit("ada", spec(4, 1, None), Some(600_000));
    let second = site.submit("ada", spec(4, 1, Some(Span::minutes(20))), None);
    let third = site.submit("bob", spec(4, 1, None), Some(60_000));
    site.pass(120_000);
    let etas = site.etas(&site.known(), &[first, second, third]);
    // The first has run since 30 s and one word.
    let begun = START.plus(Span::millis(30_002));
    assert!(at(&etas[0]) <= begun, "{:?}", etas[0]);
    let after = at(&etas[1]);
    assert!((630_000..631_000).contains(&after.since(START).as_millis()), "{after:?}");
    // The second has only its time limit to go by.
    let Eta::Start { end: Some(end), until, .. } = etas[1] else { panic!("{:?}", etas[1]) };
    assert_eq!(end.since(after), Span::minutes(20));
    assert_eq!(until.ended, 1);
    let Eta::Start { at: third_at, until, .. } = etas[2] else { panic!("{:?}", etas[2]) };
    assert!(third_at >= end);
    assert_eq!(until.ended, 2);
}

#[test]
fn what_has_no_known_end_makes_those_behind_it_unknown() {
    let mut site = Site::new(1, QueuePolicy::plain());
    let first = site.submit("ada", spec(4, 1, None), None);
    let second = site.submit("ada", spec(4, 1, None), Some(1_000));
    site.pass(60_000);
    let etas = site.etas(&site.known(), &[first, second]);
    assert!(matches!(etas[0], Eta::Start { end: None, .. }));
    assert_eq!(etas[1], Eta::Unknown(Unknown::Endless { job: first, others: 0, usual: None }));
    let Eta::Unknown(why) = &etas[1] else { panic!() };
    assert_eq!(
        why.sentence(),
        "Unknown, because job-1 has no time limit and nothing like it has run to its end before."
    );
    // Longer than usual is no better.
    let mut known = site.known();
    known.runs.insert(first, Span::seconds(10));
    let etas = site.etas(&known, &[second]);
    assert_eq!(etas[0], Eta::Unknown(Unknown::Endless { job: first, others: 0, usual: Some(Span::seconds(10)) }));
}

#[test]
fn what_waits_for_somebody_is_said_in_the_words_of_the_core() {
    let mut site = Site::new(1, QueuePolicy::plain());
    let first = site.submit("ada", spec(4, 1, None), Some(1_000));
    site.step(&[order("op", Order::Hold { job: first, why: "until Monday".into() })]);
    let Eta::Unknown(why) = &site.etas(&site.known(), &[first])[0] else { panic!("it is held") };
    assert!(why.sentence().contains("until Monday"), "{}", why.sentence());
    assert_eq!(why.code(), "eta.waits");
    site.step(&[order("op", Order::Pause { why: "moving".into() })]);
    let second = site.submit("ada", spec(4, 1, None), Some(1_000));
    let Eta::Unknown(why) = &site.etas(&site.known(), &[second])[0] else { panic!("all acting is paused") };
    assert!(why.sentence().contains("moving"), "{}", why.sentence());
}

#[test]
fn a_large_queue_is_looked_at_from_its_front() {
    let mut site = Site::new(1, QueuePolicy::plain());
    let jobs: Vec<JobId> = (0..30).map(|_| site.submit("ada", spec(4, 1, None), Some(60_000))).collect();
    site.pass(60_000);
    let excerpt = site.world.excerpt(&PoolKey::Cluster(CLUSTER), &[], 10);
    assert!(!excerpt.is_whole);
    let etas = forecast(excerpt, &site.known(), site.clocks().wall, &jobs);
    let whole = site.etas(&site.known(), &jobs);
    assert_eq!(etas[..10], whole[..10]);
    assert!(matches!(etas[29], Eta::Unknown(Unknown::Beyond { .. })), "{:?}", etas[29]);
}

#[test]
fn what_others_hold_stays_theirs_in_an_excerpt() {
    let mut site = Site::new(4, QueuePolicy::plain());
    for _ in 0..20 {
        site.submit("ada", spec(4, 1, None), Some(60_000));
    }
    site.pass(40_000);
    // A second cluster that would need what the first has.
    let room = Resources::new(20, 80, 0);
    site.step(&[Input::Report(Report::Site { site: size().site, capacity: room })]);
    let other = Order::CreateCluster {
        name: ComputeName::parse("other").expect("a name"),
        size: size().name,
        scale: scale(4),
        tags: Tags::default(),
        tier: Tier::Dedicated,
    };
    site.step(&[order("op", other)]);
    let excerpt = site.world.excerpt(&PoolKey::Cluster(ClusterId(2)), &[], 3);
    let world = World::load(excerpt.records, excerpt.now);
    assert_eq!(world.free_capacity(&size().site), Resources::new(4, 16, 0));
    assert_eq!(world.nodes().count(), 0);
}

#[test]
fn a_job_that_is_only_thought_of_leaves_nothing_behind() {
    let mut site = Site::new(1, QueuePolicy::plain());
    site.submit("ada", spec(4, 1, None), Some(600_000));
    site.pass(60_000);
    let before = site.world.records();
    let excerpt = || site.world.excerpt(&PoolKey::Cluster(CLUSTER), &[], 100);
    let (who, now) = ((&workspace(), &UserId::new("bob")), site.clocks().wall);
    let thought = what_if(excerpt(), &site.known(), now, who, &spec(1, 1, None), Some(Span::minutes(5)));
    let WhatIf::Queued(Eta::Start { at, end: Some(end), .. }) = thought else { panic!("{thought:?}") };
    assert_eq!(end.since(at), Span::minutes(5));
    assert!(at.since(START) >= Span::seconds(630), "{at:?}");
    let refused = what_if(excerpt(), &site.known(), now, who, &spec(64, 1, None), None);
    assert!(matches!(refused, WhatIf::Refused(_)), "{refused:?}");
    assert_eq!(site.world.records(), before);
}

#[derive(Clone, Debug)]
struct Draw {
    person: usize,
    cores: u64,
    nodes: u32,
    run: u64,
    limit: Option<u64>,
    priority: usize,
    gap: u64,
}

fn draws() -> impl Strategy<Value = Vec<Draw>> {
    let one =
        (0..3_usize, 1..=4_u64, 1..=3_u32, 1..1_200_u64, proptest::option::of(1..900_u64), 0..3_usize, 0..120_u64);
    let one = one.prop_map(|(person, cores, nodes, run, limit, priority, gap)| Draw {
        person,
        cores,
        // Most work takes one node.
        nodes: if nodes == 3 { 3 } else { 1 },
        run,
        limit,
        priority,
        gap,
    });
    proptest::collection::vec(one, 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    /// Where run times are as expected, every job starts at the very moment that was said.
    #[test]
    fn the_core_does_what_was_foreseen(
        draws in draws(), max in 1..6_u32, is_fair: bool, backfill: bool, ask_at in 0..3_600_u64,
    ) {
        let order = if is_fair { QueueOrder::FairShare } else { QueueOrder::Fifo };
        let mut site = Site::new(max.max(3), QueuePolicy { order, backfill });
        let mut jobs = Vec::new();
        for draw in &draws {
            let limit = draw.limit.map(|limit| Span::seconds(u32::try_from(draw.run + limit).expect("small")));
            let priority = Priority::ALL[draw.priority];
            let spec = JobSpec { priority, ..spec(draw.cores, draw.nodes, limit) };
            jobs.push(site.submit(["ada", "bob", "eve"][draw.person], spec, Some(draw.run * 1_000)));
            site.pass(site.now + draw.gap * 1_000);
        }
        site.pass(site.now + ask_at * 1_000);
        let waiting: Vec<JobId> = jobs
            .iter()
            .copied()
            .filter(|id| site.world.job(*id).is_some_and(|job| job.is_queued()))
            .collect();
        let said = site.etas(&site.known(), &waiting);
        site.pass(site.now + 7 * 24 * 3_600_000);
        for (job, eta) in waiting.iter().zip(&said) {
            prop_assert_eq!(site.started.get(job).copied(), Some(at(eta)), "{} {:?}", job, eta);
        }
    }
}

#[test]
fn nodes_on_their_way_are_waited_for_from_when_they_were_wanted() {
    let mut site = Site::new(2, QueuePolicy::plain());
    let job = site.submit("ada", spec(4, 1, None), Some(1_000));
    site.pass(20_000);
    let eta = &site.etas(&site.known(), &[job])[0];
    assert!((30_000..30_100).contains(&at(eta).since(START).as_millis()), "{eta:?}");
    let Eta::Start { until, .. } = eta else { panic!() };
    assert_eq!((until.launched, until.ended), (1, 0));
    assert_eq!(site.world.nodes().map(|node| node.id).collect::<Vec<_>>(), [NodeId(1)]);
}
