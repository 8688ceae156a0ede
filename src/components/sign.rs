//! The frame around the pages of somebody who is not signed in: set-up, sign-in, a new password.

use leptos::prelude::*;
use leptos_meta::Title;

use crate::components::icon::Mark;
use crate::components::secret::SecretOnce;
use crate::components::shell::Overlay;
use crate::form::Flash;

/// The drawing beside the form: machines, some of them awake. Colours come from `style/pages/sign.css`.
const MACHINES: &str = r#"<g class="squares"><path opacity="0.13" d="M407 15h26v26h-26zM463 15h26v26h-26zM687 15h26v26h-26zM295 71h26v26h-26zM239 127h26v26h-26zM351 127h26v26h-26zM295 183h26v26h-26zM407 183h26v26h-26zM631 183h26v26h-26zM687 183h26v26h-26zM295 239h26v26h-26zM127 295h26v26h-26zM295 295h26v26h-26zM183 351h26v26h-26zM519 351h26v26h-26zM15 407h26v26h-26zM519 463h26v26h-26zM631 463h26v26h-26zM687 631h26v26h-26z"/><path opacity="0.22" d="M127 15h26v26h-26zM351 15h26v26h-26zM631 15h26v26h-26zM407 71h26v26h-26zM575 71h26v26h-26zM15 127h26v26h-26zM519 127h26v26h-26zM71 183h26v26h-26zM463 183h26v26h-26zM351 239h26v26h-26zM239 295h26v26h-26zM351 295h26v26h-26zM575 295h26v26h-26zM127 351h26v26h-26zM407 351h26v26h-26zM519 407h26v26h-26zM631 407h26v26h-26zM351 463h26v26h-26zM575 463h26v26h-26zM687 463h26v26h-26zM239 519h26v26h-26zM183 575h26v26h-26zM295 575h26v26h-26zM631 575h26v26h-26zM575 743h26v26h-26zM631 799h26v26h-26z"/><path opacity="0.31" d="M15 15h26v26h-26zM71 15h26v26h-26zM239 15h26v26h-26zM295 15h26v26h-26zM519 15h26v26h-26zM575 15h26v26h-26zM71 71h26v26h-26zM127 71h26v26h-26zM183 71h26v26h-26zM295 127h26v26h-26zM575 127h26v26h-26zM631 127h26v26h-26zM127 183h26v26h-26zM239 183h26v26h-26zM519 183h26v26h-26zM71 239h26v26h-26zM71 295h26v26h-26zM407 295h26v26h-26zM519 295h26v26h-26zM631 295h26v26h-26zM351 351h26v26h-26zM183 407h26v26h-26zM295 407h26v26h-26zM407 463h26v26h-26zM183 519h26v26h-26zM631 519h26v26h-26zM519 575h26v26h-26zM575 631h26v26h-26zM575 687h26v26h-26zM575 799h26v26h-26zM687 799h26v26h-26z"/><path opacity="0.42" d="M519 71h26v26h-26zM463 127h26v26h-26zM575 183h26v26h-26zM407 239h26v26h-26zM519 239h26v26h-26zM463 295h26v26h-26zM687 295h26v26h-26zM463 351h26v26h-26zM463 407h26v26h-26zM687 407h26v26h-26zM463 519h26v26h-26zM519 519h26v26h-26zM575 519h26v26h-26zM687 519h26v26h-26zM631 631h26v26h-26zM631 743h26v26h-26zM687 743h26v26h-26z"/><path opacity="0.57" d="M351 71h26v26h-26zM631 71h26v26h-26zM687 71h26v26h-26zM687 127h26v26h-26zM463 239h26v26h-26zM575 239h26v26h-26zM631 239h26v26h-26zM687 239h26v26h-26zM575 351h26v26h-26zM631 351h26v26h-26zM687 575h26v26h-26z"/></g><path class="lit run" d="M519 127h26v26h-26zM631 239h26v26h-26z"/><path class="lit warm" d="M407 71h26v26h-26z"/><path class="lit blue" d="M575 351h26v26h-26zM687 71h26v26h-26z"/>"#;

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
    view! {
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
    .into_any()
}
