//! What is done to the turn of jobs: held, let go, sent back, moved. Several at once, each judged by itself.

use atelier_domain::access::{Action, Whose};
use atelier_domain::compute::JobId;
use atelier_domain::compute::job::JobState;
use atelier_domain::compute::verb::{JobVerb, Legality};
use atelier_domain::paths;
use atelier_domain::text::{Problem, counted, parse_why};
use atelier_domain::time::Span;
use atelier_domain::world::{Answer, ArrayChange};
use atelier_engine::run::CommandId;
use atelier_engine::store::{JobFilter, JobRow};
use atelier_studio::caller::Caller;
use atelier_studio::jobs::turn;
use atelier_studio::jobs::turn::{Among, Step};
use atelier_studio::orders::command_id;

use crate::done::Done;
use crate::error::AppError;
use crate::jobs::changes::{Chosen, chosen, of};
use crate::server::caller::here;

/// How many orders of an array are under way at once.
const TOGETHER: usize = 200;

/// What is done to several jobs at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnVerb {
    /// Keep them from starting.
    Hold,
    /// Let them start again.
    Release,
    /// Send them back to the queue.
    Evict,
}

impl TurnVerb {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Hold, Self::Release, Self::Evict];

    /// The name in addresses.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Hold => "hold",
            Self::Release => "release",
            Self::Evict => "evict",
        }
    }

    /// The word on a button.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Hold => "Hold",
            Self::Release => "Release",
            Self::Evict => "Evict",
        }
    }

    /// The verb of the core.
    pub const fn verb(self) -> JobVerb {
        match self {
            Self::Hold => JobVerb::Hold,
            Self::Release => JobVerb::Release,
            Self::Evict => JobVerb::Evict,
        }
    }

    /// The right that it needs.
    pub const fn right(self) -> Action {
        match self {
            Self::Hold | Self::Release => Action::JobQueue,
            Self::Evict => Action::JobCancel,
        }
    }
}

/// A chosen line and what will come of it.
#[derive(Clone, Debug)]
pub struct TurnJudged {
    /// The id that was chosen: `job-7` or `array-7`.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// How many jobs it is about; none if nothing can be done.
    pub count: u64,
    /// Why nothing can be done; empty if something can.
    pub why_not: String,
    /// The attempt that follows an eviction.
    pub next_attempt: u32,
    /// How long its processes get to end after the notice.
    pub grace: Span,
}

/// What would come of a verb for each of these.
pub async fn judge_turns(verb: TurnVerb, ids: &[String]) -> Result<Vec<TurnJudged>, AppError> {
    let caller = here()?;
    let mut judged = Vec::new();
    for (chosen, row) in chosen(&caller, ids).await? {
        let id = match chosen {
            Chosen::Job(id) => id.to_string(),
            Chosen::Array(id) => format!("array-{}", id.0),
        };
        let name = match chosen {
            Chosen::Job(id) => format!("{} ({id})", row.name),
            Chosen::Array(first) => format!("{} (array from {first})", row.name),
        };
        let (count, why_not) = match may(&caller, verb, &row).await {
            Ok(()) => judge(&caller, verb, &chosen, &row).await?,
            Err(AppError::Forbidden { denied, .. }) => (0, denied.sentence()),
            Err(other) => return Err(other),
        };
        let verdict = atelier_domain::compute::job::Verdict::Preempted { node: atelier_domain::compute::NodeId(0) };
        let grace = row.job.grace_for(&verdict);
        judged.push(TurnJudged { id, name, count, why_not, next_attempt: row.job.attempt + 1, grace });
    }
    Ok(judged)
}

async fn may(caller: &Caller, verb: TurnVerb, row: &JobRow) -> Result<(), AppError> {
    let whose = if caller.actor()?.person.id == row.job.owner { Whose::Own } else { Whose::Others };
    caller.authorise_for(verb.right(), whose).await.map(|_| ())
}

fn judge_one(verb: TurnVerb, row: &JobRow) -> Result<(), String> {
    match verb.verb().in_state(row.state) {
        Legality::No(why) => Err(why.to_owned()),
        Legality::Already => Err("It is so already.".to_owned()),
        Legality::Yes | Legality::Later => match (verb, row.job.held.is_some()) {
            (TurnVerb::Hold, true) => Err("It is held already.".to_owned()),
            (TurnVerb::Release, false) => Err("It is not held.".to_owned()),
            _ => Ok(()),
        },
    }
}

async fn judge(caller: &Caller, verb: TurnVerb, chosen: &Chosen, row: &JobRow) -> Result<(u64, String), AppError> {
    let Chosen::Array(first) = chosen else {
        return Ok(judge_one(verb, row).map_or_else(|why| (0, why), |()| (1, String::new())));
    };
    let fitting = members(caller, verb, *first).await?.len() as u64;
    let why = match verb {
        TurnVerb::Hold => "None of its jobs waits unheld.",
        TurnVerb::Release => "None of its jobs is held.",
        TurnVerb::Evict => "None of its jobs runs.",
    };
    Ok(if fitting == 0 { (0, why.to_owned()) } else { (fitting, String::new()) })
}

/// The jobs of an array to which something can be done.
async fn members(caller: &Caller, verb: TurnVerb, first: JobId) -> Result<Vec<JobRow>, AppError> {
    let states: Vec<JobState> =
        JobState::ALL.into_iter().filter(|state| verb.verb().in_state(*state).is_offered()).collect();
    let filter = JobFilter { array: Some(first), states, limit: 20_000, ..JobFilter::default() };
    let rows = caller.checked(caller.store().jobs(&caller.actor()?.workspace.id, &filter).await)?;
    Ok(rows.into_iter().filter(|row| judge_one(verb, row).is_ok()).collect())
}

/// Does it to what was chosen, each by itself.
pub(super) async fn turn_jobs(verb: TurnVerb, command: &str, ids: &[String], why: &str) -> Result<Done, AppError> {
    let caller = here()?;
    let slug = caller.actor()?.workspace.slug.clone();
    if ids.is_empty() {
        return Err(Problem::new("ids", "No job was selected. Select at least one.").into());
    }
    let why = parse_why(why)?;
    let command = command_id(command)?;
    let (mut done, mut left) = (0_u64, Vec::new());
    for (chosen, row) in chosen(&caller, ids).await? {
        match carry_out(&caller, verb, &command, &chosen, &row, why.as_deref()).await {
            Ok(count) => done += count,
            Err(error @ (AppError::Forbidden { .. } | AppError::Refused { .. } | AppError::NotFound { .. })) => {
                left.push((row.name, error));
            }
            Err(other) => return Err(other),
        }
    }
    if done == 0
        && let Some((_, error)) = left.pop()
    {
        return Err(error);
    }
    let next = match ids {
        [one] => match one.strip_prefix("array-") {
            Some(number) => paths::job_array(&slug, &format!("job-{number}")),
            None => paths::job(&slug, one),
        },
        _ => paths::jobs(&slug),
    };
    let rest: String = left.iter().map(|(name, error)| format!(" {name} was left as it is: {error}")).collect();
    let (is, jobs) = (if done == 1 { "is" } else { "are" }, counted(done, "job", "jobs"));
    let said = match verb {
        TurnVerb::Hold => format!("{jobs} {is} held back until somebody releases them."),
        TurnVerb::Release => {
            format!("{jobs} {is} released and wait{} for their turn again.", if done == 1 { "s" } else { "" })
        }
        TurnVerb::Evict => format!("{jobs} {is} being evicted: notice now, then back to the queue."),
    };
    Ok(Done::go(next, format!("{said}{rest}")))
}

async fn carry_out(
    caller: &Caller,
    verb: TurnVerb,
    command: &CommandId,
    chosen: &Chosen,
    row: &JobRow,
    why: Option<&str>,
) -> Result<u64, AppError> {
    may(caller, verb, row).await?;
    let Chosen::Array(first) = chosen else {
        return one(caller, verb, of(command, row.job.id)?, row.job.id, why).await.map(|_| 1);
    };
    let rows = members(caller, verb, *first).await?;
    // One order for the whole: of a large array most jobs are not made yet, and need not be for this.
    if let Some(change) = whole(verb, why) {
        turn::change_array(caller, of(command, *first)?, *first, change, why.map(str::to_owned)).await?;
        return Ok(rows.len() as u64);
    }
    let mut count = 0;
    for some in rows.chunks(TOGETHER) {
        let orders =
            some.iter().map(|row| async { one(caller, verb, of(command, row.job.id)?, row.job.id, why).await });
        for answer in futures::future::join_all(orders).await {
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

/// What is done to an array as a whole.
fn whole(verb: TurnVerb, why: Option<&str>) -> Option<ArrayChange> {
    match verb {
        TurnVerb::Hold => Some(ArrayChange::Hold { why: why.unwrap_or_default().to_owned() }),
        TurnVerb::Release => Some(ArrayChange::Release),
        TurnVerb::Evict => None,
    }
}

async fn one(
    caller: &Caller,
    verb: TurnVerb,
    id: CommandId,
    job: JobId,
    why: Option<&str>,
) -> Result<Answer, AppError> {
    let why = why.map(str::to_owned);
    match verb {
        TurnVerb::Hold => turn::hold(caller, id, job, why).await,
        TurnVerb::Release => turn::release(caller, id, job).await,
        TurnVerb::Evict => turn::evict(caller, id, job, why).await,
    }
}

/// Moves a job in its queue.
pub(super) async fn move_job(command: &str, job: &str, to: &str, before: &str, among: &str) -> Result<Done, AppError> {
    let caller = here()?;
    let row = atelier_studio::jobs::detail::find(&caller, job).await?;
    // The field is there for one of the ways only.
    let step = Step::parse(to, if to == "before" { before } else { "" })?;
    let among = Among::parse(among)?;
    let answer = turn::shift(&caller, command_id(command)?, row.job.id, step, among).await?;
    let name = &row.name;
    Ok(Done::stay(match (answer, step) {
        (Answer::Already, Step::Up) => format!("{name} is the first already."),
        (Answer::Already, _) => format!("{name} is the last already."),
        (_, Step::Front) => format!("{name} was moved to the front."),
        (_, Step::Back) => format!("{name} was moved to the back."),
        (_, Step::Up) => format!("{name} was moved up."),
        (_, Step::Down) => format!("{name} was moved down."),
        (_, Step::Before(other)) => format!("{name} was moved before {other}."),
    }))
}
