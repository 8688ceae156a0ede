//! What computes, people and jobs cost: the ledger over a stretch of days, and what runs now.

use std::collections::{BTreeMap, HashMap};

use atelier_domain::UserId;
use atelier_domain::access::{Action, Grant, Whose};
use atelier_domain::compute::JobId;
use atelier_domain::error::AppError;
use atelier_domain::world::Charge;
use atelier_engine::clock;
use atelier_engine::store::{SERVERLESS, SpendBy, SpendFilter};

use crate::caller::Caller;
use crate::cost::days::Selection;
use crate::cost::live::Live;
use crate::cost::view::{DaySum, Kind, Rest, Series, Spending, SpendingRow};
use crate::orders::ask;
use crate::people::names::Names;

/// How many of them the chart tells apart; all others are one.
const IN_CHART: usize = 5;

/// How many things that cost something now are looked up among what they cost before.
const MOST_LIVE: usize = 2_000;

/// Reads what a selection cost, the dearest first, at most `most` rows. Needs `cost.read`; with scope own it
/// holds what oneself pays.
pub async fn read(caller: &Caller, selection: &Selection, most: usize) -> Result<Spending, AppError> {
    let actor = caller.authorise_for(Action::CostRead, Whose::Own).await?;
    let is_own = actor.person.rights().grant(Action::CostRead) == Grant::Own;
    let person = is_own.then(|| actor.person.id.clone());
    let hours = selection.hours();
    let filter = SpendFilter {
        workspace: actor.workspace.id.clone(),
        from: hours.first().copied().unwrap_or_default(),
        to: hours.last().copied().unwrap_or_default(),
        person: person.clone(),
    };
    let now = clock::now();
    let today = selection.day_of(now);
    let live = Live::look(caller, person.clone()).await?;
    // What is not in the ledger yet was used just now.
    let unsettled = if today.is_some() { live.unsettled.clone() } else { BTreeMap::new() };

    let by_hour = caller.checked(caller.store().spent_by_hour(&filter).await)?;
    let mut sums = vec![Charge::default(); selection.len()];
    for (hour, charge) in by_hour {
        if let Some(sum) = crate::cost::days::place(&hours, hour).and_then(|day| sums.get_mut(day)) {
            add(sum, charge);
        }
    }
    if let Some(sum) = today.and_then(|day| sums.get_mut(day)) {
        unsettled.values().for_each(|charge| add(sum, *charge));
    }
    let mut total = Charge::default();
    sums.iter().for_each(|charge| add(&mut total, *charge));
    let days: Vec<DaySum> =
        selection.dates().into_iter().zip(&sums).map(|(date, charge)| DaySum { date, charge: *charge }).collect();

    let mut spending = Spending {
        is_own,
        total,
        per_hour: live.per_hour,
        nodes: live.nodes,
        rows: Vec::new(),
        rest: None,
        series: vec![Series { name: "All".into(), days: sums.iter().map(|charge| charge.cost).collect() }],
        saved: crate::cost::saved::saved(caller, &filter, selection, now, person.as_ref(), &live).await?,
        days,
    };
    let Some(by) = selection.by.store() else { return Ok(spending) };
    let unsettled = by_key(&unsettled, by);
    let (rows, rest) = ranked(caller, &filter, by, &unsettled, most, total).await?;
    spending.series = series(caller, &filter, by, &hours, &rows, &sums, today, &unsettled).await?;
    spending.rows = named(caller, by, rows).await?;
    for (series, row) in spending.series.iter_mut().zip(&spending.rows) {
        series.name.clone_from(&row.name);
    }
    if let Some(others) = spending.series.get_mut(spending.rows.len().min(IN_CHART)) {
        others.name = "Others".into();
    }
    spending.rest = rest;
    Ok(spending)
}

/// One charge more.
pub fn add(sum: &mut Charge, charge: Charge) {
    sum.millis = sum.millis.saturating_add(charge.millis);
    sum.cost = sum.cost.saturating_add(charge.cost);
}

/// What is not settled yet, under the keys of the ledger's sums.
pub fn by_key(unsettled: &BTreeMap<crate::cost::live::Part, Charge>, by: SpendBy) -> BTreeMap<String, Charge> {
    let mut sums: BTreeMap<String, Charge> = BTreeMap::new();
    for (part, charge) in unsettled {
        let key = match by {
            SpendBy::Compute => part.compute.clone(),
            SpendBy::Person => part.person.clone(),
            SpendBy::Job => part.job.to_string(),
        };
        add(sums.entry(key).or_default(), *charge);
    }
    sums
}

/// The dearest with what is not settled yet, and all others as one.
async fn ranked(
    caller: &Caller,
    filter: &SpendFilter,
    by: SpendBy,
    unsettled: &BTreeMap<String, Charge>,
    most: usize,
    total: Charge,
) -> Result<(Vec<(String, Charge)>, Option<Rest>), AppError> {
    let limit = i64::try_from(most).unwrap_or(i64::MAX);
    let mut found: BTreeMap<String, Charge> =
        caller.checked(caller.store().spent_by(filter, by, limit).await)?.into_iter().collect();
    let settled = caller.checked(caller.store().count_spent_by(filter, by).await)?;
    let mut running: Vec<(&String, &Charge)> = unsettled.iter().filter(|(key, _)| !found.contains_key(*key)).collect();
    running.sort_by(|a, b| (b.1.cost, a.0).cmp(&(a.1.cost, b.0)));
    running.truncate(MOST_LIVE);
    let others: Vec<String> = running.into_iter().map(|(key, _)| key.clone()).collect();
    let before = caller.checked(caller.store().spent_on(filter, by, &others).await)?;
    let fresh = others.iter().filter(|key| !before.contains_key(*key)).count();
    for key in others {
        found.insert(key.clone(), before.get(&key).copied().unwrap_or_default());
    }
    for (key, charge) in unsettled {
        if let Some(sum) = found.get_mut(key) {
            add(sum, *charge);
        }
    }
    let mut rows: Vec<(String, Charge)> = found.into_iter().collect();
    rows.sort_by(|a, b| (b.1.cost, b.1.millis, &a.0).cmp(&(a.1.cost, a.1.millis, &b.0)));
    rows.truncate(most);
    let all = usize::try_from(settled).unwrap_or(usize::MAX).saturating_add(fresh);
    let count = all.saturating_sub(rows.len());
    let mut shown = Charge::default();
    rows.iter().for_each(|(_, charge)| add(&mut shown, *charge));
    let charge =
        Charge { millis: total.millis.saturating_sub(shown.millis), cost: total.cost.saturating_sub(shown.cost) };
    Ok((rows, (count > 0).then_some(Rest { count, charge })))
}

/// The dearest day by day, and what is left of each day.
#[allow(clippy::too_many_arguments, reason = "all of it is what the one caller has at hand")]
async fn series(
    caller: &Caller,
    filter: &SpendFilter,
    by: SpendBy,
    hours: &[i64],
    rows: &[(String, Charge)],
    sums: &[Charge],
    today: Option<usize>,
    unsettled: &BTreeMap<String, Charge>,
) -> Result<Vec<Series>, AppError> {
    let keys: Vec<String> = rows.iter().take(IN_CHART).map(|(key, _)| key.clone()).collect();
    let found = caller.checked(caller.store().spent_by_hour_on(filter, by, &keys).await)?;
    let mut all: Vec<Vec<u64>> = vec![vec![0; sums.len()]; keys.len()];
    let mut note = |key: &String, day: Option<usize>, cost: u64| {
        let place = keys.iter().position(|known| known == key);
        if let (Some(series), Some(day)) = (place.and_then(|place| all.get_mut(place)), day)
            && let Some(sum) = series.get_mut(day)
        {
            *sum = sum.saturating_add(cost);
        }
    };
    for (hour, key, charge) in &found {
        note(key, crate::cost::days::place(hours, *hour), charge.cost);
    }
    for (key, charge) in unsettled {
        note(key, today, charge.cost);
    }
    let others: Vec<u64> = sums
        .iter()
        .enumerate()
        .map(|(day, sum)| {
            let shown = all.iter().fold(0_u64, |shown, series| shown.saturating_add(series[day]));
            sum.cost.saturating_sub(shown)
        })
        .collect();
    let mut all: Vec<Series> = all.into_iter().map(|days| Series { name: String::new(), days }).collect();
    if others.iter().any(|cost| *cost > 0) {
        all.push(Series { name: String::new(), days: others });
    }
    Ok(all)
}

/// Gives keys the names that people know.
async fn named(caller: &Caller, by: SpendBy, rows: Vec<(String, Charge)>) -> Result<Vec<SpendingRow>, AppError> {
    let row = |key: String, kind: Kind, name: String, charge: Charge| SpendingRow { key, kind, name, charge };
    match by {
        SpendBy::Compute => {
            let known: HashMap<String, String> = ask(caller, |world| {
                let instances = world.instances().map(|instance| (instance.id.to_string(), instance.name.to_string()));
                let clusters = world.clusters().map(|cluster| (cluster.id.to_string(), cluster.name.to_string()));
                instances.chain(clusters).collect()
            })
            .await?;
            let of = |(key, charge): (String, Charge)| {
                let (kind, name) = match (known.get(&key), key.split('-').next()) {
                    _ if key == SERVERLESS => (Kind::Serverless, "Serverless jobs".to_owned()),
                    (Some(name), Some("instance")) => (Kind::Instance, name.clone()),
                    (Some(name), _) => (Kind::Cluster, name.clone()),
                    (None, _) => (Kind::Deleted, key.clone()),
                };
                row(key, kind, name, charge)
            };
            Ok(rows.into_iter().map(of).collect())
        }
        SpendBy::Person => {
            let names = Names::of(caller, rows.iter().map(|(key, _)| UserId::new(key.clone()))).await?;
            let of = |(key, charge): (String, Charge)| {
                let id = UserId::new(key.clone());
                let name = if key.is_empty() { "Nobody".to_owned() } else { names.name(&id) };
                let kind = if names.has(&id) { Kind::Person } else { Kind::Deleted };
                row(key, kind, name, charge)
            };
            Ok(rows.into_iter().map(of).collect())
        }
        SpendBy::Job => {
            let number = |key: &String| key.parse().ok().map(JobId);
            let ids: Vec<JobId> = rows.iter().filter_map(|(key, _)| number(key)).filter(|id| id.0 > 0).collect();
            let known = caller.checked(caller.store().job_names(&ids).await)?;
            let of = |(key, charge): (String, Charge)| match number(&key).filter(|id| id.0 > 0) {
                None => row(String::new(), Kind::NoJob, "Without a job".into(), charge),
                Some(id) => {
                    let name = known.get(&id).filter(|name| !name.is_empty()).cloned();
                    row(id.to_string(), Kind::Job, name.unwrap_or_else(|| id.to_string()), charge)
                }
            };
            Ok(rows.into_iter().map(of).collect())
        }
    }
}
