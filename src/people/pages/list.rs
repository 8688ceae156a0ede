//! The list of people.

use atelier_domain::access::{Action, Role};
use atelier_domain::account::{AccountState, AccountVerb};
use atelier_domain::history::Topic;
use atelier_domain::paths;
use atelier_studio::people::commands::untrusted_team;
use atelier_studio::people::list::{PeoplePage as PeoplePageRows, PeopleQuery, PeopleSort, list_people};
use leptos::prelude::*;

use crate::components::{
    BulkAction, BulkBar, BulkForm, FilterBar, Icon, LinkButton, Look, NavItem, NothingFits, Page, Pager, PickAll,
    Query, QuickFilter, Sort, SortHeader, Table, TrustBanner, shown_of,
};
use crate::frame::{Place, Visit, load, studio};
use crate::people::pages::row::row;
use crate::people::pages::verbs;
use crate::server::caller::here;

/// Everybody in the workspace, as the address filters and sorts them.
#[component]
pub fn PeoplePage() -> impl IntoView {
    studio(Place::of(NavItem::People, Action::MemberRead, &[Topic::People]), |visit| {
        let query = Query::here();
        let wanted = wanted(&query);
        let sort = Sort::by(wanted.sort.key(), wanted.descending);
        let read = async move {
            let caller = here()?;
            Ok((list_people(&caller, &wanted).await?, untrusted_team(&caller).await?))
        };
        load(visit.viewer.clone(), read, move |(page, mixed)| list(&visit, query, sort, page, mixed))
    })
}

/// What the address asks for; what it says wrongly is left out.
fn wanted(query: &Query) -> PeopleQuery {
    PeopleQuery {
        q: query.get("q").to_owned(),
        role: Role::from_key(query.get("role")),
        state: AccountState::from_key(query.get("state")),
        sort: PeopleSort::from_key(query.get("sort")).unwrap_or_default(),
        descending: query.get("dir") == "desc",
        after: query.get("after").to_owned(),
        before: query.get("before").to_owned(),
    }
}

fn list(visit: &Visit, query: Query, sort: Sort, page: PeoplePageRows, mixed: Option<&'static str>) -> AnyView {
    let viewer = &visit.viewer;
    let refusal = viewer.may(Action::MemberWrite).err().map(|denied| viewer.why_not(&denied));
    let may_confirm = refusal.is_none();
    let add = view! {
        <LinkButton
            href=paths::new_person(visit.slug()) look=Look::Primary icon="plus" disabled_because=refusal.clone()
        >
            "Add person"
        </LinkButton>
    };
    // The question may have been asked here, in a dialog; its answer comes back here too.
    let refused = visit.refused(&["change_accounts"]);
    let sub = format!("Who has an account in {}, and what they may do.", viewer.workspace.name);
    let content = if page.rows.is_empty() { nobody(&query) } else { table(visit, &query, sort, page, refusal) };
    let filters = filters(&query);
    html! {
        <Page heading="People" sub=sub actions=add.into_any()>
            {refused}
            <TrustBanner why=mixed may_confirm=may_confirm/>
            {filters}
            <div data-live="people" data-announce="person|people">{content}</div>
        </Page>
    }
}

fn filters(query: &Query) -> AnyView {
    let quick = vec![
        QuickFilter::new("state", "", "All"),
        QuickFilter::new("state", AccountState::Active.key(), "Active"),
        QuickFilter::new("state", AccountState::Waiting.key(), "Waiting"),
        QuickFilter::new("state", AccountState::Disabled.key(), "Disabled"),
    ];
    let chosen = Role::from_key(query.get("role"));
    let word = chosen.map_or("Any role", Role::label);
    let link = |role: Option<Role>| {
        let href = query.clone().from_the_start().with("role", role.map_or("", Role::key)).url();
        let current = (role == chosen).then_some("true");
        let tick = (role == chosen).then(|| view! { <Icon name="check" class="push"/> });
        view! { <a href=href aria-current=current>{role.map_or("Any role", Role::label)}{tick}</a> }
    };
    let roles: Vec<_> = std::iter::once(None).chain(Role::ALL.map(Some)).map(link).collect();
    html! {
        <FilterBar query=query.clone() label="Filter people" placeholder="Filter by name or e-mail" quick=quick>
            <button class="btn ghost sm" type="button" popovertarget="m-role" aria-label=format!("Role: {word}")>
                {word}<Icon name="down" class="i-s"/>
            </button>
        </FilterBar>
        <div class="menu start" id="m-role" popover="auto"><h3>"Role"</h3>{roles}</div>
    }
}

fn table(
    visit: &Visit,
    query: &Query,
    sort: Sort,
    page: atelier_studio::people::list::PeoplePage,
    refusal: Option<String>,
) -> AnyView {
    let slug = visit.slug();
    let first = query.clone().from_the_start();
    let text = shown_of(page.rows.len() as u64, page.matching, ("person", "people"));
    let back = page.previous.map(|cursor| first.clone().with("before", &cursor).url());
    let next = page.next.map(|cursor| first.clone().with("after", &cursor).url());
    let rows: Vec<_> = page.rows.into_iter().map(|person| row(person, &visit.viewer, refusal.as_deref())).collect();
    let header = |label, by: PeopleSort, class: &'static str| {
        let newest_first = by != PeopleSort::Name;
        view! {
            <SortHeader
                label=label key=by.key() sort=sort.clone() query=query.clone() descending_first=newest_first class=class
            />
        }
    };
    let person = header("Person", PeopleSort::Name, "");
    let seen = header("Last seen", PeopleSort::Seen, "c-cpu");
    let added = header("Added", PeopleSort::Created, "c-owner");
    let table = view! {
        <Table
            class="table tight" caption="People" rows=rows
            head=view! {
                <PickAll label="Select all people on this page"/>
                {person}
                <th scope="col">"Presence"</th>
                <th scope="col">"Roles"</th>
                {seen}
                {added}
                <td class="menu-cell"></td>
            }
        >
            <Pager text=text back=back next=next/>
        </Table>
    };
    let (asks_at, actions) = (paths::confirm_people(slug, AccountVerb::Disable.key()), bulk_actions(slug));
    html! {
        <BulkForm action=asks_at>
            {table}
            <BulkBar noun="people" actions=actions disabled_because=refusal/>
        </BulkForm>
    }
}

fn bulk_actions(slug: &str) -> Vec<BulkAction> {
    [AccountVerb::Disable, AccountVerb::Enable]
        .into_iter()
        .map(|verb| BulkAction {
            verb: verbs::word(verb),
            icon: verbs::icon(verb),
            asks_at: paths::confirm_people(slug, verb.key()),
            is_dangerous: verb == AccountVerb::Disable,
        })
        .collect()
}

fn nobody(query: &Query) -> AnyView {
    let text = "Names and e-mail addresses are searched, within the chosen role and state.";
    view! { <NothingFits query=query.clone() what="No one" text=text/> }.into_any()
}
