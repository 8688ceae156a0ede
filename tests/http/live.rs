use atelier_domain::access::Role;
use atelier_testing::PATIENCE;
use axum::body::{Body, BodyDataStream};
use axum::http::{Request, StatusCode};
use futures::StreamExt as _;

use crate::client::{Browser, Server};

/// Reads a stream until `part` was in it.
async fn read_until(stream: &mut BodyDataStream, part: &str) -> String {
    let mut text = String::new();
    let reading = async {
        while !text.contains(part) {
            match stream.next().await {
                Some(chunk) => text.push_str(&String::from_utf8_lossy(&chunk.expect("a chunk"))),
                None => break,
            }
        }
    };
    tokio::time::timeout(PATIENCE, reading).await.expect("the stream goes on");
    assert!(text.contains(part), "the stream ended without {part:?}: {text}");
    text
}

async fn open(browser: &mut Browser, query: &str) -> BodyDataStream {
    let request = Request::get(format!("/w/perception/events?{query}")).header("accept", "text/event-stream");
    let response = browser.raw(request.body(Body::empty()).expect("a request")).await;
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    response.into_body().into_data_stream()
}

#[tokio::test]
async fn a_change_reaches_a_live_page_with_its_topic() {
    let server = Server::set_up().await;
    let mut owner = server.owner().await;
    let mut stream = open(&mut owner, "topics=people").await;
    read_until(&mut stream, "hello").await;
    owner
        .post(
            "/w/perception/admin/people/new",
            "create_person",
            &[("name", "Mara"), ("email", "m@example.org"), ("roles[]", "reader")],
        )
        .await;
    let text = read_until(&mut stream, "\n\n").await;
    assert!(text.contains("event: revision") && text.contains("\"people\""), "{text}");
}

#[tokio::test]
async fn a_page_that_was_away_is_told_what_it_missed_and_only_then() {
    let server = Server::set_up().await;
    let mut owner = server.owner().await;
    let since = server.state.live().newest();
    owner
        .post(
            "/w/perception/admin/people/new",
            "create_person",
            &[("name", "Mara"), ("email", "m@example.org"), ("roles[]", "reader")],
        )
        .await;
    let newest = server.state.live().newest();
    let mut stream = open(&mut owner, &format!("topics=people&since={since}")).await;
    read_until(&mut stream, &format!("id: {newest}")).await;
    // Up to date: nothing but the greeting until something happens.
    let mut stream = open(&mut owner, &format!("topics=people&since={newest}")).await;
    let greeting = read_until(&mut stream, "hello").await;
    assert!(!greeting.contains("event: revision"), "{greeting}");
}

#[tokio::test]
async fn disabling_cuts_open_streams_at_once() {
    let server = Server::set_up().await;
    let id = server.add("Mara", &[Role::Reader]).await;
    let mut mara = server.signed_in("mara@example.org").await;
    let mut stream = open(&mut mara, "topics=people").await;
    read_until(&mut stream, "hello").await;
    let mut owner = server.owner().await;
    owner.post("/w/perception/admin/people", "change_accounts", &[("verb", "disable"), ("ids[]", &id)]).await;
    read_until(&mut stream, "event: bye\ndata: signed-out").await;
    assert!(stream.next().await.is_none(), "the stream has ended");
    let request = Request::get("/w/perception/events?topics=people").header("accept", "text/event-stream");
    assert_eq!(mara.raw(request.body(Body::empty()).expect("a request")).await.status(), StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn an_unknown_topic_is_not_told_of_and_a_foreign_workspace_has_no_stream() {
    let server = Server::set_up().await;
    let mut owner = server.owner().await;
    let mut stream = open(&mut owner, "topics=secrets,history").await;
    read_until(&mut stream, "hello").await;
    owner.post("/profile", "update_profile", &[("name", "Ines"), ("time_zone", "UTC")]).await;
    let text = read_until(&mut stream, "\n\n").await;
    assert!(text.contains("[\"history\"]"), "{text}");
    let request = Request::get("/w/other/events?topics=people").header("accept", "text/event-stream");
    assert_eq!(owner.raw(request.body(Body::empty()).expect("a request")).await.status(), StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn one_session_holds_a_bounded_number_of_streams() {
    let server = Server::set_up().await;
    let mut owner = server.owner().await;
    let mut open_ones = Vec::new();
    for _ in 0..16 {
        open_ones.push(open(&mut owner, "topics=people").await);
    }
    let request = || Request::get("/w/perception/events?topics=people").body(Body::empty()).expect("a request");
    assert_eq!(owner.raw(request()).await.status(), StatusCode::TOO_MANY_REQUESTS);
    drop(open_ones);
    tokio::time::timeout(PATIENCE, async {
        while owner.raw(request()).await.status() != StatusCode::OK {
            tokio::task::yield_now().await;
        }
    })
    .await
    .expect("a place is free again");
}

#[tokio::test]
async fn a_refresh_keeps_what_is_shown_once_for_the_person() {
    let server = Server::set_up().await;
    let mut owner = server.owner().await;
    owner.post("/profile", "update_profile", &[("name", "Ines"), ("time_zone", "UTC")]).await;
    let request = Request::get("/profile").header("accept", "text/html").header("x-atelier-refresh", "1");
    owner.send(request.body(Body::empty()).expect("a request")).await.hides("Your profile is saved");
    owner.get("/profile").await.shows("Your profile is saved");
}
