//! What a request of the API says: who asks, under which id, with which parameters and which JSON.

use std::sync::Arc;
use std::time::Duration;

use atelier_domain::text::{Problem, parse_why, shortened};
use atelier_domain::world::Answer;
use atelier_engine::run::CommandId;
use atelier_studio::caller::{Actor, Caller, RequestInfo};
use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::AppError;
use crate::server::rest::problem::{Answered, Refusal};
use crate::server::state::AppState;

pub const MAX_BODY: usize = 2 << 20;

/// How long a body may take to arrive.
const PATIENCE: Duration = Duration::from_secs(60);

/// Who asks, and the id of what they want done.
pub struct Asked {
    pub caller: Caller,
    /// The id of the command, if the client gave one, so that it may ask again.
    key: Option<CommandId>,
}

impl FromRequestParts<AppState> for Asked {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Answered<Self> {
        let outside = || Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "Called outside of a request.");
        let actor = parts.extensions.get::<Arc<Actor>>().cloned().ok_or_else(outside)?;
        let request = parts.extensions.get::<RequestInfo>().cloned().ok_or_else(outside)?;
        let key = command_id(&parts.headers)?.map(|key| key.of(&actor.person.id));
        Ok(Self { caller: Caller::new(state.studio().clone(), request, Some(actor)), key })
    }
}

impl Asked {
    /// The id of a command that is made of what the client said.
    pub fn id_for(&self, verb: &str, said: &impl Serialize) -> CommandId {
        match &self.key {
            Some(key) => {
                let said = serde_json::to_string(said).unwrap_or_default();
                key.clone().saying(&format!("{verb} {said}"))
            }
            None => CommandId::random(),
        }
    }

    /// What was done, or what was answered when the same was asked before. What has changed since (a cluster
    /// that is gone, say) does not matter to who only asks again.
    pub async fn or_known<T>(
        &self,
        id: &CommandId,
        done: Result<T, AppError>,
        read: impl FnOnce(Answer) -> Option<T>,
    ) -> Answered<T> {
        let error = match done {
            Ok(done) => return Ok(done),
            Err(error) => error,
        };
        let is_about_now = matches!(error, AppError::Invalid { .. } | AppError::NotFound { .. });
        if self.key.is_none() || !is_about_now {
            return Err(error.into());
        }
        let workspace = &self.caller.actor()?.workspace.id;
        match self.caller.checked(self.caller.store().known_answer(workspace, id).await)? {
            Some(Ok(answer)) => read(answer).ok_or_else(|| error.into()),
            Some(Err(known)) => Err(atelier_studio::orders::refused(&self.caller, known).into()),
            None => Err(error.into()),
        }
    }
}

fn command_id(headers: &HeaderMap) -> Answered<Option<CommandId>> {
    let mut given = headers.get_all("idempotency-key").iter();
    let Some(first) = given.next() else { return Ok(None) };
    let wrong = |message: String| Refusal::field("Idempotency-Key", message);
    if given.next().is_some() {
        return Err(wrong("There is more than one Idempotency-Key.".into()));
    }
    let text = first.to_str().map_err(|_| wrong("The Idempotency-Key is not text.".into()))?;
    CommandId::parse(text).map(Some).map_err(|_| {
        let (start, count) = (shortened(text), text.len());
        wrong(format!(
            "An Idempotency-Key has 8 to 80 letters, digits and hyphens; this has {count} and begins “{start}”."
        ))
    })
}

/// Why, for the history.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Why {
    pub why: String,
}

impl Why {
    /// The reason, if one is given and fits.
    pub fn read(&self) -> Answered<Option<String>> {
        Ok(parse_why(&self.why)?)
    }
}

/// A body of JSON.
pub struct Json<T>(pub T);

impl<T: DeserializeOwned> FromRequest<AppState> for Json<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, state: &AppState) -> Answered<Self> {
        if !says_json(request.headers()) {
            let detail = "Send JSON, with the header Content-Type: application/json.";
            return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "not-json", detail));
        }
        let bytes = read(request, state).await?;
        parse(&bytes).map(Self)
    }
}

/// A body of JSON where none is needed: nothing at all counts as the default.
pub struct OptionalJson<T>(pub T);

impl<T: DeserializeOwned + Default> FromRequest<AppState> for OptionalJson<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, state: &AppState) -> Answered<Self> {
        let is_json = says_json(request.headers());
        let bytes = read(request, state).await?;
        if bytes.is_empty() {
            return Ok(Self(T::default()));
        }
        if !is_json {
            let detail = "Send JSON, with the header Content-Type: application/json, or no body.";
            return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "not-json", detail));
        }
        parse(&bytes).map(Self)
    }
}

fn says_json(headers: &HeaderMap) -> bool {
    let said = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = said.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    kind == "application/json" || (kind.starts_with("application/") && kind.ends_with("+json"))
}

async fn read(request: Request, state: &AppState) -> Answered<Bytes> {
    let Ok(read) = tokio::time::timeout(PATIENCE, Bytes::from_request(request, state)).await else {
        let detail = format!("The body did not arrive within {} s.", PATIENCE.as_secs());
        return Err(Refusal::new(StatusCode::REQUEST_TIMEOUT, "too-slow", detail));
    };
    read.map_err(|rejection| match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => {
            let detail = format!("A body has at most {MAX_BODY} bytes. Upload larger files and name them.");
            Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", detail)
        }
        _ => Refusal::new(StatusCode::BAD_REQUEST, "not-understood", "The body could not be read to its end."),
    })
}

/// Reads JSON; what is wrong is said with its line and column.
fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Answered<T> {
    // A list would be taken for the fields in their order.
    if bytes.trim_ascii_start().first() == Some(&b'[') {
        return Err(Refusal::field("body", "The JSON does not fit: an object with named fields is needed."));
    }
    serde_json::from_slice(bytes).map_err(|error| {
        let what = if error.is_data() { "The JSON does not fit" } else { "The body is no JSON" };
        // serde quotes what it found, which may be long.
        let words: String = error.to_string().chars().filter(|c| !c.is_control()).take(400).collect();
        Refusal::field("body", format!("{what}: {words}."))
    })
}

/// The parameters of an address. Each is taken once; what is left over is not known and refused.
#[derive(Clone, Debug)]
pub struct Parameters(Vec<(String, String)>);

impl FromRequestParts<AppState> for Parameters {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &AppState) -> Answered<Self> {
        let query = parts.uri.query().unwrap_or_default();
        Ok(Self(url::form_urlencoded::parse(query.as_bytes()).into_owned().collect()))
    }
}

/// An address without parameters; any is refused.
pub struct NoParameters;

impl FromRequestParts<AppState> for NoParameters {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Answered<Self> {
        Parameters::from_request_parts(parts, state).await?.none_left(&[]).map(|()| Self)
    }
}

impl Parameters {
    /// Takes a parameter out; two of the same name are one too many.
    pub fn take(&mut self, name: &str) -> Answered<Option<String>> {
        let Some(place) = self.0.iter().position(|(key, _)| key == name) else { return Ok(None) };
        let (_, value) = self.0.remove(place);
        if self.0.iter().any(|(key, _)| key == name) {
            return Err(Refusal::field(name, format!("“{name}” is given twice.")));
        }
        Ok(Some(value))
    }

    /// Takes a parameter out and reads it.
    pub fn read<T>(&mut self, name: &str, parse: impl FnOnce(&str) -> Option<T>, allowed: &str) -> Answered<Option<T>> {
        let Some(text) = self.take(name)? else { return Ok(None) };
        match parse(&text) {
            Some(value) => Ok(Some(value)),
            None => Err(Refusal::field(name, format!("“{name}” is {allowed}, not “{}”.", shortened(&text)))),
        }
    }

    /// The address of the rest of a list, after the one of that id.
    pub fn going_on(&self, path: &str, after: &str) -> String {
        let same = self.0.iter().filter(|(key, _)| key != "after");
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(same).append_pair("after", after);
        format!("{path}?{}", query.finish())
    }

    /// Refuses what nobody took.
    pub fn none_left(self, known: &[&str]) -> Answered<()> {
        if self.0.is_empty() {
            return Ok(());
        }
        let known = if known.is_empty() { "none".to_owned() } else { atelier_domain::text::and_list(known) };
        let problem = |(key, _): &(String, String)| {
            let key = shortened(key);
            Problem::new(key.clone(), format!("There is no parameter “{key}” here; there are: {known}."))
        };
        Err(Refusal::invalid(self.0.iter().take(20).map(problem).collect()))
    }
}

/// A time as people write it: `30s`, `500ms`, `2m`, or seconds alone.
pub fn span(text: &str) -> Option<Duration> {
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(split);
    let count: u64 = digits.parse().ok()?;
    let millis = match unit {
        "ms" => count,
        "" | "s" => count.checked_mul(1_000)?,
        "m" => count.checked_mul(60_000)?,
        _ => return None,
    };
    Some(Duration::from_millis(millis))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_people_write_them() {
        assert_eq!(span("30s"), Some(Duration::from_secs(30)));
        assert_eq!(span("500ms"), Some(Duration::from_millis(500)));
        assert_eq!(span("2m"), Some(Duration::from_secs(120)));
        assert_eq!(span("7"), Some(Duration::from_secs(7)));
        for text in ["", "s", "-1s", "1.5s", "1h", "99999999999999999999", "18446744073709551615m"] {
            assert_eq!(span(text), None, "{text}");
        }
    }
}
