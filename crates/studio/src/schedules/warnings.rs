//! Stops of one's own instances that were announced: for the bell, the corner and the pages of the instances.

use atelier_domain::compute::InstanceId;
use atelier_domain::compute::budget::{Budget, BudgetKey, BudgetOf};
use atelier_domain::compute::notice::StopWhy;
use atelier_domain::reason::Reason;
use atelier_domain::{Money, Timestamp, UserId, WorkspaceId};

use crate::studio::Studio;

/// A stop that comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    pub id: InstanceId,
    pub name: String,
    pub at: Timestamp,
    pub why: StopWhy,
    /// Whether it waits for jobs.
    pub is_draining: bool,
}

impl Warning {
    /// Why, as the end of a sentence.
    pub const fn phrase(&self) -> &'static str {
        match self.why {
            _ if self.is_draining => "or when its jobs have ended",
            StopWhy::Schedule(_) => "by schedule",
            StopWhy::Postponed => "as it was put off",
            StopWhy::Idle => "for want of activity",
        }
    }

    /// Whether it can be left out: a stop for want of activity only be put off.
    pub const fn can_be_skipped(&self) -> bool {
        !matches!(self.why, StopWhy::Idle)
    }
}

/// A budget of which much is spent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BudgetNote {
    /// What tells it apart.
    pub key: String,
    /// How much, of what, and what follows.
    pub text: String,
}

/// What somebody is warned of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Warnings {
    /// The stops of their instances that were announced, the next first.
    pub stops: Vec<Warning>,
    /// Budgets: their own, and the workspace's if they see all cost or it refuses their work.
    pub budgets: Vec<BudgetNote>,
}

/// What somebody is warned of. Nothing while the engine cannot be asked: a page must not fail for want of a
/// warning.
pub async fn warnings_of(state: &Studio, workspace: &WorkspaceId, person: &UserId, sees_all: bool) -> Warnings {
    let (workspace, person) = (workspace.clone(), person.clone());
    let found = state.engine().ask(move |world| {
        let mine = world
            .instances()
            .filter(|one| !one.notices.is_empty() && one.owner == person && one.workspace == workspace);
        let warn = |one: &atelier_domain::compute::instance::Instance| {
            let notice = one.notice()?;
            Some(Warning {
                id: one.id,
                name: one.name.to_string(),
                at: notice.at,
                why: notice.why,
                is_draining: one.draining.is_some(),
            })
        };
        let mut warnings: Vec<Warning> = mine.filter_map(warn).collect();
        warnings.sort_by(|a, b| (a.at, &a.name).cmp(&(b.at, &b.name)));
        let budgets = world.budgets(&workspace).filter(|(key, budget)| match &key.of {
            BudgetOf::Workspace => budget.warned > 0 && (sees_all || (budget.warned >= 100 && budget.action.refuses())),
            BudgetOf::Person(of) => budget.warned > 0 && *of == person,
        });
        let note = |(key, budget): (&BudgetKey, &Budget)| {
            let (spent, currency) = (world.spent(key).unwrap_or(budget.spent), budget.currency.clone());
            let whose = if key.of == BudgetOf::Workspace { "The workspace has" } else { "You have" };
            let said = format!(
                "{whose} spent {} of {} for this month.",
                Money(spent).said(&currency),
                Money(budget.amount).said(&currency)
            );
            let reason = Reason::BudgetWarning {
                person: None,
                percent: budget.warned,
                spent,
                amount: budget.amount,
                currency,
                ends: budget.ends(),
                action: budget.action.key().into(),
            };
            let next = reason.next_step().unwrap_or_default();
            BudgetNote { key: format!("{whose}-{}", budget.warned), text: format!("{said} {next}") }
        };
        Warnings { stops: warnings, budgets: budgets.map(note).collect() }
    });
    found.await.unwrap_or_default()
}
