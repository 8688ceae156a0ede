//! The files of the workspace over the API: the same paths, the same rights and the same disk as the portal.

use atelier_domain::Timestamp;
use atelier_domain::files::FilePath;
use atelier_domain::text::Problem;
use atelier_files::{Deleted, Entry, Expect, Order, Wanted};
use atelier_studio::files::count;
use atelier_studio::files::desk::{Desk, Use};
use axum::extract::{Path, Request};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::IntoResponse as _;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::error::AppError;
use crate::files::http::{download, pieces, take};
use crate::server::rest::asked::{Asked, Json, NoParameters, Parameters};
use crate::server::rest::problem::{Answered, Refusal};
use crate::server::rest::view::{When, created, json, listed, object, ok};

/// The most entries of one answer.
const MOST: usize = 10_000;

/// A file or folder.
fn view(path: &FilePath, entry: Entry) -> impl Serialize + use<> {
    object! {
        path: path.as_str().to_owned(),
        kind: entry.kind.key(),
        size: entry.size,
        changed: When(Timestamp(entry.changed)),
        open_to: if entry.is_open() { "everybody" } else { "owner" },
        name: entry.name,
        // Changes with its content; for `If-Match`.
        version: entry.version,
    }
}

/// A refusal with the status that fits files.
fn refused(error: AppError) -> Refusal {
    let status = match &error {
        AppError::Refused { code, .. } => match code.as_str() {
            "files.changed" => StatusCode::PRECONDITION_FAILED,
            "disk-full" | "files.limit" => StatusCode::INSUFFICIENT_STORAGE,
            "files.denied" | "files.not-yours" | "files.fixed" => StatusCode::FORBIDDEN,
            _ => return error.into(),
        },
        _ => return error.into(),
    };
    let AppError::Refused { code, message } = error else { return error.into() };
    Refusal::new(status, &code, message)
}

/// `GET /files?path=…`: what is in a folder.
pub async fn list(asked: Asked, mut parameters: Parameters) -> Answered {
    let rest = parameters.clone();
    let path = Desk::path(&parameters.take("path")?.unwrap_or_default())?;
    let number = |text: &str| text.parse::<usize>().ok();
    let most = parameters.read("limit", |text| number(text).filter(|most| (1..=MOST).contains(most)), "1 to 10000")?;
    let skip = parameters.read("after", number, "a number")?.unwrap_or_default();
    let order = parameters.read("sort", order, "name, size or changed")?.unwrap_or_default();
    let is_backwards =
        parameters.read("dir", |text| (text == "desc" || text == "asc").then_some(text == "desc"), "asc or desc")?;
    let part = parameters.take("q")?.unwrap_or_default();
    parameters.none_left(&["path", "limit", "after", "sort", "dir", "q"])?;
    let caller = &asked.caller;
    let desk = Desk::open(caller).await?;
    desk.check(caller, &path, Use::Read).await?;
    let most = most.unwrap_or(1_000);
    let wanted = Wanted { order, is_backwards: is_backwards.unwrap_or_default(), part, skip, most, hides_dots: false };
    let listing = atelier_studio::files::list::list_part(caller, &desk, &path, wanted).await.map_err(refused)?;
    let last = skip + listing.entries.len();
    let next = (last < listing.matching).then(|| rest.going_on("/api/v1/files", &last.to_string()));
    let entries = listing.entries.into_iter().filter_map(|entry| Some(view(&path.join(&entry.name).ok()?, entry)));
    let entries = entries.collect::<Vec<_>>();
    ok(&object! { path: path.as_str(), entries: entries, total: listing.matching, next: next })
}

fn order(text: &str) -> Option<Order> {
    match text {
        "name" => Some(Order::Name),
        "size" => Some(Order::Size),
        "changed" => Some(Order::Changed),
        _ => None,
    }
}

/// `GET /files/stat/{path}`.
pub async fn stat(asked: Asked, _: NoParameters, Path(path): Path<String>) -> Answered {
    let caller = &asked.caller;
    let desk = Desk::open(caller).await?;
    let path = Desk::path(&path)?;
    desk.check(caller, &path, Use::Read).await?;
    let wanted = path.clone();
    let entry = desk.work(caller, Use::Read, move |area, who| area.look(who, &wanted)).await.map_err(refused)?;
    ok(&view(&path, entry))
}

/// `GET /files/content/{path}`, with `Range` and `If-None-Match`.
pub async fn get(asked: Asked, _: NoParameters, Path(path): Path<String>, headers: HeaderMap) -> Answered {
    let (file, entry) = download::open(&asked.caller, &path).await.map_err(refused)?;
    Ok(download::send(file, &entry, &headers))
}

/// `PUT /files/content/{path}`, with `If-Match` or `If-None-Match: *`.
pub async fn put(asked: Asked, _: NoParameters, Path(path): Path<String>, request: Request) -> Answered {
    let caller = &asked.caller;
    let desk = Desk::open(caller).await?;
    let path = Desk::path(&path)?;
    let parent = path.parent().ok_or_else(|| Refusal::field("path", "A file has a name."))?;
    desk.check(caller, &path, Use::Write).await.map_err(refused)?;
    Desk::check_parent(&parent).map_err(refused)?;
    take::inside(&parent, path.name())?;
    let expect = expected(request.headers())?;
    desk.check_room(caller, take::announced(request.headers()).unwrap_or_default()).await.map_err(refused)?;
    take::prepare(caller, &desk, &path, &expect).await.map_err(refused)?;
    let entry = take::body(caller, &desk, path.clone(), expect, request.into_body()).await.map_err(refused)?;
    let tag = format!("\"{}\"", entry.version);
    let mut response = json(StatusCode::CREATED, &view(&path, entry));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    Ok(response)
}

fn expected(headers: &HeaderMap) -> Answered<Expect> {
    let text = |name: header::HeaderName| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    match (text(header::IF_MATCH), text(header::IF_NONE_MATCH)) {
        (None, None) => Ok(Expect::Anything),
        (None, Some("*")) => Ok(Expect::Nothing),
        (Some(tag), None) => match tag.strip_prefix('"').and_then(|tag| tag.strip_suffix('"')) {
            Some(version) if !version.is_empty() && !version.contains('"') => Ok(Expect::Version(version.to_owned())),
            _ => Err(Refusal::field("If-Match", "If-Match holds one version in quotation marks, as ETag gave it.")),
        },
        _ => Err(Refusal::field("If-None-Match", "Give If-Match with a version, or If-None-Match: *, not both.")),
    }
}

/// `DELETE /files/content/{path}`: to the trash.
pub async fn delete(asked: Asked, _: NoParameters, Path(path): Path<String>) -> Answered {
    let path = Desk::path(&path)?;
    let (_, problem) = atelier_studio::files::commands::discard(&asked.caller, &[path]).await.map_err(refused)?;
    match problem {
        Some(error) => Err(refused(error)),
        None => Ok(StatusCode::NO_CONTENT.into_response()),
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FolderRequest {
    path: String,
}

/// `POST /files/folders`.
pub async fn make_folder(asked: Asked, _: NoParameters, Json(new): Json<FolderRequest>) -> Answered {
    let path = Desk::path(&new.path)?;
    let parent = path.parent().ok_or_else(|| Refusal::field("path", "A folder has a name."))?;
    let (path, entry) =
        atelier_studio::files::commands::add_folder(&asked.caller, &parent, path.name()).await.map_err(refused)?;
    Ok(json(StatusCode::CREATED, &view(&path, entry)))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MoveRequest {
    from: String,
    to: String,
}

/// `POST /files/move`.
pub async fn shift(asked: Asked, _: NoParameters, Json(new): Json<MoveRequest>) -> Answered {
    let field = |name: &'static str| move |problem: Problem| Refusal::field(name, problem.message);
    let from = FilePath::parse(&new.from).map_err(field("from"))?;
    let to = FilePath::parse(&new.to).map_err(field("to"))?;
    let entry = atelier_studio::files::commands::shift(&asked.caller, &from, &to).await.map_err(refused)?;
    ok(&view(&to, entry))
}

/// `GET /files/zip/{path}`: a folder as one archive.
pub async fn zip(asked: Asked, _: NoParameters, Path(path): Path<String>) -> Answered {
    download::archive(&asked.caller, &path).await.map_err(refused)
}

/// `POST /files/uploads`.
pub async fn begin(asked: Asked, _: NoParameters, Json(new): Json<pieces::Begin>) -> Answered {
    let upload = pieces::begin(&asked.caller, new).await.map_err(refused)?;
    Ok(created(&format!("/api/v1/files/uploads/{}", upload.id), &upload))
}

/// `GET /files/uploads/{id}`.
pub async fn look(asked: Asked, _: NoParameters, Path(id): Path<String>) -> Answered {
    ok(&pieces::look(&asked.caller, id).await.map_err(refused)?)
}

/// `PUT /files/uploads/{id}?offset=…`.
pub async fn add(asked: Asked, mut parameters: Parameters, Path(id): Path<String>, request: Request) -> Answered {
    let offset = parameters.read("offset", |text| text.parse::<u64>().ok(), "a number")?;
    parameters.none_left(&["offset"])?;
    let offset = offset.ok_or_else(|| Refusal::field("offset", "Say at which byte the piece begins: ?offset=0."))?;
    let upload = pieces::add(&asked.caller, id, offset, request.into_body()).await.map_err(refused)?;
    ok(&upload)
}

/// `DELETE /files/uploads/{id}`.
pub async fn abandon(asked: Asked, _: NoParameters, Path(id): Path<String>) -> Answered {
    pieces::abandon(&asked.caller, id).await.map_err(refused)?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// `GET /files/usage`: the caller's own.
pub async fn usage(asked: Asked, _: NoParameters) -> Answered {
    let caller = &asked.caller;
    let desk = Desk::open(caller).await?;
    let (_, at) = count::usage(caller, &desk, true).await?;
    let used = count::used_by(caller, &desk).await?;
    let limit = caller.checked(caller.store().files_limit(&caller.actor()?.workspace.id).await)?;
    let (disk_free, _) = desk.work(caller, Use::Read, |area, _| area.room()).await?;
    ok(&object! {
        bytes: used.bytes,
        files: used.files,
        trash: used.trash,
        uploads: used.uploads,
        limit: limit,
        disk_free: disk_free,
        counted: When(at),
    })
}

/// `GET /files/trash`: the caller's own.
pub async fn trash(asked: Asked, _: NoParameters) -> Answered {
    let view = |one: Deleted| {
        object! {
            id: one.id,
            path: one.path.as_str().to_owned(),
            kind: one.kind.key(),
            size: one.size,
            deleted: When(Timestamp(one.at)),
        }
    };
    listed("entries", atelier_studio::files::list::trash(&asked.caller).await?.into_iter().map(view))
}

/// `DELETE /files/trash`: all of it, for good.
pub async fn empty_trash(asked: Asked, _: NoParameters) -> Answered {
    atelier_studio::files::commands::purge(&asked.caller, None).await.map_err(refused)?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// `DELETE /files/trash/{id}`: one thing, for good.
pub async fn purge(asked: Asked, _: NoParameters, Path(id): Path<String>) -> Answered {
    match atelier_studio::files::commands::purge(&asked.caller, Some(id)).await.map_err(refused)? {
        0 => Err(Refusal::not_found("thing in the trash")),
        _ => Ok(StatusCode::NO_CONTENT.into_response()),
    }
}

/// `POST /files/trash/{id}/restore`.
pub async fn restore(asked: Asked, _: NoParameters, Path(id): Path<String>) -> Answered {
    let path = atelier_studio::files::commands::bring_back(&asked.caller, &id).await.map_err(refused)?;
    ok(&json!({ "path": path.as_str() }))
}
