//! Building one environment, from nothing to the mark. Runs on a thread of its own.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::Settings;
use super::base_status::{Built, LINES, Phase};
use super::bounds::{Bounded, size};
use super::failure::{Ended, Failure, free_space};
use super::guard::{Guard, Network};
use super::pip::Pip;
use super::process::{Cancel, Job, how};
use super::recipe::{Kind, Recipe};
use super::seal::seal;
use super::shelf::{Lock, Shelf, remove};
use crate::clock;

/// So much must be free before anything begins; more is needed for long lists, which is noticed on the way.
const FREE: u64 = 512 << 20;
/// What pip keeps of earlier downloads; above that it starts anew.
const LARGEST_CACHE: u64 = 4 << 30;
/// Between two tries to get the lock.
const AGAIN: Duration = Duration::from_millis(300);
/// What of the server's own variables pip may know: where packages come from, and how to get there.
pub(super) const FOR_PIP: [&str; 21] = [
    "PIP_INDEX_URL",
    "PIP_EXTRA_INDEX_URL",
    "PIP_FIND_LINKS",
    "PIP_NO_INDEX",
    "PIP_TRUSTED_HOST",
    "PIP_CERT",
    "PIP_CLIENT_CERT",
    "PIP_PROXY",
    "PIP_TIMEOUT",
    "PIP_DEFAULT_TIMEOUT",
    "PIP_RETRIES",
    "PIP_CONFIG_FILE",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
];
/// What notebooks need beside a list: to run with it in an instance, and as a job.
const FOR_NOTEBOOKS: [&str; 2] = ["ipykernel", "nbconvert"];
/// So many packages are known of an environment.
const MOST_PACKAGES: usize = 5_000;
/// Imports the packages of the list, by the modules that each has brought, and prints what is installed.
const CHECK: &str = include_str!("check.py");
/// Before each line that tells what is installed.
const TOLD: &str = "atelier-package ";

/// What is heard of a build.
#[derive(Debug)]
pub enum News<'a> {
    /// At what it is, and how many packages are known.
    Phase(Phase, usize),
    /// A line that was printed.
    Line(&'a str),
}

/// Builds what a recipe says, unless it is there already.
pub(super) fn build(
    settings: &Settings,
    recipe: &Recipe,
    cancel: &Cancel,
    tell: &mut dyn FnMut(News<'_>),
) -> Result<Built, Ended> {
    let shelf = Shelf::new(&settings.folder);
    let hash = recipe.hash();
    shelf.make()?;
    let lock = wait_for_lock(&shelf, cancel, tell)?;
    if let Some(built) = shelf.look(&hash) {
        return Ok(built);
    }
    shelf.sweep(&lock)?;
    let guard = Guard::choose(shelf.folder(), settings.has_own_users, recipe.kind, &recipe.python.program, &hash)?;
    guard.check_python(&recipe.python.program)?;
    let (bounded, guard) = Bounded::begin(settings.bounds, shelf.folder(), guard)?;
    let free = free_space(shelf.folder());
    if free < FREE {
        return Err(Failure::no_space(shelf.folder(), free).into());
    }
    let place = shelf.place(&hash);
    let mut work = Work::begin(settings, &shelf, recipe, &guard, bounded, &lock, cancel, tell)?;
    let built = work.all();
    drop(work);
    if built.is_err()
        && let Err(error) = remove(&place)
    {
        tracing::warn!(%error, path = %place.display(), "what is left of a failed build could not be removed");
    }
    built
}

fn wait_for_lock(shelf: &Shelf, cancel: &Cancel, tell: &mut dyn FnMut(News<'_>)) -> Result<Lock, Ended> {
    let mut is_told = false;
    loop {
        if let Some(lock) = shelf.try_lock()? {
            return Ok(lock);
        }
        if !is_told {
            tell(News::Phase(Phase::Elsewhere, 0));
            is_told = true;
        }
        if cancel.wait(AGAIN) {
            return Err(Ended::Canceled);
        }
    }
}

/// A build that has begun.
struct Work<'a> {
    job: Job<'a>,
    shelf: &'a Shelf,
    recipe: &'a Recipe,
    guard: &'a Guard,
    tell: &'a mut dyn FnMut(News<'_>),
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
        recipe: &'a Recipe,
        guard: &'a Guard,
        mut bounded: Bounded,
        lock: &'a Lock,
        cancel: &'a Cancel,
        tell: &'a mut dyn FnMut(News<'_>),
    ) -> Result<Self, Ended> {
        let hash = recipe.hash();
        let (place, log) = (shelf.place(&hash), shelf.log(&hash));
        let scratch = place.join(".build");
        // What is downloaded for what people name is for that alone: code of a package can write there, and
        // what it leaves must not get into what others use.
        let cache = match recipe.kind {
            Kind::Base => shelf.cache(),
            Kind::Named => scratch.join("cache"),
        };
        tidy(&cache, LARGEST_CACHE, guard);
        for folder in [&place, &scratch, &cache] {
            let made = DirBuilder::new().recursive(true).mode(0o755).create(folder);
            made.and_then(|()| guard.hand_over(folder)).map_err(|error| Failure::file("made", folder, &error))?;
        }
        let file = File::options().create(true).write(true).truncate(true).mode(0o600).open(&log);
        let file = file.map_err(|error| Failure::file("written", &log, &error))?;
        bounded.watch(&if cache.starts_with(&place) { vec![&*place] } else { vec![&*place, &*cache] });
        let (began, limit, doing) = (clock::instant(), settings.limit, Phase::Making.words());
        let job = Job { lock, cancel, guard, bounded, folder: shelf.folder(), began, limit, log: file, doing };
        Ok(Self { job, shelf, recipe, guard, tell, pip: &settings.pip, place, scratch, cache, last: Vec::new() })
    }

    fn all(&mut self) -> Result<Built, Ended> {
        self.enter(Phase::Making, 0);
        self.make()?;
        self.enter(Phase::Resolving, 0);
        let count = self.install()?;
        let has_kernel = self.recipe.kind == Kind::Named && self.add_kernel()?;
        self.enter(Phase::Checking, count);
        self.compile()?;
        let packages = self.check()?;
        let cannot = |error: std::io::Error| Failure::file("closed", &self.place, &error);
        fs::remove_dir_all(&self.scratch).map_err(cannot)?;
        let size = seal(&self.place, self.guard.owner()).map_err(cannot)?;
        let built_in = clock::instant().duration_since(self.job.began);
        let built = Built {
            hash: self.recipe.hash(),
            path: self.place.clone(),
            packages,
            python: self.recipe.python.clone(),
            built_in_ms: u64::try_from(built_in.as_millis()).unwrap_or(u64::MAX),
            built_at: clock::now(),
            size,
            kind: self.recipe.kind,
            has_kernel,
        };
        self.shelf.mark(&built).map_err(cannot)?;
        Ok(built)
    }

    fn enter(&mut self, phase: Phase, packages: usize) {
        self.job.doing = phase.words();
        self.job.note(&format!("— {}", phase.words()));
        (self.tell)(News::Phase(phase, packages));
    }

    fn make(&mut self) -> Result<(), Ended> {
        let mut command = self.command(self.recipe.python.program.as_os_str(), Network::Closed);
        command.args(["-I", "-m", "venv"]).arg(&self.place);
        let status = self.run(command, |_, _| {})?;
        if status.success() {
            return Ok(());
        }
        Err(Failure::of_venv(&self.last, self.recipe.python.series(), &how(status)).into())
    }

    fn pip_install(&self) -> Command {
        let mut command = self.python(Network::Outgoing);
        command.args(["-m", "pip", "install", "--no-input", "--no-color", "--progress-bar=off"]);
        // Compiled afterwards, on all cores.
        command.args(["--disable-pip-version-check", "--no-warn-script-location", "--prefer-binary", "--no-compile"]);
        command.arg("--cache-dir").arg(&self.cache);
        for name in FOR_PIP {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command.envs(self.pip.iter().map(|(name, value)| (name, value)));
        command
    }

    /// What a notebook needs to run with it, in an instance and as a job, without touching anything of the
    /// list: where that does not fit beside it, scripts can use it and notebooks cannot.
    fn add_kernel(&mut self) -> Result<bool, Ended> {
        let listed = |name: &&str| self.recipe.requirements.has(name);
        if FOR_NOTEBOOKS.iter().all(listed) {
            return Ok(true);
        }
        let has_kernel = listed(&FOR_NOTEBOOKS[0]);
        let mut freeze = self.python(Network::Closed);
        freeze.args(["-m", "pip", "freeze", "--all", "--disable-pip-version-check"]);
        let mut kept: Vec<String> = Vec::new();
        let is_plain = |line: &str| line.contains("==") && !line.starts_with('-') && !line.contains([' ', '@', '/']);
        let frozen = self.run(freeze, |_, line| kept.extend(is_plain(line).then(|| line.to_owned())))?;
        let added = FOR_NOTEBOOKS.join(" and ");
        self.job.note(&format!("— adding {added}, so that notebooks can use it"));
        let mut command = self.pip_install();
        // What is there stays in the version that it has. As arguments: code of a package may have put a link
        // in the way of any file that would be written here.
        command.arg("--").args(FOR_NOTEBOOKS).args(&kept);
        if frozen.success() && self.run(command, |_, _| {})?.success() {
            return Ok(true);
        }
        // A kernel alone is enough for notebooks in instances.
        let mut command = self.pip_install();
        command.args(["--", FOR_NOTEBOOKS[0]]).args(&kept);
        if has_kernel || (frozen.success() && self.run(command, |_, _| {})?.success()) {
            self.job.note("nbconvert cannot be installed beside this list: notebooks run in instances, not as jobs");
            return Ok(true);
        }
        self.job.note(&format!("{added} cannot be installed beside this list: scripts can use it, notebooks cannot"));
        Ok(false)
    }

    fn install(&mut self) -> Result<usize, Ended> {
        let is_plain = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || "._+!-".contains(c));
        let before = self.recipe.before.iter().filter(|(name, version)| is_plain(name) && is_plain(version));
        let before: Vec<String> = before.map(|(name, version)| format!("{name}=={version}")).collect();
        if !before.is_empty() {
            self.job.note("— taking the versions that it had when it was built before");
            match self.install_with(&before) {
                Err(Ended::Failed(_)) => {
                    self.job.note("— not all of them are to be had any more; the newest that fit the list are taken");
                }
                other => return other,
            }
        }
        self.install_with(&[])
    }

    fn install_with(&mut self, before: &[String]) -> Result<usize, Ended> {
        let mut command = self.pip_install();
        command.arg("--").args(self.recipe.requirements.lines()).args(before);
        let mut pip = Pip::default();
        let mut shown = (Phase::Resolving, 0);
        let status = self.run(command, |work, line| {
            pip.hear(line);
            if shown != (pip.phase(), pip.packages()) {
                shown = (pip.phase(), pip.packages());
                work(News::Phase(shown.0, shown.1));
            }
        });
        self.job.doing = pip.phase().words();
        let status = status?;
        if status.success() {
            return Ok(pip.packages());
        }
        let (series, platform) = (self.recipe.python.series(), &self.recipe.python.platform);
        let mut failure = Failure::of_pip(&self.last, self.job.folder, series, platform, &how(status));
        if failure.about.is_empty() && Failure::is_of_a_package(&self.last) {
            // It names nobody, such as when a package cannot say what it needs: then it was at the last one
            // that it began.
            failure.about = pip.last();
        }
        Err(failure.into())
    }

    /// People cannot write there, so their Python would compile everything at each start.
    fn compile(&mut self) -> Result<(), Ended> {
        for cores in ["0", "1"] {
            let mut command = self.python(Network::Closed);
            command.args(["-m", "compileall", "-q", "-q", "-j", cores]).arg(self.place.join("lib"));
            if self.run(command, |_, _| {})?.success() {
                break;
            }
            // Not every machine lets it use all cores. And some packages carry files that are for no Python
            // of today, which nobody minds.
        }
        Ok(())
    }

    fn check(&mut self) -> Result<Vec<(String, String)>, Ended> {
        let mut command = self.python(Network::Closed);
        command.args(["-c", CHECK]).args(self.recipe.requirements.certain());
        let mut packages = Vec::new();
        let status = self.run(command, |_, line| {
            // A module prints what it likes while it is imported.
            if let Some((name, version)) = line.strip_prefix(TOLD).and_then(|told| told.split_once(' '))
                && packages.len() < MOST_PACKAGES
            {
                packages.push((name.to_owned(), version.to_owned()));
            }
        })?;
        if !status.success() {
            return Err(Failure::of_check(&self.last, "a package cannot be imported").into());
        }
        let lab = self.place.join("bin/jupyter-lab");
        if lab.exists() {
            let mut command = self.command(self.place.join("bin/jupyter").as_os_str(), Network::Closed);
            command.args(["lab", "--version"]);
            if !self.run(command, |_, _| {})?.success() {
                return Err(Failure::of_check(&self.last, "JupyterLab does not start").into());
            }
        }
        Ok(packages)
    }

    /// The environment's own Python, deaf to anything but its arguments.
    fn python(&self, network: Network) -> Command {
        let mut command = self.command(self.place.join("bin/python").as_os_str(), network);
        command.arg("-I");
        command
    }

    fn command(&self, program: &OsStr, network: Network) -> Command {
        let mut command = self.guard.command(program, &[&self.place, &self.cache], network);
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", self.place.join("bin").display());
        command.env("PATH", path).env("LANG", "C.UTF-8").env("USER", "atelier").env("LOGNAME", "atelier");
        command.env("HOME", &self.scratch).env("TMPDIR", &self.scratch).current_dir("/");
        command
    }

    fn run(
        &mut self,
        command: Command,
        mut hear: impl FnMut(&mut dyn FnMut(News<'_>), &str),
    ) -> Result<std::process::ExitStatus, Ended> {
        self.last.clear();
        let (last, tell) = (&mut self.last, &mut *self.tell);
        let ran = self.job.run(command, |line| {
            hear(tell, line);
            if line.trim().is_empty() || line.starts_with(TOLD) {
                return false;
            }
            if last.len() == LINES {
                last.remove(0);
            }
            last.push(line.to_owned());
            tell(News::Line(line));
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

/// Empties pip's cache if it is too large, or another user's.
fn tidy(cache: &Path, most: u64, guard: &Guard) {
    let Ok(info) = fs::symlink_metadata(cache) else { return };
    if info.uid() != guard.user() || size(cache) > most {
        // What cannot be removed is used as it is, or not at all: pip looks itself.
        let _ = fs::remove_dir_all(cache);
    }
}
