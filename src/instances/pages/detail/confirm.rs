//! The question before something is done to instances: each with what will come of it.

use atelier_domain::access::Action;
use atelier_domain::compute::verb::{InstanceVerb, Verb};
use atelier_domain::paths;
use atelier_domain::text::counted;
use atelier_studio::instances::bulk::{Judged, Outcome, judge, verb_of};
use atelier_studio::secret::random_token;
use leptos::prelude::*;

use crate::components::{ConfirmCard, Consequence, Crumb, Look, NavItem, NothingToDo, Page, Tone};
use crate::frame::{Place, Visit, help, load, param, studio};
use crate::instances::pages::detail::parts::icon;
use crate::server::caller::here;
use crate::server::page;

/// Asks before something is done to instances. Script shows the card as a dialog on the page one came from.
#[component]
pub fn ConfirmInstancesPage() -> impl IntoView {
    studio(Place::of(NavItem::Compute, Action::InstanceRead, &[]), |visit| {
        let Some(verb) = verb_of(&param("verb")) else {
            return help::not_found(&visit.viewer, "way to change instances");
        };
        let (names, caller) = (page::query_all("id"), here());
        let read = async move { judge(&caller?, verb, &names).await };
        load(visit.viewer.clone(), read, move |judged| ask(&visit, verb, judged))
    })
}

fn ask(visit: &Visit, verb: InstanceVerb, judged: Vec<Judged>) -> AnyView {
    let (slug, verb) = (visit.slug(), verb.verb());
    let back = match judged.as_slice() {
        [only] => paths::instance(slug, &only.name),
        _ => paths::compute(slug, "instances"),
    };
    let crumbs = vec![Crumb::new("Instances", paths::compute(slug, "instances"))];
    let done: Vec<&Judged> = judged.iter().filter(|one| one.outcome.is_ok()).collect();
    let content = if done.is_empty() { nothing_to_do(&judged, back) } else { card(visit, verb, &judged, &done, back) };
    html! { <Page heading=format!("{} instances", verb.word()) crumbs=crumbs>{content}</Page> }
}

fn card(visit: &Visit, verb: Verb, judged: &[Judged], done: &[&Judged], back: String) -> AnyView {
    let word = verb.word();
    let what = match done {
        [only] => only.name.clone(),
        many => counted(many.len() as u64, "instance", "instances"),
    };
    let title = if done.len() == judged.len() {
        format!("{word} {what}?")
    } else {
        format!("{word} {} of {} selected instances?", done.len(), judged.len())
    };
    let hidden: Vec<(&'static str, String)> = [("command_id", random_token()), ("verb", verb.key().to_owned())]
        .into_iter()
        .chain(done.iter().map(|one| ("ids[]", one.name.clone())))
        .collect();
    let (keep, asks_why, is_dangerous) =
        verb.ask().map_or_else(Default::default, |ask| (ask.keep, ask.wants_why, ask.is_dangerous));
    let (look, tone) = if is_dangerous { (Look::Danger, Tone::Warning) } else { (Look::Primary, Tone::Neutral) };
    let rows = judged.iter().map(|one| consequence(one, tone)).collect();
    html! {
        <ConfirmCard
            title=title rows=rows function="change_instances" hidden=hidden state=visit.form("change_instances")
            asks_why=asks_why keep=keep back=back go=format!("{word} {what}") icon=icon(verb) look=look
        />
    }
}

fn consequence(one: &Judged, tone: Tone) -> Consequence {
    let (outcome, tone, note) = match one.outcome.clone() {
        Ok(Outcome { words, note }) => (words, tone, note),
        Err(why) => (why, Tone::Neutral, "no change".to_owned()),
    };
    Consequence { name: one.name.clone(), outcome, tone, note }
}

/// Nothing is chosen, or nothing can be done: only the way back.
fn nothing_to_do(judged: &[Judged], back: String) -> AnyView {
    let why = |one: &Judged| one.outcome.as_ref().err().map(|why| format!("{}: {why}", one.name)).unwrap_or_default();
    let (title, text) = match judged {
        [] => ("No instance is selected".to_owned(), "Tick the instances in the list first.".to_owned()),
        [one] => (format!("Nothing to do for {}", one.name), why(one)),
        many => (format!("Nothing to do for these {}", many.len()), many.iter().map(why).collect::<Vec<_>>().join(" ")),
    };
    html! { <NothingToDo title=title text=text back=back/> }
}
