//! Outputs of jobs that are wanted in Files: copied when the job is over, once, as its owner.
//!
//! What is to be done is read from the store each time (jobs that are over and of which nothing is noted), so nothing is lost when
//! the server ends in between; and a folder that is there already was copied before.

use std::time::Duration;

use atelier_domain::files::{FilePath, bytes};
use atelier_engine::clock;
use atelier_engine::store::{JobRow, KeptOutputs};
use atelier_files::{Error, Who};

use super::{RESERVE, count};
use crate::server::state::AppState;

/// The shortest time between two looks.
const PACE: Duration = Duration::from_millis(500);
/// So many at a time.
const AT_ONCE: u32 = 20;

/// Goes round until the engine has ended.
pub async fn run(state: AppState) {
    let mut status = state.engine().watch();
    loop {
        while round(&state).await == AT_ONCE as usize {}
        tokio::time::sleep(PACE).await;
        if status.changed().await.is_err() {
            return;
        }
    }
}

/// Copies what is wanted now. Says how many jobs it has looked at.
pub async fn round(state: &AppState) -> usize {
    let wanted = match state.store().outputs_to_keep(AT_ONCE).await {
        Ok(wanted) => wanted,
        Err(error) => {
            tracing::warn!(%error, "it could not be read whose outputs are wanted in Files; the next change tries again");
            return 0;
        }
    };
    let count = wanted.len();
    for (row, folder) in wanted {
        let job = row.job.id;
        match keep(state, &row, &folder).await {
            Ok(kept) => {
                if let Err(error) = state.store().note_kept(job, &kept, clock::now()).await {
                    tracing::warn!(%error, %job, "it was not noted that outputs were kept; they are found there the next time");
                    return 0;
                }
            }
            // The disk or the database fails: nothing is noted, so it is tried again.
            Err(why) => {
                tracing::warn!(why, %job, "outputs could not be copied to Files; the next change tries again");
                return 0;
            }
        }
    }
    count
}

async fn keep(state: &AppState, row: &JobRow, folder: &str) -> Result<KeptOutputs, String> {
    let problem = |problem: String| Ok(KeptOutputs { path: String::new(), problem });
    let Ok(into) = FilePath::parse(folder) else { return problem(format!("“{folder}” is no folder of Files.")) };
    let job = &row.job;
    let user = state.store().local_user(&job.owner).await.map_err(|error| error.to_string())?;
    let has_own_users = state.fleet().has_own_users();
    let who = Who { handle: user.handle, uid: has_own_users.then_some(user.uid) };
    if into.person().is_some_and(|person| person != who.handle) {
        return problem(format!("“{into}” is somebody else’s own folder."));
    }
    let limit = state.store().files_limit(&job.workspace).await.map_err(|error| error.to_string())?;
    let (name, attempt, nodes) = (job.id.to_string(), job.attempt, job.spec.nodes);
    let (owner, number) = (job.owner.as_str().to_owned(), job.id.0);
    let (files, fleet) = (state.files().clone(), state.fleet().clone());
    let copied = tokio::task::spawn_blocking(move || {
        let area = files.area(&fleet)?;
        area.welcome(&who)?;
        let (free, _) = area.room()?;
        let on_disk = free.saturating_sub(RESERVE);
        let allowed = match limit {
            Some(limit) => on_disk.min(limit.saturating_sub(count::of(&area.usage()?, who.uid, &who.handle).bytes)),
            None => on_disk,
        };
        let part = |rank: u32| {
            let steps = vec![owner.clone(), format!("{number}.{attempt}.{rank}"), "outputs".to_owned()];
            (steps, if nodes > 1 { format!("part-{rank}") } else { String::new() })
        };
        let parts: Vec<(Vec<String>, String)> = (0..nodes).map(part).collect();
        let kept = area.keep(&who, &fleet.folders().jobs(), &parts, &into, &name, allowed);
        kept.map_err(|error| match error {
            // What there may be, in place of what the disk has.
            Error::Full { .. } => Error::Full { free: allowed },
            other => other,
        })
    });
    let into = folder;
    match copied.await.map_err(|error| error.to_string())? {
        Ok(Some(kept)) => Ok(KeptOutputs { path: kept.path.as_str().to_owned(), problem: String::new() }),
        Ok(None) => Ok(KeptOutputs { path: String::new(), problem: String::new() }),
        Err(Error::Full { free }) => problem(format!(
            "There was no room for the outputs in “{into}”: {} more may be written there. They are still with the job.",
            bytes(free)
        )),
        Err(Error::Denied) => {
            problem(format!("The rights on disk do not let you write to “{into}”. The outputs are still with the job."))
        }
        Err(Error::TooMany { most }) => {
            problem(format!("There are more than {most} outputs. They are still with the job."))
        }
        Err(Error::Link | Error::NotAFolder | Error::Exists) => problem(format!(
            "“{into}” is no folder, or the way to it leads over a link. The outputs are still with the job."
        )),
        Err(error) => Err(error.to_string()),
    }
}
