//! Who may do what to somebody's instance: one table, asked over the portal and over the API.

use axum::http::{Method, StatusCode};
use serde_json::{Value, json};

use super::{Studio, page, send_scripts};
use crate::client::Browser;
use crate::rest::Api;

/// Mara owns it. Oskar operates machines, Ines owns the workspace, Sven has the same role as Mara, Noor only
/// looks.
const PEOPLE: [&str; 5] = ["mara", "oskar", "ines", "sven", "noor"];

/// Who may: its owner, and who may do so with anybody's.
const ANYBODYS: [bool; 5] = [true, true, true, false, false];
const OWNER_ALONE: [bool; 5] = [true, false, false, false, false];
const ALL: [bool; 5] = [true; 5];

/// A server function, what it is told, and who of the five may.
type Verb = (&'static str, Vec<(&'static str, &'static str)>, [bool; 5]);

fn functions() -> Vec<Verb> {
    let it = ("instance", "mara-fusion");
    vec![
        ("start_instance", vec![it], ANYBODYS),
        ("wake_instance", vec![it, ("app", "jupyter")], OWNER_ALONE),
        ("change_instances", vec![("verb", "start"), ("ids[]", "mara-fusion")], ANYBODYS),
        ("change_instances", vec![("verb", "stop"), ("ids[]", "mara-fusion")], ANYBODYS),
        ("change_instances", vec![("verb", "restart"), ("ids[]", "mara-fusion")], ANYBODYS),
        ("change_instances", vec![("verb", "rebuild"), ("ids[]", "mara-fusion")], ANYBODYS),
        ("extend_instance", vec![it, ("hours", "1")], ANYBODYS),
        ("keep_instance", vec![it, ("until", "2000-01-01T00:00")], ANYBODYS),
        ("skip_stop", vec![it], ANYBODYS),
        ("resize_instance", vec![it, ("size", "cpu-2")], ANYBODYS),
        ("configure_instance", vec![it, ("idle", "60")], ANYBODYS),
        ("tag_instance", vec![it, ("tags", "a=1")], ANYBODYS),
        ("accept_scripts", vec![it, ("revision", "1")], OWNER_ALONE),
        ("put_app", vec![it, ("name", "board"), ("command", "serve"), ("port", "8080")], OWNER_ALONE),
        ("restart_app", vec![it, ("app", "board")], OWNER_ALONE),
        ("remove_app", vec![it, ("app", "board")], OWNER_ALONE),
        ("change_instances", vec![("verb", "delete"), ("ids[]", "mara-fusion")], ANYBODYS),
    ]
}

fn calls() -> Vec<(Method, &'static str, Option<Value>, [bool; 5])> {
    let post = |path, body| (Method::POST, path, Some(body), ANYBODYS);
    vec![
        (Method::GET, "", None, ALL),
        (Method::GET, "/apps", None, ALL),
        (Method::PUT, "/apps/board", Some(json!({"command": "serve", "port": 8080})), OWNER_ALONE),
        (Method::GET, "/apps/board", None, OWNER_ALONE),
        (Method::POST, "/apps/board/restart", Some(json!({})), OWNER_ALONE),
        (Method::DELETE, "/apps/board", None, OWNER_ALONE),
        (Method::GET, "/scripts", None, ANYBODYS),
        (Method::PUT, "/scripts", Some(json!({"startup": {"text": "true"}})), ANYBODYS),
        post("/start", json!({})),
        post("/stop", json!({})),
        post("/restart", json!({})),
        post("/rebuild", json!({})),
        post("/resize", json!({"size": "cpu-2"})),
        post("/extend", json!({"minutes": 5})),
        post("/postpone", json!({"until": "2000-01-01T00:00:00Z"})),
        post("/skip-stop", json!({})),
        (Method::POST, "/accept-scripts", Some(json!({"revision": 1})), OWNER_ALONE),
        (Method::PATCH, "", Some(json!({"keeps_quota": false})), ANYBODYS),
        (Method::DELETE, "", None, ANYBODYS),
    ]
}

/// Refused or not; whether it makes sense in the present state is another question.
fn judged(what: &str, who: &str, status: StatusCode, text: &str, allowed: bool) {
    if allowed {
        let is_let_through = !matches!(status.as_u16(), 401 | 403 | 404 | 500..);
        assert!(is_let_through, "{what} for {who}: {status} {text}");
    } else {
        assert_eq!(status, StatusCode::FORBIDDEN, "{what} for {who}: {text}");
        assert!(text.contains("instance."), "{what} for {who} does not name the right: {text}");
    }
}

/// Who may has deleted it, or is about to: the next finds another one.
async fn there_again(studio: &Studio) {
    let known = studio.mara.get("/instances/mara-fusion").await;
    if known.json["state"] == "deleting" {
        let id = studio.look_up("mara-fusion").await;
        studio.node_gone_if_any(id).await;
    }
    if known.status == StatusCode::NOT_FOUND || known.json["state"] == "deleting" {
        studio.asleep("mara-fusion").await;
    }
}

#[tokio::test]
async fn every_function_asks_for_its_right() {
    let studio = Studio::new().await;
    for (at, who) in PEOPLE.into_iter().enumerate().rev() {
        let mut browser = studio.browser(who).await;
        for (function, fields, allowed) in functions() {
            there_again(&studio).await;
            let answer = browser.call(function, &fields).await;
            judged(&format!("{function} {fields:?}"), who, answer.status, &answer.text, allowed[at]);
        }
    }
}

#[tokio::test]
async fn every_call_of_the_api_asks_for_its_right() {
    let studio = Studio::new().await;
    for (at, who) in PEOPLE.into_iter().enumerate().rev() {
        let api = Api::of(&studio.server, &format!("{who}@example.org")).await;
        for (method, path, body, allowed) in calls() {
            there_again(&studio).await;
            let path = format!("/instances/mara-fusion{path}");
            let answer = api.send(method.clone(), &path, &[], body.map(|body| body.to_string())).await;
            judged(&format!("{method} {path}"), who, answer.status, &answer.text, allowed[at]);
        }
    }
}

#[tokio::test]
async fn every_page_is_for_whom_it_is() {
    let studio = Studio::new().await;
    studio.asleep("mara-fusion").await;
    let pages = [
        (page("mara-fusion", ""), ALL),
        (page("mara-fusion", "jobs"), ALL),
        (page("mara-fusion", "logs"), ANYBODYS),
        (page("mara-fusion", "monitoring"), ALL),
        (page("mara-fusion", "history"), ALL),
        (page("mara-fusion", "settings"), ALL),
        ("/w/perception/instances/mara-fusion/open/jupyter".to_owned(), OWNER_ALONE),
        ("/w/perception/instances/mara-fusion/open/terminal".to_owned(), OWNER_ALONE),
        ("/w/perception/instances/confirm/stop?id=mara-fusion".to_owned(), ALL),
    ];
    for (at, who) in PEOPLE.into_iter().enumerate() {
        let mut browser = studio.browser(who).await;
        for (path, allowed) in &pages {
            let shown = browser.get(path).await;
            judged(path, who, shown.status, &shown.text, allowed[at]);
        }
        let log = browser.get("/w/perception/instances/mara-fusion/logs/setup-1").await;
        let expected = if ANYBODYS[at] { StatusCode::NOT_FOUND } else { StatusCode::FORBIDDEN };
        assert_eq!(log.status, expected, "the log for {who}");
        let scripts = send_scripts(&mut browser, "mara-fusion", &[]).await;
        assert_eq!(scripts.status == StatusCode::FORBIDDEN, !ANYBODYS[at], "scripts for {who}");
    }
}

#[tokio::test]
async fn who_may_not_sees_what_is_missing_in_place_of_a_button() {
    let studio = Studio::new().await;
    studio.running("mara-fusion").await;
    let mut noor: Browser = studio.browser("noor").await;
    let shown = noor.get(&page("mara-fusion", "")).await;
    shown.shows("does not include instance.operate").shows("Ines Okafor can grant it").hides("+1 h");
    let settings = noor.get(&page("mara-fusion", "settings")).await;
    settings.shows("does not include instance.configure").shows("does not include instance.delete").hides("Save tags");
}

#[tokio::test]
async fn for_whom_an_instance_can_be_made() {
    let studio = Studio::new().await;
    let oskar = Api::of(&studio.server, "oskar@example.org").await;
    let noor = Api::of(&studio.server, "noor@example.org").await;
    let sven = Api::of(&studio.server, "sven@example.org").await;
    let request = |name: &str, owner: &str| json!({"name": name, "size": "cpu-2", "owner": owner, "starts": false});
    noor.post("/instances", &request("one", "")).await.refuses(403, "right.missing");
    sven.post("/instances", &request("one", "mara@example.org")).await.refuses(403, "right.missing");
    sven.post("/instances", &request("one", "me")).await.is(201);
    let made = oskar.post("/instances", &request("two", "mara@example.org")).await.is(201).json;
    assert_eq!((&made["owner"]["name"], &made["creator"]["name"]), (&json!("Mara"), &json!("Oskar")));
    oskar.post("/instances", &request("three", "nobody@example.org")).await.refuses(422, "invalid").problem("owner");
    // Who could not open it has nothing of it.
    let refused = oskar.post("/instances", &request("three", "noor@example.org")).await.refuses(422, "invalid");
    assert!(refused.problem("owner").contains("instance.connect"), "{}", refused.text);
}
