//! VS Code, as a part of the page of the environment: whether it is installed, how far it is, and the button.

use atelier_domain::access::Action;
use atelier_engine::environments::editor::{EditorPhase, EditorStatus, VERSION, missing_packages};
use leptos::prelude::*;

use crate::components::{Card, CodeBlock, Def, DefList, Look, PostForm, SubmitButton, Tone, Why, ago};
use crate::frame::Visit;
use crate::server::caller::here;

/// The steps of an installation, in order.
const STEPS: [EditorPhase; 4] =
    [EditorPhase::Node, EditorPhase::Downloading, EditorPhase::Compiling, EditorPhase::Checking];

pub fn card(visit: &Visit) -> AnyView {
    let Ok(caller) = here() else { return ().into_any() };
    let editors = caller.studio.editors();
    // One that the command line has installed is found with this.
    let _ = editors.current();
    let refusal = visit.viewer.refusal(Action::EngineWrite);
    let inside = match editors.status() {
        EditorStatus::Absent => absent(refusal),
        EditorStatus::Installing { phase, since, lines } => installing(visit, phase, since, &lines),
        EditorStatus::Ready(built) => {
            let at = ago(&visit.viewer, built.built_at);
            let size = format!("{} MB", built.size.div_ceil(1_000_000));
            html! {
                <p>
                    "Every instance offers it from its next start on. It starts when somebody opens it, and keeps \
                     settings and extensions in their home."
                </p>
                <DefList>
                    <Def term="Version"><span class="mono">{format!("code-server {VERSION}")}</span></Def>
                    <Def term="Installed">{at}</Def>
                    <Def term="On disk">{size}</Def>
                </DefList>
            }
        }
        EditorStatus::Failed(failure) => {
            let text = format!("{} {}", failure.why, failure.help);
            let log = (!failure.lines.is_empty()).then(
                || view! { <CodeBlock text=failure.lines.join("\n") label="The last lines of the installation"/> },
            );
            let again = button("Try again", refusal);
            html! {
                <Why tone=Tone::Failed title="It could not be installed" text=text code="editor-failed">{again}</Why>
                {log}
            }
        }
    };
    let refused = visit.refused(&["install_editor"]);
    html! {
        <section id="vscode" data-live="vscode">
            <Card heading="VS Code in the browser">{refused}{inside}</Card>
        </section>
    }
}

fn absent(refusal: Option<String>) -> AnyView {
    let missing = missing_packages();
    let warning = (!missing.is_empty()).then(|| {
        let text = format!(
            "It is compiled on this server, and these packages of the system are missing: {}. Install them first: \
             apt-get install {}",
            missing.join(", "),
            missing.join(" ")
        );
        view! { <Why tone=Tone::Warning title="Something is missing for it" text=text/> }
    });
    let button = button("Install VS Code", refusal);
    html! {
        <p class="muted">
            {format!("Not installed. code-server {VERSION} and Node.js 24 are downloaded and partly compiled, which \
                      takes some minutes and 1 GB of disk.")}
        </p>
        {warning}
        {button}
    }
}

fn button(words: &'static str, refusal: Option<String>) -> AnyView {
    html! {
        <PostForm function="install_editor" class="row">
            <SubmitButton icon="download" look=Look::Plain pending="Beginning…" disabled_because=refusal>
                {words}
            </SubmitButton>
        </PostForm>
    }
}

fn installing(visit: &Visit, phase: EditorPhase, since: atelier_domain::Timestamp, lines: &[String]) -> AnyView {
    let text = match STEPS.iter().position(|step| *step == phase) {
        Some(step) => format!("Step {} of {}.", step + 1, STEPS.len()),
        None => "Another build goes on in the same folder; this follows it.".to_owned(),
    };
    let (title, since) = (format!("Installing: {}", phase.words()), ago(&visit.viewer, since));
    let log = (!lines.is_empty())
        .then(|| view! { <CodeBlock text=lines.join("\n") label="The last lines of the installation"/> });
    html! {
        <Why tone=Tone::Neutral title=title text=text>
            <p class="muted">"Begun "{since}</p>
        </Why>
        {log}
    }
}
