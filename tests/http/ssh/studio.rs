//! A server with SSH, an instance in it, and the clients of OpenSSH.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use atelier_testing::http::{ask, form};
use atelier_testing::{PATIENCE, free_port, wait_until};
use serde_json::{Value, json};

fn atelier() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_atelier"));
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("ATELIER_")) {
        command.env_remove(name);
    }
    // It would be built from the network in each of them.
    command.env("ATELIER_ENVIRONMENT", "off");
    // The network of the machine that runs tests stays as it is.
    command.env("ATELIER_LOCAL_NETWORKS", "off");
    command
}

/// A server on data of its own, with the instance `desk` of Ines.
pub struct Studio {
    pub data: tempfile::TempDir,
    child: Option<Child>,
    port: u16,
    pub ssh_port: u16,
    token: String,
}

impl Studio {
    /// With SSH on for `desk`, and the key `laptop` in the profile.
    pub fn start() -> Self {
        let data = tempfile::tempdir().expect("a folder");
        std::fs::write(data.path().join("password"), "kettle-orbit-violin").expect("written");
        let (port, ssh_port) = (free_port(), free_port());
        let child = atelier()
            .args(["serve", "--listen", &format!("127.0.0.1:{port}"), "--data"])
            .arg(data.path())
            .args(["--ssh-listen", &format!("127.0.0.1:{ssh_port}"), "--local-overcommit", "8"])
            .args(["--admin-email", "ines@example.org", "--admin-password-file"])
            .arg(data.path().join("password"))
            .stderr(std::fs::File::create(data.path().join("log")).expect("made"))
            .spawn()
            .expect("starts");
        let mut studio = Self { data, child: Some(child), port, ssh_port, token: String::new() };
        wait_until("the server is ready", PATIENCE, || {
            let answer = ask("GET", "/readyz", port, &[], "").ok()?;
            (answer.status == 200).then_some(())
        });
        studio.token = studio.token_of("ines@example.org");
        wait_until("there are sizes", PATIENCE, || {
            studio.get("/sizes")["sizes"].as_array().filter(|sizes| !sizes.is_empty()).map(|_| ())
        });
        studio.add_key("laptop");
        studio.post("/instances", &json!({"name": "desk", "size": "local-1"}));
        studio.until_state("desk", "running");
        studio.switch("desk", true);
        let known = studio.get("/instances/desk/ssh")["connect"]["known_host"].as_str().expect("known").to_owned();
        std::fs::write(studio.file("known_hosts"), known + "\n").expect("written");
        studio
    }

    /// Asks the server to stop, as an operator does.
    pub fn terminate(&mut self) {
        let child = self.child.as_mut().expect("it runs");
        atelier_testing::terminate(child.id()).expect("it is told");
    }

    /// Sends a form as a page does; what it answers, and the cookies from then on.
    fn form(&self, cookie: &str, function: &str, fields: &[(&str, &str)]) -> (Value, String) {
        let headers = [
            ("accept", "application/json"),
            ("content-type", "application/x-www-form-urlencoded"),
            ("sec-fetch-site", "same-origin"),
            ("cookie", cookie),
        ];
        let answer = ask("POST", &format!("/fn/{function}"), self.port, &headers, &form(fields)).expect("answers");
        assert_eq!(answer.status, 200, "{function}: {}", answer.text());
        let cookies = answer.cookies();
        let cookies = if cookies.is_empty() { cookie.to_owned() } else { cookies };
        (serde_json::from_str(&answer.text()).unwrap_or(Value::Null), cookies)
    }

    /// Does something as Ines in the portal.
    pub fn as_ines(&self, function: &str, fields: &[(&str, &str)]) -> Value {
        let known = [("email", "ines@example.org"), ("password", "kettle-orbit-violin")];
        let (_, cookie) = self.form("", "sign_in", &known);
        self.form(&cookie, function, fields).0
    }

    /// Somebody new, who has chosen a password: their id and a token.
    pub fn add_person(&self, name: &str) -> (String, String) {
        let email = format!("{name}@example.org");
        let fields = [("name", name), ("email", &*email), ("roles[]", "data-scientist"), ("trust", "on")];
        let made = self.as_ines("create_person", &fields);
        let id = made["next"].as_str().and_then(|next| next.rsplit('/').next()).expect("a page").to_owned();
        let secret = made["secret"].as_str().expect("a password").to_owned();
        let (_, cookie) = self.form("", "sign_in", &[("email", &*email), ("password", &*secret)]);
        self.form(&cookie, "change_password", &[("current", &*secret), ("password", "harbour-lantern-violin")]);
        (id, self.token_of(&email))
    }

    /// A token for somebody.
    pub fn token_of(&self, email: &str) -> String {
        let made = atelier().args(["token", "create", "--user", email, "--data"]).arg(self.data.path()).output();
        let text = String::from_utf8_lossy(&made.expect("runs").stdout).into_owned();
        text.split_whitespace().find(|word| word.starts_with("atl_")).expect("a token").to_owned()
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.data.path().join(name)
    }

    /// Where the home of `desk` is on the machine.
    pub fn home(&self) -> PathBuf {
        self.data.path().join("instances/1/home")
    }

    pub fn send(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        self.send_as(&self.token, method, path, body)
    }

    pub fn send_as(&self, token: &str, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let token = format!("Bearer {token}");
        let headers = [("authorization", token.as_str()), ("content-type", "application/json")];
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let answer = ask(method, &format!("/api/v1{path}"), self.port, &headers, &body).expect("answers");
        (answer.status, serde_json::from_str(&answer.text()).unwrap_or(Value::Null))
    }

    pub fn get(&self, path: &str) -> Value {
        let (status, value) = self.send("GET", path, &Value::Null);
        assert!(status < 300, "{path}: {status} {value}");
        value
    }

    pub fn post(&self, path: &str, body: &Value) -> Value {
        let (status, value) = self.send("POST", path, body);
        assert!(status < 300, "{path}: {status} {value}");
        value
    }

    /// Does something that has to work, as somebody else.
    pub fn must_as(&self, token: &str, method: &str, path: &str, body: &Value) -> Value {
        let (status, value) = self.send_as(token, method, path, body);
        assert!(status < 300, "{path}: {status} {value}");
        value
    }

    pub fn until_state(&self, instance: &str, state: &str) {
        wait_until(&format!("{instance} is {state}"), PATIENCE, || {
            (self.get(&format!("/instances/{instance}"))["state"] == state).then_some(())
        });
    }

    pub fn switch(&self, instance: &str, on: bool) {
        let (status, value) = self.send("PUT", &format!("/instances/{instance}/ssh"), &json!({"on": on}));
        assert_eq!((status, &value["on"]), (200, &json!(on)), "{value}");
    }

    /// Makes a pair of keys, of a kind that is quick to make.
    pub fn make_key(&self, name: &str) -> PathBuf {
        let file = self.file(name);
        let made =
            Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-C", name, "-f"]).arg(&file).status();
        assert!(made.expect("ssh-keygen is there").success());
        file
    }

    /// Makes a pair of keys and adds it to the profile; its id.
    pub fn add_key(&self, name: &str) -> String {
        let file = self.make_key(name).with_extension("pub");
        let line = std::fs::read_to_string(file).expect("made");
        let made = self.post("/ssh-keys", &json!({"key": line}));
        made["id"].as_str().expect("an id").to_owned()
    }

    /// The options that all clients take, with that key.
    fn options(&self, key: &str) -> Vec<String> {
        let (key, known) = (self.file(key), self.file("known_hosts"));
        let mut all = vec!["-F".to_owned(), "none".to_owned()];
        for option in [
            format!("IdentityFile={}", key.display()),
            "IdentitiesOnly=yes".to_owned(),
            "IdentityAgent=none".to_owned(),
            format!("UserKnownHostsFile={}", known.display()),
            "GlobalKnownHostsFile=/dev/null".to_owned(),
            "StrictHostKeyChecking=yes".to_owned(),
            format!("Port={}", self.ssh_port),
            "ConnectTimeout=20".to_owned(),
        ] {
            all.extend(["-o".to_owned(), option]);
        }
        all
    }

    /// `ssh`, with that key, as that user.
    pub fn ssh(&self, key: &str, user: &str) -> Command {
        let mut command = Command::new("ssh");
        command.args(self.options(key)).arg(format!("{user}@localhost")).stdin(Stdio::null());
        command
    }

    /// The same with options before the host.
    pub fn ssh_with(&self, key: &str, options: &[&str], user: &str) -> Command {
        let mut command = Command::new("ssh");
        command.args(self.options(key)).args(options).arg(format!("{user}@localhost")).stdin(Stdio::null());
        command
    }

    /// `sftp` or `scp`.
    pub fn client(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.args(self.options("laptop")).stdin(Stdio::null());
        command
    }

    /// Runs a command in `desk` and gives what it printed.
    pub fn run(&self, command: &str) -> String {
        let output = self.ssh("laptop", "desk").arg(command).output().expect("runs");
        assert!(output.status.success(), "{command}: {}", words(&output));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Everything in the history of SSH, newest first.
    pub fn history(&self) -> Vec<String> {
        let database = self.file("atelier.db");
        let script = "import sqlite3,sys\nfor row in \
                      sqlite3.connect('file:'+sys.argv[1]+'?mode=ro',uri=True).execute(\"select sentence from history \
                      where kind like 'ssh-%' order by revision desc\"): print(row[0])";
        let output = Command::new("python3").args(["-c", script]).arg(database).output().expect("runs");
        String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
    }
}

/// Both of what a client printed.
pub fn words(output: &Output) -> String {
    format!("{} {}{}", output.status, String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Gives a command that input, and waits for its end.
pub fn with_input(mut command: Command, input: &[u8]) -> Output {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
    let mut stdin = child.stdin.take().expect("piped");
    let input = input.to_vec();
    let writer = std::thread::spawn(move || {
        // Whoever ends before it has read all of it is fine.
        let _ = stdin.write_all(&input);
    });
    let output = child.wait_with_output().expect("ends");
    writer.join().expect("written");
    output
}

/// Bytes of every value, that look random and are always the same.
pub fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    (0..length / 8 + 1).flat_map(|_| next()).take(length).collect()
}

pub fn read(file: &Path) -> Vec<u8> {
    std::fs::read(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

impl Drop for Studio {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let log = std::fs::read_to_string(self.file("log")).unwrap_or_default();
            let lines: Vec<&str> = log.lines().rev().take(40).collect();
            eprintln!("{}", lines.into_iter().rev().collect::<Vec<_>>().join("\n"));
        }
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
        let _ = atelier().args(["stop-all", "--data"]).arg(self.data.path()).stdout(Stdio::null()).status();
    }
}
