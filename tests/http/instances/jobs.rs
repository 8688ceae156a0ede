//! Jobs on an instance: one for each core, for its owner alone.

use atelier_domain::compute::instance::InstanceState;
use serde_json::json;

use super::Studio;
use crate::rest::Api;

fn on(instance: &str) -> serde_json::Value {
    json!({"command": ["true"], "instance": instance})
}

#[tokio::test]
async fn an_instance_takes_one_job_per_core_and_the_rest_waits_with_a_reason() {
    let studio = Studio::new().await;
    studio.running("desk").await;
    for number in 1..=3 {
        let made = studio.mara.post("/jobs", &on("desk")).await.is(201).json;
        assert_eq!(made["id"], format!("job-{number}"));
    }
    let job = |id: &'static str| studio.mara.get(id);
    for running in ["/jobs/job-1", "/jobs/job-2"] {
        let job = job(running).await.is(200).json;
        assert_eq!(job["state"], "starting", "{job}");
        assert_eq!(job["target"], json!({"kind": "instance", "name": "desk"}));
    }
    let waiting = job("/jobs/job-3").await.is(200).json;
    assert_eq!((&waiting["state"], &waiting["reason"]["code"]), (&json!("queued"), &json!("slots-busy")), "{waiting}");
    let listed = studio.mara.get("/jobs?instance=desk").await.is(200).json;
    assert_eq!(listed["jobs"].as_array().map(Vec::len), Some(3));
}

#[tokio::test]
async fn a_job_waits_for_an_instance_that_starts_and_is_refused_by_one_that_is_stopped() {
    let studio = Studio::new().await;
    studio.asleep("bench").await;
    let refused = studio.mara.post("/jobs", &on("bench")).await.is(409);
    assert!(refused.text.contains("It is not running. Start it first"), "{}", refused.text);
    let id = studio.make(&json!({"name": "desk", "size": "cpu-2"})).await;
    studio.mara.post("/jobs", &on("desk")).await.is(201);
    let waiting = studio.mara.get("/jobs/job-1").await.is(200).json;
    assert_eq!(waiting["reason"]["code"], "instance-not-ready", "{waiting}");
    studio.bring_up_to(id, InstanceState::JobRunning).await;
    let started = studio.mara.get("/jobs/job-1").await.is(200).json;
    assert_eq!(started["state"], "starting", "{started}");
}

#[tokio::test]
async fn only_its_owner_runs_jobs_there_and_only_in_one_place() {
    let studio = Studio::new().await;
    studio.running("desk").await;
    for somebody in ["sven@example.org", "ines@example.org"] {
        let refused = Api::of(&studio.server, somebody).await.post("/jobs", &on("desk")).await;
        assert!(refused.status.is_client_error() && refused.text.contains("owner"), "{}", refused.text);
    }
    let both = json!({"command": ["true"], "instance": "desk", "cluster": "pool"});
    studio.mara.post("/jobs", &both).await.refuses(422, "invalid").problem("instance");
    studio.mara.post("/jobs", &on("nowhere")).await.refuses(422, "invalid").problem("instance");
    let two = json!({"command": ["true"], "instance": "desk", "nodes": 2});
    assert!(studio.mara.post("/jobs", &two).await.status.is_client_error());
}

#[tokio::test]
async fn the_form_offers_ones_own_instances() {
    let studio = Studio::new().await;
    studio.running("desk").await;
    let form = "/w/perception/jobs/new";
    let page = studio.browser("mara").await.get(form).await;
    assert!(page.text.contains("instance:desk"), "{}", page.text);
    let others = studio.browser("sven").await.get(form).await;
    assert!(!others.text.contains("instance:desk"));
}
