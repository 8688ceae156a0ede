//! The week of a workspace: what starts and stops by itself.

use atelier_domain::access::Action as Right;
use atelier_domain::history::Topic;
use atelier_domain::paths;
use atelier_domain::schedule::Action;
use atelier_studio::clock;
use atelier_studio::schedules::weeks::{PlanDay, PlanRow, WeekView};
use leptos::prelude::*;

use crate::components::{EmptyState, Icon, LinkButton, Look, NavItem, Page, Query, Tab, Tabs};
use crate::frame::{Place, Visit, load, studio};
use crate::server::caller::here;

/// What starts and stops by itself this week.
#[component]
pub fn SchedulesPage() -> impl IntoView {
    studio(Place::of(NavItem::Schedules, Right::InstanceRead, &[Topic::Schedules, Topic::Instances]), |visit| {
        let is_all = Query::here().get("who") == "all";
        load(
            visit.viewer.clone(),
            async move { atelier_studio::schedules::weeks::week(&here()?, !is_all).await },
            move |week| show(&visit, &week, is_all),
        )
    })
}

fn show(visit: &Visit, week: &WeekView, is_all: bool) -> AnyView {
    let slug = visit.slug();
    let here = paths::schedules(slug);
    let tab = |who: &str, label: &str, is_current: bool| Tab {
        href: Query::of(here.clone()).with("who", who).url(),
        label: label.to_owned(),
        count: None,
        is_current,
    };
    let tabs = vec![tab("", "Mine", !is_all), tab("all", "Everybody’s", is_all)];
    let content = if week.days.is_empty() { nothing(visit, week, is_all) } else { days(visit, week) };
    html! {
        <Page heading="Schedules" sub="What starts and stops by itself in the next seven days, in your time zone.">
            <Tabs label="Whose schedules" tabs=tabs/>
            <div data-live="week">{content}</div>
        </Page>
    }
}

fn nothing(visit: &Visit, week: &WeekView, is_all: bool) -> AnyView {
    let instances = paths::compute(visit.slug(), "instances");
    let (heading, text) = match (is_all, week.schedules) {
        (false, 1..) => ("None of yours start or stop by themselves", "Others’ do: look at everybody’s."),
        _ => (
            "Nothing starts or stops by itself",
            "Give an instance weekly hours on its page of schedules, and it is awake when you are and costs nothing \
             when you are not.",
        ),
    };
    html! {
        <EmptyState heading=heading text=text>
            <LinkButton href=instances look=Look::Primary icon="compute">"Go to the instances"</LinkButton>
        </EmptyState>
    }
}

fn days(visit: &Visit, week: &WeekView) -> AnyView {
    let cut = week
        .is_cut
        .then(|| view! { <p class="muted">"There is more than is listed here: some schedules fire very often."</p> });
    let days: Vec<_> = week.days.iter().map(|one| day(visit, one)).collect();
    html! { <div class="stack plan">{days}{cut}</div> }
}

fn day(visit: &Visit, day: &PlanDay) -> AnyView {
    let rows: Vec<_> = day.rows.iter().map(|row| line(visit, row)).collect();
    let (heading, key) = (day.heading.clone(), day.heading.clone());
    html! {
        <section class="card" data-key=key>
            <header><h2>{heading}</h2></header>
            <div class="body"><ol class="events">{rows}</ol></div>
        </section>
    }
}

fn line(visit: &Visit, row: &PlanRow) -> AnyView {
    let slug = visit.slug();
    let (icon, verb) = match row.action {
        Action::Start => ("play", "Start".to_owned()),
        Action::Stop => ("stop", "Stop".to_owned()),
        Action::MinNodes(nodes) => {
            ("cluster", format!("Minimum {}", atelier_domain::text::counted(u64::from(nodes), "node", "nodes")))
        }
    };
    let href =
        if row.is_cluster { paths::cluster(slug, &row.name) } else { paths::instance_schedules(slug, &row.name) };
    let owner = (!row.owner.is_empty() && !row.is_own).then(|| format!(" of {}", row.owner));
    let more: Vec<String> =
        [row.elsewhere.clone(), row.note.clone()].into_iter().filter(|text| !text.is_empty()).collect();
    let more = (!more.is_empty()).then(|| view! { <span class="l2">{more.join("; ")}</span> });
    let verb = if row.is_skipped {
        html! { <s>{verb}</s> }
    } else {
        html! { {verb} }
    };
    let (rfc, exact) = (clock::rfc3339(row.at), clock::exact(row.at, &visit.viewer.time_zone));
    html! {
        <li data-key=row.key.clone()>
            <time datetime=rfc title=exact>{row.clock.clone()}</time>
            <Icon name=icon/>
            <span>{verb}" "<a class="name" href=href>{row.name.clone()}</a>{owner}{more}</span>
        </li>
    }
}
