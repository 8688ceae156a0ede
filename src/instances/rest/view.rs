//! Instances as the API shows them.

use std::collections::BTreeSet;

use atelier_domain::compute::idle::Source;
use atelier_domain::compute::instance::{InstanceState, Operation, OperationResult, Trigger};
use atelier_domain::compute::notice::StopWhy;
use atelier_domain::compute::script::Script;
use atelier_domain::compute::start::StartStep;
use atelier_domain::compute::tags::Tags;
use atelier_domain::compute::verb::InstanceVerb;
use atelier_domain::time::Span;
use atelier_studio::instances::plan::Plan;
use atelier_studio::instances::view::{self as read, Cause};
use serde::Serialize;

use crate::server::rest::people::{People, PersonView};
use crate::server::rest::view::{ReasonView, ResourcesView, When};

#[derive(Debug, Serialize)]
pub struct InstanceView {
    id: String,
    name: String,
    state: InstanceState,
    /// Whether nothing goes on that leads to another state by itself.
    is_settled: bool,
    /// What it waits for, or how the last operation failed.
    reason: Option<CauseView>,
    owner: PersonView,
    creator: PersonView,
    size: String,
    resources: Option<ResourcesView>,
    node: Option<String>,
    next: NextView,
    idle: Option<IdleView>,
    keeps_quota: bool,
    scripts: ScriptsView<ScriptView>,
    operation: OperationView,
    start: Option<StartView>,
    jobs: u64,
    tags: Tags,
    created: When,
    links: Links,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum CauseView {
    Reason(ReasonView),
    Node { code: &'static str, sentence: String, next_step: Option<String> },
}

#[derive(Debug, Serialize)]
struct NextView {
    starts: Option<When>,
    stops: Option<StopView>,
    /// When it stops if nothing counts as activity from now on.
    idle_stops: Option<When>,
    /// Idle shutdown waits until then.
    kept_until: Option<When>,
    is_announced: bool,
}

#[derive(Debug, Serialize)]
struct StopView {
    at: When,
    why: &'static str,
    by: Option<String>,
    is_draining: bool,
}

#[derive(Debug, Serialize)]
struct IdleView {
    minutes: i64,
    counts: BTreeSet<Source>,
    is_by_policy: bool,
    quiet_seconds: i64,
}

/// Both scripts, with their texts or without.
#[derive(Debug, Serialize)]
pub struct ScriptsView<S> {
    pub creation: Option<S>,
    pub startup: Option<S>,
    pub revision: u32,
    /// Whether they get the owner's home: the owner set or accepted them.
    pub is_accepted: bool,
}

#[derive(Debug, Serialize)]
pub struct ScriptView {
    blob: String,
    arguments: String,
    limit_seconds: i64,
}

#[derive(Debug, Serialize)]
struct OperationView {
    verb: InstanceVerb,
    trigger: &'static str,
    by: Option<String>,
    at: When,
    /// `succeeded`, `failed`, `overtaken`; null while it goes on.
    result: Option<&'static str>,
    took_seconds: Option<f64>,
}

#[derive(Debug, Serialize)]
struct StartView {
    at: When,
    /// Until it could be used; null while it goes on or if it failed.
    took_seconds: Option<f64>,
    has_failed: bool,
    steps: Vec<StepView>,
}

#[derive(Debug, Serialize)]
struct StepView {
    step: StartStep,
    after_seconds: f64,
    took_seconds: f64,
    is_running: bool,
}

#[derive(Debug, Serialize)]
struct Links {
    #[serde(rename = "self")]
    own: String,
    apps: String,
    jobs: String,
    node: Option<String>,
}

impl From<&Cause> for CauseView {
    fn from(cause: &Cause) -> Self {
        match cause {
            Cause::Reason(reason) => Self::Reason(reason.clone().into()),
            _ => Self::Node { code: cause.code(), sentence: cause.sentence(), next_step: cause.next_step() },
        }
    }
}

impl InstanceView {
    pub fn of(view: &read::InstanceView, people: &People) -> Self {
        let (instance, own) = (&view.instance, path(&view.name));
        Self {
            id: instance.id.to_string(),
            name: view.name.clone(),
            state: view.state,
            is_settled: read::is_settled(instance),
            reason: view.cause.as_ref().map(CauseView::from),
            owner: people.view(&instance.owner),
            creator: people.view(instance.creator()),
            size: instance.size.to_string(),
            resources: view.size.as_ref().map(|size| size.shape.into()),
            node: instance.node.map(|node| node.to_string()),
            next: next(&view.plan),
            idle: instance.idle.as_ref().map(|idle| IdleView {
                minutes: idle.window.as_millis() / 60_000,
                counts: idle.counts.clone(),
                is_by_policy: instance.idle_by_policy,
                quiet_seconds: instance.watch.quiet.as_millis() / 1_000,
            }),
            keeps_quota: instance.keeps_quota,
            scripts: ScriptsView {
                creation: instance.scripts.creation.as_ref().map(ScriptView::from),
                startup: instance.scripts.startup.as_ref().map(ScriptView::from),
                revision: instance.scripts_revision,
                is_accepted: instance.scripts_accepted,
            },
            operation: operation(&instance.operation),
            start: view.start().map(start),
            jobs: view.plan.jobs,
            tags: instance.tags.clone(),
            created: When(instance.created),
            links: Links {
                apps: format!("{own}/apps"),
                jobs: format!("/api/v1/jobs?instance={}", view.name),
                node: instance.node.map(|node| format!("/api/v1/nodes/{node}")),
                own,
            },
        }
    }
}

pub fn path(name: &str) -> String {
    format!("/api/v1/instances/{name}")
}

fn next(plan: &Plan) -> NextView {
    let planned = &plan.next;
    NextView {
        starts: planned.start.as_ref().map(|start| When(start.at)),
        stops: planned.stop.as_ref().map(|stop| StopView {
            at: When(stop.at),
            why: match stop.why {
                StopWhy::Schedule(_) => "schedule",
                StopWhy::Postponed => "postponed",
                StopWhy::Idle => "idle",
            },
            by: stop.by.clone(),
            is_draining: stop.is_draining,
        }),
        idle_stops: planned.idle.map(When),
        kept_until: planned.kept_until.map(When),
        is_announced: plan.is_announced,
    }
}

impl From<&Script> for ScriptView {
    fn from(script: &Script) -> Self {
        let limit_seconds = script.limit.as_millis() / 1_000;
        Self { blob: script.blob.clone(), arguments: script.arguments.clone(), limit_seconds }
    }
}

fn operation(operation: &Operation) -> OperationView {
    OperationView {
        verb: operation.verb,
        trigger: operation.trigger.key(),
        by: match &operation.trigger {
            Trigger::Person { name } | Trigger::Wake { name } => Some(name.to_string()),
            _ => None,
        },
        at: When(operation.at),
        result: operation.result.as_ref().map(|result| match result {
            OperationResult::Succeeded => "succeeded",
            OperationResult::Failed(_) => "failed",
            OperationResult::Overtaken => "overtaken",
        }),
        took_seconds: operation.took.map(seconds),
    }
}

fn start(start: read::StartView) -> StartView {
    let steps = start.bars.into_iter().map(|bar| StepView {
        step: bar.step,
        after_seconds: seconds(bar.after),
        took_seconds: seconds(bar.took),
        is_running: bar.is_running,
    });
    StartView {
        at: When(start.at),
        took_seconds: start.took.map(seconds),
        has_failed: start.has_failed,
        steps: steps.collect(),
    }
}

fn seconds(span: Span) -> f64 {
    span.as_millis() as f64 / 1_000.0
}
