//! Budgets as they are set by forms.

#![allow(
    missing_docs,
    clippy::too_many_arguments,
    reason = "the argument structs of server functions are generated; their fields are the form's fields"
)]

use leptos::prelude::*;

use crate::done::Done;
use crate::error::FnError;

/// Sets a budget. Needs `budget.write`.
#[server(prefix = "/fn", endpoint = "set_budget")]
pub async fn set_budget(
    #[server(default)] command_id: String,
    #[server(default)] whose: String,
    #[server(default)] person: String,
    #[server(default)] amount: String,
    #[server(default)] action: String,
    #[server(default)] time_zone: String,
    #[server(default)] why: String,
) -> Result<Done, FnError> {
    let typed = crate::cost::changes::Typed { whose, person, amount, action, time_zone, why };
    Ok(crate::cost::changes::set_budget(&command_id, &typed).await?)
}

/// Takes a budget away. Needs `budget.write`.
#[server(prefix = "/fn", endpoint = "lift_budget")]
pub async fn lift_budget(
    #[server(default)] command_id: String,
    #[server(default)] whose: String,
    #[server(default)] person: String,
) -> Result<Done, FnError> {
    Ok(crate::cost::changes::lift_budget(&command_id, &whose, &person).await?)
}
