//! Formatting, the house rules that can be read from the sources, and clippy for both halves: the server's
//! with its tests, the browser's as wasm.

mod arrows;
mod crates;
mod documented;
mod figures;
mod modules;
mod source;
mod table;
mod widths;

use std::fs;

use crate::failure::{Failure, Result};
use crate::progress::step;
use crate::setup::wasm::Toolchain;
use crate::setup::{self};
use crate::workspace::{PRODUCT, Workspace};
use crate::{compile, process};

pub fn lint(workspace: &Workspace, toolchain: &Toolchain) -> Result<()> {
    setup::for_lint(workspace)?;
    step("Checking the formatting", || process::run(workspace.cargo().args(["fmt", "--all", "--check"])))?;
    sources(workspace)?;
    for (what, packages) in [("the product", PRODUCT.as_slice()), ("xtask", &["--package=xtask"])] {
        step(&format!("Clippy on {what}"), || {
            let mut clippy = workspace.cargo();
            clippy.args(["clippy", "--all-targets"]).args(packages).args(["--", "--deny=warnings"]);
            compile::run(&mut clippy, &format!("Clippy on {what}"))
        })?;
    }
    // Debian's compiler, the fallback, comes without clippy; the other half has been checked all the same.
    if matches!(toolchain, Toolchain::Stock) {
        step("Clippy on the browser's half", || {
            let mut clippy = workspace.cargo();
            clippy.arg("clippy").args(toolchain.library_arguments(workspace)).args(["--", "--deny=warnings"]);
            process::run(&mut clippy)
        })?;
    }
    Ok(())
}

/// Checks what only needs the sources. Each check gives a sentence for each place that isn't as it should be.
fn sources(workspace: &Workspace) -> Result<()> {
    let root = workspace.root();
    step("Checking the arrows between crates", || {
        none(crates::check(workspace)?)?;
        let page = root.join(arrows::PAGE);
        let page = fs::read_to_string(&page).map_err(Failure::file("reading", &page))?;
        arrows::compare_with_page(&page).map_err(Failure::new)
    })?;
    step("Checking the doc comments of what crosses crates", || none(documented::check(root)?))?;
    step("Checking the trees of the figures", || {
        let found = figures::check(root)?;
        found.old.iter().for_each(|old| eprintln!("  older than its code: {old}"));
        none(found.problems)
    })?;
    step("Checking the width of lines", || none(widths::check(root)?))?;
    step("Checking the arrows between modules of src", || none(modules::check(root)?))
}

/// So many are told at once.
const TOLD: usize = 20;

fn none(problems: Vec<String>) -> Result<()> {
    if problems.is_empty() {
        return Ok(());
    }
    let mut text = problems[..problems.len().min(TOLD)].join("\n");
    if problems.len() > TOLD {
        text.push_str(&format!("\n… and {} more", problems.len() - TOLD));
    }
    Err(Failure::new(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_than_some_problems_are_told_and_all_are_counted() {
        assert!(none(Vec::new()).is_ok());
        let told = none((1..=25).map(|number| format!("problem {number}")).collect()).expect_err("there are some");
        assert!(told.to_string().ends_with("problem 20\n… and 5 more"), "{told}");
    }
}
