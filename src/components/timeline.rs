//! What happened, as bars one under another.

use leptos::prelude::*;

/// One bar: what it was, its class, where it begins and how long it is in percent, and that in words.
#[derive(Clone, Debug)]
pub struct FallBar {
    pub label: String,
    pub class: &'static str,
    pub from: f64,
    pub width: f64,
    pub took: String,
}

/// The bars over an axis with the words for its ends.
#[component]
pub fn Fall(bars: Vec<FallBar>, ends: (String, String)) -> AnyView {
    let percent = |part: f64| format!("{:.2}%", part.clamp(0.0, 100.0));
    let bars: Vec<_> = bars
        .into_iter()
        .map(|bar| {
            let (x, width) = (percent(bar.from), percent(bar.width.max(0.4)));
            view! {
                <li>
                    <span class="lab">{bar.label}</span>
                    <svg aria-hidden="true">
                        <rect class="track" x="0" y="5" width="100%" height="2" rx="1"></rect>
                        <rect class=format!("b {}", bar.class) x=x y="1" width=width height="10" rx="2.5"></rect>
                    </svg>
                    <span class="dur">{bar.took}</span>
                </li>
            }
        })
        .collect();
    html! {
        <ol class="fall">
            {bars}
            <li class="axis" aria-hidden="true">
                <span></span>
                <span class="x"><span>{ends.0}</span><span>{ends.1}</span></span>
                <span></span>
            </li>
        </ol>
    }
}
