//! What server functions answer.
//!
//! Forms post to them, in the `functions.rs` of each noun. They are public endpoints, so each authorises by
//! itself or by the command that it calls; a test walks them all.

use serde::{Deserialize, Serialize};

/// The answer of a server function that changed something: what to say, and where to go.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {
    /// The good news, as a toast on the next page.
    pub message: String,
    /// The local path of the next page; the page of the form if empty.
    pub next: String,
    /// What a secret that is shown once is called; empty if there is none.
    pub secret_label: String,
    /// A secret that is shown once, such as a temporary password.
    pub secret: String,
}

impl Done {
    /// Says `message` on the page that the form was on.
    pub fn stay(message: impl Into<String>) -> Self {
        Self { message: message.into(), ..Self::default() }
    }

    /// Says `message` on another page.
    pub fn go(next: impl Into<String>, message: impl Into<String>) -> Self {
        Self { message: message.into(), next: next.into(), ..Self::default() }
    }
}
