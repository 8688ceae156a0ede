//! Why nobody can say when a job starts.

use atelier_domain::compute::JobId;
use atelier_domain::reason::Reason;
use atelier_domain::text::counted;
use atelier_domain::time::Span;

use super::{HORIZON, MAX_STEPS};

/// Why nobody can say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// A job before it has no known end.
    Endless {
        job: JobId,
        /// How many more like it run there.
        others: u64,
        /// How long such jobs usually take, if this one has taken longer already.
        usual: Option<Span>,
    },
    /// Only the beginning of its queue was looked at.
    Beyond { looked: u64 },
    /// It is longer until then than forecasts go.
    TooFar,
    /// More happens until then than one forecast works out.
    TooMuch,
    /// It waits for something that does not come by itself.
    Stuck(Reason),
    /// It is not there any more.
    Gone,
}

impl Unknown {
    /// The code in the API.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Endless { .. } => "eta.no-time-limit",
            Self::Beyond { .. } => "eta.too-many-before",
            Self::TooFar => "eta.too-far",
            Self::TooMuch => "eta.too-much",
            Self::Stuck(_) => "eta.waits",
            Self::Gone => "eta.gone",
        }
    }

    /// For people, as a whole sentence.
    pub fn sentence(&self) -> String {
        match self {
            Self::Endless { job, others, usual } => {
                let more = match others {
                    0 => String::new(),
                    others => format!(", and so it is with {}", counted(*others, "other job", "other jobs")),
                };
                match usual {
                    Some(usual) => format!(
                        "Unknown, because {job} has no time limit and has run longer than the {usual} that such jobs \
                         usually take{more}."
                    ),
                    None => format!(
                        "Unknown, because {job} has no time limit and nothing like it has run to its end before{more}."
                    ),
                }
            }
            Self::Beyond { looked } => {
                format!(
                    "Unknown, because it is not among the first {looked} of its queue, and only those are worked out."
                )
            }
            Self::TooFar => format!("Not within {HORIZON}, as far as can be seen now."),
            Self::TooMuch => {
                format!("Unknown, because more happens until then than the {MAX_STEPS} steps that are worked out.")
            }
            Self::Stuck(reason) => {
                format!("Unknown, because nothing that is foreseen lets it start. {}", reason.sentence())
            }
            Self::Gone => "Unknown, because it is not waiting any more.".to_owned(),
        }
    }
}
