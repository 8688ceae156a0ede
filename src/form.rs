//! What a form shows when it comes back: the values that were typed and the problem beside each field.
//!
//! Forms are plain HTML and post to a server function. When the function refuses, the values (never secrets)
//! and the problems are kept on the server for one look ([`crate::server::flash`]) and the browser is sent
//! back to the page, which asks [`FormState`] what to show. The same mechanism carries the toast after a
//! success.

use std::collections::BTreeMap;

use atelier_domain::text::Problem;

/// What is shown once, on the next page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flash {
    /// The server function that the form posted to, such as `create_person`.
    pub form: String,
    /// What was typed, by field; fields with secrets are left out.
    pub values: BTreeMap<String, Vec<String>>,
    /// What is wrong, by field.
    pub problems: Vec<Problem>,
    /// Why the whole request was refused, where no one field is to blame.
    pub refusal: Option<String>,
    /// The good news after a success.
    pub toast: Option<String>,
    /// A secret that is shown this one time, such as a temporary password.
    pub secret: Option<OneTimeSecret>,
}

/// A secret shown once to who caused it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OneTimeSecret {
    /// What it is: "Temporary password for Mara Lindqvist".
    pub label: String,
    pub value: String,
}

/// The state of one form on a page.
#[derive(Clone, Debug, Default)]
pub struct FormState {
    flash: Option<Flash>,
}

impl From<&Self> for FormState {
    fn from(state: &Self) -> Self {
        state.clone()
    }
}

impl FormState {
    /// The state of the form that posts to the server function `name`; empty if the flash is for another.
    pub fn of(flash: Option<&Flash>, name: &str) -> Self {
        Self { flash: flash.filter(|flash| flash.form == name).cloned() }
    }

    /// What was typed into a field, or `otherwise` if the form is fresh.
    pub fn value(&self, field: &str, otherwise: &str) -> String {
        match &self.flash {
            Some(flash) if !flash.values.is_empty() => {
                flash.values.get(field).and_then(|values| values.first()).cloned().unwrap_or_default()
            }
            _ => otherwise.to_owned(),
        }
    }

    /// Whether a checkbox or one of several with the same name was ticked, or `otherwise` if the form is
    /// fresh.
    pub fn is_ticked(&self, field: &str, value: &str, otherwise: bool) -> bool {
        match &self.flash {
            Some(flash) if !flash.values.is_empty() => {
                flash.values.get(field).is_some_and(|values| values.iter().any(|typed| typed == value))
            }
            _ => otherwise,
        }
    }

    /// What is wrong with a field.
    pub fn problem(&self, field: &str) -> Option<String> {
        let flash = self.flash.as_ref()?;
        flash.problems.iter().find(|problem| problem.field == field).map(|problem| problem.message.clone())
    }

    /// Everything that is wrong.
    pub fn problems(&self) -> Vec<Problem> {
        self.flash.as_ref().map(|flash| flash.problems.clone()).unwrap_or_default()
    }

    /// Why the whole request was refused.
    pub fn refusal(&self) -> Option<String> {
        self.flash.as_ref()?.refusal.clone()
    }
}
