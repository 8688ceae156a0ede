//! What administrators do to accounts.

use atelier_domain::UserId;
use atelier_domain::access::{Action, Role, Whose};
use atelier_domain::account::{AccountVerb, Ended, Ending, Refusal, Theme};
use atelier_domain::error::AppError;
use atelier_domain::history::{Event, Subject};
use atelier_domain::name::{EmailAddress, PersonName};
use atelier_domain::text::Problem;
use atelier_engine::clock;
use atelier_engine::live::Cut;
use atelier_engine::store::{Error as StoreError, NewAccount};

use crate::account::profile::cut_tokens;
use crate::caller::Caller;
use crate::people::list::{MOST_AT_ONCE, find, head_count};

/// Somebody new, with the hash of a temporary password.
#[derive(Clone, Debug)]
pub struct NewPerson {
    pub name: PersonName,
    /// The sign-in name.
    pub email: EmailAddress,
    pub roles: Vec<Role>,
    /// What the temporary password is checked against.
    pub password_hash: String,
    /// Whether an Owner has confirmed, here and now, that everybody trusts everybody.
    pub trusts_everybody: bool,
}

/// Why everybody here has to trust everybody: the server cannot keep people apart, and nobody has confirmed
/// yet that they know. Nothing where people are kept apart, or it was confirmed.
pub async fn unconfirmed_trust(caller: &Caller) -> Result<Option<&'static str>, AppError> {
    if !caller.studio.fleet().mixes_people() || caller.checked(caller.store().is_trust_confirmed().await)? {
        return Ok(None);
    }
    Ok(Some(
        "This server can't isolate people: everyone's jobs and notebooks run as the same user and can read each \
         other's files, tokens and processes.",
    ))
}

/// The same for teams that exist: one person has nobody to be kept apart from.
pub async fn untrusted_team(caller: &Caller) -> Result<Option<&'static str>, AppError> {
    let why = unconfirmed_trust(caller).await?;
    Ok(if why.is_some() && head_count(caller).await?.everyone > 1 { why } else { None })
}

/// An Owner confirms that everybody here trusts everybody. Needs `member.write`.
pub async fn confirm_trust(caller: &Caller) -> Result<(), AppError> {
    caller.authorise(Action::MemberWrite).await?;
    let author = caller.author(None)?;
    let mut tx = caller.begin(Action::MemberWrite, Whose::Others).await?;
    if caller.checked(tx.confirm_trust(&caller.actor()?.workspace.id, &author).await)? {
        caller.checked(tx.commit().await)?;
    }
    Ok(())
}

/// Adds a person. Needs `member.write`.
pub async fn create(caller: &Caller, new: NewPerson, why: Option<String>) -> Result<UserId, AppError> {
    let actor = caller.authorise(Action::MemberWrite).await?;
    if !new.trusts_everybody
        && let Some(why) = unconfirmed_trust(caller).await?
    {
        let message = format!("{why} Confirm that everyone here trusts everyone, or run the server as root.");
        return Err(Problem::new("trust", message).into());
    }
    let email = new.email;
    let account = NewAccount {
        workspace: actor.workspace.id.clone(),
        email: email.as_str().to_owned(),
        name: new.name.as_str().to_owned(),
        password_hash: new.password_hash,
        must_change_password: true,
        time_zone: actor.person.time_zone.clone(),
        theme: Theme::System,
        roles: new.roles.clone(),
    };
    let author = caller.author(why)?;
    let mut tx = caller.begin(Action::MemberWrite, Whose::Others).await?;
    let id = match tx.insert_account(&account).await {
        Err(StoreError::Taken(_)) => {
            return Err(Problem::new("email", format!("{email} has an account already. Find it under People.")).into());
        }
        other => caller.checked(other)?,
    };
    let subject = Subject { id: id.clone(), name: account.name };
    let event = Event::PersonCreated { roles: new.roles };
    caller.checked(tx.record(&actor.workspace.id, &author, Some(&subject), &event).await)?;
    if new.trusts_everybody && caller.studio.fleet().mixes_people() {
        caller.checked(tx.confirm_trust(&actor.workspace.id, &author).await)?;
    }
    caller.checked(tx.commit().await)?;
    Ok(id)
}

/// Replaces somebody's roles. Says their name, and whether anything changed. Needs `member.write`.
pub async fn set_roles(
    caller: &Caller,
    id: &str,
    roles: &[Role],
    why: Option<String>,
) -> Result<(String, bool), AppError> {
    let actor = caller.authorise(Action::MemberWrite).await?;
    let author = caller.author(why)?;
    let known = find(caller, actor, id).await?;
    let mut tx = caller.begin(Action::MemberWrite, Whose::Others).await?;
    // Read again inside the transaction: somebody else may have changed the account since.
    let person = caller.checked(tx.person(&known.id).await)?.ok_or_else(|| AppError::not_found("person"))?;
    if person.roles == roles {
        return Ok((person.name, false));
    }
    caller.checked(tx.set_roles(&person, roles, &author).await)??;
    caller.checked(tx.commit().await)?;
    caller.studio.live().cut(Cut::Rights(person.id));
    Ok((person.name, true))
}

/// What became of accounts that were to be changed: names, and why some were left as they are.
#[derive(Clone, Debug, Default)]
pub struct Changed {
    pub changed: Vec<String>,
    pub refused: Vec<(String, Refusal)>,
    /// What else ended with a password that was reset.
    pub ended: Ended,
}

/// Disables or enables accounts, or resets a password to the one with this hash, which ends what is wanted
/// beside all sessions. Each account is judged by
/// itself; those that the rules protect stay as they are. Needs `member.write`.
pub async fn change(
    caller: &Caller,
    verb: AccountVerb,
    ids: &[String],
    password_hash: Option<&str>,
    ending: Ending,
    why: Option<String>,
) -> Result<Changed, AppError> {
    let actor = caller.authorise(Action::MemberWrite).await?;
    let author = caller.author(why)?;
    check_count(verb, ids.len())?;
    let mut known = Vec::new();
    for id in ids {
        known.push(find(caller, actor, id).await?);
    }
    let mut tx = caller.begin(Action::MemberWrite, Whose::Others).await?;
    let (mut all, mut cuts, mut shut_out) = (Changed::default(), Vec::new(), Vec::new());
    for person in &known {
        let person = caller.checked(tx.person(&person.id).await)?.ok_or_else(|| AppError::not_found("person"))?;
        match caller.checked(tx.change_account(verb, &person, password_hash, &author).await)? {
            Ok(cut) => {
                if verb == AccountVerb::ResetPassword {
                    all.ended = caller.checked(tx.end_access(&person, ending, &author).await)?;
                }
                shut_out.push(person.id);
                all.changed.push(person.name);
                cuts.push(cut);
            }
            Err(refusal) => all.refused.push((person.name, refusal)),
        }
    }
    if all.changed.is_empty() {
        // Nothing is committed, so there is no empty revision either.
        return Err(all
            .refused
            .first()
            .map_or_else(|| AppError::not_found("person"), |(_, refusal)| (*refusal).into()));
    }
    caller.checked(tx.commit().await)?;
    cut_tokens(caller, &all.ended);
    if verb != AccountVerb::Enable {
        // Only now: a stream that reconnects must find the session gone.
        cuts.into_iter().for_each(|cut| caller.studio.live().cut(cut));
        // When they were last here is kept, but they are not here any more.
        caller.studio.presence().flush(caller.store(), clock::now()).await;
        shut_out.iter().for_each(|id| caller.studio.presence().forget(id));
    }
    Ok(all)
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
