//! A job, a cluster and a node say the same in their list, on their page, over REST and on the command line:
//! the state, why, and what would change it.

use atelier::components::StateWord;
use atelier_client::shown;
use atelier_domain::compute::JobId;
use atelier_domain::compute::job::JobState;
use atelier_domain::compute::node::NodeState;
use atelier_domain::compute::verb::ClusterState;
use atelier_domain::world::{Exit, Report};
use serde_json::{Value, json};

use crate::client::{Browser, Server};
use crate::rest::{Api, placed, with_pool};

const JOBS: &str = "/w/perception/jobs";
const CLUSTERS: &str = "/w/perception/compute/clusters";
const POOL: &str = "/w/perception/compute/clusters/pool";

/// Times pass between two looks, so numbers are not compared.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    for letter in text.chars() {
        match letter {
            '0'..='9' if plain.ends_with('#') => {}
            '0'..='9' => plain.push('#'),
            other => plain.push(other),
        }
    }
    plain
}

#[track_caller]
fn says(text: &str, part: &Value, place: &str) {
    if let Some(part) = part.as_str() {
        assert!(plain(text).contains(&plain(part)), "{place} lacks {part:?}:\n{text}");
    }
}

/// The row of a table with that key.
#[track_caller]
fn row(page: &str, key: &str) -> String {
    let start = page.find(&format!("<tr data-key=\"{key}\"")).unwrap_or_else(|| panic!("no row of {key}:\n{page}"));
    let end = page[start..].find("</tr>").expect("the row ends");
    page[start..start + end].to_owned()
}

async fn job_agrees(owner: &mut Browser, api: &Api, id: &str, state: JobState) {
    let one = api.get(&format!("/jobs/{id}")).await.is(200).json;
    assert_eq!(one["state"], state.key(), "{one}");
    let listed = api.get("/jobs").await.is(200).json;
    let listed = listed["jobs"].as_array().into_iter().flatten().find(|job| job["id"] == id).expect("is listed");
    assert_eq!((&listed["state"], &listed["verdict"]), (&one["state"], &one["verdict"]));
    assert_eq!(listed["reason"]["code"], one["reason"]["code"]);
    let why = if one["verdict"].is_null() { &one["reason"] } else { &one["verdict"] };
    assert_eq!(why["sentence"].is_null(), matches!(state, JobState::Completed) || why.is_null(), "{one}");

    let word = json!(StateWord::of_job(state).word());
    let line = row(&owner.get(JOBS).await.text, id);
    says(&line, &word, "the list");
    says(&line, &why["sentence"], "the list");
    let page = owner.get(&format!("{JOBS}/{id}")).await.text;
    says(&page, &word, "the page");
    says(&page, &why["sentence"], "the page");
    says(&page, &why["next_step"], "the page");
    let printed = shown::job(&one).join("\n");
    says(&printed, &one["state"], "the command line");
    says(&printed, &one["reason"]["sentence"], "the command line");
    says(&printed, &one["verdict"]["phrase"], "the command line");
    says(&printed, &why["next_step"], "the command line");
    let table = shown::jobs(&json!({"jobs": [one]})).join("\n");
    says(&table, &one["state"], "the table of the command line");
}

#[tokio::test]
async fn a_job_says_the_same_everywhere_in_every_state_it_passes() {
    let server = Server::set_up().await;
    let api = with_pool(&server, 1).await;
    let mut owner = server.owner().await;
    let engine = server.state.engine();
    let submit = async || api.post("/jobs", &json!({"command": ["sleep", "9"], "cluster": "pool"})).await.is(201);
    submit().await;
    job_agrees(&mut owner, &api, "job-1", JobState::Queued).await;
    let part = placed(&server, JobId(1)).await;
    job_agrees(&mut owner, &api, "job-1", JobState::Starting).await;
    engine.report(Report::JobStarted(part)).await.expect("heard");
    job_agrees(&mut owner, &api, "job-1", JobState::Running).await;
    // Others wait behind it, held or not.
    submit().await;
    submit().await;
    job_agrees(&mut owner, &api, "job-2", JobState::Queued).await;
    api.post("/jobs/job-3/hold", &json!({"why": "later"})).await.is(200);
    job_agrees(&mut owner, &api, "job-3", JobState::Queued).await;
    api.post("/jobs/job-3/cancel", &json!({})).await.is(200);
    job_agrees(&mut owner, &api, "job-3", JobState::Canceled).await;
    let exit = Exit::Code(3);
    engine.report(Report::JobExited { part, exit }).await.expect("heard");
    job_agrees(&mut owner, &api, "job-1", JobState::Finalizing).await;
    engine.report(Report::JobOff { part, exit }).await.expect("heard");
    job_agrees(&mut owner, &api, "job-1", JobState::Failed).await;
    // The next one ends well, and one more is ended while it runs.
    let part = placed(&server, JobId(2)).await;
    crate::rest::run(&server, part, 0).await;
    job_agrees(&mut owner, &api, "job-2", JobState::Completed).await;
    submit().await;
    let part = placed(&server, JobId(4)).await;
    engine.report(Report::JobStarted(part)).await.expect("heard");
    api.post("/jobs/job-4/cancel", &json!({})).await.is(200);
    job_agrees(&mut owner, &api, "job-4", JobState::CancelRequested).await;
    let exit = Exit::Code(143);
    for report in [Report::JobExited { part, exit }, Report::JobOff { part, exit }] {
        engine.report(report).await.expect("heard");
    }
    job_agrees(&mut owner, &api, "job-4", JobState::Canceled).await;
}

async fn cluster_agrees(owner: &mut Browser, api: &Api, state: ClusterState) {
    let one = api.get("/clusters/pool").await.is(200).json;
    assert_eq!(one["state"], state.key(), "{one}");
    let listed = api.get("/clusters").await.is(200).json["clusters"][0].clone();
    assert_eq!((&listed["state"], &listed["reason"]["code"]), (&one["state"], &one["reason"]["code"]));
    let (word, reason) = (json!(StateWord::of_cluster(state).word()), &one["reason"]);
    let line = row(&owner.get(CLUSTERS).await.text, one["id"].as_str().expect("an id"));
    says(&line, &word, "the list");
    says(&line, &reason["sentence"], "the list");
    let page = owner.get(POOL).await.text;
    says(&page, &word, "the page");
    // A paused one says who paused it and has the button beside it.
    if state != ClusterState::Paused {
        says(&page, &reason["sentence"], "the page");
        says(&page, &reason["next_step"], "the page");
    }
}

async fn node_agrees(owner: &mut Browser, api: &Api, state: NodeState) {
    let one = api.get("/clusters/pool/nodes").await.is(200).json["nodes"][0].clone();
    let key = serde_json::to_value(state).expect("a key");
    assert_eq!(one["state"], key, "{one}");
    let id = one["id"].as_str().expect("an id");
    let alone = api.get(&format!("/nodes/{id}")).await.is(200).json;
    assert_eq!((&alone["state"], &alone["reason"]["code"]), (&one["state"], &one["reason"]["code"]));
    let line = row(&owner.get(POOL).await.text, id);
    says(&line, &json!(StateWord::of_node(state).word()), "the page");
    says(&line, &one["reason"]["sentence"], "the page");
    says(&line, &one["reason"]["next_step"], "the page");
}

#[tokio::test]
async fn a_cluster_and_its_nodes_say_the_same_everywhere() {
    let server = Server::set_up().await;
    let api = with_pool(&server, 1).await;
    let mut owner = server.owner().await;
    let engine = server.state.engine();
    cluster_agrees(&mut owner, &api, ClusterState::Steady).await;
    api.post("/jobs", &json!({"command": ["sleep", "9"], "cluster": "pool"})).await.is(201);
    crate::rest::until(&server, "a node", |world| world.nodes().next().map(|_| ())).await;
    cluster_agrees(&mut owner, &api, ClusterState::Resizing).await;
    node_agrees(&mut owner, &api, NodeState::Preparing).await;
    let part = placed(&server, JobId(1)).await;
    engine.report(Report::JobStarted(part)).await.expect("heard");
    cluster_agrees(&mut owner, &api, ClusterState::Steady).await;
    node_agrees(&mut owner, &api, NodeState::Running).await;
    api.post("/clusters/pool/pause", &json!({"why": "maintenance"})).await.is(200);
    cluster_agrees(&mut owner, &api, ClusterState::Paused).await;
    api.post("/clusters/pool/resume", &json!({})).await.is(200);
    api.delete("/clusters/pool?jobs=wait").await.is(202);
    cluster_agrees(&mut owner, &api, ClusterState::Deleting).await;
    let exit = Exit::Code(0);
    for report in [Report::JobExited { part, exit }, Report::JobOff { part, exit }] {
        engine.report(report).await.expect("heard");
    }
    node_agrees(&mut owner, &api, NodeState::Leaving).await;
}
