//! The reason panel: what is so, with its numbers, and what would change it.

use leptos::prelude::*;

use crate::components::icon::{Glyph, Icon};

/// How a reason is meant; chooses colour and shape.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// Only to know.
    #[default]
    Neutral,
    Good,
    Warning,
    Failed,
    /// A right is missing.
    Denied,
}

impl Tone {
    /// The value of `data-state`.
    pub const fn state(self) -> &'static str {
        match self {
            Self::Neutral => "neutral",
            Self::Good => "succeeded",
            Self::Warning => "warning",
            Self::Failed => "failed",
            Self::Denied => "denied",
        }
    }

    /// The shape before the words.
    pub(super) fn shape(self) -> AnyView {
        let glyph = match self {
            Self::Neutral => return html! { <Icon name="info"/> },
            Self::Good => "succeeded",
            Self::Warning => "warning",
            Self::Failed => "failed",
            Self::Denied => "denied",
        };
        html! { <Glyph name=glyph/> }
    }
}

/// A reason or a refusal.
#[component]
pub fn Why(
    tone: Tone,
    /// What is so, in a few words.
    #[prop(into)]
    title: String,
    /// The numbers and what changes it.
    #[prop(optional, into)]
    text: String,
    /// The stable code and the request's id, in small type.
    #[prop(optional, into)]
    code: String,
    /// Whether it is read out at once: for what answers something the person just did.
    #[prop(optional)]
    alert: bool,
    /// The ways out: buttons or links.
    #[prop(optional)]
    children: Option<Children>,
) -> AnyView {
    let text = (!text.is_empty()).then(|| view! { <p>{text}</p> });
    let code = (!code.is_empty()).then(|| view! { <p class="code mono">{code}</p> });
    let fix = children.map(|children| view! { <div class="fix">{children()}</div> });
    html! {
        <div class="why" data-state=tone.state() role=alert.then_some("alert")>
            {tone.shape()}
            <div><h2>{title}</h2>{text}{code}{fix}</div>
        </div>
    }
}
