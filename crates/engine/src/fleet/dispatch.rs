//! Effects on their way to drivers and agents.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use atelier_domain::compute::JobId;
use atelier_domain::world::Effect;
use atelier_protocol::{JobEnvironment, Peer, Person, Start, Task, ToAgent};
use tokio::sync::mpsc;

use super::{Fleet, instances, lock, transfer};
use crate::drivers;
use crate::run::Phase;
use crate::store::LocalUser;

/// What so many jobs run is remembered: jobs of an array run the same.
const REMEMBERED_TASKS: usize = 256;

/// The pause before a database that did not answer is asked again.
const PAUSE: Duration = Duration::from_millis(500);

/// What jobs run, as far as it is remembered.
#[derive(Default)]
struct Tasks {
    known: HashMap<JobId, Task>,
    order: VecDeque<JobId>,
}

impl Tasks {
    fn remember(&mut self, id: JobId, task: Task) {
        if self.known.insert(id, task).is_none() {
            self.order.push_back(id);
        }
    }

    /// Only between two batches: what a batch needs is not forgotten before it was carried out.
    fn forget_old(&mut self) {
        while self.order.len() > REMEMBERED_TASKS {
            if let Some(oldest) = self.order.pop_front() {
                self.known.remove(&oldest);
            }
        }
    }
}

/// Carries effects out, one batch after another, in their order.
pub(super) async fn run(fleet: Fleet, mut queue: mpsc::UnboundedReceiver<Vec<Effect>>) {
    let mut tasks = Tasks::default();
    let mut batches = Vec::new();
    while queue.recv_many(&mut batches, 64).await > 0 {
        let effects: Vec<Effect> = batches.drain(..).flatten().collect();
        read_tasks(&fleet, &effects, &mut tasks).await;
        for effect in effects {
            carry_out(&fleet, effect, &tasks).await;
        }
        tasks.forget_old();
    }
}

/// Reads what the jobs run that are to be started, in one go.
async fn read_tasks(fleet: &Fleet, effects: &[Effect], tasks: &mut Tasks) {
    let mut missing: Vec<JobId> = effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::StartJob { part, array, .. } => Some(array.map_or(part.job, |place| place.first)),
            _ => None,
        })
        .filter(|id| !tasks.known.contains_key(id))
        .collect();
    missing.sort_unstable();
    missing.dedup();
    if missing.is_empty() {
        return;
    }
    // A database that is away says nothing about the jobs: they may even run already.
    let found = patiently(fleet, "what jobs run", || fleet.store().job_tasks(&missing)).await;
    found.into_iter().flatten().for_each(|(id, task)| tasks.remember(id, task));
}

/// Asks the store until it answers; gives up only with the engine itself.
pub(super) async fn patiently<T, F: Future<Output = crate::store::Result<T>>>(
    fleet: &Fleet,
    what: &str,
    ask: impl Fn() -> F,
) -> Option<T> {
    loop {
        match ask().await {
            Ok(found) => return Some(found),
            Err(error) => tracing::error!(%error, "{what} could not be read; the next moment tries again"),
        }
        let phase = fleet.engine().map(|engine| engine.status().phase);
        if matches!(phase, None | Some(Phase::Stopped | Phase::Fenced)) {
            return None;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn carry_out(fleet: &Fleet, effect: Effect, tasks: &Tasks) {
    match effect {
        Effect::Launch { node, site, shape, .. } => match fleet.driver(&site) {
            Some(driver) => drop(tokio::spawn(drivers::launch(fleet.clone(), driver, node, shape))),
            None => no_driver(&site),
        },
        Effect::Terminate { node, site } => match fleet.driver(&site) {
            Some(driver) => drop(tokio::spawn(drivers::terminate(fleet.clone(), driver, node))),
            None => no_driver(&site),
        },
        Effect::TerminateUnknown { site, name } => match fleet.driver(&site) {
            Some(driver) => drop(tokio::spawn(drivers::terminate_unknown(fleet.clone(), driver, name))),
            None => no_driver(&site),
        },
        Effect::Drain { node } => drop(fleet.say(node, ToAgent::Drain)),
        Effect::Undrain { node } => drop(fleet.say(node, ToAgent::Undrain)),
        Effect::AskBack { part } => drop(fleet.say(part.node, ToAgent::GiveBack { part })),
        Effect::EndJob { part, grace, is_preempted } => {
            fleet.say(part.node, ToAgent::End { part, grace, is_preempted });
        }
        Effect::BuildEnvironment { hash } => match fleet.inner.environments.get() {
            Some(environments) => environments.named().need(hash),
            None => no_environments(fleet, hash),
        },
        Effect::StartJob { part, rank, nodes, owner, shape, timeout, grace, array, environment, .. } => {
            let Some(task) = tasks.known.get(&array.map_or(part.job, |place| place.first)).cloned() else {
                let detail = "what it runs is not in the database".into();
                refuse(fleet, part, detail);
                return;
            };
            let Some(person) = person(fleet, owner).await else { return };
            let peers = nodes.iter().map(|node| Peer { node: *node, host: host_of(fleet, *node) }).collect();
            let array = array.map(|place| (place.first, place.index, place.count));
            let environment = match environment {
                None => None,
                Some((hash, name)) => match fleet.environment(hash) {
                    Some(path) => Some(JobEnvironment { path, name }),
                    None => {
                        let detail = format!("its environment {name} is not on this machine any more; submit it again");
                        return refuse(fleet, part, detail.into());
                    }
                },
            };
            let start = Start { part, rank, peers, shape, timeout, grace, array, person, task, environment };
            fleet.introduce(part.node, &start.person).await;
            fleet.logs().begin(part.into());
            fleet.say(part.node, ToAgent::Start(Box::new(start)));
        }
        Effect::SetUp { instance, node, generation, owner, workspace, name, layer, has_scripts } => {
            let Some(person) = person(fleet, owner).await else { return };
            let name = name.to_string();
            let wanted = instances::Wanted { instance, node, generation, workspace, name, layer, has_scripts };
            tokio::spawn(instances::set_up(fleet.clone(), person, wanted));
        }
        Effect::RunScript { instance, node, generation, scripts, is_trusted, .. } => {
            instances::run_scripts(fleet, instance, node, generation, &scripts, is_trusted);
        }
        Effect::Transfer { instance, generation, from, to } => {
            tokio::spawn(transfer::run(fleet.clone(), instance, generation, from, to));
        }
        Effect::Resize { instance, generation, .. } => instances::resize(fleet, instance, generation),
    }
}

fn no_driver(site: &atelier_domain::compute::size::SiteName) {
    metrics::counter!("atelier_engine_effects_without_driver_total").increment(1);
    tracing::warn!(%site, "no driver makes nodes there; it is told again after the next start");
}

fn no_environments(fleet: &Fleet, hash: atelier_domain::environment::EnvironmentHash) {
    let Some(engine) = fleet.engine().cloned() else { return };
    let failure = Some("This server builds no environments.".into());
    tokio::spawn(async move {
        let _ = engine.report_all(&[atelier_domain::world::Report::Environment { hash, failure }]).await;
    });
}

fn refuse(fleet: &Fleet, part: atelier_domain::world::AllocationKey, detail: atelier_domain::text::Text) {
    let fleet = fleet.clone();
    tokio::spawn(async move {
        if let Some(engine) = fleet.engine() {
            let _ = engine.report_all(&[atelier_domain::world::Report::JobRefused { part, detail }]).await;
        }
    });
}

/// Under which address others find a node.
fn host_of(fleet: &Fleet, node: atelier_domain::compute::NodeId) -> String {
    fleet.board().address(node).unwrap_or_else(|| "127.0.0.1".to_owned())
}

/// As whom somebody runs.
pub(super) async fn person(fleet: &Fleet, id: atelier_domain::UserId) -> Option<Person> {
    let LocalUser { uid, handle } = local_user(fleet, &id).await?;
    let uid = fleet.inner.has_own_users.then_some(uid);
    Some(Person { id, handle, uid })
}

async fn local_user(fleet: &Fleet, owner: &atelier_domain::UserId) -> Option<LocalUser> {
    if let Some(known) = lock(&fleet.inner.people).get(owner) {
        return Some(known.clone());
    }
    let found = patiently(fleet, "as whom somebody runs", || fleet.store().local_user(owner)).await?;
    lock(&fleet.inner.people).insert(owner.clone(), found.clone());
    Some(found)
}
