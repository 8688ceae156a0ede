//! Text to copy: a command or a secret.

use leptos::prelude::*;

use crate::components::icon::Icon;

/// A command with a button that copies it. The button needs script and is hidden without it.
#[component]
pub fn CodeBlock(
    #[prop(into)] text: String,
    /// What it is, for the bar above it and for assistive technology: "Command line".
    #[prop(into)]
    label: String,
) -> AnyView {
    let copied = text.clone();
    let name = label.clone();
    html! {
        <div class="cmd">
            <div class="bar">
                <span class="what">{label}</span>
                <button class="push needs-script" type="button" data-copy=copied>
                    <Icon name="copy"/>
                    <span data-copy-word="">"Copy"</span>
                </button>
            </div>
            <pre tabindex="0" role="region" aria-label=name><code>{text}</code></pre>
        </div>
    }
}
