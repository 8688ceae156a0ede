//! The Python environment that instances start with: how it does, what is in it, and the list that operators change.

#![allow(
    missing_docs,
    reason = "the argument structs of server functions are generated; their fields are the form's fields"
)]

use leptos::prelude::*;

use crate::api::Done;
use crate::error::AppError;

#[cfg(feature = "ssr")]
pub use reads::*;

/// Changes the list of packages; the new environment is built beside the old one. Needs `engine.write`.
#[server(prefix = "/fn", endpoint = "set_environment")]
pub async fn set_environment(requirements: String, #[server(default)] why: String) -> Result<Done, AppError> {
    changes::set(&requirements, &why).await
}

/// Builds the environment anew, or tries at once what failed. Needs `engine.write`.
#[server(prefix = "/fn", endpoint = "rebuild_environment")]
pub async fn rebuild_environment(#[server(default)] why: String) -> Result<Done, AppError> {
    changes::rebuild(&why).await
}

#[cfg(feature = "ssr")]
mod reads {
    use std::path::{Path, PathBuf};
    use std::sync::Arc;

    use atelier_domain::access::Action;
    use atelier_engine::environments::{Built, EnvironmentStatus};

    use crate::api::caller::Caller;
    use crate::error::AppError;

    /// How much of the log's end is looked at, and how many lines of it are shown.
    const TAIL: (u64, usize) = (16 << 10, 30);

    /// All that the page shows.
    #[derive(Clone, Debug)]
    pub struct EnvironmentDetail {
        /// How the one does that the list asks for.
        pub status: EnvironmentStatus,
        /// What instances get now.
        pub in_use: Option<Arc<Built>>,
        /// The list, one package a line.
        pub list: String,
        /// The end of what the last build printed.
        pub log: Vec<String>,
        /// Where environments are.
        pub folder: PathBuf,
        /// The Python they stand on.
        pub python: PathBuf,
        /// Whether this server builds them.
        pub builds: bool,
    }

    /// How the environment does. Needs `engine.read`.
    pub async fn environment() -> Result<EnvironmentDetail, AppError> {
        let caller = Caller::here()?;
        caller.authorise(Action::EngineRead).await?;
        let environments = caller.state.environments();
        let list = caller.checked(environments.requirements().await)?.text();
        let log = match environments.log() {
            Some(path) => tokio::task::spawn_blocking(move || tail(&path)).await.unwrap_or_default(),
            None => Vec::new(),
        };
        let settings = environments.settings();
        Ok(EnvironmentDetail {
            status: environments.status(),
            in_use: environments.in_use(),
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
}

#[cfg(feature = "ssr")]
mod changes {
    use atelier_domain::access::{Action, Whose};
    use atelier_domain::text::{Problem, parse_why};
    use atelier_engine::environments::{EnvironmentStatus, RebuildError, Requirements};

    use crate::api::Done;
    use crate::api::caller::Caller;
    use crate::error::AppError;

    pub async fn set(requirements: &str, why: &str) -> Result<Done, AppError> {
        let caller = Caller::here()?;
        let actor = caller.authorise(Action::EngineWrite).await?;
        let mut problems = Vec::new();
        let mut take = |problem| problems.push(problem);
        let list = Requirements::parse(requirements).map_err(&mut take).ok();
        let why = parse_why(why).map_err(&mut take).ok();
        if list.as_ref().is_some_and(|list| !list.has("jupyterlab")) {
            let message = "jupyterlab is missing. Instances open with it, so it must be in the list.";
            take(Problem::new("requirements", message));
        }
        let (Some(list), Some(why), true) = (list, why, problems.is_empty()) else {
            return Err(AppError::Invalid { problems });
        };
        let (workspace, author) = (actor.workspace.id.clone(), caller.author(why)?);
        let tx = caller.begin(Action::EngineWrite, Whose::Others).await?;
        let environments = caller.state.environments();
        let is_new = caller.checked(environments.set_requirements(tx, &workspace, &author, &list).await)?;
        Ok(Done::stay(match (is_new, environments.settings().builds) {
            (false, _) => "That is the list already; nothing was changed.",
            (true, true) => "The new environment is being built. Instances get the old one until it is done.",
            (true, false) => "The list is kept. This server builds nothing by itself; run atelier environment build.",
        }))
    }

    pub async fn rebuild(why: &str) -> Result<Done, AppError> {
        let caller = Caller::here()?;
        let actor = caller.authorise(Action::EngineWrite).await?;
        let why = parse_why(why)?;
        let (workspace, author) = (actor.workspace.id.clone(), caller.author(why)?);
        let environments = caller.state.environments();
        let had_failed = matches!(environments.status(), EnvironmentStatus::Failed { .. });
        let tx = caller.begin(Action::EngineWrite, Whose::Others).await?;
        match environments.rebuild(tx, &workspace, &author).await {
            Ok(()) if had_failed => Ok(Done::stay("It is being tried again.")),
            Ok(()) => Ok(Done::stay("It is being built anew. Instances get the old one until it is done.")),
            Err(RebuildError::Store(error)) => caller.checked(Err(error)),
            Err(refused @ RebuildError::Off) => {
                Err(AppError::Refused { code: "environment-off".into(), message: refused.to_string() })
            }
            Err(refused @ RebuildError::Building) => {
                Err(AppError::Refused { code: "environment-building".into(), message: refused.to_string() })
            }
        }
    }
}
