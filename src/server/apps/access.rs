//! How somebody may enter an application: as its owner, or by a share.

use atelier_domain::access::{Action, Whose};
use atelier_domain::app_sharing::{Level, Standing, opens};
use atelier_domain::compute::InstanceId;
use atelier_domain::{Timestamp, UserId};
use atelier_engine::clock;
use atelier_engine::store::{self, Person, ShareKey};

use crate::server::state::AppState;

/// How somebody comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// For the owner of the instance.
    Own,
    /// For somebody with whom the owner shares the application.
    Shared {
        /// What they may do there.
        level: Level,
        /// When that ends by itself.
        until: Option<Timestamp>,
    },
}

impl Access {
    /// Whether its holder may only look.
    pub const fn is_read_only(self) -> bool {
        matches!(self, Self::Shared { level: Level::Read, .. })
    }

    /// Whether it is over by then.
    pub fn is_over(self, now: Timestamp) -> bool {
        matches!(self, Self::Shared { until: Some(until), .. } if until <= now)
    }

    /// Whether what was allowed before still is: a share may get another end without anybody noticing.
    pub const fn is_like(self, other: Self) -> bool {
        match (self, other) {
            (Self::Own, Self::Own) => true,
            (Self::Shared { level: a, .. }, Self::Shared { level: b, .. }) => a as u8 == b as u8,
            _ => false,
        }
    }
}

/// How a person may enter an application of an instance that belongs to `owner`; nothing if they may not.
pub async fn access_of(
    state: &AppState,
    person: &Person,
    owner: &UserId,
    instance: InstanceId,
    app: &str,
) -> store::Result<Option<Access>> {
    if *owner == person.id {
        // Whose roles open no applications any more opens none of their own either.
        let may_connect = person.rights().check(Action::InstanceConnect, Whose::Own).is_ok();
        return Ok(may_connect.then_some(Access::Own));
    }
    let key: ShareKey = (instance, app.to_owned(), person.id.clone());
    let Some((found, giver)) = state.store().share_of(&key).await? else { return Ok(None) };
    let rights = person.rights();
    let standing =
        Standing { owner, owner_state: giver.state, visitor_state: person.state, rights: &rights, now: clock::now() };
    Ok(opens(&found.share, &standing).map(|level| Access::Shared { level, until: found.share.until }))
}

/// Tells the history of shares whose time is over, and forgets those that nobody needs to see any more.
pub async fn tend_shares(state: &AppState, now: Timestamp) {
    let month = atelier_domain::time::Span::hours(24 * 30).as_millis();
    let owners = state
        .engine()
        .ask(|world| world.instances().map(|one| (one.id, one.owner.clone())).collect::<Vec<(InstanceId, UserId)>>());
    let tended = async {
        state.store().end_shares(now).await?;
        state.store().drop_old_shares(Timestamp(now.0 - month)).await?;
        if let Ok(owners) = owners.await {
            state.store().drop_shares_of_others(&owners).await?;
        }
        store::Result::Ok(())
    };
    if let Err(error) = tended.await {
        tracing::warn!(%error, "shares that are over were not tended; the next minute tries again");
    }
}
