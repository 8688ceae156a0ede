//! When it is awake, and whose it is.

use leptos::prelude::*;

use crate::components::{Checkbox, ChoiceKind, ChoiceList};
use crate::form::FormState;
use crate::frame::Visit;
use crate::instances::pages::detail::own_apps::choice;
use crate::instances::wizard::page_size as size;
use crate::instances::wizard::steps::Wizard;
use crate::schedules::pages::{grid, idle, jobs};

/// When it starts and stops by itself.
pub fn schedule(visit: &Visit, state: &FormState, wizard: &Wizard) -> AnyView {
    let fields = &wizard.fields;
    let week = grid::card(fields, state, &visit.viewer.time_zone, None, None);
    let (jobs, idle) = (jobs::choices(fields, state), idle::field(fields, state, &wizard.known.rules));
    html! {
        <Checkbox
            name="scheduled" label="Start and stop it by a weekly schedule" ticked=fields.is_on("scheduled")
            help="Without one it runs when you start it, until you or idle shutdown stop it."
        />
        <div class="stack when-scheduled">{week}{jobs}</div>
        <section class="card">
            <header><h2>"Idle shutdown"</h2></header>
            <div class="body stack">{idle}</div>
        </section>
    }
}

/// Whose it is, and what it keeps while it is stopped.
pub fn access(visit: &Visit, state: &FormState, wizard: &Wizard) -> AnyView {
    let owner = size::owner(visit, state, wizard);
    let fields = &wizard.fields;
    let other =
        wizard.known.people.iter().find(|(id, _)| id.as_str() == fields.get("owner")).map(|(_, name)| name.clone());
    let behalf = other.map(|name| {
        let text = format!(
            "You make it for {name}. Scripts that you add run without their home and without tokens, until {name} has \
             read and accepted them."
        );
        view! { <p class="muted">{text}</p> }
    });
    let chosen = if fields.get("quota") == "keep" { "keep" } else { "release" };
    let quotas = vec![
        choice("release", "Give it back", "Others can use it meanwhile. A start may have to wait for it.", chosen),
        choice("keep", "Keep it", "A start never waits for quota. It counts against the limits all the time.", chosen),
    ];
    html! {
        <section class="card">
            <header><h2>"Who may open it"</h2></header>
            <div class="body stack">
                {owner}
                {behalf}
                <ul class="list">
                    <li>
                        "Its applications and its home belong to that person alone. No role opens them, not even Owner."
                    </li>
                    <li>"Compute Operators, Contributors and Owners may start, stop, resize and delete it."</li>
                    <li>"Everybody in the workspace sees that it exists, its state and its size."</li>
                </ul>
            </div>
        </section>
        <section class="card">
            <header><h2>"Quota while it is stopped"</h2></header>
            <div class="body">
                <ChoiceList
                    legend="Quota while it is stopped" legend_hidden=true name="quota" kind=ChoiceKind::One
                    choices=quotas
                />
            </div>
        </section>
    }
}
