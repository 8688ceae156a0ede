//! The wizard's steps, and what each of them needs to know.

use atelier_domain::access::{Action, Whose};
use atelier_domain::account::AccountState;
use atelier_domain::fields::Fields;
use atelier_domain::text::Problem;
use atelier_domain::world::ComputeRef;
use atelier_engine::store::PeopleFilter;
use atelier_studio::caller::Caller;
use atelier_studio::instances::commands::JUPYTER;
use atelier_studio::instances::create::name_of;
use atelier_studio::orders::ask;
use atelier_studio::sizes::list::sizes_for;
use atelier_studio::sizes::row::SizeRow;

use crate::error::AppError;
use crate::instances::wizard::judge::{Known, defaults, judge};
use crate::instances::wizard::summary::{Summary, summarise};

/// The people that the list has room for.
const MOST_PEOPLE: i64 = 1_000;

atelier_domain::keyed_enum! {
    /// A step, in the order of the wizard.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
    pub enum Step {
        /// Name, owner and size.
        Size = "size", "Size";
        Schedule = "schedule", "Schedule";
        /// Whose it is, and what it keeps.
        Access = "access", "Access";
        /// What runs in it, and the scripts before.
        Applications = "applications", "Applications";
        Tags = "tags", "Tags";
        Review = "review", "Review";
    }
}

impl Step {
    /// The step of that name; the first if there is none.
    pub fn or_first(key: &str) -> Self {
        Self::from_key(key).unwrap_or(Self::Size)
    }

    /// The step that shows a field.
    pub fn of_field(field: &str) -> Self {
        match field {
            "name" | "size" | "owner" => Self::Size,
            "quota" => Self::Access,
            "tags" => Self::Tags,
            field if field.starts_with("creation_") || field.starts_with("startup_") => Self::Applications,
            "begin" | "command_id" => Self::Review,
            _ => Self::Schedule,
        }
    }

    /// The one after it; the last has none.
    pub fn next(self) -> Option<Self> {
        Self::ALL.into_iter().find(|step| *step > self)
    }

    /// The one before it; the first has none.
    pub fn before(self) -> Option<Self> {
        Self::ALL.into_iter().rev().find(|step| *step < self)
    }
}

/// Every field that the wizard carries from step to step, beside those of the week.
pub const FIELDS: [&str; 20] = [
    "command_id",
    "kind",
    "name",
    "owner",
    "size",
    "scheduled",
    "time_zone",
    "jobs",
    "drain",
    "idle",
    "idle_minutes",
    "quota",
    "creation_script",
    "creation_arguments",
    "creation_limit",
    "startup_script",
    "startup_arguments",
    "startup_limit",
    "tags",
    "begin",
];

/// Whether a step has a field that one can see and change.
pub fn is_shown(step: Step, field: &str) -> bool {
    match field {
        "command_id" | "kind" => false,
        "owner" => matches!(step, Step::Size | Step::Access),
        field => Step::of_field(field) == step,
    }
}

#[derive(Clone, Debug)]
pub struct Wizard {
    pub step: Step,
    /// What was typed so far, or is proposed.
    pub fields: Fields,
    pub problems: Vec<Problem>,
    pub known: Known,
    /// The catalogue, with what is left of the owner's quotas.
    pub sizes: Vec<SizeRow>,
    pub name: NameVerdict,
    pub summary: Summary,
    pub is_lost: bool,
}

/// What is to be said about a name while it is typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameVerdict {
    Nothing,
    Free(String),
    /// It is another's, or breaks a rule.
    Wrong(String),
}

/// The wizard at a step: with what was typed just now, or under the name `draft`, or fresh with what is
/// `proposed`. Needs `instance.create`.
pub async fn wizard(
    caller: &Caller,
    typed: Option<Fields>,
    draft: &str,
    step: Step,
    proposed: &[(&str, String)],
) -> Result<Wizard, AppError> {
    caller.authorise_for(Action::InstanceCreate, Whose::Own).await?;
    let known = known(caller).await?;
    let found = match typed {
        Some(fields) => Some(fields),
        None if draft.is_empty() => None,
        None => crate::instances::wizard::draft::load(caller, draft).await,
    };
    let (is_sent, is_lost) = (found.is_some(), found.is_none() && !draft.is_empty());
    let mut fields = match found {
        Some(fields) => fields,
        None => fresh(caller, &known, proposed)?,
    };
    if fields.get("command_id").is_empty() {
        fields.set("command_id", atelier_studio::secret::random_token());
    }
    let judged = judge(&fields, &known);
    let problems = judged.as_ref().err().cloned().unwrap_or_default();
    // Whoever goes on past something that is wrong is led back to it.
    let wrong = problems.iter().map(|problem| Step::of_field(&problem.field));
    let led_back = wrong.filter(|wrong| is_sent && *wrong < step).min();
    let step = led_back.unwrap_or(if is_lost { Step::Size } else { step });
    let problems = if is_sent { problems } else { Vec::new() };
    let owner = owner_of(&fields, &known);
    let sizes = sizes_for(caller, owner).await?;
    let name = check_name(caller, fields.get("name")).await?;
    let summary = summarise(caller, &fields, &known, judged.ok().as_ref()).await?;
    Ok(Wizard { step, fields, problems, known, sizes, name, summary, is_lost })
}

/// Whose it will be, as far as that can be told.
pub(super) fn owner_of(fields: &Fields, known: &Known) -> atelier_domain::UserId {
    let typed = fields.get("owner");
    let other = known.people.iter().find(|(id, _)| id.as_str() == typed).map(|(id, _)| id.clone());
    other.unwrap_or_else(|| known.me.clone())
}

/// The form as a person finds it first.
fn fresh(caller: &Caller, known: &Known, proposed: &[(&str, String)]) -> Result<Fields, AppError> {
    let mut fields = defaults(&caller.actor()?.person.time_zone, &known.rules);
    for (field, value) in proposed {
        fields.set(field, value.as_str());
    }
    if fields.get("size").is_empty() {
        let cheapest = caller.studio.engine().catalogue().sizes().first().map(|size| size.name.to_string());
        fields.set("size", cheapest.unwrap_or_default());
    }
    Ok(fields)
}

/// What decides beside what was typed.
pub async fn known(caller: &Caller) -> Result<Known, AppError> {
    let actor = caller.actor()?;
    let workspace = actor.workspace.id.clone();
    let rules = ask(caller, move |world| world.idle_rules(&workspace)).await?;
    let denied = actor.person.rights().check(Action::InstanceCreateFor, Whose::Others).err();
    let people = match denied {
        Some(_) => Vec::new(),
        None => {
            let filter = PeopleFilter { limit: MOST_PEOPLE, ..PeopleFilter::default() };
            let people = caller.checked(caller.store().list_people(&actor.workspace.id, &filter).await)?;
            let may_open = |person: &atelier_engine::store::Person| {
                person.state != AccountState::Disabled
                    && person.rights().check(Action::InstanceConnect, Whose::Own).is_ok()
                    && person.id != actor.person.id
            };
            people.into_iter().filter(may_open).map(|person| (person.id, person.name)).collect()
        }
    };
    Ok(Known { me: actor.person.id.clone(), rules, not_for_others: denied.map(|denied| denied.sentence()), people })
}

/// Whether a name can be had. Needs `instance.create`.
pub async fn check_name(caller: &Caller, typed: &str) -> Result<NameVerdict, AppError> {
    let actor = caller.authorise_for(Action::InstanceCreate, Whose::Own).await?;
    if typed.trim().is_empty() {
        return Ok(NameVerdict::Nothing);
    }
    let name = match name_of(typed.trim()) {
        Ok(name) => name,
        Err(problem) => return Ok(NameVerdict::Wrong(problem.message)),
    };
    let (workspace, wanted) = (actor.workspace.id.clone(), name.clone());
    Ok(match ask(caller, move |world| world.compute(&workspace, &wanted)).await? {
        Some(ComputeRef::Instance(_)) => NameVerdict::Wrong(format!("Another instance is called {name} already.")),
        Some(ComputeRef::Cluster(_)) => NameVerdict::Wrong(format!("A cluster is called {name} already.")),
        None => {
            let (slug, config) = (&actor.workspace.slug, caller.studio.settings());
            NameVerdict::Free(match &config.apps_ports {
                Some(range) => format!("Free. JupyterLab will be at one of the ports {range}"),
                None => format!("Free. JupyterLab will be at {JUPYTER}--{name}--{slug}.{}", config.apps_domain),
            })
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_has_its_step() {
        for (field, step) in [
            ("name", Step::Size),
            ("mon_start", Step::Schedule),
            ("time_zone", Step::Schedule),
            ("idle_minutes", Step::Schedule),
            ("quota", Step::Access),
            ("startup_arguments", Step::Applications),
            ("tags", Step::Tags),
        ] {
            assert_eq!(Step::of_field(field), step, "{field}");
        }
        assert_eq!(Step::or_first("review"), Step::Review);
        assert_eq!(Step::or_first("nonsense"), Step::Size);
        assert_eq!((Step::Size.before(), Step::Size.next()), (None, Some(Step::Schedule)));
        assert_eq!((Step::Review.before(), Step::Review.next()), (Some(Step::Tags), None));
    }
}
