//! The question before accounts are changed: each person with what will happen to them.

use atelier_domain::access::Action;
use atelier_domain::account::{AccountVerb, Refusal};
use atelier_domain::paths;
use atelier_studio::people::list::{PersonRow, judge_people};
use leptos::prelude::*;

use crate::components::{Checkbox, ConfirmCard, Consequence, Crumb, Look, NavItem, NothingToDo, Page, Tone};
use crate::frame::{Place, Visit, help, load, param, studio};
use crate::people::pages::verbs;
use crate::server::caller::here;
use crate::server::page;

/// What each of the chosen people is told to expect.
type Judged = Vec<(PersonRow, Result<(), Refusal>)>;

/// Asks before a verb is carried out. Script shows the card as a dialog on the page one came from.
#[component]
pub fn ConfirmPeoplePage() -> impl IntoView {
    studio(Place::of(NavItem::People, Action::MemberWrite, &[]), |visit| {
        let Some(verb) = AccountVerb::from_key(&param("verb")) else {
            return help::not_found(&visit.viewer, "action on people");
        };
        let ids = page::query_all("id");
        let read = async move { judge_people(&here()?, verb, &ids).await };
        load(visit.viewer.clone(), read, move |judged| ask(&visit, verb, judged))
    })
}

fn ask(visit: &Visit, verb: AccountVerb, judged: Judged) -> AnyView {
    let back = match judged.as_slice() {
        [(only, _)] => paths::person(visit.slug(), only.id.as_str()),
        _ => paths::people(visit.slug()),
    };
    let crumbs = vec![Crumb::new("People", paths::people(visit.slug()))];
    let changing: Vec<&PersonRow> = judged.iter().filter(|(_, answer)| answer.is_ok()).map(|(row, _)| row).collect();
    let content = if verb == AccountVerb::ResetPassword && judged.len() > 1 {
        one_at_a_time(judged.len(), back)
    } else if changing.is_empty() {
        nothing_to_do(&judged, back)
    } else {
        let title = title(verb, &changing, judged.len());
        let go = go(verb, &changing);
        let hidden: Vec<(&'static str, String)> = std::iter::once(("verb", verb.key().to_owned()))
            .chain(changing.iter().map(|row| ("ids[]", row.id.to_string())))
            .collect();
        let look = if verb == AccountVerb::Disable { Look::Danger } else { Look::Primary };
        html! {
            <ConfirmCard
                title=title rows=consequences(verb, &judged) function="change_accounts" hidden=hidden
                state=visit.form("change_accounts") keep="Keep as it is" back=back go=go icon=verbs::icon(verb)
                look=look
            >
                {(verb == AccountVerb::ResetPassword).then(endings)}
            </ConfirmCard>
        }
    };
    let heading = match verb {
        AccountVerb::Disable => "Disable accounts",
        AccountVerb::Enable => "Enable accounts",
        AccountVerb::ResetPassword => "Reset password",
    };
    view! { <Page heading=heading crumbs=crumbs>{content}</Page> }.into_any()
}

/// What else ends with a password.
fn endings() -> AnyView {
    html! {
        <Checkbox name="end_tokens" label="Revoke their personal tokens"/>
        <Checkbox
            name="end_ssh_keys" label="Remove their SSH keys"
            help="Tick both if somebody else may have used the account."
        />
    }
}

/// The question, with its numbers.
fn title(verb: AccountVerb, changing: &[&PersonRow], chosen: usize) -> String {
    let verb = match verb {
        AccountVerb::ResetPassword => "Reset the password of",
        AccountVerb::Disable | AccountVerb::Enable => verbs::word(verb),
    };
    match changing {
        [only] if chosen == 1 => format!("{verb} {}?", only.name),
        some if some.len() == chosen => format!("{verb} {chosen} people?"),
        some => format!("{verb} {} of {chosen} selected people?", some.len()),
    }
}

/// The button counts what it will change.
fn go(verb: AccountVerb, changing: &[&PersonRow]) -> String {
    match (verb, changing) {
        (AccountVerb::ResetPassword, _) => "Reset password".to_owned(),
        (verb, [only]) => format!("{} {}", verbs::word(verb), only.name),
        (verb, many) => format!("{} {}", verbs::word(verb), many.len()),
    }
}

fn consequences(verb: AccountVerb, judged: &Judged) -> Vec<Consequence> {
    judged
        .iter()
        .map(|(row, answer)| match answer {
            Ok(()) => {
                let tone = if verb == AccountVerb::Enable { Tone::Good } else { Tone::Warning };
                Consequence::new(row.name.clone(), verbs::outcome(verb), tone)
            }
            Err(refusal) => Consequence::none(row.name.clone(), refusal.to_string()),
        })
        .collect()
}

/// Each temporary password is shown once, so several at once are not offered.
fn one_at_a_time(chosen: usize, back: String) -> AnyView {
    let text = format!(
        "{chosen} people are selected. Each temporary password is shown once, so reset them one by one from the menu \
         of each person."
    );
    html! { <NothingToDo title="Reset one password at a time" text=text back=back/> }
}

/// Nobody is chosen, or nobody of them can be changed: only the way back.
fn nothing_to_do(judged: &Judged, back: String) -> AnyView {
    let (title, text, code) = match judged.as_slice() {
        [] => ("Nobody is selected".to_owned(), "Tick the people in the list first.".to_owned(), String::new()),
        [(row, Err(refusal))] => {
            (format!("Nothing to do for {}", row.name), refusal.to_string(), refusal.code().to_owned())
        }
        many => {
            let reasons: Vec<String> = many
                .iter()
                .filter_map(|(row, answer)| answer.as_ref().err().map(|refusal| format!("{}: {refusal}", row.name)))
                .collect();
            (format!("None of the {} can be changed", many.len()), reasons.join(" "), String::new())
        }
    };
    html! { <NothingToDo title=title text=text code=code back=back/> }
}
