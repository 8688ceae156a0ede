//! Whoever is sent away hears why, whatever comes first.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use atelier_pipe::Wire;
use russh::client::{self, DisconnectReason};
use russh::keys::ssh_key::private::Ed25519Keypair;
use russh::keys::{PrivateKey, PrivateKeyWithHashAlg, PublicKeyOrCertificate};
use russh::{Channel, ChannelMsg};
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use crate::{Entry, HostKey, Limits, Studio, Visit, Wanted, serve};

/// So that what hangs fails.
const PATIENCE: Duration = Duration::from_secs(60);
const STOPPING: &str = "“desk” is stopping.";

/// An instance, as its visitors see it.
struct Desk {
    /// Why nobody may stay there. Those who wait are not told of it by itself.
    over: Mutex<Option<String>>,
    /// Told to those who wait for the end.
    end: watch::Sender<Option<String>>,
    /// The far ends of streams; without them nothing can be opened.
    streams: Option<mpsc::UnboundedSender<UnixStream>>,
    left: mpsc::UnboundedSender<Option<String>>,
}

struct Door(Arc<Desk>);

#[async_trait]
impl Studio for Door {
    async fn offered(&self, _fingerprint: &str, _from: SocketAddr) -> Result<(), String> {
        Ok(())
    }

    async fn enter(&self, _user: &str, _fingerprint: &str, _from: SocketAddr) -> Entry {
        Entry::Welcome(Arc::clone(&self.0) as Arc<dyn Visit>)
    }

    async fn failed(&self, _from: SocketAddr) {}

    fn takes_variable(&self, _name: &str, _value: &str) -> bool {
        false
    }
}

#[async_trait]
impl Visit for Desk {
    fn why_closed(&self) -> Option<String> {
        None
    }

    async fn open(&self, _wanted: Wanted) -> Result<Wire, String> {
        let streams = self.streams.as_ref().ok_or("its agent is gone")?;
        let (near, far) = UnixStream::pair().map_err(|error| error.to_string())?;
        streams.send(far).map_err(|error| error.to_string())?;
        Ok(near.into())
    }

    fn used(&self, _received: u64, _sent: u64) {}

    async fn must_end(&self) -> String {
        let mut end = self.end.subscribe();
        end.wait_for(Option::is_some).await.expect("the desk is there").clone().unwrap_or_default()
    }

    async fn why_over(&self) -> Option<String> {
        self.over.lock().expect("nobody has panicked").clone()
    }

    fn left(&self, _received: u64, _sent: u64, why: Option<&str>) {
        // Told at the end of a test too, when nobody listens any more.
        let _ = self.left.send(why.map(str::to_owned));
    }
}

/// A gateway before one instance, and a client inside.
struct Scene {
    desk: Arc<Desk>,
    streams: mpsc::UnboundedReceiver<UnixStream>,
    left: mpsc::UnboundedReceiver<Option<String>>,
    client: client::Handle<Ear>,
    /// What the client was told when it was disconnected.
    told: mpsc::UnboundedReceiver<String>,
    at: SocketAddr,
    stop: watch::Sender<bool>,
    gateway: JoinHandle<()>,
}

/// Hears why a client is disconnected.
struct Ear(mpsc::UnboundedSender<String>);

impl client::Handler for Ear {
    type Error = russh::Error;

    async fn check_server_key(&mut self, _key: &PublicKeyOrCertificate) -> Result<bool, Self::Error> {
        Ok(true)
    }

    async fn disconnected(&mut self, reason: DisconnectReason<Self::Error>) -> Result<(), Self::Error> {
        let words = match reason {
            DisconnectReason::ReceivedDisconnect(told) => told.message,
            DisconnectReason::Error(error) => format!("nothing: {error}"),
        };
        let _ = self.0.send(words);
        Ok(())
    }
}

fn key(seed: u8) -> PrivateKey {
    PrivateKey::from(Ed25519Keypair::from_seed(&[seed; 32]))
}

impl Scene {
    async fn open(has_agent: bool) -> Self {
        let ((streams, opened), (left, has_left)) = (mpsc::unbounded_channel(), mpsc::unbounded_channel());
        let end = watch::Sender::new(None);
        let streams = has_agent.then_some(streams);
        let desk = Arc::new(Desk { over: Mutex::default(), end, streams, left });
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let at = listener.local_addr().expect("bound");
        let stop = watch::Sender::new(false);
        let mut stops = stop.subscribe();
        let stops = async move { drop(stops.wait_for(|stops| *stops).await.expect("the scene is there")) };
        let door = Arc::new(Door(Arc::clone(&desk)));
        let gateway = tokio::spawn(serve(listener, HostKey(key(1)), door, Limits::default(), stops));
        let (ear, told) = mpsc::unbounded_channel();
        let mut client = client::connect(Arc::default(), at, Ear(ear)).await.expect("connects");
        let own = PrivateKeyWithHashAlg::new(Arc::new(key(2)), None);
        assert!(client.authenticate_publickey("desk", own).await.expect("answers").success());
        Self { desk, streams: opened, left: has_left, client, told, at, stop, gateway }
    }

    fn is_over(&self) {
        *self.desk.over.lock().expect("nobody has panicked") = Some(STOPPING.to_owned());
    }

    async fn session(&self) -> Channel<client::Msg> {
        self.client.channel_open_session().await.expect("opens")
    }

    async fn running(&mut self) -> (Channel<client::Msg>, UnixStream) {
        let session = self.session().await;
        session.exec(true, "sleep 600").await.expect("asked");
        (session, self.streams.recv().await.expect("a stream"))
    }

    /// Checks that the client was told why, and nothing else.
    async fn is_sent_away(&mut self, channel: Option<Channel<client::Msg>>) {
        if let Some(channel) = channel {
            let heard = all(channel).await;
            let is_silent =
                |message: &ChannelMsg| matches!(message, ChannelMsg::Success | ChannelMsg::WindowAdjusted { .. });
            assert!(heard.iter().all(is_silent), "{heard:?}");
        }
        let told = tokio::time::timeout(PATIENCE, self.told.recv()).await.expect("it is disconnected");
        assert_eq!(told.as_deref(), Some("\"desk\" is stopping."));
        assert_eq!(self.left.recv().await, Some(Some(STOPPING.to_owned())));
    }
}

/// All that still comes over a channel.
async fn all(mut channel: Channel<client::Msg>) -> Vec<ChannelMsg> {
    let mut heard = Vec::new();
    while let Some(message) = channel.wait().await {
        heard.push(message);
    }
    heard
}

#[tokio::test]
async fn a_stream_that_ends_first_does_not_hide_why_a_session_has_to_end() {
    let mut scene = Scene::open(true).await;
    let (session, stream) = scene.running().await;
    scene.is_over();
    drop(stream);
    scene.is_sent_away(Some(session)).await;
}

#[tokio::test]
async fn files_and_forwards_hear_it_too() {
    let mut scene = Scene::open(true).await;
    let session = scene.session().await;
    session.request_subsystem(true, "sftp").await.expect("asked");
    let stream = scene.streams.recv().await.expect("a stream");
    scene.is_over();
    drop(stream);
    scene.is_sent_away(Some(session)).await;

    let mut scene = Scene::open(true).await;
    let forward = scene.client.channel_open_direct_tcpip("localhost", 80, "localhost", 1).await.expect("opens");
    let stream = scene.streams.recv().await.expect("a stream");
    scene.is_over();
    drop(stream);
    scene.is_sent_away(Some(forward)).await;
}

#[tokio::test]
async fn what_cannot_be_opened_any_more_says_why_nobody_may_stay() {
    let mut scene = Scene::open(false).await;
    scene.is_over();
    let session = scene.session().await;
    session.exec(true, "true").await.expect("asked");
    scene.is_sent_away(Some(session)).await;

    let mut scene = Scene::open(false).await;
    scene.is_over();
    assert!(scene.client.channel_open_direct_tcpip("localhost", 80, "localhost", 1).await.is_err());
    scene.is_sent_away(None).await;
}

#[tokio::test]
async fn whoever_may_stay_hears_that_the_stream_was_lost_and_goes_on() {
    let mut scene = Scene::open(true).await;
    let (session, stream) = scene.running().await;
    drop(stream);
    let heard = all(session).await;
    let said = heard.iter().find_map(|message| match message {
        ChannelMsg::ExtendedData { data, ext: 1 } => Some(String::from_utf8_lossy(data).into_owned()),
        _ => None,
    });
    assert_eq!(said.as_deref(), Some("The connection to the instance was lost; the session has ended.\n"));
    assert!(heard.iter().any(|message| matches!(message, ChannelMsg::ExitStatus { exit_status: 255 })), "{heard:?}");
    let (_next, mut stream) = scene.running().await;
    stream.write_all(b"still here").await.expect("somebody reads");
}

#[tokio::test]
async fn a_gateway_that_stops_waits_until_everybody_has_heard_it() {
    let mut scene = Scene::open(true).await;
    let (session, stream) = scene.running().await;
    // Somebody who says nothing keeps nobody waiting.
    let _stranger = TcpStream::connect(scene.at).await.expect("connects");
    scene.stop.send_replace(true);
    scene.desk.end.send_replace(Some(STOPPING.to_owned()));
    (&mut scene.gateway).await.expect("ends");
    scene.is_sent_away(Some(session)).await;
    drop(stream);
}
