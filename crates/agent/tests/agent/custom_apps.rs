//! Applications that people add to an instance: on sockets and on ports, in networks of their own, changed
//! while others go on.

use std::os::unix::process::CommandExt;
use std::process::Command;

use atelier_protocol::{App, AppState, CustomApps, Target, ToAgent};
use atelier_testing::{free_port, wait_until};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::common::agent::{is_root, processes_with};
use crate::common::hosting::{INSTANCE, Kind, agent, best, kinds, request, web};
use crate::common::{PATIENCE, Server, Stream};

/// A web server on a port, or on a socket if it is given one, that answers requests and shakes hands for
/// WebSockets, whose bytes it sends back.
const SERVER: &str = r#"
import base64, hashlib, http.server, os, socketserver, sys
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def address_string(self): return "somebody"
    def do_GET(self):
        if self.path == "/crash": os._exit(7)
        if self.headers.get("upgrade") == "websocket":
            key = self.headers["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
            accept = base64.b64encode(hashlib.sha1(key.encode()).digest()).decode()
            self.wfile.write(("HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-accept: %s\r\n\r\n" % accept).encode())
            while True:
                got = self.connection.recv(4096)
                if not got: return
                self.connection.sendall(got)
        body = (os.environ.get("SAYS", "") + " " + os.environ.get("PORT", "socket")).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
class OnPort(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
class OnSocket(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
where = sys.argv[1]
server = OnSocket(where, Handler) if where.startswith("/") else OnPort(("127.0.0.1", int(where)), Handler)
print("listens on " + where, flush=True)
server.serve_forever()
"#;

/// By which the processes of this test are told from those of others that run at the same time.
fn mark(name: &str) -> String {
    // With the test's own name: others run in the same process.
    let test = std::thread::current().name().unwrap_or_default().to_owned();
    format!("{name}-{}-{test}", std::process::id())
}

fn app(name: &str, where_: &str, port: Option<u16>) -> App {
    App {
        name: name.to_owned(),
        argv: ["/usr/bin/python3", "-c", SERVER, where_].map(ToOwned::to_owned).to_vec(),
        health: "/health".to_owned(),
        environment: vec![("SAYS".to_owned(), "{home} of".to_owned()), ("MARK".to_owned(), mark(name))],
        port,
        is_custom: true,
        ..App::default()
    }
}

fn on_port(name: &str, port: u16) -> App {
    app(name, "{port}", Some(port))
}

fn target(name: &str) -> Target {
    Target::App { instance: INSTANCE, name: name.to_owned() }
}

async fn tell(server: &mut Server, revision: i64, apps: &[App]) {
    let custom = CustomApps { instance: INSTANCE, revision, apps: apps.to_vec() };
    server.say(&ToAgent::Apps(Box::new(custom))).await;
}

async fn says(server: &mut Server, name: &str) -> String {
    let mut stream = server.open(target(name)).await.unwrap();
    request(&mut stream, "GET /x HTTP/1.1\r\nhost: x\r\n\r\n").await
}

/// Whether somebody else on this machine gets through to a port.
fn can_connect(uid: u32, port: u16) -> bool {
    let code = format!("import socket; socket.create_connection(('127.0.0.1', {port}), 2)");
    let mut command = Command::new("/usr/bin/python3");
    command.args(["-c", &code]).stderr(std::process::Stdio::null());
    if is_root() {
        command.uid(uid).gid(uid);
    }
    command.status().unwrap().success()
}

/// A WebSocket through the stream: the handshake, then bytes both ways.
async fn echoes(stream: &mut Box<dyn Stream>) -> bool {
    let hello = "GET /ws HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: \
                 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    stream.write_all(hello.as_bytes()).await.unwrap();
    let mut come = Vec::new();
    while !come.ends_with(b"\r\n\r\n") {
        assert_ne!(stream.read_buf(&mut come).await.unwrap(), 0);
    }
    let head = String::from_utf8_lossy(&come).to_lowercase();
    stream.write_all(b"\x81\x85\x01\x02\x03\x04iemhn").await.unwrap();
    let mut back = [0; 11];
    stream.read_exact(&mut back).await.unwrap();
    head.contains("101") && head.contains("s3pplmbitxaq9kygzzhzrbk+xoo=") && back.starts_with(b"\x81\x85")
}

#[tokio::test]
async fn an_application_on_a_port_is_reached_through_its_socket_and_by_nobody_else() {
    for kind in kinds() {
        let (agent, mut server) = agent(kind).await;
        let port = free_port();
        let mut set_up = agent.set_up();
        set_up.apps = vec![on_port("board", port), app("sock", "{socket}", None)];
        assert_eq!(server.set_up(&set_up).await, None, "{kind:?}");
        let status = server.app_called("board", AppState::Ready).await;
        // Without a view there is no network of its own, and that is said.
        assert_eq!(status.is_exposed, kind != Kind::View, "{kind:?}");
        assert!(!server.app_called("sock", AppState::Ready).await.is_exposed);
        let home =
            if kind == Kind::View { "/home/".to_owned() } else { agent.instance().join("home").display().to_string() };
        let said = says(&mut server, "board").await;
        assert!(said.starts_with(&home) && said.ends_with(&format!("of {port}")), "{kind:?}: {said}");
        assert!(says(&mut server, "sock").await.ends_with("of socket"));
        for name in ["board", "sock"] {
            let mut stream = server.open(target(name)).await.unwrap();
            assert!(echoes(&mut stream).await, "{kind:?} {name}");
        }
        for uid in [70_002, 70_001] {
            assert_eq!(can_connect(uid, port), kind != Kind::View, "{kind:?} {uid}");
        }
    }
}

#[tokio::test]
async fn private_applications_reach_each_other_and_an_open_one_has_the_network() {
    if kinds().last() != Some(&Kind::View) {
        println!("this needs root and bubblewrap");
        return;
    }
    let (agent, mut server) = best().await;
    let (one, other, open) = (free_port(), free_port(), free_port());
    let look = format!(
        "import urllib.request, sys; sys.argv = ['', sys.argv[1]]\n\
         print(urllib.request.urlopen('http://127.0.0.1:{one}/').read().decode(), flush=True)\n{SERVER}"
    );
    let looking =
        App { argv: vec!["/usr/bin/python3".into(), "-c".into(), look, "{port}".into()], ..on_port("looking", other) };
    let mut set_up = agent.set_up();
    let opened = App { has_open_network: true, ..on_port("opened", open) };
    set_up.apps = vec![on_port("board", one), looking, opened];
    server.set_up(&set_up).await;
    // The one looks at the other as soon as that is there.
    server.app_called("looking", AppState::Ready).await;
    let log = std::fs::read_to_string(agent.instance().join("logs/looking.log")).unwrap();
    assert!(log.contains(&format!("of {one}\n")), "{log}");
    assert!(server.app_called("opened", AppState::Ready).await.is_exposed);
    assert!(can_connect(70_002, open) && !can_connect(70_002, one) && !can_connect(70_002, other));
}

#[tokio::test]
async fn changes_reach_a_running_instance_and_leave_the_others_alone() {
    let (agent, mut server) = best().await;
    let own = App { environment: vec![("MARK".to_owned(), mark("web"))], ..web() };
    let mut set_up = agent.set_up_with(own);
    set_up.apps_revision = 10;
    server.set_up(&set_up).await;
    server.app(AppState::Ready).await;
    let port = free_port();
    let (board, sock) = (on_port("board", port), app("sock", "{socket}", None));
    tell(&mut server, 11, &[board.clone(), sock.clone()]).await;
    server.app_called("board", AppState::Ready).await;
    server.app_called("sock", AppState::Ready).await;
    let marked = |name: &str| {
        let marks = processes_with("serve_forever");
        let is_it = |pid: &u32| {
            std::fs::read(format!("/proc/{pid}/environ"))
                .is_ok_and(|all| String::from_utf8_lossy(&all).contains(&format!("MARK={}\0", mark(name))))
        };
        marks.into_iter().filter(is_it).collect::<Vec<u32>>()
    };
    let (web_pids, board_pids, sock_pids) = (marked("web"), marked("board"), marked("sock"));
    assert!(!board_pids.is_empty() && !sock_pids.is_empty());
    // What is older, or says the same again, changes nothing.
    tell(&mut server, 9, &[]).await;
    tell(&mut server, 11, &[sock.clone(), board.clone()]).await;
    // One is changed: it begins anew, and only it.
    let changed =
        App { environment: vec![("SAYS".into(), "changed".into()), ("MARK".into(), mark("board"))], ..board.clone() };
    tell(&mut server, 12, &[changed.clone(), sock.clone()]).await;
    let changed_says = async {
        loop {
            if server.open(target("board")).await.is_ok() && says(&mut server, "board").await.starts_with("changed") {
                return;
            }
        }
    };
    tokio::time::timeout(PATIENCE, changed_says).await.expect("it says what it was changed to");
    assert_eq!(marked("sock"), sock_pids);
    assert!(marked("board").iter().all(|pid| !board_pids.contains(pid)));
    // One goes, and its open connections with it.
    let mut open = server.open(target("sock")).await.unwrap();
    assert!(echoes(&mut open).await);
    tell(&mut server, 13, &[changed]).await;
    let mut rest = Vec::new();
    let ended = tokio::time::timeout(PATIENCE, open.read_to_end(&mut rest)).await;
    assert!(ended.is_ok(), "the connection ends with its application");
    wait_until("the application to go", PATIENCE, || marked("sock").is_empty().then_some(()));
    assert!(server.open(target("sock")).await.err().unwrap().contains("no application “sock”"));
    assert_eq!(marked("web"), web_pids, "what is part of Atelier goes on");
    // Somebody wants it anew.
    let before = marked("board");
    server.say(&ToAgent::RestartApp { instance: INSTANCE, name: "board".to_owned() }).await;
    wait_until("it to begin anew", PATIENCE, || {
        let now = marked("board");
        (!now.is_empty() && now.iter().all(|pid| !before.contains(pid))).then_some(())
    });
}

#[tokio::test]
async fn one_that_crashes_is_started_again_and_a_missing_program_says_what_helps() {
    let (agent, mut server) = best().await;
    let mut set_up = agent.set_up();
    let remedy = "Run “pip install board” in a terminal.";
    let missing = App { argv: vec!["no-such-board".into()], remedy: remedy.into(), ..on_port("missing", free_port()) };
    set_up.apps = vec![on_port("board", free_port()), missing];
    server.set_up(&set_up).await;
    let failed = server.app_called("missing", AppState::Failed).await;
    let words = failed.last_lines.join("\n");
    assert!(words.starts_with(remedy) && words.contains("“no-such-board” was not found"), "{words}");
    // What people add does not keep their instance from being healthy.
    let is_healthy = |event: &atelier_protocol::Event| matches!(event, atelier_protocol::Event::Healthy { .. });
    server.until("it to be healthy", |server| server.events.iter().any(is_healthy).then_some(())).await;
    server.app_called("board", AppState::Ready).await;
    let mut stream = server.open(target("board")).await.unwrap();
    stream.write_all(b"GET /crash HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    let backing = server.app_called("board", AppState::BackingOff).await;
    assert!(backing.last_lines.last().unwrap().contains("ended with code 7"), "{:?}", backing.last_lines);
    assert_eq!(server.app_called("board", AppState::Ready).await.restarts, 1);
}

#[tokio::test]
async fn one_that_sleeps_is_started_by_who_opens_it() {
    let (agent, mut server) = best().await;
    let sleeper = App { is_on_demand: true, is_custom: false, ..app("sleeper", "{socket}", None) };
    let set_up = agent.set_up_with(sleeper);
    server.set_up(&set_up).await;
    server.app_called("sleeper", AppState::OnDemand).await;
    let is_healthy = |event: &atelier_protocol::Event| matches!(event, atelier_protocol::Event::Healthy { .. });
    server.until("it to be healthy", |server| server.events.iter().any(is_healthy).then_some(())).await;
    assert!(processes_with("serve_forever").iter().all(|pid| {
        !std::fs::read(format!("/proc/{pid}/environ"))
            .is_ok_and(|all| String::from_utf8_lossy(&all).contains(&format!("MARK={}\0", mark("sleeper"))))
    }));
    let opened = tokio::time::timeout(PATIENCE, says(&mut server, "sleeper")).await;
    assert!(opened.unwrap().ends_with("of socket"));
    server.app_called("sleeper", AppState::Ready).await;
}
