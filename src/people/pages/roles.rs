//! Roles: the one table of rights, as it is enforced.

use atelier_domain::access::{Action, Area, Grant, Role};
use atelier_domain::history::Topic;
use atelier_domain::paths;
use atelier_domain::text::{capitalised, counted};
use atelier_studio::people::list::role_counts;
use leptos::prelude::*;

use crate::components::{Card, Icon, LinkButton, NavItem, Page, TableWrap};
use crate::frame::{Place, Visit, load, studio};
use crate::server::caller::here;

/// What each role may do.
#[component]
pub fn RolesPage() -> impl IntoView {
    studio(Place::of(NavItem::Roles, Action::MemberRead, &[Topic::People]), |visit| {
        load(visit.viewer.clone(), async move { role_counts(&here()?).await }, move |counts| roles(&visit, &counts))
    })
}

fn roles(visit: &Visit, counts: &[(Role, u64)]) -> AnyView {
    let sub = format!(
        "What each role may do in {}. “own” means only on things that one owns or is assigned to. People may hold \
         several roles and have the sum of their rights.",
        visit.viewer.workspace.name
    );
    let people =
        view! { <LinkButton href=paths::people(visit.slug()) icon="users">"People and their roles"</LinkButton> };
    let (matrix, summaries) = (matrix(visit, counts), summaries(visit, counts));
    html! {
        <Page heading="Roles" sub=sub actions=people.into_any()>
            <div class="split">
                {matrix}
                <aside class="stack sticky-side">{summaries}</aside>
            </div>
        </Page>
    }
}

fn matrix(visit: &Visit, counts: &[(Role, u64)]) -> AnyView {
    let mine = visit.viewer.rights.roles().to_vec();
    let heads: Vec<_> = Role::ALL
        .into_iter()
        .map(|role| {
            let yours = mine.contains(&role).then_some(", yours");
            view! {
                <th scope="col" class=column(&mine, role)>
                    {role.label()}<small>{people_of(role, counts)}{yours}</small>
                </th>
            }
        })
        .collect();
    let areas: Vec<_> = Area::ALL
        .into_iter()
        .map(|area| {
            let rows: Vec<_> =
                Action::ALL.iter().filter(|action| action.area() == area).map(|action| row(*action, &mine)).collect();
            view! {
                <tr class="group">
                    <th colspan=(Role::ALL.len() + 1).to_string() scope="colgroup">{area.label()}</th>
                </tr>
                {rows}
            }
        })
        .collect();
    html! {
        <TableWrap scrolls="Roles and their rights" live="people">
            <table class="matrix">
                <caption class="sr">"Roles and their rights"</caption>
                <thead><tr><th scope="col">"Right"</th>{heads}</tr></thead>
                <tbody>{areas}</tbody>
            </table>
        </TableWrap>
    }
}

fn row(action: Action, mine: &[Role]) -> impl IntoView + use<> {
    let cells: Vec<_> = Role::ALL
        .into_iter()
        .map(|role| {
            let mark = match role.grant(action) {
                Grant::Any => view! { <Icon name="check" class="yes" label="Allowed"/> }.into_any(),
                Grant::Own => view! { <span class="own">"own"</span> }.into_any(),
                Grant::No => view! { <Icon name="minus" class="no" label="Not allowed"/> }.into_any(),
            };
            view! { <td class=column(mine, role)>{mark}</td> }
        })
        .collect();
    let azure = (!action.azure().is_empty()).then(|| format!("In Azure: {}", action.azure()));
    view! {
        <tr>
            <th scope="row" title=azure>{capitalised(action.label())}<small class="mono">{action.key()}</small></th>
            {cells}
        </tr>
    }
}

/// The viewer's own roles are set off.
fn column(mine: &[Role], role: Role) -> Option<&'static str> {
    mine.contains(&role).then_some("col")
}

fn people_of(role: Role, counts: &[(Role, u64)]) -> String {
    let count = counts.iter().find(|(counted, _)| *counted == role).map_or(0, |(_, count)| *count);
    counted(count, "person", "people")
}

fn summaries(visit: &Visit, counts: &[(Role, u64)]) -> AnyView {
    let slug = visit.slug();
    let mine = visit.viewer.rights.roles();
    let roles: Vec<_> = Role::ALL
        .into_iter()
        .rev()
        .map(|role| {
            let yours = mine.contains(&role).then(|| view! { " "<span class="tag accent">"yours"</span> });
            let href = format!("{}?role={}", paths::people(slug), role.key());
            view! {
                <li>
                    <b>{role.label()}</b>{yours}
                    <span class="l2">{role.summary()}</span>
                    <a class="xs" href=href>{people_of(role, counts)}</a>
                </li>
            }
        })
        .collect();
    html! {
        <Card heading="The five roles">
            <ul class="stack-s">{roles}</ul>
            <p class="help">
                "They are built in and cannot be changed. Nobody, not even an Owner, may open the applications of \
                 another person’s instance."
            </p>
        </Card>
    }
}
