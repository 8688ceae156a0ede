//! Many WebSockets through the proxy that say nothing: what they cost server and agent in memory.

use std::fs;
use std::io::{self, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::super::load::pause;
use super::super::report::Report;
use super::super::report::Wanted::{AtMost, Context};
use super::super::running::parse_kilobytes;
use super::super::spent::agents;
use super::desk::{Desk, LAB};
use super::door::Door;
use super::websocket::{WebSocket, frame, read_head};
use crate::failure::{Failure, Result};
use crate::progress::step;

const SOCKETS: usize = 2_000;
/// Opened and closed before, so that what is made once for all is not counted.
const FIRST: usize = 50;
/// This process has both ends of each, so has the server; a few more for everything else.
const FILES: usize = 2 * SOCKETS + 200;
/// Idle means that nothing was sent for some seconds.
const IDLE: Duration = Duration::from_secs(4);
const PATIENCE: Duration = Duration::from_secs(10);

pub fn measure(desk: &Desk, folder: &Path, report: &mut Report) -> Result<()> {
    if open_files()? < FILES {
        report.note(format!(
            "Idle WebSockets were not measured: that needs {FILES} open files, say `ulimit -n {FILES}` before."
        ));
        return Ok(());
    }
    let door = desk.enter(LAB)?;
    let app = desk.in_place_of_lab(Echo::listen)?;
    let open = |count: usize| -> Result<Vec<WebSocket>> { (0..count).map(|_| talk_once(&door)).collect() };
    let (before, held) = step(&format!("Holding {SOCKETS} idle WebSockets"), || {
        drop(open(FIRST)?);
        pause(IDLE);
        let before = Memory::now(desk, folder)?;
        let held = open(SOCKETS)?;
        pause(IDLE);
        Ok((before, held))
    })?;
    let after = Memory::now(desk, folder)?;
    // Each has two ends in the server. If they were not all there, little memory would be no merit.
    if after.files < 2 * held.len() {
        return Err(Failure::new(format!("the server holds {} open files for {SOCKETS} WebSockets", after.files)));
    }
    drop(held);
    super::upload::measure(desk, &door, report)?;
    drop(app);
    let (server, agent) = (after.server - before.server, after.agent - before.agent);
    report.add("2,000 idle WebSockets: growth of server and agent", AtMost(60.0), server + agent, "MB");
    report.add("… of that the server", Context, server, "MB");
    report.add("… of that the agent", Context, agent, "MB");
    report.add("resident memory before: server and agent", Context, before.server + before.agent, "MB");
    Ok(())
}

/// Opens one and sends a message there and back, so that everything that it needs is really made.
fn talk_once(door: &Door) -> Result<WebSocket> {
    let talk = || {
        let mut socket = WebSocket::open(door, "/echo")?;
        socket.send(b"x")?;
        socket.receive()?;
        Ok(socket)
    };
    talk().map_err(|error: io::Error| Failure::new(format!("a WebSocket through the proxy failed: {error}")))
}

/// Resident memory in MB, and the files that the server has open.
#[derive(Debug)]
struct Memory {
    server: f64,
    agent: f64,
    files: usize,
}

impl Memory {
    fn now(desk: &Desk, folder: &Path) -> Result<Self> {
        let mut agent = 0.0;
        for pid in agents(folder)? {
            // A lock may be left of a node that is gone.
            let Ok(status) = fs::read_to_string(format!("/proc/{pid}/status")) else { continue };
            agent += parse_kilobytes(&status, "VmRSS").unwrap_or_default() * 1_024.0 / 1e6;
        }
        if agent == 0.0 {
            return Err(Failure::new("no agent runs"));
        }
        let files = desk.server().open_files();
        Ok(Self { server: desk.server().memory_mb("VmRSS")?, agent, files })
    }
}

/// How many files this process and those that it starts may have open.
fn open_files() -> Result<usize> {
    let path = Path::new("/proc/self/limits");
    let limits = fs::read_to_string(path).map_err(Failure::file("reading", path))?;
    let soft = limits.lines().find_map(|line| line.strip_prefix("Max open files")?.split_whitespace().next());
    Ok(soft.and_then(|limit| limit.parse().ok()).unwrap_or(usize::MAX))
}

/// An application that says back the first message of each WebSocket and is silent then.
#[derive(Debug)]
struct Echo {
    path: PathBuf,
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Echo {
    fn listen(path: &Path) -> Result<Self> {
        let listener = UnixListener::bind(path).map_err(Failure::file("listening at", path))?;
        let ends = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&ends);
        let thread = thread::spawn(move || {
            let mut held = Vec::new();
            for stream in listener.incoming() {
                if told.load(Ordering::Relaxed) {
                    return;
                }
                // The agent, too, asks now and then, about kernels; that is answered and over.
                held.extend(stream.and_then(serve).ok().flatten());
            }
        });
        Ok(Self { path: path.to_owned(), ends, thread: Some(thread) })
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        // It looks up when somebody comes.
        if UnixStream::connect(&self.path).is_ok() {
            drop(self.thread.take().map(JoinHandle::join));
        }
    }
}

/// Takes what is uploaded and says how much that was.
fn swallow(stream: &mut BufReader<UnixStream>, head: &str) -> io::Result<()> {
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.trim().parse::<u64>().ok());
    let come = io::copy(&mut stream.by_ref().take(length.unwrap_or_default()), &mut io::sink())?;
    let said = come.to_string();
    let answer = format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{said}", said.len());
    stream.get_mut().write_all(answer.as_bytes())
}

/// Gives the connection if it has become a WebSocket.
fn serve(stream: UnixStream) -> io::Result<Option<UnixStream>> {
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut stream = BufReader::with_capacity(1 << 10, stream);
    let head = read_head(&mut stream)?.to_ascii_lowercase();
    if head.starts_with("post ") {
        return swallow(&mut stream, &head).map(|()| None);
    }
    if !head.contains("upgrade: websocket") {
        let no = b"HTTP/1.1 404 Not Found\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
        return stream.get_mut().write_all(no).map(|()| None);
    }
    let yes = b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n";
    stream.get_mut().write_all(yes)?;
    let mut message = frame(b"x")?;
    stream.read_exact(&mut message)?;
    // Applications send without a mask.
    stream.get_mut().write_all(&[0x82, 1, b'x'])?;
    Ok(Some(stream.into_inner()))
}
