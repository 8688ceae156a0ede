//! The messages.

use atelier_domain::UserId;
use atelier_domain::compute::{InstanceId, JobId, NodeId, Resources};
use atelier_domain::text::Text;
use atelier_domain::time::Span;
use atelier_domain::world::{AllocationKey, Exit};
use serde::{Deserialize, Serialize};

use crate::instance::{Activity, AppsStatus, CustomApps, RunScripts, SetUp, Target};
use crate::node::{Facts, Sample};

/// How an agent shows who it is.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Auth {
    /// For the first time: the token that its driver gave it, and a secret of its own making. The same agent
    /// may say so again until it has heard the welcome; with another secret the token is worth nothing any
    /// more.
    Join {
        /// Given by the driver.
        token: String,
        /// Made by the agent.
        secret: String,
    },
    /// From then on: its secret.
    Known {
        /// Made by the agent.
        secret: String,
    },
}

impl std::fmt::Debug for Auth {
    /// Without the secrets.
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            Self::Join { .. } => "Join",
            Self::Known { .. } => "Known",
        })
    }
}

/// The first message of an agent on each connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    pub protocol: u32,
    /// Which node it is.
    pub node: NodeId,
    /// How it shows that.
    pub auth: Auth,
    /// What it says about itself.
    pub facts: Facts,
    /// Parts of jobs that it has and has not said to be off.
    pub parts: Vec<AllocationKey>,
    /// Whether there are more of them, in [`ToServer::Parts`]: a hello is short, since it comes from who
    /// knows whom.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub more: bool,
}

/// So many parts stand in a hello; with the largest of numbers they have 40,000 bytes.
const HELLO_PARTS: usize = 500;
/// So many parts stand in one message after it.
const MORE_PARTS: usize = 10_000;

impl Hello {
    /// What to say: the hello itself, and the parts that do not fit into it.
    pub fn messages(mut self) -> Vec<ToServer> {
        let rest = self.parts.split_off(self.parts.len().min(HELLO_PARTS));
        self.more = !rest.is_empty();
        let count = rest.chunks(MORE_PARTS).len();
        let more = rest
            .chunks(MORE_PARTS)
            .enumerate()
            .map(|(at, parts)| ToServer::Parts { parts: parts.to_vec(), more: at + 1 < count });
        let more: Vec<ToServer> = more.collect();
        std::iter::once(ToServer::Hello(Box::new(self))).chain(more).collect()
    }
}

/// An event with its number. Numbers of one agent go up by one and begin with 1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Numbered {
    pub number: u64,
    pub event: Event,
}

/// What happened on a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Event {
    /// A part runs. Left out if it is over before it could be said.
    Started(AllocationKey),
    /// A part could not be started; nothing of it is left.
    Refused { part: AllocationKey, detail: Text },
    /// A part that it was asked to give back has not begun here, and will not.
    GivenBack(AllocationKey),
    /// The processes of a part have ended; output is still being handed over. Left out if that is quick.
    Exited { part: AllocationKey, exit: Exit },
    /// Nothing of a part is left, and all its output was sent before this.
    Off { part: AllocationKey, exit: Exit },
    /// Told to drain, it has nothing left.
    Drained,
    /// An instance is set up, or cannot be.
    SetUp {
        instance: InstanceId,
        generation: u64,
        /// What went wrong, if anything did.
        failure: Option<Text>,
    },
    /// The scripts of an instance are done.
    ScriptsDone {
        instance: InstanceId,
        generation: u64,
        /// Whether the creation script, if it was to run, has ended well, whatever became of the startup
        /// script.
        creation_done: bool,
        /// What went wrong, if anything did.
        failure: Option<Text>,
    },
    /// All applications of an instance have answered.
    Healthy { instance: InstanceId, generation: u64 },
}

/// What an agent says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToServer {
    Hello(Box<Hello>),
    /// More parts of jobs, right after a hello that said so. Only then is it welcome.
    Parts {
        parts: Vec<AllocationKey>,
        /// Whether there are still more.
        more: bool,
    },
    Events(Vec<Numbered>),
    /// How the node is doing. Also a sign of life.
    Sample(Box<Sample>),
    /// It wants a file of a job, from there on. Answered with [`crate::Bytes::File`], or [`ToAgent::NoFile`].
    Fetch {
        /// Which, by the hash of its content.
        blob: String,
        offset: u64,
    },
    /// It ends itself, and why.
    Leaving {
        why: Text,
    },
    /// How the applications of an instance do. Said when that changes, and after a welcome.
    Apps(Box<AppsStatus>),
    /// What was going on in an instance.
    Activity(Box<Activity>),
    /// It wants the next token of somebody whose things run here. Answered with [`ToAgent::Identity`] or
    /// [`ToAgent::NoIdentity`]. Only said where the same server has given one: others would not understand
    /// it.
    Identify {
        person: UserId,
    },
    /// A stream that was asked for cannot be had.
    Unreachable {
        ticket: String,
        why: Text,
    },
}

/// What the server says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToAgent {
    /// It is known; it may begin.
    Welcome {
        /// Up to which event the server has heard, of this agent.
        heard: u64,
        /// The parts of jobs of which the server has kept output, and how much.
        kept: Vec<(AllocationKey, u64)>,
    },
    /// It is not let in, and why. It may try again only if `again` says so.
    Refused {
        why: Text,
        /// Whether trying again makes sense.
        again: bool,
    },
    /// All events up to that one are durable.
    Heard(u64),
    /// So much output of a part is kept. Where an agent has sent more, it goes on from there.
    Kept {
        part: AllocationKey,
        /// How many bytes.
        length: u64,
        /// Whether what was sent left a gap, so that the agent must send again from there.
        again: bool,
    },
    /// Start a part of a job. The same part again changes nothing.
    Start(Box<Start>),
    /// End a part of a job: ask its processes to end, then kill them. One that is not known is off.
    End {
        part: AllocationKey,
        /// How long they get.
        grace: Span,
        /// Whether the job's node is taken back and the job goes on elsewhere: a file in its folder says so
        /// before anybody is asked to end, and the folder stays for the next attempt. Agents from before this
        /// only end it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_preempted: bool,
    },
    /// Give a part of a job back that has not begun. One that has begun goes on; one that is not known is
    /// given back.
    GiveBack {
        part: AllocationKey,
    },
    /// Take no more work and say when nothing runs. A start lifts it.
    Drain,
    Undrain,
    /// There is no such file.
    NoFile {
        blob: String,
        why: Text,
    },
    /// End everything and go.
    Quit {
        /// How long processes get.
        grace: Span,
    },
    /// Set an instance up. Answered with [`Event::SetUp`].
    SetUp(Box<SetUp>),
    /// Run an instance's scripts. Answered with [`Event::ScriptsDone`].
    RunScripts(Box<RunScripts>),
    /// Dial again, show the ticket, and connect that with a target.
    Open {
        /// Shown once.
        ticket: String,
        /// Where the bytes go.
        target: Target,
    },
    /// Say now what goes on in the instance here.
    TellActivity,
    /// These are the applications that people added to the instance here.
    Apps(Box<CustomApps>),
    /// End an application of the instance here and start it again.
    RestartApp {
        instance: InstanceId,
        name: String,
    },
    /// A token with which what somebody runs here acts in their name. Only for agents that say that they take
    /// them.
    Identity(Box<Identity>),
    /// There is none for them, or none any more.
    NoIdentity {
        person: UserId,
    },
}

/// A token of somebody whose things run on a node.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    pub person: Person,
    pub token: String,
    /// Where it counts: the address of the server.
    pub url: String,
    /// After so many seconds the next one is to be asked for.
    pub renew_seconds: u64,
}

impl std::fmt::Debug for Identity {
    /// Without the token.
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Identity").field("person", &self.person.id).field("url", &self.url).finish_non_exhaustive()
    }
}

/// A part of a job to be started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    pub part: AllocationKey,
    /// Its number among the parts, from 0.
    pub rank: u32,
    /// All parts, in the order of their numbers.
    pub peers: Vec<Peer>,
    /// What it may use of the node.
    pub shape: Resources,
    /// How long it may run. The server says so too; this counts while there is none.
    pub timeout: Option<Span>,
    /// How long its processes get to end then.
    pub grace: Span,
    /// Its place in an array: the first job of it, its own number from 0, how many there are.
    pub array: Option<(JobId, u32, u32)>,
    pub person: Person,
    pub task: Task,
    /// The Python environment that it runs with. Agents from before this know none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<JobEnvironment>,
}

/// A Python environment of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobEnvironment {
    /// The folder with `bin/python` in it.
    pub path: std::path::PathBuf,
    /// What people call it: `churn:3`.
    pub name: String,
}

/// Where another part of the same job runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Peer {
    pub node: NodeId,
    /// Under which address the others find it.
    pub host: String,
}

/// Whose job it is, and as whom it runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Person {
    pub id: UserId,
    /// A short name for paths and prompts: a–z, 0–9 and `-`.
    pub handle: String,
    /// The user of the system, where people have their own.
    pub uid: Option<u32>,
}

/// What to run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    pub run: Run,
    /// Variables added to the environment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub environment: Vec<(String, String)>,
    /// Files put into its folder.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<TaskFile>,
    /// Whether it gets a sandbox of its own in place of its owner's resident one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_alone: bool,
}

/// A program and how it is called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Run {
    /// A program with its arguments; no shell looks at them.
    Argv(Vec<String>),
    /// Lines for `sh`, or for what their first line names (`#!/usr/bin/env python3`).
    Script(String),
}

/// A file for a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskFile {
    /// Where in the job's folder: relative, without `..`.
    pub path: String,
    /// The hash of its content.
    pub blob: String,
    /// Its size in bytes.
    pub size: u64,
}
