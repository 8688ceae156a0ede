//! The question before something is done to instances: each with what will come of it.

use atelier_domain::access::{Action, Whose};
use atelier_domain::paths;
use atelier_domain::text::counted;
use atelier_studio::secret::random_token;
use leptos::prelude::*;

use crate::components::{ConfirmCard, Consequence, Crumb, Look, NavItem, Page, Tone, Why};
use crate::frame::{Place, Visit, load, param, studio};
use crate::help;
use crate::instances::bulk::{BulkVerb, Fate, Judged, judge_instances};
use crate::instances::pages::list::icon as verb_icon;
use crate::server::page;

/// Asks before something is done to instances. Script shows the card as a dialog on the page one came from.
#[component]
pub fn ConfirmInstancesPage() -> impl IntoView {
    let place = Place { nav: NavItem::Compute, needs: Some((Action::InstanceRead, Whose::Others)), topics: &[] };
    studio(place, |visit| {
        let Some(verb) = BulkVerb::from_key(&param("verb")) else {
            return help::not_found(&visit.viewer, "way to change instances");
        };
        let names = page::query_all("id");
        let read = async move { judge_instances(verb, &names).await };
        load(visit.viewer.clone(), read, move |judged| ask(&visit, verb, judged))
    })
}

fn ask(visit: &Visit, verb: BulkVerb, judged: Vec<Judged>) -> AnyView {
    let slug = visit.slug();
    let back = match judged.as_slice() {
        [only] => paths::instance(slug, &only.name),
        _ => paths::compute(slug, "instances"),
    };
    let crumbs = vec![Crumb::new("Instances", paths::compute(slug, "instances"))];
    let done: Vec<&Judged> = judged.iter().filter(|one| matches!(one.fate, Fate::Done { .. })).collect();
    let content = if done.is_empty() { nothing_to_do(&judged, back) } else { card(visit, verb, &judged, &done, back) };
    view! { <Page heading=format!("{} instances", verb.word()) crumbs=crumbs>{content}</Page> }.into_any()
}

fn card(visit: &Visit, verb: BulkVerb, judged: &[Judged], done: &[&Judged], back: String) -> AnyView {
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
    let keep = match verb {
        BulkVerb::Start => "Leave it off",
        BulkVerb::Stop | BulkVerb::Restart => "Keep running",
        BulkVerb::Rebuild | BulkVerb::Delete => "Keep as it is",
    };
    let look = if verb == BulkVerb::Start { Look::Primary } else { Look::Danger };
    let rows = consequences(verb, judged);
    view! {
        <ConfirmCard
            title=title rows=rows function="change_instances" hidden=hidden state=visit.form("change_instances")
            asks_why=matches!(verb, BulkVerb::Delete) keep=keep back=back go=format!("{word} {what}") icon=verb_icon(verb)
            look=look
        />
    }
    .into_any()
}

fn consequences(verb: BulkVerb, judged: &[Judged]) -> Vec<Consequence> {
    judged
        .iter()
        .map(|one| match &one.fate {
            Fate::Done { words, note } => Consequence {
                name: one.name.clone(),
                outcome: words.clone(),
                tone: if verb == BulkVerb::Start { Tone::Neutral } else { Tone::Warning },
                note: note.clone(),
            },
            Fate::Stays(why) => Consequence {
                name: one.name.clone(),
                outcome: why.clone(),
                tone: Tone::Neutral,
                note: "no change".to_owned(),
            },
        })
        .collect()
}

/// Nothing is chosen, or nothing can be done: only the way back.
fn nothing_to_do(judged: &[Judged], back: String) -> AnyView {
    let why = |one: &Judged| match &one.fate {
        Fate::Stays(why) => format!("{}: {why}", one.name),
        Fate::Done { .. } => String::new(),
    };
    let (title, text) = match judged {
        [] => ("No instance is selected".to_owned(), "Tick the instances in the list first.".to_owned()),
        [one] => (format!("Nothing to do for {}", one.name), why(one)),
        many => (format!("Nothing to do for these {}", many.len()), many.iter().map(why).collect::<Vec<_>>().join(" ")),
    };
    view! {
        <section class="confirm" data-confirm-card="">
            <Why tone=Tone::Neutral title=title text=text>
                <a class="btn" href=back data-confirm-cancel="">"Go back"</a>
            </Why>
        </section>
    }
    .into_any()
}
