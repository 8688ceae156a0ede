//! A few choices, each with its explanation.

use leptos::prelude::*;

use crate::components::field::problem_line;

/// How many of the choices may be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChoiceKind {
    One,
    Many,
}

/// One of several choices.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    pub value: String,
    pub label: String,
    pub help: String,
    pub ticked: bool,
    /// Why it cannot be changed; it keeps its state then and is sent with the form if ticked. May be empty
    /// where the reason stands elsewhere.
    pub fixed_because: Option<String>,
}

/// One box to tick.
#[component]
pub fn Checkbox(
    /// The name under which it is sent.
    name: &'static str,
    /// What ticking it means.
    #[prop(into)]
    label: String,
    #[prop(default = "on")] value: &'static str,
    #[prop(optional)] ticked: bool,
    #[prop(optional, into)] help: String,
) -> AnyView {
    let help = (!help.is_empty()).then(|| view! { <span class="help">{help}</span> });
    html! {
        <label class="check">
            <input type="checkbox" name=name value=value checked=ticked/>
            <span>{label}{help}</span>
        </label>
    }
}

/// A group of choices with explanations, such as roles.
#[component]
pub fn ChoiceList(
    #[prop(into)] legend: String,
    /// The name under which they are sent.
    name: &'static str,
    kind: ChoiceKind,
    choices: Vec<Choice>,
    /// What is wrong with what was chosen.
    #[prop(optional_no_strip)]
    problem: Option<String>,
    #[prop(optional, into)] help: String,
    /// Whether the legend is only for assistive technology, since a heading above says the same.
    #[prop(optional)]
    legend_hidden: bool,
) -> AnyView {
    let input = match kind {
        ChoiceKind::One => "radio",
        ChoiceKind::Many => "checkbox",
    };
    let problem_id = format!("f-{name}-problem");
    let described = problem.is_some().then(|| problem_id.clone());
    let problem = problem_line(&problem_id, problem);
    let help = (!help.is_empty()).then(|| view! { <p class="help">{help}</p> });
    let choices: Vec<_> = choices
        .into_iter()
        .map(|choice| {
            let fixed = choice.fixed_because.is_some();
            // A disabled box is not sent, so what must stay ticked travels in a hidden field.
            let kept =
                (fixed && choice.ticked).then(|| view! { <input type="hidden" name=name value=choice.value.clone()/> });
            let because = choice
                .fixed_because
                .filter(|reason| !reason.is_empty())
                .map(|reason| view! { <span class="help">{reason}</span> });
            let help = (!choice.help.is_empty()).then(|| view! { <span class="help">{choice.help}</span> });
            view! {
                {kept}
                <label class="choice">
                    <input type=input name=name value=choice.value checked=choice.ticked disabled=fixed/>
                    <b>{choice.label}</b>
                    {help}
                    {because}
                </label>
            }
        })
        .collect();
    html! {
        <fieldset class="field choices" aria-describedby=described>
            <legend class=if legend_hidden { "sr" } else { "label" }>{legend}</legend>
            {help}
            {choices}
            {problem}
        </fieldset>
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::components::testing::html;

    #[test]
    fn a_choice_that_cannot_be_changed_is_still_sent() {
        let list = html(|| {
            let choices = vec![
                Choice {
                    value: "owner".into(),
                    label: "Owner".into(),
                    ticked: true,
                    fixed_because: Some("The last Owner stays.".into()),
                    ..Choice::default()
                },
                Choice { value: "reader".into(), label: "Reader".into(), ..Choice::default() },
            ];
            view! { <ChoiceList legend="Roles" name="roles" kind=ChoiceKind::Many choices=choices/> }
        });
        assert!(list.contains(r#"type="hidden" name="roles" value="owner""#), "{list}");
        assert!(list.contains("The last Owner stays."), "{list}");
        assert!(!list.contains(r#"type="hidden" name="roles" value="reader""#), "{list}");
    }
}
