//! Refusals of the API: `application/problem+json` (RFC 9457) with a stable code and the problem of each
//! field.

use atelier_domain::text::Problem;
use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::error::AppError;

/// What the type of a problem begins with; its code follows. `docs/api.md` explains them.
const TYPES: &str = "urn:atelier:problem:";

/// Why a request was not carried out.
#[derive(Clone, Debug)]
pub struct Refusal {
    status: StatusCode,
    code: String,
    detail: String,
    problems: Vec<Problem>,
    retry_after: Option<u32>,
}

/// The answer of a request.
pub type Answered<T = Response> = Result<T, Refusal>;

#[derive(Serialize)]
struct Written<'a> {
    r#type: String,
    title: &'a str,
    status: u16,
    detail: &'a str,
    code: &'a str,
    #[serde(skip_serializing_if = "<[Problem]>::is_empty")]
    problems: &'a [Problem],
    request: &'a str,
}

impl Refusal {
    /// With that status and code.
    pub fn new(status: StatusCode, code: &str, detail: impl Into<String>) -> Self {
        Self { status, code: code.into(), detail: detail.into(), problems: Vec::new(), retry_after: None }
    }

    /// Something about the fields is wrong.
    pub fn invalid(problems: Vec<Problem>) -> Self {
        AppError::Invalid { problems }.into()
    }

    /// One field is wrong.
    pub fn field(field: &str, message: impl Into<String>) -> Self {
        Self::invalid(vec![Problem::new(field, message)])
    }

    /// There is no such thing, or it is not for the caller to know.
    pub fn not_found(what: &str) -> Self {
        AppError::not_found(what).into()
    }

    /// Worth trying again after so many seconds.
    #[must_use]
    pub const fn retry_after(mut self, seconds: u32) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    /// The whole answer, with the id of its request.
    pub fn written(&self, request: &str) -> Response {
        let body = Written {
            r#type: format!("{TYPES}{}", self.code),
            title: self.title(),
            status: self.status.as_u16(),
            detail: &self.detail,
            code: &self.code,
            problems: &self.problems,
            request,
        };
        let text = serde_json::to_vec(&body).unwrap_or_default();
        let mut response = Response::new(Body::from(text));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if self.status == StatusCode::UNAUTHORIZED {
            let challenge = match self.code.as_str() {
                "token.missing" => "Bearer realm=\"Atelier\"",
                _ => "Bearer realm=\"Atelier\", error=\"invalid_token\"",
            };
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
        }
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }

    fn title(&self) -> &'static str {
        match self.status.as_u16() {
            401 => "No valid token",
            403 => "The right is missing",
            404 => "Not found",
            405 => "No such method here",
            408 => "The request took too long to arrive",
            409 => "Not possible as things are",
            413 => "The request is too large",
            415 => "The body must be of another kind",
            422 => "Something about the request is wrong",
            429 => "Too much at once",
            503 => "Not available right now",
            507 => "The disk is full",
            _ => "The server could not finish this",
        }
    }
}

impl From<AppError> for Refusal {
    fn from(error: AppError) -> Self {
        let status = StatusCode::from_u16(error.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let detail = error.to_string();
        match error {
            AppError::SignedOut => Self::new(status, "token.unknown", detail),
            AppError::Forbidden { denied, .. } => {
                Self::new(status, "right.missing", detail).with(vec![Problem::new("right", denied.action.key())])
            }
            AppError::NotFound { .. } => Self::new(status, "not-found", detail),
            AppError::Invalid { problems } => Self::new(status, "invalid", detail).with(problems),
            AppError::Refused { code, .. } => match code.as_str() {
                "engine.unavailable" => Self::new(StatusCode::SERVICE_UNAVAILABLE, &code, detail).retry_after(1),
                "disk-full" => Self::new(StatusCode::INSUFFICIENT_STORAGE, &code, detail).retry_after(60),
                "too-many-jobs" => Self::new(StatusCode::TOO_MANY_REQUESTS, &code, detail).retry_after(10),
                "workload.not-allowed" | "workload.own-things-only" => Self::new(StatusCode::FORBIDDEN, &code, detail),
                _ => Self::new(status, &code, detail),
            },
            AppError::TooMany { retry_after_secs, .. } => {
                Self::new(status, "too-many", detail).retry_after(retry_after_secs)
            }
            AppError::Unavailable { retry_after_secs, .. } => {
                Self::new(status, "database.unavailable", detail).retry_after(retry_after_secs)
            }
            AppError::Internal { .. } => Self::new(status, "internal", detail),
            AppError::Transport { .. } => Self::new(status, "not-understood", detail),
        }
    }
}

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Self {
        AppError::from(problem).into()
    }
}

impl Refusal {
    fn with(mut self, problems: Vec<Problem>) -> Self {
        self.problems = problems;
        self
    }
}

impl IntoResponse for Refusal {
    /// Left for the guard to write, who knows the request's id.
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = self.status;
        response.extensions_mut().insert(self);
        response
    }
}
