//! What instances saved by being off.
//!
//! Nothing records what would have been, so this is worked out from what is recorded: since when an instance
//! exists, and for how long it had a node. The rest of the time it was off, whoever or whatever stopped it,
//! and that time is priced at what its size costs today. Instances that were deleted are not in it.
//!
//! Who stopped it is written down with each stop: the time from there until it has a node again is the
//! schedule's, idle shutdown's, or a person's. What no stop in the log explains counts as by hand.

use std::collections::BTreeMap;

use atelier_domain::access::{Action, Whose};
use atelier_domain::compute::InstanceId;
use atelier_domain::compute::size::Price;
use atelier_domain::error::AppError;
use atelier_domain::time::Span;
use atelier_domain::{Timestamp, UserId};
use atelier_engine::store::{PowerChange, SpendBy, SpendFilter};

use crate::caller::Caller;
use crate::cost::days::Selection;
use crate::cost::live::Live;
use crate::cost::spent::by_key;
use crate::orders::ask;

/// What being off saved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Saved {
    pub instances: usize,
    /// For how long they were off, in all.
    pub off_millis: u64,
    /// What that would have cost, in billionths of the currency.
    pub cost: u64,
    /// How much of that is due to schedules.
    pub by_schedule: u64,
    /// How much of that is due to idle shutdown.
    pub by_idle: u64,
}

/// For how long an instance was off because of what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Off {
    by_schedule: u64,
    by_idle: u64,
}

impl Off {
    /// From stops and starts of one instance, the oldest first, as far as they lie between two instants.
    fn of<'a>(changes: impl Iterator<Item = &'a PowerChange>, from: Timestamp, to: Timestamp) -> Self {
        let mut off = Self::default();
        let mut since: Option<(Timestamp, &str)> = None;
        let mut add = |since: Option<(Timestamp, &str)>, until: Timestamp| {
            let Some((at, code)) = since else { return };
            let millis = u64::try_from(until.0.min(to.0).saturating_sub(at.0.max(from.0))).unwrap_or(0);
            match code {
                "by-schedule" | "as-postponed" => off.by_schedule += millis,
                "idle" => off.by_idle += millis,
                _ => {}
            }
        };
        for change in changes {
            match change.code.as_str() {
                "node-ready" => add(since.take(), change.at),
                // The first stop did it; a later one found it stopped.
                code => since = since.or(Some((change.at, code))),
            }
        }
        add(since, to);
        off
    }
}

impl Saved {
    /// Adds an instance that could have run for so long, and did for so long.
    fn add(&mut self, could: u64, did: u64, price: Price, why: Off) {
        let off = could.saturating_sub(did);
        self.instances += 1;
        self.off_millis = self.off_millis.saturating_add(off);
        self.cost = self.cost.saturating_add(price.for_span(Span::millis(off)));
        // A node goes a little after its stop and is wanted a little before it is ready: no part is more than
        // the whole.
        let by_schedule = why.by_schedule.min(off);
        let by_idle = why.by_idle.min(off - by_schedule);
        self.by_schedule = self.by_schedule.saturating_add(price.for_span(Span::millis(by_schedule)));
        self.by_idle = self.by_idle.saturating_add(price.for_span(Span::millis(by_idle)));
    }

    /// What is left: stopped by hand, or never started.
    pub const fn by_hand(&self) -> u64 {
        self.cost.saturating_sub(self.by_schedule).saturating_sub(self.by_idle)
    }
}

/// For everybody's instances, or for those of one person; nothing if there are none.
pub async fn saved(
    caller: &Caller,
    filter: &SpendFilter,
    selection: &Selection,
    now: Timestamp,
    person: Option<&UserId>,
    live: &Live,
) -> Result<Option<Saved>, AppError> {
    let actor = caller.actor()?;
    if actor.person.rights().check(Action::InstanceRead, Whose::Others).is_err() {
        return Ok(None);
    }
    let (workspace, person) = (actor.workspace.id.clone(), person.cloned());
    let instances: Vec<(InstanceId, Timestamp, Price)> = ask(caller, move |world| {
        let prices: BTreeMap<_, _> = world.sizes().map(|size| (&size.name, size.price)).collect();
        world
            .instances()
            .filter(|instance| instance.workspace == workspace)
            .filter(|instance| person.as_ref().is_none_or(|person| instance.owner == *person))
            .filter_map(|instance| Some((instance.id, instance.created, *prices.get(&instance.size)?)))
            .collect()
    })
    .await?;
    if instances.is_empty() {
        return Ok(None);
    }
    let time = caller.checked(caller.store().spent_on_instances(filter).await)?;
    let (from, to) = selection.span();
    let to = Timestamp(to.0.min(now.0));
    let changes = caller.checked(caller.store().power_changes(&filter.workspace, to).await)?;
    let is_now = selection.day_of(now).is_some();
    let unsettled = by_key(&live.unsettled, SpendBy::Compute);
    let mut saved = Saved::default();
    for (id, created, price) in instances {
        let begin = from.0.max(created.0);
        let Ok(could) = u64::try_from(to.0.saturating_sub(begin)) else { continue };
        let (instance, id) = (id, id.to_string());
        let running = unsettled.get(&id).filter(|_| is_now).map_or(0, |charge| charge.millis);
        let did = time.get(&id).map_or(0, |charge| charge.millis).saturating_add(running);
        let own = changes.iter().filter(|change| change.instance == instance);
        saved.add(could, did, price, Off::of(own, Timestamp(begin), to));
    }
    Ok((saved.instances > 0).then_some(saved))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_without_a_node_is_priced_and_more_than_all_is_none() {
        let mut saved = Saved::default();
        let why = Off { by_schedule: 4 * 3_600_000, by_idle: 3_600_000 };
        saved.add(10 * 3_600_000, 4 * 3_600_000, Price(500_000), why);
        assert_eq!(
            saved,
            Saved {
                instances: 1,
                off_millis: 6 * 3_600_000,
                cost: 3_000_000_000,
                by_schedule: 2_000_000_000,
                by_idle: 500_000_000
            }
        );
        assert_eq!(saved.by_hand(), 500_000_000);
        saved.add(3_600_000, 3_700_000, Price(500_000), why);
        assert_eq!(
            (saved.instances, saved.cost),
            (2, 3_000_000_000),
            "the hour of a settlement may lie in the next day"
        );
    }

    #[test]
    fn each_stretch_is_due_to_what_stopped_it_first() {
        let change =
            |at: i64, code: &str| PowerChange { instance: InstanceId(1), at: Timestamp(at), code: code.into() };
        let changes = [
            change(10, "by-schedule"),
            change(12, "by-person"),
            change(30, "node-ready"),
            change(40, "idle"),
            change(45, "node-ready"),
            change(50, "by-person"),
            change(60, "node-ready"),
            change(90, "as-postponed"),
        ];
        let of = |from, to| Off::of(changes.iter(), Timestamp(from), Timestamp(to));
        assert_eq!(of(0, 100), Off { by_schedule: 30, by_idle: 5 });
        assert_eq!(of(20, 42), Off { by_schedule: 10, by_idle: 2 });
        assert_eq!(of(46, 80), Off::default());
    }
}
