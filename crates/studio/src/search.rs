//! What pages read.

use atelier_domain::access::Action;
use atelier_domain::error::AppError;
use atelier_domain::paths;
use atelier_domain::text::search_text;
use atelier_engine::store::PeopleFilter;

use crate::caller::Caller;

/// One thing found.
#[derive(Clone, Debug)]
pub struct Hit {
    /// Where it leads.
    pub href: String,
    /// The sprite's icon.
    pub icon: &'static str,
    /// The name.
    pub title: String,
    /// One line more.
    pub detail: String,
}

/// What was found, by kind: `("Pages", …)`, `("People", …)`. Only what the viewer may see.
pub async fn search(caller: &Caller, q: &str) -> Result<Vec<(&'static str, Vec<Hit>)>, AppError> {
    let actor = caller.authorise(Action::WorkspaceRead).await?;
    let words = search_text(q).to_lowercase();
    if words.is_empty() {
        return Ok(Vec::new());
    }
    let slug = actor.workspace.slug.as_str();
    let rights = actor.person.rights();
    let pages: Vec<Hit> = pages(slug)
        .into_iter()
        .filter(|(needs, hit)| {
            rights.may_at_all(*needs) && format!("{} {}", hit.title, hit.detail).to_lowercase().contains(&words)
        })
        .map(|(_, hit)| hit)
        .collect();
    let mut found = vec![("Pages", pages)];
    if rights.may_at_all(Action::MemberRead) {
        let filter = PeopleFilter { part: words, limit: 10, ..PeopleFilter::default() };
        let people = caller.checked(caller.store().list_people(&actor.workspace.id, &filter).await)?;
        let hits = people.into_iter().map(|person| Hit {
            href: paths::person(slug, person.id.as_str()),
            icon: "user",
            title: person.name,
            detail: person.email,
        });
        found.push(("People", hits.collect()));
    }
    found.retain(|(_, hits)| !hits.is_empty());
    Ok(found)
}

/// The pages that can be found, with the right that each needs.
fn pages(slug: &str) -> Vec<(Action, Hit)> {
    let page = |needs, href: String, icon, title: &str, detail: &str| {
        (needs, Hit { href, icon, title: title.into(), detail: detail.into() })
    };
    vec![
        page(Action::WorkspaceRead, paths::home(slug), "home", "Home", "What runs and what happened"),
        page(
            Action::InstanceRead,
            paths::compute(slug, "instances"),
            "compute",
            "Instances",
            "Workstations with JupyterLab, VS Code and a terminal",
        ),
        page(
            Action::ClusterRead,
            paths::compute(slug, "clusters"),
            "compute",
            "Clusters",
            "Nodes that come and go with their queue",
        ),
        page(
            Action::ClusterRead,
            paths::compute(slug, "attached"),
            "compute",
            "Attached",
            "SSH machines, Slurm, Kubernetes, Spark",
        ),
        page(
            Action::JobRead,
            paths::compute(slug, "serverless"),
            "compute",
            "Serverless",
            "Jobs on nodes of their own",
        ),
        page(Action::JobRead, paths::jobs(slug), "jobs", "Jobs", "What runs, waits and has run"),
        page(Action::JobSubmit, paths::new_job(slug), "plus", "Submit job", "A command, a script, files"),
        page(
            Action::EnvironmentRead,
            paths::environments(slug),
            "notebook",
            "Environments",
            "Named Python packages for jobs and notebooks",
        ),
        page(
            Action::FileRead,
            paths::files(slug, ""),
            "folder",
            "Files",
            "Your own folder and shared ones, in every instance and job",
        ),
        page(Action::FileRead, paths::trash(slug), "trash", "Trash", "What you deleted in Files"),
        page(Action::HistoryRead, paths::activity(slug), "audit", "Activity", "The history: who did what, and why"),
        page(
            Action::CostRead,
            paths::cost(slug),
            "cost",
            "Cost",
            "The ledger by day, compute, person and job, as a chart and as CSV",
        ),
        page(Action::CostRead, paths::budgets(slug), "cost", "Budgets", "What a month may cost, and what then"),
        page(Action::ClusterRead, paths::quota(slug), "gauge", "Quota", "Limits, what is held, and by what"),
        page(Action::MemberRead, paths::people(slug), "users", "People", "Accounts, roles, passwords"),
        page(
            Action::MemberWrite,
            paths::new_person(slug),
            "plus",
            "Add person",
            "A new account with a temporary password",
        ),
        page(Action::MemberRead, paths::roles(slug), "shield", "Roles", "What each role may do"),
        page(
            Action::ClusterCreate,
            paths::new_cluster(slug),
            "plus",
            "Create cluster",
            "Nodes that come and go with their queue",
        ),
        page(Action::ClusterRead, paths::sizes(slug), "cpu", "Sizes", "What nodes have and what they cost"),
        page(
            Action::EngineRead,
            paths::engines(slug),
            "server",
            "Engines",
            "Drivers, agents, the loop, the quarantine, the pause switch",
        ),
        page(
            Action::EngineRead,
            paths::environment(slug),
            "code",
            "Environment",
            "The Python packages that instances start with",
        ),
        page(
            Action::WorkspaceRead,
            paths::PROFILE.into(),
            "user",
            "Profile",
            "Name, time zone, theme, password, sessions",
        ),
    ]
}
