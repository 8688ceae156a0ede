//! Output on its way from jobs to the server.

use atelier_domain::world::AllocationKey;
use atelier_protocol::{Bytes, Event, MAX_BYTES};
use tokio_tungstenite::tungstenite::Message;

use super::part::Pipe;
use super::{Agent, Happening, Held};

/// The most output that is under way: sent, and not kept by the server yet.
const WINDOW: u64 = 8 << 20;
/// What all logs may have in memory together; each at least a little.
const IN_MEMORY: usize = 8 << 20;
const LEAST_IN_MEMORY: usize = 256 << 10;
/// How often one job is read from before others get their turn.
const READS: usize = 8;

impl Held {
    /// Whether it ran long enough to be watched.
    pub(super) const fn is_watched(&self) -> bool {
        matches!(self.pipe, Some(Pipe::Watched { .. }))
    }
}

impl Agent {
    /// Reads what a part has printed, as far as there is room for it.
    pub(super) fn read_output(&mut self, part: AllocationKey) {
        let (limit, in_memory) = (self.config.log_limit_mib << 20, self.in_memory());
        self.buffer.resize(MAX_BYTES, 0);
        let Some(held) = self.parts.get_mut(&part) else { return };
        for _ in 0..READS {
            let Some(pipe) = &held.pipe else { break };
            if !held.log.has_room(limit, in_memory) {
                self.paused.insert(part);
                return self.stand_in_line(part);
            }
            match pipe.read(&mut self.buffer) {
                Ok(Some(0)) | Err(_) => held.pipe = None,
                Ok(Some(count)) => held.log.append(&self.buffer[..count], in_memory),
                Ok(None) => {
                    pipe.resume();
                    return self.stand_in_line(part);
                }
            }
        }
        if held.pipe.is_some() {
            // There is more; the others first.
            drop(self.inbox.send(Happening::Readable(part)));
        }
        self.stand_in_line(part);
    }

    /// Reads all that is left of a part whose processes are gone. That is no more than a pipe holds, so
    /// limits do not matter; and if somebody else still holds the pipe, what they write is not of this part.
    pub(super) fn read_rest(&mut self, part: AllocationKey) {
        let in_memory = self.in_memory();
        self.paused.remove(&part);
        let Some(held) = self.parts.get_mut(&part) else { return };
        let Some(pipe) = held.pipe.take() else { return held.log.finish() };
        self.buffer.resize(MAX_BYTES, 0);
        let mut rest = 16 * MAX_BYTES;
        while let Ok(Some(count @ 1..)) = pipe.read(&mut self.buffer) {
            held.log.append(&self.buffer[..count], in_memory);
            rest = rest.saturating_sub(count);
            if rest == 0 {
                break;
            }
        }
        held.log.finish();
        self.stand_in_line(part);
    }

    fn in_memory(&self) -> usize {
        (IN_MEMORY / self.sandboxes.workers.len().max(1)).max(LEAST_IN_MEMORY)
    }

    fn stand_in_line(&mut self, part: AllocationKey) {
        if let Some(held) = self.parts.get_mut(&part)
            && !held.is_in_line
            && !held.log.is_sent()
        {
            held.is_in_line = true;
            self.line.push_back(part);
        }
    }

    /// Reads again from parts that had to wait.
    pub(super) fn resume_paused(&mut self) {
        for part in std::mem::take(&mut self.paused) {
            self.read_output(part);
        }
    }

    /// Sends output, one piece of each part in turn, as much as may be under way.
    pub(super) fn send_output(&mut self) {
        if !self.is_welcome() {
            return;
        }
        while self.under_way < WINDOW
            && let Some(part) = self.line.pop_front()
        {
            let Some(held) = self.parts.get_mut(&part) else { continue };
            held.is_in_line = false;
            if let Some((offset, bytes)) = held.log.next(MAX_BYTES) {
                self.under_way += bytes.len() as u64;
                let frame = Bytes::Output { part, offset, bytes }.encode();
                if let Some(link) = &self.link {
                    drop(link.sender.send(Message::binary(frame)));
                }
            }
            if held.log.is_sent() {
                self.lagging.remove(&part);
            } else {
                held.is_in_line = true;
                self.line.push_back(part);
            }
        }
        if self.line.is_empty()
            && self.buffer.capacity() > 0
            && self.sandboxes.workers.values().all(|worker| worker.part.is_none())
        {
            // Nothing prints: an idle agent is small.
            self.buffer = Vec::new();
        }
    }

    /// The server has kept output of a part.
    pub(super) fn on_kept(&mut self, part: AllocationKey, length: u64, again: bool) {
        let Some(held) = self.parts.get_mut(&part) else { return };
        let mut settled = held.log.keep(length);
        if again {
            settled += held.log.rewind();
        }
        self.under_way = self.under_way.saturating_sub(settled);
        self.stand_in_line(part);
        if self.paused.contains(&part) {
            self.paused.remove(&part);
            self.read_output(part);
        }
    }

    /// Parts that have ended are off as soon as all their output was sent.
    pub(super) fn settle(&mut self) {
        let over = std::mem::take(&mut self.over);
        for part in over {
            let Some(held) = self.parts.get_mut(&part) else { continue };
            let Some(exit) = held.exit else { continue };
            if held.log.is_sent() {
                held.is_off = true;
                self.outbox.add(Event::Off { part, exit });
                continue;
            }
            if !held.is_exit_said {
                held.is_exit_said = true;
                self.outbox.add(Event::Exited { part, exit });
            }
            self.over.push(part);
        }
    }
}
