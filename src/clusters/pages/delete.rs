//! The question before a cluster is deleted.

use atelier_domain::access::Action;
use atelier_domain::compute::verb::{ClusterVerb, Verb};
use atelier_domain::paths;
use atelier_domain::text::counted;
use atelier_engine::run::CommandId;
use atelier_studio::clusters::detail::{ClusterDetail, cluster};
use leptos::prelude::*;

use crate::components::{
    Choice, ChoiceKind, ChoiceList, Consequence, Crumb, NavItem, NothingToDo, Page, Tone, VerbCard,
};
use crate::frame::{Place, Visit, load, param, studio};
use crate::server::caller::here;

/// Asks before a cluster is deleted. Script shows the card as a dialog on the page one came from.
#[component]
pub fn DeleteClusterPage() -> impl IntoView {
    studio(Place::of(NavItem::Compute, Action::ClusterDelete, &[]), |visit| {
        let name = param("name");
        let read = async move { cluster(&here()?, &name, 0, "").await };
        load(visit.viewer.clone(), read, move |detail| ask(&visit, &detail))
    })
}

fn ask(visit: &Visit, detail: &ClusterDetail) -> AnyView {
    let (name, slug) = (detail.row.name.clone(), visit.slug());
    let back = paths::cluster(slug, &name);
    let crumbs = vec![Crumb::new("Clusters", paths::compute(slug, "clusters")), Crumb::new(name.clone(), back.clone())];
    let content = match ClusterVerb::Delete.why_not(detail.row.state) {
        Some(reason) => {
            html! { <NothingToDo title=format!("Nothing to do for {name}") text=reason back=back/> }
        }
        None => card(visit, detail, back),
    };
    html! { <Page heading="Delete cluster" crumbs=crumbs>{content}</Page> }
}

fn card(visit: &Visit, detail: &ClusterDetail, back: String) -> AnyView {
    let state = visit.form("delete_cluster");
    let row = &detail.row;
    let (running, waiting) = (row.running, row.counts.queued);
    let mut rows = Vec::new();
    if waiting > 0 {
        let name = counted(waiting, "waiting job", "waiting jobs");
        rows.push(Consequence::new(name, "Will be canceled. They can be submitted elsewhere.", Tone::Warning));
    }
    let nodes = counted(row.counts.nodes(), "node", "nodes");
    rows.push(Consequence::new(nodes, "Will be removed when nothing runs on them any more.", Tone::Warning));
    let kept = "Are kept. The name is free again once it is gone.";
    rows.push(Consequence::new("History and logs", kept, Tone::Neutral));
    let choice = |value: &str, label: String, help: &str| Choice {
        ticked: state.is_ticked("jobs", value, value == "wait"),
        value: value.into(),
        label,
        help: help.into(),
        fixed_because: None,
    };
    let choices = vec![
        choice("wait", "Wait for running jobs".into(), "They run to their end; then the cluster goes."),
        choice("end", "End them now".into(), "Their processes are asked to end, and killed after their grace."),
    ];
    let legend = format!("{} now", counted(running, "job runs", "jobs run"));
    let hidden = vec![("cluster", row.name.clone()), ("command_id", CommandId::random().as_str().to_owned())];
    let (verb, go) = (Verb::DeleteCluster, format!("{} {}", Verb::DeleteCluster.word(), row.name));
    html! {
        <VerbCard
            verb=verb title=format!("{go}?") go=go icon="trash" rows=rows function="delete_cluster" hidden=hidden
            state=state.clone() back=back
        >
            <ChoiceList legend=legend name="jobs" kind=ChoiceKind::One choices=choices problem=state.problem("jobs")/>
        </VerbCard>
    }
}
