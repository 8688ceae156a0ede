//! Calling other programs, with errors that name the command.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::{env, iter};

use crate::failure::{Failure, Result};

/// Runs a command whose output people see.
pub fn run(command: &mut Command) -> Result<()> {
    let status = command.stdin(Stdio::null()).status().map_err(|error| not_started(command, &error))?;
    if status.success() {
        return Ok(());
    }
    Err(Failure::new(failed(command, status)))
}

/// Runs a command for what it prints, without the last line break.
pub fn output(command: &mut Command) -> Result<String> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| not_started(command, &error))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(Failure::new(format!("`{}` failed ({}): {}", line(command), output.status, said.trim())))
}

/// Looks for a program on PATH.
pub fn find(name: &str) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?).map(|directory| directory.join(name)).find(|path| path.is_file())
}

/// Says that a command failed whose output people have seen.
pub fn failed(command: &Command, status: ExitStatus) -> String {
    format!("`{}` failed ({status}); its own words are above", line(command))
}

pub fn not_started(command: &Command, error: &std::io::Error) -> Failure {
    Failure::new(format!("`{}` can't be started: {error}", line(command)))
}

fn line(command: &Command) -> String {
    // the name alone: where the toolchain keeps its cargo helps nobody
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words: Vec<_> = iter::once(program).chain(command.get_args()).map(|word| word.to_string_lossy()).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_command_is_named_with_what_it_said() {
        let failure = output(Command::new("sh").args(["-c", "echo no >&2; exit 3"])).expect_err("it exits with 3");
        assert_eq!(failure.to_string(), "`sh -c echo no >&2; exit 3` failed (exit status: 3): no");
    }

    #[test]
    fn a_missing_command_is_named() {
        let failure = run(&mut Command::new("no-such-program")).expect_err("there is none");
        assert!(failure.to_string().starts_with("`no-such-program` can't be started"), "{failure}");
    }
}
