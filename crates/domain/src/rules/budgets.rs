//! Budgets: set and taken away, warned of in time, and what happens when all is spent.

use crate::compute::budget::{Budget, BudgetKey, BudgetOf, NewBudget, Period, THRESHOLDS};
use crate::compute::cluster::Cluster;
use crate::compute::idle::{IdlePolicy, MIN_WINDOW};
use crate::compute::instance::Instance;
use crate::id::{UserId, WorkspaceId};
use crate::reason::Reason;
use crate::time::Span;
use crate::world::{About, Answer, Command, PoolKey, World};

/// Budgets are looked at no more often than this, however fast money goes.
pub const LOOK_PAUSE: Span = Span::minutes(1);

impl World {
    pub(super) fn set_budget(
        &mut self,
        command: &Command,
        of: &BudgetOf,
        new: Option<&NewBudget>,
    ) -> Result<Answer, Reason> {
        let key = BudgetKey { workspace: command.workspace.clone(), of: of.clone() };
        let before = self.budgets.get(&key).cloned();
        let Some(new) = new else {
            if before.is_none() {
                return Ok(Answer::Already);
            }
            self.remove_budget(&key);
            self.budget_scope_changed(&key);
            return Ok(Answer::Done);
        };
        let amount = new.check().map_err(Reason::invalid)?;
        let period = Period::of(self.now.wall, &new.zone);
        let mut budget = Budget {
            amount,
            action: new.action,
            zone: new.zone.clone(),
            currency: new.currency.clone(),
            period,
            spent: new.spent,
            warned: 0,
        };
        if let Some(before) = before.filter(|before| before.period == period) {
            budget.spent = before.spent;
            budget.warned = before.warned;
            if budget == before {
                return Ok(Answer::Already);
            }
            // What is no longer reached may be reached again; what still is was warned of.
            let spent = self.spent(&key).unwrap_or(budget.spent);
            budget.warned = before.warned.min(budget.reached(spent));
        }
        self.put_budget(key.clone(), budget);
        self.budget_scope_changed(&key);
        Ok(Answer::Done)
    }

    /// Why nothing new may be begun for somebody: a budget is spent and refuses new work.
    pub(super) fn within_budget(&self, workspace: &WorkspaceId, person: &UserId) -> Result<(), Reason> {
        if self.budgets.is_empty() {
            return Ok(());
        }
        for of in [BudgetOf::Workspace, BudgetOf::Person(person.clone())] {
            let key = BudgetKey { workspace: workspace.clone(), of };
            let Some(budget) = self.budgets.get(&key).filter(|budget| budget.action.refuses()) else { continue };
            if self.has_spent(&key, budget.amount) {
                return Err(Reason::OverBudget {
                    is_personal: key.of != BudgetOf::Workspace,
                    spent: self.spent(&key).unwrap_or(budget.spent),
                    amount: budget.amount,
                    currency: budget.currency.clone(),
                    ends: budget.ends(),
                });
            }
        }
        Ok(())
    }

    /// Months that are over begin anew, and whatever is reached is warned of, once.
    pub(super) fn settle_budgets(&mut self) {
        if self.budgets.is_empty() && self.look_at_budgets.is_empty() {
            return;
        }
        while let Some((_, key)) = self.budget_ends.pop_due(self.now.wall) {
            let Some(budget) = self.budgets.get(&key).cloned() else { continue };
            let period = Period::of(self.now.wall, &budget.zone);
            self.put_budget(key.clone(), Budget { period, spent: 0, warned: 0, ..budget });
            self.budget_scope_changed(&key);
        }
        while let Some(workspace) = self.look_at_budgets.pop_first() {
            let keys: Vec<BudgetKey> = self.budgets(&workspace).map(|(key, _)| key.clone()).collect();
            for key in keys {
                self.look_at_budget(&key);
            }
            let next = self.next_budget_look(&workspace).map(|at| at.max(self.now.mono.plus(LOOK_PAUSE)));
            self.set_budget_look(&workspace, next);
        }
    }

    fn look_at_budget(&mut self, key: &BudgetKey) {
        let Some(budget) = self.budgets.get(key) else { return };
        let Some(next) = budget.next().filter(|next| self.has_spent(key, *next)) else { return };
        let spent = self.spent(key).unwrap_or(next).max(next);
        let reached = budget.reached(spent);
        let missed: Vec<u8> =
            THRESHOLDS.into_iter().filter(|percent| *percent > budget.warned && *percent <= reached).collect();
        let (amount, currency, ends, action) = (budget.amount, budget.currency.clone(), budget.ends(), budget.action);
        let person = match &key.of {
            BudgetOf::Workspace => None,
            BudgetOf::Person(person) => Some(person.clone()),
        };
        // Reached at once, the highest says it all.
        if let Some(percent) = missed.last().copied() {
            let budget = Budget { warned: percent, ..budget.clone() };
            self.put_budget(key.clone(), budget);
            self.look_at_budgets.remove(&key.workspace);
            let reason =
                Reason::BudgetWarning { person, percent, spent, amount, currency, ends, action: action.key().into() };
            self.decide(&key.workspace, About::Budget, reason);
            self.budget_scope_changed(key);
        }
    }

    /// Minimums may count again, or no longer.
    fn budget_scope_changed(&mut self, key: &BudgetKey) {
        let clusters = self.clusters.values().filter(|cluster| cluster.workspace == key.workspace);
        let clusters: Vec<PoolKey> = clusters.map(|cluster| PoolKey::Cluster(cluster.id)).collect();
        self.dirty.extend(clusters);
    }

    /// Whether a cluster keeps no idle nodes: nobody may pay for them.
    pub(crate) fn keeps_no_idle(&self, cluster: &Cluster) -> bool {
        self.stops_idle(&cluster.workspace, &cluster.owner)
    }

    /// When an instance stops for lack of activity: as set, and soon if nobody may pay for idling.
    pub(crate) fn idle_policy_of(&self, instance: &Instance) -> Option<IdlePolicy> {
        if !self.stops_idle(&instance.workspace, &instance.owner) {
            return instance.idle.clone();
        }
        let own = instance.idle.clone().unwrap_or_else(|| IdlePolicy::after(MIN_WINDOW));
        Some(IdlePolicy { window: own.window.min(MIN_WINDOW), ..own })
    }
}
