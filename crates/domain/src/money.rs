//! Amounts of money: one unit, one rounding, one month, one way to write them.
//!
//! An amount is a whole number of billionths of the installation's currency. What is shown is rounded half
//! up, once, at the end.

use std::fmt;

use serde::{Deserialize, Serialize, Serializer};

use crate::compute::size::Price;
use crate::text::grouped;
use crate::time::Span;

/// How long a month is where a cost by the month is estimated: 730 hours, a twelfth of a year.
pub const MONTH: Span = Span::hours(730);

/// An amount in billionths of the installation's currency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Money(pub u64);

impl Money {
    pub const ZERO: Self = Self(0);
    /// One of the currency.
    pub const ONE: Self = Self(1_000_000_000);
    /// The most there can be.
    pub const MAX: Self = Self(u64::MAX);

    /// So many billionths.
    pub const fn billionths(self) -> u64 {
        self.0
    }

    /// The sum, or the most there can be.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// What is left, or nothing.
    #[must_use]
    pub const fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// That often, or the most there can be.
    #[must_use]
    pub const fn times(self, count: u64) -> Self {
        Self(self.0.saturating_mul(count))
    }

    /// What so long costs at that price, as [`Price::for_span`].
    pub fn of(price: Price, span: Span) -> Self {
        Self(price.for_span(span))
    }

    /// What a month costs at that price.
    pub fn of_month(price: Price) -> Self {
        Self::of(price, MONTH)
    }

    /// The nearest amount to a number that somebody sent; none if it is negative, not a number or too large.
    pub fn from_number(number: f64) -> Option<Self> {
        let billionths = (number * 1e9).round();
        // u64::MAX as f64 is one more than the most that fits.
        (billionths >= 0.0 && billionths < u64::MAX as f64).then_some(Self(billionths as u64))
    }

    /// Rounded half up to so many decimals: how many of the last one there are.
    const fn rounded(self, decimals: u32) -> u64 {
        let unit = 10_u64.pow(9 - decimals);
        // Adding half a unit first could overflow.
        self.0 / unit + (self.0 % unit >= unit.div_ceil(2)) as u64
    }

    /// With so many decimals and thousands apart: `1,234.50`.
    pub fn fixed(self, decimals: u32) -> String {
        let (parts, scale) = (self.rounded(decimals), 10_u64.pow(decimals));
        match decimals {
            0 => grouped(parts),
            _ => format!("{}.{:0width$}", grouped(parts / scale), parts % scale, width = decimals as usize),
        }
    }

    /// For people, rounded to what matters: `€212.40`, `€0.0034`; what is less than the last digit is said
    /// so.
    pub fn said(self, currency: &str) -> String {
        if self.0 >= Self::ONE.0 / 10 || self.0 == 0 {
            return with_sign(&self.fixed(2), currency);
        }
        match self.rounded(4) {
            0 => format!("under {}", with_sign("0.0001", currency)),
            // What has no more than two decimals is said with two.
            cents if cents.is_multiple_of(100) => with_sign(&self.fixed(2), currency),
            _ => with_sign(&self.fixed(4), currency),
        }
    }

    /// The same as something to format: `{}`.
    pub const fn display(self, currency: &str) -> Said<'_> {
        Said { amount: self, currency }
    }

    /// On the scale of a chart whose lines are so far apart, with as many decimals as that needs: `€600`,
    /// `€0.25`.
    pub fn on_scale(self, step: Self, currency: &str) -> String {
        let decimals = (0..=9).find(|decimals| step.0.is_multiple_of(10_u64.pow(9 - decimals))).unwrap_or(9);
        with_sign(&self.fixed(decimals), currency)
    }

    /// The number for the API.
    pub const fn decimal(self) -> Decimal {
        Decimal(self)
    }
}

impl std::iter::Sum for Money {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::ZERO, Self::plus)
    }
}

/// An amount with its currency, for people.
#[derive(Clone, Copy, Debug)]
pub struct Said<'a> {
    amount: Money,
    currency: &'a str,
}

impl fmt::Display for Said<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.amount.said(self.currency))
    }
}

/// An amount as a number of the API. As text it has exactly its digits; serialised it is the double nearest
/// to them, which prints the same digits for every amount below nine million.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Decimal(pub Money);

impl Decimal {
    pub fn number(self) -> f64 {
        self.to_string().parse().unwrap_or(f64::MAX)
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (self.0.0 / Money::ONE.0, self.0.0 % Money::ONE.0);
        let rest = format!("{rest:09}");
        let digits = rest.trim_end_matches('0').len().max(1);
        write!(out, "{whole}.{}", &rest[..digits])
    }
}

impl Serialize for Decimal {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_f64(self.number())
    }
}

impl Price {
    /// What an hour costs.
    pub const fn per_hour(self) -> Money {
        Money(self.0.saturating_mul(1_000))
    }

    /// Exactly, with at least two decimals: `€0.40`, `€0.0125`.
    pub fn said(self, currency: &str) -> String {
        let fraction = format!("{:06}", self.0 % MILLION);
        let kept = fraction.trim_end_matches('0').len().max(2);
        with_sign(&format!("{}.{}", grouped(self.0 / MILLION), &fraction[..kept]), currency)
    }

    /// As it is typed into a field: `0.4`, `1.25`, `3`.
    pub fn typed(self) -> String {
        let text = format!("{}.{:06}", self.0 / MILLION, self.0 % MILLION);
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    }
}

/// Millionths in one.
const MILLION: u64 = 1_000_000;

/// A number with the sign before it, or the code after it where there is no sign that everybody knows.
fn with_sign(number: &str, currency: &str) -> String {
    match currency {
        "EUR" => format!("€{number}"),
        "USD" => format!("${number}"),
        "GBP" => format!("£{number}"),
        other => format!("{number} {other}"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BILLION: u64 = Money::ONE.0;

    #[test]
    fn prices_are_exact_and_costs_are_rounded() {
        for (millionths, said) in
            [(0, "€0.00"), (400_000, "€0.40"), (12_500, "€0.0125"), (1_440_000, "€1.44"), (2_500_000_000, "€2,500.00")]
        {
            assert_eq!(Price(millionths).said("EUR"), said);
        }
        for (millionths, typed) in [(0, "0"), (400_000, "0.4"), (3_000_000, "3"), (1, "0.000001")] {
            assert_eq!(Price(millionths).typed(), typed);
        }
        for (billionths, said) in [
            (0, "€0.00"),
            (10, "under €0.0001"),
            (49_999, "under €0.0001"),
            (50_000, "€0.0001"),
            (3_400_000, "€0.0034"),
            (10_000_000, "€0.01"),
            (10_100_000, "€0.0101"),
            (99_999_999, "€0.10"),
            (100_000_000, "€0.10"),
            (104_999_999, "€0.10"),
            (105_000_000, "€0.11"),
            (212_404_000_000, "€212.40"),
        ] {
            assert_eq!(Money(billionths).said("EUR"), said, "{billionths}");
            assert_eq!(Money(billionths).display("EUR").to_string(), said);
        }
        for (billionths, step, said) in [
            (0, BILLION, "€0"),
            (600 * BILLION, 200 * BILLION, "€600"),
            (1_250 * BILLION, 50 * BILLION, "€1,250"),
            (BILLION / 2, BILLION / 4, "€0.50"),
            (30, 10, "€0.00000003"),
            (31, 1, "€0.000000031"),
        ] {
            assert_eq!(Money(billionths).on_scale(Money(step), "EUR"), said);
        }
        assert_eq!(Money::ONE.said("CHF"), "1.00 CHF");
        assert_eq!(Money(u64::MAX - BILLION).said("USD"), "$18,446,744,072.71");
        assert_eq!(Money::MAX.said("USD"), "$18,446,744,073.71");
    }

    #[test]
    fn a_month_is_730_hours() {
        assert_eq!(Money::of_month(Price(1_000_000)), Money::ONE.times(730));
        assert_eq!(Money::of(Price(1_440_000), Span::seconds(1)), Money(400_000));
        assert_eq!(Price(12_500).per_hour(), Money::of(Price(12_500), Span::hours(1)));
    }

    #[test]
    fn numbers_of_the_api_have_exactly_their_digits() {
        for (billionths, said) in [
            (0, "0.0"),
            (20 * BILLION, "20.0"),
            (250_500_000_000, "250.5"),
            (100_000_000, "0.1"),
            (3_400_000, "0.0034"),
            (1_234_567_123_456_789, "1234567.123456789"),
        ] {
            assert_eq!(Money(billionths).decimal().to_string(), said);
            assert_eq!(serde_json::to_string(&Money(billionths).decimal()).ok().as_deref(), Some(said));
            assert_eq!(Money::from_number(Money(billionths).decimal().number()), Some(Money(billionths)));
        }
        assert_eq!(Money::MAX.decimal().to_string(), "18446744073.709551615");
        for wrong in [-1.0, f64::NAN, f64::INFINITY, 1e300, 18_446_744_073.709_552] {
            assert_eq!(Money::from_number(wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn a_decimal_is_the_number_it_was_as_a_double(billionths in 0..1_u64 << 53) {
            let before = billionths as f64 / 1e9;
            prop_assert_eq!(Money(billionths).decimal().number().to_bits(), before.to_bits());
        }

        #[test]
        fn rounding_is_half_up(billionths: u64) {
            let exact = (u128::from(billionths) + 5_000_000) / 10_000_000;
            prop_assert_eq!(u128::from(Money(billionths).rounded(2)), exact);
        }
    }
}
