//! What a job used, as two small charts.

use atelier_domain::compute::resources::{Cores, Memory};
use atelier_studio::jobs::detail::JobDetail;
use atelier_studio::jobs::metrics::Series;
use leptos::prelude::*;

use crate::components::{Card, shape};
use crate::frame::Visit;
use crate::jobs::pages::timeline::ends;

/// The charts; nothing if too little is known to draw one.
pub fn card(visit: &Visit, detail: &JobDetail) -> AnyView {
    let Some(metrics) = &detail.metrics else { return ().into_any() };
    let zone = visit.viewer.time_zone.as_str();
    let times = ends(metrics.from, metrics.to, zone);
    let cores = |count: f64| Cores((count * 1_000.0).round() as u64).to_string();
    let memory = |count: f64| Memory(count.round() as u64).to_string();
    let nodes = u64::from(detail.row.job.spec.nodes);
    let shape = detail.row.job.spec.shape;
    let asked = ((shape.cores * nodes) as f64 / 1_000.0, (shape.memory * nodes) as f64);
    let first = chart("Processor", &metrics.cores, asked.0, cores, "s1", &times);
    let second = chart("Memory", &metrics.memory, asked.1, memory, "s6", &times);
    html! { <Card heading="Metrics"><div class="stack">{first}{second}</div></Card> }
}

fn chart(
    name: &str,
    series: &Series,
    asked: f64,
    say: impl Fn(f64) -> String,
    class: &'static str,
    times: &(String, String),
) -> AnyView {
    let top = series.most.max(asked).max(f64::MIN_POSITIVE);
    let points: Vec<f64> = series.points.iter().map(|value| value / top).collect();
    let line = shape(class, &points);
    let label = format!(
        "{name} from {} to {}: {} at last, {} at most, of {} asked for.",
        times.0,
        times.1,
        say(series.last),
        say(series.most),
        say(asked)
    );
    let said = format!("at most {}", say(series.most));
    let (now, ceiling) = (say(series.last), say(top));
    let (name, from, to) = (name.to_owned(), times.0.clone(), times.1.clone());
    html! {
        <div>
            <div class="row-between"><span>{name}" "<b>{now}</b></span><span class="faint xs">{said}</span></div>
            <div class="chart low">
                <div class="y" aria-hidden="true"><span>{ceiling}</span><span>"0"</span></div>
                <svg class="plot" viewBox="0 0 600 120" preserveAspectRatio="none" role="img" aria-label=label>
                    <line class="grid" x1="0" x2="600" y1="0" y2="0"></line>
                    {line}
                    <line class="base" x1="0" x2="600" y1="120" y2="120"></line>
                </svg>
                <div class="x" aria-hidden="true"><span>{from}</span><span>{to}</span></div>
            </div>
        </div>
    }
}
