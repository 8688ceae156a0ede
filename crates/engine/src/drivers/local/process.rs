//! Agents on this machine: started, found, ended.

use std::fs::{File, TryLockError};
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use atelier_domain::compute::NodeId;
use atelier_protocol::AgentConfig;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Resource, Rlimit, Signal, getrlimit, pidfd_open, pidfd_send_signal, prlimit};

/// How long an agent may take to end its jobs and itself before it is killed.
const PATIENCE: Timespec = Timespec { tv_sec: 10, tv_nsec: 0 };
/// How long a fresh agent may take to hold its lock.
const START_LIMIT: Duration = Duration::from_secs(20);

/// What the agent of a node is told, in the node's folder.
pub(super) const CONFIG: &str = "agent.json";

/// Says when a process of ours has ended.
pub(super) type Ended = Arc<AtomicBool>;

/// Writes down what an agent is told: all of it or nothing, since others read there which GPUs are taken.
pub(super) fn note(config: &AgentConfig) -> Result<(), String> {
    use std::os::unix::fs::DirBuilderExt as _;
    let noted = || -> io::Result<()> {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&config.folder)?;
        let draft = config.folder.join("agent.draft");
        config.write(&draft)?;
        std::fs::rename(&draft, config.folder.join(CONFIG))
    };
    noted().map_err(|error| format!("its folder {} could not be made: {error}", config.folder.display()))
}

/// Starts the agent of a folder, which does not end with us.
pub(super) fn start(program: &Path, folder: &Path) -> Result<Ended, String> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let began = || -> io::Result<Ended> {
        let log = File::options().append(true).create(true).mode(0o600).open(folder.join("agent.log"))?;
        let mut command = Command::new(program);
        command.arg("agent").arg("--config").arg(folder.join(CONFIG));
        // Settings of the server are none of its own, and its secrets none of a job's.
        command.env_clear();
        for name in ["PATH", "LANG", "TZ", "RUST_BACKTRACE", "SSL_CERT_FILE", "SSL_CERT_DIR"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        // One thread, mostly idle: what it does not use goes back to the system soon.
        command.env("_RJEM_MALLOC_CONF", "narenas:1,dirty_decay_ms:1000,muzzy_decay_ms:0");
        command.current_dir(folder).stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let mut child = command.spawn()?;
        bound_files(&child);
        // Reaped when it ends, if we are still there.
        let ended = Ended::default();
        let mark = Arc::clone(&ended);
        let reap = move || {
            drop(child.wait());
            mark.store(true, Ordering::Release);
        };
        std::thread::Builder::new().name("reap".into()).stack_size(256 << 10).spawn(reap)?;
        Ok(ended)
    };
    began().map_err(|error| format!("its agent could not be started: {error}"))
}

/// The server has as many open files as the system gives; programs that go through all they could have need
/// a number that they are through with soon.
fn bound_files(agent: &std::process::Child) {
    const MANY: u64 = 65_536;
    let pid = i32::try_from(agent.id()).ok().and_then(Pid::from_raw);
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|now| now > MANY) {
        let _ = prlimit(pid, Resource::Nofile, Rlimit { current: Some(MANY), ..limit });
    }
}

/// Waits until a fresh agent holds its lock; if it ends instead, its last words say why.
pub(super) async fn holds_lock(folder: &Path, ended: &Ended) -> Result<(), String> {
    let held = async {
        while !is_alive(folder) {
            if ended.load(Ordering::Acquire) {
                return false;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        true
    };
    match tokio::time::timeout(START_LIMIT, held).await {
        Ok(true) => Ok(()),
        Ok(false) => Err(format!("its agent ended at once: {}", last_words(folder))),
        Err(_) => Err(format!("its agent did not start within {} s: {}", START_LIMIT.as_secs(), last_words(folder))),
    }
}

/// The end of an agent's own log.
fn last_words(folder: &Path) -> String {
    let mut text = String::new();
    let read = File::open(folder.join("agent.log")).and_then(|log| log.take(64 << 10).read_to_string(&mut text));
    match (read, text.trim().lines().last()) {
        (Ok(_), Some(line)) => atelier_domain::text::shortened_to(line, 200),
        _ => "it left no word".into(),
    }
}

/// Whether an agent holds the lock of that node's folder.
///
/// # Errors
/// When that cannot be found out: then nobody may conclude that it is dead.
pub(super) fn look(folder: &Path) -> Result<bool, String> {
    let cannot = |error: io::Error| format!("whether its agent lives cannot be seen: {error}");
    let file = match File::options().read(true).open(folder.join("lock")) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(cannot(error)),
    };
    match file.try_lock_shared() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(cannot(error)),
    }
}

/// Whether an agent is known to hold the lock.
fn is_alive(folder: &Path) -> bool {
    look(folder) == Ok(true)
}

/// All nodes whose agents live.
pub(super) fn alive(nodes: &Path) -> Result<Vec<NodeId>, String> {
    let entries = match std::fs::read_dir(nodes) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(format!("the folder of nodes cannot be read: {error}")),
    };
    let mut found: Vec<NodeId> =
        entries.flatten().filter_map(|entry| NodeId::parse(entry.file_name().to_str()?)).collect();
    found.sort_unstable();
    let mut alive = Vec::with_capacity(found.len());
    for node in found {
        if look(&nodes.join(node.to_string()))? {
            alive.push(node);
        }
    }
    Ok(alive)
}

/// The process that holds the lock. Opened before the lock is looked at again, so that a number that was
/// given to another process meanwhile is noticed.
fn holder(folder: &Path) -> Option<OwnedFd> {
    let text = std::fs::read_to_string(folder.join("lock")).ok()?;
    let pid = Pid::from_raw(text.trim().parse().ok()?)?;
    let process = pidfd_open(pid, PidfdFlags::NONBLOCK).ok()?;
    is_alive(folder).then_some(process)
}

/// Ends the agent of a node: asks it to, then kills it.
pub(super) async fn end(folder: &Path) -> Result<(), String> {
    if !look(folder)? {
        return Ok(());
    }
    let Some(process) = holder(folder) else {
        // It may have ended just now, or not have written its number yet.
        return if look(folder)? { Err("its agent holds the lock and does not say who it is".into()) } else { Ok(()) };
    };
    let ended = tokio::task::spawn_blocking(move || {
        [Signal::TERM, Signal::KILL].into_iter().any(|signal| {
            // A process that is gone is what we want.
            let _ = pidfd_send_signal(&process, signal);
            let mut watched = [PollFd::new(&process, PollFlags::IN)];
            matches!(poll(&mut watched, Some(&PATIENCE)), Ok(1..))
        })
    });
    match ended.await {
        Ok(true) => Ok(()),
        Ok(false) => Err("its agent does not end, not even when it is killed; it may hang in the kernel".into()),
        Err(error) => Err(format!("its agent could not be ended: {error}")),
    }
}

/// Puts aside what a dead agent had not handed over of its jobs' output, for whoever keeps logs. Again is
/// fine.
pub(super) async fn leave_output(folder: &Path, left: &Path) -> Result<(), String> {
    let (spool, left) = (folder.join("spool"), left.to_owned());
    let moved = tokio::task::spawn_blocking(move || {
        // Most agents leave nothing.
        if std::fs::read_dir(&spool).map_or(true, |mut entries| entries.next().is_none()) {
            return Ok(());
        }
        left.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| std::fs::rename(spool, left))
    });
    let moved = moved.await.map_err(|error| error.to_string())?;
    moved.map_err(|error| format!("what its agent had not handed over could not be put aside: {error}"))
}

/// Removes the folder of a node that is gone.
pub(super) async fn remove(folder: &Path) -> Result<(), String> {
    match tokio::fs::remove_dir_all(folder).await {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(format!("its folder could not be removed: {error}")),
    }
}

/// Ends all nodes on this machine. Gives their names, and what went wrong with which.
pub async fn stop_all(
    installation: &str,
    folders: &crate::fleet::Folders,
) -> Result<Vec<(NodeId, Result<(), String>)>, String> {
    use super::super::Driver as _;
    let driver = super::Local::new(installation, folders.clone(), super::Settings::default());
    let driver = driver.map_err(|problem| problem.message)?;
    let nodes = alive(&folders.nodes())?;
    let ends = nodes.into_iter().map(|node| {
        let driver = driver.clone();
        async move { (node, driver.terminate(node.to_string()).await) }
    });
    Ok(futures_util::future::join_all(ends).await)
}
