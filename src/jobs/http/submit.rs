//! The form that submits a job: its fields and files in one request.

use atelier_domain::access::{Action, Whose};
use atelier_domain::paths;
use atelier_domain::text::{Problem, counted};
use atelier_protocol::TaskFile;
use atelier_studio::caller::Caller;
use atelier_studio::jobs::submit::{Submitted, prepare};
use atelier_studio::jobs::typed;
use atelier_studio::jobs::typed::Values;
use atelier_studio::orders::command_id;
use axum::extract::multipart::Multipart;
use axum::extract::{FromRequest as _, Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Redirect, Response};

use crate::error::AppError;
use crate::form::Flash;
use crate::server::state::AppState;
use crate::server::uploads::{Refusal, receive};
use crate::server::{caller, downloads, form_posts, guard};

/// The name under which the form finds its flash.
pub const FORM: &str = "submit_job";

/// What the form shows of an upload that is not taken: beside the files, or above everything.
fn shown(refusal: Refusal, values: Values) -> Flash {
    match refusal {
        Refusal::Field(problem) => Flash { values, problems: vec![problem], ..Flash::default() },
        Refusal::TooLarge(why) | Refusal::NoRoom(why) => {
            Flash { values, problems: vec![Problem::new("files", why)], ..Flash::default() }
        }
        Refusal::Late(why) | Refusal::Broken(why) | Refusal::Failed(why) => {
            Flash { values, refusal: Some(why), ..Flash::default() }
        }
    }
}

/// Takes the form: submits the job, or goes back to the form with what is wrong or what it costs.
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
    let slug = actor.workspace.slug.clone();
    // Nobody's files are taken for nothing.
    if let Err(error) = caller.authorise_for(Action::JobSubmit, Whose::Own).await {
        return downloads::refused(&error, StatusCode::FORBIDDEN, &request_id);
    }
    let form = paths::new_job(&slug);
    if state.is_disk_low() {
        let why = "The server’s disk is nearly full: only what frees something is taken. Ask an operator to make room.";
        let flash = Flash { form: FORM.into(), refusal: Some(why.into()), ..Flash::default() };
        return form_posts::redirect(&state, &form, flash);
    }
    let back = |flash: Flash| form_posts::redirect(&state, &form, Flash { form: FORM.into(), ..flash });
    let multipart = match Multipart::from_request(Request::from_parts(parts, body), &state).await {
        Ok(multipart) => multipart,
        Err(error) => return back(Flash { refusal: Some(error.body_text()), ..Flash::default() }),
    };
    let mut values = Values::new();
    // The browser is told at once; what it still sends is not read.
    let files = match receive(&state, multipart, &mut values).await {
        Ok(incoming) => incoming.keep(&state).await,
        Err(refusal) => Err(refusal),
    };
    match files {
        Ok(files) => {
            let sent: Vec<String> = files.iter().map(|file| file.blob.clone()).collect();
            if let Err(error) = atelier_studio::uploads::note(&caller, &sent).await {
                return back(Flash { values, refusal: Some(error.to_string()), ..Flash::default() });
            }
            carry_along(files, &mut values);
        }
        Err(refusal) => return back(shown(refusal, values)),
    }
    let action = values.remove("act").unwrap_or_default().join("");
    match answer(&caller, &values, action == "submit").await {
        Ok(Some((target, toast))) => {
            form_posts::redirect(&state, &target, Flash { toast: Some(toast), ..Flash::default() })
        }
        Ok(None) => {
            if action == "when" {
                values.insert("when".to_owned(), vec!["asked".to_owned()]);
            }
            back(Flash { values, ..Flash::default() })
        }
        Err(AppError::Invalid { problems }) => back(Flash { values, problems, ..Flash::default() }),
        Err(AppError::SignedOut) => Redirect::to(&guard::sign_in_with_return(&form)).into_response(),
        Err(error) => back(Flash { values, refusal: Some(error.to_string()), ..Flash::default() }),
    }
}

/// Submits, or only judges every field.
async fn answer(caller: &Caller, values: &Values, is_meant: bool) -> Result<Option<(String, String)>, AppError> {
    let (request, mut problems) = typed::request(values);
    let prepared = match prepare(caller, &request).await {
        Ok(prepared) if problems.is_empty() => prepared,
        Ok(_) => return Err(AppError::Invalid { problems }),
        Err(AppError::Invalid { problems: more }) => {
            // What could not be read counts as left out there; it is said once.
            let fresh = more.into_iter().filter(|more| !problems.iter().any(|known| known.field == more.field));
            let fresh: Vec<Problem> = fresh.map(renamed).collect();
            problems.extend(fresh);
            return Err(AppError::Invalid { problems });
        }
        Err(other) => return Err(other),
    };
    if !is_meant {
        return Ok(None);
    }
    let typed = values.get("command_id").and_then(|all| all.first()).map_or("", String::as_str);
    let submitted = prepared.submit(caller, command_id(typed)?).await.map_err(|error| match error {
        AppError::Invalid { problems } => AppError::Invalid { problems: problems.into_iter().map(renamed).collect() },
        other => other,
    })?;
    Ok(Some(told(&caller.actor()?.workspace.slug, submitted)))
}

/// Where what was submitted is to be found, and what is said of it.
pub fn told(slug: &str, submitted: Submitted) -> (String, String) {
    let first = submitted.first.to_string();
    if submitted.count > 1 {
        let jobs = counted(submitted.count.into(), "job", "jobs");
        (paths::job_array(slug, &first), format!("{jobs} were submitted, from {first} on."))
    } else {
        (paths::job(slug, &first), format!("{first} was submitted."))
    }
}

/// The form's own names for fields.
fn renamed(problem: Problem) -> Problem {
    let known = ["name", "command", "script", "environment", "files", "cluster", "size", "nodes", "cores", "memory"];
    let more =
        ["gpus", "priority", "timeout", "retries", "array", "tags", "tier", "after", "keep_in", "python_environment"];
    let field = match problem.field.as_str() {
        field if known.contains(&field) || more.contains(&field) => field.to_owned(),
        "count" => "array".into(),
        "instance" => "cluster".into(),
        _ => "command".into(),
    };
    Problem::new(field, problem.message)
}

/// Puts files that are kept into the form's values; one of the same path replaces the one before.
fn carry_along(files: Vec<TaskFile>, values: &mut Values) {
    let kept = values.entry("file".into()).or_default();
    for file in files {
        kept.retain(|known| known.splitn(3, ' ').nth(2) != Some(file.path.as_str()));
        kept.push(typed::typed_file(&file));
    }
}
