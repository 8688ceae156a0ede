//! Sizes, clusters and nodes over the API.

use atelier_domain::access::Role;
use atelier_domain::compute::JobId;
use atelier_domain::world::Report;
use axum::http::Method;
use serde_json::{Value, json};

use super::{Api, furnish, placed, with_pool};
use crate::client::Server;

#[tokio::test]
async fn sizes_are_listed_with_what_they_have_and_cost() {
    let server = Server::set_up().await;
    let api = Api::owner(&server).await;
    assert_eq!(api.get("/sizes").await.is(200).json, json!({"sizes": []}));
    furnish(&server).await;
    let size = json!({
        "name": "cpu-2", "family": "general", "site": "local", "price_per_hour": 0.12, "currency": "EUR",
        "resources": {"cores": 2.0, "memory_mib": 4096, "gpus": 0}, "links": {"self": "/api/v1/sizes/cpu-2"},
    });
    assert_eq!(api.get("/sizes").await.is(200).json, json!({"sizes": [size]}));
}

#[tokio::test]
async fn a_cluster_is_made_changed_paused_resumed_and_deleted() {
    let server = Server::set_up().await;
    furnish(&server).await;
    let api = Api::owner(&server).await;
    let body = json!({"name": "Pool", "size": "cpu-2", "max": 3, "idle_seconds": 60, "tags": {"team": "vision"}});
    let made = api.post("/clusters", &body).await.is(201);
    assert_eq!(made.header("location"), "/api/v1/clusters/pool");
    assert_eq!((&made.json["name"], &made.json["state"]), (&json!("pool"), &json!("steady")));
    assert_eq!(made.json["reason"]["code"], "steady");
    assert_eq!(made.json["idle_seconds"], 60);
    assert_eq!(made.json["tags"], json!({"team": "vision"}));
    assert_eq!(
        (&made.json["owner"]["name"], &made.json["owner"]["email"]),
        (&json!("Ines Okafor"), &json!("ines@example.org"))
    );
    assert_eq!(api.get("/clusters/pool").await.is(200).json, made.json);
    let noor = Api::role(&server, "Noor", Role::Reader).await;
    assert_eq!(noor.get("/clusters").await.is(200).json["clusters"][0]["owner"], made.json["owner"]);

    let changed = api.patch("/clusters/pool", &json!({"max": 5, "tags": {}})).await.is(200).json;
    assert_eq!((&changed["max"], &changed["idle_seconds"], &changed["tags"]), (&json!(5), &json!(60), &json!({})));
    let paused = api.post("/clusters/pool/pause", &json!({"why": "maintenance"})).await.is(200).json;
    assert_eq!((&paused["state"], &paused["reason"]["code"]), (&json!("paused"), &json!("cluster-paused")));
    assert_eq!(paused["reason"]["next_step"], "Resume the cluster.");
    api.send(Method::POST, "/clusters/pool/pause", &[], None).await.is(200);
    let resumed = api.send(Method::POST, "/clusters/pool/resume", &[], None).await.is(200).json;
    assert_eq!(resumed["state"], "steady");
    let listed = api.get("/clusters").await.is(200).json;
    assert_eq!(listed["clusters"].as_array().map(Vec::len), Some(1));
    server.owner().await.get("/w/perception/activity").await.shows("paused the cluster pool").shows("maintenance");

    let gone = api.send(Method::DELETE, "/clusters/pool?jobs=end&why=done", &[], None).await.is(202).json;
    assert_eq!(gone, json!({"name": "pool", "state": "deleted"}));
    api.get("/clusters/pool").await.refuses(404, "not-found");
}

#[tokio::test]
async fn wrong_fields_are_refused_one_by_one() {
    let server = Server::set_up().await;
    let api = with_pool(&server, 1).await;
    let bad = json!({"name": "x", "size": "!", "min": 5, "max": 2, "tags": {"a": "\u{7}"}});
    let refused = api.post("/clusters", &bad).await.refuses(422, "invalid");
    for field in ["name", "size", "min", "tags"] {
        refused.problem(field);
    }
    api.post("/clusters", &json!({"name": "pool", "size": "cpu-2", "max": 1})).await.refuses(409, "name-taken");
    api.post("/clusters", &json!({"name": "other", "size": "gpu-9", "max": 1})).await.refuses(409, "unknown-size");
    api.patch("/clusters/pool", &json!({})).await.refuses(422, "invalid").problem("body");
    api.patch("/clusters/pool", &json!({"min": 9})).await.refuses(422, "invalid").problem("min");
    let before = api.get("/clusters/pool").await.json;
    // Both or neither: the maximum stays as it was, since the tags are wrong.
    api.patch("/clusters/pool", &json!({"max": 4, "tags": {"": "x"}})).await.refuses(422, "invalid").problem("tags");
    assert_eq!(api.get("/clusters/pool").await.json["max"], before["max"]);
    api.patch("/clusters/nothing", &json!({"max": 1})).await.refuses(404, "not-found");
    let path = "/clusters/pool?jobs=perhaps";
    api.send(Method::DELETE, path, &[], None).await.refuses(422, "invalid").problem("jobs");
}

#[tokio::test]
async fn a_change_of_several_settings_is_one_commit_or_none() {
    let server = Server::set_up().await;
    let api = with_pool(&server, 2).await;
    let settings =
        |cluster: &Value| ["min", "max", "warm", "idle_seconds", "queue", "tags"].map(|key| cluster[key].clone());
    let before = settings(&api.get("/clusters/pool").await.json);
    let revision = server.state.live().newest();
    for (bad, field) in [
        (json!({"max": 4, "queue": {"order": "fifo"}, "tags": {"": "x"}}), "tags"),
        (json!({"min": 9, "queue": {"order": "fifo"}, "tags": {"team": "vision"}}), "min"),
        (json!({"max": 4, "queue": {"order": "by-name"}, "tags": {"team": "vision"}}), "order"),
    ] {
        api.patch("/clusters/pool", &bad).await.refuses(422, "invalid").problem(field);
        assert_eq!(settings(&api.get("/clusters/pool").await.json), before, "{bad}");
    }
    assert_eq!(server.state.live().newest(), revision, "what is refused before the engine hears of it commits nothing");
    let good = json!({"max": 4, "queue": {"order": "fifo"}, "tags": {"team": "vision"}, "why": "a new project"});
    let after = api.patch("/clusters/pool", &good).await.is(200).json;
    assert_eq!((&after["max"], &after["queue"]["order"]), (&json!(4), &json!("fifo")));
    assert_eq!(after["tags"], good["tags"]);
    assert_eq!(server.state.live().newest(), revision + 1);
    let page = server.owner().await.get("/w/perception/activity").await;
    page.shows("changed the tags of the cluster pool").shows("set the cluster pool to 0 to 4 nodes");
    page.shows("let pool be served by fifo").shows("a new project");
}

#[tokio::test]
async fn only_who_may_changes_clusters() {
    let server = Server::set_up().await;
    with_pool(&server, 1).await;
    let scientist = Api::role(&server, "Mara", Role::DataScientist).await;
    let operator = Api::role(&server, "Oskar", Role::ComputeOperator).await;
    scientist.get("/clusters/pool").await.is(200);
    let new = json!({"name": "other", "size": "cpu-2", "max": 1});
    scientist.post("/clusters", &new).await.refuses(403, "right.missing");
    scientist.patch("/clusters/pool", &json!({"max": 2})).await.refuses(403, "right.missing");
    scientist.patch("/clusters/pool", &json!({"tags": {}})).await.refuses(403, "right.missing");
    scientist.post("/clusters/pool/pause", &json!({})).await.refuses(403, "right.missing");
    scientist.post("/clusters/pool/resume", &json!({})).await.refuses(403, "right.missing");
    scientist.send(Method::DELETE, "/clusters/pool", &[], None).await.refuses(403, "right.missing");
    // What is not there is not there, whoever asks.
    scientist.send(Method::DELETE, "/clusters/none", &[], None).await.refuses(404, "not-found");
    operator.post("/clusters", &new).await.is(201);
    operator.send(Method::DELETE, "/clusters/other", &[], None).await.is(202);
}

#[tokio::test]
async fn nodes_say_what_they_do_and_why_they_go() {
    let server = Server::set_up().await;
    let api = with_pool(&server, 2).await;
    assert_eq!(api.get("/nodes").await.is(200).json, json!({"nodes": []}));
    api.post("/jobs", &json!({"command": ["sleep", "9"], "cluster": "pool", "cores": 1})).await.is(201);
    let part = placed(&server, JobId(1)).await;
    let node = api.get(&format!("/nodes/{}", part.node)).await.is(200).json;
    assert_eq!((&node["state"], &node["jobs"]), (&json!("running"), &json!(["job-1"])));
    assert_eq!(node["holder"], json!({"kind": "cluster", "name": "pool"}));
    assert_eq!((&node["resources"]["cores"], &node["free"]["cores"]), (&json!(2.0), &json!(1.0)));
    assert_eq!(node["reason"], Value::Null);
    assert_eq!(node["agent"], Value::Null);
    assert_eq!(api.get("/clusters/pool/nodes").await.is(200).json["nodes"], json!([node]));
    let cluster = api.get("/clusters/pool").await.is(200).json;
    assert_eq!((&cluster["nodes"]["running"], &cluster["jobs"]), (&json!(1), &json!(1)));

    api.send(Method::DELETE, "/clusters/pool?jobs=end", &[], None).await.is(202);
    let node = api.get(&format!("/nodes/{}", part.node)).await.is(200).json;
    assert_eq!((&node["state"], &node["reason"]["code"]), (&json!("leaving"), &json!("cluster-deleted")));
    server.state.engine().report(Report::NodeGone(part.node)).await.expect("heard");
    api.get(&format!("/nodes/{}", part.node)).await.refuses(404, "not-found");
    for id in ["node-99", "7", "job-1"] {
        api.get(&format!("/nodes/{id}")).await.refuses(404, "not-found");
    }
    api.get("/clusters/none/nodes").await.refuses(404, "not-found");
}
