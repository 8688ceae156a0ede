//! What the processes of an instance use.

use std::collections::HashMap;
use std::fs;
use std::time::{Duration, Instant};

use atelier_domain::compute::JobId;
use atelier_protocol::Process;

/// Nanoseconds in one tick of `/proc`'s clock, which has a hundred a second on every Linux that matters.
const TICK: u64 = 10_000_000;
/// So many processes are named.
const NAMED: usize = 10;
const LONGEST_NAME: usize = 60;

/// What was used up to a moment.
#[derive(Debug)]
pub struct Load {
    pub at: Instant,
    /// Processor time of everything that ran in the instance, in nanoseconds.
    pub cpu: u64,
    pub pids: Vec<u32>,
    /// The most that a GPU was busy since this was last asked, in percent; nothing where there are none.
    pub gpu: Option<f32>,
    /// The jobs that run on the node.
    pub jobs: Vec<JobId>,
}

/// One process, as `/proc` shows it.
struct Shown {
    name: String,
    cpu: u64,
    memory: u64,
}

/// Processor time of processes and of those of their children that have ended, in nanoseconds.
pub fn cpu_of(pids: &[u32]) -> u64 {
    pids.iter().filter_map(|pid| stat(*pid)).map(|words| words[11..15].iter().sum::<u64>() * TICK).sum()
}

/// The numbers of a process, from its state on.
fn stat(pid: u32) -> Option<Vec<u64>> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name before it may hold spaces and brackets, so count from the last bracket.
    let words: Vec<u64> = text.rsplit_once(')')?.1.split_whitespace().map(|word| word.parse().unwrap_or(0)).collect();
    (words.len() > 21).then_some(words)
}

fn show(pid: u32) -> Option<Shown> {
    let words = stat(pid)?;
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let arguments: Vec<String> =
        line.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect();
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    Some(Shown {
        name: describe(name.trim(), &arguments),
        cpu: (words[11] + words[12]) * TICK,
        memory: words[21] * rustix::param::page_size() as u64,
    })
}

/// A process as people know it: an interpreter with what it interprets. Arguments beyond that may be secrets.
fn describe(name: &str, arguments: &[String]) -> String {
    let last = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let is_interpreter =
        ["python", "node", "ruby", "perl", "java", "Rscript"].iter().any(|known| name.starts_with(known));
    let words = match arguments {
        [program, flag, module, ..] if is_interpreter && flag == "-m" => format!("{} -m {module}", last(program)),
        [program, script, ..] if is_interpreter && !script.starts_with('-') && !script.is_empty() => {
            format!("{} {}", last(program), last(script))
        }
        _ => name.to_owned(),
    };
    words.chars().take(LONGEST_NAME).collect()
}

/// Processes over time.
#[derive(Debug, Default)]
pub struct Processes {
    before: HashMap<u32, u64>,
}

impl Processes {
    /// The largest: those that used the processor most since the last time, then those with the most memory.
    pub fn largest(&mut self, pids: &[u32], over: Duration) -> Vec<Process> {
        let mut seen = HashMap::new();
        let mut all = Vec::new();
        for pid in pids {
            let Some(shown) = show(*pid) else { continue };
            let used = shown.cpu.saturating_sub(self.before.get(pid).copied().unwrap_or(shown.cpu));
            seen.insert(*pid, shown.cpu);
            let cores = u64::try_from(u128::from(used) * 1_000 / over.as_nanos().max(1)).unwrap_or(u64::MAX);
            all.push(Process { pid: *pid, name: shown.name, cores, memory: shown.memory >> 20 });
        }
        self.before = seen;
        all.sort_by_key(|process| std::cmp::Reverse((process.cores, process.memory)));
        all.truncate(NAMED);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_are_named_without_their_secrets() {
        let name = |name: &str, line: &str| {
            let arguments: Vec<String> = line.split(' ').map(ToOwned::to_owned).collect();
            describe(name, &arguments)
        };
        assert_eq!(name("python3.11", "/l/bin/python -m jupyterlab --x=y"), "python -m jupyterlab");
        assert_eq!(name("python3", "python3 /home/a/train.py --key secret"), "python3 train.py");
        assert_eq!(name("python3", "python3 -c print(1)"), "python3");
        assert_eq!(name("bash", "bash -l"), "bash");
    }

    #[test]
    fn own_use_is_seen() {
        let own = std::process::id();
        let largest = Processes::default().largest(&[own, 4_000_000], Duration::from_secs(1));
        assert_eq!(largest.len(), 1);
        assert!(largest[0].memory > 0 && largest[0].pid == own);
    }
}
