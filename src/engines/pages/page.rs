//! The engine: the health of its loop, its sites, agents and unknown nodes.

use atelier_domain::access::Action;
use atelier_domain::compute::Resources;
use atelier_domain::compute::resources::{Cores, Memory};
use atelier_domain::history::Topic;
use atelier_domain::paths;
use atelier_domain::text::counted;
use atelier_domain::world::UnknownNode;
use atelier_studio::engines::{EngineDetail, SiteRow, engines};
use leptos::prelude::*;
use url::form_urlencoded;

use crate::components::{
    Banner, Card, Def, DefList, EmptyState, LinkButton, Look, Meter, NavItem, Page, PostForm, SubmitButton, Table,
    Tone, Why, WhyField, ago, ago_or, heads,
};
use crate::engines::pages::nodes as engine_nodes;
use crate::frame::{Place, Visit, load, studio};
use crate::server::caller::here;

/// What runs behind all computes.
#[component]
pub fn EnginesPage() -> impl IntoView {
    studio(Place::of(NavItem::Engines, Action::EngineRead, &[Topic::Engine, Topic::Clusters, Topic::Jobs]), |visit| {
        load(visit.viewer.clone(), async { engines(&here()?).await }, move |detail| show(&visit, &detail))
    })
}

fn show(visit: &Visit, detail: &EngineDetail) -> AnyView {
    let refusal = visit.viewer.refusal(Action::EngineWrite);
    let refused = visit.refused(&["pause_engine", "resume_engine", "remove_unknown"]);
    let (status, sites, unknown) =
        (status(visit, detail), sites(&detail.sites), unknown(visit, detail, refusal.as_deref()));
    let (agents, switch) = (engine_nodes::card(visit, detail), switch(visit, detail, refusal));
    html! {
        <Page heading="Engines" sub="Where nodes are made, who answers there, and what the engine makes of it.">
            {refused}
            <div class="split">
                <div class="stack">
                    <div data-live="sites">{sites}</div>
                    <div data-live="agents" data-announce="node|nodes">{agents}</div>
                    <div data-live="unknown">{unknown}</div>
                </div>
                <aside class="stack">
                    {switch}
                    <div data-live="status">{status}</div>
                </aside>
            </div>
        </Page>
    }
}

fn switch(visit: &Visit, detail: &EngineDetail, refusal: Option<String>) -> AnyView {
    let Some((by, why)) = &detail.pause else {
        let state = visit.form("pause_engine");
        return html! {
            <Card heading="Acting">
                <p class="muted">
                    "The engine acts. Paused, it plans on but starts, ends and removes nothing; jobs that run go on."
                </p>
                <PostForm function="pause_engine" state=state.clone()>
                    <WhyField state=state.clone() help="Everybody who waits reads it."/>
                    <div class="row">
                        <SubmitButton look=Look::DangerQuiet icon="pause" disabled_because=refusal>
                            "Pause all acting"
                        </SubmitButton>
                    </div>
                </PostForm>
            </Card>
        };
    };
    let title = format!("{by} paused all acting");
    let why = if why.is_empty() { "No reason was given.".to_owned() } else { why.clone() };
    html! {
        <Why tone=Tone::Warning title=title text=why code="engine-paused">
            <PostForm function="resume_engine">
                <SubmitButton icon="play" disabled_because=refusal>"Resume acting"</SubmitButton>
            </PostForm>
        </Why>
    }
}

fn status(visit: &Visit, detail: &EngineDetail) -> AnyView {
    let status = &detail.status;
    let complaint =
        status.phase.complaint().map(|text| view! { <p class="muted">{format!("Not working: {text}.")}</p> });
    let disk = status.is_disk_low.then(|| {
        view! { <p class="muted">"The disk is full: only what frees something is taken."</p> }
    });
    let committed = ago_or(&visit.viewer, status.committed_at, "not yet");
    let things: Vec<String> = status.counts.iter().map(|(what, count)| format!("{count} {what}")).collect();
    let (epoch, revision, lag) = (status.epoch, status.revision, format!("{} ms", status.lag.as_millis()));
    let batches = format!("{} with {} inputs", status.batches, status.inputs);
    let reloads = counted(status.reloads, "time", "times");
    html! {
        <Card heading="Loop" note=status.phase.key()>
            {complaint}
            {disk}
            <DefList>
                <Def term="Epoch">{epoch}</Def>
                <Def term="Revision">{revision}</Def>
                <Def term="Batches">{batches}</Def>
                <Def term="Last batch">{committed}</Def>
                <Def term="It took">{lag}</Def>
                <Def term="Loaded again">{reloads}</Def>
                <Def term="It keeps">{things.join(", ")}</Def>
            </DefList>
        </Card>
    }
}

fn sites(sites: &[SiteRow]) -> AnyView {
    if sites.is_empty() {
        return html! {
            <EmptyState
                art=false heading="No driver has reported yet"
                text="A driver makes nodes: on this machine, in a Slurm partition, in Kubernetes. Once one has said \
                      what it has, it stands here."
            />
        };
    }
    sites
        .iter()
        .map(|site| {
            let note = format!("{}, {} free", counted(site.nodes, "node", "nodes"), site.free);
            let (cores, memory, gpus) = meters(site.used, site.capacity);
            let driver = match &site.driver {
                Some(driver) => {
                    let isolation = if driver.is_isolated {
                        html! { <p class="muted">{driver.isolation.clone()}</p> }
                    } else {
                        html! { <Banner tone=Tone::Warning text=driver.isolation.clone()/> }
                    };
                    html! { <p class="muted">{driver.limits.clone()}</p>{isolation} }
                }
                None => html! {
                    <Banner
                        tone=Tone::Warning
                        text="No driver makes nodes here any more: it is switched off in the settings."
                    />
                },
            };
            view! { <Card heading=site.name.clone() note=note>{cores}{memory}{gpus}{driver}</Card> }
        })
        .collect_view()
        .into_any()
}

fn meters(used: Resources, all: Resources) -> (AnyView, AnyView, Option<AnyView>) {
    let plain = |text: String| text.split(' ').next().unwrap_or_default().to_owned();
    let cores = format!("{} of {}", plain(Cores(used.cores).to_string()), Cores(all.cores));
    let memory = format!("{} of {}", Memory(used.memory), Memory(all.memory));
    let gpus = (all.gpus > 0).then(|| {
        let text = format!("{} of {}", used.gpus, counted(all.gpus, "GPU", "GPUs"));
        html! { <Meter label="GPUs" value=used.gpus as f64 max=all.gpus as f64 text=text/> }
    });
    (
        html! { <Meter label="Cores" value=used.cores as f64 max=all.cores.max(1) as f64 text=cores/> },
        html! { <Meter label="Memory" value=used.memory as f64 max=all.memory.max(1) as f64 text=memory/> },
        gpus,
    )
}

/// Unknown nodes. They stay until a person decides.
fn unknown(visit: &Visit, detail: &EngineDetail, refusal: Option<&str>) -> AnyView {
    if detail.unknown.is_empty() {
        return html! {
            <Card heading="Quarantine"><p class="muted">"Nothing was found that nobody knows."</p></Card>
        };
    }
    let rows: Vec<_> = detail.unknown.iter().map(|found| stranger(visit, found, refusal)).collect();
    html! {
        <Card heading="Quarantine" note="found, not known, left alone until somebody decides" flush=true>
            <Table
                class="table tight" caption="What drivers found and nobody knows" rows=rows
                head=heads(&[("Name", ""), ("Site", ""), ("Since", ""), ("Actions", "sr")])
            />
        </Card>
    }
}

fn stranger(visit: &Visit, found: &UnknownNode, refusal: Option<&str>) -> AnyView {
    let query = form_urlencoded::Serializer::new(String::new())
        .append_pair("site", found.site.as_str())
        .append_pair("name", &found.name)
        .finish();
    let href = format!("{}?{query}", paths::remove_unknown(visit.slug()));
    let because = refusal.map(ToOwned::to_owned);
    let because = because.or_else(|| found.is_leaving.then(|| "It is being removed already.".to_owned()));
    html! {
        <tr data-key=format!("{}/{}", found.site, found.name)>
            <th scope="row"><span class="name">{found.name.clone()}</span></th>
            <td>{found.site.to_string()}</td>
            <td>{ago(&visit.viewer, found.since)}</td>
            <td class="right">
                <LinkButton
                    href=href small=true look=Look::DangerQuiet icon="trash" dialog=true disabled_because=because
                >
                    "Remove"
                </LinkButton>
            </td>
        </tr>
    }
}
