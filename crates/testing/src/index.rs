//! A package index for pip, with the smallest packages that there are.
#![allow(clippy::missing_panics_doc, reason = "what tests use fails by panicking")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Condvar, Mutex};

/// A package index on a port of its own. Files wait at the gate while it is closed.
#[derive(Debug)]
pub struct Index {
    pub address: String,
    pub gate: Arc<Gate>,
    _folder: tempfile::TempDir,
}

/// Where files wait while it is closed.
#[derive(Debug, Default)]
pub struct Gate {
    state: Mutex<(bool, usize)>,
    told: Condvar,
}

impl Gate {
    /// Nothing passes from now on.
    pub fn close(&self) {
        self.state.lock().expect("no panic").0 = true;
    }

    pub fn open(&self) {
        self.state.lock().expect("no panic").0 = false;
        self.told.notify_all();
    }

    /// How many wait or have waited.
    pub fn seen(&self) -> usize {
        self.state.lock().expect("no panic").1
    }

    fn pass(&self) {
        let mut state = self.state.lock().expect("no panic");
        state.1 += 1;
        drop(self.told.wait_while(state, |state| state.0).expect("no panic"));
    }
}

/// Writes the smallest wheel that there is.
const WHEEL: &str = r#"
import sys, zipfile
folder, name, version, body = sys.argv[1:]
info = f"{name}-{version}.dist-info"
with zipfile.ZipFile(f"{folder}/{name}-{version}-py3-none-any.whl", "w") as wheel:
    wheel.writestr(f"{name}/__init__.py", body)
    wheel.writestr(f"{name}/later.py", "x = 1")
    wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    wheel.writestr(f"{info}/RECORD", "")
"#;

impl Index {
    /// Opens one with these packages, by name and with what is in them.
    pub fn open(packages: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, body) in packages {
            let mut python = Command::new("/usr/bin/python3");
            python.args(["-I", "-c", WHEEL]).arg(folder.path()).args([name, "1.0", body]);
            assert!(python.status().expect("Python starts").success());
        }
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = format!("http://{}", listener.local_addr().expect("an address"));
        let gate = Arc::new(Gate::default());
        let (files, at_gate) = (folder.path().to_owned(), Arc::clone(&gate));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (files, gate) = (files.clone(), Arc::clone(&at_gate));
                std::thread::spawn(move || serve(stream, &files, &gate));
            }
        });
        Self { address, gate, _folder: folder }
    }

    /// What makes pip use it and nothing else.
    pub fn variables(&self) -> Vec<(String, String)> {
        let pair = |name: &str, value: String| (name.to_owned(), value);
        vec![
            pair("PIP_INDEX_URL", format!("{}/simple", self.address)),
            pair("PIP_CONFIG_FILE", "/dev/null".into()),
            pair("PIP_EXTRA_INDEX_URL", String::new()),
            pair("NO_PROXY", "127.0.0.1".into()),
            pair("no_proxy", "127.0.0.1".into()),
        ]
    }
}

fn serve(mut stream: std::net::TcpStream, files: &Path, gate: &Gate) {
    let mut lines = BufReader::new(stream.try_clone().expect("a copy")).lines().map_while(Result::ok);
    let path = lines.next().and_then(|line| line.split(' ').nth(1).map(ToOwned::to_owned)).unwrap_or_default();
    lines.find(String::is_empty);
    let (kind, body) = match path.strip_prefix("/simple/") {
        Some(name) => {
            let file = format!("{}-1.0-py3-none-any.whl", name.trim_end_matches('/').replace('-', "_"));
            let is_there = files.join(&file).is_file();
            ("text/html", is_there.then(|| format!("<a href=\"/files/{file}\">{file}</a>").into_bytes()))
        }
        None => {
            gate.pass();
            ("application/zip", std::fs::read(files.join(path.trim_start_matches("/files/"))).ok())
        }
    };
    let status = if body.is_some() { "200 OK" } else { "404 Not Found" };
    let body = body.unwrap_or_default();
    let head = format!("HTTP/1.0 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n", body.len());
    // Who has asked may be gone: killed, as some tests want.
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body));
}
