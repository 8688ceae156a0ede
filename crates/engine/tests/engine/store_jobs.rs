//! What the store says about jobs, each claim proved on SQLite and on PostgreSQL.

use std::time::Duration;

use atelier_domain::WorkspaceId;
use atelier_domain::compute::job::{JobState, Target};
use atelier_domain::compute::tags::Tags;
use atelier_domain::compute::{ClusterId, JobId};
use atelier_domain::world::{Answer, ArrayChange, Order};
use atelier_engine::run::{CommandId, NewOrder, Options, Payload};
use atelier_engine::store::{JobFilter, Kind};
use atelier_protocol::{Run, Task};

use crate::common::{Manner, Place, Running, author};

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

fn task(word: &str) -> Task {
    Task { run: Run::Argv(vec![word.into()]), environment: Vec::new(), files: Vec::new(), is_alone: false }
}

/// Submits a job, or an array, under a name and with tags.
async fn submit(it: &Running, cluster: ClusterId, name: &str, tags: &str, count: Option<u32>) -> JobId {
    let order = match (crate::common::submit(cluster), count) {
        (Order::Submit(spec), Some(count)) => Order::SubmitArray { spec, count },
        (order, _) => order,
    };
    let payload = Payload::of(name, Tags::parse(tags).expect("tags"), &task(name));
    let new =
        NewOrder { id: CommandId::random(), payload: Some(payload), author: author(), command: it.command(order) };
    match it.handle.order(new).await {
        Ok(Answer::Job(id) | Answer::Jobs { first: id, .. }) => id,
        other => panic!("{other:?}"),
    }
}

async fn started(place: &Place, manner: Manner) -> (Running, ClusterId) {
    let it = Running::start(place.open().await, manner, Options::default()).await;
    let cluster = it.furnish(3).await;
    (it, cluster)
}

on_both! {
    async fn jobs_are_found_with_all_that_is_known_of_them(place: Place) {
        let (it, cluster) = started(&place, Manner::Idle).await;
        let one = submit(&it, cluster, "Train_100%", "project=churn\nurgent", None).await;
        let two = submit(&it, cluster, "other", "project=chur", None).await;
        let row = it.store.job(&it.workspace, one).await.expect("reads").expect("is there");
        assert_eq!((row.name.as_str(), row.state, row.ended), ("Train_100%", JobState::Queued, None));
        assert_eq!(row.tags.0["project"], "churn");
        assert_eq!(it.store.job(&WorkspaceId::new("other"), one).await.expect("reads"), None);
        assert_eq!(it.store.job(&it.workspace, JobId(u64::MAX)).await.expect("reads"), None);
        let tasks = it.store.job_tasks(&[one, two, JobId(99)]).await.expect("reads");
        assert_eq!((tasks.len(), &tasks[&two]), (2, &task("other")));

        let find = async |filter: JobFilter| -> Vec<JobId> {
            let filter = JobFilter { limit: 10, ..filter };
            let rows = it.store.jobs(&it.workspace, &filter).await.expect("reads");
            rows.iter().map(|row| row.job.id).collect()
        };
        let all = JobFilter::default;
        assert_eq!(find(all()).await, [two, one]);
        assert_eq!(find(JobFilter { part: "train_1".into(), ..all() }).await, [one]);
        assert_eq!(find(JobFilter { part: "%".into(), ..all() }).await, [one]);
        assert_eq!(find(JobFilter { tag: "project=churn".into(), ..all() }).await, [one]);
        assert_eq!(find(JobFilter { tag: "project".into(), ..all() }).await, [two, one]);
        assert_eq!(find(JobFilter { tag: "urgent".into(), ..all() }).await, [one]);
        assert_eq!(find(JobFilter { tag: "churn".into(), ..all() }).await, []);
        assert_eq!(find(JobFilter { owner: Some(it.user.clone()), ..all() }).await.len(), 2);
        assert_eq!(find(JobFilter { target: Some(Target::Cluster(cluster)), ..all() }).await.len(), 2);
        assert_eq!(find(JobFilter { is_serverless: true, ..all() }).await, []);
        assert_eq!(find(JobFilter { states: vec![JobState::Failed], ..all() }).await, []);
        assert_eq!(find(JobFilter { before: Some(two), ..all() }).await, [one]);
        assert_eq!(find(JobFilter { after: Some(one), ..all() }).await, [two]);
        it.stop().await;
    }

    async fn an_array_is_one_line_with_its_states(place: Place) {
        let (it, cluster) = started(&place, Manner::Idle).await;
        let first = submit(&it, cluster, "sweep", "", Some(4)).await;
        let alone = submit(&it, cluster, "alone", "", None).await;
        it.give("cancel-one-of-them", Order::Cancel(JobId(first.0 + 1))).await.expect("canceled");
        let filter = JobFilter { limit: 10, ..JobFilter::default() };
        let lines = it.store.job_lines(&it.workspace, &filter).await.expect("reads");
        let ids: Vec<JobId> = lines.iter().map(|line| line.row.job.id).collect();
        assert_eq!(ids, [alone, first]);
        assert!(lines[0].array.is_empty());
        let states: Vec<_> = lines[1].array.iter().map(|(state, count)| (*state, *count)).collect();
        assert_eq!(states, [(JobState::Queued, 3), (JobState::Canceled, 1)]);
        let canceled = JobFilter { states: vec![JobState::Canceled], ..filter.clone() };
        let lines = it.store.job_lines(&it.workspace, &canceled).await.expect("reads");
        assert_eq!((lines.len(), lines[0].row.job.id), (1, JobId(first.0 + 1)));
        assert_eq!(lines[0].row.name, "sweep");
        let of_it = JobFilter { array: Some(first), limit: 2, ..JobFilter::default() };
        assert_eq!(it.store.jobs(&it.workspace, &of_it).await.expect("reads").len(), 2);
        let counts = it.store.job_counts(&it.workspace, &of_it).await.expect("reads");
        assert_eq!(counts.values().sum::<u64>(), 4);
        let tasks = it.store.job_tasks(&[JobId(first.0 + 3)]).await.expect("reads");
        assert_eq!(tasks[&JobId(first.0 + 3)], task("sweep"));
        it.stop().await;
    }

    async fn a_large_array_has_rows_for_what_was_made_and_is_known_whole(place: Place) {
        let (it, cluster) = started(&place, Manner::Idle).await;
        let first = submit(&it, cluster, "sweep", "project=churn", Some(100_000)).await;
        let of_it = JobFilter { array: Some(first), limit: 3, ..JobFilter::default() };
        let ids = async |it: &Running, filter: &JobFilter| -> Vec<u64> {
            let rows = it.store.jobs(&it.workspace, filter).await.expect("reads");
            rows.iter().map(|row| row.job.id.0 - first.0).collect()
        };
        assert_eq!(ids(&it, &of_it).await, [99_999, 99_998, 99_997]);
        let before = JobFilter { before: Some(JobId(first.0 + 2)), ..of_it.clone() };
        assert_eq!(ids(&it, &before).await, [1, 0]);
        let after = JobFilter { after: Some(first), ..of_it.clone() };
        assert_eq!(ids(&it, &after).await, [1, 2, 3]);
        let middle = JobId(first.0 + 50_000);
        let row = it.store.job(&it.workspace, middle).await.expect("reads").expect("is known");
        assert_eq!((row.job.id, row.state, row.name.as_str()), (middle, JobState::Queued, "sweep"));
        assert_eq!(row.job.array.map(|place| (place.index, place.count)), Some((50_000, 100_000)));
        assert_eq!(it.store.job(&WorkspaceId::new("other"), middle).await.expect("reads"), None);
        assert_eq!(it.store.job_tasks(&[middle]).await.expect("reads")[&middle], task("sweep"));
        assert_eq!(it.store.job_names(&[middle]).await.expect("reads")[&middle], "sweep");
        it.give("cancel-one-of-them", Order::Cancel(middle)).await.expect("canceled");
        let tagged = JobFilter { tag: "project=churn".into(), limit: 10, ..JobFilter::default() };
        for filter in [&of_it, &tagged] {
            let counts = it.store.job_counts(&it.workspace, filter).await.expect("reads");
            assert_eq!(counts.into_iter().collect::<Vec<_>>(), [(JobState::Queued, 99_999), (JobState::Canceled, 1)]);
        }
        let lines = it.store.job_lines(&it.workspace, &tagged).await.expect("reads");
        assert_eq!((lines.len(), lines[0].row.job.id, lines[0].array.values().sum::<u64>()), (1, first, 100_000));
        assert!(lines[0].unmade > 99_000, "{}", lines[0].unmade);

        // All of it is there again after a restart, and ends at once.
        it.stop().await;
        let it = Running::start(place.open().await, Manner::Idle, Options::default()).await;
        let last = JobId(first.0 + 99_999);
        let asked = it.handle.ask(move |world| (world.audit(), world.position(last))).await.expect("answers");
        assert_eq!(asked, (vec![], Some((99_999, 99_999))));
        let mut over = it.handle.job_over(last);
        let change = ArrayChange::Cancel;
        it.give("cancel-all-of-them", Order::ChangeArray { array: first, change }).await.expect("canceled");
        let told = over.ended().await.expect("hears");
        assert_eq!((told.job.id, told.job.attempt), (last, 0));
        let row = it.store.job(&it.workspace, last).await.expect("reads").expect("is known");
        assert_eq!((row.state, row.job.attempt, row.ended.is_some()), (JobState::Canceled, 0, true));
        let counts = it.store.job_counts(&it.workspace, &of_it).await.expect("reads");
        assert_eq!(counts.into_iter().collect::<Vec<_>>(), [(JobState::Canceled, 100_000)]);
        let canceled = JobFilter { states: vec![JobState::Canceled], limit: 10, ..JobFilter::default() };
        let lines = it.store.job_lines(&it.workspace, &canceled).await.expect("reads");
        assert_eq!((lines.len(), lines[0].unmade), (1, 0));
        let left = it.handle.ask(|world| (world.audit(), world.arrays().count(), world.jobs().count())).await;
        assert_eq!(left, Ok((vec![], 0, 0)));
        let replayed = it.store.replay(false).await.expect("replays");
        assert_eq!(replayed.differs_at, None);
        it.stop().await;
    }

    async fn what_is_over_stays_with_its_verdict_and_its_cost(place: Place) {
        let (it, cluster) = started(&place, Manner::Prompt(Duration::from_millis(20))).await;
        let id = submit(&it, cluster, "quick", "", None).await;
        let mut status = it.handle.watch();
        let row = loop {
            let row = it.store.job(&it.workspace, id).await.expect("reads").expect("is there");
            if row.ended.is_some() {
                break row;
            }
            status.changed().await.expect("the engine runs");
        };
        assert_eq!((row.state, row.job.attempt), (JobState::Completed, 1));
        assert!(row.job.when.started.is_some() && row.verdict.is_some());
        let costs = it.store.job_costs(&it.workspace, &[id, JobId(99)], row.job.submitted).await.expect("reads");
        assert!(costs[&id] > 0 && costs.len() == 1, "{costs:?}");
        it.stop().await;
    }
}
