//! Orders: each is judged as a whole before anything is changed, so that a refusal changes nothing.

use super::cluster::nobody;
use crate::compute::JobId;
use crate::compute::instance::Trigger;
use crate::compute::job::{Job, JobPhase, JobSpec, Priority, Target, Verdict};
use crate::compute::verb::{ClusterVerb, InstanceVerb, JobVerb, Legality};
use crate::reason::Reason;
use crate::text::{MAX_WHY, Problem};
use crate::world::{Answer, Command, EnginePause, Key, MAX_LIVE_JOBS, Order, World};

impl World {
    /// Carries an order out, or says why not.
    pub(super) fn obey(&mut self, command: &Command) -> Result<Answer, Reason> {
        let person = || Trigger::Person { name: command.name.clone() };
        match &command.order {
            Order::PutSize(size) => self.put_size(&command.workspace, size),
            Order::RemoveSize(size) => self.remove_size(&command.workspace, size),
            Order::SetLimit { scope, resource, limit } => self.set_limit(&command.workspace, scope, resource, *limit),
            Order::CreateInstance(new) => self.create_instance(command, new),
            Order::StartInstance(id) => {
                self.own_instance(&command.workspace, *id)?;
                self.start_instance(*id, person())
            }
            Order::StopInstance(id) => {
                self.own_instance(&command.workspace, *id)?;
                self.stop_instance(*id, person(), Reason::ByPerson { name: command.name.clone() })
            }
            Order::RestartInstance(id) => self.restart_instance(command, *id),
            Order::ResizeInstance { instance, size } => self.resize_instance(command, *instance, size),
            Order::DeleteInstance(id) => self.delete_instance(command, *id),
            Order::ConfigureInstance { instance, idle, keeps_quota } => {
                self.configure_instance(command, *instance, idle.as_ref(), *keeps_quota)
            }
            Order::ExtendInstance { instance, by } => self.extend_instance(command, *instance, *by),
            Order::CreateCluster { name, size, scale } => self.create_cluster(command, name, size, *scale),
            Order::ScaleCluster { cluster, scale } => self.scale_settings(command, *cluster, *scale),
            Order::PauseCluster(id) => self.pause_cluster(command, *id, true),
            Order::ResumeCluster(id) => self.pause_cluster(command, *id, false),
            Order::DeleteCluster { cluster, ends_jobs } => self.delete_cluster(command, *cluster, *ends_jobs),
            Order::Submit(spec) => self.submit(command, spec),
            Order::Cancel(job) => self.cancel(command, *job),
            Order::Prioritise { job, priority } => self.prioritise(command, *job, *priority),
            Order::AddSchedule { target, action, timetable } => self.add_schedule(command, *target, *action, timetable),
            Order::EditSchedule { schedule, action, timetable } => {
                self.edit_schedule(command, *schedule, *action, timetable)
            }
            Order::EnableSchedule { schedule, is_enabled } => self.enable_schedule(command, *schedule, *is_enabled),
            Order::SkipSchedule { schedule, skips } => self.skip_schedule(command, *schedule, *skips),
            Order::RemoveSchedule(id) => {
                self.own_schedule(&command.workspace, *id)?;
                self.remove_schedule(*id);
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

    fn submit(&mut self, command: &Command, spec: &JobSpec) -> Result<Answer, Reason> {
        let workspace = &command.workspace;
        let owner = command.user.clone().ok_or_else(|| nobody("job"))?;
        spec.check().map_err(Reason::invalid)?;
        if self.jobs.len() >= MAX_LIVE_JOBS {
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
        self.state.jobs += 1;
        self.changed(Key::State);
        let id = JobId(self.state.jobs);
        self.insert_job(Job {
            id,
            workspace: workspace.clone(),
            owner,
            spec: spec.clone(),
            phase: JobPhase::Queued { hold: None, gathering: None },
            submitted: self.now.wall,
            attempt: 0,
            retries: 0,
            steps_aside: 0,
            members: Vec::new(),
            own_nodes: Vec::new(),
            launch_failures: 0,
            lost_starts: 0,
        });
        Ok(Answer::Job(id))
    }

    fn own_job(&self, command: &Command, id: JobId, verb: JobVerb) -> Result<Legality, Reason> {
        let found = self.jobs.get(&id).filter(|job| job.workspace == command.workspace);
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
        self.end_job(id, Verdict::Cancelled { by: command.name.clone() });
        Ok(if legality == Legality::Already { Answer::Already } else { Answer::Done })
    }

    fn prioritise(&mut self, command: &Command, id: JobId, priority: Priority) -> Result<Answer, Reason> {
        self.own_job(command, id, JobVerb::Prioritise)?;
        self.edit_job(id, |job| job.spec.priority = priority);
        Ok(Answer::Done)
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
