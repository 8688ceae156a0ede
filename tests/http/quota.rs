//! Quotas: what is held and by what, limits that are set, lifted and refused.

use atelier_domain::access::Role;
use axum::http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::client::Server;
use crate::rest::{Api, furnish};

const PAGE: &str = "/w/perception/admin/quota";

/// The cluster `pool` of the Owner with one node of two cores.
async fn with_node(server: &Server) -> Api {
    furnish(server).await;
    let api = Api::owner(server).await;
    api.post("/clusters", &json!({"name": "pool", "size": "cpu-2", "min": 1, "max": 4})).await.is(201);
    api
}

fn limit<'a>(whose: &'a str, person: &'a str, what: &'a str, limit: &'a str) -> [(&'a str, &'a str); 5] {
    [("whose", whose), ("person", person), ("what", what), ("limit", limit), ("why", "a small machine")]
}

fn row<'a>(quotas: &'a Value, scope: &str, resource: &str) -> &'a Value {
    let all = quotas["quotas"].as_array().expect("a list");
    let found = all.iter().find(|row| row["scope"] == scope && row["resource"] == resource);
    found.unwrap_or_else(|| panic!("no {resource} of {scope}: {quotas}"))
}

#[tokio::test]
async fn an_empty_studio_has_no_limits() {
    let server = Server::set_up().await;
    let mut owner = server.owner().await;
    owner
        .get(PAGE)
        .await
        .shows("Computes")
        .shows("Nobody is limited by default")
        .shows("Nobody holds anything")
        .hides("Cores, general");
    owner.get("/w/perception/search?q=quota").await.shows(PAGE);
    furnish(&server).await;
    owner.get(PAGE).await.shows("Cores, general").hides("value=\"gpus\"");
}

#[tokio::test]
async fn limits_are_set_seen_and_lifted() {
    let server = Server::set_up().await;
    with_node(&server).await;
    let mut owner = server.owner().await;
    owner.get(PAGE).await.shows("href=\"/w/perception/compute/clusters/pool\"").shows(">pool</a> 2").hides("<meter");
    owner
        .submit(PAGE, "set_limit", &limit("workspace", "", "cores/general", "8"))
        .await
        .shows("The workspace may hold 8 cores of the family general.")
        .shows("2 of 8")
        .shows("Cores, general: 2 of 8 held")
        .shows("Lift the limit: Cores, general of the workspace");
    owner
        .submit(PAGE, "set_limit", &limit("everybody", "", "computes", "3"))
        .await
        .shows("Everybody without a limit of their own may hold 3 computes.")
        .shows("Ines Okafor holds most")
        .shows("everybody’s");
    let page = owner.submit(PAGE, "set_limit", &limit("person", "ines@example.org", "computes", "5")).await;
    page.shows("Ines Okafor may hold 5 computes.").shows("1 of 5").shows("nobody holds any");
    owner.get(&format!("{PAGE}?q=ines")).await.shows("1 of 5");
    owner.get(&format!("{PAGE}?q=zzz")).await.shows("Nobody fits this filter").hides("1 of 5");
    owner
        .get(&format!("{PAGE}?whose=person&what=computes&limit=7"))
        .await
        .shows("value=\"7\"")
        .shows("<option value=\"person\" selected");
    owner
        .submit(PAGE, "set_limit", &limit("everybody", "", "running-cores", "2.5"))
        .await
        .shows("may hold 2.5 cores of running jobs.")
        .shows("0 of 2.5");
    let fields = [("whose", "workspace"), ("what", "cores/general")];
    owner.submit(PAGE, "lift_limit", &fields).await.shows("The limit on cores of the family general was lifted");
    owner
        .get("/w/perception/activity")
        .await
        .shows("limited the workspace to 8 cores of the family general")
        .shows("a small machine")
        .shows("lifted the limit of the workspace");
}

#[tokio::test]
async fn a_limit_below_what_is_held_is_refused_with_the_numbers_beside_its_field() {
    let server = Server::set_up().await;
    let api = with_node(&server).await;
    let mut owner = server.owner().await;
    owner
        .submit(PAGE, "set_limit", &limit("workspace", "", "cores/general", "1.5"))
        .await
        .shows("f-limit-problem")
        .shows("The limit cannot be 1.5 cores of the family general: 2 are in use: 2 by pool.")
        .shows("value=\"1.5\"")
        .shows("value=\"a small machine\"");
    let body = json!({"scope": "everybody", "resource": "computes", "limit": 0});
    let refused = api.put("/quota", &body).await.refuses(409, "limit-below-use");
    assert!(refused.json["detail"].as_str().is_some_and(|text| text.contains("1 by pool")), "{}", refused.text);
    let none = server.state.engine().ask(|world| world.limits().count()).await.expect("answered");
    assert_eq!(none, 0);
}

#[tokio::test]
async fn what_is_wrong_stands_beside_its_field_and_nothing_is_lost() {
    let server = Server::set_up().await;
    furnish(&server).await;
    let mut owner = server.owner().await;
    for (fields, field, words) in [
        (limit("", "", "computes", "1"), "whose", "Choose whose limit it is."),
        (limit("person", "", "computes", "1"), "person", "Say whose limit it is"),
        (limit("person", "nobody@example.org", "computes", "1"), "person", "Nobody here is “nobody@example.org”"),
        (limit("workspace", "", "", "1"), "what", "Choose what is limited."),
        (limit("workspace", "", "colours", "1"), "what", "There is no limit on “colours”."),
        (limit("workspace", "", "cores/moon", "1"), "what", "No size is of the family “moon”. There are: general."),
        (limit("workspace", "", "cores/general", "many"), "limit", "“many”"),
        (limit("workspace", "", "running-jobs", "1"), "whose", "not for the workspace"),
        (limit("workspace", "", "computes", "1.5"), "limit", "“1.5”"),
        (limit("workspace", "", "computes", "-1"), "limit", "“-1”"),
        (limit("workspace", "", "computes", ""), "limit", "The limit is missing"),
    ] {
        let page = owner.submit(PAGE, "set_limit", &fields).await;
        page.shows(&format!("f-{field}-problem")).shows(words).shows("value=\"a small machine\"");
    }
    let both = owner.submit(PAGE, "set_limit", &limit("person", "x@y", "cores/moon", "")).await;
    both.shows("f-person-problem").shows("f-what-problem").shows("f-limit-problem").hides("<script>alert");
}

#[tokio::test]
async fn everybody_sees_quotas_and_only_owners_set_them() {
    let server = Server::set_up().await;
    with_node(&server).await;
    for (name, role) in [("Noor", Role::Reader), ("Con", Role::Contributor), ("Oskar", Role::ComputeOperator)] {
        server.add(name, &[role]).await;
        let mut browser = server.signed_in(&format!("{}@example.org", name.to_lowercase())).await;
        browser.get(PAGE).await.shows("pool").shows("does not include quota.write").hides("#set");
        for function in ["set_limit", "lift_limit"] {
            let answer = browser.call(function, &limit("workspace", "", "computes", "5")).await;
            assert_eq!(answer.status, StatusCode::FORBIDDEN, "{function}: {}", answer.text);
            answer.shows("quota.write");
        }
        let api = Api::of(&server, &format!("{}@example.org", name.to_lowercase())).await;
        api.get("/quota").await.is(200);
        let body = json!({"scope": "workspace", "resource": "computes", "limit": 5});
        let refused = api.put("/quota", &body).await.refuses(403, "right.missing");
        assert_eq!(refused.problem("right"), "\"quota.write\"");
    }
}

#[tokio::test]
async fn programs_read_and_set_quotas() {
    let server = Server::set_up().await;
    let api = with_node(&server).await;
    let body = json!({"scope": "workspace", "resource": "cores", "family": "general", "limit": 6.5});
    let set = api.put("/quota", &body).await.is(200);
    assert_eq!(
        set.json,
        json!({
            "scope": "workspace", "person": null, "resource": "cores", "family": "general", "limit": 6.5,
            "is_own": true, "held": 2.0, "left": 4.5, "held_by": [{"kind": "cluster", "name": "pool", "amount": 2.0}],
        })
    );
    let own = json!({"scope": "person", "person": "me", "resource": "computes", "limit": 2, "why": "enough"});
    assert_eq!(api.put("/quota", &own).await.is(200).json["person"]["name"], "Ines Okafor");
    let all = api.get("/quota").await.is(200).json;
    assert_eq!(row(&all, "workspace", "cores")["left"], 4.5);
    assert_eq!(row(&all, "person", "computes")["held"], 1.0);
    assert_eq!(api.get("/quota?person=nobody").await.is(200).json["quotas"].as_array().map(Vec::len), Some(2));
    let lift = json!({"scope": "workspace", "resource": "cores", "family": "general", "limit": null});
    assert_eq!(api.put("/quota", &lift).await.is(200).json["limit"], Value::Null);
    let put = async |limit: u32| {
        let body = json!({"scope": "everybody", "resource": "gpus", "limit": limit});
        api.send(Method::PUT, "/quota", &[("idempotency-key", "quota-00001")], Some(body.to_string())).await
    };
    put(1).await.is(200);
    put(1).await.is(200);
    put(2).await.refuses(409, "command.id-reused");
    for (body, field) in [
        (json!({"scope": "moon", "resource": "gpus", "limit": 1}), "scope"),
        (json!({"scope": "person", "resource": "gpus", "limit": 1}), "person"),
        (json!({"scope": "everybody", "person": "me", "resource": "gpus", "limit": 1}), "person"),
        (json!({"scope": "workspace", "resource": "disks", "limit": 1}), "resource"),
        (json!({"scope": "workspace", "resource": "cores", "family": "moon", "limit": 1}), "family"),
        (json!({"scope": "workspace", "resource": "gpus", "family": "general", "limit": 1}), "family"),
        (json!({"scope": "workspace", "resource": "running-jobs", "limit": 1}), "scope"),
        (json!({"scope": "everybody", "resource": "running-jobs", "limit": 0.5}), "limit"),
        (json!({"scope": "workspace", "resource": "gpus", "limit": 0.5}), "limit"),
        (json!({"scope": "workspace", "resource": "gpus", "limit": -1}), "limit"),
        (json!({"scope": "workspace", "resource": "gpus", "limit": 1e300}), "limit"),
        (json!({"scope": "workspace", "resource": "gpus"}), "body"),
        (json!({"scope": "workspace", "resource": "gpus", "limit": 1, "colour": "red"}), "body"),
    ] {
        api.put("/quota", &body).await.refuses(422, "invalid").problem(field);
    }
    api.get("/quota?colour=red").await.refuses(422, "invalid").problem("colour");
}
