//! Stops of one's own instances that were announced: for the bell, the corner and the pages of the instances.

use atelier_domain::compute::InstanceId;
use atelier_domain::compute::budget::{Budget, BudgetKey, BudgetOf};
use atelier_domain::compute::instance::Instance;
use atelier_domain::compute::notice::StopWhy;
use atelier_domain::reason::Reason;
use atelier_domain::world::World;
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

    /// Whether it can be left out: a stop for lack of activity only be put off.
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

/// All that somebody in a workspace is warned of.
#[derive(Debug, Default)]
pub(crate) struct Announced {
    /// With the owners of the instances, the next first.
    stops: Vec<(UserId, Warning)>,
    budgets: Vec<AnnouncedBudget>,
}

#[derive(Debug)]
struct AnnouncedBudget {
    of: BudgetOf,
    /// Whether it is spent and refuses everybody's work.
    refuses: bool,
    note: BudgetNote,
}

/// What somebody is warned of. Nothing while the engine cannot be asked: a page must not fail for lack of a
/// warning.
pub async fn warnings_of(state: &Studio, workspace: &WorkspaceId, person: &UserId, sees_all: bool) -> Warnings {
    let read = async {
        let workspace = workspace.clone();
        state.engine().ask(move |world| announced(world, &workspace)).await
    };
    let Ok(all) = state.reads().warnings.get(state, workspace.clone(), read).await else { return Warnings::default() };
    let stops = all.stops.iter().filter(|(owner, _)| owner == person).map(|(_, warning)| warning.clone());
    let budgets = all.budgets.iter().filter(|budget| match &budget.of {
        BudgetOf::Workspace => sees_all || budget.refuses,
        BudgetOf::Person(of) => of == person,
    });
    Warnings { stops: stops.collect(), budgets: budgets.map(|budget| budget.note.clone()).collect() }
}

fn announced(world: &World, workspace: &WorkspaceId) -> Announced {
    let stop = |one: &Instance| {
        let notice = one.notice()?;
        let warning = Warning {
            id: one.id,
            name: one.name.to_string(),
            at: notice.at,
            why: notice.why,
            is_draining: one.draining.is_some(),
        };
        Some((one.owner.clone(), warning))
    };
    let there = world.instances().filter(|one| !one.notices.is_empty() && one.workspace == *workspace);
    let mut stops: Vec<(UserId, Warning)> = there.filter_map(stop).collect();
    stops.sort_by(|(_, a), (_, b)| (a.at, &a.name).cmp(&(b.at, &b.name)));
    let budgets = world.budgets(workspace).filter(|(_, budget)| budget.warned > 0).map(|(key, budget)| {
        let refuses = budget.warned >= 100 && budget.action.refuses();
        AnnouncedBudget { of: key.of.clone(), refuses, note: note(world, key, budget) }
    });
    Announced { stops, budgets: budgets.collect() }
}

fn note(world: &World, key: &BudgetKey, budget: &Budget) -> BudgetNote {
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
}
