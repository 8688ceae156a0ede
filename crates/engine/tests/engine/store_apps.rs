//! Applications that people added, in the store: proved on SQLite and on PostgreSQL.

use atelier_domain::compute::InstanceId;
use atelier_domain::compute::app::{AppDraft, CustomApp, Preset};
use atelier_domain::history::{Actor, Event};
use atelier_domain::{Timestamp, WorkspaceId};
use atelier_engine::store::{Author, FirstAccount, Kind, Missing, Store};

const NOW: Timestamp = Timestamp(1_700_000_000_000);

fn console() -> Author {
    Author { actor: Actor::Console, request: String::new(), why: None }
}

async fn open(kind: Kind) -> (Store, WorkspaceId, tempfile::TempDir) {
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
    let (workspace, _) = store.set_up(&first, &console()).await.expect("works").expect("the first");
    (store, workspace.id, folder)
}

async fn put(store: &Store, workspace: &WorkspaceId, instance: InstanceId, app: &CustomApp) {
    let mut tx = store.begin(NOW).await.expect("begins");
    let event = Event::AppAdded { instance: "ines-lab".into(), app: app.name.to_string() };
    tx.put_app(workspace, instance, app, &console(), &event).await.expect("works");
    assert!(tx.apps_of(instance).await.expect("reads").contains(app));
    tx.commit().await.expect("commits");
}

async fn applications_are_kept_by_instance_and_name(kind: Kind) {
    let (store, workspace, _folder) = open(kind).await;
    let (one, other) = (InstanceId(3), InstanceId(4));
    let board = Preset::Tensorboard.draft().check().expect("a preset");
    let flow = Preset::Mlflow.draft().check().expect("a preset");
    for (instance, app) in [(one, &board), (one, &flow), (other, &board)] {
        put(&store, &workspace, instance, app).await;
    }
    assert_eq!(store.apps_of(one).await.expect("reads"), [flow.clone(), board.clone()], "by name");
    // The same name again is a change.
    let changed = AppDraft { port: Some(7_007), ..board.draft.clone() }.check().expect("fine");
    put(&store, &workspace, one, &changed).await;
    assert_eq!(store.apps_of(one).await.expect("reads"), [flow.clone(), changed]);
    assert_eq!(store.apps_of(other).await.expect("reads"), std::slice::from_ref(&board));
    let mut tx = store.begin(NOW).await.expect("begins");
    let gone = Event::AppRemoved { instance: "ines-lab".into(), app: board.name.to_string() };
    assert!(tx.remove_app(&workspace, one, &board.name, &console(), &gone).await.expect("works"));
    assert!(!tx.remove_app(&workspace, one, &board.name, &console(), &gone).await.expect("works"));
    tx.commit().await.expect("commits");
    assert!(!store.has_app(one, board.name.as_str()).await.expect("reads"));
    assert!(store.has_app(one, flow.name.as_str()).await.expect("reads"));
    let mut with = store.instances_with_apps().await.expect("reads");
    with.sort();
    assert_eq!(with, [one, other]);
    store.drop_apps_of(other).await.expect("works");
    assert_eq!(store.instances_with_apps().await.expect("reads"), [one]);
}

#[tokio::test]
async fn applications_are_kept_on_sqlite() {
    applications_are_kept_by_instance_and_name(Kind::Sqlite).await;
}

#[tokio::test]
async fn applications_are_kept_on_postgres() {
    applications_are_kept_by_instance_and_name(Kind::Postgres).await;
}
