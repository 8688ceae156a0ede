//! Taking files in: many of one form, each written as it comes, and each there whole or not at all.

use std::time::Duration;

use atelier_domain::files::{FilePath, check_new_name};
use atelier_domain::paths;
use atelier_domain::text::{Problem, counted, shortened};
use atelier_files::{Entry, Expect, Staged};
use atelier_studio::caller::Caller;
use atelier_studio::files::count::Meter;
use atelier_studio::files::desk::{Desk, Use, check_reserve};
use axum::body::{Body, BodyDataStream, Bytes};
use axum::extract::multipart::{Field, Multipart};
use axum::extract::{FromRequest as _, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Redirect, Response};
use futures::StreamExt as _;

use crate::error::AppError;
use crate::files::http::streams::{asked, parameter};
use crate::form::Flash;
use crate::server::state::AppState;
use crate::server::{downloads, form_posts, guard};

/// The name under which the page finds the flash.
pub const FORM: &str = "upload_files";
/// How long nothing may come.
const PATIENCE: Duration = Duration::from_secs(60);
/// So much is gathered before it is written.
const GATHERED: usize = 1 << 20;
/// The most files of one form.
const MOST_FILES: usize = 2_000;

/// `POST …/files/upload?path=…`, as `multipart/form-data`.
pub async fn form(State(state): State<AppState>, request: Request) -> Response {
    let id = downloads::request_id(&request);
    let (caller, parts, body) = asked(state.clone(), request);
    let caller = match caller {
        Ok(caller) => caller,
        Err(error) => return downloads::refused(&error, StatusCode::NOT_FOUND, &id),
    };
    let Ok(actor) = caller.actor() else {
        return Redirect::to(&guard::sign_in_with_return("")).into_response();
    };
    let (slug, path) = (actor.workspace.slug.clone(), parameter(&parts, "path"));
    let back = paths::files(&slug, FilePath::parse(&path).unwrap_or_default().as_str());
    let flash = match receive(&caller, &path, Request::from_parts(parts, body), &state).await {
        Ok(toast) => Flash { toast: Some(toast), ..Flash::default() },
        Err(AppError::SignedOut) => return Redirect::to(&guard::sign_in_with_return(&back)).into_response(),
        Err(AppError::Invalid { problems }) => Flash { form: FORM.into(), problems, ..Flash::default() },
        Err(error) => Flash { form: FORM.into(), refusal: Some(error.to_string()), ..Flash::default() },
    };
    form_posts::redirect(&state, &back, flash)
}

async fn receive(caller: &Caller, path: &str, request: Request, state: &AppState) -> Result<String, AppError> {
    let desk = Desk::open(caller).await?;
    let folder = Desk::path(path)?;
    desk.check(caller, &folder, Use::Write).await?;
    Desk::check_parent(&folder)?;
    desk.check_room(caller, 0).await?;
    let unreadable = |message: String| AppError::Transport { message };
    let mut multipart = Multipart::from_request(request, state).await.map_err(|error| unreadable(error.body_text()))?;
    let (mut replaces, mut taken) = (false, Vec::new());
    loop {
        let next = tokio::time::timeout(PATIENCE, multipart.next_field()).await;
        let next = next.map_err(|_| late())?.map_err(|error| unreadable(error.body_text()));
        let field = match next {
            Ok(Some(field)) => field,
            Ok(None) => break,
            // What came whole before is there and stays.
            Err(error) => return Err(with_count(error, taken.len())),
        };
        let name = match field.file_name().map(ToOwned::to_owned) {
            None => {
                if field.name() == Some("replace") {
                    replaces = true;
                }
                continue;
            }
            Some(name) if name.is_empty() => continue,
            Some(name) => name,
        };
        if taken.len() == MOST_FILES {
            let message = format!("One form takes {MOST_FILES} files; this has more. Those before are there.");
            return Err(Problem::new("files", message).into());
        }
        let made = one(caller, &desk, &folder, &name, replaces, field).await;
        taken.push(made.map_err(|error| with_count(error, taken.len()))?.name);
    }
    match taken.as_slice() {
        [] => Err(Problem::new("files", "Choose at least one file.").into()),
        [only] => Ok(format!("“{}” was uploaded.", shortened(only))),
        many => Ok(format!("{} were uploaded.", counted(many.len() as u64, "file", "files"))),
    }
}

/// What went wrong, with what is there all the same.
fn with_count(error: AppError, count: usize) -> AppError {
    if count == 0 {
        return error;
    }
    let before = counted(count as u64, "file before it is there.", "files before it are there.");
    match error {
        AppError::Invalid { mut problems } => {
            if let Some(last) = problems.last_mut() {
                last.message = format!("{} The {before}", last.message);
            }
            AppError::Invalid { problems }
        }
        AppError::Refused { code, message } => AppError::Refused { code, message: format!("{message} The {before}") },
        other => other,
    }
}

/// Takes one file of a form. Folders in its name are made.
async fn one(
    caller: &Caller,
    desk: &Desk,
    folder: &FilePath,
    name: &str,
    replaces: bool,
    mut field: Field<'_>,
) -> Result<Entry, AppError> {
    let path = inside(folder, name)?;
    // The name may lead into folders of which nothing was asked yet.
    desk.check(caller, &path, Use::Write).await?;
    Desk::check_parent(&path.parent().unwrap_or_default())?;
    let expect = if replaces { Expect::Anything } else { Expect::Nothing };
    prepare(caller, desk, &path, &expect).await.map_err(|error| about(&path, error))?;
    let mut writer = Writer::begin(caller, desk, path).await?;
    loop {
        let next = tokio::time::timeout(PATIENCE, field.chunk()).await.map_err(|_| late())?;
        let piece = next.map_err(|error| AppError::Transport { message: error.body_text() })?;
        let Some(piece) = piece else { break };
        writer.add(caller, piece).await?;
    }
    let path = writer.path.clone();
    writer.place(caller, expect).await.map_err(|error| about(&path, error))
}

/// The same refusal, with the name of the file that it is about.
fn about(path: &FilePath, error: AppError) -> AppError {
    match error {
        AppError::Refused { code, .. } if code == "files.exists" => AppError::Refused {
            code,
            message: format!(
                "“{}” is there already. Tick “Replace files of the same name”, or rename it first.",
                shortened(path.name())
            ),
        },
        other => other,
    }
}

/// Where a file of that name goes: browsers send a folder's files with their folders.
pub fn inside(folder: &FilePath, name: &str) -> Result<FilePath, AppError> {
    let mut path = folder.clone();
    for part in name.replace('\\', "/").split('/').filter(|part| !part.is_empty()) {
        check_new_name(part).map_err(|problem| Problem::new("files", problem.message))?;
        path = path.join(part).map_err(|problem| Problem::new("files", problem.message))?;
    }
    if path == *folder {
        return Err(Problem::new("files", "A file has no name.").into());
    }
    Ok(path)
}

/// Makes the folders of a file, and says whether it could be put there before anything is sent.
pub async fn prepare(caller: &Caller, desk: &Desk, path: &FilePath, expect: &Expect) -> Result<(), AppError> {
    let (path, expect) = (path.clone(), expect.clone());
    desk.work(caller, Use::Write, move |area, who| {
        if let Some(parent) = path.parent() {
            area.make_folders(who, &parent)?;
        }
        area.could_place(who, &path, &expect)
    })
    .await
}

fn late() -> AppError {
    let message =
        format!("nothing came for {} s, so the upload was given up; nothing of this file was kept", PATIENCE.as_secs());
    AppError::Transport { message }
}

/// A file that is being written. Threads wait for the disk and for nothing else.
pub struct Writer {
    desk: Desk,
    path: FilePath,
    staged: Option<Staged>,
    gathered: Vec<u8>,
    /// How many bytes are on the disk.
    written: u64,
    meter: Meter,
}

impl Writer {
    pub async fn begin(caller: &Caller, desk: &Desk, path: FilePath) -> Result<Self, AppError> {
        let meter = Meter::begin(caller, desk).await?;
        let staged = desk.work(caller, Use::Write, |area, who| area.stage(who)).await?;
        Ok(Self { desk: desk.clone(), path, staged: Some(staged), gathered: Vec::new(), written: 0, meter })
    }

    pub async fn add(&mut self, caller: &Caller, piece: Bytes) -> Result<(), AppError> {
        self.gathered.extend_from_slice(&piece);
        if self.gathered.len() >= GATHERED { self.write(caller).await } else { Ok(()) }
    }

    async fn write(&mut self, caller: &Caller) -> Result<(), AppError> {
        let Some(mut staged) = self.staged.take() else { return Ok(()) };
        let gathered = std::mem::take(&mut self.gathered);
        let count = gathered.len() as u64;
        self.meter.check(caller, &self.desk, count).await?;
        let written = self.desk.work(caller, Use::Write, move |area, _| {
            check_reserve(area, gathered.len())?;
            staged.write(&gathered)?;
            let mut gathered = gathered;
            gathered.clear();
            Ok((staged, gathered))
        });
        match written.await {
            Ok((staged, gathered)) => {
                self.staged = Some(staged);
                self.gathered = gathered;
                self.written += count;
                self.meter.add(count);
                Ok(())
            }
            Err(AppError::Refused { code, .. }) if code == "disk-full" => {
                Err(self.desk.no_room(caller, self.written + count).await)
            }
            Err(error) => Err(error),
        }
    }

    /// Puts it in its place.
    pub async fn place(mut self, caller: &Caller, expect: Expect) -> Result<Entry, AppError> {
        self.write(caller).await?;
        let staged = self.staged.take().ok_or_else(|| AppError::Internal { request: caller.request.id.clone() })?;
        let path = self.path.clone();
        let placed = self.desk.work(caller, Use::Write, move |area, _| area.place(staged, &path, &expect)).await?;
        self.meter.keep();
        Ok(placed)
    }
}

/// Writes a whole body to a file, for the API.
pub async fn body(caller: &Caller, desk: &Desk, path: FilePath, expect: Expect, body: Body) -> Result<Entry, AppError> {
    let mut writer = Writer::begin(caller, desk, path).await?;
    let mut pieces: BodyDataStream = body.into_data_stream();
    loop {
        let next = tokio::time::timeout(PATIENCE, pieces.next()).await.map_err(|_| late())?;
        let Some(piece) = next else { break };
        let cut = |_| AppError::Transport { message: "the body ended early; nothing was written".into() };
        writer.add(caller, piece.map_err(cut)?).await?;
    }
    writer.place(caller, expect).await
}

/// How long a body says it is.
pub fn announced(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}
