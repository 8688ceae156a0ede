//! Giving an instance to somebody else.

use atelier_domain::access::{Action, Whose};
use atelier_domain::account::AccountState;
use atelier_domain::compute::instance::judge_receiver;
use atelier_domain::compute::verb::Verb;
use atelier_domain::error::AppError;
use atelier_domain::text::Problem;
use atelier_domain::world::{Answer, Order};
use atelier_engine::fleet::secrets_in;
use atelier_engine::run::CommandId;
use atelier_engine::store::Person;

use crate::caller::Caller;
use crate::instances::commands::{Subject, carry_out, find_for};
use crate::instances::detail::{InstanceDetail, instance};
use crate::instances::sharing::person_of;

/// What the question says.
pub struct TransferView {
    pub detail: InstanceDetail,
    /// What is taken out of its home, as paths below it.
    pub secrets: Vec<String>,
    pub receivers: Vec<Person>,
}

/// What giving it away means. Needs `instance.transfer`.
pub async fn transfer_question(caller: &Caller, name: &str) -> Result<TransferView, AppError> {
    let (subject, secrets) = question(caller, name).await?;
    let receivers = receivers(caller, &subject).await?;
    Ok(TransferView { detail: instance(caller, name).await?, secrets, receivers })
}

/// The instance, and what is taken out of its home before its new owner can start it.
pub async fn question(caller: &Caller, name: &str) -> Result<(Subject, Vec<String>), AppError> {
    let subject = find_for(caller, name, Verb::TransferInstance).await?;
    let folder = caller.studio.fleet().folders().instance(subject.id);
    let secrets = tokio::task::spawn_blocking(move || secrets_in(&folder)).await;
    Ok((subject, caller.checked(secrets)?))
}

/// People of the workspace who could own it: not disabled, and with the right to have instances.
async fn receivers(caller: &Caller, subject: &Subject) -> Result<Vec<Person>, AppError> {
    let all = crate::instances::sharing::people(caller).await?;
    let (me, is_disabled) = (&caller.actor()?.person.id, is_owner_disabled(caller, subject).await?);
    let may_have = |one: &Person| judge_receiver(me, &subject.owner, &one.id, is_disabled).is_ok();
    Ok(all.into_iter().filter(|one| one.id != subject.owner && judge(one).is_ok() && may_have(one)).collect())
}

/// Whether its owner cannot sign in any more. Somebody who is not there at all cannot either.
async fn is_owner_disabled(caller: &Caller, subject: &Subject) -> Result<bool, AppError> {
    let owner = caller.checked(caller.store().person(&subject.owner).await)?;
    Ok(owner.is_none_or(|owner| owner.state == AccountState::Disabled))
}

fn judge(person: &Person) -> Result<(), Problem> {
    if person.state == AccountState::Disabled {
        return Err(Problem::new("to", "Their account is disabled. Ask an Owner of the workspace to enable it first."));
    }
    if person.rights().check(Action::InstanceCreate, Whose::Own).is_err() {
        let why = "Their roles do not include instances of their own. Ask an Owner of the workspace for another role \
                   for them.";
        return Err(Problem::new("to", why));
    }
    Ok(())
}

/// Gives it away. The answer comes when that is decided; nobody starts it until its home is clean.
pub async fn transfer(
    caller: &Caller,
    id: CommandId,
    name: &str,
    to: &str,
    why: Option<String>,
) -> Result<(Subject, Person, Answer), AppError> {
    let subject = find_for(caller, name, Verb::TransferInstance).await?;
    let beside = |problem: Problem| AppError::from(Problem::new("to", problem.message));
    let person = person_of(caller, to).await?.map_err(beside)?;
    judge(&person)?;
    let is_disabled = is_owner_disabled(caller, &subject).await?;
    judge_receiver(&caller.actor()?.person.id, &subject.owner, &person.id, is_disabled)?;
    let order = Order::TransferInstance {
        instance: subject.id,
        from: subject.owner.clone(),
        to: person.id.clone(),
        to_name: person.name.as_str().into(),
    };
    let answer = carry_out(caller, id, &subject, order, why).await?;
    Ok((subject, person, answer))
}
