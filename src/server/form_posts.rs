//! Plain form posts to server functions: the one place that turns their answers into the next page.
//!
//! A server function answers with [`Done`] or [`AppError`] and knows nothing of pages. For a script that is
//! JSON with a fitting status. For a plain form this layer sends the browser to the next page with a toast,
//! or back to the form with what was typed (secrets left out) and the problem beside its field. Leptos would
//! put the error into the address instead and lose what was typed. What a function answers that is asked by
//! GET, which changes nothing, passes as it is.

use std::collections::BTreeMap;
use std::time::Duration;

use atelier_domain::paths;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Redirect, Response};

use crate::done::Done;
use crate::error::AppError;
use crate::form::{Flash, OneTimeSecret};
use crate::server::downloads::request_id;
use crate::server::request::cookie_name;
use crate::server::state::AppState;
use crate::server::{flash, guard, local_path, plain_page};

/// Forms are small; files go another way, in pieces.
pub const MAX_FORM: usize = 64 * 1024;

/// How long a form may take to arrive.
const PATIENCE: Duration = Duration::from_secs(20);

/// What is kept of a refused form: forms of ours have fewer fields, and none is longer than a whole list of
/// packages.
const MOST_KEPT: (usize, usize) = (64, 48_000);

/// Fields that are never shown again.
const SECRETS: &[&str] = &["password", "current"];

/// Carries a server function's answer to a page or to a script.
pub async fn translate(State(state): State<AppState>, request: Request, next: Next) -> Response {
    if !paths::is_function(request.uri().path()) {
        return next.run(request).await;
    }
    let function = request.uri().path()[paths::FUNCTIONS.len()..].trim_start_matches('/').to_owned();
    let is_question = *request.method() == Method::GET;
    let is_form = header_text(&request, header::ACCEPT).is_some_and(|accept| accept.contains("text/html"));
    let back = header_text(&request, header::REFERER).and_then(local_path::from_referer).unwrap_or_else(|| "/".into());
    let id = request_id(&request);

    let (mut parts, body) = request.into_parts();
    // A body that trickles in holds a connection; a form is a packet or two.
    let Ok(read) = tokio::time::timeout(PATIENCE, to_bytes(body, MAX_FORM)).await else {
        return StatusCode::REQUEST_TIMEOUT.into_response();
    };
    let Ok(body) = read else {
        return too_large(is_form, &id);
    };
    let typed = if is_form { typed_values(&body) } else { BTreeMap::new() };
    // The function itself always answers as to a script.
    parts.headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
    let response = next.run(Request::from_parts(parts, Body::from(body))).await;
    let (mut head, body) = response.into_parts();
    let body = to_bytes(body, 1024 * 1024).await.unwrap_or_default();
    if is_question && head.status.is_success() {
        return Response::from_parts(head, Body::from(body));
    }

    let answer = if head.status.is_success() {
        serde_json::from_slice::<Done>(&body).map_err(|_| AppError::Internal { request: id.clone() })
    } else {
        Err(serde_json::from_slice::<AppError>(&body)
            .unwrap_or_else(|_| AppError::Transport { message: format!("status {}", head.status) }))
    };
    if !is_form {
        if let Err(error) = &answer {
            head.status = StatusCode::from_u16(error.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            return with_cookies(&head.headers, (head.status, axum::Json(error.clone())).into_response());
        }
        return Response::from_parts(head, Body::from(body));
    }
    let (target, flash) = match answer {
        Ok(done) => {
            let target = local_path::parse(&done.next).unwrap_or(back);
            let secret =
                (!done.secret.is_empty()).then_some(OneTimeSecret { label: done.secret_label, value: done.secret });
            let toast = (!done.message.is_empty()).then_some(done.message);
            (target, Flash { form: function, toast, secret, ..Flash::default() })
        }
        Err(AppError::SignedOut) => return Redirect::to(&guard::sign_in_with_return(&back)).into_response(),
        Err(AppError::Invalid { problems }) => {
            (back, Flash { form: function, values: typed, problems, ..Flash::default() })
        }
        Err(error) => {
            (back, Flash { form: function, values: typed, refusal: Some(error.to_string()), ..Flash::default() })
        }
    };
    with_cookies(&head.headers, redirect(&state, &target, flash))
}

/// Sends the browser to a page with what is shown there once.
pub fn redirect(state: &AppState, target: &str, flash: Flash) -> Response {
    let mut response = Redirect::to(target).into_response();
    if flash != (Flash { form: flash.form.clone(), ..Flash::default() }) {
        let key = state.flashes().keep(target, flash, atelier_engine::clock::now());
        let secure = if state.config().is_secure() { "; Secure" } else { "" };
        let cookie = format!(
            "{}={key}; Path=/; Max-Age=600; HttpOnly; SameSite=Lax{secure}",
            cookie_name(flash::COOKIE, state.config().is_secure())
        );
        if let Ok(value) = HeaderValue::from_str(&cookie) {
            response.headers_mut().append(header::SET_COOKIE, value);
        }
    }
    response
}

fn header_text(request: &Request, name: header::HeaderName) -> Option<&str> {
    request.headers().get(name).and_then(|value| value.to_str().ok())
}

/// Keeps the cookies that a function set.
fn with_cookies(from: &axum::http::HeaderMap, mut response: Response) -> Response {
    for cookie in from.get_all(header::SET_COOKIE) {
        response.headers_mut().append(header::SET_COOKIE, cookie.clone());
    }
    response
}

/// What was typed, by field, without secrets. `roles[]` and `roles` are the same field.
fn typed_values(body: &[u8]) -> BTreeMap<String, Vec<String>> {
    let mut values: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let (most_fields, most_characters) = MOST_KEPT;
    for (key, value) in url::form_urlencoded::parse(body).take(most_fields) {
        let key = key.trim_end_matches("[]");
        // Somebody who pastes a private key by mistake gets it neither kept nor shown.
        let is_secret = SECRETS.contains(&key) || value.contains("PRIVATE KEY");
        if !is_secret && key.len() < 40 {
            values.entry(key.to_owned()).or_default().push(value.chars().take(most_characters).collect());
        }
    }
    values
}

fn too_large(is_form: bool, id: &str) -> Response {
    if is_form {
        let text = format!(
            "A form may send at most {} kB. Nothing was changed. Go back and shorten what you typed.",
            MAX_FORM / 1024
        );
        return plain_page::page(StatusCode::PAYLOAD_TOO_LARGE, "That is too much for a form", &text, id);
    }
    let error = AppError::Transport { message: format!("the body has more than {MAX_FORM} bytes") };
    (StatusCode::PAYLOAD_TOO_LARGE, axum::Json(error)).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_never_kept() {
        let values = typed_values(
            b"email=a%40b.c&key=BEGIN+PRIVATE+KEY&password=hush&current=old&roles%5B%5D=owner&roles%5B%5D=reader",
        );
        assert_eq!(values.get("email"), Some(&vec!["a@b.c".to_owned()]));
        assert_eq!(values.get("roles"), Some(&vec!["owner".to_owned(), "reader".to_owned()]));
        assert!(!["password", "current", "key"].iter().any(|field| values.contains_key(*field)));
    }

    #[test]
    fn what_is_kept_of_a_form_is_bounded() {
        let flood: String = (0..5_000).map(|i| format!("k{i}=v&")).collect();
        assert!(typed_values(flood.as_bytes()).len() <= MOST_KEPT.0);
        let long = format!("name={}", "x".repeat(60_000));
        assert_eq!(typed_values(long.as_bytes())["name"][0].len(), MOST_KEPT.1);
    }
}
