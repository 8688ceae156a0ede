//! Instances: found, made, and everything that is done to them, by pages and by the API alike.

use atelier_domain::UserId;
use atelier_domain::access::{Action, Whose};
use atelier_domain::compute::InstanceId;
use atelier_domain::compute::idle::IdlePolicy;
use atelier_domain::compute::instance::InstanceState;
use atelier_domain::compute::script::Scripts;
use atelier_domain::compute::size::{ComputeName, SizeName};
use atelier_domain::compute::tags::Tags;
use atelier_domain::compute::verb::InstanceVerb;
use atelier_domain::error::AppError;
use atelier_domain::time::{Span, Timestamp};
use atelier_domain::world::{Answer, ComputeRef, Order};
pub use atelier_engine::fleet::{JUPYTER, TERMINAL, VSCODE};
use atelier_engine::run::CommandId;

use crate::caller::Caller;
use crate::orders::{ask, order};

/// An instance that something is done to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// Which.
    pub id: InstanceId,
    /// What it is called.
    pub name: ComputeName,
    /// Whose it is.
    pub owner: UserId,
    /// Where it stands.
    pub state: InstanceState,
}

impl Subject {
    /// Whether it is the caller's own.
    pub fn whose(&self, caller: &Caller) -> Result<Whose, AppError> {
        Ok(whose(&caller.actor()?.person.id, &self.owner))
    }
}

/// Whether somebody's instance is one's own.
pub fn whose(me: &UserId, owner: &UserId) -> Whose {
    if me == owner { Whose::Own } else { Whose::Others }
}

/// The right that a verb needs.
pub const fn right_for(verb: InstanceVerb) -> Action {
    match verb {
        InstanceVerb::Create => Action::InstanceCreate,
        InstanceVerb::Start | InstanceVerb::Stop | InstanceVerb::Restart => Action::InstanceOperate,
        InstanceVerb::Rebuild | InstanceVerb::Resize | InstanceVerb::Configure => Action::InstanceConfigure,
        InstanceVerb::Transfer => Action::InstanceTransfer,
        InstanceVerb::Delete => Action::InstanceDelete,
        InstanceVerb::Open => Action::InstanceConnect,
        InstanceVerb::Submit => Action::JobSubmit,
    }
}

/// Something that is done to an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deed {
    /// Give it a node.
    Start,
    /// The same, because its owner opens an application.
    Wake,
    /// Take its node away.
    Stop,
    /// Start its applications again.
    Restart,
    /// A fresh environment.
    Rebuild,
    /// Another size.
    Resize(SizeName),
    /// Take it away.
    Delete,
    /// Keep it running for so long, whatever its activity.
    Extend(Span),
    /// Keep it running until then, over scheduled stops.
    Postpone(Timestamp),
    /// Leave its next scheduled stop out.
    SkipStop,
    /// How it stops and what it keeps.
    Configure {
        /// When it stops for want of activity.
        idle: Option<IdlePolicy>,
        /// Whether it keeps its quota while stopped.
        keeps_quota: bool,
    },
    /// Notes.
    Tag(Tags),
    /// What runs when it starts.
    SetScripts(Scripts),
    /// Its owner has read what others made it run, or lets what somebody left in it run as them; the number is that of the change that
    /// was read.
    AcceptScripts(u32),
}

impl Deed {
    /// The right that it needs. What scripts do they do as the owner: accepting them is like opening a terminal.
    pub const fn action(&self) -> Action {
        match self {
            Self::Start | Self::Wake | Self::Stop | Self::Restart => Action::InstanceOperate,
            Self::Extend(_) | Self::Postpone(_) | Self::SkipStop => Action::InstanceOperate,
            Self::Rebuild | Self::Resize(_) | Self::Configure { .. } | Self::Tag(_) | Self::SetScripts(_) => {
                Action::InstanceConfigure
            }
            Self::Delete => Action::InstanceDelete,
            Self::AcceptScripts(_) => Action::InstanceConnect,
        }
    }

    fn order(self, instance: InstanceId) -> Order {
        match self {
            Self::Start => Order::StartInstance(instance),
            Self::Wake => Order::WakeInstance(instance),
            Self::Stop => Order::StopInstance(instance),
            Self::Restart => Order::RestartInstance(instance),
            Self::Rebuild => Order::RebuildInstance(instance),
            Self::Resize(size) => Order::ResizeInstance { instance, size },
            Self::Delete => Order::DeleteInstance(instance),
            Self::Extend(by) => Order::ExtendInstance { instance, by },
            Self::Postpone(until) => Order::PostponeStop { instance, until },
            Self::SkipStop => Order::SkipStop { instance },
            Self::Configure { idle, keeps_quota } => Order::ConfigureInstance { instance, idle, keeps_quota },
            Self::Tag(tags) => Order::TagInstance { instance, tags },
            Self::SetScripts(scripts) => Order::SetScripts { instance, scripts },
            Self::AcceptScripts(revision) => Order::AcceptScripts { instance, revision },
        }
    }
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

/// Refuses who may not do it to this instance.
pub async fn authorise(caller: &Caller, subject: &Subject, action: Action) -> Result<(), AppError> {
    caller.authorise_for(action, subject.whose(caller)?).await.map(|_| ())
}

/// Does it, if the caller may.
pub async fn carry_out(
    caller: &Caller,
    id: CommandId,
    subject: &Subject,
    deed: Deed,
    why: Option<String>,
) -> Result<Answer, AppError> {
    authorise(caller, subject, deed.action()).await?;
    let is_acceptance = matches!(deed, Deed::AcceptScripts(_));
    let answer = order(caller, id, deed.order(subject.id), None, why).await?;
    if is_acceptance {
        // From now on it may act in its owner's name; what runs already need not be started again for that.
        let id = subject.id;
        if let Some(node) = ask(caller, move |world| world.instance(id).and_then(|one| one.node)).await? {
            caller.studio.fleet().introduce_all(node).await;
        }
    }
    Ok(answer)
}
