//! The applications of an instance as cards: how each does, and the way into it.

use atelier_domain::paths;
use atelier_studio::instances::apps::{AppLook, AppView};
use atelier_studio::instances::detail::InstanceDetail;
use leptos::prelude::*;

use crate::components::{Icon, Tone, Why};
use crate::frame::Visit;

/// The cards; under them what failed, with its last lines.
pub fn cards(visit: &Visit, detail: &InstanceDetail) -> AnyView {
    let cards: Vec<_> = detail.apps.iter().map(|app| card(visit, detail, app)).collect();
    let failed: Vec<_> = detail.apps.iter().filter(|app| !app.last_lines.is_empty()).map(failure).collect();
    html! { <div class="stack-s"><nav class="launch" aria-label="Applications">{cards}</nav>{failed}</div> }
}

fn card(visit: &Visit, detail: &InstanceDetail, app: &AppView) -> AnyView {
    let is_allowed = detail.may_open(&visit.viewer.rights, &app.name);
    let state = app.look.state();
    let (icon, label) = (app.icon, app.label.clone());
    let ico = view! { <span class="ico"><Icon name=icon/></span> };
    if !is_allowed || detail.apps_trouble.is_some() {
        let said = if is_allowed {
            "Cannot be opened here".to_owned()
        } else {
            format!("Only {} opens it", detail.view.owner_name)
        };
        return html! { <div>{ico}<b>{label}</b><small>{said}</small><Icon name="lock"/></div> };
    }
    let href = paths::open_app(visit.slug(), &detail.view.name, &app.name, &app.page);
    let said = match detail.shared_level(&app.name) {
        Some(level) => format!("Shared with you to {}", level.key()),
        None => app.said.clone(),
    };
    html! {
        <a href=href target="_blank" rel="noopener" data-state=state>
            {ico}<b>{label}</b><small>{said}</small><Icon name="external"/>
        </a>
    }
}

pub fn failure(app: &AppView) -> AnyView {
    let (title, lines) = (format!("{}: {}", app.label, app.said), app.last_lines.join("\n"));
    let tone = if app.look == AppLook::Failed { Tone::Failed } else { Tone::Warning };
    let label = format!("The last lines of {}", app.label);
    html! {
        <Why tone=tone title=title><pre class="app-log" tabindex="0" role="region" aria-label=label>{lines}</pre></Why>
    }
}
