//! The Python environment that instances start with.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use atelier_domain::access::{Action, Whose};
use atelier_domain::error::AppError;
use atelier_domain::text::Problem;
use atelier_engine::environments::editor::InstallError;
use atelier_engine::environments::{BaseStatus, Built, RebuildError, Requirements};

use crate::caller::Caller;

/// How much of the log's end is looked at, and how many lines of it are shown.
const TAIL: (u64, usize) = (16 << 10, 30);

/// All that the page shows.
#[derive(Clone, Debug)]
pub struct EnvironmentDetail {
    /// How the one does that the list asks for.
    pub status: BaseStatus,
    /// What instances get now.
    pub in_use: Option<Arc<Built>>,
    /// The list, one package a line.
    pub list: String,
    /// The end of what the last build printed.
    pub log: Vec<String>,
    pub folder: PathBuf,
    pub python: PathBuf,
    pub builds: bool,
}

/// How the environment does. Needs `engine.read`.
pub async fn environment(caller: &Caller) -> Result<EnvironmentDetail, AppError> {
    caller.authorise(Action::EngineRead).await?;
    let environments = caller.studio.environments();
    let list = caller.checked(environments.base().requirements().await)?.text();
    let log = match environments.base().log() {
        Some(path) => tokio::task::spawn_blocking(move || tail(&path)).await.unwrap_or_default(),
        None => Vec::new(),
    };
    let settings = environments.settings();
    Ok(EnvironmentDetail {
        status: environments.base().status(),
        in_use: environments.base().in_use(),
        list,
        log,
        folder: settings.folder.clone(),
        python: settings.python.clone(),
        builds: settings.builds,
    })
}

/// The last lines of a log. One that cannot be read is shown as empty: it is an extra.
fn tail(path: &Path) -> Vec<String> {
    use std::io::{Read as _, Seek as _, SeekFrom};
    let (bytes, lines) = TAIL;
    let mut text = Vec::new();
    let read = std::fs::File::open(path).and_then(|mut file| {
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(bytes)))?;
        file.take(bytes).read_to_end(&mut text)?;
        Ok(length > bytes)
    });
    let text = String::from_utf8_lossy(&text);
    let all: Vec<&str> = text.lines().skip(usize::from(read.unwrap_or_default())).collect();
    all[all.len().saturating_sub(lines)..].iter().map(|line| (*line).to_owned()).collect()
}

/// Reads a list of packages.
pub fn list_of(requirements: &str) -> Result<Requirements, Problem> {
    let list = Requirements::parse(requirements)?;
    if !list.has("jupyterlab") {
        let message = "jupyterlab is missing. Instances open with it, so it must be in the list.";
        return Err(Problem::new("requirements", message));
    }
    Ok(list)
}

/// Changes the list of packages; the new environment is built beside the old one. Says whether it is another
/// list. Needs `engine.write`.
pub async fn set_list(caller: &Caller, list: &Requirements, why: Option<String>) -> Result<bool, AppError> {
    let workspace = &caller.actor()?.workspace.id;
    let author = caller.author(why)?;
    let tx = caller.begin(Action::EngineWrite, Whose::Others).await?;
    caller.checked(caller.studio.environments().base().set_requirements(tx, workspace, &author, list).await)
}

/// Builds the environment anew, or tries at once what failed. Says whether it had failed. Needs
/// `engine.write`.
pub async fn rebuild(caller: &Caller, why: Option<String>) -> Result<bool, AppError> {
    let workspace = &caller.actor()?.workspace.id;
    let author = caller.author(why)?;
    let environments = caller.studio.environments();
    let had_failed = matches!(environments.base().status(), BaseStatus::Failed { .. });
    let tx = caller.begin(Action::EngineWrite, Whose::Others).await?;
    match environments.base().rebuild(tx, workspace, &author).await {
        Ok(()) => Ok(had_failed),
        Err(RebuildError::Store(error)) => caller.checked(Err(error)),
        Err(off @ RebuildError::Off) => Err(AppError::refused("environment-off", off.to_string())),
        Err(busy @ RebuildError::Building) => Err(AppError::refused("environment-building", busy.to_string())),
    }
}

/// Begins to install VS Code on this server. Needs `engine.write`.
pub async fn install_editor(caller: &Caller, why: Option<String>) -> Result<(), AppError> {
    let workspace = &caller.actor()?.workspace.id;
    let author = caller.author(why)?;
    let tx = caller.begin(Action::EngineWrite, Whose::Others).await?;
    match caller.studio.editors().install(tx, workspace, &author).await {
        Ok(()) => Ok(()),
        Err(InstallError::Store(error)) => caller.checked(Err(error)),
        Err(there @ InstallError::There) => Err(AppError::refused("editor-installed", there.to_string())),
        Err(busy @ InstallError::Running) => Err(AppError::refused("editor-installing", busy.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_log_is_shown_by_its_last_whole_lines() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log");
        assert_eq!(tail(&path), Vec::<String>::new());
        std::fs::write(&path, "one\ntwo\n").expect("written");
        assert_eq!(tail(&path), ["one", "two"]);
        let long: String = (0..2_000).map(|number| format!("{number} {}\n", "x".repeat(200))).collect();
        std::fs::write(&path, long).expect("written");
        let shown = tail(&path);
        assert!(shown.len() <= TAIL.1 && shown.iter().all(|line| line.ends_with(&"x".repeat(200))));
        assert!(shown.last().is_some_and(|line| line.starts_with("1999 ")));
    }
}
