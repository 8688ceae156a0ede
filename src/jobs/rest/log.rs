//! What a job printed, as plain text, and as it is being printed.

use std::sync::Arc;
use std::time::Duration;

use atelier_domain::UserId;
use atelier_domain::access::Action;
use atelier_domain::compute::{JobId, NodeId};
use atelier_engine::fleet::{JobLogs, LogInfo, LogName};
use atelier_engine::live::Cut;
use atelier_engine::run::{EngineHandle, JobOver};
use atelier_studio::caller::{Actor, Caller};
use atelier_studio::jobs::retention;
use atelier_studio::seats::Seat;
use axum::body::{Body, Bytes};
use axum::extract::Path;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use futures::Stream;
use tokio::sync::{broadcast, watch};

use crate::jobs::rest::job_id;
use crate::server::rest::asked::{Asked, Parameters};
use crate::server::rest::problem::{Answered, Refusal};

/// What is read from the disk at once.
const PIECE: usize = 64 << 10;
/// After a job is over its last lines may still be on their way from the agent.
const LAST_LINES: Duration = Duration::from_secs(2);
/// How often it is looked whether a job that has not begun has begun.
const BEGINS: Duration = Duration::from_millis(100);

/// `GET /jobs/{id}/log?attempt=&node=&from=&follow=true`.
pub async fn read(asked: Asked, Path(id): Path<String>, mut parameters: Parameters) -> Answered {
    let caller = &asked.caller;
    caller.authorise(Action::JobRead).await?;
    let job = job_id(&id)?;
    let attempt = parameters.read("attempt", |text| text.parse::<u32>().ok(), "the number of an attempt")?;
    let node = parameters.read("node", NodeId::parse, "the id of a node")?;
    let from = parameters.read("from", |text| text.parse::<u64>().ok(), "a number of bytes")?.unwrap_or(0);
    let follows = parameters.read("follow", |text| text.parse::<bool>().ok(), "true or false")?.unwrap_or(false);
    parameters.none_left(&["attempt", "node", "from", "follow"])?;
    let mut over = caller.studio.engine().job_over(job);
    let workspace = &caller.actor()?.workspace.id;
    let row = caller.checked(caller.store().job(workspace, job).await)?.ok_or_else(|| Refusal::not_found("job"))?;
    let logs = caller.studio.fleet().logs().clone();
    let place = if follows { Some(wait_place(caller)?) } else { None };
    let wanted = Wanted { job, attempt, node };
    let mut found = wanted.find(&logs).await;
    if found.is_none() && follows && row.ended.is_none() {
        found = begun(caller, wanted, &logs, &mut over).await?;
    }
    let Some(info) = found else {
        if let Some(days) = retention::removed_after(&caller.studio, row.ended, atelier_engine::clock::now()) {
            return Err(Refusal::new(StatusCode::GONE, "log-removed", retention::sentence(days)));
        }
        if attempt.is_some() || node.is_some() {
            return Err(Refusal::not_found("attempt of this job on such a node, or it printed nothing"));
        }
        return Ok(plain(Body::empty()));
    };
    let follow = (follows && info.is_open).then(|| logs.follow(info.name)).flatten();
    let until = match follow {
        Some(grown) => Until::Over(Box::new(Follow {
            grown,
            over,
            is_over: row.ended.is_some(),
            job,
            engine: caller.studio.engine().clone(),
            cuts: caller.studio.live().cuts(),
            actor: caller.shared_actor()?,
            _place: place,
        })),
        None => Until::Here,
    };
    Ok(plain(Body::from_stream(pieces(Reading { logs, name: info.name, offset: from, until }))))
}

fn plain(body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::OK;
    let kind = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

/// A place among the requests of the caller that wait.
pub fn wait_place(caller: &Caller) -> Answered<Seat<UserId>> {
    caller.studio.tokens().wait_of(&caller.actor()?.person.id).ok_or_else(|| {
        let detail = format!("At most {} of your requests may wait at once.", atelier_studio::tokens::MAX_WAITS);
        Refusal::new(StatusCode::TOO_MANY_REQUESTS, "too-many-waits", detail).retry_after(1)
    })
}

/// Which log: the last attempt's and its first node's, unless the request says otherwise.
#[derive(Clone, Copy)]
struct Wanted {
    job: JobId,
    attempt: Option<u32>,
    node: Option<NodeId>,
}

impl Wanted {
    async fn find(self, logs: &JobLogs) -> Option<LogInfo> {
        let logs = logs.clone();
        // It looks through a folder.
        let listed = tokio::task::spawn_blocking(move || logs.list(self.job)).await.unwrap_or_default();
        let fits = |info: &&LogInfo| {
            self.attempt.is_none_or(|attempt| info.name.attempt == attempt)
                && self.node.is_none_or(|node| info.name.node == node)
        };
        let last = listed.iter().filter(fits).map(|info| info.name.attempt).max()?;
        listed.iter().filter(fits).find(|info| info.name.attempt == last).copied()
    }
}

/// Waits until there is something to follow; nothing if the job is over before.
async fn begun(caller: &Caller, wanted: Wanted, logs: &JobLogs, over: &mut JobOver) -> Answered<Option<LogInfo>> {
    let mut cuts = caller.studio.live().cuts();
    let mut news = caller.studio.live().watch();
    let actor = caller.actor()?;
    loop {
        if let Some(info) = wanted.find(logs).await {
            return Ok(Some(info));
        }
        tokio::select! {
            ended = over.ended() => match ended {
                Some(_) => return Ok(wanted.find(logs).await),
                None => {
                    *over = caller.studio.engine().job_over(wanted.job);
                    let row = caller.checked(caller.store().job(&actor.workspace.id, wanted.job).await)?;
                    if row.is_none_or(|row| row.ended.is_some()) {
                        return Ok(wanted.find(logs).await);
                    }
                    tokio::time::sleep(BEGINS).await;
                }
            },
            why = cut(&mut cuts, actor) => {
                let detail = format!("There is nothing to follow yet, and no waiting for it: {why}.");
                return Err(Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "follow.ended", detail).retry_after(5));
            }
            changed = news.changed() => {
                if changed.is_err() {
                    return Ok(None);
                }
                // Not for each of a thousand batches a second.
                tokio::time::sleep(BEGINS).await;
            }
            () = tokio::time::sleep(BEGINS * 10) => {}
        }
    }
}

/// A log on its way out.
struct Reading {
    logs: JobLogs,
    name: LogName,
    offset: u64,
    until: Until,
}

enum Until {
    /// As far as it goes now.
    Here,
    /// Until the part is over.
    Over(Box<Follow>),
}

/// What comes next.
enum More {
    Comes,
    /// The part is over.
    Over,
    /// More may come, but not here.
    Cut(&'static str),
}

struct Follow {
    grown: watch::Receiver<u64>,
    over: JobOver,
    is_over: bool,
    job: JobId,
    engine: EngineHandle,
    cuts: broadcast::Receiver<Cut>,
    actor: Arc<Actor>,
    _place: Option<Seat<UserId>>,
}

fn pieces(reading: Reading) -> impl Stream<Item = std::io::Result<Bytes>> {
    futures::stream::unfold(Some(reading), |reading| async {
        let mut reading = reading?;
        loop {
            let (logs, name, offset) = (reading.logs.clone(), reading.name, reading.offset);
            let read = tokio::task::spawn_blocking(move || logs.read(name, offset, PIECE)).await;
            let bytes = match read.map_err(std::io::Error::other).flatten() {
                Ok(bytes) => bytes,
                // Whoever reads sees that the answer breaks off.
                Err(error) => return Some((Err(error), None)),
            };
            if !bytes.is_empty() {
                reading.offset += bytes.len() as u64;
                return Some((Ok(Bytes::from(bytes)), Some(reading)));
            }
            match &mut reading.until {
                Until::Here => return None,
                Until::Over(follow) => match follow.more().await {
                    More::Comes => {}
                    // What came in between is still handed out.
                    More::Over => reading.until = Until::Here,
                    More::Cut(why) => {
                        let last = format!("\n[atelier: this log ends here although the job may print more: {why}]\n");
                        return Some((Ok(Bytes::from(last)), None));
                    }
                },
            }
        }
    })
}

impl Follow {
    /// Waits for more.
    async fn more(&mut self) -> More {
        loop {
            tokio::select! {
                changed = self.grown.changed() => return if changed.is_ok() { More::Comes } else { More::Over },
                why = cut(&mut self.cuts, &self.actor) => return More::Cut(why),
                ended = self.over.ended(), if !self.is_over => match ended {
                    Some(_) => self.is_over = true,
                    // One that ended unheard closes its log as well.
                    None => {
                        tokio::time::sleep(BEGINS).await;
                        self.over = self.engine.job_over(self.job);
                    }
                },
                () = tokio::time::sleep(LAST_LINES), if self.is_over => return More::Over,
            }
        }
    }
}

/// Comes when the server stops, or when this person may no longer look; says which.
pub async fn cut(cuts: &mut broadcast::Receiver<Cut>, actor: &Actor) -> &'static str {
    loop {
        match cuts.recv().await {
            Ok(Cut::All) | Err(broadcast::error::RecvError::Closed) => return "the server is stopping; ask again",
            Ok(Cut::Person(who)) if who == actor.person.id => return "the account was disabled or its tokens ended",
            Ok(Cut::Rights(who)) if who == actor.person.id => return "rights have changed; ask again",
            Ok(Cut::Session(which)) if which == actor.session => return "the token was revoked",
            Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => {}
        }
    }
}
