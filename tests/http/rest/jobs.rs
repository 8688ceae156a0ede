//! Jobs over the API.

use std::time::Duration;

use atelier_domain::access::Role;
use atelier_domain::compute::JobId;
use atelier_engine::clock;
use axum::http::Method;
use serde_json::{Value, json};

use super::{Api, furnish, id_of, placed, run, until_waiting, with_pool};
use crate::client::Server;

fn hello() -> Value {
    json!({
        "command": ["echo", "hello"], "cluster": "pool", "cores": 1, "memory_mib": 512, "tags": {"project": "churn"},
    })
}

#[tokio::test]
async fn a_job_is_submitted_waited_for_and_over() {
    let server = Server::set_up().await;
    let api = with_pool(&server, 2).await;
    let made = api.post("/jobs", &hello()).await.is(201);
    assert_eq!(made.header("location"), "/api/v1/jobs/job-1");
    assert_eq!(
        made.json,
        json!({"id": "job-1", "first": "job-1", "count": 1, "links": {"self": "/api/v1/jobs/job-1"}})
    );
    let job = api.get("/jobs/job-1").await.is(200).json;
    assert_eq!(job["name"], "echo");
    assert_eq!(job["state"], "queued");
    assert_eq!(job["reason"]["code"], "nodes-starting");
    assert_eq!(job["reason"]["needed"], 1);
    assert_eq!(job["reason"]["sentence"], "Waits for nodes: 1 needed, 0 ready, 1 starting.");
    assert_eq!(job["position"], json!({"place": 1, "of": 1}));
    assert_eq!(job["target"], json!({"kind": "cluster", "name": "pool"}));
    assert_eq!(job["resources"], json!({"nodes": 1, "cores": 1.0, "memory_mib": 512, "gpus": 0}));
    assert_eq!(job["tags"], json!({"project": "churn"}));
    assert_eq!(job["verdict"], Value::Null);
    assert_eq!(job["links"]["log"], "/api/v1/jobs/job-1/log");
    assert_eq!((&job["owner"]["name"], &job["owner"]["email"]), (&json!("Ines Okafor"), &json!("ines@example.org")));
    assert!(job["owner"]["id"].as_str().is_some_and(|id| !id.is_empty()), "{job}");

    let part = placed(&server, JobId(1)).await;
    let running = async {
        until_waiting(&server, 1).await;
        run(&server, part, 0).await;
    };
    // It waits far longer than this test: only the end of the job can answer it.
    let both = async { tokio::join!(api.get("/jobs/job-1?wait=300s"), running) };
    let (over, ()) = tokio::time::timeout(Duration::from_secs(60), both).await.expect("woken by the end");
    let job = over.is(200).json;
    assert_eq!((&job["state"], &job["is_over"], &job["exit_code"]), (&json!("completed"), &json!(true), &json!(0)));
    assert_eq!(job["verdict"], json!({"verdict": "succeeded", "phrase": "ended with exit code 0"}));
    assert_eq!(job["attempt"], 1);
    assert!(job["times"]["ended"].as_str().expect("a time").ends_with('Z'), "{job}");
    assert_eq!(job["tags"], json!({"project": "churn"}));
    // Over already: no wait.
    let again = api.get("/jobs/job-1?wait=30s").await.is(200).json;
    assert_eq!(again, job);
    // Who waits is answered from memory; what a job cost is read for who does not.
    let mut read = api.get("/jobs/job-1").await.json;
    assert!(read["cost"].is_number(), "{read}");
    read["cost"] = Value::Null;
    assert_eq!(read, job);
}

#[tokio::test]
async fn a_wait_ends_when_its_time_is_up_or_its_token_is_revoked() {
    let server = Server::set_up().await;
    let api = with_pool(&server, 1).await;
    furnish(&server).await;
    api.patch("/clusters/pool", &json!({"max": 1})).await.is(200);
    api.post("/jobs", &hello()).await.is(201);
    let began = clock::instant();
    let job = api.get("/jobs/job-1?wait=100ms").await.is(200).json;
    assert!(began.elapsed() >= Duration::from_millis(100));
    assert_eq!(job["state"], "queued");
    let owner = server.state.store().account_by_email("ines@example.org").await.expect("reads").expect("is there");
    let token = server.state.store().tokens_of(&owner.person.id).await.expect("reads").remove(0);
    let mut browser = server.owner().await;
    let waits = api.get("/jobs/job-1?wait=60s");
    let revokes = async {
        until_waiting(&server, 1).await;
        browser.call("revoke_token", &[("token", token.id.as_str())]).await
    };
    let (waited, _) = tokio::time::timeout(Duration::from_secs(50), async { tokio::join!(waits, revokes) })
        .await
        .expect("the wait ends with the token");
    waited.is(200);
    api.get("/jobs/job-1").await.refuses(401, "token.unknown");
}

#[tokio::test]
async fn the_same_key_gets_the_same_answer() {
    let server = Server::set_up().await;
    let api = with_pool(&server, 2).await;
    let first = api.keyed("/jobs", "night-run-0001", &hello()).await.is(201);
    for _ in 0..3 {
        let again = api.keyed("/jobs", "night-run-0001", &hello()).await.is(201);
        assert_eq!((again.json, again.headers.get("location")), (first.json.clone(), first.headers.get("location")));
    }
    let other = json!({"command": ["echo", "else"], "cluster": "pool"});
    api.keyed("/jobs", "night-run-0001", &other).await.refuses(409, "command.id-reused");
    api.keyed("/jobs", "night-run-0002", &hello()).await.is(201);
    for key in ["short", "with space!", &"x".repeat(81), "üöäüöäüöä"] {
        let body = Some(hello().to_string());
        let refused = api.send(Method::POST, "/jobs", &[("idempotency-key", key)], body).await.refuses(422, "invalid");
        refused.problem("Idempotency-Key");
    }
    assert_eq!(api.get("/jobs").await.json["jobs"].as_array().map(Vec::len), Some(2));
}

#[tokio::test]
async fn a_key_keeps_its_answer_also_when_the_cluster_is_gone() {
    let server = Server::set_up().await;
    let api = with_pool(&server, 2).await;
    let first = api.keyed("/jobs", "night-run-0001", &hello()).await.is(201);
    let path = "/clusters/pool?jobs=end";
    let gone = api.send(Method::DELETE, path, &[("idempotency-key", "delete-00001")], None).await.is(202);
    let nodes: Vec<_> =
        server.state.engine().ask(|world| world.nodes().map(|node| node.id).collect()).await.expect("answers");
    for node in nodes {
        let report = atelier_domain::world::Report::NodeGone(node);
        server.state.engine().report(report).await.expect("heard");
    }
    api.get("/clusters/pool").await.refuses(404, "not-found");
    let again = api.keyed("/jobs", "night-run-0001", &hello()).await.is(201);
    assert_eq!(again.json, first.json);
    let other = json!({"command": ["echo", "else"], "cluster": "pool"});
    api.keyed("/jobs", "night-run-0001", &other).await.refuses(409, "command.id-reused");
    let again = api.send(Method::DELETE, path, &[("idempotency-key", "delete-00001")], None).await.is(202);
    assert_eq!((&gone.json["name"], &again.json["state"]), (&json!("pool"), &json!("deleted")));
    api.post("/jobs", &hello()).await.refuses(422, "invalid").problem("cluster");
}

#[tokio::test]
async fn an_array_has_its_first_and_its_count() {
    let server = Server::set_up().await;
    let api = with_pool(&server, 2).await;
    let body = json!({"script": "echo $ATELIER_ARRAY_INDEX", "cluster": "pool", "array": 5, "name": "sweep"});
    let made = api.post("/jobs", &body).await.is(201);
    assert_eq!((&made.json["first"], &made.json["count"]), (&json!("job-1"), &json!(5)));
    let third = api.get("/jobs/job-3").await.is(200).json;
    assert_eq!(
        (&third["name"], &third["array"]),
        (&json!("sweep"), &json!({"first": "job-1", "index": 2, "count": 5}))
    );
    assert_eq!(third["reason"]["code"], "in-queue");
    let body = json!({"script": "true", "cluster": "pool", "array": 1_000_001});
    api.post("/jobs", &body).await.refuses(422, "invalid").problem("array");
}

#[tokio::test]
async fn lists_are_filtered_and_go_on_where_they_ended() {
    let server = Server::set_up().await;
    let api = with_pool(&server, 1).await;
    let mara = Api::role(&server, "Mara", Role::DataScientist).await;
    for _ in 0..3 {
        api.post("/jobs", &hello()).await.is(201);
    }
    mara.post("/jobs", &json!({"command": ["python3", "train.py"], "name": "Nightly", "size": "cpu-2"})).await.is(201);
    api.post("/jobs/job-2/cancel", &json!({})).await.is(200);
    let ids = |answer: super::Answer| -> Vec<String> {
        let jobs = answer.is(200).json["jobs"].as_array().cloned().expect("a list");
        jobs.iter().map(|job| job["id"].as_str().expect("an id").to_owned()).collect()
    };
    assert_eq!(ids(api.get("/jobs").await), ["job-4", "job-3", "job-2", "job-1"]);
    assert_eq!(ids(api.get("/jobs?state=canceled").await), ["job-2"]);
    assert_eq!(ids(api.get("/jobs?state=over").await), ["job-2"]);
    assert_eq!(ids(api.get("/jobs?state=alive&cluster=pool").await), ["job-3", "job-1"]);
    assert_eq!(ids(mara.get("/jobs?owner=me").await), ["job-4"]);
    assert_eq!(ids(api.get("/jobs?owner=mara@example.org").await), ["job-4"]);
    assert_eq!(ids(api.get("/jobs?name=night").await), ["job-4"]);
    let listed = api.get("/jobs").await.json["jobs"].clone();
    let emails: Vec<&str> = (0..4).filter_map(|at| listed[at]["owner"]["email"].as_str()).collect();
    assert_eq!(emails, ["mara@example.org", "ines@example.org", "ines@example.org", "ines@example.org"]);
    assert_eq!(mara.get("/jobs/job-1").await.json["owner"]["name"], "Ines Okafor");
    let first = api.get("/jobs?limit=3&state=alive,canceled").await.is(200);
    let next = first.json["next"].as_str().expect("more").to_owned();
    assert_eq!(next, "/api/v1/jobs?limit=3&state=alive%2Ccanceled&after=job-2");
    let rest = api.get(next.trim_start_matches("/api/v1")).await;
    assert_eq!(rest.json["next"], Value::Null);
    assert_eq!(ids(rest), ["job-1"]);
    for (query, field) in [
        ("state=unheard", "state"),
        ("owner=nobody@example.org", "owner"),
        ("cluster=none", "cluster"),
        ("limit=0", "limit"),
        ("limit=501", "limit"),
        ("after=7", "after"),
        ("colour=red", "colour"),
        ("limit=1&limit=2", "limit"),
    ] {
        api.get(&format!("/jobs?{query}")).await.refuses(422, "invalid").problem(field);
    }
    for wait in ["forever", "301s", "-1", "1h"] {
        api.get(&format!("/jobs/job-1?wait={wait}")).await.refuses(422, "invalid").problem("wait");
    }
}

#[tokio::test]
async fn canceling_ends_what_waits_and_says_when_it_is_over() {
    let server = Server::set_up().await;
    let api = with_pool(&server, 1).await;
    // All of the one node.
    api.post("/jobs", &json!({"command": ["true"], "cluster": "pool"})).await.is(201);
    let part = placed(&server, JobId(1)).await;
    let second = id_of(&api.post("/jobs", &hello()).await.is(201));
    let canceled = api.send(Method::POST, &format!("/jobs/{second}/cancel"), &[], None).await.is(200).json;
    assert_eq!((&canceled["state"], &canceled["is_over"]), (&json!("canceled"), &json!(true)));
    assert_eq!(canceled["verdict"]["phrase"], "was canceled by Ines Okafor");
    api.post(&format!("/jobs/{second}/cancel"), &json!({})).await.is(200);
    run(&server, part, 3).await;
    let job = api.get("/jobs/job-1").await.is(200).json;
    assert_eq!((&job["state"], &job["exit_code"]), (&json!("failed"), &json!(3)));
    api.post("/jobs/job-1/cancel", &json!({})).await.refuses(409, "is-over");
    api.post("/jobs/job-77/cancel", &json!({})).await.refuses(404, "not-found");
    api.post("/jobs/job-1/cancel", &json!({"force": true})).await.refuses(422, "invalid");
}

#[tokio::test]
async fn rights_are_those_of_the_portal() {
    let server = Server::set_up().await;
    let owner = with_pool(&server, 1).await;
    let reader = Api::role(&server, "Noor", Role::Reader).await;
    let scientist = Api::role(&server, "Mara", Role::DataScientist).await;
    let operator = Api::role(&server, "Oskar", Role::ComputeOperator).await;
    reader.post("/jobs", &hello()).await.refuses(403, "right.missing");
    operator.post("/jobs", &hello()).await.refuses(403, "right.missing");
    owner.post("/jobs", &hello()).await.is(201);
    scientist.post("/jobs", &hello()).await.is(201);
    reader.get("/jobs/job-1").await.is(200);
    let refused = scientist.post("/jobs/job-1/cancel", &json!({})).await.refuses(403, "right.missing");
    assert_eq!(refused.problem("right"), "\"job.cancel\"");
    scientist.post("/jobs/job-2/cancel", &json!({})).await.is(200);
    reader.post("/jobs/job-1/cancel", &json!({})).await.refuses(403, "right.missing");
    owner.post("/jobs/job-1/cancel", &json!({})).await.is(200);
}

#[tokio::test]
async fn what_is_not_there_and_what_is_no_id_look_the_same() {
    let server = Server::set_up().await;
    let api = with_pool(&server, 1).await;
    for id in ["job-1", "job-18446744073709551615", "job-01", "1", "node-1", "%2e%2e"] {
        for path in [format!("/jobs/{id}"), format!("/jobs/{id}/log")] {
            let answer = api.get(&path).await.refuses(404, "not-found");
            assert_eq!(answer.json["detail"], "There is no such job here, or it is not for you to see.", "{path}");
        }
    }
    api.get("/jobs/job-1?wait=10s").await.refuses(404, "not-found");
}

#[tokio::test]
async fn a_refusal_of_the_engine_has_its_code_and_its_way_out() {
    let server = Server::set_up().await;
    let api = with_pool(&server, 2).await;
    let large = json!({"command": ["true"], "cluster": "pool", "cores": 64});
    let refused = api.post("/jobs", &large).await.refuses(409, "too-large");
    assert!(refused.json["detail"].as_str().expect("a sentence").contains("a node of the size cpu-2 has"));
    let many = json!({"command": ["true"], "cluster": "pool", "nodes": 3});
    api.post("/jobs", &many).await.refuses(409, "too-many-nodes");
    let wrong = json!({"cluster": "pool", "priority": "urgent", "environment": {"1A": "x"}, "tags": {"": "x"}});
    let refused = api.post("/jobs", &wrong).await.refuses(422, "invalid");
    for field in ["command", "priority", "environment", "tags"] {
        refused.problem(field);
    }
}

#[tokio::test]
async fn a_whole_array_is_held_released_and_canceled() {
    let server = Server::set_up().await;
    let api = with_pool(&server, 1).await;
    // More than are made at once.
    let made = api.post("/jobs", &json!({"command": ["true"], "cluster": "pool", "array": 5_000})).await.is(201).json;
    assert_eq!((&made["first"], &made["count"]), (&json!("job-1"), &json!(5_000)));
    let held = api.post("/arrays/job-1/hold", &json!({"why": "wait for the data"})).await.is(200).json;
    assert_eq!(held["array"], "job-1", "{held}");
    assert_eq!(api.get("/jobs/job-4000").await.is(200).json["reason"]["code"], "on-hold");
    api.post("/arrays/job-1/release", &json!({})).await.is(200);
    // Any of its jobs names it.
    let canceled = api.post("/arrays/job-77/cancel", &json!({})).await.is(200).json;
    assert_eq!(canceled, json!({"array": "job-1", "count": 5_000}));
    assert_eq!(api.get("/jobs/job-5000").await.is(200).json["state"], "canceled");
    assert_eq!(api.post("/arrays/job-1/cancel", &json!({})).await.is(200).json["count"], 0, "again is fine");
    api.post("/jobs", &hello()).await.is(201);
    api.post("/arrays/job-5001/cancel", &json!({})).await.refuses(404, "not-found");
    let reader = Api::role(&server, "Noor", Role::Reader).await;
    assert_eq!(reader.post("/arrays/job-1/cancel", &json!({})).await.status, 403);
}

#[tokio::test]
async fn hold_and_move_work_right_after_submission() {
    let server = Server::set_up().await;
    let api = with_pool(&server, 1).await;
    api.post("/jobs", &hello()).await.is(201);
    api.post("/jobs", &hello()).await.is(201);
    api.post("/jobs/job-2/move", &json!({"to": "front"})).await.is(200);
    assert_eq!(api.get("/jobs/job-2").await.json["position"]["place"], 1);
    api.post("/jobs/job-2/hold", &json!({})).await.is(200);
    // A job of a large array that isn't made yet.
    api.post("/jobs", &json!({"command": ["true"], "cluster": "pool", "array": 5_000})).await.is(201);
    api.post("/jobs/job-3000/move", &json!({"to": "front"})).await.is(200);
    api.post("/jobs/job-4000/hold", &json!({})).await.is(200);
    assert_eq!(api.get("/jobs/job-3000").await.json["position"]["place"], 1);
    assert_eq!(api.get("/jobs/job-4000").await.json["reason"]["code"], "on-hold");
}
