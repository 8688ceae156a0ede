//! Networks of people's own, on a machine that each test makes for itself: a namespace in which the agent
//! runs, with something beyond it. The network of the real machine is not touched.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::net::UnixListener;

use atelier_confine::net::{Denied, Firewall, Namespace, Rules, links};
use atelier_domain::compute::NodeId;
use atelier_domain::network::{Egress, METADATA, Range, Separation};
use atelier_domain::world::AllocationKey;
use atelier_protocol::{NetworkConfig, Peer, Start};

use crate::common::agent::{Agent, is_root};
use crate::common::jobs::{NODE, part, person, script};
use crate::common::{PATIENCE, Server};

const OUTSIDE: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 7);
const UPLINK: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 1);

/// A machine, and what lies beyond it.
struct Site {
    host: Namespace,
    outside: Namespace,
}

/// Says a word to each caller, for as long as the test runs.
fn listens(place: &Namespace, at: SocketAddr) {
    let listener = place.within(|| TcpListener::bind(at)).unwrap().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let _ = stream.and_then(|mut stream| stream.write_all(b"hello"));
        }
    });
}

impl Site {
    fn new() -> Option<Self> {
        if !is_root() || !std::path::Path::new("/usr/bin/bwrap").exists() {
            println!("skipped: needs root and bubblewrap");
            return None;
        }
        let (host, outside) = (Namespace::new().unwrap(), Namespace::new().unwrap());
        host.within(|| {
            std::fs::write("/proc/sys/net/ipv4/ip_forward", "1").unwrap();
            outside.connect("uplink", OUTSIDE, UPLINK).unwrap();
        })
        .unwrap();
        listens(&outside, (OUTSIDE, 443).into());
        // As a database, another port of the server or a neighbour's program would.
        listens(&host, (Ipv4Addr::UNSPECIFIED, 5_432).into());
        listens(&host, (std::net::Ipv6Addr::LOCALHOST, 5_433).into());
        Some(Self { host, outside })
    }

    /// An agent on it, whose server answers at a socket.
    async fn agent(&self, separation: Separation, egress: Egress, node: NodeId) -> (Agent, Server) {
        let mut agent = Agent::prepared();
        let range = Range::parse("10.213.0.0/16").unwrap();
        let api = agent.folder.path().join("api.sock");
        let shared = agent.folder.path().join("network");
        let is_open = egress == Egress::Open;
        agent.config.node = node;
        agent.config.installation = "networks".to_owned() + &agent.config.installation;
        agent.config.network = Some(NetworkConfig { separation, range, egress, folder: shared, api: api.clone() });
        let listener = UnixListener::bind(api).unwrap();
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let _ = stream.read(&mut [0; 4_096]);
                let _ =
                    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\nConnection: close\r\n\r\nthe server");
            }
        });
        if separation == Separation::Joined {
            let denied = METADATA.iter().map(|range| Denied { network: (range.first, range.length), port: None });
            let rules = Rules { range: (range.first, range.length), is_open, denied: denied.collect() };
            self.host.within(|| self.firewall(&agent).install(&rules)).unwrap().unwrap();
        }
        let mut server = Server::unix(&agent.socket());
        self.host.within(|| agent.start()).unwrap();
        server.welcome().await;
        (agent, server)
    }

    fn firewall(&self, agent: &Agent) -> Firewall {
        Firewall::of(&agent.config.installation)
    }
}

/// What a job needs to try what others have; prints what it reached.
const TRY: &str = r#"
import os, socket, sys, urllib.request
def tcp(host, port, said=b''):
    try:
        with socket.create_connection((host, port), 5) as one:
            one.sendall(said)
            return one.recv(100).decode()
    except OSError:
        return ''
def name(text):
    one = socket.socket(socket.AF_UNIX)
    try:
        one.connect('\0' + text)
        return 'reached'
    except OSError:
        return ''
def own():
    one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    one.connect(('203.0.113.7', 9))
    return one.getsockname()[0]
def server():
    return urllib.request.urlopen('http://127.0.0.1:80/api/v1/whoami', timeout=5).read().decode()
"#;

fn python(number: u64, text: &str) -> Start {
    script(number, &format!("python3 -u - <<'END'\n{TRY}\n{text}\nEND"))
}

fn of_another(mut start: Start) -> Start {
    start.person = person(2);
    start
}

#[tokio::test]
async fn a_colleague_reaches_nothing_of_somebodys_and_nothing_of_the_machines() {
    let Some(site) = Site::new() else { return };
    let (mut agent, mut server) = site.agent(Separation::Joined, Egress::Open, NODE).await;
    let victim = "
import threading
places = [(socket.AF_INET, ('127.0.0.1', 4000)), (socket.AF_INET6, ('::1', 4001)), (socket.AF_INET, ('', 4002)),
          (socket.AF_UNIX, '\\0mine')]
def serve(one):
    while True:
        one.accept()[0].sendall(b'secret')
for family, place in places:
    one = socket.socket(family)
    one.bind(place)
    one.listen()
    threading.Thread(target=serve, args=(one,)).start()
print('ready', own())
";
    server.start(&python(1, victim)).await;
    server.printed(part(1), "ready 10.213.0.").await;
    let address = server.text(part(1)).trim().rsplit(' ').next().unwrap().to_owned();
    let attack = format!(
        "print(['127.0.0.1' if tcp('127.0.0.1', port) else '' for port in (4000, 4002, 5432)], tcp('::1', 4001), \
         tcp('::1', 5433), name('mine'), tcp('{address}', 4002), tcp('10.213.0.1', 5432), tcp('{UPLINK}', 5432), \
         tcp('169.254.169.254', 80), open('/proc/net/tcp').read().count(':0FA0'), sep='|')\n\
         print(tcp('{OUTSIDE}', 443), server(), sep='|')"
    );
    server.start(&of_another(python(2, &attack))).await;
    server.off(part(2)).await;
    assert_eq!(server.text(part(2)), "['', '', '']||||||||0\nhello|the server\n");
    // What is one's own is reached, also by a job in a sandbox of its own.
    let mut alone = python(3, "print(tcp('127.0.0.1', 4000), tcp('::1', 4001), name('mine'))");
    alone.task.is_alone = true;
    server.start(&alone).await;
    server.off(part(3)).await;
    assert_eq!(server.text(part(3)), "secret secret reached\n");
    // Nor can the port of the server be taken, by anybody in there.
    server
        .start(&python(
            4,
            "try:\n    socket.create_server(('127.0.0.1', 80))\nexcept OSError as error:\n    print(error.errno)",
        ))
        .await;
    server.off(part(4)).await;
    assert_eq!(server.text(part(4)), "13\n");
    // With the agent everything of it goes.
    let firewall = site.firewall(&agent);
    let ours = || site.host.within(|| links(firewall.prefix())).unwrap();
    assert_eq!(ours().len(), 2);
    let mut child = agent.child.take().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    atelier_testing::wait_until("its links to go", PATIENCE, || ours().is_empty().then_some(()));
    site.host.within(|| firewall.remove()).unwrap().unwrap();
}

#[tokio::test]
async fn where_nothing_leads_out_only_the_server_is_reached() {
    let Some(site) = Site::new() else { return };
    for separation in [Separation::Joined, Separation::Alone] {
        let (_agent, mut server) = site.agent(separation, Egress::None, NODE).await;
        let text = format!("print(tcp('{OUTSIDE}', 443), server(), os.environ.get('http_proxy'), sep='|')");
        server.start(&python(1, &text)).await;
        server.off(part(1)).await;
        assert_eq!(server.text(part(1)), "|the server|None\n", "{separation:?}");
    }
}

#[tokio::test]
async fn without_the_firewall_a_proxy_leads_out_and_not_to_the_machine() {
    let Some(site) = Site::new() else { return };
    let (_agent, mut server) = site.agent(Separation::Alone, Egress::Open, NODE).await;
    let text = "
def through(place):
    host, port = os.environ['https_proxy'].removeprefix('http://').split(':')
    with socket.create_connection((host, int(port)), 5) as one:
        one.sendall(f'CONNECT {place} HTTP/1.1\\r\\n\\r\\n'.encode())
        said = b''
        while piece := one.recv(4096):
            said += piece
    return said.decode().split(' ')[1] + said.decode()[-5:].replace('\\r\\n', '')
print(through('203.0.113.7:443'), through('127.0.0.1:5432'), through('203.0.113.1:5432'), through('[::1]:5433'))
print(tcp('203.0.113.7', 443), server())";
    server.start(&python(1, text)).await;
    server.off(part(1)).await;
    assert_eq!(server.text(part(1)), "200hello 403e 403e 403e\n the server\n");
}

#[tokio::test]
async fn a_given_proxy_is_the_only_way_out() {
    let Some(site) = Site::new() else { return };
    let egress = Egress::Proxy(format!("{OUTSIDE}:443"));
    let (_agent, mut server) = site.agent(Separation::Joined, egress, NODE).await;
    let text = format!("print(tcp('127.0.0.1', 880), tcp('{OUTSIDE}', 443), os.environ['HTTPS_PROXY'], sep='|')");
    server.start(&python(1, &text)).await;
    server.off(part(1)).await;
    assert_eq!(server.text(part(1)), "hello||http://127.0.0.1:880\n");
}

#[tokio::test]
async fn the_nodes_of_one_job_reach_each_other() {
    let Some(site) = Site::new() else { return };
    let other = NodeId(8);
    let (first, mut first_server) = site.agent(Separation::Joined, Egress::None, NODE).await;
    // Both are of one installation, and agree on addresses in one folder.
    let mut second = Agent::prepared();
    second.config.installation.clone_from(&first.config.installation);
    second.config.network.clone_from(&first.config.network);
    second.config.node = other;
    let mut second_server = Server::unix(&second.socket());
    site.host.within(|| second.start()).unwrap();
    second_server.welcome().await;
    let peers: Vec<Peer> = [NODE, other].map(|node| Peer { node, host: "127.0.0.1".to_owned() }).to_vec();
    let place = "place = (os.environ['MASTER_ADDR'], int(os.environ['MASTER_PORT']))\n";
    let mut listening = python(
        1,
        &format!("{place}one = socket.create_server(place)\nprint('ready')\none.accept()[0].sendall(b'met')"),
    );
    listening.peers.clone_from(&peers);
    let mut calling = python(1, &format!("{place}print(tcp(*place))"));
    (calling.peers, calling.rank) = (peers, 1);
    calling.part = AllocationKey { node: other, ..part(1) };
    first_server.start(&listening).await;
    first_server.printed(part(1), "ready").await;
    second_server.start(&calling).await;
    second_server.off(calling.part).await;
    assert_eq!(second_server.text(calling.part), "met\n");
    drop((first, site.outside));
}
