//! What policies would do to a load, on virtual time: `atelier simulate scenario.toml`.

use std::fs::File;
use std::io::{BufReader, ErrorKind, IsTerminal as _, Write as _};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use atelier_simulate::{Progress, Scenario, simulate};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};

use crate::cli::fail;

/// `atelier simulate …`.
pub fn command() -> Command {
    Command::new("simulate")
        .about("Plays a load under several policies and compares waits, utilisation and cost")
        .arg(
            Arg::new("scenario")
                .value_name("SCENARIO")
                .required(true)
                .value_parser(value_parser!(PathBuf))
                .help("The file that describes it; docs/simulator.md says how"),
        )
        .arg(Arg::new("json").long("json").action(ArgAction::SetTrue).help("Prints JSON in place of tables"))
        .arg(
            Arg::new("svg")
                .long("svg")
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .help("Also writes a chart to this file"),
        )
}

/// Runs it. What is wrong with the scenario is said line by line, with exit code 2.
pub fn run(matches: &ArgMatches) -> ExitCode {
    let Some(file) = matches.get_one::<PathBuf>("scenario") else { return ExitCode::from(2) };
    let scenario = match load(file) {
        Ok(scenario) => scenario,
        Err(problems) => {
            for problem in problems.lines() {
                fail(problem, 2);
            }
            return ExitCode::from(2);
        }
    };
    let is_watched = std::io::stderr().is_terminal();
    let mut last = None;
    let mut hear = |progress: Progress| {
        if is_watched && last.replace(progress.done) != Some(progress.done) {
            eprint!("\r{:>3} % ", progress.done / 10);
        }
        ControlFlow::Continue(())
    };
    let report = match simulate(&scenario, &mut hear) {
        Ok(report) => report,
        Err(stopped) => return fail(&stopped.to_string(), 1),
    };
    if is_watched {
        eprint!("\r      \r");
    }
    let text = if matches.get_flag("json") { report.to_json() } else { report.table() };
    // Whoever reads only the beginning has what they want.
    if let Err(error) = std::io::stdout().write_all(text.as_bytes())
        && error.kind() != ErrorKind::BrokenPipe
    {
        return fail(&format!("the report could not be printed: {error}"), 1);
    }
    match matches.get_one::<PathBuf>("svg").map(|picture| (picture, std::fs::write(picture, report.svg()))) {
        Some((picture, Err(error))) => fail(&format!("{} could not be written: {error}", picture.display()), 1),
        _ => ExitCode::SUCCESS,
    }
}

/// Reads the scenario, and its history from beside it.
fn load(file: &Path) -> Result<Scenario, String> {
    let unreadable = |path: &Path, error: std::io::Error| format!("{} could not be read: {error}", path.display());
    let text = std::fs::read_to_string(file).map_err(|error| unreadable(file, error))?;
    let open = |name: &str| {
        let history = file.with_file_name("").join(name);
        File::open(&history).map(BufReader::new).map_err(|error| unreadable(&history, error))
    };
    Scenario::load(&text, open).map_err(|refused| refused.to_string())
}
