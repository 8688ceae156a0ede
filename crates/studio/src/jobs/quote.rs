//! What a job will cost, said before it is submitted.

use atelier_domain::Money;
use atelier_domain::access::{Action, Whose};
use atelier_domain::compute::job::{JobSpec, Target};
use atelier_domain::compute::size::Price;
use atelier_domain::error::AppError;
use atelier_domain::text::counted;

use crate::caller::Caller;
use crate::clusters::quote::{Quote, Quoted};
use crate::jobs::submit::{JobRequest, prepare};
use crate::jobs::typed;
use crate::jobs::typed::Values;
use crate::orders::ask;

/// The fields that decide about the price. Others, with their secrets, are not even sent to ask for it.
pub const PRICED: [&str; 9] = ["cluster", "size", "nodes", "cores", "memory", "gpus", "timeout", "retries", "array"];

/// What a job costs as it stands in the form. Needs `job.submit`.
pub async fn quote_job(caller: &Caller, values: &Values) -> Result<Quoted, AppError> {
    caller.authorise_for(Action::JobSubmit, Whose::Own).await?;
    let priced = values.iter().filter(|(field, _)| PRICED.contains(&field.as_str()));
    let values: Values = priced.map(|(field, typed)| (field.clone(), typed.clone())).collect();
    let (typed, mut problems) = typed::request(&values);
    // What is run makes no difference to the price.
    let request = JobRequest { command: vec!["true".into()], ..typed };
    match prepare(caller, &request).await {
        Ok(prepared) if problems.is_empty() => priced_spec(caller, prepared.spec(), request.array).await,
        Ok(_) => Ok(Quoted::unclear(problems)),
        Err(AppError::Invalid { problems: more }) => {
            let fresh = more.into_iter().filter(|more| !problems.iter().any(|known| known.field == more.field));
            let fresh: Vec<_> = fresh.collect();
            problems.extend(fresh);
            Ok(Quoted::unclear(problems))
        }
        Err(other) => Err(other),
    }
}

/// Works out what a job costs. Its nodes are charged whole while it is alone on them.
async fn priced_spec(caller: &Caller, spec: &JobSpec, array: Option<u32>) -> Result<Quoted, AppError> {
    let target = spec.target.clone();
    let found = ask(caller, move |world| {
        let size = match &target {
            Target::Cluster(id) => world.cluster(*id)?.size.clone(),
            Target::Instance(id) => world.instance(*id)?.size.clone(),
            Target::Serverless(size) => size.clone(),
        };
        world.sizes().find(|known| known.name == size).map(|size| (size.name.to_string(), size.price))
    })
    .await?;
    let Some((size, price)) = found else {
        return Ok(Quoted::Unclear(vec!["What it would run on is gone. Choose another compute or size.".into()]));
    };
    let currency = caller.studio.settings().currency.as_str();
    let jobs = u64::from(array.unwrap_or(1));
    let nodes = u64::from(spec.nodes);
    let hourly = Price(price.0.saturating_mul(nodes));
    let is_shared = matches!(spec.target, Target::Cluster(_));
    let many = if jobs > 1 { " for each of its jobs" } else { "" };
    let less = if is_shared { " Less while it shares its nodes with other jobs." } else { "" };
    let nodes = counted(nodes, "node", "nodes");
    let rate = format!("{nodes} of size {size} at {} each.{less}", price.said(currency));
    let tries = u64::from(spec.retry.as_ref().map_or(0, |retry| retry.max)) + 1;
    let most = match spec.timeout {
        Some(timeout) => {
            let cost = hourly.for_span(timeout).saturating_mul(jobs).saturating_mul(tries);
            let (runs, each) = (jobs.saturating_mul(tries), timeout);
            let runs = if runs > 1 { format!("{runs} runs of {each}") } else { format!("one run of {each}") };
            format!("In all at most {} for {runs}, and the little while its nodes start.", Money(cost).said(currency))
        }
        None => "Without a time limit it costs as long as it runs.".to_owned(),
    };
    Ok(Quoted::Price(Quote {
        figure: hourly.said(currency),
        per: format!("an hour at most{many}"),
        lines: vec![rate, most],
    }))
}
