//! The product with real nodes: the binary as an operator runs it, jobs as people submit them.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use atelier_testing::http::{ask, form};
use atelier_testing::index::Index;
use atelier_testing::{PATIENCE, free_port, wait_until};
use serde_json::{Value, json};

pub(super) fn atelier() -> Command {
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

/// A server on data of its own. What it leaves behind is ended with it.
pub struct Studio {
    pub data: tempfile::TempDir,
    pub child: Option<Child>,
    pub port: u16,
    pub token: String,
    pub flags: &'static [&'static str],
    variables: Vec<(String, String)>,
}

impl Studio {
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    pub fn start_with(flags: &'static [&'static str]) -> Self {
        Self::start_as(flags, Vec::new())
    }

    pub fn start_as(flags: &'static [&'static str], variables: Vec<(String, String)>) -> Self {
        Self::start_at(tempfile::tempdir().expect("a folder"), flags, variables)
    }

    pub fn start_at(data: tempfile::TempDir, flags: &'static [&'static str], variables: Vec<(String, String)>) -> Self {
        std::fs::write(data.path().join("password"), "kettle-orbit-violin").expect("written");
        let mut studio = Self { data, child: None, port: 0, token: String::new(), flags, variables };
        studio.serve();
        let made = atelier()
            .args(["token", "create", "--user", "ines@example.org", "--data"])
            .arg(studio.data.path())
            .output()
            .expect("runs");
        let text = String::from_utf8_lossy(&made.stdout).into_owned();
        studio.token = text.split_whitespace().find(|word| word.starts_with("atl_")).expect("a token").to_owned();
        wait_until("there are sizes", PATIENCE, || {
            let sizes = studio.get("/sizes");
            sizes["sizes"].as_array().filter(|sizes| !sizes.is_empty()).map(|_| ())
        });
        studio
    }

    /// Starts the server, again.
    pub(super) fn serve(&mut self) {
        self.port = free_port();
        let child = atelier()
            .args(["serve", "--listen", &format!("127.0.0.1:{}", self.port), "--data"])
            .arg(self.data.path())
            .args(["--local-overcommit", "8", "--admin-email", "ines@example.org", "--admin-password-file"])
            .arg(self.data.path().join("password"))
            .args(self.flags)
            .envs(self.variables.iter().cloned())
            .stderr(Stdio::null())
            .spawn()
            .expect("starts");
        self.child = Some(child);
        wait_until("the server is ready", PATIENCE, || {
            let answer = ask("GET", "/readyz", self.port, &[], "").ok()?;
            (answer.status == 200).then_some(())
        });
    }

    /// As a power cut would end it.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().expect("it runs");
            child.wait().expect("ends");
        }
    }

    pub fn send(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let token = format!("Bearer {}", self.token);
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

    pub fn over(&self, job: &str) -> Value {
        wait_until(&format!("{job} is over"), PATIENCE, || {
            Some(self.get(&format!("/jobs/{job}?wait=10s"))).filter(|job| job["is_over"] == true)
        })
    }

    pub fn log(&self, job: &str) -> String {
        let token = format!("Bearer {}", self.token);
        let path = format!("/api/v1/jobs/{job}/log");
        let answer = ask("GET", &path, self.port, &[("authorization", token.as_str())], "").expect("answers");
        assert_eq!(answer.status, 200);
        answer.text()
    }

    pub fn shared(&self) -> std::path::PathBuf {
        self.data.path().join("files/shared")
    }
}

impl Drop for Studio {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
        let _ = atelier().args(["stop-all", "--data"]).arg(self.data.path()).stdout(Stdio::null()).status();
    }
}

pub(super) fn nodes_alive(data: &Path) -> usize {
    let entries = std::fs::read_dir(data.join("nodes")).into_iter().flatten().flatten();
    entries
        .filter(|entry| {
            let lock = std::fs::File::open(entry.path().join("lock"));
            lock.is_ok_and(|lock| matches!(lock.try_lock_shared(), Err(std::fs::TryLockError::WouldBlock)))
        })
        .count()
}

#[test]
fn two_hundred_jobs_survive_the_server() {
    let mut studio = Studio::start();
    studio.post("/clusters", &json!({"name": "pool", "size": "local-1", "min": 0, "max": 2, "idle_seconds": 600}));
    let script = "echo start $ATELIER_ARRAY_INDEX\n\
                  until [ -e $ATELIER_SHARED_DIR/go ]; do sleep 0.2; done\n\
                  echo end $ATELIER_ARRAY_INDEX";
    let made = studio
        .post("/jobs", &json!({"script": script, "cluster": "pool", "cores": 0.01, "memory_mib": 8, "array": 200}));
    assert_eq!((made["first"].as_str(), made["count"].as_u64()), (Some("job-1"), Some(200)));
    wait_until("all run", PATIENCE, || {
        let nodes = studio.get("/clusters/pool");
        let running = studio.get("/jobs?state=running&limit=200");
        let count = running["jobs"].as_array().map_or(0, Vec::len);
        (count == 200).then_some(nodes)
    });
    studio.kill();
    assert!(nodes_alive(studio.data.path()) > 0, "nodes outlive the server");
    std::fs::write(studio.shared().join("go"), "").expect("written");
    studio.serve();
    for number in 1..=200 {
        let name = format!("job-{number}");
        let job = studio.over(&name);
        assert_eq!(job["state"], "completed", "{job}");
        assert_eq!(job["attempt"], 1, "{job}");
        let index = number - 1;
        assert_eq!(studio.log(&name), format!("start {index}\nend {index}\n"));
    }
}

#[test]
fn nodes_outlive_a_stopped_server_until_stop_all() {
    let mut studio = Studio::start();
    studio.post("/clusters", &json!({"name": "pool", "size": "local-half", "min": 1, "max": 1, "idle_seconds": 600}));
    wait_until("the node is up", PATIENCE, || {
        let nodes = studio.get("/clusters/pool");
        (nodes["nodes"]["idle"] == 1).then_some(())
    });
    let refused = atelier().args(["stop-all", "--data"]).arg(studio.data.path()).output().expect("runs");
    let words = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && words.contains("stop it first"), "{words}");
    atelier_testing::terminate(studio.child.as_ref().expect("runs").id()).expect("it runs");
    studio.child.take().expect("runs").wait().expect("ends");
    assert_eq!(nodes_alive(studio.data.path()), 1);
    let ended = atelier().args(["stop-all", "--data"]).arg(studio.data.path()).output().expect("runs");
    assert_eq!(String::from_utf8_lossy(&ended.stdout), "node-1 has ended.\n");
    assert_eq!(nodes_alive(studio.data.path()), 0);
    let again = atelier().args(["stop-all", "--data"]).arg(studio.data.path()).output().expect("runs");
    assert_eq!(String::from_utf8_lossy(&again.stdout), "No node runs on this machine.\n");
}

#[test]
fn impossible_and_unknown_things_are_said_at_once() {
    let studio = Studio::start();
    studio.post("/clusters", &json!({"name": "pool", "size": "local-half", "min": 0, "max": 1, "idle_seconds": 600}));
    let (status, problem) = studio.send("POST", "/jobs", &json!({"command": ["true"], "cluster": "pool", "cores": 64}));
    assert_eq!(status, 409, "{problem}");
    let words = problem["detail"].as_str().unwrap_or_default();
    assert!(words.contains("64 cores") && words.contains("0.5 cores"), "{words}");
    let made = studio.post("/jobs", &json!({"command": ["no-such-program"], "cluster": "pool"}));
    let job = studio.over(made["id"].as_str().expect("an id"));
    assert_eq!(job["state"], "failed");
    let phrase = job["verdict"]["phrase"].as_str().unwrap_or_default();
    assert!(phrase.contains("“no-such-program” was not found"), "{phrase}");
    let (status, problem) = studio.send(
        "POST",
        "/jobs",
        &json!({"command": ["true"], "cluster": "pool", "files": [{"path": "../x", "blob": "00", "size": 1}]}),
    );
    assert_eq!(status, 422, "{problem}");
}

/// Everything in a folder, however deep.
fn everything(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        found.push(entry.path());
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            everything(&entry.path(), found);
        }
    }
}

#[test]
fn without_bubblewrap_people_reach_their_own_folders_and_nothing_else_of_the_servers() {
    let is_root = std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self").expect("is there")) == 0;
    if !is_root {
        println!("skipped: needs root");
        return;
    }
    let studio = Studio::start_with(&["--local-isolation", "users"]);
    let data = studio.data.path();
    let config = data.join("atelier.toml");
    std::fs::write(&config, "metrics_token = \"a-token-of-some-length\"").expect("written");
    std::fs::set_permissions(&config, std::os::unix::fs::PermissionsExt::from_mode(0o600)).expect("closed");
    studio.post("/clusters", &json!({"name": "pool", "size": "local-half", "min": 0, "max": 1, "idle_seconds": 600}));
    let first =
        studio.post("/jobs", &json!({"script": "echo a secret; echo x > $ATELIER_OUTPUT_DIR/x", "cluster": "pool"}));
    let first = first["id"].as_str().expect("an id").to_owned();
    assert_eq!(studio.over(&first)["state"], "completed");
    assert_eq!(studio.log(&first), "a secret\n");

    let mut all = vec![data.to_owned()];
    everything(data, &mut all);
    let lines: Vec<String> = all.iter().map(|path| path.display().to_string()).collect();
    for name in ["atelier.db", "atelier.toml", "engine.lock", "agents.sock", "agent.json", "secret", ".log"] {
        assert!(lines.iter().any(|line| line.ends_with(name)), "{name} is looked for");
    }
    std::fs::write(studio.shared().join("list"), lines.join("\n") + "\n").expect("written");
    let look = "id -u
        while read -r path; do
            if [ -d \"$path\" ]; then ls \"$path\" >/dev/null 2>&1 && echo \"$path\"; else head -c 1 \"$path\" >/dev/null 2>&1 && echo \"$path\"; fi
            [ -w \"$path\" ] && echo \"$path\"
        done < $ATELIER_SHARED_DIR/list
        echo $HOME; pwd";
    let second = studio.post("/jobs", &json!({"script": look, "cluster": "pool"}));
    let second = second["id"].as_str().expect("an id").to_owned();
    assert_eq!(studio.over(&second)["state"], "completed");
    let text = studio.log(&second);
    let mut found: Vec<&str> = text.lines().collect();
    assert!(found.remove(0).parse::<u32>().expect("a user") >= 200_000, "{text}");
    let own_jobs = Path::new(found.pop().expect("a folder")).parent().expect("of a person").to_owned();
    let home = Path::new(found.pop().expect("a home")).to_owned();
    assert!(home.starts_with(data.join("files/homes")) && own_jobs.starts_with(data.join("jobs")), "{text}");
    let of_others = |path: &&Path| {
        // Its own token is there too, in a folder that nobody can list; kernels are for every notebook to
        // find.
        let own = [&home, &own_jobs, &studio.shared(), &data.join("bin"), &data.join("jobs/.identity")];
        !own.iter().any(|own| path.starts_with(own)) && !path.starts_with(data.join("environments/kernels"))
    };
    let leaks: Vec<&Path> = found.iter().map(|path| Path::new(*path)).filter(of_others).collect();
    assert_eq!(leaks, Vec::<&Path>::new(), "can be read or written by a job");
    assert!(found.iter().any(|path| path.ends_with("outputs/x")), "its own outputs are: {text}");
}

#[test]
fn a_job_runs_with_its_environment_and_one_that_is_broken_says_which_line() {
    let index = Index::open(&[("tiny", "answer = 42")]);
    let mut variables = index.variables();
    variables.push(("ATELIER_ENVIRONMENT".to_owned(), "auto".to_owned()));
    let mut studio = Studio::start_as(&[], variables);
    index.gate.close();
    studio.post("/environments", &json!({"name": "churn", "recipe": "# of the test\ntiny", "note": "first"}));
    studio.post("/clusters", &json!({"name": "pool", "size": "local-1", "min": 0, "max": 1, "idle_seconds": 600}));
    let script = "#!/bin/sh\npython3 -c 'import tiny; print(tiny.answer)'\necho $ATELIER_ENVIRONMENT\n\
                  touch $VIRTUAL_ENV/mine || echo read-only";
    let ask = json!({"script": script, "cluster": "pool", "python_environment": "churn"});
    let made = studio.post("/jobs", &ask);
    let job = studio.get("/jobs/job-1");
    assert_eq!(made["id"], "job-1");
    assert_eq!((&job["python_environment"], &job["reason"]["code"]), (&json!("churn:1"), &json!("environment-coming")));
    assert_eq!(studio.get("/nodes")["nodes"], json!([]), "no node waits for a build");
    // Killed in the middle of the build, the next server goes on.
    let waits = || (index.gate.seen() > 0).then_some(());
    wait_until("the build is at the gate", Duration::from_secs(180), waits);
    studio.kill();
    index.gate.open();
    studio.serve();
    let job = wait_until("the job is over", Duration::from_secs(180), || {
        Some(studio.get("/jobs/job-1?wait=10s")).filter(|job| job["is_over"] == true)
    });
    assert_eq!(job["state"], "completed", "{job} {}", studio.log("job-1"));
    let log = studio.log("job-1");
    assert!(log.starts_with("42\nchurn:1\n") && log.contains("read-only"), "{log}");
    let version = studio.get("/environments/churn/versions/1");
    assert_eq!((&version["state"], version["used"].is_string()), (&json!("ready"), true), "{version}");

    // A second job waits for nothing; one on a node of its own has it too.
    studio.post("/jobs", &ask);
    assert_eq!(studio.over("job-2")["state"], "completed");
    studio.post("/jobs", &json!({"script": script, "python_environment": "churn:1"}));
    studio.over("job-3");
    assert!(studio.log("job-3").starts_with("42\nchurn:1\n"), "{}", studio.log("job-3"));

    studio.post("/environments/churn/versions", &json!({"recipe": "tiny\nno-such-thing>=3"}));
    studio.post("/jobs", &json!({"script": script, "cluster": "pool", "python_environment": "churn"}));
    let job = wait_until("the job is over", Duration::from_secs(180), || {
        Some(studio.get("/jobs/job-4?wait=10s")).filter(|job| job["is_over"] == true)
    });
    assert_eq!(job["state"], "failed", "{job}");
    let said = job["verdict"].to_string();
    assert!(said.contains("churn:2") && said.contains("Line 2, “no-such-thing>=3” failed"), "{said}");
    let (status, refused) = studio.send("POST", "/jobs", &json!({"script": script, "python_environment": "churn:2"}));
    assert_eq!((status, refused.to_string().contains("Line 2")), (422, true), "{refused}");
}

impl Studio {
    /// Posts a form as a script does, with a session's cookie; the answer and the cookie afterwards.
    pub fn form(&self, cookie: &str, function: &str, fields: &[(&str, &str)]) -> (Value, String) {
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

    /// Somebody new, who has chosen a password: their id and a token.
    pub fn add(&self, owner: &str, name: &str) -> (String, String) {
        let email = format!("{name}@example.org");
        let fields = [("name", name), ("email", &*email), ("roles[]", "data-scientist"), ("trust", "on")];
        let (made, _) = self.form(owner, "create_person", &fields);
        let id = made["next"].as_str().and_then(|next| next.rsplit('/').next()).expect("a page").to_owned();
        let secret = made["secret"].as_str().expect("a password").to_owned();
        let (_, cookie) = self.form("", "sign_in", &[("email", &*email), ("password", &*secret)]);
        self.form(&cookie, "change_password", &[("current", &*secret), ("password", "harbour-lantern-violin")]);
        let made = atelier().args(["token", "create", "--user", &email, "--data"]).arg(self.data.path()).output();
        let text = String::from_utf8_lossy(&made.expect("runs").stdout).into_owned();
        (id, text.split_whitespace().find(|word| word.starts_with("atl_")).expect("a token").to_owned())
    }
}

#[test]
fn a_job_acts_in_its_owners_name_until_they_are_disabled() {
    let mut studio = Studio::start();
    studio.post("/clusters", &json!({"name": "pool", "size": "local-half", "min": 0, "max": 1, "idle_seconds": 600}));
    let (_, owner) = studio.form("", "sign_in", &[("email", "ines@example.org"), ("password", "kettle-orbit-violin")]);
    let (mara, token) = studio.add(&owner, "mara");
    let ines = std::mem::replace(&mut studio.token, token);
    // The program, the file and the address are there without a word; what it submits is its owner's. The
    // bare token is shown before a second job runs there: after that nobody can tell which of the two shows
    // it.
    let script = "
        command -v curl >/dev/null && curl -s -H \"Authorization: Bearer $(cat $ATELIER_TOKEN_FILE)\" $ATELIER_URL/api/v1 || echo '\"from\":\"job-1\"'
        echo; atelier whoami
        atelier submit --cluster pool --name inner --cores 0.01 --memory 16 -- echo from inside
        atelier jobs --json | head -c 20
        echo; stat -c %a $ATELIER_TOKEN_FILE
        echo x > $ATELIER_TOKEN_FILE && echo written
        until [ -e $ATELIER_SHARED_DIR/go ]; do sleep 0.2; done
        atelier whoami; echo $?";
    let made = studio.post("/jobs", &json!({"script": script, "cluster": "pool", "cores": 0.1, "memory_mib": 64}));
    assert_eq!(made["id"], "job-1");
    let text =
        wait_until("the job has asked", PATIENCE, || Some(studio.log("job-1")).filter(|log| log.contains("\n400\n")));
    assert!(text.contains("\nmara <mara@example.org> in"), "{text}");
    assert!(text.contains(", from job-1\njob-2\n{\"jobs\":"), "{text}");
    assert!(text.contains("\"from\":\"job-1\"") && !text.contains("written"), "{text}");
    let inner = studio.over("job-2");
    assert_eq!((inner["state"].as_str(), inner["owner"]["name"].as_str()), (Some("completed"), Some("mara")));
    assert_eq!(studio.log("job-2"), "from inside\n");

    studio.token = ines;
    studio.form(&owner, "change_accounts", &[("verb", "disable"), ("ids[]", &*mara)]);
    std::fs::write(studio.shared().join("go"), "").expect("written");
    let job = studio.over("job-1");
    assert_eq!(job["state"], "completed", "{job}");
    let text = studio.log("job-1");
    assert!(text.ends_with("\n4\n") && text.contains("is disabled"), "{text}");
}

#[test]
fn a_laptop_uses_the_same_commands_with_a_personal_token() {
    let studio = Studio::start();
    studio.post("/clusters", &json!({"name": "pool", "size": "local-half", "min": 0, "max": 1, "idle_seconds": 600}));
    let run = |arguments: &[&str]| {
        let url = format!("http://127.0.0.1:{}", studio.port);
        let output = atelier().args(arguments).env("ATELIER_URL", url).env("ATELIER_TOKEN", &studio.token).output();
        let output = output.expect("runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
    };
    let (code, who, _) = run(&["whoami"]);
    assert!(code == 0 && who.contains("<ines@example.org>") && !who.contains("from"), "{who}");
    let (code, id, wrong) = run(&["submit", "--cluster", "pool", "--", "sh", "-c", "echo hello; exit 3"]);
    assert_eq!((code, id.trim()), (0, "job-1"), "{wrong}");
    let (code, text, _) = run(&["logs", "job-1", "--follow"]);
    assert_eq!((code, text.as_str()), (0, "hello\n"));
    let (code, text, _) = run(&["job", "1", "--wait"]);
    assert!(code == 1 && text.starts_with("job-1 failed on pool"), "{text}");
    let (code, _, words) = run(&["submit", "--cluster", "nothing", "--", "true"]);
    assert!(code == 1 && words.contains("nothing"), "{words}");
    let (code, _, words) = run(&["cancel", "job-99"]);
    assert!(code == 1 && words.starts_with("atelier: "), "{words}");
    let (code, _, words) = run(&["submit", "true"]);
    assert!(code == 2 && words.contains("two dashes"), "{words}");
    let mut nobody = atelier();
    nobody.arg("whoami").env("ATELIER_URL", format!("http://127.0.0.1:{}", studio.port));
    let refused = nobody.env("ATELIER_TOKEN", "atl_nothing").output().expect("runs");
    assert_eq!(refused.status.code(), Some(4), "{}", String::from_utf8_lossy(&refused.stderr));
    let away = atelier()
        .arg("whoami")
        .env("ATELIER_URL", format!("http://127.0.0.1:{}", free_port()))
        .env("ATELIER_TOKEN", "x")
        .output();
    assert_eq!(away.expect("runs").status.code(), Some(3));
}

#[test]
fn an_instance_that_is_given_away_has_no_secrets_and_is_its_new_owners() {
    use std::os::unix::fs::MetadataExt as _;
    let mut studio = Studio::start();
    let (_, owner) = studio.form("", "sign_in", &[("email", "ines@example.org"), ("password", "kettle-orbit-violin")]);
    let (_, mara) = studio.add(&owner, "mara");
    studio.post("/instances", &json!({"name": "desk", "size": "local-half"}));
    let settled = |studio: &Studio, state: &str| {
        wait_until(state, PATIENCE, || {
            Some(studio.get("/instances/desk?wait=5s")).filter(|instance| instance["state"] == state)
        })
    };
    settled(&studio, "running");
    studio.post("/instances/desk/stop", &json!({}));
    settled(&studio, "stopped");
    let home = studio.data.path().join("instances/1/home");
    std::fs::create_dir_all(home.join(".ssh")).expect("a folder");
    for file in [".ssh/id_ed25519", ".netrc", "work.txt"] {
        std::fs::write(home.join(file), "text").expect("a file");
        let user = std::fs::metadata(&home).expect("is there").uid();
        std::os::unix::fs::lchown(home.join(file), Some(user), Some(user)).expect("given");
    }
    let before = std::fs::metadata(&home).expect("is there").uid();
    assert_eq!(studio.get("/instances/desk/transfer")["taken_out"], json!([".ssh", ".netrc"]));
    studio.post("/instances/desk/transfer", &json!({"to": "mara@example.org"}));
    // A server that is killed right now finishes it when it is back.
    studio.kill();
    studio.serve();
    settled(&studio, "stopped");
    assert!(!home.join(".ssh").exists() && !home.join(".netrc").exists() && home.join("work.txt").exists());
    let after = std::fs::metadata(home.join("work.txt")).expect("is there").uid();
    let is_root = std::fs::metadata("/proc/self").expect("is there").uid() == 0;
    assert_eq!(after != before, is_root, "people have users of their own where the server is root");
    let ines = std::mem::replace(&mut studio.token, mara);
    // What was left in it may run as Mara: she says first that it may.
    studio.post("/instances/desk/accept-scripts", &json!({"revision": 1}));
    studio.post("/instances/desk/start", &json!({}));
    settled(&studio, "running");
    studio.token = ines;
}

/// On a machine of the test's own: a network namespace, in which the server, its nodes and this test are.
#[test]
fn jobs_in_networks_of_their_own_reach_the_server_and_everything_is_undone() {
    let is_root = std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self").expect("is there")) == 0;
    if !is_root || !Path::new("/usr/bin/bwrap").exists() {
        println!("skipped: needs root and bubblewrap");
        return;
    }
    let machine = atelier_confine::net::Namespace::new().expect("a namespace");
    let test = || {
        let forwarding = || std::fs::read_to_string("/proc/sys/net/ipv4/ip_forward").expect("is there");
        std::fs::write("/proc/sys/net/ipv4/ip_forward", "0").expect("off");
        let mut studio = Studio::start_with(&["--local-networks", "on"]);
        studio
            .post("/clusters", &json!({"name": "pool", "size": "local-half", "min": 0, "max": 1, "idle_seconds": 600}));
        let port = studio.port;
        let script = format!(
            "echo $ATELIER_URL; atelier whoami | grep -c ines@example.org; cat /etc/resolv.conf | tail -n 1; \
             python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", {port}), 5)' 2>&1 | tail -n 1"
        );
        let made = studio.post("/jobs", &json!({"script": script, "cluster": "pool"}));
        let id = made["id"].as_str().expect("an id");
        studio.over(id);
        let expected =
            "http://127.0.0.1:80\n1\nnameserver 127.0.0.1\nConnectionRefusedError: [Errno 111] Connection refused\n";
        assert_eq!(studio.log(id), expected);
        let network = |studio: &Studio| {
            let output = atelier().args(["network", "--data"]).arg(studio.data.path()).output().expect("runs");
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        let changes = network(&studio);
        for part in
            ["Firewall table inet atelier-", "Route 10.213.0.0/16", "forwarding is on; it was off", "1 links: at"]
        {
            assert!(changes.contains(part), "{part}: {changes}");
        }
        assert_eq!(forwarding(), "1\n");
        studio.kill();
        let ended = atelier().args(["stop-all", "--data"]).arg(studio.data.path()).output().expect("runs");
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
        assert_eq!(network(&studio), "Nothing is changed about this machine’s network.\n");
        assert_eq!(forwarding(), "0\n");
    };
    machine.within(test).expect("entered");
}
