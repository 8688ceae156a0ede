//! The folders of a person on this node.

use std::os::unix::fs::{DirBuilderExt, PermissionsExt, lchown};
use std::path::{Path, PathBuf};
use std::{fs, io};

use atelier_domain::files::USERS;
use atelier_protocol::Person;

use crate::config::AgentConfig;
use crate::instance::Mounts;

/// Where a person's folders are on the machine.
#[derive(Clone, Debug)]
pub struct PersonFolders {
    pub home: PathBuf,
    pub jobs: PathBuf,
    /// What programs in the sandbox use as `/tmp`. On disk: in memory it would count for whoever wrote it
    /// long after they ended.
    pub temporary: PathBuf,
    /// The user database that programs in the sandbox see.
    pub users: PathBuf,
    /// Where their token is; nothing where nobody's name is to be used.
    pub identity: Option<PathBuf>,
    /// What else a sandbox of theirs has: that of an instance.
    pub mounts: Option<Mounts>,
}

/// Makes the folders of a person. All of their parents belong to the agent, so nobody else can put a link in
/// the way.
pub fn prepare(
    config: &AgentConfig,
    person: &Person,
    uid: Option<u32>,
    sandbox: u64,
    mounts: Option<&Mounts>,
) -> Result<PersonFolders, String> {
    let name = person.id.as_str();
    if !atelier_domain::text::is_id(name) {
        return Err(format!("“{name}” cannot be the name of a folder"));
    }
    let is_handle = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if person.handle.is_empty() || !person.handle.chars().all(is_handle) {
        return Err(format!("“{}” cannot be the name of a person's home", person.handle));
    }
    let temporary = config.folder.join("tmp");
    let folders = PersonFolders {
        home: mounts.map_or_else(|| config.homes.join(name), |mounts| mounts.home.clone()),
        jobs: mounts.and_then(|mounts| mounts.jobs.clone()).unwrap_or_else(|| config.jobs.join(name)),
        temporary: temporary.join(sandbox.to_string()),
        users: temporary.join(format!("{sandbox}.passwd")),
        identity: None,
        mounts: mounts.cloned(),
    };
    for path in [&config.homes, &config.jobs, &temporary] {
        make(path, 0o711).map_err(|error| cannot(path, error))?;
    }
    let own = if mounts.is_none_or(|mounts| mounts.has_files) { Some(own_files(config, person)?) } else { None };
    for path in [&folders.home, &folders.jobs, &folders.temporary].into_iter().chain(&own) {
        make(path, 0o700).map_err(|error| cannot(path, error))?;
        if uid.is_some() {
            lchown(path, uid, uid).map_err(|error| cannot(path, error))?;
        }
    }
    let handle = &person.handle;
    let number = uid.unwrap_or(0);
    let users = format!(
        "root:x:0:0:root:/:/usr/sbin/nologin\n{handle}:x:{number}:{number}::/home/{handle}:/bin/sh\n\
         nobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n"
    );
    fs::write(&folders.users, users).map_err(|error| cannot(&folders.users, error))?;
    Ok(folders)
}

/// The files of the workspace, as far as they have to be there, and which folder of them is the person's own.
fn own_files(config: &AgentConfig, person: &Person) -> Result<PathBuf, String> {
    if !config.shared.exists() {
        make(&config.shared, 0o777).map_err(|error| cannot(&config.shared, error))?;
        // Everybody may write there, and nobody may remove what is another's.
        let rights = fs::Permissions::from_mode(0o1777);
        fs::set_permissions(&config.shared, rights).map_err(|error| cannot(&config.shared, error))?;
    }
    let users = config.shared.join(USERS);
    make(&users, 0o755).map_err(|error| cannot(&users, error))?;
    Ok(users.join(&person.handle))
}

fn cannot(path: &Path, error: io::Error) -> String {
    format!("the folder {} cannot be made: {error}", path.display())
}

fn make(path: &Path, mode: u32) -> io::Result<()> {
    if path.is_dir() { Ok(()) } else { fs::DirBuilder::new().recursive(true).mode(mode).create(path) }
}
