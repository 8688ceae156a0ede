//! How a start went, as bars one under another.

use atelier_domain::compute::start::StartStep;
use atelier_domain::time::Span;
use atelier_studio::instances::apps::seconds;
use atelier_studio::instances::view::StartView;
use leptos::prelude::*;

use crate::components::{Card, ago};
use crate::frame::Visit;

/// The card with the last start; nothing before the first.
pub fn card(visit: &Visit, start: Option<&StartView>) -> AnyView {
    let Some(start) = start else { return ().into_any() };
    let heading = match (start.took, start.has_failed) {
        (_, true) => "The last start failed".to_owned(),
        (Some(took), false) => format!("Last start took {}", self::took(took)),
        (None, false) => "It is starting".to_owned(),
    };
    let by = if start.by.is_empty() { String::new() } else { format!(", {}", start.by) };
    let note = view! { <span class="note">{ago(&visit.viewer, start.at)}{by}</span> };
    let bars = bars(start);
    let longest = start.bars.iter().max_by_key(|bar| bar.took).filter(|_| start.took.is_some());
    let foot = longest.filter(|bar| bar.took >= Span::seconds(10)).map(|bar| {
        let share = bar.took.as_millis() * 100 / whole(start).max(1);
        let words = format!("{} took {share} % of it.", phrase(bar.step));
        view! { <footer>{words}</footer> }
    });
    html! { <Card heading=heading action=note.into_any() flush=true><div class="body">{bars}</div>{foot}</Card> }
}

pub fn bars(start: &StartView) -> AnyView {
    let whole = whole(start).max(1) as f64;
    let percent = |span: Span| (span.as_millis() as f64 / whole * 100.0).clamp(0.0, 100.0);
    let rows: Vec<_> = start
        .bars
        .iter()
        .map(|bar| {
            let (x, width) = (format!("{:.2}%", percent(bar.after)), format!("{:.2}%", percent(bar.took).max(0.4)));
            let class = format!("b {}", class(bar.step));
            let more = if bar.is_running { " so far" } else { "" };
            let dur = format!("{}{more}", took(bar.took));
            view! {
                <li>
                    <span class="lab">{bar.step.label()}</span>
                    <svg aria-hidden="true">
                        <rect class="track" x="0" y="5" width="100%" height="2" rx="1"></rect>
                        <rect class=class x=x y="1" width=width height="10" rx="2.5"></rect>
                    </svg>
                    <span class="dur">{dur}</span>
                </li>
            }
        })
        .collect();
    let end = took(Span::millis(whole as u64));
    html! {
        <ol class="fall">
            {rows}
            <li class="axis" aria-hidden="true">
                <span></span>
                <span class="x"><span>"0 s"</span><span>{end}</span></span>
                <span></span>
            </li>
        </ol>
    }
}

fn whole(start: &StartView) -> i64 {
    start.bars.iter().map(|bar| bar.after.plus(bar.took).as_millis()).max().unwrap_or_default()
}

/// To a tenth of a second below a minute.
pub fn took(span: Span) -> String {
    seconds(u64::try_from(span.as_millis()).unwrap_or_default())
}

const fn class(step: StartStep) -> &'static str {
    match step {
        StartStep::Queue => "s-off",
        StartStep::Allocate => "s1",
        StartStep::Environment => "s2",
        StartStep::Setup => "s3",
        StartStep::Health => "s-run",
    }
}

const fn phrase(step: StartStep) -> &'static str {
    match step {
        StartStep::Queue => "Waiting for quota and room",
        StartStep::Allocate => "Making the node",
        StartStep::Environment => "The environment",
        StartStep::Setup => "The scripts",
        StartStep::Health => "Starting the applications",
    }
}
