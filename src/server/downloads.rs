//! Handing out files: as an attachment, in pieces, whatever their size.

use std::fs::File;
use std::io::Read as _;

use atelier_studio::caller::RequestInfo;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};

use crate::error::AppError;
use crate::server::plain_page;

/// How much is read at once.
const PIECE: usize = 128 << 10;

/// The id of a request, for pages that say that something went wrong.
pub fn request_id(request: &Request) -> String {
    request.extensions().get::<RequestInfo>().map(|info| info.id.clone()).unwrap_or_default()
}

/// Sends a file as an attachment; at most `most` bytes of it. What is added to it meanwhile is not sent.
pub fn file(file: File, name: &str, kind: &'static str, most: Option<u64>) -> Response {
    let length = file.metadata().map_or(0, |info| info.len());
    let length = most.map_or(length, |most| most.min(length));
    // Reading waits for the disk on a thread for as long as that takes, and for the browser on none.
    let pieces = futures::stream::try_unfold(file.take(length), |mut rest| async move {
        let read = tokio::task::spawn_blocking(move || {
            let mut piece = vec![0; PIECE];
            let count = rest.read(&mut piece)?;
            piece.truncate(count);
            Ok::<_, std::io::Error>((Bytes::from(piece), rest))
        });
        let (piece, rest) = read.await.map_err(std::io::Error::other)??;
        Ok::<_, std::io::Error>((!piece.is_empty()).then_some((piece, rest)))
    });
    let mut response = Body::from_stream(pieces).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if let Ok(value) = HeaderValue::from_str(&disposition(name)) {
        headers.insert(header::CONTENT_DISPOSITION, value);
    }
    response
}

/// Names the file in a way that every browser reads: plain letters first, then the true name.
pub fn disposition(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let plain: String = name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    let exact: String = name
        .bytes()
        .map(|byte| if is_plain(byte as char) { (byte as char).to_string() } else { format!("%{byte:02X}") })
        .collect();
    format!("attachment; filename=\"{plain}\"; filename*=UTF-8''{exact}")
}

/// The page in place of a file.
pub fn refused(error: &AppError, otherwise: StatusCode, request_id: &str) -> Response {
    let status = StatusCode::from_u16(error.status()).unwrap_or(otherwise);
    let title = if status == StatusCode::NOT_FOUND { "There is no such file" } else { "This cannot be shown" };
    plain_page::page(status, title, &error.to_string(), request_id)
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_stay_names() {
        assert_eq!(
            super::disposition("a\"b\r\né.txt"),
            "attachment; filename=\"a_b___.txt\"; filename*=UTF-8''a%22b%0D%0A%C3%A9.txt"
        );
    }
}
