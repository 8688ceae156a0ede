//! Small sets of small numbers, and the times of day that two of them make.

/// A set of numbers from 0 to 63.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Set(u64);

impl Set {
    pub(crate) fn insert(&mut self, number: u8) {
        debug_assert!(number < 64);
        self.0 |= 1 << (number & 63);
    }

    pub(crate) const fn contains(self, number: u8) -> bool {
        number < 64 && self.0 & (1 << number) != 0
    }

    pub(crate) const fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(crate) const fn len(self) -> u32 {
        self.0.count_ones()
    }

    /// The smallest member that is not under `number`.
    pub(crate) fn first_from(self, number: u8) -> Option<u8> {
        let rest = if number > 63 { 0 } else { self.0 & (u64::MAX << number) };
        u8::try_from(rest.trailing_zeros()).ok().filter(|_| rest != 0)
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = u8> {
        (0..64).filter(move |number| self.contains(*number))
    }

    /// First member, step and last member, if the members lie evenly; one member alone has step 0.
    pub(crate) fn evenly(self) -> Option<(u8, u8, u8)> {
        let members: Vec<u8> = self.iter().collect();
        let (first, last) = (*members.first()?, *members.last()?);
        let step = members.get(1).map_or(0, |second| second - first);
        members.windows(2).all(|pair| pair[1] - pair[0] == step).then_some((first, step, last))
    }
}

impl FromIterator<u8> for Set {
    fn from_iter<I: IntoIterator<Item = u8>>(numbers: I) -> Self {
        let mut set = Self::default();
        numbers.into_iter().for_each(|number| set.insert(number));
        set
    }
}

/// Every chosen minute of every chosen hour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Times {
    pub(crate) hours: Set,
    pub(crate) minutes: Set,
}

impl Times {
    /// Whether all 24 hours are allowed.
    pub(crate) const fn is_every_hour(self) -> bool {
        self.hours.len() == 24
    }

    /// The first minute of the day that is not before `minute`.
    pub(crate) fn first_from(self, minute: u16) -> Option<u16> {
        let (hour, rest) = (u8::try_from(minute / 60).ok()?, u8::try_from(minute % 60).ok()?);
        let found = |hour: u8, minute: u8| u16::from(hour) * 60 + u16::from(minute);
        if self.hours.contains(hour)
            && let Some(minute) = self.minutes.first_from(rest)
        {
            return Some(found(hour, minute));
        }
        Some(found(self.hours.first_from(hour + 1)?, self.minutes.first_from(0)?))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn evenly_spread_sets_are_recognised() {
        let set = |numbers: &[u8]| numbers.iter().copied().collect::<Set>();
        assert_eq!(set(&[0, 15, 30, 45]).evenly(), Some((0, 15, 45)));
        assert_eq!(set(&[7]).evenly(), Some((7, 0, 7)));
        assert_eq!(set(&[0, 1, 3]).evenly(), None);
        assert_eq!(set(&[]).evenly(), None);
    }

    proptest! {
        #[test]
        fn the_first_time_of_day_equals_a_scan(
            hours in proptest::collection::btree_set(0u8..24, 1..6),
            minutes in proptest::collection::btree_set(0u8..60, 1..6),
            from in 0u16..1440,
        ) {
            let times = Times { hours: hours.iter().copied().collect(), minutes: minutes.iter().copied().collect() };
            let is_meant = |m: &u16| hours.contains(&((m / 60) as u8)) && minutes.contains(&((m % 60) as u8));
            let scanned = (from..1440).find(is_meant);
            prop_assert_eq!(times.first_from(from), scanned);
        }
    }
}
