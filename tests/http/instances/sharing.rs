use std::net::SocketAddr;
use std::time::Duration;

use atelier_domain::access::Role;
use atelier_domain::compute::instance::InstanceState;
use atelier_engine::clock;
use atelier_protocol::AppState;
use atelier_protocol::terminal::TerminalFrame;
use atelier_testing::PATIENCE;
use axum::body::Body;
use axum::http::{Method, Request, StatusCode, header};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::agent::Agent;
use super::{LIST, Studio, comes, page};
use crate::client::Browser;
use crate::rest::Api;

const NAME: &str = "mara-fusion";

fn host(app: &str) -> String {
    format!("{app}--{NAME}--perception.localhost:3000")
}

async fn running(studio: &Studio) -> Agent {
    let (id, node) = studio.running(NAME).await;
    let agent = Agent::join(studio, id, node).await;
    agent.jupyter(studio, AppState::Ready, &[]).await;
    agent
}

async fn share(studio: &Studio, with: &str, app: &str, level: &str) {
    let body = json!({"person": format!("{with}@example.org"), "app": app, "level": level});
    studio.mara.put(&format!("/instances/{NAME}/shares"), &body).await.is(200);
}

/// Goes into an application from the portal; the cookie that opens it.
async fn enter(studio: &Studio, browser: &mut Browser, app: &str) -> Option<String> {
    let go = browser.get(&format!("/w/perception/instances/{NAME}/enter/{app}?next=%2F")).await;
    let there = url::Url::parse(go.location()).ok()?;
    let way = format!("{}?{}", there.path(), there.query()?);
    let request = Request::get(way).header(header::HOST, host(app)).body(Body::empty()).expect("a request");
    let mut visitor = studio.server.browser();
    visitor.raw(request).await;
    visitor.cookies.get("atelier_app").map(|secret| format!("atelier_app={secret}"))
}

/// One request at an application's address.
async fn at(studio: &Studio, app: &str, cookie: &str, method: Method, path: &str) -> (StatusCode, String) {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(header::HOST, host(app))
        .header(header::COOKIE, cookie)
        .header("sec-fetch-site", "same-origin");
    let answer = studio.server.browser().send(request.body(Body::empty()).expect("a request")).await;
    (answer.status, answer.text)
}

/// The server at a port of its own, with what judges open connections.
async fn listen(studio: &Studio) -> SocketAddr {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let service = studio.server.router.clone().into_make_service_with_connect_info::<SocketAddr>();
    tokio::spawn(async move { axum::serve(listener, service).await });
    tokio::spawn(atelier::server::apps::keep(studio.server.state.clone()));
    address
}

/// A connection that lasts: a WebSocket, or a stream of events. With what came first.
async fn dial(address: SocketAddr, app: &str, cookie: &str, path: &str, is_socket: bool) -> (TcpStream, String) {
    let host = host(app);
    let upgrade = if is_socket {
        format!(
            "connection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n\
             sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\norigin: http://{host}\r\n"
        )
    } else {
        "sec-fetch-site: same-origin\r\n".to_owned()
    };
    let request = format!("GET {path} HTTP/1.1\r\nhost: {host}\r\ncookie: {cookie}\r\n{upgrade}\r\n");
    let mut stream = TcpStream::connect(address).await.expect("connects");
    stream.write_all(request.as_bytes()).await.expect("sent");
    let mut text = Vec::new();
    let came = async {
        while !String::from_utf8_lossy(&text).contains("\r\n\r\n") {
            if stream.read_buf(&mut text).await.expect("reads") == 0 {
                break;
            }
        }
    };
    tokio::time::timeout(PATIENCE, came).await.expect("an answer");
    (stream, String::from_utf8_lossy(&text).into_owned())
}

/// Waits until the other end has closed a connection, and gives what still came. Nothing else would ever
/// close it.
async fn closes(mut stream: TcpStream, what: &str) -> String {
    let mut rest = Vec::new();
    let closed = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut rest)).await;
    assert!(closed.is_ok(), "{what} was not closed");
    String::from_utf8_lossy(&rest).into_owned()
}

#[tokio::test]
async fn a_colleague_is_let_in_told_and_listed() {
    let studio = Studio::new().await;
    let _agent = running(&studio).await;
    let (mut mara, mut sven) = (studio.browser("mara").await, studio.browser("sven").await);
    sven.get(LIST).await.hides("Shared with you");
    assert_eq!(enter(&studio, &mut sven, "jupyter").await, None);
    mara.get(&page(NAME, "sharing")).await.shows("Nobody but you opens").shows("Runs code as the owner");
    let person = sven_id(&studio).await;
    let fields =
        [("instance", NAME), ("person", &person), ("app", "jupyter"), ("level", "use"), ("until", "2099-01-01T12:00")];
    let shown = mara.submit(&page(NAME, "sharing"), "share_app", &fields).await;
    shown.shows("JupyterLab of mara-fusion is shared with Sven to use until 1 January 2099, 12:00.");
    shown.shows("1 share is open").shows("/fn/revoke_share").shows("never");

    let list = sven.get(LIST).await;
    list.shows("Shared with you").shows("JupyterLab of mara-fusion").shows("/open/jupyter?next=%2Flab");
    list.shows("Mara shared JupyterLab of the instance mara-fusion with Sven to use until 1 January 2099, 12:00 UTC");
    sven.get(&page(NAME, "")).await.shows("Shared with you to use").shows("Only Mara opens it").hides("/sharing\"");
    let open = sven.get(&format!("/w/perception/instances/{NAME}/open/jupyter?next=%2Flab")).await;
    assert_eq!(open.status, StatusCode::FOUND);
    let cookie = enter(&studio, &mut sven, "jupyter").await.expect("let in");
    assert_eq!(at(&studio, "jupyter", &cookie, Method::POST, "/api").await.1, "asked with POST");
    // One application is one door, and a cookie of it opens no other.
    assert_eq!(enter(&studio, &mut sven, "terminal").await, None);
    assert_eq!(at(&studio, "terminal", &cookie, Method::GET, "/").await.0, StatusCode::UNAUTHORIZED);
    // It counts as activity, with a name; and it was used.
    mara.get(&page(NAME, "sharing")).await.hides(">never<");
    let shares = studio.mara.get(&format!("/instances/{NAME}/shares")).await.is(200);
    assert!(shares.json["shares"][0]["used_at"].is_string(), "{}", shares.text);
    let visitor = studio.server.state.fleet().board();
    let id = studio.look_up(NAME).await;
    assert_eq!(visitor.visitor(id, atelier_domain::compute::idle::Source::App).as_deref(), Some("Sven"));

    // No right but that one.
    for function in ["start_instance", "skip_stop", "wake_instance"] {
        let fields = [("instance", NAME), ("app", "jupyter")];
        assert_eq!(sven.call(function, &fields).await.status, StatusCode::FORBIDDEN, "{function}");
    }
    assert_eq!(sven.get(&page(NAME, "sharing")).await.status, StatusCode::FORBIDDEN);

    let fields = [("instance", NAME), ("app", "jupyter"), ("person", person.as_str())];
    let shown = mara.submit(&page(NAME, "sharing"), "revoke_share", &fields).await;
    shown.shows("JupyterLab is not shared with Sven any more").shows("Nobody but you opens");
    assert_eq!(at(&studio, "jupyter", &cookie, Method::GET, "/api").await.0, StatusCode::UNAUTHORIZED);
    sven.get(LIST).await.hides("Shared with you").shows("Mara took back the share of JupyterLab");
    assert_eq!(mara.call("revoke_share", &fields).await.status, StatusCode::NOT_FOUND);
}

async fn sven_id(studio: &Studio) -> String {
    let account = studio.server.state.store().account_by_email("sven@example.org").await.expect("reads");
    account.expect("exists").person.id.to_string()
}

#[tokio::test]
async fn what_is_wrong_is_said_beside_its_field_and_only_owners_share() {
    let studio = Studio::new().await;
    let _agent = running(&studio).await;
    let mut mara = studio.browser("mara").await;
    let sven = sven_id(&studio).await;
    for (person, app, level, until, words) in [
        ("", "jupyter", "read", "", "Choose a colleague."),
        ("nobody@example.org", "jupyter", "read", "", "Nobody in this workspace"),
        ("mara@example.org", "jupyter", "read", "", "It is yours already"),
        (&*sven, "solitaire", "read", "", "There is no application “solitaire” here; there are jupyter and terminal"),
        (&*sven, "jupyter", "write", "", "Choose read or use"),
        (&*sven, "jupyter", "use", "2001-01-01T00:00", "That time is over"),
        (&*sven, "jupyter", "use", "soon", "2026-03-19T19:30"),
        ("noor@example.org", "jupyter", "use", "", "Their roles open no applications"),
        ("noor@example.org", "terminal", "use", "", "Their roles open no applications"),
    ] {
        let fields = [("instance", NAME), ("person", person), ("app", app), ("level", level), ("until", until)];
        mara.submit(&page(NAME, "sharing"), "share_app", &fields).await.shows(words);
    }
    for who in ["ines", "oskar", "sven"] {
        let mut other = studio.browser(who).await;
        let fields = [("instance", NAME), ("person", &*sven), ("app", "jupyter"), ("level", "read")];
        assert_eq!(other.call("share_app", &fields).await.status, StatusCode::FORBIDDEN, "{who}");
    }
    studio.mara.get(&format!("/instances/{NAME}/shares")).await.is(200);
    let owner = Api::owner(&studio.server).await;
    owner.get(&format!("/instances/{NAME}/shares")).await.refuses(403, "right.missing");
    owner.put(&format!("/instances/{NAME}/shares"), &json!({"person": sven, "app": "jupyter"})).await.is(403);
    studio.mara.put("/instances/nothing/shares", &json!({})).await.refuses(404, "not-found");
}

#[tokio::test]
async fn who_may_read_looks_and_does_nothing() {
    let studio = Studio::new().await;
    let agent = running(&studio).await;
    let address = listen(&studio).await;
    for app in ["jupyter", "terminal"] {
        share(&studio, "noor", app, "read").await;
        share(&studio, "sven", app, "use").await;
    }
    let (mut noor, mut sven) = (studio.browser("noor").await, studio.browser("sven").await);
    let cookie = enter(&studio, &mut noor, "jupyter").await.expect("let in");
    assert_eq!(at(&studio, "jupyter", &cookie, Method::GET, "/api").await.1, "asked with GET");
    for method in [Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
        let (status, words) = at(&studio, "jupyter", &cookie, method.clone(), "/api").await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{method}");
        assert!(words.contains("shared with you to read"), "{words}");
    }
    // A body is more than looking, whatever the method says.
    for method in [Method::GET, Method::HEAD] {
        let request = Request::builder().method(method.clone()).uri("/api").header(header::HOST, host("jupyter"));
        let request = request.header(header::COOKIE, &cookie).header("sec-fetch-site", "same-origin");
        let answer = studio.server.browser().send(request.body(Body::from("_method=DELETE")).expect("a request")).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{method}");
    }
    for kind in ["content-length: 14", "transfer-encoding: chunked"] {
        let mut stream = TcpStream::connect(address).await.expect("connects");
        let (host, end) = (host("jupyter"), "\r\nconnection: close\r\n\r\n");
        let head = format!("GET /api HTTP/1.1\r\nhost: {host}\r\ncookie: {cookie}\r\nsec-fetch-site: same-origin\r\n");
        stream.write_all(format!("{head}{kind}{end}e\r\n_method=DELETE\r\n0\r\n\r\n").as_bytes()).await.expect("sent");
        let mut answer = Vec::new();
        tokio::time::timeout(PATIENCE, stream.read_to_end(&mut answer)).await.expect("in time").expect("reads");
        let answer = String::from_utf8_lossy(&answer);
        assert!(answer.starts_with("HTTP/1.1 403") && answer.contains("are not passed on"), "{kind}: {answer}");
    }
    let (_, refused) = dial(address, "jupyter", &cookie, "/api/kernels/1/channels", true).await;
    assert!(refused.starts_with("HTTP/1.1 403"), "{refused}");
    let using = enter(&studio, &mut sven, "jupyter").await.expect("let in");
    let (_, opened) = dial(address, "jupyter", &using, "/api/kernels/1/channels", true).await;
    assert!(opened.starts_with("HTTP/1.1 101"), "{opened}");

    // A terminal shows what it prints; what is typed and the size of the window go nowhere.
    let cookie = enter(&studio, &mut noor, "terminal").await.expect("let in");
    let (_, page) = at(&studio, "terminal", &cookie, Method::GET, "/").await;
    assert!(page.contains("You may look only"), "{page}");
    let (_, none) = dial(address, "terminal", &cookie, "/session/7", true).await;
    assert!(none.starts_with("HTTP/1.1 404"), "looking begins no shell: {none}");
    let (mut looking, opened) = dial(address, "terminal", &cookie, "/session/1", true).await;
    assert!(opened.starts_with("HTTP/1.1 101"), "{opened}");
    let using = enter(&studio, &mut sven, "terminal").await.expect("let in");
    let (mut typing, _) = dial(address, "terminal", &using, "/session/1", true).await;
    // What Noor sends has been looked at when her connection is over: its end is sent after it.
    looking.write_all(&frame(&[1, 0, 132, 0, 50])).await.expect("sent");
    looking.write_all(&frame(&[0, b'r', b'm'])).await.expect("sent");
    looking.write_all(&[0x88, 0x80, 0, 0, 0, 0]).await.expect("sent");
    closes(looking, "a terminal that is left").await;
    typing.write_all(&frame(&[1, 0, 80, 0, 24])).await.expect("sent");
    typing.write_all(&frame(&[0, b'l', b's'])).await.expect("sent");
    let typed = agent.typed.clone();
    comes("what Sven typed", || (typed.lock().expect("whole").len() >= 2).then_some(())).await;
    let arrived = typed.lock().expect("whole").clone();
    assert_eq!(arrived, [TerminalFrame::Size(80, 24), TerminalFrame::Bytes(b"ls".to_vec())], "and nothing of Noor's");
    let id = studio.look_up(NAME).await;
    let board = studio.server.state.fleet().board();
    let visitor = board.visitor(id, atelier_domain::compute::idle::Source::Terminal);
    assert_eq!(visitor.as_deref(), Some("Sven"));
}

/// A masked binary frame of a WebSocket, as browsers send it.
fn frame(bytes: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x82, 0x80 | u8::try_from(bytes.len()).expect("short"), 0, 0, 0, 0];
    frame.extend(bytes);
    frame
}

/// Opens a socket and a stream of events as a colleague.
async fn hold(studio: &Studio, address: SocketAddr, who: &str) -> [(TcpStream, &'static str); 2] {
    let mut colleague = studio.browser(who).await;
    let cookie = enter(studio, &mut colleague, "jupyter").await.expect("let in");
    let (socket, opened) = dial(address, "jupyter", &cookie, "/channels", true).await;
    assert!(opened.starts_with("HTTP/1.1 101"), "{opened}");
    let (events, opened) = dial(address, "jupyter", &cookie, "/events", false).await;
    assert!(opened.starts_with("HTTP/1.1 200"), "{opened}");
    [(socket, "the socket"), (events, "the stream of events")]
}

#[tokio::test]
async fn what_is_open_closes() {
    let studio = Studio::new().await;
    let _agent = running(&studio).await;
    let address = listen(&studio).await;

    share(&studio, "sven", "jupyter", "use").await;
    let held = hold(&studio, address, "sven").await;
    studio.mara.delete(&format!("/instances/{NAME}/shares/jupyter/sven@example.org")).await.is(200);
    for (stream, what) in held {
        closes(stream, &format!("{what} of a revoked share")).await;
    }

    // Less than before: what was opened with more goes.
    share(&studio, "sven", "jupyter", "use").await;
    let held = hold(&studio, address, "sven").await;
    share(&studio, "sven", "jupyter", "read").await;
    for (stream, what) in held {
        closes(stream, &format!("{what} of a share to read now")).await;
    }

    // A second from now its time is over, by the clock alone.
    share(&studio, "sven", "jupyter", "use").await;
    let held = hold(&studio, address, "sven").await;
    let until = jiff::Timestamp::from_millisecond(clock::now().0 + 1_000).expect("a time").to_string();
    let body = json!({"person": "sven@example.org", "app": "jupyter", "level": "use", "until": until});
    studio.mara.put(&format!("/instances/{NAME}/shares"), &body).await.is(200);
    comes_over(&studio).await;
    for (stream, what) in held {
        closes(stream, &format!("{what} of a share that is over")).await;
    }
    let shares = studio.mara.get(&format!("/instances/{NAME}/shares")).await.is(200);
    assert!(shares.json["shares"][0]["opens"].is_null(), "{}", shares.text);

    // The colleague is disabled.
    share(&studio, "sven", "jupyter", "use").await;
    let held = hold(&studio, address, "sven").await;
    let mut ines = studio.browser("ines").await;
    let sven = sven_id(&studio).await;
    let fields = [("verb", "disable"), ("ids[]", sven.as_str())];
    assert!(ines.call("change_accounts", &fields).await.status.is_success());
    for (stream, what) in held {
        closes(stream, &format!("{what} of somebody who is disabled")).await;
    }

    // The instance stops.
    let yara = studio.server.add("Yara", &[Role::DataScientist]).await;
    share(&studio, "yara", "jupyter", "use").await;
    assert!(!yara.is_empty());
    let held = hold(&studio, address, "yara").await;
    studio.mara.post(&format!("/instances/{NAME}/stop"), &json!({})).await.is(202);
    let id = studio.look_up(NAME).await;
    studio.node_gone(id).await;
    studio.until_state(id, InstanceState::Stopped).await;
    for (stream, what) in held {
        closes(stream, &format!("{what} of an instance that stopped")).await;
    }
    // Its colleague is told who starts it, and cannot.
    let mut colleague = studio.browser("yara").await;
    let asleep = colleague.get(&format!("/w/perception/instances/{NAME}/open/jupyter?next=%2Flab")).await;
    assert_eq!(asleep.status, StatusCode::OK);
    asleep.shows("is not running").shows("ask Mara to start it").hides("wake_instance");
    colleague.get(LIST).await.shows("Mara starts it");
}

#[tokio::test]
async fn who_loses_the_role_loses_what_is_open_their_own_included() {
    let studio = Studio::new().await;
    let _agent = running(&studio).await;
    let address = listen(&studio).await;
    let held = hold(&studio, address, "mara").await;
    let mut mara = studio.browser("mara").await;
    let cookie = enter(&studio, &mut mara, "terminal").await.expect("let in");
    let (terminal, opened) = dial(address, "terminal", &cookie, "/session/1", true).await;
    assert!(opened.starts_with("HTTP/1.1 101"), "{opened}");
    let account = studio.server.state.store().account_by_email("mara@example.org").await.expect("reads");
    let id = account.expect("exists").person.id.to_string();
    let mut ines = studio.browser("ines").await;
    let answer = ines.call("set_roles", &[("user", id.as_str()), ("roles[]", "reader")]).await;
    assert!(answer.status.is_success(), "{}", answer.text);
    for (stream, what) in held {
        closes(stream, &format!("{what} of an owner who reads only")).await;
    }
    let said = closes(terminal, "the terminal of an owner who reads only").await;
    assert!(said.contains("may not open this any more"), "{said}");
    assert_eq!(at(&studio, "terminal", &cookie, Method::GET, "/").await.0, StatusCode::UNAUTHORIZED);
    assert_eq!(enter(&studio, &mut mara, "jupyter").await, None);
}

#[tokio::test]
async fn a_shell_that_is_gone_first_does_not_hide_that_the_instance_stops() {
    let studio = Studio::new().await;
    let _agent = running(&studio).await;
    let address = listen(&studio).await;
    let mut mara = studio.browser("mara").await;
    let cookie = enter(&studio, &mut mara, "terminal").await.expect("let in");
    // While it runs, a shell that is gone can be opened again.
    let (mut terminal, _) = dial(address, "terminal", &cookie, "/session/1", true).await;
    terminal.write_all(&frame(b"\0exit")).await.expect("sent");
    let said = closes(terminal, "a terminal without its shell").await;
    assert!(!said.contains("over"), "{said}");
    let (mut terminal, _) = dial(address, "terminal", &cookie, "/session/1", true).await;
    studio.mara.post(&format!("/instances/{NAME}/stop"), &json!({})).await.is(202);
    terminal.write_all(&frame(b"\0exit")).await.expect("sent");
    let said = closes(terminal, "a terminal of an instance that stops").await;
    assert!(said.contains("{\"over\":\"“mara-fusion” is stopping."), "{said}");
}

/// Waits until the one share of the instance opens nothing any more.
async fn comes_over(studio: &Studio) {
    let over = async {
        loop {
            let shares = studio.mara.get(&format!("/instances/{NAME}/shares")).await.is(200);
            if shares.json["shares"][0]["opens"].is_null() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, over).await.expect("its time is over");
}

#[tokio::test]
async fn programs_share_too() {
    let studio = Studio::new().await;
    let _agent = running(&studio).await;
    let shares = format!("/instances/{NAME}/shares");
    let body =
        json!({"person": "sven@example.org", "app": "terminal", "level": "read", "until": "2099-01-01T00:00:00Z"});
    let made = studio.mara.put(&shares, &body).await.is(200);
    assert_eq!((made.json["person"]["name"].as_str(), made.json["opens"].as_str()), (Some("Sven"), Some("read")));
    assert_eq!(made.json["until"], "2099-01-01T00:00:00.000Z");
    let problem = studio.mara.put(&shares, &json!({"person": "sven@example.org", "app": "x", "until": "soon"})).await;
    let problem = problem.refuses(422, "invalid");
    for field in ["app", "level", "until"] {
        problem.problem(field);
    }
    let sven = Api::of(&studio.server, "sven@example.org").await;
    let shared = sven.get("/shared").await.is(200);
    let one = &shared.json["shared"][0];
    assert_eq!(
        (one["instance"].as_str(), one["app"].as_str(), one["level"].as_str()),
        (Some(NAME), Some("terminal"), Some("read"))
    );
    assert!(one["meaning"].as_str().is_some_and(|words| words.contains("is dropped")), "{}", shared.text);
    studio.mara.delete(&format!("{shares}/terminal/sven@example.org")).await.is(200);
    studio.mara.delete(&format!("{shares}/terminal/sven@example.org")).await.refuses(404, "not-found");
    assert_eq!(sven.get("/shared").await.is(200).json["shared"], json!([]));
}
