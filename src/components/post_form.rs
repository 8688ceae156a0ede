//! A form that posts to a server function and works without script.

use atelier_domain::paths;
use leptos::prelude::*;

use crate::components::button::{Look, SubmitButton};
use crate::components::why::{Tone, Why};
use crate::form::FormState;

/// A form for one server function. If the last try was refused as a whole, the reason stands above the
/// fields; problems of single fields stand beside them.
#[component]
pub fn PostForm(
    /// The server function's name, such as `create_person`.
    function: &'static str,
    /// What the last try left behind; a fresh form by default.
    #[prop(optional)]
    state: FormState,
    /// Fields that are sent but not shown.
    #[prop(optional)]
    hidden: Vec<(&'static str, String)>,
    /// The class; forms are stacks of fields unless they say otherwise.
    #[prop(default = "stack")]
    class: &'static str,
    children: Children,
) -> AnyView {
    let refusal = state.refusal().map(|reason| {
        view! { <Why tone=Tone::Failed title="This did not work; nothing was changed" text=reason alert=true/> }
    });
    let hidden: Vec<_> =
        hidden.into_iter().map(|(name, value)| view! { <input type="hidden" name=name value=value/> }).collect();
    html! {
        <form method="post" action=paths::function(function) class=class data-post=function>
            {hidden}
            {refusal}
            {children()}
        </form>
    }
}

/// The row at the end of a form with its button.
#[component]
pub fn SaveRow(
    label: &'static str,
    #[prop(default = Look::Plain)] look: Look,
    #[prop(default = "check")] icon: &'static str,
    #[prop(default = "Saving…")] pending: &'static str,
    #[prop(optional_no_strip)] disabled_because: Option<String>,
    /// What stands beside the button, such as the way back.
    #[prop(optional)]
    children: Option<Children>,
) -> AnyView {
    html! {
        <div class="row">
            <SubmitButton look=look icon=icon pending=pending disabled_because=disabled_because>{label}</SubmitButton>
            {children.map(|children| children())}
        </div>
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::components::testing::html;
    use crate::form::Flash;

    #[test]
    fn a_refusal_is_read_out_above_the_fields() {
        let flash = Flash {
            form: "create_person".into(),
            refusal: Some("That address has an account <already>.".into()),
            ..Flash::default()
        };
        let shown = html(move || {
            let state = FormState::of(Some(&flash), "create_person");
            view! {
                <PostForm function="create_person" state=state hidden=vec![("id", "a\"b".into())]>"fields"</PostForm>
            }
        });
        assert!(shown.contains(r#"method="post" action="/fn/create_person""#), "{shown}");
        assert!(shown.contains(r#"role="alert""#) && shown.contains("&lt;already&gt;"), "{shown}");
        assert!(shown.contains("value=\"a&quot;b\""), "{shown}");
        assert!(shown.find("role=\"alert\"") < shown.find("fields"), "{shown}");
    }
}
