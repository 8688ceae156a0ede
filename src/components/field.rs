//! Fields of forms, each with its label, its help and the problem beside it.

use atelier_domain::text::MAX_WHY;
use leptos::prelude::*;

use crate::components::icon::Icon;
use crate::form::FormState;

/// Everything around the control itself.
struct Frame {
    id: String,
    label: String,
    optional: bool,
    help: String,
    problem: Option<String>,
}

impl Frame {
    /// The same with what the form knows of the field, and what stands in it.
    fn of(form: &FormState, name: &str, frame: Self, value: String) -> (Self, String) {
        let problem = frame.problem.or_else(|| form.problem(name));
        (Self { problem, ..frame }, form.value(name, &value))
    }

    /// What describes the control: the problem first, then the help.
    fn described_by(&self) -> Option<String> {
        let ids: Vec<String> = [(self.problem.is_some(), "problem"), (!self.help.is_empty(), "help")]
            .into_iter()
            .filter(|(there, _)| *there)
            .map(|(_, part)| format!("{}-{part}", self.id))
            .collect();
        (!ids.is_empty()).then(|| ids.join(" "))
    }

    fn around(self, control: AnyView) -> AnyView {
        let mark = self.optional.then(|| view! { <span class="opt">"optional"</span> });
        let problem = problem_line(&format!("{}-problem", self.id), self.problem);
        let help_id = format!("{}-help", self.id);
        let help = (!self.help.is_empty()).then(|| view! { <p class="help" id=help_id>{self.help}</p> });
        html! {
            <div class="field">
                <label for=self.id>{self.label}{mark}</label>
                {control}
                {problem}
                {help}
            </div>
        }
    }
}

/// What is wrong with a field, under the id by which the field is described.
pub fn problem_line(id: &str, problem: Option<String>) -> Option<AnyView> {
    let id = id.to_owned();
    let line = |problem| {
        view! { <p class="err" id=id><Icon name="warn" class="i-s"/><span class="label">{problem}</span></p> }
    };
    problem.map(|problem| line(problem).into_any())
}

fn id_of(id: Option<String>, name: &str) -> String {
    id.unwrap_or_else(|| format!("f-{name}"))
}

/// Choices of a select: the value that is sent, and its words.
pub fn options(all: &[(&str, &str)]) -> Vec<(String, String)> {
    all.iter().map(|(key, words)| ((*key).to_owned(), (*words).to_owned())).collect()
}

/// All time zones, the chosen one among them whatever it is.
pub fn zones(chosen: &str) -> Vec<(String, String)> {
    let mut names = atelier_domain::zone::choices();
    if !names.iter().any(|name| name == chosen) {
        names.insert(0, chosen.to_owned());
    }
    names.into_iter().map(|name| (name.clone(), name)).collect()
}

/// A field of one line.
#[component]
pub fn Field(
    /// What the last try left behind: what was typed, and the problem with it.
    #[prop(optional, into)]
    form: FormState,
    #[prop(into)] label: String,
    name: &'static str,
    /// The type of the input: `text`, `email`, `password`, `search`, `number`.
    #[prop(default = "text")]
    kind: &'static str,
    /// What stands in it while the form is fresh. Never given back for passwords.
    #[prop(optional, into)]
    value: String,
    #[prop(optional_no_strip)] problem: Option<String>,
    #[prop(optional, into)] help: String,
    /// What the browser may fill in: `username`, `current-password`, `new-password`, `name`, `off`.
    #[prop(optional, into)]
    autocomplete: Option<&'static str>,
    /// Whether it must be filled in; the other fields are marked as optional.
    #[prop(optional)]
    required: bool,
    /// Whether the page starts here. A field with a problem always asks for it.
    #[prop(optional)]
    autofocus: bool,
    #[prop(optional, into)] minlength: Option<u32>,
    #[prop(optional, into)] maxlength: Option<u32>,
    /// The check that script makes while one types, by the domain's own code: `password`.
    #[prop(optional, into)]
    check: Option<&'static str>,
    /// The address that a new password must not resemble, where the form does not ask for it.
    #[prop(optional, into)]
    email: Option<String>,
    /// An example of what is meant, never the label.
    #[prop(optional, into)]
    placeholder: Option<String>,
    #[prop(optional)] large: bool,
    /// Shown but not to be changed, and sent with the form.
    #[prop(optional)]
    readonly: bool,
    /// The id, where two forms of a page have a field of the same name.
    #[prop(optional, into)]
    id: Option<String>,
) -> AnyView {
    let optional = !required && !readonly;
    let (frame, value) = Frame::of(&form, name, Frame { id: id_of(id, name), label, optional, help, problem }, value);
    let value = if kind == "password" { String::new() } else { value };
    let class = if large { "input lg" } else { "input" };
    let control = view! {
        <input
            class=class id=frame.id.clone() name=name type=kind value=value
            autocomplete=autocomplete
            required=required
            readonly=readonly
            autofocus=autofocus || frame.problem.is_some()
            minlength=minlength.map(|count| count.to_string())
            maxlength=maxlength.map(|count| count.to_string())
            placeholder=placeholder
            spellcheck=matches!(kind, "email" | "password").then_some("false")
            autocapitalize=matches!(kind, "email" | "password").then_some("none")
            aria-invalid=frame.problem.is_some().then_some("true")
            aria-describedby=frame.described_by()
            data-check=check
            data-email=email
        />
    };
    frame.around(control.into_any())
}

/// A choice out of a long list.
#[component]
pub fn SelectField(
    #[prop(optional, into)] form: FormState,
    #[prop(into)] label: String,
    name: &'static str,
    options: Vec<(String, String)>,
    #[prop(optional, into)] value: String,
    #[prop(optional_no_strip)] problem: Option<String>,
    #[prop(optional, into)] help: String,
    /// What script proposes where the server knows nothing yet: `time-zone`, the browser's.
    #[prop(optional, into)]
    propose: Option<&'static str>,
    #[prop(optional)] large: bool,
    #[prop(optional, into)] id: Option<String>,
) -> AnyView {
    let frame = Frame { id: id_of(id, name), label, optional: false, help, problem };
    let (frame, value) = Frame::of(&form, name, frame, value);
    let class = if large { "select lg" } else { "select" };
    let options: Vec<_> = options
        .into_iter()
        .map(|(key, words)| {
            let selected = key == value;
            view! { <option value=key selected=selected>{words}</option> }
        })
        .collect();
    let control = view! {
        <select
            class=class id=frame.id.clone() name=name
            autofocus=frame.problem.is_some()
            aria-invalid=frame.problem.is_some().then_some("true")
            aria-describedby=frame.described_by()
            data-zone-proposal=(propose == Some("time-zone")).then_some("")
        >
            {options}
        </select>
    };
    frame.around(control.into_any())
}

/// A field of several lines.
#[component]
pub fn TextField(
    #[prop(optional, into)] form: FormState,
    #[prop(into)] label: String,
    name: &'static str,
    #[prop(optional, into)] value: String,
    #[prop(optional_no_strip)] problem: Option<String>,
    #[prop(optional, into)] help: String,
    /// The lines that are seen.
    #[prop(default = 2)]
    rows: u32,
    #[prop(optional)] required: bool,
    #[prop(optional, into)] maxlength: Option<u32>,
    #[prop(optional, into)] id: Option<String>,
    /// Whether script colours it as code, by the name of the file in the form's `data-colours`.
    #[prop(optional)]
    code: bool,
) -> AnyView {
    let frame = Frame { id: id_of(id, name), label, optional: !required, help, problem };
    let (frame, value) = Frame::of(&form, name, frame, value);
    let control = view! {
        <textarea
            class="textarea" id=frame.id.clone() name=name rows=rows.to_string()
            required=required
            maxlength=maxlength.map(|count| count.to_string())
            spellcheck=code.then_some("false")
            autofocus=frame.problem.is_some()
            aria-invalid=frame.problem.is_some().then_some("true")
            aria-describedby=frame.described_by()
        >
            {inside_textarea(&value)}
        </textarea>
    };
    let control = control.into_any();
    frame.around(if code {
        html! { <div class="coded">{control}</div> }
    } else {
        control
    })
}

/// The reason for a change, as the field `why`.
#[component]
pub fn WhyField(
    state: FormState,
    #[prop(default = "Goes to the history with your name.")] help: &'static str,
    #[prop(optional)] readonly: bool,
    #[prop(optional, into)] id: Option<String>,
) -> AnyView {
    let id = id_of(id, "why");
    html! {
        <Field
            form=state id=id label="Why" name="why" help=help readonly=readonly autocomplete="off"
            maxlength=MAX_WHY as u32
        />
    }
}

/// Text for the inside of a `<textarea>`. The view macro escapes everything but that (tachys 0.2 counts it
/// among the elements whose content is raw), and HTML drops a line break at its start.
fn inside_textarea(text: &str) -> String {
    let escaped = atelier_studio::html::text(text);
    if escaped.starts_with('\n') { format!("\n{escaped}") } else { escaped }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::components::testing::html;

    const NASTY: &str = r#""><script>alert(1)</script><b a='&amp;"#;

    #[test]
    fn what_people_type_stays_text() {
        for shown in [
            html(|| view! { <Field label="Name" name="name" value=NASTY/> }),
            html(|| view! { <Field label=NASTY name="name" help=NASTY problem=Some(NASTY.to_owned())/> }),
            html(|| view! { <TextField label="Why" name="why" value=NASTY/> }),
            html(|| {
                let options = vec![(NASTY.to_owned(), NASTY.to_owned())];
                view! { <SelectField label="Zone" name="zone" value=NASTY options=options/> }
            }),
        ] {
            assert!(!shown.contains("<script>") && !shown.contains("<b "), "{shown}");
        }
        let field = html(|| view! { <Field label="Name" name="name" value=NASTY/> });
        assert!(field.contains("value=\"&quot;&gt;") || field.contains("value=\"&quot;>"), "{field}");
        assert!(!field.contains("value=\"\""), "{field}");
    }

    #[test]
    fn a_problem_stands_beside_its_field() {
        let field = html(|| {
            view! {
                <Field
                    label="E-mail" name="email" kind="email" help="For signing in."
                    problem=Some("Enter an e-mail address.".to_owned())
                />
            }
        });
        assert!(field.contains(r#"aria-invalid="true""#), "{field}");
        assert!(field.contains(r#"aria-describedby="f-email-problem f-email-help""#), "{field}");
        assert!(field.contains(r#"id="f-email-problem""#) && field.contains(r#"id="f-email-help""#), "{field}");
        assert!(field.contains("autofocus"), "{field}");
    }

    #[test]
    fn a_text_cannot_end_its_field() {
        let field = html(|| view! { <TextField label="Why" name="why" value="</textarea><i>&lt;"/> });
        assert!(field.contains(">&lt;/textarea&gt;&lt;i&gt;&amp;lt;</textarea>"), "escaped once, no more: {field}");
    }

    #[test]
    fn a_password_is_never_given_back() {
        let field = html(|| view! { <Field label="Password" name="password" kind="password" value="hunter2"/> });
        assert!(!field.contains("hunter2"), "{field}");
    }

    #[test]
    fn a_text_of_several_lines_comes_back_as_it_was() {
        let field = html(|| view! { <TextField label="Why" name="why" value="left\nthe team"/> });
        assert!(field.contains(">left\nthe team</textarea>"), "{field}");
    }

    #[test]
    fn the_chosen_option_is_selected() {
        let field = html(|| {
            let options = ["a", "b"].map(|key| (key.to_owned(), key.to_uppercase())).to_vec();
            view! { <SelectField label="Zone" name="zone" value="b" options=options/> }
        });
        assert!(field.contains(r#"<option value="a">A"#), "{field}");
        assert!(field.contains(r#"<option value="b" selected"#), "{field}");
    }
}
