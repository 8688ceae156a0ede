//! The page of one person.

use atelier_domain::access::Action;
use atelier_domain::account::AccountVerb;
use atelier_domain::history::Topic;
use atelier_domain::paths;
use atelier_domain::text::counted;
use atelier_studio::people::list::{PersonDetail, person};
use leptos::prelude::*;

use crate::components::{
    Card, Crumb, Def, DefList, LinkButton, Look, NavItem, Page, PostForm, StateTag, StateWord, SubmitButton, WhyField,
    ago, ago_or,
};
use crate::frame::{Place, Visit, load, param, studio};
use crate::history::events;
use crate::people::pages::role_fields::RoleChoices;
use crate::people::pages::verbs;
use crate::server::caller::here;

/// One person: state, roles, what can be done, what happened.
#[component]
pub fn PersonPage() -> impl IntoView {
    studio(Place::of(NavItem::People, Action::MemberRead, &[Topic::People, Topic::History]), |visit| {
        let id = param("id");
        let read = async move { person(&here()?, &id).await };
        load(visit.viewer.clone(), read, move |detail| show(&visit, detail))
    })
}

fn show(visit: &Visit, detail: PersonDetail) -> AnyView {
    let refusal = visit.viewer.may(Action::MemberWrite).err().map(|denied| visit.viewer.why_not(&denied));
    let state = StateWord::of_person(detail.row.state, detail.row.is_online);
    let refused = visit.refused(&["change_accounts"]);
    let beside = view! { <span data-live="state"><StateTag state=state pill=true/></span> };
    let actions = view! { <div class="row" data-live="verbs">{actions(visit, &detail, refusal.as_ref())}</div> };
    let (roles, history, facts) = (roles(visit, &detail, refusal), history(visit, &detail), facts(visit, &detail));
    html! {
        <Page
            heading=detail.row.name.clone() sub=detail.row.email.clone()
            crumbs=vec![Crumb::new("People", paths::people(visit.slug()))]
            beside=beside.into_any() actions=actions.into_any()
        >
            {refused}
            <div class="split">
                <div class="stack">
                    {roles}
                    <Card heading="History" note="what they did, and what was done to them">
                        <div data-live="history" data-announce="event|events">{history}</div>
                    </Card>
                </div>
                <aside class="stack"><div data-live="facts">{facts}</div></aside>
            </div>
        </Page>
    }
}

/// The verbs that the state of the account allows; what is refused for another reason is shown with that
/// reason.
fn actions(visit: &Visit, detail: &PersonDetail, refusal: Option<&String>) -> AnyView {
    detail
        .verbs
        .iter()
        .filter(|(verb, _)| verb.legal_in().contains(&detail.row.state))
        .map(|&(verb, ref answer)| {
            let because = refusal.cloned().or_else(|| answer.as_ref().err().map(ToString::to_string));
            let look = match verb {
                AccountVerb::Disable => Look::DangerQuiet,
                AccountVerb::Enable | AccountVerb::ResetPassword => Look::Plain,
            };
            let href = verbs::question(visit.slug(), verb, detail.row.id.as_str());
            view! {
                <LinkButton href=href look=look icon=verbs::icon(verb) disabled_because=because dialog=true>
                    {verbs::word(verb)}
                </LinkButton>
            }
        })
        .collect_view()
        .into_any()
}

fn roles(visit: &Visit, detail: &PersonDetail, refusal: Option<String>) -> AnyView {
    let state = visit.form("set_roles");
    let why = refusal.is_none().then(|| {
        view! {
            <WhyField state=state.clone()/>
        }
    });
    let (user, held) = (detail.row.id.to_string(), detail.row.roles.clone());
    html! {
        <Card>
            <PostForm function="set_roles" state=state.clone() hidden=vec![("user", user)]>
                <RoleChoices state=state.clone() held=held fixed_because=refusal.clone()/>
                {why}
                <div class="row">
                    <SubmitButton pending="Saving…" disabled_because=refusal>"Save roles"</SubmitButton>
                </div>
            </PostForm>
        </Card>
    }
}

fn history(visit: &Visit, detail: &PersonDetail) -> AnyView {
    if detail.history.is_empty() {
        return view! { <p class="muted">"Nothing yet that you may see."</p> }.into_any();
    }
    events::by_day(detail.history.clone(), &visit.viewer, events::Under::Card)
}

fn facts(visit: &Visit, detail: &PersonDetail) -> AnyView {
    let seen = ago_or(&visit.viewer, detail.row.seen_at, "never");
    let sessions = match detail.sessions {
        0 => "not signed in".to_owned(),
        count => counted(count, "session", "sessions"),
    };
    let (email, their_zone) = (detail.row.email.clone(), detail.time_zone.replace('_', " "));
    let created_at = ago(&visit.viewer, detail.row.created_at);
    html! {
        <Card heading="Details">
            <DefList>
                <Def term="E-mail">{email}</Def>
                <Def term="Time zone">{their_zone}</Def>
                <Def term="Added">{created_at}</Def>
                <Def term="Last seen">{seen}</Def>
                <Def term="Signed in">{sessions}</Def>
            </DefList>
        </Card>
    }
}
