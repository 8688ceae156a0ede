//! Giving an instance's folder to somebody else: what opens doors goes to the trash, the rest becomes the new
//! owner's.
//!
//! The home is full of what its owner wanted, links included, and this is done as root. So nothing outside of
//! it is ever reached: each folder is opened from the one above it without following links, and where a link
//! is followed because keys may lie behind it, the kernel keeps to what is beneath the home.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Mutex;

use atelier_domain::UserId;
use atelier_domain::compute::InstanceId;
use atelier_domain::secrets::{SECRETS, fits};
use atelier_domain::world::Report;
use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Gid, Mode, OFlags, ResolveFlags, Stat, Uid, chownat, fchmod, fstat, openat, openat2,
    readlinkat, renameat, statat,
};
use rustix::io::Errno;

use super::{Fleet, dispatch, lock};
use crate::clock;

/// Instances of which one is being given away right now: what was told twice is done once.
static UNDER_WAY: Mutex<Option<HashSet<InstanceId>>> = Mutex::new(None);

/// The most names that are listed.
const LISTED: usize = 200;
/// So many links one after another are followed.
const MOST_LINKS: usize = 8;

/// Carries a transfer out and reports it. What is under way is not begun a second time.
pub(super) async fn run(fleet: Fleet, instance: InstanceId, generation: u64, from: UserId, to: UserId) {
    if !lock(&UNDER_WAY).get_or_insert_default().insert(instance) {
        return;
    }
    let failure = carry_out(&fleet, instance, from, to).await.err();
    lock(&UNDER_WAY).get_or_insert_default().remove(&instance);
    if let Some(why) = &failure {
        tracing::warn!(%instance, why, "an instance could not be given away; it is tried again");
    }
    if let Some(engine) = fleet.engine() {
        let failure = failure.map(Into::into);
        let _ = engine.report_all(&[Report::Transferred { instance, generation, failure }]).await;
    }
}

async fn carry_out(fleet: &Fleet, instance: InstanceId, from: UserId, to: UserId) -> Result<(), String> {
    let nobody = || "the server is about to stop".to_owned();
    let from = dispatch::person(fleet, from).await.ok_or_else(nobody)?;
    let to = dispatch::person(fleet, to).await.ok_or_else(nobody)?;
    let folders = fleet.folders().clone();
    let place = folders.trash().join(format!("instance-{}-{}", instance.0, clock::now().0));
    let given = tokio::task::spawn_blocking(move || {
        give(&folders.instance(instance), &place, from.uid.zip(to.uid)).map_err(|error| error.to_string())
    });
    let left = given.await.map_err(|error| error.to_string())??;
    if !left.is_empty() {
        tracing::warn!(%instance, ?left, "some entries of a home could not be given to its new owner and stay as they \
                                          are");
    }
    // Who has it now says whether it can be entered by SSH.
    fleet.store().drop_ssh_of(instance).await.map_err(|error| error.to_string())?;
    // Their variables may hold what opens doors, and they would run as somebody who has never seen them.
    fleet.store().drop_apps_of(instance).await.map_err(|error| error.to_string())
}

/// The names of what would be taken out of an instance's home.
pub fn secrets_in(instance: &Path) -> Vec<String> {
    let Ok(home) = open_folder(CWD, instance.join("home").as_os_str()) else { return Vec::new() };
    let mut found = Vec::new();
    for path in SECRETS {
        // What cannot be looked at is not there.
        let _ = each(&home, path, &mut |_, name, whole| {
            let name = format!("{whole}{}", name.to_string_lossy());
            if found.len() < LISTED && !found.contains(&name) {
                found.push(name);
            }
            Ok(())
        });
    }
    found
}

/// Makes the folder of an instance somebody else's: `users` are the user it had and the user it gets, where
/// people have their own. May be done again, also after half of it. The names of entries that could not be
/// given and stay as they are; whatever opens doors is never among them.
fn give(instance: &Path, trash: &Path, users: Option<(u32, u32)>) -> io::Result<Vec<String>> {
    let folder = match open_folder(CWD, instance.as_os_str()) {
        Ok(folder) => folder,
        // It never had a node.
        Err(Errno::NOENT) => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let home = match open_folder(&folder, OsStr::new("home")) {
        Ok(home) => Some(home),
        Err(Errno::NOENT) => None,
        Err(error) => return Err(error.into()),
    };
    let kept = Kept { place: trash };
    if let Some(home) = &home {
        // From now on whoever had it cannot even pass.
        if users.is_some() {
            own(&folder, OsStr::new("home"), 0)?;
        }
        fchmod(home, Mode::RWXU)?;
        for path in SECRETS {
            each(home, path, &mut |parent, name, _| kept.take(parent, name))?;
        }
    }
    // Sockets and what scripts left are of no use; what was printed is its old owner's.
    for name in ["run", "scratch", "logs"] {
        kept.take(&folder, OsStr::new(name))?;
    }
    let mut left = Vec::new();
    if let Some((from, to)) = users {
        for name in ["home", "layers"] {
            match open_folder(&folder, OsStr::new(name)) {
                Ok(inside) => hand_over(inside, Some(from), to, &mut left)?,
                Err(Errno::NOENT) => {}
                Err(error) => return Err(error.into()),
            }
        }
        if home.is_some() {
            own(&folder, OsStr::new("home"), to)?;
        }
    }
    Ok(left)
}

/// Where what is taken out goes: into the trash, for a week.
struct Kept<'a> {
    place: &'a Path,
}

impl Kept<'_> {
    fn take(&self, parent: &OwnedFd, name: &OsStr) -> io::Result<()> {
        std::fs::create_dir_all(self.place)?;
        let place = open_folder(CWD, self.place.as_os_str())?;
        fchmod(&place, Mode::RWXU)?;
        let mut as_name: OsString = name.to_owned();
        for number in 1.. {
            match statat(&place, as_name.as_os_str(), AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) => break,
                Err(error) => return Err(error.into()),
                Ok(_) => as_name = OsString::from(format!("{}.{number}", name.to_string_lossy())),
            }
        }
        match renameat(parent, name, &place, as_name.as_os_str()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// A folder, opened from another without following a link.
pub(crate) fn open_folder(from: impl std::os::fd::AsFd, name: &OsStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    openat(from, name, flags, Mode::empty())
}

pub(crate) fn own(parent: &OwnedFd, name: &OsStr, user: u32) -> io::Result<()> {
    let (uid, gid) = (Some(Uid::from_raw(user)), Some(Gid::from_raw(user)));
    Ok(chownat(parent, name, uid, gid, AtFlags::SYMLINK_NOFOLLOW)?)
}

/// The names in a folder.
fn names(folder: &OwnedFd) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            names.push(OsStr::from_bytes(name).to_owned());
        }
    }
    Ok(names)
}

/// What is done with an entry: the folder that it is in, its name, and the way there.
type Deed<'a> = &'a mut dyn FnMut(&OwnedFd, &OsStr, &str) -> io::Result<()>;

/// Does something with everything below a home that fits a path of the list, and with what links in their
/// place lead to within the home: keys are kept elsewhere and linked to by many who keep their settings under
/// version control.
fn each(home: &OwnedFd, path: &str, deed: Deed<'_>) -> io::Result<()> {
    let (above, last) = path.rsplit_once('/').map_or(("", path), |(above, last)| (above, last));
    let Some(parent) = beneath(home, above)? else { return Ok(()) };
    let way = if above.is_empty() { String::new() } else { format!("{above}/") };
    for name in names(&parent)? {
        if !name.to_str().is_some_and(|name| fits(last, name)) {
            continue;
        }
        follow(home, &parent, &name, &way, deed)?;
        deed(&parent, &name, &way)?;
    }
    Ok(())
}

/// Does something with what an entry leads to, if it is a link and that lies within the home.
fn follow(home: &OwnedFd, parent: &OwnedFd, name: &OsStr, way: &str, deed: Deed<'_>) -> io::Result<()> {
    let Ok(target) = readlinkat(parent, name, Vec::new()) else { return Ok(()) };
    let mut target = wanted(way, target.to_bytes());
    for _ in 0..MOST_LINKS {
        let Some(path) = target.as_deref() else { return Ok(()) };
        let (above, last) = path.rsplit_once('/').map_or(("", path), |(above, last)| (above, last));
        let (above, last) = (above.to_owned(), OsString::from(last));
        // The home itself, or a folder on the way to something, is nothing that opens doors.
        if last.is_empty() || last == "." || last == ".." {
            return Ok(());
        }
        let Some(parent) = beneath(home, &above)? else { return Ok(()) };
        let way = if above.is_empty() { String::new() } else { format!("{above}/") };
        match statat(&parent, last.as_os_str(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(_) => {}
            Err(Errno::NOENT) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        target = readlinkat(&parent, last.as_os_str(), Vec::new()).ok().and_then(|next| wanted(&way, next.to_bytes()));
        deed(&parent, &last, &way)?;
    }
    Ok(())
}

/// Where a link leads, as a path below the home; nothing if it surely leads elsewhere. Within an instance the
/// home has another address.
fn wanted(way: &str, target: &[u8]) -> Option<String> {
    let target = std::str::from_utf8(target).ok()?;
    let target = target.trim_end_matches('/');
    match target.strip_prefix('/') {
        None => Some(format!("{way}{target}")),
        // `/home/name/…`, or where there are no views of their own, the folder of the instance on the
        // machine.
        Some(absolute) => match absolute.strip_prefix("home/") {
            Some(below) => below.split_once('/').map(|(_, below)| below.to_owned()),
            None => {
                let (_, below) = absolute.rsplit_once("/instances/")?;
                below.split_once("/home/").map(|(_, below)| below.to_owned())
            }
        },
    }
}

/// A folder below the home, by whatever links within it; nothing if there is none, or if it lies elsewhere.
/// What lies elsewhere stays its owner's.
fn beneath(home: &OwnedFd, path: &str) -> io::Result<Option<OwnedFd>> {
    let path = if path.is_empty() { "." } else { path };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    match openat2(home, path, flags, Mode::empty(), resolve) {
        Ok(folder) => Ok(Some(folder)),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV | Errno::NAMETOOLONG) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// A folder whose entries are being given away.
struct Level {
    /// What it is called in the folder above it.
    name: OsString,
    uid: u32,
    /// Which it is, so that going up leads back to it.
    id: (u64, u64),
    /// Folders in it that are still to come.
    folders: Vec<(OsString, u32)>,
}

/// Everything in a folder that was one user's, or anybody's, becomes another's. However deep folders lie, no
/// more than two are open at once. Entries that not even root may change are left as they are and noted: they
/// belong to whoever had the home and open nothing.
pub(crate) fn hand_over(folder: OwnedFd, from: Option<u32>, to: u32, left: &mut Vec<String>) -> io::Result<()> {
    let mut note = |name: &OsStr, error: io::Error| {
        if error.kind() != io::ErrorKind::PermissionDenied {
            return Err(error);
        }
        if left.len() < LISTED {
            left.push(name.to_string_lossy().into_owned());
        }
        Ok(())
    };
    let is_given = |uid: u32| from.is_none_or(|from| from == uid);
    let mut here = folder;
    let mut levels = vec![Level { name: OsString::new(), uid: to, id: id(&fstat(&here)?), folders: Vec::new() }];
    let mut is_new = true;
    while let Some(level) = levels.last_mut() {
        if is_new {
            for name in names(&here)? {
                let found = match statat(&here, name.as_os_str(), AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(found) => found,
                    Err(Errno::NOENT) => continue,
                    Err(error) => return Err(error.into()),
                };
                if FileType::from_raw_mode(found.st_mode) == FileType::Directory {
                    level.folders.push((name, found.st_uid));
                } else if is_given(found.st_uid) {
                    own(&here, &name, to).or_else(|error| note(&name, error))?;
                }
            }
        }
        is_new = false;
        if let Some((name, uid)) = level.folders.pop() {
            match open_folder(&here, name.as_os_str()) {
                Ok(inside) => {
                    let id = id(&fstat(&inside)?);
                    here = inside;
                    levels.push(Level { name, uid, id, folders: Vec::new() });
                    is_new = true;
                }
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
                Err(error) => note(&name, error.into())?,
            }
            continue;
        }
        // Done with it: it becomes the new owner's after all that is in it, so that half of the work can be
        // done again.
        let Some(done) = levels.pop() else { break };
        let Some(above) = levels.last() else { break };
        here = open_folder(&here, OsStr::new(".."))?;
        if id(&fstat(&here)?) != above.id {
            return Err(io::Error::other("a folder was moved while its home changed hands"));
        }
        if is_given(done.uid) {
            own(&here, &done.name, to).or_else(|error| note(&done.name, error))?;
        }
    }
    Ok(())
}

const fn id(found: &Stat) -> (u64, u64) {
    (found.st_dev, found.st_ino)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt as _, lchown, symlink};

    use super::*;

    fn furnish(instance: &Path) {
        for folder in ["home/.ssh", "home/.config/gcloud", "home/.jupyter", "home/work", "layers/1/bin", "run", "logs"]
        {
            fs::create_dir_all(instance.join(folder)).expect("a folder");
        }
        for (file, text) in [
            ("home/.ssh/id_ed25519", "private"),
            ("home/.netrc", "machine x"),
            ("home/.bash_history", "export TOKEN=1"),
            ("home/.config/gcloud/db", "x"),
            ("home/.jupyter/my_token.json", "x"),
            ("home/.jupyter/lab.json", "settings"),
            ("home/work/train.py", "print(1)"),
            ("layers/1/bin/python", "x"),
            ("logs/setup-1.log", "printed"),
        ] {
            fs::write(instance.join(file), text).expect("a file");
        }
    }

    #[test]
    fn what_opens_doors_goes_to_the_trash_and_the_rest_stays() {
        let data = tempfile::tempdir().expect("a folder");
        let (instance, trash) = (data.path().join("7"), data.path().join("trash/instance-7-1"));
        furnish(&instance);
        let outside = data.path().join("outside");
        fs::create_dir_all(outside.join("gh")).expect("a folder");
        fs::write(outside.join("gh/hosts.yml"), "of somebody else").expect("a file");
        // A link in the way leads nowhere.
        fs::remove_dir_all(instance.join("home/.config")).expect("removed");
        symlink(&outside, instance.join("home/.config")).expect("a link");
        let listed = secrets_in(&instance);
        assert_eq!(listed, [".ssh", ".netrc", ".jupyter/my_token.json", ".bash_history"]);
        give(&instance, &trash, None).expect("given");
        for gone in ["home/.ssh", "home/.netrc", "home/.bash_history", "home/.jupyter/my_token.json", "run", "logs"] {
            assert!(!instance.join(gone).exists(), "{gone}");
        }
        for kept in ["home/work/train.py", "home/.jupyter/lab.json", "layers/1/bin/python"] {
            assert!(instance.join(kept).exists(), "{kept}");
        }
        assert_eq!(fs::read_to_string(trash.join(".ssh/id_ed25519")).expect("is there"), "private");
        assert!(outside.join("gh/hosts.yml").exists());
        assert_eq!(secrets_in(&instance), Vec::<String>::new());
        // Again, and where there never was a home.
        give(&instance, &trash, None).expect("given");
        give(&data.path().join("8"), &trash, None).expect("given");
    }

    #[test]
    fn the_home_becomes_the_new_owners_and_nothing_else_does() {
        if !rustix::process::geteuid().is_root() {
            let is_meant = std::env::var_os("ATELIER_TEST_WITHOUT_ROOT").is_some();
            assert!(is_meant, "this test needs root; set ATELIER_TEST_WITHOUT_ROOT=1 if it is meant to be left out");
            return;
        }
        let (old, new, other) = (200_007, 200_008, 200_009);
        let data = tempfile::tempdir().expect("a folder");
        let (instance, trash) = (data.path().join("7"), data.path().join("trash/instance-7-1"));
        furnish(&instance);
        let outside = data.path().join("outside");
        fs::write(&outside, "of the system").expect("a file");
        symlink(&outside, instance.join("home/work/link")).expect("a link");
        for path in ["home", "home/work", "home/work/train.py", "home/work/link", "layers/1", "layers/1/bin/python"] {
            lchown(instance.join(path), Some(old), Some(old)).expect("given");
        }
        lchown(instance.join("home/.jupyter"), Some(other), Some(other)).expect("given");
        give(&instance, &trash, Some((old, new))).expect("given");
        let owner = |path: &str| fs::symlink_metadata(instance.join(path)).expect("is there").uid();
        for path in ["home", "home/work", "home/work/train.py", "home/work/link", "layers/1", "layers/1/bin/python"] {
            assert_eq!(owner(path), new, "{path}");
        }
        assert_eq!(owner("home/.jupyter"), other, "what was not the old owner's stays");
        assert_eq!(fs::metadata(&outside).expect("is there").uid(), 0, "a link is not followed");
        // However deep it lies.
        let mut deep = instance.join("home/work");
        for _ in 0..600 {
            deep.push("d");
        }
        fs::create_dir_all(&deep).expect("folders");
        lchown(&deep, Some(old), Some(old)).expect("given");
        let left = give(&instance, &trash, Some((old, new))).expect("given");
        assert_eq!((fs::metadata(&deep).expect("is there").uid(), left), (new, Vec::<String>::new()));
    }

    #[test]
    fn keys_are_taken_also_from_where_links_within_the_home_lead() {
        let data = tempfile::tempdir().expect("a folder");
        let (instance, trash) = (data.path().join("7"), data.path().join("trash/instance-7-1"));
        let home = instance.join("home");
        for folder in ["dotfiles/ssh", "dotfiles/config/gh", "dotfiles/aws", "work"] {
            fs::create_dir_all(home.join(folder)).expect("a folder");
        }
        let outside = data.path().join("outside");
        fs::create_dir_all(&outside).expect("a folder");
        for file in ["dotfiles/ssh/id", "dotfiles/config/gh/hosts.yml", "dotfiles/aws/credentials", "dotfiles/netrc"] {
            fs::write(home.join(file), "private").expect("a file");
        }
        fs::write(outside.join("theirs"), "of somebody else").expect("a file");
        for (link, target) in [
            (".ssh", "dotfiles/ssh"),
            (".config", "dotfiles/config"),
            // As it is written within an instance, and by way of another link.
            (".aws", "/home/ines/aws-here"),
            ("aws-here", "dotfiles/aws"),
            (".netrc", "./dotfiles/netrc"),
            (".kube", "."),
            (".gnupg", "../../outside/theirs"),
        ] {
            symlink(target, home.join(link)).expect("a link");
        }
        symlink(outside.join("theirs"), home.join(".pgpass")).expect("a link");
        let listed = secrets_in(&instance);
        for name in [".ssh", "dotfiles/ssh", ".config/gh", "dotfiles/aws", "./dotfiles/netrc"] {
            assert!(listed.iter().any(|one| one == name), "{name}: {listed:?}");
        }
        give(&instance, &trash, None).expect("given");
        for gone in ["dotfiles/ssh", "dotfiles/config/gh", "dotfiles/aws", "dotfiles/netrc", ".ssh", ".pgpass"] {
            assert!(fs::symlink_metadata(home.join(gone)).is_err(), "{gone}");
        }
        assert!(home.join("work").is_dir() && home.join("dotfiles/config").is_dir(), "the rest stays");
        assert_eq!(fs::read_to_string(outside.join("theirs")).expect("is there"), "of somebody else");
    }
}
