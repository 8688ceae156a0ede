//! The place of a queued job among others, and how it is changed.

use atelier_domain::access::Whose;
use atelier_domain::compute::JobId;
use atelier_domain::compute::job::Job;
use atelier_domain::compute::verb::Verb;
use atelier_domain::error::AppError;
use atelier_domain::text::{Problem, shortened};
use atelier_domain::world::{Answer, MoveTo, Order, PoolKey, World};
use atelier_engine::run::CommandId;

use crate::caller::Caller;
use crate::jobs::actions::whose;
use crate::orders::{ask, order};

/// How far a neighbour is looked for.
const LOOKED_THROUGH: usize = 10_000;

/// Where people move a job to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Front,
    /// Before the one that is before it.
    Up,
    /// Behind the one that is behind it.
    Down,
    Back,
    /// Right before another one.
    Before(JobId),
}

impl Step {
    /// Reads the fields `to` and `before`.
    pub fn parse(to: &str, before: &str) -> Result<Self, Problem> {
        let wrong = |field: &str, message: String| Err(Problem::new(field, message));
        match (to, before.trim()) {
            ("front", "") => Ok(Self::Front),
            ("up", "") => Ok(Self::Up),
            ("down", "") => Ok(Self::Down),
            ("back", "") => Ok(Self::Back),
            ("before", typed) => match JobId::parse(typed) {
                Some(job) => Ok(Self::Before(job)),
                None => wrong("before", format!("Name a waiting job, such as job-12; this is “{}”.", shortened(typed))),
            },
            ("front" | "up" | "down" | "back", _) => {
                wrong("before", "Only “before” names another job; leave this out.".to_owned())
            }
            (other, _) => {
                let message = format!(
                    "A job is moved to “front”, “up”, “down”, “back” or “before”, not to “{}”.",
                    shortened(other)
                );
                wrong("to", message)
            }
        }
    }
}

/// Among whose jobs one is moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Among {
    /// Those of its owner: nobody else is overtaken.
    Own,
    All,
}

impl Among {
    /// Reads the field `among`; one's own if it is empty.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        match text {
            "" | "own" => Ok(Self::Own),
            "all" => Ok(Self::All),
            other => Err(Problem::new(
                "among",
                format!("A job is moved among “own” or “all” jobs, not “{}”.", shortened(other)),
            )),
        }
    }
}

/// Changes a job's place in its queue. Among its owner's jobs that needs `job.queue` for that job; among
/// everybody's, for anybody's.
pub async fn shift(caller: &Caller, id: CommandId, job: JobId, step: Step, among: Among) -> Result<Answer, AppError> {
    let whose = match among {
        Among::All => Whose::Others,
        Among::Own => whose(caller, job).await?,
    };
    caller.authorise_for(Verb::MoveJob.right(), whose).await?;
    let workspace = caller.actor()?.workspace.id.clone();
    let to = ask(caller, move |world| match world.look_up(job).filter(|job| job.workspace == workspace) {
        Some(found) => destination(world, &found, step, among),
        // The engine says what became of it.
        None => Some(MoveTo::Back),
    })
    .await?;
    let Some(to) = to else { return Ok(Answer::Already) };
    order(caller, id, Order::Move { job, to, over_all: among == Among::All }, None, None).await
}

/// Where a step leads; nowhere if it stands there already.
fn destination(world: &World, job: &Job, step: Step, among: Among) -> Option<MoveTo> {
    let (before, is_up) = match step {
        Step::Front => return Some(MoveTo::Front),
        Step::Back => return Some(MoveTo::Back),
        Step::Before(other) => return Some(MoveTo::Before(other)),
        Step::Up => (-1_isize, true),
        Step::Down => (2, false),
    };
    let line: Vec<JobId> = world
        .pool(&PoolKey::of_job(job))
        .map(|pool| pool.queue.in_order(LOOKED_THROUGH))
        .unwrap_or_default()
        .into_iter()
        .filter(|id| among == Among::All || world.owner_of(*id) == Some(&job.owner))
        .collect();
    let Some(place) = line.iter().position(|id| *id == job.id) else {
        return Some(if is_up { MoveTo::Front } else { MoveTo::Back });
    };
    if (is_up && place == 0) || (!is_up && place + 1 == line.len()) {
        return None;
    }
    let neighbour = place.checked_add_signed(before).and_then(|at| line.get(at));
    Some(neighbour.map_or(MoveTo::Back, |other| MoveTo::Before(*other)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_read_or_refused_by_their_field() {
        assert_eq!(Step::parse("up", ""), Ok(Step::Up));
        assert_eq!(Step::parse("before", "job-7"), Ok(Step::Before(JobId(7))));
        for (to, before, field) in [
            ("", "", "to"),
            ("sideways", "", "to"),
            ("before", "", "before"),
            ("before", "x", "before"),
            ("up", "job-7", "before"),
        ] {
            assert_eq!(Step::parse(to, before).map_err(|problem| problem.field), Err(field.into()), "{to} {before}");
        }
        assert!(Among::parse("some").is_err() && Among::parse("") == Ok(Among::Own));
    }
}
