//! Budgets: set, seen, warned of, and what is refused once they are spent.

use atelier_domain::access::Role;
use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::client::Server;
use crate::cost::dear;
use crate::rest::Api;

const PAGE: &str = "/w/perception/cost/budgets";

fn job() -> Value {
    json!({"command": ["true"], "cluster": "pool"})
}

#[tokio::test]
async fn without_budgets_the_page_says_what_they_are_for() {
    let server = Server::set_up().await;
    let mut owner = server.owner().await;
    owner.get("/w/perception/cost").await.shows(&format!("href=\"{PAGE}\""));
    owner.get(PAGE).await.shows("The workspace has no budget").shows("Nobody has a budget of their own");
    owner.get("/w/perception/search?q=budget").await.shows(PAGE);
    let api = Api::owner(&server).await;
    assert_eq!(api.get("/budgets").await.is(200).json, json!({"currency": "EUR", "budgets": []}));
}

#[tokio::test]
async fn a_budget_is_set_changed_and_taken_away_by_form_and_api() {
    let server = Server::set_up().await;
    let api = Api::owner(&server).await;
    server.add("Mara", &[Role::DataScientist]).await;
    let mut owner = server.owner().await;
    let fields = [
        ("whose", "workspace"),
        ("amount", "250.50"),
        ("action", "refuse"),
        ("time_zone", "Europe/Berlin"),
        ("why", "a grant"),
    ];
    let page = owner.submit(PAGE, "set_budget", &fields).await;
    page.shows("The workspace may spend €250.50 a month.")
        .shows("€250.50")
        .shows("Europe/Berlin")
        .shows("Refuse new work");
    page.shows("Nothing costs anything now.");
    owner.submit(PAGE, "set_budget", &fields).await.shows("has this budget already");
    let wanted = json!({"scope": "person", "person": "mara@example.org", "amount": 20, "action": "stop-idle"});
    let budgets = api.put("/budgets", &wanted).await.is(200).json;
    let (workspace, mara) = (&budgets["budgets"][0], &budgets["budgets"][1]);
    assert_eq!((&workspace["amount"], &workspace["time_zone"]), (&json!(250.5), &json!("Europe/Berlin")));
    assert_eq!((&mara["person"]["name"], &mara["action"]), (&json!("Mara"), &json!("stop-idle")));
    assert_eq!((&mara["spent"], &mara["warned_percent"], &mara["spent_at"]), (&json!(0.0), &json!(0), &Value::Null));
    let history = owner.get("/w/perception/activity").await;
    history.shows("a grant").shows("set the budget of Mara to €20.00 a month");
    // Whom it concerns sees it, and nobody else's.
    let mut mara = server.signed_in("mara@example.org").await;
    mara.get(PAGE)
        .await
        .shows("Only what concerns you")
        .shows("€20.00")
        .shows("does not include budget.write")
        .hides("lift_budget");
    owner.submit(PAGE, "lift_budget", &[("whose", "workspace")]).await.shows("has no budget any more");
    let wanted = json!({"scope": "person", "person": "mara@example.org", "amount": null});
    assert_eq!(api.put("/budgets", &wanted).await.is(200).json["budgets"], json!([]));
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_with_field_and_bounds() {
    let server = Server::set_up().await;
    let api = Api::owner(&server).await;
    let mut owner = server.owner().await;
    for (field, fields, words) in [
        (
            "amount",
            [("whose", "workspace"), ("amount", "-5"), ("action", "warn"), ("time_zone", "UTC")],
            "between €0.01",
        ),
        (
            "amount",
            [("whose", "workspace"), ("amount", "0"), ("action", "warn"), ("time_zone", "UTC")],
            "between €0.01",
        ),
        (
            "amount",
            [("whose", "workspace"), ("amount", "9999999999"), ("action", "warn"), ("time_zone", "UTC")],
            "between €0.01",
        ),
        (
            "action",
            [("whose", "workspace"), ("amount", "5"), ("action", "explode"), ("time_zone", "UTC")],
            "warn, refuse or stop-idle",
        ),
        ("time_zone", [("whose", "workspace"), ("amount", "5"), ("action", "warn"), ("time_zone", "Mars")], "Mars"),
        ("person", [("whose", "person"), ("amount", "5"), ("action", "warn"), ("time_zone", "UTC")], "e-mail address"),
    ] {
        let page = owner.submit(PAGE, "set_budget", &fields).await;
        page.shows(&format!("f-{field}-problem")).shows(words);
        page.shows(&format!("value=\"{}\"", fields[1].1));
    }
    for (body, field) in [
        (json!({"scope": "workspace", "amount": -1}), "amount"),
        (json!({"scope": "workspace", "amount": 1e300}), "amount"),
        (json!({"scope": "workspace", "amount": 1, "action": "beg"}), "action"),
        (json!({"scope": "workspace", "amount": 1, "time_zone": "Mars"}), "time_zone"),
        (json!({"scope": "everybody", "amount": 1}), "scope"),
        (json!({"scope": "workspace", "person": "me", "amount": 1}), "person"),
        (json!({"scope": "person", "person": "nobody@example.org", "amount": 1}), "person"),
    ] {
        api.put("/budgets", &body).await.refuses(422, "invalid").problem(field);
    }
    let mara = Api::role(&server, "Mara", Role::DataScientist).await;
    mara.put("/budgets", &json!({"scope": "workspace", "amount": 1})).await.is(403);
    assert_eq!(owner.get(PAGE).await.status, StatusCode::OK);
}

#[tokio::test]
async fn what_is_spent_warns_refuses_and_lets_through_again() {
    let server = Server::set_up().await;
    let api = dear(&server).await;
    let first = api.post("/jobs", &job()).await.is(201);
    crate::rest::placed(&server, crate::rest::id_of(&first)).await;
    let mara = Api::role(&server, "Mara", Role::DataScientist).await;
    // A node at 900,000 an hour has spent a cent by now.
    api.put("/budgets", &json!({"scope": "workspace", "amount": 0.01, "action": "refuse"})).await.is(200);
    let budget = api.get("/budgets").await.is(200).json["budgets"][0].clone();
    assert_eq!(budget["warned_percent"], 100, "{budget}");
    assert!(budget["spent_percent"].as_u64().is_some_and(|percent| percent >= 100), "{budget}");
    for api in [&api, &mara] {
        let refused = api.post("/jobs", &job()).await.refuses(409, "over-budget");
        let said = refused.json["detail"].as_str().unwrap_or_default().to_owned();
        assert!(said.contains("The workspace has spent €") && said.contains("of €0.01"), "{said}");
        assert!(said.contains("An Owner can raise the budget"), "{said}");
    }
    let mut owner = server.owner().await;
    owner.get(PAGE).await.shows("All of it is spent.");
    // Everybody whose work it refuses is told.
    let mut mara = server.signed_in("mara@example.org").await;
    mara.get("/w/perception").await.shows("of €0.01 for this month.").shows("New work is refused");
    owner.get("/w/perception/activity").await.shows("budget");
    api.put("/budgets", &json!({"scope": "workspace", "amount": 1_000_000, "action": "refuse"})).await.is(200);
    api.post("/jobs", &job()).await.is(201);
    mara.get("/w/perception").await.hides("New work is refused");
}
