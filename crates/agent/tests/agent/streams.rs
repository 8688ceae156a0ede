//! Streams: bytes from and to applications and logs, dialled by the agent.

use std::os::unix::fs::symlink;

use atelier_protocol::AppState;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::common::hosting::{INSTANCE, agent, answer, app_target, best, kinds, log_target, python, request, web};
use crate::common::{Listener, Server, Stream};

#[tokio::test]
async fn bytes_go_through_both_ways_however_many() {
    for kind in kinds() {
        let (agent, mut server) = agent(kind).await;
        assert_eq!(server.set_up(&agent.set_up_with(web())).await, None);
        server.app(AppState::Ready).await;
        let mut stream = server.open(app_target()).await.unwrap();
        // Several requests on one connection, as proxies do.
        for path in ["/one", "/two"] {
            let body = request(&mut stream, &format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n")).await;
            assert_eq!(body, format!("hello from {path}"), "{kind:?}");
        }
        stream.write_all(b"GET /large HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
        let body = answer(&mut stream).await;
        assert!(body.len() == 20_000_000 && body.iter().all(|byte| *byte == b'x'), "{kind:?}");
        // And a large upload that comes back.
        let upload: Vec<u8> = (0..3_000_000_u32).map(|number| number.to_le_bytes()[1]).collect();
        let (mut read, mut write) = tokio::io::split(stream);
        let sent = upload.clone();
        let sending = tokio::spawn(async move {
            write
                .write_all(format!("POST / HTTP/1.1\r\ncontent-length: {}\r\n\r\n", sent.len()).as_bytes())
                .await
                .unwrap();
            write.write_all(&sent).await.unwrap();
            write
        });
        let mut come = Vec::new();
        while !come.ends_with(&upload[upload.len() - 100..]) || come.len() < upload.len() {
            assert_ne!(read.read_buf(&mut come).await.unwrap(), 0);
        }
        assert!(come.ends_with(&upload), "{kind:?}");
        drop(sending.await.unwrap());
    }
}

#[tokio::test]
async fn a_server_on_this_machine_gets_the_connection_itself() {
    for kind in kinds() {
        let (agent, mut server) = agent(kind).await;
        if !matches!(server.listener, Listener::Unix(_)) {
            continue;
        }
        assert_eq!(server.set_up(&agent.set_up_with(web())).await, None);
        server.app(AppState::Ready).await;
        let mut stream: Box<dyn Stream> = Box::new(server.open_given(app_target()).await);
        for path in ["/one", "/two"] {
            let body = request(&mut stream, &format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n")).await;
            assert_eq!(body, format!("hello from {path}"), "{kind:?}");
        }
        // A server that does not know of it, and what is no application, are served as ever.
        let mut stream = server.open(app_target()).await.unwrap();
        let body = request(&mut stream, "GET /three HTTP/1.1\r\nhost: x\r\n\r\n").await;
        assert_eq!(body, "hello from /three", "{kind:?}");
    }
}

#[tokio::test]
async fn many_streams_at_once_and_ends_follow() {
    let (agent, mut server) = best().await;
    server.set_up(&agent.set_up_with(web())).await;
    server.app(AppState::Ready).await;
    let mut streams = Vec::new();
    for _ in 0..100 {
        streams.push(server.open(app_target()).await.unwrap());
    }
    for (number, stream) in streams.iter_mut().enumerate() {
        let body = request(stream, &format!("GET /{number} HTTP/1.1\r\nhost: x\r\n\r\n")).await;
        assert_eq!(body, format!("hello from /{number}"));
    }
    // The application hangs up, and the server's end sees it.
    let stream = &mut streams[7];
    request(stream, "GET /last HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await;
    assert_eq!(stream.read(&mut [0; 10]).await.unwrap(), 0);
    // The server's end hangs up, and the agent keeps nothing open.
    let open =
        |agent: &crate::common::agent::Agent| std::fs::read_dir(format!("/proc/{}/fd", agent.pid())).unwrap().count();
    assert!(open(&agent) > 200, "{}", open(&agent));
    streams.clear();
    atelier_testing::wait_until("streams to be closed", crate::common::PATIENCE, || (open(&agent) < 100).then_some(()));
}

#[tokio::test]
async fn what_cannot_be_reached_is_said_in_words() {
    let (agent, mut server) = best().await;
    let why = server.open(app_target()).await.err().unwrap();
    assert!(why.contains("no instance is set up"), "{why}");
    // One that takes its time.
    server.set_up(&agent.set_up_with(python("import time; time.sleep(1000)"))).await;
    server.app(AppState::Starting).await;
    assert_eq!(server.open(app_target()).await.err().unwrap(), "web is starting");
    let other = atelier_protocol::Target::App { instance: INSTANCE, name: "nothing".to_owned() };
    assert_eq!(server.open(other).await.err().unwrap(), "there is no application “nothing”");
    let elsewhere =
        atelier_protocol::Target::App { instance: atelier_domain::compute::InstanceId(9), name: "web".to_owned() };
    assert!(server.open(elsewhere).await.err().unwrap().contains("instance-9 is not on this node"));
    assert!(server.open(log_target("nothing", 0)).await.is_err());
}

#[tokio::test]
async fn nobody_is_connected_with_a_socket_that_is_not_the_applications_own() {
    let (agent, mut server) = best().await;
    let other = agent.folder.path().join("somebody-elses.sock");
    let _listener = std::os::unix::net::UnixListener::bind(&other).unwrap();
    server.set_up(&agent.set_up_with(web())).await;
    server.app(AppState::Ready).await;
    let socket = agent.instance().join("run/web.sock");
    std::fs::remove_file(&socket).unwrap();
    symlink(&other, &socket).unwrap();
    let why = server.open(app_target()).await.err().unwrap();
    assert!(why.contains("web cannot be reached"), "{why}");
    std::fs::remove_file(&socket).unwrap();
    std::fs::hard_link(&other, &socket).unwrap();
    if crate::common::agent::is_root() {
        let why = server.open(app_target()).await.err().unwrap();
        assert!(why.contains("not its socket"), "{why}");
    }
}

async fn read_until(stream: &mut Box<dyn Stream>, text: &str) -> String {
    let mut come = Vec::new();
    let read = async {
        while !String::from_utf8_lossy(&come).contains(text) {
            assert_ne!(stream.read_buf(&mut come).await.unwrap(), 0, "{}", String::from_utf8_lossy(&come));
        }
    };
    tokio::time::timeout(crate::common::PATIENCE, read).await.expect("the log has it");
    String::from_utf8(come).unwrap()
}

async fn log(server: &mut Server, name: &str, offset: u64) -> Box<dyn Stream> {
    server.open(log_target(name, offset)).await.unwrap()
}

#[tokio::test]
async fn logs_are_followed_from_anywhere_while_they_grow() {
    let (agent, mut server) = best().await;
    let mut set_up = agent.set_up_with(web());
    set_up.has_scripts = true;
    server.set_up(&set_up).await;
    let mut from_start = log(&mut server, "setup", 0).await;
    read_until(&mut from_start, "anna-ws is set up").await;
    // Said to be printed while the script still runs: it waits for a file that is made only after that was
    // seen.
    let gate = agent.config.shared.join("gate");
    let text =
        format!("echo first line; until [ -e {} ]; do sleep 0.02; done; echo second line", "$ATELIER_SHARED_DIR/gate");
    let script = server.script("startup", &text);
    let wanted = atelier_protocol::RunScripts {
        instance: INSTANCE,
        generation: 1,
        scripts: vec![script],
        is_trusted: true,
        throw_away: None,
    };
    server.say(&atelier_protocol::ToAgent::RunScripts(Box::new(wanted))).await;
    server.until("the script to be fetched", |server| (server.fetched > 0).then_some(())).await;
    read_until(&mut from_start, "first line\n").await;
    std::fs::write(gate, "").unwrap();
    read_until(&mut from_start, "second line\n").await;
    server.app(AppState::Ready).await;
    let path = agent.instance().join("logs/setup-1.log");
    let whole = std::fs::read_to_string(&path).unwrap();
    let offset = whole.find("second").unwrap();
    let mut from_there = log(&mut server, "setup", offset as u64).await;
    assert!(read_until(&mut from_there, "second line\n").await.starts_with("second line"));
    let mut of_app = log(&mut server, "web", 0).await;
    read_until(&mut of_app, "listens on ").await;
    // Beyond the end there is only what comes later; it ends with the instance.
    let mut later = log(&mut server, "setup", 1 << 40).await;
    set_up.generation = 2;
    server.set_up(&set_up).await;
    assert_eq!(later.read(&mut [0; 10]).await.unwrap_or(0), 0);
}
