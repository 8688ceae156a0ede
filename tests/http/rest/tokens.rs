//! Who is let in, and who is not any more.

use atelier_domain::access::Role;
use atelier_domain::account::AccountVerb;
use atelier_domain::history::Actor;
use atelier_domain::{UserId, WorkspaceId};
use atelier_engine::clock;
use atelier_engine::store::{Author, Missing, Store};
use axum::body::Body;
use axum::http::{Request, StatusCode, header};
use serde_json::json;

use super::{Api, make_token};
use crate::client::Server;

fn console() -> Author {
    Author { actor: Actor::Console, request: String::new(), why: None }
}

#[tokio::test]
async fn a_token_says_whose_it_is() {
    let server = Server::set_up().await;
    let api = Api::owner(&server).await;
    for path in ["", "/"] {
        let me = api.get(path).await.is(200);
        assert_eq!(me.json["person"]["email"], "ines@example.org");
        assert_eq!(me.json["person"]["roles"], json!(["owner"]));
        assert_eq!(me.json["workspace"]["slug"], "perception");
        assert_eq!(me.json["version"], env!("CARGO_PKG_VERSION"));
        assert_eq!(me.header("cache-control"), "private, no-store");
        assert_eq!(me.header("set-cookie"), "");
    }
}

#[tokio::test]
async fn without_a_valid_token_nothing_is_told() {
    let server = Server::set_up().await;
    let none = Api::with(&server, "").get("").await.refuses(401, "token.missing");
    assert_eq!(none.header("www-authenticate"), "Bearer realm=\"Atelier\"");
    let unknown = format!("atl_{}", "A".repeat(43));
    for token in ["nonsense", "atl_short", &unknown] {
        let answer = Api::with(&server, token).get("/jobs/job-1").await.refuses(401, "token.unknown");
        assert!(answer.header("www-authenticate").contains("invalid_token"));
    }
    let good = make_token(&server, "ines@example.org", 90).await;
    for value in [format!("Basic {good}"), good.clone(), "Bearer".into()] {
        let request = Request::get("/api/v1").header(header::AUTHORIZATION, value).body(Body::empty());
        Api::with(&server, "").raw(request.expect("a request")).await.refuses(401, "token.missing");
    }
    let request = Request::get("/api/v1").header(header::AUTHORIZATION, format!("bearer {good}")).body(Body::empty());
    Api::with(&server, "").raw(request.expect("a request")).await.is(200);
}

#[tokio::test]
async fn without_a_token_every_address_is_closed_to_every_method() {
    let server = Server::set_up().await;
    let paths = atelier::rest::paths();
    assert!(paths.len() >= 14, "{paths:?}");
    for path in paths {
        for method in ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] {
            let request =
                Request::builder().method(method).uri(path.replace("{name}", "pool").replace("{id}", "job-1"));
            let answer = Api::with(&server, "").raw(request.body(Body::empty()).expect("a request")).await;
            assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{method} {path}");
        }
    }
}

#[tokio::test]
async fn a_browser_session_is_not_looked_at() {
    let server = Server::set_up().await;
    let mut browser = server.owner().await;
    let page = browser.get("/api/v1").await;
    assert_eq!(page.status, StatusCode::UNAUTHORIZED);
    assert!(!page.text.contains("Ines"));
}

#[tokio::test]
async fn unknown_addresses_and_methods_are_problems_too() {
    let server = Server::set_up().await;
    let api = Api::owner(&server).await;
    api.get("/nothing").await.refuses(404, "not-found");
    api.get("/jobs/job-1/nothing").await.refuses(404, "not-found");
    api.post("/sizes", &json!({})).await.refuses(405, "no-such-method");
    api.get("?verbose=1").await.refuses(422, "invalid").problem("verbose");
    let request = Request::get("/api/v2/jobs").body(Body::empty()).expect("a request");
    Api::with(&server, "").raw(request).await.refuses(401, "token.missing");
}

#[tokio::test]
async fn a_revoked_token_works_no_more_at_once() {
    let server = Server::set_up().await;
    let mut browser = server.owner().await;
    let page = browser.submit("/profile", "create_token", &[("name", "night runs"), ("days", "7")]).await;
    page.shows("The token “night runs” was made. It works for 7 days.").shows("Shown only now").shows("never");
    let start = page.text.find("atl_").expect("the secret");
    let secret = page.text.get(start..start + 47).expect("a whole secret").to_owned();
    let again = browser.get("/profile").await;
    again.hides(&secret).shows("night runs");
    let api = Api::with(&server, &secret);
    api.get("").await.is(200);
    browser.get("/profile").await.hides(">never<");

    let start = again.text.find("name=\"token\" value=\"").expect("its id") + 20;
    let id: String = again.text[start..].chars().take_while(|c| *c != '"').collect();
    let page = browser.submit("/profile", "revoke_token", &[("token", &id)]).await;
    page.shows("was revoked and works no more");
    api.get("").await.refuses(401, "token.unknown");
    // Nor can it be revoked again, or by somebody else.
    browser.submit("/profile", "revoke_token", &[("token", &id)]).await.shows("There is no such token of yours");
}

#[tokio::test]
async fn nobody_revokes_a_token_of_another() {
    let server = Server::set_up().await;
    server.add("Noor", &[Role::Reader]).await;
    let api = Api::owner(&server).await;
    let owner = server.state.store().account_by_email("ines@example.org").await.expect("reads").expect("is there");
    let tokens = server.state.store().tokens_of(&owner.person.id).await.expect("reads");
    let mut noor = server.signed_in("noor@example.org").await;
    let answer = noor.call("revoke_token", &[("token", tokens[0].id.as_str())]).await;
    assert_eq!(answer.status, StatusCode::NOT_FOUND, "{}", answer.text);
    api.get("").await.is(200);
}

#[tokio::test]
async fn wrong_names_and_lives_come_back_beside_their_fields() {
    let server = Server::set_up().await;
    let mut browser = server.owner().await;
    let page = browser.submit("/profile", "create_token", &[("name", " "), ("days", "1000")]).await;
    page.shows("Give the token a name").shows("1 to 366 days, not for “1000”");
    for number in 0..50 {
        let name = format!("token {number}");
        let answer = browser.call("create_token", &[("name", &name)]).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
    }
    let answer = browser.call("create_token", &[("name", "one too many")]).await;
    assert_eq!(answer.status, StatusCode::CONFLICT);
    assert!(answer.text.contains("token.too-many"), "{}", answer.text);
}

#[tokio::test]
async fn disabling_a_person_and_taking_a_role_away_count_from_the_next_request_on() {
    let server = Server::set_up().await;
    let api = Api::role(&server, "Mara", Role::ComputeOperator).await;
    super::furnish(&server).await;
    api.post("/clusters", &json!({"name": "pool", "size": "cpu-2", "max": 1})).await.is(201);
    let store = server.state.store();
    let id = store.account_by_email("mara@example.org").await.expect("reads").expect("is there").person.id;

    set_roles(&server, &id, &[Role::Reader]).await;
    let refused = api.post("/clusters", &json!({"name": "other", "size": "cpu-2", "max": 1})).await;
    let refused = refused.refuses(403, "right.missing");
    assert!(
        refused.json["detail"].as_str().expect("a sentence").contains("Ines Okafor can grant it"),
        "{}",
        refused.text
    );
    assert_eq!(refused.problem("right"), "\"cluster.create\"");

    for (verb, status) in [(AccountVerb::Disable, 401), (AccountVerb::Enable, 200), (AccountVerb::ResetPassword, 403)] {
        let person = store.person(&id).await.expect("reads").expect("is there");
        let mut tx = store.begin(clock::now()).await.expect("begins");
        let _ = tx.change_account(verb, &person, Some("hash"), &console()).await.expect("works").expect("allowed");
        tx.commit().await.expect("commits");
        api.get("").await.is(status);
    }
    api.get("").await.refuses(403, "account.temporary-password");
}

async fn set_roles(server: &Server, id: &UserId, roles: &[Role]) {
    let store = server.state.store();
    let person = store.person(id).await.expect("reads").expect("is there");
    let mut tx = store.begin(clock::now()).await.expect("begins");
    tx.set_roles(&person, roles, &console()).await.expect("works").expect("allowed");
    tx.commit().await.expect("commits");
}

#[tokio::test]
async fn an_expired_token_says_so() {
    let server = Server::set_up().await;
    let store = server.state.store();
    let owner = store.account_by_email("ines@example.org").await.expect("reads").expect("is there").person;
    let (secret, hash) = atelier_studio::secret::fresh();
    let name = atelier_domain::token::TokenName::parse("last year").expect("a name");
    let life = atelier_domain::token::Lifetime::parse("1").expect("a life");
    let then = atelier_domain::Timestamp(clock::now().0 - 2 * 86_400_000);
    let mut tx = store.begin(then).await.expect("begins");
    tx.insert_token(&owner, &name, life, &hash, &console()).await.expect("works").expect("made");
    tx.commit().await.expect("commits");
    let answer = Api::with(&server, &secret).get("").await.refuses(401, "token.expired");
    assert!(answer.json["detail"].as_str().expect("a sentence").contains("“last year”"));
    server.owner().await.get("/profile").await.shows("expired, works no more");
}

#[tokio::test]
async fn what_another_process_changes_is_seen_soon() {
    let server = Server::set_up().await;
    let api = Api::owner(&server).await;
    api.get("").await.is(200);
    // Another process has a store of its own, so this server's hub hears nothing.
    let file = server.state.store().folder().expect("SQLite").join("atelier.db");
    let other = Store::open_sqlite(&file, Missing::Refuse).await.expect("opens");
    let owner = other.account_by_email("ines@example.org").await.expect("reads").expect("is there").person;
    let token = other.tokens_of(&owner.id).await.expect("reads").remove(0);
    let mut tx = other.begin(clock::now()).await.expect("begins");
    tx.revoke_token(&owner, &token.id, &console()).await.expect("works").expect("was there");
    tx.commit().await.expect("commits");
    let refused = async {
        while api.get("").await.status != 401 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(atelier_testing::PATIENCE, refused).await.expect("is seen soon");
    api.get("").await.refuses(401, "token.unknown");
    other.close().await;
}

#[tokio::test]
async fn last_uses_are_written_now_and_then() {
    let server = Server::set_up().await;
    let api = Api::owner(&server).await;
    let owner = server.state.store().account_by_email("ines@example.org").await.expect("reads").expect("is there");
    api.get("").await.is(200);
    let read = || async { server.state.store().tokens_of(&owner.person.id).await.expect("reads").remove(0).used_at };
    assert_eq!(read().await, None);
    server.state.tokens().flush(server.state.store(), clock::now()).await;
    assert!(read().await.is_some());
}

#[tokio::test]
async fn a_token_of_a_workspace_that_is_not_here_opens_nothing() {
    let server = Server::set_up().await;
    let store = server.state.store();
    let mut owner = store.account_by_email("ines@example.org").await.expect("reads").expect("is there").person;
    owner.workspace = WorkspaceId::new("workspace-elsewhere");
    let mut tx = store.begin(clock::now()).await.expect("begins");
    let (_, hash) = atelier_studio::secret::fresh();
    let name = atelier_domain::token::TokenName::parse("stray").expect("a name");
    let life = atelier_domain::token::Lifetime::default();
    // The history belongs to a workspace that exists, so such a token cannot even be made.
    assert!(tx.insert_token(&owner, &name, life, &hash, &console()).await.is_err());
}
