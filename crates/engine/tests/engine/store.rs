//! The store's claims, each proved on SQLite and on PostgreSQL.

use atelier_domain::access::Role;
use atelier_domain::account::{AccountState, AccountVerb, Refusal, Theme};
use atelier_domain::history::{Actor, Event, Topic};
use atelier_domain::{SessionKey, Timestamp, UserId, WorkspaceId, throttle};
use atelier_engine::clock;
use atelier_engine::live::Cut;
use atelier_engine::store::{
    Author, Error, FirstAccount, HistoryFilter, Kind, Missing, NewAccount, OpenError, PeopleFilter, PeopleOrder,
    Person, Store, WebSession, WebSessionInfo, Workspace,
};

/// A store on a database of its own; the folder lives as long as the test.
struct Fixture {
    store: Store,
    address: String,
    _folder: tempfile::TempDir,
}

async fn open(kind: Kind) -> Fixture {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let address = match kind {
        Kind::Sqlite => format!("sqlite://{}?mode=rwc", folder.path().join("atelier.db").display()),
        Kind::Postgres => atelier_testing::postgres::shared().expect("PostgreSQL starts").create_database(),
    };
    let store = Store::open(&address, Missing::Make).await.expect("opens");
    Fixture { store, address, _folder: folder }
}

/// Runs one claim on both databases, as two tests.
macro_rules! on_both {
    ($(async fn $name:ident($fixture:ident: Fixture) $body:block)*) => { $(
        mod $name {
            use super::*;
            async fn claim($fixture: Fixture) $body
            #[tokio::test]
            async fn on_sqlite() { claim(open(Kind::Sqlite).await).await }
            #[tokio::test]
            async fn on_postgres() { claim(open(Kind::Postgres).await).await }
        }
    )* };
}

fn author() -> Author {
    Author { actor: Actor::Console, request: "test".into(), why: Some("because".into()) }
}

fn first() -> FirstAccount {
    FirstAccount {
        workspace: "Perception".into(),
        name: "Ines Okafor".into(),
        email: "ines@example.org".into(),
        password_hash: "hash".into(),
        time_zone: "UTC".into(),
    }
}

async fn set_up(store: &Store) -> (Workspace, UserId) {
    store.set_up(&first(), &author()).await.expect("works").expect("the first")
}

async fn add(store: &Store, workspace: &WorkspaceId, name: &str, roles: &[Role], at: Timestamp) -> UserId {
    add_with_email(store, workspace, name, &name.to_lowercase().replace(' ', "."), roles, at).await
}

async fn add_with_email(
    store: &Store,
    workspace: &WorkspaceId,
    name: &str,
    local: &str,
    roles: &[Role],
    at: Timestamp,
) -> UserId {
    let mut tx = store.begin(at).await.expect("begins");
    let new = NewAccount {
        workspace: workspace.clone(),
        email: format!("{local}@example.org"),
        name: name.into(),
        password_hash: "hash".into(),
        must_change_password: true,
        time_zone: "Europe/Berlin".into(),
        theme: Theme::Dark,
        roles: roles.to_vec(),
    };
    let id = tx.insert_account(&new).await.expect("inserts");
    tx.commit().await.expect("commits");
    id
}

async fn person(store: &Store, id: &UserId) -> Person {
    store.person(id).await.expect("reads").expect("exists")
}

fn session(user: &UserId, workspace: &WorkspaceId, key: &str) -> WebSession {
    let info = WebSessionInfo {
        key: SessionKey::new(key),
        workspace: workspace.clone(),
        user: user.clone(),
        device: "Chrome on Linux".into(),
        address: "192.0.2.1".into(),
        created_at: Timestamp(1_000),
        seen_at: Timestamp(2_000),
        ends_at: Timestamp(9_000),
    };
    WebSession { info, data: "{}".into() }
}

on_both! {
    async fn only_the_first_set_up_counts(it: Fixture) {
        assert!(!it.store.has_people().await.expect("reads"));
        let (workspace, id) = set_up(&it.store).await;
        assert_eq!((workspace.slug.as_str(), workspace.name.as_str()), ("perception", "Perception"));
        assert!(it.store.has_people().await.expect("reads"));
        assert!(it.store.set_up(&first(), &author()).await.expect("works").is_none());
        let owner = person(&it.store, &id).await;
        assert_eq!(owner.roles, [Role::Owner]);
        assert_eq!(owner.state, AccountState::Active);
        assert_eq!(it.store.workspaces().await.expect("reads"), [workspace]);
    }

    async fn an_address_has_one_account(it: Fixture) {
        let (workspace, _) = set_up(&it.store).await;
        add(&it.store, &workspace.id, "Mara", &[Role::Reader], Timestamp(1)).await;
        let mut tx = it.store.begin(Timestamp(2)).await.expect("begins");
        let again = NewAccount {
            workspace: workspace.id.clone(),
            email: "mara@example.org".into(),
            name: "Other".into(),
            password_hash: "h".into(),
            must_change_password: false,
            time_zone: "UTC".into(),
            theme: Theme::System,
            roles: vec![Role::Reader],
        };
        assert!(matches!(tx.insert_account(&again).await, Err(Error::Taken(_))));
        drop(tx);
        // The refused change left nothing behind, and the writer is free again.
        add(&it.store, &workspace.id, "Noor", &[Role::Reader], Timestamp(3)).await;
        assert_eq!(it.store.count_people(&workspace.id, &PeopleFilter::default()).await.expect("counts"), 3);
    }

    async fn pages_of_people_hold_everybody_once(it: Fixture) {
        let (workspace, _) = set_up(&it.store).await;
        for i in 0..25i64 {
            // Three people share each name and each day: the id decides then.
            let name = format!("Person {:02}", i / 3);
            add_with_email(&it.store, &workspace.id, &name, &format!("person{i}"), &[Role::Reader], Timestamp(i / 3))
                .await;
        }
        for order in [PeopleOrder::Name, PeopleOrder::Seen, PeopleOrder::Created] {
            for descending in [false, true] {
                let mut seen: Vec<UserId> = Vec::new();
                let mut after = None;
                loop {
                    let filter =
                        PeopleFilter { order, descending, after: after.clone(), limit: 7, ..PeopleFilter::default() };
                    let page = it.store.list_people(&workspace.id, &filter).await.expect("lists");
                    let Some(last) = page.last() else { break };
                    let value = match order {
                        PeopleOrder::Name => last.name.to_lowercase(),
                        PeopleOrder::Seen => last.seen_at.map_or(0, |at| at.0).to_string(),
                        PeopleOrder::Created => last.created_at.0.to_string(),
                    };
                    after = Some((value, last.id.as_str().to_owned()));
                    seen.extend(page.into_iter().map(|person| person.id));
                }
                assert_eq!(seen.len(), 26, "{order:?} {descending}");
                seen.sort();
                seen.dedup();
                assert_eq!(seen.len(), 26, "{order:?} {descending}");
            }
        }
    }

    async fn filters_find_by_part_role_and_state(it: Fixture) {
        let (workspace, owner) = set_up(&it.store).await;
        let mara = add(
            &it.store,
            &workspace.id,
            "Mara Lindqvist",
            &[Role::DataScientist, Role::ComputeOperator],
            Timestamp(1),
        )
        .await;
        add(&it.store, &workspace.id, "100% Percent", &[Role::Reader], Timestamp(2)).await;
        let find = async |filter: PeopleFilter| -> Vec<String> {
            let filter = PeopleFilter { limit: 50, ..filter };
            let names: Vec<String> = it
                .store
                .list_people(&workspace.id, &filter)
                .await
                .expect("lists")
                .into_iter()
                .map(|p| p.name)
                .collect();
            assert_eq!(names.len() as u64, it.store.count_people(&workspace.id, &filter).await.expect("counts"));
            names
        };
        assert_eq!(find(PeopleFilter { part: "LIND".into(), ..Default::default() }).await, ["Mara Lindqvist"]);
        assert_eq!(find(PeopleFilter { part: "ines@".into(), ..Default::default() }).await, ["Ines Okafor"]);
        assert_eq!(find(PeopleFilter { part: "0%".into(), ..Default::default() }).await, ["100% Percent"]);
        assert_eq!(find(PeopleFilter { part: "_".into(), ..Default::default() }).await, Vec::<String>::new());
        assert_eq!(
            find(PeopleFilter { part: "'; drop table users; --".into(), ..Default::default() }).await,
            Vec::<String>::new()
        );
        assert_eq!(
            find(PeopleFilter { role: Some(Role::ComputeOperator), ..Default::default() }).await,
            ["Mara Lindqvist"]
        );
        assert_eq!(
            find(PeopleFilter { state: Some(AccountState::Active), ..Default::default() }).await,
            ["Ines Okafor"]
        );
        assert_eq!(find(PeopleFilter { state: Some(AccountState::Waiting), ..Default::default() }).await.len(), 2);
        assert_eq!(person(&it.store, &mara).await.roles, [Role::DataScientist, Role::ComputeOperator]);
        let both = it.store.people_by_id(&[owner.clone(), UserId::new("nobody"), mara.clone()]).await.expect("reads");
        assert_eq!(both.iter().map(|p| &p.id).collect::<Vec<_>>(), [&owner, &mara]);
        assert_eq!(
            it.store.role_counts(&workspace.id).await.expect("counts"),
            [
                (Role::Reader, 1),
                (Role::DataScientist, 1),
                (Role::ComputeOperator, 1),
                (Role::Contributor, 0),
                (Role::Owner, 1)
            ]
        );
    }

    async fn disabling_ends_sessions_in_the_same_change(it: Fixture) {
        let (workspace, _) = set_up(&it.store).await;
        let mara = add(&it.store, &workspace.id, "Mara", &[Role::Reader], Timestamp(1)).await;
        assert!(it.store.create_web_session(&session(&mara, &workspace.id, "a"), 0).await.expect("saves"));
        assert!(it.store.create_web_session(&session(&mara, &workspace.id, "b"), 0).await.expect("saves"));
        let before = person(&it.store, &mara).await;
        let mut tx = it.store.begin(clock::now()).await.expect("begins");
        assert_eq!(
            tx.change_account(AccountVerb::Disable, &before, None, &author()).await.expect("works"),
            Ok(Cut::Person(mara.clone()))
        );
        tx.commit().await.expect("commits");
        assert_eq!(person(&it.store, &mara).await.state, AccountState::Disabled);
        assert_eq!(it.store.web_sessions_of(&mara).await.expect("reads"), []);
        // A sign-in that was under way comes too late.
        assert!(!it.store.create_web_session(&session(&mara, &workspace.id, "c"), 1).await.expect("answers"));
        let told =
            it.store.history(&workspace.id, &HistoryFilter { limit: 1, ..Default::default() }).await.expect("reads");
        assert_eq!(told[0].sentence, "disabled Mara and ended 2 sessions");
        assert_eq!(told[0].why.as_deref(), Some("because"));
    }

    async fn a_change_that_is_dropped_never_happened(it: Fixture) {
        let (workspace, _) = set_up(&it.store).await;
        let mara = add(&it.store, &workspace.id, "Mara", &[Role::Reader], Timestamp(1)).await;
        it.store.create_web_session(&session(&mara, &workspace.id, "a"), 0).await.expect("saves");
        let before = it.store.live().newest();
        let mut tx = it.store.begin(clock::now()).await.expect("begins");
        let unchanged = person(&it.store, &mara).await;
        tx.change_account(AccountVerb::Disable, &unchanged, None, &author()).await.expect("works").expect("allowed");
        drop(tx);
        assert_eq!(person(&it.store, &mara).await, unchanged);
        assert_eq!(it.store.web_sessions_of(&mara).await.expect("reads").len(), 1);
        assert_eq!(it.store.live().newest(), before);
        let mut tx = it.store.begin(clock::now()).await.expect("the writer is free");
        tx.read_notices(&mara).await.expect("works");
        assert_eq!(tx.commit().await.expect("commits"), before + 1);
    }

    async fn the_last_owner_stays_also_when_two_are_asked_to_go_at_once(it: Fixture) {
        let (workspace, ines) = set_up(&it.store).await;
        let mara = add(&it.store, &workspace.id, "Mara", &[Role::Owner], Timestamp(1)).await;
        let one = async {
            let mut tx = it.store.begin(clock::now()).await.expect("begins");
            let who = tx.person(&ines).await.expect("reads").expect("exists");
            let answer = tx.change_account(AccountVerb::Disable, &who, None, &author()).await.expect("works");
            tx.commit().await.expect("commits");
            answer
        };
        let two = async {
            let mut tx = it.store.begin(clock::now()).await.expect("begins");
            let who = tx.person(&mara).await.expect("reads").expect("exists");
            let answer = tx.set_roles(&who, &[Role::Reader], &author()).await.expect("works");
            tx.commit().await.expect("commits");
            answer
        };
        let (one, two) = tokio::join!(one, two);
        let refused = [one.err(), two.err()].into_iter().flatten().collect::<Vec<_>>();
        assert_eq!(refused, [Refusal::LastOwner]);
        assert_eq!(it.store.count_owners(&workspace.id).await.expect("counts"), 1);
    }

    async fn history_is_told_newest_first_and_page_by_page(it: Fixture) {
        let (workspace, ines) = set_up(&it.store).await;
        for i in 0..5 {
            let mut tx = it.store.begin(Timestamp(i)).await.expect("begins");
            for part in 0..2 {
                let event = Event::SignedIn { address: format!("192.0.2.{i}{part}") };
                let actor = Actor::Person { id: ines.clone(), name: "Ines Okafor".into() };
                tx.record(&workspace.id, &Author { actor, request: "r".into(), why: None }, None, &event)
                    .await
                    .expect("records");
            }
            tx.commit().await.expect("commits");
        }
        let mut sentences = Vec::new();
        let mut before = None;
        loop {
            let filter = HistoryFilter { before, limit: 3, ..Default::default() };
            let page = it.store.history(&workspace.id, &filter).await.expect("reads");
            let Some(last) = page.last() else { break };
            before = Some((last.revision, last.ordinal));
            sentences.extend(page.into_iter().map(|entry| entry.sentence));
        }
        assert_eq!(sentences.len(), 11);
        assert_eq!(sentences[0], "signed in from 192.0.2.41");
        assert_eq!(sentences[10], "set up this server with the workspace Perception");
        let found = it
            .store
            .history(&workspace.id, &HistoryFilter { part: "192.0.2.3".into(), limit: 10, ..Default::default() })
            .await
            .expect("reads");
        assert_eq!(found.len(), 2);
        let own = it
            .store
            .history(
                &workspace.id,
                &HistoryFilter { about: Some(UserId::new("nobody")), limit: 10, ..Default::default() },
            )
            .await
            .expect("reads");
        assert_eq!(own, []);
    }

    async fn every_change_is_announced_after_it_is_durable(it: Fixture) {
        let (workspace, _) = set_up(&it.store).await;
        let since = it.store.live().newest();
        let mut watch = it.store.live().watch();
        let mara = add(&it.store, &workspace.id, "Mara", &[Role::Reader], Timestamp(1)).await;
        watch.changed().await.expect("told");
        // An account without an event is no news for anybody's page.
        assert_eq!(it.store.live().changed_since(since, &[Topic::People]), []);
        let who = person(&it.store, &mara).await;
        let mut tx = it.store.begin(clock::now()).await.expect("begins");
        tx.set_roles(&who, &[Role::Owner], &author()).await.expect("works").expect("allowed");
        let revision = tx.commit().await.expect("commits");
        assert_eq!(it.store.live().changed_since(since, &[Topic::People]), [Topic::People]);
        assert_eq!(it.store.live().newest(), revision);
    }

    async fn failures_are_counted_together_and_forgotten(it: Fixture) {
        let now = Timestamp(1_000_000);
        let subjects =
            [("account:a@b.c".to_owned(), throttle::ACCOUNT), ("address:192.0.2.1".to_owned(), throttle::ADDRESS)];
        // Ten at once: none is lost.
        let store = std::sync::Arc::new(it.store);
        let mut tries = tokio::task::JoinSet::new();
        for _ in 0..10 {
            let (store, subjects) = (store.clone(), subjects.clone());
            tries.spawn(async move { store.add_failure(&subjects, now).await.expect("counts").len() });
        }
        assert_eq!(tries.join_all().await, [2; 10]);
        assert_eq!(store.failures("account:a@b.c").await.expect("reads").failures, 10);
        store.clear_failures("account:a@b.c").await.expect("clears");
        assert_eq!(store.failures("account:a@b.c").await.expect("reads").failures, 0);
        store.drop_old_failures(Timestamp(1_000_001)).await.expect("drops");
        assert_eq!(store.failures("address:192.0.2.1").await.expect("reads").failures, 0);
    }

    async fn sessions_are_kept_renewed_and_removed(it: Fixture) {
        let (workspace, ines) = set_up(&it.store).await;
        let mut stored = session(&ines, &workspace.id, "a");
        assert!(it.store.create_web_session(&stored, 0).await.expect("creates"));
        stored.data = "{\"k\":1}".into();
        assert!(it.store.save_web_session(&SessionKey::new("a"), &stored.data).await.expect("saves"));
        assert!(!it.store.save_web_session(&SessionKey::new("gone"), "{}").await.expect("answers"));
        assert_eq!(it.store.web_session(&SessionKey::new("a")).await.expect("reads"), Some(stored.clone()));
        it.store.flush_seen(&[(ines.as_str(), Timestamp(5_000))], &[("a", Timestamp(5_000))]).await.expect("flushes");
        // An older time never wins.
        it.store.flush_seen(&[(ines.as_str(), Timestamp(4_000))], &[("a", Timestamp(4_000))]).await.expect("flushes");
        assert_eq!(person(&it.store, &ines).await.seen_at, Some(Timestamp(5_000)));
        assert_eq!(it.store.web_sessions_of(&ines).await.expect("reads")[0].seen_at, Timestamp(5_000));
        assert_eq!(it.store.delete_ended_web_sessions(Timestamp(8_999), Timestamp(4_999)).await.expect("deletes"), 0);
        assert_eq!(it.store.delete_ended_web_sessions(Timestamp(9_000), Timestamp(0)).await.expect("deletes"), 1);
        assert_eq!(it.store.web_session(&SessionKey::new("a")).await.expect("reads"), None);
    }

    async fn a_sign_in_that_began_before_the_sessions_were_ended_comes_too_late(it: Fixture) {
        let (workspace, ines) = set_up(&it.store).await;
        let account = it.store.account_by_email("ines@example.org").await.expect("reads").expect("exists");
        let mut tx = it.store.begin(clock::now()).await.expect("begins");
        tx.end_sessions(&ines, None).await.expect("ends");
        tx.commit().await.expect("commits");
        assert!(
            !it.store
                .create_web_session(&session(&ines, &workspace.id, "late"), account.session_epoch)
                .await
                .expect("answers")
        );
        let now = it.store.account_by_email("ines@example.org").await.expect("reads").expect("exists");
        assert!(
            it.store
                .create_web_session(&session(&ines, &workspace.id, "new"), now.session_epoch)
                .await
                .expect("creates")
        );
    }

    async fn a_password_that_was_reset_meanwhile_is_not_replaced(it: Fixture) {
        let (_, ines) = set_up(&it.store).await;
        let mut tx = it.store.begin(clock::now()).await.expect("begins");
        assert!(tx.replace_password(&ines, "hash", "reset").await.expect("works"));
        assert!(!tx.replace_password(&ines, "hash", "mine").await.expect("works"));
        tx.commit().await.expect("commits");
        let account = it.store.account_by_email("ines@example.org").await.expect("reads").expect("exists");
        assert_eq!(account.password_hash, "reset");
    }

    async fn failures_of_an_account_are_forgotten_wherever_they_came_from(it: Fixture) {
        let now = Timestamp(1_000_000);
        let subjects = ["account:a_b@c.d", "account:a_b@c.d|address:192.0.2.1", "account:axb@c.d|address:192.0.2.1"];
        for subject in subjects {
            it.store.add_failure(&[(subject.to_owned(), throttle::ACCOUNT)], now).await.expect("counts");
        }
        let mut tx = it.store.begin(now).await.expect("begins");
        tx.forget_failures("a_b@c.d").await.expect("forgets");
        tx.commit().await.expect("commits");
        let mut left = Vec::new();
        for subject in subjects {
            left.push(it.store.failures(subject).await.expect("reads").failures);
        }
        assert_eq!(left, [0, 0, 1]);
    }

    async fn opening_again_goes_on_where_it_stopped(it: Fixture) {
        let (workspace, _) = set_up(&it.store).await;
        add(&it.store, &workspace.id, "Mara", &[Role::Reader], Timestamp(1)).await;
        let revision = it.store.live().newest();
        it.store.close().await;
        let again = Store::open(&it.address, Missing::Make).await.expect("opens");
        assert_eq!(again.live().newest(), revision);
        assert_eq!(again.count_people(&workspace.id, &PeopleFilter::default()).await.expect("counts"), 2);
    }

    async fn a_newer_database_is_refused_and_left_alone(it: Fixture) {
        set_up(&it.store).await;
        it.store.close().await;
        sqlx::any::install_default_drivers();
        let pool = sqlx::AnyPool::connect(&it.address).await.expect("connects");
        let insert = match it.store.kind() {
            Kind::Sqlite => {
                "insert into _sqlx_migrations (version, description, success, checksum, execution_time) \
                 values (9999, 'future', 1, x'00', 0)"
            }
            Kind::Postgres => {
                "insert into _sqlx_migrations (version, description, success, checksum, execution_time) \
                 values (9999, 'future', true, '\\x00', 0)"
            }
        };
        sqlx::query(insert).execute(&pool).await.expect("inserts");
        let before: i64 =
            sqlx::query_scalar("select revision from installation").fetch_one(&pool).await.expect("reads");
        let refused = Store::open(&it.address, Missing::Make).await;
        assert!(matches!(refused, Err(OpenError::Newer { found: 9999, .. })), "{refused:?}");
        let after: i64 = sqlx::query_scalar("select revision from installation").fetch_one(&pool).await.expect("reads");
        assert_eq!(before, after);
        pool.close().await;
    }
}

#[tokio::test]
async fn a_database_that_cannot_be_written_is_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("atelier.db");
    Store::open_sqlite(&file, Missing::Make).await.expect("opens").close().await;
    let missing = folder.path().join("missing.db");
    assert!(matches!(Store::open_sqlite(&missing, Missing::Refuse).await, Err(OpenError::Missing)));
    assert!(!missing.exists());
    let refused = Store::open(&format!("sqlite://{}?mode=ro", file.display()), Missing::Make).await;
    assert!(matches!(refused, Err(OpenError::ReadOnly { .. } | OpenError::Connect { .. })), "{refused:?}");
    assert!(matches!(Store::open("mysql://x", Missing::Make).await, Err(OpenError::UnknownKind)));
    let nowhere = Store::open_sqlite(&folder.path().join("no/such/folder/a.db"), Missing::Make).await;
    assert!(matches!(nowhere, Err(OpenError::Connect { .. })), "{nowhere:?}");
}

#[tokio::test]
async fn a_path_with_special_characters_is_a_path() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("ä ?#%20.db");
    Store::open_sqlite(&file, Missing::Make).await.expect("opens").close().await;
    assert!(file.exists());
}
