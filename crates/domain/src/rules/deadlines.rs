//! Deadlines that have passed. While acting is paused nothing expires: nobody could have met them.

use crate::time::Span;
use crate::world::{Due, Key, World};

impl World {
    pub(super) fn meet_deadlines(&mut self) {
        if self.state.pause.is_some() {
            for key in self.due_pools() {
                self.set_pool_wake(&key, None);
                self.dirty.insert(key);
            }
            return;
        }
        // Each rule moves its record's deadline on; a clock that stands still cannot make this go round for
        // ever.
        let mut last = None;
        let mut repeats = 0;
        while let Some(due) = self.first_due() {
            repeats = if last.as_ref() == Some(&due) { repeats + 1 } else { 0 };
            debug_assert!(repeats < 8, "{due:?} does not move on");
            if repeats >= 8 {
                return;
            }
            match &due {
                Due::Node(id) => self.node_due(*id),
                Due::Job(id) => self.job_due(*id),
                Due::Array(first) => drop(self.edit_array(*first, |array| array.hold = None)),
                Due::Instance(id) => self.instance_due(*id),
                Due::Budgets(workspace) => {
                    self.set_budget_look(workspace, None);
                    self.look_at_budgets.insert(workspace.clone());
                }
                Due::Pool(key) => {
                    self.set_pool_wake(key, None);
                    self.dirty.insert(key.clone());
                }
            }
            last = Some(due);
        }
    }

    /// Acting goes on after a pause: every deadline moves by its length, and all that is wanted is told
    /// again.
    pub(super) fn resume_after(&mut self, paused: Span) {
        let nodes: Vec<_> = self.nodes.keys().copied().collect();
        for id in nodes {
            self.edit_node(id, |node, _| node.put_off(paused));
            self.kick(Key::Node(id));
        }
        let jobs: Vec<_> = self.jobs.values().filter(|job| job.deadline().is_some()).map(|job| job.id).collect();
        for id in jobs {
            self.edit_job(id, |job| job.put_off(paused));
            self.kick(Key::Job(id));
        }
        let instances: Vec<_> = self.instances.keys().copied().collect();
        for id in instances {
            self.edit_instance(id, |instance| instance.put_off(paused));
            self.kick(Key::Instance(id));
        }
        let unknown: Vec<_> = self.unknown.keys().cloned().collect();
        unknown.into_iter().for_each(|(site, name)| self.kick(Key::Unknown(site, name)));
    }
}
