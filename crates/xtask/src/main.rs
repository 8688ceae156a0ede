//! The project's own tasks: `cargo xtask run`, `test`, `ci`, `build`, `bench`, `lint`, `setup`.
//!
//! Each task does its own set-up, skips what is done already, and says what it is doing and how long it took.
//! What it can't install it names, with the command that does, and stops.

mod bench;
mod compile;
mod failure;
mod lint;
mod process;
mod progress;
mod run;
mod server;
mod setup;
mod site;
mod test;
mod workspace;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use failure::Result;
use workspace::Workspace;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Builds, runs and tests Atelier", version)]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Build everything and start Atelier, by default with its data in `data/`
    Run {
        /// Arguments for `atelier serve`, after `--`
        #[arg(last = true)]
        serve: Vec<OsString>,
    },
    /// Run the core: the lints, and all tests but the suites that are only run by name
    Test {
        /// Run one part of the core or one suite beside it, without the lints
        #[arg(long, value_enum)]
        only: Option<test::Kind>,
        /// Run it this many times, until one fails
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
        times: u32,
        /// Keep every core busy meanwhile, to find tests that depend on a quiet machine
        #[arg(long)]
        busy: bool,
        /// With --only: a filter and options for the runner, as in `test --only e2e sign-in --headed`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, requires = "only")]
        filter: Vec<OsString>,
    },
    /// Run the core, then the suites whose folders changed, then others while there is time
    Ci {
        /// No further suite is begun after so many minutes
        #[arg(long, default_value_t = 70)]
        minutes: u64,
    },
    /// Build the site and the server
    Build {
        /// Make one self-contained, optimised binary
        #[arg(long)]
        release: bool,
    },
    /// Measure the release build against the figures that are wanted
    #[command(subcommand)]
    Bench(bench::Bench),
    /// Check the formatting and run clippy on the server's and the browser's half
    Lint,
    /// Install what the other tasks need, without running any
    Setup,
}

fn main() -> ExitCode {
    match perform(Cli::parse().task) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("\nerror: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn perform(task: Task) -> Result<()> {
    let workspace = Workspace::find()?;
    match task {
        Task::Run { serve } => run::run(&workspace, &serve),
        Task::Test { only, times, busy, filter } => test::repeated(&workspace, only, &filter, times, busy),
        Task::Ci { minutes } => test::ci(&workspace, minutes),
        Task::Build { release } => {
            let profile = if release { server::Profile::Release } else { server::Profile::Dev };
            let binary = server::build_with_site(&workspace, profile)?;
            println!("{}", binary.display());
            Ok(())
        }
        Task::Bench(wanted) => bench::bench(&workspace, &wanted),
        Task::Lint => lint::lint(&workspace, &setup::wasm::ensure(&workspace)?),
        Task::Setup => {
            setup::wasm::ensure(&workspace)?;
            setup::for_tests(&workspace).map(|_| ())
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_filter_needs_to_know_its_runner() {
        assert!(Cli::try_parse_from(["xtask", "test", "sign-in"]).is_err());
        let cli =
            Cli::try_parse_from(["xtask", "test", "--only", "e2e", "sign-in", "--headed"]).expect("it is complete");
        assert!(matches!(cli.task, Task::Test { filter, .. } if filter == ["sign-in", "--headed"]));
        let cli = Cli::try_parse_from(["xtask", "test", "--only", "vscode"]).expect("a suite of its own");
        assert!(matches!(cli.task, Task::Test { only: Some(test::Kind::Vscode), .. }));
    }
}
