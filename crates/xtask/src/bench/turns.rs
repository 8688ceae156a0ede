//! Two programs measured in one run, part by part, so that a machine that gets slower or busier hits both.
//!
//! Each is measured on a thread of its own, and only one of the threads has its turn. After each part the one
//! that is ahead waits for the other, which goes on with its next part once it has caught up: this, before,
//! before, this, …

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::failure::{Failure, Result};
use crate::progress::announce;

/// Which of the two programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    This,
    Before,
}

impl Side {
    const fn other(self) -> Self {
        match self {
            Self::This => Self::Before,
            Self::Before => Self::This,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::This => "This tree:",
            Self::Before => "Before:",
        }
    }
}

#[derive(Debug)]
struct State {
    has_turn: Side,
    /// How many parts each has finished, this tree's first.
    finished: [u64; 2],
    ended: [bool; 2],
    /// The first that failed.
    failed: Option<Side>,
}

/// What the two threads share.
#[derive(Debug)]
struct Table {
    state: Mutex<State>,
    changed: Condvar,
}

impl Table {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One program's seat at the table. Alone there it never waits.
#[derive(Debug)]
pub struct Turn<'a>(Option<(&'a Table, Side)>);

impl Turn<'_> {
    pub const fn alone() -> Self {
        Self(None)
    }

    /// Ends a part of the measurement: the other program is measured until it's as far.
    pub fn pass(&self) -> Result<()> {
        let Some((table, side)) = self.0 else { return Ok(()) };
        let mut state = table.state();
        state.finished[side as usize] += 1;
        let is_ahead = state.finished[side as usize] > state.finished[side.other() as usize];
        if is_ahead && !state.ended[side.other() as usize] {
            state.has_turn = side.other();
            table.changed.notify_all();
        }
        drop(state);
        self.wait()
    }

    fn wait(&self) -> Result<()> {
        let Some((table, side)) = self.0 else { return Ok(()) };
        let mut state = table.state();
        let has_waited = state.has_turn != side;
        while state.has_turn != side && state.failed.is_none() {
            state = table.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.failed.is_some() {
            return Err(Failure::new("the other program couldn't be measured"));
        }
        if has_waited {
            announce(side.name());
        }
        Ok(())
    }

    fn run<T>(&self, measure: impl FnOnce(&Self) -> Result<T>) -> Result<T> {
        // Also after a panic, so that the other one doesn't wait forever.
        let mut end = End { turn: self, has_succeeded: false };
        self.wait()?;
        let outcome = measure(self);
        end.has_succeeded = outcome.is_ok();
        outcome
    }
}

struct End<'a> {
    turn: &'a Turn<'a>,
    has_succeeded: bool,
}

impl Drop for End<'_> {
    fn drop(&mut self) {
        let Some((table, side)) = self.turn.0 else { return };
        let mut state = table.state();
        state.ended[side as usize] = true;
        if !self.has_succeeded {
            state.failed.get_or_insert(side);
        }
        state.has_turn = side.other();
        table.changed.notify_all();
    }
}

/// Measures both programs in turn. The first failure is the one that is told.
pub fn in_turn<A, B: Send>(
    this: impl FnOnce(&Turn<'_>) -> Result<A>,
    before: impl FnOnce(&Turn<'_>) -> Result<B> + Send,
) -> Result<(A, B)> {
    let state = State { has_turn: Side::This, finished: [0; 2], ended: [false; 2], failed: None };
    let table = Table { state: Mutex::new(state), changed: Condvar::new() };
    announce(Side::This.name());
    let (this, before) = thread::scope(|scope| {
        let before = scope.spawn(|| Turn(Some((&table, Side::Before))).run(before));
        let this = Turn(Some((&table, Side::This))).run(this);
        (this, before.join())
    });
    let before = before.map_err(|_| Failure::new("the thread that measured the program before panicked"))?;
    // If one has failed, the other one was stopped, which nobody needs to read.
    if table.state().failed == Some(Side::Before) {
        before.map_err(|failure| Failure::new(format!("the program before can't be measured: {failure}")))?;
        return Err(Failure::new("the program before can't be measured"));
    }
    Ok((this?, before?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs as many parts on each side and gives the order in which they ran.
    fn order(this: usize, before: usize) -> String {
        let parts = Mutex::new(String::new());
        let run = |count: usize, name: char| {
            let parts = &parts;
            move |turn: &Turn<'_>| {
                for _ in 0..count {
                    parts.lock().expect("nobody panics").push(name);
                    turn.pass()?;
                }
                Ok(())
            }
        };
        in_turn(run(this, 'T'), run(before, 'B')).expect("neither fails");
        parts.into_inner().expect("nobody panics")
    }

    #[test]
    fn parts_alternate_and_no_side_is_always_first() {
        assert_eq!(order(4, 4), "TBBTTBBT");
    }

    #[test]
    fn the_side_with_more_parts_goes_on_alone() {
        assert_eq!(order(4, 1), "TBTTT");
        assert_eq!(order(1, 4), "TBBBB");
    }

    #[test]
    fn a_failure_stops_the_other_side_and_says_which_program_it_was() {
        let endless = |turn: &Turn<'_>| -> Result<()> {
            loop {
                turn.pass()?;
            }
        };
        let broken = |_: &Turn<'_>| -> Result<()> { Err(Failure::new("no such route")) };
        let failure = in_turn(endless, broken).expect_err("one side fails");
        assert_eq!(failure.to_string(), "the program before can't be measured: no such route");
        let failure = in_turn(broken, endless).expect_err("one side fails");
        assert_eq!(failure.to_string(), "no such route");
    }

    #[test]
    fn alone_there_is_nobody_to_wait_for() {
        Turn::alone().pass().expect("it goes on");
    }
}
