//! Why it is awake: each kind of activity, when there was some, and what the policy makes of it.

use atelier_domain::compute::verb::Verb;
use atelier_studio::instances::awake::SignalRow;
use atelier_studio::instances::detail::InstanceDetail;
use leptos::prelude::*;

use crate::components::{Card, Glyph};

pub fn card(detail: &InstanceDetail) -> AnyView {
    if !Verb::ExtendInstance.in_instance(detail.view.state).is_offered() {
        return ().into_any();
    }
    let rows: Vec<_> = detail.signals.iter().map(row).collect();
    let sentence = detail.watched.sentence();
    html! {
        <Card heading="Why is it awake?" flush=true>
            <div class="body"><ul class="awake">{rows}</ul></div>
            <footer>{sentence}</footer>
        </Card>
    }
}

fn row(signal: &SignalRow) -> AnyView {
    let (state, glyph) = if signal.is_active { ("running", "running") } else { ("stopped", "idle") };
    let when = match (signal.is_active, signal.ago) {
        (true, _) => "now".to_owned(),
        (false, Some(ago)) => format!("{ago} ago"),
        (false, None) => "none".to_owned(),
    };
    let name = signal.source.words().name;
    let counts = if signal.counts { "" } else { "does not count" };
    let detail =
        [signal.detail.as_str(), counts].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ");
    let detail = (!detail.is_empty()).then(|| view! { <small>{detail}</small> });
    html! {
        <li data-state=state data-key=name>
            <Glyph name=glyph/><span>{name}{detail}</span><span class="v">{when}</span>
        </li>
    }
}
