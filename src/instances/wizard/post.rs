//! The steps of the wizard that makes an instance: fields and scripts in one request, whichever step they
//! come from. Each answer is another address, so that going back and reloading lose nothing.

use std::time::Duration;

use atelier_domain::access::{Action, Whose};
use atelier_domain::compute::script::MAX_SCRIPT_BYTES;
use atelier_domain::fields::{DAYS, Fields};
use atelier_domain::paths;
use atelier_domain::text::Problem;
use atelier_studio::caller::Caller;
use axum::extract::multipart::{Field, Multipart};
use axum::extract::{FromRequest as _, Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Redirect, Response};

use crate::components::Query;
use crate::error::AppError;
use crate::form::Flash;
use crate::instances::wizard::draft::save;
use crate::instances::wizard::judge::{NewInstanceForm, judge};
use crate::instances::wizard::make::make;
use crate::instances::wizard::page::FORM as NEW_INSTANCE_FORM;
use crate::instances::wizard::steps::{FIELDS, Step, known};
use crate::server::state::AppState;
use crate::server::{caller, downloads, form_posts, guard, plain_page};

/// The most that one step may send, in bytes: two scripts, twice each, and the rest.
pub const MOST: usize = 512 << 10;
/// How long nothing may come.
const PATIENCE: Duration = Duration::from_secs(20);

/// What a step sent.
#[derive(Debug, Default)]
struct Sent {
    fields: Fields,
    /// What is wrong with an uploaded script.
    problems: Vec<Problem>,
    step: String,
    go: String,
    copy: String,
}

/// Takes a step: goes to another one, or makes the instance.
pub async fn take(State(state): State<AppState>, request: Request) -> Response {
    let request_id = downloads::request_id(&request);
    let (parts, body) = request.into_parts();
    let caller = match caller::of(&state, &parts) {
        Ok(caller) => caller,
        Err(error) => return downloads::refused(&error, StatusCode::NOT_FOUND, &request_id),
    };
    let Ok(actor) = caller.actor() else {
        return Redirect::to(&guard::sign_in_with_return("")).into_response();
    };
    let page = paths::new_instance(&actor.workspace.slug);
    // Nobody's scripts are taken for nothing.
    if let Err(error) = caller.authorise_for(Action::InstanceCreate, Whose::Own).await {
        return downloads::refused(&error, StatusCode::FORBIDDEN, &request_id);
    }
    let multipart = match Multipart::from_request(Request::from_parts(parts, body), &state).await {
        Ok(multipart) => multipart,
        Err(error) => {
            return plain_page::page(StatusCode::BAD_REQUEST, "This is no form", &error.body_text(), &request_id);
        }
    };
    let mut sent = match receive(multipart).await {
        Ok(sent) => sent,
        Err((status, why)) => return plain_page::page(status, "The form did not arrive whole", &why, &request_id),
    };
    sent.fields.copy_monday(&sent.copy);
    let here = Step::or_first(&sent.step);
    let wanted = match sent.go.as_str() {
        "" | "stay" => here,
        "next" => here.next().unwrap_or(here),
        "create" => Step::Review,
        key => Step::or_first(key),
    };
    // Script that is wrong in itself was not kept: the step stays.
    let wanted = if sent.problems.is_empty() { wanted } else { Step::Applications };
    if sent.go == "create" && sent.problems.is_empty() {
        match create(&caller, &sent.fields).await {
            Ok((next, toast)) => {
                return form_posts::redirect(&state, &next, Flash { toast: Some(toast), ..Flash::default() });
            }
            Err(AppError::SignedOut) => return Redirect::to(&guard::sign_in_with_return(&page)).into_response(),
            Err(AppError::Invalid { problems }) => {
                let step = problems.iter().map(|problem| Step::of_field(&problem.field)).min().unwrap_or(here);
                let flash = Flash { problems, ..Flash::default() };
                return answer(&state, &caller, &page, step, &sent.fields, flash).await;
            }
            Err(error) => {
                let flash = Flash { refusal: Some(error.to_string()), ..Flash::default() };
                return answer(&state, &caller, &page, Step::Review, &sent.fields, flash).await;
            }
        }
    }
    let flash = Flash { problems: sent.problems, ..Flash::default() };
    answer(&state, &caller, &page, wanted, &sent.fields, flash).await
}

async fn create(caller: &Caller, fields: &Fields) -> Result<(String, String), AppError> {
    let known = known(caller).await?;
    let form: NewInstanceForm = judge(fields, &known).map_err(|problems| AppError::Invalid { problems })?;
    make(caller, &form).await
}

/// Another address for what was typed. Where it cannot be kept, it is shown once.
async fn answer(state: &AppState, caller: &Caller, page: &str, step: Step, fields: &Fields, flash: Flash) -> Response {
    let flash = Flash { form: NEW_INSTANCE_FORM.into(), ..flash };
    let query = Query::of(page).with("step", step.key());
    let kept = if caller.studio.is_disk_low() { None } else { save(caller, fields).await.ok() };
    match kept {
        Some(draft) => form_posts::redirect(state, &query.with("draft", &draft).url(), flash),
        None => {
            let values = fields.0.iter().map(|(field, value)| (field.clone(), vec![value.clone()])).collect();
            form_posts::redirect(state, &query.url(), Flash { values, ..flash })
        }
    }
}

/// Reads all fields. A script that was uploaded takes the place of the one that was typed.
async fn receive(mut multipart: Multipart) -> Result<Sent, (StatusCode, String)> {
    let mut sent = Sent::default();
    let mut total = 0;
    let mut uploaded: Vec<(&'static str, String)> = Vec::new();
    let broken = |error: axum::extract::multipart::MultipartError| (StatusCode::BAD_REQUEST, error.body_text());
    loop {
        let next = tokio::time::timeout(PATIENCE, multipart.next_field()).await;
        let Some(field) = next.map_err(|_| late())?.map_err(broken)? else { break };
        let name = field.name().unwrap_or_default().to_owned();
        let is_file = field.file_name().is_some_and(|file| !file.is_empty());
        let was_chosen = field.file_name().is_some();
        let bytes = read(field, &mut total).await?;
        if was_chosen {
            let script = match name.as_str() {
                "creation_file" => "creation_script",
                "startup_file" => "startup_script",
                _ => continue,
            };
            if is_file {
                match text_of(bytes) {
                    Ok(text) => uploaded.push((script, text)),
                    Err(message) => sent.problems.push(Problem::new(name, message)),
                }
            }
            continue;
        }
        let value = String::from_utf8_lossy(&bytes).replace("\r\n", "\n");
        match name.as_str() {
            "step" => sent.step = value,
            "go" => sent.go = value,
            "copy" => sent.copy = value,
            name if is_known(name) => sent.fields.set(name, value),
            _ => {}
        }
    }
    for (script, text) in uploaded {
        sent.fields.set(script, text);
    }
    Ok(sent)
}

fn is_known(name: &str) -> bool {
    let is_of = |day: &str| name.strip_prefix(day).is_some_and(|rest| matches!(rest, "" | "_start" | "_stop"));
    FIELDS.contains(&name) || DAYS.iter().any(|day| is_of(day))
}

async fn read(mut field: Field<'_>, total: &mut usize) -> Result<Vec<u8>, (StatusCode, String)> {
    let mut bytes = Vec::new();
    loop {
        let next = tokio::time::timeout(PATIENCE, field.chunk()).await;
        let piece = next.map_err(|_| late())?.map_err(|error| (StatusCode::BAD_REQUEST, error.body_text()))?;
        let Some(piece) = piece else { return Ok(bytes) };
        *total += piece.len();
        if *total > MOST {
            let why = format!(
                "One step has at most {} KiB, scripts included. Nothing was changed. Go back and choose smaller files.",
                MOST >> 10
            );
            return Err((StatusCode::PAYLOAD_TOO_LARGE, why));
        }
        bytes.extend_from_slice(&piece);
    }
}

fn late() -> (StatusCode, String) {
    let why = format!("Nothing came for {} s. Nothing was changed; go back and try again.", PATIENCE.as_secs());
    (StatusCode::REQUEST_TIMEOUT, why)
}

/// A script that was uploaded, if it is text and not too long.
fn text_of(bytes: Vec<u8>) -> Result<String, String> {
    if bytes.len() > MAX_SCRIPT_BYTES {
        let (most, size) = (MAX_SCRIPT_BYTES >> 10, bytes.len().div_ceil(1 << 10));
        return Err(format!("A script has at most {most} KiB; this file has {size} KiB. Let it download the rest."));
    }
    match String::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => Ok(text.replace("\r\n", "\n")),
        _ => Err("This file is no text. A script is lines for sh, or for what the first line names.".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_fields_of_the_wizard_are_kept() {
        for name in ["name", "mon", "sun_stop", "wed_start", "creation_script", "tags"] {
            assert!(is_known(name), "{name}");
        }
        for name in ["monday", "mon_", "mon_starts", "password", "", "creation_file"] {
            assert!(!is_known(name), "{name}");
        }
    }

    #[test]
    fn a_script_is_text_of_a_bounded_length() {
        assert_eq!(text_of(b"a\r\nb".to_vec()), Ok("a\nb".to_owned()));
        assert!(text_of(vec![0xff, 0xfe]).is_err());
        assert!(text_of(b"a\0b".to_vec()).is_err());
        assert!(text_of(vec![b'x'; MAX_SCRIPT_BYTES + 1]).is_err_and(|why| why.contains("65 KiB")));
    }
}
