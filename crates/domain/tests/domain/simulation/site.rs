//! One simulated site: people who want things, the World, and reality.

use std::collections::{BTreeMap, BTreeSet};

use atelier_domain::compute::budget::{BudgetAction, BudgetOf, NewBudget};
use atelier_domain::compute::cluster::ScaleSettings;
use atelier_domain::compute::fair_share::{QueueOrder, QueuePolicy};
use atelier_domain::compute::idle::{IdlePolicy, IdleRules, Source};
use atelier_domain::compute::job::{After, AfterWhat, JobSpec, Priority, RetryCause, RetryPolicy, Target, Verdict};
use atelier_domain::compute::node::Holder;
use atelier_domain::compute::quota::{Resource, Scope};
use atelier_domain::compute::script::{Script, Scripts};
use atelier_domain::compute::size::{ComputeName, Family, Price, SiteName, Size, SizeName, Tier};
use atelier_domain::compute::tags::Tags;
use atelier_domain::compute::{ClusterId, InstanceId, JobId, NodeId, Resources};
use atelier_domain::reason::Kind;
use atelier_domain::schedule::{Action, Cron, StopJobs, Timetable, Trigger};
use atelier_domain::time::{Mono, Now, Span, Timestamp};
use atelier_domain::world::{
    Answer, ArrayChange, Command, Input, MoveTo, NewInstance, Order, Outcome, PoolKey, Report, ScheduleTarget, World,
};
use atelier_domain::{UserId, WorkspaceId};

use super::dice::Dice;
use super::reality::{Fault, Faults, Reality};

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

/// Runs one site to its end and says what was wrong, and which faults came about.
pub fn simulate(seed: u64, is_verbose: bool) -> (Vec<String>, BTreeSet<Fault>) {
    let mut site = Site::new(seed, is_verbose, false);
    site.live();
    (site.wrong, site.reality.struck)
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
            world: lazy(World::default()),
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

    // ---- stepping
    // ---------------------------------------------------------------------------------------------------

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
            self.reality.struck.insert(Fault::KilledBeforeCommit);
            let records = self.world.records();
            let _ = self.world.step(&inputs, now);
            self.world = lazy(World::load(records, now));
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
            self.reality.struck.insert(Fault::KilledAfterCommit);
            self.world = lazy(World::load(self.world.records(), now));
            self.wake = Some(self.now + 1);
            if self.is_verbose {
                println!("{:>9} --- killed after the commit", self.now);
            }
            self.world.wanted()
        } else {
            // The wall clock may be off; what it wakes for is then early or late, which changes nothing.
            let wall = outcome.wake_wall.map(|at| (at.0 - MORNING - self.skew).max(self.now as i64 + 1).unsigned_abs());
            self.wake = [outcome.wake.map(|at| at.0), wall].into_iter().flatten().min();
            if outcome.wake_wall.is_some_and(|at| at <= now.wall) {
                self.wrong.push(format!("at {}: it would step for ever", self.now));
            }
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
            let made = match (reply, input) {
                (Some(Ok(Answer::Job(job))), Input::Command(_)) => job.0..job.0 + 1,
                (Some(Ok(Answer::Jobs { first, count })), Input::Command(_)) => first.0..first.0 + u64::from(*count),
                _ => continue,
            };
            for job in made.map(JobId) {
                if !self.submitted.insert(job) {
                    self.wrong.push(format!("{job} was made twice"));
                }
                let millis = match self.dice.between(0, 99) {
                    0..=29 => self.dice.between(1, 200),
                    30..=89 => self.dice.between(10, 600_000),
                    _ => 4_000_000,
                };
                let code = if self.dice.percent(85) { 0 } else { self.dice.between(1, 3) as i32 };
                self.reality.job_will_run(job, millis, code);
            }
        }
        for ended in &outcome.ended {
            for after in &ended.job.spec.after {
                let is_wrong = match (&ended.verdict, self.ended.get(&after.job)) {
                    (Verdict::Canceled { .. } | Verdict::ComputeGone { .. }, _) => false,
                    (Verdict::DependencyFailed { job, .. }, how) => {
                        let wanted = |after: &After| after.job == *job && after.needs == AfterWhat::Success;
                        *job == after.job && how == Some(&Verdict::Succeeded)
                            || !ended.job.spec.after.iter().any(wanted)
                    }
                    (_, None) => true,
                    (_, Some(how)) => after.needs == AfterWhat::Success && *how != Verdict::Succeeded,
                };
                if is_wrong {
                    self.wrong.push(format!("{} is over ({:?}) in spite of {after:?}", ended.job.id, ended.verdict));
                }
            }
            if self.ended.insert(ended.job.id, ended.verdict.clone()).is_some() {
                self.wrong.push(format!("{} ended twice", ended.job.id));
            }
            let is_lost = matches!(ended.verdict, Verdict::Preempted { .. });
            let goes_on = match &ended.job.spec.target {
                Target::Cluster(id) => self
                    .world
                    .cluster(*id)
                    .is_some_and(|cluster| cluster.is_active() && ended.job.spec.nodes <= cluster.scale.max),
                Target::Serverless(_) => true,
                Target::Instance(_) => false,
            };
            if is_lost && goes_on {
                self.wrong.push(format!("{} was taken its node and not tried again", ended.job.id));
            }
            let alive = self.reality.parts_of(ended.job.id);
            if !alive.is_empty() {
                self.wrong.push(format!("{} is over ({:?}) and {alive:?} still run", ended.job.id, ended.verdict));
            }
        }
        for rest in &outcome.ended_rests {
            for job in (0..rest.count).map(|ahead| rest.first.ahead_in_array(ahead).id) {
                if self.ended.insert(job, rest.verdict.clone()).is_some() {
                    self.wrong.push(format!("{job} ended twice"));
                }
                if !self.reality.parts_of(job).is_empty() {
                    self.wrong.push(format!("{job} was never made and runs"));
                }
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

    // ---- people
    // -----------------------------------------------------------------------------------------------------

    fn order(&mut self, order: Order) {
        let user = *self.dice.pick(&["ada", "ada", "bo", "cleo"]).unwrap_or(&"ada");
        self.order_of(user, order);
    }

    fn order_of(&mut self, user: &str, order: Order) {
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
        for person in ["ada", "bo"] {
            if self.dice.percent(50) {
                let weight = self.dice.between(1, 1_000) as i64;
                self.order(Order::SetFairShare { person: UserId::new(person), weight });
            }
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
                self.reality.struck.insert(Fault::ClockJumps);
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
        let jobs = self.alive();
        let (cluster, instance, job) = (self.some(clusters), self.some(instances), self.some(jobs));
        let number = self.dice.between(0, 999);
        let compute = name(ComputeName::parse(&format!("compute-{number}")));
        match (self.dice.between(0, 99), cluster, instance, job) {
            (0..=9, ..) => {
                let (size, scale, tier) = (self.some_size(), self.scale(), self.tier());
                self.order(Order::CreateCluster { name: compute, size, scale, tier, tags: Tags::default() });
            }
            (10..=17, ..) => {
                let new = self.new_instance(compute);
                self.order(Order::CreateInstance(Box::new(new)));
            }
            (18..=21, _, Some(instance), _) => self.evening(instance),
            (22..=60, ..) => {
                let burst = if self.dice.percent(20) { self.dice.between(2, 12) } else { 1 };
                for _ in 0..burst {
                    let spec = self.job(cluster, instance);
                    let order = if self.dice.percent(5) {
                        Order::SubmitArray { spec, count: self.dice.between(1, 20) as u32 }
                    } else {
                        Order::Submit(spec)
                    };
                    self.order(order);
                }
            }
            (61..=68, _, _, Some(job)) => self.order(Order::Cancel(job)),
            (69, _, _, Some(job)) => self.turn(job),
            (70, _, _, Some(job)) => self.order(Order::Prioritise { job, priority: Priority::High }),
            (71..=75, Some(cluster), ..) => {
                let scale = self.scale();
                self.order(Order::ScaleCluster { cluster, scale });
            }
            (76, Some(cluster), ..) => self.order(Order::PauseCluster(cluster)),
            (77, ..) => self.share(cluster),
            (78..=79, Some(cluster), ..) => self.order(Order::ResumeCluster(cluster)),
            (80..=81, Some(cluster), ..) => {
                let ends_jobs = self.dice.percent(50);
                self.order(Order::DeleteCluster { cluster, ends_jobs });
            }
            (82..=84, _, Some(instance), _) => self.order(Order::StopInstance(instance)),
            (85, _, Some(instance), _) => self.order(Order::StartInstance(instance)),
            (86..=87, _, Some(instance), _) => self.again(instance),
            (88, _, Some(instance), _) if self.dice.percent(50) => {
                let owner = self.world.instance(instance).map_or_else(|| "ada".into(), |one| one.owner.to_string());
                let to = if owner == "ada" { "bo" } else { "ada" };
                let (from, to, to_name) = (UserId::new(owner), UserId::new(to), to.into());
                self.order(Order::TransferInstance { instance, from, to, to_name });
            }
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

    /// Somebody changes who is meant to have how much, or how a queue is served.
    fn share(&mut self, cluster: Option<ClusterId>) {
        let order = match self.dice.between(0, 7) {
            6 | 7 => {
                let of = if self.dice.percent(50) { BudgetOf::Workspace } else { BudgetOf::Person(UserId::new("ada")) };
                let action = self.dice.pick(&BudgetAction::ALL).copied().unwrap_or_default();
                let zone = name(atelier_domain::schedule::Zone::parse("Europe/Berlin"));
                let amount = self.dice.between(0, 20) as i64 * 100_000_000;
                let new = NewBudget { amount, action, zone, currency: "EUR".into(), spent: 0 };
                Order::SetBudget { of, budget: (!self.dice.percent(20)).then(|| Box::new(new)) }
            }
            4 | 5 => {
                let resource = self.dice.pick(&Resource::RUNNING).cloned().unwrap_or(Resource::RunningJobs);
                let unit = if resource == Resource::RunningCores { 2_000 } else { 2 };
                let limit = Some(self.dice.between(1, 5) * unit);
                Order::SetLimit { scope: Scope::Everybody, resource, limit }
            }
            0 => Order::SetFairShare { person: UserId::new("ada"), weight: self.dice.between(1, 1_000) as i64 },
            1 => Order::SetHalfLife(Span::hours(self.dice.between(1, 200) as u32)),
            _ => {
                let order = if self.dice.percent(50) { QueueOrder::Fifo } else { QueueOrder::FairShare };
                let policy = QueuePolicy { order, backfill: self.dice.percent(50) };
                Order::SetQueuePolicy { cluster: cluster.filter(|_| self.dice.percent(80)), policy }
            }
        };
        self.order(order);
    }

    /// Jobs run on an instance while its stop comes near, and people do something about it, or nothing.
    fn evening(&mut self, instance: InstanceId) {
        self.order(Order::StartInstance(instance));
        self.pass(self.now + 60_000);
        self.schedule(ScheduleTarget::Instance(instance), Action::Stop);
        let Some(owner) = self.world.instance(instance).map(|instance| instance.owner.to_string()) else { return };
        for _ in 0..self.dice.between(0, 3) {
            let spec = JobSpec { target: Target::Instance(instance), nodes: 1, ..self.job(None, None) };
            self.order_of(&owner, Order::Submit(spec));
        }
        for _ in 0..self.dice.between(1, 4) {
            let pause = self.dice.between(1, 600_000);
            self.pass(self.now + pause);
            let until = self.clocks().wall.plus(Span::minutes(self.dice.between(1, 90) as u32));
            let order = match self.dice.between(0, 5) {
                0 | 1 => Order::PostponeStop { instance, until },
                2 => Order::SkipStop { instance },
                3 => Order::StartInstance(instance),
                4 => Order::RestartInstance(instance),
                _ => Order::Resume,
            };
            self.order(order);
        }
    }

    /// What people do to an instance beside starting and stopping it.
    fn again(&mut self, instance: InstanceId) {
        let until = self.clocks().wall.plus(Span::minutes(self.dice.between(1, 90) as u32));
        let scripts = self.scripts();
        let rules = IdleRules { is_required: self.dice.percent(50), ..IdleRules::default() };
        let order = match self.dice.between(0, 7) {
            0 | 1 => Order::RestartInstance(instance),
            2 | 3 => Order::RebuildInstance(instance),
            4 => Order::PostponeStop { instance, until },
            5 => Order::SkipStop { instance },
            6 if self.dice.percent(50) => Order::AcceptScripts { instance, revision: self.dice.between(1, 2) as u32 },
            6 => Order::SetScripts { instance, scripts },
            _ => Order::SetIdleRules(rules),
        };
        self.order(order);
    }

    fn scale(&mut self) -> ScaleSettings {
        let max = self.dice.between(0, 5) as u32;
        let min = if self.dice.percent(70) { 0 } else { self.dice.between(0, u64::from(max)) as u32 };
        let warm = if self.dice.percent(80) { 0 } else { self.dice.between(0, u64::from(max)) as u32 };
        ScaleSettings { min, max, idle: Span::seconds(self.dice.between(0, 300) as u32), warm }
    }

    fn new_instance(&mut self, compute: ComputeName) -> NewInstance {
        NewInstance {
            name: compute,
            size: self.some_size(),
            owner: UserId::new(if self.dice.percent(50) { "ada" } else { "bo" }),
            owner_name: "somebody".into(),
            scripts: self.scripts(),
            tags: Tags::default(),
            keeps_quota: self.dice.percent(50),
            idle: self.dice.percent(40).then(|| IdlePolicy::after(Span::minutes(15))),
            starts: self.dice.percent(80),
        }
    }

    fn scripts(&mut self) -> Scripts {
        let limit = Span::minutes(2);
        let mut some = |number: u32| {
            let blob = format!("{number:064x}");
            self.dice.percent(20).then(|| Script { blob, arguments: String::new(), limit })
        };
        Scripts { creation: some(1), startup: some(2) }
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
            tier: self.tier(),
            after: self.after(),
            environment: None,
        }
    }

    fn tier(&mut self) -> Tier {
        if self.dice.percent(30) { Tier::Preemptible } else { Tier::Dedicated }
    }

    /// Jobs that another one waits for; now and then one that nobody knows.
    fn after(&mut self) -> Vec<After> {
        if self.dice.percent(85) {
            return Vec::new();
        }
        let jobs = self.alive();
        let count = self.dice.between(1, 3);
        let some = (0..count).filter_map(|_| {
            let job = self.dice.pick(&jobs).copied()?;
            let needs = if self.dice.percent(50) { AfterWhat::Success } else { AfterWhat::Any };
            let job = if self.dice.percent(5) { JobId(job.0 + 1_000) } else { job };
            Some(After { job, needs, ended: None })
        });
        some.collect()
    }

    /// All jobs that are not over, those that are not made yet among them.
    fn alive(&self) -> Vec<JobId> {
        let made = self.world.jobs().map(|job| job.id);
        let rests = self.world.arrays().flat_map(|array| {
            array.rest.iter().flat_map(|stretch| (stretch.from..stretch.from + stretch.count).map(|at| array.id(at)))
        });
        made.chain(rests).collect()
    }

    /// Somebody holds a job, lets it go, or moves it.
    fn turn(&mut self, job: JobId) {
        let jobs = self.alive();
        let other = self.some(jobs).unwrap_or(job);
        let over_all = self.dice.percent(50);
        let nodes: Vec<NodeId> = self.world.nodes().map(|node| node.id).collect();
        let node = self.some(nodes).unwrap_or(NodeId(1));
        let array = self.world.array_of(job).map(|array| array.first);
        if let Some(array) = array.filter(|_| self.dice.percent(60)) {
            let change = match self.dice.between(0, 5) {
                0 => ArrayChange::Cancel,
                1 => ArrayChange::Hold { why: "not now".into() },
                2 => ArrayChange::Release,
                3 => ArrayChange::Prioritise(Priority::High),
                4 => ArrayChange::Move { to: MoveTo::Before(other), over_all },
                _ => ArrayChange::Move { to: MoveTo::Front, over_all },
            };
            return self.order(Order::ChangeArray { array, change });
        }
        let order = match self.dice.between(0, 8) {
            6 | 7 => Order::EvictJob(job),
            8 => Order::EvictNode(node),
            0 | 1 => Order::Hold { job, why: "not now".into() },
            2 => Order::Release(job),
            3 => Order::Move { job, to: MoveTo::Front, over_all },
            4 => Order::Move { job, to: MoveTo::Back, over_all },
            _ => Order::Move { job, to: MoveTo::Before(other), over_all },
        };
        self.order(order);
    }

    fn schedule(&mut self, target: ScheduleTarget, action: Action) {
        let zone = *self.dice.pick(&["UTC", "Europe/Berlin", "America/New_York"]).unwrap_or(&"UTC");
        let cron = Cron::parse(self.dice.pick(&["*/7 * * * *", "*/50 * * * *"]).unwrap_or(&"*/7 * * * *"))
            .unwrap_or_else(|problem| panic!("{}", problem.message));
        let zone = name(atelier_domain::schedule::Zone::parse(zone));
        let timetable = name(Timetable::new(Trigger::Cron(cron), zone, None));
        let jobs = match (action, self.dice.between(0, 2)) {
            (Action::Stop, 0) => StopJobs::Skip,
            (Action::Stop, 1) => StopJobs::Drain(Span::minutes(self.dice.between(1, 20) as u32)),
            _ => StopJobs::Now,
        };
        self.order(Order::AddSchedule { target, action, timetable: Box::new(timetable), jobs });
    }

    // ---- the end
    // ----------------------------------------------------------------------------------------------------

    /// The storm is over: everything feasible must come to its end in bounded time, and nothing may be left
    /// behind.
    fn wind_down(&mut self) {
        self.reality.faults = Faults::NONE;
        self.kills = false;
        self.order(Order::Resume);
        let family = name(Family::parse("general"));
        for scope in [Scope::Workspace, Scope::Everybody] {
            self.order(Order::SetLimit { scope, resource: Resource::Cores(family.clone()), limit: None });
        }
        for of in [BudgetOf::Workspace, BudgetOf::Person(UserId::new("ada"))] {
            self.order(Order::SetBudget { of, budget: None });
        }
        for resource in Resource::RUNNING {
            self.order(Order::SetLimit { scope: Scope::Everybody, resource, limit: None });
        }
        let held: Vec<JobId> = self.world.jobs().filter(|job| job.held.is_some()).map(|job| job.id).collect();
        held.into_iter().for_each(|job| self.order(Order::Release(job)));
        let arrays: Vec<JobId> = self.world.arrays().map(|array| array.first).collect();
        for array in arrays {
            self.order(Order::ChangeArray { array, change: ArrayChange::Release });
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
            self.order(Order::ScaleCluster { cluster, scale: ScaleSettings { min: 0, warm: 0, ..scale } });
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
        for array in self.world.arrays() {
            self.wrong.push(format!("the array of {} never came to its end: {array:?}", array.first));
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

/// Arrays are made little by little, however small.
fn lazy(mut world: World) -> World {
    world.make_at_once(0);
    world
}
