//! What notebooks can run with: a folder that JupyterLab reads, kept up to date while instances run.
//!
//! Instances have it read-only and all have the same, so a start costs nothing more however many environments
//! there are.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// One entry of the launcher.
pub(super) struct Kernel {
    /// Its folder, and its name in notebooks.
    pub name: String,
    pub label: String,
    /// The environment; none for one that could not be built.
    pub path: Option<PathBuf>,
    /// Why it could not be built.
    pub why: String,
}

impl Kernel {
    fn spec(&self, python: &Path) -> serde_json::Value {
        let Some(path) = &self.path else {
            // Whoever starts it all the same finds the reason in the server's log of JupyterLab.
            // A text of JSON is one of Python as well.
            let why = serde_json::Value::String(self.why.clone());
            let argv = [python.display().to_string(), "-c".into(), format!("raise SystemExit({why})")];
            return serde_json::json!({
                "argv": argv, "display_name": self.label, "language": "python",
            });
        };
        let bin = path.join("bin");
        serde_json::json!({
            "argv": [bin.join("python").display().to_string(), "-m", "ipykernel_launcher", "-f", "{connection_file}"],
            "display_name": self.label,
            "language": "python",
            "metadata": {"debugger": true},
            "env": {
                "VIRTUAL_ENV": path.display().to_string(),
                "PATH": format!("{}:${{PATH}}", bin.display()),
            },
        })
    }
}

/// Makes the folder what it should be. Each entry is there whole or not at all.
pub(super) fn write(folder: &Path, python: &Path, kernels: &[Kernel]) -> io::Result<()> {
    let all = folder.join("kernels");
    for path in [folder, &all] {
        DirBuilder::new().recursive(true).mode(0o755).create(path)?;
        fs::set_permissions(path, Permissions::from_mode(0o755))?;
    }
    let wanted: BTreeSet<&str> = kernels.iter().map(|kernel| kernel.name.as_str()).collect();
    for entry in fs::read_dir(&all)? {
        let entry = entry?;
        if entry.file_name().to_str().is_none_or(|name| !wanted.contains(name)) {
            fs::remove_dir_all(entry.path())?;
        }
    }
    for kernel in kernels {
        let text = serde_json::to_vec_pretty(&kernel.spec(python))?;
        let place = all.join(&kernel.name);
        if fs::read(place.join("kernel.json")).is_ok_and(|known| known == text) {
            continue;
        }
        let draft = folder.join(".draft");
        let _ = fs::remove_dir_all(&draft);
        DirBuilder::new().mode(0o755).create(&draft)?;
        fs::set_permissions(&draft, Permissions::from_mode(0o755))?;
        let file = draft.join("kernel.json");
        fs::write(&file, text)?;
        fs::set_permissions(&file, Permissions::from_mode(0o644))?;
        let _ = fs::remove_dir_all(&place);
        fs::rename(&draft, &place)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_follows_what_there_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = folder.path().join("kernels");
        let kernel = |name: &str, path: Option<&str>| Kernel {
            name: name.into(),
            label: format!("{name} shown"),
            path: path.map(PathBuf::from),
            why: "line 2 failed: it's \"quoted\"".into(),
        };
        let read = |name: &str| -> serde_json::Value {
            let text = fs::read(place.join("kernels").join(name).join("kernel.json")).expect("is there");
            serde_json::from_slice(&text).expect("JSON")
        };
        let python = Path::new("/usr/bin/python3");
        write(&place, python, &[kernel("churn-1", Some("/e/1")), kernel("churn-2", None)]).expect("written");
        assert_eq!(read("churn-1")["argv"][0], "/e/1/bin/python");
        assert_eq!(read("churn-1")["env"]["PATH"], "/e/1/bin:${PATH}");
        assert_eq!(read("churn-2")["argv"][0], "/usr/bin/python3");
        let mut broken = std::process::Command::new("/usr/bin/python3");
        broken.args(["-c", read("churn-2")["argv"][2].as_str().expect("text")]);
        let said = broken.output().expect("starts");
        assert!(!said.status.success());
        assert!(String::from_utf8_lossy(&said.stderr).contains("line 2 failed: it's \"quoted\""), "{said:?}");
        write(&place, python, &[kernel("churn-2", Some("/e/2"))]).expect("written");
        assert_eq!(read("churn-2")["argv"][0], "/e/2/bin/python");
        assert!(!place.join("kernels/churn-1").exists() && !place.join(".draft").exists());
    }
}
