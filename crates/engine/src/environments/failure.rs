//! Why an environment could not be built, for people: what happened and what to do about it.

use std::io;
use std::path::Path;

use atelier_domain::text::shortened_to;

/// Why there is no environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub why: String,
    pub help: String,
    /// The last lines that were printed.
    pub lines: Vec<String>,
    /// The packages that it is about, as pip says them, the nearest first; empty where it is about none.
    pub about: Vec<String>,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{} {}", self.why, self.help)
    }
}

impl std::error::Error for Failure {}

/// What ends a build.
#[derive(Debug)]
pub(super) enum Ended {
    /// Somebody wants something else, or the server stops.
    Canceled,
    Failed(Failure),
}

impl From<Failure> for Ended {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

const AGAIN: &str = "It is tried again by itself.";

impl Failure {
    pub(super) fn new(why: impl Into<String>, help: impl Into<String>) -> Self {
        Self { why: why.into(), help: help.into(), lines: Vec::new(), about: Vec::new() }
    }

    pub(super) fn no_python(program: &Path, error: &io::Error) -> Self {
        let shown = program.display();
        let why = match error.kind() {
            io::ErrorKind::NotFound => format!("There is no Python at {shown}."),
            _ => format!("The Python at {shown} cannot be started: {error}."),
        };
        Self::new(
            why,
            "Install it (Debian, Ubuntu: apt-get install python3 python3-venv), or name another with the setting \
             python.",
        )
    }

    pub(super) fn not_python(program: &Path, complaint: &str) -> Self {
        let said = shortened_to(complaint.trim(), 200);
        let said = if said.is_empty() { String::new() } else { format!(" It says: {said}") };
        Self::new(
            format!("{} does not answer like a Python of version 3.{said}", program.display()),
            "Name one with the setting python, such as /usr/bin/python3.",
        )
    }

    /// Something could not be done with a file.
    pub(super) fn file(what: &str, path: &Path, error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::StorageFull {
            return Self::no_space(path, free_space(path));
        }
        Self::new(
            format!("{} cannot be {what}: {error}.", path.display()),
            "See that the server may write there, or name another place with the setting environments.",
        )
    }

    pub(super) fn no_space(path: &Path, free: u64) -> Self {
        Self::new(
            format!("There is too little room at {}: {} MB are free.", path.display(), free / 1_000_000),
            format!(
                "The list that comes with Atelier takes about 700 MB, and half as much again while it is built. Make \
                 room, or name a place on another disk with the setting environments. {AGAIN}"
            ),
        )
    }

    pub(super) fn too_long(minutes: u64, phase: &str) -> Self {
        Self::new(
            format!("It was not done after {minutes} minutes and was stopped while {phase}."),
            format!("See whether the package index is slow from here; what was downloaded is kept. {AGAIN}"),
        )
    }

    pub(super) fn no_memory(limit: u64, phase: &str) -> Self {
        Self::new(
            format!("It needed more than {limit} MiB of memory and was stopped while {phase}."),
            "Builds get half of the machine’s memory. Choose packages that come built (wheels), or build it on a \
             larger machine.",
        )
    }

    pub(super) fn too_large(limit: u64) -> Self {
        let limit = if limit < 1 << 30 { format!("{} MiB", limit >> 20) } else { format!("{} GiB", limit >> 30) };
        Self::new(
            format!("It had more than {limit} on the disk and was stopped."),
            "Take packages out of the list, or split it into several environments.",
        )
    }

    /// `python -m venv` ended otherwise.
    pub(super) fn of_venv(said: &[String], series: &str, how: &str) -> Self {
        let text = said.join("\n");
        let failure = if text.contains("ensurepip") {
            Self::new(
                "The part of Python that makes environments is not installed.",
                format!("On Debian and Ubuntu: apt-get install python3-venv (or python{series}-venv). {AGAIN}"),
            )
        } else if is_full(&text) {
            Self::no_space(Path::new("the environments’ place"), 0)
        } else {
            Self::new(
                format!("python -m venv {how}."),
                format!("The last lines below say why; the log has the rest. {AGAIN}"),
            )
        };
        Self { lines: said.to_vec(), ..failure }
    }

    /// `pip install` ended otherwise.
    pub(super) fn of_pip(said: &[String], folder: &Path, series: &str, platform: &str, how: &str) -> Self {
        let text = said.join("\n");
        let failure = if is_full(&text) {
            Self::no_space(folder, free_space(folder))
        } else if UNREACHABLE.iter().any(|sign| text.contains(sign)) {
            Self::new(
                "pip could not reach the package index.",
                format!(
                    "See whether this machine has a way to it: the network, a proxy (HTTPS_PROXY of the server), or an \
                     index of your own (PIP_INDEX_URL of the server, or /etc/pip.conf). {AGAIN}"
                ),
            )
        } else if let Some(wanted) = after(said, "No matching distribution found for ") {
            Self::new(
                format!("The index has nothing that satisfies “{wanted}” for Python {series} on {platform}."),
                match text.contains("from versions: none") {
                    true => {
                        "Correct the name in the list. If it is right, see whether this machine reaches the index at \
                         all."
                    }
                    false => "Correct the version in the list; the last lines below name those that there are.",
                },
            )
        } else if text.contains("ResolutionImpossible") {
            Self::new(
                "The packages of the list cannot be installed together: they want different versions of the same \
                 thing.",
                "The last lines below say which. Loosen a version in the list.",
            )
        } else if let Some(package) =
            after(said, "Failed to build ").or_else(|| after(said, "Could not build wheels for "))
        {
            Self::new(
                format!(
                    "There is no ready-made package of {package} for this machine, and it could not be built here."
                ),
                "Choose another version of it, install what it needs to be built (a compiler, headers), or leave it \
                 out.",
            )
        } else {
            Self::new(
                format!("pip install {how}."),
                format!("The last lines below say why; the log has the rest. {AGAIN}"),
            )
        };
        Self { lines: said.to_vec(), about: about(said), ..failure }
    }

    /// Whether what pip said last can be a package's own fault: neither the disk's nor the way's to the
    /// index.
    pub(super) fn is_of_a_package(said: &[String]) -> bool {
        let text = said.join("\n");
        !is_full(&text) && !UNREACHABLE.iter().any(|sign| text.contains(sign))
    }

    /// It was built and does not work.
    pub(super) fn of_check(said: &[String], what: &str) -> Self {
        let why = said.iter().rev().find(|line| !line.trim().is_empty()).map_or("", String::as_str);
        Self {
            why: format!("It was built, but {what}: {}", shortened_to(why.trim(), 300)),
            help: "Change versions in the list, or leave the package out.".into(),
            lines: said.to_vec(),
            about: said.iter().filter_map(|line| Some(line.split_once(": import ")?.0.to_owned())).collect(),
        }
    }
}

/// The packages that pip complains about, and those that wanted them.
fn about(said: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    let mut add = |text: &str| {
        let text = text.trim().trim_end_matches('.');
        if !text.is_empty() && !found.iter().any(|known| known == text) {
            found.push(shortened_to(text, 100));
        }
    };
    for line in said {
        let line = line.trim_start_matches("ERROR: ").trim();
        for sign in ["No matching distribution found for ", "Failed to build ", "Could not build wheels for "] {
            if let Some(names) = line.strip_prefix(sign) {
                let names = names.split(", which is required").next().unwrap_or(names);
                let names =
                    names.strip_prefix("installable wheels for some pyproject.toml based projects ").unwrap_or(names);
                names.split([',', '(']).map(|name| name.trim_end_matches(')')).take(5).for_each(&mut add);
            }
        }
        if let Some(rest) = line.strip_prefix("Invalid requirement: ") {
            add(rest.trim_matches(['\'', '"']).split("': ").next().unwrap_or(rest));
        }
        // A package whose own set-up fails is named by itself at the end of pip's drawing.
        if let Some(name) = line.strip_prefix("╰─> ").filter(|name| !name.contains(' ')) {
            add(name);
        }
        // Cannot install a==1 and b==2 because these package versions have conflicting dependencies.
        if let Some((names, _)) = line.strip_prefix("Cannot install ").and_then(|rest| rest.split_once(" because ")) {
            names.split(" and ").flat_map(|part| part.split(',')).take(5).for_each(&mut add);
        }
    }
    // … the requirement x (from y==1->z) (from versions: none): who wanted it, down to the list.
    for (_, rest) in said.iter().filter_map(|line| line.split_once("satisfies the requirement ")) {
        if let Some((_, chain)) = rest.split_once("(from ")
            && let Some((chain, _)) = chain.split_once(')')
        {
            chain.split("->").filter(|name| !name.starts_with("versions")).for_each(&mut add);
        }
    }
    found
}

/// How pip says that it gets through to nobody.
const UNREACHABLE: [&str; 8] = [
    "Failed to establish a new connection",
    "Temporary failure in name resolution",
    "Name or service not known",
    "Network is unreachable",
    "Connection refused",
    "ProxyError",
    "ConnectTimeoutError",
    "SSLError",
];

fn is_full(text: &str) -> bool {
    text.contains("No space left on device") || text.contains("Disk quota exceeded")
}

fn after(lines: &[String], sign: &str) -> Option<String> {
    let found = lines.iter().find_map(|line| line.split_once(sign))?;
    Some(shortened_to(found.1.trim(), 100))
}

/// Free bytes where a path lies; none where that cannot be told.
pub(super) fn free_space(path: &Path) -> u64 {
    rustix::fs::statvfs(path).map_or(0, |found| found.f_bavail.saturating_mul(found.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_pip_says_becomes_what_to_do() {
        let pip = |line: &str| {
            let said = ["Collecting x".to_owned(), line.to_owned()];
            Failure::of_pip(&said, Path::new("/"), "3.11", "linux-x86_64", "ended with 1")
        };
        for (line, why, help) in [
            (
                "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device",
                "too little room at /",
                "setting environments",
            ),
            (
                "WARNING: Retrying … NewConnectionError('…: Failed to establish a new connection: …')",
                "could not reach the package index",
                "HTTPS_PROXY",
            ),
            (
                "ERROR: No matching distribution found for numpy==99",
                "“numpy==99” for Python 3.11 on linux-x86_64",
                "Correct",
            ),
            ("ERROR: ResolutionImpossible: for help visit", "cannot be installed together", "Loosen"),
            ("ERROR: Failed to build lxml", "no ready-made package of lxml", "compiler"),
            ("ERROR: something else", "pip install ended with 1", "tried again"),
        ] {
            let failure = pip(line);
            assert!(failure.why.contains(why) && failure.help.contains(help), "{line}: {failure:?}");
            assert_eq!(failure.lines.len(), 2);
        }
    }

    #[test]
    fn the_packages_that_pip_complains_about_are_known() {
        for (lines, named) in [
            (
                vec![
                    "ERROR: Could not find a version that satisfies the requirement deep>=3 (from mine==1.0->other) \
                     (from versions: none)",
                    "ERROR: No matching distribution found for deep>=3",
                ],
                vec!["deep>=3", "mine==1.0", "other"],
            ),
            (
                vec![
                    "ERROR: Could not find a version that satisfies the requirement numpy==99 (from versions: 1.0, \
                     2.0)",
                    "ERROR: No matching distribution found for numpy==99",
                ],
                vec!["numpy==99"],
            ),
            (vec!["ERROR: Failed to build lxml"], vec!["lxml"]),
            (
                vec![
                    "ERROR: Cannot install a==1 and b==2 because these package versions have conflicting dependencies.",
                ],
                vec!["a==1", "b==2"],
            ),
            (vec!["ERROR: something else"], vec![]),
        ] {
            let said: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
            assert_eq!(about(&said), named, "{lines:?}");
        }
        let check = Failure::of_check(&["broken: import broken: ModuleNotFoundError: x".to_owned()], "it cannot");
        assert_eq!(check.about, ["broken"]);
    }

    #[test]
    fn a_missing_part_of_python_is_named_with_its_package() {
        let said =
            ["The virtual environment was not created successfully because ensurepip is not available.".to_owned()];
        let failure = Failure::of_venv(&said, "3.12", "ended with 1");
        assert!(failure.help.contains("apt-get install python3-venv (or python3.12-venv)"), "{failure:?}");
    }
}
