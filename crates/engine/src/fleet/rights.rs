//! Who may go where in the data directory.
//!
//! It is the server's alone, and so is everything in it but the folders of people. Where people have users of
//! their own and no private view of the system, those must get through to their folders: then the directory
//! lets everybody pass and nobody look around, and each thing in it is closed by itself.

use std::fs::{self, DirBuilder, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use super::Folders;

/// Everybody passes, nobody looks around.
const PASS: u32 = 0o711;
const OWN: u32 = 0o700;
/// Everybody may add something, and nobody may remove what is another's.
const SHARED: u32 = 0o1777;

impl Folders {
    /// Makes the folders that nodes on this machine need. Those that exist keep their rights, which are
    /// somebody's decision.
    ///
    /// # Errors
    /// In words, with the folder.
    pub fn make(&self) -> Result<(), String> {
        let files = self.homes().parent().map(Path::to_owned).unwrap_or_default();
        let own = [self.logs(), self.blobs(), self.nodes()];
        let ways = [files, self.homes(), self.jobs(), self.programs(), self.environments()];
        for (folder, mode) in own.iter().map(|own| (own, OWN)).chain(ways.iter().map(|way| (way, PASS))) {
            make(folder, mode).map_err(|error| cannot(folder, "be made", &error))?;
        }
        let shared = self.shared();
        make(&shared, SHARED)
            .and_then(|()| set(&shared, SHARED))
            .map_err(|error| cannot(&shared, "be opened to everybody", &error))
    }

    /// Lets people's own users through to their folders, after everything else was closed to them.
    ///
    /// # Errors
    /// What is in their way, in words.
    pub fn let_people_through(&self) -> Result<(), String> {
        self.make()?;
        let data = self.data();
        let files = self.homes().parent().map(Path::to_owned).unwrap_or_default();
        let ways = [files, self.homes(), self.jobs(), self.programs(), self.environments()];
        // Agents make the folders of instances, and see to their rights themselves.
        let instances = self.instances();
        close_all(data, |path, _| ways.iter().chain([&instances]).any(|open| open == path))?;
        // What belongs to somebody already is theirs to open.
        let ours = rustix::process::geteuid().as_raw();
        for people in [self.homes(), self.jobs()] {
            close_all(&people, |_, info| info.uid() != ours)?;
        }
        for way in &ways {
            set(way, PASS).map_err(|error| cannot(way, "be opened to those who pass", &error))?;
        }
        let rights = |path: &Path| fs::metadata(path).map(|info| mode(&info));
        set(data, PASS).map_err(|error| cannot(data, "be opened to those who pass", &error))?;
        for place in [data.to_owned(), self.homes(), self.shared(), self.jobs()] {
            let place = place.canonicalize().map_err(|error| cannot(&place, "be found", &error))?;
            for above in place.ancestors().skip(1) {
                let mode = rights(above).map_err(|error| cannot(above, "be looked at", &error))?;
                if mode & 0o001 == 0 {
                    return Err(format!(
                        "people’s own users cannot get to {}: {} lets nobody else pass (its rights are {mode:03o}). \
                         Move the data directory, for example to /var/lib/atelier, or allow it: chmod o+x {}",
                        place.display(),
                        above.display(),
                        above.display()
                    ));
                }
            }
        }
        Ok(())
    }
}

fn cannot(path: &Path, what: &str, error: &io::Error) -> String {
    format!("{} cannot {what}: {error}", path.display())
}

fn mode(info: &Metadata) -> u32 {
    info.permissions().mode() & 0o7777
}

fn set(path: &Path, mode: u32) -> io::Result<()> {
    fs::set_permissions(path, Permissions::from_mode(mode))
}

fn make(folder: &Path, mode: u32) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    DirBuilder::new().recursive(true).mode(mode).create(folder)?;
    // Whatever is kept from new files in general.
    set(folder, mode)
}

/// Takes everything in a folder away from everybody but its owner. Links lead elsewhere, where others decide.
fn close_all(folder: &Path, is_left: impl Fn(&Path, &Metadata) -> bool) -> Result<(), String> {
    let read = |error: io::Error| cannot(folder, "be read", &error);
    for entry in fs::read_dir(folder).map_err(read)? {
        let entry = entry.map_err(read)?;
        let path = entry.path();
        let info = match entry.metadata() {
            Ok(info) => info,
            // The database has files that come and go.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(cannot(&path, "be looked at", &error)),
        };
        if info.is_symlink() || is_left(&path, &info) || mode(&info) & 0o077 == 0 {
            continue;
        }
        match set(&path, mode(&info) & !0o077) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(cannot(&path, "be closed to others", &error));
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_get_through_and_see_nothing_on_the_way() {
        let place = tempfile::tempdir().expect("a folder");
        set(place.path(), 0o755).expect("opened");
        let folders = Folders::new(&place.path().join("data"));
        folders.make().expect("made");
        let rights = |path: &Path| mode(&fs::metadata(path).expect("is there"));
        for (path, expected) in [
            (folders.logs(), OWN),
            (folders.blobs(), OWN),
            (folders.nodes(), OWN),
            (folders.homes(), PASS),
            (folders.jobs(), PASS),
            (folders.programs(), PASS),
            (folders.shared(), SHARED),
        ] {
            assert_eq!(rights(&path), expected, "{}", path.display());
        }
        set(folders.data(), OWN).expect("closed");
        // As they may be found: of an older server, or put there by an operator.
        let loose = ["atelier.db", "atelier.toml", "engine.lock", "tls.key"].map(|name| folders.data().join(name));
        for file in &loose {
            fs::write(file, "secret").expect("written");
            set(file, 0o644).expect("opened");
        }
        set(&folders.logs(), 0o755).expect("opened");
        fs::create_dir(folders.instances()).expect("made");
        set(&folders.instances(), PASS).expect("opened");
        fs::create_dir_all(folders.homes().join("someone")).expect("made");
        set(&folders.homes().join("someone"), 0o755).expect("opened");
        let outside = place.path().join("outside");
        fs::write(&outside, "").expect("written");
        set(&outside, 0o644).expect("opened");
        std::os::unix::fs::symlink(&outside, folders.data().join("link")).expect("linked");

        folders.let_people_through().expect("opened");
        assert_eq!(rights(folders.data()), PASS);
        for file in &loose {
            assert_eq!(rights(file), 0o600, "{}", file.display());
        }
        assert_eq!(rights(&folders.logs()), OWN);
        assert_eq!(rights(&folders.instances()), PASS);
        assert_eq!(rights(&folders.homes().join("someone")), OWN);
        assert_eq!(rights(&folders.shared()), SHARED);
        assert_eq!(rights(&outside), 0o644, "links are not followed");
        // Again changes nothing.
        folders.let_people_through().expect("is open");
        assert_eq!(rights(folders.data()), PASS);

        set(place.path(), OWN).expect("closed");
        let why = folders.let_people_through().expect_err("the way is closed");
        assert!(why.contains("its rights are 700") && why.contains("chmod o+x"), "{why}");
    }
}
