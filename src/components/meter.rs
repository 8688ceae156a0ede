//! Part of a limit.

use leptos::prelude::*;

/// A native meter with its words: what is measured at the left, how much at the right.
#[component]
pub fn Meter(
    #[prop(into)] label: String,
    value: f64,
    max: f64,
    /// The same in words with units: "24 of 48 cores".
    #[prop(into)]
    text: String,
) -> AnyView {
    let said = text.clone();
    let name = label.clone();
    html! {
        <div class="quota">
            <span class="row-between"><span>{label}</span><span class="num">{text}</span></span>
            <meter
                min="0" max=max.to_string() low=(max * 0.75).to_string() high=(max * 0.95).to_string() optimum="0"
                value=value.to_string() aria-label=name
            >
                {said}
            </meter>
        </div>
    }
}
