//! The loop's claims, each proved on SQLite and on PostgreSQL.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use atelier_domain::history::Topic;
use atelier_domain::reason::Reason;
use atelier_domain::text::Text;
use atelier_domain::time::{Now, Span, Timestamp};
use atelier_domain::world::{Answer, Effect, Order, World};
use atelier_engine::run::{
    CommandId, Commit, CommitFault, DiskOptions, Engine, MachineClock, NewOrder, Options, OrderError, Phase, StartError,
};
use atelier_engine::store::{HistoryFilter, Keep, Kind, ReplayError, Store, Which};
use sqlx::AnyPool;

use crate::common::{Manner, Place, Running, author, cluster, job, runs_again, submit};

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

async fn started(place: &Place, manner: Manner) -> Running {
    Running::start(place.open().await, manner, Options::default()).await
}

async fn fingerprint(running: &Running) -> u64 {
    running.handle.ask(World::fingerprint).await.expect("answers")
}

async fn count(place: &Place, statement: &str) -> i64 {
    let pool = AnyPool::connect(&place.address).await.expect("connects");
    let count = sqlx::query_scalar(statement).fetch_one(&pool).await.expect("counts");
    pool.close().await;
    count
}

/// Waits until the engine says so.
async fn until(running: &Running, what: &str, is_so: impl Fn(&World) -> bool + Clone + Send + 'static) {
    // The World changes with batches alone, and each of them is told.
    let mut status = running.handle.watch();
    let comes = async {
        loop {
            status.borrow_and_update();
            let is_so = is_so.clone();
            if running.handle.ask(move |world| is_so(world)).await == Ok(true) {
                return;
            }
            status.changed().await.expect("the engine runs");
        }
    };
    tokio::time::timeout(atelier_testing::PATIENCE, comes)
        .await
        .unwrap_or_else(|_| panic!("{what} did not come in time"));
}

/// Commits that go as the list says, and well after it.
fn faults(list: &[Commit]) -> Option<CommitFault> {
    let list = Mutex::new(list.to_vec());
    Some(CommitFault(Arc::new(move || {
        let mut list = list.lock().expect("no panic");
        if list.is_empty() { Commit::Works } else { list.remove(0) }
    })))
}

on_both! {
    async fn the_same_id_gets_the_same_answer_and_acts_once(place: Place) {
        let it = started(&place, Manner::Idle).await;
        let pool = it.furnish(4).await;
        let first = it.give_with("submit-0001", submit(pool), Some("{\"run\":\"a\"}".into())).await.expect("queued");
        for _ in 0..3 {
            let again = it.give_with("submit-0001", submit(pool), Some("{\"run\":\"a\"}".into())).await;
            assert_eq!(again, Ok(first.clone()));
        }
        // Many at once, in one batch or in several.
        let many = (0..64).map(|_| it.give("submit-0002", submit(pool)));
        let answers: Vec<_> = futures_util::future::join_all(many).await;
        assert!(answers.iter().all(|answer| *answer == answers[0] && answer.is_ok()), "{answers:?}");
        assert_eq!(it.handle.ask(|world| world.jobs().count()).await, Ok(2));
        // An id belongs to one order.
        assert_eq!(it.give("submit-0002", cluster("other", 1)).await, Err(OrderError::IdReused));
        it.stop().await;
        assert_eq!(count(&place, "select count(*) from jobs").await, 2);
        assert_eq!(count(&place, "select count(*) from job_payloads").await, 1);
        // Also by the next engine.
        let it = started(&place, Manner::Idle).await;
        assert_eq!(it.give_with("submit-0001", submit(pool), Some("{\"run\":\"a\"}".into())).await, Ok(first));
        it.stop().await;
    }

    async fn a_refusal_is_stored_and_repeated(place: Place) {
        let it = started(&place, Manner::Idle).await;
        let pool = it.furnish(1).await;
        let Err(OrderError::Refused(reason)) = it.give("cluster-0001", cluster("pool", 1)).await else {
            panic!("taken")
        };
        assert_eq!(reason.code(), "name-taken");
        it.give("cluster-gone", Order::DeleteCluster { cluster: pool, ends_jobs: true }).await.expect("deletes");
        until(&it, "the cluster's end", move |world| world.cluster(pool).is_none()).await;
        // The name is free now, but this command was answered.
        assert_eq!(it.give("cluster-0001", cluster("pool", 1)).await, Err(OrderError::Refused(reason)));
        it.give("cluster-0002", cluster("pool", 1)).await.expect("a new command is judged anew");
        it.stop().await;
    }

    async fn what_people_did_is_in_the_history_and_pages_hear_of_it(place: Place) {
        let it = started(&place, Manner::Idle).await;
        let since = it.store.live().newest();
        let pool = it.furnish(2).await;
        let id = job(&it.give("submit-0001", submit(pool)).await.expect("queued"));
        it.give("cancel-0001", Order::Cancel(id)).await.expect("cancels");
        it.give("pause-00001", Order::Pause { why: "maintenance".into() }).await.expect("pauses");
        assert_eq!(it.give("pause-00002", Order::Pause { why: "again".into() }).await, Ok(Answer::Already));
        let entries = it.store.history(&it.workspace, &HistoryFilter { limit: 20, ..HistoryFilter::default() }).await;
        let entries: Vec<String> = entries.expect("reads").into_iter().map(|entry| entry.sentence).collect();
        let expected = [
            "paused all acting of the engine",
            "canceled job-1",
            "created the cluster pool with 0 to 2 nodes of size cpu-4",
            "put the size cpu-4 into the catalogue",
        ];
        assert_eq!(entries[..4], expected);
        let wanted = [Topic::People, Topic::Jobs, Topic::Clusters, Topic::Engine];
        assert_eq!(it.store.live().changed_since(since, &wanted), wanted[1..]);
        assert!(it.handle.status().is_paused);
        it.stop().await;
        assert_eq!(count(&place, "select count(*) from jobs where ended_at > 0 and state = 'canceled'").await, 1);
    }

    async fn an_uncertain_commit_is_found_out_by_asking_again(place: Place) {
        let it = started(&place, Manner::Idle).await;
        let pool = it.furnish(4).await;
        it.stop().await;
        // The first commit of an engine is its first step after loading.
        let commits = faults(&[Commit::Works, Commit::IsUncertain, Commit::Works, Commit::Fails]);
        let it = Running::start(place.open().await, Manner::Idle, Options { commits, ..Options::default() }).await;
        assert_eq!(it.give("submit-0001", submit(pool)).await, Err(OrderError::Uncertain));
        let answer = loop {
            match it.give("submit-0001", submit(pool)).await {
                Err(OrderError::Uncertain) => runs_again(&it.handle).await,
                other => break other,
            }
        };
        assert_eq!(answer, Ok(Answer::Job(atelier_domain::compute::JobId(1))));
        assert_eq!(it.handle.ask(|world| world.jobs().count()).await, Ok(1));
        // One that failed leaves nothing.
        assert_eq!(it.give("submit-0002", submit(pool)).await, Err(OrderError::Uncertain));
        until(&it, "the reload", |world| world.jobs().count() == 1).await;
        let status = it.handle.status();
        assert_eq!((status.phase.clone(), status.reloads), (Phase::Running, 2), "{status:?}");
        it.give("submit-0002", submit(pool)).await.expect("queued");
        assert_eq!(it.handle.ask(|world| (world.jobs().count(), world.audit())).await, Ok((2, vec![])));
        it.stop().await;
    }

    async fn a_predecessor_is_fenced(place: Place) {
        let old = started(&place, Manner::Idle).await;
        let pool = old.furnish(4).await;
        // On SQLite the lock file keeps a second server out; a store of its own stands for one on another
        // machine.
        let epoch = "update installation set epoch = epoch + 1, engine = 'another'";
        let raw = AnyPool::connect(&place.address).await.expect("connects");
        sqlx::query(epoch).execute(&raw).await.expect("takes over");
        raw.close().await;
        assert_eq!(old.give("submit-0001", submit(pool)).await, Err(OrderError::Fenced));
        assert_eq!(old.give("submit-0002", submit(pool)).await, Err(OrderError::Fenced));
        assert_eq!(old.handle.report(crate::common::site()).await, Err(OrderError::Fenced));
        assert_eq!(old.handle.status().phase, Phase::Fenced);
        old.stop().await;
        assert_eq!(count(&place, "select count(*) from jobs").await, 0);
    }

    // On a full disk a database may forget what it has said, and there is no other engine all the same.
    async fn an_epoch_that_was_not_kept_is_taken_again(place: Place) {
        let it = started(&place, Manner::Idle).await;
        let pool = it.furnish(4).await;
        let raw = AnyPool::connect(&place.address).await.expect("connects");
        sqlx::query("update installation set epoch = epoch - 1").execute(&raw).await.expect("forgets");
        raw.close().await;
        let mut failures = 0;
        while let Err(error) = it.give("submit-0001", submit(pool)).await {
            assert_eq!(error, OrderError::Uncertain);
            failures += 1;
            runs_again(&it.handle).await;
        }
        assert!(failures > 0 && it.handle.status().reloads > 0);
        assert_eq!(it.handle.ask(|world| (world.jobs().count(), world.audit())).await, Ok((1, vec![])));
        it.stop().await;
    }

    async fn a_restart_changes_nothing_and_tells_again_what_is_wanted(place: Place) {
        let it = started(&place, Manner::Idle).await;
        let pool = it.furnish(4).await;
        for number in 0..20 {
            it.give(&format!("submit-{number:04}"), submit(pool)).await.expect("queued");
        }
        it.give(
            "limit-00001",
            Order::SetLimit {
                scope: atelier_domain::compute::quota::Scope::Workspace,
                resource: atelier_domain::compute::quota::Resource::Computes,
                limit: Some(7),
            },
        )
        .await
        .expect("set");
        let launches = |effects: Vec<Effect>| effects.iter().filter(|e| matches!(e, Effect::Launch { .. })).count();
        assert_eq!(launches(it.script.told()), 4);
        let before = fingerprint(&it).await;
        it.stop().await;
        let store = place.open().await;
        let loaded = store.load_engine().await.expect("loads");
        assert_eq!(World::load(loaded.records, Now::default()).fingerprint(), before);
        let it = Running::start(store, Manner::Idle, Options::default()).await;
        assert_eq!(fingerprint(&it).await, before);
        assert_eq!(launches(it.script.told()), 4);
        assert_eq!(it.handle.ask(World::audit).await, Ok(vec![]));
        // Numbers go on.
        assert_eq!(it.give("submit-after", submit(pool)).await.map(|answer| job(&answer).0), Ok(21));
        it.stop().await;
    }

    async fn jobs_run_to_their_end_and_their_time_is_in_the_ledger(place: Place) {
        let it = started(&place, Manner::Prompt(Duration::from_millis(5))).await;
        let pool = it.furnish(3).await;
        let many = (0..40).map(|number| {
            let it = &it;
            async move { it.give(&format!("submit-{number:04}"), submit(pool)).await.expect("queued") }
        });
        futures_util::future::join_all(many).await;
        until(&it, "the end of all jobs", |world| world.jobs().count() == 0).await;
        assert_eq!(it.handle.ask(World::audit).await, Ok(vec![]));
        it.stop().await;
        assert_eq!(count(&place, "select count(*) from jobs where state = 'completed' and ended_at > 0").await, 40);
        assert!(count(&place, "select cast(sum(millis) as bigint) from ledger").await > 0);
        assert!(count(&place, "select count(*) from decisions").await > 0);
    }

    async fn a_replay_goes_the_same_way(place: Place) {
        let it = started(&place, Manner::Prompt(Duration::from_millis(2))).await;
        let pool = it.furnish(3).await;
        for number in 0..30 {
            let answer = it.give(&format!("submit-{number:04}"), submit(pool)).await.expect("queued");
            if number % 5 == 0 {
                // It may be over already.
                let _ = it.give(&format!("cancel-{number:04}"), Order::Cancel(job(&answer))).await;
            }
        }
        it.stop().await;
        // Over a restart as well, and over a snapshot in the middle.
        let options = Options { snapshot_every: Span::millis(1), ..Options::default() };
        let it = Running::start(place.open().await, Manner::Prompt(Duration::from_millis(2)), options).await;
        for number in 30..40 {
            it.give(&format!("submit-{number:04}"), submit(pool)).await.expect("queued");
        }
        until(&it, "the end of all jobs", |world| world.jobs().count() == 0).await;
        let now = fingerprint(&it).await;
        for newest in [false, true] {
            let replay = it.store.replay(newest).await.expect("replays");
            assert_eq!(replay.differs_at, None, "after {} batches", replay.batches);
            assert_eq!(replay.world.fingerprint(), now);
            assert!(replay.batches >= if newest { 1 } else { 40 }, "{}", replay.batches);
        }
        // Every decision can be taken again by itself, in the same words.
        let deciding = it.store.deciding_batches().await.expect("reads");
        assert!(deciding.len() > 3, "{deciding:?}");
        for revision in deciding {
            let moment = it.store.replay_moment(Which::Revision(revision)).await.expect("replays");
            assert_eq!((moment.revision, moment.differs_at), (revision, None));
            let again: Vec<(String, String)> = moment
                .decisions
                .iter()
                .map(|decision| (decision.reason.code().to_owned(), decision.reason.sentence()))
                .collect();
            assert_eq!(again, it.store.decisions_of(revision).await.expect("reads"));
            // At its own time one finds it, or a later one of the same millisecond.
            let at = it.store.replay_moment(Which::At(moment.now.wall)).await.expect("replays");
            assert!(at.revision >= revision && at.now.wall <= moment.now.wall, "{} {}", at.revision, revision);
        }
        let none = it.store.replay_moment(Which::Revision(i64::MAX)).await;
        assert!(matches!(none, Err(ReplayError::NoSuchBatch)), "{none:?}");
        let before = it.store.replay_moment(Which::At(Timestamp(1))).await;
        assert!(matches!(before, Err(ReplayError::TooOld { .. })), "{before:?}");
        it.stop().await;
        // A batch that was tampered with is noticed.
        let raw = AnyPool::connect(&place.address).await.expect("connects");
        let tamper = "update batches set inputs = '[]' where revision = \
                      (select max(revision) from batches where inputs like '%submit%')";
        sqlx::query(tamper).execute(&raw).await.expect("tampers");
        raw.close().await;
        let store = place.open().await;
        assert!(store.replay(false).await.expect("replays").differs_at.is_some());
        store.close().await;
    }

    async fn bad_input_is_refused_before_anything_is_stored(place: Place) {
        let it = started(&place, Manner::Idle).await;
        let pool = it.furnish(1).await;
        let batches = count(&place, "select count(*) from batches").await;
        let huge = "x".repeat(10_000_000);
        assert!(CommandId::parse(&huge).is_err_and(|problem| problem.message.len() < 300));
        assert!(CommandId::parse("short").is_err() && CommandId::parse("no space").is_err());
        let fields = |answer: Result<Answer, OrderError>| match answer {
            Err(OrderError::Refused(Reason::Invalid { problem })) => (problem.field, problem.message.len() < 400),
            other => panic!("{other:?}"),
        };
        let id = || CommandId::parse("bad-input-1").expect("an id");
        let mut command = it.command(submit(pool));
        command.name = Text::from(huge.clone());
        let new = NewOrder { id: id(), payload: None, author: author(), command };
        assert_eq!(fields(it.handle.order(new).await), ("name".into(), true));
        let scope = atelier_domain::compute::quota::Scope::Person(atelier_domain::UserId::new(huge.clone()));
        let resource = atelier_domain::compute::quota::Resource::Gpus;
        let order = Order::SetLimit { scope, resource, limit: Some(1) };
        assert_eq!(fields(it.give("bad-input-1", order).await), ("order".into(), true));
        assert_eq!(fields(it.give("bad-input-1", Order::Pause { why: huge.clone() }).await), ("order".into(), true));
        let payload = Some(format!("\"{huge}\""));
        assert_eq!(fields(it.give_with("bad-input-1", submit(pool), payload).await), ("payload".into(), true));
        let payload = Some("not json".to_owned());
        assert_eq!(fields(it.give_with("bad-input-1", submit(pool), payload).await), ("payload".into(), true));
        let payload = Some("{}".to_owned());
        assert_eq!(fields(it.give_with("bad-input-1", Order::Resume, payload).await), ("payload".into(), true));
        assert_eq!(count(&place, "select count(*) from batches").await, batches);
        assert_eq!(count(&place, "select count(*) from commands").await, 2);
        it.stop().await;
    }

    async fn what_spoils_a_batch_spoils_no_other(place: Place) {
        let it = started(&place, Manner::Idle).await;
        let pool = it.furnish(4).await;
        let mut command = it.command(cluster("stranger", 1));
        command.workspace = atelier_domain::WorkspaceId::new("ws-of-nobody");
        let stranger = NewOrder { id: CommandId::random(), payload: None, author: author(), command };
        let (refused, taken) = tokio::join!(it.handle.order(stranger), it.give("submit-0001", submit(pool)));
        assert_eq!(refused, Err(OrderError::Refused(Reason::NotFound { what: "workspace".into() })));
        taken.expect("queued");
        // A question that panics harms only its asker.
        let panics = it.handle.ask(|_: &World| -> u8 { panic!("on purpose") }).await;
        assert_eq!(panics, Err(OrderError::Uncertain));
        it.give("submit-0002", submit(pool)).await.expect("queued");
        assert_eq!(it.handle.status().reloads, 0);
        it.stop().await;
    }

    async fn what_is_old_is_dropped_and_the_newest_stays(place: Place) {
        let it = started(&place, Manner::Idle).await;
        let pool = it.furnish(1).await;
        for number in 0..10 {
            it.give(&format!("submit-{number:04}"), submit(pool)).await.expect("queued");
        }
        it.stop().await;
        let keep = Keep { batches: Span::millis(1), commands: Span::millis(1), decisions: Span::hours(1) };
        let options = Options { keep, prune_every: Duration::from_millis(10), ..Options::default() };
        let it = Running::start(place.open().await, Manner::Idle, options).await;
        let dropped = async {
            while count(&place, "select count(*) from commands").await > 0 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(atelier_testing::PATIENCE, dropped).await.expect("it is dropped");
        it.stop().await;
        assert_eq!(count(&place, "select count(*) from commands").await, 0);
        assert_eq!(count(&place, "select count(*) from batches").await, 1);
        assert_eq!(count(&place, "select count(*) from snapshots").await, 1);
        assert_eq!(count(&place, "select count(*) from jobs").await, 10);
    }
}

/// The connection is cut while a batch is on its way, as a network or a restarted database would.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_connection_is_mended_on_postgres() {
    let place = Place::new(Kind::Postgres);
    let it = started(&place, Manner::Idle).await;
    let pool = it.furnish(4).await;
    let raw = AnyPool::connect(&place.address).await.expect("connects");
    for round in 0..5 {
        let cut = "select count(pg_terminate_backend(pid)) from pg_stat_activity \
                   where datname = current_database() and pid <> pg_backend_pid()";
        sqlx::query(cut).execute(&raw).await.expect("cuts");
        for number in 0..10 {
            let id = format!("submit-{round}-{number}");
            while let Err(error) = it.give(&id, submit(pool)).await {
                assert_eq!(error, OrderError::Uncertain);
                runs_again(&it.handle).await;
            }
        }
    }
    assert!(it.handle.status().reloads > 0);
    assert_eq!(it.handle.ask(|world| (world.jobs().count(), world.audit())).await, Ok((50, vec![])));
    raw.close().await;
    it.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_server_on_the_same_directory_is_refused() {
    let place = Place::new(Kind::Sqlite);
    let it = started(&place, Manner::Idle).await;
    let second = place.open().await;
    let refused = Engine::start(Arc::clone(&second), it.script.clone(), MachineClock::new(), Options::default()).await;
    let error = refused.expect_err("refused");
    assert!(matches!(error, StartError::Locked(_)), "{error}");
    assert!(error.to_string().contains("engine.lock"), "{error}");
    // The first goes on.
    it.furnish(1).await;
    let script = it.script.clone();
    it.stop().await;
    let (handle, task) =
        Engine::start(second, script, MachineClock::new(), Options::default()).await.expect("the lock is free");
    handle.stop();
    task.await.expect("ends");
}

fn disk(free: &Arc<AtomicU64>) -> Options {
    let free = Arc::clone(free);
    let free = Arc::new(move |_: &std::path::Path| Ok(free.load(Ordering::Relaxed)));
    Options { disk: DiskOptions { ballast: 1 << 20, floor: 1_000, free }, ..Options::default() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_little_room_only_what_frees_something_is_taken() {
    let place = Place::new(Kind::Sqlite);
    let free = Arc::new(AtomicU64::new(1 << 30));
    let it = Running::start(place.open().await, Manner::Idle, disk(&free)).await;
    let pool = it.furnish(4).await;
    let id = job(&it.give("submit-0001", submit(pool)).await.expect("queued"));
    let ballast = place.folder.path().join("ballast");
    assert_eq!(ballast.metadata().expect("exists").len(), 1 << 20);
    free.store(999, Ordering::Relaxed);
    let refused = it.give("submit-0002", submit(pool)).await;
    assert_eq!(refused, Err(OrderError::Refused(Reason::DiskFull { free: 999, floor: 1_000 })));
    assert!(!ballast.exists() && it.handle.status().is_disk_low);
    it.give("cancel-0001", Order::Cancel(id)).await.expect("cancels");
    // A little room is not enough: the ballast must fit again.
    free.store(2_000, Ordering::Relaxed);
    assert!(it.give("submit-0002", submit(pool)).await.is_err());
    free.store(1 << 30, Ordering::Relaxed);
    // The same id is judged anew, since the refusal was about the disk.
    it.give("submit-0002", submit(pool)).await.expect("queued");
    assert!(ballast.exists() && !it.handle.status().is_disk_low);
    it.stop().await;
}

/// A database that may not grow stands for a disk that is full.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_loses_nothing() {
    let place = Place::new(Kind::Sqlite);
    let free = Arc::new(AtomicU64::new(1 << 30));
    let store = place.open().await;
    let it = Running::start(Arc::clone(&store), Manner::Idle, disk(&free)).await;
    let pool = it.furnish(4).await;
    let first = job(&it.give("submit-first", submit(pool)).await.expect("queued"));
    store.limit_pages(40).await.expect("limits");
    let payload = || Some(format!("\"{}\"", "x".repeat(50_000)));
    let mut taken = 0;
    let failed = loop {
        match it.give_with(&format!("submit-{taken:04}"), submit(pool), payload()).await {
            Ok(_) => taken += 1,
            Err(error) => break error,
        }
        assert!(taken < 1_000, "the limit does not hold");
    };
    assert_eq!(failed, OrderError::Uncertain);
    let ballast = place.folder.path().join("ballast");
    // The disk itself has room, so the ballast comes back at the next look; here it only matters that it was
    // thrown off.
    store.limit_pages(100_000).await.expect("limits");
    let again = loop {
        match it.give_with(&format!("submit-{taken:04}"), submit(pool), payload()).await {
            Err(OrderError::Uncertain) => runs_again(&it.handle).await,
            other => break other,
        }
    };
    assert_eq!(again.map(|answer| job(&answer).0), Ok(first.0 + taken + 1));
    assert!(ballast.exists());
    assert_eq!(it.handle.ask(|world| (world.jobs().count() as u64, world.audit())).await, Ok((taken + 2, vec![])));
    // A change that is given up, and then one that is kept: others must see it while this engine still runs.
    assert_eq!(it.give("submit-first", submit(pool)).await.map(|answer| job(&answer)), Ok(first));
    it.give("submit-after", submit(pool)).await.expect("queued");
    let other: Arc<Store> = place.open().await;
    let seen = other.load_engine().await.expect("loads").records.iter().filter(|r| is_job(r)).count() as u64;
    assert_eq!(seen, taken + 3, "what was acknowledged is committed");
    other.close().await;
    it.stop().await;
    let store: Arc<Store> = place.open().await;
    assert_eq!(
        store.load_engine().await.expect("loads").records.iter().filter(|r| is_job(r)).count() as u64,
        taken + 3
    );
}

#[tokio::test]
async fn on_a_full_disk_what_was_answered_keeps_its_answer() {
    let place = Place::new(Kind::Sqlite);
    let free = Arc::new(AtomicU64::new(1 << 30));
    let it = Running::start(place.open().await, Manner::Idle, disk(&free)).await;
    let pool = it.furnish(1).await;
    let first = job(&it.give("submit-first", submit(pool)).await.expect("queued"));
    free.store(0, std::sync::atomic::Ordering::SeqCst);
    assert_eq!(it.give("submit-first", submit(pool)).await.map(|answer| job(&answer)), Ok(first));
    let refused = it.give("submit-other", submit(pool)).await;
    assert!(matches!(&refused, Err(OrderError::Refused(reason)) if reason.code() == "disk-full"), "{refused:?}");
    it.give("cancel-first", atelier_domain::world::Order::Cancel(first)).await.expect("frees something");
    it.stop().await;
}

fn is_job(record: &atelier_domain::world::Record) -> bool {
    matches!(record, atelier_domain::world::Record::Job(_))
}
