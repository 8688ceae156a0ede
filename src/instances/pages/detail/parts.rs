//! One instance: what it is and does, a tab each, and the question before something is done to it.

use atelier_domain::compute::verb::Verb;
use atelier_domain::paths;
use atelier_studio::instances::plan::{NextLine, Piece};
use atelier_studio::instances::view::{Hindrance, InstanceView};
use leptos::prelude::*;

use crate::components::Icon;
use crate::frame::Visit;

/// Why a verb cannot be used: the right first, then the state.
pub fn blocked(visit: &Visit, view: &InstanceView, verb: Verb) -> Option<String> {
    view.judge(&visit.viewer.rights, verb).err().map(|hindrance| match hindrance {
        Hindrance::Right(denied) => visit.viewer.why_not(&denied),
        Hindrance::State(why) => why.to_owned(),
    })
}

/// The page that asks before a verb is used on one instance.
pub fn asks_at(visit: &Visit, name: &str, verb: Verb) -> String {
    format!("{}?id={name}", paths::confirm_instances(visit.slug(), verb.key()))
}

pub const fn icon(verb: Verb) -> &'static str {
    match verb {
        Verb::StartInstance => "play",
        Verb::StopInstance => "stop",
        Verb::RestartInstance => "restart",
        Verb::RebuildInstance => "bolt",
        Verb::TransferInstance => "user",
        _ => "trash",
    }
}

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
