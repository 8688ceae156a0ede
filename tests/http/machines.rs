use atelier_engine::run::Phase;
use axum::body::Body;
use axum::http::{Request, StatusCode, header};

use crate::client::Server;

#[tokio::test]
async fn health_and_readiness_answer_without_a_session() {
    let server = Server::fresh().await;
    let mut browser = server.browser();
    assert_eq!(browser.get("/healthz").await.text, "ok\n");
    browser.get("/readyz").await.shows("\"ready\":true").shows("\"engine\":\"ok\"");
    server.state.store().close().await;
    let page = browser.get("/readyz").await;
    assert_eq!(page.status, StatusCode::SERVICE_UNAVAILABLE);
    page.shows("the database does not answer");
}

#[tokio::test]
async fn a_server_whose_engine_has_ended_is_not_ready_and_says_why() {
    let server = Server::fresh().await;
    server.state.engine().stop();
    let mut watch = server.state.engine().watch();
    watch.wait_for(|status| status.phase == Phase::Stopped).await.expect("ends");
    let page = server.browser().get("/readyz").await;
    assert_eq!(page.status, StatusCode::SERVICE_UNAVAILABLE);
    page.shows("\"ready\":false").shows("the engine has stopped");
}

/// A question for metrics, by this name and with this token.
fn metrics(host: &str, bearer: Option<&str>) -> Request<Body> {
    let mut request = Request::get("/metrics").header(header::HOST, host);
    if let Some(bearer) = bearer {
        request = request.header(header::AUTHORIZATION, format!("Bearer {bearer}"));
    }
    request.body(Body::empty()).expect("a request")
}

const TOKEN: &str = "0123456789abcdef";

#[tokio::test]
async fn metrics_show_the_engine() {
    let server = Server::with(&[("metrics_token", TOKEN)]).await;
    let page = server.browser().send(metrics("localhost:3000", Some(TOKEN))).await;
    for line in ["atelier_engine_running 1", "atelier_engine_epoch 1", "atelier_engine_things{kind=\"jobs\"} 0"] {
        page.shows(line);
    }
    page.shows("atelier_engine_batches_total").shows("atelier_engine_commit_seconds");
}

/// Any job and any page in a browser on the machine could ask as this machine.
#[tokio::test]
async fn metrics_are_for_the_bearer_of_the_token_by_the_servers_own_name() {
    let open = Server::fresh().await;
    let mut local = open.browser();
    local.address = [127, 0, 0, 1].into();
    let page = local.send(metrics("localhost", None)).await;
    assert_eq!(page.status, StatusCode::FORBIDDEN);
    page.shows("--metrics-token").shows("agents.sock");
    assert_eq!(local.send(metrics("localhost", Some(""))).await.status, StatusCode::FORBIDDEN);

    let closed = Server::with(&[("metrics_token", TOKEN), ("public_url", "https://atelier.example.org")]).await;
    let mut local = closed.browser();
    local.address = [127, 0, 0, 1].into();
    for (host, bearer, status) in [
        ("localhost", None, StatusCode::FORBIDDEN),
        ("localhost", Some("wrong"), StatusCode::FORBIDDEN),
        ("evil.example", None, StatusCode::FORBIDDEN),
        ("evil.example", Some(TOKEN), StatusCode::MISDIRECTED_REQUEST),
        ("localhost:3000", Some(TOKEN), StatusCode::OK),
        ("10.0.0.7:3000", Some(TOKEN), StatusCode::OK),
        ("[::1]:3000", Some(TOKEN), StatusCode::OK),
        ("Atelier.example.org", Some(TOKEN), StatusCode::OK),
    ] {
        assert_eq!(local.send(metrics(host, bearer)).await.status, status, "{host} {bearer:?}");
    }
}

#[tokio::test]
async fn a_store_that_fails_gives_a_page_with_the_request_id_and_no_details() {
    let server = Server::set_up().await;
    let mut owner = server.owner().await;
    server.state.store().close().await;
    let page = owner.get("/w/perception/admin/people").await;
    assert_eq!(page.status, StatusCode::INTERNAL_SERVER_ERROR);
    page.shows("could not finish this").shows(page.header("x-request-id")).hides("sqlx").hides("Pool");
    let script = owner.call("update_profile", &[("name", "x"), ("time_zone", "UTC")]).await;
    assert_eq!(script.status, StatusCode::INTERNAL_SERVER_ERROR);
}

/// PostgreSQL takes no such text, and neither does the system in a path.
#[tokio::test]
async fn a_nul_in_an_address_is_refused_and_breaks_nothing() {
    let server = Server::set_up().await;
    let mut owner = server.owner().await;
    let pages = atelier::router::page_paths();
    let guarded = atelier::router::guarded_paths().into_iter().map(str::to_owned);
    for path in pages.into_iter().chain(guarded) {
        let filled: Vec<&str> = path
            .split('/')
            .map(|part| match part {
                "{workspace}" | ":workspace" => "perception",
                part if part.starts_with(['{', ':', '*']) => "a%00b",
                part => part,
            })
            .collect();
        let path = filled.join("/");
        let in_query = format!("{}?path=a%00b&q=%00&after=%00", path.replace("a%00b", "a"));
        for path in [path.clone(), in_query] {
            if path.contains("%00") {
                let status = owner.get(&path).await.status;
                assert!(matches!(status.as_u16(), 400 | 404), "{path}: {status}");
            }
        }
    }
    let bad = owner.get("/api/v1/jobs/%00").await;
    assert_eq!(bad.status, StatusCode::NOT_FOUND);
    bad.shows("\"code\":\"not-found\"");
}
