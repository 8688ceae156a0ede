//! One instance as the list, its page and the API show it. It is made in one place, so that all of them say
//! the same.

use atelier_domain::access::{Rights, Whose};
use atelier_domain::compute::instance::{Instance, InstanceState, Operation, OperationResult};
use atelier_domain::compute::node::Holder;
use atelier_domain::compute::resources::Resources;
use atelier_domain::compute::size::{Price, Size};
use atelier_domain::compute::start::Bar;
use atelier_domain::compute::verb::{Legality, Verb};
use atelier_domain::error::AppError;
use atelier_domain::money::Money;
use atelier_domain::reason::{Kind, Reason};
use atelier_domain::text::{capitalised, counted, shortened_to};
use atelier_domain::time::{Now, Span};
use atelier_domain::world::World;
use atelier_domain::{Timestamp, UserId};
use atelier_engine::clock;
use atelier_protocol::Activity;

use crate::caller::Caller;
use crate::clock as said;
use crate::cost::live::charged_today;
use crate::instances::commands::{Subject, whose};
use crate::instances::plan::{NextLine, Plan, say};
use crate::offer::Hindrance;
use crate::orders::since_last_step;
use crate::people::names::Names;

/// How long the line under a state may be.
const MOST_OF_LINE: usize = 90;

/// Who looks, and when.
#[derive(Clone, Debug)]
pub struct AsOf {
    pub(super) viewer: UserId,
    currency: String,
    wall: Timestamp,
    /// How long ago the World last looked at its clock.
    later: Span,
}

impl AsOf {
    pub fn now(caller: &Caller) -> Result<Self, AppError> {
        Ok(Self {
            viewer: caller.actor()?.person.id.clone(),
            currency: caller.studio.settings().currency.clone(),
            wall: clock::now(),
            later: since_last_step(caller),
        })
    }
}

/// Why an instance is as it is, where that needs saying.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// What it waits for, or how the last thing that was done to it failed.
    Reason(Reason),
    /// Its node went away, or was silent for too long. That fails no operation; the history says more.
    NodeLost,
    /// Its node was not heard of for a while.
    NodeSilent,
}

impl Cause {
    fn of(world: &World, instance: &Instance, state: InstanceState) -> Option<Self> {
        let reason = match &instance.operation.result {
            Some(OperationResult::Failed(reason)) => Some((**reason).clone()),
            _ => world.explain_instance(instance.id),
        };
        match state {
            InstanceState::Running | InstanceState::JobRunning => None,
            InstanceState::Unknown => Some(Self::NodeSilent),
            InstanceState::Unusable => Some(reason.map_or(Self::NodeLost, Self::Reason)),
            _ => reason.map(Self::Reason),
        }
    }

    pub const fn code(&self) -> &'static str {
        match self {
            Self::Reason(reason) => reason.code(),
            Self::NodeLost => "node-lost",
            Self::NodeSilent => "node-silent",
        }
    }

    pub fn sentence(&self) -> String {
        match self {
            Self::Reason(reason) => reason.sentence(),
            Self::NodeLost => "Its node is gone or lost.".into(),
            Self::NodeSilent => "Its node is silent.".into(),
        }
    }

    pub fn next_step(&self) -> Option<String> {
        match self {
            Self::Reason(reason) => reason.next_step(),
            Self::NodeLost => Some("Restart it to give it another node; its home is kept.".into()),
            Self::NodeSilent => Some("Wait until it answers, or restart it to give it another node.".into()),
        }
    }

    /// Whether it goes on by itself.
    pub fn is_wait(&self) -> bool {
        match self {
            Self::Reason(reason) => reason.kind() == Kind::Wait,
            Self::NodeLost => false,
            Self::NodeSilent => true,
        }
    }
}

/// One instance.
#[derive(Clone, Debug)]
pub struct InstanceView {
    pub instance: Instance,
    pub name: String,
    pub state: InstanceState,
    pub cause: Option<Cause>,
    pub plan: Plan,
    /// None if the catalog doesn't have it any more.
    pub size: Option<Size>,
    pub whose: Whose,
    /// When it was looked at.
    pub at: Now,
    pub currency: String,
    /// The owner by the present name, once it was [completed](complete).
    pub owner_name: String,
    /// None where that is not for the viewer to know, and before it was completed.
    pub cost_today: Option<Money>,
    /// The line under its name in lists and on its page.
    pub next: NextLine,
    /// What its agent said last of what goes on in it.
    pub activity: Option<(Timestamp, Activity)>,
    unsettled: Money,
}

/// How a start went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartView {
    pub at: Timestamp,
    /// By whom, if that is the last thing that was done.
    pub by: String,
    pub bars: Vec<Bar>,
    /// Until it could be used; none while it goes on or if it failed.
    pub took: Option<Span>,
    pub has_failed: bool,
}

impl InstanceView {
    pub fn of(world: &World, instance: &Instance, as_of: &AsOf) -> Self {
        let (state, now) =
            (world.instance_state(instance), Now { wall: as_of.wall, mono: world.mono().plus(as_of.later) });
        let node = instance.node.and_then(|id| world.node(id));
        Self {
            name: instance.name.to_string(),
            state,
            cause: Cause::of(world, instance, state),
            plan: Plan::of(world, instance, now),
            size: world.sizes().find(|size| size.name == instance.size).cloned(),
            whose: whose(&as_of.viewer, &instance.owner),
            at: now,
            currency: as_of.currency.clone(),
            owner_name: instance.owner_name.to_string(),
            cost_today: None,
            next: NextLine::default(),
            activity: None,
            unsettled: Money(node.map_or(0, |node| world.unsettled(node, as_of.later))),
            instance: instance.clone(),
        }
    }

    pub fn is_own(&self) -> bool {
        self.whose == Whose::Own
    }

    /// What is done to it is done to this.
    pub fn subject(&self) -> Subject {
        let Instance { id, name, owner, .. } = &self.instance;
        Subject { id: *id, name: name.clone(), owner: owner.clone(), state: self.state }
    }

    pub fn shape(&self) -> Resources {
        self.size.as_ref().map(|size| size.shape).unwrap_or_default()
    }

    pub fn price(&self) -> Price {
        self.size.as_ref().map(|size| size.price).unwrap_or_default()
    }

    pub fn per_hour(&self) -> String {
        self.price().said(&self.currency)
    }

    /// Whether somebody with these rights can use a verb now: the right counts first, then the state.
    pub fn judge(&self, rights: &Rights, verb: Verb) -> Result<Legality, Hindrance> {
        rights.check(verb.right(), self.whose).map_err(Hindrance::Right)?;
        let legality = verb.in_instance(self.state);
        let why_not = match (verb.as_instance(), legality) {
            (Some(verb), _) => verb.why_not(self.state),
            (None, Legality::No(help)) => Some(help),
            (None, _) => None,
        };
        why_not.map_or(Ok(legality), |why| Err(Hindrance::State(why)))
    }

    /// The line under its state in lists: why it is so, else what goes on.
    pub fn line(&self, now: Timestamp, zone: &str) -> String {
        if let Some(cause) = &self.cause {
            return shortened_to(&cause.sentence(), MOST_OF_LINE);
        }
        let Operation { at, trigger, .. } = &self.instance.operation;
        match self.state {
            InstanceState::JobRunning => format!("{} here", counted(self.plan.jobs, "job runs", "jobs run")),
            InstanceState::Stopped => format!("{}, {}", capitalised(&trigger.phrase()), said::relative(*at, now, zone)),
            InstanceState::Running => self.going_on(now),
            _ => String::new(),
        }
    }

    fn going_on(&self, now: Timestamp) -> String {
        let signals = self.activity.iter().flat_map(|(_, activity)| &activity.signals);
        let busy = signals.into_iter().find(|signal| signal.is_active).map(|signal| signal.source.words().busy);
        let up = self.up().map(|up| format!("up {}", now.since(up)));
        let quiet = self.instance.idle.as_ref().map(|_| self.instance.watch.quiet);
        match (busy, up, quiet) {
            (Some(busy), Some(up), _) => format!("{busy}, {up}"),
            (Some(busy), None, _) => busy.to_owned(),
            (None, _, Some(quiet)) if quiet >= Span::minutes(1) => format!("Idle for {quiet}"),
            (None, up, _) => capitalised(&up.unwrap_or_default()),
        }
    }

    pub fn up(&self) -> Option<Timestamp> {
        self.instance.start.as_ref().and_then(|start| Some(start.at.plus(start.scripted?)))
    }

    /// How its last start went; none before the first.
    pub fn start(&self) -> Option<StartView> {
        let (start, operation) = (self.instance.start.as_ref()?, &self.instance.operation);
        Some(StartView {
            at: start.at,
            by: if operation.at == start.at { operation.trigger.phrase() } else { String::new() },
            bars: start.waterfall(self.at.wall),
            took: start.took(),
            // What ends while its applications start had been usable.
            has_failed: start.failed.is_some() && start.scripted.is_none(),
        })
    }
}

/// Whether nothing goes on that leads to another state by itself.
pub fn is_settled(instance: &Instance) -> bool {
    instance.phase.deadline().is_none()
}

/// Adds what the World does not know: what agents say, times of day, names, cost.
pub async fn complete(caller: &Caller, views: &mut [InstanceView]) -> Result<(), AppError> {
    let actor = caller.actor()?;
    let (now, zone) = (clock::now(), actor.person.time_zone.as_str());
    let board = caller.studio.fleet().board();
    let holders = views.iter().map(|view| Holder::Instance(view.instance.id)).collect();
    let charged = charged_today(caller, holders).await?;
    let people = Names::of(caller, views.iter().map(|view| view.instance.owner.clone())).await?;
    for (view, settled) in views.iter_mut().zip(charged) {
        if people.has(&view.instance.owner) {
            view.owner_name = people.name(&view.instance.owner);
        }
        view.cost_today = actor.sees_cost_of(&view.instance.owner).then(|| settled.plus(view.unsettled));
        view.activity = view.instance.node.and_then(|node| board.node_activity(node));
        view.next = say(&view.plan, view.state, view.is_own(), now, zone);
    }
    Ok(())
}
