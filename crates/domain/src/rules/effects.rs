//! What somebody else is to do, read from the records. Nothing of it is stored: after a crash it is read
//! again.

use crate::compute::instance::InstancePhase;
use crate::compute::job::{Ahead, AllocationState, JobPhase, Verdict};
use crate::compute::node::NodePhase;
use crate::compute::script::limit_of;
use crate::world::{AllocationKey, Effect, Key, World};

impl World {
    /// All that is wanted of drivers and agents now. What the engine tells them after a start.
    pub fn wanted(&self) -> Vec<Effect> {
        if self.state.pause.is_some() {
            return Vec::new();
        }
        self.keys().iter().flat_map(|key| self.wanted_by(key)).collect()
    }

    /// What the records want that were kicked in this step; nothing while acting is paused.
    pub(super) fn take_effects(&mut self) -> Vec<Effect> {
        let kicked = self.take_kicked();
        if self.state.pause.is_some() {
            return Vec::new();
        }
        kicked.iter().flat_map(|key| self.wanted_by(key)).collect()
    }

    /// What one record wants done.
    fn wanted_by(&self, key: &Key) -> Vec<Effect> {
        match key {
            Key::Node(id) => self.nodes.get(id).map_or_else(Vec::new, |node| {
                let (node_id, site) = (node.id, node.site.clone());
                match &node.phase {
                    NodePhase::Launching { .. } => vec![Effect::Launch {
                        node: node_id,
                        site,
                        size: node.size.clone(),
                        shape: node.shape,
                        holder: node.holder,
                    }],
                    NodePhase::Cordoned { .. } | NodePhase::Reclaiming { .. } => vec![Effect::Drain { node: node_id }],
                    NodePhase::Releasing { .. } => vec![Effect::Terminate { node: node_id, site }],
                    NodePhase::Ready => vec![Effect::Undrain { node: node_id }],
                    NodePhase::Silent { .. } | NodePhase::Unusable => Vec::new(),
                }
            }),
            Key::Job(id) => self.wanted_by_job(*id),
            Key::Array(first) => {
                let array = self.arrays.get(first).filter(|array| !array.rest.is_empty());
                let wanted = array.and_then(|array| array.spec.awaited_environment());
                wanted.map(|pinned| Effect::BuildEnvironment { hash: pinned.hash }).into_iter().collect()
            }
            Key::Instance(id) => self.wanted_by_instance(*id).into_iter().collect(),
            Key::Unknown(site, name) => self
                .unknown
                .get(&(site.clone(), name.clone()))
                .filter(|found| found.is_leaving)
                .map(|found| Effect::TerminateUnknown { site: found.site.clone(), name: found.name.clone() })
                .into_iter()
                .collect(),
            Key::State
            | Key::Site(_)
            | Key::Size(_)
            | Key::Limit(_)
            | Key::Budget(_)
            | Key::IdleRules(_)
            | Key::FairShareRules(_)
            | Key::FairShare(..)
            | Key::Cluster(_)
            | Key::Schedule(_) => Vec::new(),
        }
    }

    fn wanted_by_job(&self, id: crate::compute::JobId) -> Vec<Effect> {
        let Some(job) = self.jobs.get(&id) else { return Vec::new() };
        let part = |node| AllocationKey { job: id, attempt: job.attempt, node };
        match &job.phase {
            JobPhase::Starting { .. } if job.ahead == Some(Ahead::AskedBack) => {
                let waiting = job.allocations.iter().filter(|allocation| allocation.state == AllocationState::Assigned);
                waiting.map(|allocation| Effect::AskBack { part: part(allocation.node) }).collect()
            }
            JobPhase::Starting { .. } => {
                let nodes: Vec<_> = job.allocations.iter().map(|allocation| allocation.node).collect();
                let waiting = job
                    .allocations
                    .iter()
                    .zip(0..)
                    .filter(|(allocation, _)| allocation.state == AllocationState::Assigned);
                waiting
                    .map(|(allocation, rank)| Effect::StartJob {
                        part: part(allocation.node),
                        rank,
                        nodes: nodes.clone(),
                        owner: job.owner.clone(),
                        workspace: job.workspace.clone(),
                        shape: job.spec.shape,
                        timeout: job.spec.timeout,
                        grace: job.spec.grace,
                        array: job.array,
                        environment: job.spec.environment.as_ref().map(|pinned| (pinned.hash, pinned.to_string())),
                    })
                    .collect()
            }
            JobPhase::Ending { verdict, .. } => job
                .allocations
                .iter()
                .filter(|allocation| allocation.state != AllocationState::Off)
                .map(|allocation| Effect::EndJob {
                    part: part(allocation.node),
                    grace: job.grace_for(verdict),
                    is_preempted: matches!(**verdict, Verdict::Preempted { .. }),
                })
                .collect(),
            JobPhase::Queued { .. } => {
                let wanted = job.spec.awaited_environment();
                wanted.map(|pinned| Effect::BuildEnvironment { hash: pinned.hash }).into_iter().collect()
            }
            JobPhase::Running { .. } | JobPhase::Finalizing { .. } => Vec::new(),
        }
    }

    fn wanted_by_instance(&self, id: crate::compute::InstanceId) -> Option<Effect> {
        let instance = self.instances.get(&id)?;
        let generation = instance.generation;
        match &instance.phase {
            InstancePhase::SettingUp { .. } | InstancePhase::Restarting { .. } => Some(Effect::SetUp {
                instance: id,
                node: instance.node?,
                generation,
                owner: instance.owner.clone(),
                workspace: instance.workspace.clone(),
                name: instance.name.clone(),
                layer: instance.layer,
                has_scripts: !instance.scripts_to_run().is_empty(),
            }),
            InstancePhase::UserSettingUp { .. } => {
                let scripts = instance.scripts_to_run();
                let limit = limit_of(&scripts);
                let is_trusted = instance.scripts_accepted;
                Some(Effect::RunScript { instance: id, node: instance.node?, generation, scripts, is_trusted, limit })
            }
            InstancePhase::Transferring { from, .. } => {
                let (from, to) = (from.clone(), instance.owner.clone());
                Some(Effect::Transfer { instance: id, generation, from, to })
            }
            InstancePhase::Resizing { to, .. } => Some(Effect::Resize { instance: id, generation, size: to.clone() }),
            _ => None,
        }
    }
}
