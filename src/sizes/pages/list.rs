//! The catalogue of sizes.

use atelier_domain::access::Action;
use atelier_domain::compute::resources::{Cores, Memory};
use atelier_domain::history::Topic;
use atelier_domain::paths;
use atelier_studio::sizes::list::sizes;
use atelier_studio::sizes::row::SizeRow;
use leptos::prelude::*;

use crate::components::{EmptyState, LinkButton, Look, NavItem, Page, Table, heads};
use crate::frame::{Place, Visit, load, studio};
use crate::server::caller::here;

/// What nodes may be.
#[component]
pub fn SizesPage() -> impl IntoView {
    studio(Place::of(NavItem::Sizes, Action::ClusterRead, &[Topic::Engine, Topic::Clusters]), |visit| {
        let caller = here();
        let read = async move { sizes(&caller?).await };
        load(visit.viewer.clone(), read, move |sizes| show(&visit, sizes))
    })
}

fn show(visit: &Visit, sizes: Vec<SizeRow>) -> AnyView {
    let refusal = visit.viewer.refusal(Action::SizeWrite);
    let add = view! {
        <LinkButton
            href=paths::size(visit.slug(), "new") look=Look::Primary icon="plus" disabled_because=refusal.clone()
        >
            "Add size"
        </LinkButton>
    };
    let refused = visit.refused(&["remove_size"]);
    let content = if sizes.is_empty() { nothing() } else { table(visit, sizes, refusal.as_deref()) };
    html! {
        <Page
            heading="Sizes" sub="What a node has, where it is made, and what an hour of it costs."
            actions=add.into_any()
        >
            {refused}
            <div data-live="sizes" data-announce="size|sizes">{content}</div>
        </Page>
    }
}

fn nothing() -> AnyView {
    html! {
        <EmptyState
            art=false heading="The catalogue is empty"
            text="A driver that starts fills it with what fits its machines; sizes can be added by hand as well."
        />
    }
}

fn table(visit: &Visit, sizes: Vec<SizeRow>, refusal: Option<&str>) -> AnyView {
    let rows: Vec<_> = sizes.into_iter().map(|size| line(visit, size, refusal)).collect();
    html! {
        <Table
            class="table" caption="Sizes" rows=rows
            head=heads(&[
                ("Size", ""), ("Site", "c-owner"), ("Cores", "right"), ("Memory", "right"), ("GPUs", "right"),
                ("Price per hour", "right"), ("Room now", "right c-cpu"), ("Actions", "sr"),
            ])
        />
    }
}

fn line(visit: &Visit, size: SizeRow, refusal: Option<&str>) -> AnyView {
    let (slug, name) = (visit.slug(), size.name.clone());
    let refusal = refusal.map(ToOwned::to_owned);
    let href = paths::size(slug, &name);
    let title = if refusal.is_none() {
        html! { <a class="name" href=href.clone()>{name.clone()}</a> }
    } else {
        html! { <span class="name">{name.clone()}</span> }
    };
    let family = format!("family {}", size.family);
    let gpus = match size.shape.gpus {
        0 => "–".to_owned(),
        count => count.to_string(),
    };
    html! {
        <tr data-key=name.clone()>
            <th scope="row">{title}<span class="l2">{family}</span></th>
            <td class="c-owner">{size.site}</td>
            <td class="right nowrap">{Cores(size.shape.cores).to_string()}</td>
            <td class="right nowrap">{Memory(size.shape.memory).to_string()}</td>
            <td class="right nowrap" data-label="GPUs">{gpus}</td>
            <td class="right nowrap" data-label="An hour">{size.price_said}</td>
            <td class="right nowrap c-cpu">{size.fitting}</td>
            <td class="right">
                <span class="row-tight">
                    <LinkButton
                        href=href small=true icon="pencil" label=format!("Change {name}")
                        disabled_because=refusal.clone()
                    />
                    <LinkButton
                        href=paths::remove_size(slug, &name) small=true icon="trash" label=format!("Remove {name}")
                        look=Look::DangerQuiet
                        dialog=true disabled_because=refusal
                    />
                </span>
            </td>
        </tr>
    }
}
