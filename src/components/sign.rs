//! The frame around pages without a session: set-up, sign-in, a new password.

use leptos::prelude::*;
use leptos_meta::Title;

use crate::components::icon::Mark;
use crate::components::secret::SecretOnce;
use crate::components::shell::Overlay;
use crate::form::Flash;

/// The drawing beside the form: machines, some of them awake. Colours come from `style/pages/sign.css`.
const MACHINES: &str = include_str!("drawings/machines.svg");

/// A panel with one form, and a drawing beside it where there is room.
#[component]
pub fn BareShell(
    /// The heading, and the tab's title with " · Atelier" behind it.
    #[prop(into)]
    heading: String,
    /// One or two sentences under the heading.
    #[prop(optional, into)]
    sub: String,
    #[prop(optional_no_strip)] flash: Option<Flash>,
    /// The small line at the foot of the panel.
    #[prop(optional, into)]
    note: String,
    children: Children,
) -> AnyView {
    let Flash { toast, secret, .. } = flash.unwrap_or_default();
    let title = format!("{heading} · Atelier");
    let sub = (!sub.is_empty()).then(|| view! { <p class="muted">{sub}</p> });
    let note = (!note.is_empty()).then(|| view! { <p class="faint xs">{note}</p> });
    html! {
        <Title text=atelier_studio::html::text(&title)/>
        <div class="login">
            <main class="panel" id="main">
                <p class="brand"><Mark/>"Atelier"</p>
                <div class="inner">
                    <div><h1>{heading}</h1>{sub}</div>
                    {secret.map(|secret| view! { <SecretOnce secret=secret/> })}
                    {children()}
                </div>
                {note}
            </main>
            <aside class="art" aria-label="About Atelier">
                <svg
                    viewBox="0 0 728 840" preserveAspectRatio="xMaxYMin slice" aria-hidden="true" inner_html=MACHINES
                ></svg>
                <p class="motto">"Every machine tells you what it does, what it costs, and when it will stop."</p>
                <ul class="facts">
                    <li><b>"Your own server"</b>"no account anywhere else"</li>
                    <li><b>"Every change"</b>"kept with who and why"</li>
                    <li><b>"Every refusal"</b>"says what would help"</li>
                </ul>
            </aside>
        </div>
        <Overlay toast=toast/>
    }
}
