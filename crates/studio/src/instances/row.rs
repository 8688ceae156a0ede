//! An instance as lists show it.

use atelier_domain::compute::idle::Source;
use atelier_domain::compute::instance::{Instance, InstanceState, OperationResult};
use atelier_domain::compute::node::Holder;
use atelier_domain::compute::size::{Price, Size};
use atelier_domain::compute::{InstanceId, NodeId};
use atelier_domain::error::AppError;
use atelier_domain::text::{counted, shortened_to};
use atelier_domain::time::{Now, Span};
use atelier_domain::world::World;
use atelier_domain::{Money, Timestamp, UserId};
use atelier_engine::clock;
use atelier_engine::store::ledger_name;
use atelier_protocol::Activity;

use crate::caller::Caller;
use crate::clock as said;
use crate::clusters::list::{hour_of_midnight, sees_cost};
use crate::instances::plan::{NextLine, Plan, say};
use crate::people::names::Names;

/// How long the words under a state may be.
const MOST_OF_WHY: usize = 90;

/// An instance in a list.
#[derive(Clone, Debug)]
pub struct InstanceRow {
    /// Its id.
    pub id: InstanceId,
    /// Its name.
    pub name: String,
    /// Its state.
    pub state: InstanceState,
    /// Why it is so, in a few words.
    pub why: String,
    /// What happens next, as instants.
    pub plan: Plan,
    /// The same in words.
    pub next: NextLine,
    /// Whose it is.
    pub owner: UserId,
    /// The same by name.
    pub owner_name: String,
    /// Whether it is the viewer's.
    pub is_own: bool,
    /// Whether its scripts wait for the owner.
    pub awaits_acceptance: bool,
    /// Its size.
    pub size: String,
    /// What its node has, in words.
    pub shape: String,
    /// Thousandths of cores that its node has.
    pub cores: u64,
    /// Memory that its node has, in MiB.
    pub memory: u64,
    /// What an hour of its node costs.
    pub per_hour: String,
    /// What it has cost today; nothing where that is not for the viewer to know.
    pub cost_today: Option<String>,
    /// Its node.
    pub node: Option<NodeId>,
    /// How much of its cores was in use in the last hour, in percent, the oldest first; empty if nothing is known.
    pub cpu: Vec<u32>,
    pub operation: (Timestamp, String),
    pub quiet: Option<Span>,
    pub up: Option<Timestamp>,
    pub unsettled: u64,
}

/// What the World knows of it.
pub fn row(world: &World, instance: &Instance, step: &Step) -> InstanceRow {
    let state = world.instance_state(instance);
    let size = step.sizes.iter().find(|size| size.name == instance.size);
    let node = instance.node.and_then(|id| world.node(id));
    let plan = Plan::of(world, instance, step.now(world));
    let phrase = instance.operation.trigger.phrase();
    InstanceRow {
        id: instance.id,
        name: instance.name.to_string(),
        state,
        why: waits_for(world, instance, state),
        next: NextLine { icon: "clock", pieces: Vec::new(), is_warning: false },
        plan,
        owner_name: instance.owner_name.to_string(),
        is_own: instance.owner == step.viewer,
        owner: instance.owner.clone(),
        awaits_acceptance: instance.awaits_acceptance(),
        size: instance.size.to_string(),
        shape: size.map(|size| size.shape.to_string()).unwrap_or_default(),
        cores: size.map_or(0, |size| size.shape.cores),
        memory: size.map_or(0, |size| size.shape.memory),
        per_hour: size.map(|size| size.price).unwrap_or_default().said(&step.currency),
        cost_today: None,
        node: instance.node,
        cpu: Vec::new(),
        operation: (instance.operation.at, phrase),
        quiet: instance.idle.as_ref().map(|_| instance.watch.quiet),
        up: instance.start.as_ref().and_then(|start| Some(start.at.plus(start.scripted?))),
        unsettled: node.map_or(0, |node| world.unsettled(node, step.later)),
    }
}

/// What is the same for all rows of a page.
#[derive(Clone, Debug)]
pub struct Step {
    /// All sizes.
    pub sizes: Vec<Size>,
    /// Who looks.
    pub viewer: UserId,
    /// What prices are in.
    pub currency: String,
    /// How long ago the World last looked at its clock.
    pub later: Span,
    /// What the clock shows.
    pub wall: Timestamp,
}

impl Step {
    /// Of this request. Sizes are read from the World in [`Step::with_sizes`].
    pub fn of(caller: &Caller, later: Span) -> Result<Self, AppError> {
        Ok(Self {
            sizes: Vec::new(),
            viewer: caller.actor()?.person.id.clone(),
            currency: caller.studio.settings().currency.clone(),
            later,
            wall: clock::now(),
        })
    }

    /// What both clocks show: the World knows only the time of its last step.
    pub fn now(&self, world: &World) -> Now {
        Now { wall: self.wall, mono: world.mono().plus(self.later) }
    }

    /// With the sizes there are.
    #[must_use]
    pub fn with_sizes(self, world: &World) -> Self {
        Self { sizes: world.sizes().cloned().collect(), ..self }
    }

    /// What an hour of a node of that size costs.
    pub fn price_of(&self, instance: &Instance) -> Price {
        self.sizes.iter().find(|size| size.name == instance.size).map(|size| size.price).unwrap_or_default()
    }
}

/// What it waits for, or what went wrong.
fn waits_for(world: &World, instance: &Instance, state: InstanceState) -> String {
    let failed = match &instance.operation.result {
        Some(OperationResult::Failed(reason)) => Some(reason.sentence()),
        _ => None,
    };
    let words = match state {
        InstanceState::Running => None,
        InstanceState::JobRunning => Some(format!("{} here", counted(world.jobs_on(instance), "job runs", "jobs run"))),
        InstanceState::Stopped
        | InstanceState::CreateFailed
        | InstanceState::SetupFailed
        | InstanceState::UserSetupFailed => failed,
        InstanceState::Unusable => failed.or_else(|| Some("Its node is gone or lost".to_owned())),
        InstanceState::Unknown => Some("Its node is silent".to_owned()),
        _ => world.explain_instance(instance.id).map(|reason| reason.sentence()),
    };
    words.unwrap_or_default()
}

/// Adds what the World does not know: what goes on, times of day, names, cost.
pub async fn complete(caller: &Caller, rows: &mut [InstanceRow]) -> Result<(), AppError> {
    let actor = caller.actor()?;
    let (now, zone) = (clock::now(), actor.person.time_zone.as_str());
    let board = caller.studio.fleet().board();
    let holders: Vec<String> = rows.iter().map(|row| ledger_name(Holder::Instance(row.id))).collect();
    let since = hour_of_midnight(now, zone);
    let charged = caller.checked(caller.store().cost_of_holders(&actor.workspace.id, &holders, since).await)?;
    let people = Names::of(caller, rows.iter().map(|row| row.owner.clone())).await?;
    let (rights, currency) = (actor.person.rights(), &caller.studio.settings().currency);
    for (row, holder) in rows.iter_mut().zip(&holders) {
        // Who has no account any more keeps the name that the instance was made with.
        if people.has(&row.owner) {
            row.owner_name = people.name(&row.owner);
        }
        let settled = charged.get(holder).map_or(0, |charge| charge.cost);
        row.cost_today = sees_cost(&rights, &actor.person.id, &row.owner)
            .then(|| Money(settled.saturating_add(row.unsettled)).said(currency));
        let activity = row.node.filter(|_| row.why.is_empty()).and_then(|node| board.node_activity(node));
        if row.why.is_empty() {
            row.why = going_on(row, activity.map(|(_, activity)| activity).as_ref(), now, zone);
        }
        row.why = shortened_to(&row.why, MOST_OF_WHY);
        row.next = say(&row.plan, row.state, row.is_own, now, zone);
    }
    Ok(())
}

/// What goes on where nothing is waited for.
fn going_on(row: &InstanceRow, activity: Option<&Activity>, now: Timestamp, zone: &str) -> String {
    match row.state {
        InstanceState::Stopped => {
            let (at, phrase) = &row.operation;
            format!("{}, {}", capital(phrase), said::relative(*at, now, zone))
        }
        InstanceState::Running => {
            let active = activity.and_then(|activity| activity.signals.iter().find(|signal| signal.is_active));
            let up = row.up.map(|up| format!("up {}", now.since(up))).unwrap_or_default();
            match (active, row.quiet) {
                (Some(signal), _) => [short(signal.source), &up]
                    .into_iter()
                    .filter(|part| !part.is_empty())
                    .collect::<Vec<_>>()
                    .join(", "),
                (None, Some(quiet)) if quiet >= Span::minutes(1) => format!("Idle for {quiet}"),
                (None, _) => capital(&up),
            }
        }
        _ => String::new(),
    }
}

/// A kind of activity in two words.
pub const fn short(source: Source) -> &'static str {
    match source {
        Source::Kernel => "Kernel busy",
        Source::Terminal => "Terminal in use",
        Source::Editor => "Editor in use",
        Source::Ssh => "SSH in use",
        Source::Job => "Job running",
        Source::App => "Application in use",
        Source::Processor => "Processor busy",
        Source::Gpu => "GPU busy",
        Source::Extension => "Kept running",
    }
}

/// With a capital at its beginning.
pub fn capital(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
