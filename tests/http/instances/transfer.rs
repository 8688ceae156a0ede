use atelier_domain::compute::InstanceId;
use atelier_domain::compute::instance::InstanceState;
use atelier_domain::world::Report;
use axum::http::StatusCode;
use serde_json::json;

use super::{Studio, page};
use crate::rest::Api;

const FROM: &str = "/w/perception/compute/instances/desk/transfer";

async fn given(studio: &Studio, id: InstanceId) {
    let generation = studio.look(id, |_, instance| instance.generation).await;
    studio.report(Report::Transferred { instance: id, generation, failure: None }).await;
    studio.until_state(id, InstanceState::Stopped).await;
}

#[tokio::test]
async fn an_instance_is_given_away_after_a_question() {
    let studio = Studio::new().await;
    let id = studio
        .make(&json!({"name": "desk", "size": "cpu-2", "starts": false, "scripts": {"startup": {"text": "echo"}}}))
        .await;
    let home = studio.server.state.fleet().folders().instance(id).join("home");
    std::fs::create_dir_all(home.join(".ssh")).expect("a folder");
    std::fs::write(home.join(".netrc"), "machine x").expect("a file");
    let (mut mara, mut sven) = (studio.browser("mara").await, studio.browser("sven").await);
    let asked = mara.get(FROM).await;
    asked.shows(".ssh and .netrc. What lies elsewhere goes along").shows("Sven (sven@example.org)");
    asked.hides("noor@example.org").hides("Mara (mara");
    assert_eq!(sven.get(FROM).await.status, StatusCode::FORBIDDEN);
    for (to, words) in [
        ("", "Choose a colleague."),
        ("nobody@example.org", "Nobody in this workspace"),
        ("noor@example.org", "Their roles do not include instances of their own"),
    ] {
        mara.submit(FROM, "transfer_instance", &[("instance", "desk"), ("to", to)]).await.shows(words);
    }
    assert_eq!(
        sven.call("transfer_instance", &[("instance", "desk"), ("to", "sven@example.org")]).await.status,
        StatusCode::FORBIDDEN
    );

    let fields = [("instance", "desk"), ("to", "sven@example.org"), ("why", "leaves the team")];
    let shown = mara.submit(FROM, "transfer_instance", &fields).await;
    shown.shows("desk is Sven’s now").shows("Changing hands");
    studio.until_state(id, InstanceState::Transferring).await;
    // Nobody starts it before its home is clean.
    for browser in [&mut mara, &mut sven] {
        let refused = browser.call("start_instance", &[("instance", "desk")]).await;
        assert!(
            refused.status == StatusCode::FORBIDDEN || refused.text.contains("given to its new owner"),
            "{}",
            refused.text
        );
    }
    sven.get(&page("desk", "")).await.shows("Mara gave the instance desk from Mara to Sven");
    given(&studio, id).await;
    assert_eq!(mara.call("start_instance", &[("instance", "desk")]).await.status, StatusCode::FORBIDDEN);
    sven.get(&page("desk", "")).await.shows("Sven (you)").shows("scripts");
    let (owner_accepts, scripts) =
        studio.look(id, |_, instance| (instance.awaits_acceptance(), instance.scripts_revision)).await;
    assert_eq!((owner_accepts, scripts), (true, 2));
    sven.submit(&page("desk", ""), "start_instance", &[("instance", "desk")]).await.shows("desk is starting");
    // While it runs it stays where it is.
    let refused = sven.call("transfer_instance", &[("instance", "desk"), ("to", "mara@example.org")]).await;
    assert!(refused.text.contains("only while it is stopped"), "{}", refused.text);
}

#[tokio::test]
async fn operators_give_too_and_both_are_told() {
    let studio = Studio::new().await;
    let id = studio.asleep("desk").await;
    let oskar = Api::of(&studio.server, "oskar@example.org").await;
    assert_eq!(oskar.get("/instances/desk/transfer").await.is(200).json["taken_out"], json!([]));
    oskar.post("/instances/desk/transfer", &json!({"to": "x@example.org"})).await.refuses(422, "invalid").problem("to");
    let body = json!({"to": "sven@example.org", "why": "left"});
    let moved = oskar.post("/instances/desk/transfer", &body).await.is(202);
    assert_eq!(
        (moved.json["state"].as_str(), moved.json["owner"]["name"].as_str()),
        (Some("transferring"), Some("Sven"))
    );
    for who in ["mara", "sven"] {
        let mut browser = studio.browser(who).await;
        browser.get("/w/perception").await.shows("Oskar gave the instance desk from Mara to Sven");
    }
    studio
        .mara
        .post("/instances/desk/transfer", &json!({"to": "mara@example.org"}))
        .await
        .refuses(403, "right.missing");
    given(&studio, id).await;
    // Shares of the one who had it before open nothing, whatever is left of them.
    let sven = Api::of(&studio.server, "sven@example.org").await;
    assert_eq!(sven.get("/instances/desk/shares").await.is(200).json["shares"], json!([]));
    // A quota that has no room says so, with its numbers.
    let owner = Api::owner(&studio.server).await;
    let none = json!({"scope": "person", "person": "mara@example.org", "resource": "computes", "limit": 0});
    owner.put("/quota", &none).await.is(200);
    let refused = oskar.post("/instances/desk/transfer", &json!({"to": "mara@example.org"})).await.is(409);
    assert!(refused.json["detail"].as_str().is_some_and(|words| words.contains('0')), "{}", refused.text);
}
