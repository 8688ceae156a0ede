//! What jobs print, over the API.

use atelier_domain::compute::JobId;
use atelier_engine::fleet::LogName;
use atelier_testing::PATIENCE;
use axum::body::Body;
use axum::http::{Request, header};
use futures::StreamExt as _;
use serde_json::json;

use super::{Api, make_token, placed, run, until_waiting, with_pool};
use crate::client::Server;

async fn with_job(server: &Server) -> (Api, LogName) {
    let api = with_pool(server, 1).await;
    api.post("/jobs", &json!({"command": ["echo", "one"], "cluster": "pool", "cores": 1})).await.is(201);
    assert_eq!(api.get("/jobs/job-1/log").await.is(200).text, "", "nothing was printed yet");
    let part = placed(server, JobId(1)).await;
    (api, LogName::from(part))
}

#[tokio::test]
async fn a_log_is_plain_text_from_anywhere_on() {
    let server = Server::set_up().await;
    let (api, name) = with_job(&server).await;
    let logs = server.state.fleet().logs();
    logs.keep(name, 0, b"one\ntwo\n").expect("kept");
    let log = api.get("/jobs/job-1/log").await.is(200);
    assert_eq!((log.text.as_str(), log.header("content-type")), ("one\ntwo\n", "text/plain; charset=utf-8"));
    assert_eq!(api.get("/jobs/job-1/log?from=4").await.is(200).text, "two\n");
    assert_eq!(api.get("/jobs/job-1/log?from=999").await.is(200).text, "");
    let path = format!("/jobs/job-1/log?attempt=1&node={}", name.node);
    assert_eq!(api.get(&path).await.is(200).text, "one\ntwo\n");
    api.get("/jobs/job-1/log?attempt=2").await.refuses(404, "not-found");
    for (query, field) in [
        ("attempt=x", "attempt"),
        ("node=7", "node"),
        ("from=-1", "from"),
        ("follow=yes", "follow"),
        ("tail=9", "tail"),
    ] {
        api.get(&format!("/jobs/job-1/log?{query}")).await.refuses(422, "invalid").problem(field);
    }
}

#[tokio::test]
async fn a_long_log_comes_whole() {
    let server = Server::set_up().await;
    let (api, name) = with_job(&server).await;
    let text = "0123456789abcdef".repeat(20_000);
    server.state.fleet().logs().keep(name, 0, text.as_bytes()).expect("kept");
    assert!(api.get("/jobs/job-1/log").await.is(200).text == text);
}

#[tokio::test]
async fn a_follower_hears_each_line_until_the_part_is_over() {
    let server = Server::set_up().await;
    let (_, name) = with_job(&server).await;
    let logs = server.state.fleet().logs().clone();
    logs.keep(name, 0, b"one\n").expect("kept");
    let token = make_token(&server, "ines@example.org", 1).await;
    let request = Request::get("/api/v1/jobs/job-1/log?follow=true")
        .header(header::AUTHORIZATION, format!("Bearer {token}"))
        .body(Body::empty())
        .expect("a request");
    let response = server.browser().raw(request).await;
    let mut pieces = response.into_body().into_data_stream();
    let mut next = async || {
        let piece = tokio::time::timeout(PATIENCE, pieces.next()).await.expect("in time");
        piece.map(|piece| String::from_utf8_lossy(&piece.expect("a piece")).into_owned())
    };
    assert_eq!(next().await.as_deref(), Some("one\n"));
    logs.keep(name, 4, b"two\n").expect("kept");
    assert_eq!(next().await.as_deref(), Some("two\n"));
    logs.keep(name, 8, b"last\n").expect("kept");
    logs.end(name);
    assert_eq!(next().await.as_deref(), Some("last\n"));
    assert_eq!(next().await, None);
}

#[tokio::test]
async fn a_follower_who_is_sent_away_hears_why() {
    let server = Server::set_up().await;
    let (_, name) = with_job(&server).await;
    server.state.fleet().logs().keep(name, 0, b"one\n").expect("kept");
    let token = make_token(&server, "ines@example.org", 1).await;
    let request = Request::get("/api/v1/jobs/job-1/log?follow=true")
        .header(header::AUTHORIZATION, format!("Bearer {token}"))
        .body(Body::empty())
        .expect("a request");
    let mut pieces = server.browser().raw(request).await.into_body().into_data_stream();
    assert_eq!(pieces.next().await.expect("a piece").expect("whole"), "one\n");
    // Said again until it is heard: whoever follows listens a moment after its first piece.
    let last = loop {
        server.state.live().cut(atelier_engine::live::Cut::All);
        let next = tokio::time::timeout(std::time::Duration::from_millis(100), pieces.next()).await;
        if let Ok(next) = next {
            break next.expect("a last line").expect("whole");
        }
    };
    let last = String::from_utf8_lossy(&last).into_owned();
    assert!(last.contains("[atelier: this log ends here") && last.contains("the server is stopping"), "{last}");
    assert!(pieces.next().await.is_none());
}

#[tokio::test]
async fn a_follower_may_come_before_the_job_begins_and_goes_when_it_never_does() {
    let server = Server::set_up().await;
    let api = with_pool(&server, 1).await;
    for _ in 0..2 {
        api.post("/jobs", &json!({"command": ["true"], "cluster": "pool", "cores": 2})).await.is(201);
    }
    let (is_heard, heard) = tokio::sync::oneshot::channel();
    let token = make_token(&server, "ines@example.org", 1).await;
    let follows = async {
        let request = Request::get("/api/v1/jobs/job-1/log?follow=true")
            .header(header::AUTHORIZATION, format!("Bearer {token}"))
            .body(Body::empty())
            .expect("a request");
        let mut pieces = server.browser().raw(request).await.into_body().into_data_stream();
        let first = pieces.next().await.expect("a piece").expect("whole");
        is_heard.send(()).expect("somebody waits");
        assert!(pieces.next().await.is_none(), "no more comes");
        first
    };
    let runs = async {
        until_waiting(&server, 1).await;
        let part = placed(&server, JobId(1)).await;
        let logs = server.state.fleet().logs();
        logs.keep(part.into(), 0, b"hello\n").expect("kept");
        heard.await.expect("heard");
        logs.end(part.into());
        run(&server, part, 0).await;
    };
    let both = async { tokio::join!(follows, runs) };
    let (first, ()) = tokio::time::timeout(PATIENCE, both).await.expect("the follower goes");
    assert_eq!(&first[..], b"hello\n");

    let follows = api.get("/jobs/job-2/log?follow=true");
    let cancels = async {
        until_waiting(&server, 1).await;
        api.post("/jobs/job-2/cancel", &json!({})).await.is(200);
        let parts = placed_on(&server, JobId(2)).await;
        for part in parts {
            run(&server, part, 143).await;
        }
    };
    let both = async { tokio::join!(follows, cancels) };
    let (log, ()) = tokio::time::timeout(PATIENCE, both).await.expect("the follower goes");
    assert_eq!(log.is(200).text, "");
}

async fn placed_on(server: &Server, job: JobId) -> Vec<atelier_domain::world::AllocationKey> {
    let parts = move |world: &atelier_domain::world::World| {
        let job = world.job(job)?;
        let part = |node| atelier_domain::world::AllocationKey { job: job.id, attempt: job.attempt, node };
        Some(job.allocations.iter().map(|allocation| part(allocation.node)).collect())
    };
    server.state.engine().ask(parts).await.expect("answers").unwrap_or_default()
}
