//! One simulated site: people who want things, the World, and reality.

use std::collections::{BTreeMap, BTreeSet};

use atelier_domain::compute::cluster::ScaleSettings;
use atelier_domain::compute::idle::{IdlePolicy, Source};
use atelier_domain::compute::job::{JobSpec, Priority, RetryCause, RetryPolicy, Target, Verdict};
use atelier_domain::compute::node::Holder;
use atelier_domain::compute::quota::{Resource, Scope};
use atelier_domain::compute::size::{ComputeName, Family, Price, SiteName, Size, SizeName};
use atelier_domain::compute::{ClusterId, InstanceId, JobId, NodeId, Resources};
use atelier_domain::reason::Kind;
use atelier_domain::schedule::{Action, Cron, Timetable, Trigger};
use atelier_domain::time::{Mono, Now, Span, Timestamp};
use atelier_domain::world::{
    Answer, Command, Input, NewInstance, Order, Outcome, PoolKey, Report, ScheduleTarget, World,
};
use atelier_domain::{UserId, WorkspaceId};

use crate::dice::Dice;
use crate::reality::{Faults, Reality};

/// 2026-03-02 08:00 UTC, a Monday.
const MORNING: i64 = 1_772_438_400_000;

struct Site {
    world: World,
    reality: Reality,
    dice: Dice,
    now: u64,
    /// How far the wall clock is off.
    skew: i64,
    kills: bool,
    again: Vec<Input>,
    submitted: BTreeSet<JobId>,
    ended: BTreeMap<JobId, Verdict>,
    births: BTreeMap<NodeId, u64>,
    node_time: u64,
    charged: u64,
    wake: Option<u64>,
    steps: u64,
    wrong: Vec<String>,
    journal: Option<String>,
    is_verbose: bool,
}

/// Runs one site to its end and says what was wrong.
pub fn simulate(seed: u64, is_verbose: bool) -> Vec<String> {
    let mut site = Site::new(seed, is_verbose, false);
    site.live();
    site.wrong
}

/// All outcomes of one site as text.
pub fn journal(seed: u64) -> String {
    let mut site = Site::new(seed, false, true);
    site.live();
    site.journal.unwrap_or_default()
}

fn name<T>(parsed: Result<T, atelier_domain::text::Problem>) -> T {
    parsed.unwrap_or_else(|problem| panic!("{}", problem.message))
}

fn size_name(text: &str) -> SizeName {
    name(SizeName::parse(text))
}

fn local() -> SiteName {
    name(SiteName::parse("local"))
}

impl Site {
    fn new(seed: u64, is_verbose: bool, keeps_journal: bool) -> Self {
        let mut dice = Dice::new(seed);
        // Every fourth site is a calm one: what fails there has no excuse.
        let faults = if seed.is_multiple_of(4) {
            Faults::NONE
        } else {
            Faults {
                lost_launch: dice.between(0, 10),
                failed_launch: dice.between(0, 30),
                lost_effect: dice.between(0, 10),
                twice: dice.between(0, 30),
                node_dies: dice.between(0, 20),
                node_goes_silent: dice.between(0, 20),
                start_refused: dice.between(0, 10),
                setup_fails: dice.between(0, 20),
                slowest: dice.between(10, 20_000),
            }
        };
        let kills = !seed.is_multiple_of(4);
        Self {
            world: World::default(),
            reality: Reality::new(faults),
            dice,
            now: 1,
            skew: 0,
            kills,
            again: Vec::new(),
            submitted: BTreeSet::new(),
            ended: BTreeMap::new(),
            births: BTreeMap::new(),
            node_time: 0,
            charged: 0,
            wake: None,
            steps: 0,
            wrong: Vec::new(),
            journal: keeps_journal.then(String::new),
            is_verbose,
        }
    }

    fn clocks(&self) -> Now {
        Now { wall: Timestamp(MORNING + self.now as i64 + self.skew), mono: Mono(self.now) }
    }

    // ---- stepping ---------------------------------------------------------------------------------------------------

    fn step(&mut self, mut inputs: Vec<Input>) {
        inputs.append(&mut self.again);
        let now = self.clocks();
        self.steps += 1;
        if self.is_verbose {
            for input in &inputs {
                println!("{:>9} {input:?}", self.now);
            }
        }
        if self.kills && self.dice.percent(1) {
            // Killed before the commit: nothing of it happened; agents and callers say it again.
            let records = self.world.records();
            let _ = self.world.step(&inputs, now);
            self.world = World::load(records, now);
            self.again = inputs;
            let wanted = self.world.wanted();
            self.reality.act(&mut self.dice, &wanted);
            self.wake = Some(self.now + 1);
            if self.is_verbose {
                println!("{:>9} --- killed before the commit", self.now);
            }
            return;
        }
        let outcome = self.world.step(&inputs, now);
        self.note(&inputs, &outcome);
        let effects = if self.kills && self.dice.percent(2) {
            // Killed after it: the effects were never told, but follow from the records.
            self.world = World::load(self.world.records(), now);
            self.wake = Some(self.now + 1);
            if self.is_verbose {
                println!("{:>9} --- killed after the commit", self.now);
            }
            self.world.wanted()
        } else {
            self.wake = outcome.wake.map(|at| at.0);
            outcome.effects
        };
        self.reality.act(&mut self.dice, &effects);
        self.wrong.append(&mut self.reality.wrong);
        if self.steps.is_multiple_of(16) || self.is_verbose {
            self.audit();
        }
    }

    fn audit(&mut self) {
        let found = self.world.audit();
        let at = self.now;
        self.wrong.extend(found.into_iter().map(|wrong| format!("at {at}: {wrong}")));
    }

    /// Writes down what happened and checks what can be checked at once.
    fn note(&mut self, inputs: &[Input], outcome: &Outcome) {
        if let Some(journal) = &mut self.journal {
            journal
                .push_str(&serde_json::to_string(&(inputs, &outcome.effects, &outcome.decisions)).unwrap_or_default());
            journal.push_str(&format!("{:?} {:?}\n", outcome.replies, outcome.changed));
        }
        if self.is_verbose {
            for decision in &outcome.decisions {
                println!("{:>9}     {:?}: {}", self.now, decision.about, decision.reason.sentence());
            }
            println!("{:>9}     {:?}", self.now, outcome.effects);
            for reply in outcome.replies.iter().flatten() {
                println!("{:>9}     {reply:?}", self.now);
            }
        }
        for (reply, input) in outcome.replies.iter().zip(inputs) {
            if let (Some(Ok(Answer::Job(job))), Input::Command(_)) = (reply, input) {
                if !self.submitted.insert(*job) {
                    self.wrong.push(format!("{job} was made twice"));
                }
                let millis = if self.dice.percent(90) { self.dice.between(10, 600_000) } else { 4_000_000 };
                let code = if self.dice.percent(85) { 0 } else { self.dice.between(1, 3) as i32 };
                self.reality.job_will_run(*job, millis, code);
            }
        }
        for ended in &outcome.ended {
            if self.ended.insert(ended.job.id, ended.verdict.clone()).is_some() {
                self.wrong.push(format!("{} ended twice", ended.job.id));
            }
            let alive = self.reality.parts_of(ended.job.id);
            if !alive.is_empty() {
                self.wrong.push(format!("{} is over ({:?}) and {alive:?} still run", ended.job.id, ended.verdict));
            }
        }
        self.charged += outcome.ledger.values().map(|charge| charge.millis).sum::<u64>();
        for key in outcome.changed.iter().chain(&outcome.gone) {
            let atelier_domain::world::Key::Node(id) = key else { continue };
            if let Some(node) = self.world.node(*id) {
                let is_new = !self.births.contains_key(id);
                self.births.entry(*id).or_insert(self.now);
                if let (true, Holder::Cluster(cluster)) = (is_new, node.holder) {
                    self.check_max(cluster);
                }
            } else if let Some(birth) = self.births.remove(id) {
                self.node_time += self.now - birth;
            }
        }
    }

    fn check_max(&mut self, id: ClusterId) {
        let max = self.world.cluster(id).map_or(0, |cluster| cluster.scale.max as usize);
        let nodes = self.world.pool(&PoolKey::Cluster(id)).map_or(0, |pool| pool.nodes.len());
        if nodes > max {
            self.wrong.push(format!("{id} was given a node although it has {nodes} of at most {max}"));
        }
    }

    /// In calm weather every cluster has its minimum, or can say with numbers what it lacks.
    fn check_min(&mut self) {
        for cluster in self.world.clusters() {
            let live = self.world.pool(&PoolKey::Cluster(cluster.id)).map_or(0, |pool| pool.live);
            let why = self.world.explain_cluster(cluster.id);
            let is_short = live < u64::from(cluster.min());
            if is_short && why.as_ref().is_none_or(|why| why.kind() != Kind::Wait) {
                self.wrong.push(format!("{} has {live} nodes, at least {}: {why:?}", cluster.id, cluster.min()));
            }
        }
        for job in self.world.jobs().filter(|job| job.is_queued()) {
            if self.world.explain_job(job.id).is_none() {
                self.wrong.push(format!("{} waits and nobody knows why", job.id));
            }
        }
    }

    /// Lets time pass until `until`, step by step.
    fn pass(&mut self, until: u64) {
        while self.wrong.is_empty() {
            let next = [self.reality.next_at(), self.wake].into_iter().flatten().min().filter(|at| *at <= until);
            let Some(next) = next else { break };
            self.now = self.now.max(next);
            let reports = self.reality.run(&mut self.dice, self.now);
            let is_due = self.wake.is_some_and(|at| at <= self.now);
            if !reports.is_empty() || is_due || !self.again.is_empty() {
                self.step(reports.into_iter().map(Input::Report).collect());
            }
        }
        self.now = self.now.max(until);
    }

    // ---- people -----------------------------------------------------------------------------------------------------

    fn order(&mut self, order: Order) {
        let user = if self.dice.percent(50) { "ada" } else { "bo" };
        self.step(vec![Input::Command(Command {
            workspace: WorkspaceId::new("w"),
            user: Some(UserId::new(user)),
            name: user.into(),
            order,
        })]);
    }

    fn set_up(&mut self) {
        let cores = self.dice.between(8, 80);
        let capacity = Resources::new(cores, cores * 4, 4);
        self.step(vec![Input::Report(Report::Site { site: local(), capacity })]);
        for (size, family, cores, memory, gpus) in
            [("small", "general", 2, 4, 0), ("big", "general", 8, 16, 0), ("gpu", "gpu", 4, 16, 1)]
        {
            let family = name(Family::parse(family));
            let shape = Resources::new(cores, memory, gpus);
            self.order(Order::PutSize(Size {
                name: size_name(size),
                family,
                site: local(),
                shape,
                price: Price(360_000),
            }));
        }
        if self.dice.percent(50) {
            let family = name(Family::parse("general"));
            let limit = Some(self.dice.between(4, 40) * 1_000);
            let scope = if self.dice.percent(50) { Scope::Workspace } else { Scope::Everybody };
            self.order(Order::SetLimit { scope, resource: Resource::Cores(family), limit });
        }
    }

    fn live(&mut self) {
        self.set_up();
        let wishes = self.dice.between(10, 50);
        for _ in 0..wishes {
            let pause = if self.dice.percent(60) { self.dice.between(1, 5_000) } else { self.dice.between(1, 400_000) };
            self.pass(self.now + pause);
            if self.kills && self.dice.percent(5) {
                self.skew = self.dice.between(0, 18_000_000) as i64 - 9_000_000;
            }
            self.wish();
            if !self.wrong.is_empty() {
                return;
            }
        }
        self.audit();
        self.wind_down();
    }

    fn some<T: Copy>(&mut self, list: Vec<T>) -> Option<T> {
        self.dice.pick(&list).copied()
    }

    fn some_size(&mut self) -> SizeName {
        size_name(self.dice.pick(&["small", "small", "big", "gpu"]).copied().unwrap_or("small"))
    }

    fn wish(&mut self) {
        let clusters: Vec<ClusterId> = self.world.clusters().map(|cluster| cluster.id).collect();
        let instances: Vec<InstanceId> = self.world.instances().map(|instance| instance.id).collect();
        let jobs: Vec<JobId> = self.world.jobs().map(|job| job.id).collect();
        let (cluster, instance, job) = (self.some(clusters), self.some(instances), self.some(jobs));
        let number = self.dice.between(0, 999);
        let compute = name(ComputeName::parse(&format!("compute-{number}")));
        match (self.dice.between(0, 99), cluster, instance, job) {
            (0..=9, ..) => {
                let (size, scale) = (self.some_size(), self.scale());
                self.order(Order::CreateCluster { name: compute, size, scale });
            }
            (10..=17, ..) => {
                let new = self.new_instance(compute);
                self.order(Order::CreateInstance(new));
            }
            (18..=60, ..) => {
                let burst = if self.dice.percent(20) { self.dice.between(2, 12) } else { 1 };
                for _ in 0..burst {
                    let spec = self.job(cluster, instance);
                    self.order(Order::Submit(spec));
                }
            }
            (61..=68, _, _, Some(job)) => self.order(Order::Cancel(job)),
            (69..=70, _, _, Some(job)) => self.order(Order::Prioritise { job, priority: Priority::High }),
            (71..=75, Some(cluster), ..) => {
                let scale = self.scale();
                self.order(Order::ScaleCluster { cluster, scale });
            }
            (76..=77, Some(cluster), ..) => self.order(Order::PauseCluster(cluster)),
            (78..=79, Some(cluster), ..) => self.order(Order::ResumeCluster(cluster)),
            (80..=81, Some(cluster), ..) => {
                let ends_jobs = self.dice.percent(50);
                self.order(Order::DeleteCluster { cluster, ends_jobs });
            }
            (82..=84, _, Some(instance), _) => self.order(Order::StopInstance(instance)),
            (85..=86, _, Some(instance), _) => self.order(Order::StartInstance(instance)),
            (87, _, Some(instance), _) => self.order(Order::RestartInstance(instance)),
            (88, _, Some(instance), _) => {
                let size = self.some_size();
                self.order(Order::ResizeInstance { instance, size });
            }
            (89, _, Some(instance), _) => self.order(Order::DeleteInstance(instance)),
            (90, _, Some(instance), _) => {
                self.order(Order::ExtendInstance { instance, by: Span::minutes(10) });
            }
            (91..=92, _, Some(instance), _) => {
                let active: Vec<Source> = if self.dice.percent(30) { vec![Source::Kernel] } else { Vec::new() };
                for _ in 0..20 {
                    self.pass(self.now + 60_000);
                    let (active, stretch) = (active.clone(), Span::minutes(1));
                    self.step(vec![Input::Report(Report::Activity { instance, active, stretch })]);
                }
            }
            (93, Some(cluster), ..) => self.schedule(ScheduleTarget::Cluster(cluster), Action::MinNodes(1)),
            (94..=95, _, Some(instance), _) => {
                let action = if self.dice.percent(50) { Action::Start } else { Action::Stop };
                self.schedule(ScheduleTarget::Instance(instance), action);
            }
            (96, ..) => {
                self.order(Order::Pause { why: "the disk is being changed".into() });
                self.pass(self.now + 1_000_000);
                self.order(Order::Resume);
            }
            (97..=98, ..) => {
                let list = self.reality.list(&local(), self.now);
                let late = self.dice.between(0, 3_000);
                self.pass(self.now + late);
                self.step(vec![Input::Report(list)]);
            }
            (99, ..) => {
                // Whoever lent a machine wants it back.
                let nodes: Vec<NodeId> = self.world.nodes().map(|node| node.id).collect();
                if let Some(node) = self.some(nodes) {
                    self.step(vec![Input::Report(Report::NodePreempted(node))]);
                }
            }
            _ => self.pass(self.now + 30_000),
        }
    }

    fn scale(&mut self) -> ScaleSettings {
        let max = self.dice.between(0, 5) as u32;
        let min = if self.dice.percent(70) { 0 } else { self.dice.between(0, u64::from(max)) as u32 };
        ScaleSettings { min, max, idle: Span::seconds(self.dice.between(0, 300) as u32) }
    }

    fn new_instance(&mut self, compute: ComputeName) -> NewInstance {
        NewInstance {
            name: compute,
            size: self.some_size(),
            owner: UserId::new(if self.dice.percent(50) { "ada" } else { "bo" }),
            script: self.dice.percent(30).then_some(Span::minutes(2)),
            keeps_quota: self.dice.percent(50),
            idle: self.dice.percent(40).then(|| IdlePolicy::after(Span::minutes(15))),
            starts: self.dice.percent(80),
        }
    }

    fn job(&mut self, cluster: Option<ClusterId>, instance: Option<InstanceId>) -> JobSpec {
        let target = match (self.dice.between(0, 9), cluster, instance) {
            (0..=5, Some(cluster), _) => Target::Cluster(cluster),
            (6, _, Some(instance)) => Target::Instance(instance),
            _ => Target::Serverless(self.some_size()),
        };
        let retry = self.dice.percent(40).then(|| {
            Box::new(RetryPolicy {
                max: 2,
                on: vec![RetryCause::NodeLost, RetryCause::StartFailed, RetryCause::ExitCode],
                exit_codes: if self.dice.percent(50) { vec![2] } else { Vec::new() },
                pause: Span::seconds(self.dice.between(0, 60) as u32),
            })
        });
        JobSpec {
            target,
            shape: Resources::new(self.dice.between(1, 3), self.dice.between(1, 6), u64::from(self.dice.percent(10))),
            nodes: if self.dice.percent(75) { 1 } else { self.dice.between(2, 4) as u32 },
            priority: Priority::ALL[self.dice.between(0, 2) as usize],
            timeout: self.dice.percent(30).then(|| Span::seconds(600)),
            grace: Span::seconds(self.dice.between(0, 30) as u32),
            retry,
        }
    }

    fn schedule(&mut self, target: ScheduleTarget, action: Action) {
        let zone = *self.dice.pick(&["UTC", "Europe/Berlin", "America/New_York"]).unwrap_or(&"UTC");
        let cron = Cron::parse("*/7 * * * *").unwrap_or_else(|problem| panic!("{}", problem.message));
        let zone = name(atelier_domain::schedule::Zone::parse(zone));
        let timetable = name(Timetable::new(Trigger::Cron(cron), zone, None));
        self.order(Order::AddSchedule { target, action, timetable: Box::new(timetable) });
    }

    // ---- the end ----------------------------------------------------------------------------------------------------

    /// The storm is over: everything feasible must come to its end in bounded time, and nothing may be left behind.
    fn wind_down(&mut self) {
        self.reality.faults = Faults::NONE;
        self.kills = false;
        self.order(Order::Resume);
        let family = name(Family::parse("general"));
        for scope in [Scope::Workspace, Scope::Everybody] {
            self.order(Order::SetLimit { scope, resource: Resource::Cores(family.clone()), limit: None });
        }
        for instance in self.world.instances().map(|instance| instance.id).collect::<Vec<_>>() {
            self.order(Order::DeleteInstance(instance));
        }
        for schedule in self.world.schedules().map(|entry| entry.id).collect::<Vec<_>>() {
            self.order(Order::RemoveSchedule(schedule));
        }
        let clusters: Vec<(ClusterId, ScaleSettings)> =
            self.world.clusters().map(|cluster| (cluster.id, cluster.scale)).collect();
        for (cluster, _) in &clusters {
            self.order(Order::ResumeCluster(*cluster));
        }
        self.pass(self.now + 14_400_000);
        self.check_min();
        for (cluster, scale) in clusters {
            self.order(Order::ScaleCluster { cluster, scale: ScaleSettings { min: 0, ..scale } });
        }
        self.audit();
        // Two simulated days are plenty for a few dozen jobs of minutes.
        self.pass(self.now + 172_800_000);
        if !self.wrong.is_empty() {
            return;
        }
        for job in self.world.jobs() {
            let why = self.world.explain_job(job.id).map(|reason| reason.sentence());
            self.wrong.push(format!("{} never came to its end: {job:?} because {why:?}", job.id));
        }
        for instance in self.world.instances() {
            self.wrong.push(format!("{} was never deleted: {instance:?}", instance.id));
        }
        for node in self.world.nodes() {
            self.wrong.push(format!("{} is still there: {node:?}", node.id));
        }
        for machine in self.reality.machines() {
            self.wrong.push(format!("{machine} still exists and nobody knows it"));
        }
        for job in &self.submitted {
            if !self.ended.contains_key(job) {
                self.wrong.push(format!("{job} was lost"));
            }
        }
        self.audit();
        if self.charged != self.node_time {
            self.wrong.push(format!("{} ms of nodes and {} ms in the ledger", self.node_time, self.charged));
        }
        for cluster in self.world.clusters().map(|cluster| cluster.id).collect::<Vec<_>>() {
            self.order(Order::DeleteCluster { cluster, ends_jobs: true });
        }
        self.pass(self.now + 3_600_000);
        if self.world.clusters().count() > 0 {
            self.wrong.push("clusters were never deleted".into());
        }
    }
}
