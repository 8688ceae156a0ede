//! Files for jobs: sent here first, then named by the job.

use atelier_domain::access::{Action, Whose};
use atelier_domain::text::{Problem, shortened};
use atelier_studio::jobs::typed::Values;
use axum::extract::{FromRequest as _, Multipart, Request, State};
use axum::http::{StatusCode, header};

use crate::server::rest::asked::{Asked, NoParameters};
use crate::server::rest::problem::{Answered, Refusal};
use crate::server::rest::view::{json, object};
use crate::server::state::AppState;
use crate::server::uploads;

/// `POST /files`, as `multipart/form-data`. The same content is kept once, whoever sends it and however
/// often; each can name only what they have sent.
pub async fn keep(asked: Asked, _: NoParameters, State(state): State<AppState>, request: Request) -> Answered {
    // Nobody's files are taken for nothing.
    asked.caller.authorise_for(Action::JobSubmit, Whose::Own).await?;
    if state.is_disk_low() {
        let detail =
            "The server’s disk is nearly full: only what frees something is taken. Ask an operator to make room.";
        return Err(Refusal::new(StatusCode::INSUFFICIENT_STORAGE, "disk-full", detail).retry_after(60));
    }
    let kind = request.headers().get(header::CONTENT_TYPE).map(|kind| kind.as_bytes().to_ascii_lowercase());
    if !kind.is_some_and(|kind| kind.starts_with(b"multipart/form-data")) {
        let detail = "Send files as multipart/form-data, such as with curl -F file=@train.py.";
        return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "not-multipart", detail));
    }
    let unreadable = |text: String| Refusal::new(StatusCode::BAD_REQUEST, "not-understood", text);
    let multipart = Multipart::from_request(request, &state).await.map_err(|error| unreadable(error.body_text()))?;
    let mut values = Values::new();
    let incoming = uploads::receive(&state, multipart, &mut values).await.map_err(refused)?;
    if !values.is_empty() {
        let problem = |field: &String| {
            let field = shortened(field);
            Problem::new(field.clone(), format!("“{field}” is no file: it has no file name. Send files only."))
        };
        return Err(Refusal::invalid(values.keys().take(20).map(problem).collect()));
    }
    if incoming.is_empty() {
        return Err(Refusal::field("files", "There is no file in this. Send at least one, with its file name."));
    }
    let files = incoming.keep(&state).await.map_err(refused)?;
    let sent: Vec<String> = files.iter().map(|file| file.blob.clone()).collect();
    atelier_studio::uploads::note(&asked.caller, &sent).await?;
    Ok(json(StatusCode::CREATED, &object! { files: files }))
}

fn refused(refusal: uploads::Refusal) -> Refusal {
    use uploads::Refusal::{Broken, Failed, Field, Late, NoRoom, TooLarge};
    match refusal {
        Field(problem) => Refusal::invalid(vec![problem]),
        TooLarge(why) => Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", why),
        NoRoom(why) => Refusal::new(StatusCode::INSUFFICIENT_STORAGE, "disk-full", why).retry_after(60),
        Late(why) => Refusal::new(StatusCode::REQUEST_TIMEOUT, "too-slow", why),
        Broken(why) => Refusal::new(StatusCode::BAD_REQUEST, "not-understood", why),
        Failed(why) => Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", why),
    }
}
