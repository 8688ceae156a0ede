//! What is remembered between requests is never what somebody sees after a change.

use std::time::Duration;

use atelier_domain::UserId;
use atelier_domain::access::Role;
use atelier_domain::account::AccountVerb;
use atelier_domain::history::Actor;
use atelier_engine::clock;
use atelier_engine::store::{Author, Missing, Store};
use axum::http::StatusCode;

use crate::client::{Browser, Server};
use crate::clusters::{NEW as NEW_CLUSTER, cluster, with_sizes};

const HOME: &str = "/w/perception";
const PEOPLE: &str = "/w/perception/admin/people";
const NEW_PERSON: &str = "/w/perception/admin/people/new";

/// Disables an account as `atelier user disable` or a second server on the same database does.
async fn disable_elsewhere(server: &Server, id: &str) {
    let file = server.state.config().data.join("atelier.db");
    let elsewhere = Store::open_sqlite(&file, Missing::Refuse).await.expect("opens");
    let mut tx = elsewhere.begin(clock::now()).await.expect("begins");
    let person = tx.person(&UserId::new(id)).await.expect("reads").expect("exists");
    let author = Author { actor: Actor::Console, request: String::new(), why: None };
    tx.change_account(AccountVerb::Disable, &person, None, &author).await.expect("works").expect("is allowed");
    tx.commit().await.expect("commits");
    elsewhere.close().await;
}

async fn is_shut_out(browser: &mut Browser) -> bool {
    browser.get(HOME).await.location().starts_with("/sign-in")
}

#[tokio::test]
async fn roles_count_from_the_next_request_on() {
    let server = Server::set_up().await;
    let id = server.add("Mara", &[Role::Reader]).await;
    let (mut owner, mut mara) = (server.owner().await, server.signed_in("mara@example.org").await);
    let page = format!("{PEOPLE}/{id}");
    for (role, status) in [("owner", StatusCode::OK), ("reader", StatusCode::FORBIDDEN), ("owner", StatusCode::OK)] {
        owner.post(&page, "set_roles", &[("user", &id), ("roles[]", role)]).await;
        assert_eq!(mara.get(NEW_PERSON).await.status, status, "as {role}");
    }
}

#[tokio::test]
async fn what_another_process_changes_is_seen_with_the_next_revision() {
    let server = Server::set_up().await;
    let id = server.add("Mara", &[Role::Reader]).await;
    let mut mara = server.signed_in("mara@example.org").await;
    assert!(!is_shut_out(&mut mara).await);
    disable_elsewhere(&server, &id).await;
    // Any change of ours: its number shows that one is missing before it.
    server.add("Noor", &[Role::Reader]).await;
    assert!(is_shut_out(&mut mara).await);
}

#[tokio::test]
async fn what_another_process_changes_is_seen_soon_where_nothing_else_happens() {
    let server = Server::set_up().await;
    let id = server.add("Mara", &[Role::Reader]).await;
    let mut mara = server.signed_in("mara@example.org").await;
    assert!(!is_shut_out(&mut mara).await);
    disable_elsewhere(&server, &id).await;
    let soon = async {
        while !is_shut_out(&mut mara).await {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), soon).await.expect("it is read again");
}

#[tokio::test]
async fn the_bell_rings_and_falls_silent_at_once() {
    let server = Server::set_up().await;
    let id = server.add("Mara", &[Role::Reader]).await;
    let (mut owner, mut mara) = (server.owner().await, server.signed_in("mara@example.org").await);
    mara.get(HOME).await.shows("Notifications, none unread");
    owner.post(&format!("{PEOPLE}/{id}"), "set_roles", &[("user", &id), ("roles[]", "contributor")]).await;
    mara.get(HOME).await.shows("Notifications, 1 unread");
    mara.post(HOME, "read_notices", &[]).await;
    mara.get(HOME).await.shows("Notifications, none unread");
    owner.get(HOME).await.shows("Notifications, none unread");
}

#[tokio::test]
async fn home_counts_what_has_just_come() {
    let server = Server::set_up().await;
    let mut owner = server.owner().await;
    owner.get(HOME).await.shows("has no computes yet").shows("You are alone here so far");
    server.add("Mara", &[Role::Reader]).await;
    owner.get(HOME).await.shows("2 people are here");
    owner.get(PEOPLE).await.shows("2 people");
    let mut owner = with_sizes(&server).await;
    owner.submit(NEW_CLUSTER, "create_cluster", &cluster("train-pool", "0", "4")).await;
    owner.get(HOME).await.shows("has 1 cluster").shows("train-pool");
}

#[tokio::test]
async fn a_theme_counts_on_the_page_after_it() {
    let server = Server::set_up().await;
    let mut owner = server.owner().await;
    for theme in ["dark", "light"] {
        owner.post(HOME, "set_theme", &[("theme", theme)]).await;
        owner.get(HOME).await.shows(&format!("data-theme=\"{theme}\""));
    }
}
