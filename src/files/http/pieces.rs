//! Uploads in pieces: begun, added to, asked how far they are, given up. A cut anywhere costs at most the
//! last piece.
//!
//! The portal's script and the API speak the same JSON; only who asks is told differently.

use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use atelier_files::{Error, Expect, NewUpload, Upload};
use atelier_studio::caller::Caller;
use atelier_studio::files::count::Meter;
use atelier_studio::files::desk::{Desk, Taken, Use, check_reserve, said};
use axum::body::Body;
use axum::extract::{Path as Places, Request, State};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse as _, Response};
use futures::StreamExt as _;
use serde::{Deserialize, Serialize};

use crate::error::AppError;
use crate::files::http::streams::{asked, parameter};
use crate::files::http::take;
use crate::server::state::AppState;

/// How long nothing may come.
const PATIENCE: Duration = Duration::from_secs(60);
/// So much is gathered before it is written.
const GATHERED: usize = 1 << 20;
/// The largest piece; larger files come in several.
pub const MOST_PIECE: u64 = 256 << 20;

/// What is going to come.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Begin {
    /// Where it is to go.
    path: String,
    /// How many bytes it has.
    size: u64,
    /// Whether a file of that name is replaced.
    #[serde(default)]
    replace: bool,
    /// The version that is replaced; if it is not that any more, the upload is refused.
    #[serde(default)]
    version: Option<String>,
}

/// How far an upload is.
#[derive(Debug, Serialize)]
pub struct UploadView {
    pub id: String,
    path: String,
    size: u64,
    /// How many bytes are there: the next piece begins there.
    offset: u64,
    /// Whether the file is in its place.
    is_done: bool,
}

impl UploadView {
    fn of(upload: Upload) -> Self {
        let Upload { id, path, size, offset, is_done } = upload;
        Self { id, path: path.as_str().to_owned(), size, offset, is_done }
    }
}

/// Begins an upload. An empty file is there at once.
pub async fn begin(caller: &Caller, new: Begin) -> Result<UploadView, AppError> {
    let desk = Desk::open(caller).await?;
    let path = Desk::path(&new.path)?;
    let folder = path.parent().ok_or_else(|| AppError::not_found("file or folder"))?;
    desk.check(caller, &path, Use::Write).await?;
    Desk::check_parent(&folder)?;
    // The name is new, even if the folders on the way are not.
    take::inside(&folder, path.name())?;
    desk.check_room(caller, new.size).await?;
    let expect = match (new.version, new.replace) {
        (Some(version), _) => Expect::Version(version),
        (None, true) => Expect::Anything,
        (None, false) => Expect::Nothing,
    };
    take::prepare(caller, &desk, &path, &expect).await?;
    let new = NewUpload { path, size: new.size, expect };
    let begun = desk.work(caller, Use::Write, move |area, who| area.begin_upload(who, &new)).await?;
    if begun.size == 0 {
        let taken = take_over(caller, &begun.id).await?;
        return finish(caller, &desk, begun, taken).await;
    }
    Ok(UploadView::of(begun))
}

/// Takes an upload for this request alone. It is given back when the last piece of work with it has ended,
/// also where the request itself is gone by then.
async fn take_over(caller: &Caller, id: &str) -> Result<Arc<Taken>, AppError> {
    let taken = caller.studio.files().take(id).await;
    taken.map(Arc::new).ok_or_else(|| said(caller, Error::Busy, Use::Write))
}

/// How far an upload is.
pub async fn look(caller: &Caller, id: String) -> Result<UploadView, AppError> {
    let desk = Desk::open(caller).await?;
    Ok(UploadView::of(standing(caller, &desk, &id).await?))
}

async fn standing(caller: &Caller, desk: &Desk, id: &str) -> Result<Upload, AppError> {
    let id = id.to_owned();
    desk.work(caller, Use::Read, move |area, who| area.upload(who, &id)).await
}

/// Adds a piece that begins at `offset`; the last one puts the file in its place. A piece that follows what
/// is there takes the place of an older request that still waits for its own: its client has gone on. What
/// that one has gathered and not written is dropped.
pub async fn add(caller: &Caller, id: String, offset: u64, body: Body) -> Result<UploadView, AppError> {
    let desk = Desk::open(caller).await?;
    // Nobody is disturbed for a piece that does not fit.
    let before = standing(caller, &desk, &id).await?;
    if !before.is_done && before.offset != offset {
        return Err(said(caller, Error::Offset { at: before.offset }, Use::Write));
    }
    let taken = take_over(caller, &id).await?;
    // Another request may have finished it in the meantime.
    let before = standing(caller, &desk, &id).await?;
    if before.is_done {
        return Ok(UploadView::of(before));
    }
    let wanted = id.clone();
    let opened = desk.work(caller, Use::Write, move |area, who| area.open_upload(who, &wanted, offset));
    let (mut file, mut upload) = opened.await?;
    desk.check(caller, &upload.path, Use::Write).await?;
    let mut meter = Meter::begin(caller, &desk).await?;
    let left = upload.size - upload.offset.min(upload.size);
    let mut pieces = body.into_data_stream();
    let mut gathered = Vec::new();
    let mut came = 0_u64;
    loop {
        // What came before a cut is kept: the client asks how far it is and goes on.
        let piece = tokio::select! {
            next = tokio::time::timeout(PATIENCE, pieces.next()) => match next {
                Ok(Some(Ok(piece))) => Some(piece),
                Ok(Some(Err(_)) | None) | Err(_) => None,
            },
            () = taken.wanted() => return Err(said(caller, Error::Busy, Use::Write)),
        };
        if let Some(piece) = &piece {
            came += piece.len() as u64;
            if came > left || came > MOST_PIECE {
                let message = format!(
                    "The upload has {} bytes; this piece goes beyond its end, or has more than {MOST_PIECE} bytes.",
                    upload.size
                );
                return Err(AppError::Refused { code: "files.piece".into(), message });
            }
            gathered.extend_from_slice(piece);
        }
        if gathered.len() >= GATHERED || (piece.is_none() && !gathered.is_empty()) {
            let bytes = std::mem::take(&mut gathered);
            let count = bytes.len() as u64;
            meter.check(caller, &desk, count).await?;
            let held = taken.clone();
            let written = desk.work(caller, Use::Write, move |area, _| {
                let _held = held;
                check_reserve(area, bytes.len())?;
                file.write_all(&bytes)
                    .map_err(|error| rustix::io::Errno::from_io_error(&error).map_or(Error::Io(error), Error::from))?;
                let mut bytes = bytes;
                bytes.clear();
                Ok((file, bytes))
            });
            (file, gathered) = match written.await {
                Ok(written) => written,
                Err(AppError::Refused { code, .. }) if code == "disk-full" => {
                    return Err(desk.no_room(caller, left).await);
                }
                Err(error) => return Err(error),
            };
            // What is written stays until it is given up, whatever becomes of this request.
            meter.add(count);
            meter.keep();
        }
        if piece.is_none() {
            break;
        }
    }
    drop(file);
    upload = standing(caller, &desk, &id).await?;
    if upload.offset == upload.size { finish(caller, &desk, upload, taken).await } else { Ok(UploadView::of(upload)) }
}

async fn finish(caller: &Caller, desk: &Desk, upload: Upload, taken: Arc<Taken>) -> Result<UploadView, AppError> {
    let id = upload.id.clone();
    desk.work(caller, Use::Write, move |area, who| {
        let _held = taken;
        area.finish_upload(who, &id)
    })
    .await?;
    Ok(UploadView::of(Upload { is_done: true, ..upload }))
}

/// Gives an upload up.
pub async fn abandon(caller: &Caller, id: String) -> Result<(), AppError> {
    let desk = Desk::open(caller).await?;
    // Checked first, so that a request without such an upload disturbs no one.
    standing(caller, &desk, &id).await?;
    let taken = take_over(caller, &id).await?;
    let upload = standing(caller, &desk, &id).await?;
    desk.work(caller, Use::Write, move |area, who| {
        let _held = taken;
        area.abandon_upload(who, &id)
    })
    .await?;
    if !upload.is_done {
        caller.studio.files().counted.take_back(&desk.who.handle, upload.offset);
    }
    Ok(())
}

/// `POST …/files/uploads`, for the portal's script.
pub async fn portal_begin(State(state): State<AppState>, request: Request) -> Response {
    let (caller, _, body) = asked(state, request);
    answer(async {
        let text = axum::body::to_bytes(body, 16 << 10).await;
        let unreadable = |message: String| AppError::Transport { message };
        let text = text.map_err(|error| unreadable(error.to_string()))?;
        let new = serde_json::from_slice(&text).map_err(|error| unreadable(error.to_string()))?;
        begin(&caller?, new).await
    })
    .await
}

/// `GET`, `PUT ?offset=…` and `DELETE …/files/uploads/{id}`, for the portal's script.
pub async fn portal_piece(
    State(state): State<AppState>,
    Places((_, id)): Places<(String, String)>,
    request: Request,
) -> Response {
    let (caller, parts, body) = asked(state, request);
    let caller = match caller {
        Ok(caller) => caller,
        Err(error) => return answer(async { Err(error) }).await,
    };
    match parts.method {
        Method::PUT => {
            answer(async {
                let offset = parameter(&parts, "offset").parse();
                let offset = offset.map_err(|_| AppError::Transport { message: "the offset is no number".into() })?;
                add(&caller, id, offset, body).await
            })
            .await
        }
        Method::DELETE => match abandon(&caller, id).await {
            Ok(()) => StatusCode::NO_CONTENT.into_response(),
            Err(error) => answer(async { Err(error) }).await,
        },
        _ => answer(look(&caller, id)).await,
    }
}

async fn answer(done: impl Future<Output = Result<UploadView, AppError>>) -> Response {
    match done.await {
        Ok(view) => axum::Json(view).into_response(),
        Err(error) => {
            let status = StatusCode::from_u16(error.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            let words = error.to_string();
            (status, axum::Json(serde_json::json!({ "message": words, "error": error }))).into_response()
        }
    }
}
