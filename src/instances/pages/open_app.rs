//! The way into an application: at once, after a start, or not at all, and why.

use atelier_domain::access::{Action, Whose};
use atelier_domain::compute::instance::InstanceState;
use atelier_domain::compute::verb::{Legality, Verb};
use atelier_domain::history::Topic;
use atelier_domain::paths;
use atelier_studio::instances::apps::{AppLook, AppView};
use atelier_studio::instances::detail::{InstanceDetail, instance};
use leptos::prelude::*;

use crate::components::{
    Card, Crumb, Glyph, LinkButton, Look, NavItem, Page, PostForm, StateTag, StateWord, SubmitButton, Tone, Why,
};
use crate::error::AppError;
use crate::frame::{Place, Visit, help, load, param, studio};
use crate::instances::pages::detail::page::why;
use crate::instances::pages::detail::parts::{blocked, line};
use crate::instances::pages::detail::waterfall::bars;
use crate::server::caller::here;
use crate::server::{local_path, page};

#[component]
pub fn OpenAppPage() -> impl IntoView {
    studio(Place::of(NavItem::Compute, Action::InstanceRead, &[Topic::Instances]), |visit| {
        let (name, app, caller) = (param("name"), param("app"), here());
        let next = page::query("next").and_then(|next| local_path::parse(&next)).unwrap_or_else(|| "/".into());
        let read = async move {
            let caller = caller?;
            let detail = instance(&caller, &name).await?;
            let app = detail.app(&app).cloned().ok_or_else(|| AppError::not_found("application"))?;
            Ok((detail, app))
        };
        // What script fetches again must not be led away: the browser itself goes.
        let is_look = !page::is_refresh();
        load(visit.viewer.clone(), read, move |(detail, app)| {
            let may_enter = detail.may_open(&visit.viewer.rights, &app.name)
                && detail.apps_trouble.is_none()
                && app.look == AppLook::Ready;
            if may_enter && is_look {
                page::redirect(&paths::enter_app(visit.slug(), &detail.view.name, &app.name, &next));
            }
            show(&visit, &detail, &app, &next)
        })
    })
}

fn show(visit: &Visit, detail: &InstanceDetail, app: &AppView, next: &str) -> AnyView {
    if !detail.may_open(&visit.viewer.rights, &app.name) {
        return not_yours(visit, detail, app);
    }
    let row = &detail.view;
    let instance = paths::instance(visit.slug(), &row.name);
    let crumbs = vec![
        Crumb::new("Instances", paths::compute(visit.slug(), "instances")),
        Crumb::new(row.name.clone(), instance.clone()),
    ];
    let content = match &detail.apps_trouble {
        Some(trouble) => {
            html! { <Why tone=Tone::Warning title="Applications cannot be opened" text=trouble.clone()/> }
        }
        None => content(visit, detail, app, next),
    };
    let state = view! { <span data-live="state"><StateTag state=StateWord::of_instance(row.state) pill=true/></span> };
    let heading = format!("{} on {}", app.label, row.name);
    html! {
        <Page heading=heading crumbs=crumbs beside=state.into_any()>
            <div class="stack waiting" data-live="opening" data-every="2">{content}</div>
        </Page>
    }
}

fn content(visit: &Visit, detail: &InstanceDetail, app: &AppView, next: &str) -> AnyView {
    let (slug, name) = (visit.slug(), &detail.view.name);
    match app.look {
        AppLook::Ready => {
            let enter = paths::enter_app(slug, name, &app.name, next);
            let (go, title, open) = (enter.clone(), format!("{} is ready", app.label), format!("Open {}", app.label));
            html! {
                <Why tone=Tone::Good title=title>
                    <span data-go=go></span>
                    <LinkButton href=enter look=Look::Primary icon="external">{open}</LinkButton>
                </Why>
            }
        }
        AppLook::Starting => waiting(detail, app),
        AppLook::Failed => {
            let failure = crate::instances::pages::detail::apps::failure(app);
            if !detail.view.is_own() {
                return failure;
            }
            let logs = format!("{}?log={}", paths::instance_tab(slug, name, "logs"), app.name);
            html! { {failure}<div class="row"><LinkButton href=logs icon="audit">"Whole log"</LinkButton></div> }
        }
        AppLook::Off if !detail.view.is_own() => asleep_for_visitor(visit, detail, app),
        AppLook::Off => asleep(visit, detail, app, next),
    }
}

/// It comes: what it waits for, step by step. Script goes on by itself; without it the page asks again.
fn waiting(detail: &InstanceDetail, app: &AppView) -> AnyView {
    let line = line(&detail.view.next);
    let why = detail.view.cause.as_ref().filter(|cause| cause.is_wait()).map(why);
    let start = detail.view.start().filter(|start| start.took.is_none() || !start.bars.is_empty()).map(|start| {
        let bars = bars(&start);
        view! { <Card heading="How far it is">{bars}</Card> }
    });
    let said = app.said.clone();
    let title = format!("{} opens here as soon as it answers", app.label);
    html! {
        <noscript><meta http-equiv="refresh" content="2"/></noscript>
        <div class="why" data-state="starting" role="status">
            <Glyph name="starting"/>
            <div><h2>{title}</h2><p>{said}</p>{line}</div>
        </div>
        {why}
        {start}
    }
}

/// It is off: the start that leads on to it, or why there is none.
fn asleep(visit: &Visit, detail: &InstanceDetail, app: &AppView, next: &str) -> AnyView {
    let row = &detail.view;
    let back = paths::instance(visit.slug(), &row.name);
    if !Verb::StartInstance.in_instance(row.state).is_offered() {
        let text = match Verb::OpenInstance.in_instance(row.state) {
            Legality::No(help) => help.to_owned(),
            _ => app.said.clone(),
        };
        let reason = row.cause.as_ref().map(|cause| format!(" {}", cause.sentence())).unwrap_or_default();
        let (title, look) = (format!("{} cannot be opened now", app.label), format!("Look at {}", row.name));
        return html! {
            <Why tone=Tone::Warning title=title text=format!("{text}{reason}")>
                <LinkButton href=back>{look}</LinkButton>
            </Why>
        };
    }
    let hidden = vec![("instance", row.name.clone()), ("app", app.name.clone()), ("next", next.to_owned())];
    let state = visit.form("wake_instance");
    let because = blocked(visit, row, Verb::WakeInstance);
    let when = if row.state == InstanceState::Stopped { "is stopped" } else { "is on its way off" };
    let (size, price) = (&row.instance.size, row.per_hour());
    let text = format!("{} {when}. It starts on {size}, at {price}/h, and then {} opens.", row.name, app.label);
    html! {
        <Card heading=format!("{} sleeps", row.name)>
            <p>{text}</p>
            <PostForm function="wake_instance" state=state hidden=hidden class="row">
                <SubmitButton icon="play" pending="Starting…" disabled_because=because>"Start and open"</SubmitButton>
                <LinkButton href=back look=Look::Ghost>"Not now"</LinkButton>
            </PostForm>
        </Card>
    }
}

/// It is off, and shared: only its owner wakes it.
fn asleep_for_visitor(visit: &Visit, detail: &InstanceDetail, app: &AppView) -> AnyView {
    let row = &detail.view;
    let title = format!("{} is not running", row.name);
    let text = format!(
        "{} shares {} with you, but does not run it now. A share does not start instances: ask {} to start it. This \
         page goes on by itself when it runs.",
        row.owner_name, app.label, row.owner_name
    );
    let (back, look) = (paths::instance(visit.slug(), &row.name), format!("Look at {}", row.name));
    html! {
        <noscript><meta http-equiv="refresh" content="10"/></noscript>
        <Why tone=Tone::Neutral title=title text=text><LinkButton href=back>{look}</LinkButton></Why>
    }
}

/// Somebody else's, and not shared: only its owner opens it, whatever the role.
fn not_yours(visit: &Visit, detail: &InstanceDetail, app: &AppView) -> AnyView {
    if detail.view.is_own() {
        // It is theirs, but their roles open nothing.
        return match visit.viewer.rights.check(Action::InstanceConnect, Whose::Own) {
            Err(denied) => help::forbidden(&visit.viewer, &denied),
            Ok(()) => ().into_any(),
        };
    }
    page::set_status(403);
    let row = &detail.view;
    let may = visit.viewer.rights.check(Action::InstanceOperate, Whose::Others).is_ok();
    let more = if may { " You may start and stop it." } else { "" };
    let text = format!(
        "{} belongs to {}, and what runs in it runs as them. Nobody else opens it, whatever their roles, unless {} \
         shares it with them.{more}",
        row.name, row.owner_name, row.owner_name
    );
    let code = format!("{} · request {}", Action::InstanceConnect.key(), page::request_id());
    let (back, own) =
        (paths::instance(visit.slug(), &row.name), format!("{}?view=mine", paths::compute(visit.slug(), "instances")));
    let (heading, title) =
        (format!("{} of {} is not yours to open", app.label, row.name), format!("Only {} opens it", row.owner_name));
    let look = format!("Look at {}", row.name);
    html! {
        <Page heading=heading title="Not yours to open">
            <div class="stack waiting">
                <Why tone=Tone::Denied title=title text=text code=code>
                    <LinkButton href=back>{look}</LinkButton>
                    <LinkButton href=own look=Look::Ghost>"Your own instances"</LinkButton>
                </Why>
            </div>
        </Page>
    }
}
