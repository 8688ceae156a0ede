//! The server functions that forms ask while a person types, for the islands, which know none by themselves.

use atelier_domain::fields::Fields;
use leptos::server_fn::ServerFn as _;

use crate::clusters::typing::{QuoteCluster, quote_cluster};
use crate::instances::typing::{CheckName, QuoteInstance, check_name, quote_instance};
use crate::islands::typing::Answer;
use crate::jobs::typing::{QuoteJob, quote_job};
use crate::schedules::typing::{CheckCron, QuoteSchedule, check_cron, quote_schedule};

/// Pages write the address of a function into their attributes; this calls it.
pub fn answer(function: &str, fields: Fields) -> Option<Answer> {
    let typed = |field: &str| fields.get(field).to_owned();
    Some(match function {
        CheckCron::PATH => Box::pin(check_cron(typed("cron"), typed("time_zone"))),
        CheckName::PATH => Box::pin(check_name(typed("name"))),
        QuoteCluster::PATH => Box::pin(quote_cluster(fields)),
        QuoteInstance::PATH => Box::pin(quote_instance(fields)),
        QuoteJob::PATH => Box::pin(quote_job(fields)),
        QuoteSchedule::PATH => Box::pin(quote_schedule(fields)),
        _ => return None,
    })
}
