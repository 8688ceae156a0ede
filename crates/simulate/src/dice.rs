//! Dice that fall the same way for the same seed, on every machine and in every version.

use crate::maths::{exp, ln};

/// SplitMix64: small, well mixed, and ours, so that a seed means the same run for ever.
#[derive(Clone, Debug)]
pub(crate) struct Dice(u64);

const STRIDE: u64 = 0x9e37_79b9_7f4a_7c15;

const fn mix(mut word: u64) -> u64 {
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

impl Dice {
    /// The dice of one thing. Each thing has its own, so that one more of them changes the luck of no other,
    /// and two policies meet the same load and the same weather.
    pub fn of(seed: u64, kind: Kind, number: u64, part: u64) -> Self {
        let mut state = mix(seed.wrapping_add(STRIDE));
        for word in [kind as u64, number, part] {
            state = mix(state ^ mix(word.wrapping_mul(STRIDE).wrapping_add(1)));
        }
        Self(state)
    }

    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STRIDE);
        mix(self.0)
    }

    /// A number of the half-open stretch from 0 to 1.
    pub fn fraction(&mut self) -> f64 {
        // 53 bits are all that a float of this range holds.
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A number from `low` to `high`, both included.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        let width = u128::from(high.saturating_sub(low)) + 1;
        let scaled = (u128::from(self.next()) * width) >> 64;
        low.saturating_add(u64::try_from(scaled).unwrap_or(0))
    }

    /// True with that chance.
    pub fn chance(&mut self, chance: f64) -> bool {
        self.fraction() < chance
    }

    /// A wait for something that comes by chance, with that mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        // One minus the fraction is never 0.
        -ln(1.0 - self.fraction()) * mean
    }

    /// A number around 0 as nature spreads them, by Marsaglia's polar method, which needs no angle.
    pub fn normal(&mut self) -> f64 {
        loop {
            let (x, y) = (2.0 * self.fraction() - 1.0, 2.0 * self.fraction() - 1.0);
            let square = x * x + y * y;
            if square > 0.0 && square < 1.0 {
                return x * (-2.0 * ln(square) / square).sqrt();
            }
        }
    }

    /// A number whose logarithm is spread so: half of them are below the median.
    pub fn lognormal(&mut self, median: f64, spread: f64) -> f64 {
        median * exp(spread * self.normal())
    }
}

/// What dice are thrown for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// When somebody submits, and what.
    Arrivals = 1,
    /// What becomes of a launch, and how long a node lives.
    Node = 2,
    /// How an attempt ends.
    Attempt = 3,
    /// How long jobs run.
    Runs = 4,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_thing_has_the_same_luck_and_others_have_their_own() {
        let first = |seed, kind, number, part| Dice::of(seed, kind, number, part).next();
        assert_eq!(first(1, Kind::Node, 2, 3), first(1, Kind::Node, 2, 3));
        let all = [
            first(1, Kind::Node, 2, 3),
            first(2, Kind::Node, 2, 3),
            first(1, Kind::Attempt, 2, 3),
            first(1, Kind::Node, 3, 2),
            first(1, Kind::Node, 2, 4),
        ];
        let distinct: std::collections::BTreeSet<u64> = all.into_iter().collect();
        assert_eq!(distinct.len(), all.len());
    }

    #[test]
    fn what_is_drawn_lies_where_it_should() {
        let mut dice = Dice::of(7, Kind::Arrivals, 0, 0);
        let count = 20_000_u32;
        let (mut fractions, mut waits, mut squares, mut below) = (0.0, 0.0, 0.0, 0);
        for _ in 0..count {
            let fraction = dice.fraction();
            assert!((0.0..1.0).contains(&fraction));
            fractions += fraction;
            waits += dice.exponential(10.0);
            let normal = dice.normal();
            squares += normal * normal;
            below += u32::from(dice.lognormal(100.0, 1.0) < 100.0);
            assert!((3..=5).contains(&dice.between(3, 5)));
        }
        let count = f64::from(count);
        assert!((fractions / count - 0.5).abs() < 0.01);
        assert!((waits / count - 10.0).abs() < 0.3);
        assert!((squares / count - 1.0).abs() < 0.05);
        assert!((f64::from(below) / count - 0.5).abs() < 0.02);
        assert_eq!(dice.between(9, 9), 9);
        dice.between(0, u64::MAX);
    }
}
