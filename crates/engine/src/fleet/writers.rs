//! Who fills the disk. The watcher looks at the free room all the time and at folders only when there is
//! little: whoever writes then is told from whoever wrote long ago by two looks, a moment apart. What is
//! found goes to the engine, which stops that program with the numbers.
//!
//! A program's own folders count for it. What lies in its owner's home or in their part of Files counts for
//! what they began last, since the disk does not tell who of them wrote it.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::time::Duration;

use atelier_domain::compute::instance::Wish;
use atelier_domain::compute::job::{Job, JobPhase};
use atelier_domain::compute::room::{Filled, Program, Writer, whom_to_stop};
use atelier_domain::compute::{JobId, NodeId};
use atelier_domain::files::USERS;
use atelier_domain::world::{Report, World};
use atelier_domain::{UserId, WorkspaceId};

use super::{Fleet, Folders, dispatch};
use crate::run::{EngineHandle, Phase};

/// How often the free room is looked at.
const LOOK: Duration = Duration::from_millis(250);
/// Between two looks at folders.
const MOMENT: Duration = Duration::from_millis(300);
/// A program that was stopped has so long to let go before another is looked for.
const PATIENCE: Duration = Duration::from_secs(3);
/// How often it is noted what programs have on disk while all is well, and limits are looked at.
const CALM: Duration = Duration::from_secs(60);
/// With less free room than this, folders are looked at: a twentieth of the disk, between these.
const LINE: std::ops::RangeInclusive<u64> = 192 << 20..=4 << 30;
/// With less than this there is no room for anybody.
const FULL: u64 = 64 << 20;
/// So many entries of a folder are looked at, at most.
const MOST_ENTRIES: u32 = 1_000_000;

/// A program and what counts for it.
#[derive(Clone, Debug)]
struct Running {
    program: Program,
    workspace: WorkspaceId,
    owner: UserId,
    /// The later, the larger.
    since: i64,
    folders: Vec<PathBuf>,
}

/// Watches for as long as the server runs.
pub(super) async fn watch(fleet: Fleet) {
    let Some(engine) = fleet.engine().cloned() else { return };
    let mut watcher = Watcher { fleet, engine, calm: HashMap::new(), used: HashMap::new() };
    let mut looks = tokio::time::interval(LOOK);
    looks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut calm_at = crate::clock::instant();
    watcher.note_calm().await;
    loop {
        looks.tick().await;
        if matches!(watcher.engine.status().phase, Phase::Stopped | Phase::Fenced) {
            return;
        }
        let Some((free, line)) = room(watcher.fleet.folders().data()) else { continue };
        if free >= line {
            if calm_at.elapsed() >= CALM {
                calm_at = crate::clock::instant();
                watcher.note_calm().await;
            }
            continue;
        }
        if watcher.stop_one().await {
            tokio::time::sleep(PATIENCE).await;
        }
    }
}

struct Watcher {
    fleet: Fleet,
    engine: EngineHandle,
    /// What each program had while all was well.
    calm: HashMap<Program, u64>,
    /// What people with a limit used when that was last looked at.
    used: HashMap<UserId, u64>,
}

impl Watcher {
    /// Stops the program that fills the disk; false if there is none that does.
    async fn stop_one(&self) -> bool {
        let running = self.running().await;
        let before = measure(running.clone()).await;
        tokio::time::sleep(MOMENT).await;
        let after = measure(running).await;
        let Some((free, _)) = room(self.fleet.folders().data()) else { return false };
        let writers: Vec<Writer> = after
            .iter()
            .filter_map(|(program, now)| {
                let before = before.get(program).copied()?;
                // A job begins with an empty folder; an instance that was never seen is not blamed for what
                // it has.
                let calm = self.calm.get(program).copied().unwrap_or(match program {
                    Program::Job { .. } => 0,
                    Program::Instance { .. } => before,
                });
                Some(Writer { program: *program, calm, before, now: *now })
            })
            .collect();
        let Some(writer) = whom_to_stop(&writers, free, free < FULL) else { return false };
        let filled = Filled::Disk { wrote: writer.wrote(), free };
        self.stop(writer.program, filled).await
    }

    async fn stop(&self, program: Program, filled: Filled) -> bool {
        tracing::warn!(?program, ?filled, "a program fills the disk and is stopped");
        metrics::counter!("atelier_writers_stopped_total").increment(1);
        self.engine.report_all(&[Report::Fills { program, filled }]).await.is_ok()
    }

    /// Notes what everybody has, and stops what keeps growing beyond its owner's limit.
    async fn note_calm(&mut self) {
        let running = self.running().await;
        let mut owners: HashMap<UserId, &Running> = HashMap::new();
        for one in &running {
            let newest = owners.entry(one.owner.clone()).or_insert(one);
            if one.since > newest.since {
                *newest = one;
            }
        }
        let mut over = Vec::new();
        let mut used = HashMap::new();
        for (owner, newest) in owners {
            let Ok(Some(limit)) = self.fleet.store().files_limit(&newest.workspace).await else { continue };
            let Some(person) = dispatch::person(&self.fleet, owner.clone()).await else { continue };
            let own = self.fleet.folders().shared().join(USERS).join(&person.handle);
            let now = tokio::task::spawn_blocking(move || size(&own)).await.unwrap_or_default();
            if now > limit && self.used.get(&owner).is_some_and(|before| now > *before) {
                over.push((newest.program, Filled::Limit { used: now, limit }));
            }
            used.insert(owner, now);
        }
        self.used = used;
        for (program, filled) in over {
            self.stop(program, filled).await;
        }
        self.calm = measure(running).await;
    }

    /// What runs, and what counts for it.
    async fn running(&self) -> Vec<Running> {
        let folders = self.fleet.folders().clone();
        let asked = self.engine.ask(move |world| running(world, &folders)).await;
        let mut running = asked.unwrap_or_default();
        // What a person's programs share counts for the newest.
        let mut newest: HashMap<UserId, usize> = HashMap::new();
        for (index, one) in running.iter().enumerate() {
            let best = newest.entry(one.owner.clone()).or_insert(index);
            if one.since > running[*best].since {
                *best = index;
            }
        }
        for (owner, index) in newest {
            let folders = self.fleet.folders();
            running[index].folders.push(folders.homes().join(owner.as_str()));
            if let Some(person) = dispatch::person(&self.fleet, owner).await {
                running[index].folders.push(folders.shared().join(USERS).join(person.handle));
            }
        }
        running
    }
}

/// All programs that may write, with the folders that are theirs alone.
fn running(world: &World, folders: &Folders) -> Vec<Running> {
    let mut found = Vec::new();
    // A node's own folder (temporary files, output that waits) counts for what began there last.
    let mut newest: HashMap<NodeId, (i64, usize)> = HashMap::new();
    let on_nodes = world.nodes().filter_map(|node| world.on_node(node.id)).flat_map(|on| on.jobs.iter().copied());
    let ids: BTreeSet<JobId> = on_nodes.collect();
    let is_running = |job: &&Job| !matches!(job.phase, JobPhase::Queued { .. } | JobPhase::Ending { .. });
    for job in ids.into_iter().filter_map(|id| world.job(id)).filter(is_running) {
        let own = folders.jobs().join(job.owner.as_str());
        let since = job.when.started.or(job.when.assigned).map_or(0, |at| at.0);
        let ranks = 0..job.allocations.len();
        let mut of_job: Vec<PathBuf> =
            ranks.map(|rank| own.join(format!("{}.{}.{rank}", job.id.0, job.attempt))).collect();
        of_job.extend(job.allocations.iter().map(|allocation| {
            let shelf = folders.logs().join((job.id.0 / 1_000).to_string());
            shelf.join(format!("{}.{}.{}.log", job.id.0, job.attempt, allocation.node.0))
        }));
        for allocation in &job.allocations {
            let best = newest.entry(allocation.node).or_insert((since, found.len()));
            if since > best.0 {
                *best = (since, found.len());
            }
        }
        let program = Program::Job { job: job.id, attempt: job.attempt };
        found.push(Running {
            program,
            workspace: job.workspace.clone(),
            owner: job.owner.clone(),
            since,
            folders: of_job,
        });
    }
    for instance in world.instances().filter(|instance| instance.wish == Wish::Run) {
        let Some(node) = instance.node else { continue };
        let (since, workspace) = (instance.operation.at.0, instance.workspace.clone());
        let program = Program::Instance { instance: instance.id, generation: instance.generation };
        newest.entry(node).or_insert((since, found.len()));
        let own = vec![folders.instance(instance.id)];
        found.push(Running { program, workspace, owner: instance.owner.clone(), since, folders: own });
    }
    for (node, (_, index)) in newest {
        found[index].folders.push(folders.node(node));
    }
    found
}

/// How much each has on disk.
async fn measure(running: Vec<Running>) -> HashMap<Program, u64> {
    let measured = tokio::task::spawn_blocking(move || {
        let all = |one: &Running| (one.program, one.folders.iter().map(|folder| size(folder)).sum());
        running.iter().map(all).collect()
    });
    measured.await.unwrap_or_default()
}

/// Free bytes, and how many there should be; nothing where the file system does not tell.
fn room(data: &Path) -> Option<(u64, u64)> {
    let found = rustix::fs::statvfs(data).ok()?;
    let (free, all) = (found.f_bavail.saturating_mul(found.f_frsize), found.f_blocks.saturating_mul(found.f_frsize));
    let line = (all / 20).clamp(*LINE.start(), *LINE.end());
    // A disk that small is never calm otherwise.
    Some((free, line.min(all / 3)))
}

/// Bytes on disk of a file or of all in a folder. What cannot be read, or goes away meanwhile, counts for
/// nothing; links are not followed.
fn size(path: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    let mut sum = 0;
    let mut left = MOST_ENTRIES;
    let mut folders = vec![path.to_owned()];
    if let Ok(info) = path.symlink_metadata()
        && !info.is_dir()
    {
        return info.blocks() * 512;
    }
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            left = left.saturating_sub(1);
            if left == 0 {
                return sum;
            }
            let Ok(info) = entry.metadata() else { continue };
            sum += info.blocks() * 512;
            if info.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_on_disk_is_counted_and_links_are_not_followed() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir_all(folder.path().join("a/b")).expect("made");
        std::fs::write(folder.path().join("a/b/file"), vec![1; 1 << 20]).expect("written");
        let size_before = size(folder.path());
        assert!((1 << 20..2 << 20).contains(&size_before), "{size_before}");
        std::os::unix::fs::symlink("/usr", folder.path().join("a/link")).expect("linked");
        assert!(size(folder.path()) < size_before + (64 << 10));
        assert!(size(&folder.path().join("a/b/file")) >= 1 << 20);
        assert_eq!(size(&folder.path().join("nowhere")), 0);
    }
}
