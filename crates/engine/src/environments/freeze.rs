//! What somebody has installed into the layer of their instance.
//!
//! The layer is its owner's, who may have put anything there while root looks: so it is walked from above,
//! each step through the one before, and never over a link. Only names of folders are read, which say all
//! that is needed.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use atelier_domain::environment::{Packages, normalised};
use rustix::fs::{CWD, Dir, Mode, OFlags, ResolveFlags, openat2};

/// So many packages are looked at.
const MOST: usize = 2_000;

/// Packages of a layer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frozen {
    /// From the index, by name, with versions.
    pub packages: Packages,
    /// From elsewhere: an address, a folder. They cannot be had again by their name.
    pub elsewhere: Packages,
}

/// Reads a layer; one that does not exist holds nothing.
///
/// # Errors
/// It cannot be read.
pub fn frozen(layer: &Path) -> io::Result<Frozen> {
    let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let open = |at: &OwnedFd, name: &str| openat2(at, name, flags | OFlags::NOFOLLOW, Mode::empty(), beneath);
    let top = match openat2(CWD, layer, flags | OFlags::NOFOLLOW, Mode::empty(), ResolveFlags::empty()) {
        Ok(top) => top,
        Err(rustix::io::Errno::NOENT) => return Ok(Frozen::default()),
        Err(error) => return Err(error.into()),
    };
    let mut found = Frozen::default();
    let Ok(lib) = open(&top, "lib") else { return Ok(found) };
    for python in names(&lib)?.iter().filter(|name| name.starts_with("python3.")) {
        let Ok(packages) = open(&lib, &format!("{python}/site-packages")) else { continue };
        for name in names(&packages)?.into_iter().take(MOST) {
            let Some((package, version)) = name.strip_suffix(".dist-info").and_then(|name| name.rsplit_once('-'))
            else {
                continue;
            };
            let is_plain = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || "._+!-".contains(c));
            if package.is_empty() || version.is_empty() || !is_plain(package) || !is_plain(version) {
                continue;
            }
            let entry = (normalised(package), version.to_owned());
            let origin = open(&packages, &name).map(|info| {
                let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                openat2(&info, "direct_url.json", flags, Mode::empty(), beneath).is_ok()
            });
            match origin {
                Ok(true) => found.elsewhere.push(entry),
                Ok(false) => found.packages.push(entry),
                Err(_) => {}
            }
        }
    }
    found.packages.sort();
    found.elsewhere.sort();
    Ok(found)
}

fn names(folder: &OwnedFd) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(File::from(folder.try_clone()?))? {
        names.extend(entry?.file_name().to_str().ok().map(ToOwned::to_owned));
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn packages_are_read_and_links_are_not_followed() {
        let folder = tempfile::tempdir().expect("a folder");
        let layer = folder.path().join("layer");
        assert_eq!(frozen(&layer).expect("reads"), Frozen::default());
        let packages = layer.join("lib/python3.11/site-packages");
        for name in ["polars-1.2.0.dist-info", "Typing_Extensions-4.1.dist-info", "mine-0.1.dist-info", "polars"] {
            fs::create_dir_all(packages.join(name)).expect("made");
        }
        fs::create_dir_all(packages.join("evil\nline-1.dist-info")).expect("made");
        fs::write(packages.join("mine-0.1.dist-info/direct_url.json"), "{}").expect("written");
        std::os::unix::fs::symlink("/etc", packages.join("linked-1.dist-info")).expect("linked");
        let found = frozen(&layer).expect("reads");
        let pair = |name: &str, version: &str| (name.to_owned(), version.to_owned());
        assert_eq!(found.packages, [pair("polars", "1.2.0"), pair("typing-extensions", "4.1")]);
        assert_eq!(found.elsewhere, [pair("mine", "0.1")]);

        let other = folder.path().join("other");
        fs::create_dir(&other).expect("made");
        std::os::unix::fs::symlink(layer.join("lib"), other.join("lib")).expect("linked");
        assert_eq!(frozen(&other).expect("reads"), Frozen::default(), "not over a link");
    }
}
