//! One large upload to an application: all of it arrives, and the server keeps none of it.

use std::io::{self, BufReader, Read, Write};

use super::super::load::now;
use super::super::report::Report;
use super::super::report::Wanted::Context;
use super::desk::Desk;
use super::door::{Door, connect};
use super::websocket::read_head;
use crate::failure::{Failure, Result};
use crate::progress::step;

/// More than whatever could be kept by mistake.
const BYTES: u64 = 4 << 30;
const PIECE: usize = 256 << 10;

/// Uploads to an application that answers with how much has come.
pub fn measure(desk: &Desk, door: &Door, report: &mut Report) -> Result<()> {
    let before = desk.server().memory_mb("VmRSS")?;
    let began = now();
    let come = step("Uploading 4 GiB", || {
        upload(door).map_err(|error| Failure::new(format!("an upload to an application failed: {error}")))
    })?;
    if come.trim() != BYTES.to_string() {
        return Err(Failure::new(format!("of {BYTES} bytes the application got {come}")));
    }
    let rate = BYTES as f64 / 1e6 / began.elapsed().as_secs_f64();
    report.add("one upload of 4 GiB to an application", Context, rate, "MB/s");
    let grown = desk.server().memory_mb("VmRSS")? - before;
    report.add("… the server has grown by", Context, grown, "MB");
    Ok(())
}

fn upload(door: &Door) -> io::Result<String> {
    let mut stream = BufReader::new(connect(door.port())?);
    let length = BYTES.to_string();
    let request = door.post("/upload", &[("content-length", &length), ("sec-fetch-site", "same-origin")]);
    stream.get_mut().write_all(&request)?;
    let piece = vec![b'u'; PIECE];
    let mut left = BYTES;
    while left > 0 {
        let count = usize::try_from(left).unwrap_or(PIECE).min(PIECE);
        stream.get_mut().write_all(&piece[..count])?;
        left -= count as u64;
    }
    let head = read_head(&mut stream)?;
    if !head.starts_with("HTTP/1.1 200 ") {
        return Err(io::Error::other(head.lines().next().unwrap_or_default().to_owned()));
    }
    let mut said = [0; 10];
    stream.read_exact(&mut said)?;
    Ok(String::from_utf8_lossy(&said).into_owned())
}
