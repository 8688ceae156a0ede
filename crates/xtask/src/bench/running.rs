//! A server that runs while it is measured, and always stops afterwards.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use atelier_testing::poll_until;

use super::load::{now, pause};
use crate::bench::http::{self, Answer, Connection};
use crate::failure::{Failure, Result};

/// Linux counts processor time for `/proc` in hundredths of a second, on every architecture.
const TICKS_PER_SECOND: f64 = 100.0;

/// A child process that serves HTTP on a port of 127.0.0.1.
#[derive(Debug)]
pub struct Running {
    child: Child,
    port: u16,
    log: PathBuf,
}

impl Running {
    /// Starts a server and waits until `path` answers with 200; also says how long that took.
    ///
    /// The answer is asked for as soon as the port is bound, so the time is not rounded up to a pause between
    /// tries.
    pub fn start(command: &mut Command, port: u16, path: &str, log: &Path) -> Result<(Self, Duration)> {
        let file = File::create(log).map_err(Failure::file("making", log))?;
        let errors = file.try_clone().map_err(Failure::file("opening", log))?;
        let started_at = now();
        let child = command.stdin(Stdio::null()).stdout(file).stderr(errors).spawn();
        let name = command.get_program().to_string_lossy();
        let child = child.map_err(|error| Failure::new(format!("{name} can't be started: {error}")))?;
        let mut running = Self { child, port, log: log.to_owned() };
        let request = http::request("GET", path, port, &[], "");
        loop {
            let answer = Connection::open(port).and_then(|mut connection| connection.send(&request));
            let took = started_at.elapsed();
            if answer.is_ok_and(|answer| answer.status == 200) {
                return Ok((running, took));
            }
            let has_ended = running.child.try_wait().is_ok_and(|status| status.is_some());
            if has_ended || took > Duration::from_secs(60) {
                return Err(running.blame(&format!("{name} did not get ready")));
            }
            pause(Duration::from_millis(1));
        }
    }

    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Sends one request over a connection of its own.
    pub fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Result<Answer> {
        let send = || Connection::open(self.port)?.send(&http::request(method, path, self.port, headers, body));
        send().map_err(|error| self.blame(&format!("{method} {path} failed: {error}")))
    }

    /// A line of `/proc/PID/status` in MB, such as `VmRSS`.
    pub fn memory_mb(&self, line: &str) -> Result<f64> {
        let path = self.proc("status");
        let text = fs::read_to_string(&path).map_err(Failure::file("reading", &path))?;
        parse_kilobytes(&text, line)
            .map(|kilobytes| kilobytes * 1_024.0 / 1e6)
            .ok_or_else(|| Failure::new(format!("{} has no {line}", path.display())))
    }

    /// How many files the process has open.
    pub fn open_files(&self) -> usize {
        fs::read_dir(self.proc("fd")).map_or(0, Iterator::count)
    }

    /// The processor time that the process has used so far, in seconds.
    pub fn processor_seconds(&self) -> Result<f64> {
        processor_seconds(&self.proc("stat")).map(|(own, _)| own)
    }

    /// Asks the process to stop and waits for its end, which must be a clean one.
    pub fn stop(mut self) -> Result<()> {
        let status = self.terminate().map_err(|error| self.blame(&format!("the server did not stop: {error}")))?;
        if status.success() { Ok(()) } else { Err(self.blame(&format!("the server stopped with {status}"))) }
    }

    fn terminate(&mut self) -> io::Result<ExitStatus> {
        if let Some(status) = self.child.try_wait()? {
            return Ok(status);
        }
        // Until it is waited for, the id is this child's and nobody else's.
        atelier_testing::terminate(self.child.id())?;
        poll_until("the end of the server", Duration::from_secs(20), || self.child.try_wait().transpose())
            .map_err(|timed_out| io::Error::other(timed_out.to_string()))?
    }

    fn proc(&self, file: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/{file}", self.child.id()))
    }

    /// A failure with the last words of the server.
    fn blame(&self, what: &str) -> Failure {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        let last = lines[lines.len().saturating_sub(8)..].join("\n");
        Failure::new(format!("{what}; the last lines of its log:\n{last}"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.terminate().is_err() {
            // Nobody can be told any more; what does not listen is ended.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

pub(super) fn parse_kilobytes(status: &str, line: &str) -> Option<f64> {
    let rest = status.lines().find_map(|text| text.strip_prefix(line)?.strip_prefix(':'))?;
    rest.trim().strip_suffix(" kB")?.parse().ok()
}

/// The processor time that a process has used, and that of its children that have ended, in seconds.
pub(super) fn processor_seconds(stat: &Path) -> Result<(f64, f64)> {
    let text = fs::read_to_string(stat).map_err(Failure::file("reading", stat))?;
    parse_seconds(&text).ok_or_else(|| Failure::new(format!("{} is not understood", stat.display())))
}

/// The 14th to 17th field; the second is a name in brackets, which may hold anything.
fn parse_seconds(stat: &str) -> Option<(f64, f64)> {
    let (_, rest) = stat.rsplit_once(')')?;
    let fields: Vec<f64> = rest.split_whitespace().skip(11).take(4).map_while(|field| field.parse().ok()).collect();
    let [user, system, children_user, children_system] = fields.try_into().ok()?;
    Some(((user + system) / TICKS_PER_SECOND, (children_user + children_system) / TICKS_PER_SECOND))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_by_its_name() {
        let status = "Name:\tatelier\nVmHWM:\t   41000 kB\nVmRSS:\t   31744 kB\n";
        assert_eq!(parse_kilobytes(status, "VmRSS"), Some(31744.0));
        assert_eq!(parse_kilobytes(status, "VmSwap"), None);
    }

    #[test]
    fn processor_time_is_found_behind_any_name() {
        let stat = "17 (a) b (c) S 1 2 3 4 5 6 7 8 9 10 250 50 1000 200 20 0 9 0";
        assert_eq!(parse_seconds(stat), Some((3.0, 12.0)));
        assert_eq!(parse_seconds("17 (a) S 1 2"), None);
    }

    #[test]
    fn a_server_that_ends_at_once_is_blamed_with_its_words() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut command = Command::new("sh");
        command.args(["-c", "echo no luck >&2; exit 3"]);
        let port = atelier_testing::free_port();
        let failure = Running::start(&mut command, port, "/", &folder.path().join("log")).expect_err("it ends");
        assert!(failure.to_string().contains("no luck"), "{failure}");
    }
}
