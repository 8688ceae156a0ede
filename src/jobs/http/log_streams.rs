//! What jobs print, as a stream that follows it and as a file.
//!
//! The stream (`…/log/events`) names a log by `attempt` and `node`, or follows the newest there is: it waits
//! for a job that has not begun, and goes on with the next attempt.

use std::sync::Arc;
use std::time::Duration;

use atelier_domain::WorkspaceId;
use atelier_domain::compute::{JobId, NodeId};
use atelier_engine::fleet::LogName;
use atelier_studio::caller::Actor;
use atelier_studio::jobs::detail::{find, newest};
use atelier_studio::jobs::log::JobLog;
use atelier_studio::jobs::retention;
use axum::extract::{Path as Places, Query, Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use serde::Deserialize;
use tokio::sync::watch;

use crate::error::AppError;
use crate::server::log_mark::Mark;
use crate::server::log_stream::{self, Known, Source, last_id, refused};
use crate::server::state::AppState;
use crate::server::{caller, downloads, plain_page};

/// How often a job is looked at that does not print.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

#[derive(Clone, Debug, Default, Deserialize)]
pub struct Wanted {
    attempt: Option<u32>,
    node: Option<u64>,
    /// How much is known already: `attempt-node-offset`.
    #[serde(default)]
    after: String,
}

impl Wanted {
    fn name(&self, job: JobId) -> Option<LogName> {
        Some(LogName { job, attempt: self.attempt?, node: NodeId(self.node?) })
    }
}

/// Hands out a whole log.
pub async fn download(
    State(state): State<AppState>,
    Places((_, id)): Places<(String, String)>,
    Query(wanted): Query<Wanted>,
    request: Request,
) -> Response {
    let request_id = downloads::request_id(&request);
    let (parts, _) = request.into_parts();
    let found = async {
        let caller = caller::of(&state, &parts)?;
        let row = find(&caller, &id).await?;
        let removed = retention::removed_after(&caller.studio, row.ended, atelier_engine::clock::now());
        let logs = caller.studio.fleet().logs().clone();
        let opened = tokio::task::spawn_blocking(move || {
            let name =
                wanted.name(row.job.id).or_else(|| newest(&logs.list(row.job.id), &row).map(|info| info.name))?;
            std::fs::File::open(logs.path(name)).ok().map(|file| (name, file))
        });
        match (caller.checked(opened.await)?, removed) {
            (Some(found), _) => Ok(Ok(found)),
            (None, Some(days)) => Ok(Err(days)),
            (None, None) => Err(AppError::not_found("log")),
        }
    };
    match found.await {
        Ok(Err(days)) => {
            plain_page::page(StatusCode::GONE, "This log was removed", &retention::sentence(days), &request_id)
        }
        Ok(Ok((name, file))) => {
            let called = format!("{}.{}.{}.log", name.job, name.attempt, name.node);
            downloads::file(file, &called, "text/plain; charset=utf-8", None)
        }
        Err(error) => downloads::refused(&error, StatusCode::NOT_FOUND, &request_id),
    }
}

pub async fn follow(
    State(state): State<AppState>,
    Places((_, id)): Places<(String, String)>,
    Query(wanted): Query<Wanted>,
    headers: HeaderMap,
    request: Request,
) -> Response {
    let (parts, _) = request.into_parts();
    let found = async {
        let caller = caller::of(&state, &parts)?;
        let row = find(&caller, &id).await?;
        Ok((row.job.id, caller.shared_actor()?))
    };
    let (job, actor): (JobId, Arc<Actor>) = match found.await {
        Ok(found) => found,
        Err(error) => return refused(&error),
    };
    let logs = state.fleet().logs();
    let known = Mark::parse(job, last_id(&headers, &wanted.after));
    let known = known.map(|mark| Known { log: JobLog::new(logs, mark.name), offset: mark.offset });
    let named = wanted.name(job).map(|name| JobLog::new(logs, name));
    let workspace = actor.workspace.id.clone();
    let revisions = state.live().watch();
    let source = OfJob { state: state.clone(), workspace, job, named, growth: None, revisions };
    log_stream::follow(&state, actor, source, known)
}

struct OfJob {
    state: AppState,
    workspace: WorkspaceId,
    job: JobId,
    /// The one that was asked for; without it the newest is followed.
    named: Option<JobLog>,
    /// Tells while the known log is being printed.
    growth: Option<watch::Receiver<u64>>,
    revisions: watch::Receiver<i64>,
}

impl Source for OfJob {
    type Log = JobLog;

    fn id(log: &JobLog, offset: u64) -> String {
        Mark { name: log.name, offset }.id()
    }

    fn part(log: &JobLog) -> String {
        format!("{{\"attempt\":{},\"node\":{}}}", log.name.attempt, log.name.node.0)
    }

    async fn grows(&mut self, log: Option<&JobLog>) -> bool {
        self.revisions.borrow_and_update();
        self.growth = log.and_then(|log| self.state.fleet().logs().follow(log.name));
        self.growth.is_some()
    }

    async fn look(&mut self) -> (Option<JobLog>, bool) {
        let logs = self.state.fleet().logs().clone();
        if let Some(named) = &self.named {
            return (Some(named.clone()), logs.follow(named.name).is_none());
        }
        let Ok(Some(row)) = self.state.store().job(&self.workspace, self.job).await else { return (None, false) };
        let is_over = row.ended.is_some();
        let found = tokio::task::spawn_blocking(move || {
            newest(&logs.list(row.job.id), &row).map(|info| JobLog::new(&logs, info.name))
        });
        (found.await.ok().flatten(), is_over)
    }

    async fn more(&mut self) {
        match &mut self.growth {
            // Its end is news too.
            Some(growth) => drop(growth.changed().await),
            None => tokio::select! {
                _ = self.revisions.changed() => {}
                () = tokio::time::sleep(LOOK_AGAIN) => {}
            },
        }
    }
}
