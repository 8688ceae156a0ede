//! What people do to jobs that exist: cancel, hold, release, evict; one of them, or several at once, each
//! judged by itself. The rights, states and words of each come from the table of verbs.

use atelier_domain::access::Whose;
use atelier_domain::compute::job::{JobState, Verdict};
use atelier_domain::compute::verb::{JobVerb, Verb};
use atelier_domain::compute::{JobId, NodeId};
use atelier_domain::error::AppError;
use atelier_domain::reason::Reason;
use atelier_domain::text::Problem;
use atelier_domain::time::Span;
use atelier_domain::world::{Answer, ArrayChange, Order};
use atelier_engine::run::CommandId;
use atelier_engine::store::{JobFilter, JobRow};

use crate::caller::Caller;
use crate::orders::{ask, order};
use crate::typed::few_enough;

/// How many orders of an array are under way at once.
const TOGETHER: usize = 200;
/// The most jobs of an array that are looked at one by one.
const MOST_OF_ARRAY: i64 = 20_000;

/// Whose a job is, for rights. One that is over, or never was, counts as one's own: the engine says which.
pub(super) async fn whose(caller: &Caller, job: JobId) -> Result<Whose, AppError> {
    let (me, workspace) = (caller.actor()?.person.id.clone(), caller.actor()?.workspace.id.clone());
    let owner = ask(caller, move |world| {
        world.look_up(job).filter(|job| job.workspace == workspace).map(|job| job.owner.clone())
    })
    .await?;
    Ok(if owner.is_none_or(|owner| owner == me) { Whose::Own } else { Whose::Others })
}

/// Does something to a job that needs no more than the verb.
pub async fn act(
    caller: &Caller,
    id: CommandId,
    verb: JobVerb,
    job: JobId,
    why: Option<String>,
) -> Result<Answer, AppError> {
    caller.authorise_for(verb.verb().right(), whose(caller, job).await?).await?;
    let wanted = match verb {
        JobVerb::Cancel => Order::Cancel(job),
        JobVerb::Hold => Order::Hold { job, why: why.clone().unwrap_or_default() },
        JobVerb::Release => Order::Release(job),
        JobVerb::Evict => Order::EvictJob(job),
        // These say where to, or to what.
        JobVerb::Prioritise | JobVerb::Move => return Err(AppError::not_found("action")),
    };
    order(caller, id, wanted, None, why).await
}

/// What is done to an array as a whole: of a large one most jobs are not made yet, and need not be for this.
fn whole(verb: JobVerb, why: Option<&str>) -> Option<ArrayChange> {
    match verb {
        JobVerb::Cancel => Some(ArrayChange::Cancel),
        JobVerb::Hold => Some(ArrayChange::Hold { why: why.unwrap_or_default().to_owned() }),
        JobVerb::Release => Some(ArrayChange::Release),
        JobVerb::Evict | JobVerb::Prioritise | JobVerb::Move => None,
    }
}

/// Takes a node back, with notice to what runs there.
pub async fn evict_node(caller: &Caller, id: CommandId, node: NodeId, why: Option<String>) -> Result<Answer, AppError> {
    caller.authorise(Verb::EvictNode.right()).await?;
    order(caller, id, Order::EvictNode(node), None, why).await
}

/// Whether a refusal says that the job is over: nothing is left to cancel.
pub fn is_over(error: &AppError, job: JobId) -> bool {
    matches!(error, AppError::Refused { code, .. } if *code == Reason::IsOver { job }.code())
}

/// One of the chosen things: a job (`job-7`), or a whole array (`array-7`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chosen {
    Job(JobId),
    /// All jobs of an array, by the first of them.
    Array(JobId),
}

impl Chosen {
    /// Reads an id of a list.
    pub fn parse(text: &str) -> Option<Self> {
        match text.strip_prefix("array-") {
            Some(number) => JobId::parse(&format!("job-{number}")).map(Self::Array),
            None => JobId::parse(text).map(Self::Job),
        }
    }

    /// The job, or the first of the array.
    pub const fn first(self) -> JobId {
        match self {
            Self::Job(id) | Self::Array(id) => id,
        }
    }
}

impl std::fmt::Display for Chosen {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Job(id) => write!(to, "{id}"),
            Self::Array(first) => write!(to, "array-{}", first.0),
        }
    }
}

/// A chosen line and what will come of it.
#[derive(Clone, Debug)]
pub struct Judged {
    pub chosen: Chosen,
    pub name: String,
    /// How many jobs it is about, and how many of them have left the queue; or why nothing is done.
    pub fate: Result<(u64, u64), String>,
    /// The attempt that follows an eviction.
    pub next_attempt: u32,
    /// How long its processes get to end after the notice.
    pub grace: Span,
}

impl Judged {
    /// How many jobs it is about.
    pub fn count(&self) -> u64 {
        self.fate.as_ref().map_or(0, |(count, _)| *count)
    }
}

/// What would come of a verb for each of these.
pub async fn judge(caller: &Caller, verb: JobVerb, ids: &[String]) -> Result<Vec<Judged>, AppError> {
    let mut judged = Vec::new();
    for (chosen, row) in rows(caller, ids).await? {
        let name = match chosen {
            Chosen::Job(id) => format!("{} ({id})", row.name),
            Chosen::Array(first) => format!("{} (array from {first})", row.name),
        };
        let fate = match may(caller, verb, &row).await {
            Ok(()) => fate(caller, verb, chosen, &row).await?,
            Err(AppError::Forbidden { denied, .. }) => Err(denied.sentence()),
            Err(other) => return Err(other),
        };
        let grace = row.job.grace_for(&Verdict::Preempted { node: NodeId(0) });
        judged.push(Judged { chosen, name, fate, next_attempt: row.job.attempt + 1, grace });
    }
    Ok(judged)
}

/// The rows of what was chosen, in its order; what is not there is an error.
async fn rows(caller: &Caller, ids: &[String]) -> Result<Vec<(Chosen, JobRow)>, AppError> {
    few_enough(ids, "lines")?;
    let workspace = caller.actor()?.workspace.id.clone();
    let mut found = Vec::with_capacity(ids.len());
    for id in ids {
        let chosen = Chosen::parse(id).ok_or_else(|| AppError::not_found("job"))?;
        let row = caller.checked(caller.store().job(&workspace, chosen.first()).await)?;
        found.push((chosen, row.ok_or_else(|| AppError::not_found("job"))?));
    }
    Ok(found)
}

async fn may(caller: &Caller, verb: JobVerb, row: &JobRow) -> Result<(), AppError> {
    let whose = caller.actor()?.whose(&row.job.owner);
    caller.authorise_for(verb.verb().right(), whose).await.map(|_| ())
}

fn why_not(verb: JobVerb, row: &JobRow) -> Option<&'static str> {
    verb.why_not(row.state, row.job.held.is_some())
}

type Fate = Result<(u64, u64), String>;

async fn fate(caller: &Caller, verb: JobVerb, chosen: Chosen, row: &JobRow) -> Result<Fate, AppError> {
    let Chosen::Array(first) = chosen else {
        return Ok(match why_not(verb, row) {
            Some(why) => Err(why.to_owned()),
            None => Ok((1, u64::from(row.state != JobState::Queued))),
        });
    };
    let (count, queued) = if verb == JobVerb::Cancel {
        // Whether one is held does not matter here, so they need not be looked at one by one.
        let filter = JobFilter { array: Some(first), ..JobFilter::default() };
        let counts = caller.checked(caller.store().job_counts(&caller.actor()?.workspace.id, &filter).await)?;
        let ends = |state: &JobState| verb.in_state(*state).is_offered();
        let count: u64 = counts.iter().filter(|(state, _)| ends(state)).map(|(_, count)| count).sum();
        (count, counts.get(&JobState::Queued).copied().unwrap_or_default())
    } else {
        let rows = members(caller, verb, first).await?;
        let queued = rows.iter().filter(|row| row.state == JobState::Queued).count();
        (rows.len() as u64, queued as u64)
    };
    Ok(if count == 0 { Err(verb.none_fits().to_owned()) } else { Ok((count, count - queued)) })
}

/// The jobs of an array to which something can be done.
async fn members(caller: &Caller, verb: JobVerb, first: JobId) -> Result<Vec<JobRow>, AppError> {
    let states = JobState::ALL.into_iter().filter(|state| verb.in_state(*state).is_offered()).collect();
    let filter = JobFilter { array: Some(first), states, limit: MOST_OF_ARRAY, ..JobFilter::default() };
    let rows = caller.checked(caller.store().jobs(&caller.actor()?.workspace.id, &filter).await)?;
    Ok(rows.into_iter().filter(|row| why_not(verb, row).is_none()).collect())
}

/// What came of doing something to several.
#[derive(Debug, Default)]
pub struct Outcome {
    /// To how many jobs it was done.
    pub count: u64,
    /// What was left as it is, by name, and why.
    pub left: Vec<(String, AppError)>,
}

/// Does it to what was chosen, each by itself. If nothing at all could be done, the last refusal is the
/// answer.
pub async fn act_on_all(
    caller: &Caller,
    command: &CommandId,
    verb: JobVerb,
    ids: &[String],
    why: Option<&str>,
) -> Result<Outcome, AppError> {
    if ids.is_empty() {
        return Err(Problem::new("ids", "No job was selected. Select at least one.").into());
    }
    let mut outcome = Outcome::default();
    for (chosen, row) in rows(caller, ids).await? {
        match act_on(caller, command, verb, chosen, &row, why).await {
            Ok(count) => outcome.count += count,
            Err(error @ (AppError::Forbidden { .. } | AppError::Refused { .. } | AppError::NotFound { .. })) => {
                outcome.left.push((row.name, error));
            }
            Err(other) => return Err(other),
        }
    }
    match outcome.left.pop() {
        Some((_, error)) if outcome.count == 0 => Err(error),
        last => {
            outcome.left.extend(last);
            Ok(outcome)
        }
    }
}

/// Does it to a job or to all jobs of an array that it fits, and says how many those were.
async fn act_on(
    caller: &Caller,
    command: &CommandId,
    verb: JobVerb,
    chosen: Chosen,
    row: &JobRow,
    why: Option<&str>,
) -> Result<u64, AppError> {
    may(caller, verb, row).await?;
    let one = |job: JobId| act(caller, command.beside(&job.to_string()), verb, job, why.map(str::to_owned));
    let Chosen::Array(first) = chosen else { return one(row.job.id).await.map(|_| 1) };
    if let Some(change) = whole(verb, why) {
        let count = fate(caller, verb, chosen, row).await?.map_or(0, |(count, _)| count);
        let wanted = Order::ChangeArray { array: first, change };
        let id = command.beside(&chosen.to_string());
        return match order(caller, id, wanted, None, why.map(str::to_owned)).await {
            Ok(_) => Ok(count),
            Err(error) if is_over(&error, first) => Ok(0),
            Err(error) => Err(error),
        };
    }
    let mut count = 0;
    for some in members(caller, verb, first).await?.chunks(TOGETHER) {
        for answer in futures_util::future::join_all(some.iter().map(|row| one(row.job.id))).await {
            match answer {
                Ok(_) => count += 1,
                // It has moved on meanwhile.
                Err(AppError::Refused { .. }) => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_jobs_or_arrays() {
        for text in ["job-7", "array-7"] {
            let chosen = Chosen::parse(text).expect("an id");
            assert_eq!((chosen.to_string(), chosen.first()), (text.to_owned(), JobId(7)));
        }
        assert_eq!(Chosen::parse("array-x"), None);
    }

    #[test]
    fn whatever_is_offered_for_several_jobs_is_an_order() {
        for verb in Verb::in_bulk(atelier_domain::compute::verb::Noun::Job) {
            let verb = verb.as_job().expect("a verb of jobs");
            assert!(!matches!(verb, JobVerb::Prioritise | JobVerb::Move), "{verb:?} needs more than a click");
        }
    }
}
