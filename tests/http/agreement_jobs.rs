//! A job, a cluster and a node say the same in their list, on their page, over REST and on the command line:
//! the state, why, and what would change it.

use atelier::components::StateWord;
use atelier_client::shown;
use atelier_domain::compute::JobId;
use atelier_domain::compute::job::JobState;
use atelier_domain::compute::node::{NodePhase, NodeState};
use atelier_domain::compute::verb::ClusterState;
use atelier_domain::world::{Exit, Report, World};
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

/// Every state has its place here: a new one does not compile before it is walked through below.
const fn place_of_job(state: JobState) -> usize {
    match state {
        JobState::Queued => 0,
        JobState::Starting => 1,
        JobState::Running => 2,
        JobState::Finalizing => 3,
        JobState::CancelRequested => 4,
        JobState::NotResponding => 5,
        JobState::Completed => 6,
        JobState::Failed => 7,
        JobState::Canceled => 8,
    }
}

const fn place_of_cluster(state: ClusterState) -> usize {
    match state {
        ClusterState::Steady => 0,
        ClusterState::Resizing => 1,
        ClusterState::Paused => 2,
        ClusterState::Deleting => 3,
    }
}

/// The place of a node's phase. Only instances keep a node that was silent for too long, and it is shown like
/// one that is silent.
const fn place_of_node(phase: &NodePhase) -> Option<usize> {
    match phase {
        NodePhase::Launching { .. } => Some(0),
        NodePhase::Ready => Some(1),
        NodePhase::Silent { .. } => Some(2),
        NodePhase::Cordoned { .. } => Some(3),
        NodePhase::Reclaiming { .. } => Some(4),
        NodePhase::Releasing { .. } => Some(5),
        NodePhase::Unusable => None,
    }
}

/// What can be done is offered on the page and named by the API.
#[track_caller]
fn offers(page: &str, one: &Value, verb: &str, button: &str) {
    let is_named = one["actions"].as_array().is_some_and(|actions| actions.contains(&json!(verb)));
    assert_eq!(page.contains(button), is_named, "{button}: {}\n{page}", one["actions"]);
}

async fn job_agrees(owner: &mut Browser, api: &Api, id: &str, state: JobState, seen: &mut [bool; 9]) {
    seen[place_of_job(state)] = true;
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
    offers(&page, &one, "cancel", "Cancel job");
    offers(&page, &one, "evict", "Evict now");
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
    let mut seen = [false; 9];
    let submit = async || api.post("/jobs", &json!({"command": ["sleep", "9"], "cluster": "pool"})).await.is(201);
    submit().await;
    job_agrees(&mut owner, &api, "job-1", JobState::Queued, &mut seen).await;
    let part = placed(&server, JobId(1)).await;
    job_agrees(&mut owner, &api, "job-1", JobState::Starting, &mut seen).await;
    engine.report(Report::JobStarted(part)).await.expect("heard");
    job_agrees(&mut owner, &api, "job-1", JobState::Running, &mut seen).await;
    // Others wait behind it, held or not.
    submit().await;
    submit().await;
    job_agrees(&mut owner, &api, "job-2", JobState::Queued, &mut seen).await;
    api.post("/jobs/job-3/hold", &json!({"why": "later"})).await.is(200);
    job_agrees(&mut owner, &api, "job-3", JobState::Queued, &mut seen).await;
    api.post("/jobs/job-3/cancel", &json!({})).await.is(200);
    job_agrees(&mut owner, &api, "job-3", JobState::Canceled, &mut seen).await;
    let exit = Exit::Code(3);
    engine.report(Report::JobExited { part, exit }).await.expect("heard");
    job_agrees(&mut owner, &api, "job-1", JobState::Finalizing, &mut seen).await;
    engine.report(Report::JobOff { part, exit }).await.expect("heard");
    job_agrees(&mut owner, &api, "job-1", JobState::Failed, &mut seen).await;
    // The next one ends well, and one more is ended while it runs.
    let part = placed(&server, JobId(2)).await;
    crate::rest::run(&server, part, 0).await;
    job_agrees(&mut owner, &api, "job-2", JobState::Completed, &mut seen).await;
    submit().await;
    let part = placed(&server, JobId(4)).await;
    engine.report(Report::JobStarted(part)).await.expect("heard");
    api.post("/jobs/job-4/cancel", &json!({})).await.is(200);
    job_agrees(&mut owner, &api, "job-4", JobState::CancelRequested, &mut seen).await;
    let exit = Exit::Code(143);
    for report in [Report::JobExited { part, exit }, Report::JobOff { part, exit }] {
        engine.report(report).await.expect("heard");
    }
    job_agrees(&mut owner, &api, "job-4", JobState::Canceled, &mut seen).await;
    // One more is told to leave its node.
    submit().await;
    let part = placed(&server, JobId(5)).await;
    engine.report(Report::JobStarted(part)).await.expect("heard");
    api.post("/jobs/job-5/evict", &json!({})).await.is(200);
    job_agrees(&mut owner, &api, "job-5", JobState::NotResponding, &mut seen).await;
    assert_eq!(seen, [true; 9]);
}

async fn cluster_agrees(owner: &mut Browser, api: &Api, state: ClusterState, seen: &mut [bool; 4]) {
    seen[place_of_cluster(state)] = true;
    let one = api.get("/clusters/pool").await.is(200).json;
    assert_eq!(one["state"], state.key(), "{one}");
    let listed = api.get("/clusters").await.is(200).json["clusters"][0].clone();
    assert_eq!((&listed["state"], &listed["reason"]["code"]), (&one["state"], &one["reason"]["code"]));
    assert_eq!((&listed["actions"], listed["cost_today"].is_null()), (&one["actions"], false), "{one}");
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
    assert_eq!((&alone["actions"], &alone["price_per_hour"]), (&one["actions"], &one["price_per_hour"]));
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
    let mut seen = [false; 4];
    cluster_agrees(&mut owner, &api, ClusterState::Steady, &mut seen).await;
    api.post("/jobs", &json!({"command": ["sleep", "9"], "cluster": "pool"})).await.is(201);
    crate::rest::until(&server, "a node", |world| world.nodes().next().map(|_| ())).await;
    cluster_agrees(&mut owner, &api, ClusterState::Resizing, &mut seen).await;
    node_agrees(&mut owner, &api, NodeState::Preparing).await;
    let part = placed(&server, JobId(1)).await;
    engine.report(Report::JobStarted(part)).await.expect("heard");
    cluster_agrees(&mut owner, &api, ClusterState::Steady, &mut seen).await;
    node_agrees(&mut owner, &api, NodeState::Running).await;
    api.post("/clusters/pool/pause", &json!({"why": "maintenance"})).await.is(200);
    cluster_agrees(&mut owner, &api, ClusterState::Paused, &mut seen).await;
    api.post("/clusters/pool/resume", &json!({})).await.is(200);
    api.delete("/clusters/pool?jobs=wait").await.is(202);
    cluster_agrees(&mut owner, &api, ClusterState::Deleting, &mut seen).await;
    let exit = Exit::Code(0);
    for report in [Report::JobExited { part, exit }, Report::JobOff { part, exit }] {
        engine.report(report).await.expect("heard");
    }
    node_agrees(&mut owner, &api, NodeState::Leaving).await;
    assert_eq!(seen, [true; 4]);
}

#[tokio::test]
async fn a_node_says_the_same_everywhere_in_every_phase() {
    let server = Server::set_up().await;
    let api = with_pool(&server, 1).await;
    let mut owner = server.owner().await;
    let engine = server.state.engine();
    let mut seen = [false; 6];
    let submit = async || api.post("/jobs", &json!({"command": ["sleep", "9"], "cluster": "pool"})).await.is(201);
    let mut agrees = async |state: NodeState| {
        node_agrees(&mut owner, &api, state).await;
        let phases = |world: &World| world.nodes().map(|node| place_of_node(&node.phase)).collect::<Vec<_>>();
        for place in engine.ask(phases).await.expect("answers").into_iter().flatten() {
            seen[place] = true;
        }
    };
    submit().await;
    crate::rest::until(&server, "a node", |world| world.nodes().next().map(|_| ())).await;
    agrees(NodeState::Preparing).await;
    let part = placed(&server, JobId(1)).await;
    engine.report(Report::JobStarted(part)).await.expect("heard");
    agrees(NodeState::Running).await;
    crate::rest::run(&server, part, 0).await;
    agrees(NodeState::Idle).await;
    engine.report(Report::NodeSilent(part.node)).await.expect("heard");
    agrees(NodeState::Unusable).await;
    // It comes back, and is taken back while a job runs there.
    engine.report(Report::NodeUp(part.node)).await.expect("heard");
    submit().await;
    let part = placed(&server, JobId(2)).await;
    engine.report(Report::JobStarted(part)).await.expect("heard");
    api.post(&format!("/nodes/{}/evict", part.node), &json!({})).await.is(202);
    agrees(NodeState::Preempted).await;
    let exit = Exit::Code(143);
    for report in [Report::JobExited { part, exit }, Report::JobOff { part, exit }] {
        engine.report(report).await.expect("heard");
    }
    agrees(NodeState::Leaving).await;
    engine.report(Report::NodeGone(part.node)).await.expect("heard");
    // The next node stays until its job is over, though the cluster goes.
    let part = placed(&server, JobId(2)).await;
    engine.report(Report::JobStarted(part)).await.expect("heard");
    api.delete("/clusters/pool?jobs=wait").await.is(202);
    agrees(NodeState::Leaving).await;
    assert_eq!(seen, [true; 6]);
}
