//! The minimum of a cluster at certain hours.

use atelier_domain::compute::ScheduleId;
use atelier_domain::schedule::Schedule;
use atelier_engine::run::CommandId;
use atelier_studio::clusters::detail::ClusterDetail;
use leptos::prelude::*;

use crate::components::{Card, Field, Look, PostForm, SaveRow, SelectField, SubmitButton, at_time, options, zones};
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
    let now = visit.viewer.now;
    let next = match (is_enabled, schedule.next_acting_after(now)) {
        (false, _) => html! { <span class="faint">"disabled"</span> },
        (true, Some(next)) => html! { "next "{at_time(&visit.viewer, next.at)} },
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
    let zones = zones(&zone);
    let days = options(&[("workdays", "Workdays"), ("every", "Every day"), ("weekends", "Weekends")]);
    let hidden = vec![("cluster", detail.row.name.clone()), ("command_id", CommandId::random().as_str().to_owned())];
    let is_open = !state.problems().is_empty() || state.refusal().is_some();
    let (nodes, otherwise) = (detail.row.cluster.scale.max.min(1), detail.row.cluster.scale.min);
    let help = format!("A node costs {} an hour.", detail.per_hour[0].said(&detail.currency));
    html! {
        <details class="more" open=is_open>
            <summary>"Keep more at certain hours"</summary>
            <PostForm function="add_minimum" state=state.clone() hidden=hidden>
                <div class="cols-2 fields">
                    <Field
                        form=&state label="Nodes" name="nodes" kind="number" value=nodes.to_string() required=true
                        help=help
                    />
                    <SelectField form=&state label="Days" name="days" options=days value="workdays"/>
                    <Field form=&state label="From" name="from" kind="time" value="08:00" required=true/>
                    <Field form=&state label="To" name="to" kind="time" value="18:00" required=true/>
                    <Field
                        form=&state label="At other times" name="otherwise" kind="number"
                        value=otherwise.to_string() required=true
                    />
                    <SelectField form=&state label="Time zone" name="time_zone" options=zones value=zone/>
                </div>
                <SaveRow label="Add hours" icon="plus" pending="Adding…"/>
            </PostForm>
        </details>
    }
}
