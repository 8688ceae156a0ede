//! One instance: what it is and does, a tab each, and the question before something is done to it.

use atelier_domain::compute::verb::Verb;
use atelier_domain::paths;
use atelier_engine::store::Person;
use atelier_studio::instances::plan::{NextLine, Piece};
use atelier_studio::instances::sharing::OFFERED;
use atelier_studio::instances::view::InstanceView;
use leptos::prelude::*;

use crate::components::{Field, Icon, SelectField};
use crate::form::FormState;
use crate::frame::Visit;

/// Why a verb cannot be used: the right first, then the state.
pub fn blocked(visit: &Visit, view: &InstanceView, verb: Verb) -> Option<String> {
    view.judge(&visit.viewer.rights, verb).err().map(|hindrance| visit.viewer.hindered(&hindrance))
}

/// The page that asks before a verb is used on one instance.
pub fn asks_at(visit: &Visit, name: &str, verb: Verb) -> String {
    format!("{}?id={name}", paths::confirm_instances(visit.slug(), verb.key()))
}

/// A field for one of these people, with the first option of the list; where there are too many to list, for
/// their address.
pub fn person_field(
    state: &FormState,
    people: &[Person],
    [id, label, name]: [&'static str; 3],
    first: &str,
    help: &str,
) -> AnyView {
    if people.len() < usize::try_from(OFFERED).unwrap_or(usize::MAX) {
        let all = people.iter().map(|one| (one.id.to_string(), format!("{} ({})", one.name, one.email)));
        let options = std::iter::once((String::new(), first.to_owned())).chain(all).collect();
        html! { <SelectField form=state id=id label=label name=name options=options help=help/> }
    } else {
        let help = format!("Their address here. {help}").trim().to_owned();
        html! { <Field form=state id=id label=label name=name required=true autocomplete="off" help=help/> }
    }
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
    html! { <span class="next" data-state=state><Icon name=icon/><span>{words}</span></span> }
}

/// Its words alone, with the times set apart.
pub fn words(next: &NextLine) -> Vec<AnyView> {
    next.pieces
        .iter()
        .map(|piece| match piece {
            Piece::Plain(words) => words.clone().into_any(),
            Piece::Strong(words) => html! { <b>{words.clone()}</b> },
        })
        .collect()
}
