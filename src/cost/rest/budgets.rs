//! Budgets: read by those whom they concern, set by those who may.

use atelier_domain::access::Action;
use atelier_domain::compute::budget::{BudgetAction, BudgetOf};
use atelier_domain::money::Money;
use atelier_domain::schedule::Zone;
use atelier_domain::text::{Problem, parse_why};
use atelier_studio::budgets::{BudgetLine, Wish};
use atelier_studio::caller::Caller;
use atelier_studio::clock::rfc3339;
use atelier_studio::{budgets as budget, quota};
use serde::{Deserialize, Serialize};

use crate::server::rest::asked::{Asked, Json, NoParameters};
use crate::server::rest::problem::{Answered, Refusal};
use crate::server::rest::view::{object, ok};

fn view(line: BudgetLine) -> impl Serialize + use<> {
    let (budget, standing) = (&line.budget, &line.standing);
    let (scope, person) = match &line.of {
        BudgetOf::Workspace => ("workspace", None),
        BudgetOf::Person(id) => ("person", Some(object! { id: id.to_string(), name: line.name.clone() })),
    };
    object! {
        scope: scope,
        person: person,
        amount: Money(budget.amount).decimal(),
        // What happens when it is spent.
        action: budget.action.key(),
        time_zone: budget.zone.as_str().to_owned(),
        month_from: rfc3339(budget.period.from),
        month_to: rfc3339(budget.period.to),
        // In the month, with what is not booked yet.
        spent: Money(standing.spent).decimal(),
        spent_percent: standing.percent(budget),
        // The highest of 50, 80 and 100 of which people were warned; 0 for none.
        warned_percent: budget.warned,
        per_hour: Money(standing.per_hour).decimal(),
        // When all of it is spent if nothing changes; null if that is not in this month.
        spent_at: standing.spent_at.map(rfc3339),
    }
}

/// `GET /budgets`: those that concern the caller, or all for who sees all cost.
pub async fn list(asked: Asked, _: NoParameters) -> Answered {
    view_of(&asked.caller).await
}

async fn view_of(caller: &Caller) -> Answered {
    let found = budget::read(caller).await?;
    let budgets = found.workspace.into_iter().chain(found.people).map(view).collect::<Vec<_>>();
    ok(&object! { currency: &caller.studio.settings().currency, budgets: budgets })
}

/// A budget as a whole; `amount` must be there, and null takes it away.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    scope: String,
    #[serde(default)]
    person: String,
    #[serde(deserialize_with = "Option::deserialize")]
    amount: Option<f64>,
    #[serde(default)]
    action: String,
    #[serde(default)]
    time_zone: String,
    #[serde(default)]
    why: String,
}

/// `PUT /budgets`: sets a budget, or takes it away.
pub async fn put(asked: Asked, _: NoParameters, Json(wanted): Json<Wanted>) -> Answered {
    let caller = &asked.caller;
    let id = asked.id_for("set-budget", &wanted);
    caller.authorise(Action::BudgetWrite).await?;
    let of = match (wanted.scope.as_str(), wanted.person.as_str()) {
        ("workspace", "") => BudgetOf::Workspace,
        ("person", typed) => BudgetOf::Person(quota::person_of(caller, typed).await?.id),
        ("workspace", _) => return Err(Refusal::field("person", "Name a person only where “scope” is person.")),
        _ => return Err(Refusal::field("scope", "“scope” is workspace or person.")),
    };
    let why = parse_why(&wanted.why)?;
    let wish = match wanted.amount {
        None => None,
        Some(amount) => {
            let action = match wanted.action.as_str() {
                "" => BudgetAction::Warn,
                action => BudgetAction::parse(action)?,
            };
            let zone = match wanted.time_zone.as_str() {
                "" => None,
                zone => Some(Zone::parse(zone).map_err(|problem| Problem::new("time_zone", problem.message))?),
            };
            // What is no amount at all is refused with the bounds, as all that is out of them.
            let size = Money::from_number(amount.abs()).and_then(|amount| i64::try_from(amount.0).ok());
            let size = size.unwrap_or(i64::MAX);
            let amount = if amount < 0.0 { -size } else { size };
            Some(Wish { amount, action, zone })
        }
    };
    budget::set(caller, id, of, wish, why).await?;
    view_of(caller).await
}
