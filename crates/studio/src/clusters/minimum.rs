//! The minimum of a cluster by schedule: more nodes at certain hours, fewer at others.

use atelier_domain::Timestamp;
use atelier_domain::compute::cluster::ScaleSettings;
use atelier_domain::compute::verb::{Noun, Verb};
use atelier_domain::compute::{ClusterId, ScheduleId};
use atelier_domain::error::AppError;
use atelier_domain::money::MONTH;
use atelier_domain::schedule::{Action, Schedule, StopJobs, Timetable};
use atelier_domain::text::Problem;
use atelier_domain::time::Span;
use atelier_domain::world::{Answer, Order, ScheduleTarget};
use atelier_engine::run::CommandId;

use crate::caller::Caller;
use crate::clusters::typed::Window;
use crate::orders::order;
use crate::schedules::awake::Averaged;
use crate::schedules::commands::{NewSchedule, add_to, find};

/// Sets the minimum at those times. Needs `cluster.scale`.
pub async fn add(
    caller: &Caller,
    id: CommandId,
    cluster: ClusterId,
    nodes: u32,
    timetable: Timetable,
) -> Result<ScheduleId, AppError> {
    caller.authorise(Verb::AddSchedule.right_on(Noun::Cluster)).await?;
    let new = NewSchedule { action: Action::MinNodes(nodes), timetable, jobs: StopJobs::Now };
    add_to(caller, id, ScheduleTarget::Cluster(cluster), &new).await
}

/// Keeps more nodes, or fewer, at certain hours: two schedules that set the minimum. Needs `cluster.scale`.
pub async fn add_window(caller: &Caller, id: &CommandId, cluster: ClusterId, window: Window) -> Result<(), AppError> {
    let field = |field: &'static str| {
        move |error: AppError| match error {
            AppError::Invalid { problems } => {
                let renamed = |problem: Problem| match problem.field.as_str() {
                    "min" => Problem::new(field, problem.message),
                    _ => problem,
                };
                AppError::Invalid { problems: problems.into_iter().map(renamed).collect() }
            }
            other => other,
        }
    };
    let begin = add(caller, id.beside("begin"), cluster, window.nodes, window.begin).await;
    let begin = begin.map_err(field("nodes"))?;
    if let Err(error) = add(caller, id.beside("end"), cluster, window.otherwise, window.end).await {
        // Half a window would keep the nodes for good.
        remove(caller, id.beside("undo"), cluster, begin).await?;
        return Err(field("otherwise")(error));
    }
    Ok(())
}

/// Switches a schedule on or off. Needs `cluster.scale`.
pub async fn enable(
    caller: &Caller,
    id: CommandId,
    cluster: ClusterId,
    schedule: ScheduleId,
    is_enabled: bool,
) -> Result<Answer, AppError> {
    caller.authorise(Verb::EnableSchedule.right_on(Noun::Cluster)).await?;
    find(caller, ScheduleTarget::Cluster(cluster), schedule).await?;
    order(caller, id, Order::EnableSchedule { schedule, is_enabled }, None, None).await
}

/// Takes a schedule away. Needs `cluster.scale`.
pub async fn remove(
    caller: &Caller,
    id: CommandId,
    cluster: ClusterId,
    schedule: ScheduleId,
) -> Result<Answer, AppError> {
    caller.authorise(Verb::RemoveSchedule.right_on(Noun::Cluster)).await?;
    find(caller, ScheduleTarget::Cluster(cluster), schedule).await?;
    order(caller, id, Order::RemoveSchedule(schedule), None, None).await
}

/// How long nodes are kept in an average month while nothing runs, all nodes together: those of the minimum
/// by the hour, or the cluster's own where no schedule has spoken, and never fewer than those that are kept
/// ready.
pub fn kept_a_month(schedules: &[Schedule], scale: ScaleSettings, now: Timestamp) -> Span {
    let kept = |min: u32| min.max(scale.warm).min(scale.max);
    let month = MONTH.as_millis().unsigned_abs();
    let mut changes = Averaged::from(now);
    for schedule in schedules.iter().filter(|schedule| schedule.is_enabled) {
        let Action::MinNodes(nodes) = schedule.action else { continue };
        changes.add(&schedule.timetable, kept(nodes));
    }
    changes.a_month().unwrap_or_else(|| Span::millis(month * u64::from(kept(scale.min))))
}

#[cfg(test)]
mod tests {
    use atelier_domain::schedule::{Cron, Trigger, Zone};

    use super::*;

    fn schedule(nodes: u32, cron: &str) -> Schedule {
        let trigger = Trigger::Cron(Cron::parse(cron).expect("an expression"));
        let timetable = Timetable::new(trigger, Zone::parse("UTC").expect("a zone"), None).expect("a timetable");
        Schedule::new(Action::MinNodes(nodes), timetable, Timestamp(0))
    }

    fn hours(schedules: &[Schedule], min: u32) -> i64 {
        hours_with(schedules, min, 0)
    }

    fn hours_with(schedules: &[Schedule], min: u32, warm: u32) -> i64 {
        let scale = ScaleSettings { min, max: 8, idle: Span::ZERO, warm };
        // A Monday.
        kept_a_month(schedules, scale, Timestamp(1_774_828_800_000)).as_millis() / 3_600_000
    }

    #[test]
    fn nodes_of_the_minimum_are_counted_by_their_hours() {
        let near = |found: i64, wanted: f64| (found as f64 - wanted).abs() <= 2.0;
        assert_eq!(hours(&[], 2), 1_460);
        let half = [schedule(4, "0 8 * * *"), schedule(0, "0 20 * * *")];
        assert!(near(hours(&half, 3), 730.0 * 4.0 / 2.0), "{}", hours(&half, 3));
        let office = [schedule(4, "0 8 * * MON-FRI"), schedule(1, "0 18 * * MON-FRI")];
        assert!(near(hours(&office, 0), 730.0 * (4.0 * 50.0 + 118.0) / 168.0), "{}", hours(&office, 0));
        // What is kept ready is kept at any hour.
        assert!(near(hours_with(&half, 0, 1), 730.0 * 5.0 / 2.0), "{}", hours_with(&half, 0, 1));
        assert_eq!(hours_with(&[], 1, 3), 2_190);
        // Nobody keeps more than the maximum, and what is switched off says nothing.
        assert!(near(hours(&[schedule(20, "0 8 * * *")], 0), 730.0 * 8.0));
        let off = Schedule { is_enabled: false, ..schedule(4, "0 8 * * *") };
        assert_eq!(hours(&[off], 1), 730);
    }
}
