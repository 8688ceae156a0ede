//! How long what jobs printed and left behind is kept.

use atelier_domain::Timestamp;
use atelier_domain::time::Span;

use crate::studio::Studio;

/// How long a job's log and outputs are kept after its end.
pub fn kept(state: &Studio) -> Span {
    Span::hours(24 * state.settings().keep_logs_days)
}

/// After how many days the log and the outputs of a job were removed, if that time is over.
pub fn removed_after(state: &Studio, ended: Option<Timestamp>, now: Timestamp) -> Option<u32> {
    let is_over = ended.is_some_and(|ended| ended.0.saturating_add(kept(state).as_millis()) <= now.0);
    is_over.then(|| state.settings().keep_logs_days)
}

/// That, in words.
pub fn sentence(days: u32) -> String {
    let days = atelier_domain::text::counted(days.into(), "day", "days");
    format!("What a job printed and left behind is kept for {days} after its end; that is over, and it was removed.")
}
