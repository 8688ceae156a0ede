//! Personal tokens in the store: proved on SQLite and on PostgreSQL.

use atelier_domain::account::AccountVerb;
use atelier_domain::history::Actor;
use atelier_domain::token::{Lifetime, MAX_TOKENS, Refusal, TokenName};
use atelier_domain::{Timestamp, TokenId};
use atelier_engine::store::{Author, FirstAccount, HistoryFilter, Kind, Missing, Person, Store};

const NOW: Timestamp = Timestamp(1_700_000_000_000);

fn console() -> Author {
    Author { actor: Actor::Console, request: String::new(), why: None }
}

fn name(text: &str) -> TokenName {
    TokenName::parse(text).expect("a name")
}

fn days(count: u32) -> Lifetime {
    Lifetime::parse(&count.to_string()).expect("a life")
}

async fn open(kind: Kind) -> (Store, Person, tempfile::TempDir) {
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
    let person = store.person(&id).await.expect("reads").expect("exists");
    (store, person, folder)
}

async fn make(store: &Store, person: &Person, called: &str, hash: &str, author: &Author) -> Result<TokenId, Refusal> {
    let mut tx = store.begin(NOW).await.expect("begins");
    let made = tx.insert_token(person, &name(called), days(90), hash, author).await.expect("works");
    if made.is_ok() {
        tx.commit().await.expect("commits");
    }
    made
}

async fn a_token_is_found_by_its_hash_and_gone_when_revoked(kind: Kind) {
    let (store, person, _folder) = open(kind).await;
    let own = Author { actor: Actor::Person { id: person.id.clone(), name: person.name.clone() }, ..console() };
    let id = make(&store, &person, "night runs", "hash-1", &own).await.expect("made");
    make(&store, &person, "laptop", "hash-2", &console()).await.expect("made");
    let (token, owner) = store.token_and_person("hash-1").await.expect("reads").expect("is there");
    assert_eq!((&token.id, token.name.as_str(), token.used_at), (&id, "night runs", None));
    assert_eq!(token.expires_at, Timestamp(NOW.0 + 90 * 86_400_000));
    assert_eq!(owner, person);
    assert_eq!(store.token_and_person("hash-3").await.expect("reads"), None);
    assert_eq!(store.tokens_of(&person.id).await.expect("reads").len(), 2);

    store.flush_token_uses(&[(id.as_str(), Timestamp(NOW.0 + 5))]).await.expect("writes");
    store.flush_token_uses(&[(id.as_str(), Timestamp(NOW.0 + 3))]).await.expect("writes");
    let (token, _) = store.token_and_person("hash-1").await.expect("reads").expect("is there");
    assert_eq!(token.used_at, Some(Timestamp(NOW.0 + 5)), "a late flush takes nothing back");

    let mut tx = store.begin(NOW).await.expect("begins");
    assert_eq!(tx.revoke_token(&person, &id, &own).await.expect("works").as_deref(), Some("night runs"));
    assert_eq!(tx.revoke_token(&person, &id, &own).await.expect("works"), None);
    tx.commit().await.expect("commits");
    assert_eq!(store.token_and_person("hash-1").await.expect("reads"), None);
    let history = store.history(&person.workspace, &HistoryFilter { limit: 3, ..HistoryFilter::default() }).await;
    let sentences: Vec<String> = history.expect("reads").into_iter().map(|entry| entry.sentence).collect();
    assert_eq!(
        sentences,
        [
            "revoked the API token “night runs”",
            "created the API token “laptop” of Ines Okafor, which works for 90 days",
            "created the API token “night runs”, which works for 90 days",
        ]
    );
    store.close().await;
}

async fn there_are_at_most_fifty_that_work_and_old_ones_are_dropped(kind: Kind) {
    let (store, person, _folder) = open(kind).await;
    let mut tx = store.begin(Timestamp(NOW.0 - 10 * 86_400_000)).await.expect("begins");
    tx.insert_token(&person, &name("old"), days(5), "old", &console()).await.expect("works").expect("made");
    tx.commit().await.expect("commits");
    for number in 0..MAX_TOKENS {
        make(&store, &person, "one of many", &format!("hash-{number}"), &console()).await.expect("made");
    }
    assert_eq!(make(&store, &person, "too much", "hash", &console()).await, Err(Refusal::TooMany));
    assert_eq!(store.drop_old_tokens(NOW).await.expect("drops"), 1);
    assert_eq!(store.tokens_of(&person.id).await.expect("reads").len(), MAX_TOKENS as usize);
    store.close().await;
}

async fn a_disabled_account_gets_none(kind: Kind) {
    let (store, person, _folder) = open(kind).await;
    let mut tx = store.begin(NOW).await.expect("begins");
    let refused = tx.change_account(AccountVerb::Disable, &person, None, &console()).await.expect("works");
    assert!(refused.is_err(), "the last Owner stays");
    drop(tx);
    let disabled = Person { state: atelier_domain::account::AccountState::Disabled, ..person };
    assert_eq!(make(&store, &disabled, "x", "hash", &console()).await, Err(Refusal::Disabled));
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
    a_token_is_found_by_its_hash_and_gone_when_revoked
    there_are_at_most_fifty_that_work_and_old_ones_are_dropped
    a_disabled_account_gets_none
}
