//! Which users of the system people get.

use atelier_domain::UserId;
use atelier_domain::uids::{DEFAULT_FIRST, Uids};
use atelier_engine::store::Kind;
use atelier_engine::uids::settle;

use crate::common::Place;

async fn numbers_of_others(kind: Kind) {
    let etc = tempfile::tempdir().expect("a folder");
    std::fs::write(etc.path().join("subuid"), "ada:100000:65536\nbo:165536:65536\n").expect("written");
    let users = "root:x:0:0::/:/bin/sh\neve:x:300007:300007::/:/bin/sh\n";
    std::fs::write(etc.path().join("passwd"), users).expect("written");
    // A new installation: the default is free, what is taken is refused.
    let database = Place::new(kind);
    let store = database.open().await;
    let refused = settle(&store, Some(200_000), etc.path()).await.expect_err("refused");
    assert!(refused.contains("/etc/subuid gives them to the containers of bo"), "{refused}");
    assert!(refused.contains("Set first_uid"), "{refused}");
    store.close().await;
    let store = database.open().await;
    let refused = settle(&store, Some(300_000), etc.path()).await.expect_err("refused");
    assert!(refused.contains("/etc/passwd has eve"), "{refused}");
    store.close().await;
    let store = database.open().await;
    assert_eq!(settle(&store, None, etc.path()).await, Ok(Vec::new()));
    assert_eq!(store.local_user(&UserId::new("ada")).await.expect("made").uid, DEFAULT_FIRST);
    store.close().await;

    // One that gave numbers out before: it goes on with them, and warns.
    let database = Place::new(kind);
    let store = database.open().await;
    store.number_people(Uids::from(200_000));
    let ada = store.local_user(&UserId::new("ada")).await.expect("made");
    assert_eq!(ada.uid, 200_000);
    store.close().await;
    let store = database.open().await;
    let warnings = settle(&store, None, etc.path()).await.expect("starts");
    assert_eq!((warnings.len(), store.uids().first()), (1, 200_000), "{warnings:?}");
    assert_eq!(store.local_user(&UserId::new("bo")).await.expect("made").uid, 200_001);
    store.close().await;
    // Another base is for those who come from now on.
    let store = database.open().await;
    assert_eq!(settle(&store, Some(400_000), etc.path()).await, Ok(Vec::new()));
    assert_eq!(store.local_user(&UserId::new("ada")).await.expect("found"), ada);
    assert_eq!(store.local_user(&UserId::new("cy")).await.expect("made").uid, 400_000);
    store.close().await;
}

#[tokio::test]
async fn numbers_that_belong_to_others_are_refused_or_warned_about_on_sqlite() {
    numbers_of_others(Kind::Sqlite).await;
}

#[tokio::test]
async fn numbers_that_belong_to_others_are_refused_or_warned_about_on_postgres() {
    numbers_of_others(Kind::Postgres).await;
}
