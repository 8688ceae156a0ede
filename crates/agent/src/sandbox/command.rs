//! The process that a sandbox is made by.

use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use atelier_confine::net::Namespace;
use atelier_protocol::Person;

use super::person::PersonFolders;
use super::{Kind, devices};
use crate::config::AgentConfig;
use crate::environment::Places;
use crate::facts::Isolation;
use crate::instance::mounts::{Bind, python_of};
use crate::{identity, network};

/// What a sandbox sees of the system, as far as it is there; nothing of it can be written.
const SYSTEM: [&str; 10] =
    ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/sys/devices/system"];
/// What those see as well who have GPUs: how these are connected.
const HARDWARE: [&str; 3] = ["/sys/bus", "/sys/class", "/sys/devices"];
/// Where the sandbox finds this program.
pub const PROGRAM: &str = "/run/atelier/agent";

/// A sandbox that was started.
pub struct Started {
    pub pid: u32,
    /// Where things are in it.
    pub places: Places,
    /// What it says when it cannot be made.
    pub complaints: File,
}

/// Starts a sandbox whose launcher speaks through `socket`.
pub fn start(
    config: &AgentConfig,
    isolation: &Isolation,
    person: &Person,
    folders: &PersonFolders,
    kind: Kind,
    socket: OwnedFd,
    network: Option<&Namespace>,
) -> io::Result<Started> {
    let program = std::env::current_exe()?;
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let mut variables = folders.mounts.as_ref().map_or_else(Vec::new, |mounts| mounts.variables.clone());
    if folders.identity.is_some() && !variables.iter().any(|(name, _)| name == "JUPYTER_CONFIG_PATH") {
        let place = identity::Place::of(config, isolation, &person.id);
        variables.push(("JUPYTER_CONFIG_PATH".to_owned(), place.jupyter()));
    }
    if folders.mounts.is_none() {
        variables.extend(network::variables(config));
    }
    let tools = folders.identity.as_ref().map(|_| identity::tools(config, isolation, &person.id));
    let (mut command, places) = match isolation {
        Isolation::View(bwrap) => {
            let home = format!("/home/{}", person.handle);
            let mut command = Command::new(bwrap);
            view(&mut command, config, folders, kind, &home, &program);
            command.args(["--", PROGRAM]);
            (command, Places { home, shared: "/shared".to_owned(), jobs: "/jobs".to_owned(), variables, tools })
        }
        Isolation::Users | Isolation::None => {
            let (home, shared, jobs) = (text(&folders.home), text(&config.shared), text(&folders.jobs));
            (Command::new(&program), Places { home, shared, jobs, variables, tools })
        }
    };
    let role = match kind {
        Kind::Shared => "resident",
        Kind::PerJob if matches!(isolation, Isolation::View(_)) => "per-job",
        Kind::PerJob => "per-job-plain",
    };
    command.args(["launcher", role]);
    if let (Some(uid), true) = (person.uid, *isolation != Isolation::None) {
        command.arg(uid.to_string());
    }
    let (complaints, complain) = io::pipe()?;
    command.env_clear().current_dir("/").process_group(0);
    command.stdin(Stdio::from(socket)).stdout(Stdio::null()).stderr(complain);
    let pid = match network {
        Some(network) => network.briefly(|| command.spawn())??.id(),
        None => command.spawn()?.id(),
    };
    Ok(Started { pid, places, complaints: File::from(OwnedFd::from(complaints)) })
}

/// The private view: own processes, own home, the system read-only, nothing else.
fn view(command: &mut Command, config: &AgentConfig, folders: &PersonFolders, kind: Kind, home: &str, program: &Path) {
    command.args(["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--as-pid-1", "--die-with-parent"]);
    let mounts = folders.mounts.as_ref();
    if mounts.is_some_and(|mounts| mounts.has_own_network) {
        command.arg("--unshare-net");
    }
    let host = mounts.map_or_else(|| format!("node-{}", config.node.0), |mounts| mounts.host.clone());
    command.args(["--hostname", &host, "--dir", "/sys", "--dir", "/sys/devices"]);
    let hardware: &[&str] = if config.shape.gpus > 0 { &HARDWARE } else { &[] };
    for place in SYSTEM.iter().chain(hardware) {
        match fs::symlink_metadata(place) {
            Ok(found) if found.is_symlink() => {
                if let Ok(target) = fs::read_link(place) {
                    command.arg("--symlink").arg(target).arg(place);
                }
            }
            Ok(_) => {
                command.args(["--ro-bind", place, place]);
            }
            Err(_) => {}
        }
    }
    if Path::new("/etc/passwd").exists() {
        command.arg("--ro-bind").arg(&folders.users).arg("/etc/passwd");
    }
    command.args(["--proc", "/proc", "--dev", "/dev", "--perms", "1777", "--tmpfs", "/dev/shm"]);
    // Made by name, since those that are made on the way are for root alone.
    for folder in ["/run", "/run/atelier", "/home", "/var"] {
        command.args(["--dir", folder]);
    }
    for device in devices::of(&config.gpus) {
        command.arg("--dev-bind").arg(&device).arg(&device);
    }
    // Where names are looked up, on machines where that is a link into here.
    let own_names = network::names(config);
    if let (Some(own), Ok(names)) = (&own_names, fs::canonicalize("/etc/resolv.conf")) {
        if !names.starts_with("/etc") {
            folders_above(command, &names);
        }
        command.arg("--ro-bind").arg(own).arg(names);
    } else if Path::new("/run/systemd/resolve").exists() {
        command.args(["--dir", "/run/systemd", "--ro-bind", "/run/systemd/resolve", "/run/systemd/resolve"]);
    }
    match kind {
        Kind::Shared => command.arg("--bind").arg(&folders.temporary).arg("/tmp"),
        // Each of its workers has its own.
        Kind::PerJob => command.args(["--dir", "/tmp"]),
    };
    command.args(["--symlink", "../tmp", "/var/tmp", "--symlink", "../run", "/var/run"]);
    command.arg("--bind").arg(&folders.home).arg(home);
    command.arg("--bind").arg(&folders.jobs).arg("/jobs");
    if mounts.is_none_or(|mounts| mounts.has_files) {
        command.arg("--bind").arg(&config.shared).arg("/shared");
    }
    command.arg("--ro-bind").arg(program).arg(PROGRAM);
    if let Some(folder) = &folders.identity {
        command.arg("--ro-bind").arg(folder).arg(identity::INSIDE);
    }
    let environments = environments(config);
    for bind in environments.iter().chain(mounts.iter().flat_map(|mounts| &mounts.binds)) {
        folders_above(command, &bind.to);
        command.arg(if bind.is_writable { "--bind" } else { "--ro-bind" }).arg(&bind.from).arg(&bind.to);
    }
}

/// Makes the folders that something is to lie in.
fn folders_above(command: &mut Command, path: &Path) {
    let above: Vec<&Path> = path.ancestors().skip(1).filter(|folder| folder.parent().is_some()).collect();
    for folder in above.into_iter().rev() {
        command.arg("--dir").arg(folder);
    }
}

/// Python environments and what they stand on, where they are: they cannot be moved. What is built later is
/// there as well.
fn environments(config: &AgentConfig) -> Vec<Bind> {
    let folder = config.environments.as_ref().filter(|folder| folder.is_dir());
    let python = config.python.as_ref().filter(|_| folder.is_some()).and_then(|python| python_of(python));
    let read_only = |path: std::path::PathBuf| Bind { from: path.clone(), to: path, is_writable: false };
    folder.cloned().into_iter().chain(python).map(read_only).collect()
}
