//! Scripts: read by who may, changed by who may, and accepted by the owner alone.

use atelier_domain::access::Whose;
use atelier_domain::compute::script::{DEFAULT_SCRIPT, MAX_SCRIPT_BYTES, Script, ScriptKind};
use atelier_domain::compute::verb::Verb;
use atelier_domain::paths;
use atelier_studio::caller::Caller;
use atelier_studio::instances::detail::InstanceDetail;
use atelier_studio::instances::scripts::text_of as script_text;
use leptos::prelude::*;

use crate::components::{Card, CodeBlock, Field, LinkButton, PostForm, SaveRow, SubmitButton, TextField, Tone, Why};
use crate::frame::Visit;
use crate::instances::http::scripts::FORM;
use crate::instances::pages::detail::parts::blocked;

/// The texts of both scripts, as far as the viewer may read them.
#[derive(Clone, Debug, Default)]
pub struct Texts {
    pub is_allowed: bool,
    pub creation: String,
    pub startup: String,
}

/// Reads them. The owner may, and who may change them.
pub async fn texts(caller: &Caller, detail: &InstanceDetail) -> Texts {
    let may_change = caller
        .actor()
        .is_ok_and(|actor| actor.person.rights().check(Verb::SetScripts.right(), detail.view.whose).is_ok());
    if !detail.view.is_own() && !may_change {
        return Texts::default();
    }
    let read = |script: Option<Script>| async move {
        match script {
            Some(script) => script_text(caller, &script).await.unwrap_or_default(),
            None => String::new(),
        }
    };
    let scripts = &detail.view.instance.scripts;
    Texts {
        is_allowed: true,
        creation: read(scripts.creation.clone()).await,
        startup: read(scripts.startup.clone()).await,
    }
}

/// Which there are, in a few words.
pub fn summary(detail: &InstanceDetail) -> String {
    let scripts = &detail.view.instance.scripts;
    let there = [(scripts.creation.is_some(), "creation"), (scripts.startup.is_some(), "startup")];
    let there: Vec<&str> = there.into_iter().filter(|(is_there, _)| *is_there).map(|(_, word)| word).collect();
    match (there.is_empty(), detail.view.instance.awaits_acceptance()) {
        (true, _) => "none".to_owned(),
        (false, true) => format!("{}, not accepted yet", there.join(" and ")),
        (false, false) => there.join(" and "),
    }
}

/// On every tab: that there is something to read.
pub fn card_to_accept_notice(visit: &Visit, detail: &InstanceDetail) -> AnyView {
    if !detail.view.instance.awaits_acceptance() {
        return ().into_any();
    }
    let (owner, by) = (&detail.view.owner_name, &detail.scripts_by);
    let given = detail.view.instance.given.as_ref().map(|given| &given.from_name);
    let (text, others, own, go) = match &given {
        Some(from) => (
            format!(
                "It was {from}’s. Programs and start files that {from} left in its home and its environment may run as \
                 {owner}, so nothing starts it, schedules included, before {owner} has accepted that. {owner} can also \
                 delete it."
            ),
            "Its new owner has not accepted it yet",
            format!("{from} gave it to you"),
            "Accept or delete it",
        ),
        None => (
            format!(
                "{by} set scripts that run when it starts. Until its owner has accepted them they run with an empty \
                 home and without tokens."
            ),
            "Its scripts are not accepted yet",
            "Somebody else made scripts for you".to_owned(),
            "Read them",
        ),
    };
    if !detail.view.is_own() {
        return html! { <Why tone=Tone::Neutral title=others text=text/> };
    }
    let href = format!("{}#accept", paths::instance(visit.slug(), &detail.view.name));
    html! {
        <Why tone=Tone::Warning title=own text=text>
            <LinkButton href=href icon="code">{go}</LinkButton>
        </Why>
    }
}

/// For the owner: the scripts to read, and the word that lets them have the home.
pub fn card_to_accept(visit: &Visit, detail: &InstanceDetail, texts: &Texts) -> AnyView {
    if !detail.view.instance.awaits_acceptance() || !detail.view.is_own() {
        return ().into_any();
    }
    let shown = |kind: ScriptKind, text: &str, script: Option<&Script>| {
        let script = script?;
        let arguments = (!script.arguments.is_empty())
            .then(|| view! { <p class="xs">"Arguments: "<span class="mono">{script.arguments.clone()}</span></p> });
        let text = text.to_owned();
        Some(view! { <CodeBlock text=text label=label(kind)/>{arguments} })
    };
    let scripts = &detail.view.instance.scripts;
    let creation = shown(ScriptKind::Creation, &texts.creation, scripts.creation.as_ref());
    let startup = shown(ScriptKind::Startup, &texts.startup, scripts.startup.as_ref());
    let given = detail.view.instance.given.as_ref().map(|given| &given.from_name);
    let hidden =
        vec![("instance", detail.view.name.clone()), ("revision", detail.view.instance.scripts_revision.to_string())];
    let (heading, note, words, accept) = match &given {
        Some(from) => (
            "What waits for your word",
            format!("given by {from}"),
            format!(
                "What {from} left in its home and its environment may run as you: start files of shells, of Jupyter \
                 and of Python, and the scripts below if there are any. Accept it only from somebody you trust, or \
                 delete the instance."
            ),
            "Accept it",
        ),
        None => (
            "Scripts that wait for you",
            format!("set by {}", detail.scripts_by),
            "They run as you. Accept them only if you know what each line does: from the next start on they have your \
             home and what is in it."
                .to_owned(),
            "Accept scripts",
        ),
    };
    let denied = visit.viewer.rights.check(Verb::AcceptScripts.right(), Whose::Own).err();
    let because = denied.map(|denied| visit.viewer.why_not(&denied));
    html! {
        <section id="accept">
            <Card heading=heading note=note>
                <p class="muted">{words}</p>
                {creation}
                {startup}
                <PostForm function="accept_scripts" hidden=hidden class="row">
                    <SubmitButton icon="check" disabled_because=because>{accept}</SubmitButton>
                </PostForm>
            </Card>
        </section>
    }
}

/// The form that changes them: typed, or as files.
pub fn form(visit: &Visit, detail: &InstanceDetail, texts: &Texts) -> AnyView {
    let because = blocked(visit, &detail.view, Verb::SetScripts);
    if !texts.is_allowed {
        let words = because.unwrap_or_else(|| "Scripts are for its owner and for who may change them.".into());
        return html! { <Card heading="Scripts"><p class="muted">{words}</p></Card> };
    }
    let state = visit.form(FORM);
    let scripts = &detail.view.instance.scripts;
    let creation = fields(&state, ScriptKind::Creation, &texts.creation, scripts.creation.as_ref());
    let startup = fields(&state, ScriptKind::Startup, &texts.startup, scripts.startup.as_ref());
    let refusal = state.refusal().map(|reason| {
        view! { <Why tone=Tone::Failed title="This did not work; nothing was changed" text=reason alert=true/> }
    });
    let action = paths::instance_scripts(visit.slug(), &detail.view.name);
    let not_own = (!detail.view.is_own()).then(|| {
        let words = format!(
            "You are not its owner: what you set runs with an empty home and without tokens until {} has accepted it.",
            detail.view.owner_name
        );
        view! { <p class="help">{words}</p> }
    });
    html! {
        <section id="scripts">
            <Card heading="Scripts" note="as the owner, in the instance’s sandbox">
                <form class="stack" method="post" action=action enctype="multipart/form-data" data-post=FORM>
                    {refusal}
                    {not_own}
                    {creation}
                    {startup}
                    <SaveRow label="Save scripts" disabled_because=because/>
                </form>
            </Card>
        </section>
    }
}

fn fields(state: &crate::form::FormState, kind: ScriptKind, text: &str, script: Option<&Script>) -> AnyView {
    let help = match kind {
        ScriptKind::Creation => "Runs once, and again after a rebuild.",
        ScriptKind::Startup => "Runs at each start.",
    };
    let [script_name, file_name, arguments_name, limit_name] = names(kind);
    let limit = script.map_or(DEFAULT_SCRIPT, |script| script.limit).as_millis() / 60_000;
    let arguments = script.map(|script| script.arguments.clone()).unwrap_or_default();
    let file_id = format!("f-{file_name}");
    html! {
        <fieldset class="field stack-s script">
            <legend class="label">{label(kind)}</legend>
            <TextField
                form=state label="Text" name=script_name id=format!("f-{script_name}") value=text rows=6
                help=format!("{help} At most {} KiB; a first line such as #!/usr/bin/env python3 is \
                      kept.", MAX_SCRIPT_BYTES / 1_024)
            />
            <div class="cols-3 fields narrow-stacks">
                <div class="field">
                    <label for=file_id.clone()>"Or a file"<span class="opt">"optional"</span></label>
                    <input class="input" type="file" id=file_id name=file_name/>
                </div>
                <Field form=state label="Arguments" name=arguments_name value=&arguments autocomplete="off"/>
                <Field form=state label="Time limit, min" name=limit_name kind="number" value=&limit.to_string()/>
            </div>
        </fieldset>
    }
}

pub const fn label(kind: ScriptKind) -> &'static str {
    match kind {
        ScriptKind::Creation => "Creation script",
        ScriptKind::Startup => "Startup script",
    }
}

pub const fn names(kind: ScriptKind) -> [&'static str; 4] {
    match kind {
        ScriptKind::Creation => ["creation_script", "creation_file", "creation_arguments", "creation_limit"],
        ScriptKind::Startup => ["startup_script", "startup_file", "startup_arguments", "startup_limit"],
    }
}
