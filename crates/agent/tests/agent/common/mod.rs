//! A server for tests: it speaks the protocol over real sockets, keeps output and events as a server would,
//! and can be away.

pub mod agent;
pub mod hosting;
pub mod jobs;

use std::collections::{HashMap, HashSet};
use std::path::Path;

use atelier_domain::time::Span;
use atelier_domain::world::{AllocationKey, Exit};
use atelier_protocol::{
    Bytes, Event, Hello, Sample, Start, TaskFile, ToAgent, ToServer, decode_bytes, decode_to_server, encode,
};
pub use atelier_testing::PATIENCE;
use futures_util::{SinkExt, StreamExt};
use sha2::{Digest, Sha256};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio_tungstenite::tungstenite::{self, Message};
use tokio_tungstenite::{WebSocketStream, accept_async};

pub trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

pub enum Listener {
    Unix(UnixListener),
    Tcp(TcpListener),
}

impl Listener {
    /// The next who dials.
    pub async fn dialled(&self) -> Box<dyn Stream> {
        match self {
            Self::Unix(listener) => Box::new(listener.accept().await.unwrap().0),
            Self::Tcp(listener) => Box::new(listener.accept().await.unwrap().0),
        }
    }

    pub async fn accept(&self) -> WebSocketStream<Box<dyn Stream>> {
        let dialled = async {
            loop {
                // An agent that was left alone for long has hung up and dials anew.
                if let Ok(socket) = accept_async(self.dialled().await).await {
                    return socket;
                }
            }
        };
        tokio::time::timeout(PATIENCE, dialled).await.expect("an agent dials in")
    }
}

/// What the server has of one part's output.
#[derive(Default)]
pub struct Output {
    pub length: u64,
    pub hash: Sha256,
    /// Only the beginning, for tests that look at it.
    pub text: Vec<u8>,
}

impl Output {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.text).into_owned()
    }
}

/// A server, and what it knows. What it has heard and kept outlives its connections.
pub struct Server {
    pub listener: Listener,
    pub link: Option<WebSocketStream<Box<dyn Stream>>>,
    pub hellos: Vec<Hello>,
    pub heard: u64,
    /// Every event that counts, once.
    pub events: Vec<Event>,
    /// Events that came again.
    pub repeated: usize,
    pub output: HashMap<AllocationKey, Output>,
    pub samples: Vec<Sample>,
    pub fetched: usize,
    pub blobs: HashMap<String, Vec<u8>>,
    pub leaving: Option<String>,
    /// Whether it says that it has heard and kept.
    pub confirms: bool,
    /// Parts whose end came after all of their output, as it must.
    pub off: HashSet<AllocationKey>,
    /// What was said about the instance on the node.
    pub instance: hosting::Said,
}

impl Server {
    pub fn on(listener: Listener) -> Self {
        Self {
            listener,
            link: None,
            hellos: Vec::new(),
            heard: 0,
            events: Vec::new(),
            repeated: 0,
            output: HashMap::new(),
            samples: Vec::new(),
            fetched: 0,
            blobs: HashMap::new(),
            leaving: None,
            confirms: true,
            off: HashSet::new(),
            instance: hosting::Said::default(),
        }
    }

    pub fn unix(path: &Path) -> Self {
        Self::on(Listener::Unix(UnixListener::bind(path).unwrap()))
    }

    /// Waits for the agent and its hello.
    pub async fn accept(&mut self) -> &Hello {
        self.link = Some(self.listener.accept().await);
        loop {
            let message = self.next().await;
            if let Some(ToServer::Hello(hello)) = message {
                self.hellos.push(*hello);
                return self.hellos.last().unwrap();
            }
        }
    }

    /// Waits for the agent and lets it in.
    pub async fn welcome(&mut self) {
        self.accept().await;
        let kept = self.output.iter().map(|(part, output)| (*part, output.length)).collect();
        self.say(&ToAgent::Welcome { heard: self.heard, kept }).await;
    }

    pub async fn say(&mut self, message: &ToAgent) {
        self.link.as_mut().unwrap().send(Message::text(encode(message))).await.unwrap();
    }

    pub async fn start(&mut self, start: &Start) {
        self.say(&ToAgent::Start(Box::new(start.clone()))).await;
    }

    pub async fn end(&mut self, part: AllocationKey, grace: Span) {
        self.say(&ToAgent::End { part, grace, is_preempted: false }).await;
    }

    /// Takes the next message; files and output are dealt with here.
    pub async fn next(&mut self) -> Option<ToServer> {
        let message = tokio::time::timeout(PATIENCE, self.link.as_mut().unwrap().next()).await;
        self.take(message.expect("the agent says something in time")).await
    }

    /// Takes what came over the connection.
    pub async fn take(&mut self, message: Option<tungstenite::Result<Message>>) -> Option<ToServer> {
        match message {
            Some(Ok(Message::Text(text))) => {
                let message = decode_to_server(&text).unwrap();
                self.hear(&message).await;
                Some(message)
            }
            Some(Ok(Message::Binary(bytes))) => {
                if let Bytes::Output { part, offset, bytes } = decode_bytes(&bytes).unwrap() {
                    self.keep(part, offset, &bytes).await;
                }
                None
            }
            Some(Ok(_)) => None,
            _ => {
                self.link = None;
                None
            }
        }
    }

    async fn keep(&mut self, part: AllocationKey, offset: u64, bytes: &[u8]) {
        assert!(!self.off.contains(&part), "output after the end of {part:?}");
        let output = self.output.entry(part).or_default();
        assert!(offset <= output.length, "a gap in the output of {part:?}");
        let known = usize::try_from(output.length - offset).unwrap().min(bytes.len());
        let fresh = &bytes[known..];
        output.length += fresh.len() as u64;
        output.hash.update(fresh);
        if output.text.len() < 1 << 20 {
            output.text.extend(fresh);
        }
        let length = output.length;
        if self.confirms {
            self.say(&ToAgent::Kept { part, length, again: false }).await;
        }
    }

    async fn hear(&mut self, message: &ToServer) {
        match message {
            ToServer::Events(events) => {
                for event in events {
                    if event.number <= self.heard {
                        self.repeated += 1;
                        continue;
                    }
                    assert_eq!(event.number, self.heard + 1, "numbers go up by one");
                    self.heard = event.number;
                    if let Event::Off { part, .. } = &event.event {
                        self.off.insert(*part);
                    }
                    self.events.push(event.event.clone());
                }
                if self.confirms {
                    self.say(&ToAgent::Heard(self.heard)).await;
                }
            }
            ToServer::Sample(sample) => self.samples.push((**sample).clone()),
            ToServer::Fetch { blob, offset } => {
                self.fetched += 1;
                let Some(content) = self.blobs.get(blob) else {
                    return self.say(&ToAgent::NoFile { blob: blob.clone(), why: "it was removed".into() }).await;
                };
                let from = usize::try_from(*offset).unwrap();
                let piece = content[from..content.len().min(from + atelier_protocol::MAX_BYTES)].to_vec();
                let hash: [u8; 32] = Sha256::digest(content).into();
                let frame = Bytes::File { blob: hash, offset: *offset, total: content.len() as u64, bytes: piece };
                self.link.as_mut().unwrap().send(Message::binary(frame.encode())).await.unwrap();
            }
            ToServer::Leaving { why } => self.leaving = Some(why.to_string()),
            ToServer::Hello(_) | ToServer::Parts { .. } | ToServer::Identify { .. } => {}
            ToServer::Apps(_) | ToServer::Activity(_) | ToServer::Unreachable { .. } => self.instance.hear(message),
        }
    }

    /// Takes messages until `probe` finds what it looks for.
    pub async fn until<T>(&mut self, what: &str, mut probe: impl FnMut(&Self) -> Option<T>) -> T {
        let wait = async {
            loop {
                if let Some(found) = probe(self) {
                    return found;
                }
                assert!(self.link.is_some(), "the agent hung up while the test waited for {what}; {:?}", self.events);
                self.next().await;
            }
        };
        match tokio::time::timeout(2 * PATIENCE, wait).await {
            Ok(found) => found,
            Err(_) => panic!("waited in vain for {what}"),
        }
    }

    /// How a part ended, once nothing of it is left.
    pub async fn off(&mut self, part: AllocationKey) -> Exit {
        let found = |server: &Self| {
            server.events.iter().find_map(|event| match event {
                Event::Off { part: of, exit } if *of == part => Some(Ok(*exit)),
                Event::Refused { part: of, detail } if *of == part => Some(Err(detail.to_string())),
                _ => None,
            })
        };
        self.until(&format!("{part:?} to be off"), found).await.expect("it was started")
    }

    /// Why a part was refused.
    pub async fn refused(&mut self, part: AllocationKey) -> String {
        let found = |server: &Self| {
            server.events.iter().find_map(|event| match event {
                Event::Refused { part: of, detail } if *of == part => Some(detail.to_string()),
                Event::Off { part: of, exit } if *of == part => Some(format!("it ran: {exit:?}")),
                _ => None,
            })
        };
        self.until(&format!("{part:?} to be refused"), found).await
    }

    pub async fn started(&mut self, part: AllocationKey) {
        self.until(&format!("{part:?} to start"), |server| server.events.contains(&Event::Started(part)).then_some(()))
            .await;
    }

    /// Waits until the output of a part has this text.
    pub async fn printed(&mut self, part: AllocationKey, text: &str) -> String {
        let found = |server: &Self| server.text(part).contains(text).then(|| server.text(part));
        self.until(&format!("{part:?} to print {text:?}"), found).await
    }

    pub fn text(&self, part: AllocationKey) -> String {
        self.output.get(&part).map(Output::text).unwrap_or_default()
    }

    /// A file that it has, for a job.
    pub fn file(&mut self, path: &str, content: &[u8]) -> TaskFile {
        let blob: String = Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect();
        self.blobs.insert(blob.clone(), content.to_vec());
        TaskFile { path: path.to_owned(), blob, size: content.len() as u64 }
    }

    /// Waits until the agent has closed the connection.
    pub async fn until_closed(&mut self) {
        while self.link.is_some() {
            self.next().await;
        }
    }

    pub fn drop_link(&mut self) {
        self.link = None;
    }
}
