//! One job with everything that is known of it.

use atelier_domain::access::Action;
use atelier_domain::compute::job::{AfterWhat, EndedAs, JobPhase, Verdict};
use atelier_domain::compute::verb::JobVerb;
use atelier_domain::compute::{JobId, NodeId};
use atelier_domain::error::AppError;
use atelier_domain::world::About;
use atelier_domain::{Money, Timestamp};
use atelier_engine::fleet::{LogInfo, LogName};
use atelier_engine::store::{DecisionEntry, DecisionFilter, JobRow};
use atelier_protocol::Task;
use atelier_simulate::forecast::Eta;

use crate::caller::Caller;
use crate::forecast::etas as forecast;
use crate::jobs::log::{JobLog, Place, Search, Window};
use crate::jobs::metrics::Metrics;
use crate::jobs::outputs::Outputs;
use crate::jobs::view::{Standing, Why, charged, offer, standings};
use crate::jobs::{log, metrics, outputs, retention};
use crate::offer::Offer;
use crate::orders::ask;
use crate::people::names::Names;

const DECISIONS: i64 = 30;
/// How many jobs that wait for it are named.
const DEPENDENTS: usize = 20;

/// A stretch of a job's life.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phase {
    pub label: String,
    /// What colours it: a class of the style sheet.
    pub class: &'static str,
    pub from: Timestamp,
    pub to: Option<Timestamp>,
}

/// One attempt.
#[derive(Clone, Debug)]
pub struct Attempt {
    pub number: u32,
    /// Where it ran, in the order of its parts.
    pub nodes: Vec<NodeId>,
    pub started: Option<Timestamp>,
    pub ended: Option<Timestamp>,
    /// How; none if it is not over.
    pub verdict: Option<Verdict>,
}

/// What the page asks for beside the job itself.
#[derive(Clone, Debug, Default)]
pub struct Look {
    /// Which attempt's log; the newest if none.
    pub attempt: Option<u32>,
    /// Which node's log; the first if none.
    pub node: Option<NodeId>,
    /// From which byte on.
    pub from: Option<u64>,
    /// Up to which byte.
    pub until: Option<u64>,
    pub find: String,
}

/// The log that is shown.
#[derive(Clone, Debug)]
pub struct LogPanel {
    pub all: Vec<LogInfo>,
    /// Which of them, if there is any.
    pub shown: Option<(LogName, Window)>,
    /// Whether it was named, or is just the newest.
    pub is_named: bool,
    /// Whether this is its end, where more may come.
    pub is_end: bool,
    pub search: Option<Search>,
    /// After how many days all that the job printed and left behind was removed, if it was.
    pub removed_after: Option<u32>,
}

/// A job that another one waits for.
#[derive(Clone, Debug)]
pub struct Awaited {
    pub id: JobId,
    pub name: String,
    pub needs: AfterWhat,
    /// How it ended, if it has: well, or otherwise and how.
    pub ended: Option<EndedAs>,
}

/// One job.
#[derive(Debug)]
pub struct JobDetail {
    /// What became of its outputs, where they were wanted in Files.
    pub kept: Option<atelier_engine::store::KeptOutputs>,
    pub row: JobRow,
    pub task: Option<Task>,
    pub owner_name: String,
    /// Where it runs, what it waits for, and its place there.
    pub standing: Standing,
    /// Why it is in its state, and what would change that.
    pub why: Option<Why>,
    /// When it starts, while it waits.
    pub eta: Option<Eta>,
    /// Jobs that it waits for, or waited for, by name.
    pub after: Vec<Awaited>,
    pub before: Vec<Awaited>,
    /// How many more of those there are.
    pub more_before: usize,
    pub phases: Vec<Phase>,
    pub attempts: Vec<Attempt>,
    /// What was decided about it, the newest first.
    pub decisions: Vec<DecisionEntry>,
    /// What it has cost so far; none where that is not for the caller to know.
    pub cost: Option<Money>,
    pub currency: String,
    pub verbs: Offer<JobVerb>,
    pub log: LogPanel,
    pub metrics: Option<Metrics>,
    /// What it left behind, by attempt and part.
    pub outputs: Vec<Outputs>,
}

/// The record of a job that the caller may see.
pub async fn find(caller: &Caller, id: &str) -> Result<JobRow, AppError> {
    let actor = caller.actor()?;
    let Some(id) = JobId::parse(id) else { return Err(AppError::not_found("job")) };
    let row = caller.checked(caller.store().job(&actor.workspace.id, id).await)?;
    let row = row.ok_or_else(|| AppError::not_found("job"))?;
    caller.authorise_for(Action::JobRead, actor.whose(&row.job.owner)).await?;
    Ok(row)
}

/// One job. Needs `job.read`.
pub async fn job(caller: &Caller, id: &str, look: &Look) -> Result<JobDetail, AppError> {
    let row = find(caller, id).await?;
    let workspace = &caller.actor()?.workspace.id;
    let id = row.job.id;
    let task = caller.checked(caller.store().job_tasks(&[id]).await)?.remove(&id);
    let owner_name = Names::of(caller, [row.job.owner.clone()]).await?.name(&row.job.owner);
    let filter = DecisionFilter { about: vec![About::Job(id)], limit: DECISIONS, ..DecisionFilter::default() };
    let decisions = caller.checked(caller.store().decisions(workspace, &filter).await)?;
    let charged = charged(caller, &[&row]).await?.remove(&id);
    let own_nodes = row.job.own_nodes.clone();
    let (made, waiting) = ask(caller, move |world| {
        let made = own_nodes.iter().filter_map(|node| world.node(*node)).map(|node| node.created).min();
        let waiting: Vec<(JobId, AfterWhat)> = world
            .dependents(id)
            .filter_map(|other| Some((other.id, other.spec.after.iter().find(|after| after.job == id)?.needs)))
            .collect();
        (made, waiting)
    })
    .await?;
    let standing = standings(caller, &[&row]).await?.remove(&id).ok_or_else(|| AppError::not_found("job"))?;
    let why = standing.why(&row);
    let eta = forecast::eta(caller, &row.job).await;
    let cost = charged.map(|cost| cost.plus(standing.unsettled));
    let (verbs, currency) = (offer(caller.actor()?, &row), caller.studio.settings().currency.clone());
    let more_before = waiting.len().saturating_sub(DEPENDENTS);
    let ids: Vec<JobId> =
        row.job.spec.after.iter().map(|after| after.job).chain(waiting.iter().map(|it| it.0)).collect();
    let names = caller.checked(caller.store().job_names(&ids).await)?;
    let named = |id: JobId| names.get(&id).filter(|name| !name.is_empty()).cloned().unwrap_or_else(|| id.to_string());
    let after = row.job.spec.after.iter().map(|after| Awaited {
        id: after.job,
        name: named(after.job),
        needs: after.needs,
        ended: after.ended.clone(),
    });
    let after: Vec<Awaited> = after.collect();
    let before = waiting.iter().take(DEPENDENTS);
    let before: Vec<Awaited> =
        before.map(|(id, needs)| Awaited { id: *id, name: named(*id), needs: *needs, ended: None }).collect();
    let (phases, attempts) = (phases(&row, made), attempts(&row));
    let (fleet, look, for_files) = (caller.studio.fleet().clone(), look.clone(), row.clone());
    let parts: Vec<(u32, Vec<NodeId>)> = attempts.iter().map(|it| (it.number, it.nodes.clone())).collect();
    // Files are read on a thread that may wait for the disk.
    let read = tokio::task::spawn_blocking(move || {
        let log = panel(&fleet, &for_files, &look)?;
        let metrics = metrics::read(&fleet, id);
        let outputs = outputs::list(fleet.folders(), &for_files.job.owner, id, &parts);
        Ok::<_, std::io::Error>((log, metrics, outputs))
    });
    let (mut log, metrics, outputs) = caller.checked(caller.checked(read.await)?)?;
    if log.all.is_empty() && outputs.is_empty() {
        log.removed_after = retention::removed_after(&caller.studio, row.ended, atelier_engine::clock::now());
    }
    let kept = caller.checked(caller.store().kept_outputs(&[id]).await)?.remove(&id);
    Ok(JobDetail {
        kept,
        row,
        task,
        owner_name,
        standing,
        why,
        after,
        before,
        more_before,
        eta,
        phases,
        attempts,
        decisions,
        cost,
        currency,
        verbs,
        log,
        metrics,
        outputs,
    })
}

fn panel(fleet: &atelier_engine::fleet::Fleet, row: &JobRow, look: &Look) -> std::io::Result<LogPanel> {
    let logs = fleet.logs();
    let all = logs.list(row.job.id);
    let is_named = look.attempt.is_some() || look.node.is_some();
    let chosen = match (look.attempt, look.node) {
        (None, None) => newest(&all, row),
        (attempt, node) => all
            .iter()
            .filter(|info| attempt.is_none_or(|attempt| info.name.attempt == attempt))
            .find(|info| node.is_none_or(|node| info.name.node == node))
            .copied(),
    };
    let place = match (look.from, look.until) {
        (Some(from), _) => Place::From(from),
        (None, Some(until)) => Place::Until(until),
        (None, None) => Place::End,
    };
    let shown = match chosen {
        Some(info) => Some((info.name, log::window(&JobLog::new(logs, info.name), place)?)),
        None => None,
    };
    let is_end = place == Place::End;
    let search = match (chosen, look.find.trim()) {
        (Some(info), text) if !text.is_empty() => Some(log::search(&JobLog::new(logs, info.name), text)?),
        _ => None,
    };
    Ok(LogPanel { all, shown, is_named, is_end, search, removed_after: None })
}

/// The first part of the newest attempt that has printed something.
pub fn newest(all: &[LogInfo], row: &JobRow) -> Option<LogInfo> {
    let attempt = all.iter().map(|info| info.name.attempt).max()?;
    let first = row.job.allocations.first().map(|allocation| allocation.node);
    let of_it = || all.iter().filter(|info| info.name.attempt == attempt);
    of_it().find(|info| Some(info.name.node) == first).or_else(|| of_it().next()).copied()
}

/// The stretches between milestones, of all attempts one after another.
fn phases(row: &JobRow, nodes_made: Option<Timestamp>) -> Vec<Phase> {
    let mut phases = Vec::new();
    let job = &row.job;
    let many = !job.past.is_empty();
    let mut since = job.submitted;
    let past = job.past.iter().map(|past| (past.attempt, past.when, Some(past.ended)));
    let all: Vec<_> = past.chain([(job.attempt, job.when, row.ended)]).collect();
    for (attempt, when, ended) in all {
        let label =
            |word: &str| if many && attempt > 0 { format!("{word}, attempt {attempt}") } else { word.to_owned() };
        let mut add = |word: &str, class, from: Timestamp, to: Option<Timestamp>| {
            phases.push(Phase { label: label(word), class, from, to });
        };
        let waited = when.assigned.or(ended);
        match nodes_made.filter(|made| *made >= since && waited.is_none_or(|until| *made <= until)) {
            Some(made) => {
                add("Queued", "s-off", since, Some(made));
                add("Node starting", "s1", made, waited);
            }
            None => add("Queued", "s-off", since, waited),
        }
        if let Some(assigned) = when.assigned {
            add("Starting", "s2", assigned, when.started.or(when.ending).or(ended));
        }
        if let Some(started) = when.started {
            add("Running", "s-run", started, when.ending.or(ended));
        }
        if let Some(ending) = when.ending {
            let word = if matches!(job.phase, JobPhase::Ending { .. }) { "Ending" } else { "Finalizing" };
            add(word, "s3", ending, ended);
        }
        since = ended.unwrap_or(since);
    }
    phases
}

fn attempts(row: &JobRow) -> Vec<Attempt> {
    let job = &row.job;
    let past = job.past.iter().map(|past| Attempt {
        number: past.attempt,
        nodes: past.nodes.clone(),
        started: past.when.started,
        ended: Some(past.ended),
        verdict: Some(past.verdict.clone()),
    });
    let now = Attempt {
        number: job.attempt,
        nodes: job.allocations.iter().map(|allocation| allocation.node).collect(),
        started: job.when.started,
        ended: row.ended,
        verdict: row.verdict.clone(),
    };
    let has_begun = job.attempt > 0 && job.past.last().is_none_or(|past| past.attempt < job.attempt);
    let mut all: Vec<Attempt> = past.chain(has_begun.then_some(now)).collect();
    all.reverse();
    all
}
