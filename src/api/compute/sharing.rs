//! Sharing applications of instances with colleagues.

#![allow(
    missing_docs,
    reason = "the argument structs of server functions are generated; their fields are the form's fields"
)]

use leptos::prelude::*;

use crate::api::Done;
use crate::error::AppError;

#[cfg(feature = "ssr")]
pub use reads::*;

/// Shares an application of one's own instance, or changes how it is shared. Needs `instance.share`.
#[server(prefix = "/fn", endpoint = "share_app")]
pub async fn share_app(
    instance: String,
    #[server(default)] person: String,
    #[server(default)] app: String,
    #[server(default)] level: String,
    #[server(default)] until: String,
) -> Result<Done, AppError> {
    changes::share(&instance, person, app, level, &until).await
}

/// Takes a share back. Needs `instance.share`.
#[server(prefix = "/fn", endpoint = "revoke_share")]
pub async fn revoke_share(instance: String, app: String, person: String) -> Result<Done, AppError> {
    changes::revoke(&instance, &app, &person).await
}

#[cfg(feature = "ssr")]
mod reads {
    use atelier_engine::store::Person;

    use crate::api::caller::Caller;
    use crate::error::AppError;
    use crate::studio::sharing::{self, ShareRow, SharedWithMe};

    /// What the tab of an instance shows.
    #[derive(Clone, Debug)]
    pub struct SharingView {
        /// The shares.
        pub rows: Vec<ShareRow>,
        /// With whom else something could be shared.
        pub colleagues: Vec<Person>,
    }

    /// The shares of one's own instance. Needs `instance.share`.
    pub async fn sharing(caller: &Caller, name: &str) -> Result<SharingView, AppError> {
        let (_, rows) = sharing::list(caller, name).await?;
        Ok(SharingView { rows, colleagues: sharing::colleagues(caller).await? })
    }

    /// What others share with the viewer.
    pub async fn shared_with_me() -> Result<Vec<SharedWithMe>, AppError> {
        let caller = Caller::here()?;
        sharing::with_me(&caller).await
    }
}

#[cfg(feature = "ssr")]
mod changes {
    use atelier_domain::text::{Problem, shortened};

    use crate::api::Done;
    use crate::api::caller::Caller;
    use crate::components::clock;
    use crate::error::AppError;
    use crate::studio::sharing::{self, ShareRequest};

    pub async fn share(
        instance: &str,
        person: String,
        app: String,
        level: String,
        until: &str,
    ) -> Result<Done, AppError> {
        let caller = Caller::here()?;
        let zone = caller.actor()?.person.time_zone.clone();
        let until = match until.trim() {
            "" => Ok(None),
            typed => clock::parse_local(typed, &zone).map(Some).ok_or_else(|| {
                let start = shortened(typed);
                Problem::new("until", format!("A day and a time look like 2026-03-19T19:30; this is “{start}”."))
            }),
        };
        let request = ShareRequest { person, app, level, until };
        let (subject, row) = sharing::put(&caller, instance, request).await?;
        let end = row.until.map(|until| format!(" until {}", clock::date_and_time(until, &zone))).unwrap_or_default();
        let (label, level, name) = (&row.label, row.level.key(), &row.person.name);
        Ok(Done::stay(format!("{label} of {} is shared with {name} to {level}{end}.", subject.name)))
    }

    pub async fn revoke(instance: &str, app: &str, person: &str) -> Result<Done, AppError> {
        let caller = Caller::here()?;
        let (name, label) = sharing::revoke(&caller, instance, app, person).await?;
        Ok(Done::stay(format!("{label} is not shared with {name} any more; what they had open is closed.")))
    }
}
