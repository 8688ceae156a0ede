//! The first step: what it is called, whose it is, and what it runs on.

use atelier_domain::compute::Resources;
use atelier_studio::sizes::row::SizeRow;
use leptos::prelude::*;
use leptos::server_fn::ServerFn as _;

use crate::components::{Icon, SelectField, SizeTable};
use crate::form::FormState;
use crate::frame::Visit;
use crate::instances::typing::CheckName;
use crate::instances::wizard::steps::{NameVerdict, Wizard};

/// Memory for each core from which a size is for much of it: 7 GiB, in MiB for a thousandth of a core.
const MUCH_MEMORY: u64 = 7 << 10;

/// The kinds of sizes that one may look for.
const KINDS: [(&str, &str); 4] = [("", "All"), ("cpu", "CPU"), ("memory", "Memory"), ("gpu", "GPU")];

pub fn step(visit: &Visit, state: &FormState, wizard: &Wizard) -> AnyView {
    let (name, owner) = (name(state, wizard), owner(visit, state, wizard));
    let kind = wizard.fields.get("kind").trim_start_matches("all").to_owned();
    let chosen = wizard.fields.get("size").to_owned();
    let rows: Vec<SizeRow> = wizard.sizes.iter().filter(|row| kind_of(row.shape, &kind)).cloned().collect();
    // The choice stays, also while it is not among those that are looked at.
    let unseen = (!rows.iter().any(|row| row.name == chosen) && !chosen.is_empty())
        .then(|| view! { <input type="hidden" name="size" value=chosen.clone()/> });
    let table = if rows.is_empty() {
        html! { <p class="muted">"No size is of that kind."</p> }
    } else {
        html! { <SizeTable rows=rows chosen=chosen for_oneself=true problem=state.problem("size")/> }
    };
    let kinds: Vec<_> = KINDS
        .iter()
        .map(|(key, label)| {
            let pressed = if *key == kind { "true" } else { "false" };
            let value = if key.is_empty() { "all" } else { key };
            view! { <button type="submit" name="kind" value=value aria-pressed=pressed>{*label}</button> }
        })
        .collect();
    html! {
        <div class="cols-2">{name}{owner}</div>
        <section class="card wizard-sizes">
            <header>
                <h2>"Size"</h2>
                <div class="seg" role="group" aria-label="Kinds of sizes">{kinds}</div>
                <span class="push note">"Prices per hour while it runs"</span>
            </header>
            <div class="body">{unseen}{table}</div>
        </section>
    }
}

fn kind_of(shape: Resources, kind: &str) -> bool {
    let has_much = shape.memory.saturating_mul(1_000) >= shape.cores.saturating_mul(MUCH_MEMORY);
    match kind {
        "gpu" => shape.gpus > 0,
        "memory" => shape.gpus == 0 && has_much,
        "cpu" => shape.gpus == 0 && !has_much,
        _ => true,
    }
}

/// The name, checked while it is typed.
fn name(state: &FormState, wizard: &Wizard) -> AnyView {
    let value = wizard.fields.get("name").to_owned();
    let wrong = state.problem("name");
    let verdict = match &wrong {
        Some(problem) => NameVerdict::Wrong(problem.clone()),
        None => wizard.name.clone(),
    };
    let is_wrong = matches!(verdict, NameVerdict::Wrong(_));
    html! {
        <div class="field">
            <label for="f-name">"Name"</label>
            <input
                class="input" id="f-name" name="name" type="text" value=value maxlength="24" autocomplete="off"
                spellcheck="false"
                autocapitalize="none" autofocus=true data-ask=CheckName::PATH aria-invalid=is_wrong.then_some("true")
                aria-describedby="f-name-answer f-name-help"
            />
            {name_answer(&verdict)}
            <p class="help" id="f-name-help">
                "3 to 24 of a–z, 0–9 and hyphens, beginning with a letter. It cannot be changed later."
            </p>
        </div>
    }
}

/// What is said about a name: the part that is asked for again while one types.
pub fn name_answer(verdict: &NameVerdict) -> AnyView {
    let (class, inside) = match verdict {
        NameVerdict::Nothing => ("answer", None),
        NameVerdict::Free(words) => ("answer ok", Some(("check", words.clone()))),
        NameVerdict::Wrong(words) => ("answer err", Some(("warn", words.clone()))),
    };
    let inside = inside.map(|(icon, words)| view! { <Icon name=icon class="i-s"/><span class="label">{words}</span> });
    html! { <p class=class id="f-name-answer" data-answer="name" role="status">{inside}</p> }
}

/// Whose it will be.
pub fn owner(visit: &Visit, state: &FormState, wizard: &Wizard) -> AnyView {
    let me = format!("Me ({})", visit.viewer.name);
    match &wizard.known.not_for_others {
        Some(_) => {
            let options = vec![(String::new(), me)];
            let help = "Making one for somebody else needs the right instance.create-for.";
            html! { <SelectField label="For" name="owner" options=options problem=state.problem("owner") help=help/> }
        }
        None => {
            let mut options = vec![(String::new(), me)];
            options.extend(wizard.known.people.iter().map(|(id, name)| (id.as_str().to_owned(), name.clone())));
            let help = "Only this person can open it.";
            let value = wizard.fields.get("owner").to_owned();
            html! {
                <SelectField form=state label="For" name="owner" options=options value=value help=help/>
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_is_of_one_kind() {
        for (shape, kind) in [
            (Resources::new(2, 8, 0), "cpu"),
            (Resources::new(8, 128, 0), "memory"),
            (Resources::new(8, 32, 1), "gpu"),
            (Resources::new(8, 128, 1), "gpu"),
        ] {
            let found: Vec<&str> =
                KINDS.iter().map(|(key, _)| *key).filter(|key| !key.is_empty() && kind_of(shape, key)).collect();
            assert_eq!(found, [kind], "{shape:?}");
            assert!(kind_of(shape, "") && kind_of(shape, "all"));
        }
    }
}
