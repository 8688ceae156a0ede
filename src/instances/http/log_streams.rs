//! What instances print, as a stream that follows it and as a file.
//!
//! While the instance has a node its agent is asked for what comes; where that is not to be had, and once the
//! node is gone, the file says all there is.

use std::sync::Arc;
use std::time::Duration;

use atelier_domain::compute::app::{SETUP_LOG, setup_of};
use atelier_domain::compute::{InstanceId, NodeId};
use atelier_protocol::Target;
use atelier_studio::caller::{Actor, Caller};
use atelier_studio::instances::commands::{Subject, find};
use atelier_studio::instances::logs::{LogFile, may_read};
use atelier_studio::jobs::log::Printed as _;
use axum::extract::{Path as Places, Query, Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use serde::Deserialize;
use tokio::io::AsyncReadExt as _;

use crate::error::AppError;
use crate::server::log_stream::{self, Known, Source, last_id, refused};
use crate::server::state::AppState;
use crate::server::{caller, downloads};

/// How often a file is polled that reports no changes.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// How much is known already.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Sent {
    #[serde(default)]
    after: String,
}

async fn subject_of(caller: &Caller, name: &str) -> Result<Subject, AppError> {
    let subject = find(caller, name).await?;
    may_read(caller, &subject).await?;
    Ok(subject)
}

pub async fn download(
    State(state): State<AppState>,
    Places((_, name, log)): Places<(String, String, String)>,
    request: Request,
) -> Response {
    let request_id = downloads::request_id(&request);
    let (parts, _) = request.into_parts();
    let found = async {
        let caller = caller::of(&state, &parts)?;
        let subject = subject_of(&caller, &name).await?;
        let folders = caller.studio.fleet().folders().clone();
        let wanted = log.clone();
        let opened = tokio::task::spawn_blocking(move || {
            LogFile::of(&folders, subject.id, &wanted).and_then(|file| std::fs::File::open(file.path()).ok())
        });
        caller.checked(opened.await)?.ok_or_else(|| AppError::not_found("log"))
    };
    match found.await {
        Ok(file) => downloads::file(file, &format!("{name}.{log}.log"), "text/plain; charset=utf-8", None),
        Err(error) => downloads::refused(&error, StatusCode::NOT_FOUND, &request_id),
    }
}

pub async fn follow(
    State(state): State<AppState>,
    Places((_, name, log)): Places<(String, String, String)>,
    Query(sent): Query<Sent>,
    headers: HeaderMap,
    request: Request,
) -> Response {
    let (parts, _) = request.into_parts();
    let found = async {
        let caller = caller::of(&state, &parts)?;
        let subject = subject_of(&caller, &name).await?;
        let file = LogFile::of(state.fleet().folders(), subject.id, &log).ok_or_else(|| AppError::not_found("log"))?;
        Ok((subject.id, file, caller.shared_actor()?))
    };
    let (instance, file, actor): (InstanceId, LogFile, Arc<Actor>) = match found.await {
        Ok(found) => found,
        Err(error) => return refused(&error),
    };
    let known = Known { log: file.clone(), offset: last_id(&headers, &sent.after).parse().unwrap_or_default() };
    let unheard = Some(Target::Log { instance, name: agents_name(log), offset: known.offset });
    let source = OfInstance { state: state.clone(), instance, file, unheard, news: None };
    log_stream::follow(&state, actor, source, Some(known))
}

/// What the agent calls a log.
fn agents_name(log: String) -> String {
    if setup_of(&log).is_some() { SETUP_LOG.to_owned() } else { log }
}

struct OfInstance {
    state: AppState,
    instance: InstanceId,
    file: LogFile,
    /// What the agent is to be asked for.
    unheard: Option<Target>,
    /// What the agent says. It is ahead of the file only by moments; the file is what is read, so that
    /// nothing is sent twice.
    news: Option<atelier_pipe::Wire>,
}

async fn node_of(state: &AppState, instance: InstanceId) -> Option<NodeId> {
    let found = state.engine().ask(move |world| world.instance(instance).and_then(|instance| instance.node));
    found.await.ok().flatten()
}

impl Source for OfInstance {
    type Log = LogFile;

    fn id(_: &LogFile, offset: u64) -> String {
        offset.to_string()
    }

    fn part(_: &LogFile) -> String {
        String::new()
    }

    async fn grows(&mut self, _: Option<&LogFile>) -> bool {
        node_of(&self.state, self.instance).await.is_some()
    }

    async fn look(&mut self) -> (Option<LogFile>, bool) {
        (Some(self.file.clone()), true)
    }

    async fn more(&mut self) {
        // Where it cannot say, the file is looked at from time to time.
        if let Some(target) = &self.unheard {
            if let Some(node) = node_of(&self.state, self.instance).await {
                self.news = self.state.fleet().open(node, target.clone()).await.ok();
            }
            self.unheard = None;
        }
        let mut piece = [0; 4096];
        let told = async {
            match &mut self.news {
                Some(wire) => wire.read(&mut piece).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            read = told => if matches!(read, Ok(0) | Err(_)) {
                self.news = None;
            },
            () = tokio::time::sleep(LOOK_AGAIN) => {}
        }
    }
}
