//! What people do to jobs that exist: end them, run them again.

use atelier_domain::access::{Action, Whose};
use atelier_domain::compute::JobId;
use atelier_domain::compute::job::JobState;
use atelier_domain::compute::verb::{JobVerb, Legality};
use atelier_domain::files::FilePath;
use atelier_domain::paths;
use atelier_domain::text::{Problem, counted};
use atelier_engine::run::CommandId;
use atelier_engine::store::{JobFilter, JobRow};
use atelier_studio::caller::Caller;
use atelier_studio::jobs::submit::{cancel, cancel_array, is_over, submit};
use atelier_studio::jobs::typed;
use atelier_studio::jobs::view::Compute;
use atelier_studio::orders::{ask, command_id};

use crate::done::Done;
use crate::error::AppError;
use crate::server::caller::here;

/// How many lines can be chosen at once.
const MOST_AT_ONCE: usize = 200;

/// What will come of ending something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// So many jobs will be ended, and so many of them run.
    Ends {
        /// In all.
        count: u64,
        /// Of those, the ones that have left the queue.
        running: u64,
    },
    /// Nothing will happen, and why.
    Stays(String),
}

/// A chosen line and what will come of it.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The id that was chosen: `job-7` or `array-7`.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// What will come of it.
    pub fate: Fate,
}

/// One of the chosen things.
pub(super) enum Chosen {
    Job(JobId),
    Array(JobId),
}

impl Chosen {
    fn parse(text: &str) -> Option<Self> {
        match text.strip_prefix("array-") {
            Some(number) => JobId::parse(&format!("job-{number}")).map(Self::Array),
            None => JobId::parse(text).map(Self::Job),
        }
    }

    const fn first(&self) -> JobId {
        match self {
            Self::Job(id) | Self::Array(id) => *id,
        }
    }
}

/// What would come of ending each of these. Needs `job.cancel` for one's own at least.
pub async fn judge_cancels(ids: &[String]) -> Result<Vec<Judged>, AppError> {
    let caller = here()?;
    let mut judged = Vec::new();
    for (chosen, row) in chosen(&caller, ids).await? {
        let name = match chosen {
            Chosen::Job(id) => format!("{} ({id})", row.name),
            Chosen::Array(first) => format!("{} (array from {first})", row.name),
        };
        let fate = match may_cancel(&caller, &row).await {
            Err(AppError::Forbidden { denied, .. }) => Fate::Stays(denied.sentence()),
            Err(other) => return Err(other),
            Ok(()) => fate(&caller, &chosen, &row).await?,
        };
        let id = match chosen {
            Chosen::Job(id) => id.to_string(),
            Chosen::Array(id) => format!("array-{}", id.0),
        };
        judged.push(Judged { id, name, fate });
    }
    Ok(judged)
}

async fn may_cancel(caller: &Caller, row: &JobRow) -> Result<(), AppError> {
    let whose = if caller.actor()?.person.id == row.job.owner { Whose::Own } else { Whose::Others };
    caller.authorise_for(Action::JobCancel, whose).await.map(|_| ())
}

async fn fate(caller: &Caller, chosen: &Chosen, row: &JobRow) -> Result<Fate, AppError> {
    let Chosen::Array(first) = chosen else {
        return Ok(match JobVerb::Cancel.in_state(row.state) {
            Legality::Yes | Legality::Later => {
                Fate::Ends { count: 1, running: u64::from(row.state != JobState::Queued) }
            }
            Legality::Already => Fate::Stays("It is being ended already, or has been.".into()),
            Legality::No(why) => Fate::Stays(why.into()),
        });
    };
    let filter = JobFilter { array: Some(*first), ..JobFilter::default() };
    let counts = caller.checked(caller.store().job_counts(&caller.actor()?.workspace.id, &filter).await)?;
    let ends = |state: &JobState| JobVerb::Cancel.in_state(*state).is_offered();
    let count: u64 = counts.iter().filter(|(state, _)| ends(state)).map(|(_, count)| count).sum();
    let queued = counts.get(&JobState::Queued).copied().unwrap_or_default();
    Ok(match count {
        0 => Fate::Stays("All its jobs are over.".into()),
        count => Fate::Ends { count, running: count - queued },
    })
}

/// The rows of what was chosen, in its order; what is not there is an error.
pub(super) async fn chosen(caller: &Caller, ids: &[String]) -> Result<Vec<(Chosen, JobRow)>, AppError> {
    if ids.len() > MOST_AT_ONCE {
        let message = format!("At most {MOST_AT_ONCE} lines are changed at once; {} were selected.", ids.len());
        return Err(Problem::new("ids", message).into());
    }
    let workspace = caller.actor()?.workspace.id.clone();
    let mut found = Vec::with_capacity(ids.len());
    for id in ids {
        let chosen = Chosen::parse(id).ok_or_else(|| AppError::not_found("job"))?;
        let row = caller.checked(caller.store().job(&workspace, chosen.first()).await)?;
        found.push((chosen, row.ok_or_else(|| AppError::not_found("job"))?));
    }
    Ok(found)
}

/// Ends what was chosen, each by itself.
pub(super) async fn cancel_jobs(command: &str, ids: &[String]) -> Result<Done, AppError> {
    let caller = here()?;
    let slug = caller.actor()?.workspace.slug.clone();
    if ids.is_empty() {
        return Err(Problem::new("ids", "No job was selected. Select at least one.").into());
    }
    let command = command_id(command)?;
    let (mut ended, mut left) = (0_u64, Vec::new());
    for (chosen, row) in chosen(&caller, ids).await? {
        match end(&caller, &command, &chosen, &row).await {
            Ok(count) => ended += count,
            Err(error @ (AppError::Forbidden { .. } | AppError::Refused { .. } | AppError::NotFound { .. })) => {
                left.push((row.name, error));
            }
            Err(other) => return Err(other),
        }
    }
    let next = match ids {
        [one] => match one.strip_prefix("array-") {
            Some(number) => paths::job_array(&slug, &format!("job-{number}")),
            None => paths::job(&slug, one),
        },
        _ => paths::jobs(&slug),
    };
    if ended == 0
        && let Some((_, error)) = left.pop()
    {
        return Err(error);
    }
    let rest: String = left.iter().map(|(name, error)| format!(" {name} was left as it is: {error}")).collect();
    let word = if ended == 1 { "is" } else { "are" };
    Ok(Done::go(next, format!("{} {word} being ended.{rest}", counted(ended, "job", "jobs"))))
}

/// Ends a job, or all that is left of an array, and says how many that were.
async fn end(caller: &Caller, command: &CommandId, chosen: &Chosen, row: &JobRow) -> Result<u64, AppError> {
    may_cancel(caller, row).await?;
    let Chosen::Array(first) = chosen else {
        return cancel(caller, of(command, row.job.id)?, row.job.id).await.map(|_| 1);
    };
    let count = match fate(caller, chosen, row).await? {
        Fate::Ends { count, .. } => count,
        Fate::Stays(_) => 0,
    };
    let id = CommandId::parse(&format!("{}-array-{}", command.as_str(), first.0)).map_err(AppError::invalid)?;
    match cancel_array(caller, id, *first).await {
        Ok(_) => Ok(count),
        Err(error) if is_over(&error, *first) => Ok(0),
        Err(error) => Err(error),
    }
}

/// The command for one job of several.
pub(super) fn of(command: &CommandId, job: JobId) -> Result<CommandId, AppError> {
    CommandId::parse(&format!("{}-{}", command.as_str(), job.0)).map_err(AppError::invalid)
}

/// Submits the same once more; an array as a whole.
pub(super) async fn run_again(command: &str, job: &str) -> Result<Done, AppError> {
    let caller = here()?;
    caller.authorise_for(Action::JobSubmit, Whose::Own).await?;
    let row = atelier_studio::jobs::detail::find(&caller, job).await?;
    let mut tasks = caller.checked(caller.store().job_tasks(&[row.job.id]).await)?;
    let task = tasks.remove(&row.job.id).ok_or_else(|| AppError::not_found("command of this job"))?;
    let target = row.job.spec.target.clone();
    let compute = ask(&caller, move |world| Compute::of(world, &target)).await?;
    if let Compute::Gone(_) | Compute::Instance(_) = compute {
        return Err(AppError::Refused {
            code: "job.compute-gone".into(),
            message: format!(
                "It ran on {}, which takes no more jobs. Copy the job and choose another compute.",
                compute.label()
            ),
        });
    }
    let keep_in = caller.checked(caller.store().keeps_in(row.job.id).await)?;
    let mut request = typed::request_of(&row, &task, &compute, &keep_in);
    // What somebody else kept in their own folder is no place for one's own.
    let is_own = row.job.owner == caller.actor()?.person.id;
    if !is_own && FilePath::parse(&keep_in).is_ok_and(|path| path.person().is_some()) {
        request.keep_in.clear();
    }
    request.array = row.job.array.map(|place| place.count);
    let submitted = submit(&caller, command_id(command)?, &request).await?;
    let slug = &caller.actor()?.workspace.slug;
    let first = submitted.first.to_string();
    Ok(if submitted.count > 1 {
        let message = format!("{} were submitted, from {first} on.", counted(submitted.count.into(), "job", "jobs"));
        Done::go(paths::job_array(slug, &first), message)
    } else {
        Done::go(paths::job(slug, &first), format!("{first} was submitted."))
    })
}
