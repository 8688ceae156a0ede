//! Recorded jobs: one JSON object in each line, as a server exports them.

use std::io::BufRead;

use atelier_domain::compute::Resources;
use atelier_domain::compute::job::Priority;
use atelier_domain::text::shortened_to;
use atelier_domain::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::scenario::Refused;

/// The most jobs that one history may have.
pub const MAX_RECORDED: usize = 2_000_000;

/// No line of a history is longer.
const MAX_LINE: u64 = 4_096;

/// A job that ran once: all that is needed to submit it again and to end it when it ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recorded {
    /// When it was submitted, in milliseconds since 1970.
    pub submitted: Timestamp,
    /// Whose it was: any name that tells people apart.
    pub owner: String,
    /// The cluster it ran on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// The size it ran on, if it had nodes of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<String>,
    /// What it took of each node: thousandths of cores, MiB and GPUs.
    pub shape: Resources,
    /// On how many nodes.
    #[serde(default = "one")]
    pub nodes: u32,
    /// How long it ran, in milliseconds.
    pub ran: u64,
    /// How long it might have, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_limit: Option<u64>,
    #[serde(default)]
    pub priority: Priority,
    /// Whether it ended with an error of its own.
    #[serde(default)]
    pub failed: bool,
}

const fn one() -> u32 {
    1
}

impl Recorded {
    /// Its line, without the line's end.
    pub fn line(&self) -> String {
        // Text, numbers and nothing else: this cannot fail.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// Reads a history. Empty lines are nothing; what is wrong is said with the number of its line.
pub fn read_history(mut lines: impl BufRead) -> Result<Vec<Recorded>, Refused> {
    let mut jobs = Vec::new();
    let mut bytes = Vec::new();
    for number in 1_u64.. {
        bytes.clear();
        let wrong = |message: String| Refused::one(format!("history line {number}"), message);
        let mut line = std::io::Read::take(&mut lines, MAX_LINE + 1);
        let read =
            line.read_until(b'\n', &mut bytes).map_err(|error| wrong(format!("It could not be read: {error}.")))?;
        if read == 0 {
            break;
        }
        if read as u64 > MAX_LINE {
            return Err(wrong(format!("A line has at most {MAX_LINE} bytes; this has more.")));
        }
        if bytes.trim_ascii().is_empty() {
            continue;
        }
        if jobs.len() == MAX_RECORDED {
            return Err(wrong(format!("A history has at most {MAX_RECORDED} jobs. Choose a shorter time.")));
        }
        let job = serde_json::from_slice(bytes.trim_ascii());
        jobs.push(job.map_err(|error| wrong(format!("{}.", shortened_to(&error.to_string(), 300))))?);
    }
    Ok(jobs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_history_reads_what_it_writes() {
        let job = Recorded {
            submitted: Timestamp(1_772_438_400_000),
            owner: "ada".into(),
            cluster: Some("shared".into()),
            size: None,
            shape: Resources::new(2, 8, 0),
            nodes: 1,
            ran: 61_000,
            time_limit: None,
            priority: Priority::High,
            failed: false,
        };
        let text = format!("{}\n\n{}", job.line(), job.line());
        assert_eq!(read_history(text.as_bytes()), Ok(vec![job.clone(), job]));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let short = r#"{"submitted":1,"owner":"a","shape":{"cores":1,"memory":1,"gpus":0},"ran":5}"#;
        let long = format!("{short}\n{{\"owner\":\"{}\"}}", "x".repeat(5_000));
        for (text, part) in [
            (format!("{short}\nnonsense"), "history line 2"),
            (short.replace("ran", "run"), "unknown field `run`"),
            (short.replace(":5", ":-5"), "history line 1"),
            (long, "at most 4096 bytes"),
            ("\u{0}\u{1}".to_owned(), "history line 1"),
        ] {
            let refused = read_history(text.as_bytes()).expect_err(&text).to_string();
            assert!(refused.contains(part), "{refused}");
        }
    }
}
