//! The commands.

use std::io::{Read, Write};

use serde_json::{Map, Value, json};

use crate::session::Session;
use crate::words::Words;
use crate::{Failure, REFUSED, UNREACHABLE, shown};

/// The commands of this crate.
pub const NAMES: [&str; 6] = ["whoami", "jobs", "submit", "job", "logs", "cancel"];

/// How long one question waits for a job.
const WAIT: &str = "60s";

const HELP: &str = "\
Jobs over the REST API, in your name.

  atelier whoami                        who you are here
  atelier jobs [--all] [--state STATE] [--limit N]
  atelier submit [FLAGS] -- COMMAND…    runs a program with its arguments
      --cluster NAME | --instance NAME | --size NAME
                                        where; else on the cheapest size that fits
      --name TEXT --nodes N --cores N --memory MIB --gpus N --priority low|medium|high
      --timeout SECONDS --retries N --array N --env NAME=VALUE --after JOB
      --wait                            until it is over
  atelier job JOB [--wait]              how it does; fails if it has failed
  atelier logs JOB [--follow]           what it prints
  atelier cancel JOB [--array]           with --array, all jobs of its array

  --json prints the server's own answer.
  ATELIER_URL is the server, ATELIER_TOKEN your token; instances and jobs have both already.
  It ends with 0, 1 if it was refused or the job failed, 2 if the words were not understood, 3 if the server cannot be reached, and
  4 if the token is not let in or the right is missing.
";

/// Runs one; gives the exit code.
pub fn run(name: &str, words: &[String], out: &mut dyn Write) -> Result<u8, Failure> {
    if words.iter().take_while(|word| *word != "--").any(|word| word == "--help" || word == "-h") {
        return say(out, HELP.trim_end()).map(|()| 0);
    }
    match name {
        "whoami" => whoami(words, out),
        "jobs" => jobs(words, out),
        "submit" => submit(words, out),
        "job" => job(words, out),
        "logs" => logs(words, out),
        _ => cancel(words, out),
    }
}

fn say(out: &mut dyn Write, line: &str) -> Result<(), Failure> {
    writeln!(out, "{line}").map_err(unwritten)
}

fn unwritten(error: std::io::Error) -> Failure {
    Failure::new(REFUSED, format!("this cannot be printed: {error}"))
}

/// Prints what came, as it came or as lines.
fn print(out: &mut dyn Write, words: &Words, answer: &Value, lines: &[String]) -> Result<(), Failure> {
    if words.has("json") {
        return say(out, &answer.to_string());
    }
    lines.iter().try_for_each(|line| say(out, line))
}

fn no_rest(words: &Words) -> Result<(), Failure> {
    match words.rest.iter().chain(words.after.iter().flatten()).next() {
        Some(word) => Err(Failure::usage(format!("“{word}” is not expected here; see atelier jobs --help"))),
        None => Ok(()),
    }
}

fn whoami(words: &[String], out: &mut dyn Write) -> Result<u8, Failure> {
    let words = Words::read(words, &[], &["json"])?;
    no_rest(&words)?;
    let me = Session::new()?.json("GET", "/api/v1", None)?;
    print(out, &words, &me, &[shown::me(&me)])?;
    Ok(0)
}

fn jobs(words: &[String], out: &mut dyn Write) -> Result<u8, Failure> {
    let words = Words::read(words, &["state", "limit"], &["all", "json"])?;
    no_rest(&words)?;
    let mut query = format!("limit={}", words.number::<u32>("limit")?.unwrap_or(20));
    if !words.has("all") {
        query.push_str("&owner=me");
    }
    if let Some(state) = words.value("state") {
        query.push_str(&format!("&state={}", escaped(state)));
    }
    let list = Session::new()?.json("GET", &format!("/api/v1/jobs?{query}"), None)?;
    print(out, &words, &list, &shown::jobs(&list))?;
    Ok(0)
}

const SUBMIT: [&str; 14] = [
    "cluster", "instance", "size", "name", "nodes", "cores", "memory", "gpus", "priority", "timeout", "retries",
    "array", "env", "after",
];

/// The job as the API takes it.
fn wanted(words: &Words) -> Result<Value, Failure> {
    let command = words.after.clone().filter(|command| !command.is_empty()).ok_or_else(|| {
        Failure::usage("say what to run after two dashes: atelier submit --cluster pool -- python train.py")
    })?;
    if let Some(word) = words.rest.first() {
        return Err(Failure::usage(format!("“{word}” stands before the two dashes; what is run comes after them")));
    }
    let mut job = Map::new();
    job.insert("command".into(), json!(command));
    for name in ["cluster", "instance", "size", "name", "priority"] {
        if let Some(value) = words.value(name) {
            job.insert(name.into(), json!(value));
        }
    }
    if let Some(cores) = words.number::<f64>("cores")? {
        job.insert("cores".into(), json!(cores));
    }
    for (flag, field) in [
        ("nodes", "nodes"),
        ("memory", "memory_mib"),
        ("gpus", "gpus"),
        ("timeout", "timeout_seconds"),
        ("retries", "retries"),
        ("array", "array"),
    ] {
        if let Some(number) = words.number::<u64>(flag)? {
            job.insert(field.into(), json!(number));
        }
    }
    let mut variables = Map::new();
    for pair in words.values("env") {
        let (name, value) =
            pair.split_once('=').ok_or_else(|| Failure::usage(format!("--env is NAME=VALUE, not “{pair}”")))?;
        variables.insert(name.to_owned(), json!(value));
    }
    if !variables.is_empty() {
        job.insert("environment".into(), Value::Object(variables));
    }
    let after: Vec<String> = words.values("after").map(id).collect::<Result<_, _>>()?;
    if !after.is_empty() {
        job.insert("after".into(), json!(after));
    }
    Ok(Value::Object(job))
}

fn submit(words: &[String], out: &mut dyn Write) -> Result<u8, Failure> {
    let words = Words::read(words, &SUBMIT, &["wait", "json"])?;
    let job = wanted(&words)?;
    let session = Session::new()?;
    let made = session.json("POST", "/api/v1/jobs", Some(&job))?;
    let first = made["first"].as_str().or(made["id"].as_str()).unwrap_or_default().to_owned();
    if words.has("wait") {
        return wait(&session, &words, &first, out);
    }
    let count = made["count"].as_u64().unwrap_or(1);
    let line = if count > 1 { format!("{first} and {} more", count - 1) } else { first };
    print(out, &words, &made, &[line])?;
    Ok(0)
}

/// The id that somebody means: `job-12`, or `12`.
fn id(text: &str) -> Result<String, Failure> {
    let number = text.strip_prefix("job-").unwrap_or(text);
    match number.parse::<u64>() {
        Ok(number) => Ok(format!("job-{number}")),
        Err(_) => Err(Failure::usage(format!("a job is called such as job-12, not “{text}”"))),
    }
}

/// The one job that is meant.
fn only(words: &Words) -> Result<String, Failure> {
    match (words.rest.as_slice(), &words.after) {
        ([one], None) => id(one),
        _ => Err(Failure::usage("name one job, such as job-12")),
    }
}

fn job(words: &[String], out: &mut dyn Write) -> Result<u8, Failure> {
    let words = Words::read(words, &[], &["wait", "json"])?;
    let (id, session) = (only(&words)?, Session::new()?);
    if words.has("wait") {
        return wait(&session, &words, &id, out);
    }
    let job = session.json("GET", &format!("/api/v1/jobs/{id}"), None)?;
    told(&words, &job, out)
}

fn wait(session: &Session, words: &Words, id: &str, out: &mut dyn Write) -> Result<u8, Failure> {
    loop {
        let job = session.json("GET", &format!("/api/v1/jobs/{id}?wait={WAIT}"), None)?;
        if job["is_over"] == true {
            return told(words, &job, out);
        }
    }
}

/// Says how a job does; one that is over and did not succeed is a failure.
fn told(words: &Words, job: &Value, out: &mut dyn Write) -> Result<u8, Failure> {
    print(out, words, job, &shown::job(job))?;
    let is_bad = job["is_over"] == true && job["state"] != "completed";
    Ok(if is_bad { REFUSED } else { 0 })
}

fn logs(words: &[String], out: &mut dyn Write) -> Result<u8, Failure> {
    let words = Words::read(words, &[], &["follow"])?;
    let (id, session) = (only(&words)?, Session::new()?);
    let follow = if words.has("follow") { "?follow=true" } else { "" };
    let mut body = session.ask("GET", &format!("/api/v1/jobs/{id}/log{follow}"), None)?.body;
    let mut piece = vec![0; 64 << 10];
    loop {
        let read = body.read(&mut piece);
        let count = read.map_err(|error| Failure::new(UNREACHABLE, format!("the log was cut off: {error}")))?;
        if count == 0 {
            return Ok(0);
        }
        out.write_all(&piece[..count]).and_then(|()| out.flush()).map_err(unwritten)?;
    }
}

fn cancel(words: &[String], out: &mut dyn Write) -> Result<u8, Failure> {
    let words = Words::read(words, &[], &["array", "json"])?;
    let id = only(&words)?;
    let (noun, said) = match words.has("array") {
        true => ("arrays", format!("The array of {id} is canceled.")),
        false => ("jobs", format!("{id} is canceled.")),
    };
    let answer = Session::new()?.json("POST", &format!("/api/v1/{noun}/{id}/cancel"), None)?;
    print(out, &words, &answer, &[said])?;
    Ok(0)
}

/// For a query: what is not plain becomes a percent and two digits.
fn escaped(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b',');
    text.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &[&str]) -> Result<Value, Failure> {
        let words: Vec<String> = line.iter().map(|word| (*word).to_owned()).collect();
        wanted(&Words::read(&words, &SUBMIT, &["wait", "json"])?)
    }

    #[test]
    fn a_job_is_read_from_the_command_line() {
        let line = [
            "--cluster",
            "pool",
            "--cores",
            "0.5",
            "--memory=64",
            "--env",
            "A=b=c",
            "--after",
            "7",
            "--",
            "echo",
            "--x",
        ];
        assert_eq!(
            read(&line).expect("read"),
            json!({"command": ["echo", "--x"], "cluster": "pool", "cores": 0.5, "memory_mib": 64,
                "environment": {"A": "b=c"}, "after": ["job-7"]})
        );
        for (line, part) in [
            (vec!["--cluster", "pool"], "after two dashes"),
            (vec!["echo", "--", "x"], "before the two dashes"),
            (vec!["--env", "A", "--", "x"], "NAME=VALUE"),
            (vec!["--nodes", "two", "--", "x"], "is a number"),
            (vec!["--after", "x", "--", "x"], "such as job-12"),
        ] {
            let failure = read(&line).expect_err(part);
            assert!(failure.words.contains(part) && failure.code == 2, "{}", failure.words);
        }
    }

    #[test]
    fn help_needs_no_server() {
        let mut out = Vec::new();
        assert_eq!(run("submit", &["--help".to_owned()], &mut out).ok(), Some(0));
        assert!(String::from_utf8_lossy(&out).contains("atelier submit"));
        assert_eq!(escaped("a b&c"), "a%20b%26c");
    }
}
