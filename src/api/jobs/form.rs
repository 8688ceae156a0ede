//! What the form that submits a job needs to know.

use atelier_domain::access::{Action, Whose};

use super::typed::{self, Values};
use super::view::Compute;
use super::{find, quote_job};
use crate::api::caller::Caller;
use crate::api::compute::Quoted;
use crate::components::SizeRow;
use crate::error::AppError;
use crate::server::uploads;
use crate::studio::files::{Desk, run_as_job};
use crate::studio::forecast::what_if::Choices;
use crate::studio::{ask, environment, forecast};

/// What the form is made of.
#[derive(Debug)]
pub struct JobForm {
    /// What was typed, or is proposed.
    pub values: Values,
    /// The clusters that can be chosen, with the size of their nodes.
    pub clusters: Vec<(String, String)>,
    /// The environments that can be chosen: their names, with what is said of each.
    pub environments: Vec<(String, String)>,
    /// The sizes that can be chosen.
    pub sizes: Vec<SizeRow>,
    /// When it would start on each compute, if that was asked for.
    pub choices: Option<Choices>,
    /// What it would cost as it stands.
    pub quote: Quoted,
    /// The most bytes of one upload.
    pub upload_limit: u64,
    /// Whether the disk has no room for uploads.
    pub is_disk_low: bool,
}

/// The form: what was `typed`, or a copy of the job `clone`, or one that runs the `file` of Files, or a fresh one for `cluster`.
/// Needs `job.submit`.
pub async fn job_form(typed: Option<Values>, clone: &str, cluster: &str, file: &str) -> Result<JobForm, AppError> {
    let caller = Caller::here()?;
    caller.authorise_for(Action::JobSubmit, Whose::Own).await?;
    let mut values = match typed {
        Some(values) => values,
        None if !clone.is_empty() => copied(&caller, clone).await?,
        None if !file.is_empty() => runs(&caller, file)?,
        None => Values::from([("cluster".to_owned(), vec![cluster.to_owned()])]),
    };
    let workspace = caller.actor()?.workspace.id.clone();
    let mut clusters: Vec<(String, String)> = ask(&caller, move |world| {
        let ours = world.clusters().filter(|cluster| cluster.workspace == workspace);
        ours.map(|cluster| (cluster.name.to_string(), cluster.size.to_string())).collect()
    })
    .await?;
    clusters.sort();
    let environments = environments(&caller, &values).await?;
    let sizes = crate::api::compute::sizes(&caller).await?;
    let quote = quote_job(&caller, &values).await?;
    let choices = match values.remove("when") {
        Some(_) => what_if(&caller, &values).await?,
        None => None,
    };
    let (upload_limit, is_disk_low) = (caller.state.config().upload_limit, uploads::is_disk_low(&caller.state));
    Ok(JobForm { values, clusters, environments, sizes, choices, quote, upload_limit, is_disk_low })
}

/// Every environment by its newest version, and the very version that a copied job had.
async fn environments(caller: &Caller, values: &Values) -> Result<Vec<(String, String)>, AppError> {
    let found = environment::list(caller).await?;
    let mut all: Vec<(String, String)> = found
        .iter()
        .filter_map(|view| {
            let newest = view.versions.first()?;
            let said = format!("{}, version {} ({})", view.row.name, newest.row.version, newest.state.key());
            Some((view.row.name.to_string(), said))
        })
        .collect();
    let typed = values.get("python_environment").and_then(|all| all.first()).cloned().unwrap_or_default();
    if !typed.is_empty() && all.iter().all(|(name, _)| *name != typed) {
        let said = format!("{}, as it was typed", typed.replace(':', ", version "));
        all.push((typed, said));
    }
    Ok(all)
}

/// The table, for what can be read of the form.
async fn what_if(caller: &Caller, values: &Values) -> Result<Option<Choices>, AppError> {
    let (request, problems) = typed::request(values, caller.state.fleet().folders());
    if !problems.is_empty() {
        return Ok(None);
    }
    match forecast::what_if::choices(caller, &request).await {
        Ok(choices) => Ok(Some(choices)),
        // What is wrong stands beside its field.
        Err(AppError::Invalid { .. }) => Ok(None),
        Err(other) => Err(other),
    }
}

/// The form that runs a file of Files.
fn runs(caller: &Caller, file: &str) -> Result<Values, AppError> {
    let path = Desk::path(file)?;
    let seen_at = caller.state.files().seen_at(caller.state.fleet());
    run_as_job::fields(&path, &seen_at).ok_or_else(|| AppError::not_found("script or notebook"))
}

async fn copied(caller: &Caller, clone: &str) -> Result<Values, AppError> {
    let row = find(caller, clone).await?;
    let task = caller.checked(caller.store().job_tasks(&[row.job.id]).await)?.remove(&row.job.id);
    let task = task.ok_or_else(|| AppError::not_found("command of this job"))?;
    let target = row.job.spec.target.clone();
    let compute = ask(caller, move |world| Compute::of(world, &target)).await?;
    Ok(typed::values_of(&row, &task, &compute))
}
