//! The question before jobs are ended: each with what will come of it.

use atelier_domain::access::{Action, Whose};
use atelier_domain::paths;
use atelier_domain::text::counted;
use atelier_studio::secret::random_token;
use leptos::prelude::*;

use crate::components::{ConfirmCard, Consequence, Crumb, NavItem, Page, Tone, Why};
use crate::frame::{Place, Visit, load, studio};
use crate::jobs::changes::{Fate, Judged, judge_cancels};
use crate::server::page;

/// Asks before jobs are ended. Script shows the card as a dialog on the page one came from.
#[component]
pub fn CancelJobsPage() -> impl IntoView {
    let place = Place { nav: NavItem::Jobs, needs: Some((Action::JobCancel, Whose::Own)), topics: &[] };
    studio(place, |visit| {
        let ids = page::query_all("id");
        let read = async move { judge_cancels(&ids).await };
        load(visit.viewer.clone(), read, move |judged| ask(&visit, judged))
    })
}

fn ask(visit: &Visit, judged: Vec<Judged>) -> AnyView {
    let slug = visit.slug();
    let back = match judged.as_slice() {
        [only] if only.id.starts_with("job-") => paths::job(slug, &only.id),
        _ => paths::jobs(slug),
    };
    let crumbs = vec![Crumb::new("Jobs", paths::jobs(slug))];
    let ending: Vec<&Judged> = judged.iter().filter(|one| matches!(one.fate, Fate::Ends { .. })).collect();
    let count: u64 = ending.iter().map(|one| if let Fate::Ends { count, .. } = one.fate { count } else { 0 }).sum();
    let content = if ending.is_empty() {
        nothing_to_do(&judged, back)
    } else {
        let title = match ending.as_slice() {
            [only] if judged.len() == 1 => format!("Cancel {}?", only.name),
            _ => format!("Cancel {}?", counted(count, "job", "jobs")),
        };
        let hidden: Vec<(&'static str, String)> = std::iter::once(("command_id", random_token()))
            .chain(ending.iter().map(|one| ("ids[]", one.id.clone())))
            .collect();
        view! {
            <ConfirmCard
                title=title text="What runs is asked to end, and is killed if it does not. What was printed and written stays."
                rows=consequences(&judged) function="cancel_jobs" hidden=hidden state=visit.form("cancel_jobs") asks_why=false
                keep="Keep running" back=back go=format!("Cancel {}", counted(count, "job", "jobs")) icon="x"
            />
        }
        .into_any()
    };
    view! { <Page heading="Cancel jobs" crumbs=crumbs>{content}</Page> }.into_any()
}

fn consequences(judged: &[Judged]) -> Vec<Consequence> {
    judged
        .iter()
        .map(|one| match &one.fate {
            Fate::Ends { count, running } => Consequence {
                name: one.name.clone(),
                outcome: match (count, running) {
                    (1, 0) => "leaves the queue".to_owned(),
                    (1, _) => "runs, and is ended".to_owned(),
                    (count, running) => format!("{running} running and {} waiting are ended", count - running),
                },
                tone: Tone::Warning,
                note: String::new(),
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

/// Nothing is chosen, or nothing of it can be ended: only the way back.
fn nothing_to_do(judged: &[Judged], back: String) -> AnyView {
    let why = |one: &Judged| match &one.fate {
        Fate::Stays(why) => format!("{}: {why}", one.name),
        Fate::Ends { .. } => String::new(),
    };
    let (title, text) = match judged {
        [] => ("No job is selected".to_owned(), "Tick the jobs in the list first.".to_owned()),
        [one] => (format!("Nothing to do for {}", one.name), why(one)),
        many => {
            (format!("None of the {} can be ended", many.len()), many.iter().map(why).collect::<Vec<_>>().join(" "))
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
