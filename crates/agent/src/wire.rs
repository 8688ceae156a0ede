//! What an agent and the processes inside a sandbox say to each other, over a socket that keeps messages
//! apart and carries open files. The far end runs as a person whom nobody trusts: the agent believes only
//! that it comes from that sandbox.

use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Read, Seek, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, fstat, memfd_create};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair, sockopt::set_socket_linger,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The most open files in one message; the system allows 253.
pub const MAX_FILES: usize = 200;
/// What is longer goes into a file in memory of which the message carries the handle.
const MAX_INLINE: usize = 8 << 10;
/// The longest message: a job with all that a frame from the server can hold, and some more for escapes.
const MAX_MESSAGE: u64 = 16 << 20;

/// What the file of a message must have: nobody changes it any more, and it lies in memory. Reading anything
/// else may never end, such as a pipe, an eventfd or a file that a program serves.
const SEALS: SealFlags = SealFlags::WRITE.union(SealFlags::GROW).union(SealFlags::SHRINK);

const INLINE: u8 = 0;
const IN_FILE: u8 = 1;

/// What the agent says.
#[derive(Debug, Serialize, Deserialize)]
pub enum Order {
    /// To a launcher: make a worker that listens on the socket that comes with this. To one that makes a
    /// sandbox for each job, the folder for the worker's temporary files comes too, as a mount.
    Worker(u64),
    /// To a launcher: put a file into the folder of a worker's job that says that its node is taken back.
    Notice {
        worker: u64,
        folder: String,
        /// Whose the folder has to be; the launcher's own user if none.
        owner: Option<u32>,
        /// How long the job's processes get.
        seconds: u64,
    },
    /// To a worker: put these files into the folder of the next job. Their contents come with this, in the
    /// same order.
    Files {
        folder: String,
        /// Where in it, relative.
        paths: Vec<String>,
    },
    /// To a worker: remove that job's folder again, it does not begin.
    Tidy(String),
    /// To a worker: run this, next if something runs already. Where its output goes comes with this, and with
    /// the first one the file that counts how often the system has killed for lack of memory, where there is
    /// one.
    Job(Box<Job>),
    /// To a worker: it was heard that its job runs; nothing more comes until that has ended.
    Noted,
    /// To a worker: run this in a folder that is there and stays. Where its output goes comes with this.
    Process(Box<Process>),
    /// To a worker: run this in a terminal, whose other end comes with the answer. It takes no other order
    /// then.
    Terminal(Box<Process>),
    /// To a worker: make a home and a layer what they have to be.
    Furnish(Furnish),
    /// To a worker: run this until it ends or is hung up. Its input, output and errors come with this, or it
    /// gets a terminal whose other end comes with the answer. It hears [`Order::Signal`] and
    /// [`Order::HangUp`] meanwhile, and nothing else.
    Remote(Box<Remote>),
    /// To a worker in a session: send that signal to all that runs in it.
    Signal(String),
    /// To a worker in a session: nobody is at the other end any more. All that runs in the session is asked
    /// to end, then killed; what has made itself independent of it goes on.
    HangUp,
    /// To a worker: connect to this; the connection comes with the answer.
    Connect(atelier_protocol::remote::Endpoint),
}

/// What a session of somebody who came in from elsewhere runs.
#[derive(Debug, Serialize, Deserialize)]
pub struct Remote {
    pub what: What,
    /// Columns and rows of the terminal, if it gets one.
    pub screen: Option<(u16, u16)>,
    pub folder: String,
    pub environment: Vec<(String, String)>,
    /// The most address space of each process in bytes, where nothing better limits memory.
    pub memory: Option<u64>,
}

/// See [`Remote`].
#[derive(Debug, Serialize, Deserialize)]
pub enum What {
    /// The person's shell, as at a login.
    Shell,
    /// A command for that shell.
    Command(String),
    /// The server of files, which is this program.
    Sftp,
}

/// Something of an instance, as its worker sees it.
#[derive(Debug, Serialize, Deserialize)]
pub struct Process {
    pub folder: String,
    /// The program. In a terminal, none means the person's shell.
    pub program: Program,
    pub environment: Vec<(String, String)>,
    /// The most address space of each process in bytes, where nothing better limits memory.
    pub memory: Option<u64>,
    /// A socket that is joined to a port on which it listens.
    pub bridge: Option<Bridge>,
}

/// A socket and the port of loopback that it is joined to.
#[derive(Debug, Serialize, Deserialize)]
pub struct Bridge {
    /// Where the socket is.
    pub socket: String,
    pub port: u16,
}

/// A program and how it is called.
#[derive(Debug, Serialize, Deserialize)]
pub enum Program {
    /// With its arguments; no shell looks at them.
    Argv(Vec<String>),
    /// Lines for `sh`, or for what their first line names, and its arguments.
    Script(String, Vec<String>),
}

/// What a person's home and their layer of an environment are made of.
#[derive(Debug, Serialize, Deserialize)]
pub struct Furnish {
    pub home: String,
    pub layer: String,
    /// What the layer stands on.
    pub base: Option<String>,
}

/// A job as its worker sees it.
#[derive(Debug, Serialize, Deserialize)]
pub struct Job {
    pub folder: String,
    pub run: atelier_protocol::Run,
    pub environment: Vec<(String, String)>,
    /// The most address space of each process in bytes, where nothing better limits memory.
    pub memory: Option<u64>,
}

/// What a launcher or a worker says.
#[derive(Debug, Serialize, Deserialize)]
pub enum Said {
    /// It can be told what to do. A handle of its process comes with this.
    Ready,
    /// It cannot begin, and why.
    Failed(String),
    /// A launcher: a worker has ended, and nothing of its job is left; and why it never began, if it did not.
    Gone(u64, String),
    /// A launcher: the notice lies in the folder of a worker's job, or cannot lie there.
    Noticed(u64),
    /// A launcher: a worker has ended, and something of its job does not end though it was killed.
    Lingers(u64),
    /// The files are in place.
    Took,
    /// The job's process runs. Left out if it is over at once.
    Spawned,
    /// The job that was to run next has not begun, and will not: the one before it takes long.
    Back,
    /// Nothing of the job is left.
    Ended(Outcome),
    /// The same, and it did not end well: the system has killed for lack of memory meanwhile.
    RanOutOfMemory,
}

/// How a job went, as its worker saw it.
#[derive(Debug, Serialize, Deserialize)]
pub enum Outcome {
    /// Its process ended by itself, or by a signal (128 and its number).
    Code(i32),
    /// There was no process; why, for people.
    Refused(String),
}

/// Makes two ends that are connected.
pub fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?)
}

/// Sends a message with open files.
pub fn send(socket: impl AsFd, message: &impl Serialize, files: &[BorrowedFd<'_>], can_wait: bool) -> io::Result<()> {
    let mut body = Vec::with_capacity(512);
    body.push(INLINE);
    serde_json::to_writer(&mut body, message)?;
    let mut all: Vec<BorrowedFd<'_>> = Vec::new();
    let memory;
    if body.len() > MAX_INLINE {
        let mut file = File::from(memfd_create("atelier-message", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?);
        file.write_all(&body[1..])?;
        fcntl_add_seals(&file, SEALS)?;
        memory = file;
        all.push(memory.as_fd());
        body = vec![IN_FILE];
    }
    all.extend(files);
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FILES + 1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !all.is_empty() && !control.push(SendAncillaryMessage::ScmRights(&all)) {
        return Err(io::Error::other("too many files for one message"));
    }
    let flags = if can_wait { SendFlags::NOSIGNAL } else { SendFlags::NOSIGNAL | SendFlags::DONTWAIT };
    sendmsg(socket, &[IoSlice::new(&body)], &mut control, flags)?;
    Ok(())
}

/// Receives a message and the open files with it; nothing once the other end is closed.
pub fn receive<T: DeserializeOwned>(socket: impl AsFd, can_wait: bool) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
    let mut body = [0; MAX_INLINE + 1];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FILES + 1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags = if can_wait { RecvFlags::CMSG_CLOEXEC } else { RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT };
    let got = rustix::io::retry_on_intr(|| recvmsg(&socket, &mut [IoSliceMut::new(&mut body)], &mut control, flags))?;
    let mut files = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(handles) = message {
            files.extend(handles);
        }
    }
    // Closing a connection with this set may wait for its other end, for hours. For files it means nothing.
    for file in &files {
        let _ = set_socket_linger(file, None);
    }
    let strange = || io::Error::new(io::ErrorKind::InvalidData, "not a message");
    match body[..got.bytes.min(MAX_INLINE + 1)] {
        [] => Ok(None),
        [INLINE, ref text @ ..] => Ok(Some((serde_json::from_slice(text)?, files))),
        [IN_FILE] if !files.is_empty() => {
            let text = read_sealed(files.remove(0))?.ok_or_else(strange)?;
            Ok(Some((serde_json::from_slice(&text)?, files)))
        }
        _ => Err(strange()),
    }
}

/// What is in the file of a message; nothing if it is no such file.
fn read_sealed(file: OwnedFd) -> io::Result<Option<Vec<u8>>> {
    if !fcntl_get_seals(&file).is_ok_and(|seals| seals.contains(SEALS)) {
        return Ok(None);
    }
    let Some(length) = u64::try_from(fstat(&file)?.st_size).ok().filter(|length| *length <= MAX_MESSAGE) else {
        return Ok(None);
    };
    let mut file = File::from(file);
    file.rewind()?;
    let mut text = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
    file.read_to_end(&mut text)?;
    Ok(Some(text))
}

#[cfg(test)]
mod tests {
    use rustix::event::{EventfdFlags, eventfd};

    use super::*;

    /// Receives what somebody says who has taken over the far end: a message in that file.
    fn hear(file: impl AsFd) -> io::Result<Option<(Said, Vec<OwnedFd>)>> {
        let (near, far) = pair().unwrap();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let files = [file.as_fd()];
        assert!(control.push(SendAncillaryMessage::ScmRights(&files)));
        sendmsg(&far, &[IoSlice::new(&[IN_FILE])], &mut control, SendFlags::NOSIGNAL).unwrap();
        receive::<Said>(&near, false)
    }

    fn memory(text: &[u8]) -> File {
        let mut file = File::from(memfd_create("x", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap());
        file.write_all(text).unwrap();
        file
    }

    #[test]
    fn a_long_message_arrives_whole() {
        let (near, far) = pair().unwrap();
        let text = "x".repeat(MAX_INLINE * 3);
        send(&far, &Said::Failed(text.clone()), &[], false).unwrap();
        let (said, files) = receive::<Said>(&near, false).unwrap().unwrap();
        assert!(matches!(said, Said::Failed(why) if why == text) && files.is_empty());
    }

    #[test]
    fn a_message_in_anything_but_a_sealed_file_in_memory_is_refused_at_once() {
        let refused = |heard: io::Result<_>| heard.map(|_: Option<(Said, Vec<OwnedFd>)>| ()).unwrap_err().kind();
        let strange = io::ErrorKind::InvalidData;
        // Reading these would wait for somebody who never comes.
        assert_eq!(refused(hear(eventfd(0, EventfdFlags::empty()).unwrap())), strange);
        let (pipe, _other) = rustix::pipe::pipe().unwrap();
        assert_eq!(refused(hear(pipe)), strange);
        assert_eq!(refused(hear(File::open("/dev/zero").unwrap())), strange);
        assert_eq!(refused(hear(tempfile::tempfile().unwrap())), strange);
        // These could change while they are read, or are too long.
        assert_eq!(refused(hear(memory(b"\"Ready\""))), strange);
        let long = memory(b"");
        long.set_len(MAX_MESSAGE + 1).unwrap();
        fcntl_add_seals(&long, SEALS).unwrap();
        assert_eq!(refused(hear(long)), strange);
        let good = memory(b"\"Ready\"");
        fcntl_add_seals(&good, SEALS).unwrap();
        assert!(matches!(hear(good), Ok(Some((Said::Ready, _)))));
    }
}
