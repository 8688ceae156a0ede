//! Netlink: how the kernel is asked for links, addresses, routes and rules. By hand, since the few messages
//! that networks of people need take less than a library for them, and since neither `ip` nor `nft` is
//! everywhere.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::net::netlink::{NETFILTER, SocketAddrNetlink};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};

pub const REQUEST: u16 = 1;
pub const ACK: u16 = 4;
pub const EXCLUSIVE: u16 = 0x200;
pub const CREATE: u16 = 0x400;
pub const APPEND: u16 = 0x800;

/// The kernel answers at once; whoever waits longer waits in vain.
const PATIENCE: Duration = Duration::from_secs(5);
/// Marks an attribute that holds others.
const NESTED: u16 = 0x8000;
/// The kind of message that carries an error, or none.
const ERROR: u16 = 2;
const HEAD: usize = 16;

/// Attributes, one after the other.
#[derive(Clone, Debug, Default)]
pub struct Attributes(Vec<u8>);

impl Attributes {
    pub fn bytes(mut self, kind: u16, value: &[u8]) -> Self {
        let length = u16::try_from(value.len() + 4).unwrap_or(u16::MAX);
        self.0.extend(length.to_ne_bytes());
        self.0.extend(kind.to_ne_bytes());
        self.0.extend(value);
        self.0.resize(self.0.len().next_multiple_of(4), 0);
        self
    }

    pub fn text(self, kind: u16, value: &str) -> Self {
        self.bytes(kind, &[value.as_bytes(), &[0]].concat())
    }

    pub fn number(self, kind: u16, value: u32) -> Self {
        self.bytes(kind, &value.to_ne_bytes())
    }

    /// As the firewall writes numbers.
    pub fn big(self, kind: u16, value: u32) -> Self {
        self.bytes(kind, &value.to_be_bytes())
    }

    pub fn nest(self, kind: u16, inner: &Self) -> Self {
        self.bytes(kind | NESTED, &inner.0)
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// A message without its length and number.
pub struct Message {
    pub kind: u16,
    pub flags: u16,
    /// What comes before the attributes.
    pub fixed: Vec<u8>,
    pub attributes: Attributes,
}

impl Message {
    fn write(&self, number: u32, to: &mut Vec<u8>) {
        let length = HEAD + self.fixed.len() + self.attributes.0.len();
        to.extend(u32::try_from(length).unwrap_or(u32::MAX).to_ne_bytes());
        to.extend(self.kind.to_ne_bytes());
        to.extend((self.flags | REQUEST).to_ne_bytes());
        to.extend(number.to_ne_bytes());
        to.extend([0; 4]);
        to.extend(&self.fixed);
        to.extend(self.attributes.as_bytes());
    }
}

/// A conversation with the kernel, about the network of the thread that began it.
pub struct Netlink(OwnedFd);

impl Netlink {
    /// About links, addresses and routes.
    pub fn route() -> io::Result<Self> {
        Self::open(None)
    }

    /// About the firewall.
    pub fn firewall() -> io::Result<Self> {
        Self::open(Some(NETFILTER))
    }

    fn open(protocol: Option<rustix::net::Protocol>) -> io::Result<Self> {
        let socket = rustix::net::socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, protocol)?;
        rustix::net::bind(&socket, &SocketAddrNetlink::new(0, 0))?;
        set_socket_timeout(&socket, Timeout::Recv, Some(PATIENCE))?;
        Ok(Self(socket))
    }

    /// Says these together and waits until each that asks for an answer has one. The first that is refused
    /// says why.
    pub fn say(&self, messages: &[Message]) -> io::Result<()> {
        let mut bytes = Vec::new();
        let mut waiting = 0;
        for (number, message) in (1..).zip(messages) {
            message.write(number, &mut bytes);
            waiting += usize::from(message.flags & ACK != 0);
        }
        rustix::net::send(&self.0, &bytes, SendFlags::empty())?;
        let mut answer = vec![0; 64 << 10];
        while waiting > 0 {
            let (got, _) =
                rustix::io::retry_on_intr(|| rustix::net::recv(&self.0, answer.as_mut_slice(), RecvFlags::empty()))?;
            let mut rest = &answer[..got];
            while let Some((kind, body, after)) = next(rest) {
                rest = after;
                if kind == ERROR {
                    match body.first_chunk::<4>().map_or(0, |code| i32::from_ne_bytes(*code)) {
                        0 => waiting = waiting.saturating_sub(1),
                        code => return Err(io::Error::from_raw_os_error(-code)),
                    }
                }
            }
        }
        Ok(())
    }
}

/// The first message of an answer: its kind, its body, and what comes after it.
fn next(bytes: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let length = u32::from_ne_bytes(*bytes.first_chunk::<4>()?) as usize;
    let kind = u16::from_ne_bytes([*bytes.get(4)?, *bytes.get(5)?]);
    let body = bytes.get(HEAD..length)?;
    Some((kind, body, bytes.get(length.next_multiple_of(4)..).unwrap_or_default()))
}
