//! What computes, people and jobs cost.

pub mod budgets;

use atelier_domain::money::{Decimal, Money};
use atelier_domain::world::Charge;
use atelier_domain::zone::ZoneName;
use atelier_engine::clock;
use atelier_studio::cost::days::{By, Selection};
use atelier_studio::cost::spent::read;
use serde::Serialize;

use crate::server::rest::asked::{Asked, Parameters};
use crate::server::rest::problem::{Answered, Refusal};
use crate::server::rest::view::{object, ok};

/// Rows if nothing else is asked for, and the most.
const LISTED: usize = 50;
const MOST_LISTED: usize = 500;

#[derive(Debug, Serialize)]
struct ChargeView {
    cost: Decimal,
    node_seconds: f64,
}

impl From<Charge> for ChargeView {
    fn from(charge: Charge) -> Self {
        Self { cost: Money(charge.cost).decimal(), node_seconds: charge.millis as f64 / 1e3 }
    }
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum RowView {
    Day {
        day: String,
        #[serde(flatten)]
        charge: ChargeView,
    },
    Thing {
        id: Option<String>,
        kind: &'static str,
        name: String,
        #[serde(flatten)]
        charge: ChargeView,
    },
}

/// `GET /cost?days=&from=&to=&by=&time_zone=&limit=`.
pub async fn show(asked: Asked, mut parameters: Parameters) -> Answered {
    let mut text = |name| parameters.take(name).map(Option::unwrap_or_default);
    let (days, from, to, by, zone) = (text("days")?, text("from")?, text("to")?, text("by")?, text("time_zone")?);
    let count = |text: &str| text.parse().ok().filter(|limit| (1..=MOST_LISTED).contains(limit));
    let limit = parameters.read("limit", count, "a number from 1 to 500")?.unwrap_or(LISTED);
    parameters.none_left(&["days", "from", "to", "by", "time_zone", "limit"])?;
    let zone = if zone.is_empty() { "UTC" } else { &zone };
    let zone = ZoneName::parse(zone)?;
    let selection =
        Selection::parse([&days, &from, &to, &by], clock::now(), zone.as_str()).map_err(Refusal::invalid)?;
    let spending = read(&asked.caller, &selection, limit).await?;
    let rows = if selection.by == By::Day {
        let used = spending.days.iter().filter(|day| day.charge.millis > 0);
        used.map(|day| RowView::Day { day: day.date.to_string(), charge: day.charge.into() }).collect::<Vec<_>>()
    } else {
        let view = |row: atelier_studio::cost::view::SpendingRow| RowView::Thing {
            id: (!row.key.is_empty()).then_some(row.key),
            kind: row.kind.key(),
            name: row.name,
            charge: row.charge.into(),
        };
        spending.rows.into_iter().map(view).collect()
    };
    ok(&object! {
        from: selection.from.to_string(),
        to: selection.to.to_string(),
        time_zone: zone.as_str(),
        by: selection.by.key(),
        currency: &asked.caller.studio.settings().currency,
        own_only: spending.is_own,
        total: ChargeView::from(spending.total),
        now: object! { cost_per_hour: Money(spending.per_hour).decimal(), nodes: spending.nodes },
        saved_by_being_off: spending.saved.map(|saved| object! {
            instances: saved.instances,
            off_seconds: saved.off_millis as f64 / 1e3,
            cost: Money(saved.cost).decimal(),
            // The parts of that: what schedules, idle shutdown and people saved.
            by_schedule: Money(saved.by_schedule).decimal(),
            by_idle: Money(saved.by_idle).decimal(),
            by_hand: Money(saved.by_hand()).decimal(),
        }),
        rows: rows,
        rest: spending.rest.map(|rest| object! {
            count: rest.count,
            #[serde(flatten)]
            charge: ChargeView::from(rest.charge),
        }),
    })
}
