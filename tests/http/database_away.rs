//! A database that goes away and comes back.

use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use atelier_testing::http::{Answer, ask};
use atelier_testing::{PATIENCE, wait_until};

use crate::cli::{Running, atelier};

/// The way to the database, which can be cut.
#[derive(Default)]
struct Way {
    is_cut: AtomicBool,
    open: Mutex<Vec<TcpStream>>,
}

impl Way {
    /// Leads from a port of its own to that one, for as long as the test runs.
    fn to(port: u16) -> (Arc<Self>, u16) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("binds");
        let own = listener.local_addr().expect("has one").port();
        let way = Arc::new(Self::default());
        let shared = Arc::clone(&way);
        std::thread::spawn(move || {
            for near in listener.incoming().flatten() {
                if shared.is_cut.load(Ordering::Acquire) {
                    continue;
                }
                let Ok(far) = TcpStream::connect(("127.0.0.1", port)) else { continue };
                let mut open = shared.open.lock().expect("whole");
                for (from, to) in [(&near, &far), (&far, &near)] {
                    let (mut from, mut to) = (from.try_clone().expect("cloned"), to.try_clone().expect("cloned"));
                    std::thread::spawn(move || {
                        let _ = std::io::copy(&mut from, &mut to);
                        let _ = to.shutdown(Shutdown::Both);
                    });
                }
                open.extend([near, far]);
            }
        });
        (way, own)
    }

    fn cut(&self) {
        self.is_cut.store(true, Ordering::Release);
        self.open.lock().expect("whole").drain(..).for_each(|stream| drop(stream.shutdown(Shutdown::Both)));
    }

    fn mend(&self) {
        self.is_cut.store(false, Ordering::Release);
    }
}

#[test]
fn while_the_database_is_away_requests_hear_503_and_when_to_try_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let url = atelier_testing::postgres::shared().expect("PostgreSQL starts").create_database();
    let port = url.split(':').nth(2).and_then(|rest| rest.split('/').next()).expect("a port").parse().expect("one");
    let (way, own) = Way::to(port);
    let through = url.replacen(&format!(":{port}"), &format!(":{own}"), 1);
    let server = Running::start(folder.path(), &["--database-url", &through]);
    server.wait_ready();
    let made = atelier()
        .args(["token", "create", "--user", "ines@example.org", "--database-url", &url])
        .output()
        .expect("runs");
    let text = String::from_utf8_lossy(&made.stdout).into_owned();
    let token = text.split_whitespace().find(|word| word.starts_with("atl_")).expect("a token").to_owned();
    let authorization = format!("Bearer {token}");
    let headers = [("authorization", authorization.as_str()), ("content-type", "application/json")];
    let job = "{\"command\": [\"true\"], \"cluster\": \"pool\"}";
    let submit = || ask("POST", "/api/v1/jobs", server.port, &headers, job).expect("answers");
    let who = || ask("GET", "/api/v1", server.port, &headers, "").expect("answers");
    let pool = "{\"name\": \"pool\", \"size\": \"local-half\", \"min\": 0, \"max\": 1}";
    wait_until("there is a cluster", PATIENCE, || {
        let made = ask("POST", "/api/v1/clusters", server.port, &headers, pool).expect("answers");
        (made.status == 201).then_some(())
    });
    assert_eq!(who().status, 200);
    way.cut();
    let is_away = |answer: &Answer| {
        let told = answer.headers.iter().any(|(name, value)| name == "retry-after" && value.parse::<u32>().is_ok());
        let text = answer.text();
        assert!(answer.status != 500, "500: {text}");
        answer.status == 503 && told && text.contains("unavailable")
    };
    // While the token is still remembered, and after.
    for _ in 0..3 {
        let answer = submit();
        assert!(is_away(&answer), "{} {:?} {}", answer.status, answer.headers, answer.text());
    }
    let page = ask("GET", "/w/x/jobs", server.port, &[("cookie", "atelier_session=abcdefghijklmnopqrstuv")], "");
    let page = page.expect("answers");
    assert!(page.status == 503 || page.status < 400, "{} {}", page.status, page.text());
    let ready = ask("GET", "/readyz", server.port, &[], "").expect("answers");
    assert!(ready.status == 503 && !ready.text().contains("taken over"), "{}", ready.text());
    way.mend();
    wait_until("the server is back", PATIENCE, || Some(who()).filter(|answer| answer.status == 200));
    wait_until("it is ready", PATIENCE, || {
        ask("GET", "/readyz", server.port, &[], "").ok().filter(|answer| answer.status == 200)
    });
    drop(server);
    // Whether a job was taken is not known; nothing of it stays.
    let _ = atelier().args(["stop-all", "--data"]).arg(folder.path()).output();
}
