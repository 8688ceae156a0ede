//! The form for an instance's scripts: texts and files in one request, since a script may be longer than a
//! form.

use std::collections::BTreeMap;
use std::time::Duration;

use atelier_domain::compute::script::{MAX_SCRIPT_BYTES, ScriptKind};
use atelier_domain::compute::verb::Verb;
use atelier_domain::paths;
use atelier_domain::text::Problem;
use atelier_domain::world::{Answer, Order};
use atelier_studio::caller::Caller;
use atelier_studio::instances::commands::{Subject, carry_out, find_for};
use atelier_studio::instances::scripts::{ScriptRequest, ScriptsRequest, keep as keep_scripts};
use atelier_studio::orders::command_id;
use axum::extract::multipart::Multipart;
use axum::extract::{FromRequest as _, Path as Places, Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Redirect, Response};

use crate::error::AppError;
use crate::form::Flash;
use crate::server::state::AppState;
use crate::server::{caller, downloads, form_posts, guard};

/// The name under which the form finds its flash.
pub const FORM: &str = "set_scripts";

/// The most that the whole form may have, in bytes: both scripts twice, and the rest.
pub const MOST: usize = 4 * MAX_SCRIPT_BYTES + (64 << 10);
/// How long nothing may come.
const PATIENCE: Duration = Duration::from_secs(30);

type Values = BTreeMap<String, Vec<String>>;

pub async fn take(
    State(state): State<AppState>,
    Places((_, name)): Places<(String, String)>,
    request: Request,
) -> Response {
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
    let subject = match find_for(&caller, &name, Verb::SetScripts).await {
        Ok(subject) => subject,
        Err(error) => return downloads::refused(&error, StatusCode::FORBIDDEN, &request_id),
    };
    let form = paths::instance_tab(&slug, &name, "settings");
    let back = |flash: Flash| form_posts::redirect(&state, &form, Flash { form: FORM.into(), ..flash });
    let multipart = match Multipart::from_request(Request::from_parts(parts, body), &state).await {
        Ok(multipart) => multipart,
        Err(error) => return back(Flash { refusal: Some(error.body_text()), ..Flash::default() }),
    };
    let values = match receive(multipart).await {
        Ok(values) => values,
        Err(why) => return back(Flash { refusal: Some(why), ..Flash::default() }),
    };
    match save(&caller, &subject, &values).await {
        Ok(toast) => back(Flash { toast: Some(toast), ..Flash::default() }),
        Err(AppError::Invalid { problems }) => back(Flash { values, problems, ..Flash::default() }),
        Err(AppError::SignedOut) => Redirect::to(&guard::sign_in_with_return(&form)).into_response(),
        Err(error) => back(Flash { values, refusal: Some(error.to_string()), ..Flash::default() }),
    }
}

/// Reads all fields. A file that was chosen is the text of its script.
async fn receive(mut multipart: Multipart) -> Result<Values, String> {
    let mut values = Values::new();
    let mut files = Values::new();
    loop {
        let next = tokio::time::timeout(PATIENCE, multipart.next_field()).await;
        let field = next.map_err(|_| late())?.map_err(|error| error.body_text())?;
        let Some(field) = field else { break };
        let name = field.name().unwrap_or_default().to_owned();
        let is_file = field.file_name().is_some();
        let text = tokio::time::timeout(PATIENCE, field.bytes()).await;
        let text = text.map_err(|_| late())?.map_err(|error| error.body_text())?;
        if is_file && text.is_empty() {
            continue;
        }
        let text = String::from_utf8(text.to_vec()).map_err(|_| format!("The field {name} is no text in UTF-8."))?;
        let into = if is_file { &mut files } else { &mut values };
        into.entry(name).or_default().push(text);
    }
    for (name, text) in files {
        values.insert(name.replace("_file", "_script"), text);
    }
    Ok(values)
}

fn late() -> String {
    format!("Nothing came for {} s, so the form was given up. Nothing was changed; try again.", PATIENCE.as_secs())
}

async fn save(caller: &Caller, subject: &Subject, values: &Values) -> Result<String, AppError> {
    let first = |name: &str| values.get(name).and_then(|all| all.first()).cloned().unwrap_or_default();
    let mut problems = Vec::new();
    let mut read = |kind: ScriptKind| {
        let field = |what: &str| format!("{}_{what}", kind.key());
        let limit_seconds = match first(&field("limit")).trim() {
            "" => None,
            typed => match typed.parse::<u32>().ok().and_then(|minutes| minutes.checked_mul(60)) {
                Some(seconds) => Some(seconds),
                None => {
                    problems
                        .push(Problem::new(field("limit"), "The time limit is a whole number of minutes, such as 15."));
                    None
                }
            },
        };
        let (text, arguments) = (first(&field("script")), first(&field("arguments")));
        ScriptRequest { text, arguments, limit_seconds, ..ScriptRequest::default() }
    };
    let request = ScriptsRequest { creation: read(ScriptKind::Creation), startup: read(ScriptKind::Startup) };
    problems.extend(request.check());
    if !problems.is_empty() {
        return Err(AppError::Invalid { problems });
    }
    let scripts = keep_scripts(caller, &request).await?;
    let is_own = caller.actor()?.person.id == subject.owner;
    let has_any = !scripts.is_empty();
    let id = command_id(&first("command_id"))?;
    let order = Order::SetScripts { instance: subject.id, scripts };
    let answer = carry_out(caller, id, subject, order, None).await?;
    Ok(match (answer, is_own || !has_any) {
        (Answer::Already, _) => format!("The scripts of {} are as they were.", subject.name),
        (_, true) => format!("The scripts of {} were saved. They run from its next start on.", subject.name),
        (_, false) => format!(
            "The scripts of {} were saved. Until its owner accepts them they run as a throw-away user, with an empty \
             home and without Files.",
            subject.name
        ),
    })
}
