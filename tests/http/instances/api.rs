//! Instances over the API.

use atelier_domain::compute::instance::InstanceState;
use axum::http::{Method, StatusCode};
use serde_json::{Value, json};

use super::Studio;
use super::agent::Agent;

#[tokio::test]
async fn an_instance_is_made_waited_for_changed_and_deleted() {
    let studio = Studio::new().await;
    let api = &studio.mara;
    let body = json!({
        "name": "Mara-Fusion", "size": "cpu-2", "idle_minutes": 90, "idle_counts": ["kernel", "terminal"],
        "tags": {"team": "vision"},
    });
    let made = api.post("/instances", &body).await.is(201);
    assert_eq!(made.header("location"), "/api/v1/instances/mara-fusion");
    let view = &made.json;
    assert_eq!(
        (&view["name"], &view["state"], &view["is_settled"]),
        (&json!("mara-fusion"), &json!("creating"), &json!(false))
    );
    assert_eq!((&view["idle"]["minutes"], &view["idle"]["counts"]), (&json!(90), &json!(["kernel", "terminal"])));
    assert_eq!((&view["owner"]["email"], &view["operation"]["verb"]), (&json!("mara@example.org"), &json!("create")));
    assert_eq!(view["start"]["steps"][0]["step"], "queue");
    assert_eq!(view["resources"]["cores"], 2.0);

    // Waiting ends when it runs.
    let id = studio.look_up("mara-fusion").await;
    let (waited, _) = tokio::join!(api.get("/instances/mara-fusion?wait=60s"), studio.bring_up(id));
    let waited = waited.is(200).json;
    assert_eq!((&waited["state"], &waited["is_settled"]), (&json!("running"), &json!(true)));
    assert!(waited["next"]["idle_stops"].is_string() && waited["node"].is_string(), "{waited}");
    assert_eq!(waited["operation"]["result"], "succeeded");

    let changed = api.patch("/instances/mara-fusion", &json!({"idle_minutes": 30, "tags": {}})).await.is(200).json;
    assert_eq!((&changed["idle"]["minutes"], &changed["tags"]), (&json!(30), &json!({})));
    assert_eq!(changed["idle"]["counts"], json!(["kernel", "terminal"]), "what is left out stays");
    let never =
        api.patch("/instances/mara-fusion", &json!({"idle_minutes": 0, "keeps_quota": true})).await.is(200).json;
    assert_eq!((&never["idle"], &never["keeps_quota"]), (&Value::Null, &json!(true)));
    let again = api.patch("/instances/mara-fusion", &json!({"idle_counts": ["gpu"]})).await.is(200).json;
    assert_eq!((&again["idle"]["minutes"], &again["idle"]["counts"]), (&json!(60), &json!(["gpu"])), "the default");

    api.post("/instances/mara-fusion/extend", &json!({"minutes": 30})).await.is(200);
    api.post("/instances/mara-fusion/skip-stop", &json!({})).await.refuses(409, "cannot-skip");
    api.post("/instances/mara-fusion/resize", &json!({"size": "cpu-2"})).await.refuses(409, "not-now");
    let stopping = api.post("/instances/mara-fusion/stop", &json!({"why": "night"})).await.is(202).json;
    assert_eq!(stopping["state"], "stopping");
    studio.node_gone(id).await;
    let off = api.get("/instances/mara-fusion?wait=60s").await.is(200).json;
    assert_eq!(
        (&off["state"], &off["operation"]["verb"], &off["node"]),
        (&json!("stopped"), &json!("stop"), &Value::Null)
    );
    let gone = api.send(Method::DELETE, "/instances/mara-fusion?why=done", &[], None).await.is(202).json;
    assert_eq!(gone, json!({"name": "mara-fusion", "state": "deleted"}));
    api.get("/instances/mara-fusion").await.refuses(404, "not-found");
}

#[tokio::test]
async fn the_list_is_narrowed_and_turned_page_by_page() {
    let studio = Studio::new().await;
    for name in ["abc", "bcd", "cde"] {
        studio.asleep(name).await;
    }
    let (id, _) = studio.running("xyz").await;
    let names = |json: &Value| -> Vec<String> {
        let all = json["instances"].as_array().expect("a list");
        all.iter().map(|one| one["name"].as_str().expect("a name").to_owned()).collect()
    };
    let first = studio.mara.get("/instances?limit=2").await.is(200).json;
    assert_eq!(names(&first), ["abc", "bcd"]);
    let next = first["next"].as_str().expect("more").trim_start_matches("/api/v1").to_owned();
    let rest = studio.mara.get(&next).await.is(200).json;
    assert_eq!((names(&rest), &rest["next"]), (vec!["cde".to_owned(), "xyz".into()], &Value::Null));
    for (query, found) in [
        ("state=running", vec!["xyz"]),
        ("state=running,stopped&name=c", vec!["abc", "bcd", "cde"]),
        ("owner=me&size=cpu-2&state=running", vec!["xyz"]),
        ("owner=ines@example.org", vec![]),
    ] {
        assert_eq!(names(&studio.mara.get(&format!("/instances?{query}")).await.is(200).json), found, "{query}");
    }
    for (query, field) in [("state=asleep", "state"), ("limit=0", "limit"), ("color=red", "color")] {
        studio.mara.get(&format!("/instances?{query}")).await.refuses(422, "invalid").problem(field);
    }
    studio.mara.get("/instances/xyz?wait=10h").await.refuses(422, "invalid").problem("wait");
    studio.until_state(id, InstanceState::Running).await;
}

#[tokio::test]
async fn wrong_fields_are_refused_one_by_one() {
    let studio = Studio::new().await;
    studio.asleep("mara-fusion").await;
    let bad = json!({
        "name": "x", "size": "!", "idle_minutes": 3, "tags": {"a": "\u{7}"},
        "scripts": {"creation": {"text": "true", "limit_seconds": 900_000},
            "startup": {"text": "x", "blob": "y", "arguments": "'"}},
    });
    let refused = studio.mara.post("/instances", &bad).await.refuses(422, "invalid");
    for field in ["name", "size", "idle", "tags", "creation_limit", "startup_script", "startup_arguments"] {
        refused.problem(field);
    }
    let post = async |body: Value| studio.mara.post("/instances", &body).await;
    let unknown = json!({"name": "abc", "size": "cpu-2", "gpu": 1});
    post(unknown).await.refuses(422, "invalid").problem("body");
    let taken = json!({"name": "mara-fusion", "size": "cpu-2"});
    post(taken).await.refuses(409, "name-taken");
    post(json!({"name": "abc", "size": "gpu-9"})).await.refuses(409, "unknown-size");
    post(json!({"name": "new", "size": "cpu-2"})).await.refuses(422, "invalid").problem("name");
    let missing = json!({"name": "abc", "size": "cpu-2", "scripts": {"startup": {"blob": "0".repeat(64)}}});
    post(missing).await.refuses(422, "invalid").problem("startup_script");
    let path = "/instances/mara-fusion";
    studio.mara.patch(path, &json!({})).await.refuses(422, "invalid").problem("body");
    studio
        .mara
        .patch(path, &json!({"idle_minutes": 30, "tags": {"": "x"}}))
        .await
        .refuses(422, "invalid")
        .problem("tags");
    assert_eq!(studio.mara.get(path).await.json["idle"]["minutes"], 60, "both or neither");
    for (action, body, field) in [
        ("resize", json!({}), "size"),
        ("extend", json!({"minutes": "many"}), "body"),
        ("postpone", json!({"until": "soon"}), "until"),
        ("start", json!({"reason": "x"}), "body"),
    ] {
        studio.mara.post(&format!("{path}/{action}"), &body).await.refuses(422, "invalid").problem(field);
    }
    studio.mara.post(&format!("{path}/extend"), &json!({"minutes": 5})).await.refuses(409, "not-now");
}

#[tokio::test]
async fn the_same_key_does_it_once() {
    let studio = Studio::new().await;
    let body = json!({"name": "mara-fusion", "size": "cpu-2", "starts": false});
    let first = studio.mara.keyed("/instances", "key-12345678", &body).await.is(201).json;
    assert_eq!(studio.mara.keyed("/instances", "key-12345678", &body).await.is(201).json["id"], first["id"]);
    let other = json!({"name": "other", "size": "cpu-2", "starts": false});
    studio.mara.keyed("/instances", "key-12345678", &other).await.refuses(409, "command.id-reused");
    let start = "/instances/mara-fusion/start";
    let generation = |json: &Value| json["start"]["at"].clone();
    let one = studio.mara.keyed(start, "start-12345678", &json!({})).await.is(202).json;
    let two = studio.mara.keyed(start, "start-12345678", &json!({})).await.is(202).json;
    assert_eq!(generation(&one), generation(&two));
    let key = [("idempotency-key", "gone-12345678")];
    let id = studio.look_up("mara-fusion").await;
    studio.mara.send(Method::DELETE, "/instances/mara-fusion", &key, None).await.is(202);
    studio.node_gone_if_any(id).await;
    let again = studio.mara.send(Method::DELETE, "/instances/mara-fusion", &key, None).await.is(202).json;
    assert_eq!(again["state"], "deleted");
}

#[tokio::test]
async fn scripts_are_set_read_and_accepted() {
    let studio = Studio::new().await;
    studio.asleep("mara-fusion").await;
    let path = "/instances/mara-fusion/scripts";
    let body = json!({"creation": {"text": "pip install x\r\n", "arguments": "a 'b c'", "limit_seconds": 60}});
    let set = studio.mara.send(Method::PUT, path, &[], Some(body.to_string())).await.is(200).json;
    assert_eq!((&set["scripts"]["revision"], &set["scripts"]["is_accepted"]), (&json!(1), &json!(true)));
    let read = studio.mara.get(path).await.is(200).json;
    assert_eq!((&read["creation"]["text"], &read["startup"]), (&json!("pip install x\n"), &Value::Null));
    // Somebody else's wait for the owner.
    let oskar = crate::rest::Api::of(&studio.server, "oskar@example.org").await;
    let theirs = json!({"startup": {"text": "echo"}}).to_string();
    let set = oskar.send(Method::PUT, path, &[], Some(theirs)).await.is(200).json;
    assert_eq!((&set["scripts"]["revision"], &set["scripts"]["is_accepted"]), (&json!(2), &json!(false)));
    let accept = "/instances/mara-fusion/accept-scripts";
    studio.mara.post(accept, &json!({"revision": 1})).await.refuses(409, "scripts-changed");
    let accepted = studio.mara.post(accept, &json!({"revision": 2})).await.is(200).json;
    assert_eq!(accepted["scripts"]["is_accepted"], true);
}

#[tokio::test]
async fn applications_say_how_they_do_and_only_the_owner_gets_links() {
    let studio = Studio::new().await;
    let (id, node) = studio.running("mara-fusion").await;
    let agent = Agent::join(&studio, id, node).await;
    agent.jupyter(&studio, atelier_protocol::AppState::Ready, &[]).await;
    let apps = studio.mara.get("/instances/mara-fusion/apps").await.is(200).json;
    let jupyter = &apps["apps"][0];
    assert_eq!(
        (&jupyter["name"], &jupyter["state"], &jupyter["detail"]),
        (&json!("jupyter"), &json!("ready"), &json!("Ready after 2.7 s"))
    );
    let enter = jupyter["links"]["enter"].as_str().expect("a link");
    assert!(enter.ends_with("/w/perception/instances/mara-fusion/enter/jupyter?next=%2Flab"), "{enter}");
    assert_eq!(apps["trouble"], Value::Null);
    let ines = crate::rest::Api::owner(&studio.server).await;
    let theirs = ines.get("/instances/mara-fusion/apps").await.is(200).json;
    assert_eq!((&theirs["apps"][0]["links"], &theirs["apps"][0]["state"]), (&Value::Null, &json!("ready")));
    assert_eq!(ines.get("/instances/nobody/apps").await.status, StatusCode::NOT_FOUND);
}
