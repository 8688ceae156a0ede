//! What tokens of instances and jobs are signed with: a file in the data directory for the server alone.
//! Whoever has a copy of the database cannot make tokens with it.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// Digits of a key.
const LENGTH: usize = 64;

fn place(data: &Path) -> PathBuf {
    data.join("workload.key")
}

/// The key of the installation with that data directory; made if there is none. One that others could have
/// read, or that is no key, is replaced.
///
/// # Errors
/// What the system says.
pub fn workload_key(data: &Path) -> io::Result<String> {
    let path = place(data);
    match fs::symlink_metadata(&path) {
        Ok(found) if found.is_file() && found.mode() & 0o077 == 0 => {
            let mut key = String::new();
            File::open(&path)?.take(LENGTH as u64 + 1).read_to_string(&mut key)?;
            let key = key.trim_end();
            if key.len() == LENGTH && key.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                return Ok(key.to_owned());
            }
            tracing::warn!(path = %path.display(), "the key of tokens cannot be read, so a new one was made");
        }
        Ok(_) => tracing::warn!(path = %path.display(), "others could read the key of tokens, so a new one was made"),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    rotate_workload_key(data)
}

/// Makes a new key: tokens that were made before are worth nothing once the server uses it. Agents are told
/// new ones when they call. After a restore: the old key may be in the wrong hands.
///
/// # Errors
/// What the system says.
pub fn rotate_workload_key(data: &Path) -> io::Result<String> {
    let key: String = (0..LENGTH / 16).map(|_| format!("{:016x}", rand::random::<u64>())).collect();
    let beside = data.join(".workload.key.new");
    match fs::remove_file(&beside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = File::options().write(true).create_new(true).mode(0o600).open(&beside)?;
    file.write_all(format!("{key}\n").as_bytes())?;
    file.sync_all()?;
    fs::rename(&beside, place(data))?;
    File::open(data)?.sync_all()?;
    Ok(key)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_key_is_made_once_kept_closed_and_replaced_when_others_could_read_it() {
        let data = tempfile::tempdir().expect("a folder");
        let file = data.path().join("workload.key");
        let mode = || fs::metadata(&file).expect("is there").permissions().mode() & 0o777;
        let key = workload_key(data.path()).expect("made");
        assert_eq!((key.len(), mode()), (64, 0o600));
        assert_eq!(workload_key(data.path()).expect("found"), key);
        let rotated = rotate_workload_key(data.path()).expect("rotated");
        assert_ne!(rotated, key);
        assert_eq!((workload_key(data.path()).expect("found"), mode()), (rotated.clone(), 0o600));
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).expect("opened");
        let fresh = workload_key(data.path()).expect("replaced");
        assert_ne!(fresh, rotated);
        fs::write(&file, "short").expect("written");
        assert_ne!(workload_key(data.path()).expect("replaced"), fresh);
        // A link could lead anywhere.
        fs::remove_file(&file).expect("removed");
        let other = data.path().join("other");
        fs::write(&other, "0".repeat(64)).expect("written");
        std::os::unix::fs::symlink(&other, &file).expect("linked");
        assert_ne!(workload_key(data.path()).expect("replaced"), "0".repeat(64));
        assert!(fs::symlink_metadata(&file).expect("is there").is_file());
    }
}
