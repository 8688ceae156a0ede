//! The catalogue of sizes over the API.

use atelier_domain::access::Role;
use axum::http::Method;
use serde_json::{Value, json};

use super::{Api, furnish, with_pool};
use crate::client::Server;

fn large() -> Value {
    json!({"family": "general", "site": "local", "cores": 8, "memory_mib": 32_768, "price_per_hour": 0.48})
}

#[tokio::test]
async fn a_size_is_added_changed_and_deleted() {
    let server = Server::set_up().await;
    furnish(&server).await;
    let api = Api::role(&server, "Oskar", Role::ComputeOperator).await;
    let made = api.put("/sizes/cpu-8", &large()).await.is(201);
    assert_eq!(made.header("location"), "/api/v1/sizes/cpu-8");
    assert_eq!(
        made.json,
        json!({
            "name": "cpu-8", "family": "general", "site": "local",
            "resources": {"cores": 8.0, "memory_mib": 32_768, "gpus": 0},
            "price_per_hour": 0.48, "currency": "EUR", "links": {"self": "/api/v1/sizes/cpu-8"},
        })
    );
    let mut dearer = large();
    dearer["price_per_hour"] = json!(0.5);
    assert_eq!(api.put("/sizes/cpu-8", &dearer).await.is(200).json["price_per_hour"], 0.5);
    assert_eq!(api.get("/sizes/cpu-8").await.is(200).json["price_per_hour"], 0.5);
    let names = api.get("/sizes").await.is(200).json["sizes"].clone();
    assert_eq!((&names[0]["name"], &names[1]["name"]), (&json!("cpu-2"), &json!("cpu-8")));
    let gone = api.delete("/sizes/cpu-8?why=nobody+uses+it").await.is(200);
    assert_eq!(gone.json, json!({"name": "cpu-8", "state": "deleted"}));
    api.get("/sizes/cpu-8").await.refuses(404, "not-found");
    api.delete("/sizes/cpu-8").await.refuses(404, "not-found");
}

#[tokio::test]
async fn the_same_key_changes_a_size_once() {
    let server = Server::set_up().await;
    furnish(&server).await;
    let api = Api::owner(&server).await;
    let put = async |key: &str, body: &Value| {
        api.send(Method::PUT, "/sizes/cpu-8", &[("idempotency-key", key)], Some(body.to_string())).await
    };
    put("size-00001", &large()).await.is(201);
    put("size-00001", &large()).await.is(200);
    let mut other = large();
    other["cores"] = json!(4);
    put("size-00001", &other).await.refuses(409, "command.id-reused");
    let delete = || api.send(Method::DELETE, "/sizes/cpu-8", &[("idempotency-key", "size-00002")], None);
    delete().await.is(200);
    delete().await.is(200);
}

#[tokio::test]
async fn what_is_wrong_with_a_size_is_named() {
    let server = Server::set_up().await;
    furnish(&server).await;
    let api = Api::owner(&server).await;
    let with = |field: &str, value: Value| {
        let mut size = large();
        size[field] = value;
        size
    };
    for (name, body, field) in [
        ("new", large(), "name"),
        ("no%20name", large(), "name"),
        ("cpu-8", with("family", json!("")), "family"),
        ("cpu-8", with("site", json!("über")), "site"),
        ("cpu-8", with("cores", json!(0)), "cores"),
        ("cpu-8", with("cores", json!(-2)), "cores"),
        ("cpu-8", with("memory_mib", json!(0)), "memory_mib"),
        ("cpu-8", with("price_per_hour", json!(-0.1)), "price_per_hour"),
        ("cpu-8", with("price_per_hour", json!(2_000_000)), "price_per_hour"),
        ("cpu-8", with("price_per_hour", Value::Null), "body"),
        ("cpu-8", with("colour", json!("red")), "body"),
    ] {
        api.put(&format!("/sizes/{name}"), &body).await.refuses(422, "invalid").problem(field);
    }
    let mut without_price = large();
    without_price.as_object_mut().expect("an object").remove("price_per_hour");
    let refused = api.put("/sizes/cpu-8", &without_price).await.refuses(422, "invalid");
    assert!(refused.problem("body").contains("price_per_hour"), "{}", refused.text);
    api.put("/sizes/cpu-8", &with("site", json!("moon"))).await.refuses(409, "unknown-site");
    api.get("/sizes/cpu-8").await.refuses(404, "not-found");
}

#[tokio::test]
async fn a_size_in_use_stays() {
    let server = Server::set_up().await;
    let api = with_pool(&server, 1).await;
    let refused = api.delete("/sizes/cpu-2").await.refuses(409, "in-use");
    assert!(refused.json["detail"].as_str().expect("a sentence").contains("pool"), "{}", refused.text);
    api.get("/sizes/cpu-2").await.is(200);
}

#[tokio::test]
async fn sizes_are_read_by_all_and_changed_by_few() {
    let server = Server::set_up().await;
    furnish(&server).await;
    for (name, role) in [("Noor", Role::Reader), ("Mara", Role::DataScientist)] {
        let api = Api::role(&server, name, role).await;
        api.get("/sizes/cpu-2").await.is(200);
        let refused = api.put("/sizes/cpu-8", &large()).await.refuses(403, "right.missing");
        assert_eq!(refused.problem("right"), "\"size.write\"");
        api.delete("/sizes/cpu-2").await.refuses(403, "right.missing");
    }
}
