//! Where PostgreSQL's programs are: on PATH, or where Debian keeps one directory per version.

use std::path::{Path, PathBuf};
use std::{env, fs};

use super::Error;

/// Debian does not put the server's programs on PATH.
const DEBIAN: &str = "/usr/lib/postgresql";

const MISSING: &str = "PostgreSQL is not installed: neither PATH nor /usr/lib/postgresql/*/bin has initdb, postgres \
                       and psql. The store is tested on both databases, so this can't be skipped. Install it, on \
                       Debian or Ubuntu with: apt-get install postgresql";

/// The three programs that the tests call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Programs {
    pub(super) initdb: PathBuf,
    pub(super) postgres: PathBuf,
    pub(super) psql: PathBuf,
}

impl Programs {
    pub(super) fn find() -> Result<Self, Error> {
        let mut directories: Vec<PathBuf> =
            env::var_os("PATH").map(|path| env::split_paths(&path).collect()).unwrap_or_default();
        directories.extend(debian_directories(Path::new(DEBIAN)));
        Self::find_in(&directories).ok_or_else(|| Error(MISSING.to_owned()))
    }

    fn find_in(directories: &[PathBuf]) -> Option<Self> {
        let initdb = find_program("initdb", directories)?;
        // initdb on PATH may be a link; the server that fits it lies beside the real one
        let mut beside: Vec<PathBuf> =
            initdb.canonicalize().ok()?.parent().map(Path::to_path_buf).into_iter().collect();
        beside.extend_from_slice(directories);
        Some(Self { initdb, postgres: find_program("postgres", &beside)?, psql: find_program("psql", &beside)? })
    }
}

fn find_program(name: &str, directories: &[PathBuf]) -> Option<PathBuf> {
    directories.iter().map(|directory| directory.join(name)).find(|path| path.is_file())
}

/// Returns the `bin` directories of all installed versions, the newest first.
fn debian_directories(root: &Path) -> Vec<PathBuf> {
    let mut versions: Vec<(u32, PathBuf)> = fs::read_dir(root)
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let version = entry.file_name().to_str()?.parse().ok()?;
            Some((version, entry.path().join("bin")))
        })
        .collect();
    versions.sort_by(|a, b| b.cmp(a));
    versions.into_iter().map(|(_, directory)| directory).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn install(directory: &Path, programs: &[&str]) {
        fs::create_dir_all(directory).expect("a directory can be made");
        for program in programs {
            fs::write(directory.join(program), "").expect("a file can be written");
        }
    }

    #[test]
    fn the_newest_debian_version_comes_first() {
        let root = tempfile::tempdir().expect("a temporary directory");
        for version in ["9", "15", "common"] {
            install(&root.path().join(version).join("bin"), &["initdb"]);
        }
        let found = debian_directories(root.path());
        assert_eq!(found, [root.path().join("15/bin"), root.path().join("9/bin")]);
    }

    #[test]
    fn takes_the_server_that_lies_beside_initdb() {
        let root = tempfile::tempdir().expect("a temporary directory");
        let (path, versioned) = (root.path().join("path"), root.path().join("15"));
        install(&path, &["postgres", "psql"]);
        install(&versioned, &["initdb", "postgres", "psql"]);
        std::os::unix::fs::symlink(versioned.join("initdb"), path.join("initdb")).expect("a link can be made");
        let found = Programs::find_in(std::slice::from_ref(&path)).expect("all three are there");
        assert_eq!(found.postgres, versioned.canonicalize().expect("it exists").join("postgres"));
    }

    #[test]
    fn finds_nothing_when_the_server_is_missing() {
        let root = tempfile::tempdir().expect("a temporary directory");
        install(root.path(), &["initdb", "psql"]);
        assert_eq!(Programs::find_in(&[root.path().to_path_buf()]), None);
    }
}
