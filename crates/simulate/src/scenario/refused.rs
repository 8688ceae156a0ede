//! What is wrong with a scenario, all of it at once.

use atelier_domain::text::Problem;

/// A scenario that cannot be run, with each field that is wrong, why, and what would be right.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refused {
    /// One for each thing that is wrong.
    pub problems: Vec<Problem>,
}

impl Refused {
    /// One thing is wrong.
    pub fn one(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { problems: vec![Problem::new(field, message)] }
    }
}

impl std::fmt::Display for Refused {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (number, problem) in self.problems.iter().enumerate() {
            let separator = if number == 0 { "" } else { "\n" };
            match problem.field.as_str() {
                "" => write!(out, "{separator}{}", problem.message)?,
                field => write!(out, "{separator}{field}: {}", problem.message)?,
            }
        }
        Ok(())
    }
}

impl std::error::Error for Refused {}

/// At most so many complaints are gathered; whoever has more begins with these.
const MOST: usize = 50;

/// Gathers what is wrong while a scenario is looked at.
#[derive(Debug, Default)]
pub(super) struct Complaints(Refused);

impl Complaints {
    pub fn add(&mut self, field: impl Into<String>, message: impl Into<String>) {
        if self.0.problems.len() < MOST {
            self.0.problems.push(Problem::new(field, message));
        }
    }

    /// What was read, or a complaint about the field.
    pub fn take<T>(&mut self, field: &str, read: Result<T, String>) -> Option<T> {
        read.map_err(|message| self.add(field, message)).ok()
    }

    /// The same for the domain's own parsers; the path counts, not the name that they know.
    pub fn take_parsed<T>(&mut self, field: &str, read: Result<T, Problem>) -> Option<T> {
        self.take(field, read.map_err(|problem| problem.message))
    }

    /// A chance or another number with bounds.
    pub fn number(&mut self, field: &str, value: f64, low: f64, high: f64, what: &str) -> f64 {
        if !(low..=high).contains(&value) {
            self.add(field, format!("{what} is between {low} and {high}, not {value}."));
            return low;
        }
        value
    }

    pub fn finish(self) -> Result<(), Refused> {
        if self.0.problems.is_empty() { Ok(()) } else { Err(self.0) }
    }
}
