//! Handing out files. A file is always an attachment of no particular kind, so that no browser runs anything
//! of it on the portal's own address; only pictures, told by their bytes, are shown, and even those in a box
//! without rights.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};

use atelier_domain::files::FilePath;
use atelier_files::Entry;
use atelier_studio::caller::Caller;
use atelier_studio::files::desk::{Desk, Use, said};
use atelier_studio::files::notebook;
use atelier_studio::files::preview::{MOST_IMAGE, MOST_NOTEBOOK, image_kind};
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};

use crate::error::AppError;
use crate::files::http::streams::{asked, parameter};
use crate::server::downloads::{disposition, refused, request_id};
use crate::server::state::AppState;

/// How much is read at once.
const PIECE: usize = 256 << 10;
/// The policy of whatever comes out of Files: nothing in it may do anything.
const BOXED: &str = "sandbox; default-src 'none'; frame-ancestors 'none'";

/// `GET …/files/download?path=…`
pub async fn file(State(state): State<AppState>, request: Request) -> Response {
    let id = request_id(&request);
    let (caller, parts, _) = asked(state, request);
    let found = async {
        let caller = caller?;
        let (file, entry) = open(&caller, &parameter(&parts, "path")).await?;
        Ok::<_, AppError>(send(file, &entry, &parts.headers))
    };
    found.await.unwrap_or_else(|error| refused(&error, StatusCode::NOT_FOUND, &id))
}

/// Opens a file as the caller.
pub async fn open(caller: &Caller, path: &str) -> Result<(File, Entry), AppError> {
    let desk = Desk::open(caller).await?;
    let path = Desk::path(path)?;
    desk.check(caller, &path, Use::Read).await?;
    desk.work(caller, Use::Read, move |area, who| area.read(who, &path)).await
}

/// Sends a file, or the part that is asked for.
pub fn send(mut file: File, entry: &Entry, asked: &HeaderMap) -> Response {
    let tag = format!("\"{}\"", entry.version);
    let text = |name: header::HeaderName| asked.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let is_known = text(header::IF_NONE_MATCH).split(',').any(|known| known.trim() == tag || known.trim() == "*");
    let is_same = matches!(text(header::IF_RANGE), "") || text(header::IF_RANGE) == tag;
    let (status, start, length) = if is_known {
        (StatusCode::NOT_MODIFIED, 0, 0)
    } else {
        match part(text(header::RANGE), entry.size).filter(|_| is_same) {
            None => (StatusCode::OK, 0, entry.size),
            Some(Some((start, end))) => (StatusCode::PARTIAL_CONTENT, start, end - start + 1),
            Some(None) => (StatusCode::RANGE_NOT_SATISFIABLE, 0, 0),
        }
    };
    if start > 0 && file.seek(SeekFrom::Start(start)).is_err() {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    }
    let body = if length > 0 { Body::from_stream(pieces(file, length)) } else { Body::empty() };
    let mut response = body.into_response();
    *response.status_mut() = status;
    let headers = response.headers_mut();
    let mut set = |name: header::HeaderName, value: &str| {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(name, value);
        }
    };
    set(header::ETAG, &tag);
    set(header::ACCEPT_RANGES, "bytes");
    set(header::CACHE_CONTROL, "private, no-cache");
    set(header::CONTENT_TYPE, "application/octet-stream");
    set(header::CONTENT_SECURITY_POLICY, BOXED);
    set(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(header::CONTENT_DISPOSITION, &disposition(&entry.name));
    match status {
        StatusCode::PARTIAL_CONTENT => {
            set(header::CONTENT_RANGE, &format!("bytes {start}-{}/{}", start + length - 1, entry.size));
        }
        StatusCode::RANGE_NOT_SATISFIABLE => set(header::CONTENT_RANGE, &format!("bytes */{}", entry.size)),
        _ => {}
    }
    if status != StatusCode::NOT_MODIFIED {
        set(header::CONTENT_LENGTH, &length.to_string());
    }
    response
}

/// The part that a `Range` asks for: none if it asks for all, or in a way that is not served in parts;
/// `Some(None)` if there is no such part.
#[expect(clippy::option_option, reason = "nothing asked for and nothing there are two answers")]
fn part(range: &str, size: u64) -> Option<Option<(u64, u64)>> {
    let asked = range.strip_prefix("bytes=").filter(|asked| !asked.contains(','))?;
    let (from, to) = asked.split_once('-')?;
    let (from, to) = (from.trim(), to.trim());
    let last = size.checked_sub(1);
    if from.is_empty() {
        let count: u64 = to.parse().ok()?;
        return Some(last.filter(|_| count > 0).map(|last| (size.saturating_sub(count), last)));
    }
    let start: u64 = from.parse().ok()?;
    let end: u64 = if to.is_empty() { u64::MAX } else { to.parse().ok()? };
    if end < start {
        return None;
    }
    Some(last.filter(|last| start <= *last).map(|last| (start, end.min(last))))
}

/// A file in pieces. The next is read while the last is on its way, and no thread waits for a slow browser.
fn pieces(file: File, length: u64) -> impl futures::Stream<Item = std::io::Result<Bytes>> {
    let read = |mut rest: std::io::Take<File>| {
        tokio::task::spawn_blocking(move || {
            let mut piece = Vec::with_capacity(PIECE.min(usize::try_from(rest.limit()).unwrap_or(PIECE)));
            (&mut rest).take(PIECE as u64).read_to_end(&mut piece)?;
            Ok::<_, std::io::Error>((Bytes::from(piece), rest))
        })
    };
    futures::stream::try_unfold(read(file.take(length)), move |coming| async move {
        let (piece, rest) = coming.await.map_err(std::io::Error::other)??;
        if piece.is_empty() {
            // The file is shorter than it was: a body that ends early is noticed, one that is filled up is
            // not.
            return if rest.limit() > 0 { Err(std::io::ErrorKind::UnexpectedEof.into()) } else { Ok(None) };
        }
        Ok(Some((piece, read(rest))))
    })
}

/// `GET …/files/zip?path=…`
pub async fn zip(State(state): State<AppState>, request: Request) -> Response {
    let id = request_id(&request);
    let (caller, parts, _) = asked(state, request);
    let found = async { archive(&caller?, &parameter(&parts, "path")).await };
    found.await.unwrap_or_else(|error| refused(&error, StatusCode::NOT_FOUND, &id))
}

/// A folder as one archive.
pub async fn archive(caller: &Caller, path: &str) -> Result<Response, AppError> {
    let desk = Desk::open(caller).await?;
    let path = Desk::path(path)?;
    desk.check(caller, &path, Use::Read).await?;
    let name = if path.is_top() { "Files.zip".to_owned() } else { format!("{}.zip", path.name()) };
    // Without users of their own the disk does not keep people's folders apart, so what holds several is not
    // packed.
    if !desk.has_own_users && (path.is_top() || path.is_users()) {
        return Err(AppError::Refused {
            code: "files.too-much".into(),
            message: "This folder holds everybody’s own. Download the folders in it one by one.".into(),
        });
    }
    let zip = desk.work(caller, Use::Read, move |area, who| area.zip(who, &path)).await?;
    let stream = futures::stream::try_unfold(zip, |mut zip| async move {
        let made = tokio::task::spawn_blocking(move || zip.next_piece().map(|piece| (piece, zip)));
        let (piece, zip) = made.await.map_err(std::io::Error::other)?.map_err(std::io::Error::other)?;
        Ok::<_, std::io::Error>(piece.map(|piece| (Bytes::from(piece), zip)))
    });
    let mut response = Body::from_stream(stream).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/zip"));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(BOXED));
    if let Ok(value) = HeaderValue::from_str(&disposition(&name)) {
        headers.insert(header::CONTENT_DISPOSITION, value);
    }
    Ok(response)
}

/// `GET …/files/image?path=…`: a picture for a page.
pub async fn image(State(state): State<AppState>, request: Request) -> Response {
    let id = request_id(&request);
    let (caller, parts, _) = asked(state, request);
    let found = async {
        let caller = caller?;
        let (mut file, entry) = open(&caller, &parameter(&parts, "path")).await?;
        let mut start = [0; 16];
        let read = file.read(&mut start).and_then(|count| file.rewind().map(|()| count));
        let count = caller.checked(read)?;
        let kind = image_kind(&start[..count]).filter(|_| entry.size <= MOST_IMAGE);
        let kind = kind.ok_or_else(|| AppError::not_found("picture"))?;
        Ok::<_, AppError>(shown(send(file, &entry, &parts.headers), kind))
    };
    found.await.unwrap_or_else(|error| refused(&error, StatusCode::NOT_FOUND, &id))
}

/// `GET …/files/notebook-image?path=…&cell=…&output=…`: a picture in a notebook.
pub async fn notebook_image(State(state): State<AppState>, request: Request) -> Response {
    let id = request_id(&request);
    let (caller, parts, _) = asked(state, request);
    let found = async {
        let caller = caller?;
        let nothing = || AppError::not_found("picture");
        let number = |name: &str| parameter(&parts, name).parse::<usize>().map_err(|_| nothing());
        let (cell, output) = (number("cell")?, number("output")?);
        let path = parameter(&parts, "path");
        let (file, entry) = open(&caller, &path).await?;
        if entry.size > MOST_NOTEBOOK || FilePath::parse(&path).is_ok_and(|path| path.ending() != "ipynb") {
            return Err(nothing());
        }
        let _turn = caller.checked(notebook::TURNS.acquire().await)?;
        let read = tokio::task::spawn_blocking(move || {
            let mut bytes = Vec::new();
            file.take(MOST_NOTEBOOK).read_to_end(&mut bytes)?;
            Ok::<_, std::io::Error>(notebook::image(&bytes, cell, output))
        });
        let found = caller.checked(read.await)?.map_err(|error| said(&caller, error.into(), Use::Read))?;
        let (kind, bytes) = found.ok_or_else(nothing)?;
        Ok::<_, AppError>(shown(Body::from(bytes).into_response(), kind))
    };
    found.await.unwrap_or_else(|error| refused(&error, StatusCode::NOT_FOUND, &id))
}

/// The same answer, as a picture in a page.
fn shown(mut response: Response, kind: &'static str) -> Response {
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CONTENT_DISPOSITION, HeaderValue::from_static("inline"));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(BOXED));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

#[cfg(test)]
mod tests {
    use super::part;

    #[test]
    fn parts_are_those_that_there_are() {
        for (range, size, wanted) in [
            ("", 10, None),
            ("bytes=0-", 10, Some(Some((0, 9)))),
            ("bytes=2-4", 10, Some(Some((2, 4)))),
            ("bytes=8-99", 10, Some(Some((8, 9)))),
            ("bytes=-3", 10, Some(Some((7, 9)))),
            ("bytes=-99", 10, Some(Some((0, 9)))),
            ("bytes=10-", 10, Some(None)),
            ("bytes=-0", 10, Some(None)),
            ("bytes=0-", 0, Some(None)),
            ("bytes=5-2", 10, None),
            ("bytes=0-1,4-5", 10, None),
            ("lines=0-1", 10, None),
            ("bytes=x-1", 10, None),
        ] {
            assert_eq!(part(range, size), wanted, "{range} of {size}");
        }
    }
}
