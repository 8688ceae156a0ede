//! The page with the list of instances, where there are a thousand.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::json;

use super::super::load;
use super::super::report::Report;
use super::super::report::Wanted::{AtLeast, Context};
use super::super::studio::page_headers;
use super::super::turns::Turn;
use super::desk::Desk;
use crate::bench::http::{self, Connection};
use crate::failure::{Failure, Result};
use crate::progress::step;

const PAGE: &str = "/w/studio/compute/instances";
const INSTANCES: usize = 1_000;
const ROWS: usize = 50;
const MAKERS: usize = 8;
const CONNECTIONS: usize = 16;
const WARM_UP: Duration = Duration::from_secs(1);

pub fn measure(desk: &Desk, lasting: Duration, turn: &Turn<'_>, report: &mut Report) -> Result<()> {
    // One is there already.
    step(&format!("Making {} instances that sleep", INSTANCES - 1), || make(desk, INSTANCES - 1))?;
    check(desk)?;
    turn.pass()?;
    step(&format!("Loading the list of instances over {CONNECTIONS} connections"), || {
        let server = desk.server();
        let request = http::request("GET", PAGE, server.port(), &page_headers(desk.cookie()), "");
        load::as_fast_as_possible(server.port(), CONNECTIONS, WARM_UP, &request)?;
        let before = server.processor_seconds()?;
        let outcome = load::as_fast_as_possible(server.port(), CONNECTIONS, lasting, &request)?;
        let used = (server.processor_seconds()? - before) * 1_000.0;
        let what = "Instances, 50 rows of 1,000";
        report.add(format!("{what}: requests"), AtLeast(500.0), outcome.per_second(), "/s");
        report.add(format!("{what}: p50"), Context, outcome.percentile_ms(0.5), "ms");
        report.add(format!("{what}: p99"), Context, outcome.percentile_ms(0.99), "ms");
        report.add(format!("{what}: the server's processor time"), Context, used / outcome.count() as f64, "ms");
        Ok(())
    })
}

/// Makes instances as a script would, from several connections. None of them starts.
fn make(desk: &Desk, count: usize) -> Result<()> {
    let port = desk.server().port();
    let headers = desk.api_headers();
    let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let next = AtomicUsize::new(0);
    let work = || -> Result<()> {
        let broken = |error| Failure::new(format!("making instances failed: {error}"));
        let mut connection = Connection::open(port).map_err(broken)?;
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return Ok(());
            }
            let size = ["local-half", "local-1", "local-2"][number % 3];
            let wanted = json!({"name": name(number), "size": size, "starts": false, "keeps_quota": false});
            let request = http::request("POST", "/api/v1/instances", port, &headers, &wanted.to_string());
            let answer = connection.send(&request).map_err(broken)?;
            if answer.status != 201 {
                return Err(Failure::new(format!("making an instance: status {}: {}", answer.status, answer.text())));
            }
        }
    };
    thread::scope(|scope| {
        let makers: Vec<_> = (0..MAKERS).map(|_| scope.spawn(work)).collect();
        makers.into_iter().try_for_each(|maker| maker.join().map_err(|_| Failure::new("a maker panicked"))?)
    })
}

fn name(number: usize) -> String {
    format!("bench-{number:04}")
}

/// The page has its rows, and not only words about why it has none.
fn check(desk: &Desk) -> Result<()> {
    let page = desk.server().ask("GET", PAGE, &[("accept", "text/html"), ("cookie", desk.cookie())], "")?;
    let text = page.text();
    let rows = (0..INSTANCES).filter(|number| text.contains(&format!("{PAGE}/{}\"", name(*number)))).count();
    // The one that is measured may be among them.
    if page.status == 200 && rows + 1 >= ROWS {
        return Ok(());
    }
    Err(Failure::new(format!("the list of instances has {rows} rows in place of {ROWS}, status {}", page.status)))
}
