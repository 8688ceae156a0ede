//! Making workers for the instance.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use atelier_confine::PartGroup;
use rustix::process::Signal;
use tokio::sync::mpsc::unbounded_channel;

use super::super::{Agent, Happening, Spoken};
use super::{InstanceWorker, Reply, owner};
use crate::instance::{Ask, Place, WorkerHandle};
use crate::processes;
use crate::sandbox::{self, Channel, Kind, SandboxId, WorkerId};
use crate::wire::{self, Order, Said};

impl Agent {
    /// Somebody wants a worker in a sandbox of the instance.
    pub(in crate::core) fn acquire_worker(&mut self, place: Place, reply: Reply) {
        let Some(mounts) = self.hosted.workers.at(place).cloned() else {
            return drop(reply.send(Err("the instance is not set up".to_owned())));
        };
        let owner = owner(&mounts, place);
        let found = self.sandboxes.of(&owner).map_or_else(
            || {
                let person = mounts.person.clone();
                self.open_sandbox_of(&person, owner, Kind::Shared, Some(&mounts))
            },
            Ok,
        );
        let id = match found {
            Ok(id) => id,
            Err(why) => return drop(reply.send(Err(why))),
        };
        let Some(sandbox) = self.sandboxes.sandboxes.get_mut(&id) else { return };
        sandbox.is_pinned = true;
        if sandbox.is_ready {
            self.make_instance_worker(id, reply);
        } else {
            self.hosted.workers.waiting.push((id, reply));
        }
    }

    /// A sandbox is ready: whoever waited for it gets a worker.
    pub(in crate::core) fn serve_waiting(&mut self, id: SandboxId) {
        let waiting = std::mem::take(&mut self.hosted.workers.waiting);
        for (sandbox, reply) in waiting {
            if sandbox == id {
                self.make_instance_worker(id, reply);
            } else {
                self.hosted.workers.waiting.push((sandbox, reply));
            }
        }
    }

    fn make_instance_worker(&mut self, id: SandboxId, reply: Reply) {
        let number = self.sandboxes.number();
        let Some(sandbox) = self.sandboxes.sandboxes.get(&id) else { return };
        let make = || -> std::io::Result<Arc<Channel>> {
            let (ours, theirs) = wire::pair()?;
            sandbox.channel.say(&Order::Worker(number), &[theirs.as_fd()])?;
            let wrap = move |said| Happening::Instance(Box::new(Ask::Spoken(number, said)));
            Channel::listen(ours, self.inbox.clone(), wrap)
        };
        match make() {
            Ok(channel) => {
                let reply = Some(reply);
                let worker =
                    InstanceWorker { sandbox: id, channel, pid: None, group: None, reply, said: None, before: 0 };
                self.hosted.workers.by_id.insert(number, worker);
            }
            Err(error) => drop(reply.send(Err(format!("its sandbox makes no processes: {error}")))),
        }
    }

    /// A worker said something, or is gone.
    pub(in crate::core) fn on_instance_worker(&mut self, id: WorkerId, spoken: Spoken) {
        let Some(worker) = self.hosted.workers.by_id.get_mut(&id) else { return };
        match spoken {
            Some((Said::Ready, handles)) if worker.pid.is_none() => self.show(id, &handles),
            Some(said) => {
                if let Some(listener) = &worker.said {
                    drop(listener.send(said));
                }
            }
            // Its launcher sees to what is left of it, and says when that is done. What it runs must not live
            // longer than it.
            None => {
                for pid in worker.processes().into_iter().chain(worker.pid) {
                    processes::signal(pid, Signal::KILL);
                }
            }
        }
    }

    /// A worker can be told what to do: it gets its control group, then goes to whoever asked for it.
    fn show(&mut self, id: WorkerId, handles: &[OwnedFd]) {
        let Some(worker) = self.hosted.workers.by_id.get(&id) else { return };
        let (home, channel) = (worker.sandbox, Arc::clone(&worker.channel));
        let Some(sandbox) = self.sandboxes.sandboxes.get(&home) else { return };
        // Believed only if it is a process of that sandbox: what is below it will be killed one day.
        let pid = handles.first().and_then(processes::of_handle).filter(|pid| processes::is_below(*pid, sandbox.pid));
        let Some(pid) = pid else {
            tracing::warn!("a worker of the instance does not show its process");
            return self.abandon_sandbox(home);
        };
        let share = sandbox::share(self.config.shape);
        let confine = |group: Option<PartGroup>| {
            let Some(mut group) = group else { return Ok(None) };
            group.attach(pid).and_then(|()| group.set(share)).map(|()| Some(group))
        };
        let group = match self.groups.take().and_then(confine) {
            Ok(group) => group,
            Err(error) => {
                tracing::warn!(%error, "a control group cannot be had");
                return self.abandon_sandbox(home);
            }
        };
        let Some(worker) = self.hosted.workers.by_id.get_mut(&id) else { return };
        let (said, listener) = unbounded_channel();
        let handle = WorkerHandle::new(id, channel, listener, self.inbox.clone(), group.is_some());
        worker.before = group.as_ref().map_or(0, |group| group.usage().cpu);
        (worker.pid, worker.group, worker.said) = (Some(pid), group, Some(said));
        if let Some(reply) = worker.reply.take() {
            // Dropped with the answer if nobody waits for it any more, which releases it.
            drop(reply.send(Ok(handle)));
        }
    }
}
