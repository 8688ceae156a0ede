//! What a scheduled stop does to running jobs.

use atelier_domain::fields::Fields;
use leptos::prelude::*;

use crate::components::{Choice, ChoiceKind, ChoiceList, Field};
use crate::form::FormState;

/// The three choices, and how long is waited.
pub fn choices(fields: &Fields, state: &FormState) -> AnyView {
    let chosen = match fields.get("jobs") {
        "" => "now",
        typed => typed,
    };
    let choice = |value: &str, label: &str, help: &str| Choice {
        value: value.into(),
        label: label.into(),
        help: help.into(),
        ticked: value == chosen,
        fixed_because: None,
    };
    let choices = vec![
        choice("drain", "Wait for jobs", "No new ones start meanwhile. When the wait is over it stops anyway."),
        choice("skip", "Leave the stop out", "While a job runs it stays awake until the next stop."),
        choice("now", "Stop anyway", "After a warning 15 minutes before. Running jobs end."),
    ];
    let drain = fields.get("drain").to_owned();
    html! {
        <section class="card">
            <header><h2>"When the stop time comes"</h2><span class="push note">"while jobs run on it"</span></header>
            <div class="body stack three-choices">
                <ChoiceList
                    legend="What a scheduled stop does to running jobs" legend_hidden=true name="jobs"
                    kind=ChoiceKind::One choices=choices
                    problem=state.problem("jobs")
                />
                <div class="when-drain">
                    <Field
                        form=state label="Wait at most, minutes" name="drain" kind="number" value=drain required=true
                        help="1 to 1440."
                    />
                </div>
            </div>
        </section>
    }
}
