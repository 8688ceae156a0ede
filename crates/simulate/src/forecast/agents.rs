//! Drivers and agents of a future in which nothing goes wrong: launches work, and jobs end when they are
//! expected to.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use atelier_domain::compute::job::{AllocationState, Job, JobPhase};
use atelier_domain::compute::node::NodePhase;
use atelier_domain::compute::{InstanceId, NodeId, Resources};
use atelier_domain::time::{Mono, Now, Span};
use atelier_domain::world::{AllocationKey, Effect, Exit, Report, World};

use super::Expectations;

/// How long an agent or a driver takes to say something.
const WORD: Span = Span::millis(1);
/// How long processes take to end when they are asked to.
const ENDING: Span = Span::seconds(1);
/// How long a driver takes to remove a node.
const REMOVAL: Span = Span::seconds(5);
/// How long the set-up of an instance takes.
const SETTING_UP: Span = Span::seconds(10);
const WELL: Exit = Exit::Code(0);
/// What a process ends with that was asked to.
const TERMINATED: Exit = Exit::Code(143);

/// A part that has its node, with how long it runs.
#[derive(Clone, Copy, Debug)]
struct OnNode {
    part: AllocationKey,
    shape: Resources,
    run: Option<Span>,
}

#[derive(Debug, Default)]
struct Room {
    free: Resources,
    running: Vec<OnNode>,
    waiting: VecDeque<OnNode>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Up(NodeId),
    Drained(NodeId),
    Gone(NodeId),
    Begins(AllocationKey),
    Ends(AllocationKey),
    Killed(AllocationKey),
    GivenBack(AllocationKey),
    SetUp(InstanceId, u64),
    ScriptDone(InstanceId, u64),
    Resized(InstanceId, u64),
    Transferred(InstanceId, u64),
}

#[derive(Debug, Default)]
pub(super) struct Agents {
    rooms: BTreeMap<NodeId, Room>,
    events: BinaryHeap<Reverse<(Mono, u64, Event)>>,
    planned: u64,
    leaving: std::collections::BTreeSet<NodeId>,
    /// Nodes that came up since somebody looked.
    pub up: Vec<NodeId>,
}

impl Agents {
    /// As they are in a World: what runs goes on.
    pub fn of(world: &World, known: &Expectations, now: Now) -> Self {
        let mut agents = Self::default();
        for node in world.nodes() {
            let is_heard = matches!(
                node.phase,
                NodePhase::Ready | NodePhase::Cordoned { silent: None, .. } | NodePhase::Reclaiming { .. }
            );
            if is_heard {
                agents.rooms.insert(node.id, Room { free: node.shape, ..Room::default() });
            }
        }
        for job in world.jobs() {
            agents.take_over(job, known, now.mono);
        }
        agents
    }

    /// What a job has on nodes goes on from here.
    fn take_over(&mut self, job: &Job, known: &Expectations, now: Mono) {
        let (left, run) = match job.phase {
            JobPhase::Running { since } => {
                let elapsed = now.since(since);
                let run = known.run_of(job, elapsed);
                (run.map(|run| run.minus(elapsed)), run)
            }
            JobPhase::Starting { .. } | JobPhase::Ending { .. } => (None, known.run_of(job, Span::ZERO)),
            JobPhase::Finalizing { .. } => (Some(ENDING), None),
            JobPhase::Queued { .. } => return,
        };
        for allocation in &job.allocations {
            let part = AllocationKey { job: job.id, attempt: job.attempt, node: allocation.node };
            let has_begun = !matches!(allocation.state, AllocationState::Assigned | AllocationState::Off);
            let Some(room) = self.rooms.get_mut(&allocation.node).filter(|_| has_begun) else { continue };
            room.running.push(OnNode { part, shape: job.takes(), run });
            room.free = room.free.minus(job.takes());
            // A part that was begun while others were not ends with them.
            let left = match job.phase {
                JobPhase::Starting { .. } => run,
                _ => left,
            };
            if let Some(left) = left {
                self.at(now.plus(left.max(WORD)), Event::Ends(part));
            }
        }
    }

    /// When the next thing happens out there.
    pub fn next_at(&self) -> Option<Mono> {
        self.events.peek().map(|Reverse((at, ..))| *at)
    }

    fn at(&mut self, time: Mono, event: Event) {
        self.planned += 1;
        self.events.push(Reverse((time, self.planned, event)));
    }

    /// Lets time pass until then, and says what is reported of it.
    pub fn run(&mut self, until: Mono, mut say: impl FnMut(Report)) {
        while self.next_at().is_some_and(|at| at <= until) {
            let Some(Reverse((at, _, event))) = self.events.pop() else { return };
            match event {
                Event::Up(node) => {
                    self.up.push(node);
                    say(Report::NodeUp(node));
                }
                Event::Drained(node) => {
                    if self.rooms.get(&node).is_none_or(|room| room.running.is_empty() && room.waiting.is_empty()) {
                        say(Report::NodeDrained(node));
                    }
                }
                Event::Gone(node) => {
                    self.rooms.remove(&node);
                    say(Report::NodeGone(node));
                }
                Event::Begins(part) => {
                    let running = self.rooms.get(&part.node).map(|room| room.running.as_slice()).unwrap_or_default();
                    let Some(run) = running.iter().find(|on| on.part == part).map(|on| on.run) else { continue };
                    say(Report::JobStarted(part));
                    if let Some(run) = run {
                        self.at(at.plus(run), Event::Ends(part));
                    }
                }
                Event::Ends(part) => {
                    if self.end(part, at) {
                        say(Report::JobOff { part, exit: WELL });
                    }
                }
                Event::Killed(part) => {
                    self.end(part, at);
                    say(Report::JobOff { part, exit: TERMINATED });
                }
                Event::GivenBack(part) => say(Report::JobGivenBack(part)),
                Event::SetUp(instance, generation) => say(Report::SetUp { instance, generation, failure: None }),
                Event::ScriptDone(instance, generation) => {
                    say(Report::ScriptDone { instance, generation, creation_done: true, failure: None });
                }
                Event::Resized(instance, generation) => say(Report::Resized { instance, generation, failure: None }),
                Event::Transferred(instance, generation) => {
                    say(Report::Transferred { instance, generation, failure: None });
                }
            }
        }
    }

    fn end(&mut self, part: AllocationKey, at: Mono) -> bool {
        let Some(room) = self.rooms.get_mut(&part.node) else { return false };
        let Some(place) = room.running.iter().position(|on| on.part == part) else { return false };
        let on = room.running.swap_remove(place);
        room.free = room.free.plus(on.shape);
        self.begin_waiting(part.node, at);
        true
    }

    fn begin_waiting(&mut self, node: NodeId, at: Mono) {
        while let Some(room) = self.rooms.get_mut(&node) {
            let Some(next) = room.waiting.front().copied().filter(|next| next.shape.fits(room.free)) else { return };
            room.waiting.pop_front();
            room.free = room.free.minus(next.shape);
            room.running.push(next);
            self.at(at.plus(WORD), Event::Begins(next.part));
        }
    }

    /// Drivers and agents do what they are told.
    pub fn act(&mut self, world: &World, known: &Expectations, now: Mono, effects: &[Effect]) {
        for effect in effects {
            match effect {
                Effect::Launch { node, size, shape, .. } => {
                    if self.rooms.contains_key(node) {
                        continue;
                    }
                    self.rooms.insert(*node, Room { free: *shape, ..Room::default() });
                    // It may have been on its way for a while.
                    let since = world.node(*node).map_or(now, |node| node.up);
                    self.at(since.plus(known.launch_of(size)).max(now.plus(WORD)), Event::Up(*node));
                }
                Effect::Terminate { node, .. } => {
                    if self.leaving.insert(*node) {
                        self.at(now.plus(REMOVAL), Event::Gone(*node));
                    }
                }
                Effect::Drain { node } => self.at(now.plus(WORD), Event::Drained(*node)),
                Effect::StartJob { part, .. } => self.start(world, known, now, *part),
                Effect::AskBack { part } => {
                    if let Some(room) = self.rooms.get_mut(&part.node) {
                        let before = room.waiting.len();
                        room.waiting.retain(|waiting| waiting.part != *part);
                        if room.waiting.len() < before {
                            self.at(now.plus(WORD), Event::GivenBack(*part));
                        }
                    }
                }
                Effect::EndJob { part, .. } => {
                    if let Some(room) = self.rooms.get_mut(&part.node) {
                        room.waiting.retain(|waiting| waiting.part != *part);
                        self.at(now.plus(ENDING), Event::Killed(*part));
                    }
                }
                Effect::SetUp { instance, generation, .. } => {
                    self.at(now.plus(SETTING_UP), Event::SetUp(*instance, *generation));
                }
                Effect::RunScript { instance, generation, .. } => {
                    self.at(now.plus(SETTING_UP), Event::ScriptDone(*instance, *generation));
                }
                Effect::Transfer { instance, generation, .. } => {
                    self.at(now.plus(SETTING_UP), Event::Transferred(*instance, *generation));
                }
                Effect::Resize { instance, generation, .. } => {
                    self.at(now.plus(SETTING_UP), Event::Resized(*instance, *generation));
                }
                // Nobody knows how long a build takes; what waits for one has no start that could be said.
                Effect::Undrain { .. } | Effect::TerminateUnknown { .. } | Effect::BuildEnvironment { .. } => {}
            }
        }
    }

    fn start(&mut self, world: &World, known: &Expectations, now: Mono, part: AllocationKey) {
        let (Some(room), Some(job)) = (self.rooms.get_mut(&part.node), world.job(part.job)) else { return };
        let is_known = |on: &OnNode| on.part == part;
        if room.running.iter().any(is_known) || room.waiting.iter().any(is_known) {
            return;
        }
        let run = known.run_of(job, Span::ZERO);
        // On an instance a job takes a slot and no cores of its own; what is there ahead of time takes its
        // shape once it begins.
        let shape = if job.ahead.is_some() { job.spec.shape } else { job.takes() };
        room.waiting.push_back(OnNode { part, shape, run });
        self.begin_waiting(part.node, now);
    }
}
