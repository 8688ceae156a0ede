//! What can be changed about a cluster while it works: how it scales, how its queue is served, its minimum by
//! the hour, and its tags.

use atelier_domain::compute::verb::ClusterVerb;
use atelier_domain::paths;
use atelier_domain::text::MAX_WHY;
use atelier_engine::run::CommandId;
use atelier_studio::clusters::detail::ClusterDetail;
use atelier_studio::clusters::quote::Quoted;
use leptos::prelude::*;
use leptos::server_fn::ServerFn as _;

use crate::clusters::pages::detail::blocked;
use crate::clusters::pages::minimum;
use crate::clusters::typing::QuoteCluster;
use crate::components::{Card, Field, PostForm, Query, SaveRow, TagsCard, price};
use crate::form::FormState;
use crate::frame::Visit;

/// The cards with the two forms. They are not live, so that typing isn't lost.
pub fn cards(visit: &Visit, query: &Query, detail: &ClusterDetail, quoted: &Quoted) -> AnyView {
    let because = blocked(visit, detail, ClusterVerb::Scale);
    let (scaling, queue) =
        (scaling(visit, query, detail, quoted, because.clone()), queue(visit, detail, because.clone()));
    let minimum = minimum::card(visit, detail, because.clone());
    html! { {scaling}{queue}{minimum}{tags(visit, detail, because)} }
}

/// What stands in the fields for the fewest and the most nodes, if it is not what is saved: typed and
/// refused, or typed to ask for its price.
pub fn typed_scale(visit: &Visit, query: &Query) -> Option<[String; 3]> {
    let state = visit.form("scale_cluster");
    let typed = |field: &str| typed(&state, query, field, "");
    Some(["min", "max", "warm"].map(typed)).filter(|all| all.iter().any(|typed| !typed.is_empty()))
}

fn typed(state: &FormState, query: &Query, field: &str, saved: &str) -> String {
    match query.get(field) {
        "" => state.value(field, saved),
        asked => state.value(field, asked),
    }
}

fn hidden(detail: &ClusterDetail) -> Vec<(&'static str, String)> {
    vec![("cluster", detail.row.name.clone()), ("command_id", CommandId::random().as_str().to_owned())]
}

fn scaling(visit: &Visit, query: &Query, detail: &ClusterDetail, quoted: &Quoted, because: Option<String>) -> AnyView {
    let state = visit.form("scale_cluster");
    let fixed = because.is_some();
    let idle = (detail.row.cluster.scale.idle.as_millis() / 1_000).to_string();
    let [node, _, at_max, _] = detail.per_hour.map(|price| price.said(&detail.currency));
    let (at_rest, month) = (detail.at_rest.0.said(&detail.currency), detail.at_rest.1.said(&detail.currency));
    let said = format!(
        "A node costs {node}/h. As it is saved: {at_rest}/h while nothing runs, {month} a month, and {at_max}/h at its \
         most.{}",
        if detail.row.cluster.min() == detail.row.cluster.scale.min {
            String::new()
        } else {
            format!(" Right now the fewest are {}.", detail.row.cluster.min())
        }
    );
    let typed = |field: &str, saved: &str| typed(&state, query, field, saved);
    let (min, max) = (
        typed("min", &detail.row.cluster.scale.min.to_string()),
        typed("max", &detail.row.cluster.scale.max.to_string()),
    );
    let (idle, why) = (typed("idle", &idle), typed("why", ""));
    let warm = typed("warm", &detail.row.cluster.scale.warm.to_string());
    let why = (!fixed).then(|| {
        view! {
            <Field
                form=&state label="Why" name="why" value=why autocomplete="off" maxlength=MAX_WHY as u32
                help="Goes to the history with your name."
            />
        }
    });
    let hidden = hidden(detail);
    let check = (!fixed).then(|| price::check_button(paths::cluster(visit.slug(), &detail.row.name)));
    let (quote, price) = ((!fixed).then_some(QuoteCluster::PATH), price::part(quoted));
    html! {
        <Card heading="Scaling">
            <div data-quote=quote data-quote-of="cluster,min,max,warm">
                <PostForm function="scale_cluster" state=state.clone() hidden=hidden>
                    <div class="cols-2 fields">
                        <Field
                            form=&state label="Fewest" name="min" kind="number" value=min required=true readonly=fixed
                        />
                        <Field
                            form=&state label="Most" name="max" kind="number" value=max required=true readonly=fixed
                        />
                        <Field
                            form=&state label="Idle, s" name="idle" kind="number" value=idle required=true
                            readonly=fixed
                        />
                        <Field
                            form=&state label="Kept ready" name="warm" kind="number" value=warm required=true
                            readonly=fixed
                        />
                    </div>
                    <p class="help">
                        "Nodes kept ready wait idle beyond what runs, so that the next job starts at once. They give \
                         way to what others need."
                    </p>
                    <p class="faint xs" data-live="cost">{said}</p>
                    {price}
                    {price::lost()}
                    {why}
                    <SaveRow label="Save scaling" disabled_because=because>{check}</SaveRow>
                </PostForm>
            </div>
        </Card>
    }
}

/// How its queue is served.
fn queue(visit: &Visit, detail: &ClusterDetail, because: Option<String>) -> AnyView {
    let state = visit.form("set_queue_policy");
    let policy = crate::quota::pages::fair_shares::policy_fields(&state, detail.row.cluster.queue, because.is_some());
    let (hidden, shares) = (hidden(detail), paths::shares(visit.slug()));
    html! {
        <Card heading="Queue order">
            <PostForm function="set_queue_policy" state=state.clone() hidden=hidden>
                {policy}
                <p class="help"><a href=shares>"Weights and use of people"</a></p>
                <SaveRow label="Save queue" disabled_because=because/>
            </PostForm>
        </Card>
    }
}

fn tags(visit: &Visit, detail: &ClusterDetail, because: Option<String>) -> AnyView {
    let (tags, typed) = (detail.row.cluster.tags.said(), detail.row.cluster.tags.typed());
    let (state, hidden, fixed) = (visit.form("tag_cluster"), hidden(detail), because.is_some());
    html! { <TagsCard tags=tags typed=typed function="tag_cluster" state=state hidden=hidden fixed=fixed/> }
}
