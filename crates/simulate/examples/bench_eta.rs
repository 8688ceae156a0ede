//! How long a forecast takes with a long queue, and what it costs the loop that it is taken from: one line of
//! JSON.

#![expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use atelier_domain::compute::cluster::ScaleSettings;
use atelier_domain::compute::fair_share::{QueueOrder, QueuePolicy};
use atelier_domain::compute::job::{JobSpec, Priority, Target};
use atelier_domain::compute::size::{ComputeName, Family, Price, SiteName, Size, SizeName, Tier};
use atelier_domain::compute::tags::Tags;
use atelier_domain::compute::{ClusterId, JobId, Resources};
use atelier_domain::text::Problem;
use atelier_domain::time::{Mono, Now, Span, Timestamp};
use atelier_domain::world::{AllocationKey, Command, Effect, Excerpt, Exit, Input, Order, PoolKey, Report, World};
use atelier_domain::{UserId, WorkspaceId};
use atelier_simulate::forecast::{Eta, Expectations, forecast};

const QUEUED: u64 = 2_000;
const NODES: u32 = 50;
const PEOPLE: u64 = 20;
const PAGE: usize = 50;
const CLUSTER: ClusterId = ClusterId(1);
const START: Timestamp = Timestamp(1_772_438_400_000);
/// As often as the server makes a new one at most.
const EVERY: Duration = Duration::from_secs(3);
/// Each of the rounds with and without.
const ROUND: Duration = Duration::from_secs(6);
const ROUNDS: usize = 3;

struct Site {
    world: World,
    now: u64,
    running: VecDeque<AllocationKey>,
    inputs: Vec<Input>,
    submitted: u64,
}

fn name<T>(parsed: Result<T, Problem>) -> T {
    parsed.unwrap_or_else(|problem| panic!("{}", problem.message))
}

fn order(user: u64, order: Order) -> Input {
    let user = format!("person-{user}");
    let (workspace, name) = (WorkspaceId::new("studio"), user.as_str().into());
    Input::Command(Command { workspace, user: Some(UserId::new(user)), name, order })
}

impl Site {
    fn new() -> Self {
        let size = Size {
            name: name(SizeName::parse("small")),
            family: name(Family::parse("general")),
            site: name(SiteName::parse("local")),
            shape: Resources::new(4, 16, 0),
            price: Price(200_000),
        };
        let made = Order::CreateCluster {
            name: name(ComputeName::parse("shared")),
            size: size.name.clone(),
            scale: ScaleSettings { min: 0, max: NODES, idle: Span::minutes(2), warm: 0 },
            tags: Tags::default(),
            tier: Tier::Dedicated,
        };
        let policy = QueuePolicy { order: QueueOrder::FairShare, backfill: true };
        let capacity = Resources::new(10_000, 40_000, 0);
        let inputs = vec![
            Input::Report(Report::Site { site: size.site.clone(), capacity }),
            order(0, Order::PutSize(size)),
            order(0, made),
            order(0, Order::SetQueuePolicy { cluster: Some(CLUSTER), policy }),
        ];
        let mut site = Self { world: World::default(), now: 0, running: VecDeque::new(), inputs, submitted: 0 };
        site.step();
        while (site.world.queued() as u64) < QUEUED {
            site.submit();
            site.step();
        }
        site
    }

    fn clocks(&self) -> Now {
        Now { wall: START.plus(Span::millis(self.now)), mono: Mono(self.now) }
    }

    fn submit(&mut self) {
        self.submitted += 1;
        let number = self.submitted;
        let spec = JobSpec {
            target: Target::Cluster(CLUSTER),
            shape: Resources { cores: 1_000 * (1 + number % 3), memory: 2_048, gpus: 0 },
            nodes: if number.is_multiple_of(50) { 3 } else { 1 },
            priority: Priority::Medium,
            timeout: Some(Span::minutes(60)),
            grace: Span::seconds(30),
            retry: None,
            tier: Tier::Dedicated,
            after: Vec::new(),
            environment: None,
        };
        self.inputs.push(order(number % PEOPLE, Order::Submit(spec)));
    }

    fn step(&mut self) -> u64 {
        self.now += 1;
        let inputs = std::mem::take(&mut self.inputs);
        let outcome = self.world.step(&inputs, self.clocks());
        for effect in outcome.effects {
            match effect {
                Effect::Launch { node, .. } => self.inputs.push(Input::Report(Report::NodeUp(node))),
                Effect::StartJob { part, .. } => {
                    self.inputs.push(Input::Report(Report::JobStarted(part)));
                    self.running.push_back(part);
                }
                Effect::Terminate { node, .. } => self.inputs.push(Input::Report(Report::NodeGone(node))),
                Effect::Drain { node } => self.inputs.push(Input::Report(Report::NodeDrained(node))),
                _ => {}
            }
        }
        inputs.len() as u64
    }

    /// One job ends and another one comes, as on a busy day.
    fn go_on(&mut self) -> u64 {
        // Jobs last: none is as quick as a step is.
        self.now += 2_000;
        if let Some(part) = self.running.pop_front() {
            self.inputs.push(Input::Report(Report::JobOff { part, exit: Exit::Code(0) }));
        }
        while (self.world.queued() as u64) < QUEUED && self.inputs.len() < 8 {
            self.submit();
        }
        self.step()
    }

    fn excerpt(&self) -> Excerpt {
        self.world.excerpt(&PoolKey::Cluster(CLUSTER), &[], 5_000)
    }
}

fn known(world: &World) -> Expectations {
    let runs =
        world.jobs().map(|job| (job.id, Span::seconds(300 + u32::try_from(job.id.0 % 900).unwrap_or(0)))).collect();
    Expectations { runs, launches: BTreeMap::new() }
}

/// Inputs a second, with a forecast as often as the server makes one, or without.
fn load(site: &mut Site, forecasts: bool) -> f64 {
    let start = Instant::now();
    let (mut inputs, mut last) = (0, None::<Instant>);
    let mut beside: Option<std::thread::JoinHandle<Vec<Eta>>> = None;
    while start.elapsed() < ROUND {
        if forecasts && last.is_none_or(|last| last.elapsed() >= EVERY) {
            last = Some(Instant::now());
            let (excerpt, now) = (site.excerpt(), site.clocks().wall);
            drop(beside.replace(std::thread::spawn(move || {
                let world = World::load(excerpt.records.clone(), excerpt.now);
                let jobs: Vec<JobId> = world.jobs().filter(|job| job.is_queued()).map(|job| job.id).collect();
                forecast(excerpt, &known(&world), now, &jobs)
            })));
        }
        for _ in 0..64 {
            inputs += site.go_on();
        }
    }
    let rate = f64::from(u32::try_from(inputs).unwrap_or(u32::MAX)) / start.elapsed().as_secs_f64();
    if let Some(beside) = beside {
        assert!(beside.join().is_ok_and(|etas| !etas.is_empty()), "a forecast came to nothing");
    }
    rate
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}

fn main() {
    let mut site = Site::new();
    for _ in 0..2_000 {
        site.go_on();
    }
    let queue =
        site.world.pool(&PoolKey::Cluster(CLUSTER)).map(|pool| pool.queue.in_order(usize::MAX)).unwrap_or_default();
    // The last page of the queue is the one that takes longest.
    let page: Vec<JobId> = queue.iter().rev().take(PAGE).copied().collect();
    let known = known(&site.world);
    let (mut excerpts, mut pages, mut all) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..9 {
        let start = Instant::now();
        let excerpt = site.excerpt();
        excerpts.push(start.elapsed().as_secs_f64() * 1_000.0);
        let etas = forecast(excerpt, &known, site.clocks().wall, &page);
        pages.push(start.elapsed().as_secs_f64() * 1_000.0);
        assert!(etas.iter().all(|eta| matches!(eta, Eta::Start { .. })), "{:?}", etas.first());
        let start = Instant::now();
        let etas = forecast(site.excerpt(), &known, site.clocks().wall, &queue);
        all.push(start.elapsed().as_secs_f64() * 1_000.0);
        assert_eq!(etas.len(), queue.len());
    }
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        without.push(load(&mut site, false));
        with.push(load(&mut site, true));
    }
    let slower = (1.0 - median(with) / median(without)) * 100.0;
    println!(
        "{}",
        serde_json::json!({
            "figure": "eta", "queued": queue.len(), "page_ms": median(pages), "all_ms": median(all),
            "excerpt_ms": median(excerpts), "slower_percent": slower.max(0.0),
        })
    );
}
