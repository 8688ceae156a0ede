//! A piece of what a job printed, ready to be shown: never more than a window of it, however long the log or
//! a line is.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::PathBuf;
use std::sync::{LazyLock, Mutex, PoisonError};

use atelier_domain::ansi;
use atelier_domain::ansi::{Painter, Piece};
use atelier_engine::fleet::{JobLogs, LogName};

/// How much of a log is shown at once, in bytes.
pub const WINDOW: usize = 64 << 10;
/// How much of one line is shown, in bytes.
pub const MOST_OF_A_LINE: usize = 4 << 10;
pub const MOST_FOUND: usize = 200;

/// How far lines are counted for one request: what is beyond has no numbers.
const MOST_COUNTED: u64 = 256 << 20;
/// How far back one search looks.
const MOST_SEARCHED: u64 = 256 << 20;
/// How much is read at once while counting and searching.
const STRIDE: usize = 1 << 20;

/// Where to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    End,
    /// From that byte on.
    From(u64),
    /// Up to that byte.
    Until(u64),
}

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its number from 1; none far into a very long log.
    pub number: Option<u64>,
    pub pieces: Vec<Piece>,
    /// How many bytes of it are not shown.
    pub left_out: usize,
}

/// What is shown of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    pub lines: Vec<Line>,
    /// The first byte of them.
    pub from: u64,
    /// The first byte after them.
    pub to: u64,
    pub length: u64,
    /// The byte at which the next whole line begins, for who follows: that of the last line if it is not at
    /// its end.
    pub follow_from: u64,
    /// Whether the last line is not at its end.
    pub is_open: bool,
}

/// Something printed into a file, which may still grow.
pub trait Printed {
    fn path(&self) -> PathBuf;

    fn length(&self) -> u64 {
        std::fs::metadata(self.path()).map_or(0, |info| info.len())
    }

    /// At most so many bytes from there on; fewer only at the end of what there is.
    fn read(&self, from: u64, most: usize) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        match File::open(self.path()) {
            Ok(mut file) => {
                file.seek(SeekFrom::Start(from))?;
                file.take(most as u64).read_to_end(&mut bytes)?;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        Ok(bytes)
    }
}

/// One log of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobLog {
    pub name: LogName,
    path: PathBuf,
}

impl JobLog {
    pub fn new(logs: &JobLogs, name: LogName) -> Self {
        Self { name, path: logs.path(name) }
    }
}

impl Printed for JobLog {
    fn path(&self) -> PathBuf {
        self.path.clone()
    }
}

/// Reads a window. Blocks, and is quick but for the first look at a very long log.
pub fn window(log: &impl Printed, place: Place) -> io::Result<Window> {
    let length = log.length();
    let (mut from, is_exact) = match place {
        Place::End => (length.saturating_sub(WINDOW as u64), false),
        Place::From(from) => (from.min(length), true),
        Place::Until(until) => (until.min(length).saturating_sub(WINDOW as u64), false),
    };
    let most = match place {
        Place::Until(until) => usize::try_from(until.min(length) - from).unwrap_or(WINDOW),
        Place::End | Place::From(_) => WINDOW,
    };
    let mut bytes = log.read(from, most)?;
    // Begins with a whole line, if one begins here at all.
    if from > 0
        && !is_exact
        && log.read(from - 1, 1)? != b"\n"
        && let Some(end) = position(&bytes)
    {
        from += end as u64 + 1;
        bytes.drain(..=end);
    }
    let to = from + bytes.len() as u64;
    // Ends with a whole line, unless it is the end or there is none.
    let to = match bytes.iter().rposition(|byte| *byte == b'\n') {
        Some(end) if to < length => {
            bytes.truncate(end + 1);
            from + end as u64 + 1
        }
        _ => to,
    };
    let first = count_in(log, from)?.map(|lines| lines + 1);
    let is_open = bytes.last().is_some_and(|byte| *byte != b'\n');
    let text = String::from_utf8_lossy(&bytes);
    let mut painter = Painter::default();
    let lines: Vec<Line> = text
        .split_terminator('\n')
        .enumerate()
        .map(|(at, line)| painted(&mut painter, first.map(|first| first + at as u64), line))
        .collect();
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end as u64 + 1);
    Ok(Window { lines, from, to, length, follow_from: from + whole, is_open })
}

fn painted(painter: &mut Painter, number: Option<u64>, line: &str) -> Line {
    let (shown, left_out) = ansi::cut(line, MOST_OF_A_LINE);
    Line { number, pieces: painter.paint(shown), left_out }
}

fn position(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|byte| *byte == b'\n')
}

/// How many lines end before a byte, remembered for the next time; none if that is too far to count.
pub fn count_in(log: &impl Printed, upto: u64) -> io::Result<Option<u64>> {
    /// Up to which byte a log was counted, and how many lines that were.
    static COUNTED: LazyLock<Mutex<HashMap<PathBuf, (u64, u64)>>> = LazyLock::new(Mutex::default);
    const MOST_REMEMBERED: usize = 1_000;
    let path = log.path();
    let known = COUNTED.lock().unwrap_or_else(PoisonError::into_inner).get(&path).copied();
    let (mut at, mut lines) = known.filter(|(at, _)| *at <= upto).unwrap_or((0, 0));
    if upto - at > MOST_COUNTED {
        return Ok(None);
    }
    while at < upto {
        let most = STRIDE.min(usize::try_from(upto - at).unwrap_or(STRIDE));
        let bytes = log.read(at, most)?;
        if bytes.is_empty() {
            break;
        }
        lines += bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
        at += bytes.len() as u64;
    }
    let mut counted = COUNTED.lock().unwrap_or_else(PoisonError::into_inner);
    if counted.len() >= MOST_REMEMBERED {
        counted.clear();
    }
    counted.insert(path, (at, lines));
    Ok(Some(lines))
}

/// A line that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The byte at which it begins.
    pub at: u64,
    pub line: Line,
}

/// What a search came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Search {
    /// The lines, the first ones first.
    pub found: Vec<Found>,
    /// From which byte on was looked.
    pub from: u64,
    pub has_more: bool,
}

/// Looks for lines with that text, upper and lower case alike. Blocks.
pub fn search(log: &impl Printed, text: &str) -> io::Result<Search> {
    let wanted = text.to_lowercase();
    let from = log.length().saturating_sub(MOST_SEARCHED);
    let mut search = Search { from, ..Search::default() };
    let mut number = count_in(log, from)?.map(|lines| lines + 1);
    let (mut at, mut rest): (u64, Vec<u8>) = (from, Vec::new());
    // The byte at which the line in `rest` begins; what is cut off a very long line is not searched.
    let mut begins = from;
    loop {
        let bytes = log.read(at, STRIDE)?;
        let is_end = bytes.is_empty();
        at += bytes.len() as u64;
        let mut look = |line: &[u8], begins: u64, number: Option<u64>| {
            let line = String::from_utf8_lossy(line);
            if line.to_lowercase().contains(&wanted) {
                if search.found.len() == MOST_FOUND {
                    search.has_more = true;
                } else {
                    let line = painted(&mut Painter::default(), number, &line);
                    search.found.push(Found { at: begins, line });
                }
            }
            search.has_more
        };
        let mut fresh: &[u8] = &bytes;
        while let Some(end) = position(fresh) {
            rest.extend(&fresh[..end.min(STRIDE)]);
            if look(&rest, begins, number) {
                return Ok(search);
            }
            rest.clear();
            fresh = &fresh[end + 1..];
            begins = at - fresh.len() as u64;
            number = number.map(|number| number + 1);
        }
        if rest.len() < STRIDE {
            rest.extend(fresh);
        }
        if is_end {
            if !rest.is_empty() {
                look(&rest, begins, number);
            }
            return Ok(search);
        }
    }
}

#[cfg(test)]
mod tests {
    use atelier_domain::compute::{JobId, NodeId};

    use super::*;

    const NAME: LogName = LogName { job: JobId(7), attempt: 1, node: NodeId(2) };

    fn log(bytes: &[u8]) -> (JobLog, tempfile::TempDir) {
        let folder = tempfile::tempdir().expect("a folder");
        let logs = JobLogs::new(folder.path());
        logs.keep(NAME, 0, bytes).expect("keeps");
        (JobLog::new(&logs, NAME), folder)
    }

    fn shown(window: &Window) -> Vec<(u64, String)> {
        let text = |line: &Line| line.pieces.iter().map(|piece| piece.text.as_str()).collect();
        window.lines.iter().map(|line| (line.number.unwrap_or(0), text(line))).collect()
    }

    #[test]
    fn a_short_log_is_shown_whole() {
        let (log, _folder) = log(b"one\ntwo\nthr");
        let window = window(&log, Place::End).expect("reads");
        assert_eq!(shown(&window), [(1, "one".into()), (2, "two".into()), (3, "thr".into())]);
        assert_eq!((window.from, window.to, window.follow_from, window.is_open), (0, 11, 8, true));
    }

    #[test]
    fn pages_join_without_a_gap_and_lines_keep_their_numbers() {
        let text: String = (1..=20_000).map(|number| format!("line {number}\n")).collect();
        let (log, _folder) = log(text.as_bytes());
        let last = window(&log, Place::End).expect("reads");
        assert_eq!(shown(&last).last(), Some(&(20_000, "line 20000".into())));
        let before = window(&log, Place::Until(last.from)).expect("reads");
        assert_eq!(before.to, last.from);
        for (number, line) in shown(&before) {
            assert_eq!(line, format!("line {number}"));
        }
        let again = window(&log, Place::From(before.from)).expect("reads");
        assert_eq!(again.from, before.from);
        assert_eq!(shown(&again).first(), shown(&before).first());
    }

    #[test]
    fn a_line_without_an_end_is_cut_and_binary_is_shown_as_it_can_be() {
        let (log, _folder) = log(&[b'x'; 300_000]);
        let window = window(&log, Place::End).expect("reads");
        assert_eq!((window.lines.len(), window.to), (1, 300_000));
        assert_eq!(window.lines[0].left_out, WINDOW - MOST_OF_A_LINE);
        let (log, _folder) = crate::jobs::log::tests::log(b"ok\xff\xfe\x00\n");
        assert_eq!(shown(&super::window(&log, Place::End).expect("reads"))[0].1, "ok\u{fffd}\u{fffd}\u{fffd}");
    }

    #[test]
    fn a_search_finds_lines_wherever_they_are_cut() {
        let mut text: String = (1..=200_000).map(|number| format!("line {number}\n")).collect();
        text.push_str("the END");
        let (log, _folder) = log(text.as_bytes());
        let search = search(&log, "line 19999").expect("searches");
        assert_eq!(search.found.len(), 11);
        let one = &search.found[0];
        assert_eq!(one.line.number, Some(19_999));
        assert!(text[usize::try_from(one.at).expect("small")..].starts_with("line 19999\n"));
        let last = super::search(&log, "the end").expect("searches");
        assert_eq!(last.found[0].line.number, Some(200_001));
        assert!(super::search(&log, "line").expect("searches").has_more);
    }
}
