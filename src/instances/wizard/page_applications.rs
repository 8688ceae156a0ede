//! What runs in it, and the scripts that run before.

use atelier_domain::compute::script::{MAX_SCRIPT_BYTES, ScriptKind};
use leptos::prelude::*;

use crate::components::{Icon, TextField, problem_line};
use crate::form::FormState;
use crate::frame::Visit;
use crate::instances::pages::detail::scripts::{label, names};
use crate::instances::wizard::steps::Wizard;

/// What runs in it, and the scripts that run before.
pub fn step(_visit: &Visit, state: &FormState, wizard: &Wizard) -> AnyView {
    let owner = wizard.known.people.iter().find(|(id, _)| id.as_str() == wizard.fields.get("owner"));
    let behalf = owner.map(|(_, name)| {
        let text = format!(
            "{name} will own it, and these are yours: until {name} has read and accepted them, they run in an empty \
             home and without tokens."
        );
        view! { <p class="muted"><Icon name="info" class="i-s"/>" "{text}</p> }
    });
    let scripts: Vec<_> = ScriptKind::ALL.into_iter().map(|kind| script(kind, state, wizard)).collect();
    html! {
        <section class="card">
            <header><h2>"Applications"</h2></header>
            <div class="body cols-2 apps">
                <p>
                    <Icon name="notebook"/>
                    <b>"JupyterLab"</b>
                    <span class="help">
                        "Notebooks with numpy, pandas, scikit-learn and matplotlib; pip install adds more and stays."
                    </span>
                </p>
                <p>
                    <Icon name="terminal"/>
                    <b>"Terminal"</b>
                    <span class="help">"A shell in the home. It goes on while nobody looks."</span>
                </p>
            </div>
        </section>
        {behalf}
        {scripts}
    }
}

fn script(kind: ScriptKind, state: &FormState, wizard: &Wizard) -> AnyView {
    let (heading, [text, file, arguments, limit]) = (label(kind), names(kind));
    let help = match kind {
        ScriptKind::Creation => "Runs once, when it is first set up, and again after a rebuild.",
        ScriptKind::Startup => "Runs at each start, after the creation script.",
    };
    let [value, words, minutes] = [text, arguments, limit].map(|field| wizard.fields.get(field).to_owned());
    let problem = state.problem(file);
    let upload_id = format!("f-{file}");
    let (help_id, problem_id) = (format!("{upload_id}-help"), format!("{upload_id}-problem"));
    let described = if problem.is_some() { format!("{problem_id} {help_id}") } else { help_id.clone() };
    let problem = problem_line(&problem_id, problem);
    let most = format!("In place of what is typed above. Text, at most {} KiB.", MAX_SCRIPT_BYTES >> 10);
    let uploaded = format!("{heading}, uploaded");
    html! {
        <section class="card script">
            <header><h2>{heading}</h2><span class="push note">{help}</span></header>
            <div class="body stack">
                <TextField
                    form=state label=heading name=text value=value rows=6
                    help="Lines for sh, or for what the first line names, such as #!/usr/bin/env python3. It runs as \
                          the owner, in the home, in the instance’s sandbox."
                />
                <div class="cols-3">
                    <div class="field">
                        <label for=upload_id.clone()>{uploaded}<span class="opt">"optional"</span></label>
                        <input class="input" id=upload_id name=file type="file" aria-describedby=described/>
                        {problem}
                        <p class="help" id=help_id>{most}</p>
                    </div>
                    <crate::components::Field
                        form=state label="Arguments" name=arguments value=words autocomplete="off"
                        help="Words and quotes, read without a shell: $1, $2 …"
                    />
                    <crate::components::Field
                        form=state label="Time limit, minutes" name=limit kind="number" value=minutes required=true
                        help="It fails when this is over: 1 to 1440."
                    />
                </div>
            </div>
        </section>
    }
}
