//! The errors that cross the wire: few, stable kinds, each of which a page can explain.
//!
//! Nothing in here carries the text of a database or an operating system: that goes to the log under the
//! request's id, which is what people see.

use serde::{Deserialize, Serialize};

use crate::access::Denied;
use crate::text::Problem;

/// Why a request was not carried out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum AppError {
    /// Nobody is signed in, or the session has ended.
    #[error("Sign in first: nobody is signed in here, or the session has ended.")]
    SignedOut,
    /// The right is missing.
    #[error("{denied}{}", help(helpers))]
    Forbidden {
        /// What is missing and which roles have it.
        denied: Denied,
        /// Names of people who can grant it, at most three.
        helpers: Vec<String>,
    },
    /// There is no such thing, or its existence is not for this person.
    #[error("There is no such {what} here, or it is not for you to see.")]
    NotFound {
        /// The kind of thing.
        what: String,
    },
    /// Fields are wrong; nothing was changed.
    #[error("{}", sentences(problems))]
    Invalid {
        /// One for each wrong field.
        problems: Vec<Problem>,
    },
    /// The request is well-formed but the present state does not allow it.
    #[error("{message}")]
    Refused {
        /// The stable code of the reason.
        code: String,
        /// A whole sentence with the way out.
        message: String,
    },
    #[error("{message}")]
    TooMany {
        /// A whole sentence that says how long to wait.
        message: String,
        /// The same in seconds.
        retry_after_secs: u32,
    },
    /// What the server needs to answer is away for now.
    #[error("{message}")]
    Unavailable {
        /// A whole sentence that says what is away and what to do.
        message: String,
        /// After so many seconds it's worth trying again.
        retry_after_secs: u32,
    },
    /// Something broke on the server; the log has the rest under this id.
    #[error(
        "The server could not finish this. Look whether it was done before you try again. If it happens again, tell an \
         administrator the request id {request}."
    )]
    Internal { request: String },
    /// The request could not be read, or the answer could not be delivered.
    #[error("The request was not understood: {message}")]
    Transport {
        /// What the transport said.
        message: String,
    },
}

impl AppError {
    /// The same beside fields of a form: a refusal by its code, a problem by the name that its field has
    /// elsewhere.
    #[must_use]
    pub fn beside(self, fields: &[(&str, &str)]) -> Self {
        let field = |name: &str| fields.iter().find(|(known, _)| *known == name).map(|(_, field)| *field);
        match self {
            Self::Refused { code, message } => match field(&code) {
                Some(field) => Problem::new(field, message).into(),
                None => Self::Refused { code, message },
            },
            Self::Invalid { mut problems } => {
                for problem in &mut problems {
                    if let Some(field) = field(&problem.field) {
                        problem.field = field.into();
                    }
                }
                Self::Invalid { problems }
            }
            other => other,
        }
    }

    pub fn invalid(problem: Problem) -> Self {
        Self::Invalid { problems: vec![problem] }
    }

    /// The database does not answer.
    pub fn database_away() -> Self {
        let message = "The database does not answer right now. Try again in a moment: if you repeat a request with the \
                       same Idempotency-Key, it is carried out once.";
        Self::Unavailable { message: message.into(), retry_after_secs: 5 }
    }

    pub fn refused(code: &str, message: impl Into<String>) -> Self {
        Self::Refused { code: code.into(), message: message.into() }
    }

    pub fn not_found(what: &str) -> Self {
        Self::NotFound { what: what.into() }
    }

    /// The HTTP status that fits.
    pub const fn status(&self) -> u16 {
        match self {
            Self::SignedOut => 401,
            Self::Forbidden { .. } => 403,
            Self::NotFound { .. } => 404,
            Self::Invalid { .. } => 422,
            Self::Refused { .. } => 409,
            Self::TooMany { .. } => 429,
            Self::Internal { .. } => 500,
            Self::Unavailable { .. } => 503,
            Self::Transport { .. } => 400,
        }
    }
}

impl From<Problem> for AppError {
    fn from(problem: Problem) -> Self {
        Self::invalid(problem)
    }
}

impl From<crate::account::Refusal> for AppError {
    fn from(refusal: crate::account::Refusal) -> Self {
        Self::Refused { code: refusal.code().into(), message: refusal.to_string() }
    }
}

fn help(helpers: &[String]) -> String {
    if helpers.is_empty() { String::new() } else { format!(" {} can grant it.", crate::text::and_list(helpers)) }
}

fn sentences(problems: &[Problem]) -> String {
    problems.iter().map(|problem| problem.message.as_str()).collect::<Vec<_>>().join(" ")
}
