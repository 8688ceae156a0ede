//! The binary itself, as an operator meets it: its words when something is wrong, its exit codes, its
//! signals.

use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use atelier_testing::http::{Answer, ask};
use atelier_testing::{PATIENCE, free_port, wait_until};

pub const PASSWORD: &str = "kettle-orbit-violin";

pub fn atelier() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_atelier"));
    // Settings of whoever runs the tests must not leak in.
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("ATELIER_")) {
        command.env_remove(name);
    }
    // It would be built from the network in each of them.
    command.env("ATELIER_ENVIRONMENT", "off");
    // The network of the machine that runs tests stays as it is.
    command.env("ATELIER_LOCAL_NETWORKS", "off");
    command
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A running server, ended when dropped.
pub struct Running {
    pub child: Child,
    pub port: u16,
}

impl Running {
    pub fn start(data: &Path, more: &[&str]) -> Self {
        let port = free_port();
        let file = data.join("password");
        std::fs::write(&file, PASSWORD).expect("written");
        let child = atelier()
            .args(["serve", "--listen", &format!("127.0.0.1:{port}")])
            .args(if more.contains(&"--data") { vec![] } else { vec!["--data".as_ref(), data.as_os_str()] })
            .args(["--admin-email", "ines@example.org", "--admin-password-file"])
            .arg(&file)
            .args(more)
            .stderr(Stdio::piped())
            .spawn()
            .expect("starts");
        Self { child, port }
    }

    pub fn wait_ready(&self) {
        wait_until("the server to be ready", PATIENCE, || {
            get(self.port, "/readyz").filter(|text| text.contains("\"ready\":true"))
        });
    }

    fn stop_when_ready(self) {
        self.wait_ready();
        self.stop();
    }

    pub fn stop(mut self) -> (i32, String) {
        atelier_testing::terminate(self.child.id()).expect("it runs");
        let status = self.child.wait().expect("ends");
        let mut log = String::new();
        self.child.stderr.take().expect("piped").read_to_string(&mut log).expect("reads");
        (status.code().unwrap_or(-1), log)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One GET over plain HTTP/1.0, as text.
pub fn get(port: u16, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: localhost:{port}\r\nAccept: text/html\r\n\r\n").ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    Some(text)
}

#[test]
fn a_wrong_flag_or_value_is_one_line_and_exit_code_2() {
    for (arguments, parts) in [
        (&["serve", "--lisen", "x"][..], &["--lisen \"x\"", "command line", "did you mean listen?"][..]),
        (&["serve", "--lisen=x"], &["--lisen \"x\"", "did you mean listen?"]),
        (&["serve", "--lisen"], &["--lisen (command line)", "did you mean listen?"]),
        (&["serve", "--listen", "nonsense"], &["listen", "\"nonsense\"", "flag --listen"]),
        (&["serve", "--listen"], &["--listen", "needs a value"]),
        (&["sing"], &["sing", "not a command"]),
        (&["user", "reset-password"], &["EMAIL", "missing"]),
        (&["serve", "--config", "no-such.toml"], &["no-such.toml", "cannot be read"]),
        (&["serve", "--tls-cert", "a.pem"], &["tls_cert", "tls_key"]),
    ] {
        let output = atelier().args(arguments).output().expect("runs");
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
        assert_eq!(text.lines().count(), 1, "{arguments:?}: {text}");
        assert!(parts.iter().all(|part| text.contains(part)), "{arguments:?}: {text}");
    }
}

#[test]
fn a_mistyped_flag_does_not_print_the_secret_behind_it() {
    let output = atelier().args(["serve", "--metrics-tokn", "sesame-open-sesame"]).output().expect("runs");
    let text = stderr(&output);
    assert!(text.contains("--metrics-tokn") && text.contains("did you mean metrics-token?"), "{text}");
    assert!(!text.contains("sesame"), "{text}");
}

#[test]
fn a_variable_that_is_not_text_is_nobodys_problem_unless_it_is_ours() {
    use std::os::unix::ffi::OsStrExt as _;
    let bytes = std::ffi::OsStr::from_bytes(b"\xff\xfe");
    assert!(atelier().arg("config").env("SOMETHING_ELSE", bytes).output().expect("runs").status.success());
    let output = atelier().arg("config").env("ATELIER_LISTEN", bytes).output().expect("runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("ATELIER_LISTEN"), "{}", stderr(&output));
}

#[test]
fn an_existing_directory_keeps_its_rights_and_a_new_one_is_private() {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = |path: &Path| std::fs::metadata(path).expect("exists").permissions().mode() & 0o777;
    let folder = folder();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).expect("set");
    let server = Running::start(folder.path(), &["--data", folder.path().join("new").to_str().expect("plain")]);
    server.stop_when_ready();
    assert_eq!((mode(folder.path()), mode(&folder.path().join("new"))), (0o755, 0o700));
    assert_eq!(mode(&folder.path().join("new/atelier.db")), 0o600);
}

#[test]
fn config_prints_values_and_sources_with_secrets_masked() {
    let folder = folder();
    std::fs::write(folder.path().join("atelier.toml"), "session_max_hours = 9\n").expect("written");
    let output = atelier()
        .args(["config", "--data"])
        .arg(folder.path())
        .env("ATELIER_METRICS_TOKEN", "sesame-open-sesame")
        .env("ATELIER_DATABASE_URL", "postgres://me:hush@db.example/atelier")
        .output()
        .expect("runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(!text.contains("sesame") && !text.contains("hush"), "{text}");
    for part in [
        "environment variable ATELIER_METRICS_TOKEN",
        "postgres://me:********@db.example/atelier",
        "atelier.toml",
        "flag --data",
        "127.0.0.1:3000",
    ] {
        assert!(text.contains(part), "{text} lacks {part}");
    }
}

#[test]
fn a_taken_port_is_named_and_the_data_is_not_touched() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("binds");
    let port = taken.local_addr().expect("has one").port();
    let folder = folder();
    let data = folder.path().join("data");
    let output = atelier()
        .args(["serve", "--listen", &format!("127.0.0.1:{port}"), "--data"])
        .arg(&data)
        .output()
        .expect("runs");
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains(&format!("port {port}")) && stderr(&output).contains("taken"),
        "{}",
        stderr(&output)
    );
    assert!(!data.exists());
}

#[test]
fn data_that_cannot_be_used_is_refused_in_words() {
    let folder = folder();
    let file = folder.path().join("a-file");
    std::fs::write(&file, "").expect("written");
    let start = |data: &Path| {
        let output = atelier()
            .args(["serve", "--listen", &format!("127.0.0.1:{}", free_port()), "--data"])
            .arg(data)
            .output()
            .expect("runs");
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        stderr(&output)
    };
    assert!(start(&file.join("below")).contains("cannot be made"));
    let data = folder.path().join("data");
    std::fs::create_dir(&data).expect("made");
    std::fs::write(data.join("atelier.db"), "this is no database, and long enough to be looked at as one".repeat(100))
        .expect("written");
    let text = start(&data);
    assert!(text.contains("atelier.db") && text.contains("not a database"), "{text}");
    assert!(std::fs::read_to_string(data.join("atelier.db")).expect("still there").starts_with("this is no database"));
}

#[test]
fn a_weak_admin_password_is_refused_at_the_start() {
    let folder = folder();
    let file = folder.path().join("password");
    std::fs::write(&file, "short").expect("written");
    let output = atelier()
        .args(["serve", "--listen", &format!("127.0.0.1:{}", free_port()), "--admin-email", "a@b.c", "--data"])
        .arg(folder.path().join("data"))
        .arg("--admin-password-file")
        .arg(&file)
        .output()
        .expect("runs");
    assert!(
        stderr(&output).contains("admin_password_file") && stderr(&output).contains("at least 12 characters"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_fresh_server_prints_its_set_up_code_and_sigterm_ends_it_cleanly() {
    let folder = folder();
    let port = free_port();
    let mut child = atelier()
        .args(["serve", "--listen", &format!("127.0.0.1:{port}"), "--log-format", "pretty", "--data"])
        .arg(folder.path())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.contains("set-up code")), "the code is printed");
    assert!(lines.any(|line| line.contains("ready")), "and then it is ready");
    assert!(get(port, "/").is_some_and(|text| text.contains("/set-up")));
    atelier_testing::terminate(child.id()).expect("it runs");
    assert!(lines.any(|line| line.contains("SIGTERM")));
    assert_eq!(child.wait().expect("ends").code(), Some(0));
}

#[test]
fn a_second_server_on_the_same_data_is_refused_in_words() {
    let folder = folder();
    let first = Running::start(folder.path(), &[]);
    first.wait_ready();
    let output = atelier()
        .args(["serve", "--listen", &format!("127.0.0.1:{}", free_port()), "--data"])
        .arg(folder.path())
        .output()
        .expect("runs");
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("another Atelier server") && stderr(&output).contains("engine.lock"));
    first.wait_ready();
    let (code, log) = first.stop();
    assert_eq!(code, 0, "{log}");
}

#[test]
fn sigterm_ends_idle_connections_and_the_account_stays() {
    let folder = folder();
    let server = Running::start(folder.path(), &[]);
    server.wait_ready();
    // A connection that is kept open and says nothing must not hold the server up.
    let idle = TcpStream::connect(("127.0.0.1", server.port)).expect("connects");
    let (code, log) = server.stop();
    assert_eq!(code, 0, "{log}");
    drop(idle);
    assert!(log.contains("has stopped"), "{log}");
    // The configured admin is still there and is not made twice.
    let again = Running::start(folder.path(), &[]);
    again.wait_ready();
    let (_, log) = again.stop();
    assert!(!log.contains("was made"), "{log}");
}

#[test]
fn no_more_connections_are_served_than_allowed() {
    let folder = folder();
    let server = Running::start(folder.path(), &["--max-connections", "8"]);
    server.wait_ready();
    let ask = || {
        let mut stream = TcpStream::connect(("127.0.0.1", server.port)).expect("connects");
        stream.set_read_timeout(Some(PATIENCE)).expect("set");
        stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("writes");
        let mut start = [0; 12];
        stream.read_exact(&mut start).expect("an answer");
        assert_eq!(&start, b"HTTP/1.1 200", "whoever comes last is served");
        stream
    };
    // Those that have been quiet for longest make room, and hear nothing more.
    let mut early: Vec<TcpStream> = (0..4).map(|_| ask()).collect();
    let _late: Vec<TcpStream> = (0..8).map(|_| ask()).collect();
    for stream in &mut early {
        let mut rest = Vec::new();
        // Reset or ended: what counts is that it does not stay open, where this would time out.
        let timed_out = stream.read_to_end(&mut rest).is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
        assert!(!timed_out, "it was closed");
    }
}

fn reset_password(settings: &[&str]) {
    let output = atelier().args(["user", "reset-password", "INES@example.org"]).args(settings).output().expect("runs");
    assert!(output.status.success(), "{}", stderr(&output));
    let password = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    assert_eq!(password.len(), 24, "{password}");
    let unknown =
        atelier().args(["user", "reset-password", "nobody@example.org"]).args(settings).output().expect("runs");
    assert_eq!(unknown.status.code(), Some(1));
    assert!(stderr(&unknown).contains("nobody has an account"), "{}", stderr(&unknown));
}

#[test]
fn the_locked_out_admin_gets_in_again_while_the_server_runs_on_sqlite() {
    let folder = folder();
    let server = Running::start(folder.path(), &[]);
    server.wait_ready();
    reset_password(&["--data", folder.path().to_str().expect("a plain path")]);
    server.stop();
    // A mistyped directory is not made into an empty installation.
    let wrong = folder.path().join("mistyped");
    let output =
        atelier().args(["user", "reset-password", "ines@example.org", "--data"]).arg(&wrong).output().expect("runs");
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("there is no Atelier database"), "{}", stderr(&output));
    assert!(!wrong.exists());
}

#[test]
fn the_locked_out_admin_gets_in_again_while_the_server_runs_on_postgres() {
    let folder = folder();
    let url = atelier_testing::postgres::shared().expect("PostgreSQL starts").create_database();
    let server = Running::start(folder.path(), &["--database-url", &url]);
    server.wait_ready();
    assert!(!folder.path().join("atelier.db").exists());
    reset_password(&["--database-url", &url]);
    server.stop();
}

/// Asks the API who the token is of.
fn who_am_i(port: u16, token: &str) -> Answer {
    ask("GET", "/api/v1", port, &[("authorization", &format!("Bearer {token}"))], "").expect("an answer")
}

#[test]
fn a_token_from_the_console_opens_the_api_until_it_is_revoked() {
    let folder = folder();
    let data = folder.path().to_str().expect("a plain path");
    let server = Running::start(folder.path(), &[]);
    server.wait_ready();
    let token =
        |arguments: &[&str]| atelier().arg("token").args(arguments).args(["--data", data]).output().expect("runs");
    let made = token(&["create", "--user", "ines@example.org", "--name", "night runs", "--days", "7"]);
    assert!(made.status.success(), "{}", stderr(&made));
    assert!(stderr(&made).contains("“night runs” of ines@example.org. It works for 7 days"), "{}", stderr(&made));
    let secret = String::from_utf8_lossy(&made.stdout).trim().to_owned();
    assert_eq!((secret.len(), &secret[..4]), (47, "atl_"));
    let answer = who_am_i(server.port, &secret);
    assert!(answer.status == 200 && answer.text().contains("ines@example.org"), "{answer:?}");

    let listed = token(&["list", "--user", "ines@example.org"]);
    let line = String::from_utf8_lossy(&listed.stdout).into_owned();
    assert!(line.contains("night runs") && !line.contains(&secret), "{line}");
    let id = line.split_whitespace().next().expect("an id").to_owned();
    let revoked = token(&["revoke", "--user", "ines@example.org", &id]);
    assert!(revoked.status.success(), "{}", stderr(&revoked));
    wait_until("the token to be refused", PATIENCE, || {
        Some(who_am_i(server.port, &secret)).filter(|answer| answer.status == 401)
    });

    for (arguments, part) in [
        (&["create", "--user", "nobody@example.org"][..], "nobody has an account"),
        (&["create", "--user", "ines@example.org", "--days", "1000"], "1 to 366 days"),
        (&["create", "--user", "nonsense"], "nonsense"),
        (&["revoke", "--user", "ines@example.org", &id], "has no token"),
    ] {
        let output = token(arguments);
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {text}");
        assert!(text.contains(part) && text.lines().count() == 1, "{arguments:?}: {text}");
    }
    server.stop();
}

#[test]
fn with_a_certificate_it_speaks_tls() {
    use std::sync::Arc;
    let folder = folder();
    let made = rcgen::generate_simple_self_signed(vec!["localhost".into()]).expect("a certificate");
    let (cert, key) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
    std::fs::write(&cert, made.cert.pem()).expect("written");
    std::fs::write(&key, made.signing_key.serialize_pem()).expect("written");
    let paths = [cert.to_str().expect("plain"), key.to_str().expect("plain")];
    let server = Running::start(folder.path(), &["--tls-cert", paths[0], "--tls-key", paths[1]]);
    let mut roots = rustls::RootCertStore::empty();
    roots.add(made.cert.der().clone()).expect("a root");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let config = Arc::new(config);
    let answer = wait_until("an answer over TLS", PATIENCE, || {
        let name = rustls::pki_types::ServerName::try_from("localhost").expect("a name");
        let mut connection = rustls::ClientConnection::new(Arc::clone(&config), name).expect("a connection");
        let mut socket = TcpStream::connect(("127.0.0.1", server.port)).ok()?;
        let mut stream = rustls::Stream::new(&mut connection, &mut socket);
        stream.write_all(b"GET /sign-in HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").ok()?;
        let mut text = Vec::new();
        // The server may close without a farewell; what came is what counts.
        let _ = stream.read_to_end(&mut text);
        Some(String::from_utf8_lossy(&text).into_owned()).filter(|text| text.starts_with("HTTP/1.1 200"))
    });
    assert!(answer.to_lowercase().contains("strict-transport-security"), "{answer}");
    server.stop();
    let broken = atelier()
        .args([
            "serve",
            "--listen",
            &format!("127.0.0.1:{}", free_port()),
            "--tls-cert",
            paths[1],
            "--tls-key",
            paths[0],
            "--data",
        ])
        .arg(folder.path().join("other"))
        .output()
        .expect("runs");
    assert_eq!(broken.status.code(), Some(1));
    assert!(stderr(&broken).contains("tls_cert"), "{}", stderr(&broken));
}

#[test]
fn an_environment_that_cannot_be_built_says_why_and_what_to_do() {
    let folder = folder();
    let output = atelier()
        .args(["environment", "build", "--python", "/nowhere/python3", "--data"])
        .arg(folder.path().join("data"))
        .output()
        .expect("runs");
    assert_eq!(output.status.code(), Some(1));
    let said = stderr(&output);
    assert!(said.contains("no Python at /nowhere/python3") && said.contains("apt-get install"), "{said}");
    assert!(!folder.path().join("data").exists(), "nothing was made");
}

#[test]
fn a_simulation_needs_no_server_and_says_what_is_wrong() {
    let folder = folder();
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/office-hours.toml");
    let chart = folder.path().join("chart.svg");
    // A setting that no server would take is none of its business.
    let run = |file: &Path, more: &[&str]| {
        let mut command = atelier();
        command.env("ATELIER_LISTEN", "nowhere").arg("simulate").arg(file).args(more);
        command.output().expect("runs")
    };
    let tables = run(&shipped, &["--svg", &chart.to_string_lossy()]);
    let text = String::from_utf8_lossy(&tables.stdout).into_owned();
    assert!(tables.status.success() && text.contains("warm in office hours"), "{text}{}", stderr(&tables));
    assert!(std::fs::read_to_string(&chart).is_ok_and(|svg| svg.starts_with("<svg ")));
    let (first, second) = (run(&shipped, &["--json"]), run(&shipped, &["--json"]));
    assert!(first.stdout == second.stdout && first.stdout.starts_with(b"{\"scenario\":\"Office hours\""));

    let scenario = std::fs::read_to_string(&shipped).expect("read");
    let wrong = folder.path().join("wrong.toml");
    std::fs::write(&wrong, scenario.replace("per_hour = 4", "per_hour = 0").replace("max = 12", "max = 12\nmin = 13"))
        .expect("written");
    let refused = run(&wrong, &[]);
    assert_eq!(refused.status.code(), Some(2));
    let said = stderr(&refused);
    assert!(said.contains("atelier: cluster[0].min: The minimum of 13 is above the maximum of 12."), "{said}");
    assert!(said.contains("atelier: jobs[0].per_hour: "), "{said}");
    let missing = run(&folder.path().join("none.toml"), &[]);
    assert!(missing.status.code() == Some(2) && stderr(&missing).contains("none.toml could not be read"));
}

#[test]
fn a_server_on_loopback_has_its_port_in_both_families() {
    let folder = folder();
    let server = Running::start(folder.path(), &[]);
    server.wait_ready();
    let mut other = TcpStream::connect(("::1", server.port)).expect("the server, not somebody else");
    write!(other, "GET /healthz HTTP/1.0\r\n\r\n").expect("asks");
    let mut text = String::new();
    other.read_to_string(&mut text).expect("answers");
    assert!(text.starts_with("HTTP/1.0 200"), "{text}");
    server.stop();
    // Whoever waits there would be handed people's tokens.
    let port = free_port();
    let _thief = std::net::TcpListener::bind(("::1", port)).expect("a port");
    let output = atelier()
        .args(["serve", "--listen", &format!("127.0.0.1:{port}"), "--data"])
        .arg(folder.path())
        .output()
        .expect("runs");
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("could pose as this server"), "{}", stderr(&output));
}

#[test]
fn a_port_that_was_handed_over_is_never_free() {
    let folder = folder();
    let port = free_port();
    // As systemd holds it.
    let held = std::net::TcpListener::bind(("127.0.0.1", port)).expect("a port");
    let start = |listen: u16| {
        let own = env!("CARGO_BIN_EXE_atelier");
        let socket: std::os::fd::OwnedFd = held.try_clone().expect("another handle").into();
        Command::new("sh")
            .args(["-c", "LISTEN_PID=$$ LISTEN_FDS=1 exec \"$@\" 3<&0 </dev/null", "sh", own, "serve", "--listen"])
            .arg(format!("127.0.0.1:{listen}"))
            .args(["--environment", "off", "--local-networks", "off", "--data"])
            .arg(folder.path())
            .stdin(Stdio::from(socket))
            .stderr(Stdio::piped())
            .spawn()
            .expect("starts")
    };
    for _ in 0..2 {
        // Who calls while nobody answers waits for the next server.
        let early = std::thread::spawn(move || get(port, "/healthz"));
        let server = Running { child: start(port), port };
        server.wait_ready();
        assert!(early.join().expect("ends").is_some_and(|text| text.contains("200 OK")));
        let (code, log) = server.stop();
        assert_eq!(code, 0, "{log}");
        assert!(std::net::TcpListener::bind(("127.0.0.1", port)).is_err(), "nobody takes it meanwhile");
    }
    let output = start(free_port()).wait_with_output().expect("ends");
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("no setting names it"), "{}", stderr(&output));
}

#[test]
fn where_cookies_can_be_taken_the_server_says_so() {
    let folder = folder();
    let server = Running::start(folder.path(), &[]);
    server.wait_ready();
    let (_, log) = server.stop();
    assert!(log.contains("Session cookies can be stolen"), "{log}");
}
