use std::net::SocketAddr;

use atelier::server::apps::AppPort;
use atelier_domain::compute::instance::InstanceState;
use atelier_domain::world::Report;
use atelier_protocol::AppState;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::{Request, StatusCode, header};
use serde_json::json;
use tower::ServiceExt as _;

use super::agent::Agent;
use super::{LIST, Studio};

fn open(name: &str, app: &str) -> String {
    format!("/w/perception/instances/{name}/open/{app}?next=%2Flab%3Fa%3D1")
}

#[tokio::test]
async fn a_ready_application_is_entered_at_once() {
    let studio = Studio::new().await;
    let (id, node) = studio.running("mara-fusion").await;
    let agent = Agent::join(&studio, id, node).await;
    let mut mara = studio.browser("mara").await;
    // Not before it answers.
    agent.jupyter(&studio, AppState::Starting, &[]).await;
    let waiting = mara.get(&open("mara-fusion", "jupyter")).await;
    assert_eq!(waiting.status, StatusCode::OK);
    waiting.shows("opens here as soon as it answers").shows("http-equiv=\"refresh\" content=\"2\"").hides("data-go");
    agent.jupyter(&studio, AppState::Ready, &[]).await;
    let enter = "/w/perception/instances/mara-fusion/enter/jupyter?next=%2Flab%3Fa%3D1";
    let ready = mara.get(&open("mara-fusion", "jupyter")).await;
    assert_eq!((ready.status, ready.location()), (StatusCode::FOUND, enter));
    // Script is told where to go instead: what it fetches must not be led away.
    let request = Request::get(open("mara-fusion", "jupyter")).header("x-atelier-refresh", "1");
    let told = mara.send(request.header(header::ACCEPT, "text/html").body(Body::empty()).expect("a request")).await;
    assert_eq!(told.status, StatusCode::OK);
    told.shows(&format!("data-go=\"{enter}\""));
    let terminal = mara.get(&open("mara-fusion", "terminal")).await;
    assert_eq!(terminal.status, StatusCode::FOUND);
    // That address leads to the application's own, with a code.
    let entered = mara.get(enter).await;
    assert_eq!(entered.status, StatusCode::SEE_OTHER);
    assert!(entered.location().contains("jupyter--mara-fusion--perception.localhost"), "{}", entered.location());
    agent.jupyter(&studio, AppState::Failed, &["it broke"]).await;
    mara.get(&open("mara-fusion", "jupyter")).await.shows("it broke").shows("/logs?log=jupyter").hides("data-go");
}

/// Where applications have ports in place of names, a request's port says whose it is, whatever host it
/// names.
#[tokio::test]
async fn an_application_has_a_port_where_it_has_no_name() {
    let studio = Studio::with(&[("apps_ports", "3100-3101")]).await;
    let (id, node) = studio.running("mara-fusion").await;
    let agent = Agent::join(&studio, id, node).await;
    agent.jupyter(&studio, AppState::Ready, &[]).await;
    let mut mara = studio.browser("mara").await;
    mara.get(&format!("{LIST}/mara-fusion")).await.shows("Reduced isolation of applications").shows("3100 to 3101");
    let enter = |app: &str| format!("/w/perception/instances/mara-fusion/enter/{app}?next=%2Flab");
    let jupyter = mara.get(&enter("jupyter")).await.location().to_owned();
    let terminal = mara.get(&enter("terminal")).await.location().to_owned();
    assert!(jupyter.contains(":3100/_atelier/enter?code="), "{jupyter}");
    assert!(terminal.contains(":3101/_atelier/enter?code="), "{terminal}");

    let path = |address: &str| address.split_once(":310").map(|(_, rest)| rest[1..].to_owned()).unwrap_or_default();
    let at = |port: u16, path: &str, cookie: &str| {
        let request = Request::get(path).header(header::HOST, format!("jupyter--other--perception.localhost:{port}"));
        let request = request.header(header::COOKIE, cookie).header(header::ACCEPT, "text/html");
        let request = request.extension(AppPort(port));
        request.extension(ConnectInfo(SocketAddr::from(([127, 0, 0, 1], 9)))).body(Body::empty()).expect("a request")
    };
    let send = async |request| studio.server.router.clone().oneshot(request).await.expect("answers");
    // A code of one port says nothing at another.
    let strange = send(at(3101, &path(&jupyter), "")).await;
    assert_eq!(strange.headers().get(header::SET_COOKIE), None);
    let jupyter = mara.get(&enter("jupyter")).await.location().to_owned();
    let entered = send(at(3100, &path(&jupyter), "")).await;
    let cookie = entered.headers()[header::SET_COOKIE].to_str().expect("a text").to_owned();
    assert!(cookie.starts_with("atelier_app-3100=") && cookie.contains("HttpOnly"), "{cookie}");
    let cookie = cookie.split(';').next().unwrap_or_default();
    // It opens that one port, and no page of the portal is to be had there.
    let asked = |answer: axum::response::Response| (answer.status(), answer.headers().contains_key(header::LOCATION));
    let elsewhere = send(at(3101, "/", cookie)).await;
    assert_ne!(elsewhere.status(), StatusCode::BAD_GATEWAY, "{:?}", asked(elsewhere));
    for path in ["/w/perception", "/api/v1/instances", "/healthz"] {
        let answer = send(at(3101, path, cookie)).await;
        assert!(answer.status().is_redirection() || !answer.status().is_success(), "{path}: {}", answer.status());
    }
    let nobody = send(at(3102, "/", cookie)).await;
    assert_eq!(nobody.status(), StatusCode::MISDIRECTED_REQUEST);
}

#[tokio::test]
async fn a_stopped_instance_is_started_and_opened() {
    let studio = Studio::new().await;
    let id = studio.asleep("mara-fusion").await;
    let mut mara = studio.browser("mara").await;
    let asleep = mara.get(&open("mara-fusion", "jupyter")).await;
    assert_eq!(asleep.status, StatusCode::OK);
    asleep
        .shows("Start and open")
        .shows("/fn/wake_instance")
        .shows("name=\"next\" value=\"/lab?a=1\"")
        .shows("€0.12/h");
    let fields = [("instance", "mara-fusion"), ("app", "jupyter"), ("next", "/lab?a=1")];
    let woken = mara.post(&open("mara-fusion", "jupyter"), "wake_instance", &fields).await;
    assert_eq!((woken.status, woken.location()), (StatusCode::SEE_OTHER, open("mara-fusion", "jupyter").as_str()));
    let coming = mara.get(&open("mara-fusion", "jupyter")).await;
    coming.shows("How far it is").shows("Allocate").shows("step 2 of 5").shows("http-equiv=\"refresh\"");
    let trigger = studio.look(id, |_, instance| instance.operation.trigger.key()).await;
    assert_eq!(trigger, "wake");
    studio.bring_up(id).await;
    mara.get(&open("mara-fusion", "jupyter")).await.shows("Nothing is known of it yet");
    // Nobody is led elsewhere.
    let bad = mara
        .call("wake_instance", &[("instance", "mara-fusion"), ("app", "jupyter"), ("next", "//evil.example")])
        .await;
    bad.shows("open/jupyter?next=%2F\"").hides("evil");
}

#[tokio::test]
async fn nobody_else_opens_it_whatever_their_role() {
    let studio = Studio::new().await;
    let (id, node) = studio.running("mara-fusion").await;
    let agent = Agent::join(&studio, id, node).await;
    agent.jupyter(&studio, AppState::Ready, &[]).await;
    for (who, may_operate) in [("ines", true), ("oskar", true), ("sven", false), ("noor", false)] {
        let mut browser = studio.browser(who).await;
        for app in ["jupyter", "terminal"] {
            let page = browser.get(&open("mara-fusion", app)).await;
            assert_eq!(page.status, StatusCode::FORBIDDEN, "{who} {app}");
            page.shows("Only Mara opens it").shows("instance.connect").hides("data-go").hides("/enter/");
            assert_eq!(page.text.contains("You may start and stop it."), may_operate, "{who}");
        }
        // The address behind it lets nobody in either.
        let entered = browser.get("/w/perception/instances/mara-fusion/enter/jupyter?next=%2F").await;
        assert!(entered.location().starts_with("/w/perception/instances/mara-fusion/open/"), "{who}");
        let fields = [("instance", "mara-fusion"), ("app", "jupyter")];
        assert_eq!(browser.call("wake_instance", &fields).await.status, StatusCode::FORBIDDEN, "{who}");
    }
    let mut mara = studio.browser("mara").await;
    for path in [open("nobody", "jupyter"), open("mara-fusion", "solitaire")] {
        assert_eq!(mara.get(&path).await.status, StatusCode::NOT_FOUND, "{path}");
    }
}

#[tokio::test]
async fn where_scripts_failed_only_the_rescue_terminal_opens() {
    let studio = Studio::new().await;
    let request = json!({"name": "mara-fusion", "size": "cpu-2", "scripts": {"startup": {"text": "exit 3"}}});
    let id = studio.make(&request).await;
    let node = studio.node_of(id).await;
    studio.report(Report::NodeUp(node)).await;
    let generation = studio.look(id, |_, instance| instance.generation).await;
    studio.report(Report::SetUp { instance: id, generation, failure: None }).await;
    let failure = Some("exit code 3".into());
    studio.report(Report::ScriptDone { instance: id, generation, creation_done: false, failure }).await;
    studio.until_state(id, InstanceState::UserSetupFailed).await;
    let _agent = Agent::join(&studio, id, node).await;
    let mut mara = studio.browser("mara").await;
    mara.get(&open("mara-fusion", "jupyter"))
        .await
        .shows("cannot be opened now")
        .shows("only the rescue terminal opens");
    assert_eq!(mara.get(&open("mara-fusion", "terminal")).await.status, StatusCode::FOUND);
}

#[tokio::test]
async fn a_server_whose_applications_have_no_addresses_says_so_in_place_of_links() {
    let studio = Studio::with(&[("public_url", "https://studio.example.org")]).await;
    let (id, node) = studio.running("mara-fusion").await;
    let agent = Agent::join(&studio, id, node).await;
    agent.jupyter(&studio, AppState::Ready, &[]).await;
    let mut mara = studio.browser("mara").await;
    let page = mara.get(&open("mara-fusion", "jupyter")).await;
    assert_eq!(page.status, StatusCode::OK);
    page.shows("Applications cannot be opened").shows("apps_domain").hides("data-go");
    mara.get(LIST).await.shows("apps_domain");
    mara.get(&super::page("mara-fusion", "")).await.shows("Cannot be opened here").hides("/open/jupyter");
}
