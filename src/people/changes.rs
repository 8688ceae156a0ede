//! What forms change.

use atelier_domain::access::{Action, Role, Whose, parse_roles};
use atelier_domain::account::{AccountVerb, Theme};
use atelier_domain::history::{Event, Subject};
use atelier_domain::name::{EmailAddress, PersonName};
use atelier_domain::paths;
use atelier_domain::text::{Problem, and_list, counted, parse_why};
use atelier_engine::clock;
use atelier_engine::live::Cut;
use atelier_engine::store::{Error as StoreError, NewAccount};
use atelier_studio::people::{MOST_AT_ONCE, find};

use crate::done::Done;
use crate::error::AppError;
use crate::server::caller::Browser;
use crate::server::passwords::temporary;

pub async fn create_person(name: &str, email: &str, roles: &[String], why: &str) -> Result<Done, AppError> {
    let browser = Browser::here()?;
    let caller = &browser.caller;
    let actor = caller.authorise(Action::MemberWrite).await?;
    let (name, email, roles, why) =
        all_or_problems(PersonName::parse(name), EmailAddress::parse(email), parse_roles(roles), parse_why(why))?;
    let password = temporary();
    let password_hash = caller.checked(browser.state.passwords().hash(password.clone().into()).await)?;
    let new = NewAccount {
        workspace: actor.workspace.id.clone(),
        email: email.as_str().to_owned(),
        name: name.as_str().to_owned(),
        password_hash,
        must_change_password: true,
        time_zone: actor.person.time_zone.clone(),
        theme: Theme::System,
        roles: roles.clone(),
    };
    let author = caller.author(why)?;
    let mut tx = caller.begin(Action::MemberWrite, Whose::Others).await?;
    let id = match tx.insert_account(&new).await {
        Err(StoreError::Taken(_)) => {
            return Err(Problem::new("email", format!("{email} has an account already. Find it under People.")).into());
        }
        other => caller.checked(other)?,
    };
    let subject = Subject { id: id.clone(), name: new.name.clone() };
    caller.checked(tx.record(&actor.workspace.id, &author, Some(&subject), &Event::PersonCreated { roles }).await)?;
    caller.checked(tx.commit().await)?;
    Ok(Done {
        secret_label: format!("Temporary password of {}", new.name),
        secret: password,
        ..Done::go(paths::person(&actor.workspace.slug, id.as_str()), format!("{} was added.", new.name))
    })
}

pub async fn set_roles(user: &str, roles: &[String], why: &str) -> Result<Done, AppError> {
    let browser = Browser::here()?;
    let caller = &browser.caller;
    let actor = caller.authorise(Action::MemberWrite).await?;
    let roles = parse_roles(roles)?;
    let author = caller.author(parse_why(why)?)?;
    let known = find(caller, actor, user).await?;
    let mut tx = caller.begin(Action::MemberWrite, Whose::Others).await?;
    // Read again inside the transaction: somebody else may have changed the account since.
    let person = caller.checked(tx.person(&known.id).await)?.ok_or_else(|| AppError::not_found("person"))?;
    if person.roles == roles {
        return Ok(Done::stay(format!("{} holds exactly these roles already; nothing was changed.", person.name)));
    }
    caller.checked(tx.set_roles(&person, &roles, &author).await)??;
    caller.checked(tx.commit().await)?;
    caller.studio.live().cut(Cut::Rights(person.id.clone()));
    let labels: Vec<&str> = roles.iter().map(|role: &Role| role.label()).collect();
    Ok(Done::stay(format!("{} is now {}.", person.name, and_list(&labels))))
}

pub async fn change_accounts(verb: &str, ids: &[String], why: &str) -> Result<Done, AppError> {
    let browser = Browser::here()?;
    let caller = &browser.caller;
    let actor = caller.authorise(Action::MemberWrite).await?;
    let verb = AccountVerb::from_key(verb).ok_or_else(|| {
        Problem::new("verb", "There is no such verb; the verbs are disable, enable and reset-password.")
    })?;
    let author = caller.author(parse_why(why)?)?;
    check_count(verb, ids.len())?;
    let mut known = Vec::new();
    for id in ids {
        known.push(find(caller, actor, id).await?);
    }
    let password = temporary();
    let hash = match verb {
        AccountVerb::ResetPassword => {
            Some(caller.checked(browser.state.passwords().hash(password.clone().into()).await)?)
        }
        AccountVerb::Disable | AccountVerb::Enable => None,
    };
    let mut tx = caller.begin(Action::MemberWrite, Whose::Others).await?;
    let (mut changed, mut refused, mut cuts, mut shut_out) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for person in &known {
        let person = caller.checked(tx.person(&person.id).await)?.ok_or_else(|| AppError::not_found("person"))?;
        match caller.checked(tx.change_account(verb, &person, hash.as_deref(), &author).await)? {
            Ok(cut) => {
                shut_out.push(person.id);
                changed.push(person.name);
                cuts.push(cut);
            }
            Err(refusal) => refused.push((person.name, refusal)),
        }
    }
    if changed.is_empty() {
        // Nothing is committed, so there is no empty revision either.
        return Err(refused.first().map_or_else(|| AppError::not_found("person"), |(_, refusal)| (*refusal).into()));
    }
    caller.checked(tx.commit().await)?;
    if verb != AccountVerb::Enable {
        // Only now: a stream that reconnects must find the session gone.
        cuts.into_iter().for_each(|cut| caller.studio.live().cut(cut));
        // When they were last here is kept, but they are not here any more.
        caller.studio.presence().flush(caller.store(), clock::now()).await;
        shut_out.iter().for_each(|id| caller.studio.presence().forget(id));
    }
    let next = match ids {
        [one] => paths::person(&actor.workspace.slug, one),
        _ => paths::people(&actor.workspace.slug),
    };
    let done = Done::go(next, said(verb, &changed, &refused));
    Ok(match verb {
        AccountVerb::ResetPassword => {
            Done { secret_label: format!("Temporary password of {}", changed[0]), secret: password, ..done }
        }
        AccountVerb::Disable | AccountVerb::Enable => done,
    })
}

fn check_count(verb: AccountVerb, count: usize) -> Result<(), Problem> {
    match (verb, count) {
        (_, 0) => Err(Problem::new("ids", "Nobody was selected. Select at least one person.")),
        (AccountVerb::ResetPassword, 2..) => {
            Err(Problem::new("ids", "Reset one password at a time: each temporary password is shown once."))
        }
        (_, count) if count > MOST_AT_ONCE => Err(Problem::new(
            "ids",
            format!("At most {MOST_AT_ONCE} accounts are changed at once; {count} were selected."),
        )),
        _ => Ok(()),
    }
}

fn said(verb: AccountVerb, changed: &[String], refused: &[(String, atelier_domain::account::Refusal)]) -> String {
    let whom = match changed {
        [one] => one.clone(),
        many => counted(many.len() as u64, "person", "people"),
    };
    let were = if changed.len() == 1 { "was" } else { "were" };
    let what = match verb {
        AccountVerb::Disable => format!("{whom} {were} disabled and can no longer sign in."),
        AccountVerb::Enable => format!("{whom} {were} enabled again."),
        AccountVerb::ResetPassword => format!("The password of {whom} was reset and all sessions have ended."),
    };
    let left: String = refused.iter().map(|(name, refusal)| format!(" {name} was left as is: {refusal}")).collect();
    format!("{what}{left}")
}

/// Gathers every problem of a form instead of showing one after another.
fn all_or_problems<A, B, C, D>(
    a: Result<A, Problem>,
    b: Result<B, Problem>,
    c: Result<C, Problem>,
    d: Result<D, Problem>,
) -> Result<(A, B, C, D), AppError> {
    match (a, b, c, d) {
        (Ok(a), Ok(b), Ok(c), Ok(d)) => Ok((a, b, c, d)),
        (a, b, c, d) => {
            let problems = [a.err(), b.err(), c.err(), d.err()].into_iter().flatten().collect();
            Err(AppError::Invalid { problems })
        }
    }
}
