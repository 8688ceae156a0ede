//! Preview on last week: what other settings of a cluster would have done to the jobs that it had.

use atelier_domain::access::Action;
use atelier_domain::text::{counted, grouped};
use atelier_domain::time::Span;
use atelier_domain::{Money, paths};
use atelier_simulate::Report;
use atelier_simulate::report::PolicyReport;
use atelier_studio::clusters::preview::{DAYS, Preview, Typed, preview};
use leptos::prelude::*;

use crate::components::{
    Card, Crumb, EmptyState, Field, LinkButton, NavItem, Page, Query, SelectField, SubmitButton, TableWrap, Tone, Why,
    options,
};
use crate::frame::{Place, Visit, load, param, studio};
use crate::server::caller::here;

/// Settings on the left, what they would have done on the right.
#[component]
pub fn PreviewPage() -> impl IntoView {
    studio(Place::of(NavItem::Compute, Action::ClusterScale, &[]), |visit| {
        let (name, query, caller) = (param("name"), Query::here(), here());
        let typed = (!query.get("run").is_empty()).then(|| typed(&query));
        let read = async move { preview(&caller?, &name, typed).await };
        load(visit.viewer.clone(), read, move |found| show(&visit, &query, &found))
    })
}

fn typed(query: &Query) -> Typed {
    let get = |field: &str| query.get(field).to_owned();
    Typed {
        min: get("min"),
        max: get("max"),
        idle: get("idle"),
        warm: get("warm"),
        order: get("order"),
        backfill: get("backfill"),
    }
}

fn show(visit: &Visit, query: &Query, found: &Preview) -> AnyView {
    let (slug, name) = (visit.slug(), &found.cluster);
    let back = paths::compute(slug, "clusters");
    let crumbs = vec![
        Crumb::new("Compute", back.clone()),
        Crumb::new("Clusters", back),
        Crumb::new(name.clone(), paths::cluster(slug, name)),
    ];
    let refusal = found.refusal.clone().map(|why| {
        view! { <Why tone=Tone::Warning title="Nothing was worked out" text=why alert=true/> }
    });
    let sub = format!("What other settings would have done to the jobs that {name} had in the last {DAYS} days.");
    let content = if found.jobs == 0 {
        let href = paths::cluster(slug, name);
        html! {
            <EmptyState
                heading="There is no history yet"
                text=format!("No job has run on {name} to its end in the last {DAYS} days. A preview plays such jobs \
                              once more, so come back when some have run.")
            >
                <LinkButton href=href icon="cluster">"Back to the cluster"</LinkButton>
            </EmptyState>
        }
    } else {
        let form = form(visit, query, found);
        let result = match &found.report {
            Some(report) => result(slug, report, found.launch),
            None => html! {
                <Card heading="Nothing tried yet">
                    <p class="muted">
                        "Change a setting and press “Try on last week”. Nothing is changed on the cluster itself."
                    </p>
                </Card>
            },
        };
        html! { <div class="split"><div class="stack">{refusal}{result}</div><aside class="stack">{form}</aside></div> }
    };
    html! { <Page heading="Preview on last week" crumbs=crumbs sub=sub>{content}</Page> }
}

fn form(visit: &Visit, query: &Query, found: &Preview) -> AnyView {
    let problems = found.problems.clone();
    let problem = move |field: &str| {
        let about = problems.iter().find(|problem| problem.field == field);
        about.map(|problem| problem.message.clone())
    };
    let value = |field: &str, present: String| match query.get(field) {
        "" => present,
        typed => typed.to_owned(),
    };
    let scale = found.scale;
    let (min, max) = (value("min", scale.min.to_string()), value("max", scale.max.to_string()));
    let idle = value("idle", (scale.idle.as_millis() / 1_000).to_string());
    let warm = value("warm", scale.warm.to_string());
    let order = value("order", found.policy.order.key().to_owned());
    let backfill = value("backfill", if found.policy.backfill { "on" } else { "off" }.to_owned());
    let orders = options(&[("fifo", "Who came first"), ("fair-share", "By shares")]);
    let passing = options(&[("on", "Small jobs may pass"), ("off", "Nobody passes")]);
    let cut = if found.is_cut { " More ran; the newest are played." } else { "" };
    let note = format!("{} of the last {DAYS} days are played.{cut}", counted(found.jobs as u64, "job", "jobs"));
    let action = paths::preview_cluster(visit.slug(), &found.cluster);
    let other: Vec<_> = found
        .problems
        .iter()
        .filter(|problem| !["min", "max", "idle", "warm", "order", "backfill"].contains(&problem.field.as_str()))
        .map(|problem| {
            view! {
                <Why tone=Tone::Failed title="That cannot be tried" text=problem.message.clone() alert=true/>
            }
        })
        .collect();
    html! {
        <Card heading="Settings to try">
            {other}
            <form method="get" action=action class="stack">
                <input type="hidden" name="run" value="1"/>
                <div class="cols-2 fields">
                    <Field label="Fewest" name="min" kind="number" value=min problem=problem("min") required=true/>
                    <Field label="Most" name="max" kind="number" value=max problem=problem("max") required=true/>
                    <Field label="Idle, s" name="idle" kind="number" value=idle problem=problem("idle") required=true/>
                    <Field
                        label="Kept ready" name="warm" kind="number" value=warm problem=problem("warm") required=true
                    />
                </div>
                <SelectField
                    label="Order of the queue" name="order" value=order options=orders problem=problem("order")
                />
                <SelectField
                    label="Backfill" name="backfill" value=backfill options=passing problem=problem("backfill")
                />
                <SubmitButton pending="Playing…" icon="play" block=true>"Try on last week"</SubmitButton>
                <p class="help">{note}</p>
            </form>
        </Card>
    }
}

/// A row of the table: what it is, and its text for each policy.
type Figure = (&'static str, fn(&PolicyReport, &str) -> String);

const FIGURES: [Figure; 9] = [
    ("Wait, median", |policy, _| span(policy.waits.median_ms)),
    ("Wait, 90 %", |policy, _| span(policy.waits.p90_ms)),
    ("Wait, longest", |policy, _| span(policy.waits.max_ms)),
    ("Utilisation of cores", |policy, _| format!("{:.1} %", policy.utilisation * 100.0)),
    ("Cost", |policy, currency| cost(policy.cost, currency)),
    ("Of that: while nothing ran", |policy, currency| cost(policy.idle_cost, currency)),
    ("Launches", |policy, _| grouped(policy.nodes.launches)),
    ("Nodes at most", |policy, _| grouped(policy.nodes.peak)),
    ("Decisions", |policy, _| grouped(policy.decisions.values().sum::<u64>())),
];

fn span(millis: u64) -> String {
    match millis {
        0..1_000 => "under 1 s".to_owned(),
        millis => Span::millis(millis).to_string(),
    }
}

fn cost(amount: f64, currency: &str) -> String {
    Money::from_number(amount).unwrap_or(Money::MAX).said(currency)
}

fn result(slug: &str, report: &Report, launch: Span) -> AnyView {
    let heads: Vec<_> = report
        .policies
        .iter()
        .map(|policy| view! { <th scope="col" class="right">{policy.name.clone()}</th> })
        .collect();
    let rows: Vec<_> = FIGURES
        .iter()
        .map(|(label, figure)| {
            let cells: Vec<_> = report
                .policies
                .iter()
                .map(|policy| {
                    let (label, text) = (policy.name.clone(), figure(policy, &report.currency));
                    view! { <td class="right nowrap num" data-label=label>{text}</td> }
                })
                .collect();
            view! { <tr><th scope="row">{*label}</th>{cells}</tr> }
        })
        .collect();
    let left: Vec<String> = report
        .policies
        .iter()
        .filter(|policy| policy.jobs.still_waiting + policy.jobs.refused > 0)
        .map(|policy| {
            let jobs = &policy.jobs;
            format!(
                "{}: {} still wait a day after the last came, {} were refused.",
                policy.name, jobs.still_waiting, jobs.refused
            )
        })
        .collect();
    let left: Vec<_> = left.into_iter().map(|line| view! { <p class="help">{line}</p> }).collect();
    let changes =
        report.policies.iter().flat_map(|policy| policy.changes.iter()).cloned().collect::<Vec<_>>().join(", ");
    let label = format!(
        "Waiting jobs and nodes over time, as it is and changed. {}",
        report
            .policies
            .iter()
            .map(|policy| format!("{}: at most {} waited.", policy.name, policy.peak_waiting))
            .collect::<Vec<_>>()
            .join(" ")
    );
    let model = format!(
        "Played with the cluster’s own jobs, each as long as it really ran, on machines that nobody else uses. A \
         launch takes {} there.",
        span(u64::try_from(launch.as_millis()).unwrap_or_default())
    );
    let picture = format!(
        "{}?of={}",
        paths::preview_chart(slug),
        report.policies.iter().map(|policy| policy.waits.mean_ms).sum::<u64>()
    );
    html! {
        <Card heading="As it is, and changed" note=changes flush=true>
            <TableWrap>
                <table class="table tight preview">
                    <caption class="sr">"What came out, side by side"</caption>
                    <thead><tr><th scope="col">"Figure"</th>{heads}</tr></thead>
                    <tbody>{rows}</tbody>
                </table>
            </TableWrap>
        </Card>
        <Card heading="Over time">
            <img class="preview-chart" src=picture alt=label/>
            {left}
            <p class="help">{model}</p>
        </Card>
    }
}
