//! Frames: how messages become bytes and back. Nothing here trusts what it reads.

use atelier_domain::compute::{JobId, NodeId};
use atelier_domain::world::AllocationKey;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::instance::Target;
use crate::message::{Run, ToAgent, ToServer};
use crate::remote::MAX_COMMAND;

/// The most bytes of output or of a file in one frame.
pub const MAX_BYTES: usize = 256 << 10;
/// The largest frame: a job with all it was given.
pub const MAX_FRAME: usize = 4 << 20;
/// The longest first message of an agent: whoever sends it has not shown yet who they are.
pub const MAX_HELLO: usize = 64 << 10;

/// The most events in one message.
const MAX_EVENTS: usize = 4_096;
/// The most parts, variables, files, arguments or GPUs in one message.
const MAX_ITEMS: usize = 70_000;
/// The longest text that people read.
const MAX_TEXT: usize = 4_096;
/// The longest secret or name of a blob.
const MAX_NAME: usize = 256;

/// Why a frame was not understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    #[error("a frame has at most {MAX_FRAME} bytes; this has {0}")]
    TooLarge(usize),
    /// The first message is too long.
    #[error("a first message has at most {MAX_HELLO} bytes; this has {0}")]
    LongHello(usize),
    /// Not a message.
    #[error("not a message: {0}")]
    NotAMessage(String),
    /// A list or text in it is too long.
    #[error("{what} has at most {most} entries; this has {found}")]
    TooLong { what: &'static str, most: usize, found: usize },
    /// A binary frame of no known kind, or cut short.
    #[error("a binary frame of {0} bytes that is none of ours")]
    NotBytes(usize),
}

/// Makes a text frame.
pub fn encode(message: &impl Serialize) -> String {
    // Only maps with keys that are no text could fail, and there are none.
    serde_json::to_string(message).unwrap_or_default()
}

fn decode<T: DeserializeOwned>(text: &str) -> Result<T, DecodeError> {
    if text.len() > MAX_FRAME {
        return Err(DecodeError::TooLarge(text.len()));
    }
    serde_json::from_str(text).map_err(|error| DecodeError::NotAMessage(error.to_string()))
}

fn at_most(what: &'static str, found: usize, most: usize) -> Result<(), DecodeError> {
    if found > most { Err(DecodeError::TooLong { what, most, found }) } else { Ok(()) }
}

/// Reads the first message of an agent.
pub fn decode_first(text: &str) -> Result<ToServer, DecodeError> {
    if text.len() > MAX_HELLO {
        return Err(DecodeError::LongHello(text.len()));
    }
    decode_to_server(text)
}

/// Reads what an agent said.
pub fn decode_to_server(text: &str) -> Result<ToServer, DecodeError> {
    let message: ToServer = decode(text)?;
    match &message {
        ToServer::Hello(hello) => {
            at_most("a hello's parts", hello.parts.len(), MAX_ITEMS)?;
            let facts = &hello.facts;
            for text in facts.warnings.iter().chain(&facts.gpus).chain([&facts.version, &facts.host]) {
                at_most("a text", text.len(), MAX_TEXT)?;
            }
            at_most("the warnings", facts.warnings.len(), MAX_NAME)?;
            at_most("the GPUs", facts.gpus.len(), MAX_NAME)?;
            let (crate::Auth::Join { secret, .. } | crate::Auth::Known { secret }) = &hello.auth;
            at_most("a secret", secret.len(), MAX_NAME)?;
            if let crate::Auth::Join { token, .. } = &hello.auth {
                at_most("a token", token.len(), MAX_NAME)?;
            }
        }
        ToServer::Parts { parts, .. } => at_most("a list of parts", parts.len(), MAX_ITEMS)?,
        ToServer::Events(events) => {
            at_most("a list of events", events.len(), MAX_EVENTS)?;
            for event in events {
                let text = match &event.event {
                    crate::Event::Refused { detail, .. } => Some(detail),
                    crate::Event::SetUp { failure, .. } | crate::Event::ScriptsDone { failure, .. } => failure.as_ref(),
                    _ => None,
                };
                at_most("a text", text.map_or(0, |text| text.len()), MAX_TEXT)?;
            }
        }
        ToServer::Sample(sample) => {
            at_most("a sample's parts", sample.parts.len(), MAX_ITEMS)?;
            at_most("a sample's GPUs", sample.gpus.len(), MAX_NAME)?;
        }
        ToServer::Fetch { blob, .. } => at_most("a blob's name", blob.len(), MAX_NAME)?,
        ToServer::Leaving { why } => at_most("a text", why.len(), MAX_TEXT)?,
        ToServer::Apps(status) => {
            at_most("the applications", status.apps.len(), MAX_NAME)?;
            at_most("the terminals", status.terminals.len(), MAX_NAME)?;
            for app in &status.apps {
                at_most("an application's last lines", app.last_lines.len(), MAX_NAME)?;
            }
        }
        ToServer::Activity(activity) => {
            at_most("the signals", activity.signals.len(), MAX_NAME)?;
            at_most("the processes", activity.processes.len(), MAX_NAME)?;
        }
        ToServer::Identify { person } => at_most("an account's id", person.as_str().len(), MAX_NAME)?,
        ToServer::Unreachable { ticket, why } => {
            at_most("a ticket", ticket.len(), MAX_NAME)?;
            at_most("a text", why.len(), MAX_TEXT)?;
        }
    }
    Ok(message)
}

/// Reads what the server said.
pub fn decode_to_agent(text: &str) -> Result<ToAgent, DecodeError> {
    let message: ToAgent = decode(text)?;
    match &message {
        ToAgent::Welcome { kept, .. } => at_most("what is kept", kept.len(), MAX_ITEMS)?,
        ToAgent::Start(start) => {
            at_most("a job's parts", start.peers.len(), MAX_ITEMS)?;
            at_most("a job's variables", start.task.environment.len(), MAX_ITEMS)?;
            at_most("a job's files", start.task.files.len(), MAX_ITEMS)?;
            if let Run::Argv(arguments) = &start.task.run {
                at_most("a job's arguments", arguments.len(), MAX_ITEMS)?;
            }
        }
        ToAgent::Apps(custom) => at_most("the applications", custom.apps.len(), MAX_NAME)?,
        ToAgent::Identity(identity) => {
            at_most("a token", identity.token.len(), MAX_TEXT)?;
            at_most("an address", identity.url.len(), MAX_TEXT)?;
        }
        ToAgent::Open { target: Target::Session { start, .. }, .. } => {
            at_most("a command", start.command.as_ref().map_or(0, String::len), MAX_COMMAND)?;
            at_most("a session's variables", start.environment.len(), MAX_NAME)?;
        }
        _ => {}
    }
    Ok(message)
}

/// A binary frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bytes {
    /// Output of a part of a job, from that offset on.
    Output { part: AllocationKey, offset: u64, bytes: Vec<u8> },
    /// A piece of a file, from that offset on; it is the last if nothing is left of `total`.
    File {
        /// Which, by the hash of its content: 32 bytes.
        blob: [u8; 32],
        offset: u64,
        /// How long the file is.
        total: u64,
        bytes: Vec<u8>,
    },
}

const OUTPUT: u8 = 1;
const FILE: u8 = 2;
const OUTPUT_HEAD: usize = 1 + 8 + 4 + 8 + 8;
const FILE_HEAD: usize = 1 + 32 + 8 + 8;

impl Bytes {
    /// Makes a binary frame.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Output { part, offset, bytes } => {
                let mut frame = Vec::with_capacity(OUTPUT_HEAD + bytes.len());
                frame.push(OUTPUT);
                frame.extend(part.job.0.to_be_bytes());
                frame.extend(part.attempt.to_be_bytes());
                frame.extend(part.node.0.to_be_bytes());
                frame.extend(offset.to_be_bytes());
                frame.extend(bytes);
                frame
            }
            Self::File { blob, offset, total, bytes } => {
                let mut frame = Vec::with_capacity(FILE_HEAD + bytes.len());
                frame.push(FILE);
                frame.extend(blob);
                frame.extend(offset.to_be_bytes());
                frame.extend(total.to_be_bytes());
                frame.extend(bytes);
                frame
            }
        }
    }
}

/// Takes a number off the front.
fn number<const N: usize>(frame: &mut &[u8]) -> Option<[u8; N]> {
    let (head, rest) = frame.split_first_chunk::<N>()?;
    *frame = rest;
    Some(*head)
}

/// Reads a binary frame.
pub fn decode_bytes(frame: &[u8]) -> Result<Bytes, DecodeError> {
    let whole = frame.len();
    let strange = DecodeError::NotBytes(whole);
    if whole > MAX_BYTES + FILE_HEAD {
        return Err(DecodeError::TooLarge(whole));
    }
    let mut rest = frame;
    let read = || -> Option<Bytes> {
        let [kind] = number::<1>(&mut rest)?;
        match kind {
            OUTPUT => {
                let job = JobId(u64::from_be_bytes(number(&mut rest)?));
                let attempt = u32::from_be_bytes(number(&mut rest)?);
                let node = NodeId(u64::from_be_bytes(number(&mut rest)?));
                let offset = u64::from_be_bytes(number(&mut rest)?);
                offset.checked_add(rest.len() as u64)?;
                Some(Bytes::Output { part: AllocationKey { job, attempt, node }, offset, bytes: rest.to_vec() })
            }
            FILE => {
                let blob = number(&mut rest)?;
                let offset = u64::from_be_bytes(number(&mut rest)?);
                let total = u64::from_be_bytes(number(&mut rest)?);
                (offset.checked_add(rest.len() as u64)? <= total).then(|| Bytes::File {
                    blob,
                    offset,
                    total,
                    bytes: rest.to_vec(),
                })
            }
            _ => None,
        }
    };
    let mut read = read;
    read().ok_or(strange)
}
