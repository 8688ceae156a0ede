//! The chart of a person's last preview: an image, so that its styles don't mix with the page's.

use atelier_domain::access::Action;
use atelier_studio::caller::Caller;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};

use crate::error::AppError;
use crate::server::state::AppState;
use crate::server::{caller, downloads};

/// Nothing runs in a picture, and nothing is fetched by one.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'";

/// `GET /w/{workspace}/preview.svg`.
pub async fn show(State(state): State<AppState>, request: Request) -> Response {
    let request_id = downloads::request_id(&request);
    let (parts, _) = request.into_parts();
    let drawn = match caller::of(&state, &parts) {
        Ok(caller) => draw(&caller).await,
        Err(error) => Err(error),
    };
    let picture = match drawn {
        Ok(picture) => picture,
        Err(error) => return downloads::refused(&error, StatusCode::NOT_FOUND, &request_id),
    };
    let mut response = picture.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("image/svg+xml; charset=utf-8"));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    response
}

async fn draw(caller: &Caller) -> Result<String, AppError> {
    let actor = caller.authorise(Action::ClusterScale).await?;
    let last = caller.studio.previews().last(&actor.person.id);
    last.map(|report| report.svg()).ok_or_else(|| AppError::not_found("preview"))
}
