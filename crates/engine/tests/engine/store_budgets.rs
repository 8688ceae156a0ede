//! Budgets in the store: set, warned of, spent and taken away, over restarts. Each claim is proved on SQLite
//! and on PostgreSQL.

use std::time::Duration;

use atelier_domain::compute::budget::{BudgetAction, BudgetKey, BudgetOf, NewBudget, ONE};
use atelier_domain::reason::Reason;
use atelier_domain::schedule::Zone;
use atelier_domain::time::Span;
use atelier_domain::world::{About, Answer, Order};
use atelier_engine::run::{Options, OrderError};
use atelier_engine::store::{DecisionFilter, HistoryFilter, Kind};

use crate::common::{Manner, Place, Running};

/// Runs one claim on both databases, as two tests.
macro_rules! on_both {
    ($(async fn $name:ident($place:ident: Place) $body:block)*) => { $(
        mod $name {
            use super::*;
            async fn claim($place: Place) $body
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn on_sqlite() { claim(Place::new(Kind::Sqlite)).await }
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn on_postgres() { claim(Place::new(Kind::Postgres)).await }
        }
    )* };
}

fn budget(cents: i64, spent: u64) -> Option<Box<NewBudget>> {
    let zone = Zone::parse("Europe/Berlin").expect("a zone");
    let amount = cents * (ONE as i64 / 100);
    Some(Box::new(NewBudget { amount, action: BudgetAction::Refuse, zone, currency: "EUR".into(), spent }))
}

on_both! {
    async fn a_budget_survives_a_restart_with_what_was_warned_of(place: Place) {
        let it = Running::start(place.open().await, Manner::Idle, Options::default()).await;
        let cluster = it.furnish(1).await;
        let set = |of: BudgetOf, budget| Order::SetBudget { of, budget };
        let own = BudgetOf::Person(it.user.clone());
        it.give("budget-of-all", set(BudgetOf::Workspace, budget(100, ONE))).await.expect("set");
        it.give("budget-of-one", set(own.clone(), budget(50_000, 0))).await.expect("set");
        let refused = it.give("submit-too-late", crate::common::submit(cluster)).await;
        assert!(matches!(refused, Err(OrderError::Refused(Reason::OverBudget { .. }))), "{refused:?}");
        it.stop().await;

        let it = Running::start(place.open().await, Manner::Idle, Options::default()).await;
        let workspace = it.workspace.clone();
        let known = it.handle.ask(move |world| {
            let budgets: Vec<_> =
                world.budgets(&workspace).map(|(key, it)| (key.of.clone(), it.amount, it.warned)).collect();
            (budgets, world.audit())
        });
        let amounts = vec![(BudgetOf::Workspace, ONE, 100), (own.clone(), 500 * ONE, 0)];
        assert_eq!(known.await, Ok((amounts, vec![])));
        let refused = it.give("submit-again-too-late", crate::common::submit(cluster)).await;
        assert!(matches!(refused, Err(OrderError::Refused(Reason::OverBudget { .. }))), "{refused:?}");
        let filter = DecisionFilter { about: vec![About::Budget], before: None, limit: 10 };
        let said = it.store.decisions(&it.workspace, &filter).await.expect("reads");
        let codes: Vec<(&str, About)> = said.iter().map(|entry| (entry.code.as_str(), entry.about)).collect();
        assert_eq!(codes, [("budget-warning", About::Budget)], "once, also after the restart");
        it.give("no-budget-of-all", set(BudgetOf::Workspace, None)).await.expect("taken away");
        assert_eq!(it.give("no-budget-again", set(BudgetOf::Workspace, None)).await, Ok(Answer::Already));
        it.give("submit-in-time", crate::common::submit(cluster)).await.expect("queued");
        let entries = it.store.history(&it.workspace, &HistoryFilter { limit: 20, ..HistoryFilter::default() }).await;
        let entries: Vec<String> = entries.expect("reads").into_iter().map(|entry| entry.sentence).collect();
        assert_eq!(entries[0], "took the budget of the workspace away");
        assert_eq!(
            entries[2],
            "set the budget of the workspace to €1.00 a month; when it is spent, new work is refused"
        );
        it.stop().await;

        let it = Running::start(place.open().await, Manner::Idle, Options::default()).await;
        let workspace = it.workspace.clone();
        assert_eq!(it.handle.ask(move |world| world.budgets(&workspace).count()).await, Ok(1));
        it.stop().await;
    }

    async fn what_was_spent_is_what_the_ledger_says(place: Place) {
        let it =
            Running::start(place.open().await, Manner::Prompt(Duration::from_millis(20)), Options::default()).await;
        let cluster = it.furnish(1).await;
        it.give("budget-of-all", Order::SetBudget { of: BudgetOf::Workspace, budget: budget(50_000, 0) })
            .await
            .expect("set");
        let job = crate::common::job(&it.give("a-job-to-run", crate::common::submit(cluster)).await.expect("taken"));
        let mut over = it.handle.job_over(job);
        over.ended().await.expect("it ends");
        let key = BudgetKey { workspace: it.workspace.clone(), of: BudgetOf::Workspace };
        // Nothing is booked between the two looks, or they are taken again.
        let (spent, booked) = loop {
            let of = key.clone();
            let spent =
                it.handle.ask(move |world| world.budget(&of).map(|budget| budget.spent)).await.expect("answers");
            let holder = atelier_domain::compute::node::Holder::Cluster(cluster);
            let booked = it.store.cost_of_holder(&it.workspace, holder, 0).await.expect("reads").cost;
            let of = key.clone();
            let again =
                it.handle.ask(move |world| world.budget(&of).map(|budget| budget.spent)).await.expect("answers");
            if spent == again {
                break (spent, booked);
            }
        };
        assert_eq!(spent, Some(booked));
        assert!(booked > 0);
        let standing = it.handle.ask(move |world| world.budget_standing(&key, Span::ZERO)).await.expect("answers");
        assert!(standing.is_some_and(|standing| standing.spent >= booked && standing.spent_at.is_none()));
        it.stop().await;
    }
}
