//! A network of one's own for each person on this node: everything of theirs runs in it, and nothing of
//! anybody else is in it. On its loopback the agent serves what everybody needs: the server, names, and the
//! way out where no link leads there. These ports are below 1024, so nobody inside can take them.

mod dns;
mod leases;
mod proxy;

use std::collections::HashMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::Duration;

use atelier_confine::net::{Firewall, Namespace, disconnect};
use atelier_domain::UserId;
use atelier_domain::network::{Egress, Separation};
use atelier_pipe::{Wire, join};
use atelier_protocol::{NetworkConfig, Start};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::task::AbortHandle;

use self::leases::Leases;
use crate::config::AgentConfig;
use crate::link;

/// Where programs find the server in a network of their own.
const SERVER: u16 = 80;
const NAMES: u16 = 53;
/// The way out by HTTP.
const PROXY: u16 = 880;
/// So many connections to each of these are carried at once for one network.
const MOST: usize = 256;
/// How long a proxy may take to answer.
const PATIENCE: Duration = Duration::from_secs(20);

/// Somebody's network on this node. It ends with the last sandbox that is in it.
#[derive(Debug)]
pub struct Network {
    namespace: Namespace,
    serving: Vec<AbortHandle>,
    /// What the firewall knows of it.
    admitted: Option<(Firewall, Ipv4Addr, u32)>,
}

impl Network {
    pub const fn namespace(&self) -> &Namespace {
        &self.namespace
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        self.serving.iter().for_each(AbortHandle::abort);
        if let Some((firewall, address, person)) = &self.admitted
            && let Err(error) = firewall.dismiss(*address, *person)
        {
            tracing::warn!(%error, %address, "the firewall still knows a network that has ended");
        }
    }
}

/// The networks of this node.
#[derive(Debug)]
pub struct Networks {
    config: AgentConfig,
    network: NetworkConfig,
    firewall: Firewall,
    leases: Leases,
    known: HashMap<UserId, Weak<Network>>,
}

impl Networks {
    /// Nothing where all share the machine's.
    pub fn new(config: &AgentConfig) -> Option<Self> {
        let network = config.network.clone().filter(|network| network.separation != Separation::Shared)?;
        let firewall = Firewall::of(&config.installation);
        let leases = Leases::new(network.folder.clone());
        Some(Self { config: config.clone(), network, firewall, leases, known: HashMap::new() })
    }

    /// That of an owner, made if it is not there. Only what has the user of a person is joined to their other
    /// networks.
    pub fn of(&mut self, owner: &UserId, person: Option<u32>) -> io::Result<Arc<Network>> {
        if let Some(known) = self.known.get(owner).and_then(Weak::upgrade) {
            return Ok(known);
        }
        self.known.retain(|_, network| network.strong_count() > 0);
        let network = Arc::new(self.open(owner, person)?);
        self.known.insert(owner.clone(), Arc::downgrade(&network));
        Ok(network)
    }

    fn open(&self, owner: &UserId, person: Option<u32>) -> io::Result<Network> {
        let namespace = Namespace::new()?;
        let mut network = Network { namespace, serving: Vec::new(), admitted: None };
        if self.network.separation == Separation::Joined {
            let range = self.network.range;
            let number = self.leases.number(range, self.config.node, owner)?;
            let (name, address) = (self.firewall.link(number), range.address(number));
            let connect = || network.namespace.connect(&name, address, range.gateway());
            let connected = match connect() {
                // That of a network that has ended may still be there for a moment.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    disconnect(&name).and_then(|()| connect())
                }
                other => other,
            };
            connected?;
            if let Some(person) = person {
                self.firewall.admit(address, person)?;
                network.admitted = Some((self.firewall.clone(), address, person));
            }
        }
        self.serve(&mut network)?;
        Ok(network)
    }

    fn serve(&self, network: &mut Network) -> io::Result<()> {
        let place = |port: u16| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let listen = |port: u16| -> io::Result<tokio::net::TcpListener> {
            let listener = network.namespace.within(|| TcpListener::bind(place(port)))??;
            listener.set_nonblocking(true)?;
            tokio::net::TcpListener::from_std(listener)
        };
        let api = self.network.api.clone();
        let to_server = move |stream: TcpStream| {
            let api = api.clone();
            async move {
                if let Ok(server) = link::unix(&api).await {
                    drop(join(Wire::from(stream), Wire::from(server)).await);
                }
            }
        };
        let mut serving = vec![tokio::spawn(serve(listen(SERVER)?, to_server)).abort_handle()];
        match &self.network.egress {
            Egress::Open => {
                let socket = network.namespace.within(|| UdpSocket::bind(place(NAMES)))??;
                socket.set_nonblocking(true)?;
                let socket = tokio::net::UdpSocket::from_std(socket)?;
                serving.push(tokio::spawn(dns::answer(socket)).abort_handle());
                serving.push(tokio::spawn(dns::answer_at_length(listen(NAMES)?)).abort_handle());
                if self.network.separation == Separation::Alone {
                    let own = self.network.range;
                    let carry = move |stream| proxy::carry(stream, own);
                    serving.push(tokio::spawn(serve(listen(PROXY)?, carry)).abort_handle());
                }
            }
            Egress::Proxy(proxy) => {
                let proxy = proxy.clone();
                let carry = move |stream: TcpStream| {
                    let proxy = proxy.clone();
                    async move {
                        if let Ok(Ok(to)) = tokio::time::timeout(PATIENCE, TcpStream::connect(&proxy)).await {
                            drop(join(Wire::from(stream), Wire::from(to)).await);
                        }
                    }
                };
                serving.push(tokio::spawn(serve(listen(PROXY)?, carry)).abort_handle());
            }
            Egress::None => {}
        }
        network.serving = serving;
        Ok(())
    }

    /// Names the nodes of a job on several by their addresses in its owner's networks.
    pub fn name_peers(&self, start: &mut Start) {
        if start.peers.len() < 2 || self.network.separation != Separation::Joined {
            return;
        }
        for peer in start.peers.iter_mut().filter(|peer| peer.host == self.config.host) {
            match self.leases.number(self.network.range, peer.node, &start.person.id) {
                Ok(number) => peer.host = self.network.range.address(number).to_string(),
                Err(error) => tracing::warn!(%error, "a node of a job has no address"),
            }
        }
    }
}

/// Carries each connection, as many as there is room for at once.
async fn serve<F: Future<Output = ()> + Send + 'static>(
    listener: tokio::net::TcpListener,
    carry: impl Fn(TcpStream) -> F,
) {
    let room = Arc::new(Semaphore::new(MOST));
    while let Ok(permit) = Arc::clone(&room).acquire_owned().await {
        match listener.accept().await {
            Ok((stream, _)) => {
                let _ = stream.set_nodelay(true);
                let carried = carry(stream);
                tokio::spawn(async move {
                    carried.await;
                    drop(permit);
                });
            }
            // Where there are too many open files, the next one may find room.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

/// Where programs find the server, if not where it says that it is.
pub fn url(config: &AgentConfig) -> Option<String> {
    let is_own = config.network.as_ref().is_some_and(|network| network.separation != Separation::Shared);
    is_own.then(|| format!("http://127.0.0.1:{SERVER}"))
}

/// What leads programs out where no link does.
pub fn variables(config: &AgentConfig) -> Vec<(String, String)> {
    let Some(network) = &config.network else { return Vec::new() };
    let is_proxied = match (&network.egress, network.separation) {
        (_, Separation::Shared) | (Egress::None, _) | (Egress::Open, Separation::Joined) => false,
        (Egress::Proxy(_), _) | (Egress::Open, Separation::Alone) => true,
    };
    if !is_proxied {
        return Vec::new();
    }
    let proxy = format!("http://127.0.0.1:{PROXY}");
    let none = "127.0.0.1,localhost,::1";
    let both = |name: &str, value: &str| [(name.to_owned(), value.to_owned()), (name.to_uppercase(), value.to_owned())];
    [both("http_proxy", &proxy), both("https_proxy", &proxy), both("no_proxy", none)].into_iter().flatten().collect()
}

/// Writes what says where names are looked up inside; nothing where that is as on the machine.
pub fn names(config: &AgentConfig) -> Option<PathBuf> {
    config.network.as_ref().filter(|network| network.separation != Separation::Shared)?;
    let file = config.folder.join("resolv.conf");
    if let Err(error) = std::fs::write(&file, dns::settings()) {
        tracing::warn!(%error, "where names are looked up cannot be written");
        return None;
    }
    Some(file)
}
