//! When one instance is awake: its week, the rules beside it, and what comes of them.

use atelier_domain::access::Action;
use atelier_domain::fields::{DAYS, Fields};
use atelier_domain::history::Topic;
use atelier_domain::paths;
use atelier_domain::schedule::Zone;
use atelier_engine::run::CommandId;
use atelier_studio::schedules::page::{SchedulePage, instance_schedules};
use leptos::prelude::*;
use leptos::server_fn::ServerFn as _;

use crate::components::{Banner, Crumb, LinkButton, Look, NavItem, Page, PostForm, Query, SubmitButton, Tone, warning};
use crate::form::FormState;
use crate::frame::{Place, Visit, load, param, studio};
use crate::schedules::pages::{grid, idle, jobs, outlook, rules};
use crate::schedules::typing::QuoteSchedule;
use crate::server::caller::here;

/// The form's own server function.
const FORM: &str = "save_week";

/// When an instance is awake.
#[component]
pub fn InstanceSchedulesPage() -> impl IntoView {
    studio(Place::of(NavItem::Schedules, Action::InstanceRead, &[Topic::Schedules, Topic::Instances]), |visit| {
        let (caller, name, typed) = (here(), param("name"), typed(&visit.form(FORM), &Query::here()));
        let read = async move { instance_schedules(&caller?, &name, typed).await };
        load(visit.viewer.clone(), read, move |page| show(&visit, &page))
    })
}

/// Every field of the form.
fn fields() -> Vec<String> {
    let more = ["time_zone", "jobs", "drain", "idle", "idle_minutes"].map(str::to_owned);
    let days = DAYS.iter().flat_map(|day| [(*day).to_owned(), format!("{day}_start"), format!("{day}_stop")]);
    more.into_iter().chain(days).collect()
}

/// What stands in the form if it is not what is saved: it was refused, or sent to be looked at.
fn typed(state: &FormState, query: &Query) -> Option<Fields> {
    let is_refused = !state.problems().is_empty() || state.refusal().is_some();
    if is_refused {
        return Some(
            fields()
                .into_iter()
                .map(|field| {
                    let value = state.value(&field, "");
                    (field, value)
                })
                .collect(),
        );
    }
    if query.get("look").is_empty() && query.get("copy").is_empty() {
        return None;
    }
    let mut typed: Fields = fields()
        .into_iter()
        .map(|field| {
            let value = query.get(&field).to_owned();
            (field, value)
        })
        .collect();
    typed.copy_monday(query.get("copy"));
    Some(typed)
}

fn show(visit: &Visit, page: &SchedulePage) -> AnyView {
    let (slug, name) = (visit.slug(), page.subject.name.to_string());
    let back = paths::compute(slug, "instances");
    let crumbs = vec![Crumb::new("Instances", back), Crumb::new(name.clone(), paths::instance(slug, &name))];
    let is_paused = !page.rows.is_empty() && page.rows.iter().all(|row| !row.is_enabled);
    let paused = is_paused.then(|| {
        view! {
            <Banner
                tone=Tone::Warning
                text="All schedules are disabled: nothing starts or stops it by itself but idle shutdown."
            />
        }
    });
    let refusal = visit.refused(&[
        "add_rule",
        "change_rule",
        "switch_schedule",
        "skip_schedule",
        "remove_schedule",
        "pause_schedules",
    ]);
    let form = form(visit, page);
    let rules = rules::card(visit, page);
    let pause = pause_button(page, is_paused);
    let warnings = warning::of_instance(&visit.viewer, page.subject.id);
    html! {
        <Page
            heading=format!("When is {name} awake?") title=format!("Schedules of {name}") crumbs=crumbs actions=pause
            sub="It starts and stops at these times. Before a stop its owner is warned: 15 minutes for a scheduled \
                 one, 5 for an idle one."
        >
            {refusal}
            {paused}
            {warnings}
            {form}
            {rules}
        </Page>
    }
}

fn pause_button(page: &SchedulePage, is_paused: bool) -> Option<AnyView> {
    if page.rows.is_empty() || page.fixed_because.is_some() {
        return None;
    }
    let (value, icon, label) =
        if is_paused { ("", "play", "Resume schedules") } else { ("on", "pause", "Pause schedules") };
    let hidden = vec![
        ("instance", page.subject.name.to_string()),
        ("command_id", CommandId::random().as_str().to_owned()),
        ("paused", value.to_owned()),
    ];
    Some(html! {
        <PostForm function="pause_schedules" hidden=hidden class="inline-form">
            <SubmitButton look=Look::Plain icon=icon>{label}</SubmitButton>
        </PostForm>
    })
}

fn form(visit: &Visit, page: &SchedulePage) -> AnyView {
    let (slug, name) = (visit.slug(), page.subject.name.to_string());
    let state = visit.form(FORM);
    let hidden = vec![("instance", name.clone()), ("command_id", CommandId::random().as_str().to_owned())];
    let because = page.fixed_because.clone();
    let here = paths::instance_schedules(slug, &name);
    let week = grid::card(&page.fields, &state, &visit.viewer.time_zone, mark(visit, page), Some(&here));
    let jobs = jobs::choices(&page.fields, &state);
    let idle = idle::field(&page.fields, &state, &page.rules);
    let policy = page.is_by_policy.then(|| view! { <p class="muted">"A rule of the workspace set this."</p> });
    let outlook = outlook::side(&page.outlook);
    let back = paths::instance(slug, &name);
    let of = format!("instance,{}", fields().join(","));
    html! {
        <div class="split" data-quote=QuoteSchedule::PATH data-quote-of=of>
            <PostForm function=FORM state=state hidden=hidden>
                // What Enter presses: the first button of a form must not copy Monday.
                <button class="sr" type="submit" tabindex="-1" aria-hidden="true" disabled=because.is_some()>
                    "Save"
                </button>
                {week}
                {jobs}
                <section class="card">
                    <header><h2>"Idle shutdown"</h2></header>
                    <div class="body stack">{policy}{idle}</div>
                </section>
                <div class="row-between">
                    <LinkButton href=back look=Look::Ghost>"Back to the instance"</LinkButton>
                    <span class="row">
                        <button
                            class="btn without-script" type="submit" formmethod="get" formaction=here formnovalidate
                            name="look" value="1"
                        >
                            "Check times"
                        </button>
                        <SubmitButton icon="check" pending="Saving…" disabled_because=because>
                            "Save schedule"
                        </SubmitButton>
                    </span>
                </div>
            </PostForm>
            {outlook}
        </div>
    }
}

fn mark(visit: &Visit, page: &SchedulePage) -> Option<grid::Mark> {
    let zone = Zone::parse(page.fields.get("time_zone")).ok()?;
    let now = zone.local(visit.viewer.now);
    let minute = |local: atelier_domain::schedule::LocalTime| {
        let (hour, minute) = local.time();
        u32::from(hour) * 60 + u32::from(minute)
    };
    let day = atelier_domain::schedule::Weekday::ALL.iter().position(|day| *day == now.weekday())?;
    let kept = page.kept_until.map(|until| zone.local(until)).filter(|until| until.date() == now.date());
    Some(grid::Mark { day, now: minute(now), kept_until: kept.map(minute) })
}
