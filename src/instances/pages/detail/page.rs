//! The page of one instance: its head, and the tab that the address names.

use atelier_domain::access::{Action, Whose};
use atelier_domain::compute::verb::InstanceVerb;
use atelier_domain::history::Topic;
use atelier_domain::paths;
use atelier_studio::caller::Caller;
use atelier_studio::instances::commands::right_for;
use atelier_studio::instances::detail::{InstanceDetail, instance};
use atelier_studio::jobs::list::{JobsPage, JobsQuery, list_jobs};
use atelier_studio::sizes::list::sizes;
use leptos::prelude::*;

use crate::components::{
    Banner, Button, Crumb, Icon, LinkButton, NavItem, Page, PostForm, Query, StateTag, StateWord, SubmitButton, Tab,
    Tabs, Tone, Why, warning,
};
use crate::error::AppError;
use crate::frame::{Place, Visit, load, param, studio};
use crate::help;
use crate::instances::bulk::BulkVerb;
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

/// One instance.
#[component]
pub fn InstancePage() -> impl IntoView {
    let place = Place {
        nav: NavItem::Compute,
        needs: Some((Action::InstanceRead, Whose::Others)),
        topics: &[Topic::Instances, Topic::Schedules, Topic::Jobs],
    };
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
    Sharing(Box<atelier_studio::instances::shared::SharingView>),
    Refused(Box<atelier_domain::access::Denied>),
}

async fn content(caller: &Caller, detail: &InstanceDetail, tab: &str, query: &Query) -> Result<Content, AppError> {
    use atelier_studio::instances::detail::{charts, decisions};
    Ok(match tab {
        "apps" => Content::Apps,
        "jobs" => {
            let query = JobsQuery {
                compute: detail.row.name.clone(),
                after: atelier_domain::compute::JobId::parse(query.get("after")),
                before: atelier_domain::compute::JobId::parse(query.get("before")),
                ..JobsQuery::default()
            };
            Content::Jobs(Box::new(list_jobs_of(&query).await?))
        }
        "logs" => match logs::read(caller, detail, query).await {
            Ok(logs) => Content::Logs(Box::new(logs)),
            Err(AppError::Forbidden { denied, .. }) => Content::Refused(Box::new(denied)),
            Err(other) => return Err(other),
        },
        "monitoring" => Content::Monitoring(Box::new(charts(caller, detail))),
        "history" => Content::History(Box::new(decisions(caller, detail, query.get("before"), history::PAGE).await?)),
        "sharing" => match atelier_studio::instances::shared::sharing(caller, &detail.row.name).await {
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
            ssh: atelier_studio::instances::ssh::view(caller, &detail.subject).await?,
            server: caller.studio.settings().address.clone(),
        })),
    })
}

/// Who may not see jobs sees none here either.
async fn list_jobs_of(query: &JobsQuery) -> Result<JobsPage, AppError> {
    list_jobs(&here()?, query).await
}

fn show(visit: &Visit, query: &Query, tab: &'static str, detail: &InstanceDetail, content: Content) -> AnyView {
    if let Content::Refused(denied) = &content {
        return help::forbidden(&visit.viewer, denied);
    }
    let row = &detail.row;
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
        (meta(visit, detail), why(visit, detail), stops::chip(visit, detail), apps::cards(visit, detail));
    let warning = warning::of_instance(&visit.viewer, row.id);
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
    view! {
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
    .into_any()
}

fn tabs(visit: &Visit, current: &str, detail: &InstanceDetail) -> AnyView {
    let tabs = TABS
        .into_iter()
        // Only its owner shares an instance.
        .filter(|(key, _)| *key != "sharing" || detail.whose == Whose::Own)
        .map(|(key, label)| Tab {
            href: paths::instance_tab(visit.slug(), &detail.row.name, key),
            label: label.to_owned(),
            count: (key == "jobs").then_some(detail.row.plan.jobs),
            is_current: key == current,
        })
        .collect();
    view! { <div data-live="tabs"><Tabs label="Instance" tabs=tabs/></div> }.into_any()
}

fn meta(visit: &Visit, detail: &InstanceDetail) -> AnyView {
    let row = &detail.row;
    let size = format!("{}: {}", row.size, row.shape);
    let node = detail.row.node.map(|node| {
        let host = detail.agent.as_ref().map(|agent| format!(" on {}", agent.host)).unwrap_or_default();
        view! { <span><Icon name="server"/>{format!("{node}{host}")}</span> }
    });
    let owner = if row.is_own { format!("{} (you)", row.owner_name) } else { row.owner_name.clone() };
    let up = detail.start.as_ref().and_then(|start| Some(start.at.plus(start.took?))).filter(|_| row.node.is_some());
    let up = up.map(|up| {
        view! { <span><Icon name="clock"/>{format!("up {}", visit.viewer.now.since(up))}</span> }
    });
    let today = row.cost_today.as_ref().map(|cost| format!("{cost} today, ")).unwrap_or_default();
    view! {
        <span><Icon name="cpu"/>{size}</span>
        {node}
        <span><Icon name="user"/>{owner}</span>
        {up}
        <span><Icon name="cost"/>{format!("{today}{}/h while it runs", row.per_hour)}</span>
    }
    .into_any()
}

/// Why it is as it is, where that is not plain.
fn why(visit: &Visit, detail: &InstanceDetail) -> AnyView {
    let accept = scripts::card_to_accept_notice(visit, detail);
    let trouble = detail.apps_trouble.clone().map(|text| {
        view! { <Why tone=Tone::Warning title="Applications cannot be opened" text=text/> }
    });
    let caution = detail.apps_caution.clone().map(|text| {
        view! { <Why tone=Tone::Neutral title="Reduced isolation of applications" text=text/> }
    });
    let why = detail.why.as_ref().map(|why| {
        let tone = if why.is_wait { Tone::Neutral } else { Tone::Failed };
        view! { <Why tone=tone title=why.sentence.clone() text=why.next.clone() code=why.code/> }
    });
    let is_plain = why.is_none() && trouble.is_none() && caution.is_none() && !detail.scripts.awaits_owner;
    if is_plain {
        return ().into_any();
    }
    view! { <div class="stack-s">{why}{accept}{trouble}{caution}</div> }.into_any()
}

/// Why a verb cannot be used: the right first, then the state.
pub fn blocked(visit: &Visit, detail: &InstanceDetail, verb: InstanceVerb) -> Option<String> {
    let denied = visit.viewer.rights.check(right_for(verb), detail.whose).err();
    denied.map(|denied| visit.viewer.why_not(&denied)).or_else(|| detail.why_not(verb))
}

fn actions(visit: &Visit, detail: &InstanceDetail) -> AnyView {
    let (slug, name) = (visit.slug(), &detail.row.name);
    let ask = |verb: BulkVerb| format!("{}?id={name}", paths::confirm_instances(slug, verb.key()));
    // The one of the two that makes sense; the verb table says why where neither does.
    let first = if detail.why_not(InstanceVerb::Stop).is_some() {
        let hidden = vec![("instance", name.clone())];
        let because = blocked(visit, detail, InstanceVerb::Start);
        view! {
            <PostForm function="start_instance" hidden=hidden class="inline-form">
                <SubmitButton icon="play" pending="Starting…" disabled_because=because>"Start"</SubmitButton>
            </PostForm>
        }
        .into_any()
    } else {
        view! {
            <LinkButton
                href=ask(BulkVerb::Stop) icon="stop" dialog=true
                disabled_because=blocked(visit, detail, InstanceVerb::Stop)
            >
                "Stop"
            </LinkButton>
        }
        .into_any()
    };
    let restart = view! {
        <LinkButton
            href=ask(BulkVerb::Restart) icon="restart" dialog=true
            disabled_because=blocked(visit, detail, InstanceVerb::Restart)
        >
            "Restart"
        </LinkButton>
    };
    let entry = |verb: BulkVerb, icon: &'static str, words: &'static str| {
        let because = blocked(visit, detail, verb.verb());
        match because {
            Some(why) => view! { <p class="nothing"><b>{words}</b>" "{why}</p> }.into_any(),
            None => view! { <a href=ask(verb) data-confirm=""><Icon name=icon/>{words}</a> }.into_any(),
        }
    };
    let resize = paths::instance_tab(slug, name, "settings");
    view! {
        {first}
        {restart}
        <Button icon="more" label="More actions" opens="m-more"/>
        <div class="menu" id="m-more" popover="auto">
            {entry(BulkVerb::Rebuild, "bolt", "Rebuild environment")}
            <a href=format!("{resize}#size")><Icon name="cpu"/>"Change size"</a>
            <a href=paths::instance_schedules(slug, name)><Icon name="calendar"/>"Schedules"</a>
            <hr/>
            {entry(BulkVerb::Delete, "trash", "Delete")}
        </div>
    }
    .into_any()
}

fn jobs_tab(visit: &Visit, query: &Query, detail: &InstanceDetail, page: JobsPage) -> AnyView {
    let first = query.clone().from_the_start();
    let back = page.previous.map(|cursor| first.clone().with("after", &cursor.to_string()).url());
    let next = page.next.map(|cursor| first.clone().with("before", &cursor.to_string()).url());
    let (list, run) = (crate::jobs::pages::row::of_compute(visit, page, back, next), run_as_job::card(visit, detail));
    view! { <div class="stack">{list}{run}</div> }.into_any()
}
