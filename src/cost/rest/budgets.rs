//! Budgets: read by those whom they concern, set by those who may.

use atelier_domain::access::Action;
use atelier_domain::compute::budget::{BudgetAction, BudgetOf};
use atelier_domain::money::{Decimal, Money};
use atelier_domain::schedule::Zone;
use atelier_domain::text::{Problem, parse_why};
use atelier_studio::budgets::{BudgetLine, Wish};
use atelier_studio::caller::Caller;
use atelier_studio::clock::rfc3339;
use atelier_studio::{budgets as budget, quota};
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};

use crate::error::AppError;
use crate::server::rest::asked::{Asked, Json, Parameters};
use crate::server::rest::problem::{Answered, Refusal};
use crate::server::rest::view::json;

#[derive(Debug, Serialize)]
struct BudgetsView {
    currency: String,
    budgets: Vec<BudgetView>,
}

#[derive(Debug, Serialize)]
struct BudgetView {
    scope: &'static str,
    person: Option<PersonView>,
    amount: Decimal,
    /// What happens when it is spent.
    action: &'static str,
    time_zone: String,
    month_from: String,
    month_to: String,
    /// In the month, with what is not booked yet.
    spent: Decimal,
    spent_percent: u64,
    /// The highest of 50, 80 and 100 of which people were warned; 0 for none.
    warned_percent: u8,
    per_hour: Decimal,
    /// When all of it is spent if nothing changes; null if that is not in this month.
    spent_at: Option<String>,
}

#[derive(Debug, Serialize)]
struct PersonView {
    id: String,
    name: String,
}

impl From<BudgetLine> for BudgetView {
    fn from(line: BudgetLine) -> Self {
        let (scope, person) = match &line.of {
            BudgetOf::Workspace => ("workspace", None),
            BudgetOf::Person(id) => ("person", Some(PersonView { id: id.to_string(), name: line.name.clone() })),
        };
        Self {
            scope,
            person,
            amount: Money(line.budget.amount).decimal(),
            action: line.budget.action.key(),
            time_zone: line.budget.zone.as_str().to_owned(),
            month_from: rfc3339(line.budget.period.from),
            month_to: rfc3339(line.budget.period.to),
            spent: Money(line.standing.spent).decimal(),
            spent_percent: line.standing.percent(&line.budget),
            warned_percent: line.budget.warned,
            per_hour: Money(line.standing.per_hour).decimal(),
            spent_at: line.standing.spent_at.map(rfc3339),
        }
    }
}

/// `GET /budgets`: those that concern the caller, or all for who sees all cost.
pub async fn list(asked: Asked, parameters: Parameters) -> Answered {
    parameters.none_left(&[])?;
    view_of(&asked.caller).await
}

async fn view_of(caller: &Caller) -> Answered {
    let found = budget::read(caller).await?;
    let view = BudgetsView {
        currency: caller.studio.settings().currency.clone(),
        budgets: found.workspace.into_iter().chain(found.people).map(BudgetView::from).collect(),
    };
    Ok(json(StatusCode::OK, &view))
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
pub async fn put(asked: Asked, parameters: Parameters, Json(wanted): Json<Wanted>) -> Answered {
    parameters.none_left(&[])?;
    let caller = &asked.caller;
    let id = asked.id_for("set-budget", &wanted);
    caller.authorise(Action::BudgetWrite).await?;
    let of = match (wanted.scope.as_str(), wanted.person.as_str()) {
        ("workspace", "") => BudgetOf::Workspace,
        ("person", typed) => BudgetOf::Person(quota::person_of(caller, typed).await?.id),
        ("workspace", _) => return Err(Refusal::field("person", "Name a person only where “scope” is person.")),
        _ => return Err(Refusal::field("scope", "“scope” is workspace or person.")),
    };
    let why = parse_why(&wanted.why).map_err(AppError::from)?;
    let wish = match wanted.amount {
        None => None,
        Some(amount) => {
            let action = match wanted.action.as_str() {
                "" => BudgetAction::Warn,
                action => BudgetAction::parse(action).map_err(AppError::from)?,
            };
            let zone = match wanted.time_zone.as_str() {
                "" => None,
                zone => Some(
                    Zone::parse(zone).map_err(|problem| AppError::from(Problem::new("time_zone", problem.message)))?,
                ),
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
