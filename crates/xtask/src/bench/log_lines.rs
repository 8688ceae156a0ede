//! How long a line takes from a job to who follows its log, over the connection that a browser would have.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, SystemTime};

use crate::bench::http;
use crate::failure::{Failure, Result};

/// So many lines are one measurement.
pub const LINES: usize = 100;

/// Lines that say when they were printed, in nanoseconds since 1970.
pub const SCRIPT: &str = "i=0; while [ $i -lt 100 ]; do date +%s%N; sleep 0.03; i=$((i+1)); done";

/// Follows the log of such a job and says how late each line came, in order of that.
pub fn follow(port: u16, token: &str, job: &str) -> Result<Vec<Duration>> {
    let cannot = |error: std::io::Error| Failure::new(format!("following a log failed: {error}"));
    let mut stream = TcpStream::connect(("127.0.0.1", port)).map_err(cannot)?;
    stream.set_read_timeout(Some(Duration::from_secs(30))).map_err(cannot)?;
    let bearer = format!("Bearer {token}");
    let path = format!("/api/v1/jobs/{job}/log?follow=true");
    let request = http::request("GET", &path, port, &[("authorization", &bearer)], "");
    stream.write_all(&request).map_err(cannot)?;
    let (mut come, mut seen, mut late) = (Vec::new(), 0, Vec::with_capacity(LINES));
    let mut piece = [0; 4_096];
    while late.len() < LINES {
        let length = stream.read(&mut piece).map_err(cannot)?;
        let now = since_1970();
        if length == 0 {
            return Err(Failure::new(format!("the log ended after {} lines of {LINES}", late.len())));
        }
        come.extend_from_slice(&piece[..length]);
        while let Some(end) = come[seen..].iter().position(|byte| *byte == b'\n') {
            let line = String::from_utf8_lossy(&come[seen..seen + end]).trim().to_owned();
            seen += end + 1;
            // What frames the pieces has fewer digits.
            if let Some(printed) = line.parse::<u64>().ok().filter(|_| line.len() == 19) {
                late.push(now.saturating_sub(Duration::from_nanos(printed)));
            }
        }
    }
    late.sort_unstable();
    Ok(late)
}

#[expect(clippy::disallowed_methods, reason = "compared with what another process read from the same clock")]
fn since_1970() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}
