//! The list of clusters.

use atelier_domain::access::{Action, Whose};
use atelier_domain::compute::verb::ClusterState;
use atelier_domain::paths;
use atelier_domain::text::counted;
use atelier_studio::clusters::list::{ClusterPage, ClusterQuery, ClusterRow, ClusterSort, list_clusters};
use atelier_studio::counts::{ComputeCounts, compute_counts};
use leptos::prelude::*;

use crate::components::{
    Banner, EmptyState, FilterBar, LinkButton, Look, NothingLeft, Pager, Query, QuickFilter, Sort, SortHeader,
    StateTag, StateWord, Table, Tone, WayOut, shown_of,
};
use crate::frame::compute::framed;
use crate::frame::{Visit, help, load};
use crate::server::caller::here;

/// The tab of clusters.
pub fn tab(visit: Visit) -> AnyView {
    // The tabs are for everybody who sees instances; this one needs another right.
    if let Err(denied) = visit.viewer.rights.check(Action::ClusterRead, Whose::Others) {
        return help::forbidden(&visit.viewer, &denied);
    }
    let query = Query::here();
    let wanted = wanted(&query);
    let sort = Sort::by(wanted.sort.key(), wanted.descending);
    let read = async move {
        let page = list_clusters(&here()?, &wanted).await?;
        Ok((page, compute_counts(&here()?).await?))
    };
    load(visit.viewer.clone(), read, move |(page, counts)| show(&visit, &query, sort, page, counts))
}

/// What the address asks for; what it says wrongly is left out.
fn wanted(query: &Query) -> ClusterQuery {
    ClusterQuery {
        q: query.get("q").to_owned(),
        state: ClusterState::ALL.into_iter().find(|state| state.key() == query.get("state")),
        sort: ClusterSort::ALL.into_iter().find(|sort| sort.key() == query.get("sort")).unwrap_or_default(),
        descending: query.get("dir") == "desc",
        after: query.get("after").parse().unwrap_or_default(),
    }
}

fn show(visit: &Visit, query: &Query, sort: Sort, page: ClusterPage, counts: ComputeCounts) -> AnyView {
    let refusal = visit.viewer.refusal(Action::ClusterCreate);
    let paused = page.paused.clone().map(|text| view! { <Banner tone=Tone::Warning text=text/> });
    if page.all == 0 {
        let inside = view! { <div data-live="clusters">{paused}{nothing_yet(visit, counts, refusal)}</div> };
        return framed(visit, "clusters", counts, None, inside.into_any());
    }
    let create = view! {
        <LinkButton href=paths::new_cluster(visit.slug()) look=Look::Primary icon="plus" disabled_because=refusal>
            "Create cluster"
        </LinkButton>
    };
    let filters = filters(query);
    let content = if page.rows.is_empty() { nothing_fits(query) } else { table(visit, query, sort, page) };
    let inside = view! {
        {filters}
        <div data-live="clusters" data-announce="cluster|clusters">{paused}{content}</div>
    };
    framed(visit, "clusters", counts, Some(create.into_any()), inside.into_any())
}

fn nothing_yet(visit: &Visit, counts: ComputeCounts, refusal: Option<String>) -> AnyView {
    let slug = visit.slug();
    let create = paths::new_cluster(slug);
    let said = refusal.clone().map(|reason| view! { <p class="faint xs">{reason}</p> });
    let engine = (counts.sites == 0).then(|| {
        view! {
            <p class="faint xs">
                "No driver has reported a place for nodes yet. A cluster can be made once there is one, and a size for \
                 it."
            </p>
        }
    });
    html! {
        <EmptyState
            heading="Clusters that grow with the work"
            text="A cluster is a set of equal nodes for jobs. It grows to its maximum when jobs wait, and shrinks to \
                  its minimum when they are done."
        >
            <LinkButton href=create look=Look::Primary large=true icon="plus" disabled_because=refusal>
                "Create cluster"
            </LinkButton>
            {said}
            {engine}
        </EmptyState>
        <div class="cols-3 empty-ways">
            <WayOut
                href=paths::compute(slug, "serverless") icon="bolt" label="Serverless jobs"
                help="No cluster at all: the machine exists only for as long as the job."
            />
            <WayOut
                href=paths::sizes(slug) icon="cpu" label="Sizes" help="What nodes have and what an hour of them costs."
            />
            <WayOut
                href=paths::roles(slug) icon="shield" label="Roles" help="Who may create, scale and delete clusters."
            />
        </div>
    }
}

fn nothing_fits(query: &Query) -> AnyView {
    let text = "Names, sizes and tags are searched, within the chosen state.";
    html! { <NothingLeft heading="No cluster fits this filter" text=text clear=query.path()/> }
}

fn filters(query: &Query) -> AnyView {
    let mut quick = vec![QuickFilter::new("state", "", "All")];
    quick.extend(
        ClusterState::ALL.map(|state| QuickFilter::new("state", state.key(), StateWord::of_cluster(state).word())),
    );
    html! {
        <FilterBar
            query=query.clone() label="Filter clusters" placeholder="Filter by name, size, tier or tag" quick=quick
        />
    }
}

fn table(visit: &Visit, query: &Query, sort: Sort, page: ClusterPage) -> AnyView {
    let text = shown_of(page.rows.len() as u64, page.matching as u64, ("cluster", "clusters"));
    let (back, next) = (page.previous.map(|at| query.after(at)), page.next.map(|at| query.after(at)));
    let header = |label, by: ClusterSort, class: &'static str| {
        let most_first = by != ClusterSort::Name;
        view! {
            <SortHeader
                label=label key=by.key() sort=sort.clone() query=query.clone() descending_first=most_first class=class
            />
        }
    };
    let (name, nodes, waiting) = (
        header("Cluster", ClusterSort::Name, ""),
        header("Nodes", ClusterSort::Nodes, "right"),
        header("Jobs", ClusterSort::Waiting, "right"),
    );
    let rows: Vec<_> = page.rows.into_iter().map(|row| line(visit.slug(), row, &page.currency)).collect();
    html! {
        <Table
            class="table" caption="Clusters" rows=rows
            head=view! {
                {name}
                <th scope="col">"State"</th>
                <th scope="col" class="c-size">"Size"</th>
                {nodes}
                {waiting}
                <th scope="col" class="right c-cpu">"Cost today"</th>
                <th scope="col" class="c-owner">"Tags"</th>
            }
        >
            <Pager text=text back=back next=next/>
        </Table>
    }
}

fn line(slug: &str, row: ClusterRow, currency: &str) -> impl IntoView + use<> {
    let href = paths::cluster(slug, &row.name);
    let nodes = counted(row.counts.nodes(), "node", "nodes");
    let range = format!("{} to {}", row.cluster.min(), row.cluster.scale.max);
    let (running, waiting) = (format!("{} on nodes", row.running), format!("{} waiting", row.counts.queued));
    let tags: Vec<_> =
        row.cluster.tags.said().into_iter().take(3).map(|tag| view! { <span class="tag">{tag}</span> }).collect();
    let cost = row.cost_today.map_or_else(
        || html! { <span class="faint" title="Your roles show only what your own things cost">"–"</span> },
        |cost| cost.said(currency).into_any(),
    );
    view! {
        <tr data-key=row.cluster.id.to_string()>
            <th scope="row"><a class="name" href=href>{row.name}</a>{crate::components::tier_tag(row.cluster.tier)}</th>
            <td>
                <StateTag
                    state=StateWord::of_cluster(row.state)
                    reason=row.reason.map(|reason| reason.sentence()).unwrap_or_default()
                />
            </td>
            <td class="c-size nowrap">{row.cluster.size.to_string()}<span class="l2">{row.shape}</span></td>
            <td class="right nowrap">{nodes}<span class="l2">{range}</span></td>
            <td class="right nowrap">{running}<span class="l2">{waiting}</span></td>
            <td class="right nowrap c-cpu">{cost}</td>
            <td class="c-owner"><span class="row-tight tags">{tags}</span></td>
        </tr>
    }
}
