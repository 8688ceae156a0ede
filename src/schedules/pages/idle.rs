//! Idle shutdown: on or off, and after how long.

use atelier_domain::compute::idle::IdleRules;
use atelier_domain::fields::Fields;
use leptos::prelude::*;

use crate::components::{Checkbox, problem_line};
use crate::form::FormState;

/// The box, the minutes, and what the workspace demands.
pub fn field(fields: &Fields, state: &FormState, rules: &IdleRules) -> AnyView {
    let is_on = fields.is_on("idle") || rules.is_required;
    let switch = if rules.is_required {
        // What cannot be changed is not asked for; it is sent all the same.
        html! { <input type="hidden" name="idle" value="on"/><p>"Idle shutdown is required in this workspace."</p> }
    } else {
        html! { <Checkbox name="idle" label="Stop it when nobody uses it" ticked=is_on/> }
    };
    let (min, max) = (rules.min, rules.max);
    let default = rules.default.map_or_else(|| "off".to_owned(), |default| default.to_string());
    let help = format!("{min} to {max} in this workspace; the default is {default}. Written in minutes.");
    let value = fields.get("idle_minutes").to_owned();
    let problem = state.problem("idle_minutes").or_else(|| state.problem("idle"));
    let is_wrong = problem.is_some();
    let problem = problem_line("f-idle_minutes-problem", problem);
    let described = if is_wrong { "f-idle_minutes-problem f-idle_minutes-help" } else { "f-idle_minutes-help" };
    html! {
        {switch}
        <div class="field">
            <label for="f-idle_minutes">"After so long without activity"</label>
            <span class="with-unit">
                <input
                    class="input w-num" id="f-idle_minutes" name="idle_minutes" type="number" inputmode="numeric"
                    value=value
                    aria-invalid=is_wrong.then_some("true") aria-describedby=described
                />
                <span class="unit">"min"</span>
            </span>
            {problem}
            <p class="help" id="f-idle_minutes-help">{help}</p>
        </div>
        <details class="more">
            <summary>"What counts as activity?"</summary>
            <p>
                "A busy notebook kernel, input or output of a terminal, a running job, requests that change something \
                 in an application, and processes that use the processor or a GPU. A kernel that only waits, and a tab \
                 that is only open, do not count. Five minutes before the stop you are warned."
            </p>
        </details>
    }
}
