//! A throw-away PostgreSQL for tests: its own cluster in a temporary directory, gone when its owner is.
//!
//! `cargo xtask test` starts one server for the whole run and names it in [`URL_VARIABLE`]; a test run by
//! hand starts one per process. Every test takes a database of its own from it, so that tests need not know
//! of each other.

mod cluster;
mod programs;

use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::BuildHasher;
use std::process::{Command, id};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use cluster::Cluster;
use programs::Programs;

/// Names the environment variable with the URL of a server that already runs, without a database:
/// `postgres://postgres@127.0.0.1:5433`.
pub const URL_VARIABLE: &str = "ATELIER_TEST_POSTGRES";

/// Why there is no PostgreSQL to test with, and what to do about it.
///
/// `Debug` prints the same sentence, because that is what a failing `expect` shows.
#[derive(Clone)]
pub struct Error(String);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

/// A running PostgreSQL server; one that was started here stops when this is dropped or the process ends.
#[derive(Debug)]
pub struct Server {
    url: String,
    programs: Programs,
    /// Absent when the server belongs to somebody else, as it does under `cargo xtask test`.
    _cluster: Option<Cluster>,
}

impl Server {
    /// Starts a server of our own on a free port of 127.0.0.1.
    ///
    /// # Errors
    /// When PostgreSQL is not installed, or `initdb` or the server fails; the text holds their last words.
    pub fn start() -> Result<Self, Error> {
        let programs = Programs::find()?;
        let cluster = Cluster::start(&programs)?;
        Ok(Self { url: format!("postgres://postgres@127.0.0.1:{}", cluster.port()), programs, _cluster: Some(cluster) })
    }

    /// Uses the server at `url`, which has no database in its path and allows its user to create some.
    ///
    /// # Errors
    /// When `psql`, which creates the databases, is not installed.
    pub fn at(url: &str) -> Result<Self, Error> {
        let url = url.trim_end_matches('/').to_owned();
        Ok(Self { url, programs: Programs::find()?, _cluster: None })
    }

    /// Returns the server's URL, without a database.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Creates an empty database with a name that no other test has, and returns its URL.
    ///
    /// # Panics
    /// When the server refuses, with what it said.
    #[must_use]
    #[track_caller]
    pub fn create_database(&self) -> String {
        let name = unique_name();
        // template0, because template1 can't be copied while anybody is connected to it
        match self.execute(&format!("create database {name} template template0")) {
            Ok(()) => format!("{}/{name}", self.url),
            Err(error) => panic!("{error}"),
        }
    }

    fn execute(&self, statement: &str) -> Result<(), Error> {
        let output = Command::new(&self.programs.psql)
            .args(["--no-psqlrc", "--quiet", "--no-password", "--set=ON_ERROR_STOP=1", "--command", statement])
            .arg("--dbname")
            .arg(format!("{}/postgres", self.url))
            .output()
            .map_err(|error| Error(format!("{} can't be started: {error}", self.programs.psql.display())))?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(Error(format!("PostgreSQL at {} refused `{statement}`: {}", self.url, said.trim())))
    }
}

/// Returns the server that all tests of this process share: the one of [`URL_VARIABLE`], or else one started
/// now.
///
/// # Errors
/// As for [`Server::start`]; the same error each time, without trying again.
pub fn shared() -> Result<&'static Server, Error> {
    static SHARED: OnceLock<Result<Server, Error>> = OnceLock::new();
    SHARED
        .get_or_init(|| match std::env::var(URL_VARIABLE) {
            Ok(url) => Server::at(&url),
            Err(_) => Server::start(),
        })
        .as_ref()
        .map_err(Clone::clone)
}

/// Says whether PostgreSQL's programs are on this machine.
#[must_use]
pub fn is_installed() -> bool {
    Programs::find().is_ok()
}

/// A number that repeats in no process of this run: process ids alone come round again.
fn unique_name() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let random = RandomState::new().hash_one(count);
    format!("test_{}_{count}_{random:016x}", id())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn each_database_is_new_and_empty() {
        let server = shared().expect("PostgreSQL is installed");
        let (first, second) = (server.create_database(), server.create_database());
        assert_ne!(first, second);
        for url in [first, second] {
            let output = Command::new(&server.programs.psql)
                .args(["-XAt", "--command", "select count(*) from pg_tables where schemaname = 'public'", &url])
                .output()
                .expect("psql starts");
            assert_eq!(String::from_utf8_lossy(&output.stdout), "0\n", "{}", String::from_utf8_lossy(&output.stderr));
        }
    }

    #[test]
    fn a_dropped_server_leaves_nothing_behind() {
        let server = Server::start().expect("PostgreSQL is installed");
        let directory = server._cluster.as_ref().expect("it was started here").directory().to_owned();
        assert!(Path::new(&directory).exists());
        let url = server.url().to_owned();
        drop(server);
        assert!(!directory.exists(), "{} is still there", directory.display());
        let gone = Server::at(&url).expect("psql is installed");
        assert!(gone.execute("select 1").is_err(), "the server still answers");
    }

    #[test]
    fn a_refused_statement_says_why() {
        let server = shared().expect("PostgreSQL is installed");
        let error = server.execute("select nonsense").expect_err("there is no such column");
        assert!(error.to_string().contains("column \"nonsense\" does not exist"), "{error}");
    }
}
