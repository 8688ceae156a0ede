//! The way to an application through server and agent, beside nginx as a reverse proxy before the same
//! application.
//!
//! The application is a static nginx. It listens on the instance's own socket, from which both take its
//! answers: the agent, and the nginx to compare with.

use std::fs::{self, File};
use std::io::{self, BufReader, Read, Write};
use std::path::Path;
use std::time::Duration;

use super::super::load::{self, now};
use super::super::report::Report;
use super::super::report::Wanted::{AtLeast, AtMost, Context};
use super::desk::{Desk, LAB};
use super::door::connect;
use super::websocket::read_head;
use super::{Plan, nginx};
use crate::bench::http;
use crate::failure::{Failure, Result};
use crate::progress::step;

/// The files that are asked for.
pub const SMALL: &str = "/small";
const LARGE: &str = "/large";
const SMALL_BYTES: usize = 1 << 10;
const LARGE_BYTES: u64 = 1 << 30;

const CONNECTIONS: usize = 32;
/// Each is measured so often, in turn.
const ROUNDS: usize = 3;
const WARM_UP: Duration = Duration::from_secs(1);
/// What is read of a download at once.
const PIECE: usize = 256 << 10;

/// Somebody who is asked: a name, a port, and how requests to it look.
struct Asked {
    name: &'static str,
    port: u16,
    small: Vec<u8>,
    large: Vec<u8>,
}

impl Asked {
    fn plain(name: &'static str, port: u16) -> Self {
        let request = |path: &str| http::request("GET", path, port, &[], "");
        Self { name, port, small: request(SMALL), large: request(LARGE) }
    }
}

pub fn measure(desk: &Desk, folder: &Path, plan: &Plan<'_>, report: &mut Report) -> Result<()> {
    let Some(program) = nginx::find(plan.nginx) else {
        report.note("The proxy was not measured: nginx is not installed. On Debian: apt install nginx-light");
        return Ok(());
    };
    report.note(format!("The proxy was compared with {}.", nginx::version(&program)?));
    let files = folder.join("files");
    write_files(&files).map_err(Failure::file("writing to", &files))?;
    let door = desk.enter(LAB)?;
    let mut socket = None;
    let application = desk.in_place_of_lab(|path| {
        socket = Some(path.to_owned());
        nginx::application(&program, &folder.join("application"), &files, path)
    })?;
    let socket = socket.unwrap_or_default();
    let proxy = nginx::proxy(&program, &folder.join("proxy"), &socket)?;
    let ours =
        Asked { name: "Atelier", port: door.port(), small: door.request(SMALL, &[]), large: door.request(LARGE, &[]) };
    let direct = Asked::plain("nginx itself", application.port());
    let theirs = Asked::plain("nginx as a reverse proxy", proxy.port());
    let all = [&ours, &theirs, &direct];
    for asked in all {
        check(asked)?;
    }
    step("Asking for a small file over one connection", || latency(all, plan.lasting, report))?;
    step(&format!("Asking for a small file over {CONNECTIONS} connections"), || {
        small(all, plan.lasting, report)?;
        // Once more, to see what the server's share of it is.
        let before = desk.server().processor_seconds()?;
        let outcome = load::as_fast_as_possible(ours.port, CONNECTIONS, plan.lasting, &ours.small)?;
        let used = (desk.server().processor_seconds()? - before) * 1_000.0;
        report.add("small requests: the server's processor time", Context, used / outcome.count() as f64, "ms");
        Ok(())
    })?;
    step("Downloading a large file", || large(all, report))
}

fn write_files(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    fs::write(folder.join(SMALL.trim_start_matches('/')), [b'x'; SMALL_BYTES])?;
    // Zeros that take no room on the disk; they are read from memory like any other file that was read
    // before.
    File::create(folder.join(LARGE.trim_start_matches('/')))?.set_len(LARGE_BYTES)
}

/// It is the static nginx that answers, whoever is asked.
fn check(asked: &Asked) -> Result<()> {
    let answer = http::Connection::open(asked.port).and_then(|mut connection| connection.send(&asked.small));
    let answer = answer.map_err(|error| Failure::new(format!("{} does not answer: {error}", asked.name)))?;
    if answer.status == 200 && answer.body == [b'x'; SMALL_BYTES] {
        return Ok(());
    }
    let start: String = answer.text().chars().take(300).collect();
    Err(Failure::new(format!("{} answers with status {}: {start}", asked.name, answer.status)))
}

/// One request after another: what the way adds to an answer.
fn latency(all: [&Asked; 3], lasting: Duration, report: &mut Report) -> Result<()> {
    let medians = in_turn(all, |asked| {
        let outcome = load::as_fast_as_possible(asked.port, 1, lasting / 2, &asked.small)?;
        Ok(outcome.percentile_ms(0.5))
    })?;
    let [ours, theirs, direct] = medians;
    report.add("one small request: added to nginx itself, median", AtMost(1.0), ours - direct, "ms");
    report.add("… by nginx as a reverse proxy", Context, theirs - direct, "ms");
    report.add("… nginx itself takes", Context, direct, "ms");
    Ok(())
}

/// As many small requests as there can be.
fn small(all: [&Asked; 3], lasting: Duration, report: &mut Report) -> Result<()> {
    for asked in all {
        load::as_fast_as_possible(asked.port, CONNECTIONS, WARM_UP, &asked.small)?;
    }
    let rates = in_turn(all, |asked| {
        Ok(load::as_fast_as_possible(asked.port, CONNECTIONS, lasting, &asked.small)?.per_second())
    })?;
    compare("small requests", rates, "/s", report);
    Ok(())
}

/// One large download at a time.
fn large(all: [&Asked; 3], report: &mut Report) -> Result<()> {
    let rates = in_turn(all, |asked| {
        let took = download(asked.port, &asked.large);
        let took = took.map_err(|error| Failure::new(format!("a download from {} failed: {error}", asked.name)))?;
        Ok(LARGE_BYTES as f64 / 1e6 / took.as_secs_f64())
    })?;
    compare("one download of 1 GiB", rates, "MB/s", report);
    Ok(())
}

fn compare(what: &str, [ours, theirs, direct]: [f64; 3], unit: &'static str, report: &mut Report) {
    report.add(format!("{what}: through server and agent"), Context, ours, unit);
    report.add(format!("{what}: through nginx as a reverse proxy"), Context, theirs, unit);
    report.add(format!("{what}: from nginx itself"), Context, direct, unit);
    report.add(format!("{what}: against nginx as a reverse proxy"), AtLeast(0.5), ours / theirs, "×");
}

/// Measures all in turn, several times, and gives the median of each.
fn in_turn(all: [&Asked; 3], measure: impl Fn(&Asked) -> Result<f64>) -> Result<[f64; 3]> {
    let mut measured = [const { Vec::new() }; 3];
    for _ in 0..ROUNDS {
        for (asked, measured) in all.iter().zip(&mut measured) {
            measured.push(measure(asked)?);
        }
    }
    Ok(measured.map(median))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// From the request to the last byte, which is thrown away like all before it.
fn download(port: u16, request: &[u8]) -> io::Result<Duration> {
    let began = now();
    let mut stream = BufReader::with_capacity(PIECE, connect(port)?);
    stream.get_mut().write_all(request)?;
    let head = read_head(&mut stream)?;
    if !head.starts_with("HTTP/1.1 200 ") {
        return Err(io::Error::other(head.lines().next().unwrap_or_default().to_owned()));
    }
    let (mut read, mut piece) = (stream.buffer().len() as u64, vec![0; PIECE]);
    while read < LARGE_BYTES {
        // Past the buffer, so that nothing is copied once more.
        match stream.get_mut().read(&mut piece)? {
            0 => return Err(io::Error::other(format!("it ended after {read} of {LARGE_BYTES} bytes"))),
            count => read += count as u64,
        }
    }
    Ok(began.elapsed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_is_a_value_that_was_measured() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert!(median(Vec::new()).is_nan());
    }
}
