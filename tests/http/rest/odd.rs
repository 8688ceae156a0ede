//! Odd, huge and broken requests: each gets a refusal in words, none breaks the server.

use axum::body::Body;
use axum::http::{Method, Request, header};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

use super::{Api, make_token, with_pool};
use crate::client::Server;

#[tokio::test]
async fn broken_json_is_refused_with_its_place() {
    let server = Server::set_up().await;
    let api = with_pool(&server, 1).await;
    for (body, part) in [
        ("{\"command\": [\"echo\",}", "line 1 column 21"),
        ("", "line 1 column 0"),
        ("[]", "The JSON does not fit"),
        ("\"text\"", "The JSON does not fit"),
        ("{\"command\": \"echo hi\"}", "line 1 column 21"),
        ("{\"comand\": [\"echo\"]}", "unknown field `comand`"),
        ("{\"nodes\": -1}", "The JSON does not fit"),
        ("{\"nodes\": 99999999999}", "The JSON does not fit"),
        ("{\"cores\": 1e999}", "The body is no JSON"),
        ("{\"name\": \"a\", \"name\": \"b\"}", "duplicate field `name`"),
        ("{\"command\": [\"\u{0}\"]}", "control character"),
        ("\u{feff}{}", "The body is no JSON"),
    ] {
        let refused = api.send(Method::POST, "/jobs", &[], Some(body.into())).await.refuses(422, "invalid");
        let said = refused.problem("body");
        assert!(said.contains(&part.replace('"', "\\\"")), "{body}: {said}");
    }
    let deep = format!("{}{}", "[".repeat(50_000), "]".repeat(50_000));
    api.send(Method::POST, "/jobs", &[], Some(deep)).await.refuses(422, "invalid").problem("body");
}

#[tokio::test]
async fn what_is_not_json_or_too_large_is_refused() {
    let server = Server::set_up().await;
    let api = with_pool(&server, 1).await;
    let body = json!({"command": ["true"], "cluster": "pool"}).to_string();
    for kind in ["text/plain", "application/x-www-form-urlencoded", ""] {
        let headers = [("content-type", kind)];
        api.send(Method::POST, "/jobs", &headers, Some(body.clone())).await.refuses(415, "not-json");
    }
    for kind in ["application/json; charset=utf-8", "Application/JSON", "application/merge-patch+json"] {
        api.send(Method::POST, "/jobs", &[("content-type", kind)], Some(body.clone())).await.is(201);
    }
    let huge = json!({"command": ["true"], "script": "x".repeat(3 << 20)}).to_string();
    api.send(Method::POST, "/jobs", &[], Some(huge)).await.refuses(413, "too-large");
    let long = json!({"script": "x".repeat((512 << 10) + 1), "cluster": "pool"});
    api.post("/jobs", &long).await.refuses(422, "invalid").problem("script");
    let wide: serde_json::Map<String, Value> = (0..300).map(|n| (format!("V{n}"), json!("x".repeat(4_000)))).collect();
    let wide = json!({"command": ["true"], "cluster": "pool", "environment": wide});
    api.post("/jobs", &wide).await.refuses(422, "invalid").problem("environment");
    // Each value is allowed, and together they are too much for the store.
    let values: serde_json::Map<String, Value> =
        (0..100).map(|n| (format!("V{n}"), json!("x".repeat(16_000)))).collect();
    let wide = json!({"command": ["true"], "cluster": "pool", "environment": values});
    api.post("/jobs", &wide).await.refuses(422, "invalid");
}

#[tokio::test]
async fn odd_headers_and_addresses_are_refused() {
    let server = Server::set_up().await;
    let token = make_token(&server, "ines@example.org", 1).await;
    let api = Api::with(&server, &token);
    for path in ["/api/v1/jobs/%ff", "/api/v1/clusters/%00", "/api/v1/jobs//log", "/api/v1/clusters/%F0%9F%90%84"] {
        let request = Request::get(path).header(header::AUTHORIZATION, format!("Bearer {token}"));
        let answer = api.raw(request.body(Body::empty()).expect("a request")).await;
        assert!(answer.status.is_client_error(), "{path}: {}", answer.status);
        assert_eq!(answer.header("content-type"), "application/problem+json", "{path}: {}", answer.text);
    }
    let request = Request::get("/api/v1")
        .header(header::AUTHORIZATION, axum::http::HeaderValue::from_bytes(b"Bearer \xff\xfe").expect("bytes"));
    api.raw(request.body(Body::empty()).expect("a request")).await.refuses(401, "token.missing");
    let twice = Request::post("/api/v1/jobs")
        .header(header::AUTHORIZATION, format!("Bearer {token}"))
        .header("idempotency-key", "first-key-01")
        .header("idempotency-key", "second-key-1")
        .body(Body::from("{}"))
        .expect("a request");
    api.raw(twice).await.refuses(422, "invalid").problem("Idempotency-Key");
}

/// Any JSON at all.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(|number| serde_json::Number::from_f64(number).map_or(Value::Null, Value::Number)),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            proptest::collection::btree_map(any::<String>(), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// An object with the fields of ours and any values.
fn any_request(fields: &'static [&'static str]) -> impl Strategy<Value = Value> {
    let value = prop_oneof![
        2 => any_json(),
        1 => Just(json!("pool")),
        1 => Just(json!("cpu-2")),
        1 => proptest::collection::vec(any::<String>(), 0..4).prop_map(Value::from),
        1 => (0_i64..10).prop_map(Value::from),
    ];
    proptest::collection::btree_map(proptest::sample::select(fields), value, 0..8)
        .prop_map(|map| Value::Object(map.into_iter().map(|(field, value)| (field.to_owned(), value)).collect()))
}

const JOB: &[&str] = &[
    "name",
    "command",
    "script",
    "cluster",
    "size",
    "nodes",
    "cores",
    "memory_mib",
    "gpus",
    "priority",
    "timeout_seconds",
    "grace_seconds",
    "retries",
    "retry_exit_codes",
    "array",
    "environment",
    "tags",
    "files",
    "own_sandbox",
];
const CLUSTER: &[&str] = &["name", "size", "min", "max", "idle_seconds", "tags", "why"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[expect(clippy::result_large_err, reason = "proptest's own error")]
async fn no_json_breaks_the_server() {
    let server = Server::set_up().await;
    let api = with_pool(&server, 2).await;
    let mut runner = TestRunner::new(Config { cases: 200, failure_persistence: None, ..Config::default() });
    let handle = tokio::runtime::Handle::current();
    let strategy = (any_request(JOB), any_request(CLUSTER), any_json(), proptest::collection::vec(any::<u8>(), 0..200));
    let ran = tokio::task::block_in_place(|| {
        runner.run(&strategy, |(job, cluster, any, bytes)| {
            let bytes = String::from_utf8_lossy(&bytes).into_owned();
            for (method, path, body) in [
                (Method::POST, "/jobs", job.to_string()),
                (Method::POST, "/clusters", cluster.to_string()),
                (Method::PATCH, "/clusters/pool", cluster.to_string()),
                (Method::POST, "/jobs", any.to_string()),
                (Method::POST, "/clusters/pool/pause", any.to_string()),
                (Method::POST, "/jobs", bytes),
            ] {
                let answer = handle.block_on(api.send(method, path, &[], Some(body.clone())));
                prop_assert!(!answer.status.is_server_error(), "{path} {body}: {}", answer.text);
                prop_assert!(
                    answer.status.is_success() || answer.json["code"].is_string(),
                    "{path} {body}: {}",
                    answer.text
                );
            }
            Ok(())
        })
    });
    ran.expect("no refusal is an error of the server");
    api.get("").await.is(200);
}
