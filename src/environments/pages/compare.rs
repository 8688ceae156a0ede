//! What two versions have and have not in common.

use atelier_domain::access::Action;
use atelier_domain::environment::Change;
use atelier_domain::history::Topic;
use atelier_domain::paths;
use atelier_domain::text::counted;
use atelier_studio::environments::commands::Compared;
use atelier_studio::environments::list::{Comparison, comparison};
use leptos::prelude::*;

use crate::components::{Card, Crumb, NavItem, Page, Query, SelectField, SubmitButton, Table, Tone, Why};
use crate::frame::{Place, Visit, load, studio};
use crate::server::caller::here;

#[component]
pub fn CompareEnvironmentsPage() -> impl IntoView {
    studio(Place::of(NavItem::Environments, Action::EnvironmentRead, &[Topic::Environments]), |visit| {
        let query = Query::here();
        let (before, after) = (query.get("before").to_owned(), query.get("after").to_owned());
        let chosen = (before.clone(), after.clone());
        let read = async move { comparison(&here()?, &before, &after).await };
        load(visit.viewer.clone(), read, move |found| show(&visit, &chosen, &found))
    })
}

fn show(visit: &Visit, chosen: &(String, String), found: &Comparison) -> AnyView {
    let slug = visit.slug();
    let options = |chosen: &str| {
        let mut options: Vec<(String, String)> =
            found.choices.iter().map(|choice| (choice.clone(), choice.clone())).collect();
        if !chosen.is_empty() && !found.choices.iter().any(|choice| choice == chosen) {
            options.push((chosen.to_owned(), chosen.to_owned()));
        }
        options
    };
    let (before, after) = (options(&chosen.0), options(&chosen.1));
    let (chosen_before, chosen_after) = chosen.clone();
    let result = match &found.compared {
        None => ().into_any(),
        Some(Err(why)) => {
            html! { <Why tone=Tone::Failed title="They cannot be compared" text=why.clone()/> }
        }
        Some(Ok(compared)) => differences(compared),
    };
    let action = paths::compare_environments(slug);
    let crumbs = vec![Crumb::new("Environments", paths::environments(slug))];
    html! {
        <Page
            heading="Compare environments" crumbs=crumbs sub="What came, went and changed from one version to another."
        >
            <form class="row" method="get" action=action>
                <SelectField label="Before" name="before" value=chosen_before options=before/>
                <SelectField label="After" name="after" value=chosen_after options=after/>
                <SubmitButton icon="columns">"Compare"</SubmitButton>
            </form>
            <div data-live="differences">{result}</div>
        </Page>
    }
}

fn differences(compared: &Compared) -> AnyView {
    let diff = &compared.diff;
    let what = if compared.is_built {
        "Installed packages are compared."
    } else {
        "Not both are built, so what is listed is compared, not what would be installed."
    };
    let same = counted(diff.same as u64, "package is", "packages are");
    if diff.is_empty() {
        let text = format!("{same} the same. {what}");
        return html! { <Why tone=Tone::Good title="They have the same packages" text=text/> };
    }
    let row = |change: &Change, word: &'static str| {
        let (name, before, after) = (change.name.clone(), change.before.clone(), change.after.clone());
        let shown = |version: Option<String>| version.unwrap_or_else(|| "–".to_owned());
        let key = name.clone();
        view! {
            <tr data-key=key>
                <th scope="row"><span class="name">{name}</span></th>
                <td>{word}</td>
                <td class="mono">{shown(before)}</td>
                <td class="mono">{shown(after)}</td>
            </tr>
        }
    };
    let mut rows: Vec<_> = diff.added.iter().map(|change| row(change, "added")).collect();
    rows.extend(diff.removed.iter().map(|change| row(change, "removed")));
    rows.extend(diff.changed.iter().map(|change| row(change, "changed")));
    let note = format!(
        "{} added, {} removed, {} changed; {same} the same",
        diff.added.len(),
        diff.removed.len(),
        diff.changed.len()
    );
    let (before, after) = (compared.before.clone(), compared.after.clone());
    html! {
        <Card heading=format!("From {before} to {after}") note=note>
            <p class="muted">{what}</p>
            <Table
                class="table tight" caption="Packages that differ" rows=rows
                head=view! {
                    <th scope="col">"Package"</th>
                    <th scope="col">"What"</th>
                    <th scope="col">{before}</th>
                    <th scope="col">{after}</th>
                }
            />
        </Card>
    }
}
