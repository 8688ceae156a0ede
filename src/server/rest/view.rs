//! What all answers have in common.

use std::collections::BTreeMap;

use atelier_domain::Timestamp;
use atelier_domain::compute::resources::Resources;
use atelier_domain::compute::verb::Verb;
use atelier_domain::reason::Reason;
use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use serde::{Serialize, Serializer};

use crate::server::rest::problem::Answered;

/// JSON with that status.
pub fn json(status: StatusCode, value: &impl Serialize) -> Response {
    // What is written here always can be; a map with keys that are no text would be the exception.
    let text = serde_json::to_vec(value).unwrap_or_default();
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// The same where nothing new is there.
pub fn ok(value: &impl Serialize) -> Answered {
    Ok(json(StatusCode::OK, value))
}

/// All of them, under that name.
pub fn listed<T: Serialize>(name: &'static str, all: impl IntoIterator<Item = T>) -> Answered {
    ok(&BTreeMap::from([(name, all.into_iter().collect::<Vec<_>>())]))
}

/// An object of the API, written down once: each field beside its value, in the order in which they are sent.
macro_rules! object {
    ($($(#[$meta:meta])* $field:ident: $value:expr),* $(,)?) => {{
        #[expect(non_camel_case_types, reason = "each field is of a type of its own, which is called like it")]
        let object = {
            #[derive(serde::Serialize)]
            struct Object<$($field),*> {
                $($(#[$meta])* $field: $field),*
            }
            Object { $($field: $value),* }
        };
        object
    }};
}
pub(crate) use object;

/// The status of a verb that was carried out, as the table of verbs says it.
pub fn done(verb: Verb) -> StatusCode {
    verb.endpoint().and_then(|endpoint| StatusCode::from_u16(endpoint.status).ok()).unwrap_or(StatusCode::OK)
}

/// JSON for something new, which is to be found at `location`.
pub fn created(location: &str, value: &impl Serialize) -> Response {
    let mut response = json(StatusCode::CREATED, value);
    if let Ok(location) = HeaderValue::from_str(location) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    response
}

/// A reason: its code and its numbers, and the same in words.
#[derive(Debug, Serialize)]
pub struct ReasonView {
    #[serde(flatten)]
    reason: Reason,
    sentence: String,
    next_step: Option<String>,
}

impl From<Reason> for ReasonView {
    fn from(reason: Reason) -> Self {
        Self { sentence: reason.sentence(), next_step: reason.next_step(), reason }
    }
}

/// An instant as RFC 3339 in UTC, to the millisecond.
#[derive(Clone, Copy, Debug)]
pub struct When(pub Timestamp);

impl Serialize for When {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let at = jiff::Timestamp::from_millisecond(self.0.0).unwrap_or_default();
        to.collect_str(&format_args!("{at:.3}"))
    }
}

/// Cores, memory and GPUs.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ResourcesView {
    cores: f64,
    memory_mib: u64,
    gpus: u64,
}

impl From<Resources> for ResourcesView {
    fn from(resources: Resources) -> Self {
        Self { cores: resources.cores as f64 / 1_000.0, memory_mib: resources.memory, gpus: resources.gpus }
    }
}
