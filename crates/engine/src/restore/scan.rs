//! What lies in a data directory, by its numbers, and what of it a database doesn't know.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io;
use std::path::{Path, PathBuf};

use atelier_domain::compute::{InstanceId, JobId, NodeId};
use atelier_domain::files::USERS;
use atelier_domain::marks::{KnownThings, Marks};

use crate::fleet::Folders;
use crate::fleet::blobs::{entries, parse};
use crate::fleet::homes::in_trash;

/// Something that the database doesn't know.
#[derive(Debug)]
pub(super) struct Unknown {
    pub label: String,
    pub what: String,
    /// Beneath the data directory.
    pub paths: Vec<PathBuf>,
}

/// The highest numbers on disk. Only folders that nobody but the server can write to are asked: a person
/// could put any number into their own.
pub(super) fn highest(folders: &Folders) -> io::Result<Marks> {
    let trash = names(&folders.trash())?.into_iter().filter_map(|name| in_trash(&name).map(|(id, _)| id.0));
    let newest = numbers(&folders.logs())?.into_iter().max();
    let jobs = match newest {
        Some(shelf) => names(&folders.logs().join(shelf.to_string()))?,
        None => Vec::new(),
    };
    Ok(Marks {
        instances: numbers(&folders.instances())?.into_iter().chain(trash).max().unwrap_or_default(),
        nodes: nodes(folders)?.last().map_or(0, |node| node.0),
        jobs: jobs.iter().filter_map(|name| log(name)).map(|(job, ..)| job.0).max().unwrap_or_default(),
        ..Marks::default()
    })
}

/// The nodes on this machine, by number.
pub(super) fn nodes(folders: &Folders) -> io::Result<BTreeSet<NodeId>> {
    let here = names(&folders.nodes())?.into_iter().chain(names(&folders.nodes().join("left"))?);
    Ok(here.filter_map(|name| NodeId::parse(&name)).collect())
}

/// The jobs that have left something.
pub(super) fn jobs(folders: &Folders) -> io::Result<Vec<JobId>> {
    let mut found: BTreeSet<JobId> = logs(folders)?.into_keys().map(|(job, ..)| job).collect();
    found.extend(job_folders(folders)?.into_keys().map(|(job, _)| job));
    Ok(found.into_iter().collect())
}

/// Everything that the database doesn't know.
pub(super) fn unknown(folders: &Folders, known: &KnownThings, named: &HashSet<String>) -> io::Result<Vec<Unknown>> {
    let mut found = Vec::new();
    let mut add = |label: String, what: String, paths: Vec<PathBuf>| {
        if !paths.is_empty() {
            found.push(Unknown { label, what, paths });
        }
    };
    for number in numbers(&folders.instances())? {
        let (id, place) = (InstanceId(number), Path::new("instances").join(number.to_string()));
        if !known.instances.contains_key(&id) && number > known.given.instances {
            add(id.to_string(), format!("Home and packages of {id}"), vec![place]);
        } else if known.instances.contains_key(&id) {
            let layers = numbers(&folders.instance(id).join("layers"))?;
            let newer =
                layers.into_iter().filter(|layer| !known.has_layer(id, u32::try_from(*layer).unwrap_or(u32::MAX)));
            let paths = newer.map(|layer| place.join("layers").join(layer.to_string())).collect();
            add(format!("{id}-packages"), format!("Packages of {id} from after the backup"), paths);
        }
    }
    for name in names(&folders.trash())? {
        let Some((id, _)) = in_trash(&name).filter(|(id, _)| id.0 > known.given.instances) else { continue };
        add(id.to_string(), format!("Deleted home of {id}"), vec![Path::new("trash").join(name)]);
    }
    for node in nodes(folders)?.into_iter().filter(|node| !known.has_node(*node)) {
        let paths = [Path::new("nodes").join(node.to_string()), Path::new("nodes/left").join(node.to_string())];
        let there = paths.into_iter().filter(|path| folders.data().join(path).exists()).collect();
        add(node.to_string(), format!("Working folder of {node}"), there);
    }
    let mut of_jobs: BTreeMap<JobId, Vec<PathBuf>> = BTreeMap::new();
    for ((job, attempt, node), path) in logs(folders)? {
        let is_known = match (attempt, node) {
            (Some(attempt), Some(node)) => known.has_log(job, attempt, node),
            // The figures of a whole job.
            _ => known.has_attempt(job, 1),
        };
        if !is_known {
            of_jobs.entry(job).or_default().extend(path);
        }
    }
    for ((job, attempt), paths) in job_folders(folders)? {
        if !known.has_attempt(job, attempt) {
            of_jobs.entry(job).or_default().extend(paths);
        }
    }
    if let (Some((first, _)), Some((last, _))) = (of_jobs.first_key_value(), of_jobs.last_key_value()) {
        let (label, what) = if first == last {
            (first.to_string(), format!("Logs and files of {first}"))
        } else {
            (
                format!("jobs-{}-to-{}", first.0, last.0),
                format!("Logs and files of {} jobs, {first} to {last}", of_jobs.len()),
            )
        };
        add(label, what, of_jobs.into_values().flatten().collect());
    }
    for name in names(&folders.homes())?.into_iter().filter(|name| !known.people.contains(name)) {
        add(format!("home-{name}"), format!("Home of the account {name}"), vec![Path::new("files/homes").join(name)]);
    }
    for name in names(&folders.shared().join(USERS))?.into_iter().filter(|name| !known.handles.contains(name)) {
        let place = Path::new("files/shared").join(USERS).join(&name);
        add(format!("files-{name}"), format!("{USERS}/{name} in Files"), vec![place]);
    }
    let mut uploads = Vec::new();
    for shelf in names(&folders.blobs())?.into_iter().filter(|shelf| shelf.len() == 2) {
        let there = names(&folders.blobs().join(&shelf))?;
        let nobodys = there.into_iter().filter(|name| parse(name).is_some() && !named.contains(name));
        uploads.extend(nobodys.map(|name| Path::new("blobs").join(&shelf).join(name)));
    }
    add("uploads".into(), format!("{} uploads of jobs and instances", uploads.len()), uploads);
    Ok(found)
}

/// Brings homes back from the trash whose instances exist again. Which those were.
pub(super) fn put_back(folders: &Folders, known: &KnownThings) -> io::Result<Vec<InstanceId>> {
    let mut deleted: BTreeMap<InstanceId, (i64, String)> = BTreeMap::new();
    for name in names(&folders.trash())? {
        let Some((id, at)) = in_trash(&name).filter(|(id, _)| known.instances.contains_key(id)) else { continue };
        let place = folders.trash().join(&name);
        // What was taken out of a home that changed hands is there too, by the same name.
        let is_whole = place.join("home").is_dir() && place.join("layers").is_dir();
        if is_whole && deleted.get(&id).is_none_or(|(newest, _)| *newest < at.0) {
            deleted.insert(id, (at.0, name));
        }
    }
    let mut back = Vec::new();
    for (id, (_, name)) in deleted {
        if !folders.instance(id).exists() {
            std::fs::rename(folders.trash().join(name), folders.instance(id))?;
            back.push(id);
        }
    }
    Ok(back)
}

type LogOf = (JobId, Option<u32>, Option<NodeId>);

fn logs(folders: &Folders) -> io::Result<BTreeMap<LogOf, Vec<PathBuf>>> {
    let mut found: BTreeMap<LogOf, Vec<PathBuf>> = BTreeMap::new();
    for shelf in numbers(&folders.logs())? {
        let shelf = Path::new("logs").join(shelf.to_string());
        for name in names(&folders.data().join(&shelf))? {
            if let Some(of) = log(&name) {
                found.entry(of).or_default().push(shelf.join(name));
            }
        }
    }
    Ok(found)
}

/// Reads `7.1.3.log` and `7.metrics.json`.
fn log(name: &str) -> Option<LogOf> {
    let mut parts = name.split('.');
    let job = JobId(parts.next()?.parse().ok()?);
    let attempt = parts.next().and_then(|part| part.parse().ok());
    let node = attempt.and_then(|_| parts.next()).and_then(|part| part.parse().ok()).map(NodeId);
    Some((job, attempt, node))
}

/// The folders of each attempt of a job: `jobs/<account>/7.1.0`.
fn job_folders(folders: &Folders) -> io::Result<BTreeMap<(JobId, u32), Vec<PathBuf>>> {
    let mut found: BTreeMap<(JobId, u32), Vec<PathBuf>> = BTreeMap::new();
    for person in names(&folders.jobs())? {
        let place = Path::new("jobs").join(&person);
        for name in names(&folders.data().join(&place))? {
            let numbers: Option<Vec<u64>> = name.split('.').map(|part| part.parse().ok()).collect();
            if let Some(&[job, attempt, _]) = numbers.as_deref() {
                let attempt = u32::try_from(attempt).unwrap_or(u32::MAX);
                found.entry((JobId(job), attempt)).or_default().push(place.join(name));
            }
        }
    }
    Ok(found)
}

fn numbers(folder: &Path) -> io::Result<Vec<u64>> {
    Ok(names(folder)?.into_iter().filter_map(|name| name.parse().ok()).collect())
}

/// The names in a folder that are text; none if it isn't there, or isn't a folder.
fn names(folder: &Path) -> io::Result<Vec<String>> {
    match entries(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => Ok(Vec::new()),
        found => Ok(found?.into_iter().filter_map(|entry| entry.file_name().into_string().ok()).collect()),
    }
}
