//! What would come of doing something to several instances, and doing it.

use atelier_domain::compute::instance::InstanceState;
use atelier_domain::compute::verb::{InstanceVerb, Legality};
use atelier_domain::paths;
use atelier_domain::text::{Problem, counted, parse_why};
use atelier_domain::world::Answer;
use atelier_engine::run::CommandId;
use atelier_studio::caller::Caller;
use atelier_studio::instances::commands::{Deed, Subject, carry_out, find, right_for};
use atelier_studio::instances::detail::{InstanceDetail, forbids, instance};
use atelier_studio::instances::row::short;
use atelier_studio::orders::command_id;

use crate::done::Done;
use crate::error::AppError;
use crate::server::caller::here;

/// How many can be chosen at once.
const MOST_AT_ONCE: usize = 200;

/// What can be done to several at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BulkVerb {
    /// Give them nodes.
    Start,
    /// Take their nodes away.
    Stop,
    /// Start their applications again.
    Restart,
    /// Fresh environments.
    Rebuild,
    /// Take them away.
    Delete,
}

impl BulkVerb {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Start, Self::Stop, Self::Restart, Self::Rebuild, Self::Delete];

    /// The name in addresses and forms.
    pub const fn key(self) -> &'static str {
        self.verb().key()
    }

    /// Reads it.
    pub fn from_key(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verb| verb.key() == key)
    }

    /// The verb of the table.
    pub const fn verb(self) -> InstanceVerb {
        match self {
            Self::Start => InstanceVerb::Start,
            Self::Stop => InstanceVerb::Stop,
            Self::Restart => InstanceVerb::Restart,
            Self::Rebuild => InstanceVerb::Rebuild,
            Self::Delete => InstanceVerb::Delete,
        }
    }

    const fn deed(self) -> Deed {
        match self {
            Self::Start => Deed::Start,
            Self::Stop => Deed::Stop,
            Self::Restart => Deed::Restart,
            Self::Rebuild => Deed::Rebuild,
            Self::Delete => Deed::Delete,
        }
    }

    /// With a capital: `Stop`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Start => "Start",
            Self::Stop => "Stop",
            Self::Restart => "Restart",
            Self::Rebuild => "Rebuild",
            Self::Delete => "Delete",
        }
    }

    /// After a name: `is being stopped`.
    const fn going_on(self, is_one: bool) -> &'static str {
        match (self, is_one) {
            (Self::Start, true) => "is starting",
            (Self::Start, false) => "are starting",
            (Self::Stop, true) => "is stopping",
            (Self::Stop, false) => "are stopping",
            (Self::Restart, true) => "is restarting",
            (Self::Restart, false) => "are restarting",
            (Self::Rebuild, true) => "gets a fresh environment",
            (Self::Rebuild, false) => "get fresh environments",
            (Self::Delete, true) => "is being deleted",
            (Self::Delete, false) => "are being deleted",
        }
    }
}

/// What will come of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is done, and this is what is lost and kept.
    Done {
        /// In words.
        words: String,
        /// What it saves or costs.
        note: String,
    },
    /// Nothing will happen, and why.
    Stays(String),
}

/// An instance that was chosen, and what will come of it.
#[derive(Clone, Debug)]
pub struct Judged {
    /// Its name.
    pub name: String,
    /// What will come of it.
    pub fate: Fate,
}

/// What would come of doing that to each of these.
pub async fn judge_instances(verb: BulkVerb, names: &[String]) -> Result<Vec<Judged>, AppError> {
    let caller = here()?;
    few_enough(names)?;
    let mut judged = Vec::with_capacity(names.len());
    for name in names {
        let detail = instance(&caller, name).await?;
        judged.push(Judged { name: detail.row.name.clone(), fate: fate(&caller, verb, &detail)? });
    }
    Ok(judged)
}

fn few_enough(names: &[String]) -> Result<(), AppError> {
    if names.len() > MOST_AT_ONCE {
        let message = format!("At most {MOST_AT_ONCE} instances are changed at once; {} were selected.", names.len());
        return Err(Problem::new("ids", message).into());
    }
    Ok(())
}

fn fate(caller: &Caller, verb: BulkVerb, detail: &InstanceDetail) -> Result<Fate, AppError> {
    let rights = caller.actor()?.person.rights();
    if let Err(denied) = rights.check(right_for(verb.verb()), detail.whose) {
        return Ok(Fate::Stays(denied.sentence()));
    }
    if let Some(why) = forbids(verb.verb(), detail.row.state) {
        return Ok(Fate::Stays(why));
    }
    let row = &detail.row;
    let (words, note) = match verb {
        BulkVerb::Start => {
            let later = verb.verb().in_state(row.state) == Legality::Later;
            let when = if later { "Starts as soon as it has stopped." } else { "Gets a node and starts." };
            (when.to_owned(), format!("{}/h", row.per_hour))
        }
        BulkVerb::Stop => (ended(detail, "Its home is kept."), format!("{}/h saved", row.per_hour)),
        BulkVerb::Restart => (ended(detail, "Its home and what is installed are kept."), String::new()),
        BulkVerb::Rebuild => (rebuilt(detail), String::new()),
        BulkVerb::Delete => (deleted(detail), String::new()),
    };
    Ok(Fate::Done { words, note })
}

/// What ends with a stop or a restart, then what stays.
fn ended(detail: &InstanceDetail, kept: &str) -> String {
    let busy: Vec<String> = detail
        .signals
        .iter()
        .filter(|signal| signal.is_active)
        .map(|signal| match signal.detail.as_str() {
            "" => short(signal.source).to_owned(),
            detail => format!("{} ({detail})", short(signal.source)),
        })
        .collect();
    let lost = if busy.is_empty() {
        "What is only in memory is lost.".to_owned()
    } else {
        format!("{}: what is only in memory is lost.", busy.join(", "))
    };
    let is_up = matches!(detail.row.state, InstanceState::Running | InstanceState::JobRunning);
    if is_up { format!("{lost} {kept}") } else { kept.to_owned() }
}

fn rebuilt(detail: &InstanceDetail) -> String {
    let scripts = if detail.scripts.scripts.creation.is_some() { " Its creation script runs again." } else { "" };
    let ended = if detail.row.node.is_some() { " What runs in it ends." } else { "" };
    format!("What was installed into its environment is lost; its home is kept.{ended}{scripts}")
}

fn deleted(detail: &InstanceDetail) -> String {
    let days = atelier_engine::fleet::HOMES_KEPT.as_millis() / 86_400_000;
    let jobs = match detail.row.plan.jobs {
        0 => String::new(),
        jobs => format!(" {} ended.", counted(jobs, "job is", "jobs are")),
    };
    format!(
        "Its home, its environment and its schedules go.{jobs} Its history stays, and an operator can bring the home back for \
         {days} days."
    )
}

/// Does it to each of these by itself.
pub(super) async fn change(command: &str, verb: &str, names: &[String], why: &str) -> Result<Done, AppError> {
    let caller = here()?;
    let slug = caller.actor()?.workspace.slug.clone();
    let verb = BulkVerb::from_key(verb).ok_or_else(|| AppError::not_found("way to change instances"))?;
    if names.is_empty() {
        return Err(Problem::new("ids", "No instance was selected. Select at least one.").into());
    }
    few_enough(names)?;
    let (command, why) = (command_id(command)?, parse_why(why)?);
    let mut subjects = Vec::with_capacity(names.len());
    for name in names {
        subjects.push(find(&caller, name).await?);
    }
    let (mut done, mut left) = (Vec::new(), Vec::new());
    for subject in &subjects {
        match carry_out(&caller, of(&command, subject)?, subject, verb.deed(), why.clone()).await {
            Ok(Answer::Already) => left.push((subject, already(verb, subject))),
            Ok(_) => done.push(subject),
            Err(error @ (AppError::Forbidden { .. } | AppError::Refused { .. } | AppError::NotFound { .. })) => {
                left.push((subject, error));
            }
            Err(other) => return Err(other),
        }
    }
    let next = match subjects.as_slice() {
        [one] if verb != BulkVerb::Delete => paths::instance(&slug, one.name.as_str()),
        _ => paths::compute(&slug, "instances"),
    };
    if done.is_empty()
        && let Some((_, error)) = left.pop()
    {
        return Err(error);
    }
    let rest: String =
        left.iter().map(|(subject, error)| format!(" {} was left as it is: {error}", subject.name)).collect();
    let what = match done.as_slice() {
        [one] => format!("{} {}.", one.name, verb.going_on(true)),
        many => format!("{} {}.", counted(many.len() as u64, "instance", "instances"), verb.going_on(false)),
    };
    Ok(Done::go(next, format!("{what}{rest}")))
}

fn already(verb: BulkVerb, subject: &Subject) -> AppError {
    let message = forbids(verb.verb(), subject.state).unwrap_or_else(|| "That is so already.".into());
    AppError::Refused { code: "already".into(), message }
}

/// The command for one of several.
fn of(command: &CommandId, subject: &Subject) -> Result<CommandId, AppError> {
    CommandId::parse(&format!("{}-{}", command.as_str(), subject.id.0)).map_err(AppError::invalid)
}
