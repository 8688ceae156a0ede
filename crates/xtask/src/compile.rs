//! Running cargo so that people see how far it is: "Building the server: 412 of 690 steps".
//!
//! Cargo draws its own bar only on a terminal, between hundreds of names of crates. Here it is asked to draw
//! it always, the bar is read, and warnings and errors pass as they are.

use std::io::{self, IsTerminal as _, Read, Write as _};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use crate::failure::{Failure, Result};
use crate::process;

/// How cargo's own lines about what it does begin; everything else is for people.
const NOISE: [&str; 9] = [
    "Compiling ",
    "Building [",
    "Blocking ",
    "Checking ",
    "Downloaded ",
    "Downloading ",
    "Finished ",
    "Fresh ",
    "Dirty ",
];

/// Without a terminal a line is written each time that another tenth is done.
const TENTHS: u32 = 10;

/// How far the builds are that run now: they share one line of the terminal.
static BUILDS: Mutex<Vec<(String, u32, u32)>> = Mutex::new(Vec::new());

/// Runs a cargo command that compiles; `what` names it to people.
pub fn run(cargo: &mut Command, what: &str) -> Result<()> {
    // The bar needs a width to be drawn without a terminal.
    cargo.env("CARGO_TERM_PROGRESS_WHEN", "always").env("CARGO_TERM_PROGRESS_WIDTH", "100");
    let is_terminal = io::stderr().is_terminal();
    if is_terminal {
        cargo.env("CARGO_TERM_COLOR", "always");
    }
    cargo.stdin(Stdio::null()).stderr(Stdio::piped());
    let mut child = cargo.spawn().map_err(|error| process::not_started(cargo, &error))?;
    if let Some(said) = child.stderr.take() {
        let mut teller = Teller { what, is_terminal, tenth: 0 };
        pieces(said, |piece| teller.hear(piece));
        teller.end();
    }
    let status = child.wait().map_err(|error| process::not_started(cargo, &error))?;
    if status.success() { Ok(()) } else { Err(Failure::new(process::failed(cargo, status))) }
}

/// Gives every piece that ends with a line break or a carriage return, which is how the bar is drawn anew.
fn pieces(mut from: impl Read, mut each: impl FnMut(&str)) {
    let (mut block, mut piece) = ([0; 8192], Vec::new());
    while let Ok(count @ 1..) = from.read(&mut block) {
        for byte in &block[..count] {
            match byte {
                b'\n' | b'\r' => {
                    each(&String::from_utf8_lossy(&piece));
                    piece.clear();
                }
                byte => piece.push(*byte),
            }
        }
    }
    if !piece.is_empty() {
        each(&String::from_utf8_lossy(&piece));
    }
}

struct Teller<'a> {
    what: &'a str,
    is_terminal: bool,
    /// The last tenth that was told.
    tenth: u32,
}

impl Teller<'_> {
    fn hear(&mut self, piece: &str) {
        let plain = without_colours(piece);
        match (done(&plain), is_noise(&plain)) {
            (Some((done, all)), _) => self.tell(done, all),
            (None, true) => {}
            (None, false) if self.is_terminal => eprintln!("\r\x1b[K{piece}"),
            (None, false) => eprintln!("{piece}"),
        }
    }

    fn tell(&mut self, done: u32, all: u32) {
        if self.is_terminal {
            let mut builds = BUILDS.lock().unwrap_or_else(PoisonError::into_inner);
            builds.retain(|(what, ..)| what != self.what);
            builds.push((self.what.to_owned(), done, all));
            builds.sort();
            draw(&builds);
        } else if let Some(tenth) = (TENTHS * done).checked_div(all)
            && tenth > self.tenth
        {
            self.tenth = tenth;
            eprintln!("  {}: {done} of {all} steps", self.what);
        }
    }

    fn end(&self) {
        let mut builds = BUILDS.lock().unwrap_or_else(PoisonError::into_inner);
        builds.retain(|(what, ..)| what != self.what);
        if self.is_terminal {
            draw(&builds);
        }
    }
}

fn draw(builds: &[(String, u32, u32)]) {
    let parts: Vec<String> = builds.iter().map(|(what, done, all)| format!("{what}: {done} of {all} steps")).collect();
    eprint!("\r\x1b[K{}{}", if parts.is_empty() { "" } else { "  " }, parts.join(" · "));
    // A line that is not shown is no loss.
    drop(io::stderr().flush());
}

fn is_noise(line: &str) -> bool {
    let line = line.trim_start();
    line.is_empty() || NOISE.iter().any(|start| line.starts_with(start))
}

/// Reads cargo's bar: `Building [=====>     ] 412/690: leptos, sqlx-core`.
fn done(line: &str) -> Option<(u32, u32)> {
    let (_, rest) = line.trim_start().strip_prefix("Building [")?.split_once("] ")?;
    let (done, rest) = rest.split_once('/')?;
    let all = rest.split(|letter: char| !letter.is_ascii_digit()).next()?;
    Some((done.parse().ok()?, all.parse().ok()?))
}

fn without_colours(text: &str) -> String {
    let mut plain = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter == '\x1b' {
            // An escape sequence ends with its first letter.
            letters.by_ref().find(char::is_ascii_alphabetic);
        } else {
            plain.push(letter);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_says_how_much_is_done() {
        assert_eq!(done("    Building [=====>     ] 412/690: leptos, sqlx-core"), Some((412, 690)));
        assert_eq!(done("    Building [=====>     ] 412/690"), Some((412, 690)));
        assert_eq!(done("    Building [] x"), None);
        assert_eq!(done("error: Building [it failed"), None);
    }

    #[test]
    fn what_people_have_to_read_is_no_noise() {
        assert!(is_noise("   Compiling leptos v0.8.23"));
        assert!(is_noise(""));
        assert!(!is_noise("warning: unused variable: `x`"));
        assert!(!is_noise("error[E0308]: mismatched types"));
        assert!(!is_noise("  --> src/home.rs:3:1"));
    }

    #[test]
    fn colours_are_looked_through() {
        assert_eq!(without_colours("\x1b[1m\x1b[36m    Building\x1b[0m [> ] 1/2: a"), "    Building [> ] 1/2: a");
    }

    #[test]
    fn pieces_end_at_line_breaks_and_returns() {
        let mut seen = Vec::new();
        pieces("one\rtwo\n\nthree".as_bytes(), |piece| seen.push(piece.to_owned()));
        assert_eq!(seen, ["one", "two", "", "three"]);
    }
}
