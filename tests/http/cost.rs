//! What computes, people and jobs cost: the page, the file, the API, and who sees what.

use atelier_domain::access::Role;
use axum::http::StatusCode;
use serde_json::json;

use crate::client::Server;
use crate::instances::Studio;
use crate::rest::{Api, furnish, id_of, placed, run};

const PAGE: &str = "/w/perception/cost";
const FILE: &str = "/w/perception/cost.csv";

/// The cluster `pool` of the Owner with one node that costs a lot, so that moments count.
pub async fn dear(server: &Server) -> Api {
    furnish(server).await;
    let api = Api::owner(server).await;
    let size =
        json!({"family": "general", "site": "local", "cores": 2, "memory_mib": 4_096, "price_per_hour": 900_000});
    api.put("/sizes/cpu-dear", &size).await.is(201);
    api.post("/clusters", &json!({"name": "pool", "size": "cpu-dear", "min": 1, "max": 1})).await.is(201);
    api
}

#[tokio::test]
async fn a_studio_that_used_nothing_says_so() {
    let server = Server::set_up().await;
    let mut owner = server.owner().await;
    owner.get(PAGE).await.shows("Nothing was used in these days").shows("30 days").shows("€0.00").hides(FILE);
    owner.get("/w/perception/search?q=ledger").await.shows(PAGE);
    let file = owner.get(FILE).await;
    assert_eq!((file.status, file.text.as_str()), (StatusCode::OK, "compute,id,kind,node_hours,cost,currency\r\n"));
}

#[tokio::test]
async fn cost_is_told_by_compute_person_job_and_day() {
    let server = Server::set_up().await;
    let api = dear(&server).await;
    let job = api.post("/jobs", &json!({"command": ["true"], "cluster": "pool", "name": "=night,run"})).await.is(201);
    let part = placed(&server, id_of(&job)).await;
    run(&server, part, 0).await;
    let mut owner = server.owner().await;
    owner
        .get(PAGE)
        .await
        .shows("href=\"/w/perception/compute/clusters/pool\"")
        .shows("class=\"plot\"")
        .shows("€900,000.00")
        .shows("1 node")
        .shows("Total")
        .shows("100 %")
        .shows(&format!("href=\"{FILE}\""))
        .hides("Saved against");
    owner.get(&format!("{PAGE}?days=7&by=person")).await.shows("By person").shows("Ines Okafor").shows("aria-current");
    let jobs = owner.get(&format!("{PAGE}?days=90&by=job")).await;
    jobs.shows("=night,run").shows("Without a job").shows(&format!("href=\"{FILE}?days=90&amp;by=job\""));
    owner.get(&format!("{PAGE}?by=day")).await.shows("<time datetime=\"");
    owner.get(&format!("{PAGE}?from=2020-01-01&to=2020-02-01")).await.shows("Nothing was used").shows("€900,000.00");

    let file = owner.get(&format!("{FILE}?days=90&by=job")).await;
    assert_eq!(file.header("content-type"), "text/csv; charset=utf-8");
    assert!(file.header("content-disposition").contains("-by-job.csv"), "{:?}", file.headers);
    file.shows("job,id,kind,node_hours,cost,currency\r\n")
        .shows("\"'=night,run\",job-1,job,")
        .shows("Without a job,,no-job,");
    let days = owner.get(&format!("{FILE}?days=7&by=day")).await;
    assert_eq!(days.text.lines().count(), 8, "each day has its line: {}", days.text);

    let by = async |by: &str| api.get(&format!("/cost?by={by}")).await.is(200).json;
    let computes = by("compute").await;
    assert_eq!((&computes["rows"][0]["name"], &computes["rows"][0]["kind"]), (&json!("pool"), &json!("cluster")));
    assert_eq!(
        (&computes["now"], &computes["own_only"]),
        (&json!({"cost_per_hour": 900_000.0, "nodes": 1}), &json!(false))
    );
    assert!(computes["total"]["cost"].as_f64().is_some_and(|cost| cost > 0.0), "{computes}");
    assert_eq!(by("person").await["rows"][0]["name"], "Ines Okafor");
    assert_eq!(by("day").await["rows"].as_array().map(Vec::len), Some(1));
    let one = api.get("/cost?by=job&limit=1").await.is(200).json;
    assert_eq!((one["rows"].as_array().map(Vec::len), &one["rest"]["count"]), (Some(1), &json!(1)));
    let jobs = by("job").await;
    let cost = |row: &serde_json::Value| row["cost"].as_f64().unwrap_or_default();
    let parts: f64 = jobs["rows"].as_array().expect("rows").iter().map(cost).sum();
    assert!((parts - cost(&jobs["total"])).abs() < 1e-6, "the parts add up: {jobs}");
}

#[tokio::test]
async fn days_that_cannot_be_are_named_and_the_usual_ones_shown() {
    let server = Server::set_up().await;
    let api = dear(&server).await;
    let mut owner = server.owner().await;
    for (query, field, words) in [
        ("from=2026-13-01&to=2026-03-01", "from", "A day is written like 2026-03-01; this is “2026-13-01”."),
        ("from=2026-03-02&to=2026-03-01", "from", "The first day, 2026-03-02, is after the last, 2026-03-01."),
        ("from=2020-01-01&to=2026-03-01", "from", "At most 366 days are shown at once"),
        ("to=soon", "to", "“soon”"),
        ("days=many", "days", "“days” is a number from 1 to 366, not “many”."),
        ("by=colour", "by", "“by” is day, compute, person or job, not “colour”."),
    ] {
        let page = owner.get(&format!("{PAGE}?{query}")).await;
        assert_eq!(page.status, StatusCode::OK, "{query}");
        page.shows(words).shows("pool");
        let file = owner.get(&format!("{FILE}?{query}")).await;
        assert_eq!(file.status, StatusCode::UNPROCESSABLE_ENTITY, "{query}");
        file.shows(words);
        api.get(&format!("/cost?{query}")).await.refuses(422, "invalid").problem(field);
    }
    for (query, field) in [("time_zone=Mars", "time_zone"), ("limit=0", "limit"), ("limit=501", "limit"), ("x=1", "x")]
    {
        api.get(&format!("/cost?{query}")).await.refuses(422, "invalid").problem(field);
    }
    let nasty = owner.get(&format!("{PAGE}?from=%3Cscript%3Ealert(1)%3C/script%3E&days=%22%3E")).await;
    nasty.hides("<script>alert(1)");
}

#[tokio::test]
async fn people_see_their_own_cost_and_operators_all_of_it() {
    let server = Server::set_up().await;
    dear(&server).await;
    for (name, role) in [("Noor", Role::Reader), ("Mara", Role::DataScientist)] {
        server.add(name, &[role]).await;
        let email = format!("{}@example.org", name.to_lowercase());
        let mut browser = server.signed_in(&email).await;
        browser
            .get(PAGE)
            .await
            .shows("Only your own cost")
            .shows("Compute Operator, Contributor and Owner")
            .shows("Nothing was used")
            .hides("€900,000.00");
        browser.get(FILE).await.hides("pool");
        let own = Api::of(&server, &email).await.get("/cost").await.is(200).json;
        assert_eq!((&own["own_only"], &own["now"]["nodes"], &own["rows"]), (&json!(true), &json!(0), &json!([])));
    }
    let oskar = Api::role(&server, "Oskar", Role::ComputeOperator).await;
    assert_eq!(oskar.get("/cost").await.is(200).json["rows"][0]["name"], "pool");
    assert_eq!(server.owner().await.get("/w/elsewhere/cost.csv").await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn instances_that_are_off_save_something_and_say_how_much() {
    let studio = Studio::new().await;
    studio.asleep("mara-lab").await;
    let mut mara = studio.browser("mara").await;
    mara.get(PAGE).await.shows("Saved against always on").shows("1 instance off for");
    let mut sven = studio.browser("sven").await;
    sven.get(PAGE).await.hides("Saved against always on");
}
