//! The page of one instance: its head, and the tab that the address names.

use atelier_domain::access::Action;
use atelier_domain::compute::verb::Verb;
use atelier_domain::history::Topic;
use atelier_domain::paths;
use atelier_studio::caller::Caller;
use atelier_studio::instances::detail::{InstanceDetail, instance};
use atelier_studio::instances::view::Cause;
use atelier_studio::jobs::list::{JobsPage, JobsQuery, list_jobs};
use atelier_studio::sizes::list::sizes;
use atelier_studio::token_scope::{Noun, token_scope};
use leptos::prelude::*;

use crate::components::{
    Banner, Button, Crumb, Icon, LinkButton, NavItem, Page, PostForm, Query, StateTag, StateWord, SubmitButton, Tab,
    Tabs, Tone, Why, warning,
};
use crate::error::AppError;
use crate::frame::{Place, Visit, help, load, param, studio};
use crate::instances::pages::detail::parts::{asks_at, blocked, icon};
use crate::instances::pages::detail::{
    apps, history, logs, monitoring, overview, own_apps, run_as_job, scripts, settings, sharing, stops,
};
use crate::server::caller::here;

/// The tabs, in order: the end of the address and the word.
const TABS: [(&str, &str); 8] = [
    ("", "Overview"),
    ("apps", "Applications"),
    ("jobs", "Jobs"),
    ("logs", "Logs"),
    ("monitoring", "Monitoring"),
    ("history", "History"),
    ("sharing", "Sharing"),
    ("settings", "Settings"),
];

#[component]
pub fn InstancePage() -> impl IntoView {
    let place = Place::of(NavItem::Compute, Action::InstanceRead, &[Topic::Instances, Topic::Schedules, Topic::Jobs]);
    studio(place, |visit| {
        let (name, query, caller) = (param("name"), Query::here(), here());
        let last = query.path().rsplit('/').next().unwrap_or_default().to_owned();
        let tab = TABS.into_iter().map(|(key, _)| key).find(|key| !key.is_empty() && *key == last).unwrap_or_default();
        let (asked, viewer) = (query.clone(), visit.viewer.clone());
        let read = async move {
            let caller = caller?;
            let detail = instance(&caller, &name).await?;
            let content = content(&caller, &detail, tab, &asked).await?;
            Ok((detail, content))
        };
        load(viewer, read, move |(detail, content)| show(&visit, &query, tab, &detail, content))
    })
}

/// What a tab shows beside the instance itself.
enum Content {
    Overview(Box<overview::Content>),
    Apps,
    Jobs(Box<JobsPage>),
    Logs(Box<atelier_studio::instances::logs::LogsView>),
    Monitoring(Box<Option<atelier_studio::instances::usage::Usage>>),
    History(Box<atelier_studio::instances::detail::Decided>),
    Settings(Box<settings::Content>),
    Sharing(Box<atelier_studio::instances::sharing::SharingView>),
    Refused(Box<atelier_domain::access::Denied>),
}

async fn content(caller: &Caller, detail: &InstanceDetail, tab: &str, query: &Query) -> Result<Content, AppError> {
    use atelier_studio::instances::detail::{charts, decisions};
    Ok(match tab {
        "apps" => Content::Apps,
        "jobs" => {
            let query = JobsQuery {
                compute: detail.view.name.clone(),
                after: atelier_domain::compute::JobId::parse(query.get("after")),
                before: atelier_domain::compute::JobId::parse(query.get("before")),
                ..JobsQuery::default()
            };
            Content::Jobs(Box::new(list_jobs(caller, &query).await?))
        }
        "logs" => match logs::read(caller, detail, query).await {
            Ok(logs) => Content::Logs(Box::new(logs)),
            Err(AppError::Forbidden { denied, .. }) => Content::Refused(Box::new(denied)),
            Err(other) => return Err(other),
        },
        "monitoring" => Content::Monitoring(Box::new(charts(caller, detail))),
        "history" => Content::History(Box::new(decisions(caller, detail, query.get("before"), history::PAGE).await?)),
        "sharing" => match atelier_studio::instances::sharing::view(caller, &detail.view.name).await {
            Ok(view) => Content::Sharing(Box::new(view)),
            Err(AppError::Forbidden { denied, .. }) => Content::Refused(Box::new(denied)),
            Err(other) => return Err(other),
        },
        "settings" => {
            let (sizes, scripts) = (sizes(caller).await?, scripts::texts(caller, detail).await);
            Content::Settings(Box::new(settings::Content { sizes, scripts }))
        }
        _ => Content::Overview(Box::new(overview::Content {
            usage: charts(caller, detail),
            decided: decisions(caller, detail, "", overview::DECISIONS).await?,
            scripts: scripts::texts(caller, detail).await,
            ssh: atelier_studio::instances::ssh::view(caller, &detail.view.subject()).await?,
            tokens: token_scope(caller, Noun::Instance, &detail.view.name).await?,
            server: caller.studio.settings().address.clone(),
        })),
    })
}

fn show(visit: &Visit, query: &Query, tab: &'static str, detail: &InstanceDetail, content: Content) -> AnyView {
    if let Content::Refused(denied) = &content {
        return help::forbidden(&visit.viewer, denied);
    }
    let row = &detail.view;
    let back = paths::compute(visit.slug(), "instances");
    let crumbs = vec![Crumb::new("Compute", back.clone()), Crumb::new("Instances", back)];
    let beside = view! { <span data-live="state"><StateTag state=StateWord::of_instance(row.state) pill=true/></span> };
    let actions = view! { <div class="row" data-live="verbs">{actions(visit, detail)}</div> };
    let forms = [
        "change_instances",
        "start_instance",
        "extend_instance",
        "keep_instance",
        "skip_stop",
        "accept_scripts",
        "restart_app",
        "remove_app",
    ];
    let refused = forms.map(|form| {
        let form = visit.form(form);
        let problem = form.problems().into_iter().next().map(|problem| problem.message);
        form.refusal().or(problem).map(|text| view! { <Banner tone=Tone::Failed text=text/> })
    });
    let (meta, why, chip, cards) =
        (meta(visit, detail), notes(visit, detail), stops::chip(visit, detail), apps::cards(visit, detail));
    let warning = warning::of_instance(&visit.viewer, row.instance.id);
    let tabs = tabs(visit, tab, detail);
    let inside = match content {
        Content::Overview(content) => overview::tab(visit, detail, &content),
        Content::Apps => own_apps::tab(visit, query, detail),
        Content::Jobs(page) => jobs_tab(visit, query, detail, *page),
        Content::Logs(view) => logs::tab(visit, query, detail, &view),
        Content::Monitoring(usage) => monitoring::tab(visit, detail, usage.as_ref().as_ref()),
        Content::History(decided) => history::tab(visit, query, &decided),
        Content::Settings(content) => settings::tab(visit, detail, *content),
        Content::Sharing(view) => sharing::tab(visit, detail, *view),
        Content::Refused(_) => ().into_any(),
    };
    let title = match TABS.iter().find(|(key, _)| *key == tab) {
        Some((key, label)) if !key.is_empty() => format!("{label} of {}", row.name),
        _ => row.name.clone(),
    };
    html! {
        <Page
            heading=row.name.clone() title=title crumbs=crumbs beside=beside.into_any() actions=actions.into_any()
        >
            <p class="meta" data-live="meta">{meta}</p>
            <div class="stack">
                {refused.into_iter().collect_view()}
                {warning}
                <div data-live="why">{why}</div>
                <div data-live="next">{chip}</div>
                <div data-live="apps">{cards}</div>
                {tabs}
                {inside}
            </div>
        </Page>
    }
}

fn tabs(visit: &Visit, current: &str, detail: &InstanceDetail) -> AnyView {
    let tabs = TABS
        .into_iter()
        // Only its owner shares an instance.
        .filter(|(key, _)| *key != "sharing" || detail.view.is_own())
        .map(|(key, label)| Tab {
            href: paths::instance_tab(visit.slug(), &detail.view.name, key),
            label: label.to_owned(),
            count: (key == "jobs").then_some(detail.view.plan.jobs),
            is_current: key == current,
        })
        .collect();
    html! { <div data-live="tabs"><Tabs label="Instance" tabs=tabs/></div> }
}

fn meta(visit: &Visit, detail: &InstanceDetail) -> AnyView {
    let row = &detail.view;
    let size = format!("{}: {}", row.instance.size, row.shape());
    let node = detail.view.instance.node.map(|node| {
        let host = detail.agent.as_ref().map(|agent| format!(" on {}", agent.host)).unwrap_or_default();
        view! { <span><Icon name="server"/>{format!("{node}{host}")}</span> }
    });
    let owner = if row.is_own() { format!("{} (you)", row.owner_name) } else { row.owner_name.clone() };
    let up = row.up().filter(|_| row.instance.node.is_some()).map(|up| {
        view! { <span><Icon name="clock"/>{format!("up {}", visit.viewer.now.since(up))}</span> }
    });
    let today = row.cost_today.map(|cost| format!("{} today, ", cost.said(&row.currency))).unwrap_or_default();
    html! {
        <span><Icon name="cpu"/>{size}</span>
        {node}
        <span><Icon name="user"/>{owner}</span>
        {up}
        <span><Icon name="cost"/>{format!("{today}{}/h while it runs", row.per_hour())}</span>
    }
}

/// Why it is as it is, with what would change it.
pub fn why(cause: &Cause) -> AnyView {
    let tone = if cause.is_wait() { Tone::Neutral } else { Tone::Failed };
    let text = cause.next_step().unwrap_or_default();
    html! { <Why tone=tone title=cause.sentence() text=text code=cause.code()/> }
}

/// All that is not plain about it.
fn notes(visit: &Visit, detail: &InstanceDetail) -> AnyView {
    let accept = scripts::card_to_accept_notice(visit, detail);
    let trouble = detail.apps_trouble.clone().map(|text| {
        view! { <Why tone=Tone::Warning title="Applications cannot be opened" text=text/> }
    });
    let caution = detail.apps_caution.clone().map(|text| {
        view! { <Why tone=Tone::Neutral title="Reduced isolation of applications" text=text/> }
    });
    let why = detail.view.cause.as_ref().map(why);
    let awaits_owner = detail.view.instance.awaits_acceptance();
    let is_plain = why.is_none() && trouble.is_none() && caution.is_none() && !awaits_owner;
    if is_plain {
        return ().into_any();
    }
    html! { <div class="stack-s">{why}{accept}{trouble}{caution}</div> }
}

fn actions(visit: &Visit, detail: &InstanceDetail) -> AnyView {
    let (slug, name) = (visit.slug(), &detail.view.name);
    let because = |verb: Verb| blocked(visit, &detail.view, verb);
    let asking = |verb: Verb| {
        let href = asks_at(visit, name, verb);
        view! {
            <LinkButton href=href icon=icon(verb) dialog=true disabled_because=because(verb)>{verb.label()}</LinkButton>
        }
    };
    // The one of the two that makes sense; the verb table says why where neither does.
    let first = if Verb::StopInstance.in_instance(detail.view.state).is_offered() {
        asking(Verb::StopInstance).into_any()
    } else {
        let (hidden, because) = (vec![("instance", name.clone())], because(Verb::StartInstance));
        html! {
            <PostForm function="start_instance" hidden=hidden class="inline-form">
                <SubmitButton icon="play" pending="Starting…" disabled_because=because>"Start"</SubmitButton>
            </PostForm>
        }
    };
    let entry = |verb: Verb| match because(verb) {
        Some(why) => html! { <p class="nothing"><b>{verb.label()}</b>" "{why}</p> },
        None => {
            let href = asks_at(visit, name, verb);
            html! { <a href=href data-confirm=""><Icon name=icon(verb)/>{verb.label()}</a> }
        }
    };
    let resize = paths::instance_tab(slug, name, "settings");
    html! {
        {first}
        {asking(Verb::RestartInstance)}
        <Button icon="more" label="More actions" opens="m-more"/>
        <div class="menu" id="m-more" popover="auto">
            {entry(Verb::RebuildInstance)}
            <a href=format!("{resize}#size")><Icon name="cpu"/>{Verb::ResizeInstance.label()}</a>
            <a href=paths::instance_schedules(slug, name)><Icon name="calendar"/>"Schedules"</a>
            <hr/>
            {entry(Verb::DeleteInstance)}
        </div>
    }
}

fn jobs_tab(visit: &Visit, query: &Query, detail: &InstanceDetail, page: JobsPage) -> AnyView {
    let first = query.clone().from_the_start();
    let back = page.previous.map(|cursor| first.clone().with("after", &cursor.to_string()).url());
    let next = page.next.map(|cursor| first.clone().with("before", &cursor.to_string()).url());
    let (list, run) = (crate::jobs::pages::row::of_compute(visit, page, back, next), run_as_job::card(visit, detail));
    html! { <div class="stack">{list}{run}</div> }
}
