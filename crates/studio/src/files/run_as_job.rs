//! A script or a notebook of Files as a job: what the form is filled with.

use std::collections::BTreeMap;
use std::io::{BufReader, Read};
use std::path::Path;

use atelier_domain::files::FilePath;
use serde::Deserialize;

/// Of a notebook that is larger nobody knows its kernel.
const LARGEST: u64 = 64 << 20;

/// Whether a file can be run, by its name.
pub fn is_runnable(path: &FilePath) -> bool {
    matches!(path.ending().as_str(), "py" | "sh" | "ipynb")
}

/// The fields of the form for a file; `seen_at` is where jobs find the area. Nothing of the name reaches a
/// shell: it is one argument.
pub fn fields(path: &FilePath, seen_at: &Path) -> Option<BTreeMap<String, Vec<String>>> {
    let file = seen_at.join(path.as_str()).display().to_string();
    let start = path.name().rsplit_once('.').map_or(path.name(), |(start, _)| start);
    let words: Vec<&str> = match path.ending().as_str() {
        "py" => vec!["python3", &file],
        "sh" => vec!["sh", &file],
        // The executed copy is an output of the job; the notebook itself stays as it is. Its own
        // kernel may be one that only instances have; the one of the job's packages has this name everywhere.
        "ipynb" => {
            vec![
                "jupyter",
                "nbconvert",
                "--to=notebook",
                "--execute",
                "--ExecutePreprocessor.kernel_name=python3",
                "--output-dir=outputs",
                "--output",
                start,
                &file,
            ]
        }
        _ => return None,
    };
    let folder = path.parent().unwrap_or_default();
    let keep_in = folder.join("results").map(|folder| folder.as_str().to_owned()).unwrap_or_default();
    let name = atelier_domain::text::shortened_to(path.name(), 60);
    Some(BTreeMap::from([
        ("command".to_owned(), vec![shell_words::join(words)]),
        ("name".to_owned(), vec![name]),
        ("keep_in".to_owned(), vec![keep_in]),
    ]))
}

/// The path in Files of what somebody names as programs in instances see it.
pub fn in_files<'a>(typed: &'a str, seen_at: &Path) -> &'a str {
    let typed = typed.trim();
    let seen_at = seen_at.to_string_lossy();
    let inside = typed.strip_prefix(seen_at.as_ref()).or_else(|| typed.strip_prefix("~/workspace"));
    let inside = inside.or_else(|| typed.strip_prefix("workspace")).and_then(|rest| rest.strip_prefix('/'));
    inside.unwrap_or(typed)
}

/// The name of the kernel that a notebook was last run with; empty if it does not say.
pub fn kernel_of(notebook: impl Read) -> String {
    #[derive(Default, Deserialize)]
    struct Notebook {
        #[serde(default)]
        metadata: Metadata,
    }
    #[derive(Default, Deserialize)]
    struct Metadata {
        #[serde(default)]
        kernelspec: Kernel,
    }
    #[derive(Default, Deserialize)]
    struct Kernel {
        #[serde(default)]
        name: String,
    }
    let read = serde_json::from_reader(BufReader::new(notebook.take(LARGEST)));
    read.map(|notebook: Notebook| notebook.metadata.kernelspec.name).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_as_instances_see_them() {
        let seen_at = Path::new("/shared");
        for (typed, path) in [
            ("Users/ines/a.py", "Users/ines/a.py"),
            (" /shared/Users/ines/a.py ", "Users/ines/a.py"),
            ("~/workspace/Users/ines/a.py", "Users/ines/a.py"),
            ("workspace/data/a.py", "data/a.py"),
            ("workspaces/a.py", "workspaces/a.py"),
            ("/etc/passwd", "/etc/passwd"),
        ] {
            assert_eq!(in_files(typed, seen_at), path);
        }
    }

    #[test]
    fn a_notebook_names_its_kernel_or_none() {
        let written = br#"{"cells": [{"x": 1}], "metadata": {"kernelspec": {"name": "churn-2", "display_name": "x"}}}"#;
        assert_eq!(kernel_of(&written[..]), "churn-2");
        for other in ["{}", r#"{"metadata": {}}"#, r#"{"metadata": {"kernelspec": {"name": 3}}}"#, "no notebook", ""] {
            assert_eq!(kernel_of(other.as_bytes()), "");
        }
    }

    #[test]
    fn a_hostile_name_is_one_argument() {
        let path = FilePath::parse("Users/ines/a b'; rm -rf ~ #.py").expect("a path");
        let fields = fields(&path, Path::new("/shared")).expect("runs");
        let words = shell_words::split(&fields["command"][0]).expect("splits");
        assert_eq!(words, ["python3", "/shared/Users/ines/a b'; rm -rf ~ #.py"]);
        assert_eq!(fields["keep_in"], ["Users/ines/results"]);
        assert!(super::fields(&FilePath::parse("a.txt").expect("a path"), Path::new("/shared")).is_none());
    }
}
