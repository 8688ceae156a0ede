//! Budgets: how much a month may cost, how much of that is spent, and setting them.

use atelier_domain::Money;
use atelier_domain::access::{Action, Whose};
use atelier_domain::compute::budget::{
    Budget, BudgetAction, BudgetKey, BudgetOf, BudgetStanding, MAX_AMOUNT, MIN_AMOUNT, NewBudget, Period,
};
use atelier_domain::error::AppError;
use atelier_domain::schedule::Zone;
use atelier_domain::text::{Problem, shortened};
use atelier_domain::world::{Answer, Order};
use atelier_engine::clock;
use atelier_engine::run::CommandId;
use atelier_engine::store::SpendFilter;

use crate::caller::Caller;
use crate::orders::{ask, order, since_last_step};
use crate::people::names::Names;
use crate::typed::decimal;

const HOUR: i64 = 3_600_000;
/// Decimals of an amount as it is typed; the ledger has nine.
const TYPED_PLACES: usize = 2;
/// What the last of them is in the ledger.
const CENT: u64 = 10_000_000;

/// A budget with how it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BudgetLine {
    pub of: BudgetOf,
    /// The name of the person; empty for the workspace.
    pub name: String,
    /// Their e-mail address; empty where it is not known.
    pub email: String,
    pub budget: Budget,
    pub standing: BudgetStanding,
}

/// The budgets that somebody may see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Budgets {
    pub workspace: Option<BudgetLine>,
    /// Of people: those who have spent most of theirs first.
    pub people: Vec<BudgetLine>,
    /// Whether these are all, and not only what concerns the caller.
    pub are_all: bool,
}

/// All budgets, for who sees all cost; else the workspace's and one's own. Needs `cost.read`.
pub async fn read(caller: &Caller) -> Result<Budgets, AppError> {
    let actor = caller.authorise_for(Action::CostRead, Whose::Own).await?;
    let are_all = actor.person.rights().check(Action::CostRead, Whose::Others).is_ok();
    let (workspace, own) = (actor.workspace.id.clone(), actor.person.id.clone());
    let of = workspace.clone();
    let later = since_last_step(caller);
    let found: Vec<(BudgetOf, Budget, BudgetStanding)> = ask(caller, move |world| {
        let is_shown = |key: &BudgetKey| match &key.of {
            BudgetOf::Workspace => true,
            BudgetOf::Person(person) => are_all || *person == own,
        };
        let shown = world.budgets(&of).filter(|(key, _)| is_shown(key));
        let line = |(key, budget): (&BudgetKey, &Budget)| {
            Some((key.of.clone(), budget.clone(), world.budget_standing(key, later)?))
        };
        shown.filter_map(line).collect()
    })
    .await?;
    let ids = found.iter().filter_map(|(of, ..)| match of {
        BudgetOf::Person(id) => Some(id.clone()),
        BudgetOf::Workspace => None,
    });
    let names = Names::of(caller, ids).await?;
    let mut lines: Vec<BudgetLine> = found
        .into_iter()
        .map(|(of, budget, standing)| {
            let (name, email) = match &of {
                BudgetOf::Workspace => Default::default(),
                BudgetOf::Person(id) => (names.name(id), names.email(id)),
            };
            BudgetLine { of, name, email, budget, standing }
        })
        .collect();
    lines.sort_by(|a, b| a.name.cmp(&b.name));
    lines.sort_by_key(|line| std::cmp::Reverse(line.standing.percent(&line.budget)));
    let (workspace, people) = lines.into_iter().partition::<Vec<_>, _>(|line| line.of == BudgetOf::Workspace);
    Ok(Budgets { workspace: workspace.into_iter().next(), people, are_all })
}

/// A budget as people wish it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    /// How much a month, in billionths of the currency.
    pub amount: i64,
    pub action: BudgetAction,
    /// Where its months begin; where they began, or where the caller is, if nothing is said.
    pub zone: Option<Zone>,
}

/// Sets a budget, or takes it away. Needs `budget.write`.
pub async fn set(
    caller: &Caller,
    id: CommandId,
    of: BudgetOf,
    wish: Option<Wish>,
    why: Option<String>,
) -> Result<Answer, AppError> {
    let actor = caller.authorise(Action::BudgetWrite).await?;
    let budget = match wish {
        None => None,
        Some(wish) => {
            let key = BudgetKey { workspace: actor.workspace.id.clone(), of: of.clone() };
            let before = ask(caller, move |world| world.budget(&key).map(|budget| budget.zone.clone())).await?;
            let zone = match wish.zone.or(before) {
                Some(zone) => zone,
                None => Zone::parse(&actor.person.time_zone).map_err(AppError::from)?,
            };
            let new = NewBudget {
                amount: wish.amount,
                action: wish.action,
                currency: caller.studio.settings().currency.as_str().into(),
                spent: booked(caller, &of, &zone).await?,
                zone,
            };
            new.check().map_err(AppError::from)?;
            Some(Box::new(new))
        }
    };
    order(caller, id, Order::SetBudget { of, budget }, None, why).await
}

/// What the ledger has of the present month.
async fn booked(caller: &Caller, of: &BudgetOf, zone: &Zone) -> Result<u64, AppError> {
    let period = Period::of(clock::now(), zone);
    let hour = |at: i64| at.div_euclid(HOUR);
    let filter = SpendFilter {
        workspace: caller.actor()?.workspace.id.clone(),
        from: hour(period.from.0 + HOUR - 1),
        to: hour(period.to.0 + HOUR - 1),
        person: match of {
            BudgetOf::Workspace => None,
            BudgetOf::Person(person) => Some(person.clone()),
        },
    };
    let hours = caller.checked(caller.store().spent_by_hour(&filter).await)?;
    Ok(hours.into_iter().fold(0, |sum, (_, charge)| sum.saturating_add(charge.cost)))
}

/// Reads the field `amount`: money for a month, with at most two decimals.
pub fn amount_of(text: &str, currency: &str) -> Result<i64, Problem> {
    let cents = decimal("amount", "A budget", text, TYPED_PLACES).map_err(|_| {
        let (least, most) = (Money(MIN_AMOUNT).said(currency), Money(MAX_AMOUNT).said(currency));
        let message = format!(
            "A budget is an amount for a month, such as 250 or 99.50, between {least} and {most}; this is “{}”.",
            shortened(text)
        );
        Problem::new("amount", message)
    })?;
    // What is far too much stays that and is refused with the bounds.
    Ok(i64::try_from(u128::from(cents) * u128::from(CENT)).unwrap_or(i64::MAX))
}

/// An amount as it is typed; what is finer than that is rounded up.
pub fn typed_amount(amount: u64) -> String {
    let cents = amount.div_ceil(CENT);
    let text = format!("{}.{:02}", cents / 100, cents % 100);
    text.strip_suffix(".00").map_or_else(|| text.clone(), str::to_owned)
}

/// What happens when a budget is spent, in a few words.
pub const fn said_action(action: BudgetAction) -> &'static str {
    match action {
        BudgetAction::Warn => "Only warn",
        BudgetAction::Refuse => "Refuse new work",
        BudgetAction::StopIdle => "Refuse new work and stop what is idle",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_as_people_type_them_and_shown_the_same() {
        for (typed, amount) in [("250", 250_000_000_000), ("99.50", 99_500_000_000), ("0.01", 10_000_000)] {
            assert_eq!(amount_of(typed, "EUR"), Ok(amount), "{typed}");
            let shown = typed_amount(amount.unsigned_abs());
            assert_eq!(amount_of(&shown, "EUR"), Ok(amount), "{shown}");
        }
        for typed in ["", "-5", "1.234", "much", "1e9"] {
            let problem = amount_of(typed, "EUR").expect_err(typed);
            assert!(problem.field == "amount" && problem.message.contains("between €0.01"), "{}", problem.message);
        }
    }
}
