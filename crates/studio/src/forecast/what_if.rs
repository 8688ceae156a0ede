//! What would become of a job on each compute, before anybody submits it.

use atelier_domain::Timestamp;
use atelier_domain::access::{Action, Whose};
use atelier_domain::compute::job::{JobSpec, Target};
use atelier_domain::compute::size::{Size, SizeName, Tier};
use atelier_domain::error::AppError;
use atelier_domain::time::Span;
use atelier_domain::world::PoolKey;
use atelier_engine::clock;
use atelier_simulate::forecast::{self, Eta, WhatIf};

use crate::caller::Caller;
use crate::clusters::commands::tier_of;
use crate::forecast::etas::MOST;
use crate::jobs::submit::{JobRequest, Prepared, prepare};
use crate::orders::{ask, said};

/// The most clusters in a table, and the most sizes.
const MOST_CLUSTERS: usize = 8;
const MOST_SIZES: usize = 6;

/// One line of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The cluster's name; none for nodes of its own.
    pub cluster: Option<String>,
    pub size: String,
    /// Whether dedicated work may take those nodes back.
    pub tier: Tier,
    /// Whether this is what stands in the form.
    pub is_asked: bool,
    pub start: Option<Timestamp>,
    pub end: Option<Timestamp>,
    /// What it costs at most, in billionths of the currency; none if nobody knows how long it takes.
    pub cost: Option<u64>,
    /// Why one of these is missing, or what happens before it starts.
    pub note: String,
}

/// A table of choices, and how long such jobs take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choices {
    pub rows: Vec<Choice>,
    /// How long such a job runs, as far as anybody knows.
    pub run: Option<Span>,
    /// Whether that is how long jobs of that name took; else it is the time limit.
    pub is_usual: bool,
    pub currency: String,
}

struct Candidate {
    cluster: Option<String>,
    size: Size,
    tier: Tier,
    judged: Result<JobSpec, String>,
    is_asked: bool,
}

/// Tries a job on every cluster of the workspace, and on nodes of its own of each size that fits, in both
/// tiers. Nothing is submitted. Needs `job.submit`.
pub async fn choices(caller: &Caller, request: &JobRequest) -> Result<Choices, AppError> {
    let actor = caller.authorise_for(Action::JobSubmit, Whose::Own).await?;
    // All fields are judged once, with the files; the tries after it only go by what they need.
    prepare(caller, request).await?;
    let name = request.shown_name();
    let workspace = actor.workspace.id.clone();
    let forecasts = caller.studio.forecasts();
    let usual = forecasts.usual_run(&caller.studio, &workspace, &name).await;
    let limit = request.timeout_seconds.map(|seconds| Span::seconds(u32::try_from(seconds).unwrap_or(u32::MAX)));
    let run = match (usual, limit) {
        (Some(usual), Some(limit)) => Some(usual.min(limit)),
        (usual, limit) => usual.or(limit),
    };
    let candidates = candidates(caller, request).await?;
    let pool = |spec: &JobSpec| match &spec.target {
        Target::Cluster(id) => PoolKey::Cluster(*id),
        Target::Instance(id) => PoolKey::Instance(*id),
        Target::Serverless(size) => PoolKey::Serverless(workspace.clone(), size.clone(), spec.tier),
    };
    let pools: Vec<PoolKey> = candidates.iter().filter_map(|it| it.judged.as_ref().ok()).map(pool).collect();
    let excerpts = ask(caller, move |world| {
        let mut excerpts = Vec::new();
        for pool in pools {
            let excerpt = world.excerpt(&pool, &[], MOST);
            let is_whole = excerpt.is_whole;
            excerpts.push(excerpt);
            if is_whole {
                break;
            }
        }
        excerpts
    })
    .await?;
    let mut known = Vec::with_capacity(excerpts.len());
    for excerpt in &excerpts {
        known.push(forecasts.known(&caller.studio, excerpt).await.unwrap_or_default());
    }
    let person = actor.person.id.clone();
    let now = clock::now();
    let turn = forecasts.turn.acquire().await;
    let _one_at_a_time = caller.checked(turn)?;
    let count = u64::from(request.array.unwrap_or(1));
    let rows = tokio::task::spawn_blocking(move || {
        let mut next = 0;
        let mut rows = Vec::with_capacity(candidates.len());
        for candidate in candidates {
            let tried = match &candidate.judged {
                Ok(spec) => {
                    // One excerpt of all serves all; else each has its own.
                    let place = next.min(excerpts.len().saturating_sub(1));
                    next += 1;
                    match (excerpts.get(place), known.get(place)) {
                        (Some(excerpt), Some(known)) => {
                            let who = (&workspace, &person);
                            Ok(forecast::what_if(excerpt.clone(), known, now, who, spec, run))
                        }
                        _ => Err("The engine could not be asked.".to_owned()),
                    }
                }
                Err(problem) => Err(problem.clone()),
            };
            rows.push(choice(candidate, tried, run, count));
        }
        rows
    });
    let rows = caller.checked(rows.await)?;
    let currency = caller.studio.settings().currency.clone();
    Ok(Choices { rows, run, is_usual: usual.is_some() && run == usual, currency })
}

/// Where such a job might run: on the clusters, the chosen one first, then on nodes of its own, the cheapest
/// first.
async fn candidates(caller: &Caller, request: &JobRequest) -> Result<Vec<Candidate>, AppError> {
    let workspace = caller.actor()?.workspace.id.clone();
    let (mut clusters, mut sizes): (Vec<(String, SizeName, Tier)>, Vec<Size>) = ask(caller, move |world| {
        let ours = world.clusters().filter(|cluster| cluster.workspace == workspace);
        let clusters = ours.map(|cluster| (cluster.name.to_string(), cluster.size.clone(), cluster.tier)).collect();
        (clusters, world.sizes().cloned().collect())
    })
    .await?;
    clusters.sort_by_key(|(name, ..)| (*name != request.cluster, name.clone()));
    clusters.truncate(MOST_CLUSTERS);
    sizes.sort_by_key(|size| (size.name.as_str() != request.size, size.price, size.name.clone()));
    // What it runs and prints makes no difference to when it starts.
    let plain = JobRequest {
        command: vec!["true".into()],
        script: String::new(),
        files: Vec::new(),
        environment: Default::default(),
        ..request.clone()
    };
    let mut found = Vec::new();
    for (name, size, tier) in clusters {
        let Some(size) = sizes.iter().find(|known| known.name == size).cloned() else { continue };
        let tried = JobRequest { cluster: name.clone(), size: String::new(), ..plain.clone() };
        let judged = judged(prepare(caller, &tried).await)?;
        let is_asked = name == request.cluster;
        found.push(Candidate { cluster: Some(name), size, tier, judged, is_asked });
    }
    let fits = |size: &Size| {
        let cores = request.cores.is_none_or(|cores| cores * 1_000.0 <= size.shape.cores as f64);
        let memory = request.memory_mib.is_none_or(|memory| memory <= size.shape.memory);
        cores && memory && request.gpus.is_none_or(|gpus| gpus <= size.shape.gpus)
    };
    let fitting = sizes.into_iter().filter(|size| fits(size) || size.name.as_str() == request.size).take(MOST_SIZES);
    let cheapest = request.cluster.is_empty() && request.size.is_empty();
    let typed_tier = tier_of(&request.tier).unwrap_or_default();
    for (place, size) in fitting.enumerate() {
        let tried = JobRequest { cluster: String::new(), size: size.name.to_string(), ..plain.clone() };
        let judged = judged(prepare(caller, &tried).await)?;
        for tier in Tier::ALL {
            let judged = judged.clone().map(|spec| JobSpec { tier, ..spec });
            let is_named =
                request.cluster.is_empty() && (size.name.as_str() == request.size || (cheapest && place == 0));
            let is_asked = is_named && tier == typed_tier;
            found.push(Candidate { cluster: None, size: size.clone(), tier, judged, is_asked });
        }
    }
    Ok(found)
}

fn judged(prepared: Result<Prepared<'_>, AppError>) -> Result<Result<JobSpec, String>, AppError> {
    match prepared {
        Ok(prepared) => Ok(Ok(prepared.spec().clone())),
        Err(AppError::Invalid { problems }) => {
            Ok(Err(problems.into_iter().map(|problem| problem.message).collect::<Vec<_>>().join(" ")))
        }
        Err(other) => Err(other),
    }
}

fn choice(candidate: Candidate, tried: Result<WhatIf, String>, run: Option<Span>, count: u64) -> Choice {
    let Candidate { cluster, size, tier, judged, is_asked } = candidate;
    let nodes = judged.as_ref().map_or(1, |spec| u64::from(spec.nodes));
    let cost = run.map(|run| size.price.for_span(run).saturating_mul(nodes).saturating_mul(count));
    let (start, end, cost, note) = match tried {
        Err(problem) => (None, None, None, problem),
        Ok(WhatIf::Refused(reason)) => (None, None, None, said(&reason)),
        Ok(WhatIf::Queued(Eta::Unknown(why))) => (None, None, cost, why.sentence()),
        Ok(WhatIf::Queued(Eta::Start { at, end, until })) => (Some(at), end, cost, before(&until)),
    };
    Choice { cluster, size: size.name.to_string(), tier, is_asked, start, end, cost, note }
}

/// What happens before a job starts: `3 jobs end by then`.
pub fn before(until: &forecast::Until) -> String {
    use atelier_domain::text::counted;
    let ended = (until.ended > 0).then(|| {
        format!(
            "{} before it {} by then",
            counted(until.ended, "job", "jobs"),
            if until.ended == 1 { "ends" } else { "end" }
        )
    });
    let launched = (until.launched > 0).then(|| {
        format!(
            "{} {} up by then",
            counted(until.launched, "node", "nodes"),
            if until.launched == 1 { "is" } else { "are" }
        )
    });
    ended.into_iter().chain(launched).collect::<Vec<_>>().join(", ")
}
