//! Home: what exists, what to do next, what happened. It shows nothing that is not so.

use std::sync::Arc;

use atelier_domain::access::{Action, Area, Grant};
use atelier_domain::history::Topic;
use atelier_domain::paths;
use atelier_domain::text::{and_list, counted};
use atelier_engine::store::HistoryEntry;
use atelier_studio::clock;
use atelier_studio::counts::{ComputeCounts, compute_counts};
use atelier_studio::history::recent_history;
use atelier_studio::jobs::list::{JobView, recent_jobs};
use atelier_studio::people::commands::untrusted_team;
use atelier_studio::people::list::{HeadCount, head_count};
use leptos::prelude::*;

use crate::components::{Card, Icon, LinkButton, Look, NavItem, Page, TrustBanner, WayOut};
use crate::frame::{Place, Visit, load, studio};
use crate::history::events;
use crate::server::caller::here;
use crate::viewer::Viewer;

/// How many events Home shows.
const RECENT: usize = 8;

/// How many jobs Home shows.
const RECENT_JOBS: usize = 5;

/// The start page of a workspace.
#[component]
pub fn HomePage() -> impl IntoView {
    let place = Place::of(
        NavItem::Home,
        Action::WorkspaceRead,
        &[Topic::People, Topic::History, Topic::Instances, Topic::Clusters, Topic::Jobs],
    );
    studio(place, |visit| {
        let read = async {
            let caller = here()?;
            let people = head_count(&caller).await?;
            let history = recent_history(&caller, RECENT).await?;
            let (computes, jobs) = (compute_counts(&caller).await?, recent_jobs(&caller, RECENT_JOBS).await?);
            Ok((people, computes, jobs, history, untrusted_team(&caller).await?))
        };
        load(visit.viewer.clone(), read, move |(people, computes, jobs, history, mixed)| {
            home(&visit, people, computes, jobs, history, mixed)
        })
    })
}

fn home(
    visit: &Visit,
    people: HeadCount,
    computes: ComputeCounts,
    jobs: Arc<Vec<JobView>>,
    history: Arc<Vec<HistoryEntry>>,
    mixed: Option<&'static str>,
) -> AnyView {
    let viewer = &visit.viewer;
    let first_name = viewer.name.split_whitespace().next().unwrap_or_default();
    let greeting = format!("{}, {first_name}", clock::greeting(viewer.now, &viewer.time_zone));
    let sub = summary(&viewer.workspace.name, computes);
    let refusal = viewer.may(Action::MemberWrite).err().map(|denied| viewer.why_not(&denied));
    let may_confirm = refusal.is_none();
    let add = html! {
        <LinkButton href=paths::new_person(visit.slug()) look=Look::Primary icon="plus" disabled_because=refusal>
            "Add person"
        </LinkButton>
    };
    let (figures, recent) = (figures(viewer, people, computes), recent(visit, &history));
    let next = if viewer.may(Action::MemberWrite).is_ok() {
        first_steps(visit, people, computes)
    } else {
        possibilities(viewer)
    };
    let newest = newest_jobs(visit, &jobs);
    html! {
        <Page heading=greeting title="Home" sub=sub actions=add>
            <div class="stack">
                <TrustBanner why=mixed may_confirm=may_confirm/>
                <div data-live="figures">{figures}</div>
                <div class="split">
                    <div class="stack">{newest}{next}</div>
                    <aside class="stack">{recent}</aside>
                </div>
            </div>
        </Page>
    }
}

/// What there is and what it does, in one sentence.
fn summary(workspace: &str, computes: ComputeCounts) -> String {
    if computes.clusters + computes.instances + computes.serverless == 0 {
        return format!("{workspace} has no computes yet.");
    }
    let kinds = [(computes.instances, "instance", "instances"), (computes.clusters, "cluster", "clusters")];
    let there: Vec<String> = kinds
        .into_iter()
        .filter(|(count, ..)| *count > 0)
        .map(|(count, one, many)| counted(count, one, many))
        .collect();
    let there = if there.is_empty() { "serverless jobs".to_owned() } else { and_list(&there) };
    let jobs = counted(computes.running, "job runs", "jobs run");
    format!("{workspace} has {there}; {jobs} and {} wait.", computes.waiting)
}

fn figures(viewer: &Viewer, people: HeadCount, computes: ComputeCounts) -> AnyView {
    let online = format!("{} online now", people.online);
    let slug = &viewer.workspace.slug;
    let tab = if computes.instances > 0 || computes.clusters == 0 { "instances" } else { "clusters" };
    let clusters = paths::compute(slug, tab);
    let machines = match (computes.sites, computes.nodes) {
        (0, _) => "No driver has reported a place for nodes yet".to_owned(),
        (_, nodes) => format!("with {}", counted(nodes, "node", "nodes")),
    };
    let (jobs, waiting) = (paths::jobs(slug), format!("{} waiting", computes.waiting));
    let allowed = Action::ALL.iter().filter(|action| viewer.rights.may_at_all(**action)).count();
    html! {
        <dl class="figures">
            <div>
                <dt><Icon name="compute" class="i-s"/>"Computes"</dt>
                <dd>
                    <a class="big" href=clusters>{computes.clusters + computes.instances}</a>
                    <p class="sub">{machines}</p>
                </dd>
            </div>
            <div>
                <dt><Icon name="jobs" class="i-s"/>"Jobs running"</dt>
                <dd><a class="big" href=jobs>{computes.running}</a><p class="sub">{waiting}</p></dd>
            </div>
            <div>
                <dt><Icon name="users" class="i-s"/>"People"</dt>
                <dd><span class="big">{people.everyone}</span><p class="sub">{online}</p></dd>
            </div>
            <div>
                <dt><Icon name="shield" class="i-s"/>"Your rights"</dt>
                <dd>
                    <span class="big">{allowed}" "<small>{format!("of {}", Action::ALL.len())}</small></span>
                    <p class="sub">{format!("as {}", and_list(&viewer.role_labels()))}</p>
                </dd>
            </div>
        </dl>
    }
}

/// For who manages the workspace.
fn first_steps(visit: &Visit, people: HeadCount, computes: ComputeCounts) -> AnyView {
    let slug = visit.slug();
    let team = match people.everyone {
        0 | 1 => "You are alone here so far. They get a temporary password and choose their own at the first sign-in."
            .to_owned(),
        many => {
            format!("{} are here. See who has signed in, and change their roles.", counted(many, "person", "people"))
        }
    };
    let (team_href, team_label) = match people.everyone {
        0 | 1 => (paths::new_person(slug), "Add the people you work with"),
        _ => (paths::people(slug), "Look after your people"),
    };
    let roles = paths::roles(slug);
    let (cluster_href, cluster_label) = match computes.clusters {
        0 => (paths::new_cluster(slug), "Create the first cluster"),
        _ => (paths::compute(slug, "clusters"), "Look at your clusters"),
    };
    let (instance_href, instance_label) = match computes.instances {
        0 => (paths::new_instance(slug), "Create the first instance"),
        _ => (paths::compute(slug, "instances"), "Look at the instances"),
    };
    let zone = format!("Times are shown in {}.", visit.viewer.time_zone.replace('_', " "));
    html! {
        <Card heading="Getting started" note="in any order">
            <div class="stack-s">
                <WayOut href=team_href icon="users" label=team_label help=team/>
                <WayOut
                    href=roles icon="shield" label="Read what each role may do"
                    help="Five roles, from Reader to Owner. Most people need Data Scientist."
                />
                <WayOut
                    href=paths::PROFILE icon="globe" label="Check your time zone and theme"
                    help=zone
                />
                <WayOut
                    href=instance_href icon="notebook" label=instance_label
                    help="A workstation of one's own with JupyterLab and a terminal, that starts and stops by itself."
                />
                <WayOut
                    href=cluster_href icon="cluster" label=cluster_label
                    help="Nodes that come when jobs wait and go when they are done. A job can also have a machine to \
                          itself."
                />
            </div>
        </Card>
    }
}

/// For everybody else: what their roles let them do.
fn possibilities(viewer: &Viewer) -> AnyView {
    let areas = [Area::Instances, Area::Clusters, Area::Jobs].map(|area| {
        let actions: Vec<_> = Action::ALL
            .iter()
            .filter(|action| action.area() == area)
            .filter_map(|action| match viewer.rights.grant(*action) {
                Grant::No => None,
                Grant::Own => Some(view! { <li>{action.label()}" "<span class="tag">"own"</span></li> }.into_any()),
                Grant::Any => Some(view! { <li>{action.label()}</li> }.into_any()),
            })
            .collect();
        (!actions.is_empty()).then(|| view! { <div><h3>{area.label()}</h3><ul class="list">{actions}</ul></div> })
    });
    let roles = paths::roles(&viewer.workspace.slug);
    html! {
        <Card heading="What you may do">
            <div class="cols-3">{areas.into_iter().collect_view()}</div>
            <p class="help"><a href=roles>"All rights of all roles"</a></p>
        </Card>
    }
}

fn recent(visit: &Visit, history: &[HistoryEntry]) -> AnyView {
    let content = if history.is_empty() {
        view! { <p class="muted">"Nothing has happened yet."</p> }.into_any()
    } else {
        events::list(history.to_vec(), &visit.viewer)
    };
    let all = view! { <a class="xs" href=paths::activity(visit.slug())>"All activity"</a> }.into_any();
    html! {
        <Card heading="Recent activity" action=all>
            <div data-live="recent" data-announce="event|events">{content}</div>
        </Card>
    }
}

/// The newest jobs; nothing while there are none.
fn newest_jobs(visit: &Visit, jobs: &[JobView]) -> AnyView {
    let content = (!jobs.is_empty()).then(|| {
        let all = view! { <a class="xs" href=paths::jobs(visit.slug())>"All jobs"</a> }.into_any();
        let rows = crate::jobs::pages::row::brief(jobs.to_vec(), &visit.viewer);
        view! { <Card heading="Recent jobs" action=all flush=true>{rows}</Card> }
    });
    view! { <div data-live="recent-jobs" data-announce="job|jobs">{content}</div> }.into_any()
}
