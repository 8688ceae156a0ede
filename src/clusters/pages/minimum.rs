//! The minimum of a cluster at certain hours.

use atelier_domain::compute::ScheduleId;
use atelier_domain::schedule::Schedule;
use atelier_engine::run::CommandId;
use atelier_studio::clusters::detail::ClusterDetail;
use leptos::prelude::*;

use crate::components::{Card, Field, Look, PostForm, SelectField, SubmitButton, Time};
use crate::frame::Visit;

/// The card with the schedules that set the minimum, and the form that adds two of them.
pub fn card(visit: &Visit, detail: &ClusterDetail, because: Option<String>) -> AnyView {
    let rows: Vec<_> =
        detail.minimums.iter().map(|(id, one)| line(visit, detail, *id, one, because.is_none())).collect();
    let rows = if rows.is_empty() {
        let said = format!("None: it keeps {} at any time.", nodes(detail.row.cluster.scale.min));
        html! { <p class="muted">{said}</p> }
    } else {
        let said = format!(
            "Right now it keeps {}. {} a month while nothing runs.",
            nodes(detail.row.cluster.min()),
            detail.at_rest.1.said(&detail.currency)
        );
        html! { <ul class="minimums">{rows}</ul><p class="faint xs">{said}</p> }
    };
    let form = because.is_none().then(|| form(visit, detail));
    html! {
        <Card heading="Minimum by schedule">
            <div class="stack-s" data-live="minimums">{rows}</div>
            {form}
        </Card>
    }
}

fn nodes(count: u32) -> String {
    atelier_domain::text::counted(u64::from(count), "node", "nodes")
}

fn line(visit: &Visit, detail: &ClusterDetail, id: ScheduleId, schedule: &Schedule, may: bool) -> AnyView {
    let (sentence, is_enabled) = (schedule.sentence(), schedule.is_enabled);
    let hidden = || {
        vec![
            ("cluster", detail.row.name.clone()),
            ("schedule", id.to_string()),
            ("command_id", CommandId::random().as_str().to_owned()),
        ]
    };
    let (now, zone) = (visit.viewer.now, visit.viewer.time_zone.clone());
    let next = match (is_enabled, schedule.next_acting_after(now)) {
        (false, _) => html! { <span class="faint">"disabled"</span> },
        (true, Some(next)) => html! { "next "<Time at=next.at now=now zone=zone absolute=true/> },
        (true, None) => html! { <span class="faint">"never again"</span> },
    };
    let actions = may.then(|| {
        let (enabled, word) = if is_enabled { ("", "Disable") } else { ("on", "Enable") };
        let mut switched = hidden();
        switched.push(("enabled", enabled.to_owned()));
        let (switch, delete) = (format!("{word}: {}", sentence), format!("Remove: {}", sentence));
        let icon = if is_enabled { "pause" } else { "play" };
        view! {
            <span class="row-tight">
                <PostForm function="switch_minimum" hidden=switched class="inline-form">
                    <SubmitButton look=Look::Plain small=true icon=icon label=switch/>
                </PostForm>
                <PostForm function="remove_minimum" hidden=hidden() class="inline-form">
                    <SubmitButton look=Look::DangerQuiet small=true icon="trash" label=delete/>
                </PostForm>
            </span>
        }
    });
    html! {
        <li data-key=id.to_string()><span>{sentence}<span class="l2">{next}</span></span>{actions}</li>
    }
}

fn form(visit: &Visit, detail: &ClusterDetail) -> AnyView {
    let state = visit.form("add_minimum");
    let zone = state.value("time_zone", &visit.viewer.time_zone);
    let mut zones = atelier_domain::zone::choices();
    if !zones.contains(&zone) {
        zones.insert(0, zone.clone());
    }
    let zones: Vec<(String, String)> = zones.into_iter().map(|name| (name.clone(), name)).collect();
    let days = [("workdays", "Workdays"), ("every", "Every day"), ("weekends", "Weekends")];
    let days = days.map(|(key, words)| (key.to_owned(), words.to_owned())).to_vec();
    let hidden = vec![("cluster", detail.row.name.clone()), ("command_id", CommandId::random().as_str().to_owned())];
    let value = |field: &str, otherwise: &str| state.value(field, otherwise);
    let is_open = !state.problems().is_empty() || state.refusal().is_some();
    let (nodes, otherwise) = (
        value("nodes", &detail.row.cluster.scale.max.min(1).to_string()),
        value("otherwise", &detail.row.cluster.scale.min.to_string()),
    );
    let (on, from, to) = (value("days", "workdays"), value("from", "08:00"), value("to", "18:00"));
    let help = format!("A node costs {} an hour.", detail.per_hour[0].said(&detail.currency));
    html! {
        <details class="more" open=is_open>
            <summary>"Keep more at certain hours"</summary>
            <PostForm function="add_minimum" state=state.clone() hidden=hidden>
                <div class="cols-2 fields">
                    <Field
                        label="Nodes" name="nodes" kind="number" value=nodes problem=state.problem("nodes")
                        required=true help=help
                    />
                    <SelectField label="Days" name="days" options=days value=on problem=state.problem("days")/>
                    <Field label="From" name="from" kind="time" value=from problem=state.problem("from") required=true/>
                    <Field label="To" name="to" kind="time" value=to problem=state.problem("to") required=true/>
                    <Field
                        label="At other times" name="otherwise" kind="number" value=otherwise
                        problem=state.problem("otherwise") required=true
                    />
                    <SelectField
                        label="Time zone" name="time_zone" options=zones value=zone problem=state.problem("time_zone")
                    />
                </div>
                <div class="row">
                    <SubmitButton look=Look::Plain icon="plus" pending="Adding…">"Add hours"</SubmitButton>
                </div>
            </PostForm>
        </details>
    }
}
