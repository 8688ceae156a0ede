//! Strangers who open connections and say nothing, or say it slowly: everybody else is served.

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::Duration;

use atelier_testing::http::{ask, form};
use tokio::net::TcpSocket;

use crate::cli::{PASSWORD, Running};

/// More than a server with its defaults has places for.
const SILENT: usize = 4_100;
const SLOW: usize = 1_000;

/// This process holds the other end of all of them.
fn allow_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }).expect("raised");
}

/// Opens connections from so many loopback addresses. A connection over which the server hangs up is left as
/// it is: that is what a stranger would do.
async fn connect(port: u16, count: usize, addresses: usize) -> Vec<tokio::net::TcpStream> {
    let mut open = Vec::with_capacity(count);
    for number in 0..count {
        let last = u8::try_from(number % addresses).expect("at most 256");
        let socket = TcpSocket::new_v4().expect("a socket");
        // 127.0.1.x, so that nobody here is the one who asks for pages.
        let from = if addresses == 1 { IpAddr::from([127, 0, 0, 1]) } else { IpAddr::from([127, 0, 1, last]) };
        socket.bind(SocketAddr::new(from, 0)).expect("bound");
        open.push(socket.connect(SocketAddr::from(([127, 0, 0, 1], port))).await.expect("connected"));
    }
    open
}

/// Signs in and gives the cookie.
fn sign_in(port: u16) -> String {
    let page = ask("GET", "/sign-in", port, &[], "").expect("answers");
    assert_eq!(page.status, 200);
    let origin = format!("http://127.0.0.1:{port}");
    let headers = [("content-type", "application/x-www-form-urlencoded"), ("origin", origin.as_str())];
    let fields = form(&[("email", "ines@example.org"), ("password", PASSWORD)]);
    let answer = ask("POST", "/fn/sign_in", port, &headers, &fields).expect("answers");
    answer.cookies()
}

/// One request over a connection that stays open.
fn over(stream: &mut TcpStream, port: u16, path: &str, cookie: &str) -> String {
    write!(stream, "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nCookie: {cookie}\r\nAccept: text/html\r\n\r\n")
        .expect("sent");
    stream.set_read_timeout(Some(Duration::from_secs(10))).expect("set");
    let mut some = [0; 4 << 10];
    let count = stream.read(&mut some).expect("an answer");
    let head = String::from_utf8_lossy(&some[..count]).into_owned();
    // The rest of the body is not of interest; what is left of it is read so that the next answer is found.
    let length = head
        .to_lowercase()
        .split("content-length: ")
        .nth(1)
        .and_then(|rest| rest.split("\r\n").next().and_then(|length| length.trim().parse::<usize>().ok()));
    if let (Some(length), Some(body)) = (length, head.find("\r\n\r\n")) {
        let mut left = (body + 4 + length).saturating_sub(count);
        while left > 0 {
            let count = stream.read(&mut some).expect("the rest");
            assert!(count > 0, "the answer was cut short");
            left = left.saturating_sub(count);
        }
    }
    head
}

async fn besiege(addresses: usize) {
    allow_files();
    let folder = tempfile::tempdir().expect("a folder");
    let server = Running::start(folder.path(), &[]);
    let port = server.port;
    tokio::task::spawn_blocking(move || {
        server.wait_ready();
        server
    })
    .await
    .map(|server| async move {
        let cookie = tokio::task::spawn_blocking(move || sign_in(port)).await.expect("signed in");
        assert!(!cookie.is_empty(), "nobody is signed in");
        let mut kept = TcpStream::connect(("127.0.0.1", port)).expect("connected");
        let (mut kept, cookie) = tokio::task::spawn_blocking(move || {
            let head = over(&mut kept, port, "/w/studio", &cookie);
            assert!(head.starts_with("HTTP/1.1 200"), "{head}");
            (kept, cookie)
        })
        .await
        .expect("a page");
        let silent = connect(port, SILENT, addresses).await;
        let mut slow = connect(port, SLOW, addresses).await;
        for stream in &mut slow {
            // What the server has closed already cannot be written to.
            let _ = tokio::io::AsyncWriteExt::write_all(stream, b"GET / HTTP/1.1\r\nX-Slow: ").await;
        }
        tokio::task::spawn_blocking(move || {
            for _ in 0..20 {
                let answer = ask("GET", "/healthz", port, &[], "").expect("the server answers");
                assert_eq!((answer.status, answer.text().as_str()), (200, "ok\n"));
                let page = ask("GET", "/w/studio", port, &[("cookie", &cookie)], "").expect("the server answers");
                assert_eq!(page.status, 200, "{}", page.text());
            }
            // Over the connection from before: nobody who has signed in had to make room.
            let head = over(&mut kept, port, "/healthz", &cookie);
            assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        })
        .await
        .expect("everybody is served");
        drop((silent, slow));
        drop(server);
    })
    .expect("ready")
    .await;
}

#[tokio::test]
async fn silent_and_slow_connections_of_one_address_keep_nobody_out() {
    besiege(1).await;
}

#[tokio::test]
async fn silent_and_slow_connections_of_256_addresses_keep_nobody_out() {
    besiege(256).await;
}
