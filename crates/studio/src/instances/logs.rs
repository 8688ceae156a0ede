//! What an instance printed: its set-ups and its applications.

use std::io;
use std::path::{Path, PathBuf};

use atelier_domain::access::Action;
use atelier_domain::compute::InstanceId;
use atelier_domain::compute::app::{setup_log, setup_of};
use atelier_domain::error::AppError;
use atelier_engine::fleet::Folders;

use crate::caller::Caller;
use crate::instances::apps::AppView;
use crate::instances::commands::{Subject, authorise};
use crate::jobs::log::{Place, Printed, Window, window};

const SETUPS: usize = 10;

/// One log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogChoice {
    /// Its name in addresses: `setup-3` or that of an application.
    pub name: String,
    pub label: String,
    pub length: u64,
}

/// A log in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFile(PathBuf);

impl LogFile {
    /// Of that instance. A name that could lead elsewhere is none.
    pub fn of(folders: &Folders, instance: InstanceId, name: &str) -> Option<Self> {
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let is_name = !name.is_empty() && name.len() <= 40 && name.bytes().all(is_plain);
        is_name.then(|| Self(folder(folders, instance).join(format!("{name}.log"))))
    }
}

fn folder(folders: &Folders, instance: InstanceId) -> PathBuf {
    folders.instance(instance).join("logs")
}

impl Printed for LogFile {
    fn path(&self) -> PathBuf {
        self.0.clone()
    }
}

/// The logs of an instance and what is shown of one.
#[derive(Clone, Debug)]
pub struct LogsView {
    /// All there are: the newest set-up first, then older ones, then applications.
    pub all: Vec<LogChoice>,
    /// Which is shown; none if there is none at all.
    pub name: String,
    pub window: Option<Window>,
    /// Whether this is its end, where more may come.
    pub is_end: bool,
}

/// Refuses who may neither use nor operate it: what it prints is its owner's.
pub async fn may_read(caller: &Caller, subject: &Subject) -> Result<(), AppError> {
    authorise(caller, subject, Action::InstanceOperate).await
}

/// Reads a log. Needs `instance.operate`.
pub async fn logs(
    caller: &Caller,
    subject: &Subject,
    apps: &[AppView],
    wanted: &str,
    place: Place,
) -> Result<LogsView, AppError> {
    may_read(caller, subject).await?;
    let (folders, id) = (caller.studio.fleet().folders().clone(), subject.id);
    let (apps, wanted): (Vec<(String, String)>, String) =
        (apps.iter().map(|app| (app.name.clone(), app.label.clone())).collect(), wanted.to_owned());
    // Files are read on a thread that may wait for the disk.
    let read = tokio::task::spawn_blocking(move || {
        let all = list(&folder(&folders, id), &apps);
        let name = all.iter().find(|log| log.name == wanted).or(all.first()).map(|log| log.name.clone());
        let file = name.as_ref().and_then(|name| LogFile::of(&folders, id, name));
        let window = file.map(|file| window(&file, place)).transpose()?;
        Ok::<_, io::Error>(LogsView { all, name: name.unwrap_or_default(), window, is_end: place == Place::End })
    });
    caller.checked(caller.checked(read.await)?)
}

/// What there is, by the names of files.
fn list(folder: &Path, apps: &[(String, String)]) -> Vec<LogChoice> {
    let mut setups: Vec<(u64, u64)> = Vec::new();
    let mut found: Vec<(String, u64)> = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let (name, length) = (entry.file_name(), entry.metadata().map_or(0, |info| info.len()));
        let Some(name) = name.to_str().and_then(|name| name.strip_suffix(".log")) else { continue };
        match setup_of(name) {
            Some(generation) => setups.push((generation, length)),
            None => found.push((name.to_owned(), length)),
        }
    }
    setups.sort_unstable();
    setups.reverse();
    setups.truncate(SETUPS);
    let newest = setups.first().map(|(generation, _)| *generation);
    let setups = setups.into_iter().map(|(generation, length)| LogChoice {
        name: setup_log(generation),
        label: if Some(generation) == newest { "Last set-up".into() } else { format!("Set-up {generation}") },
        length,
    });
    found.sort();
    let others = found.into_iter().map(|(name, length)| {
        let label = apps.iter().find(|(app, _)| *app == name).map_or_else(|| name.clone(), |(_, label)| label.clone());
        LogChoice { name, label, length }
    });
    setups.chain(others).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_set_up_comes_first_and_names_lead_nowhere_else() {
        let data = tempfile::tempdir().expect("a folder");
        let folders = Folders::new(data.path());
        let logs = folder(&folders, InstanceId(3));
        std::fs::create_dir_all(&logs).expect("made");
        for (name, text) in
            [("setup-2.log", "two\n"), ("setup-11.log", "eleven\n"), ("jupyter.log", "x"), ("notes", "")]
        {
            std::fs::write(logs.join(name), text).expect("written");
        }
        let names: Vec<(String, String)> = list(&logs, &[("jupyter".into(), "JupyterLab".into())])
            .into_iter()
            .map(|log| (log.name, log.label))
            .collect();
        let expected = [("setup-11", "Last set-up"), ("setup-2", "Set-up 2"), ("jupyter", "JupyterLab")];
        assert_eq!(names, expected.map(|(name, label)| (name.to_owned(), label.to_owned())));
        let file = LogFile::of(&folders, InstanceId(3), "setup-11").expect("a name");
        assert_eq!((file.length(), file.read(3, 100).expect("reads")), (7, b"ven\n".to_vec()));
        for name in ["", "../setup-2", "a/b", "A", "setup-2.log"] {
            assert!(LogFile::of(&folders, InstanceId(3), name).is_none(), "{name}");
        }
    }
}
