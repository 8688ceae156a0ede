//! A script or a notebook of Files as a job: what the form is filled with.

use std::collections::BTreeMap;
use std::path::Path;

use atelier_domain::files::FilePath;

/// Whether a file can be run, by its name.
pub fn is_runnable(path: &FilePath) -> bool {
    matches!(path.ending().as_str(), "py" | "sh" | "ipynb")
}

/// The fields of the form for a file; `seen_at` is where jobs find the area. Nothing of the name reaches a shell: it is one argument.
pub fn fields(path: &FilePath, seen_at: &Path) -> Option<BTreeMap<String, Vec<String>>> {
    let file = seen_at.join(path.as_str()).display().to_string();
    let start = path.name().rsplit_once('.').map_or(path.name(), |(start, _)| start);
    let words: Vec<&str> = match path.ending().as_str() {
        "py" => vec!["python3", &file],
        "sh" => vec!["sh", &file],
        // The executed copy is an output of the job; the notebook itself stays as it is.
        "ipynb" => {
            vec![
                "jupyter",
                "nbconvert",
                "--to",
                "notebook",
                "--execute",
                "--output-dir",
                "outputs",
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

#[cfg(test)]
mod tests {
    use super::*;

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
