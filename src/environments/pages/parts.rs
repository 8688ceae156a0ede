//! Named environments of jobs and notebooks.

use atelier_domain::text::{capitalised, counted};
use atelier_engine::environments::BuildState;
use leptos::prelude::*;

use crate::components::{CodeBlock, Glyph, Table};

/// The state in a word, with its shape.
pub fn tag(state: &BuildState) -> AnyView {
    let (word, glyph, colour) = match state {
        BuildState::Absent => ("Not built", "idle", "idle"),
        BuildState::Waiting(_) => ("Waiting", "queued", "queued"),
        BuildState::Building { .. } => ("Building", "starting", "starting"),
        BuildState::Ready(_) => ("Ready", "succeeded", "succeeded"),
        BuildState::Failed { .. } => ("Failed", "failed", "failed"),
        BuildState::Collected { .. } => ("Removed", "stopped", "stopped"),
    };
    html! { <span class="state" data-state=colour><Glyph name=glyph/>{word}</span> }
}

/// What is to be said of a state beside its word, in numbers.
pub fn said(state: &BuildState) -> String {
    match state {
        BuildState::Absent => "The first use builds it.".to_owned(),
        BuildState::Waiting(before) => {
            format!("{} built before it.", counted(*before as u64, "other is", "others are"))
        }
        BuildState::Building { phase, packages, .. } => {
            let known = match packages {
                0 => String::new(),
                count => format!(", {} so far", counted(*count as u64, "package", "packages")),
            };
            format!("{}{known}", capitalised(phase.words()))
        }
        BuildState::Ready(built) => counted(built.packages.len() as u64, "package", "packages"),
        BuildState::Failed { failure, .. } => match failure.line {
            Some(line) => format!("Line {line} failed."),
            None => "It could not be built.".to_owned(),
        },
        BuildState::Collected { .. } => "Nobody used it; the next use builds it again.".to_owned(),
    }
}

pub fn megabytes(bytes: u64) -> String {
    format!("{} MB", bytes.div_ceil(1_000_000))
}

/// What is installed, with versions, behind a summary with the count.
pub fn packages(packages: &[(String, String)]) -> AnyView {
    let rows: Vec<_> = packages
        .iter()
        .map(|(name, version)| {
            view! {
                <tr data-key=name.clone()>
                    <th scope="row"><span class="name">{name.clone()}</span></th>
                    <td class="mono">{version.clone()}</td>
                </tr>
            }
        })
        .collect();
    let head = view! { <th scope="col">"Package"</th><th scope="col">"Version"</th> };
    html! {
        <details class="more">
            <summary>{format!("Show {}", counted(packages.len() as u64, "package", "packages"))}</summary>
            <Table class="table tight" caption="Installed packages with their versions" head=head rows=rows/>
        </details>
    }
}

/// The end of what the last build printed; folded where it went well.
pub fn log(lines: &[String], is_folded: bool) -> AnyView {
    if lines.is_empty() {
        return ().into_any();
    }
    let label = format!("Build log, the last {}", counted(lines.len() as u64, "line", "lines"));
    let log = view! { <CodeBlock text=lines.join("\n") label=label/> };
    if is_folded {
        html! { <details class="more"><summary>"Show the build log"</summary>{log}</details> }
    } else {
        log.into_any()
    }
}
