//! One instance: what it is and does, a tab each, and the question before something is done to it.

use atelier_studio::instances::plan::{NextLine, Piece};
use leptos::prelude::*;

use crate::components::Icon;

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
