//! `docs/figures.md`: every table says which tree it was measured on, and tables that are older than the code
//! they measure are named. Age is no failure: only whoever changed the code knows whether it matters.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::failure::{Failure, Result};
use crate::process;

const PAGE: &str = "docs/figures.md";

/// How a section says it: "tree `1a2b3c4`".
const MARK: &str = "tree `";

/// The sections by the beginning of their headings, and the code that each measures.
const SECTIONS: [(&str, &[&str]); 8] = [
    ("Pages", &["src", "crates/studio", "crates/engine"]),
    ("Engine", &["crates/domain/src", "crates/engine/src"]),
    ("Jobs", &["crates/agent/src", "crates/domain/src", "crates/engine/src", "crates/protocol/src", "src/jobs"]),
    ("Instances", &["crates/agent/src", "crates/engine/src", "crates/pipe", "src/instances", "src/server/apps"]),
    ("Scheduling", &["crates/domain/src", "crates/engine/src", "crates/simulate/src"]),
    ("Simulator", &["crates/domain/src", "crates/simulate/src"]),
    ("The workplace", &["crates/files/src", "crates/gateway/src", "src/files", "src/server/ssh"]),
    ("Builds", &["Cargo.lock", "Cargo.toml", "crates/xtask/src"]),
];

/// What the page says wrongly, and which of its tables are old.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Findings {
    pub problems: Vec<String>,
    pub old: Vec<String>,
}

pub fn check(root: &Path) -> Result<Findings> {
    let file = root.join(PAGE);
    let page = fs::read_to_string(&file).map_err(Failure::file("reading", &file))?;
    Ok(judge(&page, |tree, paths| changes(root, tree, paths)))
}

/// How many commits since `tree` touched `paths`; nothing where this clone does not have that tree.
fn changes(root: &Path, tree: &str, paths: &[&str]) -> Option<u32> {
    let mut git = Command::new("git");
    git.current_dir(root).args(["rev-list", "--count", &format!("{tree}..HEAD"), "--"]).args(paths);
    process::output(&mut git).ok()?.parse().ok()
}

fn judge(page: &str, changes: impl Fn(&str, &[&str]) -> Option<u32>) -> Findings {
    let mut findings = Findings::default();
    for section in page.split("\n## ").skip(1).filter(|section| section.contains("\n| ---")) {
        let title = section.lines().next().unwrap_or_default();
        let Some((_, paths)) = SECTIONS.iter().find(|(start, _)| title.starts_with(start)) else {
            findings.problems.push(format!("{PAGE}: “{title}” has a table, and lint/figures.rs does not know of what"));
            continue;
        };
        let tree = section.split_once(MARK).and_then(|(_, rest)| rest.split_once('`')).map(|(tree, _)| tree);
        match tree.map(|tree| (tree, changes(tree, paths))) {
            None => findings.problems.push(format!("{PAGE}: “{title}” does not say on which tree it was measured")),
            Some((_, Some(0))) => {}
            Some((tree, Some(count))) => {
                let commits = if count == 1 { "commit" } else { "commits" };
                findings
                    .old
                    .push(format!("“{title}” was measured on {tree}; {count} {commits} since changed its code"));
            }
            Some((tree, None)) => {
                findings.old.push(format!("“{title}” was measured on {tree}, which is not in this clone"))
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(title: &str, text: &str) -> String {
        format!("# Figures\n\nWords.\n\n## {title}\n\n{text}\n\n| figure | measured |\n| --- | ---: |\n| a | 1 |\n")
    }

    #[test]
    fn a_table_of_the_present_tree_is_fine() {
        let page = page("Jobs", "Measured on the tree `1a2b3c4`.");
        assert_eq!(judge(&page, |_, _| Some(0)), Findings::default());
    }

    #[test]
    fn an_old_table_is_named_with_how_old_it_is() {
        let page = page("Jobs", "Measured on the tree `1a2b3c4`.");
        let old = judge(&page, |tree, paths| {
            assert!(tree == "1a2b3c4" && paths.contains(&"src/jobs"));
            Some(3)
        });
        assert_eq!(old.old, ["“Jobs” was measured on 1a2b3c4; 3 commits since changed its code"]);
        assert!(old.problems.is_empty());
        assert_eq!(judge(&page, |_, _| None).old, ["“Jobs” was measured on 1a2b3c4, which is not in this clone"]);
    }

    #[test]
    fn a_table_without_a_tree_or_of_unknown_code_is_a_problem() {
        assert_eq!(judge(&page("Jobs", "Measured lately."), |_, _| Some(0)).problems.len(), 1);
        assert_eq!(judge(&page("Weather", "On the tree `1`."), |_, _| Some(0)).problems.len(), 1);
    }

    #[test]
    fn words_without_a_table_need_no_tree() {
        assert_eq!(judge("# Figures\n\n## Weather\n\nSunny.\n", |_, _| None), Findings::default());
    }
}
