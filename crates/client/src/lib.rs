//! The command line for people: `atelier whoami`, `jobs`, `submit`, `job`, `logs`, `cancel`.
//!
//! It speaks to the REST API at `ATELIER_URL` with the token in `ATELIER_TOKEN`, or in the file that
//! `ATELIER_TOKEN_FILE` names. Instances and jobs have the last two set, so that it works there without a
//! password. It is small on purpose, since it is part of the program that runs on every node: what it needs
//! the agent has anyway, and there is one connection for each question.

mod address;
mod commands;
mod http;
mod session;
pub mod shown;
mod words;

use std::io::Write;
use std::process::ExitCode;

pub use commands::NAMES;

/// Why a command did not do what it should.
#[derive(Debug)]
pub struct Failure {
    pub words: String,
    pub code: u8,
}

/// It was refused, or what was waited for did not succeed.
const REFUSED: u8 = 1;
/// The command line was not understood.
const USAGE: u8 = 2;
/// The server cannot be reached.
const UNREACHABLE: u8 = 3;
/// The token is not let in, or the right is missing.
const NOT_LET_IN: u8 = 4;

impl Failure {
    fn new(code: u8, words: impl Into<String>) -> Self {
        Self { words: words.into(), code }
    }

    fn usage(words: impl Into<String>) -> Self {
        Self::new(USAGE, words)
    }
}

/// Runs a command, if it is one of ours.
pub fn run(mut arguments: impl Iterator<Item = std::ffi::OsString>) -> Option<ExitCode> {
    let name = arguments.next()?.into_string().ok()?;
    if !NAMES.contains(&name.as_str()) {
        return None;
    }
    let words: Result<Vec<String>, _> = arguments.map(std::ffi::OsString::into_string).collect();
    let outcome = match words {
        Ok(words) => commands::run(&name, &words, &mut std::io::stdout().lock()),
        Err(strange) => Err(Failure::usage(format!("{} is not text (UTF-8)", strange.display()))),
    };
    Some(match outcome {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            // Nobody is told if even this cannot be printed.
            let _ = writeln!(std::io::stderr(), "atelier: {}", failure.words);
            ExitCode::from(failure.code)
        }
    })
}
