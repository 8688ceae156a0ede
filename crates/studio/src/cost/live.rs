//! What runs now: what it costs in an hour, and what is not in the ledger yet.

use std::collections::BTreeMap;

use atelier_domain::compute::node::Holder;
use atelier_domain::error::AppError;
use atelier_domain::world::{Charge, LedgerKey};
use atelier_domain::{Money, UserId};
use atelier_engine::clock;
use atelier_engine::store::{SERVERLESS, ledger_name};

use crate::caller::Caller;
use crate::clock as said;
use crate::cost::spent::add;
use crate::orders::{ask, since_last_step};

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
    pub unsettled: BTreeMap<Part, Charge>,
}

impl Live {
    /// Looks at all nodes, or at what one person pays of them.
    pub async fn look(caller: &Caller, person: Option<UserId>) -> Result<Self, AppError> {
        let workspace = caller.actor()?.workspace.id.clone();
        let later = since_last_step(caller);
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

/// What these were charged since the hour, counted from 1970, in which something began; in their order.
pub async fn charged(caller: &Caller, holders: Vec<Holder>, since: i64) -> Result<Vec<Money>, AppError> {
    let names: Vec<String> = holders.into_iter().map(ledger_name).collect();
    let workspace = &caller.actor()?.workspace.id;
    let charged = caller.checked(caller.store().cost_of_holders(workspace, &names, since).await)?;
    Ok(names.iter().map(|name| Money(charged.get(name).map_or(0, |charge| charge.cost))).collect())
}

/// What these were charged since midnight where the caller is.
pub async fn charged_today(caller: &Caller, holders: Vec<Holder>) -> Result<Vec<Money>, AppError> {
    let midnight = said::midnight(clock::now(), &caller.actor()?.person.time_zone);
    charged(caller, holders, midnight.0.div_euclid(3_600_000)).await
}
