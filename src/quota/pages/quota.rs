//! Quotas: what may be held, what is, and by what.

use atelier_domain::access::Action;
use atelier_domain::compute::quota::{QuotaHolder, Resource, Scope};
use atelier_domain::compute::resources::Cores;
use atelier_domain::history::Topic;
use atelier_domain::paths;
use atelier_domain::text::{capitalised, counted};
use atelier_engine::run::CommandId;
use atelier_studio::quota::{Holding, QuotaLine, Quotas, read};
use atelier_studio::typed::typed_cores;
use leptos::prelude::*;

use crate::components::{
    Card, EmptyState, Field, FilterBar, LinkButton, Look, NavItem, Page, PostForm, Query, SaveRow, SelectField,
    SubmitButton, Table, WhyField, options,
};
use crate::frame::{Place, Visit, load, studio};
use crate::server::caller::here;

/// How many holders a row names before it only counts them.
const NAMED: usize = 6;

/// What may be held, what is, and by what.
#[component]
pub fn QuotaPage() -> impl IntoView {
    let place = Place::of(NavItem::Quota, Action::ClusterRead, &[Topic::Engine, Topic::Clusters, Topic::Instances]);
    studio(place, |visit| {
        let (caller, query) = (here(), Query::here());
        let part = query.get("q").to_owned();
        let found = async move { read(&caller?, &part).await };
        load(visit.viewer.clone(), found, move |quotas| show(&visit, &query, &quotas))
    })
}

fn show(visit: &Visit, query: &Query, quotas: &Quotas) -> AnyView {
    let because = visit.viewer.refusal(Action::QuotaWrite);
    let may = because.is_none();
    let refused = visit.refused(&["lift_limit"]);
    let workspace = table(visit, "Limits of the workspace", &quotas.workspace, may);
    let everybody = if quotas.everybody.is_empty() {
        html! {
            <EmptyState
                art=false heading="Nobody is limited by default"
                text="A limit for everybody counts for each person who has none of their own."
            />
        }
    } else {
        table(visit, "Limits for everybody", &quotas.everybody, may)
    };
    let people = if quotas.people.is_empty() {
        let (heading, text) = match query.get("q") {
            "" => ("Nobody holds anything", "Who has an instance, a cluster or serverless jobs is listed here."),
            _ => (
                "Nobody fits this filter",
                "It looks at the names and addresses of who has a limit or holds something.",
            ),
        };
        html! { <EmptyState art=false heading=heading text=text/> }
    } else {
        table(visit, "Limits of people", &quotas.people, may)
    };
    let more = (quotas.more > 0).then(|| {
        let text =
            format!("{} not shown; filter by name to find them.", counted(quotas.more as u64, "row is", "rows are"));
        view! { <p class="table-foot">{text}</p> }
    });
    let tabs = crate::quota::pages::fair_shares::tabs(visit, false);
    let (form, query) = (form(visit, query, quotas, because), query.clone());
    html! {
        <Page
            heading="Quota"
            sub="How many cores, GPUs and computes may be held at once. A quota is a limit, not a promise that \
                 machines are free."
        >
            {tabs}
            {refused}
            <div class="stack">
                <div data-live="workspace-quota">
                    <Card heading="Workspace" note="all together" flush=true>{workspace}</Card>
                </div>
                <div data-live="everybody-quota">
                    <Card heading="Everybody" note="each person without a limit of their own" flush=true>
                        {everybody}
                    </Card>
                </div>
                <div class="people-quota">
                    <FilterBar query=query label="Filter people" placeholder="Filter people by name or address"/>
                    <div data-live="people-quota"><Card heading="People" flush=true>{people}{more}</Card></div>
                </div>
                {form}
            </div>
        </Page>
    }
}

fn table(visit: &Visit, caption: &'static str, lines: &[QuotaLine], may: bool) -> AnyView {
    let rows: Vec<_> = lines.iter().map(|line| row(visit, line, may)).collect();
    let actions = may.then(|| view! { <th scope="col"><span class="sr">"Actions"</span></th> });
    html! {
        <Table
            class="table quotas" caption=caption rows=rows
            head=view! {
                <th scope="col">"What"</th>
                <th scope="col">"Held by"</th>
                <th scope="col">"Held"</th>
                <th scope="col" class="right">"Limit"</th>
                <th scope="col" class="right">"Left"</th>
                {actions}
            }
        />
    }
}

fn row(visit: &Visit, line: &QuotaLine, may: bool) -> AnyView {
    let what = title(&line.resource);
    let (title, second) = match &line.scope {
        Scope::Workspace => (html! { <span class="name">{what.clone()}</span> }, String::new()),
        Scope::Everybody => {
            let most = match line.held {
                0 => "nobody holds any".to_owned(),
                _ => format!("{} holds most", line.person),
            };
            (html! { <span class="name">{what.clone()}</span> }, most)
        }
        Scope::Person(id) => {
            let href = paths::person(visit.slug(), id.as_str());
            (html! { <a class="name" href=href>{line.person.clone()}</a> }, what.clone())
        }
    };
    let second = (!second.is_empty()).then(|| view! { <span class="l2">{second}</span> });
    let number = |amount: u64| plain(&line.resource, amount);
    let held = match line.limit {
        None => html! { <span class="num">{number(line.held)}</span> },
        Some(limit) => {
            let said = format!("{} of {}", number(line.held), number(limit));
            let (low, high) = (limit as f64 * 0.75, limit as f64 * 0.95);
            let label = format!("{what}: {said} held");
            html! {
                <span class="num xs">{said.clone()}</span>
                <meter
                    min="0" max=limit.max(1).to_string() low=low.to_string() high=high.to_string() optimum="0"
                    value=line.held.to_string() aria-label=label
                >
                    {said}
                </meter>
            }
        }
    };
    let limit = match (line.limit, line.is_own) {
        (None, _) => html! { <span class="faint">"none"</span> },
        (Some(limit), true) => html! { <b>{number(limit)}</b> },
        (Some(limit), false) => html! { {number(limit)}<span class="l2">"everybody’s"</span> },
    };
    let left = line.limit.map_or_else(|| "–".to_owned(), |limit| number(limit.saturating_sub(line.held)));
    let actions = may.then(|| actions(visit, line, &what));
    let key = format!("{}/{}/{}", line.scope.key(), line.person, what_key(&line.resource));
    html! {
        <tr data-key=key>
            <th scope="row">{title}{second}</th>
            <td class="wide-cell" data-label="Held by">{holders(visit, line)}</td>
            <td class="meter-cell">{held}</td>
            <td class="right nowrap" data-label="Limit">{limit}</td>
            <td class="right nowrap" data-label="Left">{left}</td>
            {actions}
        </tr>
    }
}

fn actions(visit: &Visit, line: &QuotaLine, what: &str) -> AnyView {
    let (whose, key) = (line.scope.key(), what_key(&line.resource));
    let (person, typed_person) = match &line.scope {
        Scope::Person(id) if line.email.is_empty() => (id.to_string(), id.to_string()),
        Scope::Person(id) => (id.to_string(), line.email.clone()),
        Scope::Workspace | Scope::Everybody => (String::new(), String::new()),
    };
    let limit = line.limit.map(|limit| typed(&line.resource, limit)).unwrap_or_default();
    let change = Query::of(paths::quota(visit.slug()))
        .with("whose", whose)
        .with("person", &typed_person)
        .with("what", &key)
        .with("limit", &limit);
    let about = match &line.scope {
        Scope::Workspace => format!("{what} of the workspace"),
        Scope::Everybody => format!("{what} for everybody"),
        Scope::Person(_) => format!("{what} of {}", line.person),
    };
    let (set, lift) = (format!("Set the limit: {about}"), format!("Lift the limit: {about}"));
    let lift = line.is_own.then(|| {
        let hidden = vec![
            ("command_id", CommandId::random().as_str().to_owned()),
            ("whose", whose.to_owned()),
            ("person", person.clone()),
            ("what", key.clone()),
        ];
        view! {
            <PostForm function="lift_limit" hidden=hidden class="inline-form">
                <SubmitButton look=Look::DangerQuiet small=true icon="trash" label=lift/>
            </PostForm>
        }
    });
    let href = format!("{}#set", change.url());
    html! {
        <td class="right">
            <span class="row-tight">
                <LinkButton href=href small=true icon="pencil" label=set/>
                {lift}
            </span>
        </td>
    }
}

/// Each holder by name with its amount.
fn holders(visit: &Visit, line: &QuotaLine) -> AnyView {
    if line.resource.is_running() && line.held > 0 {
        return html! { <a href=paths::jobs(visit.slug())>"jobs"</a> };
    }
    if line.by.is_empty() {
        return html! { <span class="faint">"nothing"</span> };
    }
    let one = |holding: &Holding| {
        let href = match holding.holder {
            QuotaHolder::Instance(_) => paths::instance(visit.slug(), &holding.name),
            QuotaHolder::Cluster(_) => paths::cluster(visit.slug(), &holding.name),
            QuotaHolder::Serverless => paths::compute(visit.slug(), "serverless"),
        };
        // That each compute is one goes without saying.
        let amount = (line.resource != Resource::Computes).then(|| plain(&line.resource, holding.amount));
        view! { <li><a href=href>{holding.name.clone()}</a>{amount.map(|amount| format!(" {amount}"))}</li> }
    };
    let named: Vec<_> = line.by.iter().take(NAMED).map(one).collect();
    let more = line.by.get(NAMED..).filter(|more| !more.is_empty()).map(|more| {
        let all: Vec<_> = more.iter().map(one).collect();
        view! {
            <li>
                <details><summary>{format!("{} more", more.len())}</summary><ul class="holders">{all}</ul></details>
            </li>
        }
    });
    html! { <ul class="holders">{named}{more}</ul> }
}

fn form(visit: &Visit, query: &Query, quotas: &Quotas, because: Option<String>) -> AnyView {
    let state = visit.form("set_limit");
    let asked = |field: &str| state.value(field, query.get(field));
    let (is_whose, is_person, is_what, is_limit) = (asked("whose"), asked("person"), asked("what"), asked("limit"));
    let hidden = vec![("command_id", CommandId::random().as_str().to_owned())];
    let whose = options(&[
        ("workspace", "The workspace, all together"),
        ("everybody", "Everybody, each by themselves"),
        ("person", "One person"),
    ]);
    let what: Vec<(String, String)> =
        quotas.resources.iter().map(|resource| (what_key(resource), title(resource))).collect();
    let readonly = because.is_some();
    html! {
        <section id="set">
            <Card heading="Set a limit">
                <PostForm function="set_limit" state=state.clone() hidden=hidden>
                    <div class="cols-2">
                        <SelectField form=&state label="Whose" name="whose" options=whose value=is_whose/>
                        <Field
                            form=&state label="Person" name="person" value=is_person readonly=readonly
                            autocomplete="off" help="The e-mail address, if it is one person’s limit."
                        />
                    </div>
                    <div class="cols-2">
                        <SelectField form=&state label="What" name="what" options=what value=is_what/>
                        <Field
                            form=&state label="Limit" name="limit" value=is_limit required=true readonly=readonly
                            autocomplete="off" help="Such as 8. Not below what is held now; 0 allows none."
                        />
                    </div>
                    <WhyField state=state readonly=readonly/>
                    <SaveRow label="Set limit" look=Look::Primary disabled_because=because/>
                </PostForm>
            </Card>
        </section>
    }
}

fn title(resource: &Resource) -> String {
    match resource {
        Resource::Cores(family) => format!("Cores, {family}"),
        other => capitalised(&other.said()),
    }
}

/// How forms call a resource.
fn what_key(resource: &Resource) -> String {
    match resource {
        Resource::Cores(family) => format!("cores/{family}"),
        other => other.key().to_owned(),
    }
}

/// An amount without its noun.
fn plain(resource: &Resource, amount: u64) -> String {
    if resource.is_in_cores() {
        Cores(amount).to_string().split(' ').next().unwrap_or_default().to_owned()
    } else {
        amount.to_string()
    }
}

/// An amount as it is typed.
fn typed(resource: &Resource, amount: u64) -> String {
    if resource.is_in_cores() { typed_cores(amount) } else { amount.to_string() }
}
