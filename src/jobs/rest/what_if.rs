//! When jobs start, and what they would do on other computes.

use atelier_domain::money::Money;
use atelier_engine::clock;
use atelier_simulate::forecast::Eta;
use atelier_studio::forecast::what_if;
use atelier_studio::forecast::what_if::Choice;
use atelier_studio::jobs::submit::JobRequest;
use serde::Serialize;

use crate::server::rest::asked::{Asked, Json};
use crate::server::rest::problem::Answered;
use crate::server::rest::view::{When, object, ok};

/// When a job starts, or why that is unknown.
#[derive(Debug, Default, Serialize)]
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
            Eta::Unknown(why) => Self { unknown: Some(why.code()), sentence: why.sentence(), ..Self::default() },
        }
    }
}

fn view(choice: Choice) -> impl Serialize + use<> {
    object! {
        kind: if choice.cluster.is_some() { "cluster" } else { "serverless" },
        cluster: choice.cluster,
        size: choice.size,
        tier: choice.tier.key(),
        // Whether this is what the request asks for.
        asked: choice.is_asked,
        start: choice.start.map(When),
        end: choice.end.map(When),
        cost_at_most: choice.cost.map(|cost| Money(cost).decimal()),
        sentence: choice.note,
    }
}

/// `POST /jobs/what-if`: nothing is submitted.
pub async fn try_job(asked: Asked, Json(request): Json<JobRequest>) -> Answered {
    let found = what_if::choices(&asked.caller, &request).await?;
    ok(&object! {
        // How long such a job runs, as far as anybody knows.
        run_seconds: found.run.map(|run| run.as_millis() as f64 / 1e3),
        // The median of earlier jobs of that name, the time limit, or nothing.
        run_from: found.run.map(|_| if found.is_usual { "usual" } else { "time-limit" }),
        currency: found.currency,
        choices: found.rows.into_iter().map(view).collect::<Vec<_>>(),
    })
}
