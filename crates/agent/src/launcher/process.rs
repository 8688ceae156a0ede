//! Starting a process of an instance: an application, a script, or what a terminal shows.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::{Pid, Resource, Rlimit, prlimit};

use super::program::{find, sentence};
use crate::wire::{Bridge, Process, Program};

/// A process that runs.
pub struct Started {
    pub pid: Pid,
    /// Removed when nobody follows the process any more.
    _script: Option<Script>,
}

/// A file with the lines of a script.
struct Script(PathBuf);

impl Drop for Script {
    fn drop(&mut self) {
        drop(std::fs::remove_file(&self.0));
    }
}

/// Starts it.
pub fn start(process: Process, output: OwnedFd) -> Result<Started, String> {
    let both = output.try_clone().map_err(|error| format!("there are too many open files: {error}"))?;
    let (arguments, script) = match process.program {
        Program::Argv(arguments) => (arguments, None),
        Program::Script(text, arguments) => {
            let script = write(&text).map_err(|error| format!("the script cannot be written: {error}"))?;
            let mut all = interpreter(&text);
            all.push(script.0.to_string_lossy().into_owned());
            all.extend(arguments);
            (all, Some(script))
        }
    };
    let name = arguments.first().ok_or("no program was named")?;
    let (folder, path) = (Path::new(&process.folder), search_path(&process.environment));
    let program = find(name, folder, path)?;
    let mut command = match &process.bridge {
        None => {
            let mut command = Command::new(&program);
            command.arg0(name);
            command
        }
        Some(Bridge { socket, port }) => {
            let own =
                std::env::current_exe().map_err(|error| format!("this program is not there any more: {error}"))?;
            let mut command = Command::new(own);
            command.args(["launcher", "bridge"]).arg(socket).arg(port.to_string()).arg(name).arg(&program);
            command
        }
    };
    command.args(&arguments[1..]).current_dir(folder).process_group(0);
    command.env_clear().envs(process.environment.iter().map(|(name, value)| (name, value)));
    command.stdin(Stdio::null()).stdout(output).stderr(both);
    let child = command.spawn().map_err(|error| sentence(name, path, &error))?;
    let pid = Pid::from_raw(child.id().cast_signed()).ok_or("the system gave no process")?;
    limit(pid, process.memory);
    Ok(Started { pid, _script: script })
}

/// In which folders programs are looked for.
pub fn search_path(environment: &[(String, String)]) -> &str {
    environment.iter().rev().find(|(name, _)| name == "PATH").map_or("", |(_, value)| value)
}

/// Limits the address space of a process and of those that it makes.
pub fn limit(pid: Pid, memory: Option<u64>) {
    if let Some(bytes) = memory {
        let _ = prlimit(Some(pid), Resource::As, Rlimit { current: Some(bytes), maximum: Some(bytes) });
    }
}

/// What reads a script: what its first line names with at most one argument, as the system would do it, else
/// `sh`.
fn interpreter(text: &str) -> Vec<String> {
    let named = text.lines().next().and_then(|line| line.strip_prefix("#!")).map(str::trim).unwrap_or_default();
    match named.split_once(char::is_whitespace) {
        Some((program, argument)) => vec![program.to_owned(), argument.trim().to_owned()],
        None if named.is_empty() => vec!["/bin/sh".to_owned()],
        None => vec![named.to_owned()],
    }
}

/// Nobody runs the file itself, so it may lie where programs may not.
fn write(text: &str) -> io::Result<Script> {
    let path = std::env::temp_dir().join(format!(".atelier-script-{:016x}", rand::random::<u64>()));
    let mut file = File::options().write(true).create_new(true).mode(0o600).open(&path)?;
    let script = Script(path);
    file.write_all(text.as_bytes())?;
    Ok(script)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_says_who_reads_the_rest() {
        let read = |text| interpreter(text);
        assert_eq!(read("echo hello"), ["/bin/sh"]);
        assert_eq!(read(""), ["/bin/sh"]);
        assert_eq!(read("#!\necho"), ["/bin/sh"]);
        assert_eq!(read("#!/bin/bash\necho"), ["/bin/bash"]);
        assert_eq!(read("#! /usr/bin/env python3 \r\nprint()"), ["/usr/bin/env", "python3"]);
        assert_eq!(read("#!/usr/bin/awk -f x"), ["/usr/bin/awk", "-f x"]);
    }
}
