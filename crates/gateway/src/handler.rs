//! What a client asks for.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use atelier_pipe::Wire;
use atelier_protocol::remote::{Endpoint, MAX_COMMAND, Screen, SessionStart};
use russh::keys::{Algorithm, HashAlg};
use russh::server::{Auth, ChannelOpenHandle, Msg, PublicKeyOffer, Response, Session, VerifiedPublicKey};
use russh::{Channel, ChannelId, ChannelOpenFailure, ChannelWriteHalf, MethodKind, MethodSet, Pty, Sig};
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::sync::{Notify, SetOnce};

use crate::cut::Cutter;
use crate::intake::{Everybodys, Inbox, Intake};
use crate::plain::plain;
use crate::session::{self, Control, ERRORS};
use crate::{Entry, Studio, Visit, Wanted, forward};

/// The most channels of one connection.
pub const MOST_CHANNELS: usize = 64;
/// The most channels of one connection over its whole life: the library keeps a little of each that was
/// closed from here.
const MOST_EVER: usize = 100_000;
/// So many changes of size and signals wait for a session; what comes on top of them is dropped.
const MOST_CONTROLS: usize = 32;
/// The most variables of one channel.
const MOST_VARIABLES: usize = 32;
/// What `ssh` itself says when something is wrong that is not the command's.
const NOT_EVEN_BEGUN: u32 = 255;
/// How long a client that is held back waits between two of its small packets.
const HOLD_BACK: Duration = Duration::from_millis(5);

/// What all of a connection share.
pub struct Connection {
    pub from: SocketAddr,
    pub studio: Arc<dyn Studio>,
    pub visit: OnceLock<Arc<dyn Visit>>,
    /// Somebody has got in.
    pub entered: Notify,
    /// Whether somebody has tried and did not.
    pub has_failed: AtomicBool,
    pub received: AtomicU64,
    pub sent: AtomicU64,
    pub cutter: Cutter,
    /// Ends what goes through its channels.
    pub streams: Cutter,
    /// Why it has to end, as soon as somebody has found out.
    pub verdict: SetOnce<String>,
    intake: Arc<Intake>,
    channels: AtomicUsize,
    opened: AtomicUsize,
    /// Why the last try did not get in.
    words: Mutex<String>,
}

impl Connection {
    pub fn new(from: SocketAddr, studio: Arc<dyn Studio>, cutter: Cutter, everybodys: Everybodys) -> Self {
        Self {
            from,
            studio,
            visit: OnceLock::new(),
            entered: Notify::new(),
            has_failed: AtomicBool::new(false),
            received: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            cutter,
            streams: Cutter::new(),
            verdict: SetOnce::new(),
            intake: Arc::new(Intake::among(everybodys)),
            channels: AtomicUsize::new(0),
            opened: AtomicUsize::new(0),
            words: Mutex::default(),
        }
    }

    /// So many bytes came in and went out.
    pub fn count(&self, received: usize, sent: usize) {
        let (received, sent) = (received as u64, sent as u64);
        self.received.fetch_add(received, Ordering::Relaxed);
        self.sent.fetch_add(sent, Ordering::Relaxed);
        if let Some(visit) = self.visit.get() {
            visit.used(received, sent);
        }
    }

    /// Whoever got in is told once that they have left, however that came about.
    pub fn leave(&self, why: Option<&str>) {
        if let Some(visit) = self.visit.get() {
            visit.left(self.received.load(Ordering::Relaxed), self.sent.load(Ordering::Relaxed), why);
        }
    }

    /// Ends the connection if it has to end, and says why.
    async fn found_over(&self, visit: &dyn Visit) -> Option<String> {
        let why = visit.why_over().await?;
        // Another channel may have found out first.
        let _ = self.verdict.set(why.clone());
        Some(why)
    }

    /// A stream into the instance has ended, or did not come about. Whoever has to go hears why, and nothing
    /// of the stream: this comes back only for those who may stay.
    async fn or_send_away(&self, visit: &dyn Visit) {
        if self.found_over(visit).await.is_some() {
            std::future::pending::<()>().await;
        }
    }

    fn refuse(&self, words: String) -> Auth {
        self.has_failed.store(true, Ordering::Relaxed);
        *self.words.lock().unwrap_or_else(PoisonError::into_inner) = words;
        Auth::reject()
    }
}

/// One channel, until something runs in it and after.
struct Open {
    inbox: Arc<Inbox>,
    control: Sender<Control>,
    /// Taken by what runs in it.
    idle: Option<Idle>,
    /// Told when the client has closed it.
    closed: Arc<Notify>,
}

struct Idle {
    write: ChannelWriteHalf<Msg>,
    controlled: Receiver<Control>,
    screen: Option<Screen>,
    variables: Vec<(String, String)>,
    seat: Seat,
}

/// What runs in a channel.
enum Running {
    Process(Option<String>),
    Files,
}

/// The channels of a connection. What runs in one takes it out when that is over: the library tells of a
/// channel that the client has closed, and not of one that was closed from here or never accepted.
#[derive(Clone, Default)]
struct Channels(Arc<Mutex<HashMap<ChannelId, Open>>>);

impl Channels {
    fn lock(&self) -> MutexGuard<'_, HashMap<ChannelId, Open>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets a channel, unless its number belongs to another one meanwhile.
    fn forget(&self, channel: ChannelId, inbox: &Arc<Inbox>) {
        let mut open = self.lock();
        if open.get(&channel).is_some_and(|known| Arc::ptr_eq(&known.inbox, inbox)) {
            open.remove(&channel);
        }
    }
}

/// The answers to one client.
pub struct Handler {
    connection: Arc<Connection>,
    open: Channels,
}

/// A channel that has just been registered.
struct Registered {
    id: ChannelId,
    write: ChannelWriteHalf<Msg>,
    inbox: Arc<Inbox>,
    closed: Arc<Notify>,
}

/// A place among the channels of a connection.
struct Seat(Arc<Connection>);

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.channels.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Handler {
    pub fn new(connection: Arc<Connection>) -> Self {
        Self { connection, open: Channels::default() }
    }

    fn seat(&self) -> Option<Seat> {
        if self.connection.channels.fetch_add(1, Ordering::Relaxed) >= MOST_CHANNELS {
            self.connection.channels.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        let seat = Seat(Arc::clone(&self.connection));
        (self.connection.opened.fetch_add(1, Ordering::Relaxed) < MOST_EVER).then_some(seat)
    }

    /// Registers a channel, and splits off what is written to it: what comes goes into its inbox.
    fn register(&self, channel: Channel<Msg>, control: Sender<Control>) -> Registered {
        let (_, write) = channel.split();
        let (id, inbox, closed) = (write.id(), self.connection.intake.inbox(), Arc::new(Notify::new()));
        let open = Open { inbox: Arc::clone(&inbox), control, idle: None, closed: Arc::clone(&closed) };
        self.open.lock().insert(id, open);
        Registered { id, write, inbox, closed }
    }

    fn run(&mut self, channel: ChannelId, running: Running, session: &mut Session) -> Result<(), russh::Error> {
        let taken =
            self.open.lock().get_mut(&channel).and_then(|open| {
                open.idle.take().map(|idle| (idle, Arc::clone(&open.inbox), Arc::clone(&open.closed)))
            });
        let (Some((idle, inbox, closed)), Some(visit)) = (taken, self.connection.visit.get().cloned()) else {
            return session.channel_failure(channel);
        };
        session.channel_success(channel)?;
        let (connection, channels) = (Arc::clone(&self.connection), self.open.clone());
        let cut = connection.streams.was_cut();
        tokio::spawn(async move {
            let work = serve(&connection, visit.as_ref(), idle, Arc::clone(&inbox), running);
            tokio::select! {
                // Whoever has to go begins nothing more.
                biased;
                () = cut => {}
                () = closed.notified() => {}
                () = work => {}
            }
            inbox.close();
            channels.forget(channel, &inbox);
        });
        Ok(())
    }

    fn connect(&mut self, channel: Channel<Msg>, reply: ChannelOpenHandle, to: Endpoint) {
        let (Some(seat), Some(visit)) = (self.seat(), self.connection.visit.get().cloned()) else {
            drop(tokio::spawn(reply.reject(ChannelOpenFailure::ResourceShortage)));
            return;
        };
        // What is only passed on has neither size nor signals.
        let Registered { id, write, inbox, closed } = self.register(channel, mpsc::channel(1).0);
        let (connection, channels) = (Arc::clone(&self.connection), self.open.clone());
        tokio::spawn(async move {
            let opened = tokio::select! {
                biased;
                () = connection.streams.was_cut() => Err(connection.verdict.get().cloned()),
                opened = open(visit.as_ref(), Wanted::Connect(to)) => match opened {
                    Ok(wire) => Ok(wire),
                    Err(why) => Err(Some(connection.found_over(visit.as_ref()).await.unwrap_or(why))),
                },
            };
            match opened {
                Ok(wire) => {
                    reply.accept().await;
                    let work = async {
                        forward::carry(&connection, Arc::clone(&inbox), &write, wire).await;
                        connection.or_send_away(visit.as_ref()).await;
                        let _ = write.eof().await;
                        let _ = write.close().await;
                    };
                    tokio::select! {
                        biased;
                        () = connection.streams.was_cut() => {}
                        () = closed.notified() => {}
                        () = work => {}
                    }
                }
                // Clients end with the channel that they came for, so that it says why too. 2: the connection
                // could not be made.
                Err(why) => {
                    let reason = plain(&why.unwrap_or_default());
                    reply.reject(ChannelOpenFailure::Other { code: 2, reason }).await;
                }
            }
            inbox.close();
            channels.forget(id, &inbox);
            drop(seat);
        });
    }
}

/// Opens a stream. Whoever may have none at all hears the same as at the door.
async fn open(visit: &dyn Visit, wanted: Wanted) -> Result<Wire, String> {
    match visit.why_closed() {
        Some(why) => Err(why),
        None => visit.open(wanted).await,
    }
}

/// Runs what was asked for in a channel, and closes it.
async fn serve(connection: &Connection, visit: &dyn Visit, idle: Idle, inbox: Arc<Inbox>, running: Running) {
    let Idle { write, mut controlled, screen, variables, seat: _seat } = idle;
    let is_files = matches!(running, Running::Files);
    let wanted = match running {
        Running::Files => Wanted::Sftp,
        Running::Process(command) => {
            Wanted::Session(SessionStart { command, terminal: screen.clone(), environment: variables })
        }
    };
    let code = match open(visit, wanted).await {
        Ok(wire) if is_files => {
            forward::carry(connection, inbox, &write, wire).await;
            connection.or_send_away(visit).await;
            0
        }
        Ok(wire) => match session::carry(connection, inbox, &mut controlled, &write, wire).await {
            // 0 to 255, as the system has them.
            Some(code) => u32::try_from(code & 0xff).unwrap_or(NOT_EVEN_BEGUN),
            None => {
                connection.or_send_away(visit).await;
                say(&write, screen.is_some(), "The connection to the instance was lost; the session has ended.").await;
                NOT_EVEN_BEGUN
            }
        },
        Err(why) => {
            connection.or_send_away(visit).await;
            say(&write, screen.is_some(), &why).await;
            NOT_EVEN_BEGUN
        }
    };
    let _ = write.exit_status(code).await;
    let _ = write.eof().await;
    let _ = write.close().await;
}

/// Tells a person something: among their errors, or where their terminal shows it.
async fn say(write: &ChannelWriteHalf<Msg>, has_terminal: bool, words: &str) {
    let _ = if has_terminal {
        write.data_bytes(format!("{}\r\n", words.replace('\n', "\r\n"))).await
    } else {
        write.extended_data_bytes(ERRORS, format!("{words}\n")).await
    };
}

fn small(number: u32) -> u16 {
    u16::try_from(number).unwrap_or(u16::MAX)
}

impl russh::server::Handler for Handler {
    type Error = russh::Error;

    async fn auth_publickey_offered(&mut self, _user: &str, offer: PublicKeyOffer<'_>) -> Result<Auth, Self::Error> {
        if *offer.algorithm == (Algorithm::Rsa { hash: None }) {
            let words = "Signatures with SHA-1 are not safe any more. Update your SSH client, or use an ed25519 key.";
            return Ok(self.connection.refuse(words.to_owned()));
        }
        let fingerprint = offer.public_key.fingerprint(HashAlg::Sha256).to_string();
        match self.connection.studio.offered(&fingerprint, self.connection.from).await {
            Ok(()) => Ok(Auth::Accept),
            Err(words) => Ok(self.connection.refuse(words)),
        }
    }

    async fn auth_publickey(&mut self, user: &str, key: VerifiedPublicKey<'_>) -> Result<Auth, Self::Error> {
        let fingerprint = key.public_key.fingerprint(HashAlg::Sha256).to_string();
        let connection = &self.connection;
        if *key.algorithm == (Algorithm::Rsa { hash: None }) {
            return Ok(connection.refuse(String::new()));
        }
        // Nobody gets in twice over one connection.
        if connection.visit.get().is_some() {
            return Ok(Auth::reject());
        }
        match connection.studio.enter(user, &fingerprint, connection.from).await {
            Entry::Welcome(visit) => {
                if let Err(visit) = connection.visit.set(visit) {
                    visit.left(0, 0, None);
                    return Ok(Auth::reject());
                }
                connection.entered.notify_one();
                Ok(Auth::Accept)
            }
            Entry::Refused(words) => Ok(connection.refuse(words)),
        }
    }

    /// Nobody gets in this way. It is how a client can be told why its keys did not, in words that people
    /// see.
    async fn auth_keyboard_interactive<'a>(
        &'a mut self,
        _user: &str,
        _submethods: &str,
        response: Option<Response<'a>>,
    ) -> Result<Auth, Self::Error> {
        let words = self.connection.words.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if response.is_none() && !words.is_empty() {
            let instructions = plain(&words).into();
            return Ok(Auth::Partial { name: "".into(), instructions, prompts: Vec::new().into() });
        }
        let only = MethodSet::from(&[MethodKind::PublicKey][..]);
        Ok(Auth::Reject { proceed_with_methods: Some(only), partial_success: false })
    }

    async fn channel_open_session(
        &mut self,
        channel: Channel<Msg>,
        reply: ChannelOpenHandle,
        _session: &mut Session,
    ) -> Result<(), Self::Error> {
        let Some(seat) = self.seat() else {
            reply.reject(ChannelOpenFailure::ResourceShortage).await;
            return Ok(());
        };
        let (control, controlled) = mpsc::channel(MOST_CONTROLS);
        let Registered { id, write, .. } = self.register(channel, control);
        if let Some(open) = self.open.lock().get_mut(&id) {
            open.idle = Some(Idle { write, controlled, screen: None, variables: Vec::new(), seat });
        }
        reply.accept().await;
        Ok(())
    }

    async fn channel_open_direct_tcpip(
        &mut self,
        channel: Channel<Msg>,
        host_to_connect: &str,
        port_to_connect: u32,
        _originator_address: &str,
        _originator_port: u32,
        reply: ChannelOpenHandle,
        _session: &mut Session,
    ) -> Result<(), Self::Error> {
        match u16::try_from(port_to_connect) {
            Ok(port @ 1..) if host_to_connect.len() <= 255 => {
                self.connect(channel, reply, Endpoint::Tcp { host: host_to_connect.to_owned(), port });
            }
            _ => {
                let reason = format!("there is no port {port_to_connect}");
                reply.reject(ChannelOpenFailure::Other { code: 2, reason }).await;
            }
        }
        Ok(())
    }

    async fn channel_open_direct_streamlocal(
        &mut self,
        channel: Channel<Msg>,
        socket_path: &str,
        reply: ChannelOpenHandle,
        _session: &mut Session,
    ) -> Result<(), Self::Error> {
        if socket_path.len() > 4_096 {
            reply.reject(ChannelOpenFailure::ConnectFailed).await;
        } else {
            self.connect(channel, reply, Endpoint::Socket(socket_path.to_owned()));
        }
        Ok(())
    }

    async fn pty_request(
        &mut self,
        channel: ChannelId,
        term: &str,
        col_width: u32,
        row_height: u32,
        _pix_width: u32,
        _pix_height: u32,
        _modes: &[(Pty, u32)],
        session: &mut Session,
    ) -> Result<(), Self::Error> {
        let mut open = self.open.lock();
        let Some(idle) = open.get_mut(&channel).and_then(|open| open.idle.as_mut()) else {
            return session.channel_failure(channel);
        };
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.+".contains(&byte);
        let is_name = (1..=64).contains(&term.len()) && term.bytes().all(is_plain);
        let term = if is_name { term } else { "xterm-256color" };
        let size = |number: u32, usual: u16| if number == 0 { usual } else { small(number) };
        let (columns, rows) = (size(col_width, 80), size(row_height, 24));
        idle.screen = Some(Screen { term: term.to_owned(), columns, rows });
        session.channel_success(channel)
    }

    async fn env_request(
        &mut self,
        channel: ChannelId,
        variable_name: &str,
        variable_value: &str,
        session: &mut Session,
    ) -> Result<(), Self::Error> {
        let mut open = self.open.lock();
        let idle = open.get_mut(&channel).and_then(|open| open.idle.as_mut());
        match idle {
            Some(idle)
                if idle.variables.len() < MOST_VARIABLES
                    && self.connection.studio.takes_variable(variable_name, variable_value) =>
            {
                idle.variables.push((variable_name.to_owned(), variable_value.to_owned()));
                session.channel_success(channel)
            }
            _ => session.channel_failure(channel),
        }
    }

    async fn shell_request(&mut self, channel: ChannelId, session: &mut Session) -> Result<(), Self::Error> {
        self.run(channel, Running::Process(None), session)
    }

    async fn exec_request(
        &mut self,
        channel: ChannelId,
        data: &[u8],
        session: &mut Session,
    ) -> Result<(), Self::Error> {
        match std::str::from_utf8(data) {
            Ok(command) if data.len() <= MAX_COMMAND && !command.contains('\0') => {
                self.run(channel, Running::Process(Some(command.to_owned())), session)
            }
            _ => session.channel_failure(channel),
        }
    }

    async fn subsystem_request(
        &mut self,
        channel: ChannelId,
        name: &str,
        session: &mut Session,
    ) -> Result<(), Self::Error> {
        if name == "sftp" { self.run(channel, Running::Files, session) } else { session.channel_failure(channel) }
    }

    async fn window_change_request(
        &mut self,
        channel: ChannelId,
        col_width: u32,
        row_height: u32,
        _pix_width: u32,
        _pix_height: u32,
        session: &mut Session,
    ) -> Result<(), Self::Error> {
        if let Some(open) = self.open.lock().get(&channel) {
            // What has ended needs no size any more, and who sends sizes faster than they are taken gets the
            // ones before.
            let _ = open.control.try_send(Control::Size(small(col_width), small(row_height)));
        }
        session.channel_success(channel)
    }

    async fn signal(&mut self, channel: ChannelId, signal: Sig, _session: &mut Session) -> Result<(), Self::Error> {
        let name = match signal {
            Sig::Custom(name) => name,
            known => format!("{known:?}"),
        };
        if let Some(open) = self.open.lock().get(&channel).filter(|_| (1..=16).contains(&name.len())) {
            let _ = open.control.try_send(Control::Signal(name));
        }
        Ok(())
    }

    async fn data(&mut self, channel: ChannelId, data: &[u8], _session: &mut Session) -> Result<(), Self::Error> {
        if let Some(open) = self.open.lock().get(&channel) {
            open.inbox.add(data);
        }
        if self.connection.intake.is_flooded() {
            return Err(russh::Error::Inconsistent);
        }
        if self.connection.intake.is_full() && data.len() < 64 {
            tokio::time::sleep(HOLD_BACK).await;
        }
        Ok(())
    }

    fn adjust_window(&mut self, _channel: ChannelId, _current: u32) -> u32 {
        self.connection.intake.window()
    }

    async fn channel_eof(&mut self, channel: ChannelId, _session: &mut Session) -> Result<(), Self::Error> {
        if let Some(open) = self.open.lock().get(&channel) {
            open.inbox.end();
        }
        Ok(())
    }

    async fn channel_close(&mut self, channel: ChannelId, _session: &mut Session) -> Result<(), Self::Error> {
        let open = self.open.lock().remove(&channel);
        if let Some(open) = open {
            open.closed.notify_one();
        }
        Ok(())
    }
}
