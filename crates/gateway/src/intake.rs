//! What a client has sent and nobody has taken yet.
//!
//! The library gives a client more window as soon as its data has come, not when somebody has taken it. It
//! asks, though, how large the next window shall be ([`Intake::window`]): while too much lies here, the
//! answer is two bytes, so that the client sends next to nothing and is asked about again with each of its
//! small packets. Reading goes on all the while.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// A client may have so much on its way in a channel at first. The library takes up to twice as much while
/// keys are exchanged anew.
pub const WINDOW: u32 = 512 << 10;
/// And so much once it sends, while it uses few channels: a little less than twice the first, for what
/// packets are wrapped in.
const WIDER: u32 = 960 << 10;
/// With more channels than this windows stay as they were at first.
const FEW: usize = 2;
/// While more than this lies here, clients are held back.
const ENOUGH: usize = 1 << 20;
/// The smallest window that is asked about again.
const TRICKLE: u32 = 2;
/// More than this no client can have sent that keeps to its windows: 64 channels with the first one, two of
/// them with a wider one, what lay here before it was held back, and some room to spare.
const MOST: usize = 40 << 20;
/// More than this never lies here of all connections together without ending those that are held back.
const MOST_OF_ALL: usize = 512 << 20;

/// What lies here of all connections.
pub type Everybodys = Arc<AtomicUsize>;

/// What lies here of all channels of a connection.
#[derive(Debug, Default)]
pub struct Intake {
    held: AtomicUsize,
    channels: AtomicUsize,
    all: Everybodys,
}

impl Intake {
    /// Of one connection among others.
    pub fn among(all: Everybodys) -> Self {
        Self { all, ..Self::default() }
    }

    /// The window that the library shall give next.
    pub fn window(&self) -> u32 {
        if self.is_full() {
            TRICKLE
        } else if self.channels.load(Ordering::Relaxed) <= FEW {
            WIDER
        } else {
            WINDOW
        }
    }

    /// Whether the client is to be held back.
    pub fn is_full(&self) -> bool {
        self.held.load(Ordering::Relaxed) > ENOUGH
    }

    /// Whether more lies here than may: of this client, or of all while this one is among those that cause
    /// it.
    pub fn is_flooded(&self) -> bool {
        self.held.load(Ordering::Relaxed) > MOST || (self.is_full() && self.all.load(Ordering::Relaxed) > MOST_OF_ALL)
    }

    fn add(&self, bytes: usize) {
        self.held.fetch_add(bytes, Ordering::Relaxed);
        self.all.fetch_add(bytes, Ordering::Relaxed);
    }

    fn remove(&self, bytes: usize) {
        self.held.fetch_sub(bytes, Ordering::Relaxed);
        self.all.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// A place for what one channel gets.
    pub fn inbox(self: &Arc<Self>) -> Arc<Inbox> {
        self.channels.fetch_add(1, Ordering::Relaxed);
        Arc::new(Inbox { intake: Arc::clone(self), waiting: Mutex::default(), come: Notify::new() })
    }
}

/// What lies here of one channel.
#[derive(Debug)]
pub struct Inbox {
    intake: Arc<Intake>,
    waiting: Mutex<Waiting>,
    come: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    bytes: Vec<u8>,
    is_over: bool,
}

impl Drop for Inbox {
    fn drop(&mut self) {
        let left = self.lock().bytes.len();
        self.intake.remove(left);
        self.intake.channels.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Inbox {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn add(&self, bytes: &[u8]) {
        let mut waiting = self.lock();
        if waiting.is_over {
            return;
        }
        waiting.bytes.extend_from_slice(bytes);
        self.intake.add(bytes.len());
        self.come.notify_one();
    }

    pub fn end(&self) {
        self.lock().is_over = true;
        self.come.notify_one();
    }

    /// Nobody will take anything any more: what lies here goes, and what still comes with it.
    pub fn close(&self) {
        let mut waiting = self.lock();
        let left = std::mem::take(&mut waiting.bytes);
        self.intake.remove(left.len());
        waiting.is_over = true;
    }

    /// What has come, at most so much; waits for it. Nothing once there is no more. Whatever is taken is no
    /// longer held.
    pub async fn take(&self, most: usize) -> Option<Vec<u8>> {
        loop {
            {
                let mut waiting = self.lock();
                if !waiting.bytes.is_empty() {
                    let taken = if waiting.bytes.len() <= most {
                        std::mem::take(&mut waiting.bytes)
                    } else {
                        let rest = waiting.bytes.split_off(most);
                        std::mem::replace(&mut waiting.bytes, rest)
                    };
                    self.intake.remove(taken.len());
                    return Some(taken);
                }
                if waiting.is_over {
                    return None;
                }
            }
            self.come.notified().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_comes_is_taken_in_order_and_counted() {
        let intake = Arc::new(Intake::default());
        let inbox = intake.inbox();
        inbox.add(b"one ");
        inbox.add(b"two");
        assert_eq!(inbox.take(5).await.as_deref(), Some(&b"one t"[..]));
        assert_eq!(inbox.take(5).await.as_deref(), Some(&b"wo"[..]));
        inbox.add(b"last");
        inbox.end();
        inbox.add(b"too late");
        assert_eq!(inbox.take(99).await.as_deref(), Some(&b"last"[..]));
        assert_eq!(inbox.take(99).await, None);
    }

    #[tokio::test]
    async fn a_client_is_held_back_while_too_much_lies_here_and_not_for_longer() {
        let intake = Arc::new(Intake::default());
        let (one, other) = (intake.inbox(), intake.inbox());
        assert_eq!(intake.window(), WIDER);
        one.add(&vec![0; ENOUGH]);
        other.add(&[0; 1]);
        assert_eq!(intake.window(), TRICKLE);
        drop(other.take(1).await);
        assert_eq!(intake.window(), WIDER);
        let third = intake.inbox();
        assert_eq!(intake.window(), WINDOW, "many channels have small windows");
        drop(third);
        one.add(&vec![0; MOST]);
        assert!(intake.is_flooded(), "whatever the number of channels");
        other.add(b"left");
        other.close();
        other.add(b"late");
        assert_eq!(other.take(9).await, None);
        drop(one);
        assert!(!intake.is_full() && !intake.is_flooded(), "what nobody will take is not held");
    }

    #[test]
    fn of_all_connections_together_there_is_a_limit_too() {
        let all = Everybodys::default();
        let (mut one, mut other) = (Intake::among(Arc::clone(&all)), Intake::among(Arc::clone(&all)));
        one.add(ENOUGH + 1);
        other.add(ENOUGH);
        assert!(!one.is_flooded());
        all.fetch_add(MOST_OF_ALL, Ordering::Relaxed);
        assert!(one.is_flooded() && !other.is_flooded(), "only who is held back is to blame");
        one.remove(ENOUGH + 1);
        other.remove(ENOUGH);
        assert_eq!((*one.held.get_mut(), *other.held.get_mut(), all.load(Ordering::Relaxed)), (0, 0, MOST_OF_ALL));
    }

    #[test]
    fn a_client_that_keeps_to_its_windows_is_never_cut_off() {
        let (first, wider) = (WINDOW as usize, WIDER as usize);
        let most = ENOUGH + crate::handler::MOST_CHANNELS * first + (FEW + 1) * wider;
        assert!(most < MOST, "{most}");
        // The library allows twice the first window while it waits for the client's half of a new exchange of
        // keys.
        assert!(wider + (wider >> 6) <= 2 * first);
    }
}
