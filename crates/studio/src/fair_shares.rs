//! Shares: who is meant to have how much of what the workspace shares, what each has used lately, and how
//! queues are served.

use std::collections::HashMap;

use atelier_domain::access::Action;
use atelier_domain::compute::ClusterId;
use atelier_domain::compute::fair_share::{
    MAX_HALF_LIFE, MAX_WEIGHT, MIN_HALF_LIFE, QueueOrder, QueuePolicy, check_half_life, check_weight,
    tenths_of_core_hours,
};
use atelier_domain::error::AppError;
use atelier_domain::text::{Problem, search_text, shortened};
use atelier_domain::time::Span;
use atelier_domain::world::{Answer, Order, Running};
use atelier_domain::{UserId, WorkspaceId};
use atelier_engine::run::CommandId;
use atelier_engine::store::{PeopleFilter, Person};
use serde::{Deserialize, Serialize};

use crate::caller::Caller;
use crate::orders::{ask, order};

const MOST_PEOPLE: usize = 200;

/// One person's share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShareLine {
    pub person: UserId,
    pub name: String,
    /// Their e-mail address; empty where it is not known.
    pub email: String,
    /// How much they are meant to have, beside the weights of others.
    pub weight: u32,
    /// What they have used lately, faded, in tenths of core-hours.
    pub used: u64,
    /// How much of what everybody has used that is, in thousandths; none if nobody has used anything.
    pub part: Option<u64>,
    /// How much they are meant to have of it, in thousandths; none for who has neither jobs nor a weight.
    pub meant: Option<u64>,
    /// What their jobs have on nodes now.
    pub running: Running,
}

/// All shares of a workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shares {
    /// After how long use counts half.
    pub half_life: Span,
    pub serverless: QueuePolicy,
    /// Who has used most for their weight first, then by name.
    pub people: Vec<ShareLine>,
    pub more: usize,
}

struct Known {
    weight: u32,
    used: u128,
    running: Running,
}

/// Everybody's share. `part` keeps only people with that in their name or address. Needs `cluster.read`.
pub async fn read(caller: &Caller, part: &str) -> Result<Shares, AppError> {
    let actor = caller.authorise(Action::ClusterRead).await?;
    let workspace: WorkspaceId = actor.workspace.id.clone();
    let of = workspace.clone();
    let (rules, known) = ask(caller, move |world| {
        let known: HashMap<UserId, Known> = world
            .people(&of)
            .map(|(id, person)| {
                let standing = world.fair_share_standing(&of, id);
                (id.clone(), Known { weight: standing.weight, used: standing.used, running: person.running })
            })
            .collect();
        (world.fair_share_rules(&of), known)
    })
    .await?;
    let filter = PeopleFilter { part: search_text(part), limit: 10_000, ..PeopleFilter::default() };
    let mut people: Vec<Person> = caller.checked(caller.store().list_people(&workspace, &filter).await)?;
    people.sort_by(|a, b| a.name.cmp(&b.name));
    let all_used: u128 = known.values().map(|known| known.used).sum();
    let all_weights: u64 = known.values().map(|known| u64::from(known.weight)).sum();
    let thousandths = |part: u128, of: u128| (of > 0).then(|| u64::try_from(part * 1_000 / of).unwrap_or(1_000));
    let line = |person: Person| {
        let found = known.get(&person.id);
        let (weight, used) =
            found.map_or((atelier_domain::compute::fair_share::DEFAULT_WEIGHT, 0), |known| (known.weight, known.used));
        ShareLine {
            part: thousandths(used, all_used),
            meant: found.and_then(|_| thousandths(u128::from(weight), u128::from(all_weights))),
            running: found.map(|known| known.running).unwrap_or_default(),
            used: tenths_of_core_hours(used),
            person: person.id,
            name: person.name,
            email: person.email,
            weight,
        }
    };
    let mut people: Vec<ShareLine> = people.into_iter().map(line).collect();
    people.sort_by_key(|line| std::cmp::Reverse(line.used / u64::from(line.weight.max(1))));
    people.sort_by_key(|line| line.meant.is_none());
    let more = people.len().saturating_sub(MOST_PEOPLE);
    people.truncate(MOST_PEOPLE);
    Ok(Shares { half_life: rules.half_life, serverless: rules.serverless, people, more })
}

/// Gives somebody a weight. Needs `quota.write`.
pub async fn set_weight(
    caller: &Caller,
    id: CommandId,
    person: UserId,
    weight: i64,
    why: Option<String>,
) -> Result<Answer, AppError> {
    caller.authorise(Action::QuotaWrite).await?;
    check_weight(weight)?;
    order(caller, id, Order::SetFairShare { person, weight }, None, why).await
}

/// Says after how long use counts half. Needs `quota.write`.
pub async fn set_half_life(
    caller: &Caller,
    id: CommandId,
    half_life: Span,
    why: Option<String>,
) -> Result<Answer, AppError> {
    caller.authorise(Action::QuotaWrite).await?;
    order(caller, id, Order::SetHalfLife(check_half_life(half_life)?), None, why).await
}

/// Says how a queue is served: that of a cluster, or without one those of serverless jobs. Needs
/// `cluster.scale`.
pub async fn set_policy(
    caller: &Caller,
    id: CommandId,
    cluster: Option<ClusterId>,
    policy: QueuePolicy,
    why: Option<String>,
) -> Result<Answer, AppError> {
    caller.authorise(Action::ClusterScale).await?;
    order(caller, id, Order::SetQueuePolicy { cluster, policy }, None, why).await
}

/// How a queue is served, as people say it; what is left out stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PolicyRequest {
    /// `fair-share` or `fifo`.
    pub order: Option<String>,
    /// Whether jobs may start before others that they do not delay.
    pub backfill: Option<bool>,
}

impl PolicyRequest {
    pub fn over(&self, present: QueuePolicy) -> Result<QueuePolicy, Problem> {
        let order = self.order.as_deref().map_or(Ok(present.order), order_of)?;
        Ok(QueuePolicy { order, backfill: self.backfill.unwrap_or(present.backfill) })
    }
}

/// Reads the field `order`.
pub fn order_of(text: &str) -> Result<QueueOrder, Problem> {
    QueueOrder::from_key(text).ok_or_else(|| {
        Problem::new("order", format!("A queue is served by “fair-share” or “fifo”, not “{}”.", shortened(text)))
    })
}

/// What an order means, in a few words.
pub const fn said_order(order: QueueOrder) -> &'static str {
    match order {
        QueueOrder::FairShare => "by fair share",
        QueueOrder::Fifo => "by arrival",
    }
}

/// Reads the field `weight`.
pub fn weight_of(text: &str) -> Result<i64, Problem> {
    let found = text.trim().parse::<i64>().map_err(|_| {
        let message = format!("A weight is a whole number between 1 and {MAX_WEIGHT}, not “{}”.", shortened(text));
        Problem::new("weight", message)
    })?;
    check_weight(found).map(i64::from)
}

/// Reads the field `half_life`: hours, or such as `7 days`.
pub fn half_life_of(text: &str) -> Result<Span, Problem> {
    let lower = text.trim().to_lowercase();
    let digits = lower.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == ' ');
    let times = match lower[digits.len()..].trim() {
        "" | "h" | "hour" | "hours" => Some(1),
        "d" | "day" | "days" => Some(24),
        "w" | "week" | "weeks" => Some(24 * 7),
        _ => None,
    };
    let hours = digits.trim().parse::<u32>().ok().zip(times).and_then(|(count, times)| count.checked_mul(times));
    match hours {
        // Far too many stay far too many and are refused with the bounds.
        Some(hours) => check_half_life(Span::hours(hours.min(1_000_000))),
        None => {
            let message = format!(
                "A half-life is a number of hours, or such as “7 days”, between {MIN_HALF_LIFE} and {MAX_HALF_LIFE}; \
                 this is “{}”.",
                shortened(text)
            );
            Err(Problem::new("half_life", message))
        }
    }
}

/// A half-life as it is typed.
pub fn typed_half_life(half_life: Span) -> String {
    let hours = half_life.as_millis() / 3_600_000;
    match hours {
        24 => "1 day".to_owned(),
        hours if hours % 24 == 0 => format!("{} days", hours / 24),
        hours => format!("{hours} h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_lives_are_read_as_people_type_them_and_shown_the_same() {
        for (typed, hours) in [("168", 168), ("7 days", 168), ("1 day", 24), ("36 h", 36), ("2 weeks", 336)] {
            let span = half_life_of(typed).expect(typed);
            assert_eq!(span, Span::hours(hours), "{typed}");
            assert_eq!(half_life_of(&typed_half_life(span)), Ok(span));
        }
        for typed in ["", "soon", "0", "-3", "1.5", "2 years", "9999999 days", "99999999999"] {
            let problem = half_life_of(typed).expect_err(typed);
            assert!(problem.field == "half_life" && problem.message.contains("365 days"), "{}", problem.message);
        }
    }

    #[test]
    fn weights_name_what_is_allowed() {
        assert_eq!(weight_of(" 300 "), Ok(300));
        for typed in ["", "0", "-5", "1001", "many", "1.5"] {
            let problem = weight_of(typed).expect_err(typed);
            assert!(problem.field == "weight" && problem.message.contains("between 1 and 1000"), "{}", problem.message);
        }
    }
}
