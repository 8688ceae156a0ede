//! As whom an environment is built.
//!
//! Building runs code of packages, which operators choose, and for named environments everybody who may write
//! one. Where the server is root and people have users of their own, that code gets a user of its own too, so
//! that choosing packages is not the same as being root. What people name is built in a view of its own where
//! there can be one: nothing of it outlives the build.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::{PermissionsExt as _, lchown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::{fs, io};

use super::failure::Failure;
use super::recipe::Kind;

/// The user of builds that operators choose, which share downloads: the one before the first of people's own,
/// which are given out by the store.
const BUILDER: u32 = 199_999;
/// Builds of what people name have users of their own, before that one: what one of them leaves behind cannot
/// touch the next.
const FIRST_OWN: u32 = 199_000;
/// Gives rights up. It comes with the same package as `mount`.
const SETPRIV: [&str; 2] = ["/usr/bin/setpriv", "/bin/setpriv"];
/// What is seen of the system where the way to the environments is closed to others.
const SYSTEM: [&str; 9] = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt"];
/// Enters control groups and opens the filter of system calls before it becomes the program: how many files
/// to enter by and what they are, the filter or nothing, the program and its arguments. Everything comes as
/// arguments, nothing of it is read as a script.
const ENTER: &str = r#"count=$1; shift
while [ "$count" -gt 0 ]; do echo 0 > "$1" || exit 125; shift; count=$((count - 1)); done
if [ -n "$1" ]; then exec 3< "$1" || exit 125; fi; shift
exec "$@""#;

/// Which network a program of a build has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Network {
    /// The machine's own, to download packages. Until people's sandboxes have networks of their own there is
    /// no other that leads outside; then this is where builds get one.
    Outgoing,
    /// None, where a view can be had: nothing is downloaded any more.
    Closed,
}

/// As whom, with which view of the system, and within which bounds.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Guard {
    means: Means,
    user: u32,
    /// Files of control groups by which a program enters them.
    doors: Vec<PathBuf>,
    /// The filter of system calls for bubblewrap.
    filter: Option<PathBuf>,
}

#[derive(Debug, PartialEq, Eq)]
enum Means {
    /// As the server's own user.
    Own,
    /// As a user of its own.
    User { setpriv: Option<PathBuf> },
    /// As a user of its own, which sees only the system and what it builds: nobody else may go where that
    /// lies.
    View { bubblewrap: PathBuf, setpriv: PathBuf },
}

impl Guard {
    /// Chooses for an environment in that folder, by its name. `has_own_users` says whether people are kept
    /// apart.
    pub fn choose(folder: &Path, has_own_users: bool, kind: Kind, python: &Path, name: &str) -> Result<Self, Failure> {
        let guard = |means, user| Self { means, user, doors: Vec::new(), filter: None };
        let own = rustix::process::geteuid();
        if !has_own_users || !own.is_root() {
            return Ok(guard(Means::Own, own.as_raw()));
        }
        let user = match kind {
            Kind::Base => BUILDER,
            Kind::Named => FIRST_OWN + number_of(name) % (BUILDER - FIRST_OWN),
        };
        let setpriv = SETPRIV.iter().map(Path::new).find(|file| file.is_file()).map(Path::to_owned);
        let view = match (atelier_confine::bubblewrap(), &setpriv) {
            (Ok(bubblewrap), Some(setpriv)) => Some(Means::View { bubblewrap, setpriv: setpriv.clone() }),
            _ => None,
        };
        let Some(closed) = closed_way(folder) else {
            let is_seen = python.canonicalize().is_ok_and(|real| SYSTEM.iter().any(|place| real.starts_with(place)));
            let means = view.filter(|_| kind == Kind::Named && is_seen).unwrap_or(Means::User { setpriv });
            return Ok(guard(means, user));
        };
        match view {
            Some(view) => Ok(guard(view, user)),
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

    /// Has programs enter control groups by these files, and bubblewrap read the filter of system calls from
    /// that one.
    pub fn within(self, doors: Vec<PathBuf>, filter: Option<PathBuf>) -> Self {
        let filter = filter.filter(|_| matches!(self.means, Means::View { .. }));
        Self { doors, filter, ..self }
    }

    /// Refuses a Python that not everybody can start.
    pub fn check_python(&self, program: &Path) -> Result<(), Failure> {
        if self.means == Means::Own {
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
        (self.means != Means::Own).then_some(0)
    }

    pub const fn user(&self) -> u32 {
        self.user
    }

    /// Whether nobody else runs as that user: what does is left of the build.
    pub fn has_own_user(&self) -> bool {
        self.means != Means::Own && self.user != BUILDER
    }

    /// Gives a folder to who builds.
    pub fn hand_over(&self, folder: &Path) -> std::io::Result<()> {
        if self.means == Means::Own { Ok(()) } else { lchown(folder, Some(self.user), Some(self.user)) }
    }

    /// A program that runs so, and may write in these folders. [`Guard::spawn`] starts it.
    pub fn command(&self, program: &OsStr, writable: &[&Path], network: Network) -> Command {
        let (means, user) = (&self.means, self.user);
        let mut words: Vec<OsString> = Vec::new();
        let drops_rights = |words: &mut Vec<OsString>, setpriv: &Path| {
            words.push(setpriv.into());
            words.extend([format!("--reuid={user}").into(), format!("--regid={user}").into()]);
            words.extend(["--clear-groups", "--no-new-privs", "--"].map(OsString::from));
        };
        match means {
            Means::View { bubblewrap, setpriv } => {
                words.push(bubblewrap.into());
                view(&mut words, writable, network);
                if self.filter.is_some() {
                    words.extend(["--seccomp", "3"].map(OsString::from));
                }
                words.push("--".into());
                drops_rights(&mut words, setpriv);
            }
            Means::User { setpriv: Some(setpriv) } => drops_rights(&mut words, setpriv),
            Means::User { setpriv: None } | Means::Own => {}
        }
        words.push(program.into());
        // Who has no other means to become the user is that one already, and cannot enter by itself.
        let is_user = matches!(means, Means::User { setpriv: None });
        let mut command = if (self.doors.is_empty() && self.filter.is_none()) || is_user {
            Command::new(&words[0])
        } else {
            let mut command = Command::new("/bin/sh");
            command.args(["-c", ENTER, "sh"]).arg(self.doors.len().to_string()).args(&self.doors);
            command.arg(self.filter.as_deref().unwrap_or(Path::new(""))).arg(&words[0]);
            command
        };
        command.args(&words[1..]);
        if is_user {
            command.uid(user).gid(user);
        }
        command.env_clear();
        command
    }

    /// Starts such a program, without the system calls that no sandbox has.
    pub fn spawn(&self, command: &mut Command) -> io::Result<Child> {
        if matches!(self.means, Means::View { .. }) {
            // Bubblewrap needs some of them, and takes them away itself.
            return command.spawn();
        }
        // What is taken from a thread is taken from all that it starts, and from no other.
        let start = move || atelier_confine::refuse_calls().and_then(|()| command.spawn());
        let started = std::thread::scope(|scope| scope.spawn(start).join());
        started.unwrap_or_else(|_| Err(io::Error::other("the thread that starts it broke off")))
    }
}

/// A number that two environments hardly share.
fn number_of(name: &str) -> u32 {
    name.get(..8).and_then(|digits| u32::from_str_radix(digits, 16).ok()).unwrap_or(0)
}

fn view(words: &mut Vec<OsString>, writable: &[&Path], network: Network) {
    let mut add = |more: &[&OsStr]| words.extend(more.iter().map(|word| (*word).to_owned()));
    let text = OsStr::new;
    add(&["--unshare-pid", "--unshare-ipc", "--unshare-uts"].map(text));
    if network == Network::Closed {
        add(&["--unshare-net"].map(text));
    }
    for place in SYSTEM {
        match fs::symlink_metadata(place) {
            Ok(found) if found.is_symlink() => {
                if let Ok(target) = fs::read_link(place) {
                    add(&[text("--symlink"), target.as_os_str(), text(place)]);
                }
            }
            Ok(_) => add(&["--ro-bind", place, place].map(text)),
            Err(_) => {}
        }
    }
    add(&["--proc", "/proc", "--dev", "/dev"].map(text));
    for shared in ["/dev/shm", "/tmp"] {
        add(&["--perms", "1777", "--tmpfs", shared].map(text));
    }
    // Where names are looked up, on machines where that is a link into here.
    if Path::new("/run/systemd/resolve").exists() {
        add(&["--dir", "/run", "--dir", "/run/systemd"].map(text));
        add(&["--ro-bind", "/run/systemd/resolve", "/run/systemd/resolve"].map(text));
    }
    for folder in writable {
        // Made by name, since those that are made on the way are for root alone.
        let above: Vec<&Path> = folder.ancestors().skip(1).filter(|above| *above != Path::new("/")).collect();
        for above in above.into_iter().rev() {
            add(&[text("--dir"), above.as_os_str()]);
        }
        add(&[text("--bind"), folder.as_os_str(), folder.as_os_str()]);
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
    fn only_what_downloads_has_a_network() {
        let is_closed = |network| {
            let mut words = Vec::new();
            view(&mut words, &[], network);
            words.iter().any(|word| word == "--unshare-net")
        };
        assert!(is_closed(Network::Closed));
        assert!(!is_closed(Network::Outgoing));
    }

    #[test]
    fn where_nobody_is_kept_apart_it_is_built_by_the_server() {
        let python = Path::new("/usr/bin/python3");
        let guard = Guard::choose(Path::new("/"), false, Kind::Named, python, "0").expect("chosen");
        assert_eq!((guard.owner(), guard.has_own_user(), &guard.means), (None, false, &Means::Own));
    }

    #[test]
    fn two_builds_of_people_have_two_users_and_neither_is_a_persons() {
        if !rustix::process::geteuid().is_root() {
            return println!("skipped: needs root");
        }
        let user = |kind, name| {
            let guard = Guard::choose(Path::new("/"), true, kind, Path::new("/usr/bin/python3"), name);
            guard.expect("chosen").user()
        };
        let (one, other) = (user(Kind::Named, "000000ff11"), user(Kind::Named, "0000010011"));
        assert_ne!(one, other);
        for named in [one, other, user(Kind::Named, "ffffffff"), user(Kind::Named, "x")] {
            assert!((FIRST_OWN..BUILDER).contains(&named), "{named}");
        }
        assert_eq!(user(Kind::Base, "000000ff11"), BUILDER);
    }
}
