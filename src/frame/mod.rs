//! The one way in which pages come about: the right is checked, the read is awaited, what fails is explained.

pub mod compute;
pub mod help;

use std::future::Future;

use atelier_domain::access::{Action, Whose};
use atelier_domain::history::Topic;
use atelier_domain::paths;
use leptos::prelude::*;
use leptos_router::hooks::use_params_map;

use crate::components::{Banner, NavItem, Shell, Tone};
use crate::error::AppError;
use crate::form::{Flash, FormState};
use crate::server::page;
use crate::viewer::Viewer;

/// What a page is, beside its content.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// The part of the portal that it belongs to.
    pub nav: NavItem,
    /// The right that it needs, and whether having it for one's own things is enough.
    pub needs: Option<(Action, Whose)>,
    pub topics: &'static [Topic],
}

impl Place {
    /// A page that needs a right on everybody's things.
    pub const fn of(nav: NavItem, action: Action, topics: &'static [Topic]) -> Self {
        Self { nav, needs: Some((action, Whose::Others)), topics }
    }

    /// A page for which the right on one's own things is enough.
    pub const fn own(nav: NavItem, action: Action, topics: &'static [Topic]) -> Self {
        Self { nav, needs: Some((action, Whose::Own)), topics }
    }
}

/// What every page knows of its request.
#[derive(Clone, Debug)]
pub struct Visit {
    pub viewer: Viewer,
    pub flash: Option<Flash>,
}

impl Visit {
    /// The state of the form that posts to the server function `name`.
    pub fn form(&self, name: &str) -> FormState {
        FormState::of(self.flash.as_ref(), name)
    }

    /// Why the last post of one of these forms was refused, where the form itself does not say it.
    pub fn refused(&self, forms: &[&str]) -> Option<AnyView> {
        let text = forms.iter().find_map(|form| self.form(form).refusal())?;
        Some(view! { <Banner tone=Tone::Failed text=text/> }.into_any())
    }

    /// The short name of the workspace, for paths.
    pub fn slug(&self) -> &str {
        &self.viewer.workspace.slug
    }
}

/// A page in the shell: `content` if the viewer has the right, else the page that says which right is
/// missing.
pub fn studio(place: Place, content: impl FnOnce(Visit) -> AnyView + Send + 'static) -> AnyView {
    // Guards send everybody else away before; a page never shows anything to nobody.
    let Some(viewer) = page::viewer() else {
        page::redirect(paths::SIGN_IN);
        return ().into_any();
    };
    let denied = place.needs.and_then(|(action, whose)| viewer.rights.check(action, whose).err());
    let visit = Visit { viewer: viewer.clone(), flash: page::flash() };
    let flash = visit.flash.clone();
    let is_foreign = page::is_foreign_workspace();
    let topics = if denied.is_none() && !is_foreign { place.topics.to_vec() } else { Vec::new() };
    html! {
        <Shell viewer=viewer.clone() current=place.nav flash=flash topics=topics>
            {match denied {
                _ if is_foreign => help::not_found(&viewer, "workspace"),
                Some(denied) => help::forbidden(&viewer, &denied),
                None => content(visit),
            }}
        </Shell>
    }
}

/// Awaits what a page reads and shows it, or the help page that fits the error.
pub fn load<T, Read, Show>(viewer: Viewer, read: Read, show: Show) -> AnyView
where
    T: Send + 'static,
    Read: Future<Output = Result<T, AppError>> + Send + 'static,
    Show: FnOnce(T) -> AnyView + Send + 'static,
{
    html! {
        <Suspense>
            {Suspend::new(async move {
                match read.await {
                    Ok(found) => show(found),
                    Err(error) => help::problem(&viewer, error),
                }
            })}
        </Suspense>
    }
}

/// A part of the address by its name in the route.
pub fn param(name: &str) -> String {
    use_params_map().with_untracked(|params| params.get(name)).unwrap_or_default()
}
