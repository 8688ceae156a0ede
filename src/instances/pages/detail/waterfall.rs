//! How a start went, as bars one under another.

use atelier_domain::compute::start::StartStep;
use atelier_domain::time::Span;
use atelier_studio::instances::apps::seconds;
use atelier_studio::instances::view::StartView;
use leptos::prelude::*;

use crate::components::{Card, Fall, FallBar, ago};
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
    let percent = |span: Span| span.as_millis() as f64 / whole * 100.0;
    let bars = start.bars.iter().map(|bar| FallBar {
        label: bar.step.label().to_owned(),
        class: class(bar.step),
        from: percent(bar.after),
        width: percent(bar.took),
        took: format!("{}{}", took(bar.took), if bar.is_running { " so far" } else { "" }),
    });
    let ends = ("0 s".to_owned(), took(Span::millis(whole as u64)));
    html! { <Fall bars=bars.collect() ends=ends/> }
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
