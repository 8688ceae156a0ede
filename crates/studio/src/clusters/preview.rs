//! What other settings of a cluster would have done to its own jobs of the last days: the simulator on
//! recorded history.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use atelier_domain::UserId;
use atelier_domain::access::Action;
use atelier_domain::compute::cluster::{Cluster, ScaleSettings};
use atelier_domain::compute::fair_share::QueuePolicy;
use atelier_domain::compute::job::{JobState, Target, Verdict};
use atelier_domain::error::AppError;
use atelier_domain::text::{Problem, shortened};
use atelier_domain::time::{Span, Timestamp};
use atelier_engine::clock;
use atelier_engine::store::{JobFilter, JobRow};
use atelier_simulate::scenario::draft::{PolicyDraft, SizeDraft};
use atelier_simulate::{Draft, Recorded, Report, Scenario, Stopped, simulate};

use crate::caller::Caller;
use crate::clusters::typed::TypedScale;
use crate::fair_shares::order_of;
use crate::orders::ask;
use crate::seats::Seats;
use crate::typed::Problems;

/// How far it looks back.
pub const DAYS: u32 = 7;
const MOST_JOBS: usize = 50_000;
/// Jobs that are read at once.
const PAGE: i64 = 2_000;
const TIME_LIMIT: Duration = Duration::from_secs(20);
/// What may happen under one policy.
const MOST_EVENTS: u64 = 5_000_000;
/// How long work goes on after the last job came.
const WIND_DOWN: &str = "1 day";
/// People whose last preview is kept.
const MOST_KEPT: usize = 100;

/// Settings to be tried, as they were typed; what is empty stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Typed {
    pub min: String,
    pub max: String,
    /// For how many seconds a node stays idle.
    pub idle: String,
    /// Idle nodes that are kept ready.
    pub warm: String,
    /// `fifo` or `fair-share`.
    pub order: String,
    /// `on` or `off`.
    pub backfill: String,
}

/// A cluster as it is set, what was typed, and what came of it.
#[derive(Debug)]
pub struct Preview {
    pub cluster: String,
    pub scale: ScaleSettings,
    pub policy: QueuePolicy,
    /// How long a launch takes there.
    pub launch: Span,
    /// Jobs of the last days that ran there.
    pub jobs: usize,
    /// Whether there are more of them than are played.
    pub is_cut: bool,
    pub problems: Vec<Problem>,
    /// Why nothing was worked out, where no field is to blame.
    pub refusal: Option<String>,
    pub report: Option<Arc<Report>>,
}

/// Previews that were made lately, one for each person, and who waits for one.
#[derive(Default)]
pub struct Previews {
    busy: Seats<UserId>,
    kept: Mutex<HashMap<UserId, (Timestamp, Arc<Report>)>>,
}

impl Previews {
    fn keep(&self, person: &UserId, report: &Arc<Report>) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= MOST_KEPT
            && let Some(oldest) = kept.iter().min_by_key(|(_, (at, _))| *at).map(|(person, _)| person.clone())
        {
            kept.remove(&oldest);
        }
        kept.insert(person.clone(), (clock::now(), Arc::clone(report)));
    }

    pub fn last(&self, person: &UserId) -> Option<Arc<Report>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get(person).map(|(_, report)| Arc::clone(report))
    }
}

/// A cluster's settings, and what those that were typed would have done if any were. Needs `cluster.scale`.
pub async fn preview(caller: &Caller, name: &str, typed: Option<Typed>) -> Result<Preview, AppError> {
    let actor = caller.authorise(Action::ClusterScale).await?;
    let id = crate::clusters::commands::find(caller, name).await?;
    let workspace = actor.workspace.id.clone();
    let (own, whole) = (workspace.clone(), workspace.clone());
    let found = ask(caller, move |world| {
        let cluster = world.cluster(id).filter(|cluster| cluster.workspace == own)?.clone();
        Some((cluster, Draft::of_server(world, &whole)))
    });
    let (cluster, draft) = found.await?.ok_or_else(|| AppError::not_found("cluster"))?;
    let since = Timestamp(clock::now().0 - Span::hours(24 * DAYS).as_millis());
    let (rows, is_cut) = past_jobs(caller, Target::Cluster(id), since).await?;
    let mut preview = Preview {
        cluster: cluster.name.to_string(),
        scale: cluster.scale,
        policy: cluster.queue,
        launch: caller.studio.forecasts().launch_of(&cluster.size),
        jobs: rows.len(),
        is_cut,
        problems: Vec::new(),
        refusal: None,
        report: None,
    };
    let Some(typed) = typed.filter(|_| !rows.is_empty()) else { return Ok(preview) };
    let changes = match changes(&cluster, &typed) {
        Ok(changes) => changes,
        Err(problems) => {
            preview.problems = problems;
            return Ok(preview);
        }
    };
    let previews = caller.studio.previews();
    let Some(_turn) = previews.busy.take(&actor.person.id, 1) else {
        preview.refusal = Some("Another preview of yours is still being worked out. Wait until it is there.".into());
        return Ok(preview);
    };
    let name = cluster.name.to_string();
    let history = rows.iter().filter_map(|row| recorded(row, &name)).collect();
    let launch = format!("{} ms", preview.launch.as_millis());
    let sizes = draft.size.into_iter().map(|size| SizeDraft { launch: Some(launch.clone()), ..size });
    let draft = Draft {
        size: sizes.collect(),
        name: format!("{name}, the last {DAYS} days"),
        wind_down: Some(WIND_DOWN.into()),
        max_events: Some(MOST_EVENTS),
        currency: Some(caller.studio.settings().currency.clone()),
        cluster: draft.cluster.into_iter().filter(|draft| draft.name == name).collect(),
        policy: vec![PolicyDraft { name: "As it is".into(), ..PolicyDraft::default() }, changes],
        ..draft
    };
    let until = clock::instant() + TIME_LIMIT;
    let worked_out = tokio::task::spawn_blocking(move || play(&draft, history, until));
    match caller.checked(worked_out.await)? {
        Ok(report) => {
            let report = Arc::new(report);
            previews.keep(&actor.person.id, &report);
            preview.report = Some(report);
        }
        Err(why) => preview.refusal = Some(why),
    }
    Ok(preview)
}

fn play(draft: &Draft, history: Vec<Recorded>, until: std::time::Instant) -> Result<Report, String> {
    let scenario = Scenario::check(draft, history).map_err(|refused| refused.to_string())?;
    let mut hear = |_| if clock::instant() >= until { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    simulate(&scenario, &mut hear).map_err(|stopped| match stopped {
        Stopped::Canceled => format!(
            "It took longer than {} s, which is all that a preview gets. Export the jobs and use “atelier simulate”.",
            TIME_LIMIT.as_secs()
        ),
        other => other.to_string(),
    })
}

/// Jobs of a compute that are over, the newest first, and whether there are more than are read.
async fn past_jobs(caller: &Caller, target: Target, since: Timestamp) -> Result<(Vec<JobRow>, bool), AppError> {
    let workspace = &caller.actor()?.workspace.id;
    let states = JobState::ALL.into_iter().filter(|state| state.is_over()).collect();
    let mut filter = JobFilter { states, target: Some(target), limit: PAGE, ..JobFilter::default() };
    let mut found: Vec<JobRow> = Vec::new();
    loop {
        let rows = caller.checked(caller.store().jobs(workspace, &filter).await)?;
        let (read, last) = (rows.len(), rows.last().map(|row| (row.job.id, row.job.submitted)));
        found.extend(rows.into_iter().filter(|row| row.job.submitted >= since && row.job.when.started.is_some()));
        let Some((id, submitted)) = last.filter(|_| read as i64 == PAGE) else { return Ok((found, false)) };
        if submitted < since {
            return Ok((found, false));
        }
        if found.len() >= MOST_JOBS {
            return Ok((found, true));
        }
        filter.before = Some(id);
    }
}

fn recorded(row: &JobRow, cluster: &str) -> Option<Recorded> {
    let job = &row.job;
    let ran = job.when.ending.or(row.ended)?.since(job.when.started?);
    Some(Recorded {
        submitted: job.submitted,
        owner: job.owner.to_string(),
        cluster: Some(cluster.to_owned()),
        size: None,
        shape: job.spec.shape,
        nodes: job.spec.nodes,
        ran: u64::try_from(ran.as_millis()).unwrap_or_default(),
        time_limit: job.spec.timeout.and_then(|limit| u64::try_from(limit.as_millis()).ok()),
        priority: job.spec.priority,
        failed: !matches!(row.verdict, Some(Verdict::Succeeded)),
    })
}

/// What was typed, as a policy beside the present one.
fn changes(cluster: &Cluster, typed: &Typed) -> Result<PolicyDraft, Vec<Problem>> {
    let mut problems = Problems::default();
    let present = cluster.scale;
    let or = |typed: &str, present: String| if typed.trim().is_empty() { present } else { typed.to_owned() };
    let (min, max) = (or(&typed.min, present.min.to_string()), or(&typed.max, present.max.to_string()));
    let idle = or(&typed.idle, (present.idle.as_millis() / 1_000).to_string());
    let scale = TypedScale { min: &min, max: &max, idle: Some(&idle), warm: &typed.warm };
    let scale = scale.read(&mut problems, present.warm);
    let order = match typed.order.as_str() {
        "" => Some(cluster.queue.order),
        order => problems.take(order_of(order)),
    };
    let backfill = problems.take(match typed.backfill.as_str() {
        "" => Ok(cluster.queue.backfill),
        "on" => Ok(true),
        "off" => Ok(false),
        other => Err(Problem::new("backfill", format!("Backfill is on or off, not “{}”.", shortened(other)))),
    });
    let (Some(scale), Some(order), Some(backfill)) = (scale, order, backfill) else { return Err(problems.0) };
    Ok(PolicyDraft {
        name: "Changed".into(),
        min: Some(scale.min),
        max: Some(scale.max),
        idle: Some(format!("{} s", scale.idle.as_millis() / 1_000)),
        warm: Some(scale.warm),
        order: Some(order.key().to_owned()),
        backfill: Some(backfill),
        ..PolicyDraft::default()
    })
}
