//! Two connections become one.

use std::cell::RefCell;
use std::io;

use crate::farewell::Written;
use crate::wire::{Bare, Wire};

/// As much as is read at once, large enough that one large download costs few calls.
const PIECE: usize = 128 << 10;
/// After so many pieces others have their turn.
const TURNS: u32 = 8;

thread_local! {
    /// What is on its way from one connection to the other, within one call: connections that are quiet hold
    /// no buffer, and those that are not need no new one each time.
    static PASSING: RefCell<Vec<u8>> = RefCell::new(vec![0; PIECE]);
}

/// Carries bytes both ways until both ends have said all, or one of them is broken. Says how many went each
/// way.
pub async fn join(one: Wire, other: Wire) -> io::Result<(u64, u64)> {
    let (mut one, mut other) = match (one.bare(), other.bare()) {
        (Ok((one, forth)), Ok((other, back))) => {
            return tokio::try_join!(carry(&one, &other, forth, None), carry(&other, &one, back, None));
        }
        (one, other) => (again(one), again(other)),
    };
    tokio::io::copy_bidirectional(&mut one, &mut other).await
}

pub(crate) fn again(wire: Result<(Bare, Vec<u8>), Wire>) -> Wire {
    wire.map_or_else(|other| other, |(bare, early)| Wire::from(bare).with_early(&early))
}

/// Carries bytes one way until there are no more, then says so at the other end.
pub(crate) async fn carry(from: &Bare, to: &Bare, early: Vec<u8>, written: Option<&Written>) -> io::Result<u64> {
    write_all(to, &early, written).await?;
    let mut carried = early.len() as u64;
    drop(early);
    loop {
        from.readable().await?;
        for turn in 1.. {
            // Others have their turn too, however quick both ends of this one are.
            if turn % TURNS == 0 {
                tokio::task::yield_now().await;
            }
            match pass(from, to, written)? {
                Passed::Nothing => break,
                Passed::All(length) => carried += length as u64,
                Passed::Part(length, rest) => {
                    carried += length as u64;
                    write_all(to, &rest, written).await?;
                }
                Passed::End => {
                    to.hang_up();
                    return Ok(carried);
                }
            }
        }
    }
}

/// What one call has carried.
enum Passed {
    Nothing,
    /// So much, and all of it is written.
    All(usize),
    /// So much, of which the rest could not be written yet.
    Part(usize, Vec<u8>),
    /// There will be no more.
    End,
}

/// Carries what is there, without waiting.
fn pass(from: &Bare, to: &Bare, noted: Option<&Written>) -> io::Result<Passed> {
    PASSING.with_borrow_mut(|piece| {
        let length = match unless_it_would_block(|| from.try_read(piece))? {
            None => return Ok(Passed::Nothing),
            Some(0) => return Ok(Passed::End),
            Some(length) => length,
        };
        let mut written = 0;
        while written < length {
            match unless_it_would_block(|| to.try_write(&piece[written..length]))? {
                None => return Ok(Passed::Part(length, piece[written..length].to_vec())),
                Some(0) => return Err(io::ErrorKind::WriteZero.into()),
                Some(more) => {
                    note(noted, &piece[written..written + more]);
                    written += more;
                }
            }
        }
        Ok(Passed::All(length))
    })
}

fn unless_it_would_block(mut call: impl FnMut() -> io::Result<usize>) -> io::Result<Option<usize>> {
    loop {
        match call() {
            Ok(length) => return Ok(Some(length)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

pub(crate) async fn write_all(to: &Bare, mut bytes: &[u8], written: Option<&Written>) -> io::Result<()> {
    while !bytes.is_empty() {
        match unless_it_would_block(|| to.try_write(bytes))? {
            Some(0) => return Err(io::ErrorKind::WriteZero.into()),
            Some(length) => {
                note(written, &bytes[..length]);
                bytes = &bytes[length..];
            }
            None => to.writable().await?,
        }
    }
    Ok(())
}

fn note(written: Option<&Written>, bytes: &[u8]) {
    if let Some(written) = written {
        written.pass(bytes);
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::UnixStream;

    use super::*;

    fn pair() -> (UnixStream, Wire) {
        let (near, far) = UnixStream::pair().unwrap();
        (near, far.into())
    }

    #[tokio::test]
    async fn everything_arrives_both_ways_and_ends_follow() {
        let (mut left, one) = pair();
        let (mut right, other) = pair();
        let joined = tokio::spawn(join(one, other));
        let large: Vec<u8> = (0..5_000_000u32).map(|number| number.to_le_bytes()[0]).collect();
        let sent = large.clone();
        let sending = tokio::spawn(async move {
            left.write_all(&sent).await.unwrap();
            left.shutdown().await.unwrap();
            // The other direction is open still.
            let mut answer = Vec::new();
            left.read_to_end(&mut answer).await.unwrap();
            answer
        });
        let mut arrived = Vec::new();
        right.read_to_end(&mut arrived).await.unwrap();
        assert!(arrived == large);
        right.write_all(b"thanks").await.unwrap();
        drop(right);
        assert_eq!(sending.await.unwrap(), b"thanks");
        assert_eq!(joined.await.unwrap().unwrap(), (5_000_000, 6));
    }

    #[tokio::test]
    async fn a_connection_of_another_kind_is_carried_too() {
        let (near, far) = tokio::io::duplex(64);
        let (mut right, other) = pair();
        let joined = tokio::spawn(join(Wire::other(far), other));
        let (mut read, mut write) = tokio::io::split(near);
        write.write_all(&[7; 10_000]).await.unwrap();
        let mut arrived = vec![0; 10_000];
        right.read_exact(&mut arrived).await.unwrap();
        right.write_all(b"back").await.unwrap();
        let mut answer = [0; 4];
        read.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"back");
        write.shutdown().await.unwrap();
        drop(right);
        joined.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn what_was_read_too_early_comes_first() {
        let (mut left, one) = pair();
        let (mut right, other) = pair();
        let joined = tokio::spawn(join(one.with_early(b"early "), other));
        left.write_all(b"late").await.unwrap();
        drop(left);
        let mut arrived = String::new();
        right.read_to_string(&mut arrived).await.unwrap();
        assert_eq!(arrived, "early late");
        drop(right);
        assert_eq!(joined.await.unwrap().unwrap(), (10, 0));
    }

    #[tokio::test]
    async fn a_broken_end_ends_the_other() {
        let (left, one) = pair();
        let (mut right, other) = pair();
        let joined = tokio::spawn(join(one, other));
        drop(left);
        let mut rest = Vec::new();
        right.read_to_end(&mut rest).await.unwrap();
        right.write_all(b"nobody hears this").await.ok();
        drop(right);
        drop(joined.await.unwrap());
    }
}
