//! Budgets as they are set by forms.

use leptos::prelude::*;
use serde::{Deserialize, Serialize};
#[cfg(feature = "ssr")]
use {
    crate::error::AppError,
    crate::server::caller::here,
    atelier_domain::Money,
    atelier_domain::access::Action,
    atelier_domain::compute::budget::{BudgetAction, BudgetOf},
    atelier_domain::paths,
    atelier_domain::schedule::Zone,
    atelier_domain::text::{Problem, parse_why},
    atelier_domain::world::Answer,
    atelier_studio::budgets::{self, Wish},
    atelier_studio::caller::Caller,
    atelier_studio::typed::Problems,
    atelier_studio::{orders, quota},
};

use crate::done::Done;
use crate::error::FnError;

/// A budget as it is typed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct BudgetForm {
    pub whose: String,
    pub person: String,
    pub amount: String,
    pub action: String,
    pub time_zone: String,
    pub why: String,
}

/// Sets a budget. Needs `budget.write`.
#[server(prefix = "/fn", endpoint = "set_budget")]
pub async fn set_budget(
    #[server(default)] command_id: String,
    #[server(flatten)] form: BudgetForm,
) -> Result<Done, FnError> {
    let caller = here()?;
    let actor = caller.authorise(Action::BudgetWrite).await?;
    let currency = &caller.studio.settings().currency;
    let mut problems = Problems::default();
    let of = problems.keep(whose(&caller, &form.whose, &form.person).await)?;
    let amount = problems.take(budgets::amount_of(&form.amount, currency));
    let action = problems.take(BudgetAction::parse(&form.action));
    let zone = problems.take(match form.time_zone.as_str() {
        "" => Ok(None),
        zone => Zone::parse(zone).map(Some).map_err(|problem| Problem::new("time_zone", problem.message)),
    });
    let why = problems.take(parse_why(&form.why));
    let (Some((of, name)), Some(amount), Some(action), Some(zone), Some(why)) = (of, amount, action, zone, why) else {
        return Err(problems.into_error().into());
    };
    let wish = Wish { amount, action, zone };
    let answer = budgets::set(&caller, orders::command_id(&command_id)?, of, Some(wish), why).await?;
    let said = Money(amount.unsigned_abs()).said(currency);
    let said = match answer {
        Answer::Already => format!("{name} has this budget already: {said} a month."),
        _ => format!("{name} may spend {said} a month."),
    };
    Ok(Done::go(paths::budgets(&actor.workspace.slug), said))
}

/// Takes a budget away. Needs `budget.write`.
#[server(prefix = "/fn", endpoint = "lift_budget")]
pub async fn lift_budget(
    #[server(default)] command_id: String,
    #[server(default)] whose: String,
    #[server(default)] person: String,
) -> Result<Done, FnError> {
    let caller = here()?;
    let actor = caller.authorise(Action::BudgetWrite).await?;
    let (of, name) = self::whose(&caller, &whose, &person).await?;
    budgets::set(&caller, orders::command_id(&command_id)?, of, None, None).await?;
    Ok(Done::go(paths::budgets(&actor.workspace.slug), format!("{name} has no budget any more.")))
}

/// Whose it is, with the name that begins a sentence.
#[cfg(feature = "ssr")]
async fn whose(caller: &Caller, whose: &str, person: &str) -> Result<(BudgetOf, String), AppError> {
    match whose {
        "workspace" => Ok((BudgetOf::Workspace, "The workspace".to_owned())),
        "person" => {
            let person = quota::person_of(caller, person).await?;
            Ok((BudgetOf::Person(person.id), person.name))
        }
        _ => Err(Problem::new("whose", "A budget is the workspace’s or a person’s.").into()),
    }
}
