//! The warning before a stop: in the corner of every page, on the instance's own, and in the bell. With what
//! one can do about it.

use atelier_domain::compute::InstanceId;
use atelier_domain::paths;
use atelier_domain::time::Span;
use atelier_engine::run::CommandId;
use atelier_studio::clock;
use atelier_studio::schedules::warnings::Warning;
use leptos::prelude::*;

use crate::components::button::{Look, SubmitButton};
use crate::components::icon::{Glyph, Icon};
use crate::components::post_form::PostForm;
use crate::components::why::{Tone, Why};
use crate::viewer::Viewer;

/// What comes, in a sentence: `mara-fusion stops at 18:00 by schedule, in 14 min.`
pub fn sentence(warning: &Warning, viewer: &Viewer) -> String {
    let at = clock::time_of_day(warning.at, &viewer.time_zone);
    let left = warning.at.since(viewer.now);
    let left = if left == Span::ZERO { "now".to_owned() } else { format!("in {left}") };
    format!("{} stops at {at} {}, {left}.", warning.name, warning.phrase())
}

/// The warning on a page of the instance itself.
pub fn of_instance(viewer: &Viewer, id: InstanceId) -> AnyView {
    let warning = viewer.warnings.iter().find(|warning| warning.id == id);
    let inside = warning.map(|warning| {
        let (text, buttons) = (sentence(warning, viewer), buttons(warning, viewer, "page"));
        view! { <Why tone=Tone::Warning title="It stops soon" text=text><div class="fix">{buttons}</div></Why> }
    });
    html! { <div data-live="warning">{inside}</div> }
}

/// The warnings in the corner of every page, for who has script: they come and go by the live refresh, and
/// stay until they are dismissed or something is done. Everybody else has the bell.
pub fn corner(viewer: &Viewer) -> AnyView {
    let cards: Vec<_> = viewer
        .warnings
        .iter()
        .map(|warning| {
            let (text, buttons) = (sentence(warning, viewer), buttons(warning, viewer, "corner"));
            let href = paths::instance(&viewer.workspace.slug, &warning.name);
            let key = format!("{}-{}", warning.id, warning.at.0);
            view! {
                <div class="toast warning" data-state="warning" data-key=key>
                    <Glyph name="warning"/>
                    <div>
                        <p><a href=href>{warning.name.clone()}</a>{text[warning.name.len()..].to_owned()}</p>
                        <div class="row-tight">{buttons}</div>
                    </div>
                    <button class="btn ghost icon sm" type="button" aria-label="Dismiss" data-dismiss="">
                        <Icon name="x"/>
                    </button>
                </div>
            }
        })
        .collect();
    html! { <div class="toasts warnings needs-script" role="status" data-live="warnings">{cards}</div> }
}

/// The entries of the bell.
pub fn in_bell(viewer: &Viewer) -> AnyView {
    let budgets = viewer.budgets.iter().map(|note| {
        let href = paths::budgets(&viewer.workspace.slug);
        html! {
            <li class="new" data-key=note.key.clone()>
                <Icon name="cost" label="Warning"/>
                <span><a href=href>{note.text.clone()}</a></span>
            </li>
        }
    });
    let stops = viewer.warnings.iter().map(|warning| {
        let (text, href) = (sentence(warning, viewer), paths::instance(&viewer.workspace.slug, &warning.name));
        html! {
            <li class="new" data-key=warning.id.to_string()>
                <Icon name="clock" label="Warning"/>
                <span><a href=href>{text}</a></span>
            </li>
        }
    });
    let entries: Vec<_> = budgets.chain(stops).collect();
    (!entries.is_empty()).then(|| view! { <ul class="notices">{entries}</ul> }).into_any()
}

/// What can be done about it. `place` keeps the ids of several of them on one page apart.
pub fn buttons(warning: &Warning, viewer: &Viewer, place: &str) -> AnyView {
    let hidden = || vec![("instance", warning.name.clone()), ("command_id", CommandId::random().as_str().to_owned())];
    let mut longer = hidden();
    longer.push(("hours", "1".to_owned()));
    let label = |what: &str| format!("{what}: {}", warning.name);
    let (more, keep, skips) = (label("+1 h"), label("Keep until…"), label("Skip this one"));
    let skip = warning.can_be_skipped().then(|| {
        view! {
            <PostForm function="skip_stop" hidden=hidden() class="inline-form">
                <SubmitButton look=Look::Plain small=true label=skips>"Skip this one"</SubmitButton>
            </PostForm>
        }
    });
    let menu = format!("keep-{place}-{}", warning.id);
    let field = format!("{menu}-until");
    // Two hours after the stop.
    let proposed = clock::typed_local(warning.at.plus(Span::hours(2)), &viewer.time_zone);
    html! {
        <PostForm function="extend_instance" hidden=longer class="inline-form">
            <SubmitButton look=Look::Plain small=true label=more>"+1 h"</SubmitButton>
        </PostForm>
        <button class="btn sm" type="button" popovertarget=menu.clone() aria-label=keep>"Keep until…"</button>
        <div class="menu keep-menu" id=menu popover="auto">
            <PostForm function="keep_instance" hidden=hidden()>
                <div class="field">
                    <label for=field.clone()>"Keep it running until"</label>
                    <input class="input" id=field name="until" type="datetime-local" value=proposed required/>
                </div>
                <SubmitButton small=true>"Keep it running"</SubmitButton>
            </PostForm>
        </div>
        {skip}
    }
}
