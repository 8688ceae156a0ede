//! The frame around every page of a signed-in person.

use atelier_domain::history::Topic;
use leptos::prelude::*;

use crate::components::NavItem;
use crate::components::nav::{Nav, TabBar};
use crate::components::secret::SecretOnce;
use crate::components::toast::Toast;
use crate::components::topbar::TopBar;
use crate::form::Flash;
use crate::islands::Enhance;
use crate::viewer::Viewer;

/// Navigation, top bar, the sheet for the page, and what appears over it.
#[component]
pub fn Shell(
    viewer: Viewer,
    /// The part of the portal that the page belongs to.
    current: NavItem,
    /// What is shown once: the toast and the secret of what was just done.
    #[prop(optional_no_strip)]
    flash: Option<Flash>,
    /// What the page watches; its elements with `data-live` are refreshed when one of these changes.
    #[prop(optional)]
    topics: Vec<Topic>,
    children: Children,
) -> AnyView {
    let Flash { toast, secret, .. } = flash.unwrap_or_default();
    let folded = viewer.nav_collapsed.then_some("collapsed");
    // Every page tells its viewer that an instance of theirs is going to stop.
    let topics = topics.into_iter().chain([Topic::Warnings]).collect::<Vec<_>>();
    let warnings = crate::components::warning::corner(&viewer);
    html! {
        <a class="skip" href="#main">"Skip to content"</a>
        <div class="shell" data-nav=folded>
            <Nav viewer=viewer.clone() current=current/>
            <TopBar viewer=viewer.clone() topics=topics/>
            <main class="sheet" id="main" tabindex="-1">
                {secret.map(|secret| view! { <SecretOnce secret=secret/> })}
                {children()}
            </main>
            <TabBar viewer=viewer current=current/>
        </div>
        {warnings}
        <Overlay toast=toast/>
    }
}

/// What both frames have at their end: the toast, the region that is read out, and the browser's half.
#[component]
pub(super) fn Overlay(
    /// The good news, if there is any.
    toast: Option<String>,
) -> AnyView {
    html! {
        <div class="toasts" role="status">{toast.map(|text| view! { <Toast text=text/> })}</div>
        <div class="sr" id="announcer" aria-live="polite"></div>
        <Enhance/>
    }
}
