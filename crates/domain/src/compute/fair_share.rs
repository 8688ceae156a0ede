//! Fair shares: how much each person has used lately, against how much they are meant to have.
//!
//! Use fades: after one half-life it counts half. Nobody's stored number is touched for that. Instead
//! whatever is added is multiplied by a factor that doubles in each half-life, so old use shrinks beside new
//! use by itself, and the order of two people changes only when one of them uses something. All of it is
//! whole numbers: every machine finds the same order.

use serde::{Deserialize, Serialize};

use super::resources::Resources;
use crate::text::Problem;
use crate::time::{Mono, Span};

/// The weight of whoever has none of their own.
pub const DEFAULT_WEIGHT: u32 = 100;
pub const MAX_WEIGHT: u32 = 1_000;
/// After so long use counts half, unless set otherwise.
pub const DEFAULT_HALF_LIFE: Span = Span::hours(24 * 7);
/// The shortest half-life.
pub const MIN_HALF_LIFE: Span = Span::hours(1);
/// The longest half-life.
pub const MAX_HALF_LIFE: Span = Span::hours(24 * 365);
/// One GPU counts as much as so many thousandths of a core.
pub const GPU_AS_CORES: u64 = 16_000;
/// What runs counts at once as if it had run for so long already, so that whoever has much running goes
/// behind whoever has little, however long their jobs are.
pub const COUNTED_AHEAD: Span = Span::hours(1);

/// Bits behind the point of a factor.
const POINT: u32 = 32;
/// Numbers are made smaller by so many halvings at once, which is rare and the same everywhere.
const REBASE: u32 = 16;
/// Two to the power of 1/2, 1/4, 1/8 and so on, with 32 bits behind the point.
const ROOTS: [u64; 16] = [
    0x1_6a09_e668,
    0x1_306f_e0a3,
    0x1_172b_83c8,
    0x1_0b55_86d0,
    0x1_059b_0d31,
    0x1_02c9_a3e7,
    0x1_0163_daa0,
    0x1_00b1_afa6,
    0x1_0058_c86e,
    0x1_002c_605e,
    0x1_0016_2f39,
    0x1_000b_175f,
    0x1_0005_8ba0,
    0x1_0002_c5cc,
    0x1_0001_62e5,
    0x1_0000_b172,
];

/// An amount of use as it is stored: multiplied by the factor of its time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Amount(pub u128);

impl From<Amount> for String {
    fn from(amount: Amount) -> Self {
        amount.0.to_string()
    }
}

impl TryFrom<String> for Amount {
    type Error = std::num::ParseIntError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse().map(Self)
    }
}

impl Amount {
    /// The sum; stays at the end of numbers.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// What is left; never less than nothing.
    #[must_use]
    pub const fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

/// One person's share in a workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FairShare {
    /// How much they are meant to have, beside the weights of others.
    pub weight: u32,
    /// What their jobs have used, faded.
    pub used: Amount,
}

impl Default for FairShare {
    fn default() -> Self {
        Self { weight: DEFAULT_WEIGHT, used: Amount::default() }
    }
}

/// Refuses weights that mean nothing.
pub fn check_weight(weight: i64) -> Result<u32, Problem> {
    let found = u32::try_from(weight).ok().filter(|weight| (1..=MAX_WEIGHT).contains(weight));
    found.ok_or_else(|| Problem::new("weight", format!("A weight is between 1 and {MAX_WEIGHT}, not {weight}.")))
}

crate::keyed_enum! {
    /// In what order a queue is served.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub enum QueueOrder {
        Fifo = "fifo";
        /// Who has used least of their share.
        #[default]
        FairShare = "fair-share";
    }
}

/// How a queue is served. Priorities come before all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueuePolicy {
    pub order: QueueOrder,
    /// Whether a job may start before others if that delays nobody who is first.
    #[serde(default)]
    pub backfill: bool,
}

impl Default for QueuePolicy {
    /// What a new cluster has.
    fn default() -> Self {
        Self { order: QueueOrder::FairShare, backfill: true }
    }
}

impl QueuePolicy {
    /// What a cluster has that was made before there was a choice: nothing changes for it until somebody says
    /// so.
    pub const fn plain() -> Self {
        Self { order: QueueOrder::Fifo, backfill: false }
    }
}

/// How use fades in a workspace, and how its serverless queues are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FairShareRules {
    /// After so long use counts half.
    pub half_life: Span,
    /// When the factor was one.
    pub base: Mono,
    /// How serverless queues are served.
    #[serde(default)]
    pub serverless: QueuePolicy,
}

impl Default for FairShareRules {
    fn default() -> Self {
        Self { half_life: DEFAULT_HALF_LIFE, base: Mono(0), serverless: QueuePolicy::default() }
    }
}

/// Refuses half-lives that mean nothing.
pub fn check_half_life(half_life: Span) -> Result<Span, Problem> {
    if (MIN_HALF_LIFE..=MAX_HALF_LIFE).contains(&half_life) {
        return Ok(half_life);
    }
    let message = format!("A half-life is between {MIN_HALF_LIFE} and {MAX_HALF_LIFE}, not {half_life}.");
    Err(Problem::new("half_life", message))
}

impl FairShareRules {
    fn half_life_millis(&self) -> u64 {
        self.half_life.as_millis().unsigned_abs().max(1)
    }

    /// What use at that time is multiplied by, with 32 bits behind the point.
    pub fn factor(&self, at: Mono) -> u128 {
        let half = self.half_life_millis();
        // Before the base the factor is below one: the same curve, so many half-lives lower.
        let lower = self.base.0.saturating_sub(at.0).div_ceil(half);
        let ahead = at.0.saturating_add(lower.saturating_mul(half)).saturating_sub(self.base.0);
        let (whole, rest) = (ahead / half, ahead % half);
        let mut factor = 1_u128 << POINT;
        // The fraction of the half-life as 16 binary digits.
        let digits = (u128::from(rest) << ROOTS.len()) / u128::from(half);
        for (place, root) in ROOTS.iter().enumerate() {
            if digits >> (ROOTS.len() - 1 - place) & 1 == 1 {
                factor = (factor * u128::from(*root)) >> POINT;
            }
        }
        // Numbers are rebased long before the factor grows that far.
        factor = factor.checked_shl(u32::try_from(whole).unwrap_or(u32::MAX).min(64)).unwrap_or(u128::MAX);
        factor.checked_shr(u32::try_from(lower).unwrap_or(u32::MAX)).unwrap_or(0)
    }

    /// So much work for so long, at that time.
    pub fn amount(&self, work: u64, millis: u64, at: Mono) -> Amount {
        Amount((u128::from(work) * u128::from(millis)).saturating_mul(self.factor(at)))
    }

    /// A stored amount as thousandths of core-milliseconds of that time.
    pub fn faded(&self, amount: Amount, at: Mono) -> u128 {
        amount.0.checked_div(self.factor(at)).unwrap_or(0)
    }

    /// By how many halvings all amounts are to be made smaller now, if it is time.
    pub fn rebase_at(&self, at: Mono) -> Option<u32> {
        let passed = at.0.saturating_sub(self.base.0) / self.half_life_millis();
        let passed = u32::try_from(passed).unwrap_or(u32::MAX);
        (passed >= REBASE).then_some(passed - passed % REBASE)
    }

    /// The same rules, with the factor so many halvings smaller.
    #[must_use]
    pub fn rebased(self, halvings: u32) -> Self {
        let millis = self.half_life_millis().saturating_mul(u64::from(halvings));
        Self { base: Mono(self.base.0.saturating_add(millis)), ..self }
    }
}

/// What a part of a job counts as: thousandths of cores, a GPU as 16 cores.
pub const fn work_of(shape: Resources) -> u64 {
    shape.cores.saturating_add(shape.gpus.saturating_mul(GPU_AS_CORES))
}

/// Thousandths of core-milliseconds as tenths of core-hours, for people.
pub fn tenths_of_core_hours(work: u128) -> u64 {
    u64::try_from(work / 360_000_000).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WEEK: u64 = 7 * 24 * 3_600_000;

    #[test]
    fn the_factor_doubles_in_each_half_life_and_only_grows() {
        let rules = FairShareRules { base: Mono(3 * WEEK), ..FairShareRules::default() };
        for (weeks, expected) in [(3, 1_u128 << 32), (4, 2 << 32), (13, 1024 << 32), (2, 1 << 31), (0, 1 << 29)] {
            assert_eq!(rules.factor(Mono(weeks * WEEK)), expected, "{weeks} weeks");
        }
        let mut before = 0;
        for hour in 0..2_000 {
            let factor = rules.factor(Mono(hour * 3_600_000));
            assert!(factor > before, "hour {hour}");
            before = factor;
        }
        // The square of what half a half-life makes is what a whole one makes, nearly.
        let half = rules.factor(Mono(3 * WEEK + WEEK / 2));
        let whole = (half * half) >> 32;
        assert!(whole.abs_diff(2 << 32) < 8, "{whole}");
    }

    #[test]
    fn the_order_of_two_people_stays_when_numbers_are_rebased() {
        let rules = FairShareRules::default();
        let at = Mono(17 * WEEK);
        let (less, more) = (rules.amount(1_000, 1_000, Mono(WEEK)), rules.amount(1_001, 1_000, Mono(WEEK)));
        let halvings = rules.rebase_at(at).expect("it is time");
        assert_eq!(halvings, 16);
        let later = rules.rebased(halvings);
        assert!(less.0 >> halvings < more.0 >> halvings);
        assert_eq!(rules.factor(at) >> halvings, later.factor(at));
        assert_eq!(rules.rebase_at(Mono(15 * WEEK)), None);
        assert_eq!(later.rebase_at(at), None);
    }

    #[test]
    fn weights_and_half_lives_outside_are_refused_with_what_is_allowed() {
        for weight in [0, -1, 1_001, i64::MIN, i64::MAX] {
            let problem = check_weight(weight).expect_err("absurd");
            assert_eq!((problem.field.as_str(), problem.message.contains("between 1 and 1000")), ("weight", true));
        }
        assert_eq!(check_weight(1_000).ok(), Some(1_000));
        assert!(check_half_life(Span::minutes(59)).is_err() && check_half_life(MAX_HALF_LIFE).is_ok());
    }

    #[test]
    fn amounts_are_stored_as_text_so_that_no_reader_rounds_them() {
        let share = FairShare { weight: 7, used: Amount(u128::MAX) };
        let text = serde_json::to_string(&share).expect("it can be written");
        assert_eq!(text, format!("{{\"weight\":7,\"used\":\"{}\"}}", u128::MAX));
        assert_eq!(serde_json::from_str::<FairShare>(&text).expect("it can be read"), share);
    }
}
