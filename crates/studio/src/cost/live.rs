//! What runs now: what it costs in an hour, and what is not in the ledger yet.

use std::collections::BTreeMap;

use atelier_domain::UserId;
use atelier_domain::compute::node::Holder;
use atelier_domain::error::AppError;
use atelier_domain::time::Span;
use atelier_domain::world::{Charge, LedgerKey};
use atelier_engine::clock;
use atelier_engine::store::{SERVERLESS, ledger_name};

use crate::caller::Caller;
use crate::cost::spent::add;
use crate::orders::ask;

/// What a sum can be made by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Part {
    /// The compute's key in the ledger's sums.
    pub compute: String,
    pub person: String,
    /// The number of the job; 0 for none.
    pub job: u64,
}

impl Part {
    fn of(key: &LedgerKey) -> Self {
        let compute = match key.holder {
            Holder::Job(_) => SERVERLESS.to_owned(),
            holder => ledger_name(holder),
        };
        Self { compute, person: key.user.to_string(), job: key.job.map_or(0, |job| job.0) }
    }
}

/// What nodes cost now.
#[derive(Clone, Debug, Default)]
pub struct Live {
    /// In an hour, in billionths of the currency.
    pub per_hour: u64,
    pub nodes: usize,
    /// What was used since the last settlement.
    pub unsettled: BTreeMap<Part, Charge>,
}

impl Live {
    /// Looks at all nodes, or at what one person pays of them.
    pub async fn look(caller: &Caller, person: Option<UserId>) -> Result<Self, AppError> {
        let workspace = caller.actor()?.workspace.id.clone();
        // The World knows only the time of its last step.
        let last = caller.studio.engine().status().committed_at;
        let later = last.map_or(Span::ZERO, |at| clock::now().since(at));
        ask(caller, move |world| {
            let mut live = Self::default();
            let is_wanted = |key: &LedgerKey| person.as_ref().is_none_or(|person| key.user == *person);
            for node in world.nodes().filter(|node| node.workspace == workspace) {
                let mut pays = false;
                for (_, charge) in world.charges(node, 3_600_000).iter().filter(|(key, _)| is_wanted(key)) {
                    pays = true;
                    live.per_hour = live.per_hour.saturating_add(charge.cost);
                }
                live.nodes += usize::from(pays);
                for (key, charge) in world.unsettled_charges(node, later).iter().filter(|(key, _)| is_wanted(key)) {
                    add(live.unsettled.entry(Part::of(key)).or_default(), *charge);
                }
            }
            live
        })
        .await
    }
}
