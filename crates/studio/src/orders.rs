//! What people do with computes, for pages, the API and the command line alike: who asks → may they → one
//! order to the engine → its answer in words.

use atelier_domain::UserId;
use atelier_domain::error::AppError;
use atelier_domain::reason::Reason;
use atelier_domain::time::Span;
use atelier_domain::world::{Answer, Command, Order};
use atelier_engine::clock;
use atelier_engine::run::{CommandId, NewOrder, OrderError, Payload};

use crate::caller::Caller;

/// The id of a command: the caller's own, or a fresh one for who never asks again.
pub fn command_id(typed: &str) -> Result<CommandId, AppError> {
    if typed.is_empty() { Ok(CommandId::random()) } else { CommandId::parse(typed).map_err(AppError::invalid) }
}

/// Gives an order in the caller's name. Whether they may was judged before.
pub async fn order(
    caller: &Caller,
    id: CommandId,
    order: Order,
    payload: Option<Payload>,
    why: Option<String>,
) -> Result<Answer, AppError> {
    let actor = caller.actor()?;
    let user: UserId = actor.person.id.clone();
    let command = Command {
        workspace: actor.workspace.id.clone(),
        user: Some(user),
        name: actor.person.name.as_str().into(),
        order,
    };
    let new = NewOrder { id, payload, author: caller.author(why)?, command };
    caller.studio.engine().order(new).await.map_err(|error| refused(caller, error))
}

/// What an engine's refusal is to people.
pub fn refused(caller: &Caller, error: OrderError) -> AppError {
    match error {
        OrderError::Refused(Reason::Invalid { problem }) => AppError::invalid(problem),
        OrderError::Refused(Reason::NotFound { what }) => AppError::NotFound { what },
        OrderError::Refused(reason) => AppError::refused(reason.code(), said(&reason)),
        OrderError::IdReused => AppError::refused("command.id-reused", error.to_string()),
        OrderError::Uncertain | OrderError::Fenced | OrderError::Stopped => AppError::refused(
            "engine.unavailable",
            format!("The engine did not answer: {error}. Nothing is lost; try again in a moment."),
        ),
        OrderError::Broken => {
            tracing::error!("an order made the engine stumble");
            AppError::Internal { request: caller.request.id.clone() }
        }
    }
}

/// A reason with its way out.
pub fn said(reason: &Reason) -> String {
    match reason.next_step() {
        Some(step) => format!("{} {step}", reason.sentence()),
        None => reason.sentence(),
    }
}

/// Looks at the World.
pub async fn ask<T: Send + 'static>(
    caller: &Caller,
    question: impl FnOnce(&atelier_domain::world::World) -> T + Send + 'static,
) -> Result<T, AppError> {
    caller.studio.engine().ask(question).await.map_err(|error| refused(caller, error))
}

/// How long ago the World last looked at its clock: it knows only the time of its last step.
pub fn since_last_step(caller: &Caller) -> Span {
    caller.studio.engine().status().committed_at.map_or(Span::ZERO, |at| clock::now().since(at))
}
