//! Applications that somebody adds to their instance: the page, the API, and what their agent hears.

use atelier_domain::history::Event;
use atelier_protocol::{AppState, ToAgent};
use axum::http::{Method, StatusCode};
use serde_json::{Value, json};

use super::agent::Agent;
use super::{Studio, page};

fn board() -> Value {
    json!({
        "label": "Charts", "command": "serve --port {port} 'two words'", "environment": {"MODE": "dark"}, "port": 6006,
        "health": "/health", "page": "/start",
    })
}

#[tokio::test]
async fn an_application_is_added_changed_listed_and_removed_over_the_api() {
    let studio = Studio::new().await;
    studio.asleep("mara-fusion").await;
    let api = &studio.mara;
    let path = "/instances/mara-fusion/apps/board";
    let made = api.put(path, &board()).await.is(201).json;
    assert_eq!((&made["name"], &made["network"], &made["preset"]), (&json!("board"), &json!("private"), &json!("own")));
    // The same again is the same.
    assert_eq!(api.put(path, &board()).await.is(200).json, made);
    assert_eq!(api.get(path).await.is(200).json, made);
    let mut other = board();
    other["network"] = json!("open");
    assert_eq!(api.put(path, &other).await.is(200).json["network"], "open");
    let listed = api.get("/instances/mara-fusion/apps").await.is(200).json;
    let names: Vec<&str> =
        listed["apps"].as_array().expect("a list").iter().filter_map(|app| app["name"].as_str()).collect();
    assert_eq!(names, ["jupyter", "terminal", "board"]);
    let app = &listed["apps"][2];
    assert_eq!(
        (&app["label"], &app["state"], &app["is_custom"], &app["is_exposed"], &app["app"]["environment"]["MODE"]),
        (&json!("Charts"), &json!("off"), &json!(true), &json!(true), &json!("dark"))
    );
    assert!(app["links"]["open"].as_str().is_some_and(|link| link.ends_with("/open/board?next=%2Fstart")), "{app}");
    // Others see that it is there, and not what it runs.
    let sven = crate::rest::Api::of(&studio.server, "sven@example.org").await;
    let seen = sven.get("/instances/mara-fusion/apps").await.is(200).json;
    assert_eq!((&seen["apps"][2]["name"], &seen["apps"][2]["app"]), (&json!("board"), &Value::Null));
    sven.get(path).await.refuses(403, "right.missing");

    for (bad, field) in [
        (json!({"command": "", "port": 6006}), "command"),
        (json!({"command": "serve", "port": 80}), "port"),
        (json!({"command": "serve {port}"}), "command"),
        (json!({"command": "serve", "environment": {"PORT": "1"}}), "environment"),
        (json!({"command": "serve", "health": "nowhere"}), "health"),
    ] {
        api.put("/instances/mara-fusion/apps/other", &bad).await.refuses(422, "invalid").problem(field);
    }
    api.put("/instances/mara-fusion/apps/jupyter", &board()).await.refuses(422, "invalid").problem("name");
    let taken = json!({"command": "serve", "port": 6006, "network": "open"});
    api.put("/instances/mara-fusion/apps/other", &taken).await.refuses(422, "invalid").problem("port");
    // Nothing runs, so there is nothing to restart.
    api.post("/instances/mara-fusion/apps/board/restart", &json!({})).await.refuses(409, "instance-not-running");
    api.post("/instances/mara-fusion/apps/nobody/restart", &json!({})).await.refuses(404, "not-found");
    api.delete(path).await.is(200);
    api.delete(path).await.refuses(404, "not-found");
    api.get(path).await.refuses(404, "not-found");
}

#[tokio::test]
async fn the_page_has_presets_and_says_what_is_wrong_beside_the_field() {
    let studio = Studio::new().await;
    studio.asleep("mara-fusion").await;
    let mut mara = studio.browser("mara").await;
    let tab = page("mara-fusion", "apps");
    mara.get(&tab)
        .await
        .shows("Applications")
        .shows("JupyterLab")
        .shows("Add an application")
        .shows("?preset=tensorboard#app");
    let preset = format!("{tab}?preset=marimo");
    mara.get(&preset).await.shows("marimo edit --headless").shows("pip install marimo").shows("value=\"2718\"");
    let bad = [
        ("instance", "mara-fusion"),
        ("preset", "own"),
        ("name", "x"),
        ("command", "serve '"),
        ("listens", "port"),
        ("port", "80"),
    ];
    let refused = mara.submit(&tab, "put_app", &bad).await;
    refused.shows("A short name has 3 to 16 characters; this has 1.").shows("is opened after 1 word and never closed");
    refused.shows("A port is a number from 1025 to 65534; this is 80.");
    let good = [
        ("instance", "mara-fusion"),
        ("preset", "tensorboard"),
        ("name", "board"),
        ("label", "Charts"),
        ("command", "tensorboard --port {port}"),
        ("listens", "port"),
        ("port", "6006"),
        ("network", "open"),
        ("environment", "A=1\nB=x=y"),
        ("health", ""),
        ("page", ""),
    ];
    let added = mara.submit(&tab, "put_app", &good).await;
    added.shows("Charts was added to mara-fusion.").shows("on port 6006, open network");
    added.shows("Other people of this machine can reach Charts");
    let edit = format!("{tab}?edit=board");
    mara.get(&edit).await.shows("Change Charts").shows("A=1\nB=x=y");
    let renamed = [
        ("instance", "mara-fusion"),
        ("replaces", "board"),
        ("name", "charts"),
        ("command", "tensorboard {socket}"),
        ("listens", "socket"),
    ];
    mara.submit(&edit, "put_app", &renamed)
        .await
        .shows("was saved")
        .shows("on its socket")
        .hides("?edit=board")
        .hides("Other people of this machine");
    mara.submit(&tab, "remove_app", &[("instance", "mara-fusion"), ("app", "board")])
        .await
        .shows("There is no such application");
    mara.submit(&tab, "remove_app", &[("instance", "mara-fusion"), ("app", "charts")])
        .await
        .shows("charts was removed");
    // Somebody else sees who may.
    let mut oskar = studio.browser("oskar").await;
    oskar.get(&tab).await.shows("Nobody else adds, changes or opens them").hides("put_app");
    let history = studio.server.owner().await.get("/w/perception/activity").await;
    let said = Event::AppRemoved { instance: "mara-fusion".into(), app: "charts".into() }.sentence(None);
    history.shows(&said);
}

#[tokio::test]
async fn an_agent_hears_of_changes_and_a_removed_application_is_left() {
    let studio = Studio::new().await;
    let (id, node) = studio.running("mara-fusion").await;
    studio.mara.put("/instances/mara-fusion/apps/board", &board()).await.is(201);
    let mut agent = Agent::join(&studio, id, node).await;
    // What was added before it called, it hears when it calls.
    let told = agent.hears(|message| matches!(message, ToAgent::Apps(_))).await;
    let ToAgent::Apps(first) = told else { panic!("the applications") };
    let app = &first.apps[0];
    assert_eq!((first.instance, app.name.as_str(), app.port, app.is_custom), (id, "board", Some(6_006), true));
    assert_eq!(app.argv, ["serve", "--port", "{port}", "two words"]);
    agent.custom(&studio, "board", AppState::Ready).await;
    studio.mara.post("/instances/mara-fusion/apps/board/restart", &json!({})).await.is(202);
    agent.hears(|message| matches!(message, ToAgent::RestartApp { name, .. } if name == "board")).await;
    // The owner goes in; at its own address, with a code.
    let mut mara = studio.browser("mara").await;
    let enter = "/w/perception/instances/mara-fusion/enter/board?next=%2Fstart";
    let entered = mara.get(enter).await;
    assert_eq!(entered.status, StatusCode::SEE_OTHER);
    assert!(entered.location().contains("board--mara-fusion--perception.localhost"), "{}", entered.location());
    let removed = studio.mara.send(Method::DELETE, "/instances/mara-fusion/apps/board", &[], None).await;
    removed.is(200);
    let told = agent.hears(|message| matches!(message, ToAgent::Apps(_))).await;
    let ToAgent::Apps(last) = told else { panic!("the applications") };
    assert!(last.apps.is_empty() && last.revision > first.revision);
    // There is nothing to go into any more.
    let gone = mara.get(enter).await;
    assert!(!gone.location().contains("board--"), "{}", gone.location());
    mara.get("/w/perception/instances/mara-fusion/open/board").await.shows("There is no such application");
}
