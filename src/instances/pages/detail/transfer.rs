//! Asks before an instance is transferred: what goes along, and what doesn't.

use atelier_domain::compute::verb::Verb;
use atelier_domain::history::Topic;
use atelier_domain::paths;
use atelier_studio::instances::transfer::{TransferView, transfer_question};
use atelier_studio::secret::random_token;
use leptos::prelude::*;

use crate::components::{ConfirmCard, Consequence, Crumb, LinkButton, Look, NavItem, Page, Tone, Why};
use crate::frame::{Place, Visit, load, param, studio};
use crate::instances::pages::detail::parts::{asks_at, blocked, person_field};
use crate::server::caller::here;

/// Asks to whom an instance is given.
#[component]
pub fn TransferPage() -> impl IntoView {
    studio(Place::own(NavItem::Compute, Verb::TransferInstance.right(), &[Topic::Instances]), |visit| {
        let (name, caller) = (param("name"), here());
        let read = async move { transfer_question(&caller?, &name).await };
        load(visit.viewer.clone(), read, move |view| ask(&visit, view))
    })
}

fn ask(visit: &Visit, view: TransferView) -> AnyView {
    let (slug, name) = (visit.slug(), view.detail.view.name.clone());
    let back = paths::instance(slug, &name);
    let crumbs =
        vec![Crumb::new("Instances", paths::compute(slug, "instances")), Crumb::new(name.clone(), back.clone())];
    let content = match blocked(visit, &view.detail.view, Verb::TransferInstance) {
        Some(why) => {
            let title = format!("{name} cannot be given away now");
            let is_up = Verb::StopInstance.in_instance(view.detail.view.state).is_offered();
            let stop = is_up.then(|| {
                let stop = asks_at(visit, &name, Verb::StopInstance);
                view! { <LinkButton href=stop icon="stop" dialog=true>"Stop it"</LinkButton> }
            });
            html! {
                <Why tone=Tone::Neutral title=title text=why>{stop}<LinkButton href=back>"Go back"</LinkButton></Why>
            }
        }
        None => card(visit, &view, back),
    };
    html! { <Page heading=format!("Give {name} to somebody else") crumbs=crumbs>{content}</Page> }
}

fn card(visit: &Visit, view: &TransferView, back: String) -> AnyView {
    let row = &view.detail.view;
    let state = visit.form("transfer_instance");
    let hidden = vec![("command_id", random_token()), ("instance", row.name.clone())];
    let text = format!(
        "Its files, its environment, its schedules and its settings go along. {} loses it at once: shares end, waiting \
         jobs on it are canceled. Programs and start files in its home and its environment can run as its new owner, \
         so nothing starts it, schedules included, before that person has accepted it on its page. They pay for it \
         from then on.",
        row.owner_name
    );
    let names = ["transfer-to", "To", "to"];
    let receiver =
        person_field(&state, &view.receivers, names, "Choose a person", "Their quota must have room for it.");
    let name = row.name.clone();
    html! {
        <ConfirmCard
            title=format!("Give {name} to whom?") text=text rows=wiped(view) function="transfer_instance" hidden=hidden
            state=state.clone() keep="Keep it" back=back go=format!("Give {name} away") icon="user" look=Look::Danger
        >
            {receiver}
        </ConfirmCard>
    }
}

/// What is taken out of the home first.
fn wiped(view: &TransferView) -> Vec<Consequence> {
    let list = match view.secrets.as_slice() {
        [] => "None of the known places of keys, tokens and histories has any. What lies elsewhere goes along: look \
               yourself."
            .to_owned(),
        found => format!("{}. What lies elsewhere goes along: look yourself.", atelier_domain::text::and_list(found)),
    };
    vec![
        Consequence {
            name: "Taken out of the home".into(),
            outcome: list,
            tone: Tone::Warning,
            note: "7 days in the server’s trash".into(),
        },
        Consequence {
            name: "Ended".into(),
            outcome: "Shares, sessions in applications, terminals, tokens of the instance, and applications that were \
                      added, whose variables may hold secrets."
                .into(),
            tone: Tone::Warning,
            note: "at once".into(),
        },
    ]
}
