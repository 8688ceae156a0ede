//! Streams: the server asks for one, the agent connects to what is wanted, dials the server again, and bytes
//! flow.

use std::sync::Arc;
use std::time::Duration;

use atelier_domain::compute::app::SETUP_LOG;
use atelier_pipe::{Wire, give, join};
use atelier_protocol::{AppState, Target, ToServer};
use tokio::net::UnixStream;

use super::begin::shorten;
use super::logfile::LogFile;
use super::session::Session;
use super::supervised_app::SupervisedApp;
use super::supervisor::Supervisor;
use super::{Ask, remote, socket};
use crate::link;

/// How long dialling may take; the server waits no longer.
const DIALLING: Duration = Duration::from_secs(8);

/// How long one that sleeps may take to answer; the server waits a little longer.
const WAKING: Duration = Duration::from_secs(7);

/// What a stream leads to.
enum Reached {
    App(UnixStream),
    Terminal(Arc<Session>),
    Log(Arc<LogFile>, u64),
    Session(Box<remote::Session>),
    Connected(Wire, remote::Held),
}

/// Serves a stream, or says why that cannot be.
pub async fn open(supervisor: Arc<Supervisor>, ticket: String, target: Target) {
    let reached = match reach(&supervisor, &target).await {
        Ok(reached) => reached,
        Err(why) => {
            let why = shorten(&why).into();
            return supervisor.ask(Ask::Say(ToServer::Unreachable { ticket, why }));
        }
    };
    let can_be_given = matches!(reached, Reached::App(_));
    let dialling = link::stream(&supervisor.config, &ticket, can_be_given);
    let link::Stream { wire, is_for_handover } = match tokio::time::timeout(DIALLING, dialling).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(why)) => return tracing::info!(why, "a stream cannot be had from the server"),
        Err(_) => return tracing::info!("the server does not answer a stream"),
    };
    match reached {
        Reached::App(stream) if is_for_handover => {
            let given = tokio::time::timeout(DIALLING, give(wire, stream)).await;
            if !matches!(given, Ok(Ok(()))) {
                tracing::info!(?given, "the server did not take a connection");
            }
        }
        Reached::App(stream) => drop(join(wire, Wire::from(stream)).await),
        Reached::Terminal(session) => session.attend(wire).await,
        Reached::Session(session) => session.attend(wire).await,
        Reached::Connected(stream, held) => {
            let mut ending = supervisor.ending();
            tokio::select! {
                _ = join(wire, stream) => {}
                _ = ending.told() => {}
            }
            drop(held);
        }
        Reached::Log(log, offset) => {
            let mut ending = supervisor.ending();
            tokio::select! {
                () = log.follow(offset, wire) => {}
                _ = ending.told() => {}
            }
        }
    }
}

async fn reach(supervisor: &Arc<Supervisor>, target: &Target) -> Result<Reached, String> {
    let instance = target.instance();
    if instance != supervisor.set_up.instance {
        return Err(format!("{instance} is not on this node"));
    }
    if supervisor.is_ending() {
        return Err("the instance stops".to_owned());
    }
    let layout = supervisor.layout.get().ok_or("the instance is being set up")?;
    let app = |name: &str| supervisor.app(name).ok_or_else(|| format!("there is no application “{name}”"));
    match target {
        Target::App { name, .. } => {
            let app = app(name)?;
            if app.app.is_on_demand {
                app.wake(WAKING).await;
            }
            let (state, last_lines) = app.state();
            if state != AppState::Ready {
                return Err(words(supervisor, &app, state, &last_lines));
            }
            let connected = socket::connect(&layout.folders.run, name, supervisor.uid()).await;
            connected.map(Reached::App).map_err(|error| format!("{} cannot be reached: {error}", app.label()))
        }
        Target::Session { start, .. } => {
            remote::begin(supervisor, start).await.map(|session| Reached::Session(Box::new(session)))
        }
        Target::Sftp { .. } => remote::files(supervisor).await.map(Reached::App),
        Target::Connect { to, .. } => {
            remote::connect(supervisor, to).await.map(|(wire, held)| Reached::Connected(wire, held))
        }
        Target::Terminal { session, .. } => supervisor.terminals.get(supervisor, session).await.map(Reached::Terminal),
        Target::Log { name, offset, .. } if name == SETUP_LOG => {
            Ok(Reached::Log(Arc::clone(&layout.setup_log), *offset))
        }
        Target::Log { name, offset, .. } => Ok(Reached::Log(Arc::clone(&app(name)?.log), *offset)),
    }
}

/// Why an application cannot be reached, for people.
fn words(supervisor: &Supervisor, app: &SupervisedApp, state: AppState, last_lines: &[String]) -> String {
    let app = app.label();
    let words = match state {
        AppState::Waiting if supervisor.have_scripts_failed.get().is_some() => {
            format!("{app} was not started, since a set-up script has failed")
        }
        AppState::Waiting => format!("{app} starts when the instance is set up"),
        AppState::OnDemand | AppState::Starting | AppState::Ready => format!("{app} is starting"),
        AppState::BackingOff => format!("{app} has ended and is started again in a moment"),
        AppState::Failed => format!("{app} does not run"),
    };
    if last_lines.is_empty() { words } else { format!("{words}; its last lines:\n{}", last_lines.join("\n")) }
}
