//! Who did what, when and why.

use std::sync::Arc;

use atelier_domain::access::{Action, Grant, Whose};
use atelier_domain::error::AppError;
use atelier_domain::text::search_text;
use atelier_domain::{Timestamp, UserId};
use atelier_engine::store::{self, HistoryEntry, HistoryFilter, Person};

use crate::caller::Caller;
use crate::studio::Studio;

/// Rows of one page.
const PAGE: i64 = 50;

/// How many entries the bell shows.
const NOTICES: i64 = 8;

/// One entry.
#[derive(Clone, Debug)]
pub struct HistoryRow {
    /// The revision that it belongs to.
    pub revision: i64,
    pub at: Timestamp,
    /// The account of who did it; none for the system and the server's console.
    pub actor: Option<UserId>,
    pub actor_name: String,
    pub kind: String,
    /// What was done, without the actor: "disabled Mara Lindqvist".
    pub sentence: String,
    pub why: Option<String>,
    pub request: Option<String>,
}

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
    pub rows: Vec<HistoryRow>,
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
    let before = query.after.split_once('.').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
    let filter = HistoryFilter {
        part: search_text(&query.q),
        about: own_only.then(|| actor.person.id.clone()),
        before,
        limit: PAGE + 1,
        ..HistoryFilter::default()
    };
    let mut entries = caller.checked(caller.store().history(&actor.workspace.id, &filter).await)?;
    let has_more = entries.len() > usize::try_from(PAGE).unwrap_or(usize::MAX);
    entries.truncate(usize::try_from(PAGE).unwrap_or(usize::MAX));
    let last = entries.last().filter(|_| has_more);
    let next = last.map(|entry| format!("{}.{}", entry.revision, entry.ordinal));
    Ok(HistoryPage { rows: entries.into_iter().map(row).collect(), next, own_only })
}

/// The newest entries, at most `limit`. Needs `history.read`; with scope own they are as in [`list_history`].
pub async fn recent_history(caller: &Caller, limit: usize) -> Result<Arc<Vec<HistoryRow>>, AppError> {
    let actor = caller.authorise_for(Action::HistoryRead, Whose::Own).await?;
    let own_only = actor.person.rights().grant(Action::HistoryRead) == Grant::Own;
    let about = own_only.then(|| actor.person.id.clone());
    let workspace = &actor.workspace.id;
    let read = async {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let filter = HistoryFilter { about: about.clone(), limit, ..HistoryFilter::default() };
        let entries = caller.checked(caller.store().history(workspace, &filter).await)?;
        Ok(entries.into_iter().map(row).collect())
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

/// An entry as pages show it.
pub fn row(entry: HistoryEntry) -> HistoryRow {
    HistoryRow {
        revision: entry.revision,
        at: entry.at,
        actor: entry.actor,
        actor_name: entry.actor_name,
        kind: entry.kind,
        sentence: entry.sentence,
        why: entry.why,
        request: entry.request,
    }
}
