//! What would come of doing something to several instances, and doing it.

use atelier_domain::compute::instance::InstanceState;
use atelier_domain::compute::verb::{InstanceVerb, Legality, Verb};
use atelier_domain::error::AppError;
use atelier_domain::text::{Problem, counted};
use atelier_domain::world::Answer;
use atelier_engine::run::CommandId;

use crate::caller::Caller;
use crate::instances::commands::{Subject, carry_out, find, plain_order};
use crate::instances::detail::{InstanceDetail, instance};
use crate::offer::Hindrance;
use crate::typed::few_enough;

/// An instance that was chosen, and what will come of it.
#[derive(Clone, Debug)]
pub struct Judged {
    pub name: String,
    /// What is lost and kept, or why nothing happens.
    pub outcome: Result<Outcome, String>,
}

/// What is lost and kept, and what that saves or costs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub words: String,
    pub note: String,
}

/// The verb of that key, if it can be done to several and asks first.
pub fn verb_of(key: &str) -> Option<InstanceVerb> {
    InstanceVerb::ALL.into_iter().find(|verb| verb.key() == key && verb.verb().ask().is_some())
}

/// What would come of doing that to each of these.
pub async fn judge(caller: &Caller, verb: InstanceVerb, names: &[String]) -> Result<Vec<Judged>, AppError> {
    few_enough(names, "instances")?;
    let rights = caller.actor()?.person.rights();
    let mut judged = Vec::with_capacity(names.len());
    for name in names {
        let detail = instance(caller, name).await?;
        let outcome = match detail.view.judge(&rights, verb.verb()) {
            Ok(legality) => Ok(outcome(verb, legality, &detail)),
            Err(Hindrance::Right(denied)) => Err(denied.sentence()),
            Err(Hindrance::State(why)) => Err(why.to_owned()),
        };
        judged.push(Judged { name: detail.view.name, outcome });
    }
    Ok(judged)
}

fn outcome(verb: InstanceVerb, legality: Legality, detail: &InstanceDetail) -> Outcome {
    let per_hour = detail.view.per_hour();
    let (words, note) = match verb {
        InstanceVerb::Start if legality == Legality::Later => {
            ("Starts as soon as it has stopped.".to_owned(), format!("{per_hour}/h"))
        }
        InstanceVerb::Start => ("Gets a node and starts.".to_owned(), format!("{per_hour}/h")),
        InstanceVerb::Stop => (ended(detail, "Its home is kept."), format!("{per_hour}/h saved")),
        InstanceVerb::Restart => (ended(detail, "Its home and what is installed are kept."), String::new()),
        InstanceVerb::Rebuild => (rebuilt(detail), String::new()),
        InstanceVerb::Delete => (deleted(detail), String::new()),
        _ => Default::default(),
    };
    Outcome { words, note }
}

/// What ends with a stop or a restart, then what stays.
fn ended(detail: &InstanceDetail, kept: &str) -> String {
    if !matches!(detail.view.state, InstanceState::Running | InstanceState::JobRunning) {
        return kept.to_owned();
    }
    let busy = detail.signals.iter().filter(|signal| signal.is_active).map(|signal| match signal.detail.as_str() {
        "" => signal.source.words().busy.to_owned(),
        detail => format!("{} ({detail})", signal.source.words().busy),
    });
    match busy.collect::<Vec<_>>().join(", ").as_str() {
        "" => format!("What is only in memory is lost. {kept}"),
        busy => format!("{busy}: what is only in memory is lost. {kept}"),
    }
}

fn rebuilt(detail: &InstanceDetail) -> String {
    let instance = &detail.view.instance;
    let scripts = if instance.scripts.creation.is_some() { " Its creation script runs again." } else { "" };
    let ended = if instance.node.is_some() { " What runs in it ends." } else { "" };
    format!("What was installed into its environment is lost; its home is kept.{ended}{scripts}")
}

fn deleted(detail: &InstanceDetail) -> String {
    let days = atelier_engine::fleet::HOMES_KEPT.as_millis() / 86_400_000;
    let jobs = match detail.view.plan.jobs {
        0 => String::new(),
        jobs => format!(" {} ended.", counted(jobs, "job is", "jobs are")),
    };
    format!(
        "Its home, its environment and its schedules go.{jobs} Its history stays, and an operator can bring the home \
         back for {days} days."
    )
}

/// What came of doing something to several.
#[derive(Debug)]
pub struct Changed {
    pub done: Vec<Subject>,
    /// What was left as it is, each with the reason.
    pub left: Vec<(Subject, AppError)>,
}

impl Changed {
    /// All that was done and what was not, as sentences.
    pub fn sentences(&self, verb: Verb) -> String {
        let what = match self.done.as_slice() {
            [one] => format!("{} {}.", one.name, verb.going(true)),
            many => format!("{} {}.", counted(many.len() as u64, "instance", "instances"), verb.going(false)),
        };
        let left = self.left.iter().map(|(subject, error)| format!(" {} was left as it is: {error}", subject.name));
        left.fold(what, |said, left| said + &left)
    }
}

/// Does it to each of these by itself. An error if nothing could be done to any.
pub async fn change(
    caller: &Caller,
    command: &CommandId,
    verb: InstanceVerb,
    names: &[String],
    why: Option<String>,
) -> Result<Changed, AppError> {
    if names.is_empty() {
        return Err(Problem::new("ids", "No instance was selected. Select at least one.").into());
    }
    few_enough(names, "instances")?;
    let mut subjects = Vec::with_capacity(names.len());
    for name in names {
        subjects.push(find(caller, name).await?);
    }
    let mut changed = Changed { done: Vec::new(), left: Vec::new() };
    for subject in subjects {
        let id = CommandId::parse(&format!("{}-{}", command.as_str(), subject.id.0)).map_err(AppError::invalid)?;
        let order =
            plain_order(verb.verb(), subject.id).ok_or_else(|| AppError::not_found("way to change instances"))?;
        match carry_out(caller, id, &subject, order, why.clone()).await {
            Ok(Answer::Already) => {
                let message = verb.why_not(subject.state).unwrap_or("Nothing to change.").to_owned();
                changed.left.push((subject, AppError::refused("already", message)));
            }
            Ok(_) => changed.done.push(subject),
            Err(error @ (AppError::Forbidden { .. } | AppError::Refused { .. } | AppError::NotFound { .. })) => {
                changed.left.push((subject, error));
            }
            Err(other) => return Err(other),
        }
    }
    match changed.left.pop() {
        Some((_, error)) if changed.done.is_empty() => Err(error),
        last => {
            changed.left.extend(last);
            Ok(changed)
        }
    }
}
