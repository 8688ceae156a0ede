//! Named environments of jobs and notebooks.

use atelier_domain::text::{capitalised, counted};
use atelier_engine::environments::BuildState;
use leptos::prelude::*;

use crate::components::Glyph;

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
    view! { <span class="state" data-state=colour><Glyph name=glyph/>{word}</span> }.into_any()
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
