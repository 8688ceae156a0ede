//! One instance: what it is and does, a tab each, and the question before something is done to it.

mod apps;
mod awake;
mod charts;
mod confirm;
mod detail;
mod history;
mod logs;
mod monitoring;
mod overview;
mod own_apps;
mod run_as_job;
mod scripts;
mod settings;
mod sharing;
mod ssh;
mod stops;
mod transfer;
mod waterfall;

use leptos::prelude::*;

use crate::api::compute::instances::{NextLine, Piece};
use crate::components::Icon;

pub use apps::failure;
pub use confirm::ConfirmInstancesPage;
pub use detail::{InstancePage, blocked};
pub use transfer::TransferPage;
pub use waterfall::bars;

/// What happens next, as a line under a name.
pub fn line(next: &NextLine) -> AnyView {
    let state = next.is_warning.then_some("warning");
    let (icon, words) = (next.icon, words(next));
    view! { <span class="next" data-state=state><Icon name=icon/><span>{words}</span></span> }.into_any()
}

/// Its words alone, with the times set apart.
pub fn words(next: &NextLine) -> Vec<AnyView> {
    next.pieces
        .iter()
        .map(|piece| match piece {
            Piece::Plain(words) => words.clone().into_any(),
            Piece::Strong(words) => view! { <b>{words.clone()}</b> }.into_any(),
        })
        .collect()
}
