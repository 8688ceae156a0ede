//! A connection goes from one process of this machine to another, over a connection between the two.
//!
//! Bytes to an application on the server's own machine need not go through the agent: it gives the server the
//! connection itself and steps out. Each small request is then passed on once instead of twice, and wakes one
//! process less each way.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    SocketType, recvmsg, sendmsg, sockopt,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, Interest};
use tokio::net::UnixStream;

use crate::wire::{Bare, Wire};

/// Says that the other may give now. Before it, whoever has read the head of the connection might read too
/// far and lose what is given: handles belong to bytes.
const READY: u8 = b'r';
/// What a handle is sent with.
const GIVEN: u8 = b'g';

/// Gives a connection away. It waits until the other is ready.
pub async fn give(mut over: Wire, connection: UnixStream) -> io::Result<()> {
    if !over.is_local() {
        return Err(not_local());
    }
    if over.read_u8().await? != READY {
        return Err(unexpected("the other end is not ready to take a connection"));
    }
    let over = unix(over)?;
    let handles = [connection.as_fd()];
    over.async_io(Interest::WRITABLE, || {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !control.push(SendAncillaryMessage::ScmRights(&handles)) {
            return Err(unexpected("there is no room for a handle"));
        }
        Ok(sendmsg(&over, &[IoSlice::new(&[GIVEN])], &mut control, SendFlags::NOSIGNAL)?)
    })
    .await?;
    Ok(())
}

/// Takes a connection that the other end gives.
pub async fn take(over: Wire) -> io::Result<Wire> {
    let mut over = unix(over)?;
    over.write_u8(READY).await?;
    let taken = over
        .async_io(Interest::READABLE, || {
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
            let mut control = RecvAncillaryBuffer::new(&mut space);
            let mut byte = [0];
            let flags = RecvFlags::CMSG_CLOEXEC;
            let got = recvmsg(&over, &mut [IoSliceMut::new(&mut byte)], &mut control, flags)?;
            if got.bytes == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let handles = control.drain().filter_map(|message| match message {
                RecvAncillaryMessage::ScmRights(handles) => Some(handles),
                _ => None,
            });
            Ok(handles.flatten().next())
        })
        .await?;
    connection(taken.ok_or_else(|| unexpected("no connection came"))?)
}

/// A handle as a connection, if it is one: what comes from elsewhere may be anything.
fn connection(handle: OwnedFd) -> io::Result<Wire> {
    if sockopt::socket_type(&handle)? != SocketType::STREAM
        || sockopt::socket_domain(&handle)? != rustix::net::AddressFamily::UNIX
    {
        return Err(unexpected("what came is no connection of this machine"));
    }
    let stream = std::os::unix::net::UnixStream::from(handle);
    stream.set_nonblocking(true)?;
    UnixStream::from_std(stream).map(Wire::from)
}

fn unix(wire: Wire) -> io::Result<UnixStream> {
    match wire.bare() {
        Ok((Bare::Unix(stream), early)) if early.is_empty() => Ok(stream),
        Ok((Bare::Unix(_), _)) => Err(unexpected("more was said than expected")),
        _ => Err(not_local()),
    }
}

fn not_local() -> io::Error {
    unexpected("only a connection within this machine carries another")
}

fn unexpected(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> (UnixStream, UnixStream) {
        UnixStream::pair().unwrap()
    }

    #[tokio::test]
    async fn what_is_given_is_the_connection_itself() {
        let (mut application, given) = pair();
        let (agent, server) = pair();
        application.write_all(b"said before").await.unwrap();
        let (gave, taken) = tokio::join!(give(agent.into(), given), take(server.into()));
        gave.unwrap();
        let mut taken = taken.unwrap();
        taken.write_all(b"hello").await.unwrap();
        let mut heard = [0; 5];
        application.read_exact(&mut heard).await.unwrap();
        assert_eq!(&heard, b"hello");
        drop(application);
        let mut said = String::new();
        taken.read_to_string(&mut said).await.unwrap();
        assert_eq!(said, "said before");
    }

    #[tokio::test]
    async fn who_goes_away_leaves_nobody_waiting() {
        let (agent, server) = pair();
        drop(agent);
        assert!(take(server.into()).await.is_err());
        let (agent, server) = pair();
        drop(server);
        let (_application, given) = pair();
        assert!(give(agent.into(), given).await.is_err());
    }

    #[tokio::test]
    async fn bytes_without_a_connection_and_other_handles_are_refused() {
        let (mut agent, server) = pair();
        agent.write_all(b"x").await.unwrap();
        assert_eq!(take(server.into()).await.unwrap_err().to_string(), "no connection came");

        // A socket of another kind, in place of a connection.
        let (agent, server) = pair();
        let datagram = std::os::unix::net::UnixDatagram::unbound().unwrap();
        let disguised = std::os::unix::net::UnixStream::from(OwnedFd::from(datagram));
        disguised.set_nonblocking(true).unwrap();
        let disguised = UnixStream::from_std(disguised).unwrap();
        let (gave, taken) = tokio::join!(give(agent.into(), disguised), take(server.into()));
        gave.unwrap();
        assert_eq!(taken.unwrap_err().to_string(), "what came is no connection of this machine");
    }

    #[tokio::test]
    async fn nothing_is_given_over_a_connection_of_another_kind() {
        let (near, _far) = tokio::io::duplex(64);
        let (_application, given) = pair();
        assert!(give(Wire::other(near), given).await.is_err());
    }
}
