//! As whom an environment is built.
//!
//! Building runs code of packages, which operators choose, and for named environments everybody who may write
//! one. Where the server is root and people have users of their own, that code gets a user of its own too, so
//! that choosing packages is not the same as being root. What people name is built in a view of its own where
//! there can be one: nothing of it outlives the build.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, lchown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::failure::Failure;
use super::recipe::Kind;

/// The user of builds: the one before the first of people's own, which are given out by the store.
const BUILDER: u32 = 199_999;
/// Gives rights up. It comes with the same package as `mount`.
const SETPRIV: [&str; 2] = ["/usr/bin/setpriv", "/bin/setpriv"];
/// What is seen of the system where the way to the environments is closed to others.
const SYSTEM: [&str; 9] = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt"];

/// As whom, and with which view of the system.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Guard {
    /// As the server's own user.
    Own,
    /// As a user of its own.
    User,
    /// As a user of its own, which sees only the system and what it builds: nobody else may go where that
    /// lies.
    View { bubblewrap: PathBuf, setpriv: PathBuf },
}

impl Guard {
    /// Chooses for environments in that folder. `has_own_users` says whether people are kept apart.
    pub fn choose(folder: &Path, has_own_users: bool, kind: Kind, python: &Path) -> Result<Self, Failure> {
        if !has_own_users || !rustix::process::geteuid().is_root() {
            return Ok(Self::Own);
        }
        let setpriv = SETPRIV.iter().map(Path::new).find(|file| file.is_file());
        let view = match (atelier_confine::bubblewrap(), setpriv) {
            (Ok(bubblewrap), Some(setpriv)) => Some(Self::View { bubblewrap, setpriv: setpriv.to_owned() }),
            _ => None,
        };
        let Some(closed) = closed_way(folder) else {
            let is_seen = python.canonicalize().is_ok_and(|real| SYSTEM.iter().any(|place| real.starts_with(place)));
            return Ok(view.filter(|_| kind == Kind::Named && is_seen).unwrap_or(Self::User));
        };
        match view {
            Some(view) => Ok(view),
            None => Err(Failure::new(
                format!(
                    "People’s own users cannot get to {}: {} lets nobody else pass.",
                    folder.display(),
                    closed.display()
                ),
                format!(
                    "Allow it (chmod o+x {}), name another place with the setting environments, or install bubblewrap.",
                    closed.display()
                ),
            )),
        }
    }

    /// Refuses a Python that not everybody can start.
    pub fn check_python(&self, program: &Path) -> Result<(), Failure> {
        if *self == Self::Own {
            return Ok(());
        }
        let real = program.canonicalize().map_err(|error| Failure::no_python(program, &error))?;
        match closed_way(real.parent().unwrap_or(&real)) {
            None => Ok(()),
            Some(closed) => Err(Failure::new(
                format!("Not everybody can start {}: {} lets nobody else pass.", real.display(), closed.display()),
                "Name a Python of the system with the setting python, such as /usr/bin/python3.",
            )),
        }
    }

    /// Whose what is built must be in the end, if it is another's meanwhile.
    pub fn owner(&self) -> Option<u32> {
        (*self != Self::Own).then_some(0)
    }

    pub fn user(&self) -> u32 {
        if *self == Self::Own { rustix::process::geteuid().as_raw() } else { BUILDER }
    }

    /// Gives a folder to who builds.
    pub fn hand_over(&self, folder: &Path) -> std::io::Result<()> {
        if *self == Self::Own { Ok(()) } else { lchown(folder, Some(BUILDER), Some(BUILDER)) }
    }

    /// A program that runs so, and may write in these folders.
    pub fn command(&self, program: &OsStr, writable: &[&Path]) -> Command {
        let mut command = match self {
            Self::Own => Command::new(program),
            Self::User => {
                let mut command = Command::new(program);
                command.uid(BUILDER).gid(BUILDER);
                command
            }
            Self::View { bubblewrap, setpriv } => {
                let mut command = Command::new(bubblewrap);
                view(&mut command, writable);
                command.arg("--").arg(setpriv);
                command.args([&format!("--reuid={BUILDER}"), &format!("--regid={BUILDER}")]);
                command.args(["--clear-groups", "--no-new-privs", "--"]).arg(program);
                command
            }
        };
        command.env_clear();
        command
    }
}

fn view(command: &mut Command, writable: &[&Path]) {
    command.args(["--unshare-pid", "--unshare-ipc", "--unshare-uts"]);
    for place in SYSTEM {
        match fs::symlink_metadata(place) {
            Ok(found) if found.is_symlink() => {
                if let Ok(target) = fs::read_link(place) {
                    command.arg("--symlink").arg(target).arg(place);
                }
            }
            Ok(_) => {
                command.args(["--ro-bind", place, place]);
            }
            Err(_) => {}
        }
    }
    command.args(["--proc", "/proc", "--dev", "/dev"]);
    for shared in ["/dev/shm", "/tmp"] {
        command.args(["--perms", "1777", "--tmpfs", shared]);
    }
    // Where names are looked up, on machines where that is a link into here.
    if Path::new("/run/systemd/resolve").exists() {
        command.args(["--dir", "/run", "--dir", "/run/systemd"]);
        command.args(["--ro-bind", "/run/systemd/resolve", "/run/systemd/resolve"]);
    }
    for folder in writable {
        // Made by name, since those that are made on the way are for root alone.
        let above: Vec<&Path> = folder.ancestors().skip(1).filter(|above| *above != Path::new("/")).collect();
        for above in above.into_iter().rev() {
            command.arg("--dir").arg(above);
        }
        command.arg("--bind").arg(folder).arg(folder);
    }
}

/// What on the way to a folder, itself included, lets nobody else pass.
fn closed_way(folder: &Path) -> Option<PathBuf> {
    let real = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let is_closed = |path: &&Path| fs::metadata(path).map_or(true, |info| info.permissions().mode() & 0o001 == 0);
    real.ancestors().find(is_closed).map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_is_as_open_as_its_narrowest_place() {
        let folder = tempfile::tempdir().expect("a folder");
        let (middle, deep) = (folder.path().join("middle"), folder.path().join("middle/deep"));
        fs::create_dir_all(&deep).expect("made");
        let set = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("set");
        set(folder.path(), 0o755);
        set(&middle, 0o700);
        assert_eq!(closed_way(&deep), Some(middle.canonicalize().expect("is there")));
        set(&middle, 0o711);
        assert_eq!(closed_way(&deep), None);
    }

    #[test]
    fn where_nobody_is_kept_apart_it_is_built_by_the_server() {
        assert_eq!(Guard::choose(Path::new("/"), false, Kind::Named, Path::new("/usr/bin/python3")), Ok(Guard::Own));
        assert_eq!(Guard::Own.owner(), None);
    }
}
