//! The question before jobs are held, released or evicted: each with what will come of it.

use atelier_domain::access::{Action, Whose};
use atelier_domain::paths;
use atelier_domain::text::counted;
use atelier_studio::secret::random_token;
use leptos::prelude::*;

use crate::components::{ConfirmCard, Consequence, Crumb, Look, NavItem, Page, Tone, Why};
use crate::frame::{Place, Visit, load, param, studio};
use crate::help;
use crate::jobs::turn_changes::{TurnJudged, TurnVerb, judge_turns};
use crate::server::page;

/// Asks before jobs are held, released or evicted. Script shows the card as a dialog on the page one came from.
#[component]
pub fn ConfirmJobsPage() -> impl IntoView {
    let place = Place { nav: NavItem::Jobs, needs: Some((Action::JobRead, Whose::Own)), topics: &[] };
    studio(place, |visit| {
        let key = param("verb");
        let Some(verb) = TurnVerb::ALL.into_iter().find(|verb| verb.key() == key) else {
            return help::not_found(&visit.viewer, "page");
        };
        let ids = page::query_all("id");
        let read = async move { judge_turns(verb, &ids).await };
        load(visit.viewer.clone(), read, move |judged| ask(&visit, verb, &judged))
    })
}

fn ask(visit: &Visit, verb: TurnVerb, judged: &[TurnJudged]) -> AnyView {
    let slug = visit.slug();
    let back = match judged {
        [only] if only.id.starts_with("job-") => paths::job(slug, &only.id),
        _ => paths::jobs(slug),
    };
    let crumbs = vec![Crumb::new("Jobs", paths::jobs(slug))];
    let count: u64 = judged.iter().map(|one| one.count).sum();
    let content = if count == 0 { nothing_to_do(judged, back) } else { card(visit, verb, judged, count, back) };
    view! { <Page heading=format!("{} jobs", verb.word()) crumbs=crumbs>{content}</Page> }.into_any()
}

fn card(visit: &Visit, verb: TurnVerb, judged: &[TurnJudged], count: u64, back: String) -> AnyView {
    let jobs = counted(count, "job", "jobs");
    let title = match judged {
        [only] => format!("{} {}?", verb.word(), only.name),
        _ => format!("{} {jobs}?", verb.word()),
    };
    let (text, function, keep, icon, look) = match verb {
        TurnVerb::Hold => (
            "Held jobs keep their place and do not start until somebody releases them. Others pass.",
            "hold_jobs",
            "Leave in the queue",
            "hold",
            Look::Primary,
        ),
        TurnVerb::Release => {
            ("Released jobs wait for their turn again.", "release_jobs", "Keep held", "play", Look::Primary)
        }
        TurnVerb::Evict => (
            "This is what happens when dedicated work takes a preemptible node back: test whether your checkpoints hold. The file $ATELIER_EVICTION_FILE appears and processes get SIGTERM; what is left after the grace is killed. The job goes back to the queue with its folder as it is, and uses up no retry.",
            "evict_jobs",
            "Keep running",
            "scaledown",
            Look::Danger,
        ),
    };
    let hidden: Vec<(&'static str, String)> = std::iter::once(("command_id", random_token()))
        .chain(judged.iter().filter(|one| one.count > 0).map(|one| ("ids[]", one.id.clone())))
        .collect();
    let rows: Vec<Consequence> = judged.iter().map(|one| consequence(verb, one)).collect();
    view! {
        <ConfirmCard
            title=title text=text rows=rows function=function hidden=hidden state=visit.form(function)
            asks_why=verb != TurnVerb::Release keep=keep back=back go=format!("{} {jobs}", verb.word()) icon=icon look=look
        />
    }
    .into_any()
}

fn consequence(verb: TurnVerb, one: &TurnJudged) -> Consequence {
    if one.count == 0 {
        let (outcome, note) = (one.why_not.clone(), "no change".to_owned());
        return Consequence { name: one.name.clone(), outcome, tone: Tone::Neutral, note };
    }
    let outcome = match (verb, one.count) {
        (TurnVerb::Hold, 1) => "does not start until it is released".to_owned(),
        (TurnVerb::Hold, count) => format!("{count} waiting jobs do not start until they are released"),
        (TurnVerb::Release, 1) => "waits for its turn again".to_owned(),
        (TurnVerb::Release, count) => format!("{count} held jobs wait for their turn again"),
        (TurnVerb::Evict, 1) => format!(
            "notice and SIGTERM now, {} of grace, then back to the queue as attempt {}",
            one.grace, one.next_attempt
        ),
        (TurnVerb::Evict, count) => {
            format!("{count} running jobs get notice now, {} of grace, and go back to the queue", one.grace)
        }
    };
    let tone = if verb == TurnVerb::Evict { Tone::Warning } else { Tone::Neutral };
    Consequence { name: one.name.clone(), outcome, tone, note: String::new() }
}

/// Nothing is chosen, or nothing can be done to any of it: only the way back.
fn nothing_to_do(judged: &[TurnJudged], back: String) -> AnyView {
    let (title, text) = match judged {
        [] => ("No job is selected".to_owned(), "Tick the jobs in the list first.".to_owned()),
        [one] => (format!("Nothing to do for {}", one.name), one.why_not.clone()),
        many => {
            let why: Vec<String> = many.iter().map(|one| format!("{}: {}", one.name, one.why_not)).collect();
            (format!("Nothing to do for any of the {}", many.len()), why.join(" "))
        }
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
