use atelier_domain::compute::InstanceId;
use atelier_testing::PATIENCE;
use axum::body::{Body, BodyDataStream};
use axum::http::{Request, StatusCode};
use futures::StreamExt as _;

use super::{Studio, page};

fn write(studio: &Studio, id: InstanceId, name: &str, text: &str) {
    let folder = studio.server.state.fleet().folders().instance(id).join("logs");
    std::fs::create_dir_all(&folder).expect("made");
    std::fs::write(folder.join(name), text).expect("written");
}

#[tokio::test]
async fn set_ups_and_applications_have_logs_to_look_at_and_to_take_away() {
    let studio = Studio::new().await;
    let id = studio.asleep("mara-fusion").await;
    let mut mara = studio.browser("mara").await;
    let path = page("mara-fusion", "logs");
    mara.get(&path).await.shows("Nothing was printed yet");
    write(&studio, id, "setup-1.log", "one <b>\n");
    write(&studio, id, "setup-2.log", "two\n\u{1b}[31mred\u{1b}[0m\n");
    write(&studio, id, "jupyter.log", "lab\n");
    let newest = mara.get(&path).await;
    newest.shows("Last set-up").shows("<span>two</span>").shows("class=\"a-r\"").hides("data-log=\"/w/");
    mara.get(&format!("{path}?log=setup-1")).await.shows("one &lt;b&gt;").hides("<span>two</span>");
    mara.get(&format!("{path}?log=jupyter")).await.shows("<span>lab</span>").shows("<b>JupyterLab</b>");
    mara.get(&format!("{path}?log=..%2F..%2Fsecret")).await.shows("<span>two</span>");
    let file = mara.get("/w/perception/instances/mara-fusion/logs/setup-2").await;
    assert_eq!((file.status, file.text.as_str()), (StatusCode::OK, "two\n\u{1b}[31mred\u{1b}[0m\n"));
    assert!(file.header("content-disposition").contains("mara-fusion.setup-2.log"));
    for name in ["setup-9", "..%2Fhome%2Fsecret", "Setup-2"] {
        let page = mara.get(&format!("/w/perception/instances/mara-fusion/logs/{name}")).await;
        assert_eq!(page.status, StatusCode::NOT_FOUND, "{name}");
    }
}

/// The next piece of a stream.
async fn next(body: &mut BodyDataStream) -> String {
    let piece = tokio::time::timeout(PATIENCE, body.next()).await.expect("in time");
    String::from_utf8(piece.expect("more").expect("a piece").to_vec()).expect("text")
}

#[tokio::test]
async fn a_log_is_followed_while_the_instance_runs_and_ends_with_its_node() {
    let studio = Studio::new().await;
    let (id, _) = studio.running("mara-fusion").await;
    write(&studio, id, "setup-1.log", "one\n");
    let mut mara = studio.browser("mara").await;
    mara.get(&page("mara-fusion", "logs"))
        .await
        .shows("data-log=\"/w/perception/instances/mara-fusion/logs/setup-1/events\"");
    let address = "/w/perception/instances/mara-fusion/logs/setup-1/events?after=0";
    let answer = mara.raw(Request::get(address).body(Body::empty()).expect("a request")).await;
    assert_eq!(answer.status(), StatusCode::OK);
    let mut body = answer.into_body().into_data_stream();
    assert!(next(&mut body).await.contains("event: hello"));
    let first = next(&mut body).await;
    assert!(first.contains("event: log") && first.contains(r#"{"at":0,"line":1,"text":"one\n"}"#), "{first}");
    assert!(first.contains("id: 4"), "{first}");
    write(&studio, id, "setup-1.log", "one\ntwo\n");
    let second = next(&mut body).await;
    assert!(second.contains(r#"{"at":4,"line":2,"text":"two\n"}"#), "{second}");
    studio.mara.post("/instances/mara-fusion/stop", &serde_json::json!({})).await.is(202);
    studio.node_gone(id).await;
    assert!(next(&mut body).await.contains("event: end"));
    // Who may not read it is not let in; who comes back goes on where they were.
    let refused = studio.browser("sven").await.get(address).await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
    let again =
        mara.raw(Request::get(address.replace("after=0", "after=4")).body(Body::empty()).expect("a request")).await;
    let mut body = again.into_body().into_data_stream();
    assert!(next(&mut body).await.contains("event: hello"));
    assert!(next(&mut body).await.contains(r#""text":"two\n""#));
}
