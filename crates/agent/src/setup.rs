//! From a configuration to a running agent.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use atelier_confine::{Confinement, NodeGroup, Share};
use rand::Rng;
use rustix::process::{DumpableBehavior, Pid, set_child_subreaper, set_dumpable_behavior, setsid};

use crate::blobs::Blobs;
use crate::config::AgentConfig;
use crate::core::{Agent, Beginning};
use crate::facts;
use crate::sample::{Gpus, Sampler};
use crate::sandbox::{Groups, PROCESSES};

/// What the agent itself needs beside its jobs, in MiB.
const OWN_MEMORY: u64 = 64;

/// Runs the agent until it ends: told to, or alone for too long.
///
/// # Errors
/// Why it could not begin, or why it had to stop, in words.
pub fn run(config: &Path) -> Result<(), String> {
    close_to_others();
    let mut config = AgentConfig::read(config)?;
    config.gpus = config.devices();
    make_folder(&config.folder)?;
    let _lock = lock(&config.folder)?;
    clear_folders(&config.folder)?;
    // A session of its own, so that no terminal or service takes it along; it has one already if a driver
    // made it one.
    let _ = setsid();
    set_child_subreaper(Some(Pid::INIT)).map_err(|error| format!("The agent cannot become a reaper: {error}."))?;
    let (isolation, mut warnings) = facts::isolation(&config);
    if !matches!(isolation, facts::Isolation::View(_)) {
        // Without a view nobody could be told where names are looked up.
        config.network = None;
    }
    let (node, limits) = confine(&config, &mut warnings);
    let gpus = Gpus::find(&config.gpus);
    let facts = facts::facts(&config, &isolation, limits, warnings, gpus.names());
    let blobs = Blobs::new(config.folder.join("blobs"), config.blob_limit_mib << 20)
        .map_err(|error| format!("The folder for files cannot be made: {error}."))?;
    let secret = secret(&config.folder)?;
    let sampler = Sampler::new(config.folder.clone(), gpus);
    let beginning = Beginning { config, facts, isolation, groups: Groups::new(node.clone()), blobs, sampler, secret };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("The agent cannot begin: {error}."))?;
    // As a task: whatever wakes the future that is blocked on costs a call of the system, also from the same
    // thread.
    let outcome = runtime.block_on(async { tokio::spawn(Agent::run(beginning)).await });
    let outcome = outcome.unwrap_or_else(|panic| Err(std::io::Error::other(panic)));
    if let Some(node) = node {
        // Not in its own way; what cannot be removed is left to the driver.
        drop(node.leave(std::process::id()).and_then(|()| node.kill_all()).and_then(|()| node.remove()));
    }
    outcome.map(drop).map_err(|error| format!("The agent had to stop: {error}."))
}

/// Nobody of the same user may look into the agent, which holds the secret of its node and everybody's
/// tokens. Before Linux 5.14 an agent that is not root could then not tell which process a handle means, so
/// there it stays as it is.
fn close_to_others() {
    let set = |behavior| {
        // Where that cannot be, nothing else changes.
        let _ = set_dumpable_behavior(behavior);
    };
    set(DumpableBehavior::NotDumpable);
    if fs::read_dir("/proc/self/fdinfo").is_err() {
        set(DumpableBehavior::Dumpable);
    }
}

fn make_folder(folder: &Path) -> Result<(), String> {
    use std::os::unix::fs::DirBuilderExt;
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|error| format!("The folder {} cannot be made: {error}.", folder.display()))
}

/// Nothing of an agent before this one is used again: what it had not handed over is lost with it.
fn clear_folders(folder: &Path) -> Result<(), String> {
    for name in ["spool", "tmp"] {
        drop(fs::remove_dir_all(folder.join(name)));
    }
    make_folder(&folder.join("spool"))
}

/// How long a lock may be held by somebody who only looks.
const LOCK_PATIENCE: std::time::Duration = std::time::Duration::from_millis(200);

/// Takes the node's lock: whoever holds it is its agent. The system gives it back when the process ends,
/// however it ends.
fn lock(folder: &Path) -> Result<File, String> {
    let path = folder.join("lock");
    let cannot = |error: std::io::Error| format!("The lock {} cannot be taken: {error}.", path.display());
    let mut file =
        File::options().read(true).write(true).create(true).truncate(false).mode(0o600).open(&path).map_err(cannot)?;
    // The server looks at it now and then, for a moment each time; another agent would hold it for good.
    let until = crate::clock::now() + LOCK_PATIENCE;
    let mut locked = file.try_lock();
    while matches!(locked, Err(fs::TryLockError::WouldBlock)) && crate::clock::now() < until {
        std::thread::park_timeout(std::time::Duration::from_millis(5));
        locked = file.try_lock();
    }
    match locked {
        Ok(()) => {}
        Err(fs::TryLockError::WouldBlock) => {
            let mut pid = String::new();
            drop(file.read_to_string(&mut pid));
            return Err(format!("This node has an agent already: process {}.", pid.trim()));
        }
        Err(fs::TryLockError::Error(error)) => return Err(cannot(error)),
    }
    file.set_len(0).and_then(|()| write!(file, "{}", std::process::id())).map_err(cannot)?;
    Ok(file)
}

/// The agent's secret: made once, then read.
fn secret(folder: &Path) -> Result<String, String> {
    let path = folder.join("secret");
    if let Ok(secret) = fs::read_to_string(&path)
        && secret.len() == 64
    {
        return Ok(secret);
    }
    let bytes: [u8; 32] = rand::rng().random();
    let secret = atelier_domain::text::hex(&bytes);
    let write = || -> std::io::Result<()> {
        let mut file = File::options().write(true).create(true).truncate(true).mode(0o600).open(&path)?;
        file.write_all(secret.as_bytes())
    };
    write().map_err(|error| format!("The secret {} cannot be written: {error}.", path.display()))?;
    Ok(secret)
}

/// Enters the node's control group, where there is such a thing.
fn confine(config: &AgentConfig, warnings: &mut Vec<String>) -> (Option<NodeGroup>, atelier_protocol::Limits) {
    let Some(confinement) = Confinement::detect() else {
        return (None, facts::limits(None));
    };
    let node = confinement.node(&config.installation, config.node.0);
    let memory = config.shape.memory + OWN_MEMORY;
    let share = Share { cores: config.shape.cores, memory, processes: PROCESSES };
    // What an agent before this one left there is nobody's.
    let enter = || node.kill_all().and_then(|()| node.create(share)).and_then(|()| node.enter(std::process::id()));
    match enter() {
        Ok(()) => (Some(node), facts::limits(Some(&confinement))),
        Err(error) => {
            warnings.push(format!("Control groups are there but cannot be used: {error}."));
            (None, facts::limits(None))
        }
    }
}
