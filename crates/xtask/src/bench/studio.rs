//! Atelier as it is measured: the release binary with a database of its own, an Owner and many people.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use std::{env, fs, thread};

use atelier_testing::free_port;
use serde_json::Value;

use super::running::Running;
use crate::bench::http::{self, Answer, Connection};
use crate::failure::{Failure, Result};

const OWNER: &str = "bench@example.org";
const PASSWORD: &str = "kettle-orbit-violin";

/// Two, so that one password is hashed while the other's account is written.
const SEEDERS: usize = 2;

/// Where the binary and its data are.
#[derive(Debug)]
pub struct Studio {
    binary: PathBuf,
    folder: PathBuf,
}

/// Somebody who can sign in.
#[derive(Debug)]
pub struct Account {
    email: String,
    password: String,
}

impl Account {
    pub fn sign_in_request(&self, port: u16) -> Vec<u8> {
        let body = http::form(&[("email", &self.email), ("password", &self.password)]);
        http::request("POST", "/fn/sign_in", port, &call_headers(""), &body)
    }
}

impl Studio {
    pub fn new(binary: PathBuf, folder: &Path) -> Result<Self> {
        let studio = Self { binary, folder: folder.to_owned() };
        let file = studio.password_file();
        fs::write(&file, PASSWORD).map_err(Failure::file("writing", &file))?;
        Ok(studio)
    }

    /// Starts the server; also says how long it took to get ready.
    pub fn start(&self) -> Result<(Running, Duration)> {
        // Nothing is built while something is measured.
        self.start_with("off", &[])
    }

    /// The same with environments built or not, and variables for pip.
    pub fn start_with(&self, environment: &str, variables: &[(String, String)]) -> Result<(Running, Duration)> {
        let port = free_port();
        let mut command = Command::new(&self.binary);
        command.arg("serve").arg(format!("--listen=127.0.0.1:{port}")).arg("--data").arg(self.folder.join("data"));
        command.arg(format!("--admin-email={OWNER}")).arg("--admin-password-file").arg(self.password_file());
        command.arg(format!("--environment={environment}"));
        // Settings of whoever runs this are not the product's.
        for (name, _) in env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("ATELIER_")) {
            command.env_remove(name);
        }
        command.envs(variables.iter().cloned());
        Running::start(&mut command, port, "/readyz", &self.folder.join("server.log"))
    }

    /// A token of the Owner for the API.
    pub fn token(&self) -> Result<String> {
        let mut command = Command::new(&self.binary);
        command.args(["token", "create", "--user", OWNER, "--data"]).arg(self.folder.join("data"));
        let printed = crate::process::output(&mut command)?;
        let secret = printed.split_whitespace().find(|word| word.starts_with("atl_")).map(str::to_owned);
        secret.ok_or_else(|| Failure::new(format!("no token in {printed:?}")))
    }

    /// Ends the nodes that a stopped server has left.
    pub fn stop_nodes(&self) -> Result<()> {
        crate::process::run(Command::new(&self.binary).arg("stop-all").arg("--data").arg(self.folder.join("data")))
    }

    /// Signs the Owner in and gives the cookie.
    pub fn sign_in(&self, server: &Running) -> Result<String> {
        let owner = Account { email: OWNER.to_owned(), password: PASSWORD.to_owned() };
        let request = owner.sign_in_request(server.port());
        let answer = Connection::open(server.port()).and_then(|mut connection| connection.send(&request));
        let answer = answer.map_err(|error| Failure::new(format!("signing in failed: {error}")))?;
        expect_done(&answer)?;
        Ok(answer.cookies())
    }

    /// Makes people as a script would, until there are `count` with the Owner, and gives those that were
    /// made.
    pub fn seed(&self, server: &Running, count: usize) -> Result<Vec<Account>> {
        let cookie = self.sign_in(server)?;
        let (next, made) = (AtomicUsize::new(1), Mutex::new(Vec::with_capacity(count)));
        thread::scope(|scope| {
            let work = || -> Result<()> {
                let broken = |error| Failure::new(format!("making people failed: {error}"));
                let mut connection = Connection::open(server.port()).map_err(broken)?;
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count {
                        return Ok(());
                    }
                    let email = format!("person-{number:04}@example.org");
                    let fields = [("name", &*name(number)), ("email", &email), ("roles[0]", role(number))];
                    let headers = call_headers(&cookie);
                    let request =
                        http::request("POST", "/fn/create_person", server.port(), &headers, &http::form(&fields));
                    let done = expect_done(&connection.send(&request).map_err(broken)?)?;
                    let password = done["secret"].as_str().unwrap_or_default().to_owned();
                    made.lock().unwrap_or_else(PoisonError::into_inner).push(Account { email, password });
                }
            };
            let seeders: Vec<_> = (0..SEEDERS).map(|_| scope.spawn(work)).collect();
            seeders
                .into_iter()
                .try_for_each(|seeder| seeder.join().map_err(|_| Failure::new("a thread that made people panicked"))?)
        })?;
        Ok(made.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    fn password_file(&self) -> PathBuf {
        self.folder.join("password")
    }
}

/// The headers of a browser that asks for a page.
pub fn page_headers(cookie: &str) -> Vec<(&str, &str)> {
    let cookie = Some(("cookie", cookie)).filter(|(_, value)| !value.is_empty());
    [("accept", "text/html"), ("accept-encoding", "br")].into_iter().chain(cookie).collect()
}

/// The headers of a script that calls a server function.
fn call_headers(cookie: &str) -> Vec<(&str, &str)> {
    let cookie = Some(("cookie", cookie)).filter(|(_, value)| !value.is_empty());
    let fixed = [
        ("accept", "application/json"),
        ("content-type", "application/x-www-form-urlencoded"),
        ("sec-fetch-site", "same-origin"),
    ];
    fixed.into_iter().chain(cookie).collect()
}

fn expect_done(answer: &Answer) -> Result<Value> {
    let text = answer.text();
    match (answer.status, serde_json::from_str(&text)) {
        (200, Ok(done)) => Ok(done),
        (status, _) => Err(Failure::new(format!("a server function answered with status {status}: {text}"))),
    }
}

/// Names that differ in length and initial, as those of a thousand people do.
fn name(number: usize) -> String {
    const FIRST: [&str; 10] = ["Ada", "Bruno", "Chiara", "Dmitri", "Elif", "Femi", "Greta", "Hiroshi", "Ines", "Jonas"];
    const LAST: [&str; 10] =
        ["Okafor", "Lindqvist", "Moreau", "Nakamura", "Petrov", "Quispe", "Rossi", "Silva", "Tan", "Ueda"];
    format!("{} {} {number}", FIRST[number % 10], LAST[number / 10 % 10])
}

fn role(number: usize) -> &'static str {
    ["contributor", "reader", "data-scientist"][number % 3]
}
