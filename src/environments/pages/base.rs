//! The Python environment that instances start with: how it does, what is in it, and the list that operators
//! change.

use atelier_domain::access::Action;
use atelier_domain::history::Topic;
use atelier_domain::text::counted;
use atelier_engine::environments::{BaseStatus, Built, MAX_LINE, MAX_LINES, Phase};
use atelier_studio::environments::base::{EnvironmentDetail, environment};
use leptos::prelude::*;

use crate::components::{
    Card, Def, DefList, Look, NavItem, Page, PostForm, SaveRow, SubmitButton, TextField, Tone, Why, WhyField, ago,
};
use crate::environments::pages::parts::{self, megabytes};
use crate::frame::{Place, Visit, load, studio};
use crate::server::caller::here;

#[component]
pub fn EnvironmentPage() -> impl IntoView {
    studio(Place::of(NavItem::Environment, Action::EngineRead, &[Topic::Engine]), |visit| {
        load(visit.viewer.clone(), async { environment(&here()?).await }, move |detail| show(&visit, &detail))
    })
}

fn show(visit: &Visit, detail: &EnvironmentDetail) -> AnyView {
    let refusal = visit.viewer.refusal(Action::EngineWrite);
    let (status, editor) = (status(visit, detail, refusal.clone()), editor(visit, detail, refusal));
    let is_ready = matches!(detail.status, BaseStatus::Ready(_));
    let (packages, log) = (packages(visit, detail), parts::log(&detail.log, is_ready));
    let (facts, vscode) = (facts(detail), crate::environments::pages::editors::card(visit));
    let refused = visit.refused(&["rebuild_environment"]);
    html! {
        <Page
            heading="Environment"
            sub="The Python packages that every instance starts with, built once on this server. People install more \
                 into a layer of their own."
        >
            {refused}
            <div class="split">
                <div class="stack">
                    <div data-live="environment">{status}</div>
                    <div data-live="packages">{packages}</div>
                    <div data-live="log">{log}</div>
                    {vscode}
                </div>
                <aside class="stack">{editor}{facts}</aside>
            </div>
        </Page>
    }
}

/// How the environment does that the list asks for.
fn status(visit: &Visit, detail: &EnvironmentDetail, refusal: Option<String>) -> AnyView {
    let kept = match detail.in_use {
        Some(_) => " New instances get the one below meanwhile.",
        None => " Instances have no JupyterLab until then; their terminals work.",
    };
    let again = |words: &'static str, icon: &'static str, look: Look| {
        view! {
            <PostForm function="rebuild_environment">
                <SubmitButton icon=icon look=look disabled_because=refusal.clone()>{words}</SubmitButton>
            </PostForm>
        }
    };
    match &detail.status {
        BaseStatus::Off => html! {
            <Why
                tone=Tone::Warning title="No environment, and none is built" code="environment-off"
                text="Building is switched off on this server, by the setting environment or because it makes no \
                      nodes. Build it in a shell on the server with atelier environment build, or set environment to \
                      auto."
            />
        },
        BaseStatus::Waiting => {
            let text = format!("It is looked whether there is one that fits the list.{kept}");
            html! { <Why tone=Tone::Neutral title="Starting" text=text/> }
        }
        BaseStatus::Building { phase, packages, since, .. } => {
            let (title, since) = (format!("Building: {}", phase.words()), ago(&visit.viewer, *since));
            let text = format!("{}{kept}", building(*phase, *packages));
            html! {
                <Why tone=Tone::Neutral title=title text=text>
                    <p class="muted">"Begun "{since}</p>
                </Why>
            }
        }
        BaseStatus::Ready(built) => {
            let text = format!(
                "{}, {} on disk, built in {}. A rebuild takes the newest versions that the list allows; this one stays \
                 in use until it is done.",
                counted(built.packages.len() as u64, "package", "packages"),
                megabytes(built.size),
                took(built),
            );
            let again = again("Build again", "restart", Look::Plain);
            html! { <Why tone=Tone::Good title="Ready" text=text>{again}</Why> }
        }
        BaseStatus::Failed { failure, next_try } => {
            let next_try = ago(&visit.viewer, *next_try);
            let text = format!("{} {}{}", failure.why, failure.help, kept);
            let again = again("Try again now", "restart", Look::Plain);
            html! {
                <Why tone=Tone::Failed title="It could not be built" text=text code="environment-failed">
                    {again}
                    <p class="muted">"Next try by itself "{next_try}</p>
                </Why>
            }
        }
    }
}

/// Where a build is, in numbers.
fn building(phase: Phase, packages: usize) -> String {
    let known = match packages {
        0 => String::new(),
        count => format!(", {} so far", counted(count as u64, "package", "packages")),
    };
    match Phase::ALL.iter().position(|step| *step == phase) {
        Some(step) => format!("Step {} of {}{known}.", step + 1, Phase::ALL.len()),
        None => "Another build goes on in the same folder; this one follows it.".to_owned(),
    }
}

fn took(built: &Built) -> String {
    match built.built_in().as_secs() {
        seconds @ 0..120 => format!("{} s", seconds.max(1)),
        seconds => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}

/// What instances get now.
fn packages(visit: &Visit, detail: &EnvironmentDetail) -> AnyView {
    let Some(built) = &detail.in_use else { return ().into_any() };
    let count = counted(built.packages.len() as u64, "package", "packages");
    let packages = parts::packages(&built.packages);
    let note = format!("{count}, Python {}", built.python.version);
    let (hash, size, took, at) =
        (built.hash.clone(), megabytes(built.size), took(built), ago(&visit.viewer, built.built_at));
    html! {
        <Card heading="In use" note=note>
            <DefList>
                <Def term="Name"><span class="mono">{hash}</span></Def>
                <Def term="Built">{at}", in "{took}</Def>
                <Def term="On disk">{size}</Def>
            </DefList>
            {packages}
        </Card>
    }
}

fn editor(visit: &Visit, detail: &EnvironmentDetail, refusal: Option<String>) -> AnyView {
    let state = visit.form("set_environment");
    let help = format!(
        "One package a line, such as polars or pandas>=2,<3. At most {MAX_LINES} lines of {MAX_LINE} characters. No \
         options, no addresses: another index is set in /etc/pip.conf of the server."
    );
    let list = state.value("requirements", &detail.list);
    let rows = u32::try_from(detail.list.lines().count().clamp(6, 20) + 2).unwrap_or(8);
    html! {
        <Card heading="List">
            <PostForm function="set_environment" state=state.clone()>
                <TextField
                    form=&state label="Packages" name="requirements" value=list help=help rows=rows required=true
                />
                <WhyField state=state/>
                <SaveRow label="Save and build" look=Look::Primary disabled_because=refusal/>
            </PostForm>
        </Card>
    }
}

fn facts(detail: &EnvironmentDetail) -> AnyView {
    let (python, folder) = (detail.python.display().to_string(), detail.folder.display().to_string());
    let builds = if detail.builds { "by the server, when one is missing" } else { "not by the server" };
    html! {
        <Card heading="How it is built">
            <DefList>
                <Def term="Built">{builds}</Def>
                <Def term="Python"><span class="mono">{python}</span></Def>
                <Def term="Folder"><span class="mono">{folder}</span></Def>
            </DefList>
        </Card>
    }
}
