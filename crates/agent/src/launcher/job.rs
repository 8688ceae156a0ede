//! Starting the process of a job.

use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use atelier_protocol::Run;
use rustix::process::{Pid, Resource, Rlimit, prlimit};

use super::folder::Folder;
use super::program::{find, sentence};
use crate::wire::Job;

/// The file in the job's folder that holds its script.
pub const SCRIPT: &str = ".atelier-script";

/// Starts it. Nothing here runs between fork and exec, so that the quickest way to make a process can be
/// taken.
pub fn start(folder: &Folder, job: Job, output: OwnedFd) -> Result<Pid, String> {
    let path = job.environment.iter().rev().find(|(name, _)| name == "PATH").map_or("", |(_, value)| value);
    let arguments = match job.run {
        Run::Argv(arguments) => arguments,
        Run::Script(text) => {
            let has_interpreter = text.starts_with("#!");
            write_script(folder, &text).map_err(|error| format!("the script cannot be written: {error}"))?;
            if has_interpreter { vec![format!("./{SCRIPT}")] } else { vec!["/bin/sh".to_owned(), SCRIPT.to_owned()] }
        }
    };
    let name = arguments.first().ok_or("no program was named")?;
    let program = find(name, folder.path(), path)?;
    let both = output.try_clone().map_err(|error| format!("there are too many open files: {error}"))?;
    let mut command = Command::new(&program);
    command.arg0(name).args(&arguments[1..]).current_dir(folder.path()).process_group(0);
    command.env_clear().envs(job.environment.iter().map(|(name, value)| (name, value)));
    command.stdin(Stdio::null()).stdout(output).stderr(both);
    let child = command.spawn().map_err(|error| sentence(name, path, &error))?;
    let pid = Pid::from_raw(child.id().cast_signed()).ok_or("the system gave no process")?;
    if let Some(bytes) = job.memory {
        // What it forks before this has no limit. Where that matters, there are control groups.
        let _ = prlimit(Some(pid), Resource::As, Rlimit { current: Some(bytes), maximum: Some(bytes) });
    }
    Ok(pid)
}

fn write_script(folder: &Folder, text: &str) -> io::Result<()> {
    let mut file = folder.create(std::path::Path::new(SCRIPT), 0o700)?;
    file.write_all(text.as_bytes())?;
    if !text.ends_with('\n') {
        file.write_all(b"\n")?;
    }
    Ok(())
}
