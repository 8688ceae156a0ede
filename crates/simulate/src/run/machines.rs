//! The machines out there: made and removed by the driver's model, with agents that do what they are told.
//! The World never sees them, only what is reported of them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use atelier_domain::compute::size::SizeName;
use atelier_domain::compute::{NodeId, Resources};
use atelier_domain::time::Span;
use atelier_domain::world::{AllocationKey, Effect, Exit, Report};

use super::plans::Plans;
use crate::dice::{Dice, Kind};
use crate::maths::ln;
use crate::scenario::{DriverModel, Scenario};

/// How long an agent or a driver takes to say something.
const WORD: u64 = 1;
/// How long processes take to end when they are asked to.
const ENDING: u64 = 1_000;
/// How long until anybody notices that an agent is not heard of.
const UNHEARD: u64 = 30_000;
/// What a process ends with that was asked to.
const TERMINATED: Exit = Exit::Code(143);
const HOUR: f64 = 3_600_000.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Booting,
    Up,
    Dead,
}

/// A part of a job on a machine.
#[derive(Clone, Copy, Debug)]
struct Running {
    part: AllocationKey,
    shape: Resources,
    timeout: Option<Span>,
    /// Since when; none while its start is on its way.
    since: Option<u64>,
}

#[derive(Debug)]
struct Machine {
    size: usize,
    phase: Phase,
    born: u64,
    free: Resources,
    running: Vec<Running>,
    waiting: VecDeque<Running>,
    is_leaving: bool,
}

impl Machine {
    fn is_empty(&self) -> bool {
        self.running.is_empty() && self.waiting.is_empty()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Up(NodeId),
    LaunchFails(NodeId),
    Dies(NodeId),
    Unheard(NodeId),
    Preempted(NodeId),
    Drained(NodeId),
    Gone(NodeId),
    Begins(AllocationKey),
    Ends(AllocationKey),
    Killed(AllocationKey),
    NeverRan(AllocationKey),
    GivenBack(AllocationKey),
}

/// What the machines have done in all.
#[derive(Clone, Debug, Default)]
pub(crate) struct Work {
    /// Launches that were asked for.
    pub launches: u64,
    pub failed_launches: u64,
    pub lost: u64,
    /// Nodes that were taken back.
    pub preempted: u64,
    /// Milliseconds of nodes, by size.
    pub node_time: Vec<u128>,
    /// Thousandths of cores times milliseconds in which jobs had them, and the same for GPUs.
    pub busy_cores: u128,
    pub busy_gpus: u128,
    /// The first, by person.
    pub busy_by_person: Vec<u128>,
}

/// A job that has begun for the first time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Begun {
    pub person: usize,
    pub waited: u64,
}

pub(crate) struct Machines<'scenario> {
    scenario: &'scenario Scenario,
    sizes: BTreeMap<&'scenario SizeName, usize>,
    machines: BTreeMap<NodeId, Machine>,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    /// Events so far: those of one instant happen in the order in which they were planned.
    planned: u64,
    /// Machines with something on them.
    pub busy: u64,
    pub work: Work,
    pub begun: Vec<Begun>,
}

impl<'scenario> Machines<'scenario> {
    pub fn new(scenario: &'scenario Scenario) -> Self {
        let sizes = scenario.sizes.iter().enumerate().map(|(place, model)| (&model.size.name, place)).collect();
        let work = Work {
            node_time: vec![0; scenario.sizes.len()],
            busy_by_person: vec![0; scenario.people.len()],
            ..Work::default()
        };
        Self {
            scenario,
            sizes,
            machines: BTreeMap::new(),
            events: BinaryHeap::new(),
            planned: 0,
            busy: 0,
            work,
            begun: Vec::new(),
        }
    }

    /// When the next thing happens out there.
    pub fn next_at(&self) -> Option<u64> {
        self.events.peek().map(|Reverse((at, ..))| *at)
    }

    /// Machines that are paid for.
    pub fn count(&self) -> u64 {
        self.machines.len() as u64
    }

    fn at(&mut self, time: u64, event: Event) {
        self.planned += 1;
        self.events.push(Reverse((time, self.planned, event)));
    }

    fn model(&self, size: usize) -> DriverModel {
        self.scenario.sizes.get(size).map(|model| model.driver).unwrap_or_default()
    }

    // ---- what happens
    // -----------------------------------------------------------------------------------------------

    /// Lets time pass until then; what is said is heard then.
    pub fn run(&mut self, until: u64, plans: &mut Plans, mut say: impl FnMut(Report)) {
        while self.next_at().is_some_and(|at| at <= until) {
            let Some(Reverse((at, _, event))) = self.events.pop() else { return };
            match event {
                Event::Up(id) => {
                    if self.come_up(id, at) {
                        say(Report::NodeUp(id));
                    }
                }
                Event::LaunchFails(id) => {
                    if let Some(machine) = self.machines.get_mut(&id).filter(|machine| machine.phase == Phase::Booting)
                    {
                        machine.phase = Phase::Dead;
                        self.work.failed_launches += 1;
                        say(Report::LaunchFailed { node: id, detail: "no such machine today".into() });
                    }
                }
                Event::Dies(id) => self.die(id, at, plans),
                Event::Unheard(id) => say(Report::NodeSilent(id)),
                Event::Preempted(id) => {
                    let is_up = |machine: &&Machine| machine.phase == Phase::Up && !machine.is_leaving;
                    if self.machines.get(&id).filter(is_up).is_some() {
                        self.work.preempted += 1;
                        say(Report::NodePreempted(id));
                    }
                }
                Event::Drained(id) => {
                    if self.machines.get(&id).is_some_and(|machine| machine.phase == Phase::Up && machine.is_empty()) {
                        say(Report::NodeDrained(id));
                    }
                }
                Event::Gone(id) => {
                    self.stop_all(id, at, plans);
                    if let Some(machine) = self.machines.remove(&id) {
                        self.pay(&machine, until);
                    }
                    say(Report::NodeGone(id));
                }
                Event::Begins(part) => {
                    if self.begin(part, at, plans) {
                        say(Report::JobStarted(part));
                    }
                }
                Event::Ends(part) => {
                    let exit = self.exit_of(part, plans);
                    if self.end(part, at, plans) {
                        say(Report::JobOff { part, exit });
                        self.begin_waiting(part.node, at);
                    }
                }
                Event::Killed(part) => {
                    if self.end(part, at, plans) {
                        say(Report::JobOff { part, exit: TERMINATED });
                        self.begin_waiting(part.node, at);
                    }
                }
                Event::NeverRan(part) => {
                    if self.machines.get(&part.node).is_some_and(|machine| machine.phase == Phase::Up) {
                        say(Report::JobOff { part, exit: TERMINATED });
                    }
                }
                Event::GivenBack(part) => say(Report::JobGivenBack(part)),
            }
        }
    }

    fn come_up(&mut self, id: NodeId, at: u64) -> bool {
        let Some(machine) = self.machines.get_mut(&id).filter(|machine| machine.phase == Phase::Booting) else {
            return false;
        };
        machine.phase = Phase::Up;
        let size = machine.size;
        let model = self.model(size);
        // Another throw than the one for its launch.
        let mut dice = Dice::of(self.scenario.seed, Kind::Node, id.0, 1);
        for (chance, event) in [(model.lost, Event::Dies(id)), (model.preempted, Event::Preempted(id))] {
            let after = if chance > 0.0 { dice.exponential(-HOUR / ln(1.0 - chance)) } else { f64::MAX };
            // What comes after the end does not come.
            if after < self.scenario.whole as f64 {
                self.at(at + after as u64, event);
            }
        }
        true
    }

    fn die(&mut self, id: NodeId, at: u64, plans: &Plans) {
        if !self.machines.get(&id).is_some_and(|machine| machine.phase == Phase::Up) {
            return;
        }
        self.stop_all(id, at, plans);
        if let Some(machine) = self.machines.get_mut(&id) {
            machine.phase = Phase::Dead;
        }
        self.work.lost += 1;
        self.at(at + UNHEARD, Event::Unheard(id));
    }

    /// Everything on a machine is over, and nobody says so.
    fn stop_all(&mut self, id: NodeId, at: u64, plans: &Plans) {
        let Some(machine) = self.machines.get_mut(&id) else { return };
        self.busy -= u64::from(!machine.running.is_empty());
        machine.waiting.clear();
        for running in std::mem::take(&mut machine.running) {
            self.count_busy(&running, at, plans);
        }
    }

    fn begin(&mut self, part: AllocationKey, at: u64, plans: &mut Plans) -> bool {
        let Some(machine) = self.machines.get_mut(&part.node).filter(|machine| machine.phase == Phase::Up) else {
            return false;
        };
        let Some(running) = machine.running.iter_mut().find(|running| running.part == part) else { return false };
        running.since = Some(at);
        let timeout = running.timeout;
        let Some(plan) = plans.get_mut(part.job) else { return false };
        if !std::mem::replace(&mut plan.has_begun, true) {
            self.begun.push(Begun { person: plan.person, waited: at.saturating_sub(plan.submitted) });
        }
        let ran = plan.ran;
        let limit = timeout.map_or(u64::MAX, |timeout| timeout.as_millis().unsigned_abs());
        self.at(at.saturating_add(ran.min(limit)), Event::Ends(part));
        true
    }

    /// How a part ends by itself.
    fn exit_of(&self, part: AllocationKey, plans: &Plans) -> Exit {
        let machine = self.machines.get(&part.node);
        let running = machine.and_then(|machine| machine.running.iter().find(|running| running.part == part));
        match (plans.get(part.job), running.and_then(|running| running.timeout)) {
            (Some(plan), Some(limit)) if plan.ran > limit.as_millis().unsigned_abs() => Exit::TimedOut,
            (Some(plan), _) => plan.exit(self.scenario.seed, part.attempt),
            (None, _) => TERMINATED,
        }
    }

    /// Takes a part off its machine, if it runs there.
    fn end(&mut self, part: AllocationKey, at: u64, plans: &Plans) -> bool {
        let Some(machine) = self.machines.get_mut(&part.node).filter(|machine| machine.phase == Phase::Up) else {
            return false;
        };
        let Some(place) = machine.running.iter().position(|running| running.part == part) else { return false };
        let running = machine.running.swap_remove(place);
        machine.free = machine.free.plus(running.shape);
        self.busy -= u64::from(machine.running.is_empty());
        self.count_busy(&running, at, plans);
        true
    }

    fn count_busy(&mut self, running: &Running, at: u64, plans: &Plans) {
        let Some(since) = running.since else { return };
        let millis = u128::from(at.saturating_sub(since));
        let cores = millis * u128::from(running.shape.cores);
        self.work.busy_cores += cores;
        self.work.busy_gpus += millis * u128::from(running.shape.gpus);
        let person = plans.get(running.part.job).and_then(|plan| self.work.busy_by_person.get_mut(plan.person));
        if let Some(busy) = person {
            *busy += cores;
        }
    }

    fn pay(&mut self, machine: &Machine, until: u64) {
        if let Some(time) = self.work.node_time.get_mut(machine.size) {
            *time += u128::from(until.saturating_sub(machine.born));
        }
    }

    /// What has room now begins.
    fn begin_waiting(&mut self, id: NodeId, at: u64) {
        loop {
            let Some(machine) = self.machines.get_mut(&id).filter(|machine| machine.phase == Phase::Up) else { return };
            let Some(next) = machine.waiting.front().copied().filter(|next| next.shape.fits(machine.free)) else {
                return;
            };
            machine.waiting.pop_front();
            machine.free = machine.free.minus(next.shape);
            self.busy += u64::from(machine.running.is_empty());
            machine.running.push(next);
            self.at(at + WORD, Event::Begins(next.part));
        }
    }

    // ---- what is done
    // -----------------------------------------------------------------------------------------------

    /// Drivers and agents do what they are told.
    pub fn act(&mut self, now: u64, effects: &[Effect]) {
        for effect in effects {
            match effect {
                Effect::Launch { node, size, shape, .. } => self.launch(now, *node, size, *shape),
                Effect::Terminate { node, .. } => {
                    let removal = match self.machines.get_mut(node) {
                        Some(machine) if machine.is_leaving => continue,
                        Some(machine) => {
                            machine.is_leaving = true;
                            let size = machine.size;
                            self.model(size).removal
                        }
                        None => 0,
                    };
                    self.at(now + removal.max(WORD), Event::Gone(*node));
                }
                Effect::Drain { node } => {
                    if self.machines.get(node).is_some_and(Machine::is_empty) {
                        self.at(now + WORD, Event::Drained(*node));
                    }
                }
                Effect::StartJob { part, shape, timeout, .. } => self.start(now, *part, *shape, *timeout),
                Effect::AskBack { part } => {
                    if let Some(machine) = self.machines.get_mut(&part.node) {
                        let before = machine.waiting.len();
                        machine.waiting.retain(|waiting| waiting.part != *part);
                        if machine.waiting.len() < before {
                            self.at(now + WORD, Event::GivenBack(*part));
                        }
                    }
                }
                Effect::EndJob { part, .. } => self.end_part(now, *part),
                // Instances are no part of a scenario.
                Effect::Undrain { .. }
                | Effect::TerminateUnknown { .. }
                | Effect::SetUp { .. }
                | Effect::RunScript { .. }
                | Effect::Transfer { .. }
                | Effect::Resize { .. }
                | Effect::BuildEnvironment { .. } => {}
            }
        }
    }

    fn launch(&mut self, now: u64, id: NodeId, size: &SizeName, shape: Resources) {
        let Some(size) = self.sizes.get(size).copied().filter(|_| !self.machines.contains_key(&id)) else { return };
        let model = self.model(size);
        self.work.launches += 1;
        let machine = Machine {
            size,
            phase: Phase::Booting,
            born: now,
            free: shape,
            running: Vec::new(),
            waiting: VecDeque::new(),
            is_leaving: false,
        };
        self.machines.insert(id, machine);
        let mut dice = Dice::of(self.scenario.seed, Kind::Node, id.0, 0);
        let at = now + dice.between(model.launch.0, model.launch.1).max(WORD);
        let event = if dice.chance(model.failed) { Event::LaunchFails(id) } else { Event::Up(id) };
        self.at(at, event);
    }

    fn start(&mut self, now: u64, part: AllocationKey, shape: Resources, timeout: Option<Span>) {
        let Some(machine) = self.machines.get_mut(&part.node).filter(|machine| machine.phase == Phase::Up) else {
            return;
        };
        let is_known = |known: &Running| known.part == part;
        if machine.running.iter().any(is_known) || machine.waiting.iter().any(is_known) {
            return;
        }
        machine.waiting.push_back(Running { part, shape, timeout, since: None });
        self.begin_waiting(part.node, now);
    }

    fn end_part(&mut self, now: u64, part: AllocationKey) {
        let Some(machine) = self.machines.get_mut(&part.node).filter(|machine| machine.phase == Phase::Up) else {
            return;
        };
        if machine.running.iter().any(|running| running.part == part) {
            self.at(now + ENDING, Event::Killed(part));
        } else {
            machine.waiting.retain(|waiting| waiting.part != part);
            self.at(now + WORD, Event::NeverRan(part));
        }
    }

    // ---- the end
    // ----------------------------------------------------------------------------------------------------

    /// Counts what is still there and still runs at the end.
    pub fn close(&mut self, at: u64, plans: &Plans) {
        for machine in std::mem::take(&mut self.machines).into_values() {
            self.pay(&machine, at);
            machine.running.iter().for_each(|running| self.count_busy(running, at, plans));
        }
    }
}
