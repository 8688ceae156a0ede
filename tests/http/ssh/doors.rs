//! Who is not let in, what they are told, and who has to go.

use std::io::Read as _;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use atelier_testing::{PATIENCE, wait_until};
use serde_json::{Value, json};

use crate::ssh::studio::{Studio, words};

/// Whoever has to go, goes within this: before the look for what other processes have changed, which comes
/// after ten seconds.
const AT_ONCE: Duration = Duration::from_secs(8);

/// A session that would last.
fn stay(studio: &Studio, key: &str, user: &str) -> Child {
    let mut ssh = studio.ssh(key, user);
    let mut child =
        ssh.arg("echo in; sleep 600").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
    let mut first = [0; 3];
    child.stdout.as_mut().expect("piped").read_exact(&mut first).expect("it is in");
    assert_eq!(&first, b"in\n");
    child
}

/// Waits until somebody was sent away, and gives what they were told.
#[expect(clippy::disallowed_methods, reason = "how long it takes is what is tested")]
fn sent_away(child: Child, since: Instant) -> String {
    let output = child.wait_with_output().expect("ends");
    let took = Instant::now().duration_since(since);
    assert!(took < AT_ONCE, "it took {took:?}: {}", words(&output));
    assert_eq!(output.status.code(), Some(255), "{}", words(&output));
    words(&output)
}

#[expect(clippy::disallowed_methods, reason = "how long it takes is what is tested")]
fn now() -> Instant {
    Instant::now()
}

#[test]
fn everybody_who_is_not_let_in_is_told_why() {
    let studio = Studio::start();
    let told = |key: &str, user: &str| {
        let output = studio.ssh(key, user).arg("echo got in").output().expect("runs");
        assert_eq!(output.status.code(), Some(255), "{}", words(&output));
        words(&output)
    };
    studio.make_key("stranger");
    let said = told("stranger", "desk");
    assert!(said.contains("This key is not known here") && said.contains("/profile"), "{said}");
    let id = studio.add_key("old");
    assert_eq!(studio.send("DELETE", &format!("/ssh-keys/{id}"), &Value::Null).0, 200);
    let said = told("old", "desk");
    assert!(said.contains("The key \"old\" was removed"), "{said}");

    // Whether there is no such instance or it is somebody else's makes no difference.
    let (_, mara) = studio.add_person("mara");
    studio.must_as(&mara, "POST", "/instances", &json!({"name": "private", "size": "local-1", "starts": false}));
    let (unknown, theirs) = (told("laptop", "nothing"), told("laptop", "private"));
    assert!(unknown.contains("There is no instance “nothing”, or it is not yours"), "{unknown}");
    assert_eq!(theirs, unknown.replace("nothing", "private"));
    let said = told("laptop", "elsewhere+desk");
    assert!(said.contains("There is no instance “desk”, or it is not yours"), "{said}");

    studio.switch("desk", false);
    let said = told("laptop", "desk");
    assert!(said.contains("SSH is off for “desk”") && said.contains("/compute/instances/desk"), "{said}");
    // Files and forwards hear the same.
    let output = studio.client("sftp").args(["-b", "/dev/null", "desk@localhost"]).output().expect("runs");
    assert!(words(&output).contains("SSH is off for “desk”"), "{}", words(&output));
    let output = studio.ssh_with("laptop", &["-W", "127.0.0.1:1"], "desk").output().expect("runs");
    assert!(words(&output).contains("SSH is off for \"desk\""), "{}", words(&output));
    studio.switch("desk", true);

    studio.post("/instances/desk/stop", &json!({}));
    studio.until_state("desk", "stopped");
    let said = told("laptop", "desk");
    assert!(said.contains("“desk” is stopped. Start it on its page"), "{said}");

    // Keys alone open anything, and guessing is slowed down.
    let mut ssh = studio.ssh_with("stranger", &["-o", "PreferredAuthentications=password"], "desk");
    let said = words(&ssh.output().expect("runs"));
    assert!(said.contains("Permission denied (publickey,keyboard-interactive)"), "{said}");
    for _ in 0..20 {
        studio.ssh_with("stranger", &["-o", "BatchMode=yes"], "desk").output().expect("runs");
    }
    let said = wait_until("it is slowed down", PATIENCE, || {
        Some(told("stranger", "desk")).filter(|said| said.contains("too many failed tries from 127.0.0.1"))
    });
    assert!(said.contains("min."), "{said}");
    // Whoever has a key that is known here comes in from the same address all the same.
    studio.post("/instances/desk/start", &json!({}));
    studio.until_state("desk", "running");
    assert_eq!(studio.run("echo still here"), "still here\n");
}

#[test]
fn whoever_loses_the_right_is_sent_away_at_once() {
    let studio = Studio::start();
    let id = studio.add_key("second");
    let (kept, cut) = (stay(&studio, "laptop", "desk"), stay(&studio, "second", "desk"));
    let since = now();
    assert_eq!(studio.send("DELETE", &format!("/ssh-keys/{id}"), &Value::Null).0, 200);
    let said = sent_away(cut, since);
    assert!(said.contains("The key \"second\" was removed"), "{said}");

    // The other key is not concerned; the switch is.
    assert_eq!(studio.get("/instances/desk/ssh")["open_connections"], 1);
    let since = now();
    studio.switch("desk", false);
    let said = sent_away(kept, since);
    assert!(said.contains("SSH is off for \"desk\""), "{said}");
    wait_until("nobody is in", PATIENCE, || (studio.get("/instances/desk/ssh")["open_connections"] == 0).then_some(()));
    studio.switch("desk", true);
    wait_until("nothing of it runs", PATIENCE, || (!studio.run("ps -eo args").contains("sleep 600")).then_some(()));

    let kept = stay(&studio, "laptop", "desk");
    let since = now();
    studio.post("/instances/desk/stop", &json!({}));
    let said = sent_away(kept, since);
    assert!(said.contains("\"desk\" is stopping") || said.contains("\"desk\" is stopped"), "{said}");
    let history = studio.history();
    assert!(history.iter().any(|line| line.contains("; The key “second” was removed")), "{history:?}");
}

#[test]
fn whoever_is_sent_away_hears_why_also_when_the_instance_is_quicker() {
    let mut studio = Studio::start();
    let mut terminal = studio.ssh_with("laptop", &["-tt"], "desk");
    let mut held = terminal.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
    let mut first = [0; 1];
    held.stdout.as_mut().expect("piped").read_exact(&mut first).expect("a prompt");
    let kept = stay(&studio, "laptop", "desk");
    // Connections are judged for the new key, and again only a moment later: what happens in between ends
    // their streams before they hear of it.
    studio.add_key("another");
    let since = now();
    studio.post("/instances/desk/stop", &json!({}));
    for child in [kept, held] {
        let said = sent_away(child, since);
        assert!(said.contains("\"desk\" is stopping") || said.contains("\"desk\" is stopped"), "{said}");
        assert!(!said.contains("was lost"), "{said}");
    }
    studio.until_state("desk", "stopped");

    studio.post("/instances/desk/start", &json!({}));
    studio.until_state("desk", "running");
    let kept = stay(&studio, "laptop", "desk");
    let since = now();
    studio.terminate();
    let said = sent_away(kept, since);
    assert!(said.contains("The server stops. What runs in the instance goes on"), "{said}");
}

#[test]
fn whoever_is_disabled_or_has_the_instance_no_more_is_sent_away() {
    let studio = Studio::start();
    let (mara, token) = studio.add_person("mara");
    let line = std::fs::read_to_string(studio.make_key("hers").with_extension("pub")).expect("made");
    studio.must_as(&token, "POST", "/ssh-keys", &json!({"key": line}));
    studio.must_as(&token, "POST", "/instances", &json!({"name": "bench", "size": "local-1"}));
    studio.until_state("bench", "running");
    studio.must_as(&token, "PUT", "/instances/bench/ssh", &json!({"on": true}));
    let held = stay(&studio, "hers", "bench");
    let since = now();
    studio.as_ines("change_accounts", &[("verb", "disable"), ("ids[]", &mara)]);
    let said = sent_away(held, since);
    assert!(said.contains("The account of this key is disabled"), "{said}");
    studio.as_ines("change_accounts", &[("verb", "enable"), ("ids[]", &mara)]);

    // What is given away is entered neither by who had it nor, until they say so, by who has it.
    let held = stay(&studio, "laptop", "desk");
    let since = now();
    studio.post("/instances/desk/stop", &json!({}));
    drop(sent_away(held, since));
    studio.until_state("desk", "stopped");
    let token = studio.token_of("mara@example.org");
    studio.post("/instances/desk/transfer", &json!({"to": "mara@example.org"}));
    studio.until_state("desk", "stopped");
    let told = |key: &str| words(&studio.ssh(key, "desk").arg("echo got in").output().expect("runs"));
    let said = told("laptop");
    assert!(said.contains("There is no instance “desk”, or it is not yours"), "{said}");
    // Given back, it is as closed as a new one: what was switched on before counts for nothing.
    studio.must_as(&token, "POST", "/instances/desk/transfer", &json!({"to": "ines@example.org"}));
    studio.until_state("desk", "stopped");
    studio.post("/instances/desk/accept-scripts", &json!({"revision": 2}));
    studio.post("/instances/desk/start", &json!({}));
    studio.until_state("desk", "running");
    let said = told("laptop");
    assert!(said.contains("SSH is off for “desk”"), "{said}");
    studio.switch("desk", true);

    let held = stay(&studio, "laptop", "desk");
    let since = now();
    assert!(studio.send("DELETE", "/instances/desk", &json!({})).0 < 300);
    let said = sent_away(held, since);
    assert!(said.contains("\"desk\" is deleting") || said.contains("There is no instance"), "{said}");
}
