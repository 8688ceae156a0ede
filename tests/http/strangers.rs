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

/// Asks for a page's head over a connection that stays open.
fn over(stream: &mut TcpStream, port: u16, path: &str, cookie: &str) -> String {
    write!(stream, "HEAD {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nCookie: {cookie}\r\nAccept: text/html\r\n\r\n")
        .expect("sent");
    stream.set_read_timeout(Some(Duration::from_secs(10))).expect("set");
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).expect("an answer");
        head.push(byte[0]);
    }
    String::from_utf8_lossy(&head).into_owned()
}

fn besiege(addresses: usize) {
    allow_files();
    let folder = tempfile::tempdir().expect("a folder");
    let server = Running::start(folder.path(), &[]);
    server.wait_ready();
    let port = server.port;
    let cookie = sign_in(port);
    let mut kept = TcpStream::connect(("127.0.0.1", port)).expect("connected");
    let head = over(&mut kept, port, "/w/studio", &cookie);
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let strangers = runtime.block_on(async {
        let silent = connect(port, SILENT, addresses).await;
        let mut slow = connect(port, SLOW, addresses).await;
        for stream in &mut slow {
            // What the server has closed already cannot be written to.
            let _ = tokio::io::AsyncWriteExt::write_all(stream, b"GET / HTTP/1.1\r\nX-Slow: ").await;
        }
        (silent, slow)
    });
    // Over the connection from before: nobody who has signed in had to make room.
    let head = over(&mut kept, port, "/w/studio", &cookie);
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    for _ in 0..20 {
        let answer = ask("GET", "/healthz", port, &[], "").expect("the server answers");
        assert_eq!((answer.status, answer.text().as_str()), (200, "ok\n"));
        let page = ask("GET", "/w/studio", port, &[("cookie", &cookie)], "").expect("the server answers");
        assert_eq!(page.status, 200, "{}", page.text());
    }
    drop(strangers);
}

#[test]
fn silent_and_slow_connections_of_one_address_keep_nobody_out() {
    besiege(1);
}

#[test]
fn silent_and_slow_connections_of_256_addresses_keep_nobody_out() {
    besiege(256);
}
