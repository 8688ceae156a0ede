//! Whether a database fits its data directory, and taking back an older one.
//!
//! [`check`] runs before anything is touched. A database that is older than the data is refused: it would
//! give ids out again whose files, logs and processes are still there. [`accept`] is the operator's decision
//! to go on with it. All that it doesn't know is moved into quarantine, and new ids start above every number
//! that was ever given out. It may be killed anywhere and run again: until its one transaction has committed,
//! the database is still behind.

mod scan;

use std::path::Path;

use atelier_domain::Timestamp;
use atelier_domain::compute::{InstanceId, NodeId};
use atelier_domain::marks::{Fit, KeptMarks, Marks, lags_said, restart_above};

use crate::drivers::local;
use crate::fleet::Folders;
use crate::marks::MarksFile;
use crate::quarantine::{Held, Quarantine};
use crate::store::{self, Store};

/// Why a server doesn't start on this data. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    #[error(
        "the database belongs to another installation ({database}) than the data in {data} ({kept}). Use that \
         installation's own data directory (--data), or its own database (--database-url)"
    )]
    Foreign { database: String, kept: String, data: String },
    #[error(
        "the database is older than the data in {data}, which has {lags}. If it was restored from a backup, start \
         once with --accept-restored-database: files and processes that the database doesn't know move to quarantine, \
         nothing is removed, and no id is given out twice. Otherwise put the newer database back"
    )]
    Behind { data: String, lags: String },
    #[error("{0}")]
    Words(String),
    #[error("the database could not be read: {0}")]
    Store(#[from] store::Error),
    #[error("the data directory could not be read or changed: {0}")]
    Disk(#[from] std::io::Error),
}

/// What [`accept`] did.
#[derive(Debug, Default)]
pub struct Accepted {
    /// What the database doesn't know, now in quarantine.
    pub held: Vec<Held>,
    /// Nodes whose processes were ended.
    pub ended: Vec<NodeId>,
    /// Deleted instances that the database still has, whose homes came back from the trash.
    pub put_back: Vec<InstanceId>,
}

/// A database and what its data directory says about it.
struct Compared {
    installation: String,
    kept: Option<KeptMarks>,
    database: Marks,
    found: Marks,
    fit: Fit,
}

async fn compare(store: &Store, folders: &Folders) -> Result<Compared, RestoreError> {
    let kept = MarksFile::read(folders.data()).map_err(RestoreError::Words)?;
    let place = folders.clone();
    let found = tokio::task::spawn_blocking(move || scan::highest(&place)).await.map_err(std::io::Error::other)??;
    let installation = store.installation_id().await?;
    let database = store.marks().await?;
    let fit = Fit::of(&installation, &database, kept.as_ref(), &found);
    Ok(Compared { installation, kept, database, found, fit })
}

/// Refuses a database that isn't the one that belongs to this data; else gives the file in which its ids are
/// counted from now on.
///
/// # Errors
/// In words, with the numbers.
pub async fn check(store: &Store, data: &Path) -> Result<MarksFile, RestoreError> {
    let folders = Folders::new(data);
    let Compared { installation, kept, database, fit, .. } = compare(store, &folders).await?;
    let data = || folders.data().display().to_string();
    match fit {
        Fit::Current | Fit::Adopted => {
            let kept = kept.unwrap_or_default();
            let kept = KeptMarks { installation, seen: kept.seen.max(&database), ..kept };
            Ok(MarksFile::take_over(folders.data(), kept)?)
        }
        Fit::Foreign { kept } => Err(RestoreError::Foreign { database: installation, kept, data: data() }),
        Fit::Behind(lags) => Err(RestoreError::Behind { data: data(), lags: lags_said(&lags) }),
    }
}

/// Takes back an older database; nothing happens if it isn't older.
///
/// # Errors
/// In words. What was moved by then is in quarantine, and the next try goes on.
pub async fn accept(store: &Store, data: &Path, now: Timestamp) -> Result<Option<Accepted>, RestoreError> {
    let folders = Folders::new(data);
    let Compared { installation, kept, database, found, fit } = compare(store, &folders).await?;
    if !matches!(fit, Fit::Behind(_)) {
        return Ok(None);
    }
    let mut accepted = Accepted::default();
    let place = folders.clone();
    let jobs = tokio::task::spawn_blocking(move || scan::jobs(&place)).await.map_err(std::io::Error::other)??;
    let known = store.known_things(&jobs).await?;
    let (mut named, _) = store.blobs_of_jobs(atelier_domain::compute::JobId(0)).await?;
    named.extend(store.blobs_of_instances().await?);
    // Processes first: what they write must not come back into a folder that was moved.
    for node in scan::nodes(&folders)?.into_iter().filter(|node| !known.has_node(*node)) {
        local::end(&installation, &folders, node).await.map_err(|why| {
            RestoreError::Words(format!("{node}, which the database doesn't know, is running: {why}"))
        })?;
        accepted.ended.push(node);
    }
    let place = folders.clone();
    let moved = tokio::task::spawn_blocking(move || -> std::io::Result<_> {
        let quarantine = Quarantine::new(place.clone());
        let mut held = Vec::new();
        for unknown in scan::unknown(&place, &known, &named)? {
            held.push(quarantine.take(&unknown.label, &unknown.what, &unknown.paths, now)?);
        }
        Ok((held, scan::put_back(&place, &known)?))
    });
    (accepted.held, accepted.put_back) = moved.await.map_err(std::io::Error::other)??;
    let above = restart_above(&database, kept.as_ref(), &found);
    // Things that an earlier, interrupted try has moved count too.
    let things = Quarantine::new(folders.clone()).list()?.len() as u64;
    store.take_back(&above, things, now).await?;
    Ok(Some(accepted))
}
