//! Scheduling as people see it: shares, the order of queues, jobs that are held, moved and evicted,
//! dependencies, tiers, nodes kept ready and minimums by the hour. Nodes and agents are played by the tests.

use atelier_domain::access::Role;
use atelier_domain::compute::JobId;
use atelier_domain::world::Report;
use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::client::Server;
use crate::rest::{Api, furnish, id_of, placed, run, with_pool};

const SHARES: &str = "/w/perception/admin/shares";
const POOL: &str = "/w/perception/compute/clusters/pool";
const JOBS: &str = "/w/perception/jobs";

fn hello() -> Value {
    json!({"command": ["sleep", "1"], "cluster": "pool", "cores": 2, "memory_mib": 512})
}

fn person<'a>(shares: &'a Value, name: &str) -> &'a Value {
    let people = shares["people"].as_array().expect("a list");
    people.iter().find(|line| line["person"]["name"] == name).unwrap_or_else(|| panic!("no {name}: {shares}"))
}

#[tokio::test]
async fn weights_are_set_seen_and_told_in_the_history_by_name() {
    let server = Server::set_up().await;
    let api = with_pool(&server, 2).await;
    server.add("Mara", &[Role::DataScientist]).await;
    let mut owner = server.owner().await;
    owner.get(SHARES).await.shows("Fair shares").shows("Mara").shows("the usual").shows("7 days");
    owner.get("/w/perception/admin/quota").await.shows(&format!("href=\"{SHARES}\""));
    let fields = [("person", "mara@example.org"), ("weight", "300"), ("why", "a deadline")];
    owner.submit(SHARES, "set_share", &fields).await.shows("Mara has the weight 300 now.").shows("<b>300</b>");
    owner.submit(SHARES, "set_share", &fields).await.shows("has the weight 300 already");
    owner
        .submit(SHARES, "set_half_life", &[("half_life", "2 days")])
        .await
        .shows("What was used 2 days ago counts half.");
    owner
        .submit(SHARES, "set_queue_policy", &[("order", "fifo")])
        .await
        .shows("Serverless jobs are served by arrival; nobody passes.");
    let page = owner.get("/w/perception/activity").await;
    page.shows("gave Mara a share of 300").shows("a deadline").shows("let use count half after 2 days");
    page.shows("let serverless jobs be served by fifo");
    // What was done to somebody is theirs to see.
    let mut mara = server.signed_in("mara@example.org").await;
    mara.get("/w/perception/activity").await.shows("gave Mara a share of 300").hides("2 days");
    let shares = api.get("/shares").await.is(200).json;
    assert_eq!((&shares["half_life_hours"], &shares["serverless"]["order"]), (&json!(48), &json!("fifo")));
    assert_eq!(person(&shares, "Mara")["weight"], 300);
}

#[tokio::test]
async fn what_runs_counts_for_who_runs_it() {
    let server = Server::set_up().await;
    let api = with_pool(&server, 2).await;
    api.post("/jobs", &hello()).await.is(201);
    let part = placed(&server, JobId(1)).await;
    server.state.engine().report(Report::JobStarted(part)).await.expect("heard");
    let shares = api.get("/shares?person=ines").await.is(200).json;
    let ines = person(&shares, "Ines Okafor");
    assert_eq!(ines["running"], json!({"jobs": 1, "cores": 2.0, "memory_mib": 512, "gpus": 0}));
    assert_eq!(ines["used_percent"], 100.0);
    assert!(ines["used_core_hours"].as_f64().is_some_and(|used| used > 1.0), "{ines}");
    let mut owner = server.owner().await;
    owner.get(SHARES).await.shows("100 % of 100 % meant").shows("1 job").shows("2 cores");
}

#[tokio::test]
async fn absurd_weights_and_half_lives_are_refused_with_field_and_bounds() {
    let server = Server::set_up().await;
    let api = with_pool(&server, 1).await;
    let mut owner = server.owner().await;
    for (weight, words) in
        [("0", "not 0"), ("-3", "not -3"), ("1001", "not 1001"), ("heavy", "not “heavy”"), ("", "not “”")]
    {
        let fields = [("person", "ines@example.org"), ("weight", weight), ("why", "so")];
        let page = owner.submit(SHARES, "set_share", &fields).await;
        page.shows("f-weight-problem").shows("between 1 and 1000").shows(words).shows("value=\"so\"");
    }
    let page = owner.submit(SHARES, "set_share", &[("person", "nobody@example.org"), ("weight", "5")]).await;
    page.shows("f-person-problem").shows("Nobody here is");
    for half_life in ["0", "soon", "9999 days"] {
        let page = owner.submit(SHARES, "set_half_life", &[("half_life", half_life)]).await;
        page.shows("f-half_life-problem").shows("365 days");
    }
    for (body, field) in [
        (json!({}), "body"),
        (json!({"person": "me"}), "weight"),
        (json!({"weight": 5}), "person"),
        (json!({"person": "me", "weight": 0}), "weight"),
        (json!({"person": "me", "weight": -1}), "weight"),
        (json!({"person": "me", "weight": 5000}), "weight"),
        (json!({"person": "nobody@example.org", "weight": 5}), "person"),
        (json!({"half_life_hours": 0}), "half_life_hours"),
        (json!({"half_life_hours": -5}), "half_life_hours"),
        (json!({"half_life_hours": 100_000}), "half_life_hours"),
        (json!({"serverless": {"order": "random"}}), "order"),
        (json!({"person": "me", "weight": 5, "serverless": {"order": "random"}}), "order"),
        (json!({"colour": "red"}), "body"),
    ] {
        api.put("/shares", &body).await.refuses(422, "invalid").problem(field);
    }
    assert_eq!(person(&api.get("/shares").await.json, "Ines Okafor")["weight"], 100, "nothing was set by halves");
}

#[tokio::test]
async fn shares_need_the_right_to_them() {
    let server = Server::set_up().await;
    furnish(&server).await;
    server.add("Con", &[Role::Contributor]).await;
    let mut browser = server.signed_in("con@example.org").await;
    browser.get(SHARES).await.shows("does not include quota.write");
    let answer = browser.call("set_share", &[("person", "con@example.org"), ("weight", "500")]).await;
    assert_eq!(answer.status, StatusCode::FORBIDDEN, "{}", answer.text);
    let api = Api::of(&server, "con@example.org").await;
    api.put("/shares", &json!({"person": "me", "weight": 500})).await.refuses(403, "right.missing");
    api.put("/shares", &json!({"half_life_hours": 5})).await.refuses(403, "right.missing");
    // How queues are served is the business of who runs clusters.
    api.put("/shares", &json!({"serverless": {"backfill": false}})).await.is(200);
}

#[tokio::test]
async fn a_queue_is_served_as_said_and_a_pause_says_by_whom_and_since_when() {
    let server = Server::set_up().await;
    let api = with_pool(&server, 1).await;
    let mut owner = server.owner().await;
    owner.get(POOL).await.shows("Queue order").shows("value=\"fair-share\" checked");
    let fields = [("cluster", "pool"), ("order", "fifo"), ("backfill", "on")];
    let page = owner.submit(POOL, "set_queue_policy", &fields).await;
    page.shows("The queue of pool is served by arrival; small jobs may pass.").shows("value=\"fifo\" checked");
    page.shows("served by arrival, small ones may pass");
    assert_eq!(api.get("/clusters/pool").await.json["queue"], json!({"order": "fifo", "backfill": true}));
    let changed =
        api.patch("/clusters/pool", &json!({"queue": {"order": "fair-share", "backfill": false}})).await.is(200);
    assert_eq!(changed.json["queue"], json!({"order": "fair-share", "backfill": false}));
    api.patch("/clusters/pool", &json!({"queue": {"order": "x"}})).await.refuses(422, "invalid").problem("order");
    owner.submit(POOL, "pause_cluster", &[("cluster", "pool")]).await.shows("Ines Okafor paused the queue since ");
    let paused = api.get("/clusters/pool").await.json["paused"].clone();
    assert_eq!(paused["by"], "Ines Okafor");
    assert!(paused["since"].as_str().is_some_and(|since| since.ends_with('Z')), "{paused}");
    owner.get("/w/perception/activity").await.shows("let pool be served by fair-share");
    server.add("Noor", &[Role::Reader]).await;
    let mut reader = server.signed_in("noor@example.org").await;
    let answer = reader.call("set_queue_policy", &[("cluster", "pool"), ("order", "fifo")]).await;
    assert_eq!(answer.status, StatusCode::FORBIDDEN, "{}", answer.text);
}

/// A cluster of one node that is busy with job-1, and so many jobs of the Owner behind it.
async fn queue(server: &Server, waiting: u32) -> Api {
    let api = with_pool(server, 1).await;
    api.post("/jobs", &hello()).await.is(201);
    let part = placed(server, JobId(1)).await;
    server.state.engine().report(Report::JobStarted(part)).await.expect("heard");
    for _ in 0..waiting {
        api.post("/jobs", &hello()).await.is(201);
    }
    api
}

async fn place(api: &Api, job: &str) -> Value {
    api.get(&format!("/jobs/{job}")).await.is(200).json["position"]["place"].clone()
}

#[tokio::test]
async fn waiting_jobs_are_held_and_released() {
    let server = Server::set_up().await;
    let api = queue(&server, 2).await;
    let mut owner = server.owner().await;
    owner.get(&format!("{JOBS}/job-2")).await.shows("Place 1 of 2").shows("/jobs/confirm/hold?id=job-2");
    let ask = format!("{JOBS}/confirm/hold?id=job-2");
    owner.get(&ask).await.shows("Hold sleep (job-2)?").shows("does not start until it is released");
    let fields = [("ids[]", "job-2"), ("why", "wait for the data")];
    let page = owner.submit(&ask, "hold_jobs", &fields).await;
    page.shows("1 job is held.").shows("Held back by Ines Okafor since").shows("wait for the data");
    page.shows("/fn/release_jobs");
    owner.get(JOBS).await.shows("class=\"tag\">Held</span>");
    owner.get(POOL).await.shows("held").shows("job-2");
    assert_eq!(api.get("/jobs/job-2").await.json["held"]["why"], "wait for the data");
    assert_eq!((place(&api, "job-2").await, place(&api, "job-3").await), (Value::Null, json!(1)));
    owner.get(&ask).await.shows("It's already held.");
    owner.submit(JOBS, "release_jobs", &[("ids[]", "job-2")]).await.shows("1 job is released");
    assert_eq!(place(&api, "job-2").await, 1);
    api.post("/jobs/job-3/hold", &json!({"why": "later"})).await.is(200);
    let held = api.post("/jobs/job-3/hold", &json!({})).await.is(200).json;
    assert_eq!(held["held"]["why"], "later", "the first word stays");
    assert_eq!(api.post("/jobs/job-3/release", &json!({})).await.is(200).json["held"], Value::Null);
    let refused = api.post("/jobs/job-1/hold", &json!({})).await.refuses(409, "not-now");
    assert!(refused.text.contains("has left the queue"), "{}", refused.text);
    api.post("/jobs/job-99/hold", &json!({})).await.refuses(404, "not-found");
    owner.get("/w/perception/activity").await.shows("held job-2 back").shows("let job-2 start again");
    // Several at once, each with what comes of it.
    let page = owner.get(&format!("{JOBS}/confirm/hold?id=job-1&id=job-2&id=job-3")).await;
    page.shows("Hold 2 jobs?").shows("It has left the queue.").shows("no change");
    let ids = [("ids[]", "job-2"), ("ids[]", "job-3")];
    owner.submit(JOBS, "hold_jobs", &ids).await.shows("2 jobs are held.");
}

#[tokio::test]
async fn jobs_are_moved_among_ones_own_or_over_all_with_the_right_to() {
    let server = Server::set_up().await;
    let api = queue(&server, 3).await;
    let mut owner = server.owner().await;
    owner.get(POOL).await.shows("What to do with sleep").shows("value=\"front\"").shows("Ines Okafor");
    let step = |job: &'static str, to: &'static str| [("job", job), ("to", to)];
    owner.submit(&format!("{JOBS}/job-4"), "move_job", &step("job-4", "front")).await.shows("was moved to the front");
    assert_eq!((place(&api, "job-4").await, place(&api, "job-2").await), (json!(1), json!(2)));
    owner.submit(POOL, "move_job", &step("job-4", "down")).await.shows("was moved down");
    assert_eq!((place(&api, "job-2").await, place(&api, "job-4").await), (json!(1), json!(2)));
    owner.submit(POOL, "move_job", &step("job-3", "up")).await.shows("was moved up");
    assert_eq!((place(&api, "job-3").await, place(&api, "job-4").await), (json!(2), json!(3)));
    owner.submit(POOL, "move_job", &step("job-2", "up")).await.shows("is the first already");
    api.post("/jobs/job-4/move", &json!({"to": "before", "before": "job-2"})).await.is(200);
    assert_eq!(place(&api, "job-4").await, 1);
    api.post("/jobs/job-4/move", &json!({"to": "back"})).await.is(200);
    assert_eq!(place(&api, "job-4").await, 3);
    for (body, field) in [
        (json!({"to": "sideways"}), "to"),
        (json!({"to": "before"}), "before"),
        (json!({"to": "before", "before": "job-1"}), "before"),
        (json!({"to": "up", "before": "job-2"}), "before"),
        (json!({"to": "up", "among": "some"}), "among"),
    ] {
        api.post("/jobs/job-4/move", &body).await.refuses(422, "invalid").problem(field);
    }
    // Over the jobs of others only who may.
    server.add("Mara", &[Role::DataScientist]).await;
    let mara = Api::of(&server, "mara@example.org").await;
    let own = id_of(&mara.post("/jobs", &hello()).await.is(201)).to_string();
    mara.post(&format!("/jobs/{own}/move"), &json!({"to": "front"})).await.is(200);
    mara.post(&format!("/jobs/{own}/move"), &json!({"to": "front", "among": "all"}))
        .await
        .refuses(403, "right.missing");
    mara.post("/jobs/job-2/move", &json!({"to": "back"})).await.refuses(403, "right.missing");
    mara.post("/jobs/job-2/hold", &json!({})).await.refuses(403, "right.missing");
    mara.post("/jobs/job-1/evict", &json!({})).await.refuses(403, "right.missing");
    let mut browser = server.signed_in("mara@example.org").await;
    browser.get(&format!("{JOBS}/job-2")).await.shows("does not include job.queue");
    browser.get(&format!("{JOBS}/confirm/hold?id=job-2")).await.shows("Nothing to do").shows("job.queue");
    api.post(&format!("/jobs/{own}/move"), &json!({"to": "front", "among": "all"})).await.is(200);
    assert_eq!(place(&api, &own).await, 1);
    owner.get("/w/perception/activity").await.shows("over the jobs of others");
}

#[tokio::test]
async fn an_evicted_job_goes_back_to_the_queue_and_the_question_says_how() {
    let server = Server::set_up().await;
    let api = queue(&server, 0).await;
    let mut owner = server.owner().await;
    owner.get(&format!("{JOBS}/job-1")).await.shows("Evict now");
    let ask = format!("{JOBS}/confirm/evict?id=job-1");
    let page = owner.get(&ask).await;
    page.shows("Evict sleep (job-1)?").shows("ATELIER_EVICTION_FILE").shows("30 s of grace").shows("as attempt 2");
    let fields = [("ids[]", "job-1"), ("why", "testing my checkpoints")];
    owner.submit(&ask, "evict_jobs", &fields).await.shows("1 job is being evicted");
    let part = placed(&server, JobId(1)).await;
    let exit = atelier_domain::world::Exit::Code(143);
    for report in [Report::JobExited { part, exit }, Report::JobOff { part, exit }] {
        server.state.engine().report(report).await.expect("heard");
    }
    let part = placed(&server, JobId(1)).await;
    assert_eq!(part.attempt, 2);
    run(&server, part, 0).await;
    let job = api.get("/jobs/job-1").await.is(200).json;
    assert_eq!((&job["state"], &job["attempts"][0]["verdict"]["verdict"]), (&json!("completed"), &json!("preempted")));
    owner.get("/w/perception/activity").await.shows("evicted job-1").shows("testing my checkpoints");
    let refused = api.post("/jobs/job-1/evict", &json!({})).await;
    assert_eq!(refused.status, 409, "{}", refused.text);
    api.post("/nodes/node-99/evict", &json!({})).await.refuses(404, "not-found");
    let node = part.node.to_string();
    api.post(&format!("/nodes/{node}/evict"), &json!({"why": "test"})).await.is(202);
    owner.get("/w/perception/activity").await.shows(&format!("evicted {node}"));
}

#[tokio::test]
async fn a_job_waits_for_others_and_each_page_shows_it() {
    let server = Server::set_up().await;
    let api = queue(&server, 0).await;
    let body = json!({"command": ["x"], "cluster": "pool", "name": "second", "after": ["job-1"]});
    api.post("/jobs", &body).await.is(201);
    let after = json!([{"job": "job-1", "needs": "any"}, "job-2"]);
    let body = json!({"command": ["x"], "cluster": "pool", "name": "third", "after": after});
    api.post("/jobs", &body).await.is(201);
    let job = api.get("/jobs/job-3").await.json;
    assert_eq!(
        job["after"],
        json!([
            {"job": "job-1", "needs": "any", "is_over": false},
            {"job": "job-2", "needs": "success", "is_over": false},
        ])
    );
    assert_eq!(job["reason"]["code"], "waits-for-jobs");
    let mut owner = server.owner().await;
    let page = owner.get(&format!("{JOBS}/job-3")).await;
    page.shows("Waits for").shows("job-1, after its end, however").shows("job-2, after its success");
    let page = owner.get(&format!("{JOBS}/job-1")).await;
    page.shows("Others wait for it").shows("job-2, if this ends well").shows("job-3, when this has ended, however");
    for (after, words) in [
        (json!(["job-99"]), "none waits in a circle"),
        (json!(["job-4"]), "none waits in a circle"),
        (json!(["lunch"]), "no id of a job"),
        (json!([{"job": "job-1", "needs": "luck"}]), "“luck”"),
        (json!((0..101).map(|_| "job-99").collect::<Vec<_>>()), "job-99"),
    ] {
        let body = json!({"command": ["x"], "cluster": "pool", "after": after});
        let refused = api.post("/jobs", &body).await.refuses(422, "invalid");
        assert!(refused.problem("after").contains(words), "{}", refused.text);
    }
    // Over the form, beside its field.
    let page = owner.get(&format!("{JOBS}/new")).await;
    page.shows("After success of").shows("After any end of");
    // What is over already counts as it ended.
    let part = placed(&server, JobId(1)).await;
    let exit = atelier_domain::world::Exit::Code(3);
    for report in [Report::JobExited { part, exit }, Report::JobOff { part, exit }] {
        server.state.engine().report(report).await.expect("heard");
    }
    let second = api.get("/jobs/job-2").await.json;
    assert_eq!((&second["state"], &second["verdict"]["verdict"]), (&json!("canceled"), &json!("dependency-failed")));
    let late = |after: Value| json!({"command": ["x"], "cluster": "pool", "after": after});
    let never = id_of(&api.post("/jobs", &late(json!(["job-1"]))).await.is(201));
    assert_eq!(api.get(&format!("/jobs/{never}")).await.json["verdict"]["verdict"], "dependency-failed");
    let fine = id_of(&api.post("/jobs", &late(json!([{"job": "job-1", "needs": "any"}]))).await.is(201));
    assert_ne!(api.get(&format!("/jobs/{fine}")).await.json["is_over"], true);
}

#[tokio::test]
async fn tiers_are_chosen_shown_and_refused() {
    let server = Server::set_up().await;
    furnish(&server).await;
    let api = Api::owner(&server).await;
    let mut owner = server.owner().await;
    let new = "/w/perception/compute/clusters/new";
    owner.get(new).await.shows("Preemptible").shows("jobs on them go back to the queue");
    let fields = [
        ("name", "spot"),
        ("size", "cpu-2"),
        ("min", "0"),
        ("max", "2"),
        ("idle", "60"),
        ("warm", "1"),
        ("tier", "preemptible"),
    ];
    owner.submit(new, "create_cluster", &fields).await.shows("spot was created.").shows("Preemptible");
    owner.get("/w/perception/compute/clusters").await.shows("Preemptible");
    owner.get("/w/perception/compute/clusters?q=preemptible").await.shows("spot");
    let cluster = api.get("/clusters/spot").await.json;
    assert_eq!((&cluster["tier"], &cluster["warm"]), (&json!("preemptible"), &json!(1)));
    let fields = [("name", "odd"), ("size", "cpu-2"), ("min", "0"), ("max", "2"), ("idle", "60"), ("tier", "gold")];
    owner.submit(new, "create_cluster", &fields).await.shows("not “gold”").shows("f-tier-problem");
    api.post("/clusters", &json!({"name": "odd", "size": "cpu-2", "max": 1, "tier": "gold"}))
        .await
        .refuses(422, "invalid")
        .problem("tier");
    let body = json!({"command": ["x"], "size": "cpu-2", "tier": "preemptible"});
    let job = id_of(&api.post("/jobs", &body).await.is(201));
    assert_eq!(api.get(&format!("/jobs/{job}")).await.json["tier"], "preemptible");
    owner.get(&format!("{JOBS}/{job}")).await.shows("nodes may be taken back").shows("Preemptible</span>");
    owner.get(JOBS).await.shows("Preemptible</span>");
    owner.get("/w/perception/compute/serverless").await.shows("Preemptible</span>");
    owner.get(&format!("{JOBS}/new?clone={job}")).await.shows("value=\"preemptible\" checked");
    let body = json!({"command": ["x"], "cluster": "spot", "tier": "preemptible"});
    api.post("/jobs", &body).await.refuses(422, "invalid").problem("tier");
}

#[tokio::test]
async fn nodes_kept_ready_stay_as_they_are_set_and_say_what_they_cost() {
    let server = Server::set_up().await;
    furnish(&server).await;
    let api = Api::owner(&server).await;
    api.post("/clusters", &json!({"name": "pool", "size": "cpu-2", "max": 4, "warm": 2})).await.is(201);
    let mut owner = server.owner().await;
    owner.get(POOL).await.shows("Kept ready").shows("name=\"warm\"").shows("a month");
    // A form that says nothing about them leaves them alone.
    let fields = [("cluster", "pool"), ("min", "0"), ("max", "3"), ("idle", "30")];
    owner.submit(POOL, "scale_cluster", &fields).await.shows("2 nodes are kept ready");
    assert_eq!(api.get("/clusters/pool").await.json["warm"], 2);
    let fields = [("cluster", "pool"), ("min", "0"), ("max", "3"), ("idle", "30"), ("warm", "1")];
    owner.submit(POOL, "scale_cluster", &fields).await.shows("1 node is kept ready");
    assert_eq!(api.patch("/clusters/pool", &json!({"warm": 3})).await.is(200).json["warm"], 3);
    let fields = [("cluster", "pool"), ("min", "0"), ("max", "3"), ("idle", "30"), ("warm", "9")];
    owner.submit(POOL, "scale_cluster", &fields).await.shows("f-warm-problem").shows("more than the maximum of 3");
    api.patch("/clusters/pool", &json!({"warm": 9})).await.refuses(422, "invalid").problem("warm");
    owner.ask("quote_cluster?cluster=pool&min=0&max=3&warm=2").await.shows("wait idle for the next");
}

#[tokio::test]
async fn a_minimum_by_the_hour_is_added_switched_and_removed() {
    let server = Server::set_up().await;
    let api = with_pool(&server, 4).await;
    let mut owner = server.owner().await;
    owner.get(POOL).await.shows("Minimum by schedule").shows("at any time");
    let fields = |nodes: &'static str, from: &'static str, to: &'static str| {
        [
            ("cluster", "pool"),
            ("nodes", nodes),
            ("days", "workdays"),
            ("from", from),
            ("to", to),
            ("otherwise", "1"),
            ("time_zone", "Europe/Berlin"),
        ]
    };
    let page = owner.submit(POOL, "add_minimum", &fields("3", "08:00", "18:00")).await;
    page.shows("pool keeps 3 nodes").shows("Set the minimum to 3 nodes").shows("Set the minimum to 1 node");
    let all = api.get("/clusters/pool/schedules").await.is(200).json;
    let all = all["schedules"].as_array().expect("a list");
    assert_eq!(all.iter().map(|one| one["nodes"].clone()).collect::<Vec<_>>(), [json!(3), json!(1)]);
    assert_eq!(all[0]["cron"], "0 8 * * MON-FRI");
    for (nodes, from, to, field) in [
        ("9", "08:00", "18:00", "nodes"),
        ("x", "08:00", "18:00", "nodes"),
        ("2", "8h", "18:00", "from"),
        ("2", "08:00", "08:00", "to"),
    ] {
        owner.submit(POOL, "add_minimum", &fields(nodes, from, to)).await.shows(&format!("f-{field}-problem"));
    }
    assert_eq!(api.get("/clusters/pool/schedules").await.json["schedules"].as_array().map(Vec::len), Some(2));
    let first = all[0]["id"].as_str().expect("an id").to_owned();
    let switched = [("cluster", "pool"), ("schedule", first.as_str())];
    owner.submit(POOL, "switch_minimum", &switched).await.shows("The schedule is disabled");
    let path = format!("/clusters/pool/schedules/{first}");
    assert_eq!(api.get(&path).await.json["enabled"], false);
    assert_eq!(api.patch(&path, &json!({"enabled": true})).await.is(200).json["enabled"], true);
    owner.submit(POOL, "remove_minimum", &switched).await.shows("The schedule was removed");
    api.get(&path).await.refuses(404, "not-found");
    let body = json!({"nodes": 2, "cron": "0 7 * * *", "time_zone": "UTC"});
    let made = api.post("/clusters/pool/schedules", &body).await.is(201);
    assert_eq!(
        (&made.json["nodes"], &made.json["sentence"]),
        (&json!(2), &json!("Set the minimum to 2 nodes every day at 07:00, UTC"))
    );
    api.post("/clusters/pool/schedules", &json!({"nodes": 9, "cron": "0 7 * * *"}))
        .await
        .refuses(422, "invalid")
        .problem("min");
    api.post("/clusters/pool/schedules", &json!({"nodes": 1})).await.refuses(422, "invalid").problem("cron");
    server.add("Mara", &[Role::DataScientist]).await;
    let mara = Api::of(&server, "mara@example.org").await;
    mara.post("/clusters/pool/schedules", &body).await.refuses(403, "right.missing");
    let mut browser = server.signed_in("mara@example.org").await;
    for function in ["add_minimum", "switch_minimum", "remove_minimum"] {
        let answer = browser.call(function, &[("cluster", "pool"), ("schedule", "schedule-2")]).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{function}: {}", answer.text);
    }
}

#[tokio::test]
async fn a_large_array_is_held_and_released_as_one() {
    let server = Server::set_up().await;
    let api = queue(&server, 0).await;
    let mut sweep = hello();
    sweep["array"] = json!(1_000);
    api.post("/jobs", &sweep).await.is(201);
    let mut owner = server.owner().await;
    // The last of them is not made yet, and waits all the same.
    assert_eq!(place(&api, "job-1001").await, 1_000);
    let ids = [("ids[]", "array-2"), ("why", "not today")];
    owner.submit(JOBS, "hold_jobs", &ids).await.shows("1000 jobs are held.");
    assert_eq!((place(&api, "job-2").await, place(&api, "job-1001").await), (Value::Null, Value::Null));
    assert_eq!(api.get("/jobs/job-1001").await.json["held"]["why"], "not today");
    owner.get(&format!("{JOBS}/confirm/hold?id=array-2")).await.shows("No queued job of this array is left to hold.");
    owner.submit(JOBS, "release_jobs", &[("ids[]", "array-2")]).await.shows("1000 jobs are released");
    assert_eq!(place(&api, "job-1001").await, 1_000);
    // So few of them were made for all that.
    let made = server.state.engine().ask(|world| world.jobs().count()).await.expect("answers");
    assert!(made < 10, "{made}");
}
