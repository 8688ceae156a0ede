//! What an order is called in the history.

use atelier_domain::compute::ScheduleId;
use atelier_domain::compute::quota::{Resource, Scope};
use atelier_domain::history::Event;
use atelier_domain::text::shortened;
use atelier_domain::world::{Answer, Order, ScheduleTarget, World};

/// The event of an order, with the names as they are before it is carried out. None for what is too common to be told one
/// by one: jobs have a list of their own.
pub(super) fn event(world: &World, order: &Order) -> Option<Event> {
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
    Some(match order {
        Order::Submit(_) => return None,
        Order::PutSize(size) => Event::SizePut { size: size.name.to_string() },
        Order::RemoveSize(size) => Event::SizeRemoved { size: size.to_string() },
        Order::SetLimit { scope, resource, limit } => Event::LimitSet {
            whose: match scope {
                Scope::Workspace => "the workspace".into(),
                Scope::Everybody => "everybody".into(),
                Scope::Person(person) => person.to_string(),
            },
            limit: limit.map(|limit| resource.amount(limit)).unwrap_or_default(),
            resource: match resource {
                Resource::Cores(family) => format!("cores of the family {family}"),
                Resource::Gpus => "GPUs".into(),
                Resource::Computes => "computes".into(),
            },
        },
        Order::CreateInstance(new) => {
            Event::InstanceCreated { instance: new.name.to_string(), size: new.size.to_string() }
        }
        Order::StartInstance(id) => Event::InstanceStarted { instance: instance(*id) },
        Order::StopInstance(id) => Event::InstanceStopped { instance: instance(*id) },
        Order::RestartInstance(id) => Event::InstanceRestarted { instance: instance(*id) },
        Order::ResizeInstance { instance: id, size } => {
            Event::InstanceResized { instance: instance(*id), size: size.to_string() }
        }
        Order::DeleteInstance(id) => Event::InstanceDeleted { instance: instance(*id) },
        Order::ConfigureInstance { instance: id, .. } => Event::InstanceConfigured { instance: instance(*id) },
        Order::ExtendInstance { instance: id, by } => Event::InstanceExtended { instance: instance(*id), by: *by },
        Order::CreateCluster { name, size, scale } => {
            Event::ClusterCreated { cluster: name.to_string(), size: size.to_string(), min: scale.min, max: scale.max }
        }
        Order::ScaleCluster { cluster: id, scale } => {
            Event::ClusterScaled { cluster: cluster(*id), min: scale.min, max: scale.max, idle: scale.idle }
        }
        Order::PauseCluster(id) => Event::ClusterPaused { cluster: cluster(*id) },
        Order::ResumeCluster(id) => Event::ClusterResumed { cluster: cluster(*id) },
        Order::DeleteCluster { cluster: id, ends_jobs } => {
            Event::ClusterDeleted { cluster: cluster(*id), ends_jobs: *ends_jobs }
        }
        Order::Cancel(job) => Event::JobCancelled { job: *job },
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
    })
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
