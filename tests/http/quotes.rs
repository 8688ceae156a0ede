//! Prices while one types: a piece of the form's page for the fields that are asked with.

use atelier_domain::access::Role;
use atelier_domain::compute::Resources;
use atelier_domain::compute::size::SiteName;
use atelier_domain::world::Report;
use axum::http::StatusCode;

use crate::client::{Browser, Server};

const JOB: &str = "quote_job";
const CLUSTER: &str = "quote_cluster";
const CLUSTERS: &str = "/w/perception/compute/clusters";

/// A place to run on, the size `small` at 0.40 an hour, and the cluster `pool` of up to 4.
async fn furnished() -> (Server, Browser) {
    let server = Server::set_up().await;
    let site = SiteName::parse("local").expect("a name");
    let report = Report::Site { site, capacity: Resources::new(64, 256, 0) };
    server.state.engine().report(report).await.expect("heard");
    let mut owner = server.owner().await;
    let size = [
        ("name", "small"),
        ("family", "general"),
        ("site", "local"),
        ("cores", "2"),
        ("memory", "4"),
        ("price", "0.40"),
    ];
    let cluster = [("name", "pool"), ("size", "small"), ("min", "0"), ("max", "4"), ("idle", "120")];
    for (function, fields) in [("put_size", &size[..]), ("create_cluster", &cluster[..])] {
        let answer = owner.call(function, fields).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
    }
    (server, owner)
}

#[tokio::test]
async fn the_price_of_a_job_follows_its_fields() {
    let (_server, mut owner) = furnished().await;
    let price = owner.ask(&format!("{JOB}?size=small&nodes=3&timeout=30+min&array=10&retries=1")).await;
    assert_eq!(price.status, StatusCode::OK);
    price.shows("data-quote-part").shows("€1.20 <small>an hour at most for each of its jobs</small>");
    price.shows("3 nodes of size small at €0.40 each.").shows("In all at most €12.00 for 20 runs of 30 min");
    price.hides("<html").hides(" style=");
    let shared = owner.ask(&format!("{JOB}?cluster=pool&nodes=1")).await;
    shared.shows("€0.40 <small>").shows("Less while it shares").shows("Without a time limit");
    // The page shows the same before script has said a word.
    let page = owner.get("/w/perception/jobs/new?cluster=pool").await;
    page.shows("€0.40 <small>").shows("Less while it shares").shows(&format!("data-quote=\"/fn/{JOB}\""));
}

#[tokio::test]
async fn what_is_wrong_stands_in_place_of_the_price_of_a_job() {
    let (_server, mut owner) = furnished().await;
    let price = owner.ask(&format!("{JOB}?nodes=three&timeout=soon&cluster=none")).await;
    assert_eq!(price.status, StatusCode::OK);
    price.shows("No price yet").shows("not “three”").shows("this is “soon”").shows("There is no cluster “none” here");
    price.hides("€");
    let nasty = owner.ask(&format!("{JOB}?nodes=%3Cscript%3E")).await;
    nasty.shows("&lt;script&gt;").hides("<script>");
    // What does not decide is not judged here.
    owner.ask(&format!("{JOB}?size=small&command=%27open&environment=NOPE")).await.shows("€0.40 <small>");
}

#[tokio::test]
async fn the_price_of_a_cluster_follows_its_fields() {
    let (_server, mut owner) = furnished().await;
    let price = owner.ask(&format!("{CLUSTER}?size=small&min=2&max=5")).await;
    price.shows("€2.00 <small>an hour at most</small>").shows("5 nodes of size small at €0.40 each.");
    price.shows("It keeps 2 nodes also when nothing runs: €0.80 an hour, €584.00 a month.");
    let wrong = owner.ask(&format!("{CLUSTER}?size=none&min=5&max=4")).await;
    wrong.shows("There is no size “none”.").shows("The minimum of 5 is above the maximum of 4.").hides("€");
    // Without script the form comes back to its own page with what was typed.
    let page = owner.get(&format!("{CLUSTERS}/new?name=night&size=small&min=2&max=5&idle=60&tags=a%3Db")).await;
    page.shows("value=\"night\"").shows("value=\"60\"").shows("a=b").shows("€2.00 <small>");
    page.shows("formmethod=\"get\"");
}

#[tokio::test]
async fn other_limits_of_a_cluster_are_priced_before_they_are_saved() {
    let (_server, mut owner) = furnished().await;
    let same = owner.ask(&format!("{CLUSTER}?cluster=pool&min=0&max=4")).await;
    same.shows("data-quote-part").hides("€");
    let more = owner.ask(&format!("{CLUSTER}?cluster=pool&min=1&max=10")).await;
    more.shows("€4.00 <small>").shows("It keeps 1 node");
    let page = owner.get(&format!("{CLUSTERS}/pool?min=1&max=10&idle=30&why=more")).await;
    page.shows("€4.00 <small>").shows("value=\"10\"").shows("value=\"more\"");
    page.shows("As it is saved: €0.00/h while nothing runs, €0.00 a month, and €1.60/h at its most.");
    // Once saved, nothing is left to be priced, and other numbers of the address do not linger.
    let from = format!("{CLUSTERS}/pool?min=1&max=10");
    let fields = [("cluster", "pool"), ("min", "1"), ("max", "7"), ("idle", "30")];
    let saved = owner.submit(&from, "scale_cluster", &fields).await;
    saved.shows("pool keeps 1 to 7 nodes").shows("value=\"7\"").hides("an hour at most").hides("value=\"10\"");
    let missing = owner.ask(&format!("{CLUSTER}?cluster=none&min=1&max=10")).await;
    assert_eq!(missing.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn prices_are_for_those_who_see_the_form() {
    let (server, _) = furnished().await;
    server.add("Noor", &[Role::Reader]).await;
    let mut noor = server.signed_in("noor@example.org").await;
    assert_eq!(noor.ask(&format!("{JOB}?size=small")).await.status, StatusCode::FORBIDDEN);
    noor.ask(&format!("{CLUSTER}?size=small&min=0&max=1")).await.shows("€0.40 <small>");
    let script = server.browser().ask(&format!("{JOB}?size=small")).await;
    assert_eq!(script.status, StatusCode::UNAUTHORIZED);
    let nobody = server.browser().get(&format!("/fn/{JOB}?size=small")).await;
    assert_eq!((nobody.status, nobody.location().starts_with("/sign-in")), (StatusCode::SEE_OTHER, true));
}
