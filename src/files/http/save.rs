//! What the editor sends: the text of one file. If the file changed in the meantime, both versions are kept.

use atelier_domain::files::{FilePath, check_new_name};
use atelier_domain::paths;
use atelier_domain::text::{Problem, shortened};
use atelier_files::{Entry, Expect};
use atelier_studio::caller::Caller;
use atelier_studio::files::desk::{Desk, Use, is_conflict};
use atelier_studio::files::preview::MOST_EDIT;
use axum::body::{Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Redirect, Response};

use crate::error::AppError;
use crate::files::http::streams::asked;
use crate::files::http::take::Writer;
use crate::form::Flash;
use crate::server::state::AppState;
use crate::server::{downloads, form_posts, guard, plain_page};

/// The name under which the editor finds its flash.
pub const FORM: &str = "save_file";
/// Letters may take three bytes each on their way.
const MOST_BODY: usize = MOST_EDIT as usize * 3 + (64 << 10);
/// So many names are tried beside one that is taken.
const MOST_NAMES: u32 = 50;

#[derive(Default)]
struct Typed {
    path: String,
    name: String,
    version: String,
    text: String,
    crlf: bool,
}

/// `POST …/files/save`.
pub async fn take(State(state): State<AppState>, request: Request) -> Response {
    let id = downloads::request_id(&request);
    let (caller, _, body) = asked(state.clone(), request);
    let caller = match caller {
        Ok(caller) => caller,
        Err(error) => return downloads::refused(&error, StatusCode::NOT_FOUND, &id),
    };
    let Ok(slug) = caller.actor().map(|actor| actor.workspace.slug.clone()) else {
        return Redirect::to(&guard::sign_in_with_return("")).into_response();
    };
    let Ok(body) = to_bytes(body, MOST_BODY).await else {
        let text = format!(
            "The editor takes texts of at most {} KiB. Nothing was saved; go back, and upload it as a file.",
            MOST_EDIT >> 10
        );
        return plain_page::page(StatusCode::PAYLOAD_TOO_LARGE, "That is too much for the editor", &text, &id);
    };
    let typed = read(&body);
    let page = if typed.name.is_empty() && typed.version.is_empty() { "new" } else { "edit" };
    let is_new = typed.version.is_empty();
    let back = paths::file_page(&slug, if is_new { "new" } else { page }, &typed.path);
    match save(&caller, &typed).await {
        Ok((next, toast)) => form_posts::redirect(
            &state,
            &paths::file_page(&slug, "view", next.as_str()),
            Flash { toast: Some(toast), ..Flash::default() },
        ),
        Err(AppError::SignedOut) => Redirect::to(&guard::sign_in_with_return(&back)).into_response(),
        Err(error) => {
            // What was typed is not lost with it, and it is still a change of the version that was looked at:
            // with the newest one, saving again would silently undo another person's change.
            let crlf = if typed.crlf { "on" } else { "" }.to_owned();
            let values = [("name", typed.name), ("text", typed.text), ("version", typed.version), ("crlf", crlf)]
                .map(|(name, value)| (name.to_owned(), vec![value]));
            let (problems, refusal) = match error {
                AppError::Invalid { problems } => (problems, None),
                other => (Vec::new(), Some(other.to_string())),
            };
            let flash = Flash { form: FORM.into(), values: values.into(), problems, refusal, ..Flash::default() };
            form_posts::redirect(&state, &back, flash)
        }
    }
}

fn read(body: &Bytes) -> Typed {
    let mut typed = Typed::default();
    for (key, value) in url::form_urlencoded::parse(body) {
        match key.as_ref() {
            "path" => typed.path = value.into_owned(),
            "name" => typed.name = value.into_owned(),
            "version" => typed.version = value.into_owned(),
            "text" => typed.text = value.into_owned(),
            "crlf" => typed.crlf = true,
            _ => {}
        }
    }
    // Browsers send every line end as two characters, whatever the file has.
    if !typed.crlf {
        typed.text = typed.text.replace("\r\n", "\n");
    }
    typed
}

async fn save(caller: &Caller, typed: &Typed) -> Result<(FilePath, String), AppError> {
    let desk = Desk::open(caller).await?;
    let given = Desk::path(&typed.path)?;
    let (path, expect) = if typed.version.is_empty() {
        check_new_name(&typed.name)?;
        Desk::check_parent(&given)?;
        (given.join(&typed.name)?, Expect::Nothing)
    } else {
        (given, Expect::Version(typed.version.clone()))
    };
    desk.check(caller, &path, Use::Write).await?;
    if typed.text.len() as u64 > MOST_EDIT {
        let message = format!("The editor takes at most {} KiB; this has {}.", MOST_EDIT >> 10, typed.text.len() >> 10);
        return Err(Problem::new("text", message).into());
    }
    desk.check_room(caller, typed.text.len() as u64).await?;
    match write(caller, &desk, &path, expect.clone(), &typed.text).await {
        Ok(_) => Ok((path.clone(), format!("“{}” was saved.", shortened(path.name())))),
        Err(error) if is_conflict(&error) && expect == Expect::Nothing => {
            Err(Problem::new("name", format!("“{}” is there already. Choose another name.", shortened(path.name())))
                .into())
        }
        Err(error) if is_conflict(&error) => {
            let beside = keep_beside(caller, &desk, &path, &typed.text).await?;
            let (name, other) = (shortened(beside.name()), shortened(path.name()));
            let said = format!(
                "Somebody changed “{other}” while you edited it. Theirs stays; yours was kept beside it as “{name}”."
            );
            Ok((beside, said))
        }
        Err(error) => Err(error),
    }
}

async fn write(caller: &Caller, desk: &Desk, path: &FilePath, expect: Expect, text: &str) -> Result<Entry, AppError> {
    let mut writer = Writer::begin(caller, desk, path.clone()).await?;
    writer.add(caller, Bytes::from(text.to_owned())).await?;
    writer.place(caller, expect).await
}

/// Writes a text under the first free name beside a file: `train (yours).py`.
async fn keep_beside(caller: &Caller, desk: &Desk, path: &FilePath, text: &str) -> Result<FilePath, AppError> {
    let folder = path.parent().unwrap_or_default();
    let (start, ending) = match path.name().rsplit_once('.') {
        Some((start, ending)) if !start.is_empty() => (start, format!(".{ending}")),
        _ => (path.name(), String::new()),
    };
    for number in 1..MOST_NAMES {
        let mark = if number == 1 { "yours".to_owned() } else { format!("yours {number}") };
        let beside = folder.join(&format!("{start} ({mark}){ending}"))?;
        match write(caller, desk, &beside, Expect::Nothing, text).await {
            Ok(_) => return Ok(beside),
            Err(error) if is_conflict(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Err(AppError::Refused {
        code: "files.changed".into(),
        message: "Somebody changed the file, and there are too many versions beside it. Tidy up and save again.".into(),
    })
}
