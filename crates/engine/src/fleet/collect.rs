//! Removing what has been kept long enough: uploads that nobody names, logs and outputs of jobs that ended
//! long ago.
//!
//! Nothing here is decided from memory alone: what is to go is read from the database and the disk each time,
//! so a round that was cut short goes on with the next, and one that comes twice does nothing.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::{fs, io};

use atelier_domain::Timestamp;
use atelier_domain::compute::JobId;
use atelier_domain::time::Span;

use super::Fleet;
use super::blobs::{Hash, entries, parse};
use crate::store;

/// How long an upload is kept that neither a job nor an instance names: so long somebody may look at a form
/// that carries it.
pub const UPLOADS_KEPT: Span = Span::hours(24);
/// So many jobs are asked for at once.
const AT_ONCE: usize = 500;

/// What was removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    pub uploads: u64,
    /// With so many bytes.
    pub upload_bytes: u64,
    /// So many files of logs.
    pub logs: u64,
    /// So many folders of jobs.
    pub folders: u64,
}

/// Why a round ended early; the next one goes on.
#[derive(Debug, thiserror::Error)]
pub enum CollectError {
    #[error("{0}")]
    Store(#[from] store::Error),
    #[error("{0}")]
    Disk(#[from] io::Error),
}

type Result<T> = std::result::Result<T, CollectError>;

/// Goes round again and again.
#[derive(Debug)]
pub struct Collector {
    fleet: Fleet,
    /// What jobs name, up to that one: jobs stay what they are, so only newer ones are read the next time.
    named: HashSet<Hash>,
    upto: JobId,
}

impl Collector {
    /// Of that fleet's files.
    pub fn new(fleet: Fleet) -> Self {
        Self { fleet, named: HashSet::new(), upto: JobId(0) }
    }

    /// Removes what nobody needs any more at that time. Jobs are kept with all they left for so long after
    /// their end.
    ///
    /// # Errors
    /// What could not be read or removed.
    pub async fn collect(&mut self, now: Timestamp, keep: Span) -> Result<Collected> {
        let mut collected = Collected::default();
        (collected.uploads, collected.upload_bytes) = self.uploads(now).await?;
        self.forget_senders(now).await?;
        let before = Timestamp(now.0.saturating_sub(keep.as_millis()));
        collected.logs = self.logs(before).await?;
        collected.folders = self.folders(before).await?;
        Ok(collected)
    }

    async fn uploads(&mut self, now: Timestamp) -> Result<(u64, u64)> {
        // Whoever names one from here on has claimed it, so that it is young.
        let (names, upto) = self.fleet.store().blobs_of_jobs(self.upto).await?;
        self.named.extend(names.iter().filter_map(|name| parse(name)));
        self.upto = upto;
        // Scripts of instances are uploads too, and change.
        let scripts = self.fleet.store().blobs_of_instances().await?;
        let scripts: HashSet<Hash> = scripts.iter().filter_map(|name| parse(name)).collect();
        let since = Timestamp(now.0.saturating_sub(UPLOADS_KEPT.as_millis()));
        let (blobs, named) = (self.fleet.blobs().clone(), std::mem::take(&mut self.named));
        let swept = tokio::task::spawn_blocking(move || {
            let swept = blobs.sweep(|hash| named.contains(hash) || scripts.contains(hash), since);
            (swept, named)
        })
        .await;
        let (swept, named) = match swept {
            Ok(done) => done,
            Err(error) => {
                // All of them are read again.
                self.upto = JobId(0);
                return Err(io::Error::other(error).into());
            }
        };
        self.named = named;
        Ok(swept?)
    }

    /// Forgets who sent files that are gone.
    async fn forget_senders(&self, now: Timestamp) -> Result<()> {
        let before = Timestamp(now.0.saturating_sub(UPLOADS_KEPT.as_millis()));
        let mut after = String::new();
        loop {
            let hashes = self.fleet.store().uploads_before(before, &after).await?;
            let Some(last) = hashes.last() else { return Ok(()) };
            after.clone_from(last);
            let folders = self.fleet.folders().clone();
            let is_gone = move |hash: &String| folders.blob(hash).is_none_or(|path| !path.exists());
            let gone = blocking(move || Ok(hashes.into_iter().filter(is_gone).collect::<Vec<_>>())).await?;
            self.fleet.store().forget_uploads(&gone, before).await?;
        }
    }

    /// Jobs are numbered in the order of their submission, so behind a shelf of young ones there are only
    /// younger ones.
    async fn logs(&self, before: Timestamp) -> Result<u64> {
        let mut removed = 0;
        for shelf in self.shelves().await? {
            let files = blocking(move || on_shelf(&shelf)).await?;
            let ids: Vec<JobId> = files.keys().copied().collect();
            let (old, is_young) = self.old(&ids, before).await?;
            if is_young {
                break;
            }
            let old: Vec<PathBuf> = files
                .into_iter()
                .filter(|(job, _)| old.contains(job) && !self.fleet.logs().is_open(*job))
                .flat_map(|(_, files)| files)
                .collect();
            removed += blocking(move || remove_files(&old)).await?;
        }
        Ok(removed)
    }

    async fn shelves(&self) -> Result<Vec<PathBuf>> {
        let logs = self.fleet.folders().logs();
        let mut shelves: Vec<(u64, PathBuf)> = blocking(move || entries(&logs))
            .await?
            .into_iter()
            .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path())))
            .collect();
        shelves.sort_unstable();
        Ok(shelves.into_iter().map(|(_, path)| path).collect())
    }

    async fn folders(&self, before: Timestamp) -> Result<u64> {
        let mut removed = 0;
        let people = self.fleet.folders().jobs();
        for person in blocking(move || entries(&people)).await? {
            if !person.file_type()?.is_dir() {
                continue;
            }
            let folders = blocking(move || of_person(&person.path())).await?;
            let ids: Vec<JobId> = folders.keys().copied().collect();
            for ids in ids.chunks(AT_ONCE) {
                let (old, is_young) = self.old(ids, before).await?;
                if is_young {
                    break;
                }
                let old: Vec<PathBuf> = old.iter().filter_map(|job| folders.get(job)).flatten().cloned().collect();
                removed += blocking(move || remove_folders(&old)).await?;
            }
        }
        Ok(removed)
    }

    /// Which of these ended before that time, and whether all of them, and so all after them, were submitted
    /// later. What the database does not know is not ours to judge.
    async fn old(&self, ids: &[JobId], before: Timestamp) -> Result<(BTreeSet<JobId>, bool)> {
        let known = self.fleet.store().job_times(ids).await?;
        let is_young = !known.is_empty() && known.values().all(|(submitted, _)| *submitted >= before);
        let ended = known.into_iter().filter(|(_, (_, ended))| ended.is_some_and(|ended| ended < before));
        Ok((ended.map(|(job, _)| job).collect(), is_young))
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> Result<T> {
    Ok(tokio::task::spawn_blocking(work).await.map_err(io::Error::other)??)
}

/// The files of each job: `7.1.3.log`, `7.metrics.json`.
fn on_shelf(shelf: &Path) -> io::Result<BTreeMap<JobId, Vec<PathBuf>>> {
    by_job(shelf, |name| name.split('.').next()?.parse().ok())
}

/// The folders of each job: `7.1.0`.
fn of_person(folder: &Path) -> io::Result<BTreeMap<JobId, Vec<PathBuf>>> {
    by_job(folder, |name| {
        let numbers: Vec<u64> = name.split('.').map(|part| part.parse().ok()).collect::<Option<_>>()?;
        (numbers.len() == 3).then(|| numbers[0])
    })
}

fn by_job(folder: &Path, job: impl Fn(&str) -> Option<u64>) -> io::Result<BTreeMap<JobId, Vec<PathBuf>>> {
    let mut found: BTreeMap<JobId, Vec<PathBuf>> = BTreeMap::new();
    for entry in entries(folder)? {
        if let Some(job) = entry.file_name().to_str().and_then(&job) {
            found.entry(JobId(job)).or_default().push(entry.path());
        }
    }
    Ok(found)
}

/// Removes files, and the shelf with the last of them. Says how many there were.
fn remove_files(files: &[PathBuf]) -> io::Result<u64> {
    for file in files {
        gone(fs::remove_file(file))?;
    }
    if let Some(shelf) = files.first().and_then(|file| file.parent()) {
        // Where others are left it stays.
        drop(fs::remove_dir(shelf));
    }
    Ok(files.len() as u64)
}

/// Removes folders that were somebody's own: no link in them is followed, and what they closed is opened.
pub(crate) fn remove_folders(folders: &[PathBuf]) -> io::Result<u64> {
    for folder in folders {
        match gone(fs::remove_dir_all(folder)) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                open_all(folder);
                gone(fs::remove_dir_all(folder))?;
            }
            other => other?,
        }
    }
    Ok(folders.len() as u64)
}

fn gone(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Takes back the rights of folders from whoever gave them away. Only where the server is not root, and so
/// all of it its own.
fn open_all(folder: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    if fs::symlink_metadata(folder).is_ok_and(|found| found.is_dir()) {
        drop(fs::set_permissions(folder, fs::Permissions::from_mode(0o700)));
        for entry in entries(folder).unwrap_or_default() {
            open_all(&entry.path());
        }
    }
}
