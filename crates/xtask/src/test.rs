//! `cargo xtask test`: the core, which is lints, native tests and the browser tests against the server just
//! built; by `--only` a part of it, or a suite beside it. `cargo xtask ci` runs the core and as many suites
//! as there is time for.

mod ci;

use std::ffi::OsString;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use atelier_testing::{free_port, postgres};
pub use ci::ci;
use clap::ValueEnum;

use crate::failure::{Failure, Result};
use crate::progress::{announce, step};
use crate::server::{self, Profile};
use crate::workspace::{PRODUCT, Workspace};
use crate::{compile, lint, process, setup};

/// Built on its own, see [`PRODUCT`].
const XTASK: [&str; 1] = ["--package=xtask"];

/// What can be run alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// The library crates: rules, store on both databases, tools
    Unit,
    /// The root package: pages, server functions, HTTP
    Web,
    /// All native tests, as in the core
    Native,
    /// Playwright in Chromium, with and without JavaScript
    E2e,
    /// A suite beside the core: ten thousand simulated sites in place of a thousand
    Simulation,
    /// What is kept from whom: two people on one node who try everything on each other, and what else
    /// `docs/security.md` names. Part of the core, too
    Attacks,
    /// A suite beside the core: VS Code, installed through the operator's button and used in Chromium;
    /// downloads and compiles code-server
    Vscode,
}

/// Tests that are no part of the core, since they take long or need what most people do not have.
struct Suite {
    kind: Kind,
    name: &'static str,
    /// What it tests: a change in these folders is a reason to run it.
    folders: &'static [&'static str],
}

const SUITES: [Suite; 3] = [
    Suite {
        kind: Kind::Attacks,
        name: "attacks",
        folders: &[
            "crates/agent",
            "crates/confine",
            "crates/engine/src/environments",
            "crates/files/src",
            "tests/http/attacks",
        ],
    },
    Suite { kind: Kind::Simulation, name: "simulation", folders: &["crates/domain", "crates/simulate", "scenarios"] },
    Suite {
        kind: Kind::Vscode,
        name: "vscode",
        folders: &["end2end/vscode", "src/server/apps", "crates/agent/src/instance", "crates/engine/src/environments"],
    },
];

/// Runs the tests several times in a row, on request beside threads that keep every core busy.
pub fn repeated(workspace: &Workspace, only: Option<Kind>, filter: &[OsString], times: u32, busy: bool) -> Result<()> {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let cores = if busy { thread::available_parallelism().map_or(1, NonZero::get) } else { 0 };
        for _ in 0..cores {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let done = (1..=times).try_for_each(|run| {
            if times > 1 {
                announce(&format!("Run {run} of {times}"));
            }
            test(workspace, only, filter)
        });
        is_over.store(true, Ordering::Relaxed);
        done
    })
}

pub fn test(workspace: &Workspace, only: Option<Kind>, filter: &[OsString]) -> Result<()> {
    match only {
        None => core().into_iter().try_for_each(|(_, part)| part(workspace)),
        Some(Kind::Unit) => {
            setup::for_native_tests()?;
            native(workspace, &[&["--workspace", "--exclude=atelier", "--exclude=xtask"], &XTASK], filter)
        }
        Some(Kind::Web) => {
            setup::for_native_tests()?;
            native(workspace, &[&["--package=atelier", "--features=ssr"]], filter)
        }
        Some(Kind::Native) => {
            setup::for_native_tests()?;
            native(workspace, &[&PRODUCT, &XTASK], filter)
        }
        Some(Kind::E2e) => browser(workspace, &setup::for_tests(workspace)?, filter),
        Some(Kind::Simulation) => simulation(workspace, filter),
        Some(Kind::Attacks) => attacks(workspace),
        Some(Kind::Vscode) => vscode(workspace, filter),
    }
}

type Part = fn(&Workspace) -> Result<()>;

/// The parts of the core, in the order in which they are run.
fn core() -> [(&'static str, Part); 3] {
    [
        ("lint", |workspace| lint::lint(workspace, &setup::wasm::ensure(workspace)?)),
        ("native tests", |workspace| {
            setup::for_native_tests()?;
            native(workspace, &[&PRODUCT, &XTASK], &[])
        }),
        ("browser tests", |workspace| browser(workspace, &setup::for_tests(workspace)?, &[])),
    ]
}

/// Ten times the sites that the core plays.
const EFFORT: (&str, &str) = ("ATELIER_TEST_EFFORT", "10");

fn simulation(workspace: &Workspace, filter: &[OsString]) -> Result<()> {
    step("Ten thousand simulated sites", || {
        let mut cargo = workspace.cargo();
        cargo.args(["test", "--package=atelier-domain", "--test=domain"]).env(EFFORT.0, EFFORT.1);
        // So many are worth an optimised core; checks of overflow and the like stay on.
        cargo.args(["--config", "profile.dev.package.atelier-domain.opt-level=2"]);
        let filter = if filter.is_empty() { &[OsString::from("simulation::")] } else { filter };
        process::run(cargo.args(for_cargo_test(filter)))
    })
}

/// The tests that show what `docs/security.md` promises, by the names that stand there.
fn attacks(workspace: &Workspace) -> Result<()> {
    setup::for_native_tests()?;
    let docs = workspace.root().join("docs/security.md");
    let text = std::fs::read_to_string(&docs)
        .map_err(|error| Failure::new(format!("{} cannot be read: {error}", docs.display())))?;
    native(workspace, &[&PRODUCT], &named_tests(&text))
}

/// The names of tests in a text: words in code, joined by underscores.
fn named_tests(text: &str) -> Vec<OsString> {
    let is_test = |name: &&str| {
        let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        name.matches('_').count() >= 2 && name.chars().all(is_word)
    };
    // Some stand behind the program or the modules that they are in.
    let words = text.split('`').skip(1).step_by(2).filter_map(|path| path.rsplit(':').next()).map(str::trim);
    let mut names: Vec<&str> = words.filter(is_test).collect();
    names.sort_unstable();
    names.dedup();
    names.into_iter().map(OsString::from).collect()
}

/// Installs VS Code as an operator does, and uses it in a browser.
fn vscode(workspace: &Workspace, filter: &[OsString]) -> Result<()> {
    let tools = setup::for_tests(workspace)?;
    setup::system::ensure(&setup::system::CODE_SERVER)?;
    let binary = server::build_with_site(workspace, Profile::Dev)?;
    step("VS Code in the browser", || {
        let mut playwright = playwright(workspace, &tools, &binary);
        process::run(playwright.arg("--config=vscode.config.ts").args(filter))
    })
}

/// Playwright against a server that was built.
fn playwright(workspace: &Workspace, tools: &setup::BrowserTools, binary: &Path) -> Command {
    let mut playwright = tools.node.command("npx");
    playwright.args(["--no-install", "playwright", "test"]).current_dir(workspace.end2end());
    playwright.env("ATELIER_BIN", binary).env("ATELIER_E2E_PORT", free_port().to_string());
    if let Some(chromium) = &tools.chromium {
        playwright.env("CHROMIUM", chromium);
    }
    playwright
}

/// Runs the tests of each selection of packages, all with the same PostgreSQL.
fn native(workspace: &Workspace, selections: &[&[&str]], filter: &[OsString]) -> Result<()> {
    let postgres = step("Starting PostgreSQL for the tests", || {
        postgres::Server::start().map_err(|error| Failure::new(error.to_string()))
    })?;
    let cargo = || {
        let mut cargo = workspace.cargo();
        cargo.env(postgres::URL_VARIABLE, postgres.url());
        cargo
    };
    let has_nextest = has_nextest(workspace);
    for packages in selections {
        // Benchmarks are examples: they are linked where they are measured, not here.
        let what = "Building the native tests";
        step(what, || compile::run(cargo().args(["test", "--no-run", "--tests"]).args(*packages), what))?;
        step("Native tests", || {
            let mut run = cargo();
            match has_nextest {
                true => {
                    let profile = if is_ci() { "--profile=ci" } else { "--profile=default" };
                    run.args(["nextest", "run", "--tests", profile]).args(*packages).args(filter);
                }
                false => {
                    run.args(["test", "--no-fail-fast", "--tests"]).args(*packages).args(for_cargo_test(filter));
                }
            }
            process::run(&mut run)
        })?;
        if filter.is_empty() && *packages != XTASK {
            step("Examples in the documentation", || {
                process::run(cargo().args(["test", "--doc", "--quiet"]).args(*packages))
            })?;
        }
    }
    Ok(())
}

/// A filter as `cargo test` takes it: several names have to stand after `--`. nextest takes them anywhere.
fn for_cargo_test(filter: &[OsString]) -> Vec<OsString> {
    let count = filter.iter().take_while(|word| !word.to_string_lossy().starts_with('-')).count();
    let (names, options) = filter.split_at(count);
    let mut arguments = options.to_vec();
    if !names.is_empty() && !options.iter().any(|word| word == "--") {
        arguments.push("--".into());
    }
    arguments.extend_from_slice(names);
    arguments
}

fn browser(workspace: &Workspace, tools: &setup::BrowserTools, filter: &[OsString]) -> Result<()> {
    let binary = server::build_with_site(workspace, Profile::Dev)?;
    let environments = environment(workspace, &binary)?;
    step("Browser tests", || {
        let mut playwright = playwright(workspace, tools, &binary);
        process::run(playwright.env("ATELIER_E2E_ENVIRONMENTS", &environments).args(filter))
    })
}

/// Builds the Python environment of instances once, for this clone and all others. Returns the folder with it
/// in it.
fn environment(workspace: &Workspace, binary: &Path) -> Result<PathBuf> {
    let folder = workspace.cache().join("environments");
    step("The Python environment of instances", || {
        let mut build = Command::new(binary);
        build.args(["environment", "build"]).arg("--environments").arg(&folder);
        // No server's: the list that comes with Atelier.
        process::run(build.arg("--data").arg(folder.join("no-data")).stdout(Stdio::null()))
    })?;
    Ok(folder)
}

fn has_nextest(workspace: &Workspace) -> bool {
    let mut version: Command = workspace.cargo();
    version.args(["nextest", "--version"]).stdout(Stdio::null()).stderr(Stdio::null());
    version.status().is_ok_and(|status| status.success())
}

fn is_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| !value.is_empty() && value != "false")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_found_by_their_names_in_the_docs() {
        let text = "`a_b` is none, `heads_are_bounded` is, `docs/x_y_z.md` is not, `heads_are_bounded` again";
        assert_eq!(named_tests(text), [OsString::from("heads_are_bounded")]);
        let docs = include_str!("../../../docs/security.md");
        assert!(named_tests(docs).len() > 10, "{:?}", named_tests(docs));
    }

    #[test]
    fn several_names_reach_the_tests_without_nextest() {
        let for_cargo_test = |words: &str| {
            let words: Vec<OsString> = words.split_whitespace().map(OsString::from).collect();
            for_cargo_test(&words).join(" ".as_ref()).into_string().expect("it is text")
        };
        assert_eq!(for_cargo_test(""), "");
        assert_eq!(for_cargo_test("sign_in budgets"), "-- sign_in budgets");
        assert_eq!(for_cargo_test("sign_in --test http"), "--test http -- sign_in");
        assert_eq!(for_cargo_test("sign_in -- --nocapture"), "-- --nocapture sign_in");
        assert_eq!(for_cargo_test("--test http"), "--test http");
    }
}
