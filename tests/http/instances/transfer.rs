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
    // What Mara left in it may run as Sven: nobody starts it before he has said so, and he alone says it.
    for function in ["start_instance", "wake_instance"] {
        let refused = sven.call(function, &[("instance", "desk"), ("app", "jupyter")]).await;
        assert!(refused.text.contains("has not accepted that yet"), "{function}: {}", refused.text);
    }
    assert_eq!(
        mara.call("accept_scripts", &[("instance", "desk"), ("revision", "2")]).await.status,
        StatusCode::FORBIDDEN
    );
    sven.submit(&page("desk", ""), "accept_scripts", &[("instance", "desk"), ("revision", "2")]).await;
    assert!(!studio.look(id, |_, instance| instance.awaits_acceptance()).await);
    sven.submit(&page("desk", ""), "start_instance", &[("instance", "desk")]).await.shows("desk is starting");
    // While it runs it stays where it is.
    let refused = sven.call("transfer_instance", &[("instance", "desk"), ("to", "mara@example.org")]).await;
    assert!(refused.text.contains("only while it is stopped"), "{}", refused.text);
}

#[tokio::test]
async fn owners_of_the_workspace_give_too_and_both_are_told() {
    let studio = Studio::new().await;
    let id = studio.asleep("desk").await;
    let ines = Api::owner(&studio.server).await;
    assert_eq!(ines.get("/instances/desk/transfer").await.is(200).json["taken_out"], json!([]));
    ines.post("/instances/desk/transfer", &json!({"to": "x@example.org"})).await.refuses(422, "invalid").problem("to");
    // Somebody has a share of it, which must not outlast the owner who gave it.
    let share = json!({"person": "noor@example.org", "app": "terminal", "level": "read"});
    studio.mara.put("/instances/desk/shares", &share).await.is(200);
    let noor = Api::of(&studio.server, "noor@example.org").await;
    assert_eq!(noor.get("/shared").await.is(200).json["shared"].as_array().map(Vec::len), Some(1));
    let body = json!({"to": "sven@example.org", "why": "left"});
    let moved = ines.post("/instances/desk/transfer", &body).await.is(202);
    assert_eq!(
        (moved.json["state"].as_str(), moved.json["owner"]["name"].as_str()),
        (Some("transferring"), Some("Sven"))
    );
    for who in ["mara", "sven"] {
        let mut browser = studio.browser(who).await;
        browser.get("/w/perception").await.shows("gave the instance desk from Mara to Sven");
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
    assert_eq!(noor.get("/shared").await.is(200).json["shared"], json!([]));
    // Without any script it waits for its new owner all the same.
    sven.post("/instances/desk/start", &json!({})).await.refuses(409, "awaits-acceptance");
    sven.post("/instances/desk/accept-scripts", &json!({"revision": 1})).await.is(200);
    sven.post("/instances/desk/start", &json!({})).await.is(202);
    sven.post("/instances/desk/stop", &json!({})).await;
    studio.node_gone_if_any(id).await;
    studio.until_state(id, InstanceState::Stopped).await;
    // A quota that has no room says so, with its numbers.
    let none = json!({"scope": "person", "person": "mara@example.org", "resource": "computes", "limit": 0});
    ines.put("/quota", &none).await.is(200);
    let refused = ines.post("/instances/desk/transfer", &json!({"to": "mara@example.org"})).await.is(409);
    assert!(refused.json["detail"].as_str().is_some_and(|words| words.contains('0')), "{}", refused.text);
}

#[tokio::test]
async fn nobody_takes_the_home_of_a_colleague_who_is_there() {
    let studio = Studio::new().await;
    studio.asleep("desk").await;
    // Who runs the machines has no way to a home.
    let oskar = Api::of(&studio.server, "oskar@example.org").await;
    for to in ["oskar@example.org", "sven@example.org"] {
        oskar.post("/instances/desk/transfer", &json!({"to": to})).await.refuses(403, "right.missing");
    }
    assert_eq!(studio.browser("oskar").await.get(FROM).await.status, StatusCode::FORBIDDEN);
    // Nor do Owners of the workspace take it, while its owner could still use it.
    let (mut browser, ines) = (studio.browser("ines").await, Api::owner(&studio.server).await);
    browser.get(FROM).await.shows("Sven (sven@example.org)").hides("(ines@example.org)</option>");
    let to_myself = json!({"to": "ines@example.org"});
    let refused = ines.post("/instances/desk/transfer", &to_myself).await.refuses(422, "invalid");
    assert!(refused.problem("to").contains("whose account is not disabled"), "{}", refused.text);
    let account = studio.server.state.store().account_by_email("mara@example.org").await.expect("reads");
    let mara = account.expect("exists").person.id.to_string();
    let fields = [("verb", "disable"), ("ids[]", mara.as_str())];
    assert!(browser.call("change_accounts", &fields).await.status.is_success());
    ines.post("/instances/desk/transfer", &to_myself).await.is(202);
}
