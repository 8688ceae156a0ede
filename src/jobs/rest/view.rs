//! A job as the API shows it.

use atelier_domain::compute::job::{AfterWhat, ArrayPlace, JobState, PastAttempt, Target, Verdict};
use atelier_domain::compute::verb::JobVerb;
use atelier_domain::compute::{JobId, NodeId};
use atelier_domain::money::{Decimal, Money};
use atelier_engine::run::Catalogue;
use atelier_engine::store::JobRow;
use atelier_simulate::forecast::Eta;
use atelier_studio::caller::Actor;
use atelier_studio::jobs::view::{Standing, Why, offer};
use serde::Serialize;

use crate::jobs::rest::what_if::EtaView;
use crate::server::rest::people::{People, PersonView};
use crate::server::rest::view::{ReasonView, ResourcesView, When};

#[derive(Debug, Serialize)]
pub struct JobView {
    id: String,
    name: String,
    state: JobState,
    is_over: bool,
    reason: Option<ReasonView>,
    /// How far the environment is that it waits for, in numbers.
    progress: Option<String>,
    position: Option<PositionView>,
    /// When it starts, while it waits; only where one job is asked for.
    eta: Option<EtaView>,
    owner: PersonView,
    target: TargetView,
    priority: &'static str,
    /// Whether dedicated work may take its nodes back, if it is serverless.
    tier: &'static str,
    /// Who holds it, if anyone.
    held: Option<HeldView>,
    /// The jobs that it waits for, or waited for.
    after: Vec<AfterView>,
    /// The environment that it runs with, by its version.
    python_environment: Option<String>,
    resources: Needs,
    timeout_seconds: Option<i64>,
    /// The present or last attempt, from 1; 0 before the first.
    attempt: u32,
    /// The nodes of that attempt.
    nodes: Vec<String>,
    attempts: Vec<AttemptView>,
    times: Times,
    verdict: Option<VerdictView>,
    exit_code: Option<i32>,
    array: Option<ArrayView>,
    /// What it has cost so far. Null where that is not for the caller to know, and where the answer waited.
    cost: Option<Decimal>,
    /// What the caller may do to it now.
    actions: Vec<&'static str>,
    tags: atelier_domain::compute::tags::Tags,
    links: Links,
}

#[derive(Debug, Serialize)]
struct HeldView {
    by: String,
    why: String,
    since: When,
}

#[derive(Debug, Serialize)]
struct AfterView {
    job: String,
    needs: AfterWhat,
    /// Whether it is over.
    is_over: bool,
}

#[derive(Debug, Serialize)]
struct PositionView {
    place: u64,
    of: u64,
}

#[derive(Debug, Serialize)]
struct TargetView {
    kind: &'static str,
    /// The cluster's or instance's name, or the size of a serverless job.
    name: String,
}

#[derive(Debug, Serialize)]
struct Needs {
    nodes: u32,
    #[serde(flatten)]
    each: ResourcesView,
}

#[derive(Debug, Serialize)]
struct AttemptView {
    attempt: u32,
    nodes: Vec<String>,
    started: Option<When>,
    ended: When,
    verdict: VerdictView,
}

#[derive(Debug, Serialize)]
struct Times {
    submitted: When,
    /// When its nodes were told to start it.
    assigned: Option<When>,
    started: Option<When>,
    /// When its last process had ended, or it was told to end.
    ending: Option<When>,
    ended: Option<When>,
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

#[derive(Debug, Serialize)]
struct ArrayView {
    first: String,
    index: u32,
    count: u32,
}

#[derive(Debug, Serialize)]
struct Links {
    #[serde(rename = "self")]
    own: String,
    log: String,
    cancel: String,
}

impl JobView {
    /// From what the store and the engine know. `charged` is none where the cost is not for `actor` to know.
    pub fn of(
        row: JobRow,
        standing: Option<Standing>,
        eta: Option<Eta>,
        catalogue: &Catalogue,
        people: &People,
        actor: &Actor,
        charged: Option<Money>,
    ) -> Self {
        let actions = offer(actor, &row).allowed().map(JobVerb::key).collect();
        // What was known of it while it waited says nothing about one that is over.
        let standing = standing.filter(|_| row.ended.is_none());
        let unsettled = standing.as_ref().map_or(Money::ZERO, |standing| standing.unsettled);
        let JobRow { job, state, ended, verdict, name, tags } = row;
        let is_over = state.is_over();
        let exit_code = match &verdict {
            Some(Verdict::Succeeded) => Some(0),
            Some(Verdict::Exited { code }) => Some(*code),
            _ => None,
        };
        Self {
            id: job.id.to_string(),
            name,
            state,
            is_over,
            position: standing.as_ref().and_then(|it| it.position).map(|(place, of)| PositionView { place, of }),
            progress: standing.as_ref().and_then(|standing| standing.progress.clone()),
            reason: standing.and_then(|standing| standing.reason).map(ReasonView::from),
            eta: eta.map(EtaView::from),
            owner: people.view(&job.owner),
            target: target_view(&job.spec.target, catalogue),
            priority: job.spec.priority.key(),
            tier: job.spec.tier.key(),
            held: job.held.map(|held| HeldView { by: held.by.to_string(), why: held.why, since: When(held.since) }),
            after: job
                .spec
                .after
                .iter()
                .map(|after| AfterView {
                    job: after.job.to_string(),
                    needs: after.needs,
                    is_over: after.ended.is_some(),
                })
                .collect(),
            python_environment: job.spec.environment.as_ref().map(ToString::to_string),
            resources: Needs { nodes: job.spec.nodes, each: job.spec.shape.into() },
            timeout_seconds: job.spec.timeout.map(|span| span.as_millis() / 1_000),
            attempt: job.attempt,
            nodes: job.allocations.iter().map(|allocation| allocation.node.to_string()).collect(),
            attempts: job.past.into_iter().map(AttemptView::from).collect(),
            times: Times {
                submitted: When(job.submitted),
                assigned: job.when.assigned.map(When),
                started: job.when.started.map(When),
                ending: job.when.ending.map(When),
                ended: ended.map(When),
            },
            verdict: verdict.map(|verdict| VerdictView::of(verdict, job.attempt)),
            exit_code,
            array: job.array.map(ArrayView::from),
            cost: charged.map(|cost| cost.plus(unsettled).decimal()),
            actions,
            tags,
            links: Links {
                own: path(job.id),
                log: format!("{}/log", path(job.id)),
                cancel: format!("{}/cancel", path(job.id)),
            },
        }
    }
}

/// The address of a job.
pub fn path(job: JobId) -> String {
    format!("/api/v1/jobs/{job}")
}

fn target_view(target: &Target, catalogue: &Catalogue) -> TargetView {
    match target {
        Target::Cluster(id) => TargetView {
            kind: "cluster",
            // One that is gone is still known by its number.
            name: catalogue.cluster_name(*id).map_or_else(|| id.to_string(), ToString::to_string),
        },
        Target::Instance(id) => TargetView {
            kind: "instance",
            name: catalogue.instance_name(*id).map_or_else(|| id.to_string(), ToString::to_string),
        },
        Target::Serverless(size) => TargetView { kind: "serverless", name: size.to_string() },
    }
}

impl VerdictView {
    fn of(verdict: Verdict, attempt: u32) -> Self {
        let (sentence, next_step) = Why::of_end(&verdict, attempt).map(|why| (why.sentence, why.next_step)).unzip();
        Self { phrase: verdict.phrase(), sentence, next_step: next_step.flatten(), verdict }
    }
}

impl From<PastAttempt> for AttemptView {
    fn from(past: PastAttempt) -> Self {
        Self {
            attempt: past.attempt,
            nodes: past.nodes.iter().map(NodeId::to_string).collect(),
            started: past.when.started.map(When),
            ended: When(past.ended),
            verdict: VerdictView::of(past.verdict, past.attempt),
        }
    }
}

impl From<ArrayPlace> for ArrayView {
    fn from(place: ArrayPlace) -> Self {
        Self { first: place.first.to_string(), index: place.index, count: place.count }
    }
}
