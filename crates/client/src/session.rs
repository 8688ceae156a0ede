//! Who asks whom: the server, the token, and what its answers mean.

use std::io::Read;
use std::time::Duration;

use serde_json::Value;

use crate::address::Address;
use crate::http::{self, Answer, Question};
use crate::{Failure, NOT_LET_IN, REFUSED, UNREACHABLE};

/// How often a token that was replaced meanwhile is read again.
const TRIES: u32 = 20;
/// The pause before that.
const PAUSE: Duration = Duration::from_millis(250);
/// The longest answer that is JSON.
const LONGEST: u64 = 64 << 20;

/// Where a token comes from.
enum Token {
    Given(String),
    File(String),
}

/// A server, and in whose name it is asked.
pub struct Session {
    address: Address,
    url: String,
    token: Token,
    job: Option<String>,
}

impl Session {
    pub fn new() -> Result<Self, Failure> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
        let url = variable("ATELIER_URL").ok_or_else(|| {
            Failure::usage("ATELIER_URL is not set: the address of the server, such as https://studio.example.org")
        })?;
        let token = match (variable("ATELIER_TOKEN"), variable("ATELIER_TOKEN_FILE")) {
            (Some(token), _) => Token::Given(token.trim().to_owned()),
            (None, Some(file)) => Token::File(file),
            (None, None) => {
                let help = "make a token on your profile page and put it into ATELIER_TOKEN";
                return Err(Failure::usage(format!("there is neither ATELIER_TOKEN nor ATELIER_TOKEN_FILE: {help}")));
            }
        };
        Ok(Self { address: Address::parse(&url)?, url, token, job: variable("ATELIER_JOB") })
    }

    /// The token. A file that is not there yet comes: it is written when the first thing of its owner begins.
    fn token(&self) -> Result<String, Failure> {
        let file = match &self.token {
            Token::Given(token) => return Ok(token.clone()),
            Token::File(file) => file,
        };
        let mut last = String::new();
        for _ in 0..TRIES {
            match std::fs::read_to_string(file) {
                Ok(text) if !text.trim().is_empty() => return Ok(text.trim().to_owned()),
                Ok(_) => "it is empty".clone_into(&mut last),
                Err(error) => last = error.to_string(),
            }
            pause();
        }
        let words =
            format!("there is no token in {file}: {last}. This instance or job acts in nobody's name right now");
        Err(Failure::new(NOT_LET_IN, words))
    }

    /// Asks; whatever is no success is a failure, in the server's own words.
    pub fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Answer, Failure> {
        let body = body.map(Value::to_string);
        let mut tries = 0;
        loop {
            let token = self.token()?;
            if token.contains(|c: char| c.is_control() || c == ' ') {
                return Err(Failure::usage("the token has characters that no token has"));
            }
            let job = self.job.as_deref().filter(|job| job.bytes().all(|byte| byte.is_ascii_graphic()));
            let question = Question { method, path, token: &token, job, body: body.as_deref() };
            let answer = http::ask(&self.address, question).map_err(|why| {
                Failure::new(UNREACHABLE, format!("the server at {} cannot be asked: {why}", self.url))
            })?;
            if answer.status < 300 {
                return Ok(answer);
            }
            let (status, problem) = (answer.status, problem(answer));
            let code = problem["code"].as_str().unwrap_or_default();
            // It has been replaced, or is about to be.
            let may_come = matches!(code, "workload.signed-out" | "workload.expired");
            tries += 1;
            if may_come && matches!(self.token, Token::File(_)) && tries < TRIES {
                pause();
                continue;
            }
            return Err(refused(status, &problem));
        }
    }

    pub fn json(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Value, Failure> {
        let answer = self.ask(method, path, body)?;
        let mut text = String::new();
        let read = answer.body.take(LONGEST).read_to_string(&mut text);
        read.map_err(|error| Failure::new(UNREACHABLE, format!("the answer was cut off: {error}")))?;
        serde_json::from_str(&text)
            .map_err(|error| Failure::new(UNREACHABLE, format!("the server at {} answers no JSON: {error}", self.url)))
    }
}

fn pause() {
    #[expect(clippy::disallowed_methods, reason = "a command line without a runtime waits for a file")]
    std::thread::sleep(PAUSE);
}

fn problem(answer: Answer) -> Value {
    let mut text = String::new();
    let _ = answer.body.take(LONGEST).read_to_string(&mut text);
    serde_json::from_str(&text).unwrap_or(Value::Null)
}

/// A problem as sentences: what happened, and each field that is to blame.
fn refused(status: u16, problem: &Value) -> Failure {
    let code = if matches!(status, 401 | 403) { NOT_LET_IN } else { REFUSED };
    let detail = problem["detail"].as_str().map_or_else(|| format!("the server answered {status}"), str::to_owned);
    let fields = problem["problems"].as_array().into_iter().flatten().filter_map(|one| {
        let (field, message) = (one["field"].as_str()?, one["message"].as_str()?);
        Some(format!("\n  {field}: {message}"))
    });
    let fields: String = if status == 403 { String::new() } else { fields.collect() };
    Failure::new(code, format!("{detail}{fields}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn problems_are_said_as_sentences_with_a_fitting_code() {
        let problem =
            json!({"detail": "Something is wrong.", "problems": [{"field": "cores", "message": "At most 4."}]});
        let failure = refused(422, &problem);
        assert_eq!((failure.words.as_str(), failure.code), ("Something is wrong.\n  cores: At most 4.", REFUSED));
        assert_eq!(refused(401, &json!({"detail": "No."})).code, NOT_LET_IN);
        assert_eq!(refused(502, &Value::Null).words, "the server answered 502");
    }
}
