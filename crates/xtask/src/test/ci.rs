//! `cargo xtask ci`: the core, then the suites whose folders changed, then others while there is time; last a
//! table of what was run, how long it took, and what was left out and why.

use std::env;
use std::process::Command;
use std::time::{Duration, Instant};

use super::{SUITES, Suite, core, test};
use crate::failure::{Failure, Result};
use crate::process;
use crate::progress::{announce, seconds};
use crate::workspace::Workspace;

/// Names the commit since which changes count; without it those of the last half day do, which is longer than
/// anybody works before something is merged.
const BASE: &str = "ATELIER_CI_BASE";
const LATELY: &str = "12 hours ago";

#[derive(Debug, Clone, PartialEq, Eq)]
enum Outcome {
    Passed(Duration),
    Failed(Duration),
    LeftOut(String),
}

struct Row {
    step: &'static str,
    outcome: Outcome,
}

#[expect(clippy::disallowed_methods, reason = "a run of all tests is timed on the wall clock")]
pub fn ci(workspace: &Workspace, minutes: u64) -> Result<()> {
    let began = Instant::now();
    let limit = Duration::from_secs(60 * minutes);
    let mut rows = Vec::new();
    let mut run = |step: &'static str, work: &mut dyn FnMut() -> Result<()>| {
        let step_began = Instant::now();
        let done = work();
        let took = step_began.elapsed();
        let outcome = if done.is_ok() { Outcome::Passed(took) } else { Outcome::Failed(took) };
        if let Err(failure) = &done {
            eprintln!("\nerror: {failure}");
        }
        rows.push(Row { step, outcome });
        done.is_ok()
    };
    let mut is_well = true;
    for (name, part) in core() {
        // A lint that fails must not hide a test that fails too.
        is_well &= run(name, &mut || part(workspace));
    }
    let mut left_out = Vec::new();
    if is_well {
        let changed = changed_files(workspace)?;
        let (first, later): (Vec<&Suite>, Vec<&Suite>) = SUITES.iter().partition(|suite| suite.is_touched(&changed));
        for suite in &first {
            announce(&format!("The suite {}: its folders changed", suite.name));
            is_well &= run(suite.name, &mut || test(workspace, Some(suite.kind), &[]));
        }
        for suite in later {
            if began.elapsed() < limit {
                announce(&format!("The suite {}: there is time", suite.name));
                is_well &= run(suite.name, &mut || test(workspace, Some(suite.kind), &[]));
            } else {
                let why = format!("not begun after {minutes} minutes; {} did not change", suite.folders.join(", "));
                left_out.push(Row { step: suite.name, outcome: Outcome::LeftOut(why) });
            }
        }
    } else {
        let why = "the core failed".to_owned();
        left_out.extend(SUITES.iter().map(|suite| Row { step: suite.name, outcome: Outcome::LeftOut(why.clone()) }));
    }
    rows.extend(left_out);
    eprintln!("\n{}{:<16}{}", table(&rows), "altogether", seconds(began.elapsed()));
    if is_well { Ok(()) } else { Err(Failure::new("not everything passed; the table above says what did")) }
}

fn table(rows: &[Row]) -> String {
    let line = |Row { step, outcome }: &Row| match outcome {
        Outcome::Passed(took) => format!("{step:<16}{:<14}passed\n", seconds(*took)),
        Outcome::Failed(took) => format!("{step:<16}{:<14}FAILED\n", seconds(*took)),
        Outcome::LeftOut(why) => format!("{step:<16}{:<14}left out: {why}\n", "–"),
    };
    rows.iter().map(line).collect()
}

impl Suite {
    fn is_touched(&self, changed: &[String]) -> bool {
        let is_in = |file: &String, folder: &str| file.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
        changed.iter().any(|file| self.folders.iter().any(|folder| is_in(file, folder)))
    }
}

/// What differs from the base, by path.
fn changed_files(workspace: &Workspace) -> Result<Vec<String>> {
    let git = |arguments: &[&str]| process::output(Command::new("git").current_dir(workspace.root()).args(arguments));
    let base = match env::var(BASE) {
        Ok(base) if !base.is_empty() => base,
        _ => git(&["rev-list", "--max-count=1", &format!("--before={LATELY}"), "HEAD"])?,
    };
    // A history without anything that old, as a shallow clone has: then everything counts as changed.
    let files = if base.is_empty() { git(&["ls-files"])? } else { git(&["diff", "--name-only", &base])? };
    Ok(files.lines().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::super::Kind;
    use super::*;

    #[test]
    fn a_suite_is_touched_by_files_in_its_folders() {
        let suite = Suite { kind: Kind::Vscode, name: "vscode", folders: &["end2end/vscode"] };
        let is_touched = |file: &str| suite.is_touched(&[file.to_owned()]);
        assert!(is_touched("end2end/vscode/editor.spec.ts"));
        assert!(!is_touched("end2end/vscode.config.ts"));
        assert!(!is_touched("end2end/tests/jobs.spec.ts"));
    }

    #[test]
    fn folders_of_suites_are_there() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for folder in SUITES.iter().flat_map(|suite| suite.folders) {
            assert!(root.join(folder).is_dir(), "{folder}");
        }
    }

    #[test]
    fn the_table_says_what_was_left_out_and_why() {
        let rows = [
            Row { step: "lint", outcome: Outcome::Passed(Duration::from_secs(125)) },
            Row { step: "vscode", outcome: Outcome::LeftOut("the core failed".to_owned()) },
        ];
        let table = table(&rows);
        assert!(table.contains("lint            2 min 05 s    passed\n"), "{table}");
        assert!(table.contains("left out: the core failed"), "{table}");
    }
}
