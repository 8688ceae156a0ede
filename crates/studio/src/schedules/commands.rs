//! Schedules of instances: found, added, changed, switched, skipped and removed by pages and by the API
//! alike.

use atelier_domain::access::Action as Right;
use atelier_domain::compute::{InstanceId, ScheduleId};
use atelier_domain::error::AppError;
use atelier_domain::schedule::{Action, Schedule, StopJobs, Timetable};
use atelier_domain::world::{Answer, Order, ScheduleTarget};
use atelier_engine::run::CommandId;

use crate::caller::Caller;
use crate::instances::commands as instance;
use crate::instances::commands::Subject;
use crate::orders::{ask, order};
use crate::schedules::week::find_week;

/// A schedule to be added, or what one is to become.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSchedule {
    pub action: Action,
    pub timetable: Timetable,
    /// What a stop does to running jobs.
    pub jobs: StopJobs,
}

impl NewSchedule {
    /// In words: `Start Mon–Fri at 08:30, Europe/Berlin`.
    pub fn sentence(&self) -> String {
        let now = atelier_domain::Timestamp(0);
        Schedule::new(self.action, self.timetable.clone(), now).with_jobs(self.jobs).sentence()
    }

    fn is(&self, schedule: &Schedule) -> bool {
        (self.action, &self.timetable, self.jobs) == (schedule.action, &schedule.timetable, schedule.jobs)
    }
}

/// The schedules of an instance or a cluster, in the order in which they were made. Whether the caller may
/// see it was judged before.
pub async fn of(caller: &Caller, target: ScheduleTarget) -> Result<Vec<(ScheduleId, Schedule)>, AppError> {
    ask(caller, move |world| {
        let mine = world.schedules_for(target);
        mine.map(|entry| (entry.id, entry.schedule.clone())).collect()
    })
    .await
}

/// One schedule of an instance or a cluster.
pub async fn find(caller: &Caller, target: ScheduleTarget, id: ScheduleId) -> Result<Schedule, AppError> {
    let all = of(caller, target).await?;
    let found = all.into_iter().find(|(known, _)| *known == id).map(|(_, schedule)| schedule);
    found.ok_or_else(|| AppError::not_found("schedule"))
}

/// Adds a schedule to an instance.
pub async fn add(caller: &Caller, id: CommandId, subject: &Subject, new: &NewSchedule) -> Result<ScheduleId, AppError> {
    instance::authorise(caller, subject, Right::InstanceConfigure).await?;
    add_to(caller, id, subject.target(), new).await
}

/// Adds a schedule. Whether the caller may was judged before.
pub(crate) async fn add_to(
    caller: &Caller,
    id: CommandId,
    target: ScheduleTarget,
    new: &NewSchedule,
) -> Result<ScheduleId, AppError> {
    let timetable = Box::new(new.timetable.clone());
    let wanted = Order::AddSchedule { target, action: new.action, timetable, jobs: new.jobs };
    match order(caller, id, wanted, None, None).await? {
        Answer::Schedule(schedule) => Ok(schedule),
        other => caller.checked(Err(format!("a new schedule was answered with {other:?}"))),
    }
}

/// Adds the schedules of an instance that the caller has just made, each under an id of its own that follows
/// from `id`.
pub async fn add_all(
    caller: &Caller,
    id: &CommandId,
    instance: InstanceId,
    schedules: &[NewSchedule],
) -> Result<(), AppError> {
    for (index, new) in schedules.iter().enumerate() {
        add_to(caller, id.beside(&format!("add {index}")), ScheduleTarget::Instance(instance), new).await?;
    }
    Ok(())
}

/// The order that makes a schedule another one. It never acts on what has passed.
pub fn edit_order(schedule: ScheduleId, new: &NewSchedule) -> Order {
    let timetable = Box::new(new.timetable.clone());
    Order::EditSchedule { schedule, action: new.action, timetable, jobs: new.jobs }
}

/// Switches all schedules of an instance on or off.
pub async fn enable_all(
    caller: &Caller,
    id: &CommandId,
    subject: &Subject,
    is_enabled: bool,
) -> Result<usize, AppError> {
    instance::authorise(caller, subject, Right::InstanceConfigure).await?;
    let all = of(caller, subject.target()).await?;
    let other: Vec<ScheduleId> =
        all.into_iter().filter(|(_, schedule)| schedule.is_enabled != is_enabled).map(|(id, _)| id).collect();
    for schedule in &other {
        let id = id.beside(&format!("switch {schedule}"));
        order(caller, id, Order::EnableSchedule { schedule: *schedule, is_enabled }, None, None).await?;
    }
    Ok(other.len())
}

/// Gives an instance another week; its rules beside the week stay. What is so already is not touched, so that
/// a skipped time stays skipped. Says how many schedules were changed.
pub async fn replace_week(
    caller: &Caller,
    id: &CommandId,
    subject: &Subject,
    week: &[NewSchedule],
) -> Result<usize, AppError> {
    instance::authorise(caller, subject, Right::InstanceConfigure).await?;
    let all = of(caller, subject.target()).await?;
    let old = find_week(&all).map(|(_, ids)| ids).unwrap_or_default();
    let old: Vec<(ScheduleId, Schedule)> = all.into_iter().filter(|(id, _)| old.contains(id)).collect();
    let steps = steps(&old, week);
    for (index, step) in steps.iter().enumerate() {
        let id = id.beside(&format!("week {index}"));
        match step {
            Step::Edit(schedule, new) => {
                order(caller, id, edit_order(*schedule, new), None, None).await?;
            }
            Step::Remove(schedule) => {
                order(caller, id, Order::RemoveSchedule(*schedule), None, None).await?;
            }
            Step::Add(new) => drop(add_to(caller, id, subject.target(), new).await?),
        }
    }
    Ok(steps.len())
}

/// One step from the week that is to the one that is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Edit(ScheduleId, NewSchedule),
    Remove(ScheduleId),
    Add(NewSchedule),
}

/// As few steps as lead there. What goes goes before something comes, so that the number of schedules never
/// is above both.
fn steps(old: &[(ScheduleId, Schedule)], wanted: &[NewSchedule]) -> Vec<Step> {
    let mut rest: Vec<&NewSchedule> =
        wanted.iter().filter(|new| !old.iter().any(|(_, schedule)| new.is(schedule))).collect();
    let mut steps = Vec::new();
    let mut going = Vec::new();
    for (id, schedule) in old.iter().filter(|(_, schedule)| !wanted.iter().any(|new| new.is(schedule))) {
        match rest.iter().position(|new| new.action == schedule.action) {
            Some(place) => steps.push(Step::Edit(*id, rest.remove(place).clone())),
            None => going.push(Step::Remove(*id)),
        }
    }
    steps.extend(going);
    steps.extend(rest.into_iter().map(|new| Step::Add(new.clone())));
    steps
}

#[cfg(test)]
mod tests {
    use atelier_domain::Timestamp;
    use atelier_domain::schedule::{Cron, Trigger, Zone};

    use super::*;

    fn new(action: Action, cron: &str) -> NewSchedule {
        let trigger = Trigger::Cron(Cron::parse(cron).expect("an expression"));
        let timetable = Timetable::new(trigger, Zone::parse("UTC").expect("a zone"), None).expect("a timetable");
        NewSchedule { action, timetable, jobs: StopJobs::Now }
    }

    fn old(id: u64, action: Action, cron: &str) -> (ScheduleId, Schedule) {
        let new = new(action, cron);
        (ScheduleId(id), Schedule::new(new.action, new.timetable, Timestamp(0)))
    }

    #[test]
    fn another_week_takes_the_fewest_steps() {
        let saved = [old(1, Action::Start, "0 8 * * MON-FRI"), old(2, Action::Stop, "0 18 * * MON-FRI")];
        let same = [new(Action::Start, "0 8 * * MON-FRI"), new(Action::Stop, "0 18 * * MON-FRI")];
        assert_eq!(steps(&saved, &same), []);
        let later = [same[0].clone(), new(Action::Stop, "0 20 * * MON-FRI")];
        assert_eq!(steps(&saved, &later), [Step::Edit(ScheduleId(2), later[1].clone())]);
        let more = [same[0].clone(), new(Action::Stop, "0 18 * * MON-THU"), new(Action::Stop, "0 16 * * FRI")];
        assert_eq!(steps(&saved, &more), [Step::Edit(ScheduleId(2), more[1].clone()), Step::Add(more[2].clone())]);
        assert_eq!(steps(&saved, &[]), [Step::Remove(ScheduleId(1)), Step::Remove(ScheduleId(2))]);
        assert_eq!(steps(&[], &same), [Step::Add(same[0].clone()), Step::Add(same[1].clone())]);
    }
}
