//! The week of a workspace: what starts and stops by itself, by day.

use atelier_domain::access::Action as Right;
use atelier_domain::compute::ScheduleId;
use atelier_domain::error::AppError;
use atelier_domain::schedule::{Action, Zone};
use atelier_domain::world::{ScheduleTarget, WeekEntry};
use atelier_domain::{Timestamp, UserId};

use crate::caller::Caller;
use crate::clock;
use crate::orders::ask;
use crate::people::names::Names;

const DAYS: u32 = 7;

/// The week, as somebody sees it.
#[derive(Clone, Debug)]
pub struct WeekView {
    /// The days on which something happens, in order.
    pub days: Vec<PlanDay>,
    /// How many starts and stops there are in all.
    pub count: u64,
    /// Whether there is more than is listed.
    pub is_cut: bool,
    /// How many schedules the workspace has, whosever.
    pub schedules: u64,
}

/// One day.
#[derive(Clone, Debug)]
pub struct PlanDay {
    /// `Today`, `Tomorrow`, `Monday 30 March`.
    pub heading: String,
    pub rows: Vec<PlanRow>,
}

/// One start, stop or other minimum.
#[derive(Clone, Debug)]
pub struct PlanRow {
    pub at: Timestamp,
    /// The clock where the viewer is.
    pub clock: String,
    pub action: Action,
    pub name: String,
    pub is_cluster: bool,
    /// Whose it is; empty for clusters.
    pub owner: String,
    pub is_own: bool,
    /// The clock of the schedule's own zone, where that differs: `08:30 America/New_York`.
    pub elsewhere: String,
    /// What is unusual about it.
    pub note: String,
    pub is_skipped: bool,
    pub key: String,
}

/// The seven days from today on; only one's own if `is_mine`. Needs `instance.read`.
pub async fn week(caller: &Caller, is_mine: bool) -> Result<WeekView, AppError> {
    let actor = caller.authorise(Right::InstanceRead).await?;
    let (workspace, me) = (actor.workspace.id.clone(), actor.person.id.clone());
    let zone = actor.person.time_zone.clone();
    let now = atelier_engine::clock::now();
    let found = ask(caller, move |world| {
        let plan = world.week_plan(&workspace, now, DAYS);
        let schedules = world.schedules().filter(|entry| entry.workspace == workspace).count() as u64;
        let owner = |target: ScheduleTarget| match target {
            ScheduleTarget::Instance(id) => world.instance(id).map(|one| one.owner.clone()),
            ScheduleTarget::Cluster(id) => world.cluster(id).map(|one| one.owner.clone()),
        };
        let rows: Vec<(WeekEntry, Option<UserId>)> = plan
            .entries
            .into_iter()
            .map(|entry| {
                let owner = owner(entry.target);
                (entry, owner)
            })
            .collect();
        (rows, plan.is_cut, schedules)
    });
    let (mut entries, is_cut, schedules) = found.await?;
    if is_mine {
        entries.retain(|(_, owner)| owner.as_ref() == Some(&me));
    }
    let names = Names::of(caller, entries.iter().filter_map(|(_, owner)| owner.clone())).await?;
    let here = Zone::parse(&zone).or_else(|_| Zone::parse("UTC"))?;
    let mut days: Vec<PlanDay> = Vec::new();
    let count = entries.len() as u64;
    for (entry, owner) in entries {
        let heading = heading(entry.at, now, &zone);
        let is_own = owner.as_ref() == Some(&me);
        let owner = owner.map(|owner| names.name(&owner)).unwrap_or_default();
        let row = row(entry, owner, is_own, &here);
        match days.last_mut() {
            Some(day) if day.heading == heading => day.rows.push(row),
            _ => days.push(PlanDay { heading, rows: vec![row] }),
        }
    }
    Ok(WeekView { days, count, is_cut, schedules })
}

fn heading(at: Timestamp, now: Timestamp, zone: &str) -> String {
    let tomorrow = Timestamp(clock::midnight(now, zone).0 + 36 * 3_600_000);
    let day = clock::day(at, now, zone);
    if day != "Today" && day == clock::day(tomorrow, now, zone) { "Tomorrow".to_owned() } else { day }
}

fn row(entry: WeekEntry, owner: String, is_own: bool, here: &Zone) -> PlanRow {
    let is_cluster = matches!(entry.target, ScheduleTarget::Cluster(_));
    let local = here.local(entry.at).clock();
    let elsewhere = match (&entry.zone, entry.local) {
        (Some(zone), Some(there)) if zone != here && there.clock() != local => {
            format!("{} {}", there.clock(), zone.as_str())
        }
        _ => String::new(),
    };
    let jobs = if entry.action == Action::Stop { entry.jobs.phrase() } else { String::new() };
    let skipped = if entry.is_skipped { "left out" } else { "" };
    let notes = [skipped.to_owned(), entry.note.unwrap_or_default(), jobs.trim_start_matches("; ").to_owned()];
    let note = notes.into_iter().filter(|note| !note.is_empty()).collect::<Vec<_>>().join("; ");
    let schedule = entry.schedule.unwrap_or(ScheduleId(0));
    PlanRow {
        at: entry.at,
        clock: local,
        action: entry.action,
        key: format!("{}-{schedule}", entry.at.0),
        name: entry.name,
        is_cluster,
        owner: if is_cluster { String::new() } else { owner },
        is_own,
        elsewhere,
        note,
        is_skipped: entry.is_skipped,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_names() {
        let at = |text: &str| Timestamp(text.parse::<jiff::Timestamp>().expect("an instant").as_millisecond());
        let now = at("2026-03-27T12:00:00Z");
        for (then, said) in [
            ("2026-03-27T22:00:00Z", "Today"),
            ("2026-03-28T08:00:00Z", "Tomorrow"),
            ("2026-03-30T08:00:00Z", "Monday 30 March"),
        ] {
            assert_eq!(heading(at(then), now, "Europe/Berlin"), said);
        }
    }
}
