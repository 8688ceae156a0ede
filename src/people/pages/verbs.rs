//! The words of what can be done to accounts. Which of them is legal is for the domain to say.

use atelier_domain::account::AccountVerb;
use atelier_domain::paths;

/// The verb as a button's first word.
pub const fn word(verb: AccountVerb) -> &'static str {
    match verb {
        AccountVerb::Disable => "Disable",
        AccountVerb::Enable => "Enable",
        AccountVerb::ResetPassword => "Reset password",
    }
}

/// The verb as an entry of a menu; the dots say that a question comes first.
pub const fn asking(verb: AccountVerb) -> &'static str {
    match verb {
        AccountVerb::Disable => "Disable…",
        AccountVerb::Enable => "Enable…",
        AccountVerb::ResetPassword => "Reset password…",
    }
}

pub const fn icon(verb: AccountVerb) -> &'static str {
    match verb {
        AccountVerb::Disable => "lock",
        AccountVerb::Enable => "check",
        AccountVerb::ResetPassword => "key",
    }
}

/// What happens to a person by it.
pub const fn outcome(verb: AccountVerb) -> &'static str {
    match verb {
        AccountVerb::Disable => "Will be shut out at once: open sessions end. Everything they own is kept.",
        AccountVerb::Enable => "May sign in again, with the password and the roles as before.",
        AccountVerb::ResetPassword => "Gets a temporary password, which is shown to you once. Open sessions end.",
    }
}

/// The address of the question for one person.
pub fn question(workspace: &str, verb: AccountVerb, id: &str) -> String {
    format!("{}?id={id}", paths::confirm_people(workspace, verb.key()))
}
