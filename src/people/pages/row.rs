//! One person as a row of the list.

use atelier_domain::account::AccountVerb;
use atelier_domain::paths;
use atelier_studio::people::list::PersonRow;
use leptos::prelude::*;

use crate::components::{Button, Icon, Look, PickCell, StateTag, StateWord, Who, ago};
use crate::people::pages::verbs;
use crate::viewer::Viewer;

/// The row of one person. `refusal` is why the viewer may not change accounts.
pub fn row(person: PersonRow, viewer: &Viewer, refusal: Option<&str>) -> impl IntoView + use<> {
    let slug = &viewer.workspace.slug;
    let href = paths::person(slug, person.id.as_str());
    let pick = view! { <PickCell id=person.id.to_string() label=format!("Select {}", person.name)/> };
    let roles: Vec<_> = person
        .roles
        .iter()
        .map(|role| {
            let class = if *role == atelier_domain::access::Role::Owner { "tag accent" } else { "tag" };
            view! { <span class=class>{role.label()}</span> }
        })
        .collect();
    let seen = match person.seen_at {
        Some(at) => ago(viewer, at),
        None => html! { <span class="faint">"never"</span> },
    };
    let mark = if person.is_self { "you" } else { "" };
    let menu = menu(&person, slug, refusal);
    view! {
        <tr data-key=person.id.to_string()>
            {pick}
            <th scope="row"><Who name=person.name href=Some(href) detail=person.email mark=mark/></th>
            <td><StateTag state=StateWord::of_person(person.state, person.is_online)/></td>
            <td><span class="row-tight tags">{roles}</span></td>
            <td class="c-cpu">{seen}</td>
            <td class="c-owner">{ago(viewer, person.created_at)}</td>
            <td class="menu-cell">{menu}</td>
        </tr>
    }
}

/// What can be done to one person, as far as the state of the account allows it. What the viewer has no right
/// to is there all the same, disabled, with the reason under it.
fn menu(person: &PersonRow, slug: &str, refusal: Option<&str>) -> AnyView {
    let id = format!("m-{}", person.id);
    let legal = AccountVerb::ALL.into_iter().filter(|verb| verb.legal_in().contains(&person.state));
    let verbs = match refusal {
        None => legal
            .map(|verb| {
                let href = verbs::question(slug, verb, person.id.as_str());
                view! { <a href=href data-confirm=""><Icon name=verbs::icon(verb)/>{verbs::asking(verb)}</a> }
            })
            .collect_view()
            .into_any(),
        Some(reason) => {
            let why = format!("why-{}", person.id);
            let buttons = legal
                .map(|verb| {
                    view! {
                        <button type="button" disabled aria-describedby=why.clone()>
                            <Icon name=verbs::icon(verb)/>{verbs::asking(verb)}
                        </button>
                    }
                })
                .collect_view();
            view! { {buttons}<p class="reason" id=why.clone()>{reason.to_owned()}</p> }.into_any()
        }
    };
    html! {
        <Button look=Look::Ghost small=true icon="more" label=format!("More about {}", person.name) opens=id.clone()/>
        <div class="menu" id=id popover="auto">
            <a href=paths::person(slug, person.id.as_str())><Icon name="user"/>"Open"</a>
            <hr/>
            {verbs}
        </div>
    }
}
