//! The catalogue of sizes.

use atelier_domain::access::{Action, Whose};
use atelier_domain::compute::resources::{Cores, Memory};
use atelier_domain::history::Topic;
use atelier_domain::paths;
use atelier_studio::sizes::list::sizes;
use atelier_studio::sizes::row::SizeRow;
use leptos::prelude::*;

use crate::components::{Banner, EmptyState, LinkButton, Look, NavItem, Page, Table, Tone};
use crate::frame::{Place, Visit, load, studio};
use crate::server::caller::here;

/// What nodes may be.
#[component]
pub fn SizesPage() -> impl IntoView {
    let place = Place {
        nav: NavItem::Sizes,
        needs: Some((Action::ClusterRead, Whose::Others)),
        topics: &[Topic::Engine, Topic::Clusters],
    };
    studio(place, |visit| {
        let caller = here();
        let read = async move { sizes(&caller?).await };
        load(visit.viewer.clone(), read, move |sizes| show(&visit, sizes))
    })
}

fn show(visit: &Visit, sizes: Vec<SizeRow>) -> AnyView {
    let refusal = visit.viewer.may(Action::SizeWrite).err().map(|denied| visit.viewer.why_not(&denied));
    let add = view! {
        <LinkButton
            href=paths::size(visit.slug(), "new") look=Look::Primary icon="plus" disabled_because=refusal.clone()
        >
            "Add size"
        </LinkButton>
    };
    let refused = visit.form("remove_size").refusal().map(|text| view! { <Banner tone=Tone::Failed text=text/> });
    let content = if sizes.is_empty() { nothing() } else { table(visit, sizes, refusal.as_deref()) };
    view! {
        <Page
            heading="Sizes" sub="What a node has, where it is made, and what an hour of it costs."
            actions=add.into_any()
        >
            {refused}
            <div data-live="sizes" data-announce="size|sizes">{content}</div>
        </Page>
    }
    .into_any()
}

fn nothing() -> AnyView {
    view! {
        <EmptyState
            art=false heading="The catalogue is empty"
            text="A driver that starts fills it with what fits its machines; sizes can be added by hand as well."
        />
    }
    .into_any()
}

fn table(visit: &Visit, sizes: Vec<SizeRow>, refusal: Option<&str>) -> AnyView {
    let rows: Vec<_> = sizes.into_iter().map(|size| line(visit, size, refusal)).collect();
    view! {
        <Table
            class="table" caption="Sizes" rows=rows
            head=view! {
                <th scope="col">"Size"</th>
                <th scope="col" class="c-owner">"Site"</th>
                <th scope="col" class="right">"Cores"</th>
                <th scope="col" class="right">"Memory"</th>
                <th scope="col" class="right">"GPUs"</th>
                <th scope="col" class="right">"Price per hour"</th>
                <th scope="col" class="right c-cpu">"Room now"</th>
                <th scope="col"><span class="sr">"Actions"</span></th>
            }
        />
    }
    .into_any()
}

fn line(visit: &Visit, size: SizeRow, refusal: Option<&str>) -> AnyView {
    let (slug, name) = (visit.slug(), size.name.clone());
    let refusal = refusal.map(ToOwned::to_owned);
    let href = paths::size(slug, &name);
    let title = if refusal.is_none() {
        view! { <a class="name" href=href.clone()>{name.clone()}</a> }.into_any()
    } else {
        view! { <span class="name">{name.clone()}</span> }.into_any()
    };
    let family = format!("family {}", size.family);
    let gpus = match size.shape.gpus {
        0 => "–".to_owned(),
        count => count.to_string(),
    };
    view! {
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
    .into_any()
}
