//! What the store says about clusters: what was decided, what they cost, and what their nodes did. Each claim
//! is proved on SQLite and on PostgreSQL.

use std::time::Duration;

use atelier_domain::WorkspaceId;
use atelier_domain::compute::node::Holder;
use atelier_domain::compute::{ClusterId, JobId};
use atelier_domain::time::Timestamp;
use atelier_domain::world::About;
use atelier_engine::run::Options;
use atelier_engine::store::{DecisionFilter, Kind, NodeCounts, ledger_name};

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

fn running(count: u64) -> NodeCounts {
    NodeCounts { running: count, queued: 2 * count, ..NodeCounts::default() }
}

on_both! {
    async fn what_nodes_did_is_read_from_an_instant_on_with_what_held_then(place: Place) {
        let store = place.open().await;
        let (one, two) = (ClusterId(1), ClusterId(2));
        for at in [10, 20, 30] {
            let counts = [(one, running(at)), (two, running(1))];
            store.note_cluster_counts(Timestamp(at as i64), &counts).await.expect("noted");
        }
        let since = async |cluster, at| -> Vec<i64> {
            let rows = store.cluster_counts(cluster, Timestamp(at)).await.expect("reads");
            assert!(rows.iter().all(|(at, counts)| cluster == two || *counts == running(at.0.unsigned_abs())));
            rows.iter().map(|(at, _)| at.0).collect()
        };
        assert_eq!(since(one, 0).await, [10, 20, 30]);
        assert_eq!(since(one, 20).await, [20, 30]);
        assert_eq!(since(one, 25).await, [20, 30], "what held at that instant came before it");
        assert_eq!(since(one, 99).await, [30]);
        assert_eq!(since(ClusterId(3), 0).await, [] as [i64; 0]);
        store.note_cluster_counts(Timestamp(30), &[(one, running(30))]).await.expect("the same again");
        store.prune_cluster_counts(Timestamp(25)).await.expect("pruned");
        assert_eq!(since(one, 0).await, [30]);
        store.prune_cluster_counts(Timestamp(99)).await.expect("pruned");
        assert_eq!(since(one, 0).await, [30], "the last one still says how things are");
        store.forget_cluster_counts(&[one]).await.expect("forgotten");
        assert_eq!((since(one, 0).await.len(), since(two, 0).await), (0, vec![30]));
        store.close().await;
    }

    async fn decisions_and_cost_of_a_cluster_are_found(place: Place) {
        let manner = Manner::Prompt(Duration::from_millis(30));
        let it = Running::start(place.open().await, manner, Options::default()).await;
        let cluster = it.furnish(1).await;
        let answer = it.give("a-job-to-run", crate::common::submit(cluster)).await.expect("taken");
        let job = crate::common::job(&answer);
        let mut status = it.handle.watch();
        loop {
            let is_over = it.handle.ask(move |world| world.job(job).is_none()).await.expect("answers");
            if is_over {
                break;
            }
            status.changed().await.expect("goes on");
        }
        let about = vec![About::Cluster(cluster)];
        let find = async |filter: DecisionFilter| it.store.decisions(&it.workspace, &filter).await.expect("reads");
        let all = find(DecisionFilter { about: about.clone(), before: None, limit: 50 }).await;
        assert!(all.iter().any(|entry| entry.code == "scale-up" && entry.about == About::Cluster(cluster)), "{all:?}");
        assert!(all.is_sorted_by(|a, b| (a.revision, a.ordinal) > (b.revision, b.ordinal)), "newest first");
        let newest = all.first().expect("one");
        let before = Some((newest.revision, newest.ordinal));
        assert_eq!(find(DecisionFilter { about: about.clone(), before, limit: 50 }).await, all[1..]);
        assert_eq!(find(DecisionFilter { about: Vec::new(), before: None, limit: 50 }).await, []);
        let other = WorkspaceId::new("other");
        let filter = DecisionFilter { about, before: None, limit: 50 };
        assert_eq!(it.store.decisions(&other, &filter).await.expect("reads"), []);

        let holder = Holder::Cluster(cluster);
        let charged = it.store.cost_of_holder(&it.workspace, holder, 0).await.expect("reads");
        let of_job = it.store.cost_of_job(&it.workspace, job, 0).await.expect("reads");
        assert!(of_job.cost > 0 && of_job.millis > 0 && charged.cost >= of_job.cost, "{charged:?} {of_job:?}");
        let both = [ledger_name(holder), ledger_name(Holder::Job(JobId(99)))];
        let found = it.store.cost_of_holders(&it.workspace, &both, 0).await.expect("reads");
        assert_eq!((found.len(), found[&both[0]]), (1, charged));
        assert_eq!(it.store.cost_of_holder(&it.workspace, holder, i64::MAX).await.expect("reads").cost, 0);
        assert_eq!(it.store.cost_of_job(&other, job, 0).await.expect("reads").cost, 0);
        assert_eq!(it.store.job_names(&[job, JobId(99)]).await.expect("reads").len(), 0, "it was given without a name");
        it.stop().await;
    }
}
