//! The table before a submission: when a job would start on each compute, when it would end, and what it
//! costs.

use atelier_domain::Money;
use atelier_domain::compute::size::Tier;
use atelier_studio::forecast::what_if::{Choice, Choices};
use leptos::prelude::*;

use crate::components::{Card, Table, heads};
use crate::jobs::pages::eta::moment;
use crate::viewer::Viewer;

/// The card with the table.
pub fn card(viewer: &Viewer, choices: &Choices) -> AnyView {
    let basis = match (choices.run, choices.is_usual) {
        (Some(run), true) => format!("Jobs of this name took {run} in the middle; so long this one is taken to run."),
        (Some(run), false) => {
            format!(
                "No job of this name has run to its end yet, so this one is taken to run for its time limit of {run}."
            )
        }
        (None, _) => {
            "No job of this name has run to its end yet and there is no time limit, so nobody can say when it ends \
                      or what it costs."
                .to_owned()
        }
    };
    let rows: Vec<_> = choices.rows.iter().map(|choice| row(viewer, choice, &choices.currency)).collect();
    let body = if rows.is_empty() {
        html! { <p class="muted">"There is no cluster and no size to run on yet. An operator adds one."</p> }
    } else {
        html! {
            <Table
                class="table tight what-if" caption="When it would start on each compute" rows=rows
                head=heads(&[("Compute", ""), ("Starts about", ""), ("Ends about", ""), ("Cost at most", "right")])
            />
        }
    };
    html! {
        <Card heading="When would it start?" note="if it were submitted now; nothing was" flush=true>
            {body}
            <p class="help pad">{basis}</p>
        </Card>
    }
}

fn row(viewer: &Viewer, choice: &Choice, currency: &str) -> AnyView {
    let tier = match choice.tier {
        Tier::Dedicated => "dedicated",
        Tier::Preemptible => "preemptible",
    };
    let (name, detail) = match &choice.cluster {
        Some(name) => (name.clone(), format!("{}, {tier}", choice.size)),
        None => ("Serverless".to_owned(), format!("{}, {tier}", choice.size)),
    };
    let asked = choice.is_asked.then(|| view! { <span class="tag">"as typed"</span> });
    let starts = match choice.start {
        Some(at) => {
            let left = match at.since(viewer.now) {
                left if left.as_millis() < 1_000 => "now".to_owned(),
                left => format!("in {left}"),
            };
            let note = [left, choice.note.clone()];
            let note = note.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ");
            html! { {moment(viewer, at)}<span class="l2">{note}</span> }
        }
        None => html! { <span class="l2">{choice.note.clone()}</span> },
    };
    let ends = choice.end.map_or_else(|| "unknown".to_owned(), |end| moment(viewer, end));
    let cost = choice.cost.map_or_else(|| "unknown".to_owned(), |cost| Money(cost).said(currency));
    html! {
        <tr>
            <th scope="row">{name}" "{asked}<span class="l2">{detail}</span></th>
            <td data-label="Starts about">{starts}</td>
            <td class="nowrap" data-label="Ends about">{ends}</td>
            <td class="right nowrap num" data-label="Cost at most">{cost}</td>
        </tr>
    }
}
