//! Keys for SSH and switches in the store: proved on SQLite and on PostgreSQL.

use atelier_domain::compute::InstanceId;
use atelier_domain::history::{Actor, Event};
use atelier_domain::ssh::{KeyName, KeyRefusal, MAX_KEYS, PublicKey};
use atelier_domain::{SshKeyId, Timestamp, UserId};
use atelier_engine::store::{Author, FirstAccount, HistoryFilter, Kind, Missing, Person, Store};

const NOW: Timestamp = Timestamp(1_700_000_000_000);
const LINE: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFh1mEm9PIUj6mTxXFcSJLdQ0nZjxhgUqGX6N8H2tGkQ laptop";

async fn open(kind: Kind) -> (Store, Person, Author, tempfile::TempDir) {
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
    let console = Author { actor: Actor::Console, request: String::new(), why: None };
    let (_, id) = store.set_up(&first, &console).await.expect("works").expect("the first");
    let person = store.person(&id).await.expect("reads").expect("exists");
    let own = Author { actor: Actor::Person { id: person.id.clone(), name: person.name.clone() }, ..console };
    (store, person, own, folder)
}

async fn add(store: &Store, person: &Person, fingerprint: &str, author: &Author) -> Result<SshKeyId, KeyRefusal> {
    let key = PublicKey::parse(LINE).expect("a key");
    let name = KeyName::parse("", &key).expect("a name");
    let mut tx = store.begin(NOW).await.expect("begins");
    let made = tx.insert_ssh_key(person, &name, &key, fingerprint, author).await.expect("works");
    if made.is_ok() {
        tx.commit().await.expect("commits");
    }
    made
}

async fn remove(store: &Store, person: &Person, id: &SshKeyId, author: &Author) -> Option<String> {
    let mut tx = store.begin(Timestamp(NOW.0 + 9)).await.expect("begins");
    let removed = tx.remove_ssh_key(person, id, author).await.expect("works");
    tx.commit().await.expect("commits");
    removed
}

async fn a_key_is_found_until_it_is_removed_and_known_after(kind: Kind) {
    let (store, person, own, _folder) = open(kind).await;
    assert!(store.ssh_key_and_person("SHA256:one").await.expect("reads").is_none());
    let id = add(&store, &person, "SHA256:one", &own).await.expect("added");
    let (key, owner) = store.ssh_key_and_person("SHA256:one").await.expect("reads").expect("is there");
    assert_eq!((&key.id, key.name.as_str(), key.kind.as_str(), key.used_at), (&id, "laptop", "ed25519", None));
    assert_eq!((owner, key.removed_at), (person.clone(), None));
    assert_eq!(add(&store, &person, "SHA256:one", &own).await, Err(KeyRefusal::Own("laptop".into())));
    let other = Person { id: UserId::new("user-other"), ..person.clone() };
    assert_eq!(add(&store, &other, "SHA256:one", &own).await, Err(KeyRefusal::Others));
    store.ssh_key_used(&id, Timestamp(NOW.0 + 5)).await.expect("writes");
    store.ssh_key_used(&id, Timestamp(NOW.0 + 3)).await.expect("writes");
    let keys = store.ssh_keys_of(&person.id).await.expect("reads");
    assert_eq!(keys.iter().map(|key| key.used_at).collect::<Vec<_>>(), [Some(Timestamp(NOW.0 + 5))]);

    assert_eq!(remove(&store, &other, &id, &own).await, None, "nobody removes another's");
    assert_eq!(remove(&store, &person, &id, &own).await.as_deref(), Some("laptop"));
    assert_eq!(remove(&store, &person, &id, &own).await, None);
    assert!(store.ssh_keys_of(&person.id).await.expect("reads").is_empty());
    let (key, _) = store.ssh_key_and_person("SHA256:one").await.expect("reads").expect("is known");
    assert_eq!(key.removed_at, Some(Timestamp(NOW.0 + 9)));
    // Added again, the new one counts.
    let again = add(&store, &person, "SHA256:one", &own).await.expect("added");
    let (key, _) = store.ssh_key_and_person("SHA256:one").await.expect("reads").expect("is there");
    assert_eq!((key.id, key.removed_at), (again, None));
    let history = store.history(&person.workspace, &HistoryFilter { limit: 3, ..HistoryFilter::default() }).await;
    let sentences: Vec<String> = history.expect("reads").into_iter().map(|entry| entry.sentence).collect();
    assert_eq!(sentences[1], "removed the SSH key “laptop” (SHA256:one)");
    store.close().await;
}

async fn there_are_at_most_twenty(kind: Kind) {
    let (store, person, own, _folder) = open(kind).await;
    for number in 0..MAX_KEYS {
        add(&store, &person, &format!("SHA256:{number}"), &own).await.expect("added");
    }
    assert_eq!(add(&store, &person, "SHA256:more", &own).await, Err(KeyRefusal::TooMany));
    store.close().await;
}

async fn a_switch_belongs_to_the_owner_who_turned_it(kind: Kind) {
    let (store, person, own, _folder) = open(kind).await;
    let (desk, new_owner) = (InstanceId(7), UserId::new("user-new"));
    let switch = async |owner: &UserId, is_on: bool| {
        let mut tx = store.begin(NOW).await.expect("begins");
        let changed = tx.switch_ssh(&person.workspace, (desk, "desk"), owner, is_on, &own).await.expect("works");
        tx.commit().await.expect("commits");
        changed
    };
    assert_eq!(store.ssh_of(desk).await.expect("reads"), None);
    assert!(!switch(&person.id, false).await, "it is off anyway");
    assert!(switch(&person.id, true).await && !switch(&person.id, true).await);
    assert_eq!(store.ssh_of(desk).await.expect("reads"), Some((person.id.clone(), NOW)));
    // Whoever gets the instance has to decide for themselves.
    assert!(switch(&new_owner, true).await);
    assert_eq!(store.ssh_of(desk).await.expect("reads"), Some((new_owner.clone(), NOW)));
    assert!(switch(&new_owner, false).await);
    assert_eq!(store.ssh_of(desk).await.expect("reads"), None);
    let event = Event::SshConnected { instance: "desk".into(), key: "laptop".into(), address: "192.0.2.7".into() };
    store.record_ssh(&person, &event, NOW).await.expect("writes");
    let history = store.history(&person.workspace, &HistoryFilter { limit: 9, ..HistoryFilter::default() }).await;
    let kinds: Vec<String> = history.expect("reads").into_iter().map(|entry| entry.kind).collect();
    assert_eq!(kinds[..4], ["ssh-connected", "ssh-switched", "ssh-switched", "ssh-switched"]);
    // An instance knows what happened to it, and nothing of another that had its name before.
    let of = async |name: &str, since: Timestamp| {
        let filter = HistoryFilter { instance: Some((name.into(), since)), limit: 9, ..HistoryFilter::default() };
        store.history(&person.workspace, &filter).await.expect("reads").len()
    };
    assert_eq!(of("desk", NOW).await, 4, "on, on for another, off, and one connection");
    assert_eq!((of("desk", Timestamp(NOW.0 + 1)).await, of("des", NOW).await), (0, 0));
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
    a_key_is_found_until_it_is_removed_and_known_after
    there_are_at_most_twenty
    a_switch_belongs_to_the_owner_who_turned_it
}
