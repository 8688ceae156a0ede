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

#[tokio::test]
async fn metrics_show_the_engine() {
    let server = Server::fresh().await;
    let mut local = server.browser();
    local.address = [127, 0, 0, 1].into();
    let page = local.get("/metrics").await;
    for line in ["atelier_engine_running 1", "atelier_engine_epoch 1", "atelier_engine_things{kind=\"jobs\"} 0"] {
        page.shows(line);
    }
    page.shows("atelier_engine_batches_total").shows("atelier_engine_commit_seconds");
}

#[tokio::test]
async fn metrics_are_for_this_machine_or_for_the_bearer_of_the_token() {
    let ask = |bearer: Option<&'static str>, forwarded: bool| {
        let mut request = Request::get("/metrics");
        if let Some(bearer) = bearer {
            request = request.header(header::AUTHORIZATION, bearer);
        }
        if forwarded {
            request = request.header("x-forwarded-for", "203.0.113.1");
        }
        request.body(Body::empty()).expect("a request")
    };
    let open = Server::fresh().await;
    let mut local = open.browser();
    local.address = [127, 0, 0, 1].into();
    assert_eq!(local.send(ask(None, false)).await.status, StatusCode::OK);
    assert_eq!(local.send(ask(None, true)).await.status, StatusCode::FORBIDDEN);
    assert_eq!(open.browser().send(ask(None, false)).await.status, StatusCode::FORBIDDEN);

    let closed = Server::with(&[("metrics_token", "0123456789abcdef")]).await;
    let mut local = closed.browser();
    local.address = [127, 0, 0, 1].into();
    assert_eq!(local.send(ask(None, false)).await.status, StatusCode::FORBIDDEN);
    assert_eq!(local.send(ask(Some("Bearer wrong"), false)).await.status, StatusCode::FORBIDDEN);
    assert_eq!(closed.browser().send(ask(Some("Bearer 0123456789abcdef"), true)).await.status, StatusCode::OK);
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
