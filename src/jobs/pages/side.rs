//! The facts of a job: what it runs, what it asked for, what was decided about it.

use atelier_domain::Money;
use atelier_domain::compute::resources::{Cores, Memory};
use atelier_domain::compute::size::Tier;
use atelier_domain::files::bytes;
use atelier_domain::paths;
use atelier_domain::text::counted;
use atelier_protocol::Run;
use atelier_studio::jobs::detail::JobDetail;
use leptos::prelude::*;

use crate::components::{Card, CodeBlock, Def, DefList, Icon, ago};
use crate::frame::Visit;

/// The longest script that is shown.
const MOST_OF_A_SCRIPT: usize = 4_000;

/// The cards at the side.
pub fn cards(visit: &Visit, detail: &JobDetail) -> AnyView {
    let (what, needs, decided) = (what(visit.slug(), detail), needs(visit, detail), decided(visit, detail));
    html! { {what}{needs}{decided} }
}

fn what(slug: &str, detail: &JobDetail) -> AnyView {
    let Some(task) = &detail.task else { return ().into_any() };
    let (label, text) = match &task.run {
        Run::Argv(words) => ("Command", shell_words::join(words)),
        Run::Script(lines) => ("Script", beginning(lines)),
    };
    // Values may be secret; names say enough.
    let names: Vec<_> =
        task.environment.iter().map(|(name, _)| view! { <span class="tag mono">{name.clone()}</span> }).collect();
    let names = (!names.is_empty())
        .then(|| view! { <Def term="Environment"><span class="row-tight tags">{names}</span></Def> });
    let files: u64 = task.files.iter().map(|file| file.size).sum();
    let files = (!task.files.is_empty()).then(|| {
        let said = format!("{}, {}", counted(task.files.len() as u64, "file", "files"), bytes(files));
        view! { <Def term="Files">{said}</Def> }
    });
    let python = detail.row.job.spec.environment.as_ref().map(|pinned| {
        let address = format!("{}?version={}", paths::named_environment(slug, pinned.name.as_str()), pinned.version);
        let shown = pinned.to_string();
        view! { <Def term="Python packages"><a class="mono" href=address>{shown}</a></Def> }
    });
    let alone = task.is_alone.then(|| view! { <Def term="Sandbox">"its own"</Def> });
    html! {
        <Card heading="Run">
            <div class="stack-s">
                <CodeBlock text=text label=label/>
                <DefList>{python}{names}{files}{alone}</DefList>
            </div>
        </Card>
    }
}

/// The beginning of a script, line for line.
fn beginning(script: &str) -> String {
    let mut shown: String = script.chars().take(MOST_OF_A_SCRIPT).collect();
    if shown.len() < script.len() {
        shown.push_str("\n…");
    }
    shown
}

/// What it asked for.
fn needs(visit: &Visit, detail: &JobDetail) -> AnyView {
    let slug = visit.slug();
    let job = &detail.row.job;
    let spec = &job.spec;
    let gpus =
        if spec.shape.gpus > 0 { format!(", {}", counted(spec.shape.gpus, "GPU", "GPUs")) } else { String::new() };
    let shape = format!("{}, {}{gpus}", Cores(spec.shape.cores), Memory(spec.shape.memory));
    let nodes = counted(spec.nodes.into(), "node", "nodes");
    let limit = spec.timeout.map_or_else(|| "none".to_owned(), |timeout| timeout.to_string());
    let retries =
        spec.retry.as_ref().map_or_else(|| "none".to_owned(), |retry| format!("{} of {}", job.retries, retry.max));
    let array = job.array.map(|place| {
        let first = place.first.to_string();
        let words = format!("number {} of {} from {first}", place.index, place.count);
        let href = paths::job_array(slug, &first);
        view! { <Def term="Array"><a href=href>{words}</a></Def> }
    });
    let tags: Vec<_> = detail
        .row
        .tags
        .0
        .iter()
        .map(|(name, value)| {
            let tag = if value.is_empty() { name.clone() } else { format!("{name}={value}") };
            let href = crate::components::Query::of(paths::jobs(slug)).with("tag", &tag).url();
            view! { <a class="tag" href=href>{tag}</a> }
        })
        .collect();
    let tags = (!tags.is_empty()).then(|| view! { <Def term="Tags"><span class="row-tight tags">{tags}</span></Def> });
    let (priority, submitted) = (spec.priority.key(), ago(&visit.viewer, job.submitted));
    let tier = match detail.standing.tier {
        Tier::Dedicated => "dedicated",
        Tier::Preemptible => "preemptible: nodes may be taken back",
    };
    let cost = match detail.cost {
        None => "–".to_owned(),
        Some(Money::ZERO) => "nothing yet".to_owned(),
        Some(cost) => cost.said(&detail.currency),
    };
    html! {
        <Card heading="Details">
            <DefList>
                <Def term="Submitted">{submitted}</Def>
                <Def term="Nodes">{nodes}</Def>
                <Def term="On each">{shape}</Def>
                <Def term="Priority">{priority}</Def>
                <Def term="Tier">{tier}</Def>
                <Def term="Time limit">{limit}</Def>
                <Def term="Retries used">{retries}</Def>
                <Def term="Cost">{cost}</Def>
                {array}
                {tags}
            </DefList>
        </Card>
    }
}

/// What was decided about it, and why.
fn decided(visit: &Visit, detail: &JobDetail) -> AnyView {
    if detail.decisions.is_empty() {
        return ().into_any();
    }
    let lines: Vec<_> = detail
        .decisions
        .iter()
        .map(|entry| {
            let (sentence, code) = (entry.sentence.clone(), entry.code.clone());
            view! {
                <li data-key=format!("{}-{}", entry.revision, entry.ordinal)>
                    {ago(&visit.viewer, entry.at)}
                    <Icon name="right"/>
                    <span>{sentence}<span class="l2 mono">{code}</span></span>
                </li>
            }
        })
        .collect();
    html! { <Card heading="Decisions" note="what the engine did, and why"><ol class="events">{lines}</ol></Card> }
}
