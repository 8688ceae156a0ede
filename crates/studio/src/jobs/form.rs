//! What the form that submits a job needs to know.

use atelier_domain::access::{Action, Whose};
use atelier_domain::error::AppError;
use atelier_domain::text::and_list;

use crate::caller::Caller;
use crate::clusters::quote::Quoted;
use crate::environments::commands as environment;
use crate::files::desk::{Desk, Use};
use crate::files::run_as_job;
use crate::forecast::what_if::Choices;
use crate::jobs::detail::find;
use crate::jobs::quote::quote_job;
use crate::jobs::typed;
use crate::jobs::typed::Values;
use crate::orders::ask;
use crate::sizes::row::SizeRow;

/// What the form is made of.
#[derive(Debug)]
pub struct JobForm {
    /// What was typed, or is proposed.
    pub values: Values,
    /// What is to be said about its packages.
    pub advice: Option<Advice>,
    /// The clusters that can be chosen, with the size of their nodes.
    pub clusters: Vec<(String, String)>,
    /// The caller's own instances, with their states.
    pub instances: Vec<(String, &'static str)>,
    /// The environments that can be chosen: their names, with what is said of each.
    pub environments: Vec<(String, String)>,
    pub sizes: Vec<SizeRow>,
    /// When it would start on each compute, if that was asked for.
    pub choices: Option<Choices>,
    /// What it would cost as it stands.
    pub quote: Quoted,
    pub upload_limit: u64,
    /// Whether the disk has no room for uploads.
    pub is_disk_low: bool,
}

/// What a form begins with while nothing was typed: at most one of these.
#[derive(Debug, Default)]
pub struct Beginning {
    /// A job that is to be copied.
    pub clone: String,
    /// Where it is to run.
    pub cluster: String,
    /// A file of Files that is to be run.
    pub file: String,
    /// The instance whose packages it is to have; also beside a file.
    pub instance: String,
}

/// What is to be said about the packages of what is to be run.
#[derive(Debug)]
pub struct Advice {
    pub title: String,
    pub text: String,
    /// The instance that can be frozen.
    pub freeze: Option<String>,
}

/// The form: what was `typed`, or what it begins with. Needs `job.submit`.
pub async fn job_form(caller: &Caller, typed: Option<Values>, begin: &Beginning) -> Result<JobForm, AppError> {
    caller.authorise_for(Action::JobSubmit, Whose::Own).await?;
    let (mut values, advice) = match typed {
        Some(values) => (values, None),
        None if !begin.clone.is_empty() => copied(caller, &begin.clone).await?,
        None if !begin.file.is_empty() || !begin.instance.is_empty() => runs(caller, begin).await?,
        None => (Values::from([("cluster".to_owned(), vec![begin.cluster.clone()])]), None),
    };
    let workspace = caller.actor()?.workspace.id.clone();
    let me = caller.actor()?.person.id.clone();
    let (mut clusters, mut instances) = ask(caller, move |world| {
        let ours = world.clusters().filter(|cluster| cluster.workspace == workspace);
        let clusters: Vec<_> = ours.map(|cluster| (cluster.name.to_string(), cluster.size.to_string())).collect();
        let own = world.instances().filter(|instance| instance.workspace == workspace && instance.owner == me);
        let instances: Vec<_> =
            own.map(|instance| (instance.name.to_string(), world.instance_state(instance).key())).collect();
        (clusters, instances)
    })
    .await?;
    clusters.sort();
    instances.sort();
    let environments = environments(caller, &values).await?;
    let sizes = crate::sizes::list::sizes(caller).await?;
    let quote = quote_job(caller, &values).await?;
    let choices = match values.remove("when") {
        Some(_) => what_if(caller, &values).await?,
        None => None,
    };
    let (upload_limit, is_disk_low) = (caller.studio.settings().upload_limit, caller.studio.is_disk_low());
    Ok(JobForm { values, advice, clusters, instances, environments, sizes, choices, quote, upload_limit, is_disk_low })
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
    let (request, problems) = typed::request(values);
    if !problems.is_empty() {
        return Ok(None);
    }
    match crate::forecast::what_if::choices(caller, &request).await {
        Ok(choices) => Ok(Some(choices)),
        // What is wrong stands beside its field.
        Err(AppError::Invalid { .. }) => Ok(None),
        Err(other) => Err(other),
    }
}

/// The form that runs a file of Files, with the packages of an instance or of the notebook's own kernel.
async fn runs(caller: &Caller, begin: &Beginning) -> Result<(Values, Option<Advice>), AppError> {
    let (mut values, mut kernel, mut is_notebook) = (Values::new(), String::new(), false);
    if !begin.file.trim().is_empty() {
        let seen_at = caller.studio.files().seen_at(caller.studio.fleet());
        let desk = Desk::open(caller).await?;
        let path = Desk::path(run_as_job::in_files(&begin.file, &seen_at))?;
        values = run_as_job::fields(&path, &seen_at).ok_or_else(|| AppError::not_found("script or notebook"))?;
        desk.check(caller, &path, Use::Read).await?;
        is_notebook = path.ending() == "ipynb";
        kernel = desk
            .work(caller, Use::Read, move |area, who| {
                let (file, _) = area.read(who, &path)?;
                Ok(if is_notebook { run_as_job::kernel_of(file) } else { String::new() })
            })
            .await?;
    }
    let found = if begin.instance.is_empty() {
        environment::of_kernel(caller, &kernel).await?
    } else {
        environment::same_as(caller, &begin.instance).await?
    };
    let advice = match &found {
        Some(_) => None,
        None if !begin.instance.is_empty() => Some(Advice {
            title: format!("No environment holds what {} holds", begin.instance),
            text:
                "Jobs have the packages of a named environment. Freeze the instance into one, then submit this with it."
                    .to_owned(),
            freeze: Some(begin.instance.clone()),
        }),
        None if is_notebook => Some(Advice {
            title: "Choose the packages for this notebook".to_owned(),
            text: match kernel.as_str() {
                "" => "It does not say which kernel it was run with.".to_owned(),
                kernel => format!(
                    "It was last run with the kernel “{kernel}”, which is no named environment of this workspace."
                ),
            } + " A notebook runs with a named environment, which has a kernel; what the system has need not.",
            freeze: None,
        }),
        None => None,
    };
    values.extend(found.map(|found| ("python_environment".to_owned(), vec![found])));
    Ok((values, advice))
}

/// The form of a job. Somebody else's comes without the values of its variables and without its files.
async fn copied(caller: &Caller, clone: &str) -> Result<(Values, Option<Advice>), AppError> {
    let row = find(caller, clone).await?;
    let (request, _, withheld) = typed::request_of(caller, &row).await?;
    let advice = withheld.what().map(|what| {
        let names = |what: &str, all: &[String]| match all {
            [] => String::new(),
            all => format!(" {what}: {}.", and_list(all)),
        };
        let (variables, files) = (names("Variables", &withheld.variables), names("Files", &withheld.files));
        Advice {
            title: format!("Without {what}"),
            text: format!(
                "{clone} is somebody else’s job: only its owner can see and use these. Fill in your \
                 own.{variables}{files}"
            ),
            freeze: None,
        }
    });
    Ok((typed::values_of(&request), advice))
}
