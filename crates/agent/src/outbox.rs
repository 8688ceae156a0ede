//! Events that the server has not heard yet.

use std::collections::VecDeque;

use atelier_domain::world::AllocationKey;
use atelier_protocol::{Event, Numbered};

/// The most events in one message.
const MAX_EVENTS: usize = 1_024;

/// Events that the server has not heard yet, in order.
#[derive(Debug, Default)]
pub struct Outbox {
    /// Said at least once, so they have numbers.
    said: VecDeque<Numbered>,
    /// Not said yet. What is overtaken before it was said is left out.
    fresh: Vec<Event>,
    last: u64,
}

impl Outbox {
    pub fn add(&mut self, event: Event) {
        if let Event::Off { part, .. } | Event::Refused { part, .. } = &event {
            let part = *part;
            self.fresh
                .retain(|fresh| !matches!(fresh, Event::Started(of) | Event::Exited { part: of, .. } if *of == part));
        }
        self.fresh.push(event);
    }

    /// Gives fresh events their numbers and returns them, in pieces that fit into a message.
    pub fn number(&mut self) -> Vec<Vec<Numbered>> {
        let mut messages = Vec::new();
        let mut fresh = std::mem::take(&mut self.fresh).into_iter().peekable();
        while fresh.peek().is_some() {
            let message: Vec<Numbered> = fresh
                .by_ref()
                .take(MAX_EVENTS)
                .map(|event| {
                    self.last += 1;
                    Numbered { number: self.last, event }
                })
                .collect();
            self.said.extend(message.iter().cloned());
            messages.push(message);
        }
        messages
    }

    /// The server has heard up to this one. Returns the parts of which it thereby knows that nothing is left.
    pub fn heard(&mut self, number: u64) -> Vec<AllocationKey> {
        let mut off = Vec::new();
        while self.said.front().is_some_and(|first| first.number <= number) {
            if let Some(Numbered { event: Event::Off { part, .. } | Event::Refused { part, .. }, .. }) =
                self.said.pop_front()
            {
                off.push(part);
            }
        }
        // An agent that was started anew goes on where the one before it ended.
        self.last = self.last.max(number);
        off
    }

    /// What was said and not heard, to be said again.
    pub fn again(&self) -> Vec<Vec<Numbered>> {
        let said: Vec<Numbered> = self.said.iter().cloned().collect();
        said.chunks(MAX_EVENTS).map(<[Numbered]>::to_vec).collect()
    }

    /// Whether the server has heard everything.
    pub fn is_empty(&self) -> bool {
        self.said.is_empty() && self.fresh.is_empty()
    }

    /// Whether there is something that was never said.
    pub fn has_fresh(&self) -> bool {
        !self.fresh.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use atelier_domain::compute::{JobId, NodeId};
    use atelier_domain::world::Exit;

    use super::*;

    fn part(job: u64) -> AllocationKey {
        AllocationKey { job: JobId(job), attempt: 1, node: NodeId(1) }
    }

    fn off(job: u64) -> Event {
        Event::Off { part: part(job), exit: Exit::Code(0) }
    }

    #[test]
    fn what_is_overtaken_is_never_said() {
        let mut outbox = Outbox::default();
        outbox.add(Event::Started(part(1)));
        outbox.add(Event::Started(part(2)));
        outbox.add(off(1));
        let said = outbox.number().concat();
        assert_eq!(said.iter().map(|event| event.number).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(said[0].event, Event::Started(part(2)));
        assert_eq!(said[1].event, off(1));
    }

    #[test]
    fn what_was_not_heard_is_said_again_with_the_same_numbers() {
        let mut outbox = Outbox::default();
        outbox.add(off(1));
        outbox.add(off(2));
        let said = outbox.number();
        assert_eq!(outbox.again(), said);
        assert_eq!(outbox.heard(1), [part(1)]);
        assert_eq!(outbox.heard(1), []);
        assert_eq!(outbox.again().concat(), [said[0][1].clone()]);
        assert_eq!(outbox.heard(9), [part(2)]);
        outbox.add(off(3));
        assert_eq!(outbox.number()[0][0].number, 10);
    }
}
