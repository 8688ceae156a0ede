//! What administrators allow and demand of idle shutdown.

use atelier_domain::access::Action;
use atelier_domain::compute::idle::IdleRules;
use atelier_domain::error::AppError;
use atelier_domain::world::{Answer, Order};
use atelier_engine::run::CommandId;

use crate::caller::Caller;
use crate::orders::{ask, order};

/// The rules, and how many instances there are that follow them. Needs `workspace.read`.
pub async fn read(caller: &Caller) -> Result<(IdleRules, usize), AppError> {
    let workspace = caller.authorise(Action::WorkspaceRead).await?.workspace.id.clone();
    ask(caller, move |world| {
        let count = world.instances().filter(|instance| instance.workspace == workspace).count();
        (world.idle_rules(&workspace), count)
    })
    .await
}

/// Sets the rules; instances that break them are changed. Says how many did. Needs `workspace.write`.
pub async fn set(caller: &Caller, id: CommandId, rules: IdleRules) -> Result<(Answer, usize), AppError> {
    let workspace = caller.authorise(Action::WorkspaceWrite).await?.workspace.id.clone();
    rules.check()?;
    let judge = rules.clone();
    let broken = ask(caller, move |world| {
        let mine = world.instances().filter(|instance| instance.workspace == workspace);
        mine.filter(|instance| judge.judge(instance.idle.as_ref()).is_err()).count()
    });
    let broken = broken.await?;
    let answer = order(caller, id, Order::SetIdleRules(rules), None, None).await?;
    Ok((answer, broken))
}
