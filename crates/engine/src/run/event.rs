//! What an order is called in the history.

use atelier_domain::compute::ScheduleId;
use atelier_domain::compute::budget::BudgetOf;
use atelier_domain::compute::quota::Scope;
use atelier_domain::history::Event;
use atelier_domain::text::shortened;
use atelier_domain::world::{Answer, ArrayChange, Command, Order, ScheduleTarget, World};
use atelier_domain::{Money, UserId};

/// The events of an order, with the names as they are before it is carried out.
pub(super) fn events(world: &World, command: &Command) -> Vec<Event> {
    let parts = command.order.parts();
    if let [_] = parts.as_slice() {
        return event(world, command, &parts[0]).into_iter().collect();
    }
    // What a part leaves as it is is not told; the answer says only whether the whole changed something.
    let changes = |part: &Order| match part {
        Order::SetQueuePolicy { cluster: Some(id), policy } => {
            world.cluster(*id).is_none_or(|cluster| cluster.queue != *policy)
        }
        _ => true,
    };
    parts.iter().filter(|part| changes(part)).filter_map(|part| event(world, command, part)).collect()
}

/// The event of an order. None for what is too common to be told one by one: jobs have a list of their own.
fn event(world: &World, command: &Command, order: &Order) -> Option<Event> {
    let instance = |id| world.instance(id).map_or_else(|| id.to_string(), |instance| instance.name.to_string());
    let cluster = |id| world.cluster(id).map_or_else(|| id.to_string(), |cluster| cluster.name.to_string());
    let target = |target| match target {
        ScheduleTarget::Instance(id) => instance(id),
        ScheduleTarget::Cluster(id) => cluster(id),
    };
    let scheduled = |id: ScheduleId| {
        let key = atelier_domain::world::Key::Schedule(id);
        match world.record(&key) {
            Some(atelier_domain::world::Record::Schedule(entry)) => target(entry.target),
            _ => id.to_string(),
        }
    };
    let event = match order {
        // Told by its parts.
        Order::Submit(_) | Order::SubmitArray { .. } | Order::ChangeCluster { .. } => return None,
        Order::PutSize(size) => Event::SizePut { size: size.name.to_string() },
        Order::RemoveSize(size) => Event::SizeRemoved { size: size.to_string() },
        Order::SetLimit { scope, resource, limit } => Event::LimitSet {
            whose: match scope {
                Scope::Workspace => "the workspace".into(),
                Scope::Everybody => "everybody".into(),
                Scope::Person(person) => person.to_string(),
            },
            limit: limit.map(|limit| resource.amount(limit)).unwrap_or_default(),
            resource: resource.said(),
        },
        Order::CreateInstance(new) => Event::InstanceCreated {
            instance: new.name.to_string(),
            size: new.size.to_string(),
            owner: (command.user.as_ref() != Some(&new.owner)).then(|| new.owner_name.to_string()),
        },
        Order::SetIdleRules(rules) => {
            Event::IdleRulesSet { min: rules.min, max: rules.max, is_required: rules.is_required }
        }
        Order::StartInstance(id) | Order::WakeInstance(id) => Event::InstanceStarted { instance: instance(*id) },
        Order::StopInstance(id) => Event::InstanceStopped { instance: instance(*id) },
        Order::RestartInstance(id) => Event::InstanceRestarted { instance: instance(*id) },
        Order::RebuildInstance(id) => Event::InstanceRebuilt { instance: instance(*id) },
        Order::TagInstance { instance: id, .. } => Event::InstanceTagged { instance: instance(*id) },
        Order::SetScripts { instance: id, .. } => Event::InstanceScriptsSet { instance: instance(*id) },
        Order::AcceptScripts { instance: id, .. } => Event::InstanceScriptsAccepted { instance: instance(*id) },
        Order::PostponeStop { instance: id, .. } => Event::InstanceStopPostponed { instance: instance(*id) },
        Order::SkipStop { instance: id } => Event::InstanceStopSkipped { instance: instance(*id) },
        Order::TransferInstance { instance: id, to_name, .. } => Event::InstanceTransferred {
            instance: instance(*id),
            from: world.instance(*id).map(|one| one.owner_name.to_string()).unwrap_or_default(),
            to: to_name.to_string(),
        },
        Order::ResizeInstance { instance: id, size } => {
            Event::InstanceResized { instance: instance(*id), size: size.to_string() }
        }
        Order::DeleteInstance(id) => Event::InstanceDeleted { instance: instance(*id) },
        Order::ConfigureInstance { instance: id, .. } => Event::InstanceConfigured { instance: instance(*id) },
        Order::ExtendInstance { instance: id, by } => Event::InstanceExtended { instance: instance(*id), by: *by },
        Order::CreateCluster { name, size, scale, .. } => {
            Event::ClusterCreated { cluster: name.to_string(), size: size.to_string(), min: scale.min, max: scale.max }
        }
        Order::ScaleCluster { cluster: id, scale } => {
            Event::ClusterScaled { cluster: cluster(*id), min: scale.min, max: scale.max, idle: scale.idle }
        }
        Order::TagCluster { cluster: id, .. } => Event::ClusterTagged { cluster: cluster(*id) },
        Order::PauseCluster(id) => Event::ClusterPaused { cluster: cluster(*id) },
        Order::ResumeCluster(id) => Event::ClusterResumed { cluster: cluster(*id) },
        Order::DeleteCluster { cluster: id, ends_jobs } => {
            Event::ClusterDeleted { cluster: cluster(*id), ends_jobs: *ends_jobs }
        }
        Order::Cancel(job) => Event::JobCanceled { job: *job },
        Order::Hold { job, .. } => Event::JobHeld { job: *job },
        Order::Release(job) => Event::JobReleased { job: *job },
        Order::Move { job, over_all, .. } => Event::JobMoved { job: *job, over_all: *over_all },
        Order::ChangeArray { array, change } => {
            let change = match change {
                ArrayChange::Cancel => "canceled".into(),
                ArrayChange::Hold { .. } => "held back".into(),
                ArrayChange::Release => "released".into(),
                ArrayChange::Prioritise(priority) => format!("gave {} priority to", priority.key()),
                ArrayChange::Move { over_all: true, .. } => "moved over the jobs of others".into(),
                ArrayChange::Move { over_all: false, .. } => "moved in the queue".into(),
            };
            Event::ArrayChanged { array: *array, change }
        }
        Order::EvictJob(job) => Event::JobEvicted { job: *job },
        Order::EvictNode(node) => Event::NodeEvicted { node: *node },
        Order::SetBudget { of, budget } => Event::BudgetSet {
            whose: match of {
                BudgetOf::Workspace => "the workspace".into(),
                BudgetOf::Person(person) => person.to_string(),
            },
            amount: budget.as_ref().map_or_else(String::new, |budget| {
                Money(u64::try_from(budget.amount).unwrap_or_default()).said(&budget.currency)
            }),
            action: budget.as_ref().map_or_else(String::new, |budget| budget.action.key().into()),
        },
        Order::SetFairShare { person, weight } => {
            Event::FairShareSet { person: person.to_string(), weight: u32::try_from(*weight).unwrap_or_default() }
        }
        Order::SetHalfLife(half_life) => Event::HalfLifeSet { half_life: *half_life },
        Order::SetQueuePolicy { cluster: id, policy } => Event::QueuePolicySet {
            queue: id.map_or_else(|| "serverless jobs".into(), cluster),
            order: policy.order.key().into(),
            backfill: policy.backfill,
        },
        Order::Prioritise { job, priority } => Event::JobPrioritised { job: *job, priority: *priority },
        // Its number is not known before it is made.
        Order::AddSchedule { target: to, .. } => Event::ScheduleAdded { schedule: ScheduleId(0), target: target(*to) },
        Order::EditSchedule { schedule, .. } => {
            Event::ScheduleChanged { schedule: *schedule, target: scheduled(*schedule) }
        }
        Order::EnableSchedule { schedule, is_enabled } => {
            Event::ScheduleSwitched { schedule: *schedule, target: scheduled(*schedule), is_enabled: *is_enabled }
        }
        Order::SkipSchedule { schedule, skips } => {
            Event::ScheduleSkipped { schedule: *schedule, target: scheduled(*schedule), skips: *skips }
        }
        Order::RemoveSchedule(schedule) => Event::ScheduleRemoved { schedule: *schedule, target: scheduled(*schedule) },
        Order::Pause { .. } => Event::EnginePaused,
        Order::Resume => Event::EngineResumed,
        Order::RemoveUnknown { site, name } => Event::UnknownRemoved { site: site.to_string(), name: shortened(name) },
    };
    debug_assert_eq!(Some(event.key()), order.event(), "the table of verbs says another event");
    Some(event)
}

/// The person whom an order is about.
pub(super) const fn concerned(order: &Order) -> Option<&UserId> {
    match order {
        Order::SetLimit { scope: Scope::Person(person), .. }
        | Order::TransferInstance { to: person, .. }
        | Order::SetFairShare { person, .. }
        | Order::SetBudget { of: BudgetOf::Person(person), .. } => Some(person),
        _ => None,
    }
}

/// Who else is told, unless they did it themselves.
pub(super) fn also_concerned(command: &Command) -> Option<&UserId> {
    match &command.order {
        Order::TransferInstance { from, .. } => Some(from).filter(|from| command.user.as_ref() != Some(*from)),
        _ => None,
    }
}

/// The event with that person's name in place of their id, which is all that the World knows.
pub(super) fn named(event: Event, name: &str) -> Event {
    match event {
        Event::LimitSet { limit, resource, .. } => Event::LimitSet { whose: name.to_owned(), limit, resource },
        Event::BudgetSet { amount, action, .. } => Event::BudgetSet { whose: name.to_owned(), amount, action },
        Event::FairShareSet { weight, .. } => Event::FairShareSet { person: name.to_owned(), weight },
        other => other,
    }
}

/// The event as it goes into the history, if the order changed anything.
pub(super) fn done(event: Event, answer: &Answer) -> Option<Event> {
    match (event, answer) {
        (_, Answer::Already) => None,
        (Event::ScheduleAdded { target, .. }, Answer::Schedule(schedule)) => {
            Some(Event::ScheduleAdded { schedule: *schedule, target })
        }
        (event, _) => Some(event),
    }
}
