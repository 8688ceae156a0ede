//! What goes by itself: uploads a day after their last piece, and what was deleted thirty days ago. Found
//! anew on the disk each time, so that it may be cut short anywhere.

use std::time::Duration;

use atelier_domain::Timestamp;
use atelier_domain::time::Span;
use atelier_engine::clock;
use atelier_engine::run::Phase;
use atelier_files::{Error, Who};

use crate::studio::Studio;

const EVERY: Duration = Duration::from_secs(3_600);
/// A server that has just started has better things to do.
const FIRST: Duration = Duration::from_secs(120);
/// How long an upload waits for its next piece.
const UPLOADS: Span = Span::hours(24);
/// How long what was deleted can be brought back.
const TRASH: Span = Span::hours(30 * 24);

/// Goes round until the server ends.
pub async fn run(state: Studio) {
    let mut pause = FIRST;
    loop {
        tokio::time::sleep(pause).await;
        pause = EVERY;
        if matches!(state.engine().status().phase, Phase::Stopped | Phase::Fenced) {
            return;
        }
        if let Err(error) = sweep(&state, clock::now()).await {
            tracing::warn!(error, "not all old uploads and deleted files could be removed; the next hour goes on");
        }
    }
}

/// Removes what is old enough, of everybody who has a folder.
pub async fn sweep(state: &Studio, now: Timestamp) -> Result<(usize, usize), String> {
    let people = state.store().file_owners().await.map_err(|error| error.to_string())?;
    let (files, fleet) = (state.files().clone(), state.fleet().clone());
    let (old_uploads, old_trash) = (now.0 - UPLOADS.as_millis(), now.0 - TRASH.as_millis());
    let swept = tokio::task::spawn_blocking(move || {
        let area = files.area(&fleet).map_err(|error| error.to_string())?;
        let (mut uploads, mut trash, mut problem) = (0, 0, None);
        for person in people {
            // As ourselves, in folders that are each person's own.
            let who = Who { handle: person.handle, uid: None };
            let swept = [area.sweep_uploads(&who, old_uploads), area.purge(&who, None, old_trash)];
            for (swept, count) in swept.into_iter().zip([&mut uploads, &mut trash]) {
                match swept {
                    Ok(gone) => *count += gone,
                    // Somebody who may look and not write has no folder.
                    Err(Error::NotFound) => {}
                    // What cannot be removed does not keep the rest.
                    Err(error) => problem = problem.or_else(|| Some(format!("{}: {error}", who.handle))),
                }
            }
        }
        Ok::<_, String>((uploads, trash, problem))
    });
    let (uploads, trash, problem) = swept.await.map_err(|error| error.to_string())??;
    if uploads + trash > 0 {
        tracing::info!(uploads, trash, "removed old uploads and deleted files");
    }
    problem.map_or(Ok((uploads, trash)), Err)
}
