//! A job's turn: its place in the queue, the ways to change it, and what it waits for.

use atelier_domain::access::{Action, Grant};
use atelier_domain::compute::job::{AfterWhat, EndedAs, JobState};
use atelier_domain::compute::verb::JobVerb;
use atelier_domain::paths;
use atelier_studio::jobs::detail::{Awaited, JobDetail};
use atelier_studio::offer::Offer;
use atelier_studio::secret::random_token;
use leptos::prelude::*;

use crate::components::{Button, Card, Icon, Look, PostForm, SelectField, SubmitButton, options};
use crate::frame::Visit;
use crate::jobs::pages::confirm::{asks_at, icon};

/// Where a job can be moved to: the value and the word.
const STEPS: [(&str, &str); 4] = [("front", "First"), ("up", "Up"), ("down", "Down"), ("back", "Last")];

/// The card with its place in the queue; nothing for jobs that do not wait.
pub fn card(visit: &Visit, detail: &JobDetail) -> AnyView {
    let (row, viewer) = (&detail.row, &visit.viewer);
    if row.state != JobState::Queued {
        return ().into_any();
    }
    let place = match (&row.job.held, detail.standing.position) {
        (Some(held), _) => {
            let why = if held.why.is_empty() { String::new() } else { format!(": {}", held.why) };
            let since = atelier_studio::clock::date_and_time(held.since, &viewer.time_zone);
            format!("Held back by {} since {since}{why}", held.by)
        }
        (None, Some((place, of))) => format!("Place {place} of {of}"),
        (None, None) => "None yet: something else comes before its turn.".to_owned(),
    };
    let because = detail.verbs.denied(JobVerb::Move).map(|denied| viewer.why_not(denied));
    let state = visit.form("move_job");
    let overtakes = viewer.rights.grant(Action::JobQueue) == Grant::Any;
    let hidden = vec![("command_id", random_token()), ("job", row.job.id.to_string())];
    let among = overtakes.then(|| {
        let options = options(&[("own", "the owner’s own jobs"), ("all", "everybody’s jobs")]);
        view! { <SelectField form=&state label="Among" name="among" options=options value="own"/> }
    });
    let steps: Vec<_> = STEPS
        .into_iter()
        .map(|(value, word)| {
            view! {
                <SubmitButton look=Look::Plain small=true name="to" value=value disabled_because=because.clone()>
                    {word}
                </SubmitButton>
            }
        })
        .collect();
    let problem = state.problem("before").or_else(|| state.problem("to"));
    let problem = problem.map(|problem| {
        view! { <p class="err" role="alert"><Icon name="warn" class="i-s"/><span class="label">{problem}</span></p> }
    });
    // Who has no place has none to change.
    let form = detail.standing.position.map(|_| {
        view! {
            <PostForm function="move_job" state=state.clone() hidden=hidden class="stack-s">
                {among}
                <div class="row turn-steps">{steps}</div>
                {problem}
            </PostForm>
        }
    });
    html! {
        <Card heading="Place in the queue">
            <div class="stack-s"><p><b>{place}</b></p>{form}</div>
        </Card>
    }
}

/// Both ways: what it waits for, and what waits for it.
pub fn dependencies(visit: &Visit, detail: &JobDetail) -> AnyView {
    if detail.after.is_empty() && detail.before.is_empty() {
        return ().into_any();
    }
    let slug = visit.slug();
    let line = |other: &Awaited, is_after: bool| {
        let href = paths::job(slug, &other.id.to_string());
        let needs = match (other.needs, is_after) {
            (AfterWhat::Success, true) => "after its success",
            (AfterWhat::Any, true) => "after its end, however",
            (AfterWhat::AllSucceed, true) => "after the success of its whole array",
            (AfterWhat::AllOver, true) => "after the end of its whole array, however",
            (AfterWhat::AllSucceed, false) => "if this whole array ends well",
            (AfterWhat::AllOver, false) => "when this whole array has ended, however",
            (AfterWhat::Success, false) => "if this ends well",
            (AfterWhat::Any, false) => "when this has ended, however",
        };
        let ended = match &other.ended {
            None => String::new(),
            Some(EndedAs::Succeeded) => "; it ended well".to_owned(),
            Some(EndedAs::Failed { what }) => format!("; it {what}"),
        };
        view! {
            <li data-key=other.id.to_string()>
                <a href=href>{other.name.clone()}</a><span class="l2">{format!("{}, {needs}{ended}", other.id)}</span>
            </li>
        }
    };
    let list = |heading: &'static str, all: &[Awaited], is_after: bool| {
        (!all.is_empty()).then(|| {
            let lines: Vec<_> = all.iter().map(|other| line(other, is_after)).collect();
            view! { <h3 class="label">{heading}</h3><ul class="awaited">{lines}</ul> }
        })
    };
    let (after, before) = (list("Waits for", &detail.after, true), list("Others wait for it", &detail.before, false));
    let more = (detail.more_before > 0)
        .then(|| view! { <p class="faint xs">{format!("and {} more", detail.more_before)}</p> });
    html! { <Card heading="Dependencies"><div class="stack-s">{after}{before}{more}</div></Card> }
}

/// What can be done to one waiting job, as a menu at the end of its row.
pub fn menu(visit: &Visit, id: &str, name: &str, verbs: &Offer<JobVerb>, is_held: bool) -> AnyView {
    let menu = format!("m-turn-{id}");
    let label = format!("What to do with {name}");
    let because = verbs.denied(JobVerb::Move).map(|denied| visit.viewer.why_not(denied));
    let slug = visit.slug();
    let inside = match because {
        Some(reason) => html! { <p class="reason">{reason}</p> },
        None => {
            let verb = if is_held { JobVerb::Release } else { JobVerb::Hold };
            let (href, icon) = (format!("{}?id={id}", asks_at(slug, verb)), icon(verb));
            let overtakes = visit.viewer.rights.grant(Action::JobQueue) == Grant::Any;
            let among = if overtakes { "all" } else { "own" };
            let hidden = vec![("command_id", random_token()), ("job", id.to_owned()), ("among", among.to_owned())];
            let steps: Vec<_> = STEPS
                .into_iter()
                .map(|(value, word)| {
                    view! { <button type="submit" name="to" value=value>{word}</button> }
                })
                .collect();
            let heading = if overtakes { "Move in the queue" } else { "Move among your own" };
            let steps = (!is_held).then(|| {
                view! { <hr/><h3>{heading}</h3><PostForm function="move_job" hidden=hidden>{steps}</PostForm> }
            });
            html! { <a href=href data-confirm=""><Icon name=icon/>{verb.verb().word()}</a>{steps} }
        }
    };
    html! {
        <Button look=Look::Ghost small=true icon="more" label=label opens=menu.clone()/>
        <div class="menu" id=menu popover="auto">{inside}</div>
    }
}
