//! Networks of people: which addresses they have, and where they lead.

use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};

/// What no network of a person reaches: addresses at which clouds hand out a machine's own credentials, and
/// all of the link.
pub const METADATA: [Range; 5] = [
    Range::of(Ipv4Addr::new(169, 254, 0, 0), 16),
    Range::of(Ipv4Addr::new(100, 100, 100, 200), 32),
    Range::of(Ipv4Addr::new(168, 63, 129, 16), 32),
    Range::of(Ipv4Addr::new(192, 0, 0, 192), 32),
    Range::of(Ipv4Addr::new(127, 0, 0, 0), 8),
];
/// A range has room for so many addresses at least: a network for each person on each node.
const SHORTEST: u8 = 8;
const LONGEST: u8 = 20;

/// Consecutive addresses: `10.213.0.0/16`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Range {
    pub first: Ipv4Addr,
    pub length: u8,
}

impl Range {
    const fn of(first: Ipv4Addr, length: u8) -> Self {
        Self { first, length }
    }

    /// A route or a range, as it is written; everything behind its length is zero.
    pub fn new(first: Ipv4Addr, length: u8) -> Option<Self> {
        let range = Self { first, length };
        (length <= 32 && u32::from(first) & !range.mask() == 0).then_some(range)
    }

    /// A range for networks.
    ///
    /// # Errors
    /// In words, to be put behind the value.
    pub fn parse(text: &str) -> Result<Self, String> {
        let split = text.split_once('/').and_then(|(first, length)| Some((first.parse().ok()?, length.parse().ok()?)));
        let (first, length) = split.ok_or("is not a range of addresses, such as 10.213.0.0/16")?;
        if !(SHORTEST..=LONGEST).contains(&length) {
            return Err(format!("is not between /{SHORTEST} and /{LONGEST}"));
        }
        let range = Self::new(first, length).ok_or("does not begin where a range of that length begins")?;
        let private = [(10, 0, 8), (172, 16, 12), (192, 168, 16), (100, 64, 10)];
        let is_private = private.iter().any(|(a, b, length)| {
            let private = Self::of(Ipv4Addr::new(*a, *b, 0, 0), *length);
            private.holds(range.first) && range.length >= *length
        });
        if is_private { Ok(range) } else { Err("is not private: use one within 10.0.0.0/8".to_owned()) }
    }

    const fn mask(self) -> u32 {
        match u32::MAX.checked_shl(32 - self.length as u32) {
            Some(mask) if self.length > 0 => mask,
            _ => 0,
        }
    }

    pub fn holds(self, address: Ipv4Addr) -> bool {
        u32::from(address) & self.mask() == u32::from(self.first)
    }

    pub fn overlaps(self, other: Self) -> bool {
        self.holds(other.first) || other.holds(self.first)
    }

    /// What the machine itself is called in all networks.
    pub fn gateway(self) -> Ipv4Addr {
        self.address(1)
    }

    /// The address with that number in it.
    pub fn address(self, number: u32) -> Ipv4Addr {
        Ipv4Addr::from(u32::from(self.first) | (number & !self.mask()))
    }

    /// Numbers for networks: neither the first nor the last address, nor the gateway.
    pub fn numbers(self) -> std::ops::Range<u32> {
        2..!self.mask()
    }

    /// The range to use on a machine with these routes: the wanted one, or the next of the same length within
    /// 10.0.0.0/8 that nothing else uses if nobody chose it.
    ///
    /// # Errors
    /// In words.
    pub fn choose(wanted: Self, is_chosen: bool, routes: &[Self]) -> Result<Self, String> {
        // A route to everywhere says nothing about what is in use.
        let taken = |range: Self| routes.iter().find(|route| route.length > 0 && route.overlaps(range)).copied();
        let Some(route) = taken(wanted) else { return Ok(wanted) };
        let refused = || format!("{wanted} overlaps with {route}, which this machine has a route to");
        if is_chosen {
            return Err(refused());
        }
        let step = !wanted.mask().max(0xFF00_0000) + 1;
        let next = (1..256_u32).map(|ahead| {
            let first = u32::from(wanted.first).wrapping_add(ahead * step);
            Self { first: Ipv4Addr::from((first & 0x00FF_FFFF) | 0x0A00_0000), length: wanted.length }
        });
        next.into_iter().find(|range| taken(*range).is_none()).ok_or_else(refused)
    }
}

impl std::fmt::Display for Range {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}/{}", self.first, self.length)
    }
}

/// The routes of a machine, from what its kernel lists in `/proc/net/route`, without those of links whose
/// names begin so.
pub fn routes(listed: &str, without: &str) -> Vec<Range> {
    let line = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let number = |at: usize| u32::from_str_radix(fields.get(at)?, 16).ok().map(u32::from_be);
        let (first, mask) = (number(1)?, number(7)?);
        let is_ours = !without.is_empty() && fields[0].starts_with(without);
        if is_ours { None } else { Range::new(Ipv4Addr::from(first), u8::try_from(mask.leading_ones()).ok()?) }
    };
    listed.lines().skip(1).filter_map(line).collect()
}

/// Where networks lead.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Egress {
    /// Everywhere but to this machine and to addresses of its cloud.
    #[default]
    Open,
    /// Only to an HTTP proxy, at that host and port.
    Proxy(String),
    /// Nowhere.
    None,
}

impl Egress {
    /// As it is written in settings.
    ///
    /// # Errors
    /// In words, to be put behind the value.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text {
            "open" => Ok(Self::Open),
            "none" => Ok(Self::None),
            _ => {
                let place = text.strip_prefix("http://").map(|place| place.trim_end_matches('/'));
                let is_place = |place: &&str| {
                    let port =
                        place.rsplit_once(':').map(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok());
                    port == Some(true) && !place.contains(['@', '/', ' '])
                };
                let place = place.filter(is_place).ok_or("is neither open nor none nor a proxy, http://HOST:PORT")?;
                Ok(Self::Proxy(place.to_owned()))
            }
        }
    }
}

/// How networks are kept apart on a machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Separation {
    /// Everybody has a network of their own, which is joined to others by the machine's firewall.
    Joined,
    /// Everybody has one that leads nowhere by itself; what goes out goes through a proxy.
    Alone,
    /// All share the machine's.
    #[default]
    Shared,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(text: &str) -> Range {
        let (first, length) = text.split_once('/').expect("a length");
        Range::new(first.parse().expect("an address"), length.parse().expect("a number")).expect("a range")
    }

    #[test]
    fn ranges_are_private_and_large_enough() {
        for (text, why) in [
            ("10.213.0.0/16", ""),
            ("172.16.0.0/12", ""),
            ("100.64.0.0/16", ""),
            ("10.213.0.1/16", "does not begin"),
            ("10.213.0.0/24", "between /8 and /20"),
            ("8.8.0.0/16", "private"),
            ("172.0.0.0/9", "private"),
            ("10.213.0.0", "is not a range"),
            ("ten/16", "is not a range"),
        ] {
            match Range::parse(text) {
                Ok(range) => assert_eq!((range.to_string().as_str(), why), (text, "")),
                Err(refused) => assert!(!why.is_empty() && refused.contains(why), "{text}: {refused}"),
            }
        }
        let range = range("10.213.0.0/16");
        assert_eq!(range.gateway().to_string(), "10.213.0.1");
        assert_eq!((range.numbers(), range.address(0x102).to_string().as_str()), (2..65_535, "10.213.1.2"));
    }

    #[test]
    fn a_range_that_the_machine_uses_is_replaced_or_refused() {
        let wanted = range("10.213.0.0/16");
        let routes = |texts: &[&str]| texts.iter().map(|text| range(text)).collect::<Vec<_>>();
        for (taken, found) in [
            (&["0.0.0.0/0", "192.0.2.0/24"][..], "10.213.0.0/16"),
            (&["10.213.4.0/24"], "10.214.0.0/16"),
            (&["10.128.0.0/9"], "10.0.0.0/16"),
            (&["10.213.0.0/16", "10.214.0.0/15"], "10.216.0.0/16"),
        ] {
            assert_eq!(
                Range::choose(wanted, false, &routes(taken)).map(|range| range.to_string()),
                Ok(found.to_owned())
            );
        }
        assert!(Range::choose(wanted, false, &routes(&["10.0.0.0/8"])).is_err());
        let refused = Range::choose(wanted, true, &routes(&["10.213.4.0/24"])).expect_err("taken");
        assert!(refused.contains("10.213.0.0/16 overlaps with 10.213.4.0/24"), "{refused}");
    }

    #[cfg(target_endian = "little")]
    #[test]
    fn routes_are_read_without_our_own() {
        let listed = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n\
                      eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n\
                      eth0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n\
                      at12345-2\t0200D50A\t00000000\t0005\t0\t0\t0\tFFFFFFFF\t0\t0\t0\n";
        let found = |without: &str| routes(listed, without).iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(found("at12345-"), ["0.0.0.0/0", "192.0.2.0/24"]);
        assert_eq!(found("at54321-").last().map(String::as_str), Some("10.213.0.2/32"));
    }

    #[test]
    fn egress_is_open_none_or_a_proxy() {
        assert_eq!(Egress::parse("open"), Ok(Egress::Open));
        assert_eq!(Egress::parse("none"), Ok(Egress::None));
        assert_eq!(Egress::parse("http://proxy.example:3128/"), Ok(Egress::Proxy("proxy.example:3128".to_owned())));
        for wrong in ["", "off", "proxy:3128", "http://proxy", "http://me:x@proxy:1", "https://proxy:1", "http://:1"] {
            assert!(Egress::parse(wrong).is_err_and(|why| why.contains("http://HOST:PORT")), "{wrong}");
        }
    }
}
