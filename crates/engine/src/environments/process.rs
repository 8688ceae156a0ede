//! One program of a build: its lines are heard and logged, and it ends in time or is ended.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::bounds::Bounded;
use super::failure::{Ended, Failure, free_space};
use super::guard::Guard;
use super::shelf::Lock;
use crate::clock;

/// Between two looks at the clock, the disk, and whether it is still wanted.
const TICK: Duration = Duration::from_millis(200);
/// With less free space than this a build is ended: the server needs the rest.
pub(super) const LEAST_FREE: u64 = 256 << 20;
/// The longest line that is kept.
const LONGEST: u64 = 2_000;
const LARGEST_LOG: u64 = 8 << 20;

/// Says that a build is not wanted any more.
#[derive(Debug, Default)]
pub struct Cancel {
    is_wanted: Mutex<bool>,
    told: Condvar,
}

impl Cancel {
    pub fn cancel(&self) {
        *self.is_wanted.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.told.notify_all();
    }

    /// Waits so long, or less; tells whether to stop.
    pub fn wait(&self, most: Duration) -> bool {
        let guard = self.is_wanted.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.told.wait_timeout_while(guard, most, |is_wanted| !*is_wanted);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// What all programs of a build have in common.
pub(super) struct Job<'a> {
    pub lock: &'a Lock,
    pub cancel: &'a Cancel,
    pub guard: &'a Guard,
    pub bounded: Bounded,
    /// Where it is built, for the free space there.
    pub folder: &'a Path,
    pub began: Instant,
    pub limit: Duration,
    pub log: File,
    /// What is being done, for what is said when time is up.
    pub doing: &'static str,
}

/// Everything that a program has started, ended when this goes.
struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            // Who is gone already is what we want.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

impl Job<'_> {
    /// Runs a program to its end.
    /// Lines of which `hear` says so are logged.
    pub fn run(&mut self, mut command: Command, mut hear: impl FnMut(&str) -> bool) -> Result<ExitStatus, Ended> {
        let program = command.get_program().to_owned();
        let cannot = |error: io::Error| {
            Failure::new(format!("{} cannot be started: {error}.", program.display()), "See that it is installed.")
        };
        let (lines, output) = io::pipe().map_err(cannot)?;
        // Its input is empty, and holds the lock for as long as anything of it lives.
        command.stdin(Stdio::from(OwnedFd::from(self.lock.0.try_clone().map_err(cannot)?)));
        command.stdout(output.try_clone().map_err(cannot)?).stderr(output).process_group(0);
        let mut child = self.guard.spawn(&mut command).map_err(cannot)?;
        self.bounded.attach(child.id());
        // It keeps the other end of the pipe open.
        drop(command);
        let group = Group(i32::try_from(child.id()).ok().and_then(Pid::from_raw));
        let (tell, told) = mpsc::sync_channel(256);
        let reader = std::thread::Builder::new().name("build-output".into()).spawn(move || {
            let mut lines = BufReader::new(lines);
            while let Some(line) = next_line(&mut lines) {
                if tell.send(line).is_err() {
                    break;
                }
            }
        });
        reader.map_err(cannot)?;
        let mut is_heard = true;
        let ended = loop {
            let heard = if is_heard {
                told.recv_timeout(TICK)
            } else {
                self.cancel.wait(TICK);
                Err(RecvTimeoutError::Timeout)
            };
            match heard {
                Ok(line) => {
                    let line = without_credentials(&line);
                    if hear(&line) {
                        self.note(&line);
                    }
                }
                Err(why) => {
                    // Where nobody holds the pipe any more there is nothing to hear. Where somebody does who
                    // was left behind, it is done all the same.
                    is_heard = why == RecvTimeoutError::Timeout;
                    match child.try_wait() {
                        Ok(None) => {}
                        Ok(Some(status)) => break Ok(status),
                        Err(error) => break Err(error),
                    }
                }
            }
            if let Err(ended) = self.may_go_on() {
                drop(group);
                let _ = child.wait();
                self.bounded.end_all();
                return Err(ended);
            }
        };
        drop(group);
        self.bounded.end_all();
        let status = ended.map_err(cannot)?;
        if !status.success() && self.bounded.is_out_of_memory() {
            return Err(Failure::no_memory(self.bounded.memory(), self.doing).into());
        }
        Ok(status)
    }

    fn may_go_on(&mut self) -> Result<(), Ended> {
        if self.cancel.wait(Duration::ZERO) {
            return Err(Ended::Canceled);
        }
        if clock::instant().duration_since(self.began) > self.limit {
            return Err(Failure::too_long(self.limit.as_secs() / 60, self.doing).into());
        }
        let free = free_space(self.folder);
        if free < LEAST_FREE {
            return Err(Failure::no_space(self.folder, free).into());
        }
        Ok(self.bounded.check_disk()?)
    }

    /// Writes a line into the log. What cannot be logged is no reason to stop.
    pub fn note(&mut self, line: &str) {
        if self.log.metadata().is_ok_and(|info| info.len() < LARGEST_LOG) {
            let _ = writeln!(self.log, "{line}");
        }
    }
}

/// How a program ended, after its name: "ended with status 1", "was killed by signal 9".
pub(super) fn how(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with status {code}"),
        (None, Some(9)) => "was killed (signal 9); perhaps the memory did not suffice".to_owned(),
        (None, Some(signal)) => format!("was killed by signal {signal}"),
        (None, None) => "ended in an unknown way".to_owned(),
    }
}

/// A line without names and passwords in its addresses, such as those of an index.
fn without_credentials(line: &str) -> Cow<'_, str> {
    let (mut shown, mut rest) = (String::new(), line);
    while let Some((before, after)) = rest.split_once("://") {
        let end = after.find(|c: char| c.is_whitespace() || "/?#\"'<>|,;()".contains(c)).unwrap_or(after.len());
        shown.extend([before, "://"]);
        rest = match after[..end].rfind('@') {
            Some(at) => {
                shown.push_str("****");
                &after[at..]
            }
            None => after,
        };
    }
    if shown.is_empty() {
        return Cow::Borrowed(line);
    }
    Cow::Owned(shown + rest)
}

fn next_line(from: &mut impl io::BufRead) -> Option<String> {
    let mut bytes = Vec::new();
    let count = from.by_ref().take(LONGEST).read_until(b'\n', &mut bytes).ok()?;
    if count == 0 {
        return None;
    }
    let text = String::from_utf8_lossy(&bytes);
    // Progress is drawn over itself: what was drawn last counts.
    let text = text.trim_end().rsplit('\r').next().unwrap_or_default();
    Some(text.chars().filter(|c| !c.is_control() || *c == '\t').collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_of_an_index_are_not_shown() {
        for (line, shown) in [
            (
                "Looking in indexes: https://mara:s3cret@pypi.example.org/simple",
                "Looking in indexes: https://****@pypi.example.org/simple",
            ),
            ("a https://t0ken@x/ b http://u:p@y:80/z c", "a https://****@x/ b http://****@y:80/z c"),
            ("error: 'https://u:p%40q@x'", "error: 'https://****@x'"),
            ("https://u:p@q@x/y@z", "https://****@x/y@z"),
            ("https://x.org/a@b and me@x.org", "https://x.org/a@b and me@x.org"),
            ("nothing", "nothing"),
        ] {
            assert_eq!(without_credentials(line), shown);
        }
    }
}
