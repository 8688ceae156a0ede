//! Budgets in the World: what was spent, what runs up while nobody books it, and how fast.
//!
//! What a node costs is booked when something on it changes, and each hour. What it has cost since is worked
//! out when somebody asks: for a workspace from two sums that follow from its nodes, for a person node by
//! node, and only if their own bookings do not settle the question already.

use super::{Due, Key, World};
use crate::compute::NodeId;
use crate::compute::budget::{Budget, BudgetKey, BudgetOf, BudgetStanding};
use crate::id::{UserId, WorkspaceId};
use crate::time::{Mono, Span};
use crate::world::{Charge, LedgerKey};

/// Milliseconds of an hour, and what makes millionths billionths.
const HOUR: u128 = 3_600_000;
const THOUSAND: u128 = 1_000;

/// What the nodes of a workspace cost, in millionths of the currency by the hour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Burn {
    /// All of them together.
    rate: u128,
    /// Each times the moment up to which it was booked.
    booked: u128,
}

impl Burn {
    /// What is not booked yet, in billionths of the currency.
    fn accrued(self, now: Mono) -> u64 {
        let run_up = (self.rate * u128::from(now.0)).saturating_sub(self.booked);
        u64::try_from(run_up * THOUSAND / HOUR).unwrap_or(u64::MAX)
    }

    /// How long it takes until so much more is spent; none if nothing costs anything.
    fn time_for(self, missing: u64) -> Option<Span> {
        let millis = (u128::from(missing) * HOUR).div_ceil((self.rate * THOUSAND).max(1));
        (self.rate > 0).then(|| Span::millis(u64::try_from(millis).unwrap_or(u64::MAX).min(i64::MAX as u64)))
    }
}

impl World {
    /// All budgets of a workspace, its own first.
    pub fn budgets(&self, workspace: &WorkspaceId) -> impl Iterator<Item = (&BudgetKey, &Budget)> {
        let from = BudgetKey { workspace: workspace.clone(), of: BudgetOf::Workspace };
        self.budgets.range(from..).take_while(move |(key, _)| key.workspace == *workspace)
    }

    pub fn budget(&self, key: &BudgetKey) -> Option<&Budget> {
        self.budgets.get(key)
    }

    /// How a budget stands. The World knows only the time of its last step: `later` is how long ago that was.
    pub fn budget_standing(&self, key: &BudgetKey, later: Span) -> Option<BudgetStanding> {
        let budget = self.budgets.get(key)?;
        let accrued = self.accrued(key, later);
        let hour = Span::hours(1);
        let per_hour = self.accrued(key, later.plus(hour)).saturating_sub(accrued);
        let spent = budget.spent.saturating_add(accrued);
        let missing = budget.amount.saturating_sub(spent);
        let millis = u128::from(missing) * HOUR / u128::from(per_hour.max(1));
        let millis = u64::try_from(millis).ok().filter(|_| per_hour > 0 && missing > 0);
        let wall = self.now.wall.plus(later);
        let spent_at = millis.map(|millis| wall.plus(Span::millis(millis))).filter(|at| *at < budget.period.to);
        Some(BudgetStanding { spent, accrued, per_hour, spent_at })
    }

    /// What was spent of a budget in its month, with what is not booked yet.
    pub fn spent(&self, key: &BudgetKey) -> Option<u64> {
        Some(self.budgets.get(key)?.spent.saturating_add(self.accrued(key, Span::ZERO)))
    }

    /// What is not booked yet.
    fn accrued(&self, key: &BudgetKey, later: Span) -> u64 {
        match &key.of {
            BudgetOf::Workspace => {
                let now = self.now.mono.plus(later);
                self.burns.get(&key.workspace).map_or(0, |burn| burn.accrued(now))
            }
            BudgetOf::Person(person) => {
                let nodes = self.nodes.values().filter(|node| node.workspace == key.workspace);
                let shares = nodes.flat_map(|node| self.unsettled_charges(node, later));
                let own = shares.filter(|(paid, _)| paid.user == *person);
                own.fold(0_u64, |sum, (_, charge)| sum.saturating_add(charge.cost))
            }
        }
    }

    /// Whether so much of a budget is spent. Looked at node by node only if nothing quicker tells.
    pub(crate) fn has_spent(&self, key: &BudgetKey, amount: u64) -> bool {
        let Some(budget) = self.budgets.get(key) else { return false };
        if budget.spent >= amount {
            return true;
        }
        let most = self.burns.get(&key.workspace).map_or(0, |burn| burn.accrued(self.now.mono));
        // Each node's parts are rounded by themselves.
        if budget.spent.saturating_add(most) < amount {
            return false;
        }
        budget.spent.saturating_add(self.accrued(key, Span::ZERO)) >= amount
    }

    /// The earliest moment at which somebody's next warning may be due, by what all nodes of the workspace
    /// cost now.
    pub(crate) fn next_budget_look(&self, workspace: &WorkspaceId) -> Option<Mono> {
        let burn = self.burns.get(workspace)?;
        let now = self.now.mono;
        let accrued = burn.accrued(now);
        let missing = |budget: &Budget| Some(budget.next()?.saturating_sub(budget.spent.saturating_add(accrued)));
        let least = self.budgets(workspace).filter_map(|(_, budget)| missing(budget)).min()?;
        Some(now.plus(burn.time_for(least)?))
    }

    /// A node comes, goes, or was booked. Kept only where there are budgets.
    pub(super) fn count_burn(&mut self, id: NodeId, is_added: bool) {
        if self.budgets.is_empty() {
            return;
        }
        let Some(node) = self.nodes.get(&id) else { return };
        let (rate, booked) = (u128::from(node.price.0), u128::from(node.price.0) * u128::from(node.settled.0));
        if !self.burns.contains_key(&node.workspace) {
            self.burns.insert(node.workspace.clone(), Burn::default());
        }
        let Some(burn) = self.burns.get_mut(&node.workspace) else { return };
        if is_added {
            burn.rate += rate;
            burn.booked += booked;
        } else {
            burn.rate = burn.rate.saturating_sub(rate);
            burn.booked = burn.booked.saturating_sub(booked);
        }
        if *burn == Burn::default() {
            self.burns.remove(&node.workspace);
        }
    }

    fn recount_burns(&mut self) {
        self.burns.clear();
        let nodes: Vec<NodeId> = self.nodes.keys().copied().collect();
        nodes.into_iter().for_each(|node| self.count_burn(node, true));
    }

    pub(crate) fn spend(&mut self, shares: &[(LedgerKey, Charge)]) {
        if self.budgets.is_empty() {
            return;
        }
        for (paid, charge) in shares.iter().filter(|(_, charge)| charge.cost > 0) {
            for of in [BudgetOf::Workspace, BudgetOf::Person(paid.user.clone())] {
                let key = BudgetKey { workspace: paid.workspace.clone(), of };
                if let Some(budget) = self.budgets.get_mut(&key) {
                    budget.spent = budget.spent.saturating_add(charge.cost);
                    self.changed(Key::Budget(key));
                }
            }
        }
    }

    pub(crate) fn put_budget(&mut self, key: BudgetKey, budget: Budget) {
        let is_first = self.budgets.is_empty();
        self.budget_ends.set(key.clone(), Some(budget.period.to));
        self.look_at_budgets.insert(key.workspace.clone());
        self.changed(Key::Budget(key.clone()));
        self.budgets.insert(key, budget);
        if is_first {
            self.recount_burns();
        }
    }

    pub(crate) fn remove_budget(&mut self, key: &BudgetKey) {
        self.budgets.remove(key);
        self.budget_ends.remove(key);
        self.look_at_budgets.insert(key.workspace.clone());
        self.gone(Key::Budget(key.clone()));
        if self.budgets.is_empty() {
            self.burns.clear();
        }
    }

    /// When the budgets of a workspace are looked at again by themselves.
    pub(crate) fn set_budget_look(&mut self, workspace: &WorkspaceId, at: Option<Mono>) {
        let before = match at {
            Some(at) => self.budget_looks.insert(workspace.clone(), at),
            None => self.budget_looks.remove(workspace),
        };
        if let Some(before) = before {
            self.deadlines.remove(&(before, Due::Budgets(workspace.clone())));
        }
        self.deadlines.extend(at.map(|at| (at, Due::Budgets(workspace.clone()))));
    }

    /// Whether all of a budget is spent that stops what is idle: the workspace's, or the person's.
    pub(crate) fn stops_idle(&self, workspace: &WorkspaceId, person: &UserId) -> bool {
        if self.budgets.is_empty() {
            return false;
        }
        [BudgetOf::Workspace, BudgetOf::Person(person.clone())].into_iter().any(|of| {
            let key = BudgetKey { workspace: workspace.clone(), of };
            self.budgets.get(&key).is_some_and(Budget::stops_idle)
        })
    }
}
