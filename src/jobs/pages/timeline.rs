//! The life of a job as bars one under another.

use atelier_domain::Timestamp;
use atelier_domain::time::Span;
use atelier_studio::clock;
use atelier_studio::jobs::detail::JobDetail;
use leptos::prelude::*;

use crate::components::Card;
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
    let percent = |millis: i64| format!("{:.2}%", (millis.max(0) as f64 / whole * 100.0).min(100.0));
    let rows: Vec<_> = detail
        .phases
        .iter()
        .map(|phase| {
            let end = phase.to.unwrap_or(to).max(phase.from);
            let (x, width) =
                (percent(phase.from.0 - from.0), percent((end.0 - phase.from.0).max((whole * 0.004) as i64)));
            let class = format!("b {}", phase.class);
            let took = lasted(phase.from, end);
            let took = if phase.to.is_none() && detail.row.ended.is_none() { format!("{took} so far") } else { took };
            view! {
                <li>
                    <span class="lab">{phase.label.clone()}</span>
                    <svg aria-hidden="true">
                        <rect class="track" x="0" y="5" width="100%" height="2" rx="1"></rect>
                        <rect class=class x=x y="1" width=width height="10" rx="2.5"></rect>
                    </svg>
                    <span class="dur">{took}</span>
                </li>
            }
        })
        .collect();
    let (first, last) = ends(from, to, zone);
    let note = match detail.row.ended {
        Some(ended) => format!("{} in all", lasted(from, ended)),
        None => format!("{} since it was submitted", lasted(from, now)),
    };
    html! {
        <Card heading="Timeline" note=note>
            <ol class="fall">
                {rows}
                <li class="axis" aria-hidden="true">
                    <span></span>
                    <span class="x"><span>{first}</span><span>{last}</span></span>
                    <span></span>
                </li>
            </ol>
        </Card>
    }
}
