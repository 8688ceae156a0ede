//! The files of `public/`: fonts, icons, licences.

use std::fs;
use std::path::Path;

use super::Site;
use crate::failure::{Failure, Result};

pub fn add(site: &mut Site, directory: &Path) -> Result<()> {
    for (path, bytes) in read_tree(directory)? {
        if keeps_its_name(&path) {
            site.add(&path, bytes);
        } else {
            site.add_hashed(&path, bytes);
        }
    }
    Ok(())
}

/// Browsers and robots ask for some files by a name they know; licences are read by people.
fn keeps_its_name(path: &str) -> bool {
    path == "favicon.svg" || path.ends_with(".txt")
}

/// Reads all files below a directory, which may be missing, in the order of their paths.
pub fn read_tree(directory: &Path) -> Result<Vec<(String, Vec<u8>)>> {
    let mut files = Vec::new();
    if directory.is_dir() {
        read_into(&mut files, directory, "")?;
    }
    files.sort();
    Ok(files)
}

fn read_into(files: &mut Vec<(String, Vec<u8>)>, directory: &Path, prefix: &str) -> Result<()> {
    for entry in directory.read_dir().map_err(Failure::file("reading", directory))? {
        let entry = entry.map_err(Failure::file("reading", directory))?.path();
        let name = entry
            .file_name()
            .and_then(|name| name.to_str())
            .ok_or_else(|| Failure::new(format!("{} is no name for a web address; rename it", entry.display())))?;
        if entry.is_dir() {
            read_into(files, &entry, &format!("{prefix}{name}/"))?;
        } else {
            files.push((format!("{prefix}{name}"), fs::read(&entry).map_err(Failure::file("reading", &entry))?));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_files_get_a_hash() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        fs::create_dir(directory.path().join("fonts")).expect("a directory can be made");
        for name in ["fonts/a.woff2", "fonts/a-OFL.txt", "favicon.svg"] {
            fs::write(directory.path().join(name), name).expect("a file can be written");
        }
        let mut site = Site::default();
        add(&mut site, directory.path()).expect("all can be read");
        assert!(site.files.contains_key("favicon.svg"));
        assert!(site.files.contains_key("fonts/a-OFL.txt"));
        assert!(!site.files.contains_key("fonts/a.woff2"));
        assert!(site.renamed["/fonts/a.woff2"].starts_with("/fonts/a-"));
    }
}
