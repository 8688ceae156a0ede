//! Waiting for jobs to be over, and names that are known without asking the loop: proved on SQLite and on
//! PostgreSQL.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use atelier_domain::compute::job::Verdict;
use atelier_domain::compute::size::{ComputeName, SizeName};
use atelier_domain::world::Order;
use atelier_engine::run::{CommandId, Commit, CommitFault, Options};
use atelier_engine::store::Kind;
use atelier_testing::PATIENCE;

use crate::common::{Manner, Place, Running, cluster, job, runs_again, submit};

async fn ended_job_wakes_who_waits(place: Place) {
    let it = Running::start(place.open().await, Manner::Prompt(Duration::from_millis(1)), Options::default()).await;
    let pool = it.furnish(2).await;
    let waits: Vec<_> = futures_util::future::join_all((0..8).map(|_| async {
        let id = job(&it.give(CommandId::random().as_str(), submit(pool)).await.expect("queued"));
        // First the wait, then the look: whichever way the race goes, it ends.
        let mut over = it.handle.job_over(id);
        if let Some(ended) = it.store.job(&it.workspace, id).await.expect("reads").expect("is there").verdict {
            return ended;
        }
        tokio::time::timeout(PATIENCE, over.ended()).await.expect("in time").expect("is told").verdict.clone()
    }))
    .await;
    assert!(waits.iter().all(|verdict| *verdict == Verdict::Succeeded), "{waits:?}");
    it.stop().await;
}

async fn who_waits_looks_again_after_a_commit_of_which_nobody_knew(place: Place) {
    let fails = Arc::new(AtomicBool::new(false));
    let fault = {
        let fails = Arc::clone(&fails);
        CommitFault(Arc::new(
            move || {
                if fails.swap(false, Ordering::SeqCst) { Commit::IsUncertain } else { Commit::Works }
            },
        ))
    };
    let options = Options { commits: Some(fault), ..Options::default() };
    let it = Running::start(place.open().await, Manner::Idle, options).await;
    let pool = it.furnish(1).await;
    let id = job(&it.give("submit-0001", submit(pool)).await.expect("queued"));
    let mut over = it.handle.job_over(id);
    fails.store(true, Ordering::SeqCst);
    it.give("cancel-0001", Order::Cancel(id)).await.expect_err("nobody knows");
    assert_eq!(tokio::time::timeout(PATIENCE, over.ended()).await.expect("in time"), None);
    runs_again(&it.handle).await;
    let found = it.store.job(&it.workspace, id).await.expect("reads").expect("is there");
    assert!(found.ended.is_some(), "it was ended by the commit of which nobody knew");
    it.stop().await;
}

async fn names_are_known_as_soon_as_the_order_is_answered(place: Place) {
    let it = Running::start(place.open().await, Manner::Idle, Options::default()).await;
    let (name, size) = (ComputeName::parse("pool").expect("a name"), SizeName::parse("cpu-4").expect("a name"));
    assert!(it.handle.catalogue().sizes().is_empty());
    let pool = it.furnish(2).await;
    let known = it.handle.catalogue();
    assert_eq!(known.cluster(&it.workspace, &name), Some((pool, &size)));
    assert_eq!(known.size(&size).map(|size| size.shape.cores), Some(4_000));
    it.give("cluster-0002", cluster("other", 1)).await.expect("made");
    it.give("cluster-gone", Order::DeleteCluster { cluster: pool, ends_jobs: true }).await.expect("deletes");
    assert_eq!(it.handle.catalogue().cluster(&it.workspace, &name), None);
    it.stop().await;
    let it = Running::start(place.open().await, Manner::Idle, Options::default()).await;
    let other = ComputeName::parse("other").expect("a name");
    assert!(it.handle.catalogue().cluster(&it.workspace, &other).is_some(), "also by the next engine");
    it.stop().await;
}

macro_rules! on_both {
    ($($name:ident)*) => { $(
        mod $name {
            use super::*;
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn on_sqlite() { super::$name(Place::new(Kind::Sqlite)).await }
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn on_postgres() { super::$name(Place::new(Kind::Postgres)).await }
        }
    )* };
}

on_both! {
    ended_job_wakes_who_waits
    who_waits_looks_again_after_a_commit_of_which_nobody_knew
    names_are_known_as_soon_as_the_order_is_answered
}
