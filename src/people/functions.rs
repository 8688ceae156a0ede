//! What administrators do to accounts.

use leptos::prelude::*;
#[cfg(feature = "ssr")]
use {
    crate::server::caller::Browser,
    crate::server::passwords::temporary,
    atelier_domain::access::{Action, Role, parse_roles},
    atelier_domain::account::{AccountVerb, Ending},
    atelier_domain::name::{EmailAddress, PersonName},
    atelier_domain::paths,
    atelier_domain::text::{Problem, and_list, counted, parse_why},
    atelier_studio::people::commands::{self, Changed, NewPerson},
    atelier_studio::typed::Problems,
};

use crate::done::Done;
use crate::error::FnError;

/// Adds a person with a temporary password, which is shown once. Needs `member.write`.
#[server(prefix = "/fn", endpoint = "create_person")]
pub async fn create_person(
    name: String,
    email: String,
    #[server(default)] roles: Vec<String>,
    #[server(default)] trust: String,
    #[server(default)] why: String,
) -> Result<Done, FnError> {
    let browser = Browser::here()?;
    let caller = &browser.caller;
    let actor = caller.authorise(Action::MemberWrite).await?;
    let mut problems = Problems::default();
    let name = problems.take(PersonName::parse(&name));
    let email = problems.take(EmailAddress::parse(&email));
    let roles = problems.take(parse_roles(&roles));
    let why = problems.take(parse_why(&why));
    let (Some(name), Some(email), Some(roles), Some(why)) = (name, email, roles, why) else {
        return Err(problems.into_error().into());
    };
    let password = temporary();
    let password_hash = caller.checked(browser.state.passwords().hash(password.clone().into()).await)?;
    let said = name.as_str().to_owned();
    let id =
        commands::create(caller, NewPerson { name, email, roles, password_hash, trusts_everybody: trust == "on" }, why)
            .await?;
    Ok(Done {
        secret_label: format!("Temporary password of {said}"),
        secret: password,
        ..Done::go(paths::person(&actor.workspace.slug, id.as_str()), format!("{said} was added."))
    })
}

/// An Owner confirms that everybody here trusts everybody. Needs `member.write`.
#[server(prefix = "/fn", endpoint = "confirm_trust")]
pub async fn confirm_trust() -> Result<Done, FnError> {
    commands::confirm_trust(&Browser::here()?.caller).await?;
    Ok(Done::stay("Confirmed: everyone here trusts everyone."))
}

/// Replaces somebody's roles. Needs `member.write`.
#[server(prefix = "/fn", endpoint = "set_roles")]
pub async fn set_roles(
    user: String,
    #[server(default)] roles: Vec<String>,
    #[server(default)] why: String,
) -> Result<Done, FnError> {
    let browser = Browser::here()?;
    let caller = &browser.caller;
    caller.authorise(Action::MemberWrite).await?;
    let roles = parse_roles(&roles)?;
    let (name, is_changed) = commands::set_roles(caller, &user, &roles, parse_why(&why)?).await?;
    if !is_changed {
        return Ok(Done::stay(format!("{name} holds exactly these roles already; nothing was changed.")));
    }
    let labels: Vec<&str> = roles.iter().map(|role: &Role| role.label()).collect();
    Ok(Done::stay(format!("{name} is now {}.", and_list(&labels))))
}

/// Disables or enables accounts or resets a password: `verb` as in [`atelier_domain::account::AccountVerb`].
/// Each account is judged by itself; those that the rules protect stay as they are. Needs `member.write`.
#[server(prefix = "/fn", endpoint = "change_accounts")]
pub async fn change_accounts(
    verb: String,
    #[server(default)] ids: Vec<String>,
    #[server(default)] end_tokens: String,
    #[server(default)] end_ssh_keys: String,
    #[server(default)] why: String,
) -> Result<Done, FnError> {
    let browser = Browser::here()?;
    let caller = &browser.caller;
    let actor = caller.authorise(Action::MemberWrite).await?;
    let verb = AccountVerb::from_key(&verb).ok_or_else(|| {
        Problem::new("verb", "There is no such verb; the verbs are disable, enable and reset-password.")
    })?;
    let why = parse_why(&why)?;
    let password = (verb == AccountVerb::ResetPassword).then(temporary);
    let hash = match &password {
        Some(password) => Some(caller.checked(browser.state.passwords().hash(password.clone().into()).await)?),
        None => None,
    };
    let ending = Ending { tokens: end_tokens == "on", ssh_keys: end_ssh_keys == "on" };
    let all = commands::change(caller, verb, &ids, hash.as_deref(), ending, why).await?;
    let next = match ids.as_slice() {
        [one] => paths::person(&actor.workspace.slug, one),
        _ => paths::people(&actor.workspace.slug),
    };
    let done = Done::go(next, said(verb, &all));
    Ok(match password {
        Some(secret) => Done { secret_label: format!("Temporary password of {}", all.changed[0]), secret, ..done },
        None => done,
    })
}

#[cfg(feature = "ssr")]
fn said(verb: AccountVerb, all: &Changed) -> String {
    let whom = match all.changed.as_slice() {
        [one] => one.clone(),
        many => counted(many.len() as u64, "person", "people"),
    };
    let were = if all.changed.len() == 1 { "was" } else { "were" };
    let what = match verb {
        AccountVerb::Disable => format!("{whom} {were} disabled and can no longer sign in."),
        AccountVerb::Enable => format!("{whom} {were} enabled again."),
        AccountVerb::ResetPassword => {
            format!("The password of {whom} was reset and all sessions have ended.{}", all.ended.said())
        }
    };
    let left = all.refused.iter().map(|(name, refusal)| format!(" {name} was left as is: {refusal}"));
    left.fold(what, |said, left| said + &left)
}
