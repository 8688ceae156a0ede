//! `cargo xtask bench ssh`: the way into an instance, beside OpenSSH's own server, with the same clients in
//! the same run.
//!
//! Both are asked in turn, so that whatever else the machine does disturbs both alike.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use atelier_testing::free_port;
use serde_json::{Value, json};

use super::load::{milliseconds, now, pause, percentile};
use super::report::Report;
use super::report::Wanted::{AtLeast, AtMost, Context};
use super::running::Running;
use super::studio::Studio;
use crate::failure::{Failure, Result};
use crate::process;
use crate::progress::step;

/// So often each of the two is connected to.
const CONNECTIONS: usize = 20;
/// So often a file goes each way, to each of the two.
const COPIES: usize = 3;
/// As large it is.
const MIB: u64 = 512;
const PATIENCE: Duration = Duration::from_secs(120);
const NAME: &str = "desk";

/// One of the two servers, as a client reaches it.
struct Place {
    user: String,
    port: u16,
    /// The folder in which files are put.
    remote: String,
}

/// OpenSSH's server, ended with this.
struct Sshd(Child);

impl Drop for Sshd {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub fn measure(binary: PathBuf, folder: &Path, report: &mut Report) -> Result<()> {
    let ssh_port = free_port();
    let data = folder.join("data");
    fs::create_dir_all(&data).map_err(Failure::file("making", &data))?;
    let file = data.join("atelier.toml");
    fs::write(&file, format!("ssh_listen = \"127.0.0.1:{ssh_port}\"\n")).map_err(Failure::file("writing", &file))?;
    let studio = Studio::new(binary, folder)?;
    let (server, _) = studio.start()?;
    let client = Client::make(folder)?;
    let ours = step("Making an instance", || instance(&studio, &server, &client, ssh_port))?;
    let (_sshd, theirs) = sshd(folder, &client)?;
    client.trust(&[&ours, &theirs])?;
    let measured = compare(&client, folder, &ours, &theirs, report);
    server.stop()?;
    studio.stop_nodes()?;
    measured
}

fn compare(client: &Client, folder: &Path, ours: &Place, theirs: &Place, report: &mut Report) -> Result<()> {
    let (mut own, mut other) = (Vec::new(), Vec::new());
    step("Connecting", || {
        for _ in 0..CONNECTIONS {
            own.push(client.first_byte(ours)?);
            other.push(client.first_byte(theirs)?);
        }
        Ok(())
    })?;
    own.sort_unstable();
    other.sort_unstable();
    let (own, other) = (milliseconds(percentile(&own, 0.5)), milliseconds(percentile(&other, 0.5)));
    report.add("SSH: first byte of a command, against OpenSSH's server", AtMost(1.0), own / other, "×");
    report.add("SSH: first byte of a command", Context, own, "ms");
    report.add("the same, OpenSSH's server", Context, other, "ms");
    let large = folder.join("large");
    process::run(
        Command::new("dd")
            .args(["if=/dev/urandom", "bs=1M", "status=none"])
            .args([format!("of={}", large.display()), format!("count={MIB}")]),
    )?;
    for (what, is_upload) in [("up", true), ("down", false)] {
        let (mut own, mut other) = (Duration::MAX, Duration::MAX);
        step(&format!("Copying a file {what}"), || {
            for _ in 0..COPIES {
                own = own.min(client.copy(ours, &large, is_upload)?);
                other = other.min(client.copy(theirs, &large, is_upload)?);
            }
            Ok(())
        })?;
        let rate = |time: Duration| MIB as f64 / time.as_secs_f64();
        let name = format!("sftp: {MIB} MiB {what}, against OpenSSH's server");
        report.add(name, AtLeast(0.7), rate(own) / rate(other), "×");
        report.add(format!("sftp: {MIB} MiB {what}"), Context, rate(own), "MiB/s");
        report.add("the same, OpenSSH's server", Context, rate(other), "MiB/s");
    }
    Ok(())
}

fn instance(studio: &Studio, server: &Running, client: &Client, port: u16) -> Result<Place> {
    let token = format!("Bearer {}", studio.token()?);
    let ask = |method: &str, path: &str, body: &Value| -> Result<Value> {
        let headers = [("authorization", token.as_str()), ("content-type", "application/json")];
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let answer = server.ask(method, &format!("/api/v1{path}"), &headers, &body)?;
        let text = answer.text();
        if !(200..300).contains(&answer.status) {
            return Err(Failure::new(format!("{method} {path} was answered with {}: {text}", answer.status)));
        }
        serde_json::from_str(&text).map_err(|error| Failure::new(format!("{method} {path}: {error}: {text}")))
    };
    ask("POST", "/ssh-keys", &json!({"key": client.public()?}))?;
    ask("POST", "/instances", &json!({"name": NAME, "size": "local-2", "idle_minutes": 0}))?;
    let since = now();
    while ask("GET", &format!("/instances/{NAME}?wait=5s"), &Value::Null)?["state"] != "running" {
        if since.elapsed() > PATIENCE {
            return Err(Failure::new("the instance does not start"));
        }
    }
    ask("PUT", &format!("/instances/{NAME}/ssh"), &json!({"on": true}))?;
    Ok(Place { user: NAME.to_owned(), port, remote: ".".to_owned() })
}

/// Starts OpenSSH's server for the user who runs this.
fn sshd(folder: &Path, client: &Client) -> Result<(Sshd, Place)> {
    let program = ["/usr/sbin/sshd", "/usr/local/sbin/sshd"].into_iter().find(|path| Path::new(path).exists());
    let Some(program) = program else {
        return Err(Failure::new("OpenSSH's server is missing: install it with `sudo apt-get install openssh-server`"));
    };
    let (port, place) = (free_port(), folder.join("sshd"));
    fs::create_dir_all(&place).map_err(Failure::file("making", &place))?;
    // Where the server of the system keeps its children apart; without it none starts.
    let _ = fs::create_dir_all("/run/sshd");
    let key = place.join("host_key");
    process::run(Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(&key))?;
    let keys = place.join("authorized_keys");
    fs::write(&keys, client.public()?).map_err(Failure::file("writing", &keys))?;
    let file = place.join("config");
    let text = format!(
        "Port {port}\nListenAddress 127.0.0.1\nHostKey {}\nPidFile none\nAuthorizedKeysFile {}\nUsePAM no\n\
         PasswordAuthentication no\nPermitRootLogin prohibit-password\nStrictModes no\nMaxStartups 100\nSubsystem sftp \
         internal-sftp\n",
        key.display(),
        keys.display()
    );
    fs::write(&file, text).map_err(Failure::file("writing", &file))?;
    let mut command = Command::new(program);
    command.arg("-D").arg("-f").arg(&file).arg("-E").arg(place.join("log")).stdin(Stdio::null());
    let child = command.spawn().map_err(|error| Failure::new(format!("sshd cannot be started: {error}")))?;
    let user = process::output(Command::new("id").arg("-un"))?.trim().to_owned();
    let remote = place.join("files");
    fs::create_dir_all(&remote).map_err(Failure::file("making", &remote))?;
    Ok((Sshd(child), Place { user, port, remote: remote.display().to_string() }))
}

/// The clients of OpenSSH, with a key of their own.
struct Client {
    key: PathBuf,
    known: PathBuf,
    folder: PathBuf,
}

impl Client {
    fn make(folder: &Path) -> Result<Self> {
        let (key, known) = (folder.join("key"), folder.join("known_hosts"));
        let mut make = Command::new("ssh-keygen");
        process::run(make.args(["-q", "-t", "ed25519", "-N", "", "-C", "bench", "-f"]).arg(&key))?;
        Ok(Self { key, known, folder: folder.to_owned() })
    }

    fn public(&self) -> Result<String> {
        let file = self.key.with_extension("pub");
        fs::read_to_string(&file).map_err(Failure::file("reading", &file))
    }

    fn command(&self, program: &str, place: &Place) -> Command {
        let mut command = Command::new(program);
        command.args(["-F", "none", "-o", "BatchMode=yes", "-o", "IdentitiesOnly=yes", "-o", "IdentityAgent=none"]);
        command.arg("-o").arg(format!("IdentityFile={}", self.key.display()));
        command.arg("-o").arg(format!("UserKnownHostsFile={}", self.known.display()));
        command.arg("-o").arg(format!("Port={}", place.port)).stdin(Stdio::null());
        command
    }

    /// Learns the keys of both servers, and waits until they answer.
    fn trust(&self, places: &[&Place]) -> Result<()> {
        for place in places {
            let since = now();
            loop {
                let mut command = self.command("ssh", place);
                command.args(["-o", "StrictHostKeyChecking=accept-new"]).arg(format!("{}@127.0.0.1", place.user));
                let output = command.arg("true").output().map_err(|error| Failure::new(error.to_string()))?;
                if output.status.success() {
                    break;
                }
                if since.elapsed() > PATIENCE {
                    let said = String::from_utf8_lossy(&output.stderr).into_owned();
                    return Err(Failure::new(format!("the server at port {} lets nobody in: {said}", place.port)));
                }
                pause(Duration::from_millis(100));
            }
        }
        Ok(())
    }

    /// How long it takes from the start of the client until a command has said something.
    fn first_byte(&self, place: &Place) -> Result<Duration> {
        let broken = |error: std::io::Error| Failure::new(format!("ssh: {error}"));
        let mut command = self.command("ssh", place);
        command.arg(format!("{}@127.0.0.1", place.user)).arg("echo x; cat").stdout(Stdio::piped());
        let since = now();
        let mut child = command.spawn().map_err(broken)?;
        let mut first = [0];
        let read = child.stdout.as_mut().map(|stdout| stdout.read_exact(&mut first));
        let took = since.elapsed();
        let ended = child.wait().map_err(broken)?;
        match read {
            Some(Ok(())) if ended.success() => Ok(took),
            _ => Err(Failure::new(format!("ssh to port {} says nothing: {ended}", place.port))),
        }
    }

    /// How long a file takes.
    fn copy(&self, place: &Place, file: &Path, is_upload: bool) -> Result<Duration> {
        let batch = self.folder.join("batch");
        let (near, back, far) = (file.display(), self.folder.join("back"), format!("{}/large", place.remote));
        let line = if is_upload { format!("put {near} {far}\n") } else { format!("get {far} {}\n", back.display()) };
        fs::write(&batch, line).map_err(Failure::file("writing", &batch))?;
        let mut command = self.command("sftp", place);
        command.arg("-q").arg("-b").arg(&batch).arg(format!("{}@127.0.0.1", place.user)).stdout(Stdio::null());
        let since = now();
        process::run(&mut command)?;
        Ok(since.elapsed())
    }
}
