//! The page of one cluster: why it is as it is, its nodes, its queue, what was decided, and what can be
//! changed.

use atelier_domain::access::Action;
use atelier_domain::compute::node::NodeState;
use atelier_domain::compute::verb::ClusterVerb;
use atelier_domain::history::Topic;
use atelier_domain::paths;
use atelier_domain::reason::Kind;
use atelier_domain::text::counted;
use atelier_studio::clock;
use atelier_studio::clusters::detail::{ClusterDetail, cluster};
use atelier_studio::clusters::quote::{Quoted, quote_scaling};
use atelier_studio::token_scope::{Noun, TokenScope, token_scope};
use leptos::prelude::*;

use crate::clusters::pages::{decisions, nodes, queue, settings};
use crate::components::{
    Card, Crumb, Icon, Layer, LinkButton, Look, NavItem, NodeLegend, NodeMap, NodeSquare, Page, PostForm, Query,
    StateTag, StateWord, StepChart, SubmitButton, TokenScopeCard, Tone, Why, ago,
};
use crate::frame::{Place, Visit, load, param, studio};
use crate::server::caller::here;

#[component]
pub fn ClusterPage() -> impl IntoView {
    studio(Place::of(NavItem::Compute, Action::ClusterRead, &[Topic::Clusters, Topic::Jobs, Topic::Engine]), |visit| {
        let (name, query) = (param("name"), Query::here());
        let (from, before) = (query.get("nodes").parse().unwrap_or_default(), query.get("before").to_owned());
        let (caller, typed) = (here(), settings::typed_scale(&visit, &query));
        let read = async move {
            let caller = caller?;
            let detail = cluster(&caller, &name, from, &before).await?;
            let quoted = match typed {
                Some([min, max, warm]) => quote_scaling(&caller, &name, [&min, &max, &warm]).await?,
                None => Quoted::Unchanged,
            };
            let tokens = token_scope(&caller, Noun::Cluster, &name).await?;
            Ok((detail, quoted, tokens))
        };
        load(visit.viewer.clone(), read, move |(detail, quoted, tokens)| {
            show(&visit, &query, &detail, &quoted, &tokens)
        })
    })
}

fn show(visit: &Visit, query: &Query, detail: &ClusterDetail, quoted: &Quoted, tokens: &TokenScope) -> AnyView {
    let row = &detail.row;
    let back = paths::compute(visit.slug(), "clusters");
    let crumbs = vec![Crumb::new("Compute", back.clone()), Crumb::new("Clusters", back)];
    let tier = crate::components::tier_tag(row.cluster.tier);
    let beside = view! {
        <span class="row-tight" data-live="state">
            <StateTag state=StateWord::of_cluster(row.state) pill=true/>
            {tier}
        </span>
    };
    let actions = view! { <div class="row" data-live="verbs">{actions(visit, detail)}</div> };
    let refused = visit.refused(&[
        "pause_cluster",
        "resume_cluster",
        "delete_cluster",
        "switch_minimum",
        "remove_minimum",
        "move_job",
        "hold_jobs",
        "release_jobs",
        "evict_jobs",
    ]);
    let (meta, why, map) = (meta(visit, detail), why(detail), map(visit, detail));
    let paused = paused(visit, detail);
    let (table, queue) = (nodes::card(visit, query, detail), queue::card(visit, detail));
    let tokens = view! {
        <TokenScopeCard
            name=tokens.name.clone() whose="The token of a job here" scope=tokens.scope is_own=tokens.is_own
            refusal=visit.form("set_token_scope").refusal()
        />
    };
    let (settings, decisions) = (settings::cards(visit, query, detail, quoted), decisions::card(visit, query, detail));
    html! {
        <Page heading=row.name.clone() crumbs=crumbs beside=beside.into_any() actions=actions.into_any()>
            <p class="meta" data-live="meta">{meta}</p>
            {refused}
            <div class="split">
                <div class="stack">
                    <div data-live="why" class="stack">{paused}{why}</div>
                    <div data-live="map">{map}</div>
                    <div data-live="queue" data-announce="waiting job|waiting jobs">{queue}</div>
                    <div data-live="nodes" data-announce="node|nodes">{table}</div>
                </div>
                <aside class="stack">
                    {settings}
                    <div data-live="token-scope">{tokens}</div>
                    <div data-live="decisions">{decisions}</div>
                </aside>
            </div>
        </Page>
    }
}

/// Why a verb cannot be used: the right first, then the state.
pub(super) fn blocked(visit: &Visit, detail: &ClusterDetail, verb: ClusterVerb) -> Option<String> {
    detail.row.verbs.hindrance(verb).map(|hindrance| visit.viewer.hindered(hindrance))
}

fn actions(visit: &Visit, detail: &ClusterDetail) -> AnyView {
    let (slug, name) = (visit.slug(), &detail.row.name);
    let submit = format!("{}?cluster={name}", paths::new_job(slug));
    let submit = view! {
        <LinkButton
            href=submit icon="jobs" look=Look::Primary disabled_because=blocked(visit, detail, ClusterVerb::Submit)
        >
            {ClusterVerb::Submit.verb().label()}
        </LinkButton>
    };
    // The one of the two that makes sense; the verb table says why where neither does.
    let is_paused = ClusterVerb::Resume.why_not(detail.row.state).is_none();
    let (verb, function, icon) = if is_paused {
        (ClusterVerb::Resume, "resume_cluster", "play")
    } else {
        (ClusterVerb::Pause, "pause_cluster", "pause")
    };
    let word = verb.verb().label();
    let hidden = vec![("cluster", name.clone())];
    let because = blocked(visit, detail, verb);
    let switch = view! {
        <PostForm function=function hidden=hidden class="inline-form">
            <SubmitButton look=Look::Plain icon=icon disabled_because=because>{word}</SubmitButton>
        </PostForm>
    };
    let delete = view! {
        <LinkButton
            href=paths::delete_cluster(slug, name) look=Look::DangerQuiet icon="trash" dialog=true
            disabled_because=blocked(visit, detail, ClusterVerb::Delete)
        >
            "Delete"
        </LinkButton>
    };
    let preview = view! {
        <LinkButton
            href=paths::preview_cluster(slug, name) icon="clock"
            disabled_because=blocked(visit, detail, ClusterVerb::Scale)
        >
            "Preview on last week"
        </LinkButton>
    };
    html! { {submit}{preview}{switch}{delete} }
}

fn meta(visit: &Visit, detail: &ClusterDetail) -> AnyView {
    let row = &detail.row;
    let today = row.cost_today.map(|cost| format!(", {} today", cost.said(&detail.currency))).unwrap_or_default();
    let cost = format!("{}/h now{today}", detail.per_hour[3].said(&detail.currency));
    let size = format!("{}: {}", row.cluster.size, row.shape);
    let owner = if detail.owner.is_empty() { String::new() } else { format!("{}, ", detail.owner) };
    html! {
        <span><Icon name="cpu"/>{size}</span>
        <span><Icon name="cost"/>{cost}</span>
        <span>
            <Icon name="user"/>
            <span>{owner}"made "{ago(&visit.viewer, detail.row.cluster.created)}</span>
        </span>
    }
}

/// Who paused it and when, with the way to go on.
fn paused(visit: &Visit, detail: &ClusterDetail) -> Option<AnyView> {
    (detail.row.state == atelier_domain::compute::verb::ClusterState::Paused).then(|| {
        let since =
            detail.paused_since.map(|at| format!(" since {}", clock::date_and_time(at, &visit.viewer.time_zone)));
        let title = format!("{} paused the queue{}", detail.by, since.unwrap_or_default());
        let text = format!(
            "What runs goes on; {} and nothing more starts until somebody resumes it. Jobs can still be submitted.",
            counted(detail.row.counts.queued, "job waits", "jobs wait")
        );
        html! { <Why tone=Tone::Warning title=title text=text/> }
    })
}

/// Why it has as many nodes as it has, and what would change it.
fn why(detail: &ClusterDetail) -> AnyView {
    let by = match detail.row.state {
        atelier_domain::compute::verb::ClusterState::Deleting => {
            format!("Deleted by {}. It goes when its last node has gone.", detail.by)
        }
        _ => String::new(),
    };
    let Some(why) = &detail.row.reason else {
        return html! { <Why tone=Tone::Neutral title="It is going" text=by/> };
    };
    let code = why.code();
    if code == "cluster-paused" {
        // Said above with more words.
        return ().into_any();
    }
    let tone = if why.kind() == Kind::Wait { Tone::Warning } else { Tone::Neutral };
    let text = [by, why.next_step().unwrap_or_default()].join(" ").trim().to_owned();
    let failures: Vec<_> = detail
        .failures
        .iter()
        .take(3)
        .map(|failed| view! { <li class="xs">{format!("{}: {}", failed.node, failed.detail)}</li> })
        .collect();
    if failures.is_empty() || code != "launch-pause" {
        return html! { <Why tone=tone title=why.sentence() text=text code=code/> };
    }
    html! {
        <Why tone=tone title=why.sentence() text=text code=code><ul class="list">{failures}</ul></Why>
    }
}

fn map(visit: &Visit, detail: &ClusterDetail) -> AnyView {
    let counts = detail.row.counts;
    let empty = u64::from(detail.row.cluster.scale.max).saturating_sub(counts.nodes());
    let squares = detail
        .map
        .iter()
        .map(|node| {
            let word = StateWord::of_node(node.state).word().to_lowercase();
            let jobs = match node.jobs.len() as u64 {
                0 => String::new(),
                count => format!(", {}", counted(count, "job", "jobs")),
            };
            NodeSquare {
                number: node.id.0.to_string(),
                label: format!("{}: {word}{jobs}", node.id),
                state: node.state,
                href: format!("#{}", node.id),
            }
        })
        .collect();
    let by_state = vec![
        (NodeState::Running, counts.running),
        (NodeState::Idle, counts.idle),
        (NodeState::Preparing, counts.preparing),
        (NodeState::Leaving, counts.leaving),
        (NodeState::Unusable, counts.unusable),
    ];
    let rest = counts.nodes().saturating_sub(detail.map.len() as u64);
    let rest = (rest > 0).then(|| view! { <p class="faint xs">{format!("and {rest} more, which are not drawn")}</p> });
    let legend = view! { <NodeLegend counts=by_state empty=empty/> };
    let chart = chart(visit, detail);
    let label = format!("Nodes of {}", detail.row.name);
    html! {
        <Card heading="Nodes" action=legend.into_any()>
            <NodeMap label=label nodes=squares empty=empty/>
            {rest}
            {chart}
        </Card>
    }
}

/// How many nodes were in which state lately.
fn chart(visit: &Visit, detail: &ClusterDetail) -> AnyView {
    let (from, until) = (detail.chart_from.0, visit.viewer.now.0.max(detail.chart_from.0 + 1));
    let part = |at: i64| (at - from) as f64 / (until - from) as f64;
    let at: Vec<f64> = detail.chart.iter().map(|(at, _)| part(at.0.clamp(from, until))).collect();
    let layer = |class, pick: fn(&atelier_engine::store::NodeCounts) -> u64| Layer {
        class,
        counts: detail.chart.iter().map(|(_, counts)| pick(counts)).collect(),
    };
    let layers = vec![
        layer("s-run", |counts| counts.running),
        layer("s-idle", |counts| counts.idle),
        layer("s-move", |counts| counts.preparing),
        layer("s-off", |counts| counts.leaving),
        layer("s-bad", |counts| counts.unusable),
    ];
    let zone = &visit.viewer.time_zone;
    let third = |thirds: i64| clock::time_of_day(atelier_domain::Timestamp(from + (until - from) * thirds / 3), zone);
    let ticks = vec![third(0), third(1), third(2), "now".to_owned()];
    let most = detail.chart.iter().map(|(_, counts)| counts.nodes()).max().unwrap_or_default();
    let label = format!(
        "Nodes by state since {}: {} now, at most {most}; the limit is {}.",
        third(0),
        detail.row.counts.nodes(),
        detail.row.cluster.scale.max
    );
    html! { <StepChart label=label at=at layers=layers limit=u64::from(detail.row.cluster.scale.max) ticks=ticks/> }
}
