//! Which file a program's name means, and what to say if there is none.

use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

/// Finds a program as a shell would, in the job's own path.
pub fn find(name: &str, folder: &Path, path: &str) -> Result<PathBuf, String> {
    if name.is_empty() {
        return Err("no program was named".to_owned());
    }
    if name.contains('\0') {
        return Err(format!("the program {name:?} has a zero byte in its name"));
    }
    if name.contains('/') {
        let file = folder.join(name);
        return match std::fs::metadata(&file) {
            Ok(found) if found.is_dir() => Err(format!("the program “{name}” cannot be executed: it is a folder")),
            Ok(_) => Ok(file),
            Err(error) => Err(sentence(name, path, &error)),
        };
    }
    let mut is_forbidden = false;
    for place in path.split(':').filter(|place| !place.is_empty()) {
        let file = folder.join(place).join(name);
        if std::fs::metadata(&file).is_ok_and(|found| found.is_file()) {
            if access(&file, Access::EXEC_OK).is_ok() {
                return Ok(file);
            }
            is_forbidden = true;
        }
    }
    let kind = if is_forbidden { io::ErrorKind::PermissionDenied } else { io::ErrorKind::NotFound };
    Err(sentence(name, path, &kind.into()))
}

/// Why a program was not started, for people.
pub fn sentence(name: &str, path: &str, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound if name.contains('/') => {
            format!("the program “{name}” was not found, or what its first line names was not")
        }
        io::ErrorKind::NotFound => format!("the program “{name}” was not found (PATH is {path})"),
        io::ErrorKind::PermissionDenied => format!("the program “{name}” cannot be executed: permission denied"),
        io::ErrorKind::ArgumentListTooLong => {
            format!("the program “{name}” cannot be executed: its arguments and variables are too long")
        }
        _ => format!("the program “{name}” cannot be executed: {error}"),
    }
}
