//! Who did what, when and why.

use std::sync::Arc;

use atelier_domain::access::{Action, Grant, Whose};
use atelier_domain::error::AppError;
use atelier_domain::text::search_text;
use atelier_engine::store::{self, HistoryEntry, HistoryFilter, Person};

use crate::caller::Caller;
use crate::studio::Studio;

const PAGE: i64 = 50;

const NOTICES: i64 = 8;

/// What the page shows, as the URL holds it: `?q=&after=`.
#[derive(Clone, Debug, Default)]
pub struct HistoryQuery {
    /// Part of a name, a sentence or a reason.
    pub q: String,
    /// The cursor of the last row of the page before.
    pub after: String,
}

/// One page of the history, newest first.
#[derive(Clone, Debug)]
pub struct HistoryPage {
    /// At most 50 entries.
    pub rows: Vec<HistoryEntry>,
    /// The cursor for `after` of the next page.
    pub next: Option<String>,
    /// Whether only the viewer's own entries are shown, since the right reaches no further.
    pub own_only: bool,
}

/// One page of the history. Needs `history.read`; with scope own it holds what one did or what was done to
/// one.
pub async fn list_history(caller: &Caller, query: &HistoryQuery) -> Result<HistoryPage, AppError> {
    let actor = caller.authorise_for(Action::HistoryRead, Whose::Own).await?;
    let own_only = actor.person.rights().grant(Action::HistoryRead) == Grant::Own;
    let filter = HistoryFilter {
        part: search_text(&query.q),
        about: own_only.then(|| actor.person.id.clone()),
        before: read_cursor(&query.after),
        limit: PAGE + 1,
        ..HistoryFilter::default()
    };
    let mut rows = caller.checked(caller.store().history(&actor.workspace.id, &filter).await)?;
    let next = cut(&mut rows, PAGE, |entry| (entry.revision, entry.ordinal));
    Ok(HistoryPage { rows, next, own_only })
}

/// The newest entries, at most `limit`. Needs `history.read`; with scope own they are as in [`list_history`].
pub async fn recent_history(caller: &Caller, limit: usize) -> Result<Arc<Vec<HistoryEntry>>, AppError> {
    let actor = caller.authorise_for(Action::HistoryRead, Whose::Own).await?;
    let own_only = actor.person.rights().grant(Action::HistoryRead) == Grant::Own;
    let about = own_only.then(|| actor.person.id.clone());
    let workspace = &actor.workspace.id;
    let read = async {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let filter = HistoryFilter { about: about.clone(), limit, ..HistoryFilter::default() };
        caller.checked(caller.store().history(workspace, &filter).await)
    };
    caller.studio.reads().events.get(&caller.studio, (workspace.clone(), about.clone(), limit), read).await
}

/// What others did to somebody lately, newest first, for the bell.
pub async fn notices_of(state: &Studio, person: &Person) -> store::Result<Arc<Vec<HistoryEntry>>> {
    let read = async {
        let filter = HistoryFilter { done_to: Some(person.id.clone()), limit: NOTICES, ..HistoryFilter::default() };
        state.store().history(&person.workspace, &filter).await
    };
    state.reads().notices.get(state, person.id.clone(), read).await
}

/// The place of an entry in the order in which things happened, as addresses hold it: `revision.ordinal`.
pub(crate) fn read_cursor(text: &str) -> Option<(i64, i64)> {
    text.split_once('.').and_then(|(revision, ordinal)| Some((revision.parse().ok()?, ordinal.parse().ok()?)))
}

/// Cuts a page off lines of which one more was read than it has. The cursor of the rest, if there is any.
pub(crate) fn cut<T>(lines: &mut Vec<T>, page: i64, place: impl Fn(&T) -> (i64, i64)) -> Option<String> {
    let page = usize::try_from(page).unwrap_or(usize::MAX);
    let has_more = lines.len() > page;
    lines.truncate(page);
    let (revision, ordinal) = lines.last().filter(|_| has_more).map(place)?;
    Some(format!("{revision}.{ordinal}"))
}
