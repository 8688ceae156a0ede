//! Budgets: how much a workspace, or one person in it, may spend in a calendar month.
//!
//! Amounts are in billionths of the currency, as everywhere in the ledger.

use serde::{Deserialize, Serialize};

use crate::id::{UserId, WorkspaceId};
use crate::money::Money;
use crate::schedule::Zone;
use crate::text::{Problem, Text, shortened};
use crate::time::Timestamp;

/// One of the currency.
pub const ONE: u64 = crate::Money::ONE.billionths();
/// The smallest budget: a hundredth.
pub const MIN_AMOUNT: u64 = ONE / 100;
/// The largest: a billion.
pub const MAX_AMOUNT: u64 = ONE * 1_000_000_000;
/// At how much of a budget people are warned, in hundredths.
pub const THRESHOLDS: [u8; 3] = [50, 80, 100];
/// The longest name of a currency.
const MAX_CURRENCY: usize = 8;

/// Whose budget it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BudgetOf {
    /// All in the workspace together.
    Workspace,
    Person(UserId),
}

/// The name of a budget.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct BudgetKey {
    pub workspace: WorkspaceId,
    pub of: BudgetOf,
}

crate::keyed_enum! {
    /// What happens when all of a budget is spent.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    pub enum BudgetAction {
        /// Nothing but the warning.
        #[default]
        Warn = "warn";
        /// New work is refused.
        Refuse = "refuse";
        /// New work is refused, and what is idle is stopped.
        StopIdle = "stop-idle";
    }
}

impl BudgetAction {
    /// Parses the field `action`.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        Self::ALL.into_iter().find(|action| action.key() == text).ok_or_else(|| {
            let text = shortened(text);
            Problem::new("action", format!("When a budget is spent: warn, refuse or stop-idle, not “{text}”."))
        })
    }

    /// Whether new work is refused.
    pub const fn refuses(self) -> bool {
        matches!(self, Self::Refuse | Self::StopIdle)
    }
}

/// A calendar month somewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Period {
    pub from: Timestamp,
    /// The first moment after it.
    pub to: Timestamp,
}

impl Period {
    /// The month in which a moment is, in that zone.
    pub fn of(at: Timestamp, zone: &Zone) -> Self {
        let (year, month, _) = zone.local(at).date();
        let (next_year, next_month) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
        Self { from: zone.midnight(year, month, 1), to: zone.midnight(next_year, next_month, 1) }
    }
}

/// A budget as somebody sets it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewBudget {
    /// How much, in billionths of the currency.
    pub amount: i64,
    /// What happens when it is spent.
    pub action: BudgetAction,
    /// Where its months begin.
    pub zone: Zone,
    /// What the currency is called, for people.
    pub currency: Text,
    /// What the ledger says was spent in the present month before this: what is over has left the World, so
    /// whoever sets the first budget says it. Not looked at if there is a budget for the same month already.
    #[serde(default)]
    pub spent: u64,
}

impl NewBudget {
    /// Refuses amounts that mean nothing.
    pub fn check(&self) -> Result<u64, Problem> {
        let count = self.currency.chars().count();
        if count == 0 || count > MAX_CURRENCY || self.currency.chars().any(char::is_control) {
            let message = format!("A currency has a name of 1 to {MAX_CURRENCY} characters; this has {count}.");
            return Err(Problem::new("currency", message));
        }
        let amount = u64::try_from(self.amount).ok().filter(|amount| (MIN_AMOUNT..=MAX_AMOUNT).contains(amount));
        amount.ok_or_else(|| {
            let sign = if self.amount < 0 { "−" } else { "" };
            let asked = Money(self.amount.unsigned_abs()).said(&self.currency);
            let (least, most) = (Money(MIN_AMOUNT).said(&self.currency), Money(MAX_AMOUNT).said(&self.currency));
            Problem::new("amount", format!("A budget is between {least} and {most} a month, not {sign}{asked}."))
        })
    }
}

/// A budget, and what was spent of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// How much a month, in billionths of the currency.
    pub amount: u64,
    /// What happens when it is spent.
    pub action: BudgetAction,
    /// Where its months begin.
    pub zone: Zone,
    /// What the currency is called, for people.
    pub currency: Text,
    pub period: Period,
    /// What was booked in it.
    pub spent: u64,
    /// The highest threshold of which people were warned in it; 0 if there was none.
    pub warned: u8,
}

impl Budget {
    /// So much is that many hundredths of it.
    pub fn threshold(&self, percent: u8) -> u64 {
        let exact = u128::from(self.amount) * u128::from(percent);
        u64::try_from(exact.div_ceil(100)).unwrap_or(u64::MAX)
    }

    /// The highest threshold that is reached with so much spent; 0 if none is.
    pub fn reached(&self, spent: u64) -> u8 {
        THRESHOLDS.into_iter().rev().find(|percent| spent >= self.threshold(*percent)).unwrap_or(0)
    }

    /// What must be spent for the next warning; none if all were given.
    pub fn next(&self) -> Option<u64> {
        THRESHOLDS.into_iter().find(|percent| *percent > self.warned).map(|percent| self.threshold(percent))
    }

    /// Whether all of it is spent, as far as was noticed, and what is idle is to stop.
    pub const fn stops_idle(&self) -> bool {
        matches!(self.action, BudgetAction::StopIdle) && self.warned >= 100
    }

    /// When the month is over, for people.
    pub fn ends(&self) -> String {
        let (year, month, day) = self.zone.local(self.period.to).date();
        let month = crate::schedule::month_name(month);
        format!("{day} {month} {year} ({})", self.zone.as_str())
    }
}

/// How a budget stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BudgetStanding {
    /// What was spent in the month, with what is not booked yet.
    pub spent: u64,
    /// What is not booked yet, of that.
    pub accrued: u64,
    /// What an hour costs as things are now.
    pub per_hour: u64,
    /// When all of it is spent if nothing changes; none if that is not before the month is over.
    pub spent_at: Option<Timestamp>,
}

impl BudgetStanding {
    /// Hundredths of the budget.
    pub fn percent(&self, budget: &Budget) -> u64 {
        let percent = u128::from(self.spent) * 100 / u128::from(budget.amount.max(1));
        u64::try_from(percent).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zone(name: &str) -> Zone {
        Zone::parse(name).unwrap_or_else(|problem| panic!("{}", problem.message))
    }

    #[test]
    fn months_begin_and_end_by_the_clocks_of_their_zone() {
        // 2026-03-29: clocks in Berlin go forward.
        for (name, from, to) in [
            ("UTC", 1_772_323_200_000, 1_775_001_600_000),
            ("Europe/Berlin", 1_772_319_600_000, 1_774_994_400_000),
            ("Asia/Kathmandu", 1_772_302_500_000, 1_774_980_900_000),
        ] {
            let (zone, period) = (zone(name), Period { from: Timestamp(from), to: Timestamp(to) });
            for at in [from, from + 86_400_000 * 14, to - 1] {
                assert_eq!(Period::of(Timestamp(at), &zone), period, "{name} {at}");
            }
            assert_eq!(Period::of(Timestamp(to), &zone).from, period.to);
            assert_eq!(Period::of(Timestamp(from - 1), &zone).to, period.from);
        }
    }

    #[test]
    fn thresholds_round_up_and_amounts_are_said_with_their_currency() {
        let budget = Budget {
            amount: 3,
            action: BudgetAction::Warn,
            zone: zone("UTC"),
            currency: "EUR".into(),
            period: Period::of(Timestamp(0), &zone("UTC")),
            spent: 0,
            warned: 0,
        };
        assert_eq!(THRESHOLDS.map(|percent| budget.threshold(percent)), [2, 3, 3]);
        assert_eq!([0, 1, 2, 3, 4].map(|spent| budget.reached(spent)), [0, 0, 50, 100, 100]);
        assert_eq!(Money(1_234_567_899_999_999).said("EUR"), "€1,234,567.90");
        assert_eq!(budget.ends(), "1 Feb 1970 (UTC)");
    }

    #[test]
    fn amounts_that_mean_nothing_are_refused_with_what_is_allowed() {
        let new = |amount| NewBudget {
            amount,
            action: BudgetAction::Warn,
            zone: zone("UTC"),
            currency: "EUR".into(),
            spent: 0,
        };
        for amount in [0, -1, i64::MIN, i64::MAX, 9_999_999] {
            let problem = new(amount).check().expect_err("absurd");
            assert_eq!(problem.field, "amount");
            assert!(problem.message.contains("between €0.01 and €1,000,000,000.00"), "{}", problem.message);
        }
        assert_eq!(new(10_000_000).check(), Ok(MIN_AMOUNT));
        assert!(NewBudget { currency: "".into(), ..new(10_000_000) }.check().is_err());
        assert!(
            BudgetAction::parse("stop").is_err_and(|problem| problem.message.contains("warn, refuse or stop-idle"))
        );
    }
}
