//! What really exists out there: machines and processes, with drivers and agents that are slow, lose things,
//! say things twice and die. The World never sees this, only what is reported of it.

use std::collections::{BTreeMap, BTreeSet};

use atelier_domain::compute::size::SiteName;
use atelier_domain::compute::{InstanceId, JobId, NodeId, Resources};
use atelier_domain::world::{AllocationKey, Effect, Exit, FoundNode, Report};

use super::dice::Dice;

/// How a part ended that was given back without having begun.
const GIVEN_BACK: Exit = Exit::Code(-1);

/// How bad things are.
#[derive(Clone, Copy)]
pub struct Faults {
    pub lost_launch: u64,
    pub failed_launch: u64,
    pub lost_effect: u64,
    pub twice: u64,
    pub node_dies: u64,
    pub node_goes_silent: u64,
    pub start_refused: u64,
    pub setup_fails: u64,
    pub slowest: u64,
}

impl Faults {
    pub const NONE: Self = Self {
        lost_launch: 0,
        failed_launch: 0,
        lost_effect: 0,
        twice: 0,
        node_dies: 0,
        node_goes_silent: 0,
        start_refused: 0,
        setup_fails: 0,
        slowest: 1_000,
    };
}

/// One kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    LostLaunch,
    FailedLaunch,
    LostEffect,
    Twice,
    NodeDies,
    NodeGoesSilent,
    StartRefused,
    SetupFails,
    KilledBeforeCommit,
    KilledAfterCommit,
    ClockJumps,
}

impl Fault {
    pub const ALL: [Self; 11] = [
        Self::LostLaunch,
        Self::FailedLaunch,
        Self::LostEffect,
        Self::Twice,
        Self::NodeDies,
        Self::NodeGoesSilent,
        Self::StartRefused,
        Self::SetupFails,
        Self::KilledBeforeCommit,
        Self::KilledAfterCommit,
        Self::ClockJumps,
    ];
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Machine {
    Booting,
    Up,
    /// Runs, but nobody hears it.
    CutOff,
    Gone,
}

#[derive(Clone, Debug)]
struct RealNode {
    machine: Machine,
    shape: Resources,
    running: BTreeMap<AllocationKey, Resources>,
    /// Parts that have no room yet, in the order in which they came.
    waiting: Vec<(AllocationKey, Resources)>,
    /// Parts that were here, with how they ended: an agent never starts one twice.
    over: BTreeMap<AllocationKey, Exit>,
    /// An agent's reports arrive in order.
    last_word: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    BootDone(NodeId),
    LaunchFails(NodeId),
    Terminated(NodeId),
    Dies(NodeId),
    CutOff(NodeId),
    Back(NodeId),
    StillSilent(NodeId),
    PartEnds(AllocationKey, i32),
    Killed(AllocationKey),
    Drained(NodeId),
    SetUp(InstanceId, u64, NodeId, bool),
    Script(InstanceId, u64, NodeId, bool),
    Resized(InstanceId, u64, bool),
    Transferred(InstanceId, u64, bool),
    Deliver(usize),
}

pub struct Reality {
    pub faults: Faults,
    pub now: u64,
    nodes: BTreeMap<NodeId, RealNode>,
    queue: BTreeSet<(u64, u64, Event)>,
    reports: BTreeMap<usize, Report>,
    counter: u64,
    /// What went wrong in the real world: the properties that only it can judge.
    pub wrong: Vec<String>,
    /// The faults that came about.
    pub struck: BTreeSet<Fault>,
    /// How long each job would run, by its id.
    durations: BTreeMap<JobId, (u64, i32)>,
}

impl Reality {
    pub fn new(faults: Faults) -> Self {
        Self {
            faults,
            now: 0,
            nodes: BTreeMap::new(),
            queue: BTreeSet::new(),
            reports: BTreeMap::new(),
            counter: 0,
            wrong: Vec::new(),
            struck: BTreeSet::new(),
            durations: BTreeMap::new(),
        }
    }

    /// Whether a fault comes about, in so many of a hundred throws.
    fn strikes(&mut self, dice: &mut Dice, fault: Fault, chance: u64) -> bool {
        let strikes = dice.percent(chance);
        if strikes {
            self.struck.insert(fault);
        }
        strikes
    }

    pub fn job_will_run(&mut self, job: JobId, millis: u64, code: i32) {
        self.durations.insert(job, (millis, code));
    }

    fn at(&mut self, time: u64, event: Event) {
        self.counter += 1;
        self.queue.insert((time, self.counter, event));
    }

    /// When the next thing happens out there.
    pub fn next_at(&self) -> Option<u64> {
        self.queue.first().map(|(at, ..)| *at)
    }

    /// Says something to the engine, after a while, perhaps twice. What one agent says arrives in order.
    fn say(&mut self, dice: &mut Dice, node: Option<NodeId>, report: Report) {
        let mut arrives = self.now + dice.between(1, self.faults.slowest);
        if let Some(node) = node.and_then(|node| self.nodes.get_mut(&node)) {
            arrives = arrives.max(node.last_word);
            node.last_word = arrives;
        }
        let copies = 1 + usize::from(self.strikes(dice, Fault::Twice, self.faults.twice));
        for copy in 0..copies {
            let id = self.counter as usize * 4 + copy;
            self.reports.insert(id, report.clone());
            let late = if copy == 0 { 0 } else { dice.between(0, self.faults.slowest * 5) };
            self.at(arrives + late, Event::Deliver(id));
        }
    }

    /// Lets time pass until `until` and gives what arrived at the engine by then.
    pub fn run(&mut self, dice: &mut Dice, until: u64) -> Vec<Report> {
        let mut arrived = Vec::new();
        while let Some((at, ..)) = self.queue.first().filter(|(at, ..)| *at <= until) {
            self.now = self.now.max(*at);
            let Some((_, _, event)) = self.queue.pop_first() else { break };
            if let Event::Deliver(id) = event {
                arrived.extend(self.reports.remove(&id));
            } else {
                self.happen(dice, event);
            }
        }
        self.now = self.now.max(until);
        arrived
    }

    fn happen(&mut self, dice: &mut Dice, event: Event) {
        match event {
            Event::BootDone(id) => {
                if let Some(node) = self.nodes.get_mut(&id).filter(|node| node.machine == Machine::Booting) {
                    node.machine = Machine::Up;
                    self.say(dice, Some(id), Report::NodeUp(id));
                    if self.strikes(dice, Fault::NodeDies, self.faults.node_dies) {
                        let at = self.now + dice.between(1, 3_600_000);
                        self.at(at, Event::Dies(id));
                    }
                    if self.strikes(dice, Fault::NodeGoesSilent, self.faults.node_goes_silent) {
                        let at = self.now + dice.between(1, 1_800_000);
                        self.at(at, Event::CutOff(id));
                    }
                }
            }
            Event::LaunchFails(id) => {
                if let Some(node) = self.nodes.get_mut(&id).filter(|node| node.machine == Machine::Booting) {
                    node.machine = Machine::Gone;
                    self.say(dice, None, Report::LaunchFailed { node: id, detail: "no such machine today".into() });
                }
            }
            Event::Terminated(id) => {
                if let Some(node) = self.nodes.get_mut(&id) {
                    node.machine = Machine::Gone;
                    node.running.clear();
                    node.waiting.clear();
                }
                self.say(dice, None, Report::NodeGone(id));
            }
            Event::Dies(id) => {
                if let Some(node) = self.nodes.get_mut(&id).filter(|node| node.machine != Machine::Gone) {
                    node.machine = Machine::Gone;
                    node.running.clear();
                    node.waiting.clear();
                    self.at(self.now + 30_000, Event::StillSilent(id));
                }
            }
            Event::CutOff(id) => {
                if let Some(node) = self.nodes.get_mut(&id).filter(|node| node.machine == Machine::Up) {
                    node.machine = Machine::CutOff;
                    self.at(self.now + 30_000, Event::StillSilent(id));
                    if dice.percent(70) {
                        let at = self.now + dice.between(1, 300_000);
                        self.at(at, Event::Back(id));
                    }
                }
            }
            Event::Back(id) => {
                if let Some(node) = self.nodes.get_mut(&id).filter(|node| node.machine == Machine::CutOff) {
                    node.machine = Machine::Up;
                    // It hands over everything that it could not say.
                    let (running, over) = (node.running.clone(), node.over.clone());
                    self.say(dice, Some(id), Report::NodeUp(id));
                    running.into_keys().for_each(|part| self.say(dice, Some(id), Report::JobStarted(part)));
                    over.into_iter().for_each(|(part, exit)| {
                        let word =
                            if exit == GIVEN_BACK { Report::JobGivenBack(part) } else { Report::JobOff { part, exit } };
                        self.say(dice, Some(id), word);
                    });
                }
            }
            Event::StillSilent(id) => {
                let is_silent =
                    self.nodes.get(&id).is_some_and(|node| matches!(node.machine, Machine::CutOff | Machine::Gone));
                if is_silent && self.now < 200_000_000 {
                    self.counter += 1;
                    let report = self.counter as usize * 4;
                    self.reports.insert(report, Report::NodeSilent(id));
                    self.at(self.now, Event::Deliver(report));
                    self.at(self.now + 30_000, Event::StillSilent(id));
                }
            }
            Event::PartEnds(part, code) => self.part_over(dice, part, Exit::Code(code)),
            Event::Killed(part) => self.part_over(dice, part, Exit::Code(137)),
            Event::Drained(id) => {
                let is_empty = |node: &RealNode| node.running.is_empty() && node.waiting.is_empty();
                if self.nodes.get(&id).is_some_and(|node| node.machine == Machine::Up && is_empty(node)) {
                    self.say(dice, Some(id), Report::NodeDrained(id));
                }
            }
            Event::SetUp(instance, generation, node, fails) => {
                if self.is_up(node) {
                    let failure = fails.then(|| "disk full".into());
                    self.say(dice, Some(node), Report::SetUp { instance, generation, failure });
                    self.say(dice, Some(node), Report::Healthy { instance, generation });
                }
            }
            Event::Script(instance, generation, node, fails) => {
                if self.is_up(node) {
                    let failure = fails.then(|| "line 3: no such file".into());
                    let creation_done = dice.percent(50);
                    self.say(dice, Some(node), Report::ScriptDone { instance, generation, creation_done, failure });
                    if !fails {
                        self.say(dice, Some(node), Report::Healthy { instance, generation });
                    }
                }
            }
            Event::Transferred(instance, generation, fails) => {
                let failure = fails.then(|| "the disk is full".into());
                self.say(dice, None, Report::Transferred { instance, generation, failure });
            }
            Event::Resized(instance, generation, fails) => {
                let failure = fails.then(|| "the volume is busy".into());
                self.say(dice, None, Report::Resized { instance, generation, failure });
            }
            Event::Deliver(_) => {}
        }
    }

    fn is_up(&self, node: NodeId) -> bool {
        self.nodes.get(&node).is_some_and(|node| node.machine == Machine::Up)
    }

    fn part_over(&mut self, dice: &mut Dice, part: AllocationKey, exit: Exit) {
        let Some(node) = self.nodes.get_mut(&part.node) else { return };
        if node.machine == Machine::Gone || node.running.remove(&part).is_none() {
            return;
        }
        node.over.insert(part, exit);
        if node.machine == Machine::Up {
            self.say(dice, Some(part.node), Report::JobExited { part, exit });
            self.say(dice, Some(part.node), Report::JobOff { part, exit });
        }
        self.begin_waiting(dice, part.node);
    }

    /// What has room now begins, whether or not anybody hears of it.
    fn begin_waiting(&mut self, dice: &mut Dice, id: NodeId) {
        while let Some(node) = self.nodes.get_mut(&id) {
            let used = node.running.values().fold(Resources::NONE, |sum, shape| sum.plus(*shape));
            match node.waiting.first().copied() {
                Some((part, shape)) if shape.fits(node.shape.minus(used)) => {
                    node.waiting.remove(0);
                    self.begin(dice, part, shape);
                }
                _ => return,
            }
        }
    }

    fn begin(&mut self, dice: &mut Dice, part: AllocationKey, shape: Resources) {
        if let Some(other) = self.parts_of(part.job).into_iter().find(|other| other.attempt != part.attempt) {
            self.wrong.push(format!("{part:?} starts while {other:?} runs"));
        }
        let (millis, code) = self.durations.get(&part.job).copied().unwrap_or((1_000, 0));
        let Some(node) = self.nodes.get_mut(&part.node) else { return };
        node.running.insert(part, shape);
        if node.machine == Machine::Up {
            self.say(dice, Some(part.node), Report::JobStarted(part));
        }
        self.at(self.now + millis, Event::PartEnds(part, code));
    }

    /// Drivers and agents do what they are told, more or less.
    pub fn act(&mut self, dice: &mut Dice, effects: &[Effect]) {
        for effect in effects {
            // Drivers are called by the engine itself and answer; what goes to an agent may get lost with the
            // connection.
            let to_agent = !matches!(
                effect,
                Effect::Launch { .. }
                    | Effect::Terminate { .. }
                    | Effect::Resize { .. }
                    | Effect::Transfer { .. }
                    | Effect::BuildEnvironment { .. }
            );
            if to_agent && self.strikes(dice, Fault::LostEffect, self.faults.lost_effect) {
                continue;
            }
            let soon = self.now + dice.between(1, self.faults.slowest);
            match effect.clone() {
                Effect::Launch { node, shape, .. } => {
                    if self.nodes.contains_key(&node) || self.strikes(dice, Fault::LostLaunch, self.faults.lost_launch)
                    {
                        continue;
                    }
                    let fresh = RealNode {
                        machine: Machine::Booting,
                        shape,
                        running: BTreeMap::new(),
                        waiting: Vec::new(),
                        over: BTreeMap::new(),
                        last_word: 0,
                    };
                    self.nodes.insert(node, fresh);
                    let event = if self.strikes(dice, Fault::FailedLaunch, self.faults.failed_launch) {
                        Event::LaunchFails(node)
                    } else {
                        Event::BootDone(node)
                    };
                    let at = soon + dice.between(0, 20_000);
                    self.at(at, event);
                }
                Effect::Terminate { node, .. } => {
                    if self.strikes(dice, Fault::LostEffect, self.faults.lost_effect) {
                        continue;
                    }
                    // A launch that comes after this must not make it again.
                    self.nodes.entry(node).or_insert(RealNode {
                        machine: Machine::Gone,
                        shape: Resources::NONE,
                        running: BTreeMap::new(),
                        waiting: Vec::new(),
                        over: BTreeMap::new(),
                        last_word: 0,
                    });
                    self.at(soon + 500, Event::Terminated(node));
                }
                Effect::TerminateUnknown { .. } | Effect::Undrain { .. } => {}
                Effect::Drain { node } => self.at(soon, Event::Drained(node)),
                Effect::StartJob { part, shape, .. } => self.start_part(dice, part, shape),
                Effect::AskBack { part } => self.give_back(dice, part),
                Effect::EndJob { part, grace, .. } => self.end_part(dice, part, grace.as_millis().unsigned_abs()),
                Effect::SetUp { instance, node, generation, .. } => {
                    let fails = self.strikes(dice, Fault::SetupFails, self.faults.setup_fails);
                    self.at(soon + 1_000, Event::SetUp(instance, generation, node, fails));
                }
                Effect::RunScript { instance, node, generation, .. } => {
                    let fails = self.strikes(dice, Fault::SetupFails, self.faults.setup_fails);
                    self.at(soon + 5_000, Event::Script(instance, generation, node, fails));
                }
                Effect::Transfer { instance, generation, .. } => {
                    let fails = self.strikes(dice, Fault::SetupFails, self.faults.setup_fails);
                    self.at(soon, Event::Transferred(instance, generation, fails));
                }
                Effect::Resize { instance, generation, .. } => {
                    let fails = self.strikes(dice, Fault::SetupFails, self.faults.setup_fails);
                    self.at(soon, Event::Resized(instance, generation, fails));
                }
                Effect::BuildEnvironment { hash } => {
                    let failure =
                        self.strikes(dice, Fault::SetupFails, self.faults.setup_fails).then(|| "line 1 failed".into());
                    self.say(dice, None, Report::Environment { hash, failure });
                }
            }
        }
    }

    fn start_part(&mut self, dice: &mut Dice, part: AllocationKey, shape: Resources) {
        let refuses = self.strikes(dice, Fault::StartRefused, self.faults.start_refused);
        let Some(node) = self.nodes.get_mut(&part.node).filter(|node| node.machine == Machine::Up) else { return };
        if let Some(exit) = node.over.get(&part).copied() {
            let word = if exit == GIVEN_BACK { Report::JobGivenBack(part) } else { Report::JobOff { part, exit } };
            self.say(dice, Some(part.node), word);
            return;
        }
        if node.running.contains_key(&part) {
            self.say(dice, Some(part.node), Report::JobStarted(part));
            return;
        }
        if node.waiting.iter().any(|(waiting, _)| *waiting == part) {
            return;
        }
        if refuses {
            node.over.insert(part, Exit::Code(127));
            self.say(dice, Some(part.node), Report::JobRefused { part, detail: "no such command".into() });
            return;
        }
        node.waiting.push((part, shape));
        self.begin_waiting(dice, part.node);
    }

    /// A part that has not begun is given back and never begins here.
    fn give_back(&mut self, dice: &mut Dice, part: AllocationKey) {
        let Some(node) = self.nodes.get_mut(&part.node).filter(|node| node.machine == Machine::Up) else { return };
        if node.running.contains_key(&part) || node.over.get(&part).is_some_and(|exit| *exit != GIVEN_BACK) {
            return;
        }
        node.waiting.retain(|(waiting, _)| *waiting != part);
        node.over.insert(part, GIVEN_BACK);
        self.say(dice, Some(part.node), Report::JobGivenBack(part));
        self.begin_waiting(dice, part.node);
    }

    fn end_part(&mut self, dice: &mut Dice, part: AllocationKey, grace: u64) {
        let Some(node) = self.nodes.get_mut(&part.node).filter(|node| node.machine == Machine::Up) else { return };
        if node.running.contains_key(&part) {
            let at = self.now + dice.between(1, grace.max(2));
            self.at(at, Event::Killed(part));
        } else {
            // Never started, or over: it will not start any more, and that is said.
            node.waiting.retain(|(waiting, _)| *waiting != part);
            let exit = *node.over.entry(part).or_insert(Exit::Code(143));
            self.say(dice, Some(part.node), Report::JobOff { part, exit });
            self.begin_waiting(dice, part.node);
        }
    }

    /// All processes of a job that are alive, heard of or not.
    pub fn parts_of(&self, job: JobId) -> Vec<AllocationKey> {
        let alive = self.nodes.values().filter(|node| node.machine != Machine::Gone);
        alive.flat_map(|node| node.running.keys().copied()).filter(|part| part.job == job).collect()
    }

    pub fn machines(&self) -> BTreeSet<NodeId> {
        let exists = |node: &RealNode| node.machine != Machine::Gone;
        self.nodes.iter().filter(|(_, node)| exists(node)).map(|(id, _)| *id).collect()
    }

    /// What the driver lists.
    pub fn list(&self, site: &SiteName, as_of: u64) -> Report {
        let nodes =
            self.machines().into_iter().map(|node| FoundNode { name: format!("at-{}", node.0), node: Some(node) });
        Report::Found { site: site.clone(), nodes: nodes.collect(), as_of: atelier_domain::time::Mono(as_of) }
    }
}
