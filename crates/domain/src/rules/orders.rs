//! Orders: each is judged as a whole before anything is changed, so that a refusal changes nothing.

use super::cluster::nobody;
use super::dependencies::never;
use crate::compute::JobId;
use crate::compute::array::{Array, MAX_ARRAY, Stretch};
use crate::compute::instance::Trigger;
use crate::compute::job::{JobSpec, Priority, Target, Verdict};
use crate::compute::verb::{ClusterVerb, InstanceVerb, JobVerb, Legality};
use crate::reason::Reason;
use crate::text::{MAX_WHY, Problem, grouped};
use crate::world::{Answer, Command, EnginePause, Key, MAX_LIVE_JOBS, Order, World};

impl World {
    /// Carries an order out, or says why not.
    pub(super) fn obey(&mut self, command: &Command) -> Result<Answer, Reason> {
        let person = || Trigger::Person { name: command.name.clone() };
        match &command.order {
            Order::PutSize(size) => self.put_size(&command.workspace, size),
            Order::RemoveSize(size) => self.remove_size(&command.workspace, size),
            Order::SetLimit { scope, resource, limit } => self.set_limit(&command.workspace, scope, resource, *limit),
            Order::SetBudget { of, budget } => self.set_budget(command, of, budget.as_deref()),
            Order::SetFairShare { person, weight } => self.set_fair_share(command, person, *weight),
            Order::SetHalfLife(half_life) => self.set_half_life(command, *half_life),
            Order::SetQueuePolicy { cluster, policy } => self.set_queue_policy(command, *cluster, *policy),
            Order::SetIdleRules(rules) => self.set_idle_rules(command, rules),
            Order::CreateInstance(new) => self.create_instance(command, new),
            Order::StartInstance(id) => {
                self.own_instance(&command.workspace, *id)?;
                self.start_instance(*id, person())
            }
            Order::WakeInstance(id) => {
                self.own_instance(&command.workspace, *id)?;
                self.start_instance(*id, Trigger::Wake { name: command.name.clone() })
            }
            Order::StopInstance(id) => {
                self.own_instance(&command.workspace, *id)?;
                self.stop_instance(*id, person(), Reason::ByPerson { name: command.name.clone() })
            }
            Order::RestartInstance(id) => self.restart_instance(command, *id),
            Order::RebuildInstance(id) => self.rebuild_instance(command, *id),
            Order::TagInstance { instance, tags } => self.tag_instance(command, *instance, tags),
            Order::SetScripts { instance, scripts } => self.set_scripts(command, *instance, scripts),
            Order::AcceptScripts { instance, revision } => self.accept_scripts(command, *instance, *revision),
            Order::PostponeStop { instance, until } => self.postpone_stop(command, *instance, *until),
            Order::SkipStop { instance } => self.skip_stop(command, *instance),
            Order::ResizeInstance { instance, size } => self.resize_instance(command, *instance, size),
            Order::TransferInstance { instance, from, to, to_name } => {
                self.transfer_instance(command, *instance, from, to, to_name)
            }
            Order::DeleteInstance(id) => self.delete_instance(command, *id),
            Order::ConfigureInstance { instance, idle, keeps_quota } => {
                self.configure_instance(command, *instance, idle.as_ref(), *keeps_quota)
            }
            Order::ExtendInstance { instance, by } => self.extend_instance(command, *instance, *by),
            Order::CreateCluster { name, size, scale, tier, tags } => {
                self.create_cluster(command, name, size, *scale, *tier, tags)
            }
            Order::ChangeCluster { cluster, change } => self.change_cluster(command, *cluster, change),
            Order::ScaleCluster { cluster, scale } => self.scale_settings(command, *cluster, *scale),
            Order::PauseCluster(id) => self.pause_cluster(command, *id, true),
            Order::ResumeCluster(id) => self.pause_cluster(command, *id, false),
            Order::DeleteCluster { cluster, ends_jobs } => self.delete_cluster(command, *cluster, *ends_jobs),
            Order::Submit(spec) => self.submit(command, spec, None),
            Order::SubmitArray { spec, count } => self.submit(command, spec, Some(*count)),
            Order::TagCluster { cluster, tags } => self.tag_cluster(command, *cluster, tags),
            Order::Cancel(job) => self.cancel(command, *job),
            Order::Prioritise { job, priority } => self.prioritise(command, *job, *priority),
            Order::Hold { job, why } => self.hold_job(command, *job, why),
            Order::Release(job) => self.release_job(command, *job),
            Order::Move { job, to, over_all } => self.move_job(command, *job, *to, *over_all),
            Order::ChangeArray { array, change } => self.change_array(command, *array, change),
            Order::EvictJob(job) => self.evict_job(command, *job),
            Order::EvictNode(node) => self.evict_node(command, *node),
            Order::AddSchedule { target, action, timetable, jobs } => {
                self.add_schedule(command, *target, *action, timetable, *jobs)
            }
            Order::EditSchedule { schedule, action, timetable, jobs } => {
                self.edit_schedule(command, *schedule, *action, timetable, *jobs)
            }
            Order::EnableSchedule { schedule, is_enabled } => self.enable_schedule(command, *schedule, *is_enabled),
            Order::SkipSchedule { schedule, skips } => self.skip_schedule(command, *schedule, *skips),
            Order::RemoveSchedule(id) => {
                let target = self.own_schedule(&command.workspace, *id)?.target;
                self.remove_schedule(*id);
                self.forget_scheduled_min(target);
                Ok(Answer::Done)
            }
            Order::Pause { why } => self.pause(command, why),
            Order::Resume => Ok(self.resume()),
            Order::RemoveUnknown { site, name } => {
                let key = (site.clone(), name.clone());
                let Some(found) = self.unknown.get_mut(&key) else {
                    let what = format!("{} on {site}", crate::text::shortened(name));
                    return Err(Reason::NotFound { what });
                };
                let answer = if found.is_leaving { Answer::Already } else { Answer::Done };
                found.is_leaving = true;
                self.changed(Key::Unknown(key.0.clone(), key.1.clone()));
                self.kick(Key::Unknown(key.0, key.1));
                Ok(answer)
            }
        }
    }

    fn submit(&mut self, command: &Command, spec: &JobSpec, array: Option<u32>) -> Result<Answer, Reason> {
        let workspace = &command.workspace;
        let owner = command.user.clone().ok_or_else(|| nobody("job"))?;
        spec.check().map_err(Reason::invalid)?;
        let count = array.unwrap_or(1);
        if count == 0 || count > MAX_ARRAY {
            let message = format!("An array has 1 to {} jobs, not {}.", grouped(MAX_ARRAY), grouped(count));
            return Err(Reason::invalid(Problem::new("array", message)));
        }
        // What is not made yet takes no room.
        let made = if count > self.made_at_once() { 1 } else { count as usize };
        if self.jobs.len() + made > MAX_LIVE_JOBS {
            return Err(Reason::TooManyJobs { live: self.jobs.len() as u64, limit: MAX_LIVE_JOBS as u64 });
        }
        let nodes = u64::from(spec.nodes);
        let size = match &spec.target {
            Target::Cluster(id) => {
                let cluster = self.cluster_for(*id, workspace, ClusterVerb::Submit)?;
                if spec.nodes > cluster.scale.max {
                    let (max, cluster) = (u64::from(cluster.scale.max), cluster.name.to_string());
                    return Err(Reason::TooManyNodes { needed: nodes, max, cluster });
                }
                self.known_size(&cluster.size)?
            }
            Target::Instance(id) => {
                let instance = self.own_instance(workspace, *id)?;
                if instance.owner != owner {
                    let instance = instance.name.to_string();
                    return Err(Reason::OwnerOnly { instance, what: "Running jobs on".into() });
                }
                self.judge_instance(instance, InstanceVerb::Submit)?;
                if spec.nodes > 1 {
                    return Err(Reason::OneNodeOnly { needed: nodes });
                }
                self.known_size(&instance.size)?
            }
            Target::Serverless(size) => self.known_size(size)?,
        };
        if !spec.shape.fits(size.shape) {
            return Err(Reason::TooLarge {
                needed: spec.shape,
                node: size.shape,
                size: size.name.to_string(),
                fitting: self.sizes_for(spec.shape),
            });
        }
        let person = match spec.target {
            Target::Serverless(_) => Some(&owner),
            Target::Cluster(_) | Target::Instance(_) => None,
        };
        if !matches!(spec.target, Target::Instance(_))
            && let Some(reason) = self.never(workspace, person, size, nodes, spec.shape)
        {
            return Err(reason);
        }
        if !matches!(spec.target, Target::Instance(_))
            && let Some(shortage) = self.above_limit(workspace, &owner, spec)
        {
            return Err(Reason::AboveOwnLimit { shortage });
        }
        self.within_budget(workspace, &owner)?;
        let spec = &self.judge_after(workspace, spec)?;
        let first = JobId(self.state.jobs + 1);
        self.state.jobs += u64::from(count);
        self.changed(Key::State);
        let whole = Array {
            first,
            count,
            workspace: workspace.clone(),
            owner,
            spec: spec.clone(),
            submitted: self.now.wall,
            rest: Vec::new(),
            held: None,
            hold: None,
            moved: None,
            failed: None,
        };
        let is_lazy = array.is_some() && count > self.made_at_once();
        if !is_lazy {
            for number in 0..count {
                let mut job = whole.job(number);
                job.array = job.array.filter(|_| array.is_some());
                self.insert_job(job);
            }
        }
        if array.is_some() {
            let rest = is_lazy.then_some(Stretch { from: 0, count });
            self.insert_array(Array { rest: rest.into_iter().collect(), ..whole });
        }
        if spec.awaited_environment().is_some() {
            // One that waits speaks for all that were submitted with it.
            self.kick(if is_lazy { Key::Array(first) } else { Key::Job(first) });
        }
        if never(spec).is_some() {
            let made = if is_lazy { 0 } else { count };
            (0..made).for_each(|index| self.judge_dependent(JobId(first.0 + u64::from(index))));
            self.judge_rest(first);
        }
        Ok(if array.is_some() { Answer::Jobs { first, count } } else { Answer::Job(first) })
    }

    /// Judges what somebody wants of a job, made or not.
    pub(super) fn own_job(&self, command: &Command, id: JobId, verb: JobVerb) -> Result<Legality, Reason> {
        let found = self.look_up(id).filter(|job| job.workspace == command.workspace);
        // What is over has left the World; the store still knows it, and what numbers there were.
        let Some(job) = found else { return Err(Reason::IsOver { job: id }) };
        let state = job.state();
        match verb.in_state(state) {
            Legality::No(help) => Err(Reason::NotNow {
                verb: verb.key().into(),
                name: id.to_string(),
                state: state.key().into(),
                help: help.into(),
            }),
            legality => Ok(legality),
        }
    }

    fn cancel(&mut self, command: &Command, id: JobId) -> Result<Answer, Reason> {
        let legality = self.own_job(command, id, JobVerb::Cancel)?;
        self.make_job(id);
        self.end_job(id, Verdict::Canceled { by: command.name.clone() });
        Ok(if legality == Legality::Already { Answer::Already } else { Answer::Done })
    }

    fn prioritise(&mut self, command: &Command, id: JobId, priority: Priority) -> Result<Answer, Reason> {
        self.own_job(command, id, JobVerb::Prioritise)?;
        self.make_job(id);
        self.set_priority(id, priority);
        Ok(Answer::Done)
    }

    pub(super) fn set_priority(&mut self, id: JobId, priority: Priority) {
        self.edit_job(id, |job| {
            job.spec.priority = priority;
            // Whoever stood before a certain job stood there among its priority.
            if job.moved.as_ref().is_some_and(|moved| moved.line.is_some()) {
                job.moved = None;
            }
        });
    }

    fn pause(&mut self, command: &Command, why: &str) -> Result<Answer, Reason> {
        if why.chars().count() > MAX_WHY {
            let message = format!("Keep the reason under {MAX_WHY} characters; this has {}.", why.chars().count());
            return Err(Reason::invalid(Problem::new("why", message)));
        }
        if self.state.pause.is_some() {
            return Ok(Answer::Already);
        }
        self.state.pause = Some(EnginePause { by: command.name.clone(), why: why.to_owned(), since: self.now.mono });
        self.changed(Key::State);
        Ok(Answer::Done)
    }

    fn resume(&mut self) -> Answer {
        let Some(pause) = self.state.pause.take() else { return Answer::Already };
        self.changed(Key::State);
        self.resume_after(self.now.mono.since(pause.since));
        Answer::Done
    }
}
