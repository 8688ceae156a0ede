//! The question before jobs are canceled, held, released or evicted: each with what will come of it.

use atelier_domain::access::Action;
use atelier_domain::compute::verb::{JobVerb, Noun, Verb};
use atelier_domain::paths;
use atelier_domain::text::counted;
use atelier_studio::jobs::actions::{Chosen, Judged, judge};
use atelier_studio::secret::random_token;
use leptos::prelude::*;

use crate::components::{Consequence, Crumb, NavItem, NothingToDo, Page, Tone, VerbCard};
use crate::frame::{Place, Visit, help, load, param, studio};
use crate::server::caller::here;
use crate::server::page;

/// Asks before jobs are canceled. Script shows the card as a dialog on the page one came from.
#[component]
pub fn CancelJobsPage() -> impl IntoView {
    studio(Place::own(NavItem::Jobs, Action::JobCancel, &[]), |visit| asked(visit, JobVerb::Cancel))
}

/// The same before anything else is done to jobs.
#[component]
pub fn ConfirmJobsPage() -> impl IntoView {
    studio(Place::own(NavItem::Jobs, Action::JobRead, &[]), |visit| {
        let key = param("verb");
        match Verb::in_bulk(Noun::Job).find(|verb| verb.key() == key).and_then(Verb::as_job) {
            Some(verb) => asked(visit, verb),
            None => help::not_found(&visit.viewer, "page"),
        }
    })
}

/// Where the question about a verb is asked; the ids follow as `?id=…&id=…`.
pub fn asks_at(slug: &str, verb: JobVerb) -> String {
    match verb {
        JobVerb::Cancel => paths::cancel_jobs(slug),
        other => paths::confirm_jobs(slug, other.key()),
    }
}

/// The icon of a verb.
pub const fn icon(verb: JobVerb) -> &'static str {
    match verb {
        JobVerb::Cancel => "x",
        JobVerb::Hold => "hold",
        JobVerb::Release => "play",
        JobVerb::Evict => "scaledown",
        JobVerb::Prioritise | JobVerb::Move => "more",
    }
}

const fn function(verb: JobVerb) -> &'static str {
    match verb {
        JobVerb::Cancel => "cancel_jobs",
        JobVerb::Hold => "hold_jobs",
        JobVerb::Release => "release_jobs",
        JobVerb::Evict => "evict_jobs",
        JobVerb::Prioritise | JobVerb::Move => "move_job",
    }
}

fn asked(visit: Visit, verb: JobVerb) -> AnyView {
    let ids = page::query_all("id");
    let read = async move { judge(&here()?, verb, &ids).await };
    load(visit.viewer.clone(), read, move |judged| ask(&visit, verb, &judged))
}

fn ask(visit: &Visit, verb: JobVerb, judged: &[Judged]) -> AnyView {
    let slug = visit.slug();
    let back = match judged {
        [Judged { chosen: Chosen::Job(id), .. }] => paths::job(slug, &id.to_string()),
        _ => paths::jobs(slug),
    };
    let (word, crumbs) = (verb.verb().word(), vec![Crumb::new("Jobs", paths::jobs(slug))]);
    let count: u64 = judged.iter().map(Judged::count).sum();
    let content = if count == 0 {
        nothing_to_do(judged, back)
    } else {
        let jobs = counted(count, "job", "jobs");
        let title = match judged {
            [only] => format!("{word} {}?", only.name),
            _ => format!("{word} {jobs}?"),
        };
        let hidden: Vec<(&'static str, String)> = std::iter::once(("command_id", random_token()))
            .chain(judged.iter().filter(|one| one.fate.is_ok()).map(|one| ("ids[]", one.chosen.to_string())))
            .collect();
        let rows: Vec<Consequence> = judged.iter().map(|one| consequence(verb, one)).collect();
        let function = function(verb);
        html! {
            <VerbCard
                verb=verb.verb() title=title go=format!("{word} {jobs}") icon=icon(verb) rows=rows function=function
                hidden=hidden state=visit.form(function) back=back
            />
        }
    };
    html! { <Page heading=format!("{word} jobs") crumbs=crumbs>{content}</Page> }
}

fn consequence(verb: JobVerb, one: &Judged) -> Consequence {
    let (count, running) = match &one.fate {
        Ok(numbers) => *numbers,
        Err(why) => return Consequence::none(one.name.clone(), why.clone()),
    };
    let grace = one.grace;
    let outcome = match (verb, count) {
        (JobVerb::Cancel, 1) if running == 0 => "leaves the queue".to_owned(),
        (JobVerb::Cancel, 1) => "runs, and is ended".to_owned(),
        (JobVerb::Cancel, count) => format!("{running} running and {} waiting are ended", count - running),
        (JobVerb::Hold, 1) => "does not start until it is released".to_owned(),
        (JobVerb::Hold, count) => format!("{count} waiting jobs do not start until they are released"),
        (JobVerb::Release, 1) => "waits for its turn again".to_owned(),
        (JobVerb::Release, count) => format!("{count} held jobs wait for their turn again"),
        (JobVerb::Evict, 1) => {
            let next = one.next_attempt;
            format!("notice and SIGTERM now, {grace} of grace, then back to the queue as attempt {next}")
        }
        (JobVerb::Evict, count) => {
            format!("{count} running jobs get notice now, {grace} of grace, and go back to the queue")
        }
        (JobVerb::Prioritise | JobVerb::Move, _) => String::new(),
    };
    let is_dangerous = verb.verb().ask().is_some_and(|ask| ask.is_dangerous);
    let tone = if is_dangerous { Tone::Warning } else { Tone::Neutral };
    Consequence::new(one.name.clone(), outcome, tone)
}

fn nothing_to_do(judged: &[Judged], back: String) -> AnyView {
    let why = |one: &Judged| one.fate.clone().err().unwrap_or_default();
    let (title, text) = match judged {
        [] => ("No job is selected".to_owned(), "Tick the jobs in the list first.".to_owned()),
        [one] => (format!("Nothing to do for {}", one.name), why(one)),
        many => {
            let why: Vec<String> = many.iter().map(|one| format!("{}: {}", one.name, why(one))).collect();
            (format!("Nothing to do for these {}", many.len()), why.join(" "))
        }
    };
    html! { <NothingToDo title=title text=text back=back/> }
}
