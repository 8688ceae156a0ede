//! Idleness: what agents report, and the stop for lack of activity.

use crate::compute::InstanceId;
use crate::compute::idle::{IdleVerdict, Source};
use crate::compute::instance::{InstancePhase, Trigger};
use crate::reason::Reason;
use crate::time::Span;
use crate::world::{About, World};

impl World {
    /// An agent says what went on in an instance.
    pub(in crate::rules) fn activity(&mut self, id: InstanceId, active: &[Source], stretch: Span) {
        let now = self.now.mono;
        let Some(instance) = self.instances.get(&id) else { return };
        let has_jobs = self.jobs_on(instance) > 0;
        let (true, Some(policy)) = (matches!(instance.phase, InstancePhase::Running), self.idle_policy_of(instance))
        else {
            return;
        };
        let workspace = instance.workspace.clone();
        let mut active = active.to_vec();
        if has_jobs {
            active.push(Source::Job);
        }
        let verdict = self.edit_instance(id, |instance| instance.watch.report(&policy, &active, stretch, now));
        let Some(instance) = self.instances.get(&id) else { return };
        let watch = &instance.watch;
        let last = watch.last.map(|(source, at)| format!("{}, {} ago", source.label(), now.since(at)));
        match verdict {
            Some(IdleVerdict::Warns) => {
                let reason = Reason::IdleWarning { left: watch.left(&policy, now), quiet: watch.quiet };
                self.decide(&workspace, About::Instance(id), reason);
            }
            Some(IdleVerdict::Relaxes) => {
                let source = watch.last.map(|(source, _)| source.label()).unwrap_or_default().to_owned();
                self.decide(&workspace, About::Instance(id), Reason::IdleOver { source });
            }
            Some(IdleVerdict::Stops) => {
                let evidence = watch.evidence(&policy, now);
                let why = Reason::Idle { quiet: watch.quiet, window: policy.window, last, evidence };
                let trigger = match self.stops_idle(&instance.workspace, &instance.owner) {
                    true => Trigger::Budget,
                    false if instance.idle_by_policy => Trigger::Policy,
                    false => Trigger::Idle,
                };
                // Running instances can always be stopped.
                drop(self.stop_instance(id, trigger, why));
            }
            Some(IdleVerdict::Stays) | None => {}
        }
    }
}
