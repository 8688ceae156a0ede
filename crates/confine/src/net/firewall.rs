//! What the machine's firewall has to say about the networks of people: one table of ours, which nothing else
//! is in.
//!
//! | where | what |
//! | --- | --- |
//! | `input` | nothing of the machine itself can be reached from a person's network |
//! | `forward` | between networks only those of one person; out where that is allowed; in only answers |
//! | `output` | the machine reaches into none, beside answers |
//! | `nat` | what goes out has the machine's address |

use std::io;
use std::net::Ipv4Addr;

use super::message::{ACK, APPEND, Attributes, CREATE, Message, Netlink};

const INET: u8 = 1;
const NFTABLES: u16 = 10;
const NEW_TABLE: u16 = 0;
const GET_TABLE: u16 = 1;
const DELETE_TABLE: u16 = 2;
const NEW_CHAIN: u16 = 3;
const NEW_RULE: u16 = 6;
const DELETE_RULE: u16 = 8;
const NEW_SET: u16 = 9;
const NEW_ELEMENT: u16 = 12;
const DELETE_ELEMENT: u16 = 14;
/// Before those that administrators usually have.
const EARLY: i32 = -5;
const SOURCE_NAT: i32 = 100;
/// Whose an address is.
const OWNERS: &str = "owners";
/// Which addresses somebody has.
const PEERS: &str = "peers";
/// As the firewall's own tools call the types of what is in a set.
const TYPE_ADDRESS: u32 = 7;
const TYPE_MARK: u32 = 19;

/// A destination that nobody reaches: a network, and one port of it or all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Denied {
    pub network: (Ipv4Addr, u8),
    pub port: Option<u16>,
}

/// What is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Where the addresses of people's networks are.
    pub range: (Ipv4Addr, u8),
    /// Whether they lead out of the machine.
    pub is_open: bool,
    /// What they do not reach even then.
    pub denied: Vec<Denied>,
}

/// The firewall of one installation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Firewall {
    table: String,
    prefix: String,
}

impl Firewall {
    /// That of an installation; others on the same machine have their own.
    pub fn of(installation: &str) -> Self {
        let mut hash = 0x811c_9dc5_u32;
        for byte in installation.bytes() {
            hash = (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
        }
        let hash = hash & 0x000f_ffff;
        Self { table: format!("atelier-{hash:05x}"), prefix: format!("at{hash:05x}-") }
    }

    /// The name of its table.
    pub fn table(&self) -> &str {
        &self.table
    }

    /// What the names of its links begin with.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The name of the link to an address.
    pub fn link(&self, number: u32) -> String {
        format!("{}{number:x}", self.prefix)
    }

    /// Makes the rules what they should be, all at once; who was admitted stays so.
    ///
    /// # Errors
    /// Where the kernel or the rights of this process do not allow it.
    pub fn install(&self, rules: &Rules) -> io::Result<()> {
        let mut all = vec![self.message(NEW_TABLE, CREATE, self.table_name(1))];
        let owners = self.table_name(1).text(2, OWNERS).big(3, 8).big(4, TYPE_ADDRESS).big(5, 4);
        all.push(self.message(NEW_SET, CREATE, owners.big(6, TYPE_MARK).big(7, 4).big(10, 1)));
        let peers = self.table_name(1).text(2, PEERS).big(3, 0).big(4, (TYPE_MARK << 6) | TYPE_ADDRESS);
        all.push(self.message(NEW_SET, CREATE, peers.big(5, 8).big(10, 2)));
        for (name, kind, hook, priority) in [
            ("input", "filter", 1, EARLY),
            ("forward", "filter", 2, EARLY),
            ("output", "filter", 3, EARLY),
            ("nat", "nat", 4, SOURCE_NAT),
        ] {
            let place = Attributes::default().big(1, hook).bytes(2, &priority.to_be_bytes());
            let chain = self.table_name(1).text(3, name).nest(4, &place).big(5, ACCEPT).text(7, kind);
            all.push(self.message(NEW_CHAIN, CREATE, chain));
            // Those of before.
            all.push(self.message(DELETE_RULE, 0, self.table_name(1).text(2, name)));
        }
        for (chain, rule) in self.rules(rules) {
            let rule = self.table_name(1).text(2, chain).nest(4, &rule.0);
            all.push(self.message(NEW_RULE, CREATE | APPEND, rule));
        }
        batch(all)
    }

    /// Whether the rules are there.
    pub fn is_installed(&self) -> bool {
        let ask = self.message(GET_TABLE, 0, self.table_name(1));
        Netlink::firewall().and_then(|netlink| netlink.say(&[ask])).is_ok()
    }

    /// Removes all of it. Again is fine.
    ///
    /// # Errors
    /// What the system says.
    pub fn remove(&self) -> io::Result<()> {
        match batch(vec![self.message(DELETE_TABLE, 0, self.table_name(1))]) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// From now on an address is that of a person, whose other networks may reach it.
    ///
    /// # Errors
    /// What the system says.
    pub fn admit(&self, address: Ipv4Addr, person: u32) -> io::Result<()> {
        batch(self.elements(NEW_ELEMENT, CREATE, address, person))
    }

    /// From now on it is nobody's. Again is fine.
    ///
    /// # Errors
    /// What the system says.
    pub fn dismiss(&self, address: Ipv4Addr, person: u32) -> io::Result<()> {
        match batch(self.elements(DELETE_ELEMENT, 0, address, person)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    fn elements(&self, kind: u16, flags: u16, address: Ipv4Addr, person: u32) -> Vec<Message> {
        let person = person.to_ne_bytes();
        let owner = Attributes::default().nest(1, &value(&address.octets())).nest(2, &value(&person));
        let peer = Attributes::default().nest(1, &value(&[person, address.octets()].concat()));
        [(OWNERS, owner), (PEERS, peer)]
            .into_iter()
            .map(|(set, element)| {
                let elements = Attributes::default().nest(1, &element);
                self.message(kind, flags, self.table_name(1).text(2, set).nest(3, &elements))
            })
            .collect()
    }

    fn rules(&self, rules: &Rules) -> Vec<(&'static str, Rule)> {
        let from = || Rule::default().from(&self.prefix);
        let to = || Rule::default().to(&self.prefix);
        let mut all = vec![
            ("input", from().reject()),
            // Whose the sender is and where it goes, side by side, must be a pair that is known.
            ("forward", from().and_to(&self.prefix).ipv4().same_person().accept()),
            ("forward", from().and_to(&self.prefix).reject()),
            ("forward", to().answers().accept()),
            ("forward", to().drop()),
        ];
        for denied in &rules.denied {
            let rule = from().ipv4().destination(denied.network);
            match denied.port {
                Some(port) => all.push(("forward", rule.tcp_port(port).reject())),
                None => all.push(("forward", rule.reject())),
            }
        }
        all.push(("forward", if rules.is_open { from().accept() } else { from().reject() }));
        all.push(("output", to().answers().accept()));
        all.push(("output", to().drop()));
        all.push(("nat", Rule::default().ipv4().source(rules.range).not_to(&self.prefix).masquerade()));
        all
    }

    fn table_name(&self, kind: u16) -> Attributes {
        Attributes::default().text(kind, &self.table)
    }

    fn message(&self, kind: u16, flags: u16, attributes: Attributes) -> Message {
        Message { kind: (NFTABLES << 8) | kind, flags: flags | ACK, fixed: vec![INET, 0, 0, 0], attributes }
    }
}

/// All or none.
fn batch(messages: Vec<Message>) -> io::Result<()> {
    let edge = |kind: u16| {
        let fixed = [&[0, 0][..], &NFTABLES.to_be_bytes()].concat();
        Message { kind, flags: 0, fixed, attributes: Attributes::default() }
    };
    let all: Vec<Message> = [edge(0x10)].into_iter().chain(messages).chain([edge(0x11)]).collect();
    Netlink::firewall()?.say(&all)
}

fn value(bytes: &[u8]) -> Attributes {
    Attributes::default().bytes(1, bytes)
}

const ACCEPT: u32 = 1;
const DROP: u32 = 0;
const FIRST: u32 = 8;
const SECOND: u32 = 9;

/// A rule: what it looks at, one thing after the other, and what becomes of what fits.
#[derive(Clone, Debug, Default)]
struct Rule(Attributes);

impl Rule {
    fn then(self, name: &str, data: &Attributes) -> Self {
        Self(self.0.nest(1, &Attributes::default().text(1, name).nest(2, data)))
    }

    fn compare(self, is_equal: bool, with: &[u8]) -> Self {
        let data = Attributes::default().big(1, FIRST).big(2, u32::from(!is_equal)).nest(3, &value(with));
        self.then("cmp", &data)
    }

    fn meta(self, key: u32) -> Self {
        self.then("meta", &Attributes::default().big(1, FIRST).big(2, key))
    }

    /// A field of a packet; `base` is 1 for its IP header and 2 for what comes after it.
    fn field(self, register: u32, base: u32, offset: u32, length: u32) -> Self {
        let data = Attributes::default().big(1, register).big(2, base).big(3, offset).big(4, length);
        self.then("payload", &data)
    }

    fn from(self, prefix: &str) -> Self {
        self.meta(6).compare(true, prefix.as_bytes())
    }

    fn to(self, prefix: &str) -> Self {
        self.meta(7).compare(true, prefix.as_bytes())
    }

    fn and_to(self, prefix: &str) -> Self {
        self.to(prefix)
    }

    fn not_to(self, prefix: &str) -> Self {
        self.meta(7).compare(false, prefix.as_bytes())
    }

    fn ipv4(self) -> Self {
        self.meta(15).compare(true, &[2])
    }

    fn network(self, offset: u32, (address, length): (Ipv4Addr, u8)) -> Self {
        let mask = u32::MAX.checked_shl(32 - u32::from(length.min(32))).unwrap_or(0);
        let masked = (u32::from(address) & mask).to_be_bytes();
        let data = Attributes::default().big(1, FIRST).big(2, FIRST).big(3, 4);
        let data = data.nest(4, &value(&mask.to_be_bytes())).nest(5, &value(&[0; 4]));
        self.field(FIRST, 1, offset, 4).then("bitwise", &data).compare(true, &masked)
    }

    fn source(self, network: (Ipv4Addr, u8)) -> Self {
        self.network(12, network)
    }

    fn destination(self, network: (Ipv4Addr, u8)) -> Self {
        self.network(16, network)
    }

    fn tcp_port(self, port: u16) -> Self {
        self.meta(16).compare(true, &[6]).field(FIRST, 2, 2, 2).compare(true, &port.to_be_bytes())
    }

    fn same_person(self) -> Self {
        let owner = Attributes::default().text(1, OWNERS).big(2, FIRST).big(3, FIRST);
        let pair = Attributes::default().text(1, PEERS).big(2, FIRST);
        self.field(FIRST, 1, 12, 4).then("lookup", &owner).field(SECOND, 1, 16, 4).then("lookup", &pair)
    }

    /// Of a connection that is known, or about one.
    fn answers(self) -> Self {
        const KNOWN: u32 = 2 | 4;
        let data = Attributes::default().big(1, FIRST).big(2, FIRST).big(3, 4);
        let data = data.nest(4, &value(&KNOWN.to_ne_bytes())).nest(5, &value(&[0; 4]));
        let state = Attributes::default().big(1, FIRST).big(2, 0);
        self.then("ct", &state).then("bitwise", &data).compare(false, &[0; 4])
    }

    fn verdict(self, code: u32) -> Self {
        let data = Attributes::default().nest(2, &Attributes::default().big(1, code));
        self.then("immediate", &Attributes::default().big(1, 0).nest(2, &data))
    }

    fn accept(self) -> Self {
        self.verdict(ACCEPT)
    }

    fn drop(self) -> Self {
        self.verdict(DROP)
    }

    /// With an answer that it is forbidden, so that nobody waits for one.
    fn reject(self) -> Self {
        self.then("reject", &Attributes::default().big(1, 2).bytes(2, &[3]))
    }

    fn masquerade(self) -> Self {
        self.then("masq", &Attributes::default())
    }
}
