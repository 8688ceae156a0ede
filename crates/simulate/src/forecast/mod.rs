//! When waiting jobs will start: the core run forward from a snapshot, with jobs that take as long as such
//! jobs usually do.
//!
//! Nothing new comes in that future: nobody submits, no launch fails, no node is lost. What is not known to
//! end is taken to run for ever, so that who starts all the same has a time that can be relied on, and who
//! does not is told which job is in the way.

mod agents;
mod unknown;

use std::collections::{BTreeMap, BTreeSet};

use atelier_domain::compute::JobId;
use atelier_domain::compute::job::{Job, JobPhase, JobSpec};
use atelier_domain::compute::node::{LAUNCH_LIMIT, NodePhase};
use atelier_domain::compute::size::SizeName;
use atelier_domain::reason::Reason;
use atelier_domain::text::Text;
use atelier_domain::time::{Mono, Now, Span, Timestamp};
use atelier_domain::world::{Answer, Command, Excerpt, Input, Key, Order, Outcome, PoolKey, Record, World};
use atelier_domain::{UserId, WorkspaceId};

use self::agents::Agents;
pub use self::unknown::Unknown;

/// How far a forecast looks.
pub const HORIZON: Span = Span::hours(24 * 7);
/// The most steps of the core in one forecast.
pub const MAX_STEPS: u64 = 100_000;
/// How long a launch takes where nobody has seen one.
pub const USUAL_LAUNCH: Span = Span::seconds(30);

/// What is known beforehand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expectations {
    /// How long jobs run, by the job under which what they run is kept ([`Job::payload`]).
    pub runs: BTreeMap<JobId, Span>,
    /// How long a launch of a size takes; [`USUAL_LAUNCH`] where it is not said.
    pub launches: BTreeMap<SizeName, Span>,
}

impl Expectations {
    /// How long a job runs in all that has run for so long already; none if nobody knows.
    pub fn run_of(&self, job: &Job, elapsed: Span) -> Option<Span> {
        let usual = self.runs.get(&job.payload()).copied().filter(|usual| *usual > elapsed);
        match (usual, job.spec.timeout) {
            (Some(usual), Some(limit)) => Some(usual.min(limit)),
            (usual, limit) => usual.or(limit),
        }
    }

    pub(crate) fn launch_of(&self, size: &SizeName) -> Span {
        self.launches.get(size).copied().unwrap_or(USUAL_LAUNCH)
    }
}

/// How long launches took of the nodes that are there, in the middle, by size.
pub fn learn_launches(excerpt: &Excerpt) -> BTreeMap<SizeName, Span> {
    let mut seen: BTreeMap<SizeName, Vec<Span>> = BTreeMap::new();
    for record in &excerpt.records {
        let Record::Node(node) = record else { continue };
        if matches!(node.phase, NodePhase::Launching { .. }) {
            continue;
        }
        // Wanted by the one clock, up by the other.
        let (wanted, up) = (excerpt.now.wall.since(node.created), excerpt.now.mono.since(node.up));
        seen.entry(node.size.clone()).or_default().push(wanted.minus(up).min(LAUNCH_LIMIT));
    }
    let median = |mut spans: Vec<Span>| {
        spans.sort_unstable();
        spans.get(spans.len() / 2).copied()
    };
    seen.into_iter().filter_map(|(size, spans)| Some((size, median(spans)?))).collect()
}

/// What has to happen before a job starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Until {
    /// Jobs on the same compute that end by then.
    pub ended: u64,
    /// Nodes that are up by then.
    pub launched: u64,
}

/// When a job starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Eta {
    Start {
        /// When it runs on all its nodes.
        at: Timestamp,
        /// When it is over; none if nobody knows how long it takes.
        end: Option<Timestamp>,
        until: Until,
    },
    Unknown(Unknown),
}

/// What became of a job that was only thought of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WhatIf {
    /// It would be refused.
    Refused(Reason),
    /// It would be queued.
    Queued(Eta),
}

/// When each of these jobs starts, in their order. `now` is when that is asked; the excerpt may be a little
/// older.
pub fn forecast(excerpt: Excerpt, known: &Expectations, now: Timestamp, jobs: &[JobId]) -> Vec<Eta> {
    let mut future = Future::new(excerpt, known, now);
    future.expect(jobs);
    future.run();
    jobs.iter().map(|job| future.eta(*job)).collect()
}

/// When a job would start if somebody submitted it now. `run` is how long such jobs take, if that is known.
pub fn what_if(
    excerpt: Excerpt,
    known: &Expectations,
    now: Timestamp,
    who: (&WorkspaceId, &UserId),
    spec: &JobSpec,
    run: Option<Span>,
) -> WhatIf {
    let mut future = Future::new(excerpt, known, now);
    let order = Order::Submit(spec.clone());
    let (workspace, user) = (who.0.clone(), Some(who.1.clone()));
    let input = Input::Command(Command { workspace, user, name: Text::from("what if"), order });
    let first = JobId(future.world.state().jobs + 1);
    if let Some(run) = run {
        future.known.runs.insert(first, run);
    }
    let outcome = future.step(&[input]);
    match outcome {
        Some(Ok(Answer::Job(job))) => {
            future.expect(&[job]);
            future.run();
            WhatIf::Queued(future.eta(job))
        }
        Some(Err(reason)) => WhatIf::Refused(reason),
        _ => WhatIf::Queued(Eta::Unknown(Unknown::Gone)),
    }
}

struct Future {
    world: World,
    known: Expectations,
    agents: Agents,
    now: Now,
    end: Mono,
    steps: u64,
    wake: Option<Mono>,
    is_whole: bool,
    /// Asked for and not begun.
    open: BTreeSet<JobId>,
    found: BTreeMap<JobId, Eta>,
    ended: BTreeMap<PoolKey, u64>,
    launched: BTreeMap<PoolKey, u64>,
    stopped: Option<Unknown>,
}

impl Future {
    fn new(excerpt: Excerpt, known: &Expectations, at: Timestamp) -> Self {
        let Excerpt { records, now, is_whole } = excerpt;
        // The clock of what lasts has gone on as long as the wall clock has.
        let later = at.since(now.wall);
        let now = Now { wall: now.wall.plus(later), mono: now.mono.plus(later) };
        let world = World::load(records, now);
        let agents = Agents::of(&world, known, now);
        let stopped = world
            .state()
            .pause
            .as_ref()
            .map(|pause| Unknown::Stuck(Reason::EnginePaused { by: pause.by.clone(), why: pause.why.clone() }));
        let mut future = Self {
            world,
            known: known.clone(),
            agents,
            now,
            end: now.mono.plus(HORIZON),
            steps: 0,
            wake: None,
            is_whole,
            open: BTreeSet::new(),
            found: BTreeMap::new(),
            ended: BTreeMap::new(),
            launched: BTreeMap::new(),
            stopped,
        };
        // The first step looks at every pool; what was wanted before it is wanted still.
        let wanted = future.world.wanted();
        future.agents.act(&future.world, &future.known, future.now.mono, &wanted);
        future.step(&[]);
        future
    }

    fn expect(&mut self, jobs: &[JobId]) {
        for id in jobs {
            self.open.insert(*id);
            self.look_at(*id);
        }
    }

    /// Lets time pass until all have begun, nothing more happens, or it has been long enough.
    fn run(&mut self) {
        let mut reports = Vec::new();
        while !self.open.is_empty() && self.stopped.is_none() {
            let Some(next) = [self.agents.next_at(), self.wake].into_iter().flatten().min() else { return };
            let next = next.max(self.now.mono.plus(Span::millis(1)));
            if next > self.end {
                self.stopped = Some(Unknown::TooFar);
                return;
            }
            if self.steps == MAX_STEPS {
                self.stopped = Some(Unknown::TooMuch);
                return;
            }
            self.now = Now { wall: self.now.wall.plus(next.since(self.now.mono)), mono: next };
            reports.clear();
            self.agents.run(next, |report| reports.push(Input::Report(report)));
            self.step(&reports);
        }
    }

    fn step(&mut self, inputs: &[Input]) -> Option<Result<Answer, Reason>> {
        let mut outcome = self.world.step(inputs, self.now);
        self.steps += 1;
        self.agents.act(&self.world, &self.known, self.now.mono, &outcome.effects);
        let wall = outcome.wake_wall.map(|at| self.now.mono.plus(at.since(self.now.wall)));
        self.wake = [outcome.wake, wall].into_iter().flatten().min();
        self.count(&outcome);
        outcome.replies.pop().flatten()
    }

    /// Notes who has begun, and what happened on each compute.
    fn count(&mut self, outcome: &Outcome) {
        for node in self.agents.up.drain(..) {
            if let Some(key) = self.world.node(node).and_then(PoolKey::of_node) {
                *self.launched.entry(key).or_default() += 1;
            }
        }
        for ended in &outcome.ended {
            *self.ended.entry(PoolKey::of_job(&ended.job)).or_default() += 1;
        }
        for key in outcome.changed.iter().chain(&outcome.gone) {
            if let Key::Job(id) = key
                && self.open.contains(id)
            {
                self.look_at(*id);
            }
        }
        for ended in outcome.ended.iter().filter(|ended| self.open.contains(&ended.job.id)).collect::<Vec<_>>() {
            // It began and was over within one step, or never ran.
            let eta = match ended.job.when.started {
                Some(at) => Eta::Start { at, end: Some(ended.at), until: self.until(&ended.job) },
                None => Eta::Unknown(Unknown::Gone),
            };
            self.open.remove(&ended.job.id);
            self.found.insert(ended.job.id, eta);
        }
    }

    fn until(&self, job: &Job) -> Until {
        let key = PoolKey::of_job(job);
        let of = |counts: &BTreeMap<PoolKey, u64>| counts.get(&key).copied().unwrap_or(0);
        Until { ended: of(&self.ended), launched: of(&self.launched) }
    }

    fn look_at(&mut self, id: JobId) {
        let Some(job) = self.world.job(id) else { return };
        let since = match job.phase {
            JobPhase::Running { since } => since,
            // What is being ended is over at any moment.
            JobPhase::Finalizing { .. } | JobPhase::Ending { .. } => self.now.mono,
            JobPhase::Queued { .. } | JobPhase::Starting { .. } => return,
        };
        let elapsed = self.now.mono.since(since);
        let at = job.when.started.unwrap_or(self.now.wall);
        let left = self.known.run_of(job, elapsed).map(|run| run.minus(elapsed));
        let eta = Eta::Start { at, end: left.map(|left| self.now.wall.plus(left)), until: self.until(job) };
        self.open.remove(&id);
        self.found.insert(id, eta);
    }

    fn eta(&self, id: JobId) -> Eta {
        if let Some(eta) = self.found.get(&id) {
            return eta.clone();
        }
        let Some(job) = self.world.job(id) else {
            let looked = self.world.jobs().filter(|job| job.is_eligible()).count() as u64;
            return Eta::Unknown(if self.is_whole { Unknown::Gone } else { Unknown::Beyond { looked } });
        };
        if let Some(Unknown::Stuck(reason)) = &self.stopped {
            return Eta::Unknown(Unknown::Stuck(reason.clone()));
        }
        // Who waits for their turn waits for those that run.
        if job.is_eligible()
            && let Some(endless) = self.endless(&PoolKey::of_job(job))
        {
            return Eta::Unknown(endless);
        }
        match &self.stopped {
            Some(stopped) => Eta::Unknown(stopped.clone()),
            None => Eta::Unknown(self.world.explain_job(id).map_or(Unknown::TooFar, Unknown::Stuck)),
        }
    }

    /// What runs on that compute, or anywhere if it has nothing there, and is not known to end.
    fn endless(&self, key: &PoolKey) -> Option<Unknown> {
        let is_endless = |job: &&Job| match job.phase {
            JobPhase::Running { since } => self.known.run_of(job, self.now.mono.since(since)).is_none(),
            _ => false,
        };
        let all: Vec<&Job> = self.world.jobs().filter(is_endless).collect();
        let here: Vec<&Job> = all.iter().copied().filter(|job| PoolKey::of_job(job) == *key).collect();
        let those = if here.is_empty() { all } else { here };
        let first = those.first()?;
        let usual = self.known.runs.get(&first.payload()).copied();
        Some(Unknown::Endless { job: first.id, others: those.len() as u64 - 1, usual })
    }
}
