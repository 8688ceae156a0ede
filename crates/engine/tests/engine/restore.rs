//! A database that was taken back, on SQLite and on PostgreSQL, and data directories that fit theirs or
//! don't.

use std::path::Path;

use atelier_domain::compute::InstanceId;
use atelier_domain::history::Actor;
use atelier_domain::marks::Marks;
use atelier_domain::{Timestamp, UserId};
use atelier_engine::fleet::Folders;
use atelier_engine::marks::MarksFile;
use atelier_engine::quarantine::Quarantine;
use atelier_engine::restore::{self, RestoreError};
use atelier_engine::store::{Author, FirstAccount, HistoryFilter, Missing, Store};

async fn set_up(address: &str) -> (Store, UserId) {
    let store = Store::open(address, Missing::Make).await.expect("opens");
    let first = FirstAccount {
        workspace: "Studio".into(),
        name: "Ines".into(),
        email: "ines@example.org".into(),
        password_hash: "none".into(),
        time_zone: "UTC".into(),
    };
    let author = Author { actor: Actor::System, request: String::new(), why: None };
    let (_, user) = store.set_up(&first, &author).await.expect("works").expect("the first");
    (store, user)
}

fn sqlite(folder: &Path) -> String {
    format!("sqlite://{}?mode=rwc", folder.join("atelier.db").display())
}

fn postgres() -> String {
    atelier_testing::postgres::shared().expect("PostgreSQL starts").create_database()
}

async fn goes_on_above(address: &str) {
    let (store, user) = set_up(address).await;
    let first = store.local_user(&user).await.expect("made");
    let users = u64::from(first.uid) + 64;
    let above = Marks { jobs: 2_048, nodes: 1_024, instances: 64, users, revision: 500, epoch: 9, ..Marks::default() };
    store.take_back(&above, 3, Timestamp(7)).await.expect("taken back");
    let marks = store.marks().await.expect("reads");
    assert!(above.is_within(&marks), "{marks:?}");
    assert_eq!((marks.jobs, marks.nodes, marks.revision), (2_048, 1_024, 501));
    assert_eq!(store.local_user(&user).await.expect("reads"), first, "who is known stays who they are");
    let next = store.local_user(&UserId::new("user-somebody-else")).await.expect("made");
    assert!(u64::from(next.uid) > users, "{next:?}");
    assert_eq!(store.restores().await.expect("reads"), 1);
    let workspace = store.workspaces().await.expect("reads").remove(0);
    let told =
        store.history(&workspace.id, &HistoryFilter { limit: 10, ..HistoryFilter::default() }).await.expect("reads");
    assert!(told.iter().any(|entry| entry.sentence.contains("moved 3 things")), "{told:?}");
    store.close().await;
}

#[tokio::test]
async fn an_accepted_database_repeats_nothing_on_sqlite() {
    let folder = tempfile::tempdir().expect("a folder");
    goes_on_above(&sqlite(folder.path())).await;
}

#[tokio::test]
async fn an_accepted_database_repeats_nothing_on_postgres() {
    goes_on_above(&postgres()).await;
}

async fn is_refused_until_accepted(address: &str, data: &Path) {
    let (store, _) = set_up(address).await;
    drop(restore::check(&store, data).await.expect("adopted"));
    // What a database from before has forgotten.
    std::fs::create_dir_all(data.join("instances/3/home")).expect("made");
    std::fs::write(data.join("instances/3/home/work.txt"), "precious").expect("written");
    for (place, text) in [("logs/0/7.1.2.log", "a log"), ("logs/0/7.metrics.json", "{}")] {
        std::fs::create_dir_all(data.join("logs/0")).expect("made");
        std::fs::write(data.join(place), text).expect("written");
    }
    for place in ["nodes/node-2", "jobs/user-gone/7.1.0/outputs", "files/homes/user-gone", "files/shared/Users/gone"] {
        std::fs::create_dir_all(data.join(place)).expect("made");
    }
    let blob = format!("blobs/ab/{}", "ab".repeat(32));
    std::fs::create_dir_all(data.join("blobs/ab")).expect("made");
    std::fs::write(data.join(&blob), "x").expect("written");
    let refused = restore::check(&store, data).await.expect_err("it is behind");
    let text = refused.to_string();
    assert!(matches!(refused, RestoreError::Behind { .. }), "{text}");
    for part in ["instance-3", "node-2", "job-7"] {
        assert!(text.contains(part), "{text}");
    }
    let accepted = restore::accept(&store, data, Timestamp(9)).await.expect("accepted").expect("it was behind");
    let mut labels: Vec<&str> = accepted.held.iter().map(|held| held.label.as_str()).collect();
    labels.sort_unstable();
    assert_eq!(labels, ["files-gone", "home-user-gone", "instance-3", "job-7", "node-2", "uploads"]);
    assert_eq!(Quarantine::new(Folders::new(data)).list().expect("lists").len(), 6);
    for gone in ["instances/3", "logs/0/7.1.2.log", "nodes/node-2", "jobs/user-gone/7.1.0", blob.as_str()] {
        assert!(!data.join(gone).exists(), "{gone}");
    }
    assert!(!data.join("trash").exists(), "nothing goes to the trash");
    let marks = restore::check(&store, data).await.expect("fits again").durable();
    assert!(marks.seen.instances >= 64 && marks.seen.jobs >= 1_024 && marks.reserved.jobs > marks.seen.jobs);
    assert!(restore::accept(&store, data, Timestamp(9)).await.expect("looks").is_none(), "once is enough");
    store.close().await;
}

#[tokio::test]
async fn an_older_database_is_refused_until_it_is_accepted_on_sqlite() {
    let folder = tempfile::tempdir().expect("a folder");
    is_refused_until_accepted(&sqlite(folder.path()), folder.path()).await;
}

#[tokio::test]
async fn an_older_database_is_refused_until_it_is_accepted_on_postgres() {
    let folder = tempfile::tempdir().expect("a folder");
    is_refused_until_accepted(&postgres(), folder.path()).await;
}

#[tokio::test]
async fn a_person_cannot_stop_the_server_with_a_number_of_their_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let (store, user) = set_up(&sqlite(folder.path())).await;
    let own = folder.path().join("jobs").join(user.as_str());
    std::fs::create_dir_all(own.join("99999.1.0")).expect("made");
    assert!(restore::check(&store, folder.path()).await.is_ok(), "their folder proves nothing");
    store.close().await;
}

#[tokio::test]
async fn marks_are_noted_as_the_database_moves_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let (store, user) = set_up(&sqlite(folder.path())).await;
    let marks = std::sync::Arc::new(restore::check(&store, folder.path()).await.expect("adopted"));
    store.count_with(std::sync::Arc::clone(&marks));
    let uid = store.local_user(&user).await.expect("made").uid;
    let reserved = MarksFile::read(folder.path()).expect("reads").expect("is there").reserved.users;
    assert!(reserved >= u64::from(uid), "reserved before it is used: {reserved} {uid}");
    marks.flush().expect("written");
    let kept = MarksFile::read(folder.path()).expect("reads").expect("is there");
    assert_eq!(kept.seen, store.marks().await.expect("reads"));
    assert_eq!(InstanceId(kept.seen.instances), InstanceId(0));
    store.close().await;
}
