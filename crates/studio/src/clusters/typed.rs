//! Settings of a cluster as they are typed into forms.

use atelier_domain::compute::cluster::{DEFAULT_IDLE, ScaleSettings};
use atelier_domain::error::AppError;
use atelier_domain::schedule::{Clock, Cron, Timetable, Trigger, Zone};
use atelier_domain::text::{Problem, shortened};
use atelier_domain::time::Span;

use crate::typed::{Problems, whole};

/// The numbers of a form.
#[derive(Clone, Copy, Debug, Default)]
pub struct TypedScale<'a> {
    pub min: &'a str,
    pub max: &'a str,
    /// Seconds; the default where the form does not ask.
    pub idle: Option<&'a str>,
    /// Who says nothing about it leaves it as it is.
    pub warm: &'a str,
}

impl TypedScale<'_> {
    /// Each number judged by itself, and then all together. `warm` is how many nodes are kept ready now.
    pub fn read(self, problems: &mut Problems, warm: u32) -> Option<ScaleSettings> {
        let min = problems.take(whole("min", "The minimum", self.min));
        let max = problems.take(whole("max", "The maximum", self.max));
        let idle = match self.idle {
            Some(typed) => problems.take(whole("idle", "The idle time in seconds", typed)).map(Span::seconds),
            None => Some(DEFAULT_IDLE),
        };
        let warm = match self.warm.trim() {
            "" => Some(warm),
            typed => problems.take(whole("warm", "The number of nodes kept ready", typed)),
        };
        problems.take(ScaleSettings { min: min?, max: max?, idle: idle?, warm: warm? }.check())
    }
}

/// A number of nodes at certain hours, and another at all others.
#[derive(Clone, Debug)]
pub struct Window {
    /// How many nodes at those hours.
    pub nodes: u32,
    pub otherwise: u32,
    pub begin: Timetable,
    pub end: Timetable,
}

/// The same as a form says it.
#[derive(Clone, Copy, Debug)]
pub struct TypedWindow<'a> {
    pub nodes: &'a str,
    /// `every`, `workdays` or `weekends`.
    pub days: &'a str,
    /// From when, as `08:00`.
    pub from: &'a str,
    /// Until when; before `from` it is on the next day.
    pub to: &'a str,
    pub otherwise: &'a str,
    pub time_zone: &'a str,
}

impl TypedWindow<'_> {
    pub fn read(self) -> Result<Window, AppError> {
        let mut problems = Problems::default();
        let nodes = problems.take(whole("nodes", "The number of nodes", self.nodes));
        let otherwise = problems.take(whole("otherwise", "The number of nodes at other times", self.otherwise));
        let days = problems.take(days_of(self.days));
        let from = problems.take(clock("from", self.from));
        let to = problems.take(clock("to", self.to));
        let zone = problems.take(Zone::parse(self.time_zone));
        if from.is_some() && from == to {
            problems.0.push(Problem::new("to", "It ends when it begins. Give two different times."));
        }
        let (Some(nodes), Some(otherwise), Some(days), Some(from), Some(to), Some(zone), true) =
            (nodes, otherwise, days, from, to, zone, problems.0.is_empty())
        else {
            return Err(problems.into_error());
        };
        // A window over midnight ends on the days after.
        let after = if to < from { shifted(days) } else { days };
        Ok(Window { nodes, otherwise, begin: timetable(from, days, &zone)?, end: timetable(to, after, &zone)? })
    }
}

fn days_of(text: &str) -> Result<&'static str, Problem> {
    match text {
        "every" => Ok("*"),
        "workdays" => Ok("MON-FRI"),
        "weekends" => Ok("SAT,SUN"),
        other => {
            let message = format!("Choose every day, workdays or weekends, not “{}”.", shortened(other));
            Err(Problem::new("days", message))
        }
    }
}

fn shifted(days: &'static str) -> &'static str {
    match days {
        "MON-FRI" => "TUE-SAT",
        "SAT,SUN" => "SUN,MON",
        other => other,
    }
}

fn clock(field: &'static str, text: &str) -> Result<Clock, Problem> {
    Clock::parse(text).map_err(|message| Problem::new(field, message))
}

fn timetable(at: Clock, days: &str, zone: &Zone) -> Result<Timetable, Problem> {
    let cron = Cron::parse(&format!("{} {} * * {days}", at.minutes() % 60, at.minutes() / 60))?;
    Timetable::new(Trigger::Cron(cron), zone.clone(), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_said_by_its_field() {
        for (min, max, said) in [
            ("5", "4", "The minimum of 5 is above the maximum of 4."),
            ("", "4", "The minimum is missing; type a whole number."),
            ("1", "many", "this is “many”"),
        ] {
            let mut problems = Problems::default();
            assert_eq!(TypedScale { min, max, ..TypedScale::default() }.read(&mut problems, 0), None);
            assert!(problems.0.iter().any(|problem| problem.message.contains(said)), "{:?}", problems.0);
        }
    }
}
