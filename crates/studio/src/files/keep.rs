//! Outputs of jobs that are wanted in Files: copied when the job is over, once, as its owner.
//!
//! What is to be done is read from the store each time (jobs that are over and of which nothing is noted), so
//! nothing is lost when the server ends in between; and a folder that is there already was copied before.

use std::collections::HashSet;
use std::time::Duration;

use atelier_domain::files::{FilePath, bytes};
use atelier_engine::clock;
use atelier_engine::store::{JobRow, KeptOutputs};
use atelier_files::{Error, Who};

use crate::files::desk::RESERVE;
use crate::studio::Studio;

/// The shortest time between two looks.
const PACE: Duration = Duration::from_millis(500);
/// So long after something failed it is tried again, also when nothing else happens.
const AGAIN: Duration = Duration::from_secs(60);
const AT_ONCE: u32 = 20;
/// With so many that failed a round ends: something is wrong with all of them.
const MOST_FAILED: usize = 200;

/// What came of a round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Round {
    /// Jobs whose outputs are there, or of which is noted why not.
    pub done: usize,
    /// Jobs that the next round tries again.
    pub failed: usize,
}

/// Goes round until the engine has ended.
pub async fn run(state: Studio) {
    let mut status = state.engine().watch();
    loop {
        let round = round(&state).await;
        tokio::time::sleep(PACE).await;
        let changed = if round.failed > 0 {
            tokio::time::timeout(AGAIN, status.changed()).await.unwrap_or(Ok(()))
        } else {
            status.changed().await
        };
        if changed.is_err() {
            return;
        }
    }
}

/// Copies what is wanted now. A job that fails does not keep the others: it is passed over in this round and
/// tried in the next.
pub async fn round(state: &Studio) -> Round {
    let (mut done, mut failed) = (0, HashSet::new());
    while failed.len() < MOST_FAILED {
        // Those that failed are the oldest and come first, so as many more are asked for.
        let most = AT_ONCE + u32::try_from(failed.len()).unwrap_or(AT_ONCE);
        let mut wanted = match state.store().outputs_to_keep(most).await {
            Ok(wanted) => wanted,
            Err(error) => {
                tracing::warn!(%error, "it could not be read whose outputs are wanted in Files; it is tried again");
                return Round { done, failed: failed.len().max(1) };
            }
        };
        wanted.retain(|(row, _)| !failed.contains(&row.job.id));
        if wanted.is_empty() {
            break;
        }
        for (row, folder) in wanted {
            let job = row.job.id;
            match keep_and_note(state, &row, &folder).await {
                Ok(()) => done += 1,
                // The disk or the database fails: nothing is noted, so it is tried again.
                Err(why) => {
                    tracing::warn!(why, %job, "outputs could not be copied to Files; it is tried again");
                    failed.insert(job);
                }
            }
        }
    }
    Round { done, failed: failed.len() }
}

async fn keep_and_note(state: &Studio, row: &JobRow, folder: &str) -> Result<(), String> {
    let kept = keep(state, row, folder).await?;
    state.store().note_kept(row.job.id, &kept, clock::now()).await.map_err(|error| error.to_string())
}

async fn keep(state: &Studio, row: &JobRow, folder: &str) -> Result<KeptOutputs, String> {
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
    let opened = tokio::task::spawn_blocking({
        let (files, fleet) = (files.clone(), fleet.clone());
        move || files.area(&fleet)
    });
    let area = opened.await.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
    // What was counted, with what was written since: walking through everything for each job would take
    // longer than the copies.
    let left = match limit {
        Some(limit) => limit.saturating_sub(files.counted.used(&area, who.uid, &who.handle).await?.bytes),
        None => u64::MAX,
    };
    let handle = who.handle.clone();
    let copied = tokio::task::spawn_blocking(move || {
        area.welcome(&who)?;
        let (free, _) = area.room()?;
        let allowed = free.saturating_sub(RESERVE).min(left);
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
    let words = |sentence: &str| problem(format!("{sentence} The outputs are still with the job."));
    match copied.await.map_err(|error| error.to_string())? {
        Ok(Some(kept)) => {
            state.files().counted.add(&handle, kept.bytes);
            Ok(KeptOutputs { path: kept.path.as_str().to_owned(), problem: String::new() })
        }
        Ok(None) => Ok(KeptOutputs { path: String::new(), problem: String::new() }),
        Err(Error::Full { free }) => problem(format!(
            "There was no room for the outputs in “{into}”: {} more may be written there. They are still with the job.",
            bytes(free)
        )),
        Err(Error::Denied) => words(&format!("The rights on disk do not let you write to “{into}”.")),
        Err(Error::TooMany { most }) => words(&format!("There are more than {most} outputs.")),
        Err(Error::Link | Error::NotAFolder | Error::IsAFolder | Error::Exists) => {
            words(&format!("“{into}” is no folder, or the way to it leads over a link."))
        }
        Err(Error::OtherDisk) => {
            words(&format!("“{into}” is on another disk than the rest of Files, where nothing can be put in one step."))
        }
        Err(Error::NotFound | Error::IntoItself) => words(&format!(
            "“{into}” cannot take the folder of this job: its path is too long, or it was removed meanwhile."
        )),
        Err(Error::Io(error)) if is_lasting(&error) => {
            words(&format!("“{into}” or a name in the outputs is too long for the disk."))
        }
        // What may be over the next time, such as a disk that does not answer.
        Err(error @ (Error::Io(_) | Error::Busy | Error::Changed { .. } | Error::Offset { .. })) => {
            Err(error.to_string())
        }
    }
}

/// Whether the disk would say the same the next time: a name that is too long stays so.
fn is_lasting(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::InvalidFilename
}
