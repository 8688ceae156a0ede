//! Instances as the API shows them.

use atelier_domain::compute::instance::{Operation, OperationResult, Trigger};
use atelier_domain::compute::notice::StopWhy;
use atelier_domain::compute::script::Script;
use atelier_domain::time::Span;
use atelier_studio::instances::plan::Plan;
use atelier_studio::instances::view::{self as read, Cause};
use serde::Serialize;

use crate::server::rest::people::People;
use crate::server::rest::view::{ReasonView, ResourcesView, When, object};

pub fn instance(view: &read::InstanceView, people: &People) -> impl Serialize + use<> {
    let (instance, own) = (&view.instance, path(&view.name));
    object! {
        id: instance.id.to_string(),
        name: view.name.clone(),
        state: view.state,
        // Whether nothing goes on that leads to another state by itself.
        is_settled: read::is_settled(instance),
        // What it waits for, or how the last operation failed.
        reason: view.cause.as_ref().map(CauseView::from),
        owner: people.view(&instance.owner),
        creator: people.view(instance.creator()),
        size: instance.size.to_string(),
        resources: view.size.as_ref().map(|size| ResourcesView::from(size.shape)),
        node: instance.node.map(|node| node.to_string()),
        next: next(&view.plan),
        idle: instance.idle.as_ref().map(|idle| object! {
            minutes: idle.window.as_millis() / 60_000,
            counts: idle.counts.clone(),
            is_by_policy: instance.idle_by_policy,
            quiet_seconds: instance.watch.quiet.as_millis() / 1_000,
        }),
        keeps_quota: instance.keeps_quota,
        scripts: scripts(
            instance.scripts.creation.as_ref().map(script),
            instance.scripts.startup.as_ref().map(script),
            instance.scripts_revision,
            instance.scripts_accepted,
        ),
        operation: operation(&instance.operation),
        start: view.start().map(start),
        jobs: view.plan.jobs,
        tags: instance.tags.clone(),
        created: When(instance.created),
        links: object! {
            #[serde(rename = "self")]
            own: own.clone(),
            apps: format!("{own}/apps"),
            jobs: format!("/api/v1/jobs?instance={}", view.name),
            node: instance.node.map(|node| format!("/api/v1/nodes/{node}")),
        },
    }
}

pub fn path(name: &str) -> String {
    format!("/api/v1/instances/{name}")
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum CauseView {
    Reason(ReasonView),
    Node { code: &'static str, sentence: String, next_step: Option<String> },
}

impl From<&Cause> for CauseView {
    fn from(cause: &Cause) -> Self {
        match cause {
            Cause::Reason(reason) => Self::Reason(reason.clone().into()),
            _ => Self::Node { code: cause.code(), sentence: cause.sentence(), next_step: cause.next_step() },
        }
    }
}

fn next(plan: &Plan) -> impl Serialize + use<> {
    let planned = &plan.next;
    object! {
        starts: planned.start.as_ref().map(|start| When(start.at)),
        stops: planned.stop.as_ref().map(|stop| object! {
            at: When(stop.at),
            why: match stop.why {
                StopWhy::Schedule(_) => "schedule",
                StopWhy::Postponed => "postponed",
                StopWhy::Idle => "idle",
            },
            by: stop.by.clone(),
            is_draining: stop.is_draining,
        }),
        // When it stops if nothing counts as activity from now on.
        idle_stops: planned.idle.map(When),
        // Idle shutdown waits until then.
        kept_until: planned.kept_until.map(When),
        is_announced: plan.is_announced,
    }
}

/// Both scripts, with their texts or without. Accepted ones get the owner's home: the owner set or accepted
/// them.
pub fn scripts<S: Serialize>(creation: Option<S>, startup: Option<S>, revision: u32, accepted: bool) -> impl Serialize {
    object! { creation: creation, startup: startup, revision: revision, is_accepted: accepted }
}

pub fn script(script: &Script) -> impl Serialize + use<> {
    object! {
        blob: script.blob.clone(),
        arguments: script.arguments.clone(),
        limit_seconds: script.limit.as_millis() / 1_000,
    }
}

fn operation(operation: &Operation) -> impl Serialize + use<> {
    object! {
        verb: operation.verb,
        trigger: operation.trigger.key(),
        by: match &operation.trigger {
            Trigger::Person { name } | Trigger::Wake { name } => Some(name.to_string()),
            _ => None,
        },
        at: When(operation.at),
        // Null while it goes on.
        result: operation.result.as_ref().map(|result| match result {
            OperationResult::Succeeded => "succeeded",
            OperationResult::Failed(_) => "failed",
            OperationResult::Overtaken => "overtaken",
        }),
        took_seconds: operation.took.map(seconds),
    }
}

fn start(start: read::StartView) -> impl Serialize + use<> {
    let steps = start.bars.into_iter().map(|bar| {
        object! {
            step: bar.step,
            after_seconds: seconds(bar.after),
            took_seconds: seconds(bar.took),
            is_running: bar.is_running,
        }
    });
    object! {
        at: When(start.at),
        // Until it could be used; null while it goes on or if it failed.
        took_seconds: start.took.map(seconds),
        has_failed: start.has_failed,
        steps: steps.collect::<Vec<_>>(),
    }
}

fn seconds(span: Span) -> f64 {
    span.as_millis() as f64 / 1_000.0
}
