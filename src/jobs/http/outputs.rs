//! Files that jobs left behind, handed out one by one.

use atelier_studio::jobs::detail::find;
use atelier_studio::jobs::outputs::{open_file, open_outputs};
use atelier_studio::jobs::submit::check_path;
use axum::extract::{Path as Places, Request, State};
use axum::http::StatusCode;
use axum::response::Response;

use crate::error::AppError;
use crate::server::state::AppState;
use crate::server::{caller, downloads};

/// Hands out one file.
pub async fn download(
    State(state): State<AppState>,
    Places((_, id, attempt, rank, path)): Places<(String, String, String, String, String)>,
    request: Request,
) -> Response {
    let request_id = downloads::request_id(&request);
    let (parts, _) = request.into_parts();
    let found = async {
        let caller = caller::of(&state, &parts)?;
        let row = find(&caller, &id).await?;
        let nothing = || AppError::not_found("file");
        let (Ok(attempt), Ok(rank)) = (attempt.parse(), rank.parse()) else { return Err(nothing()) };
        check_path(&path).map_err(|_| nothing())?;
        let (folders, wanted) = (caller.studio.fleet().folders().clone(), path.clone());
        let opened = tokio::task::spawn_blocking(move || {
            let folder = open_outputs(&folders, &row.job.owner, row.job.id, attempt, rank)?;
            open_file(folder, &wanted)
        });
        caller.checked(opened.await)?.map_err(|_| nothing())
    };
    match found.await {
        Ok(file) => {
            let name = path.rsplit('/').next().unwrap_or(&path).to_owned();
            downloads::file(file, &name, "application/octet-stream", None)
        }
        Err(error) => downloads::refused(&error, StatusCode::NOT_FOUND, &request_id),
    }
}
