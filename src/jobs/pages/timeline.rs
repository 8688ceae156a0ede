//! The life of a job as bars one under another.

use atelier_domain::Timestamp;
use atelier_domain::time::Span;
use atelier_studio::clock;
use atelier_studio::jobs::detail::JobDetail;
use leptos::prelude::*;

use crate::components::{Card, Fall, FallBar};
use crate::frame::Visit;
use crate::jobs::pages::words::lasted;

/// For shorter times, minutes can't tell the start from the end.
const SHORT: Span = Span::minutes(10);

/// The ends of an axis.
pub fn ends(from: Timestamp, to: Timestamp, zone: &str) -> (String, String) {
    let say = if to.since(from) < SHORT { clock::second_of_day } else { clock::time_of_day };
    (say(from, zone), say(to, zone))
}

/// The phases with how long they took.
pub fn card(visit: &Visit, detail: &JobDetail) -> AnyView {
    let (now, zone) = (visit.viewer.now, visit.viewer.time_zone.as_str());
    let from = detail.row.job.submitted;
    let to = detail.row.ended.unwrap_or(now).max(from);
    let whole = (to.0 - from.0).max(1) as f64;
    let percent = |millis: i64| millis.max(0) as f64 / whole * 100.0;
    let bars = detail.phases.iter().map(|phase| {
        let end = phase.to.unwrap_or(to).max(phase.from);
        let so_far = if phase.to.is_none() && detail.row.ended.is_none() { " so far" } else { "" };
        FallBar {
            label: phase.label.clone(),
            class: phase.class,
            from: percent(phase.from.0 - from.0),
            width: percent(end.0 - phase.from.0),
            took: format!("{}{so_far}", lasted(phase.from, end)),
        }
    });
    let (bars, ends) = (bars.collect(), ends(from, to, zone));
    let note = match detail.row.ended {
        Some(ended) => format!("{} in all", lasted(from, ended)),
        None => format!("{} since it was submitted", lasted(from, now)),
    };
    html! { <Card heading="Timeline" note=note><Fall bars=bars ends=ends/></Card> }
}
