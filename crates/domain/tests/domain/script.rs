//! A scripted reality for tests of the core: drivers and agents that do at once and exactly what they are
//! told, unless the script says otherwise, and a timeline of all that happens, for people to read.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use atelier_domain::compute::cluster::ScaleSettings;
use atelier_domain::compute::idle::{IdlePolicy, Source};
use atelier_domain::compute::job::{DEFAULT_GRACE, Job, JobSpec, JobState, Priority, RetryCause, RetryPolicy, Target};
use atelier_domain::compute::node::Holder;
use atelier_domain::compute::quota::{Resource, Scope};
use atelier_domain::compute::script::{Script, ScriptRun, Scripts};
use atelier_domain::compute::size::{ComputeName, Family, Price, SiteName, Size, SizeName, Tier};
use atelier_domain::compute::tags::Tags;
use atelier_domain::compute::{ClusterId, InstanceId, JobId, NodeId, Resources, ScheduleId};
use atelier_domain::reason::Reason;
use atelier_domain::schedule::{Action, Cron, StopJobs, Timetable, Trigger, Zone};
use atelier_domain::text::Problem;
use atelier_domain::time::{Mono, Now, Span, Timestamp};
use atelier_domain::world::{
    About, AllocationKey, Answer, Command, Effect, Exit, FoundNode, Input, MoveTo, NewInstance, Order, Outcome,
    PoolKey, Report, ScheduleTarget, World,
};
use atelier_domain::{UserId, WorkspaceId};

/// 2026-03-02 08:00 UTC, a Monday.
pub const MORNING: i64 = 1_772_438_400_000;

// ---- short ways to say things
// ---------------------------------------------------------------------------------------

pub fn ok<T>(parsed: Result<T, Problem>) -> T {
    parsed.unwrap_or_else(|problem| panic!("{}: {}", problem.field, problem.message))
}

pub fn size(text: &str) -> SizeName {
    ok(SizeName::parse(text))
}

pub fn compute(text: &str) -> ComputeName {
    ok(ComputeName::parse(text))
}

pub fn family(text: &str) -> Family {
    ok(Family::parse(text))
}

pub fn local() -> SiteName {
    ok(SiteName::parse("local"))
}

pub fn cores(count: u64) -> Resources {
    Resources::new(count, count, 0)
}

pub fn scale(min: u32, max: u32, idle: Span) -> ScaleSettings {
    ScaleSettings { min, max, idle, warm: 0 }
}

pub fn new_instance(name: &str, size_name: &str) -> NewInstance {
    NewInstance {
        name: compute(name),
        size: size(size_name),
        owner: UserId::new("ada"),
        owner_name: "Ada".into(),
        scripts: Scripts::default(),
        tags: Tags::default(),
        keeps_quota: false,
        idle: None,
        starts: true,
    }
}

/// A script that may take so long; its text is nobody's business here.
pub fn script(limit: Span) -> Script {
    Script { blob: "5c".repeat(32), arguments: String::new(), limit }
}

/// A startup script alone.
pub fn startup(limit: Span) -> Scripts {
    Scripts { creation: None, startup: Some(script(limit)) }
}

pub fn job(target: Target, shape: Resources) -> JobSpec {
    JobSpec {
        target,
        shape,
        nodes: 1,
        priority: Priority::Medium,
        timeout: None,
        grace: DEFAULT_GRACE,
        retry: None,
        tier: Tier::Dedicated,
        after: Vec::new(),
        environment: None,
    }
}

pub fn gang(cluster: ClusterId, shape: Resources, nodes: u32) -> JobSpec {
    JobSpec { nodes, ..job(Target::Cluster(cluster), shape) }
}

pub fn retry(max: u32, on: &[RetryCause], pause: Span) -> Option<Box<RetryPolicy>> {
    Some(Box::new(RetryPolicy { max, on: on.to_vec(), exit_codes: Vec::new(), pause }))
}

pub fn idle_after(window: Span) -> Option<IdlePolicy> {
    Some(IdlePolicy::after(window))
}

pub fn timetable(cron: &str) -> Box<Timetable> {
    Box::new(ok(Timetable::new(Trigger::Cron(ok(Cron::parse(cron))), ok(Zone::parse("UTC")), None)))
}

pub fn order_of(who: &str, order: Order) -> Input {
    let user = Some(UserId::new(who.to_lowercase()));
    Input::Command(Command { workspace: WorkspaceId::new("w"), user, name: who.into(), order })
}

pub fn order_elsewhere(order: Order) -> Input {
    let user = Some(UserId::new("zoe"));
    Input::Command(Command { workspace: WorkspaceId::new("elsewhere"), user, name: "Zoe".into(), order })
}

pub fn sizes() -> Vec<Size> {
    let rows = [
        ("small", "general", Resources::new(4, 16, 0), 400_000),
        ("tiny", "general", Resources::new(1, 4, 0), 100_000),
        ("big", "general", Resources::new(16, 64, 0), 1_600_000),
        ("gpu", "gpu", Resources::new(8, 64, 1), 2_500_000),
    ];
    rows.into_iter()
        .map(|(name, of, shape, price)| Size {
            name: size(name),
            family: family(of),
            site: local(),
            shape,
            price: Price(price),
        })
        .collect()
}

// ---- the stage
// ------------------------------------------------------------------------------------------------------

/// What the script may decide about reality.
#[derive(Clone, Debug, Default)]
pub struct Reality {
    /// So many of the next launches fail.
    pub failing_launches: u32,
    /// Scripts fail, the last of them.
    pub failing_scripts: bool,
    /// Environments cannot be built.
    pub failing_environments: bool,
    pub is_mute: bool,
    /// How long each job runs, and how it ends; a minute and 0 otherwise.
    pub runs: BTreeMap<JobId, (Span, Exit)>,
    pub machines: BTreeSet<NodeId>,
    pub parts: BTreeSet<AllocationKey>,
}

/// A World, its reality, and what happened.
#[derive(Clone, Debug)]
pub struct Stage {
    pub world: World,
    pub reality: Reality,
    pub now: u64,
    /// How far the wall clock is off.
    pub skew: i64,
    queue: BTreeMap<(u64, u64), Report>,
    counter: u64,
    wake: Option<u64>,
    wake_wall: Option<i64>,
    /// Whether the timeline is written.
    pub is_writing: bool,
    pub text: String,
    counts: String,
    /// All outcomes, in order.
    pub outcomes: Vec<Outcome>,
    /// All inputs with their times, in order.
    pub inputs: Vec<(Vec<Input>, Now)>,
    /// Jobs that were handed over while somebody before them in the same queue went on waiting.
    pub overtaking: Vec<(JobId, JobId)>,
}

impl Stage {
    /// A site with so much room, and the catalogue.
    pub fn new(capacity: Resources) -> Self {
        let mut stage = Self {
            world: World::default(),
            reality: Reality::default(),
            now: 0,
            skew: 0,
            queue: BTreeMap::new(),
            counter: 0,
            wake: None,
            wake_wall: None,
            is_writing: false,
            text: String::new(),
            counts: String::new(),
            outcomes: Vec::new(),
            inputs: Vec::new(),
            overtaking: Vec::new(),
        };
        let mut inputs = vec![Input::Report(Report::Site { site: local(), capacity })];
        inputs.extend(sizes().into_iter().map(|size| order_of("Owner", Order::PutSize(size))));
        stage.step(inputs);
        stage.is_writing = true;
        stage
    }

    pub fn roomy() -> Self {
        Self::new(Resources::new(1_000, 4_000, 64))
    }

    pub fn clocks(&self) -> Now {
        Now { wall: Timestamp(MORNING + self.now as i64 + self.skew), mono: Mono(self.now) }
    }

    /// A line of explanation in the timeline.
    pub fn say(&mut self, text: &str) {
        if self.is_writing {
            let gap = if self.text.is_empty() { "" } else { "\n" };
            writeln!(self.text, "{gap}-- {text}").expect("writing to a string");
        }
    }

    /// What something waits for, into the timeline.
    pub fn ask_job(&mut self, job: JobId) {
        let why = self.world.explain_job(job).map_or("nothing".into(), |reason| said(&reason));
        self.line(&format!("Why does {job} wait? {why}"));
    }

    pub fn ask_cluster(&mut self, cluster: ClusterId) {
        let why = self.world.explain_cluster(cluster).map_or("nothing".into(), |reason| said(&reason));
        self.line(&format!("Why has {cluster} its nodes? {why}"));
    }

    pub fn ask_instance(&mut self, instance: InstanceId) {
        let why = self.world.explain_instance(instance).map_or("nothing".into(), |reason| said(&reason));
        self.line(&format!("What does {instance} wait for? {why}"));
    }

    fn line(&mut self, text: &str) {
        if self.is_writing {
            let clock = self.clock();
            writeln!(self.text, "{clock}  {text}").expect("writing to a string");
        }
    }

    fn clock(&self) -> String {
        let millis = self.clocks().wall.0 - MORNING + 8 * 3_600_000;
        let (day, rest) = (millis.div_euclid(86_400_000), millis.rem_euclid(86_400_000));
        let day = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"][day.rem_euclid(7) as usize];
        let (hour, minute, second, tenth) = (rest / 3_600_000, rest / 60_000 % 60, rest / 1_000 % 60, rest / 100 % 10);
        format!("{day} {hour:02}:{minute:02}:{second:02}.{tenth}")
    }

    // ---- stepping
    // ---------------------------------------------------------------------------------------------------

    pub fn step(&mut self, inputs: Vec<Input>) -> Outcome {
        let now = self.clocks();
        let outcome = self.world.step(&inputs, now);
        let wrong = self.world.audit();
        assert!(wrong.is_empty(), "{}\n{}", wrong.join("\n"), self.text);
        self.write(&inputs, &outcome);
        self.note_overtaking(&outcome);
        self.inputs.push((inputs, now));
        self.wake = outcome.wake.map(|at| at.0);
        self.wake_wall = outcome.wake_wall.map(|at| at.0);
        assert!(outcome.wake_wall.is_none_or(|at| at > now.wall), "it would step for ever\n{}", self.text);
        if !self.reality.is_mute {
            outcome.effects.iter().for_each(|effect| self.act(effect));
        }
        self.outcomes.push(outcome.clone());
        outcome
    }

    fn note_overtaking(&mut self, outcome: &Outcome) {
        for effect in &outcome.effects {
            let Effect::StartJob { part, .. } = effect else { continue };
            let Some(job) = self.world.job(part.job) else { continue };
            let first = self.world.pool(&PoolKey::of_job(job)).and_then(|pool| pool.queue.first());
            let place = |job: &Job| (Reverse(job.spec.priority), job.rank());
            if let Some(first) = first.and_then(|first| self.world.job(first)).filter(|first| place(first) < place(job))
            {
                self.overtaking.push((job.id, first.id));
            }
        }
    }

    /// Gives an order and takes the answer.
    pub fn order(&mut self, who: &str, order: Order) -> Result<Answer, Reason> {
        let outcome = self.step(vec![order_of(who, order)]);
        outcome.replies.into_iter().next().flatten().expect("a command is answered")
    }

    /// Gives an order that must be taken.
    pub fn must(&mut self, who: &str, order: Order) -> Answer {
        self.order(who, order).unwrap_or_else(|reason| panic!("{}\n{}", reason.sentence(), self.text))
    }

    pub fn cluster(&mut self, name: &str, size_name: &str, scale: ScaleSettings) -> ClusterId {
        let order = Order::CreateCluster {
            name: compute(name),
            size: size(size_name),
            scale,
            tier: Tier::Dedicated,
            tags: Tags::default(),
        };
        let Answer::Cluster(id) = self.must("Ada", order) else { panic!("a cluster") };
        id
    }

    pub fn instance(&mut self, new: NewInstance) -> InstanceId {
        let Answer::Instance(id) = self.must("Ada", Order::CreateInstance(Box::new(new))) else {
            panic!("an instance")
        };
        id
    }

    /// Submits a job that runs so long and ends well.
    pub fn submit(&mut self, spec: JobSpec, runs: Span) -> JobId {
        self.submit_as("Ada", spec, runs, Exit::Code(0))
    }

    pub fn submit_as(&mut self, who: &str, spec: JobSpec, runs: Span, exit: Exit) -> JobId {
        // Its number is known before, so that reality knows what to do when it is started at once.
        self.reality.runs.insert(JobId(self.world.state().jobs + 1), (runs, exit));
        let Answer::Job(id) = self.must(who, Order::Submit(spec)) else { panic!("a job") };
        id
    }

    pub fn schedule(&mut self, target: ScheduleTarget, action: Action, cron: &str) -> ScheduleId {
        let order = Order::AddSchedule { target, action, timetable: timetable(cron), jobs: StopJobs::Now };
        let Answer::Schedule(id) = self.must("Ada", order) else { panic!("a schedule") };
        id
    }

    pub fn report(&mut self, report: Report) -> Outcome {
        self.step(vec![Input::Report(report)])
    }

    /// Lets so much time pass.
    pub fn pass(&mut self, span: Span) {
        let until = self.now + span.as_millis().unsigned_abs();
        self.pass_until(until);
    }

    pub fn pass_until(&mut self, until: u64) {
        loop {
            let wall = self.wake_wall.map(|at| (at - MORNING - self.skew).max(self.now as i64).unsigned_abs());
            let next = [self.queue.keys().next().map(|(at, _)| *at), self.wake, wall];
            let Some(next) = next.into_iter().flatten().min().filter(|at| *at <= until) else { break };
            self.now = self.now.max(next);
            let mut inputs = Vec::new();
            while let Some(entry) = self.queue.first_entry().filter(|entry| entry.key().0 <= self.now) {
                inputs.push(Input::Report(entry.remove()));
            }
            for input in &inputs {
                self.happen(input);
            }
            self.step(inputs);
        }
        self.now = self.now.max(until);
    }

    /// Lets time pass while the engine is not there: nobody steps, and reports wait.
    pub fn sleep(&mut self, span: Span) {
        self.now += span.as_millis().unsigned_abs();
    }

    // ---- reality
    // ----------------------------------------------------------------------------------------------------

    fn later(&mut self, millis: u64, report: Report) {
        self.counter += 1;
        self.queue.insert((self.now + millis, self.counter), report);
    }

    fn act(&mut self, effect: &Effect) {
        match effect.clone() {
            Effect::Launch { node, .. } if self.reality.failing_launches > 0 => {
                self.reality.failing_launches -= 1;
                self.later(1_000, Report::LaunchFailed { node, detail: "no such image".into() });
            }
            Effect::Launch { node, .. } => {
                self.reality.machines.insert(node);
                self.later(2_000, Report::NodeUp(node));
            }
            Effect::Terminate { node, .. } => {
                self.queue.retain(|_, report| !is_of_node(report, node));
                self.later(1_000, Report::NodeGone(node));
            }
            Effect::Drain { node } => {
                let is_busy = self.reality.parts.iter().any(|part| part.node == node);
                if self.reality.machines.contains(&node) && !is_busy {
                    self.later(100, Report::NodeDrained(node));
                }
            }
            // Agents here start at once whatever they are given, so there is nothing to give back.
            Effect::Undrain { .. } | Effect::TerminateUnknown { .. } | Effect::AskBack { .. } => {}
            // What is sent to a machine that does not exist is lost.
            Effect::StartJob { part, .. } | Effect::EndJob { part, .. }
                if !self.reality.machines.contains(&part.node) => {}
            Effect::StartJob { part, .. } => {
                self.reality.parts.insert(part);
                let (runs, exit) =
                    self.reality.runs.get(&part.job).copied().unwrap_or((Span::minutes(1), Exit::Code(0)));
                self.later(100, Report::JobStarted(part));
                self.later(100 + runs.as_millis().unsigned_abs(), Report::JobExited { part, exit });
                self.later(200 + runs.as_millis().unsigned_abs(), Report::JobOff { part, exit });
            }
            Effect::EndJob { part, .. } => {
                let is_pending = |wanted: fn(&Report) -> bool| {
                    self.queue.values().any(|report| wanted(report) && is_of_part(report, part))
                };
                let has_exited = !is_pending(|report| matches!(report, Report::JobExited { .. }));
                if has_exited && is_pending(|report| matches!(report, Report::JobOff { .. })) {
                    return;
                }
                self.queue.retain(|_, report| !is_of_part(report, part));
                self.later(500, Report::JobOff { part, exit: Exit::Code(143) });
            }
            Effect::SetUp { instance, generation, .. } => {
                self.later(1_000, Report::SetUp { instance, generation, failure: None });
            }
            Effect::RunScript { instance, generation, scripts, .. } => {
                let failure = self.reality.failing_scripts.then(|| "line 3: pip: command not found".into());
                let creation_done = scripts.len() > 1;
                self.later(5_000, Report::ScriptDone { instance, generation, creation_done, failure });
            }
            Effect::Transfer { instance, generation, .. } => {
                self.later(1_000, Report::Transferred { instance, generation, failure: None });
            }
            Effect::Resize { instance, generation, .. } => {
                self.later(1_000, Report::Resized { instance, generation, failure: None });
            }
            Effect::BuildEnvironment { hash } => {
                let failure = self.reality.failing_environments.then(|| "line 2, “nonsense”: there is none.".into());
                self.later(60_000, Report::Environment { hash, failure });
            }
        }
    }

    fn happen(&mut self, input: &Input) {
        match input {
            Input::Report(Report::NodeGone(node)) => {
                self.reality.machines.remove(node);
                self.reality.parts.retain(|part| part.node != *node);
            }
            Input::Report(Report::JobOff { part, .. }) => {
                self.reality.parts.remove(part);
            }
            _ => {}
        }
    }

    /// Drivers and agents that were mute are back, and are told again all that is wanted.
    pub fn speak(&mut self) {
        self.reality.is_mute = false;
        self.reality.machines = self.world.nodes().map(|node| node.id).collect();
        for effect in self.world.wanted() {
            self.act(&effect);
        }
    }

    /// A machine is lost without a word: its processes are gone and nothing that it would have said arrives.
    pub fn lose(&mut self, node: NodeId) {
        self.reality.machines.remove(&node);
        self.reality.parts.retain(|part| part.node != node);
        self.queue.retain(|_, report| !is_of_node(report, node));
    }

    // ---- the timeline
    // -----------------------------------------------------------------------------------------------

    fn write(&mut self, inputs: &[Input], outcome: &Outcome) {
        if !self.is_writing {
            return;
        }
        let mut lines = Vec::new();
        for (input, reply) in inputs.iter().zip(&outcome.replies) {
            match input {
                Input::Command(command) => lines.push(format!("{}: {}", command.name, say_order(&command.order))),
                Input::Report(report) => lines.push(say_report(report)),
            }
            match reply {
                Some(Ok(answer)) => lines.push(format!("  answer: {}", say_answer(answer))),
                Some(Err(reason)) => lines.push(format!("  refused: {}", said(reason))),
                None => {}
            }
        }
        for decision in &outcome.decisions {
            lines.push(format!("  {}: {}", say_about(decision.about), decision.reason.sentence()));
        }
        for ended in &outcome.ended {
            lines.push(format!("  {} is over: {}", ended.job.id, JobState::of(&ended.verdict).key()));
        }
        if !outcome.effects.is_empty() {
            let effects: Vec<String> = outcome.effects.iter().map(say_effect).collect();
            lines.push(format!("  do: {}", effects.join("; ")));
        }
        let counts = self.say_counts();
        if counts != self.counts {
            lines.push(format!("  now: {counts}"));
            self.counts = counts;
        }
        let clock = self.clock();
        for (index, line) in lines.iter().enumerate() {
            let clock = if index == 0 { clock.as_str() } else { "" };
            writeln!(self.text, "{}", format!("{clock:<14}  {line}").trim_end()).expect("writing to a string");
        }
    }

    fn say_counts(&self) -> String {
        let mut nodes: BTreeMap<String, u64> = BTreeMap::new();
        for node in self.world.nodes() {
            let is_busy = self.world.on_node(node.id).is_some_and(|on| !on.jobs.is_empty());
            *nodes.entry(format!("{:?}", node.state(is_busy)).to_lowercase()).or_default() += 1;
        }
        let mut jobs: BTreeMap<&str, u64> = BTreeMap::new();
        for job in self.world.jobs() {
            *jobs.entry(job.state().key()).or_default() += 1;
        }
        let mut parts = Vec::new();
        for instance in self.world.instances() {
            parts.push(format!("{} {}", instance.name, self.world.instance_state(instance).key()));
        }
        for cluster in self.world.clusters() {
            parts.push(format!("{} {}", cluster.name, self.world.cluster_state(cluster).key()));
        }
        let list = |counts: Vec<String>| if counts.is_empty() { "none".to_owned() } else { counts.join(", ") };
        let nodes = list(nodes.iter().map(|(state, count)| format!("{count} {state}")).collect());
        let jobs = list(jobs.iter().map(|(state, count)| format!("{count} {state}")).collect());
        format!("{}; nodes: {nodes}; jobs: {jobs}", list(parts))
    }
}

fn is_of_part(report: &Report, wanted: AllocationKey) -> bool {
    match report {
        Report::JobStarted(part)
        | Report::JobExited { part, .. }
        | Report::JobOff { part, .. }
        | Report::JobRefused { part, .. } => *part == wanted,
        _ => false,
    }
}

fn is_of_node(report: &Report, wanted: NodeId) -> bool {
    match report {
        Report::JobStarted(part)
        | Report::JobExited { part, .. }
        | Report::JobOff { part, .. }
        | Report::JobRefused { part, .. } => part.node == wanted,
        Report::NodeUp(node) | Report::NodeDrained(node) | Report::NodeSilent(node) => *node == wanted,
        _ => false,
    }
}

/// A reason with its next step.
pub fn said(reason: &Reason) -> String {
    match reason.next_step() {
        Some(next) => format!("{} {next}", reason.sentence()),
        None => reason.sentence(),
    }
}

pub fn say_about(about: About) -> String {
    match about {
        About::Engine => "engine".into(),
        About::Instance(id) => id.to_string(),
        About::Cluster(id) => id.to_string(),
        About::Node(id) => id.to_string(),
        About::Job(id) => id.to_string(),
        About::Schedule(id) => id.to_string(),
        About::Budget => "budget".into(),
    }
}

fn say_answer(answer: &Answer) -> String {
    match answer {
        Answer::Done => "done".into(),
        Answer::Already => "it was so already".into(),
        Answer::Later => "as soon as what goes on allows".into(),
        Answer::Instance(id) => id.to_string(),
        Answer::Cluster(id) => id.to_string(),
        Answer::Job(id) => id.to_string(),
        Answer::Jobs { first, count } => format!("{count} jobs from {first} on"),
        Answer::Schedule(id) => id.to_string(),
    }
}

fn say_target(target: &Target) -> String {
    match target {
        Target::Cluster(id) => id.to_string(),
        Target::Instance(id) => id.to_string(),
        Target::Serverless(size) => format!("serverless nodes of the size {size}"),
    }
}

fn say_schedule_target(target: ScheduleTarget) -> String {
    match target {
        ScheduleTarget::Cluster(id) => id.to_string(),
        ScheduleTarget::Instance(id) => id.to_string(),
    }
}

fn say_limit(resource: &Resource, limit: Option<u64>) -> String {
    limit.map_or_else(|| format!("no limit of {resource:?}"), |limit| format!("a limit of {}", resource.amount(limit)))
}

fn say_scope(scope: &Scope) -> String {
    match scope {
        Scope::Workspace => "the workspace".into(),
        Scope::Everybody => "everybody".into(),
        Scope::Person(person) => person.to_string(),
    }
}

fn say_scripts(scripts: &Scripts) -> String {
    let runs: Vec<String> = scripts.to_run(false).iter().map(say_run).collect();
    if runs.is_empty() { String::new() } else { format!(", {}", runs.join(" and ")) }
}

fn say_run(run: &ScriptRun) -> String {
    format!("{} script of at most {}", run.kind.key(), run.script.limit)
}

fn say_scale(ScaleSettings { min, max, idle, warm }: ScaleSettings) -> String {
    let warm = if warm > 0 { format!(", {warm} kept ready") } else { String::new() };
    format!("{min} to {max} nodes, idle {idle}{warm}")
}

pub fn say_order(order: &Order) -> String {
    match order {
        Order::PutSize(size) => format!("put the size {}", size.name),
        Order::RemoveSize(size) => format!("remove the size {size}"),
        Order::SetLimit { scope, resource, limit } => {
            format!("set {} for {}", say_limit(resource, *limit), say_scope(scope))
        }
        Order::SetFairShare { person, weight } => format!("give {person} the weight {weight}"),
        Order::SetHalfLife(span) => format!("let use count half after {span}"),
        Order::SetQueuePolicy { cluster, policy } => {
            let queue = cluster.map_or("serverless jobs".to_owned(), |cluster| cluster.to_string());
            let backfill = if policy.backfill { " with backfill" } else { "" };
            format!("serve {queue} by {}{backfill}", policy.order.key())
        }
        Order::CreateInstance(new) => {
            let scripts = say_scripts(&new.scripts);
            let idle = new.idle.as_ref().map(|idle| format!(", stops after {} idle", idle.window)).unwrap_or_default();
            let starts = if new.starts { "" } else { ", stopped" };
            format!("create the instance {} of the size {}{scripts}{idle}{starts}", new.name, new.size)
        }
        Order::StartInstance(id) => format!("start {id}"),
        Order::WakeInstance(id) => format!("open an application of {id}"),
        Order::SetIdleRules(rules) => {
            let must = if rules.is_required { ", required" } else { "" };
            format!("allow idle times from {} to {}{must}", rules.min, rules.max)
        }
        Order::RebuildInstance(id) => format!("rebuild {id}"),
        Order::TagInstance { instance, tags } => format!("tag {instance} with {} tags", tags.0.len()),
        Order::SetScripts { instance, scripts } => format!("set the scripts of {instance}{}", say_scripts(scripts)),
        Order::AcceptScripts { instance, revision } => format!("accept the scripts of {instance}, change {revision}"),
        Order::PostponeStop { instance, until } => {
            format!("keep {instance} until {} min after 08:00", (until.0 - MORNING) / 60_000)
        }
        Order::SkipStop { instance } => format!("leave the next stop of {instance} out"),
        Order::StopInstance(id) => format!("stop {id}"),
        Order::RestartInstance(id) => format!("restart {id}"),
        Order::ResizeInstance { instance, size } => format!("resize {instance} to {size}"),
        Order::TransferInstance { instance, from, to, .. } => format!("give {instance} from {from} to {to}"),
        Order::DeleteInstance(id) => format!("delete {id}"),
        Order::ConfigureInstance { instance, .. } => format!("configure {instance}"),
        Order::ExtendInstance { instance, by } => format!("keep {instance} running for {by}"),
        Order::TagCluster { cluster, tags } => format!("tag {cluster} with {} tags", tags.0.len()),
        Order::CreateCluster { name, size, scale, tier, .. } => {
            let tier = if *tier == Tier::Preemptible { ", preemptible" } else { "" };
            format!("create the cluster {name} of the size {size}, {}{tier}", say_scale(*scale))
        }
        Order::ChangeCluster { .. } => order.parts().iter().map(say_order).collect::<Vec<String>>().join(", and "),
        Order::ScaleCluster { cluster, scale } => format!("scale {cluster} to {}", say_scale(*scale)),
        Order::PauseCluster(id) => format!("pause {id}"),
        Order::ResumeCluster(id) => format!("resume {id}"),
        Order::DeleteCluster { cluster, ends_jobs } => {
            format!("delete {cluster}{}", if *ends_jobs { " and end its jobs" } else { "" })
        }
        Order::SetBudget { of, budget } => format!("budget of {of:?}: {budget:?}"),
        Order::ChangeArray { array, change } => format!("the array of {array}: {change:?}"),
        Order::SubmitArray { spec, count } => format!("{count} times: {}", say_order(&Order::Submit(spec.clone()))),
        Order::Submit(spec) => {
            let nodes = if spec.nodes > 1 { format!(" on {} nodes", spec.nodes) } else { String::new() };
            let priority =
                if spec.priority == Priority::Medium { "" } else { &format!(", priority {}", spec.priority.key()) };
            let after: Vec<String> = spec.after.iter().map(|after| after.job.to_string()).collect();
            let after = if after.is_empty() { String::new() } else { format!(", after {}", after.join(" and ")) };
            format!("submit a job to {}: {}{nodes}{priority}{after}", say_target(&spec.target), spec.shape)
        }
        Order::Hold { job, why } => format!("hold {job}: {why}"),
        Order::Release(job) => format!("release {job}"),
        Order::Move { job, to, over_all } => {
            let to = match to {
                MoveTo::Front => "to the front".to_owned(),
                MoveTo::Back => "to the back".to_owned(),
                MoveTo::Before(other) => format!("before {other}"),
            };
            format!("move {job} {to}{}", if *over_all { " of all" } else { "" })
        }
        Order::EvictJob(job) => format!("evict {job}"),
        Order::EvictNode(node) => format!("evict {node}"),
        Order::Cancel(job) => format!("cancel {job}"),
        Order::Prioritise { job, priority } => format!("give {job} the priority {}", priority.key()),
        Order::AddSchedule { target, action, timetable, jobs } => {
            let (target, when) = (say_schedule_target(*target), timetable.sentence());
            format!("schedule for {target}: {}: {when}{}", action.phrase(), jobs.phrase())
        }
        Order::EditSchedule { schedule, action, timetable, jobs } => {
            format!("change {schedule} to: {} {}{}", action.phrase(), timetable.sentence(), jobs.phrase())
        }
        Order::EnableSchedule { schedule, is_enabled: true } => format!("enable {schedule}"),
        Order::EnableSchedule { schedule, .. } => format!("disable {schedule}"),
        Order::SkipSchedule { schedule, skips: true } => format!("skip the next time of {schedule}"),
        Order::SkipSchedule { schedule, .. } => format!("skip nothing of {schedule}"),
        Order::RemoveSchedule(id) => format!("remove {id}"),
        Order::Pause { why } => format!("pause all acting: {why}"),
        Order::Resume => "resume all acting".into(),
        Order::RemoveUnknown { site, name } => format!("remove the unknown {name} on {site}"),
    }
}

fn say_exit(exit: Exit) -> String {
    match exit {
        Exit::Code(code) => format!("exit code {code}"),
        Exit::OutOfMemory => "out of memory".into(),
        Exit::TimedOut => "out of time".into(),
    }
}

fn say_found(found: &FoundNode) -> String {
    match found.node {
        Some(node) => format!("{} ({node})", found.name),
        None => found.name.clone(),
    }
}

fn say_part(part: AllocationKey) -> String {
    format!("{} attempt {} on {}", part.job, part.attempt, part.node)
}

pub fn say_report(report: &Report) -> String {
    let failed = |failure: &Option<atelier_domain::text::Text>| {
        failure.as_ref().map(|why| format!(" failed: {why}")).unwrap_or_default()
    };
    match report {
        Report::Site { site, capacity } => format!("site {site} has {capacity}"),
        Report::Found { site, nodes, .. } => {
            format!("site {site} lists {}", nodes.iter().map(say_found).collect::<Vec<_>>().join(", "))
        }
        Report::Absent { away } => format!("nobody could act for {away}"),
        Report::NodeUp(node) => format!("{node} is up"),
        Report::JobGivenBack(part) => format!("{} is given back", say_part(*part)),
        Report::LaunchFailed { node, detail } => format!("{node} could not be made: {detail}"),
        Report::NodeSilent(node) => format!("{node} is silent"),
        Report::NodeDrained(node) => format!("{node} is drained"),
        Report::NodePreempted(node) => format!("{node} is taken back"),
        Report::NodeGone(node) => format!("{node} is gone"),
        Report::JobStarted(part) => format!("{} runs", say_part(*part)),
        Report::JobRefused { part, detail } => format!("{} refused: {detail}", say_part(*part)),
        Report::JobExited { part, exit } => format!("{} exited: {}", say_part(*part), say_exit(*exit)),
        Report::JobOff { part, exit } => format!("{} off: {}", say_part(*part), say_exit(*exit)),
        Report::SetUp { instance, failure, .. } => format!("{instance} set up{}", failed(failure)),
        Report::ScriptDone { instance, failure, .. } => format!("{instance} script done{}", failed(failure)),
        Report::Healthy { instance, .. } => format!("{instance}: all applications answer"),
        Report::Transferred { instance, failure, .. } => format!("{instance} changed hands{}", failed(failure)),
        Report::Resized { instance, failure, .. } => format!("{instance} resized{}", failed(failure)),
        Report::Fills { program, filled } => format!("{program:?} {}", filled.phrase()),
        Report::Environment { hash, failure } => format!("environment {hash} built{}", failed(failure)),
        Report::Activity { instance, active, stretch } => {
            let active: Vec<&str> = active.iter().map(|source: &Source| source.label()).collect();
            let active = if active.is_empty() { "nothing".to_owned() } else { active.join(", ") };
            format!("{instance}: {active} in the last {stretch}")
        }
    }
}

pub fn say_effect(effect: &Effect) -> String {
    match effect {
        Effect::Launch { node, size, holder, .. } => {
            let holder = match holder {
                Holder::Instance(id) => id.to_string(),
                Holder::Cluster(id) => id.to_string(),
                Holder::Job(id) => id.to_string(),
            };
            format!("launch {node} ({size}) for {holder}")
        }
        Effect::Drain { node } => format!("drain {node}"),
        Effect::Undrain { node } => format!("undrain {node}"),
        Effect::Terminate { node, .. } => format!("terminate {node}"),
        Effect::TerminateUnknown { name, .. } => format!("terminate the unknown {name}"),
        Effect::StartJob { part, rank, nodes, .. } if nodes.len() > 1 => {
            format!("start {} (rank {rank} of {})", say_part(*part), nodes.len())
        }
        Effect::StartJob { part, .. } => format!("start {}", say_part(*part)),
        Effect::AskBack { part } => format!("ask {} back", say_part(*part)),
        Effect::EndJob { part, grace, is_preempted } => {
            let why = if *is_preempted { ", its node is taken back" } else { "" };
            format!("end {} within {grace}{why}", say_part(*part))
        }
        Effect::SetUp { instance, node, layer, .. } => format!("set up {instance} on {node}, layer {layer}"),
        Effect::RunScript { instance, node, scripts, is_trusted, limit, .. } => {
            let kinds: Vec<&str> = scripts.iter().map(|run| run.kind.key()).collect();
            let trust = if *is_trusted { "" } else { ", without the owner’s home" };
            format!("run {} of {instance} on {node} for {limit}{trust}", kinds.join(" and "))
        }
        Effect::Transfer { instance, from, to, .. } => format!("give {instance} from {from} to {to}"),
        Effect::Resize { instance, size, .. } => format!("resize {instance} to {size}"),
        Effect::BuildEnvironment { hash } => format!("build environment {hash}"),
    }
}
