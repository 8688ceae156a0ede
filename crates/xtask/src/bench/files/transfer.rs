//! One large file: up beside `dd conv=fsync`, down beside nginx without `sendfile`, each in turn with the
//! other.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::super::instances::nginx;
use super::super::load::now;
use super::super::report::Report;
use super::super::report::Wanted::{AtLeast, AtMost, Context};
use super::super::running::Running;
use crate::failure::{Failure, Result};
use crate::process;
use crate::progress::{announce, step};

const BYTES: u64 = 2 << 30;
const PIECE: usize = 256 << 10;
const ROUNDS: usize = 3;
/// Where the file goes: the own folder of the Owner, whose address begins so.
const PATH: &str = "/api/v1/files/content/Users/bench/big.bin";

pub fn measure(server: &Running, token: &str, folder: &Path, wanted: Option<&Path>, report: &mut Report) -> Result<()> {
    let before = server.memory_mb("VmRSS")?;
    uploads(server, token, folder, report)?;
    downloads(server, token, folder, wanted, report)?;
    let most = server.memory_mb("VmHWM")?;
    report.add("the server's most resident memory above its start, after 12 GiB", AtMost(48.0), most - before, "MB");
    Ok(())
}

fn rate(time: Duration) -> f64 {
    BYTES as f64 / 1e6 / time.as_secs_f64()
}

fn best(rates: &[f64]) -> f64 {
    rates.iter().copied().fold(0.0, f64::max)
}

fn uploads(server: &Running, token: &str, folder: &Path, report: &mut Report) -> Result<()> {
    let (mut ours, mut plain) = (Vec::new(), Vec::new());
    let target = folder.join("data/plain.bin");
    for round in 1..=ROUNDS {
        let began = now();
        step(&format!("Uploading 2 GiB, {round} of {ROUNDS}"), || {
            upload(server.port(), token).map_err(|error| Failure::new(format!("an upload failed: {error}")))
        })?;
        ours.push(rate(began.elapsed()));
        let began = now();
        step(&format!("dd conv=fsync of 2 GiB, {round} of {ROUNDS}"), || {
            let mut command = Command::new("dd");
            command.arg("if=/dev/zero").arg(format!("of={}", target.display()));
            process::output(command.args(["bs=1M", "count=2048", "conv=fsync", "status=none"])).map(|_| ())
        })?;
        plain.push(rate(began.elapsed()));
        fs::remove_file(&target).map_err(Failure::file("removing", &target))?;
    }
    report.add("upload of 2 GiB, the best of three", Context, best(&ours), "MB/s");
    report.add("dd conv=fsync of the same, the best of three", Context, best(&plain), "MB/s");
    report.add("upload, as a part of dd", AtLeast(0.3), best(&ours) / best(&plain), "×");
    Ok(())
}

fn upload(port: u16, token: &str) -> io::Result<()> {
    let mut stream = BufReader::new(TcpStream::connect(("127.0.0.1", port))?);
    let head = format!(
        "PUT {PATH} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nauthorization: Bearer {token}\r\ncontent-length: {BYTES}\r\n\
         connection: close\r\n\r\n"
    );
    stream.get_mut().write_all(head.as_bytes())?;
    let piece = vec![0; PIECE];
    for _ in 0..BYTES / PIECE as u64 {
        stream.get_mut().write_all(&piece)?;
    }
    status(&mut stream, "201").map(|_| ())
}

fn downloads(server: &Running, token: &str, folder: &Path, wanted: Option<&Path>, report: &mut Report) -> Result<()> {
    let Some(program) = nginx::find(wanted) else {
        announce("There is no nginx on this machine; the download is measured without it");
        let (time, _) = get(server.port(), PATH, token)?;
        report.add("download of 2 GiB", Context, rate(time), "MB/s");
        return Ok(());
    };
    report.note(format!("Compared with {} without sendfile.", nginx::version(&program)?));
    let files = folder.join("data/files/shared/Users/bench");
    let ready = files.join("ready");
    fs::write(&ready, b"").map_err(Failure::file("writing", &ready))?;
    let peer = nginx::files(&program, &folder.join("nginx"), &files, "ready")?;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for round in 1..=ROUNDS {
        step(&format!("Downloading 2 GiB, {round} of {ROUNDS}"), || {
            ours.push(rate(get(server.port(), PATH, token)?.0));
            theirs.push(rate(get(peer.port(), "/big.bin", token)?.0));
            Ok(())
        })?;
    }
    report.add("download of 2 GiB, the best of three", Context, best(&ours), "MB/s");
    report.add("nginx without sendfile, the best of three", Context, best(&theirs), "MB/s");
    report.add("download, as a part of nginx", AtLeast(0.5), best(&ours) / best(&theirs), "×");
    peer.stop()
}

fn get(port: u16, path: &str, token: &str) -> Result<(Duration, u64)> {
    let read = || -> io::Result<u64> {
        let mut stream = BufReader::with_capacity(PIECE, TcpStream::connect(("127.0.0.1", port))?);
        let head = format!(
            "GET {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nauthorization: Bearer {token}\r\nconnection: close\r\n\
             \r\n"
        );
        stream.get_mut().write_all(head.as_bytes())?;
        status(&mut stream, "200")?;
        let (mut piece, mut count) = (vec![0; PIECE], 0);
        loop {
            match stream.read(&mut piece)? {
                0 => return Ok(count),
                read => count += read as u64,
            }
        }
    };
    let began = now();
    let count = read().map_err(|error| Failure::new(format!("a download failed: {error}")))?;
    if count != BYTES {
        return Err(Failure::new(format!("of {BYTES} bytes {count} came")));
    }
    Ok((began.elapsed(), count))
}

/// Reads the head of an answer, which must have that status.
fn status(stream: &mut BufReader<TcpStream>, wanted: &str) -> io::Result<String> {
    let mut head = String::new();
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line)? == 0 || line == "\r\n" {
            break;
        }
        head.push_str(&line);
    }
    if head.split(' ').nth(1) == Some(wanted) { Ok(head) } else { Err(io::Error::other(head)) }
}
