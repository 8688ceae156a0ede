//! What forms change.

use atelier_domain::access::Action;
use atelier_domain::compute::budget::{BudgetAction, BudgetOf};
use atelier_domain::paths;
use atelier_domain::schedule::Zone;
use atelier_domain::text::{Problem, money, parse_why};
use atelier_domain::world::Answer;
use atelier_studio::budgets::Wish;
use atelier_studio::caller::Caller;
use atelier_studio::orders::command_id;
use atelier_studio::typed::Problems;
use atelier_studio::{budgets as budget, quota};

use crate::done::Done;
use crate::error::AppError;
use crate::server::caller::here;

/// A budget as it is typed.
pub struct Typed {
    pub whose: String,
    pub person: String,
    pub amount: String,
    pub action: String,
    pub time_zone: String,
    pub why: String,
}

/// Whose it is, with the name that begins a sentence.
async fn whose(caller: &Caller, whose: &str, person: &str) -> Result<(BudgetOf, String), AppError> {
    match whose {
        "workspace" => Ok((BudgetOf::Workspace, "The workspace".to_owned())),
        "person" => {
            let person = quota::person_of(caller, person).await?;
            Ok((BudgetOf::Person(person.id), person.name))
        }
        _ => Err(AppError::invalid(Problem::new("whose", "A budget is the workspace’s or a person’s."))),
    }
}

pub async fn set_budget(id: &str, typed: &Typed) -> Result<Done, AppError> {
    let caller = here()?;
    let actor = caller.authorise(Action::BudgetWrite).await?;
    let currency = caller.studio.settings().currency.clone();
    let mut problems = Problems::new();
    let of = match whose(&caller, &typed.whose, &typed.person).await {
        Ok(of) => Some(of),
        Err(AppError::Invalid { problems: more }) => {
            problems.0.extend(more);
            None
        }
        Err(other) => return Err(other),
    };
    let amount = problems.take(budget::amount_of(&typed.amount, &currency));
    let action = problems.take(BudgetAction::parse(&typed.action));
    let zone = match typed.time_zone.as_str() {
        "" => Some(None),
        zone => {
            problems.take(Zone::parse(zone).map_err(|problem| Problem::new("time_zone", problem.message))).map(Some)
        }
    };
    let why = problems.take(parse_why(&typed.why));
    let (Some((of, name)), Some(amount), Some(action), Some(zone), Some(why)) = (of, amount, action, zone, why) else {
        return Err(problems.into_error());
    };
    let answer = budget::set(&caller, command_id(id)?, of, Some(Wish { amount, action, zone }), why).await?;
    let said = money(amount.unsigned_abs(), &currency);
    let said = match answer {
        Answer::Already => format!("{name} has this budget already: {said} a month."),
        _ => format!("{name} may spend {said} a month."),
    };
    Ok(Done::go(paths::budgets(&actor.workspace.slug), said))
}

pub async fn lift_budget(id: &str, of: &str, person: &str) -> Result<Done, AppError> {
    let caller = here()?;
    let actor = caller.authorise(Action::BudgetWrite).await?;
    let (of, name) = whose(&caller, of, person).await?;
    budget::set(&caller, command_id(id)?, of, None, None).await?;
    Ok(Done::go(paths::budgets(&actor.workspace.slug), format!("{name} has no budget any more.")))
}
