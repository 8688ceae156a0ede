//! The list of instances.

use atelier_domain::access::{Action, Whose};
use atelier_domain::compute::instance::InstanceState;
use atelier_domain::compute::verb::{Legality, Noun, Verb};
use atelier_domain::paths;
use atelier_domain::text::counted;
use atelier_studio::counts::{ComputeCounts, compute_counts};
use atelier_studio::instances::commands::{JUPYTER, TERMINAL};
use atelier_studio::instances::list::{InstancePage, InstanceQuery, InstanceSort, QuickView, list_instances};
use atelier_studio::instances::sharing;
use atelier_studio::instances::view::InstanceView;
use leptos::prelude::*;

use crate::components::{
    Avatar, Banner, BulkAction, BulkBar, BulkForm, EmptyState, FilterBar, Icon, LinkButton, Look, NothingLeft, Pager,
    PickAll, PickCell, Query, QuickFilter, Sort, SortHeader, Spark, StateTag, StateWord, Table, Tone, WayOut,
};
use crate::frame::compute::framed;
use crate::frame::{Visit, load};
use crate::instances::pages::detail::parts::{icon, line as next_line};
use crate::instances::pages::shared_with_me;
use crate::server::caller::here;

/// The form that all buttons “Start” of the list belong to: forms cannot stand in each other, and the list is
/// one already.
const START_FORM: &str = "start-one";

pub fn tab(visit: Visit) -> AnyView {
    let (query, caller) = (Query::here(), here());
    let wanted = wanted(&query);
    let sort = Sort::by(wanted.sort.key(), wanted.descending);
    let read = async move {
        let page = list_instances(&here()?, &wanted).await?;
        let shared = sharing::with_me(&caller?).await?;
        Ok((page, compute_counts(&here()?).await?, shared))
    };
    load(visit.viewer.clone(), read, move |(page, counts, shared)| {
        let shared = shared_with_me::card(&visit, &shared);
        show(&visit, &query, sort, page, counts, shared)
    })
}

/// What the address asks for; what it says wrongly is left out.
fn wanted(query: &Query) -> InstanceQuery {
    InstanceQuery {
        q: query.get("q").to_owned(),
        view: QuickView::from_key(query.get("view")).unwrap_or_default(),
        sort: InstanceSort::from_key(query.get("sort")).unwrap_or_default(),
        descending: query.get("dir") == "desc",
        after: query.get("after").parse().unwrap_or_default(),
    }
}

fn show(
    visit: &Visit,
    query: &Query,
    sort: Sort,
    page: InstancePage,
    counts: ComputeCounts,
    shared: AnyView,
) -> AnyView {
    let refusal = visit.viewer.refused(Action::InstanceCreate, Whose::Own);
    let paused = page.paused.clone().map(|text| view! { <Banner tone=Tone::Warning text=text/> });
    let trouble = page.apps_trouble.clone().map(|text| view! { <Banner tone=Tone::Warning text=text/> });
    // A question may have been asked here, in a dialog; its answer comes back here too.
    let refused = visit.refused(&["change_instances", "start_instance"]);
    if page.counts[0] == 0 {
        let inside =
            view! { {refused}<div data-live="instances">{paused}{nothing_yet(visit, counts, refusal)}</div>{shared} };
        return framed(visit, "instances", counts, None, inside.into_any());
    }
    let create = view! {
        <LinkButton href=paths::new_instance(visit.slug()) look=Look::Primary icon="plus" disabled_because=refusal>
            "New instance"
        </LinkButton>
    };
    let filters = filters(query, &page);
    let content = if page.rows.is_empty() { nothing_fits(query) } else { table(visit, query, sort, page) };
    let inside = view! {
        {refused}
        {filters}
        <form id=START_FORM method="post" action=paths::function("start_instance") data-post="start_instance"></form>
        <div data-live="instances" data-announce="instance|instances" data-every="5">{paused}{trouble}{content}</div>
        {shared}
    };
    framed(visit, "instances", counts, Some(create.into_any()), inside.into_any())
}

fn nothing_yet(visit: &Visit, counts: ComputeCounts, refusal: Option<String>) -> AnyView {
    let slug = visit.slug();
    let create = paths::new_instance(slug);
    let said = refusal.clone().map(|reason| view! { <p class="faint xs">{reason}</p> });
    let engine = (counts.sites == 0).then(|| {
        view! {
            <p class="faint xs">
                "No driver has reported a place for nodes yet. An instance can be made once there is one, and a size \
                 for it."
            </p>
        }
    });
    html! {
        <EmptyState
            heading="Your workstations will be here"
            text="An instance is a machine of your own with JupyterLab and a terminal. It sleeps when you do, and your \
                  files stay."
        >
            <LinkButton href=create look=Look::Primary large=true icon="plus" disabled_because=refusal>
                "New instance"
            </LinkButton>
            {said}
            {engine}
        </EmptyState>
        <div class="cols-3 empty-ways">
            <WayOut
                href=paths::compute(slug, "clusters") icon="cluster" label="Clusters"
                help="Equal nodes for jobs that grow with their queue and shrink when it is empty."
            />
            <WayOut
                href=paths::compute(slug, "serverless") icon="bolt" label="Serverless"
                help="Jobs on machines that exist only for as long as the job."
            />
            <WayOut href=paths::roles(slug) icon="shield" label="Roles" help="Who may create, start and stop what."/>
        </div>
    }
}

fn nothing_fits(query: &Query) -> AnyView {
    let text = "Names, sizes, owners and tags are searched. Narrow with owner:me, state:running, size:gpu* or \
                tag:project.";
    html! { <NothingLeft heading="No instance fits this filter" text=text clear=query.path()/> }
}

fn filters(query: &Query, page: &InstancePage) -> AnyView {
    let quick = QuickView::ALL
        .into_iter()
        .zip(page.counts)
        .map(|(view, count)| QuickFilter::new("view", view.key(), view.label()).counting(count))
        .collect();
    html! {
        <FilterBar
            query=query.clone() label="Filter instances" placeholder="Filter by owner:me, state:running, size:gpu*"
            quick=quick
        />
    }
}

fn table(visit: &Visit, query: &Query, sort: Sort, page: InstancePage) -> AnyView {
    let slug = visit.slug();
    let (back, next) = (page.previous.map(|at| query.after(at)), page.next.map(|at| query.after(at)));
    let text = foot(visit, query, &page);
    let header = |label, by: InstanceSort, class: &'static str| {
        view! { <SortHeader label=label key=by.key() sort=sort.clone() query=query.clone() class=class/> }
    };
    let name = header("Name and what happens next", InstanceSort::Name, "");
    let state = header("State", InstanceSort::State, "");
    let size = header("Size", InstanceSort::Size, "c-size");
    let owner = header("Owner", InstanceSort::Owner, "c-owner");
    let rows: Vec<_> = page.rows.into_iter().map(|(row, cpu)| line(visit, row, cpu)).collect();
    let actions = Verb::in_bulk(Noun::Instance).map(|verb| BulkAction {
        verb: verb.word(),
        icon: icon(verb),
        asks_at: paths::confirm_instances(slug, verb.key()),
        is_dangerous: verb == Verb::DeleteInstance,
    });
    let actions = actions.collect::<Vec<_>>();
    let refusal = visit.viewer.refused(Verb::StopInstance.right(), Whose::Own);
    html! {
        <BulkForm action=paths::confirm_instances(slug, Verb::StopInstance.key())>
            <Table
                class="table instances" caption="Compute instances" rows=rows
                head=view! {
                    <PickAll label="Select all instances on this page"/>
                    {name}
                    {state}
                    <th scope="col">"Open"</th>
                    {size}
                    <th scope="col" class="c-cpu">"CPU, last hour"</th>
                    {owner}
                    <th scope="col" class="right">"Today"</th>
                }
            >
                <Pager text=text back=back next=next/>
            </Table>
            <BulkBar noun="instances" actions=actions disabled_because=refusal/>
        </BulkForm>
    }
}

/// How many there are, what they cost, and in which zone times are.
fn foot(visit: &Visit, query: &Query, page: &InstancePage) -> String {
    let (shown, matching) = (page.rows.len() as u64, page.matching as u64);
    let instances = if shown == matching {
        counted(matching, "instance", "instances")
    } else {
        let from: u64 = query.get("after").parse().unwrap_or_default();
        format!("{}–{} of {}", from + 1, from + shown, counted(matching, "instance", "instances"))
    };
    let [_, _, running, _] = page.counts;
    let currency = page.rows.first().map(|(row, _)| row.currency.as_str()).unwrap_or_default();
    let cost = page.per_hour.map(|price| format!(", {}/h now", price.said(currency))).unwrap_or_default();
    let zone = visit.viewer.time_zone.replace('_', " ");
    format!("{instances}. {running} running{cost}. Times in {zone}.")
}

fn line(visit: &Visit, row: InstanceView, cpu: Vec<u32>) -> impl IntoView + use<> {
    let slug = visit.slug();
    let href = paths::instance(slug, &row.name);
    let pick = view! { <PickCell id=row.name.clone() label=format!("Select {}", row.name)/> };
    let (next, apps) = (next_line(&row.next), apps(visit, &row));
    let owner = if row.is_own() { "you".to_owned() } else { row.owner_name.clone() };
    let cost = row.cost_today.map_or_else(
        || {
            html! { <span class="l1 faint" title="Your roles show only what your own things cost">"–"</span> }
        },
        |cost| html! { <span class="l1">{cost.said(&row.currency)}</span> },
    );
    let rate = if row.instance.node.is_some() { format!("{}/h", row.per_hour()) } else { "off".to_owned() };
    let is_bad =
        matches!(row.state, InstanceState::SetupFailed | InstanceState::UserSetupFailed | InstanceState::Unusable);
    let scripts = (row.instance.awaits_acceptance() && row.is_own())
        .then(|| view! { <span class="tag" data-state="warning">"scripts to accept"</span> });
    let (why, shape) = (row.line(visit.viewer.now, &visit.viewer.time_zone), row.shape().to_string());
    view! {
        <tr data-key=row.instance.id.to_string()>
            {pick}
            <th scope="row" class="c-name"><a class="name" href=href>{row.name}</a>" "{scripts}{next}</th>
            <td class="c-state"><StateTag state=StateWord::of_instance(row.state) reason=why/></td>
            <td class="c-apps">{apps}</td>
            <td class="c-size">
                <span class="l1">{row.instance.size.to_string()}</span>
                <span class="l2 nowrap">{shape}</span>
            </td>
            <td class="c-cpu"><Spark label="CPU, last hour" points=cpu is_bad=is_bad/></td>
            <td class="c-owner">
                <span class="who"><Avatar name=row.owner_name/><span class="who-text">{owner}</span></span>
            </td>
            <td class="c-cost right nowrap">{cost}<span class="l2">{rate}</span></td>
        </tr>
    }
}

/// What can be opened or done with one click.
fn apps(visit: &Visit, row: &InstanceView) -> AnyView {
    let (slug, name) = (visit.slug(), row.name.as_str());
    let may = |verb: Verb| visit.viewer.rights.check(verb.right(), row.whose).is_ok();
    let app = |app: &'static str, next: &'static str, icon: &'static str, word: &'static str| {
        let label = format!("Open {} of {name}", if app == JUPYTER { "JupyterLab" } else { "the terminal" });
        let href = paths::open_app(slug, name, app, next);
        view! { <a class="app" href=href target="_blank" rel="noopener" aria-label=label><Icon name=icon/>{word}</a> }
    };
    let start = || {
        let label = format!("Start {name}");
        view! {
            <button class="app" type="submit" form=START_FORM name="instance" value=name.to_owned() aria-label=label>
                <Icon name="play"/>"Start"
            </button>
        }
    };
    let inside = match row.state {
        InstanceState::Running | InstanceState::JobRunning if may(Verb::OpenInstance) => {
            html! { {app(JUPYTER, "/lab", "notebook", "Lab")}{app(TERMINAL, "/", "terminal", "Terminal")} }
        }
        InstanceState::SetupFailed | InstanceState::UserSetupFailed => {
            let rescue = may(Verb::OpenInstance).then(|| app(TERMINAL, "/", "terminal", "Rescue"));
            let log = may(Verb::RestartInstance).then(|| {
                let (href, label) = (paths::instance_tab(slug, name, "logs"), format!("Log of {name}"));
                view! { <a class="app" href=href aria-label=label><Icon name="audit"/>"Log"</a> }
            });
            html! { {rescue}{log} }
        }
        _ if row.judge(&visit.viewer.rights, Verb::StartInstance) == Ok(Legality::Yes) => start().into_any(),
        _ => ().into_any(),
    };
    html! { <span class="apps">{inside}</span> }
}
