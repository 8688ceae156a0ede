//! When jobs start, what they would do elsewhere, and what other settings would have done. Nodes and agents
//! are played by the tests.

use atelier_domain::access::Role;
use atelier_domain::compute::size::SiteName;
use atelier_domain::compute::{JobId, NodeId, Resources};
use atelier_domain::world::{AllocationKey, Exit, Report};
use axum::body::Body;
use axum::http::{Request, StatusCode, header};
use serde_json::{Value, json};

use crate::client::{Browser, Page, Server};
use crate::rest::Api;

const CLUSTER: &str = "/w/perception/compute/clusters/pool";
const PREVIEW: &str = "/w/perception/compute/clusters/pool/preview";

/// A server with a cluster of at most one node.
async fn furnished() -> (Server, Browser, Api) {
    let server = Server::set_up().await;
    let site = SiteName::parse("local").expect("a name");
    let capacity = Resources::new(64, 256, 0);
    server.state.engine().report(Report::Site { site, capacity }).await.expect("heard");
    let mut owner = server.owner().await;
    let size = [
        ("name", "small"),
        ("family", "general"),
        ("site", "local"),
        ("cores", "2"),
        ("memory", "4"),
        ("price", "0.60"),
    ];
    assert_eq!(owner.call("put_size", &size).await.status, StatusCode::OK);
    let cluster = [("name", "pool"), ("size", "small"), ("min", "0"), ("max", "1"), ("idle", "120"), ("tags", "")];
    let made = owner.call("create_cluster", &cluster).await;
    assert_eq!(made.status, StatusCode::OK, "{}", made.text);
    let api = Api::owner(&server).await;
    (server, owner, api)
}

async fn submit(api: &Api, body: Value) -> JobId {
    let answer = api.post("/jobs", &body).await.is(201);
    JobId::parse(answer.json["id"].as_str().expect("an id")).expect("an id")
}

fn job(name: &str, timeout: Option<u64>) -> Value {
    json!({ "name": name, "command": ["true"], "cluster": "pool", "timeout_seconds": timeout })
}

async fn hear(server: &Server, report: Report) {
    server.state.engine().report(report).await.expect("heard");
}

/// The part of a job that was handed to a node.
async fn part(server: &Server, job: JobId) -> AllocationKey {
    let ask = server.state.engine().ask(move |world| {
        let job = world.job(job)?;
        Some(AllocationKey { job: job.id, attempt: job.attempt, node: job.allocations.first()?.node })
    });
    ask.await.expect("answers").expect("it has a node")
}

async fn first_node(server: &Server) -> NodeId {
    let ask = server.state.engine().ask(|world| world.nodes().next().map(|node| node.id));
    ask.await.expect("answers").expect("a node is wanted")
}

async fn run_to_its_end(server: &Server, job: JobId) {
    let part = part(server, job).await;
    hear(server, Report::JobStarted(part)).await;
    hear(server, Report::JobOff { part, exit: Exit::Code(0) }).await;
}

async fn ask_when(browser: &mut Browser, fields: &[(&str, &str)]) -> Page {
    const MARK: &str = "----between";
    let mut body = String::new();
    for (name, value) in fields {
        body.push_str(&format!("--{MARK}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n"));
    }
    body.push_str(&format!("--{MARK}--\r\n"));
    let request = Request::post("/w/perception/jobs/upload")
        .header(header::ACCEPT, "text/html")
        .header(header::CONTENT_TYPE, format!("multipart/form-data; boundary={MARK}"))
        .header("sec-fetch-site", "same-origin");
    let answer = browser.send(request.body(Body::from(body)).expect("a request")).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.text);
    let next = answer.location().to_owned();
    browser.get(&next).await
}

#[tokio::test]
async fn a_job_that_waits_says_when_it_starts_and_why_not_before() {
    let (server, mut owner, api) = furnished().await;
    let first = submit(&api, job("train", Some(600))).await;
    hear(&server, Report::NodeUp(first_node(&server).await)).await;
    hear(&server, Report::JobStarted(part(&server, first).await)).await;
    let second = submit(&api, job("score", Some(60))).await;
    let third = submit(&api, job("report", None)).await;
    let fourth = submit(&api, job("mail", Some(60))).await;

    let eta = api.get(&format!("/jobs/{second}")).await.is(200).json["eta"].clone();
    let seconds = eta["in_seconds"].as_i64().expect("a number");
    assert!((540..=605).contains(&seconds), "{eta}");
    assert_eq!(eta["jobs_ending_before"], 1, "{eta}");
    assert!(eta["start"].is_string() && eta["end"].is_string() && eta["unknown"].is_null(), "{eta}");
    // The third starts when the second ends, and nobody knows when it ends itself.
    let eta = api.get(&format!("/jobs/{third}")).await.is(200).json["eta"].clone();
    assert!(eta["start"].is_string() && eta["end"].is_null(), "{eta}");
    let eta = api.get(&format!("/jobs/{fourth}")).await.is(200).json["eta"].clone();
    assert_eq!(eta["unknown"], "eta.no-time-limit", "{eta}");
    let why = format!("because {third} has no time limit and nothing like it has run to its end before");
    assert!(eta["sentence"].as_str().is_some_and(|text| text.contains(&why)), "{eta}");
    // What runs has no start ahead.
    assert!(api.get(&format!("/jobs/{first}")).await.is(200).json["eta"].is_null());

    let page = owner.get(&format!("/w/perception/jobs/{second}")).await;
    page.shows("It starts about").shows("because 1 job before it ends by then").shows("It ends about");
    let page = owner.get(&format!("/w/perception/jobs/{fourth}")).await;
    page.shows("When it starts: unknown, because");
    let cluster = owner.get(CLUSTER).await;
    cluster.shows("Starts about").shows("1 job before it ends by then");
    // Why it does not grow, with the numbers.
    cluster.shows("At the maximum of 1; queued jobs could use 3 more.");
    owner.get("/w/perception/jobs").await.shows("Starts about");
}

#[tokio::test]
async fn jobs_of_one_name_are_expected_to_take_as_long_as_before() {
    let (server, _owner, api) = furnished().await;
    let past = submit(&api, job("train", None)).await;
    hear(&server, Report::NodeUp(first_node(&server).await)).await;
    run_to_its_end(&server, past).await;
    let running = submit(&api, job("train", Some(3_600))).await;
    hear(&server, Report::JobStarted(part(&server, running).await)).await;
    let next = submit(&api, job("train", None)).await;
    let eta = api.get(&format!("/jobs/{next}")).await.is(200).json["eta"].clone();
    // The one before it is over in no time, or has at most its limit if it took longer.
    assert!(eta["start"].is_string() && eta["end"].is_string(), "{eta}");
}

#[tokio::test]
async fn before_a_submission_a_table_says_when_it_would_start_where() {
    let (server, mut owner, api) = furnished().await;
    let fields = [("command", "python train.py"), ("cluster", "pool"), ("timeout", "30"), ("act", "when")];
    let page = ask_when(&mut owner, &fields).await;
    page.shows("When would it start?").shows("as typed").shows("preemptible").shows("Serverless").shows("€0.30");
    // What was typed is still there, and nothing was submitted.
    page.shows("python train.py").shows("its time limit of 30 min");
    owner.get("/w/perception/jobs").await.shows("No jobs yet");
    let wrong = [("command", "true"), ("cluster", "pool"), ("cores", "many"), ("act", "when")];
    ask_when(&mut owner, &wrong).await.shows("not “many”").hides("as typed");

    let table = api.post("/jobs/what-if", &job("new", Some(1_800))).await.is(200).json;
    let choices = table["choices"].as_array().expect("a list");
    assert_eq!(choices.len(), 3, "{table}");
    assert_eq!((&choices[0]["kind"], &choices[0]["asked"]), (&json!("cluster"), &json!(true)), "{table}");
    assert!(choices.iter().all(|choice| choice["start"].is_string() && choice["cost_at_most"] == 0.3), "{table}");
    assert_eq!((&table["run_from"], &table["run_seconds"]), (&json!("time-limit"), &json!(1_800.0)));
    let too_large = json!({ "command": ["true"], "cluster": "pool", "cores": 3 });
    let table = api.post("/jobs/what-if", &too_large).await.is(200).json;
    assert!(table["choices"][0]["start"].is_null() && table["choices"][0]["sentence"] != "", "{table}");
    let nothing = json!({ "cluster": "pool" });
    api.post("/jobs/what-if", &nothing).await.refuses(422, "invalid");
    let reader = Api::role(&server, "Rita", Role::Reader).await;
    reader.post("/jobs/what-if", &job("new", None)).await.is(403);
    assert_eq!(api.get("/jobs").await.json["jobs"], json!([]));
}

#[tokio::test]
async fn settings_are_tried_on_the_jobs_of_last_week() {
    let (server, mut owner, api) = furnished().await;
    owner.get(CLUSTER).await.shows(PREVIEW);
    owner.get(PREVIEW).await.shows("There is no history yet").hides("Try on last week");
    owner.get("/w/perception/preview.svg").await.shows("preview");
    for number in 0..3 {
        let job = submit(&api, job(&format!("job {number}"), None)).await;
        if number == 0 {
            hear(&server, Report::NodeUp(first_node(&server).await)).await;
        }
        run_to_its_end(&server, job).await;
    }
    owner.get(PREVIEW).await.shows("3 jobs of the last 7 days are played").shows("Nothing tried yet");
    let page = owner.get(&format!("{PREVIEW}?run=1&min=1&max=4&idle=60&warm=0&order=fair-share&backfill=on")).await;
    page.shows("As it is").shows("Changed").shows("Wait, median").shows("Launches").shows("/w/perception/preview.svg");
    // What was typed stays in the form.
    page.shows("value=\"60\"");
    let chart = owner.get("/w/perception/preview.svg").await;
    assert_eq!((chart.status, chart.header("content-type")), (StatusCode::OK, "image/svg+xml; charset=utf-8"));
    assert!(chart.header("content-security-policy").starts_with("default-src 'none'"));
    chart.shows("<svg");
    let wrong = owner.get(&format!("{PREVIEW}?run=1&min=5&max=4&idle=soon")).await;
    wrong.shows("this is “soon”").hides("Wait, median");
    let wrong = owner.get(&format!("{PREVIEW}?run=1&min=5&max=4&idle=60&warm=0")).await;
    wrong.shows("The minimum of 5 is above the maximum of 4.").hides("Wait, median");
    // Settings on the cluster stay as they are.
    let cluster = api.get("/clusters/pool").await.is(200).json;
    assert_eq!((&cluster["min"], &cluster["max"]), (&json!(0), &json!(1)), "{cluster}");

    server.add("Rita", &[Role::Reader]).await;
    let mut reader = server.signed_in("rita@example.org").await;
    let refused = reader.get(PREVIEW).await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
    assert_eq!(reader.get("/w/perception/preview.svg").await.status, StatusCode::FORBIDDEN);
}
