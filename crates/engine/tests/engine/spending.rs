//! Sums of the ledger. Each claim is proved on SQLite and on PostgreSQL.

use atelier_domain::world::Charge;
use atelier_domain::{UserId, WorkspaceId};
use atelier_engine::store::{Kind, SERVERLESS, SpendBy, SpendFilter};
use sqlx::AnyPool;

use crate::common::Place;

/// Writes lines as the engine would: hour, holder, job, person, cost. Each is a second of a node.
async fn write(place: &Place, workspace: &str, lines: &[(i64, &str, i64, &str, i64)]) {
    let pool = AnyPool::connect(&place.address).await.expect("connects");
    for (hour, holder, job, person, cost) in lines {
        let sql = "insert into ledger (workspace_id, hour, holder, job_id, user_id, size, millis, cost) \
                   values ($1, $2, $3, $4, $5, 'small', 1000, $6)";
        let line = sqlx::query(sql).bind(workspace.to_owned()).bind(*hour).bind((*holder).to_owned()).bind(*job);
        line.bind((*person).to_owned()).bind(*cost).execute(&pool).await.expect("written");
    }
    pool.close().await;
}

fn costs(found: impl IntoIterator<Item = (String, Charge)>) -> Vec<(String, u64)> {
    found.into_iter().map(|(key, charge)| (key, charge.cost)).collect()
}

fn named(wanted: &[(&str, u64)]) -> Vec<(String, u64)> {
    wanted.iter().map(|(key, cost)| ((*key).to_owned(), *cost)).collect()
}

async fn sums_are_bound_to_workspace_hours_and_person(place: Place) {
    let store = place.open().await;
    let lines = [
        (9, "cluster-1", 1, "mara", 1_000),
        (10, "cluster-1", 1, "mara", 10),
        (10, "cluster-1", 0, "ines", 5),
        (11, "instance-2", 0, "mara", 20),
        (11, "job-7", 7, "sven", 2),
        (12, "job-8", 8, "sven", 1),
        (13, "cluster-1", 1, "mara", 1_000),
    ];
    write(&place, "here", &lines).await;
    write(&place, "elsewhere", &[(10, "cluster-9", 0, "mara", 500)]).await;
    let all = SpendFilter { workspace: WorkspaceId::new("here"), from: 10, to: 13, person: None };
    let by_hour: Vec<(i64, u64, u64)> = store
        .spent_by_hour(&all)
        .await
        .expect("reads")
        .into_iter()
        .map(|(hour, charge)| (hour, charge.cost, charge.millis))
        .collect();
    assert_eq!(by_hour, [(10, 15, 2_000), (11, 22, 2_000), (12, 1, 1_000)]);
    let by = async |by, most| costs(store.spent_by(&all, by, most).await.expect("reads"));
    assert_eq!(by(SpendBy::Compute, 9).await, named(&[("instance-2", 20), ("cluster-1", 15), (SERVERLESS, 3)]));
    assert_eq!(by(SpendBy::Person, 9).await, named(&[("mara", 30), ("ines", 5), ("sven", 3)]));
    assert_eq!(by(SpendBy::Job, 2).await, named(&[("0", 25), ("1", 10)]));
    for (by, count) in [(SpendBy::Compute, 3), (SpendBy::Person, 3), (SpendBy::Job, 4)] {
        assert_eq!(store.count_spent_by(&all, by).await.expect("reads"), count, "{by:?}");
    }
    let keys = ["1".to_owned(), "8".to_owned(), "99".to_owned()];
    let on = store.spent_on(&all, SpendBy::Job, &keys).await.expect("reads");
    assert_eq!(costs(on), named(&[("1", 10), ("8", 1)]));
    let hours = store.spent_by_hour_on(&all, SpendBy::Compute, &[SERVERLESS.to_owned()]).await.expect("reads");
    let hours: Vec<(i64, u64)> = hours.into_iter().map(|(hour, _, charge)| (hour, charge.cost)).collect();
    assert_eq!(hours, [(11, 2), (12, 1)]);
    assert_eq!(store.spent_by_hour_on(&all, SpendBy::Job, &[]).await.expect("reads"), []);
    assert_eq!(costs(store.spent_on_instances(&all).await.expect("reads")), named(&[("instance-2", 20)]));
    let own = SpendFilter { person: Some(UserId::new("sven")), ..all };
    assert_eq!(costs(store.spent_by(&own, SpendBy::Compute, 9).await.expect("reads")), named(&[(SERVERLESS, 3)]));
    assert_eq!(store.count_spent_by(&own, SpendBy::Job).await.expect("reads"), 2);
    store.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sums_on_sqlite() {
    sums_are_bound_to_workspace_hours_and_person(Place::new(Kind::Sqlite)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sums_on_postgres() {
    sums_are_bound_to_workspace_hours_and_person(Place::new(Kind::Postgres)).await;
}
