//! The choice of roles, for a new person and for one who is here.

use atelier_domain::access::Role;
use leptos::prelude::*;

use crate::components::{Choice, ChoiceKind, ChoiceList};
use crate::form::FormState;

/// The five roles with what each is for; `held` are ticked on a fresh form.
#[component]
pub fn RoleChoices(
    /// What the last try left behind.
    state: FormState,
    /// The roles that are ticked on a fresh form.
    held: Vec<Role>,
    /// Why nothing can be changed; the roles are only shown then.
    #[prop(optional_no_strip)]
    fixed_because: Option<String>,
) -> impl IntoView {
    let is_fixed = fixed_because.is_some();
    let choices = Role::ALL
        .into_iter()
        .map(|role| Choice {
            value: role.key().to_owned(),
            label: role.label().to_owned(),
            help: role.summary().to_owned(),
            ticked: state.is_ticked("roles", role.key(), held.contains(&role)),
            // The reason stands once above the list; repeated five times it would be noise.
            fixed_because: is_fixed.then(String::new),
        })
        .collect();
    view! {
        <ChoiceList
            legend="Roles" name="roles[]" kind=ChoiceKind::Many choices=choices problem=state.problem("roles")
            help=fixed_because.unwrap_or_else(|| "Their rights add up. Most people need Data Scientist.".to_owned())
        />
    }
}
