//! One test walks every route and server function: signed out, everything is refused unless it is on the
//! short list.

use atelier::router::{guarded_paths, open_paths, page_paths};
use atelier::server::guard::{OPEN_FOR_SET_UP, OPEN_TO_ALL};
use atelier_domain::access::Role;
use axum::body::Body;
use axum::http::{Method, Request, StatusCode, header};

use crate::client::Server;

/// Puts something into the places of a route's parameters.
fn filled(route: &str) -> String {
    route
        .split('/')
        .map(|part| match part {
            "{workspace}" | ":workspace" => "perception",
            "{tab}" | ":tab" => "instances",
            "{verb}" | ":verb" => "disable",
            part if part.starts_with(['{', ':', '*']) => "something",
            part => part,
        })
        .collect::<Vec<_>>()
        .join("/")
}

fn functions() -> Vec<(String, Method)> {
    leptos::server_fn::axum::server_fn_paths().map(|(path, method)| (path.to_owned(), method)).collect()
}

/// What machines may ask without a session: how the server does, and the door for agents, behind which
/// nothing is told before an agent has shown who it is.
const MACHINES: [&str; 5] = ["/healthz", "/readyz", "/metrics", "/agent", "/agent/stream"];

/// What forms ask while somebody types.
const QUESTIONS: [&str; 6] =
    ["check_cron", "check_name", "quote_cluster", "quote_instance", "quote_job", "quote_schedule"];

#[tokio::test]
async fn signed_out_every_route_is_refused_unless_it_is_on_the_list() {
    let server = Server::set_up().await;
    let mut routes = page_paths();
    assert!(routes.len() >= 14, "the walk must see the pages: {routes:?}");
    routes.extend(guarded_paths().into_iter().map(str::to_owned));
    routes.extend(open_paths().into_iter().map(str::to_owned));
    routes.extend(atelier::rest::paths());
    routes.extend(["/api".into(), "/api/v1/nothing/here".into()]);
    routes.push("/no/such/page".into());
    for route in routes {
        let path = filled(&route);
        let page = server.browser().get(&path).await;
        if OPEN_TO_ALL.contains(&path.as_str()) || MACHINES.contains(&path.as_str()) {
            continue;
        }
        let sent_to_sign_in = page.status == StatusCode::SEE_OTHER && page.location().starts_with("/sign-in");
        assert!(
            sent_to_sign_in || page.status == StatusCode::UNAUTHORIZED,
            "{path}: {} {}",
            page.status,
            page.location()
        );
        assert!(!page.text.contains("Ines"), "{path} tells who has an account");
    }
}

#[tokio::test]
async fn signed_out_every_server_function_is_refused_unless_it_is_on_the_list() {
    let server = Server::set_up().await;
    let functions = functions();
    assert!(functions.len() >= 13, "the walk must see the functions: {functions:?}");
    for (path, method) in functions {
        let name = path.trim_start_matches("/fn/");
        let is_question = QUESTIONS.contains(&name);
        assert_eq!(method, if is_question { Method::GET } else { Method::POST }, "{path}: no effect on GET");
        assert!(path.starts_with("/fn/"), "{path}: /api is the REST API's alone");
        if OPEN_TO_ALL.contains(&path.as_str()) {
            continue;
        }
        let mut nobody = server.browser();
        let script = if is_question { nobody.ask(name).await } else { nobody.call(name, &[]).await };
        assert_eq!(script.status, StatusCode::UNAUTHORIZED, "{path}: {}", script.text);
        let form = if is_question { nobody.get(&path).await } else { nobody.post("/", name, &[]).await };
        assert_eq!((form.status, form.location()), (StatusCode::SEE_OTHER, "/sign-in"), "{path}");
    }
}

#[tokio::test]
async fn a_fresh_server_shows_nothing_but_its_set_up() {
    let server = Server::fresh().await;
    for route in page_paths() {
        let path = filled(&route);
        let page = server.browser().get(&path).await;
        if !OPEN_FOR_SET_UP.contains(&path.as_str()) {
            assert_eq!((page.status, page.location()), (StatusCode::SEE_OTHER, "/set-up"), "{path}");
        }
    }
    for (path, _) in functions() {
        if !OPEN_FOR_SET_UP.contains(&path.as_str()) {
            let answer = server.browser().call(path.trim_start_matches("/fn/"), &[]).await;
            assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{path}");
        }
    }
}

#[tokio::test]
async fn every_server_function_is_refused_when_a_foreign_page_calls_it() {
    let server = Server::set_up().await;
    let mut browser = server.owner().await;
    for (path, _) in functions() {
        for (name, value) in
            [("sec-fetch-site", "cross-site"), ("origin", "https://evil.example"), ("x-nothing", "at all")]
        {
            let request = Request::post(&path)
                .header(header::ACCEPT, "text/html")
                .header(header::HOST, "localhost:3000")
                .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
                .header(name, value);
            let page = browser.send(request.body(Body::empty()).expect("a request")).await;
            assert_eq!(page.status, StatusCode::FORBIDDEN, "{path} with {name}: {value}");
            page.shows("did not come from a page of this site");
        }
    }
    assert_eq!(browser.get("/w/perception").await.status, StatusCode::OK, "nobody was signed out by it");
}

#[tokio::test]
async fn a_reader_may_look_but_every_change_to_people_is_refused_with_the_missing_right() {
    let server = Server::set_up().await;
    let id = server.add("Noor", &[Role::Reader]).await;
    let mut browser = server.signed_in("noor@example.org").await;
    for (function, fields) in [
        ("create_person", &[("name", "X"), ("email", "x@example.org"), ("roles[]", "owner")][..]),
        ("set_roles", &[("user", id.as_str()), ("roles[]", "owner")]),
        ("change_accounts", &[("verb", "disable"), ("ids[]", id.as_str())]),
    ] {
        let answer = browser.call(function, fields).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{function}: {}", answer.text);
        answer.shows("member.write").shows("Ines Okafor");
    }
}

#[tokio::test]
async fn every_page_answers_every_role_without_a_failure() {
    let server = Server::set_up().await;
    for (name, role) in [
        ("Reader", Role::Reader),
        ("Scientist", Role::DataScientist),
        ("Operator", Role::ComputeOperator),
        ("Contributor", Role::Contributor),
        ("Second", Role::Owner),
    ] {
        server.add(name, &[role]).await;
        let mut browser = server.signed_in(&format!("{}@example.org", name.to_lowercase())).await;
        for route in page_paths() {
            let page = browser.get(&filled(&route)).await;
            assert!(page.status.as_u16() < 500, "{route} for {role:?}: {}", page.status);
            let policy = page.header("content-security-policy");
            assert!(
                policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe-inline"),
                "{route}: {policy}"
            );
            assert!(!page.text.contains(" style=\""), "{route} has an inline style, which the policy blocks");
        }
    }
}
