//! Network namespaces, and the link that leads out of one.

use std::fs::File;
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space};

use super::message::{ACK, Attributes, CREATE, EXCLUSIVE, Message, Netlink};

const NEW_LINK: u16 = 16;
const DELETE_LINK: u16 = 17;
const NEW_ADDRESS: u16 = 20;
const NEW_ROUTE: u16 = 24;
const DELETE_ROUTE: u16 = 25;
const INET: u8 = 2;
const UP: u32 = 1;
const IFLA_NAME: u16 = 3;
const IFLA_LINK_INFO: u16 = 18;
const IFLA_NAMESPACE: u16 = 28;

/// What the link is called inside.
pub const INSIDE: &str = "eth0";

/// A network namespace. It lives for as long as something holds it or runs in it, and takes its links along.
#[derive(Clone, Debug)]
pub struct Namespace(Arc<OwnedFd>);

impl AsFd for Namespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Namespace {
    /// Makes one in which nothing but loopback works.
    ///
    /// # Errors
    /// Where the kernel or the rights of this process do not allow it.
    pub fn new() -> io::Result<Self> {
        apart(|| {
            unshare(UnshareFlags::NEWNET)?;
            // Links that come later have no addresses of their own making; on loopback people expect both.
            forbid_ipv6("default");
            let netlink = Netlink::route()?;
            netlink.say(&[up(index("lo")?)])?;
            Self::current()
        })?
    }

    /// That of the calling thread.
    ///
    /// # Errors
    /// What the system says.
    pub fn current() -> io::Result<Self> {
        Ok(Self(Arc::new(File::open("/proc/thread-self/ns/net")?.into())))
    }

    /// Does something in there, on a thread of its own: sockets that are made and processes that are started
    /// stay in it.
    ///
    /// # Errors
    /// If it cannot be entered.
    pub fn within<T: Send>(&self, work: impl FnOnce() -> T + Send) -> io::Result<T> {
        apart(|| {
            move_into_link_name_space(self.as_fd(), Some(LinkNameSpaceType::Network))?;
            Ok(work())
        })?
    }

    /// Does something in there on the calling thread: processes that end with the thread that started them
    /// have to be started by one that stays.
    ///
    /// # Errors
    /// If it cannot be entered. If there is no way back this process ends, since it would go on in somebody
    /// else's network.
    pub fn briefly<T>(&self, work: impl FnOnce() -> T) -> io::Result<T> {
        let own = Self::current()?;
        move_into_link_name_space(self.as_fd(), Some(LinkNameSpaceType::Network))?;
        let done = work();
        if move_into_link_name_space(own.as_fd(), Some(LinkNameSpaceType::Network)).is_err() {
            std::process::abort();
        }
        Ok(done)
    }

    /// Leads a link from the calling thread's network into this one: `address` inside, `gateway` outside.
    ///
    /// # Errors
    /// Which includes that there is a link of that name already.
    pub fn connect(&self, name: &str, address: Ipv4Addr, gateway: Ipv4Addr) -> io::Result<()> {
        let netlink = Netlink::route()?;
        let peer =
            Attributes::default().text(IFLA_NAME, INSIDE).number(IFLA_NAMESPACE, self.0.as_raw_fd().cast_unsigned());
        let peer = [&link(0, 0)[..], peer.as_bytes()].concat();
        let info = Attributes::default().text(1, "veth").nest(2, &Attributes::default().bytes(1, &peer));
        let made = Message {
            kind: NEW_LINK,
            flags: ACK | CREATE | EXCLUSIVE,
            fixed: link(0, 0),
            attributes: Attributes::default().text(IFLA_NAME, name).nest(IFLA_LINK_INFO, &info),
        };
        netlink.say(&[made])?;
        let lead = || -> io::Result<()> {
            // Nothing of the machine answers there but what the firewall lets through, and that is IPv4.
            forbid_ipv6(name);
            let outside = index(name)?;
            netlink.say(&[address_of(outside, gateway, address), up(outside)])?;
            self.within(|| {
                let netlink = Netlink::route()?;
                let inside = index(INSIDE)?;
                netlink.say(&[address_of(inside, address, gateway), up(inside)])?;
                netlink.say(&[default_route(inside, gateway)])
            })?
        };
        lead().inspect_err(|_| drop(disconnect(name)))
    }
}

/// Removes a link of the calling thread's network. One that is not there is removed.
///
/// # Errors
/// What the system says.
pub fn disconnect(name: &str) -> io::Result<()> {
    let Ok(index) = index(name) else { return Ok(()) };
    let gone = Message { kind: DELETE_LINK, flags: ACK, fixed: link(index, 0), attributes: Attributes::default() };
    Netlink::route()?.say(&[gone])
}

/// The links of the calling thread's network whose names begin so.
pub fn links(prefix: &str) -> Vec<String> {
    let text = std::fs::read_to_string("/proc/thread-self/net/dev").unwrap_or_default();
    let names = text.lines().filter_map(|line| Some(line.split_once(':')?.0.trim()));
    names.filter(|name| name.starts_with(prefix)).map(str::to_owned).collect()
}

/// Marks a range of addresses as in use on this machine: a route that leads nowhere, beside those to single
/// addresses in it.
///
/// # Errors
/// Which includes that there is such a route already.
pub fn reserve(first: Ipv4Addr, length: u8) -> io::Result<()> {
    Netlink::route()?.say(&[reserved(NEW_ROUTE, ACK | CREATE | EXCLUSIVE, first, length)])
}

/// The range is free again. Again is fine.
///
/// # Errors
/// What the system says.
pub fn release(first: Ipv4Addr, length: u8) -> io::Result<()> {
    // ESRCH: there is no such route.
    const NO_ROUTE: i32 = 3;
    match Netlink::route()?.say(&[reserved(DELETE_ROUTE, ACK, first, length)]) {
        Err(error) if error.raw_os_error() != Some(NO_ROUTE) => Err(error),
        _ => Ok(()),
    }
}

fn reserved(kind: u16, flags: u16, first: Ipv4Addr, length: u8) -> Message {
    const MAIN: u8 = 254;
    const STATIC: u8 = 4;
    const BLACKHOLE: u8 = 6;
    Message {
        kind,
        flags,
        fixed: [&[INET, length, 0, 0, MAIN, STATIC, 0, BLACKHOLE][..], &[0; 4]].concat(),
        attributes: Attributes::default().bytes(1, &first.octets()),
    }
}

/// Does something on a thread of its own, which may leave the namespaces of this one.
fn apart<T: Send>(work: impl FnOnce() -> T + Send) -> io::Result<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("network".into()).stack_size(2 << 20);
        thread.spawn_scoped(scope, work)?.join().map_err(|_| io::Error::other("the thread of a network ended"))
    })
}

#[expect(
    deprecated,
    reason = "it is unsafe only to have other open files than other threads, which is not asked for here"
)]
fn unshare(what: UnshareFlags) -> rustix::io::Result<()> {
    rustix::thread::unshare(what)
}

/// Where there is no IPv6 there is nothing to forbid.
fn forbid_ipv6(link: &str) {
    let _ = std::fs::write(format!("/proc/sys/net/ipv6/conf/{link}/disable_ipv6"), "1");
}

fn index(name: &str) -> io::Result<u32> {
    let socket = rustix::net::socket_with(
        rustix::net::AddressFamily::INET,
        rustix::net::SocketType::DGRAM,
        rustix::net::SocketFlags::CLOEXEC,
        None,
    )?;
    Ok(rustix::net::netdevice::name_to_index(&socket, name)?)
}

fn link(index: u32, flags: u32) -> Vec<u8> {
    let head = [0_u8; 4];
    [&head[..], &index.to_ne_bytes(), &flags.to_ne_bytes(), &flags.to_ne_bytes()].concat()
}

fn up(index: u32) -> Message {
    Message { kind: NEW_LINK, flags: ACK, fixed: link(index, UP), attributes: Attributes::default() }
}

/// An address of a link with one neighbour at its other end.
fn address_of(index: u32, own: Ipv4Addr, neighbour: Ipv4Addr) -> Message {
    Message {
        kind: NEW_ADDRESS,
        flags: ACK | CREATE | EXCLUSIVE,
        fixed: [&[INET, 32, 0, 0][..], &index.to_ne_bytes()].concat(),
        attributes: Attributes::default().bytes(2, &own.octets()).bytes(1, &neighbour.octets()),
    }
}

fn default_route(index: u32, gateway: Ipv4Addr) -> Message {
    const MAIN: u8 = 254;
    const STATIC: u8 = 4;
    const UNICAST: u8 = 1;
    Message {
        kind: NEW_ROUTE,
        flags: ACK | CREATE | EXCLUSIVE,
        fixed: [&[INET, 0, 0, 0, MAIN, STATIC, 0, UNICAST][..], &[0; 4]].concat(),
        attributes: Attributes::default().bytes(5, &gateway.octets()).number(4, index),
    }
}
