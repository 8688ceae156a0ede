//! All named environments.

use atelier_domain::access::{Action, Whose};
use atelier_domain::history::Topic;
use atelier_domain::paths;
use atelier_domain::text::counted;
use atelier_engine::environments::BuildState;
use atelier_studio::environments::commands::EnvironmentView;
use atelier_studio::environments::list::{EnvironmentList, environments};
use leptos::prelude::*;

use crate::components::{Banner, EmptyState, LinkButton, Look, NavItem, Page, Table, Tone, WayOut, ago, heads};
use crate::environments::pages::parts::{megabytes, said, tag};
use crate::frame::{Place, Visit, load, studio};
use crate::server::caller::here;

#[component]
pub fn EnvironmentsPage() -> impl IntoView {
    studio(Place::of(NavItem::Environments, Action::EnvironmentRead, &[Topic::Environments, Topic::Jobs]), |visit| {
        load(visit.viewer.clone(), async { environments(&here()?).await }, move |list| show(&visit, &list))
    })
}

fn show(visit: &Visit, list: &EnvironmentList) -> AnyView {
    let slug = visit.slug();
    let refusal = visit.viewer.refused(Action::EnvironmentWrite, Whose::Own);
    let off = (!list.builds).then(|| {
        let text = "This server builds no environments: that is switched off by the setting environment, or it makes \
                    no nodes.";
        view! { <Banner tone=Tone::Warning text=text/> }
    });
    let sub = format!(
        "Python packages for jobs and notebooks: named, in versions that never change, built once and shared. What \
         nothing has used for {} is removed from the disk and built again when it is needed.",
        counted(list.kept_days.into(), "day", "days")
    );
    let create = view! {
        <LinkButton href=paths::new_environment(slug) look=Look::Primary icon="plus" disabled_because=refusal.clone()>
            "New environment"
        </LinkButton>
    };
    if list.rows.is_empty() {
        let actions = create.into_any();
        let instances = paths::compute(slug, "instances");
        return html! {
            <Page heading="Environments" sub=sub>
                <div data-live="environments">
                    {off}
                    <EmptyState
                        heading="The same packages, everywhere"
                        text="Write a list of packages once, as requirements or as conda writes them. Jobs name it, \
                              and JupyterLab offers it as a kernel."
                    >
                        {actions}
                    </EmptyState>
                    <div class="cols-3 empty-ways">
                        <WayOut
                            href=instances icon="compute" label="Freeze an instance"
                            help="On its page: what you have installed there becomes an environment."
                        />
                    </div>
                </div>
            </Page>
        };
    }
    let rows: Vec<_> = list.rows.iter().map(|row| line(visit, row)).collect();
    let compare = view! { <LinkButton href=paths::compare_environments(slug) icon="columns">"Compare"</LinkButton> };
    let actions = html! { {compare}{create} };
    html! {
        <Page heading="Environments" sub=sub actions=actions>
            <div data-live="environments" data-announce="environment|environments">
                {off}
                <Table
                    class="table" caption="Environments with their newest versions" rows=rows
                    head=heads(&[
                        ("Name", ""), ("Newest version", ""), ("State", ""), ("Size", "num"), ("Used by", ""),
                        ("Last used", ""),
                    ])
                />
            </div>
        </Page>
    }
}

fn line(visit: &Visit, row: &EnvironmentView) -> AnyView {
    let name = row.row.name.to_string();
    let href = paths::named_environment(visit.slug(), &name);
    let Some(newest) = row.versions.first() else { return ().into_any() };
    let (size, state, detail) = (
        match &newest.state {
            BuildState::Ready(built) => megabytes(built.size),
            _ => "–".to_owned(),
        },
        tag(&newest.state),
        said(&newest.state),
    );
    let used = row.versions.iter().filter_map(|version| version.row.used_at).max();
    let used = match used {
        Some(at) => ago(&visit.viewer, at),
        None => html! { <span class="faint">"never"</span> },
    };
    let users = match row.jobs.len() {
        0 => html! { <span class="faint">"no job"</span> },
        count => counted(count as u64, "job", "jobs").into_any(),
    };
    let (owner, version, note) = (row.row.owner_name.clone(), newest.row.version, newest.row.note.clone());
    let note = (!note.is_empty()).then(|| view! { <span class="l2">{note}</span> });
    let key = name.clone();
    html! {
        <tr data-key=key>
            <th scope="row"><a class="name" href=href>{name}</a><span class="l2">{owner}</span></th>
            <td>{version}{note}</td>
            <td>{state}<span class="l2">{detail}</span></td>
            <td class="num">{size}</td>
            <td>{users}</td>
            <td>{used}</td>
        </tr>
    }
}
