//! Arrows between the crates of the workspace, from what cargo says about them.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::arrows::{Allowed, Arrow, Found};
use crate::failure::{Failure, Result};
use crate::process;
use crate::workspace::Workspace;

/// Sentences about the arrows between crates that aren't as the table says.
pub fn check(workspace: &Workspace) -> Result<Vec<String>> {
    let metadata = process::output(workspace.cargo().args(["metadata", "--format-version=1", "--no-deps"]))?;
    let metadata = serde_json::from_str(&metadata)
        .map_err(|error| Failure::new(format!("`cargo metadata` printed no JSON: {error}")))?;
    let (names, found) = arrows(workspace.root(), &metadata);
    Ok(Allowed::crates().judge(&names, &found))
}

fn arrows(root: &Path, metadata: &Value) -> (Vec<String>, Found) {
    let (mut names, mut found) = (Vec::new(), Found::new());
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let from = short(&package["name"]);
        let manifest = Path::new(package["manifest_path"].as_str().unwrap_or_default());
        let text = fs::read_to_string(manifest).unwrap_or_default();
        let manifest = manifest.strip_prefix(root).unwrap_or(manifest).display();
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            // Only those of the workspace have a path; what tests need is free.
            if dependency["path"].is_null() || dependency["kind"] == "dev" {
                continue;
            }
            let name = dependency["name"].as_str().unwrap_or_default();
            // The root's manifest names all of them for the others, too; the last line is its own.
            let line = text.lines().enumerate().filter(|(_, line)| names_dependency(line, name)).last();
            let place = line.map_or_else(|| manifest.to_string(), |(at, _)| format!("{manifest}:{}", at + 1));
            found.entry(Arrow::new(&from, &short(&dependency["name"]))).or_insert_with(Vec::new).push(place);
        }
        names.push(from);
    }
    (names, found)
}

fn names_dependency(line: &str, name: &str) -> bool {
    line.strip_prefix(name).is_some_and(|rest| rest.starts_with([' ', '.', '=']))
}

/// The name without the prefix that all of them have.
fn short(name: &Value) -> String {
    let name = name.as_str().unwrap_or_default();
    name.strip_prefix("atelier-").unwrap_or(name).to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_crates_of_the_workspace_and_not_those_of_tests_are_arrows() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let manifest = folder.path().join("Cargo.toml");
        fs::write(&manifest, "[dependencies]\natelier-domain-x = 1\natelier-domain = {}\n")
            .expect("the folder is ours");
        let metadata = json!({"packages": [{
            "name": "atelier-pipe",
            "manifest_path": manifest,
            "dependencies": [
                {"name": "serde", "kind": null, "path": null},
                {"name": "atelier-domain", "kind": null, "path": "crates/domain"},
                {"name": "atelier-confine", "kind": "build", "path": "crates/confine"},
                {"name": "atelier-testing", "kind": "dev", "path": "crates/testing"},
            ],
        }]});
        let (names, found) = arrows(folder.path(), &metadata);
        assert_eq!(names, ["pipe"]);
        let found: Vec<(String, String)> =
            found.into_iter().map(|(arrow, places)| (arrow.to_string(), places.join(" "))).collect();
        let expected = [("pipe → confine", "Cargo.toml"), ("pipe → domain", "Cargo.toml:3")];
        assert_eq!(found, expected.map(|(arrow, place)| (arrow.to_owned(), place.to_owned())));
    }

    #[test]
    fn the_crates_are_as_the_table_says() {
        let workspace = Workspace::find().expect("the tests run in the clone");
        assert_eq!(check(&workspace).expect("cargo knows them"), [""; 0]);
    }
}
