//! A job as the API shows it.

use atelier_domain::compute::job::{Target, Verdict};
use atelier_domain::compute::verb::JobVerb;
use atelier_domain::compute::{JobId, NodeId};
use atelier_domain::money::Money;
use atelier_engine::run::Catalogue;
use atelier_engine::store::JobRow;
use atelier_simulate::forecast::Eta;
use atelier_studio::caller::Actor;
use atelier_studio::jobs::view::{Standing, Why, offer};
use serde::Serialize;

use crate::jobs::rest::what_if::EtaView;
use crate::server::rest::people::People;
use crate::server::rest::view::{ReasonView, ResourcesView, When, object};

/// From what the store and the engine know. `charged` is none where the cost is not for `actor` to know, and
/// where the answer waited.
pub fn job(
    row: JobRow,
    standing: Option<Standing>,
    eta: Option<Eta>,
    catalogue: &Catalogue,
    people: &People,
    actor: &Actor,
    charged: Option<Money>,
) -> impl Serialize + use<> {
    let actions = offer(actor, &row).allowed().map(JobVerb::key).collect::<Vec<_>>();
    // What was known of it while it waited says nothing about one that is over.
    let standing = standing.filter(|_| row.ended.is_none());
    let unsettled = standing.as_ref().map_or(Money::ZERO, |standing| standing.unsettled);
    let JobRow { job, state, ended, verdict, name, tags } = row;
    let (spec, path) = (job.spec, path(job.id));
    let (kind, target) = match &spec.target {
        // One that is gone is still known by its number.
        Target::Cluster(id) => {
            ("cluster", catalogue.cluster_name(*id).map_or_else(|| id.to_string(), ToString::to_string))
        }
        Target::Instance(id) => ("instance", id.to_string()),
        Target::Serverless(size) => ("serverless", size.to_string()),
    };
    object! {
        id: job.id.to_string(),
        name: name,
        state: state,
        is_over: state.is_over(),
        // How far the environment is that it waits for, in numbers.
        progress: standing.as_ref().and_then(|standing| standing.progress.clone()),
        position: standing.as_ref().and_then(|it| it.position).map(|(place, of)| object! { place: place, of: of }),
        reason: standing.and_then(|standing| standing.reason).map(ReasonView::from),
        // When it starts, while it waits; only where one job is asked for.
        eta: eta.map(EtaView::from),
        owner: people.view(&job.owner),
        target: object! { kind: kind, name: target },
        priority: spec.priority.key(),
        // Whether dedicated work may take its nodes back, if it is serverless.
        tier: spec.tier.key(),
        // Who holds it, if anyone.
        held: job.held.map(|held| object! { by: held.by.to_string(), why: held.why, since: When(held.since) }),
        // The jobs that it waits for, or waited for.
        after: spec.after.iter().map(|after| object! {
            job: after.job.to_string(), needs: after.needs, is_over: after.ended.is_some(),
        }).collect::<Vec<_>>(),
        // The environment that it runs with, by its version.
        python_environment: spec.environment.as_ref().map(ToString::to_string),
        resources: object! {
            nodes: spec.nodes,
            #[serde(flatten)]
            each: ResourcesView::from(spec.shape),
        },
        timeout_seconds: spec.timeout.map(|span| span.as_millis() / 1_000),
        // The present or last attempt, from 1; 0 before the first. The nodes are those of that attempt.
        attempt: job.attempt,
        nodes: job.allocations.iter().map(|allocation| allocation.node.to_string()).collect::<Vec<_>>(),
        attempts: job.past.into_iter().map(|past| object! {
            attempt: past.attempt,
            nodes: past.nodes.iter().map(NodeId::to_string).collect::<Vec<_>>(),
            started: past.when.started.map(When),
            ended: When(past.ended),
            verdict: VerdictView::of(past.verdict, past.attempt),
        }).collect::<Vec<_>>(),
        times: object! {
            submitted: When(job.submitted),
            // When its nodes were told to start it.
            assigned: job.when.assigned.map(When),
            started: job.when.started.map(When),
            // When its last process had ended, or it was told to end.
            ending: job.when.ending.map(When),
            ended: ended.map(When),
        },
        exit_code: match &verdict {
            Some(Verdict::Succeeded) => Some(0),
            Some(Verdict::Exited { code }) => Some(*code),
            _ => None,
        },
        verdict: verdict.map(|verdict| VerdictView::of(verdict, job.attempt)),
        array: job.array.map(|place| object! {
            first: place.first.to_string(), index: place.index, count: place.count,
        }),
        cost: charged.map(|cost| cost.plus(unsettled).decimal()),
        // What the caller may do to it now.
        actions: actions,
        tags: tags,
        links: object! {
            #[serde(rename = "self")]
            own: path.clone(),
            log: format!("{path}/log"),
            cancel: format!("{path}/cancel"),
        },
    }
}

/// The address of a job.
pub fn path(job: JobId) -> String {
    format!("/api/v1/jobs/{job}")
}

#[derive(Debug, Serialize)]
struct VerdictView {
    #[serde(flatten)]
    verdict: Verdict,
    /// As the end of a sentence that starts with the job.
    phrase: String,
    /// The same as a whole sentence; none for one that ended well.
    #[serde(skip_serializing_if = "Option::is_none")]
    sentence: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_step: Option<String>,
}

impl VerdictView {
    fn of(verdict: Verdict, attempt: u32) -> Self {
        let (sentence, next_step) = Why::of_end(&verdict, attempt).map(|why| (why.sentence, why.next_step)).unzip();
        Self { phrase: verdict.phrase(), sentence, next_step: next_step.flatten(), verdict }
    }
}
