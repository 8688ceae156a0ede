//! What of the system must be there to compile parts of code-server.

use std::path::Path;

/// A package of Debian and Ubuntu, and a file that it brings.
const NEEDED: [(&str, &str); 8] = [
    ("g++", "/usr/bin/g++"),
    ("make", "/usr/bin/make"),
    ("pkg-config", "/usr/bin/pkg-config"),
    ("python3", "/usr/bin/python3"),
    ("libkrb5-dev", "/usr/include/gssapi/gssapi.h"),
    ("libsecret-1-dev", "/usr/include/libsecret-1/libsecret/secret.h"),
    ("libx11-dev", "/usr/include/X11/Xlib.h"),
    ("libxkbfile-dev", "/usr/include/X11/extensions/XKBrules.h"),
];

/// Packages of the system that are missing, by their names on Debian and Ubuntu.
pub fn missing_packages() -> Vec<&'static str> {
    missing(Path::new("/"))
}

fn missing(root: &Path) -> Vec<&'static str> {
    let is_missing = |file: &str| !root.join(file.trim_start_matches('/')).exists();
    NEEDED.into_iter().filter(|(_, file)| is_missing(file)).map(|(package, _)| package).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_missing_package_is_named() {
        let root = tempfile::tempdir().expect("a folder");
        assert_eq!(missing(root.path()).len(), NEEDED.len());
        for (package, file) in NEEDED {
            assert!(missing(root.path()).contains(&package), "{package}");
            let file = root.path().join(file.trim_start_matches('/'));
            std::fs::create_dir_all(file.parent().expect("a folder")).expect("made");
            std::fs::write(&file, "").expect("written");
            assert!(!missing(root.path()).contains(&package), "{package}");
        }
        assert!(missing(root.path()).is_empty());
    }
}
