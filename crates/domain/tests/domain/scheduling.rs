//! What is promised about turns: shares follow weights, nobody starves, limits hold up nobody else,
//! dependencies and moves do what they say.

use std::collections::BTreeMap;

use atelier_domain::compute::cluster::ScaleSettings;
use atelier_domain::compute::fair_share::{QueueOrder, QueuePolicy};
use atelier_domain::compute::job::{After, AfterWhat, EndedAs, JobSpec, Priority, Target, Verdict};
use atelier_domain::compute::quota::{Resource, Scope};
use atelier_domain::compute::size::Tier;
use atelier_domain::compute::tags::Tags;
use atelier_domain::compute::{ClusterId, JobId, Resources};
use atelier_domain::reason::Reason;
use atelier_domain::time::Span;
use atelier_domain::world::{About, Answer, Effect, Exit, MoveTo, Order, PoolKey, Record, World};
use atelier_domain::{UserId, WorkspaceId};
use proptest::prelude::*;

use crate::script::{Stage, cores, gang, job, scale, size};
use crate::support::{cases, golden};

const POOL: ClusterId = ClusterId(1);

/// A cluster of so many nodes with four cores each.
fn stage(nodes: u32) -> Stage {
    let mut stage = Stage::roomy();
    stage.is_writing = false;
    stage.cluster("train-pool", "small", scale(nodes, nodes, Span::seconds(30)));
    stage.pass(Span::seconds(10));
    stage
}

fn on_pool(shape: Resources) -> JobSpec {
    job(Target::Cluster(POOL), shape)
}

fn ends(stage: &Stage) -> BTreeMap<JobId, Verdict> {
    let ended = stage.outcomes.iter().flat_map(|outcome| &outcome.ended);
    ended.map(|ended| (ended.job.id, ended.verdict.clone())).collect()
}

/// The jobs in the order in which they were started.
fn starts(stage: &Stage) -> Vec<JobId> {
    let effects = stage.outcomes.iter().flat_map(|outcome| &outcome.effects);
    let parts = effects.filter_map(|effect| match effect {
        Effect::StartJob { part, rank: 0, .. } => Some(part.job),
        _ => None,
    });
    parts.collect()
}

fn waiting(stage: &Stage) -> Vec<u64> {
    let pool = stage.world.pool(&PoolKey::Cluster(POOL));
    pool.map(|pool| pool.queue.in_order(usize::MAX).iter().map(|job| job.0).collect()).unwrap_or_default()
}

// ---- shares
// ---------------------------------------------------------------------------------------------------------

proptest! {
    #![proptest_config(cases(6))]

    /// Where everybody wants more than there is, what each gets follows their weight: within a twentieth of
    /// the whole once everybody has had dozens of jobs, whatever the length and the width of their jobs.
    #[test]
    fn shares_follow_weights(
        weights in proptest::collection::vec(1_i64..=10, 2..4),
        lengths in proptest::collection::vec(10_u32..60, 4),
        widths in proptest::collection::vec(1_u64..=2, 4),
    ) {
        let mut stage = stage(4);
        let people = ["Ada", "Bo", "Cleo", "Dan"];
        for (person, weight) in weights.iter().enumerate() {
            let id = UserId::new(people[person].to_lowercase());
            stage.must("Owner", Order::SetFairShare { person: id, weight: weight * 100 });
        }
        for _ in 0..200 {
            // Everybody always has something waiting.
            for person in 0..weights.len() {
                let owner = UserId::new(people[person].to_lowercase());
                let waiting = stage.world.jobs().filter(|job| job.is_queued() && job.owner == owner).count();
                for _ in waiting..20 {
                    let runs = Span::minutes(lengths[person]);
                    stage.submit_as(people[person], on_pool(cores(widths[person])), runs, Exit::Code(0));
                }
            }
            stage.pass(Span::minutes(10));
        }
        let mut used: Vec<u64> = vec![0; weights.len()];
        for (key, charge) in stage.outcomes.iter().flat_map(|outcome| &outcome.ledger) {
            let person = people.iter().position(|person| person.to_lowercase() == key.user.as_str());
            if let (Some(person), Some(_)) = (person, key.job) {
                used[person] += charge.millis;
            }
        }
        let all: u64 = used.iter().sum();
        let weight_of_all: i64 = weights.iter().sum();
        for (person, weight) in weights.iter().enumerate() {
            let got = used[person] as f64 / all as f64;
            let meant = *weight as f64 / weight_of_all as f64;
            let person = &people[person];
            prop_assert!((got - meant).abs() < 0.05, "{person} got {got:.3}, meant {meant:.3}: {used:?} {weights:?}");
        }
    }

    /// Whoever waits starts at some time, however many jobs others bring.
    #[test]
    fn nobody_starves(
        weight in 1_i64..=1_000,
        nodes in 1_u32..=3,
        lengths in proptest::collection::vec(1_u32..20, 3),
    ) {
        let mut stage = stage(3);
        stage.must("Owner", Order::SetFairShare { person: UserId::new("bo"), weight: 1_000 });
        stage.must("Owner", Order::SetFairShare { person: UserId::new("ada"), weight });
        for _ in 0..20 {
            stage.submit_as("Bo", on_pool(cores(2)), Span::minutes(lengths[0]), Exit::Code(0));
        }
        let lonely = stage.submit_as("Ada", gang(POOL, cores(4), nodes), Span::minutes(1), Exit::Code(0));
        for _ in 0..200 {
            for (person, runs) in [("Bo", lengths[1]), ("Cleo", lengths[2])] {
                stage.submit_as(person, on_pool(cores(2)), Span::minutes(runs), Exit::Code(0));
            }
            stage.pass(Span::minutes(3));
            if ends(&stage).contains_key(&lonely) {
                return Ok(());
            }
        }
        prop_assert!(false, "{:?}", stage.world.explain_job(lonely).map(|why| why.sentence()));
    }
}

#[test]
fn a_queue_is_shared_by_weight_and_says_how() {
    let mut stage = Stage::roomy();
    stage.cluster("train-pool", "small", scale(1, 1, Span::seconds(30)));
    stage.pass(Span::seconds(10));
    stage.say("Ada fills the node and the queue; Bo comes later with one job, and has used nothing.");
    for _ in 0..3 {
        stage.submit_as("Ada", on_pool(cores(4)), Span::hours(2), Exit::Code(0));
    }
    let late = stage.submit_as("Bo", on_pool(cores(4)), Span::hours(2), Exit::Code(0));
    stage.ask_job(JobId(2));
    stage.ask_job(JobId(3));
    stage.ask_job(late);
    stage.say("Bo has a third of Ada's weight; after his job he is behind again.");
    stage.must("Owner", Order::SetFairShare { person: UserId::new("bo"), weight: 33 });
    stage.submit_as("Bo", on_pool(cores(4)), Span::hours(2), Exit::Code(0));
    stage.pass(Span::hours(2));
    stage.pass(Span::minutes(10));
    stage.ask_job(JobId(5));
    stage.pass(Span::hours(9));
    golden("plans/fair-share.txt", &format!("# Two people share a node by weight\n\n{}", stage.text));
    let mut order = starts(&stage);
    order.dedup();
    assert_eq!(order, [1, 4, 2, 3, 5].map(JobId));
}

#[test]
fn arrival_decides_where_a_queue_is_set_so_and_the_change_counts_at_once() {
    let mut stage = stage(1);
    for (person, count) in [("Ada", 3), ("Bo", 2), ("Ada", 1)] {
        for _ in 0..count {
            stage.submit_as(person, on_pool(cores(4)), Span::hours(1), Exit::Code(0));
        }
    }
    assert_eq!(waiting(&stage), [4, 2, 5, 3, 6]);
    let policy = QueuePolicy { order: QueueOrder::Fifo, backfill: false };
    stage.must("Owner", Order::SetQueuePolicy { cluster: Some(POOL), policy });
    assert_eq!(waiting(&stage), [2, 3, 4, 5, 6]);
    for (place, id) in [2, 3, 4, 5, 6].into_iter().enumerate() {
        assert_eq!(stage.world.position(JobId(id)), Some((place as u64 + 1, 5)));
    }
    let answer = stage.must("Owner", Order::SetQueuePolicy { cluster: Some(POOL), policy });
    assert_eq!(answer, Answer::Already);
    let policy = QueuePolicy::default();
    stage.must("Owner", Order::SetQueuePolicy { cluster: Some(POOL), policy });
    assert_eq!(waiting(&stage), [4, 2, 5, 3, 6]);
    for (place, id) in [4, 2, 5, 3, 6].into_iter().enumerate() {
        assert_eq!(stage.world.position(JobId(id)), Some((place as u64 + 1, 5)));
    }
}

#[test]
fn use_fades_and_its_order_survives_months_and_another_half_life() {
    let mut stage = stage(2);
    let workspace = WorkspaceId::new("w");
    let used = |stage: &Stage, person: &str| {
        let standing = stage.world.fair_share_standing(&workspace, &UserId::new(person));
        standing.used / 3_600_000_000
    };
    stage.submit_as("Ada", on_pool(cores(4)), Span::hours(10), Exit::Code(0));
    stage.submit_as("Bo", on_pool(cores(4)), Span::hours(8), Exit::Code(0));
    stage.pass(Span::hours(11));
    let (ada, bo) = (used(&stage, "ada"), used(&stage, "bo"));
    assert!((38..=40).contains(&ada) && (30..=32).contains(&bo), "{ada} and {bo} core-hours");
    stage.pass(Span::hours(24 * 7));
    assert!((18..=20).contains(&used(&stage, "ada")), "{}", used(&stage, "ada"));
    stage.must("Owner", Order::SetHalfLife(Span::hours(24)));
    assert!((18..=20).contains(&used(&stage, "ada")), "{}", used(&stage, "ada"));
    stage.pass(Span::hours(24));
    assert!((9..=10).contains(&used(&stage, "ada")), "{}", used(&stage, "ada"));
    // Half a year later nothing of it is left, and new use counts as it should.
    stage.pass(Span::hours(24 * 180));
    stage.submit_as("Bo", on_pool(cores(4)), Span::hours(1), Exit::Code(0));
    stage.pass(Span::hours(2));
    assert_eq!(used(&stage, "ada"), 0);
    assert!((3..=4).contains(&used(&stage, "bo")), "{}", used(&stage, "bo"));
}

#[test]
fn records_from_before_shares_still_load() {
    let mut stage = stage(1);
    stage.submit_as("Ada", on_pool(cores(4)), Span::hours(1), Exit::Code(0));
    stage.submit_as("Bo", on_pool(cores(4)), Span::hours(1), Exit::Code(0));
    let text = serde_json::to_value(stage.world.records()).expect("records can be written");
    let serde_json::Value::Array(mut records) = text else { panic!("a list") };
    records.retain(|record| record.get("share").is_none() && record.get("share-rules").is_none());
    for record in &mut records {
        if let Some(cluster) = record.get_mut("cluster").and_then(|cluster| cluster.as_object_mut()) {
            assert!(cluster.remove("queue").is_some(), "the field has another name");
            let scale = cluster.get_mut("scale").and_then(|scale| scale.as_object_mut()).expect("settings");
            assert!(scale.remove("warm").is_some(), "the field has another name");
        }
        if let Some(job) = record.get_mut("job").and_then(|job| job.as_object_mut()) {
            job.remove("metered");
        }
    }
    let records: Vec<Record> = serde_json::from_value(records.into()).expect("old records can be read");
    let mut world = World::load(records, stage.clocks());
    assert_eq!(world.audit(), Vec::<String>::new());
    assert_eq!(world.cluster(POOL).map(|cluster| cluster.queue), Some(QueuePolicy::plain()));
    world.step(&[], stage.clocks());
    assert_eq!(world.audit(), Vec::<String>::new());
}

// ---- limits
// ---------------------------------------------------------------------------------------------------------

#[test]
fn a_person_at_their_limit_lets_others_pass_and_makes_no_nodes() {
    let mut stage = Stage::roomy();
    stage.cluster("train-pool", "small", scale(0, 8, Span::seconds(30)));
    let limit = |resource, limit| Order::SetLimit { scope: Scope::Everybody, resource, limit };
    stage.must("Owner", limit(Resource::RunningJobs, Some(2)));
    stage.say("Ada wants five nodes and may have two jobs; Bo comes after her and passes.");
    for _ in 0..5 {
        stage.submit_as("Ada", on_pool(cores(4)), Span::hours(1), Exit::Code(0));
    }
    stage.pass(Span::minutes(1));
    let late = stage.submit_as("Bo", on_pool(cores(4)), Span::minutes(5), Exit::Code(0));
    stage.ask_job(JobId(3));
    stage.pass(Span::minutes(10));
    assert!(ends(&stage).contains_key(&late));
    assert_eq!(stage.world.nodes().count(), 2, "no nodes for what may not run");
    stage.say("With a higher limit the rest follows.");
    stage.must("Owner", limit(Resource::RunningJobs, Some(3)));
    stage.pass(Span::hours(3));
    assert_eq!(stage.world.jobs().count(), 0);
    golden("plans/own-limit.txt", &format!("# One person's limit holds up nobody else\n\n{}", stage.text));
    let reason = stage.order("Owner", limit(Resource::RunningCores, Some(2_000)));
    assert_eq!(reason, Ok(Answer::Done));
    let refused = stage.order("Ada", Order::Submit(on_pool(cores(4))));
    assert!(matches!(refused, Err(Reason::AboveOwnLimit { .. })), "{refused:?}");
}

#[test]
fn serverless_jobs_count_against_the_limit_as_soon_as_nodes_are_made_for_them() {
    let mut stage = Stage::roomy();
    stage.is_writing = false;
    let limit = Order::SetLimit { scope: Scope::Everybody, resource: Resource::RunningCores, limit: Some(8_000) };
    stage.must("Owner", limit);
    for person in ["Ada", "Ada", "Ada", "Bo"] {
        let spec = job(Target::Serverless(size("small")), cores(4));
        stage.submit_as(person, spec, Span::minutes(10), Exit::Code(0));
    }
    assert_eq!(stage.world.nodes().count(), 3);
    assert!(matches!(stage.world.explain_job(JobId(3)), Some(Reason::OwnLimit { .. })));
    stage.pass(Span::hours(1));
    assert_eq!(stage.world.jobs().count(), 0);
}

// ---- holds and moves
// ------------------------------------------------------------------------------------------------

#[test]
fn jobs_are_held_and_moved() {
    let mut stage = Stage::roomy();
    stage.cluster("train-pool", "small", scale(1, 1, Span::seconds(30)));
    stage.pass(Span::seconds(10));
    for person in ["Ada", "Ada", "Ada", "Bo", "Bo"] {
        stage.submit_as(person, on_pool(cores(4)), Span::minutes(10), Exit::Code(0));
    }
    assert_eq!(waiting(&stage), [4, 2, 5, 3]);
    stage.say("Ada prefers her third job, and holds it at once.");
    stage.must("Ada", Order::Move { job: JobId(3), to: MoveTo::Front, over_all: false });
    assert_eq!(waiting(&stage), [4, 3, 5, 2]);
    stage.must("Ada", Order::Hold { job: JobId(3), why: "the data is not there yet".into() });
    stage.ask_job(JobId(3));
    assert_eq!(waiting(&stage), [4, 2, 5]);
    stage.say("An operator moves over everybody.");
    stage.must("Mara", Order::Move { job: JobId(5), to: MoveTo::Front, over_all: true });
    assert_eq!(waiting(&stage), [5, 4, 2]);
    stage.must("Mara", Order::Move { job: JobId(2), to: MoveTo::Before(JobId(4)), over_all: true });
    assert_eq!(waiting(&stage), [5, 2, 4]);
    stage.must("Mara", Order::Move { job: JobId(5), to: MoveTo::Back, over_all: true });
    assert_eq!(waiting(&stage), [2, 4, 5]);
    stage.must("Ada", Order::Release(JobId(3)));
    assert_eq!(stage.must("Ada", Order::Release(JobId(3))), Answer::Already);
    stage.pass(Span::hours(1));
    assert_eq!(stage.world.jobs().count(), 0);
    golden("plans/holds-and-moves.txt", &format!("# Holding and moving\n\n{}", stage.text));
}

proptest! {
    #![proptest_config(cases(32))]

    /// Whatever is moved, the order that is said is the order of the places, and nobody is lost.
    #[test]
    fn moves_keep_everybody(
        people in proptest::collection::vec(0usize..3, 2..20),
        moves in proptest::collection::vec((0usize..20, 0usize..4, 0usize..20, any::<bool>()), 0..30),
        is_fifo in any::<bool>(),
    ) {
        let mut stage = stage(1);
        stage.must("Ada", Order::PauseCluster(POOL));
        if is_fifo {
            stage.must("Owner", Order::SetQueuePolicy { cluster: Some(POOL), policy: QueuePolicy::plain() });
        }
        for person in &people {
            stage.submit_as(["Ada", "Bo", "Cleo"][*person], on_pool(cores(1)), Span::minutes(1), Exit::Code(0));
        }
        let count = people.len();
        for (index, to, other, over_all) in moves {
            let id = JobId((index % count) as u64 + 1);
            let other = JobId((other % count) as u64 + 1);
            let to = [MoveTo::Front, MoveTo::Back, MoveTo::Before(other), MoveTo::Before(other)][to];
            let is_taken = stage.order("Mara", Order::Move { job: id, to, over_all }).is_ok();
            let order = waiting(&stage);
            let place = |id: JobId| order.iter().position(|one| *one == id.0).unwrap_or(usize::MAX);
            match (is_taken && over_all, to) {
                (true, MoveTo::Front) => prop_assert_eq!(place(id), 0),
                (true, MoveTo::Back) => prop_assert_eq!(place(id), count - 1),
                (true, MoveTo::Before(other)) => prop_assert!(place(id) < place(other)),
                _ => {}
            }
            prop_assert_eq!(order.len(), count);
            for (place, id) in order.iter().enumerate() {
                prop_assert_eq!(stage.world.position(JobId(*id)), Some((place as u64 + 1, count as u64)));
            }
        }
    }
}

// ---- dependencies
// ---------------------------------------------------------------------------------------------------

fn after(jobs: &[(JobId, AfterWhat)]) -> JobSpec {
    let after = jobs.iter().map(|(job, needs)| After { job: *job, needs: *needs, ended: None }).collect();
    JobSpec { after, ..on_pool(cores(1)) }
}

#[test]
fn jobs_wait_for_others_and_end_with_them() {
    let mut stage = Stage::roomy();
    stage.cluster("train-pool", "small", scale(1, 1, Span::seconds(30)));
    stage.pass(Span::seconds(10));
    let good = stage.submit(on_pool(cores(1)), Span::minutes(5));
    let bad = stage.submit_as("Ada", on_pool(cores(1)), Span::minutes(2), Exit::Code(3));
    let (success, any) = (AfterWhat::Success, AfterWhat::Any);
    let both = stage.submit(after(&[(good, success), (bad, any)]), Span::minutes(1));
    let doomed = stage.submit(after(&[(good, success), (bad, success)]), Span::minutes(1));
    let chained = stage.submit(after(&[(doomed, success)]), Span::minutes(1));
    let cleaning = stage.submit(after(&[(chained, any)]), Span::minutes(1));
    stage.ask_job(both);
    stage.ask_job(chained);
    stage.pass(Span::minutes(10));
    let how = ends(&stage);
    assert_eq!(how[&both], Verdict::Succeeded);
    assert_eq!(how[&cleaning], Verdict::Succeeded);
    assert!(matches!(&how[&doomed], Verdict::DependencyFailed { job, .. } if *job == bad));
    assert!(matches!(&how[&chained], Verdict::DependencyFailed { job, .. } if *job == doomed));
    golden("plans/dependencies.txt", &format!("# Jobs that wait for others\n\n{}", stage.text));

    // What is over is known only by what the shell says of it; both ways lead to the same end.
    let known = |job, ended: EndedAs, needs| {
        let after = vec![After { job, needs, ended: Some(ended) }];
        JobSpec { after, ..on_pool(cores(1)) }
    };
    let failed = EndedAs::Failed { what: "ended with exit code 3".into() };
    let late = stage.submit(known(good, EndedAs::Succeeded, success), Span::minutes(1));
    let later = stage.submit(known(bad, failed.clone(), success), Span::minutes(1));
    let latest = stage.submit(known(bad, failed, any), Span::minutes(1));
    stage.pass(Span::minutes(10));
    let how = ends(&stage);
    assert_eq!((&how[&late], &how[&latest]), (&Verdict::Succeeded, &Verdict::Succeeded));
    assert!(matches!(&how[&later], Verdict::DependencyFailed { job, .. } if *job == bad));
    assert!(stage.order("Ada", Order::Submit(after(&[(good, any)]))).is_err(), "nobody knows how it ended");
}

#[test]
fn a_long_chain_falls_at_once() {
    let mut stage = stage(1);
    let first = stage.submit_as("Ada", on_pool(cores(4)), Span::minutes(1), Exit::Code(1));
    let mut last = first;
    for _ in 0..300 {
        last = stage.submit(after(&[(last, AfterWhat::Success)]), Span::minutes(1));
    }
    stage.pass(Span::minutes(2));
    assert_eq!(stage.world.jobs().count(), 0);
    assert!(matches!(ends(&stage)[&last], Verdict::DependencyFailed { .. }));
}

// ---- backfill
// -------------------------------------------------------------------------------------------------------

/// When a job was first handed over.
fn started_at(stage: &Stage, wanted: JobId) -> Option<u64> {
    let mut steps = stage.outcomes.iter().zip(&stage.inputs);
    let is_start = |effect: &Effect| matches!(effect, Effect::StartJob { part, .. } if part.job == wanted);
    steps.find(|(outcome, _)| outcome.effects.iter().any(is_start)).map(|(_, (_, now))| now.mono.0)
}

/// What was decided about a job, and when.
fn notes(stage: &Stage, wanted: JobId) -> String {
    let steps = stage.outcomes.iter().zip(&stage.inputs);
    let decisions =
        steps.flat_map(|(outcome, (_, now))| outcome.decisions.iter().map(|decision| (now.mono.0, decision)));
    let own = decisions
        .filter(|(_, decision)| decision.about == About::Job(wanted) || decision.reason.code() == "backfilled");
    own.map(|(at, decision)| format!("{at} {:?}: {}\n", decision.about, decision.reason.sentence())).collect()
}

fn limited(shape: Resources, nodes: u32, minutes: u32) -> JobSpec {
    JobSpec { timeout: Some(Span::minutes(minutes)), ..gang(POOL, shape, nodes) }
}

#[test]
fn small_jobs_pass_a_large_one_without_delaying_it() {
    let mut stage = Stage::roomy();
    stage.cluster("train-pool", "small", scale(2, 2, Span::seconds(30)));
    stage.pass(Span::seconds(10));
    stage.say("One node is taken for an hour at most; the next job needs both.");
    stage.submit(limited(cores(4), 1, 60), Span::minutes(50));
    let large = stage.submit(limited(cores(4), 2, 30), Span::minutes(20));
    stage.ask_job(large);
    stage.say("A short one passes, one of an hour does not, one without a limit does not.");
    let short = stage.submit(limited(cores(2), 1, 30), Span::minutes(30));
    let long = stage.submit(limited(cores(2), 1, 60), Span::minutes(5));
    let endless = stage.submit(on_pool(cores(2)), Span::minutes(5));
    assert!(started_at(&stage, short).is_some());
    assert!(started_at(&stage, long).is_none() && started_at(&stage, endless).is_none());
    stage.pass(Span::hours(3));
    assert_eq!(stage.world.jobs().count(), 0);
    golden("plans/backfill.txt", &format!("# Small jobs pass a large one without delaying it\n\n{}", stage.text));
}

#[test]
fn a_job_without_an_end_passes_where_the_first_one_needs_nothing() {
    let mut stage = stage(2);
    stage.submit(limited(cores(3), 1, 60), Span::minutes(50));
    stage.submit(on_pool(cores(3)), Span::hours(9));
    stage.submit(limited(cores(4), 1, 30), Span::minutes(20));
    // The first in the queue gets the first node in an hour; on the other one is a core that it will not
    // need.
    let endless = stage.submit(on_pool(cores(1)), Span::hours(5));
    assert!(started_at(&stage, endless).is_some());
    let node = stage.world.job(endless).and_then(|job| job.allocations.first().map(|allocation| allocation.node));
    assert_eq!(
        node,
        stage.world.job(JobId(2)).and_then(|job| job.allocations.first().map(|allocation| allocation.node))
    );
}

#[test]
fn a_long_queue_is_looked_at_piece_by_piece() {
    let mut stage = stage(1);
    stage.submit(limited(cores(3), 1, 120), Span::hours(2));
    for _ in 0..200 {
        stage.submit(limited(cores(4), 1, 10), Span::minutes(5));
    }
    let small = stage.submit(limited(cores(1), 1, 10), Span::minutes(5));
    // Something happens now and then; each time the next part of the queue is looked at.
    for _ in 0..5 {
        stage.must("Ada", Order::Prioritise { job: JobId(100), priority: Priority::Medium });
    }
    assert!(started_at(&stage, small).is_some(), "it was not found");
    assert_eq!(starts(&stage), [JobId(1), small]);
}

proptest! {
    #![proptest_config(cases(100))]

    /// Where jobs take the time that they may, the first in the queue starts no later with backfill than
    /// without: the same World goes on both ways, and the starts are compared.
    #[test]
    fn backfill_never_delays_the_first(
        jobs in proptest::collection::vec((1_u32..=3, 1_u64..=4, 1_u32..90, 0_u32..8, 0_usize..3), 4..24),
        is_fifo in any::<bool>(),
    ) {
        let mut stage = stage(3);
        let order = if is_fifo { QueueOrder::Fifo } else { QueueOrder::FairShare };
        let policy = |backfill| {
            Order::SetQueuePolicy { cluster: Some(POOL), policy: QueuePolicy { order, backfill } }
        };
        stage.order("Owner", policy(true)).ok();
        let mut compared = None;
        for (nodes, width, minutes, pause, person) in jobs {
            // Where shares count, only one person: another one's turn may come first for reasons of its own.
            let person = if is_fifo { ["Ada", "Bo", "Cleo"][person] } else { "Ada" };
            let (spec, runs) = if minutes % 7 == 0 {
                (gang(POOL, cores(width), 1), Span::hours(100))
            } else {
                (limited(cores(width), nodes, minutes), Span::seconds(minutes * 60 - 1))
            };
            stage.submit_as(person, spec, runs, Exit::Code(0));
            stage.pass(Span::minutes(pause));
            let head = stage.world.pool(&PoolKey::Cluster(POOL)).and_then(|pool| pool.queue.first());
            // Whoever let others pass comes back before them, and is the first again then.
            let is_first = |head: JobId| stage.world.jobs().all(|job| !job.is_queued() || job.id >= head);
            if let Some(head) = head.filter(|head| compared != Some(*head) && is_first(*head)) {
                compared = Some(head);
                let mut without = stage.clone();
                without.must("Owner", policy(false));
                without.pass(Span::hours(12));
                let mut with = stage.clone();
                with.pass(Span::hours(12));
                // Nobody knew when the rest of its nodes would come, so it let others pass: it was not the
                // first any more.
                if notes(&with, head).contains("others may pass") {
                    continue;
                }
                let (with_it, without_it) = (started_at(&with, head), started_at(&without, head));
                prop_assert!(
                    with_it.unwrap_or(u64::MAX) <= without_it.unwrap_or(u64::MAX),
                    "{head} started at {with_it:?}, without backfill at {without_it:?}:\n{}",
                    notes(&with, head)
                );
            }
        }
    }
}

// ---- tiers and what is kept ready
// -----------------------------------------------------------------------------------

fn spot_cluster(stage: &mut Stage, name: &str, max: u32) -> ClusterId {
    let order = Order::CreateCluster {
        name: crate::script::compute(name),
        size: size("small"),
        scale: scale(0, max, Span::seconds(30)),
        tier: Tier::Preemptible,
        tags: Tags::default(),
    };
    let Answer::Cluster(id) = stage.must("Ada", order) else { panic!("a cluster") };
    id
}

#[test]
fn dedicated_work_takes_preemptible_nodes_back_with_notice() {
    let mut stage = Stage::new(Resources::new(12, 48, 0));
    let spare = spot_cluster(&mut stage, "spare-pool", 3);
    stage.say("Three jobs on spare nodes fill the machine.");
    let jobs: Vec<JobId> =
        (0..3).map(|_| stage.submit(job(Target::Cluster(spare), cores(4)), Span::minutes(30))).collect();
    stage.pass(Span::minutes(5));
    stage.say("A dedicated cluster needs a node: the newest spare one is taken back.");
    let firm = stage.cluster("firm-pool", "small", scale(0, 2, Span::seconds(30)));
    stage.submit(job(Target::Cluster(firm), cores(4)), Span::minutes(10));
    stage.ask_job(jobs[2]);
    stage.pass(Span::minutes(2));
    stage.ask_job(jobs[2]);
    stage.say("Somebody tests what a job keeps.");
    stage.must("Ada", Order::EvictJob(jobs[0]));
    stage.pass(Span::hours(2));
    golden("plans/preemption.txt", &format!("# Dedicated work takes preemptible nodes back\n\n{}", stage.text));
    let how = ends(&stage);
    assert!(jobs.iter().all(|job| how[job] == Verdict::Succeeded), "{how:?}");
    let ended = stage.outcomes.iter().flat_map(|outcome| &outcome.ended).find(|ended| ended.job.id == jobs[2]);
    let ended = ended.map(|ended| (ended.job.attempt, ended.job.retries));
    assert_eq!(ended, Some((2, 0)), "another attempt that was no retry");
}

#[test]
fn preemptible_jobs_of_their_own_give_way_too() {
    let mut stage = Stage::new(Resources::new(4, 16, 0));
    stage.is_writing = false;
    let spec = JobSpec { tier: Tier::Preemptible, ..job(Target::Serverless(size("small")), cores(4)) };
    let spare = stage.submit(spec, Span::minutes(30));
    stage.pass(Span::minutes(5));
    let firm =
        stage.submit_as("Bo", job(Target::Serverless(size("small")), cores(4)), Span::minutes(10), Exit::Code(0));
    stage.pass(Span::minutes(20));
    assert!(ends(&stage).contains_key(&firm), "{:?}", stage.world.explain_job(firm));
    stage.pass(Span::hours(1));
    assert_eq!(ends(&stage)[&spare], Verdict::Succeeded);
}

#[test]
fn nodes_are_kept_ready_beyond_what_is_needed() {
    let mut stage = Stage::roomy();
    let settings = ScaleSettings { warm: 1, ..scale(0, 3, Span::seconds(30)) };
    let pool = stage.cluster("train-pool", "small", settings);
    stage.pass(Span::seconds(10));
    stage.say("The first job starts at once, and the next node is made ready.");
    stage.submit(job(Target::Cluster(pool), cores(4)), Span::minutes(5));
    stage.pass(Span::minutes(1));
    stage.ask_cluster(pool);
    stage.say("No more than the maximum.");
    stage.submit(job(Target::Cluster(pool), cores(4)), Span::minutes(5));
    stage.submit(job(Target::Cluster(pool), cores(4)), Span::minutes(5));
    stage.pass(Span::minutes(1));
    assert_eq!(stage.world.nodes().count(), 3);
    stage.pass(Span::minutes(20));
    stage.say("One stays.");
    assert_eq!(stage.world.nodes().count(), 1);
    golden("plans/kept-ready.txt", &format!("# Nodes that are kept ready\n\n{}", stage.text));
}

#[test]
fn what_is_kept_ready_gives_way() {
    let mut stage = Stage::new(Resources::new(8, 32, 0));
    stage.is_writing = false;
    let warm = |warm| ScaleSettings { warm, ..scale(0, 2, Span::seconds(30)) };
    stage.cluster("one-pool", "small", warm(2));
    let other = stage.cluster("other-pool", "small", warm(2));
    stage.pass(Span::minutes(1));
    assert_eq!(stage.world.nodes().count(), 2);
    let wanted = stage.submit(gang(other, cores(4), 2), Span::minutes(5));
    stage.pass(Span::minutes(10));
    assert!(ends(&stage).contains_key(&wanted), "{:?}", stage.world.explain_job(wanted));
}

#[test]
fn priorities_come_before_shares() {
    let mut stage = stage(1);
    for (person, priority) in
        [("Ada", Priority::Low), ("Ada", Priority::Low), ("Bo", Priority::High), ("Cleo", Priority::Medium)]
    {
        stage.submit_as(person, JobSpec { priority, ..on_pool(cores(4)) }, Span::hours(1), Exit::Code(0));
    }
    assert_eq!(waiting(&stage), [3, 4, 2]);
}
