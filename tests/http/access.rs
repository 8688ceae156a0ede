use atelier_domain::access::{Action, Role};
use axum::http::StatusCode;

use crate::client::Server;

#[tokio::test]
async fn what_one_may_not_do_is_shown_disabled_with_the_missing_right_and_who_can_grant_it() {
    let server = Server::set_up().await;
    let id = server.add("Noor", &[Role::Reader]).await;
    let mut noor = server.signed_in("noor@example.org").await;
    let people = noor.get("/w/perception/admin/people").await;
    people
        .shows("Your role Reader does not include member.write")
        .shows("Ines Okafor can grant it")
        .shows("Add person");
    noor.get(&format!("/w/perception/admin/people/{id}")).await.shows("member.write");
    let refused = noor.get("/w/perception/admin/people/new").await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
    refused.shows("member.write").shows("Ines Okafor").shows(refused.header("x-request-id"));
}

#[tokio::test]
async fn the_matrix_shows_every_action_and_role() {
    let server = Server::set_up().await;
    let page = server.owner().await.get("/w/perception/admin/roles").await;
    for action in Action::ALL {
        page.shows(action.key());
    }
    for role in Role::ALL {
        page.shows(role.label());
    }
}

#[tokio::test]
async fn what_does_not_exist_helps_and_what_is_not_ones_own_does_not_exist() {
    let server = Server::set_up().await;
    let mut owner = server.owner().await;
    for path in [
        "/no/such/page",
        "/w/other-team",
        "/w/other-team/admin/people",
        "/w/perception/admin/people/user-nobody",
        "/w/perception/compute/toasters",
    ] {
        let page = owner.get(path).await;
        assert_eq!(page.status, StatusCode::NOT_FOUND, "{path}");
        page.shows(page.header("x-request-id")).shows("/w/perception");
    }
}

#[tokio::test]
async fn the_history_of_others_needs_the_right() {
    let server = Server::set_up().await;
    server.add("Noor", &[Role::Reader]).await;
    server.owner().await;
    let mut noor = server.signed_in("noor@example.org").await;
    let own = noor.get("/w/perception/activity").await;
    own.shows("signed in from 192.0.2.1").hides("set up this server");
    server.owner().await.get("/w/perception/activity").await.shows("set up this server");
}

#[tokio::test]
async fn search_finds_pages_and_people_that_one_may_see() {
    let server = Server::set_up().await;
    server.add("Noor", &[Role::Reader]).await;
    let mut owner = server.owner().await;
    owner.get("/w/perception/search?q=noor").await.shows("noor@example.org");
    owner.get("/w/perception/search?q=add+person").await.shows("/admin/people/new");
    owner.get("/w/perception/search?q=zzzzz").await.shows("zzzzz");
    let mut noor = server.signed_in("noor@example.org").await;
    noor.get("/w/perception/search?q=add+person").await.hides("/admin/people/new\"");
}

#[tokio::test]
async fn what_people_typed_is_text_everywhere_on_the_page() {
    let server = Server::set_up().await;
    let nasty = "</title></textarea><script>alert(1)</script><meta http-equiv=refresh>\"'&";
    let mut owner = server.owner().await;
    let query: String = url::form_urlencoded::Serializer::new(String::new()).append_pair("q", nasty).finish();
    for path in ["/w/perception/search", "/w/perception/admin/people", "/w/perception/activity"] {
        let page = owner.get(&format!("{path}?{query}")).await;
        assert_eq!(page.status, StatusCode::OK);
        page.hides("<script>alert").hides("<meta http-equiv").hides("</title></textarea>");
    }
    let id = server.add("x", &[Role::Reader]).await;
    let mut person = server.signed_in("x@example.org").await;
    person.post("/profile", "update_profile", &[("name", nasty), ("time_zone", "UTC")]).await;
    for path in [
        format!("/w/perception/admin/people/{id}"),
        "/w/perception/admin/people".into(),
        "/w/perception/activity".into(),
    ] {
        owner.get(&path).await.hides("<script>alert").hides("<meta http-equiv");
    }
    person
        .submit("/profile", "update_profile", &[("name", nasty), ("time_zone", nasty)])
        .await
        .hides("<script>alert")
        .hides("<meta http");
    let long = "%".repeat(5_000);
    assert_eq!(
        owner.get(&format!("/w/perception/admin/people?q={}", long.replace('%', "%25"))).await.status,
        StatusCode::OK
    );
    assert_eq!(owner.get("/w/perception/admin/people?q=%00").await.status, StatusCode::BAD_REQUEST);
    assert_eq!(owner.get("/fnord").await.status, StatusCode::NOT_FOUND);
}
