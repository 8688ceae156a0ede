//! Sizes: what a node of that name has, where it is made, and what it costs.

use serde::{Deserialize, Serialize};

use super::resources::Resources;
use crate::name::dns_label;
use crate::text::Problem;
use crate::time::Span;

macro_rules! short_name {
    ($(#[$doc:meta])* $name:ident, $field:literal, $min:literal..=$max:literal) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(std::sync::Arc<str>);

        impl $name {
            /// Parses the field; capitals are lowered.
            pub fn parse(text: &str) -> Result<Self, Problem> {
                let name = dns_label(text, $min, $max).map_err(|message| Problem::new($field, message))?;
                Ok(Self(name.into()))
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = String;
            fn try_from(text: String) -> Result<Self, String> {
                Self::parse(&text).map_err(|problem| problem.message)
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.0.as_ref().to_owned()
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.write_str(&self.0)
            }
        }
    };
}

crate::keyed_enum! {
    /// Whether somebody else's work may take a node back.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    pub enum Tier {
        /// It is kept as long as it is wanted.
        #[default]
        Dedicated = "dedicated";
        /// Dedicated work that lacks room takes it back, with notice; what ran there goes back to the queue.
        Preemptible = "preemptible";
    }
}

impl Tier {
    /// Whether nobody takes it back.
    pub const fn is_dedicated(&self) -> bool {
        matches!(self, Self::Dedicated)
    }
}

short_name!(
    /// What a size is called.
    SizeName,
    "size",
    1..=40
);
short_name!(
    /// Sizes that share a quota: `general`, `gpu`.
    Family,
    "family",
    1..=40
);
short_name!(
    /// Where nodes are made: the server's own machine, a Slurm partition, a Kubernetes cluster.
    SiteName,
    "site",
    1..=40
);
short_name!(
    /// What an instance or a cluster is called: 3–24 of a–z, 0–9 and `-`, unique in its workspace.
    ComputeName,
    "name",
    3..=24
);

/// Millionths of the installation's currency for an hour of one node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Price(pub u64);

/// The highest price: a million an hour.
pub const MAX_PRICE: Price = Price(1_000_000_000_000);

impl Price {
    /// What so long costs, in billionths of the currency: exact enough that many short pieces add up to the
    /// whole.
    pub fn for_span(self, span: Span) -> u64 {
        let millis = u128::try_from(span.as_millis()).unwrap_or(0);
        u64::try_from(u128::from(self.0) * millis * 1_000 / 3_600_000).unwrap_or(u64::MAX)
    }
}

/// One line of the catalogue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Size {
    pub name: SizeName,
    /// Which quota it counts against.
    pub family: Family,
    /// Where its nodes are made.
    pub site: SiteName,
    /// What a node has.
    pub shape: Resources,
    /// What an hour costs.
    pub price: Price,
}

impl Size {
    /// Refuses absurd shapes and prices.
    pub fn check(&self) -> Result<(), Problem> {
        self.shape.check()?;
        if self.price > MAX_PRICE {
            let message = format!("A price is at most 1,000,000 an hour; this is {}.", self.price.0 / 1_000_000);
            return Err(Problem::new("price", message));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_or_refused_with_the_exact_complaint() {
        for name in ["gpu-4", "CPU-1", "abc", "a2345678901234567890123x"] {
            assert_eq!(ComputeName::parse(name).map(|n| n.as_str().to_owned()), Ok(name.to_lowercase()));
        }
        for (name, part) in [
            ("ab", "3 to 24 characters; this has 2"),
            ("a23456789012345678901234x", "this has 25"),
            ("1abc", "starts with a letter"),
            ("a_bc", "this has “_”"),
            ("abc-", "none at its end"),
            ("a--b", "single hyphens"),
            ("", "this has 0"),
        ] {
            let problem = ComputeName::parse(name).expect_err(name);
            assert!(problem.field == "name" && problem.message.contains(part), "{name}: {}", problem.message);
        }
        let huge = ComputeName::parse(&"x".repeat(10_000_000)).expect_err("10 MB");
        assert!(huge.message.contains("10000000") && huge.message.len() < 200);
    }

    #[test]
    fn short_pieces_cost_what_the_whole_costs() {
        let price = Price(1_440_000);
        let whole = price.for_span(Span::hours(1));
        let pieces: u64 = (0..3_600).map(|_| price.for_span(Span::seconds(1))).sum();
        assert_eq!(whole, 1_440_000_000);
        assert_eq!(whole, pieces);
    }
}
