//! One PostgreSQL cluster in a temporary directory and the processes that serve it.
//!
//! PostgreSQL is watched by a small shell that reads from a pipe of ours: when the pipe closes – because the
//! cluster is dropped, or because the test process was killed and could not drop anything – the shell stops
//! the server and removes the directory. A static that is never dropped and a test killed by a time-out thus
//! leave nothing behind.

use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use std::{env, fs};

use tempfile::TempDir;

use super::Error;
use super::programs::Programs;
use crate::{free_port, poll_until};

/// `$1` is the directory, the rest the server's command line. SIGQUIT is PostgreSQL's immediate shutdown.
const WATCH: &str = r#"
directory=$1; shift
"$@" </dev/null >>"$directory/log" 2>&1 &
server=$!
# nobody writes to the pipe: this returns when its other end is gone
read -r _
kill -QUIT "$server" 2>/dev/null
wait "$server"
cd / && rm -rf "$directory"
"#;

/// A port can be taken between choosing and using it, though hardly three times in a row.
const ATTEMPTS: usize = 3;

/// Generous, because a cold machine may be compiling on all cores at the same time.
const STARTS_WITHIN: Duration = Duration::from_secs(60);

/// A user other than root, as PostgreSQL refuses to run as root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Account {
    uid: u32,
    gid: u32,
}

#[derive(Debug)]
pub(super) struct Cluster {
    port: u16,
    watcher: Child,
    directory: TempDir,
}

impl Cluster {
    pub(super) fn start(programs: &Programs) -> Result<Self, Error> {
        let mut last = Error(String::new());
        for _ in 0..ATTEMPTS {
            match Self::start_on(free_port(), programs) {
                Ok(cluster) => return Ok(cluster),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn start_on(port: u16, programs: &Programs) -> Result<Self, Error> {
        let account = account()?;
        let directory = directory_for(account)?;
        initialise(programs, directory.path(), account)?;
        let watcher = watch(programs, directory.path(), account, port)?;
        let mut cluster = Self { port, watcher, directory };
        cluster.wait_until_ready()?;
        Ok(cluster)
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    #[cfg(test)]
    pub(super) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Waits for the line that the server writes to its log; a mere answer on the port may be somebody
    /// else's.
    fn wait_until_ready(&mut self) -> Result<(), Error> {
        let log_file = self.directory.path().join("log");
        let log = || fs::read_to_string(&log_file).unwrap_or_default();
        let port = self.port;
        let outcome = poll_until("PostgreSQL to start", STARTS_WITHIN, || {
            let log = log();
            if log.contains("FATAL:") {
                return Some(false);
            }
            let ready = log.contains("database system is ready to accept connections");
            (ready && TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()).then_some(true)
        });
        match outcome {
            Ok(true) => Ok(()),
            Ok(false) => Err(Error(format!("PostgreSQL did not start. Its log ends with:\n{}", tail(&log())))),
            Err(timed_out) => Err(Error(format!("{timed_out}. Its log ends with:\n{}", tail(&log())))),
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        drop(self.watcher.stdin.take());
        // Nothing useful can be done about a failure here; the temporary directory is removed in any case.
        let _ = self.watcher.wait();
    }
}

fn initialise(programs: &Programs, directory: &Path, account: Option<Account>) -> Result<(), Error> {
    let output = command_as(account, &programs.initdb, directory)
        .args(["--no-locale", "--encoding=UTF8", "--auth=trust", "--username=postgres", "--no-sync"])
        .arg("--pgdata")
        .arg(directory.join("cluster"))
        .stdin(Stdio::null())
        .output()
        .map_err(|error| Error(format!("{} can't be started: {error}", programs.initdb.display())))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(Error(format!("initdb failed ({}):\n{}", output.status, tail(&said))))
}

fn watch(programs: &Programs, directory: &Path, account: Option<Account>, port: u16) -> Result<Child, Error> {
    let settings = [
        "listen_addresses=127.0.0.1".to_owned(),
        format!("port={port}"),
        format!("unix_socket_directories={}", directory.display()),
        "max_connections=200".to_owned(),
        // nobody reads these data after a crash
        "fsync=off".to_owned(),
        "synchronous_commit=off".to_owned(),
        "full_page_writes=off".to_owned(),
    ];
    command_as(account, Path::new("/bin/sh"), directory)
        .args(["-c", WATCH, "sh"])
        .arg(directory)
        .arg(&programs.postgres)
        .arg("-D")
        .arg(directory.join("cluster"))
        .args(settings.iter().flat_map(|setting| ["-c", setting]))
        // out of reach of what a terminal or a test runner sends to the whole group: the pipe alone says when
        // to stop
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| Error(format!("/bin/sh can't be started: {error}")))
}

fn command_as(account: Option<Account>, program: &Path, directory: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(directory);
    if let Some(Account { uid, gid }) = account {
        command.uid(uid).gid(gid);
    }
    command
}

/// Returns who is to own the cluster, or nothing when we are an ordinary user already.
fn account() -> Result<Option<Account>, Error> {
    // /proc/self belongs to the user whose rights the process has
    let we_are_root = fs::metadata("/proc/self").is_ok_and(|metadata| metadata.uid() == 0);
    if !we_are_root {
        return Ok(None);
    }
    let passwd =
        fs::read_to_string("/etc/passwd").map_err(|error| Error(format!("/etc/passwd can't be read: {error}")))?;
    let account = ["postgres", "nobody"].iter().find_map(|name| find_account(&passwd, name)).ok_or_else(|| {
        Error(
            "PostgreSQL refuses to run as root, and /etc/passwd has neither postgres nor nobody. Add one of them."
                .to_owned(),
        )
    })?;
    Ok(Some(account))
}

/// Makes a directory that the account can get to and hands it over. Root's own temporary directory may be
/// closed to others.
fn directory_for(account: Option<Account>) -> Result<TempDir, Error> {
    let own = env::temp_dir();
    let place = match account {
        None => own,
        Some(account) => [own.clone(), PathBuf::from("/tmp"), PathBuf::from("/var/tmp")]
            .into_iter()
            .find(|place| can_enter(account, place))
            .ok_or_else(|| {
                Error(format!(
                    "PostgreSQL runs as user {} here, who can enter none of {}, /tmp and /var/tmp. Set TMPDIR to a \
                     directory that it can enter.",
                    account.uid,
                    own.display()
                ))
            })?,
    };
    let directory = tempfile::Builder::new()
        .prefix("atelier-postgres-")
        .tempdir_in(&place)
        .map_err(|error| Error(format!("no temporary directory for PostgreSQL in {}: {error}", place.display())))?;
    if let Some(Account { uid, gid }) = account {
        std::os::unix::fs::chown(directory.path(), Some(uid), Some(gid))
            .map_err(|error| Error(format!("the temporary directory of PostgreSQL can't be handed over: {error}")))?;
    }
    Ok(directory)
}

/// Says whether the account may pass through a directory and everything above it.
fn can_enter(account: Account, directory: &Path) -> bool {
    let Ok(directory) = directory.canonicalize() else { return false };
    directory.ancestors().all(|part| {
        fs::metadata(part).is_ok_and(|metadata| {
            let right = if metadata.uid() == account.uid {
                0o100
            } else if metadata.gid() == account.gid {
                0o010
            } else {
                0o001
            };
            metadata.mode() & right != 0
        })
    })
}

/// Reads one account of `/etc/passwd`: `name:x:uid:gid:…`.
fn find_account(passwd: &str, name: &str) -> Option<Account> {
    passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        if fields.next() != Some(name) {
            return None;
        }
        Some(Account { uid: fields.nth(1)?.parse().ok()?, gid: fields.next()?.parse().ok()? })
    })
}

fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(15)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_accounts() {
        let passwd = "root:x:0:0:root:/root:/bin/bash\npostgres:x:101:104::/var/lib/postgresql:/bin/bash\nbad:x\n";
        assert_eq!(find_account(passwd, "postgres"), Some(Account { uid: 101, gid: 104 }));
        assert_eq!(find_account(passwd, "post"), None);
        assert_eq!(find_account(passwd, "bad"), None);
    }

    #[test]
    fn a_closed_directory_cannot_be_entered_by_others() {
        use std::os::unix::fs::PermissionsExt;
        let outer = tempfile::tempdir().expect("a temporary directory");
        let inner = outer.path().join("inner");
        fs::create_dir(&inner).expect("a directory can be made");
        fs::set_permissions(&inner, fs::Permissions::from_mode(0o755)).expect("its rights can be set");
        let owner = fs::metadata(outer.path()).expect("it is there");
        let owner = Account { uid: owner.uid(), gid: owner.gid() };
        let somebody = Account { uid: owner.uid + 4_321, gid: owner.gid + 4_321 };
        fs::set_permissions(outer.path(), fs::Permissions::from_mode(0o700)).expect("its rights can be set");
        assert!(!can_enter(somebody, &inner));
        fs::set_permissions(outer.path(), fs::Permissions::from_mode(0o711)).expect("its rights can be set");
        assert_eq!(can_enter(somebody, &inner), can_enter(somebody, &env::temp_dir()));
        assert!(!can_enter(somebody, &inner.join("missing")));
    }

    #[test]
    fn a_taken_port_is_told_with_the_log() {
        let taken = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
        let port = taken.local_addr().expect("it is bound").port();
        let programs = Programs::find().expect("PostgreSQL is installed");
        let error = Cluster::start_on(port, &programs).expect_err("the port is taken");
        assert!(error.to_string().contains("Address already in use"), "{error}");
    }
}
