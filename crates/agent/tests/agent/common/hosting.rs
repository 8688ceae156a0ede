//! Instances for tests: what is set up, what was said about it, streams to it.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use atelier_domain::compute::InstanceId;
use atelier_protocol::terminal::TerminalFrame;
use atelier_protocol::{
    Activity, App, AppState, AppStatus, AppsStatus, Event, HANDOVER, RunScripts, STREAM, STREAM_PATH, Script, SetUp,
    TICKET, Target, ToAgent, ToServer,
};
use futures_util::StreamExt;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::agent::{Agent, is_root};
use super::jobs::person;
use super::{Listener, PATIENCE, Server, Stream};

pub const INSTANCE: InstanceId = InstanceId(3);
/// As whom scripts run that the owner has not accepted.
pub const THROW_AWAY: u32 = 79_003;

/// What was said about the instance on the node.
#[derive(Default)]
pub struct Said {
    pub apps: Vec<AppsStatus>,
    pub activities: Vec<Activity>,
    pub unreachable: Vec<(String, String)>,
    tickets: u64,
}

impl Said {
    pub fn hear(&mut self, message: &ToServer) {
        match message {
            ToServer::Apps(status) => self.apps.push((**status).clone()),
            ToServer::Activity(activity) => self.activities.push((**activity).clone()),
            ToServer::Unreachable { ticket, why } => self.unreachable.push((ticket.clone(), why.to_string())),
            _ => {}
        }
    }

    /// How an application does, as of the last word.
    pub fn app(&self, name: &str) -> Option<&AppStatus> {
        self.apps.last()?.apps.iter().find(|app| app.name == name)
    }
}

/// How people are kept apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    View,
    Users,
    None,
}

/// All that this machine can do.
pub fn kinds() -> Vec<Kind> {
    let mut kinds = vec![Kind::None];
    if is_root() {
        kinds.push(Kind::Users);
        if Path::new("/usr/bin/bwrap").exists() {
            kinds.push(Kind::View);
        }
    }
    if kinds.len() < 3 {
        println!("only {kinds:?}: the others need root and bubblewrap");
    }
    kinds
}

/// An agent of that kind whose folders are as a server leaves them: everybody passes, nobody looks around.
pub async fn agent(kind: Kind) -> (Agent, Server) {
    Agent::with_config(|config| {
        config.isolate = kind != Kind::None;
        config.view = kind == Kind::View;
        std::fs::set_permissions(config.folder.parent().unwrap(), Permissions::from_mode(0o711)).unwrap();
    })
    .await
}

/// The best that there is here.
pub async fn best() -> (Agent, Server) {
    agent(*kinds().last().unwrap()).await
}

impl Agent {
    pub fn instance(&self) -> PathBuf {
        self.folder.path().join("instances/instance-3")
    }

    /// An instance without applications.
    pub fn set_up(&self) -> SetUp {
        SetUp {
            instance: INSTANCE,
            generation: 1,
            name: "anna-ws".to_owned(),
            workspace: "lab".to_owned(),
            person: person(1),
            folder: self.instance(),
            base: None,
            kernels: None,
            layer: 1,
            apps: Vec::new(),
            environment: vec![
                ("PROJECT".to_owned(), "apollo".to_owned()),
                ("API_TOKEN".to_owned(), "secret".to_owned()),
            ],
            has_scripts: false,
            apps_revision: 1,
            programs: Vec::new(),
        }
    }

    pub fn set_up_with(&self, app: App) -> SetUp {
        SetUp { apps: vec![app], ..self.set_up() }
    }

    /// An environment with one module, as a server builds it.
    pub fn base(&self) -> PathBuf {
        let base = self.folder.path().join("environments/abc");
        let made = Command::new("/usr/bin/python3").args(["-m", "venv", "--without-pip"]).arg(&base).status().unwrap();
        assert!(made.success());
        let packages = std::fs::read_dir(base.join("lib")).unwrap().flatten().next().unwrap().path();
        std::fs::write(packages.join("site-packages/base_module.py"), "WHERE = 'base'\n").unwrap();
        std::fs::write(packages.join("site-packages/both.py"), "WHERE = 'base'\n").unwrap();
        let tool = base.join("bin/tool");
        std::fs::write(&tool, format!("#!{}/bin/python3\nimport sys\nprint(sys.prefix)\n", base.display())).unwrap();
        std::fs::set_permissions(&tool, Permissions::from_mode(0o755)).unwrap();
        for folder in [base.parent().unwrap(), &base] {
            std::fs::set_permissions(folder, Permissions::from_mode(0o755)).unwrap();
        }
        base
    }
}

/// A small web server on a socket. What it is to say about kernels is in a file in its home.
const SERVER: &str = r#"
import http.server, os, socketserver, sys, time
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def address_string(self): return "somebody"
    def answer(self, body):
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def do_GET(self):
        if self.path.startswith("/api/"):
            try: return self.answer(open(self.path.split("/")[2] + ".json", "rb").read())
            except OSError: return self.answer(b"[]")
        if self.path == "/crash": os._exit(7)
        if self.path == "/large": return self.answer(b"x" * 20_000_000)
        self.answer(b"hello from " + self.path.encode())
    def do_POST(self):
        self.answer(self.rfile.read(int(self.headers["content-length"])))
class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    request_queue_size = 64
print("listens on " + sys.argv[1], flush=True)
Server(sys.argv[1], Handler).serve_forever()
"#;

/// An application that runs this Python.
pub fn python(code: &str) -> App {
    let argv = ["/usr/bin/python3", "-c", code, "{socket}"];
    App {
        name: "web".to_owned(),
        argv: argv.map(ToOwned::to_owned).to_vec(),
        health: "/health".to_owned(),
        has_kernels: true,
        ..App::default()
    }
}

pub fn web() -> App {
    python(SERVER)
}

pub fn app_target() -> Target {
    Target::App { instance: INSTANCE, name: "web".to_owned() }
}

pub fn terminal_target(session: &str) -> Target {
    Target::Terminal { instance: INSTANCE, session: session.to_owned() }
}

pub fn log_target(name: &str, offset: u64) -> Target {
    Target::Log { instance: INSTANCE, name: name.to_owned(), offset }
}

impl Server {
    /// Has an instance set up; why it could not be.
    pub async fn set_up(&mut self, set_up: &SetUp) -> Option<String> {
        self.say(&ToAgent::SetUp(Box::new(set_up.clone()))).await;
        let wanted = set_up.generation;
        let found = |server: &Self| {
            server.events.iter().find_map(|event| match event {
                Event::SetUp { generation, failure, .. } if *generation == wanted => {
                    Some(failure.as_ref().map(ToString::to_string))
                }
                _ => None,
            })
        };
        self.until("the instance to be set up", found).await
    }

    pub fn script(&mut self, label: &str, text: &str) -> Script {
        let file = self.file("script", text.as_bytes());
        Script { label: label.to_owned(), blob: file.blob, size: file.size, arguments: Vec::new(), limit_seconds: 60 }
    }

    /// Has scripts run; whether the creation script is done, and what went wrong.
    pub async fn run_scripts(
        &mut self,
        generation: u64,
        scripts: Vec<Script>,
        is_trusted: bool,
    ) -> (bool, Option<String>) {
        self.run_scripts_as(generation, scripts, is_trusted, Some(THROW_AWAY)).await
    }

    /// The same, as that user where they are not trusted.
    pub async fn run_scripts_as(
        &mut self,
        generation: u64,
        scripts: Vec<Script>,
        is_trusted: bool,
        throw_away: Option<u32>,
    ) -> (bool, Option<String>) {
        let wanted = RunScripts { instance: INSTANCE, generation, scripts, is_trusted, throw_away };
        self.say(&ToAgent::RunScripts(Box::new(wanted))).await;
        let found = |server: &Self| {
            server.events.iter().find_map(|event| match event {
                Event::ScriptsDone { generation: of, creation_done, failure, .. } if *of == generation => {
                    Some((*creation_done, failure.as_ref().map(ToString::to_string)))
                }
                _ => None,
            })
        };
        self.until("the scripts to be done", found).await
    }

    /// Waits until an application does so.
    pub async fn app(&mut self, state: AppState) -> AppStatus {
        self.app_called("web", state).await
    }

    /// The same, of one of that name.
    pub async fn app_called(&mut self, name: &str, state: AppState) -> AppStatus {
        let found = |server: &Self| server.instance.app(name).filter(|app| app.state == state).cloned();
        self.until(&format!("{name} to be {state:?}"), found).await
    }

    /// Asks for a stream; why there is none.
    pub async fn open(&mut self, target: Target) -> Result<Box<dyn Stream>, String> {
        self.instance.tickets += 1;
        let ticket = format!("{:032x}", self.instance.tickets);
        self.say(&ToAgent::Open { ticket: ticket.clone(), target }).await;
        let wait = async {
            loop {
                if let Some((_, why)) = self.instance.unreachable.iter().find(|(of, _)| *of == ticket) {
                    return Err(why.clone());
                }
                let message = tokio::select! {
                    stream = self.listener.dialled() => return Ok(upgrade(stream, &ticket, "").await.0),
                    message = self.link.as_mut().unwrap().next() => message,
                };
                self.take(message).await;
            }
        };
        tokio::time::timeout(PATIENCE, wait).await.expect("the agent dials, or says why not")
    }

    /// Asks for the connection to an application itself, as a server on the agent's machine does.
    pub async fn open_given(&mut self, target: Target) -> atelier_pipe::Wire {
        self.instance.tickets += 1;
        let ticket = format!("{:032x}", self.instance.tickets);
        self.say(&ToAgent::Open { ticket: ticket.clone(), target }).await;
        let Listener::Unix(listener) = &self.listener else { panic!("only within one machine") };
        let taken = async {
            let (stream, _) = listener.accept().await.unwrap();
            let (stream, head) = upgrade(stream, &ticket, &format!("{HANDOVER}: 1\r\n")).await;
            assert!(head.contains(&format!("\r\n{HANDOVER}: 1\r\n")), "{head}");
            atelier_pipe::take(stream.into()).await.unwrap()
        };
        tokio::time::timeout(PATIENCE, taken).await.expect("the agent dials and gives")
    }

    pub async fn terminal(&mut self, session: &str) -> Terminal {
        Terminal { stream: self.open(terminal_target(session)).await.unwrap(), come: Vec::new(), text: String::new() }
    }

    /// Asks what goes on.
    pub async fn activity(&mut self) -> Activity {
        let before = self.instance.activities.len();
        self.say(&ToAgent::TellActivity).await;
        self.until("what goes on", |server| server.instance.activities.get(before).cloned()).await
    }
}

/// Reads the head of a request for a stream, as a server does, and lets it in, with a byte too many at once.
async fn upgrade<S: Stream>(mut stream: S, ticket: &str, more: &str) -> (S, String) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        assert_ne!(stream.read_buf(&mut head).await.unwrap(), 0, "{}", String::from_utf8_lossy(&head));
    }
    let head = String::from_utf8(head).unwrap();
    assert!(head.starts_with(&format!("GET {STREAM_PATH} HTTP/1.1\r\n")), "{head}");
    for header in [format!("{TICKET}: {ticket}"), format!("upgrade: {STREAM}"), "connection: upgrade".to_owned()] {
        assert!(head.contains(&format!("\r\n{header}\r\n")), "{head}");
    }
    let answer = format!("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: {STREAM}\r\n{more}\r\n");
    stream.write_all(answer.as_bytes()).await.unwrap();
    (stream, head)
}

/// Sends a request and reads the answer's body.
pub async fn request(stream: &mut Box<dyn Stream>, request: &str) -> String {
    stream.write_all(request.as_bytes()).await.unwrap();
    String::from_utf8(answer(stream).await).unwrap()
}

/// The body of the next answer.
pub async fn answer(stream: &mut Box<dyn Stream>) -> Vec<u8> {
    let mut come = Vec::new();
    let end = loop {
        if let Some(at) = come.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            break at + 4;
        }
        assert_ne!(stream.read_buf(&mut come).await.unwrap(), 0);
    };
    let head = String::from_utf8_lossy(&come[..end]).to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap().parse::<usize>().unwrap();
    while come.len() < end + length {
        assert_ne!(stream.read_buf(&mut come).await.unwrap(), 0);
    }
    come[end..].to_vec()
}

/// Somebody who looks at a terminal.
pub struct Terminal {
    stream: Box<dyn Stream>,
    come: Vec<u8>,
    /// All that was shown.
    pub text: String,
}

impl Terminal {
    async fn send(&mut self, frame: TerminalFrame) {
        let mut bytes = Vec::new();
        frame.encode(&mut bytes);
        self.stream.write_all(&bytes).await.unwrap();
    }

    pub async fn type_in(&mut self, text: &str) {
        self.send(TerminalFrame::Bytes(text.as_bytes().to_vec())).await;
    }

    pub async fn resize(&mut self, columns: u16, rows: u16) {
        self.send(TerminalFrame::Size(columns, rows)).await;
    }

    async fn next(&mut self) -> Option<TerminalFrame> {
        loop {
            if let Some((frame, length)) = TerminalFrame::decode(&self.come).unwrap() {
                self.come.drain(..length);
                return Some(frame);
            }
            let read = tokio::time::timeout(PATIENCE, self.stream.read_buf(&mut self.come)).await;
            let Ok(read) = read else { panic!("the terminal is silent; it showed {:?}", self.text) };
            if read.unwrap_or(0) == 0 {
                return None;
            }
        }
    }

    /// Reads until a text was shown.
    pub async fn until(&mut self, text: &str) -> String {
        while !self.text.contains(text) {
            match self.next().await {
                Some(TerminalFrame::Bytes(bytes)) => self.text.push_str(&String::from_utf8_lossy(&bytes)),
                other => panic!("waited for {text:?}, but {other:?} came after {:?}", self.text),
            }
        }
        self.text.clone()
    }

    /// Reads until the shell has ended; how.
    pub async fn ended(&mut self) -> i32 {
        loop {
            match self.next().await {
                Some(TerminalFrame::Ended(code)) => return code,
                Some(TerminalFrame::Bytes(bytes)) => self.text.push_str(&String::from_utf8_lossy(&bytes)),
                other => panic!("{other:?} came after {:?}", self.text),
            }
        }
    }
}
