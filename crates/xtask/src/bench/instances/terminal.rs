//! The terminal of a running instance: how soon there is a prompt, and how soon a letter comes back.

use std::io;
use std::time::Duration;

use super::super::load::{milliseconds, now, percentile};
use super::super::report::Report;
use super::super::report::Wanted::{AtMost, Context};
use super::desk::Desk;
use super::websocket::{Message, WebSocket};
use crate::failure::{Failure, Result};

const OPENED: usize = 30;
const LETTERS: usize = 500;
/// The page and what it names, which a browser loads before there is a terminal.
const PAGE: [&str; 6] = ["/", "/xterm.css", "/terminal.css", "/xterm.js", "/addon-fit.js", "/terminal.js"];

const TYPED: u8 = 0;
/// A window of 120 columns and 40 rows.
const SIZE: [u8; 5] = [1, 0, 120, 0, 40];
const LETTER: u8 = b'x';
const BACKSPACE: u8 = 0x7f;

pub fn measure(desk: &Desk, report: &mut Report) -> Result<()> {
    let mut opened = Vec::with_capacity(OPENED);
    for number in 0..OPENED {
        let (took, mut socket) = open(desk, &format!("bench-{number}"))?;
        opened.push(took);
        // Only so many may be open at once.
        leave(&mut socket).map_err(broken)?;
    }
    let (_, mut socket) = open(desk, "echo")?;
    let mut echoed = echoes(&mut socket).map_err(broken)?;
    leave(&mut socket).map_err(broken)?;
    opened.sort_unstable();
    echoed.sort_unstable();
    let at = |times: &[Duration], share: f64| milliseconds(percentile(times, share));
    report.add("terminal, from the click to its prompt: median", AtMost(500.0), at(&opened, 0.5), "ms");
    report.add("terminal, from the click to its prompt: p99", Context, at(&opened, 0.99), "ms");
    report.add("terminal, echo of a letter: median", AtMost(20.0), at(&echoed, 0.5), "ms");
    report.add("terminal, echo of a letter: p99", AtMost(20.0), at(&echoed, 0.99), "ms");
    Ok(())
}

fn broken(error: io::Error) -> Failure {
    Failure::new(format!("a terminal broke off: {error}"))
}

/// From the click at the portal, with nothing in the browser's cache, until the shell of a new terminal shows
/// its prompt.
fn open(desk: &Desk, session: &str) -> Result<(Duration, WebSocket)> {
    let began = now();
    let door = desk.enter("terminal")?;
    for path in PAGE {
        let answer = door.ask(path)?;
        if answer.status != 200 {
            return Err(Failure::new(format!("GET {path} of the terminal: status {}", answer.status)));
        }
    }
    let mut socket = WebSocket::open(&door, &format!("/session/{session}")).map_err(broken)?;
    socket.send(&SIZE).map_err(broken)?;
    let mut shown = Vec::new();
    while !has_prompt(&shown) {
        shown.extend(printed(&mut socket).map_err(broken)?);
    }
    Ok((began.elapsed(), socket))
}

/// Whether a shell waits for something to be typed.
fn has_prompt(shown: &[u8]) -> bool {
    [b"$ ", b"# "].iter().any(|prompt| shown.windows(2).any(|pair| pair == *prompt))
}

fn printed(socket: &mut WebSocket) -> io::Result<Vec<u8>> {
    match socket.receive()? {
        Message::Binary(bytes) => Ok(bytes),
        other => Err(io::Error::other(format!("the shell has ended: {other:?}"))),
    }
}

/// Types letters, each once the one before is gone again.
fn echoes(socket: &mut WebSocket) -> io::Result<Vec<Duration>> {
    let mut took = Vec::with_capacity(LETTERS);
    for _ in 0..LETTERS {
        let began = now();
        socket.send(&[TYPED, LETTER])?;
        while !printed(socket)?.contains(&LETTER) {}
        took.push(began.elapsed());
        // So the line never becomes so long that the shell draws it anew.
        socket.send(&[TYPED, BACKSPACE])?;
        printed(socket)?;
    }
    Ok(took)
}

/// Ends the shell and hears that it has ended.
fn leave(socket: &mut WebSocket) -> io::Result<()> {
    socket.send(b"\0exit\n")?;
    while matches!(socket.receive()?, Message::Binary(_)) {}
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_is_told_from_what_comes_before_it() {
        assert!(!has_prompt(b"\x1b[?2004h"));
        assert!(has_prompt(b"\x1b[?2004hmara@desk:~$ "));
        assert!(has_prompt(b"\x1b]0;desk\x07# \x1b[K"));
    }
}
