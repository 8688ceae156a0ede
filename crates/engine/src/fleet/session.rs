//! One connection of one agent.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use atelier_domain::compute::NodeId;
use atelier_domain::compute::job::AllocationState;
use atelier_domain::time::Span;
use atelier_domain::world::{AllocationKey, Report, World};
use atelier_protocol::{
    Activity, Auth, BEAT_SECONDS, Bytes, Event, Hello, MAX_BYTES, Numbered, OLDEST, ToAgent, ToServer, VERSION,
    decode_bytes, decode_to_server, encode,
};
use futures_util::stream::FuturesOrdered;
use futures_util::{Sink, SinkExt as _, Stream, StreamExt as _};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::{Connection, Fleet, LogName, hello, samples};
use crate::store::Admission;

/// Without a word for so long, a connection is over.
const SILENCE_LIMIT: Duration = Duration::from_secs(3 * BEAT_SECONDS);
/// How often an agent is asked for a sign of life.
const PING: Duration = Duration::from_secs(BEAT_SECONDS);
/// How often an agent hears how much of its output is kept, unless that is much.
const KEPT_EVERY: Duration = Duration::from_millis(200);
/// So much output is confirmed at once.
const KEPT_BYTES: u64 = 1 << 20;
/// How long parts that nobody wants any more get to end.
const STRAY_GRACE: Span = Span::seconds(5);

/// What travels over a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    Text(String),
    /// Output or a file.
    Binary(Vec<u8>),
    /// A question for a sign of life, or the answer to one.
    Ping,
}

/// Why what an agent said did not become durable.
enum Lost {
    Engine,
    Output(std::io::Error),
}

/// Why a connection ended, for the log.
type Ended = &'static str;

/// How much output of a part was confirmed, and how much is kept.
#[derive(Default)]
struct Confirmed {
    told: u64,
    kept: u64,
}

impl Fleet {
    /// Serves an agent until its connection ends.
    pub async fn serve(
        &self,
        incoming: impl Stream<Item = Frame> + Send,
        outgoing: impl Sink<Frame, Error: Send> + Send,
    ) {
        let (mut incoming, mut outgoing) = (Box::pin(incoming), Box::pin(outgoing));
        let Some(first) = hello::first(incoming.as_mut()).await else { return };
        let refuse = |why: String, again: bool| Frame::Text(encode(&ToAgent::Refused { why: why.into(), again }));
        let mut hello = match first {
            Ok(ToServer::Hello(hello)) => *hello,
            Ok(_) => return drop(outgoing.send(refuse("say hello first".into(), false)).await),
            Err(error) => return drop(outgoing.send(refuse(error.to_string(), false)).await),
        };
        let node = hello.node;
        if let Err((why, again)) = self.judge(&hello).await {
            tracing::warn!(%node, why, "an agent was not let in");
            return drop(outgoing.send(refuse(why, again)).await);
        }
        if let Err(why) = hello::rest(&mut hello, incoming.as_mut()).await {
            tracing::warn!(%node, why, "an agent was not let in");
            return drop(outgoing.send(refuse(why, true)).await);
        }
        let (messages, queue) = mpsc::unbounded_channel();
        let number = self.number();
        let heard = {
            let mut connections = self.connections();
            // The same agent again: it goes on where it was heard last.
            let heard = connections.remove(&node).map_or_else(Arc::default, |before| before.heard);
            let (messages, protocol) = (messages.clone(), hello.protocol);
            let knows = hello.facts.takes_tokens.then(Arc::default);
            connections.insert(node, Connection { number, heard: Arc::clone(&heard), messages, protocol, knows });
            heard
        };
        tracing::info!(%node, version = hello.facts.version, "an agent has called");
        self.board().connected(node, number, hello.facts.clone());
        let session =
            Session { fleet: self, node, heard, confirmed: HashMap::new(), syncing: JoinSet::new(), messages };
        let ended = session.run(&hello, incoming.as_mut(), outgoing.as_mut(), queue).await;
        tracing::info!(%node, ended, "an agent's connection has ended");
        self.board().disconnected(node, number);
        let is_last = self.connections().get(&node).is_some_and(|agent| agent.number == number);
        if is_last {
            // What it was heard of is remembered by the next connection only while the server lives; the
            // engine ignores the rest.
            let _ = self.inner.lost.send(node);
        }
    }

    /// Whether an agent is let in; else why not, and whether it may try again.
    async fn judge(&self, hello: &Hello) -> Result<(), (String, bool)> {
        if !(OLDEST..=VERSION).contains(&hello.protocol) {
            let spoken = hello.protocol;
            return Err((
                format!("this server speaks versions {OLDEST} to {VERSION} of the protocol, not {spoken}"),
                true,
            ));
        }
        let Some(engine) = self.engine() else { return Err(("the engine is starting".into(), true)) };
        let node = hello.node;
        let admission = match &hello.auth {
            Auth::Join { token, secret } => self.store().admit_agent(node, token, secret).await,
            Auth::Known { secret } => self.store().recognise_agent(node, secret).await,
        };
        match admission {
            Ok(Admission::Known) => {}
            Ok(Admission::NoSuchNode) => return Err((format!("{node} is not known here"), false)),
            Ok(Admission::Wrong) => return Err((format!("the token or secret of {node} is not the right one"), false)),
            Err(error) => {
                tracing::error!(%error, "an agent's secret could not be looked up");
                return Err(("the database does not answer".into(), true));
            }
        }
        match engine.ask(move |world| world.node(node).is_some()).await {
            Ok(true) => Ok(()),
            Ok(false) => Err((format!("{node} is not known here any more"), false)),
            Err(_) => Err(("the engine does not answer".into(), true)),
        }
    }
}

/// What a connection knows.
struct Session<'a> {
    fleet: &'a Fleet,
    node: NodeId,
    heard: Arc<AtomicU64>,
    confirmed: HashMap<AllocationKey, Confirmed>,
    /// Output that is being made durable; then the agent hears that it is kept.
    syncing: JoinSet<(AllocationKey, std::io::Result<u64>)>,
    messages: mpsc::UnboundedSender<ToAgent>,
}

impl Session<'_> {
    async fn run<I, O>(
        mut self,
        hello: &Hello,
        mut incoming: Pin<&mut I>,
        mut outgoing: Pin<&mut O>,
        mut queue: mpsc::UnboundedReceiver<ToAgent>,
    ) -> Ended
    where
        I: Stream<Item = Frame> + Send,
        O: Sink<Frame, Error: Send> + Send,
    {
        let Some(engine) = self.fleet.engine().cloned() else { return "the engine is gone" };
        let kept = hello.parts.iter().filter(|part| part.node == self.node).map(|part| {
            self.fleet.logs().begin((*part).into());
            (*part, self.fleet.logs().length((*part).into()))
        });
        let welcome = ToAgent::Welcome { heard: self.heard.load(Ordering::Acquire), kept: kept.collect() };
        if outgoing.send(Frame::Text(encode(&welcome))).await.is_err() {
            return "the agent went away";
        }
        self.end_strays(&hello.parts).await;
        self.fleet.introduce_all(self.node).await;
        let up = [Report::NodeUp(self.node)];
        if engine.report_all(&up).await.is_err() {
            return "the engine has ended";
        }
        self.fleet.tell_apps_on(self.node).await;
        let mut told = FuturesOrdered::new();
        let turns = Arc::new(tokio::sync::Mutex::new(()));
        let mut pings = tokio::time::interval(PING);
        let mut confirm = tokio::time::interval(KEPT_EVERY);
        confirm.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut last_word = crate::clock::instant();
        let mut batch = Vec::new();
        loop {
            tokio::select! {
                frame = incoming.next() => {
                    let Some(frame) = frame else { return "the agent went away" };
                    last_word = crate::clock::instant();
                    match frame {
                        Frame::Ping => self.fleet.board().heard(self.node),
                        Frame::Binary(bytes) => match decode_bytes(&bytes) {
                            Ok(Bytes::Output { part, offset, bytes }) if part.node == self.node => {
                                if !self.keep(part, offset, &bytes).await {
                                    return "its output could not be kept";
                                }
                            }
                            Ok(_) => return "the agent sent what is not its own",
                            Err(error) => {
                                tracing::warn!(node = %self.node, %error, "an agent sent a strange frame");
                                return "a frame was not understood";
                            }
                        },
                        Frame::Text(text) => match decode_to_server(&text) {
                            Ok(ToServer::Events(events)) => {
                                if let Some((last, reports)) = self.reports(events) {
                                    let (engine, logs) = (engine.clone(), self.fleet.logs().clone());
                                    let turn = Arc::clone(&turns);
                                    told.push_back(async move {
                                        // One after another, also where one has to wait for the disk.
                                        let turn = turn.lock_owned().await;
                                        // A job that is over has all of its output.
                                        let over = over(&reports);
                                        if let Err(error) = logs.sync_all(&over).await {
                                            return (last, Err(Lost::Output(error)));
                                        }
                                        over.iter().for_each(|name| logs.end(*name));
                                        let told = engine.report_all_and_then(&reports, || drop(turn)).await;
                                        (last, told.map_err(|_| Lost::Engine))
                                    });
                                }
                            }
                            Ok(ToServer::Sample(sample)) => {
                                self.fleet.board().heard(self.node);
                                let mut sample = *sample;
                                sample.parts.retain(|of| of.part.node == self.node);
                                self.fleet.board().sampled(self.node, sample);
                            }
                            Ok(ToServer::Fetch { blob, offset }) => {
                                let answer = fetch(self.fleet, &blob, offset).await;
                                if outgoing.send(answer).await.is_err() {
                                    return "the agent went away";
                                }
                            }
                            Ok(ToServer::Apps(status)) => self.fleet.board().apps(self.node, *status),
                            Ok(ToServer::Activity(activity)) => self.activity(&engine, *activity).await,
                            Ok(ToServer::Identify { person }) => self.fleet.identify(self.node, person).await,
                            Ok(ToServer::Unreachable { ticket, why }) => {
                                self.fleet.stream_failed(self.node, &ticket, &why);
                            }
                            Ok(ToServer::Leaving { why }) => tracing::info!(node = %self.node, %why, "an agent leaves"),
                            Ok(ToServer::Hello(_) | ToServer::Parts { .. }) => return "the agent said hello twice",
                            Err(error) => {
                                tracing::warn!(node = %self.node, %error, "an agent sent a strange message");
                                return "a message was not understood";
                            }
                        },
                    }
                }
                Some((last, durable)) = told.next(), if !told.is_empty() => {
                    match durable {
                        Ok(()) => {}
                        Err(Lost::Engine) => return "the engine has ended",
                        Err(Lost::Output(error)) => {
                            tracing::warn!(node = %self.node, %error, "output could not be made durable");
                            return "its output could not be kept";
                        }
                    }
                    self.heard.fetch_max(last, Ordering::AcqRel);
                    let _ = self.messages.send(ToAgent::Heard(last));
                }
                count = queue.recv_many(&mut batch, 256) => {
                    if count == 0 {
                        return "the node was given up";
                    }
                    // One flush for all: starts come in bursts.
                    for message in batch.drain(..) {
                        if outgoing.feed(Frame::Text(encode(&message))).await.is_err() {
                            return "the agent went away";
                        }
                    }
                    if outgoing.flush().await.is_err() {
                        return "the agent went away";
                    }
                }
                // Most agents are quiet most of the time: they must not cost a timer.
                _ = confirm.tick(), if !self.confirmed.is_empty() => self.confirm(),
                Some(Ok((part, length))) = self.syncing.join_next(), if !self.syncing.is_empty() => match length {
                    Ok(length) => drop(self.messages.send(ToAgent::Kept { part, length, again: false })),
                    Err(error) => {
                        tracing::warn!(job = %part.job, %error, "output could not be made durable");
                        return "its output could not be kept";
                    }
                },
                _ = pings.tick() => {
                    let is_current = self.fleet.connections().get(&self.node).is_some_and(|agent| {
                        agent.messages.same_channel(&self.messages)
                    });
                    if !is_current {
                        return "the node was given up, or its agent called again";
                    }
                    if last_word.elapsed() > SILENCE_LIMIT {
                        return "nothing was heard for too long";
                    }
                    if outgoing.send(Frame::Ping).await.is_err() {
                        return "the agent went away";
                    }
                }
            }
        }
    }

    /// Parts that the agent has and the engine does not want are ended.
    async fn end_strays(&self, parts: &[AllocationKey]) {
        let Some(engine) = self.fleet.engine().filter(|_| !parts.is_empty()) else { return };
        let parts = parts.to_vec();
        let strays =
            engine.ask(move |world| parts.into_iter().filter(|part| !is_wanted(world, *part)).collect::<Vec<_>>());
        for part in strays.await.unwrap_or_default() {
            let _ = self.messages.send(ToAgent::End { part, grace: STRAY_GRACE, is_preempted: false });
        }
    }

    /// What events mean to the engine, with the number of the last; nothing if all were heard before.
    fn reports(&self, events: Vec<Numbered>) -> Option<(u64, Vec<Report>)> {
        let heard = self.heard.load(Ordering::Acquire);
        let mut last = heard;
        let mut reports = Vec::with_capacity(events.len());
        for Numbered { number, event } in events {
            if number <= heard {
                continue;
            }
            last = last.max(number);
            let is_own = |part: &AllocationKey| part.node == self.node;
            reports.push(match event {
                Event::Started(part) if is_own(&part) => {
                    self.fleet.logs().begin(part.into());
                    Report::JobStarted(part)
                }
                Event::GivenBack(part) if is_own(&part) => {
                    self.fleet.logs().end(part.into());
                    Report::JobGivenBack(part)
                }
                Event::Refused { part, detail } if is_own(&part) => {
                    self.fleet.logs().end(part.into());
                    Report::JobRefused { part, detail }
                }
                Event::Exited { part, exit } if is_own(&part) => Report::JobExited { part, exit },
                Event::Off { part, exit } if is_own(&part) => {
                    // Its output came before this, and is made durable before this is told.
                    samples::keep(self.fleet, part);
                    Report::JobOff { part, exit }
                }
                Event::Drained => Report::NodeDrained(self.node),
                Event::SetUp { instance, generation, failure } => Report::SetUp { instance, generation, failure },
                Event::ScriptsDone { instance, generation, creation_done, failure } => {
                    Report::ScriptDone { instance, generation, creation_done, failure }
                }
                Event::Healthy { instance, generation } => Report::Healthy { instance, generation },
                _ => continue,
            });
        }
        (last > heard).then_some((last, reports))
    }

    /// What goes on in an instance: for pages, and for the engine, which counts silence.
    async fn activity(&self, engine: &crate::run::EngineHandle, mut activity: Activity) {
        let instance = activity.instance;
        let node = self.node;
        // An agent speaks for the instance on its own node alone.
        let is_own = engine.ask(move |world| world.instance(instance).is_some_and(|one| one.node == Some(node))).await;
        if !matches!(is_own, Ok(true)) {
            return;
        }
        self.fleet.board().add_own_signals(&mut activity);
        let active = activity.signals.iter().filter(|signal| signal.is_active).map(|signal| signal.source).collect();
        let stretch = self.fleet.stretch(Span::millis(activity.stretch_ms));
        let _ = engine.report_all(&[Report::Activity { instance, active, stretch }]).await;
        self.fleet.board().active(node, activity);
    }

    /// False if output cannot be kept: then the agent calls again and sends it before it says that the part
    /// is off.
    async fn keep(&mut self, part: AllocationKey, offset: u64, bytes: &[u8]) -> bool {
        match self.fleet.logs().keep(part.into(), offset, bytes) {
            Ok(kept) if kept.has_gap => {
                let _ = self.messages.send(ToAgent::Kept { part, length: kept.length, again: true });
            }
            Ok(kept) => {
                let confirmed = self.confirmed.entry(part).or_default();
                confirmed.kept = kept.length;
                if kept.length - confirmed.told.min(kept.length) >= KEPT_BYTES {
                    confirmed.told = kept.length;
                    let logs = self.fleet.logs().clone();
                    self.syncing.spawn_blocking(move || (part, logs.sync(part.into())));
                }
            }
            Err(error) => {
                // A full disk, most likely. The agent spools it meanwhile; its job waits if that takes long.
                tracing::warn!(job = %part.job, %error, "output could not be kept; its agent sends it again");
                tokio::time::sleep(Duration::from_millis(500)).await;
                return false;
            }
        }
        true
    }

    /// Tells how much output is kept, where that has not been told.
    fn confirm(&mut self) {
        let (syncing, logs) = (&mut self.syncing, self.fleet.logs());
        self.confirmed.retain(|part, confirmed| {
            if confirmed.kept > confirmed.told {
                confirmed.told = confirmed.kept;
                let (part, logs) = (*part, logs.clone());
                syncing.spawn_blocking(move || (part, logs.sync(part.into())));
                return true;
            }
            // Quiet since the last time; the next output finds its place anew.
            false
        });
    }
}

/// The logs of parts that are over by these.
fn over(reports: &[Report]) -> Vec<LogName> {
    let off = reports.iter().filter_map(|report| match report {
        Report::JobOff { part, .. } => Some((*part).into()),
        _ => None,
    });
    off.collect()
}

/// Whether that very part is one that the engine knows and has not seen off.
fn is_wanted(world: &World, part: AllocationKey) -> bool {
    world.job(part.job).is_some_and(|job| {
        job.attempt == part.attempt
            && job
                .allocations
                .iter()
                .any(|allocation| allocation.node == part.node && allocation.state != AllocationState::Off)
    })
}

/// A piece of an uploaded file.
async fn fetch(fleet: &Fleet, blob: &str, offset: u64) -> Frame {
    let no = |why: &str| Frame::Text(encode(&ToAgent::NoFile { blob: blob.to_owned(), why: why.into() }));
    let Some(path) = fleet.folders().blob(blob) else { return no("its name is no hash") };
    let read = tokio::task::spawn_blocking(move || -> std::io::Result<(u64, Vec<u8>)> {
        use std::os::unix::fs::FileExt as _;
        let file = std::fs::File::open(path)?;
        let total = file.metadata()?.len();
        let mut bytes = vec![0; usize::try_from(total.saturating_sub(offset)).unwrap_or(MAX_BYTES).min(MAX_BYTES)];
        file.read_exact_at(&mut bytes, offset)?;
        Ok((total, bytes))
    });
    match read.await {
        Ok(Ok((total, bytes))) => {
            let mut hash = [0; 32];
            for (byte, digits) in hash.iter_mut().zip(blob.as_bytes().chunks(2)) {
                let digits = std::str::from_utf8(digits).unwrap_or("0");
                *byte = u8::from_str_radix(digits, 16).unwrap_or(0);
            }
            Frame::Binary(Bytes::File { blob: hash, offset, total, bytes }.encode())
        }
        Ok(Err(error)) => no(&error.to_string()),
        Err(_) => no("reading it failed"),
    }
}
