//! The list of jobs.

use atelier_domain::access::{Action, Whose};
use atelier_domain::compute::JobId;
use atelier_domain::compute::job::JobState;
use atelier_domain::compute::verb::JobVerb;
use atelier_domain::history::Topic;
use atelier_domain::paths;
use atelier_domain::text::counted;
use atelier_studio::jobs::list::{JobsQuery, list_jobs};
use atelier_studio::jobs::view::StateTab;
use leptos::prelude::*;

use crate::components::{
    BulkAction, BulkBar, BulkForm, Crumb, EmptyState, FilterBar, Icon, LinkButton, Look, NavItem, NothingFits, Page,
    Pager, PickAll, Query, QuickFilter, Tab, Table, Tabs, heads,
};
use crate::frame::{Place, Visit, load, studio};
use crate::jobs::pages::confirm::{asks_at, icon};
use crate::jobs::pages::row::row;
use crate::server::caller::here;

/// All jobs of the workspace, as the address filters them.
#[component]
pub fn JobsPage() -> impl IntoView {
    studio(Place::of(NavItem::Jobs, Action::JobRead, &[Topic::Jobs]), |visit| {
        let query = Query::here();
        let wanted = wanted(&query);
        let array = wanted.array;
        let read = async move { list_jobs(&here()?, &wanted).await };
        load(visit.viewer.clone(), read, move |page| list(&visit, &query, array, page))
    })
}

/// What the address asks for; what it says wrongly is left out.
fn wanted(query: &Query) -> JobsQuery {
    JobsQuery {
        q: query.get("q").to_owned(),
        state: StateTab::from_key(query.get("state")),
        is_mine: query.get("owner") == "me",
        compute: query.get("compute").to_owned(),
        tag: query.get("tag").to_owned(),
        array: JobId::parse(query.get("array")),
        after: JobId::parse(query.get("after")),
        before: JobId::parse(query.get("before")),
    }
}

fn list(visit: &Visit, query: &Query, array: Option<JobId>, page: atelier_studio::jobs::list::JobsPage) -> AnyView {
    let viewer = &visit.viewer;
    let slug = visit.slug();
    let submit = viewer.refused(Action::JobSubmit, Whose::Own);
    let new = view! {
        <LinkButton href=paths::new_job(slug) look=Look::Primary icon="plus" disabled_because=submit.clone()>
            "Submit job"
        </LinkButton>
    };
    // The question may have been asked here, in a dialog; its answer comes back here too.
    let refused = visit.refused(&["cancel_jobs", "hold_jobs", "release_jobs", "evict_jobs"]);
    if page.is_empty_studio {
        let content = nothing_yet(visit, submit);
        return html! {
            <Page heading="Jobs"><div data-live="job-tabs"></div><div data-live="jobs">{content}</div></Page>
        };
    }
    let content = if page.lines.is_empty() { nothing_fits(query) } else { table(visit, query, &page) };
    let (tabs, filters) = (tabs(query, &page), filters(query, &page));
    let (heading, crumbs) = match array {
        Some(first) => (format!("Array from {first}"), vec![Crumb::new("Jobs", paths::jobs(slug))]),
        None => ("Jobs".to_owned(), Vec::new()),
    };
    html! {
        <Page
            heading=heading crumbs=crumbs sub="What runs, what waits and why, and what has run." actions=new.into_any()
        >
            {refused}
            <div data-live="job-tabs">{tabs}</div>
            {filters}
            <div data-live="jobs" data-announce="job|jobs">{content}</div>
        </Page>
    }
}

fn tabs(query: &Query, page: &atelier_studio::jobs::list::JobsPage) -> AnyView {
    let chosen = StateTab::from_key(query.get("state"));
    let all = std::iter::once(None).chain(StateTab::ALL.map(Some));
    let tabs: Vec<Tab> = all
        .map(|tab| {
            let of_it = |state: &JobState| tab.is_none_or(|tab| tab.states().contains(state));
            let count = page.counts.iter().filter(|(state, _)| of_it(state)).map(|(_, count)| count).sum();
            Tab {
                href: query.clone().from_the_start().with("state", tab.map_or("", StateTab::key)).url(),
                label: tab.map_or("All", StateTab::label).to_owned(),
                count: Some(count),
                is_current: tab == chosen,
            }
        })
        .collect();
    html! { <Tabs label="Jobs by state" tabs=tabs/> }
}

fn filters(query: &Query, page: &atelier_studio::jobs::list::JobsPage) -> AnyView {
    let quick = vec![QuickFilter::new("owner", "", "Everybody’s"), QuickFilter::new("owner", "me", "Mine")];
    let chosen = query.get("compute").to_owned();
    let word = match chosen.as_str() {
        "" => "Any compute".to_owned(),
        "serverless" => "Serverless".to_owned(),
        name => name.to_owned(),
    };
    let link = |value: String, label: String| {
        let href = query.clone().from_the_start().with("compute", &value).url();
        let is_current = value == chosen;
        let tick = is_current.then(|| view! { <Icon name="check" class="push"/> });
        view! { <a href=href aria-current=is_current.then_some("true")>{label}{tick}</a> }
    };
    let mut links = vec![link(String::new(), "Any compute".into()), link("serverless".into(), "Serverless".into())];
    links.extend(page.clusters.iter().map(|name| link(name.clone(), name.clone())));
    let narrowed: Vec<_> = ["tag", "array"]
        .into_iter()
        .filter(|key| !query.get(key).is_empty())
        .map(|key| {
            let href = query.clone().from_the_start().with(key, "").url();
            let (word, label) = (query.get(key).to_owned(), format!("Take the filter {} away", query.get(key)));
            view! { <a class="tag accent" href=href aria-label=label>{word}<Icon name="x" class="i-s"/></a> }
        })
        .collect();
    let label = format!("Compute: {word}");
    html! {
        <FilterBar query=query.clone() label="Filter jobs" placeholder="Filter by name" quick=quick>
            {narrowed}
            <button class="btn ghost sm" type="button" popovertarget="m-compute" aria-label=label>
                {word}<Icon name="down" class="i-s"/>
            </button>
        </FilterBar>
        <div class="menu start" id="m-compute" popover="auto"><h3>"Compute"</h3>{links}</div>
    }
}

fn table(visit: &Visit, query: &Query, page: &atelier_studio::jobs::list::JobsPage) -> AnyView {
    let slug = visit.slug();
    let first = query.clone().from_the_start();
    let back = page.previous.map(|cursor| first.clone().with("after", &cursor.to_string()).url());
    let next = page.next.map(|cursor| first.clone().with("before", &cursor.to_string()).url());
    let text = counted(page.lines.len() as u64, "line", "lines");
    let rows: Vec<_> = page.lines.iter().map(|job| row(job.clone(), &visit.viewer, query)).collect();
    // Who may do one of them finds the reason for the others on the page that asks.
    let rights = &visit.viewer.rights;
    let refusal = rights.check(Action::JobCancel, Whose::Own).err().filter(|_| !rights.may_at_all(Action::JobQueue));
    let refusal = refusal.map(|denied| visit.viewer.why_not(&denied));
    let verbs = [JobVerb::Hold, JobVerb::Release, JobVerb::Evict, JobVerb::Cancel];
    let actions = verbs.map(|verb| BulkAction {
        verb: verb.verb().word(),
        icon: icon(verb),
        asks_at: asks_at(slug, verb),
        is_dangerous: verb.verb().ask().is_some_and(|ask| ask.is_dangerous),
    });
    let actions = Vec::from(actions);
    let columns = heads(&[
        ("Job", ""),
        ("State", ""),
        ("Compute", "c-size"),
        ("Owner", "c-owner"),
        ("Submitted", ""),
        ("Ran", "right c-cpu"),
        ("Cost", "right c-cpu"),
    ]);
    html! {
        <BulkForm action=paths::cancel_jobs(slug)>
            <Table
                class="table" caption="Jobs" rows=rows
                head=view! { <PickAll label="Select all jobs on this page"/>{columns} }
            >
                <Pager text=text back=back next=next/>
            </Table>
            <BulkBar noun="jobs" actions=actions disabled_because=refusal/>
        </BulkForm>
    }
}

fn nothing_yet(visit: &Visit, refusal: Option<String>) -> AnyView {
    let href = paths::new_job(visit.slug());
    html! {
        <EmptyState
            heading="No jobs yet"
            text="A job is a command or a script that runs on a cluster or on nodes of its own. It waits for its turn, \
                  and this list says why."
        >
            <LinkButton href=href look=Look::Primary large=true icon="plus" disabled_because=refusal>
                "Submit the first job"
            </LinkButton>
        </EmptyState>
    }
}

fn nothing_fits(query: &Query) -> AnyView {
    let text = "Names are searched, within the chosen state, owner, compute and tag.";
    html! { <NothingFits query=query.clone() what="No job" text=text/> }
}
