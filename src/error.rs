//! [`AppError`] on its way from a server function to a form or a script.

pub use atelier_domain::error::AppError;
use atelier_domain::text::Problem;
use leptos::server_fn::codec::JsonEncoding;
use leptos::server_fn::error::{FromServerFnError, ServerFnErrorErr};
use serde::{Deserialize, Serialize};

/// What server functions refuse with. On the wire it is the error itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(transparent)]
#[error(transparent)]
pub struct FnError(pub AppError);

impl FromServerFnError for FnError {
    type Encoder = JsonEncoding;

    fn from_server_fn_error(error: ServerFnErrorErr) -> Self {
        Self(AppError::Transport { message: error.to_string() })
    }

    /// Islands show nothing of a refusal, and to read every kind of them would make the browser's half a
    /// fifth larger.
    #[cfg(feature = "hydrate")]
    fn de(_: leptos::server_fn::Bytes) -> Self {
        Self(AppError::Transport { message: "refused".to_owned() })
    }
}

impl From<AppError> for FnError {
    fn from(error: AppError) -> Self {
        Self(error)
    }
}

impl From<Problem> for FnError {
    fn from(problem: Problem) -> Self {
        Self(problem.into())
    }
}
