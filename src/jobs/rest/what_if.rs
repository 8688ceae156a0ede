//! When jobs start, and what they would do on other computes.

use atelier_domain::money::{Decimal, Money};
use atelier_engine::clock;
use atelier_simulate::forecast::Eta;
use atelier_studio::forecast::what_if;
use atelier_studio::forecast::what_if::Choice;
use atelier_studio::jobs::submit::JobRequest;
use axum::http::StatusCode;
use serde::Serialize;

use crate::server::rest::asked::{Asked, Json};
use crate::server::rest::problem::Answered;
use crate::server::rest::view::{When, json};

/// When a job starts, or why that is unknown.
#[derive(Debug, Serialize)]
pub struct EtaView {
    start: Option<When>,
    /// Seconds from now until it starts.
    in_seconds: Option<i64>,
    end: Option<When>,
    /// Jobs on the same compute that end before it starts.
    jobs_ending_before: Option<u64>,
    /// Why there is no start; a code that stays.
    unknown: Option<&'static str>,
    sentence: String,
}

impl From<Eta> for EtaView {
    fn from(eta: Eta) -> Self {
        match eta {
            Eta::Start { at, end, until } => Self {
                start: Some(When(at)),
                in_seconds: Some(at.since(clock::now()).as_millis() / 1_000),
                end: end.map(When),
                jobs_ending_before: Some(until.ended),
                unknown: None,
                sentence: what_if::before(&until),
            },
            Eta::Unknown(why) => Self {
                start: None,
                in_seconds: None,
                end: None,
                jobs_ending_before: None,
                unknown: Some(why.code()),
                sentence: why.sentence(),
            },
        }
    }
}

#[derive(Debug, Serialize)]
struct ChoicesView {
    /// How long such a job runs, as far as anybody knows.
    run_seconds: Option<f64>,
    /// `usual` for the median of earlier jobs of that name, `time-limit`, or nothing.
    run_from: Option<&'static str>,
    currency: String,
    choices: Vec<ChoiceView>,
}

#[derive(Debug, Serialize)]
struct ChoiceView {
    kind: &'static str,
    cluster: Option<String>,
    size: String,
    tier: &'static str,
    /// Whether this is what the request asks for.
    asked: bool,
    start: Option<When>,
    end: Option<When>,
    cost_at_most: Option<Decimal>,
    sentence: String,
}

impl From<Choice> for ChoiceView {
    fn from(choice: Choice) -> Self {
        Self {
            kind: if choice.cluster.is_some() { "cluster" } else { "serverless" },
            cluster: choice.cluster,
            size: choice.size,
            tier: choice.tier.key(),
            asked: choice.is_asked,
            start: choice.start.map(When),
            end: choice.end.map(When),
            cost_at_most: choice.cost.map(|cost| Money(cost).decimal()),
            sentence: choice.note,
        }
    }
}

/// `POST /jobs/what-if`: nothing is submitted.
pub async fn try_job(asked: Asked, Json(request): Json<JobRequest>) -> Answered {
    let found = what_if::choices(&asked.caller, &request).await?;
    let run_from = match (found.run, found.is_usual) {
        (Some(_), true) => Some("usual"),
        (Some(_), false) => Some("time-limit"),
        (None, _) => None,
    };
    let view = ChoicesView {
        run_seconds: found.run.map(|run| run.as_millis() as f64 / 1e3),
        run_from,
        currency: found.currency,
        choices: found.rows.into_iter().map(ChoiceView::from).collect(),
    };
    Ok(json(StatusCode::OK, &view))
}
