//! The question before something that cannot be taken back lightly.

use atelier_domain::compute::verb::Verb;
use leptos::prelude::*;

use crate::components::WhyField;
use crate::components::button::{Look, SubmitButton};
use crate::components::post_form::PostForm;
use crate::components::why::{Tone, Why};
use crate::form::FormState;

/// What will happen to one of the things in question.
#[derive(Clone, Debug)]
pub struct Consequence {
    pub name: String,
    /// What will happen: "will be disabled", or why nothing will.
    pub outcome: String,
    /// How it is meant: a warning for what changes, neutral for what stays.
    pub tone: Tone,
    /// A few words at the right: "3 sessions end", "no change".
    pub note: String,
}

impl Consequence {
    /// What will happen to it.
    pub fn new(name: impl Into<String>, outcome: impl Into<String>, tone: Tone) -> Self {
        Self { name: name.into(), outcome: outcome.into(), tone, note: String::new() }
    }

    /// Nothing will happen to it, and why.
    pub fn none(name: impl Into<String>, why: impl Into<String>) -> Self {
        Self { name: name.into(), outcome: why.into(), tone: Tone::Neutral, note: "no change".to_owned() }
    }
}

/// The question that the table of verbs asks before a verb: its text, its safe button, how loud it is,
/// whether it asks why.
#[component]
pub fn VerbCard(
    verb: Verb,
    #[prop(into)] title: String,
    #[prop(into)] go: String,
    icon: &'static str,
    rows: Vec<Consequence>,
    function: &'static str,
    hidden: Vec<(&'static str, String)>,
    state: FormState,
    back: String,
    #[prop(optional)] children: Option<Children>,
) -> AnyView {
    let (text, keep, asks_why, is_dangerous) =
        verb.ask().map_or(("", "Go back", false, false), |ask| (ask.text, ask.keep, ask.wants_why, ask.is_dangerous));
    let look = if is_dangerous { Look::Danger } else { Look::Primary };
    html! {
        <ConfirmCard
            title=title text=text rows=rows function=function hidden=hidden state=state asks_why=asks_why keep=keep
            back=back
            go=go icon=icon look=look
        >
            {children.map(|children| children())}
        </ConfirmCard>
    }
}

/// In place of a question where nothing is chosen, or nothing can be done: only the way back.
#[component]
pub fn NothingToDo(
    #[prop(into)] title: String,
    #[prop(into)] text: String,
    #[prop(optional, into)] code: String,
    back: String,
) -> AnyView {
    html! {
        <section class="confirm" data-confirm-card="">
            <Why tone=Tone::Neutral title=title text=text code=code>
                <a class="btn" href=back data-confirm-cancel="">"Go back"</a>
            </Why>
        </section>
    }
}

/// A question with its consequences. It is a page at its own address; script shows the same card as a dialog
/// over the page where it was asked. The safe button comes first and has the focus.
#[component]
pub fn ConfirmCard(
    /// The question: "Disable 2 of 3 selected people?".
    #[prop(into)]
    title: String,
    /// What it means, in one or two sentences.
    #[prop(optional, into)]
    text: String,
    #[prop(optional)] rows: Vec<Consequence>,
    /// The server function that carries it out.
    function: &'static str,
    /// Fields that are sent but not shown, such as the ids.
    #[prop(optional)]
    hidden: Vec<(&'static str, String)>,
    /// What the last try left behind.
    #[prop(optional)]
    state: FormState,
    /// Whether the reason is asked for, as the field `why`; it goes to the history.
    #[prop(default = true)]
    asks_why: bool,
    /// The words of the safe button: "Keep them".
    #[prop(into)]
    keep: String,
    /// Where the safe button leads.
    #[prop(into)]
    back: String,
    /// The words of the button that does it: "Disable 2".
    #[prop(into)]
    go: String,
    #[prop(optional, into)] icon: Option<&'static str>,
    #[prop(default = Look::Danger)] look: Look,
    /// Why it cannot be done at all.
    #[prop(optional_no_strip)]
    disabled_because: Option<String>,
    #[prop(optional)] children: Option<Children>,
) -> AnyView {
    let text = (!text.is_empty()).then(|| view! { <p class="muted">{text}</p> });
    let rows: Vec<_> = rows
        .into_iter()
        .map(|row| {
            let note = (!row.note.is_empty()).then(|| view! { <span class="v">{row.note}</span> });
            view! {
                <li data-state=row.tone.state()>
                    {row.tone.shape()}
                    <span><b>{row.name}</b><small>{row.outcome}</small></span>
                    {note}
                </li>
            }
        })
        .collect();
    let rows = (!rows.is_empty()).then(|| view! { <ul class="outcomes">{rows}</ul> });
    let why = asks_why.then(|| {
        view! {
            // As a dialog it may stand over a page that asks for a reason too.
            <WhyField id="confirm-why" state=state.clone()/>
        }
    });
    html! {
        <section class="confirm" data-confirm-card="" aria-labelledby="confirm-title">
            <PostForm function=function state=state.clone() hidden=hidden class="confirm-form">
                <div class="body">
                    <h2 id="confirm-title">{title}</h2>
                    {text}
                    {rows}
                    {children.map(|children| children())}
                    {why}
                </div>
                <div class="foot">
                    <a class="btn" href=back autofocus data-confirm-cancel="">{keep}</a>
                    <SubmitButton look=look icon=icon.unwrap_or("check") disabled_because=disabled_because>
                        {go}
                    </SubmitButton>
                </div>
            </PostForm>
        </section>
    }
}
