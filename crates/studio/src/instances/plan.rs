//! What happens to an instance next: the line under its name.

use atelier_domain::Timestamp;
use atelier_domain::compute::instance::{Instance, InstanceState};
use atelier_domain::compute::notice::StopWhy;
use atelier_domain::compute::start::StartStep;
use atelier_domain::text::counted;
use atelier_domain::time::Now;
use atelier_domain::world::{NextLine as Planned, PlannedStop, World};

use crate::clock;

/// What is going to happen, as instants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    pub next: Planned,
    pub jobs: u64,
    pub is_announced: bool,
    /// The step of a start that goes on.
    pub step: Option<StartStep>,
}

impl Plan {
    pub fn of(world: &World, instance: &Instance, now: Now) -> Self {
        let jobs = world.jobs_on(instance);
        let bars = instance.start.as_ref().map(|start| start.waterfall(now.wall)).unwrap_or_default();
        let mut next = world.next_actions(instance.id, now).unwrap_or_default();
        // Jobs count as activity for as long as they run.
        next.idle = next.idle.filter(|_| jobs == 0);
        Self {
            next,
            jobs,
            is_announced: !instance.notices.is_empty(),
            step: bars.iter().find(|bar| bar.is_running).map(|bar| bar.step),
        }
    }

    /// The scheduled stop that is ahead, or what came in its place.
    pub const fn stop(&self) -> Option<&PlannedStop> {
        self.next.stop.as_ref()
    }
}

/// A piece of the line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    Plain(String),
    /// What one looks for: the time.
    Strong(String),
}

/// The line under the name of an instance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NextLine {
    pub icon: &'static str,
    pub pieces: Vec<Piece>,
    /// Whether it was announced as a warning.
    pub is_warning: bool,
}

impl NextLine {
    fn new(icon: &'static str) -> Self {
        Self { icon, pieces: Vec::new(), is_warning: false }
    }

    fn plain(mut self, words: impl Into<String>) -> Self {
        self.pieces.push(Piece::Plain(words.into()));
        self
    }

    fn strong(mut self, words: impl Into<String>) -> Self {
        self.pieces.push(Piece::Strong(words.into()));
        self
    }

    pub fn text(&self) -> String {
        let words = self.pieces.iter().map(|piece| match piece {
            Piece::Plain(words) | Piece::Strong(words) => words.as_str(),
        });
        words.collect()
    }
}

/// Says the plan. `is_own` is whether the viewer may open it; `zone` is the viewer's.
pub fn say(plan: &Plan, state: InstanceState, is_own: bool, now: Timestamp, zone: &str) -> NextLine {
    let at = |at: Timestamp| if at <= now { "now".to_owned() } else { ahead(at, now, zone) };
    match state {
        InstanceState::Running | InstanceState::JobRunning | InstanceState::Unknown => {
            let is_draining = plan.stop().is_some_and(|stop| stop.is_draining);
            NextLine { is_warning: plan.is_announced || is_draining, ..running(plan, at) }
        }
        InstanceState::Creating
        | InstanceState::Starting
        | InstanceState::SettingUp
        | InstanceState::UserSettingUp
        | InstanceState::Restarting => {
            let step = plan.step.map_or("Starts", |step| match step {
                StartStep::Queue => "Waits for quota and room",
                StartStep::Allocate => "Its node is on its way",
                StartStep::Environment => "Its environment is made",
                StartStep::Setup => "Its scripts run",
                StartStep::Health => "Its applications start",
            });
            let number = plan.step.map(|step| step as usize + 1);
            let of = number.map(|number| format!(", step {number} of {}", StartStep::ALL.len())).unwrap_or_default();
            NextLine::new("bolt").plain(format!("{step}{of}"))
        }
        InstanceState::Stopped => match &plan.next.start {
            Some(start) => NextLine::new("calendar").plain("Starts ").strong(at(start.at)).plain(" by schedule"),
            None if is_own => NextLine::new("bolt").plain("Starts when you open an application"),
            None => NextLine::new("calendar").plain("No start is planned"),
        },
        InstanceState::Stopping => NextLine::new("clock").plain("Off in a moment"),
        InstanceState::Resizing | InstanceState::Transferring => {
            NextLine::new("clock").plain("Stopped again in a moment")
        }
        InstanceState::Deleting => NextLine::new("trash").plain("Goes when its node is gone"),
        InstanceState::CreateFailed => NextLine::new("warn").plain("Delete it and create it again"),
        InstanceState::SetupFailed | InstanceState::UserSetupFailed => {
            NextLine::new("warn").plain(if is_own { "Rescue it, or restart it" } else { "Restart it to try again" })
        }
        InstanceState::Unusable => NextLine::new("warn").plain("Restart it to give it another node"),
    }
}

fn running(plan: &Plan, at: impl Fn(Timestamp) -> String) -> NextLine {
    let stop = plan.stop();
    // The scheduled stop is said also if idleness would come first: then it may not.
    let idle = plan.next.idle.filter(|idle| stop.is_none_or(|stop| *idle < stop.at));
    let line = match (stop, &idle) {
        (Some(stop), _) if stop.is_draining => {
            let jobs = counted(plan.jobs, "job has", "jobs have");
            return NextLine::new("jobs").plain(format!("Stops when {jobs} ended, or at ")).strong(at(stop.at));
        }
        (Some(stop), _) => {
            let line = NextLine::new("clock").plain("Stops ").strong(at(stop.at));
            match (stop.why, &stop.by) {
                (StopWhy::Schedule(_), _) => line.plain(" by schedule"),
                (StopWhy::Idle, _) => line.plain(" for want of activity"),
                (StopWhy::Postponed, Some(by)) => line.plain(format!(", kept running by {by}")),
                (StopWhy::Postponed, None) => line,
            }
        }
        (None, _) if plan.jobs > 0 => {
            let jobs = if plan.jobs == 1 { "its job ends" } else { "its jobs end" };
            return NextLine::new("jobs").plain(format!("Stays up until {jobs}"));
        }
        (None, Some(idle)) => return NextLine::new("clock").plain("Stops ").strong(at(*idle)).plain(" if idle"),
        (None, None) => return NextLine::new("calendar").plain("No stop is planned"),
    };
    match idle {
        Some(idle) => line.plain(", or ").strong(at(idle)).plain(" if idle"),
        None => line,
    }
}

/// An instant that lies ahead, as briefly as it stays clear. Within the minute it is the clock that counts,
/// not “now”.
fn ahead(at: Timestamp, now: Timestamp, zone: &str) -> String {
    match clock::relative(at, now, zone).as_str() {
        "now" => clock::time_of_day(at, zone),
        said => said.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use atelier_domain::compute::ScheduleId;
    use atelier_domain::schedule::Zone;
    use atelier_domain::world::PlannedStart;

    use super::*;

    const HOUR: i64 = 3_600_000;
    /// 19 March 2026, 13:20 in Berlin.
    const NOW: Timestamp = Timestamp(1_773_922_800_000);

    fn said(plan: &Plan, state: InstanceState) -> String {
        say(plan, state, true, NOW, "Europe/Berlin").text()
    }

    fn stop(hours: i64, why: StopWhy) -> Option<PlannedStop> {
        let by = (why == StopWhy::Postponed).then(|| "Mara".to_owned());
        Some(PlannedStop { at: Timestamp(NOW.0 + hours * HOUR), why, zone: None, by, is_draining: false })
    }

    fn plan(stop: Option<PlannedStop>, idle: Option<i64>) -> Plan {
        let idle = idle.map(|hours| Timestamp(NOW.0 + hours * HOUR));
        Plan { next: Planned { stop, idle, ..Planned::default() }, ..Plan::default() }
    }

    #[test]
    fn the_scheduled_stop_and_the_earlier_idle_stop_are_said() {
        let (schedule, running) = (StopWhy::Schedule(ScheduleId(1)), InstanceState::Running);
        assert_eq!(said(&plan(stop(6, schedule), Some(1)), running), "Stops 19:20 by schedule, or 14:20 if idle");
        assert_eq!(said(&plan(stop(1, schedule), Some(6)), running), "Stops 14:20 by schedule");
        assert_eq!(said(&plan(None, Some(20)), running), "Stops tomorrow 09:20 if idle");
        assert_eq!(said(&plan(None, None), running), "No stop is planned");
        assert_eq!(said(&plan(stop(2, StopWhy::Postponed), None), running), "Stops 15:20, kept running by Mara");
        let jobs = Plan { jobs: 2, ..Plan::default() };
        assert_eq!(said(&jobs, InstanceState::JobRunning), "Stays up until its jobs end");
        let draining = stop(1, schedule).map(|stop| PlannedStop { is_draining: true, ..stop });
        let draining = Plan { jobs: 1, ..plan(draining, None) };
        assert_eq!(said(&draining, InstanceState::JobRunning), "Stops when 1 job has ended, or at 14:20");
    }

    #[test]
    fn what_is_off_says_when_it_comes_back() {
        let zone = Zone::parse("Europe/Berlin").expect("a zone");
        let start = PlannedStart { at: Timestamp(NOW.0 + 19 * HOUR), schedule: ScheduleId(1), zone };
        let plan = Plan { next: Planned { start: Some(start), ..Planned::default() }, ..Plan::default() };
        assert_eq!(said(&plan, InstanceState::Stopped), "Starts tomorrow 08:20 by schedule");
        assert_eq!(said(&Plan::default(), InstanceState::Stopped), "Starts when you open an application");
        let step = Plan { step: Some(StartStep::Environment), ..Plan::default() };
        assert_eq!(said(&step, InstanceState::SettingUp), "Its environment is made, step 3 of 5");
    }

    #[test]
    fn every_state_has_a_line() {
        for state in &InstanceState::ALL {
            assert!(!said(&Plan::default(), *state).is_empty(), "{state:?}");
        }
    }
}
