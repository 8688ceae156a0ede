//! What administrators allow and demand of idle shutdown.

use atelier_domain::access::Action;
use atelier_domain::compute::idle::IdleRules;
use atelier_domain::text::counted;
use atelier_domain::time::Span;
use atelier_domain::world::{Answer, Order};
use atelier_studio::orders::{ask, command_id, order};
use atelier_studio::typed::{Problems, whole};

use crate::done::Done;
use crate::error::AppError;
use crate::server::caller::here;

/// The rules, and how many instances there are that follow them. Needs `workspace.read`.
pub async fn idle_rules() -> Result<(IdleRules, usize), AppError> {
    let caller = here()?;
    let workspace = caller.authorise(Action::WorkspaceRead).await?.workspace.id.clone();
    ask(&caller, move |world| {
        let count = world.instances().filter(|instance| instance.workspace == workspace).count();
        (world.idle_rules(&workspace), count)
    })
    .await
}

pub async fn set(id: &str, [default, min, max]: [&str; 3], is_required: bool) -> Result<Done, AppError> {
    let caller = here()?;
    let workspace = caller.authorise(Action::WorkspaceWrite).await?.workspace.id.clone();
    let mut problems = Problems::new();
    let default = problems.take(match default.trim() {
        "" => Ok(None),
        typed => whole("default", "The default in minutes", typed).map(Some),
    });
    let min = problems.take(whole("min", "The shortest time in minutes", min));
    let max = problems.take(whole("max", "The longest time in minutes", max));
    let (Some(default), Some(min), Some(max)) = (default, min, max) else { return Err(problems.into_error()) };
    let (min, max) = (Span::minutes(min), Span::minutes(max));
    let rules = IdleRules { default: default.map(Span::minutes), min, max, is_required };
    rules.check()?;
    let (judge, place) = (rules.clone(), workspace.clone());
    let broken = ask(&caller, move |world| {
        let mine = world.instances().filter(|instance| instance.workspace == place);
        mine.filter(|instance| judge.judge(instance.idle.as_ref()).is_err()).count()
    });
    let broken = broken.await?;
    let answer = order(&caller, command_id(id)?, Order::SetIdleRules(rules), None, None).await?;
    Ok(Done::stay(match (answer, broken) {
        (Answer::Already, _) => "The rules were so already.".to_owned(),
        (_, 0) => "The rules of idle shutdown were saved. All instances follow them already.".to_owned(),
        (_, count) => {
            let changed = counted(count as u64, "instance was", "instances were");
            format!("The rules of idle shutdown were saved. {changed} changed to follow them.")
        }
    }))
}
