//! Shares of applications in the store: proved on SQLite and on PostgreSQL.

use atelier_domain::access::Role;
use atelier_domain::account::Theme;
use atelier_domain::app_sharing::Level;
use atelier_domain::compute::InstanceId;
use atelier_domain::history::Actor;
use atelier_domain::{Timestamp, UserId};
use atelier_engine::store::{Author, FirstAccount, HistoryFilter, Kind, Missing, NewAccount, NewShare, Person, Store};

const NOW: Timestamp = Timestamp(1_700_000_000_000);
const DESK: InstanceId = InstanceId(7);

fn console() -> Author {
    Author { actor: Actor::Console, request: String::new(), why: None }
}

async fn open(kind: Kind) -> (Store, Person, Person, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let address = match kind {
        Kind::Sqlite => format!("sqlite://{}?mode=rwc", folder.path().join("atelier.db").display()),
        Kind::Postgres => atelier_testing::postgres::shared().expect("PostgreSQL starts").create_database(),
    };
    let store = Store::open(&address, Missing::Make).await.expect("opens");
    let first = FirstAccount {
        workspace: "Perception".into(),
        name: "Ines Okafor".into(),
        email: "ines@example.org".into(),
        password_hash: "hash".into(),
        time_zone: "UTC".into(),
    };
    let (_, id) = store.set_up(&first, &console()).await.expect("works").expect("the first");
    let ines = store.person(&id).await.expect("reads").expect("exists");
    let mut tx = store.begin(NOW).await.expect("begins");
    let new = NewAccount {
        workspace: ines.workspace.clone(),
        email: "mara@example.org".into(),
        name: "Mara".into(),
        password_hash: "hash".into(),
        must_change_password: false,
        time_zone: "UTC".into(),
        theme: Theme::System,
        roles: vec![Role::DataScientist],
    };
    let id = tx.insert_account(&new).await.expect("inserts");
    tx.commit().await.expect("commits");
    let mara = store.person(&id).await.expect("reads").expect("exists");
    (store, ines, mara, folder)
}

async fn share(store: &Store, owner: &Person, with: &Person, app: &str, level: Level, until: Option<i64>) {
    let mut tx = store.begin(NOW).await.expect("begins");
    let new = NewShare {
        workspace: &owner.workspace,
        instance: DESK,
        instance_name: "desk",
        owner: &owner.id,
        app,
        app_label: "JupyterLab",
        person: with,
        level,
        until: until.map(|until| (Timestamp(until), "soon".to_owned())),
    };
    tx.put_share(&new, &console()).await.expect("writes");
    tx.commit().await.expect("commits");
}

async fn sentences(store: &Store, person: &Person) -> Vec<String> {
    let filter = HistoryFilter { limit: 20, done_to: Some(person.id.clone()), ..HistoryFilter::default() };
    let found = store.history(&person.workspace, &filter).await.expect("reads");
    found.into_iter().map(|entry| entry.sentence).collect()
}

async fn a_share_is_found_changed_used_and_taken_back(kind: Kind) {
    let (store, ines, mara, _folder) = open(kind).await;
    share(&store, &mara, &ines, "jupyter", Level::Use, None).await;
    let key = (DESK, "jupyter".to_owned(), ines.id.clone());
    let (found, giver) = store.share_of(&key).await.expect("reads").expect("is there");
    assert_eq!((found.share.level, found.share.until, found.used_at, &giver), (Level::Use, None, None, &mara));
    assert_eq!(found.share.owner, mara.id);
    // Given again it is changed, and stays one.
    share(&store, &mara, &ines, "jupyter", Level::Read, Some(NOW.0 + 5)).await;
    share(&store, &mara, &ines, "terminal", Level::Read, None).await;
    let all = store.shares_of_instance(DESK).await.expect("reads");
    assert_eq!(all.len(), 2);
    assert!(all.iter().all(|(_, person)| person.id == ines.id));
    let (found, _) = store.share_of(&key).await.expect("reads").expect("is there");
    assert_eq!((found.share.level, found.share.until), (Level::Read, Some(Timestamp(NOW.0 + 5))));
    assert_eq!(store.shares_with(&ines.id).await.expect("reads").len(), 2);
    assert_eq!(store.shares_with(&mara.id).await.expect("reads").len(), 0);
    let mut tx = store.begin(NOW).await.expect("begins");
    assert_eq!(tx.count_other_shares(DESK, "jupyter", &ines.id).await.expect("counts"), 1);
    drop(tx);

    store.flush_share_uses(&[(key.clone(), Timestamp(NOW.0 + 9))]).await.expect("writes");
    store.flush_share_uses(&[(key.clone(), Timestamp(NOW.0 + 3))]).await.expect("writes");
    let (found, _) = store.share_of(&key).await.expect("reads").expect("is there");
    assert_eq!(found.used_at, Some(Timestamp(NOW.0 + 9)), "a late flush takes nothing back");

    let mut tx = store.begin(NOW).await.expect("begins");
    let subject = ines.subject();
    let revoked = tx.revoke_share(&ines.workspace, DESK, "jupyter", &subject, &console()).await.expect("works");
    assert_eq!(revoked.as_deref(), Some("JupyterLab"));
    assert_eq!(tx.revoke_share(&ines.workspace, DESK, "jupyter", &subject, &console()).await.expect("works"), None);
    tx.commit().await.expect("commits");
    assert_eq!(store.share_of(&key).await.expect("reads"), None);
    assert_eq!(
        sentences(&store, &ines).await[..3],
        [
            "took back the share of JupyterLab of the instance desk with Ines Okafor",
            "shared JupyterLab of the instance desk with Ines Okafor to read",
            "shared JupyterLab of the instance desk with Ines Okafor to read until soon",
        ]
    );
    store.close().await;
}

async fn an_end_is_told_once_and_forgotten_later(kind: Kind) {
    let (store, ines, mara, _folder) = open(kind).await;
    share(&store, &mara, &ines, "jupyter", Level::Use, Some(NOW.0 + 5)).await;
    assert_eq!(store.end_shares(Timestamp(NOW.0 + 4)).await.expect("works"), 0);
    assert_eq!(store.end_shares(Timestamp(NOW.0 + 5)).await.expect("works"), 1);
    assert_eq!(store.end_shares(Timestamp(NOW.0 + 6)).await.expect("works"), 0, "once");
    assert_eq!(
        sentences(&store, &ines).await[0],
        "ended the share of JupyterLab of the instance desk with Ines Okafor: its time was over"
    );
    assert_eq!(store.shares_of_instance(DESK).await.expect("reads").len(), 1, "its owner sees that it is over");
    assert_eq!(store.drop_old_shares(Timestamp(NOW.0 + 6)).await.expect("drops"), 1);
    // What belongs to nobody any more goes.
    share(&store, &mara, &ines, "jupyter", Level::Use, None).await;
    assert_eq!(store.drop_shares_of_others(&[(DESK, mara.id.clone())]).await.expect("drops"), 0);
    assert_eq!(store.drop_shares_of_others(&[(DESK, UserId::new("other"))]).await.expect("drops"), 1);
    store.close().await;
}

async fn epochs_go_up(kind: Kind) {
    let (store, ines, _, _folder) = open(kind).await;
    let epoch = store.person_and_epoch(&ines.id).await.expect("reads").expect("exists").1;
    let mut tx = store.begin(NOW).await.expect("begins");
    tx.end_sessions(&ines.id, None).await.expect("ends");
    tx.commit().await.expect("commits");
    let (person, after) = store.person_and_epoch(&ines.id).await.expect("reads").expect("exists");
    assert_eq!((person.id, after), (ines.id, epoch + 1));
    assert_eq!(store.person_and_epoch(&UserId::new("nobody")).await.expect("reads"), None);
    store.close().await;
}

macro_rules! on_both {
    ($($name:ident)*) => { $(
        mod $name {
            use super::*;
            #[tokio::test]
            async fn on_sqlite() { super::$name(Kind::Sqlite).await }
            #[tokio::test]
            async fn on_postgres() { super::$name(Kind::Postgres).await }
        }
    )* };
}

on_both! {
    a_share_is_found_changed_used_and_taken_back
    an_end_is_told_once_and_forgotten_later
    epochs_go_up
}
