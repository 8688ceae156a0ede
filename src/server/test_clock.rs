//! A clock that tests move. Release builds have none of this.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;

use crate::server::state::AppState;

/// Where tests move it, in a debug build whose environment says `ATELIER_TEST_CLOCK=1`.
pub const PATH: &str = "/test/clock";

#[derive(Debug, Deserialize)]
pub struct Advance {
    /// So many minutes pass, one after another, each with what agents really see.
    minutes: u32,
}

/// Whether this server may be told the time.
pub fn is_wanted() -> bool {
    std::env::var("ATELIER_TEST_CLOCK").is_ok_and(|value| value == "1")
}

pub async fn advance(State(state): State<AppState>, Json(advance): Json<Advance>) -> StatusCode {
    if advance.minutes > 60 * 24 * 8 {
        return StatusCode::BAD_REQUEST;
    }
    state.fleet().let_pass(advance.minutes).await;
    StatusCode::NO_CONTENT
}
