//! One environment: a version of it, how that does, and the others.

use atelier_domain::access::Action;
use atelier_domain::history::Topic;
use atelier_domain::paths;
use atelier_domain::text::counted;
use atelier_engine::environments::BuildState;
use atelier_studio::environments::list::{NamedDetail, named_environment};
use leptos::prelude::*;

use crate::components::{
    Card, CodeBlock, Crumb, Def, DefList, LinkButton, Look, NavItem, Page, PostForm, Query, SubmitButton, Table, Tone,
    Why, ago, ago_or, heads,
};
use crate::environments::pages::parts::{self, megabytes, said, tag};
use crate::frame::{Place, Visit, load, param, studio};
use crate::server::caller::here;

#[component]
pub fn NamedEnvironmentPage() -> impl IntoView {
    studio(Place::of(NavItem::Environments, Action::EnvironmentRead, &[Topic::Environments, Topic::Jobs]), |visit| {
        let (name, version) = (param("name"), Query::here().get("version").to_owned());
        let read = async move { named_environment(&here()?, &name, &version).await };
        load(visit.viewer.clone(), read, move |detail| show(&visit, &detail))
    })
}

fn show(visit: &Visit, detail: &NamedDetail) -> AnyView {
    let (slug, name) = (visit.slug(), detail.view.row.name.to_string());
    let refusal = detail.refusal.as_ref().map(ToString::to_string);
    let crumbs = vec![Crumb::new("Environments", paths::environments(slug))];
    let newer = format!("{}?of={name}", paths::new_environment(slug));
    let remove = paths::delete_environment(slug, &name);
    let actions = html! {
        <LinkButton href=newer look=Look::Primary icon="plus" disabled_because=refusal.clone()>
            "New version"
        </LinkButton>
        <LinkButton href=remove look=Look::DangerQuiet icon="trash" disabled_because=refusal.clone() dialog=true>
            "Delete"
        </LinkButton>
    };
    let refused = visit.refused(&["build_environment"]);
    let is_ready = matches!(detail.shown.state, BuildState::Ready(_));
    let (state, packages, log) = (state(visit, detail, refusal), packages(detail), parts::log(&detail.log, is_ready));
    let (versions, users, facts) = (versions(visit, detail), users(visit, detail), facts(visit, detail));
    let recipe = detail.shown.row.recipe.clone();
    let heading = format!("{name}, version {}", detail.shown.row.version);
    let sub = detail.shown.row.note.clone();
    let listed = counted(detail.shown.listed as u64, "package", "packages");
    html! {
        <Page heading=heading crumbs=crumbs sub=sub actions=actions>
            {refused}
            <div class="split">
                <div class="stack">
                    <div data-live="state">{state}</div>
                    <Card heading="List" note=listed>
                        <CodeBlock text=recipe label="The list as it was written"/>
                    </Card>
                    <div data-live="packages">{packages}</div>
                    <div data-live="log">{log}</div>
                </div>
                <aside class="stack">
                    <div data-live="versions">{versions}</div>
                    <div data-live="users">{users}</div>
                    {facts}
                </aside>
            </div>
        </Page>
    }
}

fn state(visit: &Visit, detail: &NamedDetail, refusal: Option<String>) -> AnyView {
    let hidden =
        vec![("environment", detail.view.row.name.to_string()), ("version", detail.shown.row.version.to_string())];
    let build = |words: &'static str| {
        let (hidden, refusal) = (hidden.clone(), refusal.clone());
        html! {
            <PostForm function="build_environment" hidden=hidden>
                <SubmitButton icon="restart" pending="Asking…" look=Look::Plain disabled_because=refusal>
                    {words}
                </SubmitButton>
            </PostForm>
        }
    };
    let text = said(&detail.shown.state);
    match &detail.shown.state {
        BuildState::Absent => {
            let text = "The first job that names it has it built, or you do now.";
            let build = build("Build now");
            html! { <Why tone=Tone::Neutral title="Not built yet" text=text>{build}</Why> }
        }
        BuildState::Waiting(_) => html! { <Why tone=Tone::Neutral title="Waiting to be built" text=text/> },
        BuildState::Building { since, .. } => {
            let since = ago(&visit.viewer, *since);
            html! {
                <Why tone=Tone::Neutral title="Building" text=text>
                    <p class="muted">"Begun "{since}</p>
                </Why>
            }
        }
        BuildState::Ready(built) => {
            let kernel = if built.has_kernel {
                "Jobs can name it, and JupyterLab offers it as a kernel."
            } else {
                "Jobs can name it. JupyterLab does not offer it: ipykernel and nbconvert could not be installed beside \
                 this list."
            };
            let seconds = built.built_in().as_secs().max(1);
            let text = format!("{text}, {} on disk, built in {seconds} s. {kernel}", megabytes(built.size));
            html! { <Why tone=Tone::Good title="Ready" text=text/> }
        }
        BuildState::Failed { failure, at } => {
            let at = ago(&visit.viewer, *at);
            let title = match failure.line {
                Some(line) => format!("It could not be built: line {line} failed"),
                None => "It could not be built".to_owned(),
            };
            let text = format!("{} {}", failure.why, failure.help);
            let build = build("Try again");
            html! {
                <Why tone=Tone::Failed title=title text=text code="environment-failed">
                    {build}
                    <p class="muted">"Tried "{at}". A version never changes: correct the list in a new one."</p>
                </Why>
            }
        }
        BuildState::Collected { at, .. } => {
            let at = ago(&visit.viewer, *at);
            let text = format!(
                "Nothing had used it for {}, so it was removed from the disk. The next use builds it again.",
                counted(detail.kept_days.into(), "day", "days")
            );
            let build = build("Build now");
            html! {
                <Why tone=Tone::Neutral title="Removed from the disk" text=text>
                    {build}
                    <p class="muted">"Removed "{at}</p>
                </Why>
            }
        }
    }
}

/// What is in it, with versions.
fn packages(detail: &NamedDetail) -> AnyView {
    let packages = detail.shown.state.packages();
    if packages.is_empty() {
        return ().into_any();
    }
    let (table, count) = (parts::packages(packages), counted(packages.len() as u64, "package", "packages"));
    html! {
        <Card heading="Installed" note=count>
            {table}
        </Card>
    }
}

fn versions(visit: &Visit, detail: &NamedDetail) -> AnyView {
    let (slug, name) = (visit.slug(), detail.view.row.name.to_string());
    let shown = detail.shown.row.version;
    let rows: Vec<_> = detail
        .view
        .versions
        .iter()
        .map(|version| {
            let number = version.row.version;
            let href = format!("{}?version={number}", paths::named_environment(slug, &name));
            let current = (number == shown).then_some("true");
            let before = detail.view.versions.iter().find(|other| other.row.version + 1 == number);
            let diff = before.map(|before| {
                let address = format!(
                    "{}?before={name}:{}&after={name}:{number}",
                    paths::compare_environments(slug),
                    before.row.version
                );
                view! { <a class="l2" href=address>{format!("compare with {}", before.row.version)}</a> }
            });
            let (by, at) = (version.row.author_name.clone(), version.row.created_at);
            view! {
                <tr data-key=number.to_string() aria-current=current>
                    <th scope="row">
                        <a class="name" href=href>{format!("Version {number}")}</a>
                        <span class="l2">{by}", "{ago(&visit.viewer, at)}</span>
                    </th>
                    <td>{tag(&version.state)}{diff}</td>
                </tr>
            }
        })
        .collect();
    html! {
        <Card heading="Versions">
            <Table
                class="table tight" caption="Versions, the newest first" rows=rows
                head=heads(&[("Version", ""), ("State", "")])
            />
        </Card>
    }
}

fn users(visit: &Visit, detail: &NamedDetail) -> AnyView {
    const SHOWN: usize = 10;
    let slug = visit.slug();
    let rows: Vec<_> = detail
        .view
        .jobs
        .iter()
        .take(SHOWN)
        .map(|(job, version)| {
            let id = job.to_string();
            view! {
                <li><a class="mono" href=paths::job(slug, &id)>{id.clone()}</a>{format!(", version {version}")}</li>
            }
        })
        .collect();
    let more = detail.view.jobs.len().saturating_sub(SHOWN);
    let more = (more > 0).then(|| view! { <li class="faint">{format!("and {more} more")}</li> });
    let nobody = detail.view.jobs.is_empty().then(|| {
        let words = detail.in_use.clone().unwrap_or_else(|| "No job that waits or runs names it.".to_owned());
        view! { <p class="muted">{words}</p> }
    });
    html! { <Card heading="Used by"><ul class="stack-s">{rows}{more}</ul>{nobody}</Card> }
}

fn facts(visit: &Visit, detail: &NamedDetail) -> AnyView {
    let (owner, at) = (detail.view.row.owner_name.clone(), ago(&visit.viewer, detail.view.row.created_at));
    let hash = detail.shown.hash.map(|hash| hash.to_string()).unwrap_or_default();
    let used = ago_or(&visit.viewer, detail.shown.row.used_at, "never");
    html! {
        <Card heading="About">
            <DefList>
                <Def term="Owner">{owner}</Def>
                <Def term="Made">{at}</Def>
                <Def term="Version last used">{used}</Def>
                <Def term="Content"><span class="mono">{hash}</span></Def>
            </DefList>
        </Card>
    }
}
