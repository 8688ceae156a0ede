//! What is done to an instance, by pages and by the API alike: it is found, the table of verbs says which
//! right that needs, and one order goes to the engine.

use std::collections::BTreeSet;

use atelier_domain::UserId;
use atelier_domain::access::{Action, Whose};
use atelier_domain::compute::InstanceId;
use atelier_domain::compute::idle::{IdlePolicy, Source};
use atelier_domain::compute::instance::InstanceState;
use atelier_domain::compute::size::ComputeName;
use atelier_domain::compute::verb::Verb;
use atelier_domain::error::AppError;
use atelier_domain::time::{Span, Timestamp};
use atelier_domain::world::{Answer, ComputeRef, Order, ScheduleTarget};
pub use atelier_engine::fleet::{JUPYTER, TERMINAL, VSCODE};
use atelier_engine::run::CommandId;

use crate::caller::Caller;
use crate::instances::create::idle_of;
use crate::orders::{ask, order};

/// An instance that something is done to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    pub id: InstanceId,
    pub name: ComputeName,
    pub owner: UserId,
    pub state: InstanceState,
}

impl Subject {
    pub fn whose(&self, caller: &Caller) -> Result<Whose, AppError> {
        Ok(whose(&caller.actor()?.person.id, &self.owner))
    }

    /// What its schedules are for.
    pub const fn target(&self) -> ScheduleTarget {
        ScheduleTarget::Instance(self.id)
    }
}

/// Whether somebody's instance is one's own.
pub fn whose(me: &UserId, owner: &UserId) -> Whose {
    if me == owner { Whose::Own } else { Whose::Others }
}

/// The instance of that name, if the caller may see it.
pub async fn find(caller: &Caller, name: &str) -> Result<Subject, AppError> {
    caller.authorise(Action::InstanceRead).await?;
    let nobody = || AppError::not_found("instance");
    let name = ComputeName::parse(name).map_err(|_| nobody())?;
    let workspace = caller.actor()?.workspace.id.clone();
    let found = ask(caller, move |world| {
        let Some(ComputeRef::Instance(id)) = world.compute(&workspace, &name) else { return None };
        let instance = world.instance(id)?;
        Some(Subject { id, name, owner: instance.owner.clone(), state: world.instance_state(instance) })
    });
    found.await?.ok_or_else(nobody)
}

/// The instance of that name, if the caller may do that to it, whatever its state.
pub async fn find_for(caller: &Caller, name: &str, verb: Verb) -> Result<Subject, AppError> {
    let subject = find(caller, name).await?;
    authorise_verb(caller, &subject, verb).await?;
    Ok(subject)
}

/// Refuses who may not do it to this instance, by the table of verbs. What runs somewhere never sets what
/// runs as somebody else, however far its token reaches.
async fn authorise_verb(caller: &Caller, subject: &Subject, verb: Verb) -> Result<(), AppError> {
    let whose = subject.whose(caller)?;
    if let Some(origin) = caller.actor()?.origin.as_ref().filter(|_| verb == Verb::SetScripts && whose != Whose::Own) {
        return Err(AppError::Refused {
            code: "workload.not-allowed".into(),
            message: format!(
                "The token of {} can't set scripts of somebody else’s instance. Sign in, or use a personal token.",
                origin.name
            ),
        });
    }
    authorise(caller, subject, verb.right()).await
}

/// Refuses who may not do it to this instance.
pub async fn authorise(caller: &Caller, subject: &Subject, action: Action) -> Result<(), AppError> {
    caller.authorise_for(action, subject.whose(caller)?).await.map(|_| ())
}

/// The order of a verb that needs to know nothing but the instance; none for the others.
pub const fn plain_order(verb: Verb, instance: InstanceId) -> Option<Order> {
    Some(match verb {
        Verb::StartInstance => Order::StartInstance(instance),
        Verb::WakeInstance => Order::WakeInstance(instance),
        Verb::StopInstance => Order::StopInstance(instance),
        Verb::RestartInstance => Order::RestartInstance(instance),
        Verb::RebuildInstance => Order::RebuildInstance(instance),
        Verb::DeleteInstance => Order::DeleteInstance(instance),
        Verb::SkipStop => Order::SkipStop { instance },
        _ => return None,
    })
}

/// Does it, if the caller may.
pub async fn carry_out(
    caller: &Caller,
    id: CommandId,
    subject: &Subject,
    wanted: Order,
    why: Option<String>,
) -> Result<Answer, AppError> {
    authorise_verb(caller, subject, wanted.verb()).await?;
    order(caller, id, wanted, None, why).await
}

/// Keeps it running for so long: puts off the stop that is planned, and says until when; else its idle
/// shutdown.
pub async fn extend(
    caller: &Caller,
    id: CommandId,
    subject: &Subject,
    by: Span,
) -> Result<Option<Timestamp>, AppError> {
    let instance = subject.id;
    let ahead = ask(caller, move |world| world.instance(instance).and_then(|one| world.stop_ahead(one))).await?;
    let until = ahead.map(|stop| stop.at.max(atelier_engine::clock::now()).plus(by));
    let wanted = match until {
        Some(until) => Order::PostponeStop { instance, until },
        None => Order::ExtendInstance { instance, by },
    };
    carry_out(caller, id, subject, wanted, None).await?;
    Ok(until)
}

/// How an instance stops and what it keeps; what is left out stays as it is.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// 0 for never.
    pub idle_minutes: Option<u32>,
    pub idle_counts: Option<BTreeSet<Source>>,
    pub keeps_quota: Option<bool>,
}

/// Changes its settings. When it stops for lack of activity from now on, and whether it keeps its quota.
pub async fn configure(
    caller: &Caller,
    id: CommandId,
    subject: &Subject,
    settings: Settings,
    why: Option<String>,
) -> Result<(Option<IdlePolicy>, bool), AppError> {
    let (instance, workspace) = (subject.id, caller.actor()?.workspace.id.clone());
    let present = ask(caller, move |world| {
        let instance = world.instance(instance)?;
        Some((instance.idle.clone(), instance.keeps_quota, world.idle_rules(&workspace)))
    });
    let (idle, keeps_quota, rules) = present.await?.ok_or_else(|| AppError::not_found("instance"))?;
    let idle = match (settings.idle_minutes, settings.idle_counts, idle) {
        (None, None, idle) => idle,
        (None, Some(counts), Some(idle)) => Some(IdlePolicy { counts, ..idle }),
        (minutes, counts, idle) => {
            let counts = counts.or_else(|| idle.map(|idle| idle.counts));
            idle_of(&rules, minutes, counts.as_ref())
        }
    };
    let keeps_quota = settings.keeps_quota.unwrap_or(keeps_quota);
    let wanted = Order::ConfigureInstance { instance, idle: idle.clone(), keeps_quota };
    carry_out(caller, id, subject, wanted, why).await?;
    Ok((idle, keeps_quota))
}

/// Its owner has read what others made it run, or lets what somebody left in it run as them. Says whether it
/// was given to them.
pub async fn accept_scripts(
    caller: &Caller,
    id: CommandId,
    subject: &Subject,
    revision: u32,
) -> Result<bool, AppError> {
    let instance = subject.id;
    let was_given = ask(caller, move |world| world.instance(instance).is_some_and(|one| one.given.is_some())).await?;
    carry_out(caller, id, subject, Order::AcceptScripts { instance, revision }, None).await?;
    // From now on it may act in its owner's name; what runs already need not be started again for that.
    if let Some(node) = ask(caller, move |world| world.instance(instance).and_then(|one| one.node)).await? {
        caller.studio.fleet().introduce_all(node).await;
    }
    Ok(was_given)
}
