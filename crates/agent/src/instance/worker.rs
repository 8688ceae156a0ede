//! A handle of a worker, for those who want something done in an instance.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Signal;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::sync::oneshot;

use super::{Ask, Place};
use crate::config::AgentConfig;
use crate::core::Happening;
use crate::sandbox::{Channel, WorkerId};
use crate::wire::{Order, Outcome, Said};

/// Between two rounds of killing.
const ROUND: Duration = Duration::from_millis(20);
/// After so many rounds there is nothing that could still be done.
const ROUNDS: u32 = 300;

/// The handle of a worker that does one thing. Dropped, whatever the worker runs is killed.
#[derive(Debug)]
pub struct WorkerHandle {
    id: WorkerId,
    channel: Arc<Channel>,
    said: UnboundedReceiver<(Said, Vec<OwnedFd>)>,
    inbox: UnboundedSender<Happening>,
    /// Whether a control group limits what it uses.
    is_confined: bool,
    is_over: bool,
    /// Whether it stays after what it runs has ended, for what that has left behind.
    stays: bool,
}

impl Drop for WorkerHandle {
    fn drop(&mut self) {
        self.ask(Ask::Release(self.id, self.is_over));
    }
}

impl WorkerHandle {
    pub const fn new(
        id: WorkerId,
        channel: Arc<Channel>,
        said: UnboundedReceiver<(Said, Vec<OwnedFd>)>,
        inbox: UnboundedSender<Happening>,
        is_confined: bool,
    ) -> Self {
        Self { id, channel, said, inbox, is_confined, is_over: false, stays: false }
    }

    /// The most address space of a process, where nothing better limits memory.
    pub fn limit(&self, config: &AgentConfig) -> Option<u64> {
        (!self.is_confined).then_some(config.shape.memory << 20)
    }

    /// Asks the loop for a worker.
    pub async fn acquire(inbox: &UnboundedSender<Happening>, place: Place) -> Result<Self, String> {
        let (reply, answer) = oneshot::channel();
        drop(inbox.send(Happening::Instance(Box::new(Ask::AcquireWorker(place, reply)))));
        answer.await.unwrap_or_else(|_| Err("the agent ends".to_owned()))
    }

    fn ask(&self, ask: Ask) {
        drop(self.inbox.send(Happening::Instance(Box::new(ask))));
    }

    /// How it is spoken to, for those who have something to say while others wait for what it says.
    pub fn channel(&self) -> Arc<Channel> {
        Arc::clone(&self.channel)
    }

    /// Tells it what to do.
    pub fn say(&mut self, order: &Order, files: &[BorrowedFd<'_>]) -> Result<(), String> {
        self.stays = matches!(order, Order::Terminal(_) | Order::Remote(_));
        self.channel.say(order, files).map_err(|error| format!("a process in the sandbox does not listen: {error}"))
    }

    /// What it says next; nothing once it is gone, with all that it ran.
    pub async fn next(&mut self) -> Option<(Said, Vec<OwnedFd>)> {
        let said = self.said.recv().await;
        self.is_over |= matches!(said, None | Some((Said::Ended(_), _)));
        said
    }

    /// Waits until what it runs has ended.
    pub async fn outcome(&mut self) -> Outcome {
        loop {
            match self.next().await {
                Some((Said::Ended(outcome), _)) => return outcome,
                Some(_) => {}
                None => return Outcome::Code(137),
            }
        }
    }

    /// Waits until it is gone.
    pub async fn gone(&mut self) {
        while self.next().await.is_some() {}
    }

    /// Asks what it runs to end, and kills it after the grace. Returns once nothing of it is left.
    pub async fn end(&mut self, polite: &[Signal], grace: Duration) {
        for signal in polite {
            self.ask(Ask::Signal(self.id, *signal));
        }
        if tokio::time::timeout(grace, self.nothing_left()).await.is_ok() {
            return;
        }
        for round in 1..=ROUNDS {
            self.ask(Ask::Kill(self.id, round));
            if tokio::time::timeout(ROUND, self.nothing_left()).await.is_ok() {
                return;
            }
        }
    }

    async fn nothing_left(&mut self) {
        if self.stays {
            self.gone().await;
        } else if !self.is_over {
            drop(self.outcome().await);
        }
    }
}
