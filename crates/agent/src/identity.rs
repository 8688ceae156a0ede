//! Tokens of the people whose things run on this node: in a file each, where only they can read it, renewed
//! in time.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _, lchown, symlink};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use atelier_domain::UserId;
use atelier_domain::text::is_id;
use atelier_protocol::Identity;

use crate::config::AgentConfig;
use crate::facts::Isolation;
use crate::sandbox::PROGRAM;
use crate::{clock, network};

/// Where a private view has them.
pub const INSIDE: &str = "/run/atelier/identity";
/// What makes kernels listen on sockets of the file system, also those of notebooks that run as jobs.
/// JupyterLab names a connection file for each of its kernels itself; others get one in a folder of their
/// process, since the paths of sockets are short and those that Jupyter would choose are relative.
const JUPYTER: &str = r#"import atexit
import os
import shutil
import tempfile

c = get_config()  # noqa: F821
c.KernelManager.transport = "ipc"
_folder = tempfile.mkdtemp(prefix="kernel-")
atexit.register(shutil.rmtree, _folder, True)
c.KernelManager.connection_file = os.path.join(_folder, "kernel.json")
"#;
/// The name of the file.
const TOKEN: &str = "token";
/// The least time between two questions for the same token.
const AGAIN: Duration = Duration::from_secs(30);

/// Where a person's token is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The folder on the machine. It and all above it belong to the agent, so nobody can put a link in the
    /// way.
    pub folder: PathBuf,
    /// The same folder as the person's programs see it.
    pub inside: String,
}

impl Place {
    /// That of somebody on this node.
    pub fn of(config: &AgentConfig, isolation: &Isolation, person: &UserId) -> Self {
        match isolation {
            Isolation::View(_) => {
                Self { folder: config.folder.join("identity").join(person.as_str()), inside: INSIDE.to_owned() }
            }
            // A node's own folder is closed to people who have no view of their own.
            Isolation::Users | Isolation::None => {
                let name = format!("{}.{}", config.node.0, person.as_str());
                let folder = config.jobs.join(".identity").join(name);
                Self { inside: folder.display().to_string(), folder }
            }
        }
    }

    /// The file, as the person's programs see it.
    pub fn file(&self) -> String {
        format!("{}/{TOKEN}", self.inside)
    }

    /// Where the program `atelier` is, as they see it.
    pub fn tools(&self) -> String {
        format!("{}/bin", self.inside)
    }

    /// Where Jupyter finds settings of ours, as they see it.
    pub fn jupyter(&self) -> String {
        format!("{}/jupyter", self.inside)
    }

    /// Makes the folder, with the program and settings of Jupyter in it.
    pub fn make(&self, isolation: &Isolation) -> io::Result<()> {
        let (bin, jupyter) = (self.folder.join("bin"), self.folder.join("jupyter"));
        fs::DirBuilder::new().recursive(true).mode(0o711).create(&bin)?;
        fs::DirBuilder::new().recursive(true).mode(0o755).create(&jupyter)?;
        let settings = jupyter.join("jupyter_config.py");
        if !settings.exists() {
            let beside = jupyter.join("new");
            fs::write(&beside, JUPYTER)?;
            fs::set_permissions(&beside, fs::Permissions::from_mode(0o644))?;
            fs::rename(beside, settings)?;
        }
        let program = match isolation {
            Isolation::View(_) => PathBuf::from(PROGRAM),
            Isolation::Users | Isolation::None => std::env::current_exe()?,
        };
        match symlink(program, bin.join("atelier")) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => Ok(()),
        }
    }

    /// Replaces the token, all at once.
    fn write(&self, token: &str, uid: Option<u32>) -> io::Result<()> {
        let beside = self.folder.join("token.new");
        let _ = fs::remove_file(&beside);
        let mut file = fs::File::options().write(true).create_new(true).mode(0o400).open(&beside)?;
        file.write_all(token.as_bytes())?;
        if uid.is_some() {
            lchown(&beside, uid, uid)?;
        }
        fs::rename(&beside, self.folder.join(TOKEN))
    }

    fn remove(&self) {
        let _ = fs::remove_file(self.folder.join(TOKEN));
    }
}

#[derive(Debug)]
struct Known {
    url: String,
    renew_at: Instant,
    /// Over which connection it was told.
    link: u64,
    place: Place,
}

/// The tokens that this node has.
#[derive(Debug, Default)]
pub struct Identities {
    known: HashMap<UserId, Known>,
}

impl Identities {
    /// The server has told one.
    pub fn keep(&mut self, config: &AgentConfig, isolation: &Isolation, told: Identity, link: u64) {
        let id = told.person.id.clone();
        if !is_id(id.as_str()) {
            return;
        }
        let place = Place::of(config, isolation, &id);
        let uid = if *isolation == Isolation::None { None } else { told.person.uid };
        if let Err(error) = place.make(isolation).and_then(|()| place.write(&told.token, uid)) {
            tracing::warn!(%error, place = %place.folder.display(), "a token cannot be written");
            return;
        }
        let renew_at = clock::now() + Duration::from_secs(told.renew_seconds).max(AGAIN);
        let url = network::url(config).unwrap_or(told.url);
        self.known.insert(id, Known { url, renew_at, link, place });
    }

    /// There is none any more.
    pub fn drop_one(&mut self, person: &UserId) {
        if let Some(known) = self.known.remove(person) {
            known.place.remove();
        }
    }

    /// Whose next token is to be asked for over this connection now.
    pub fn due(&mut self, link: u64, now: Instant) -> Vec<UserId> {
        let due = self.known.iter_mut().filter(|(_, known)| known.link == link && known.renew_at <= now);
        due.map(|(id, known)| {
            known.renew_at = now + AGAIN;
            id.clone()
        })
        .collect()
    }

    /// What somebody's programs are told of theirs: where it counts and where it is.
    pub fn variables(&self, person: &UserId) -> Vec<(String, String)> {
        let known = self.known.get(person);
        known.map(|known| variables(&known.url, &known.place).to_vec()).unwrap_or_default()
    }

    /// At the end of the node.
    pub fn remove_all(&mut self) {
        self.known.drain().for_each(|(_, known)| known.place.remove());
    }
}

/// The variables that lead to a token.
pub fn variables(url: &str, place: &Place) -> [(String, String); 2] {
    [("ATELIER_URL".to_owned(), url.to_owned()), ("ATELIER_TOKEN_FILE".to_owned(), place.file())]
}

/// The folder of the program `atelier` for somebody's programs.
pub fn tools(config: &AgentConfig, isolation: &Isolation, person: &UserId) -> String {
    Place::of(config, isolation, person).tools()
}

/// Makes the folder before a sandbox is, which has to find it.
pub fn prepare(config: &AgentConfig, isolation: &Isolation, person: &UserId) -> Option<PathBuf> {
    let place = Place::of(config, isolation, person);
    match place.make(isolation) {
        Ok(()) => Some(place.folder),
        Err(error) => {
            tracing::warn!(%error, place = %place.folder.display(), "the folder of a token cannot be made");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use atelier_domain::compute::NodeId;
    use atelier_protocol::Person;

    use super::*;

    fn told(token: &str) -> Identity {
        let person = Person { id: UserId::new("user-7"), handle: "ines".into(), uid: None };
        Identity { person, token: token.into(), url: "http://127.0.0.1:3000".into(), renew_seconds: 1_800 }
    }

    #[test]
    fn a_token_is_replaced_asked_for_in_time_and_removed() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().expect("a folder");
        let config = AgentConfig::new("unix:/x", NodeId(7), "t", folder.path());
        let (mut all, user) = (Identities::default(), UserId::new("user-7"));
        assert_eq!(all.variables(&user), Vec::new());
        all.keep(&config, &Isolation::None, told("one"), 1);
        all.keep(&config, &Isolation::None, told("two"), 1);
        let variables = all.variables(&user);
        let file = Path::new(&variables[1].1).to_owned();
        assert_eq!(
            (variables[0].1.as_str(), fs::read_to_string(&file).expect("is there")),
            ("http://127.0.0.1:3000", "two".into())
        );
        assert_eq!(fs::metadata(&file).expect("is there").permissions().mode() & 0o777, 0o400);
        assert!(fs::symlink_metadata(file.with_file_name("bin").join("atelier")).is_ok());

        let now = clock::now();
        assert_eq!(all.due(1, now), Vec::new());
        let later = now + Duration::from_secs(1_801);
        assert_eq!(all.due(2, later), Vec::new(), "another server would not understand");
        assert_eq!(all.due(1, later), std::slice::from_ref(&user));
        assert_eq!(all.due(1, later), Vec::new(), "not again at once");
        all.drop_one(&user);
        assert!(!file.exists() && all.variables(&user).is_empty());
    }

    #[test]
    fn nobody_has_a_folder_under_a_strange_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let config = AgentConfig::new("unix:/x", NodeId(7), "t", folder.path());
        let mut all = Identities::default();
        let mut strange = told("one");
        strange.person.id = UserId::new("../../etc");
        all.keep(&config, &Isolation::None, strange, 1);
        assert!(fs::read_dir(folder.path()).expect("is there").next().is_none());
    }
}
