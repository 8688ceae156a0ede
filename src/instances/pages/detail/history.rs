//! What was done to an instance, what was decided about it, and why.

use atelier_studio::instances::detail::Decided;
use leptos::prelude::*;

use crate::components::{Card, Glyph, Pager, Query, ago};
use crate::frame::Visit;

pub const PAGE: i64 = 50;

pub fn tab(visit: &Visit, query: &Query, decided: &Decided) -> AnyView {
    if decided.lines.is_empty() {
        return html! { <Card heading="History"><p class="muted">"Nothing was decided here."</p></Card> };
    }
    let newest = (!query.get("before").is_empty()).then(|| query.clone().with("before", "").url());
    let older = decided.older.as_ref().map(|cursor| query.clone().with("before", cursor).url());
    let text = if newest.is_some() { "older ones" } else { "newest first" };
    let list = list(visit, decided);
    html! {
        <div data-live="history">
            <Card heading="History" note="what was done, what was decided, and why" flush=true>
                <div class="body">{list}</div>
                <Pager text=text back=newest next=older/>
            </Card>
        </div>
    }
}

/// The lines, the newest first.
pub fn list(visit: &Visit, decided: &Decided) -> AnyView {
    let lines: Vec<_> = decided
        .lines
        .iter()
        .map(|line| {
            let (state, glyph) = look(&line.code);
            let (sentence, code) = (line.sentence.clone(), line.code.clone());
            view! {
                <li data-state=state data-key=format!("{}-{}", line.revision, line.ordinal)>
                    {ago(&visit.viewer, line.at)}
                    <Glyph name=glyph/>
                    <span>{sentence}<span class="l2 mono">{code}</span></span>
                </li>
            }
        })
        .collect();
    html! { <ol class="events">{lines}</ol> }
}

/// What a code looks like: the state that colours it, and its shape.
fn look(code: &str) -> (&'static str, &'static str) {
    match code {
        "operation-done" | "node-ready" | "apps-ready" | "idle-over" | "scripts-accepted" | "gift-accepted" => {
            ("running", "running")
        }
        "ssh-connected" | "instance-shared" => ("running", "running"),
        "ssh-ended" | "instance-unshared" | "instance-share-ended" => ("stopped", "stopped"),
        "by-person" | "by-schedule" | "idle" | "as-postponed" | "instance-stops" => ("stopped", "stopped"),
        "operation-failed" | "setup-failed" | "setup-timed-out" | "launch-failed" | "launch-timed-out"
        | "node-lost" | "node-gone" | "node-preempted" | "start-timed-out" | "resize-failed" | "firing-failed" => {
            ("failed", "failed")
        }
        "stop-warning" | "idle-warning" | "stop-drains" | "scripts-set" => ("warning", "warning"),
        _ => ("neutral", "queued"),
    }
}
