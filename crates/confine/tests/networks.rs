//! Namespaces, links and the firewall of the real kernel, in a network that each test makes for itself: that
//! of this machine is not touched.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use atelier_confine::net::{Denied, Firewall, Namespace, Rules, disconnect, links};

const RANGE: (Ipv4Addr, u8) = (Ipv4Addr::new(10, 213, 0, 0), 16);
const GATEWAY: Ipv4Addr = Ipv4Addr::new(10, 213, 0, 1);
/// Elsewhere: a network beyond the machine, with two addresses of its own.
const OUTSIDE: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 7);

/// A machine of the test's own, with people's networks and something beyond it.
struct Site {
    host: Namespace,
    outside: Namespace,
    firewall: Firewall,
}

fn address(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 213, 0, number)
}

impl Site {
    /// Nothing where this kernel or this user cannot.
    fn new(is_open: bool) -> Option<Self> {
        let firewall = Firewall::of("a-test");
        let (host, outside) = match (Namespace::new(), Namespace::new()) {
            (Ok(host), Ok(outside)) => (host, outside),
            (Err(error), _) | (_, Err(error)) => {
                println!("skipped: no namespaces here: {error}");
                return None;
            }
        };
        let denied = vec![Denied { network: (Ipv4Addr::new(203, 0, 113, 8), 32), port: None }];
        let rules = Rules { range: RANGE, is_open, denied };
        host.within(|| {
            std::fs::write("/proc/sys/net/ipv4/ip_forward", "1")?;
            outside.connect("uplink", OUTSIDE, Ipv4Addr::new(203, 0, 113, 1))?;
            firewall.install(&rules)?;
            // Again changes nothing.
            firewall.install(&rules)
        })
        .expect("entered")
        .expect("rules are taken");
        Some(Self { host, outside, firewall })
    }

    fn person(&self, number: u8, person: u32) -> Namespace {
        let own = Namespace::new().expect("another one");
        let name = self.firewall.link(number.into());
        let connect = || own.connect(&name, address(number), GATEWAY);
        self.host.within(connect).expect("entered").expect("a link");
        self.host.within(|| self.firewall.admit(address(number), person)).expect("entered").expect("admitted");
        own
    }
}

/// Somebody who says hello to one caller, there.
fn listens(place: &Namespace, at: SocketAddr) -> std::thread::JoinHandle<io::Result<()>> {
    let listener = place.within(|| TcpListener::bind(at)).expect("entered").expect("a port");
    std::thread::spawn(move || listener.accept()?.0.write_all(b"hello"))
}

/// What somebody there hears who calls an address.
fn calls(place: &Namespace, to: SocketAddr) -> io::Result<String> {
    place
        .within(|| {
            let mut stream = TcpStream::connect_timeout(&to, Duration::from_secs(5))?;
            let mut text = String::new();
            stream.read_to_string(&mut text)?;
            Ok(text)
        })
        .expect("entered")
}

#[test]
fn a_person_reaches_their_own_networks_and_nobody_elses() {
    let Some(site) = Site::new(true) else { return };
    let (mara, maras_other, ines) = (site.person(2, 70_001), site.person(3, 70_001), site.person(4, 70_002));
    let other = listens(&maras_other, (address(3), 4_000).into());
    assert_eq!(calls(&mara, (address(3), 4_000).into()).expect("reached"), "hello");
    drop(other.join());
    // Nobody answers there any more, and only its owner is told so.
    assert_eq!(
        calls(&mara, (address(3), 4_000).into()).map_err(|error| error.kind()),
        Err(ErrorKind::ConnectionRefused)
    );
    for (from, to) in [(&ines, address(3)), (&ines, address(2)), (&mara, address(4)), (&site.outside, address(2))] {
        let refused = calls(from, (to, 4_000).into()).expect_err("not reached");
        assert_ne!(refused.kind(), ErrorKind::ConnectionRefused, "{to}: {refused}");
    }
    // Nor the machine itself, whichever of its addresses is tried, nor the machine them.
    let _listener = listens(&site.host, (Ipv4Addr::UNSPECIFIED, 5_432).into());
    for to in [GATEWAY, Ipv4Addr::new(203, 0, 113, 1)] {
        let refused = calls(&mara, (to, 5_432).into()).expect_err("not reached");
        assert_ne!(refused.kind(), ErrorKind::ConnectionRefused, "{to}: {refused}");
    }
    assert_eq!(
        calls(&mara, (Ipv4Addr::LOCALHOST, 5_432).into()).map_err(|e| e.kind()),
        Err(ErrorKind::ConnectionRefused)
    );
    // Dismissed, an address is nobody's, however often.
    for _ in 0..2 {
        site.host.within(|| site.firewall.dismiss(address(3), 70_001)).expect("entered").expect("dismissed");
    }
    let refused = calls(&mara, (address(3), 4_000).into()).expect_err("not reached");
    assert_ne!(refused.kind(), ErrorKind::ConnectionRefused, "{refused}");
}

#[test]
fn what_leads_out_is_a_decision() {
    for is_open in [true, false] {
        let Some(site) = Site::new(is_open) else { return };
        let mara = site.person(2, 70_001);
        let outside = listens(&site.outside, (OUTSIDE, 443).into());
        match calls(&mara, (OUTSIDE, 443).into()) {
            Ok(text) => assert!(is_open && text == "hello"),
            Err(error) => assert!(!is_open, "{error}"),
        }
        if is_open {
            outside.join().expect("ended").expect("said hello");
        }
        assert!(calls(&mara, (Ipv4Addr::new(203, 0, 113, 8), 443).into()).is_err(), "denied always");
    }
}

#[test]
fn nothing_is_left_behind() {
    let Some(site) = Site::new(true) else { return };
    let mara = site.person(2, 70_001);
    let taken = site.host.within(|| mara.connect(&site.firewall.link(2), address(2), GATEWAY)).expect("entered");
    assert_eq!(taken.map_err(|error| error.kind()), Err(ErrorKind::AlreadyExists));
    let ours = || site.host.within(|| links(site.firewall.prefix())).expect("entered");
    assert_eq!(ours(), [site.firewall.link(2)]);
    drop(mara);
    atelier_testing::wait_until("the link to go with its namespace", Duration::from_secs(30), || {
        ours().is_empty().then_some(())
    });
    site.host
        .within(|| {
            assert!(site.firewall.is_installed());
            for _ in 0..2 {
                site.firewall.remove().expect("removed");
                disconnect(&site.firewall.link(2)).expect("gone");
            }
            assert!(!site.firewall.is_installed());
        })
        .expect("entered");
}
