//! The portal as one document: its head, and which page answers which address.

use leptos::prelude::*;
use leptos_meta::{MetaTags, provide_meta_context};
use leptos_router::components::{FlatRoutes, Route, Router};
use leptos_router::{SsrMode, path};

use crate::pages::{
    ActivityPage, ComputePage, ComputeStart, ConfirmPeoplePage, HomePage, NewPasswordPage, NewPersonPage, PeoplePage,
    PersonPage, ProfilePage, RolesPage, SearchPage, SetUpPage, SignInPage, UnknownPage,
};
use crate::server::{assets, page};
use atelier_domain::account::Theme;

/// The document around every page.
///
/// The theme is on the root element, so that the first paint is right: the person's own, or the cookie's for who is not
/// signed in. "As the system" is no attribute at all, and style follows the browser then.
pub fn shell(options: LeptosOptions) -> impl IntoView {
    let theme = page::viewer().map_or_else(page::cookie_theme, |viewer| viewer.theme);
    let theme = (theme != Theme::System).then(|| theme.key());
    view! {
        <!DOCTYPE html>
        <html lang="en" data-theme=theme>
            <head>
                <meta charset="utf-8"/>
                <meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover"/>
                <meta name="color-scheme" content="light dark"/>
                <link
                    as="font" rel="preload" type="font/woff2" crossorigin="anonymous"
                    href=assets::url("/fonts/inter.woff2")
                />
                <link rel="stylesheet" href=assets::url("/pkg/atelier.css")/>
                <link rel="icon" type="image/svg+xml" href=assets::url("/favicon.svg")/>
                <HydrationScripts options islands=true/>
                <MetaTags/>
            </head>
            <body><App/></body>
        </html>
    }
}

/// Which page answers which address; `src/paths.rs` builds the same addresses for links.
///
/// Every page is rendered whole before the first byte is sent, so that its status is the true one and nothing is left to
/// script.
#[component]
pub fn App() -> impl IntoView {
    provide_meta_context();
    view! {
        <Router>
            <FlatRoutes fallback=UnknownPage>
                <Route path=path!("/set-up") view=SetUpPage ssr=SsrMode::Async/>
                <Route path=path!("/sign-in") view=SignInPage ssr=SsrMode::Async/>
                <Route path=path!("/new-password") view=NewPasswordPage ssr=SsrMode::Async/>
                <Route path=path!("/profile") view=ProfilePage ssr=SsrMode::Async/>
                <Route path=path!("/w/:workspace") view=HomePage ssr=SsrMode::Async/>
                <Route path=path!("/w/:workspace/compute") view=ComputeStart ssr=SsrMode::Async/>
                <Route path=path!("/w/:workspace/compute/:tab") view=ComputePage ssr=SsrMode::Async/>
                <Route path=path!("/w/:workspace/activity") view=ActivityPage ssr=SsrMode::Async/>
                <Route path=path!("/w/:workspace/search") view=SearchPage ssr=SsrMode::Async/>
                <Route path=path!("/w/:workspace/admin/people") view=PeoplePage ssr=SsrMode::Async/>
                <Route path=path!("/w/:workspace/admin/people/new") view=NewPersonPage ssr=SsrMode::Async/>
                <Route
                    path=path!("/w/:workspace/admin/people/confirm/:verb") view=ConfirmPeoplePage ssr=SsrMode::Async
                />
                <Route path=path!("/w/:workspace/admin/people/:id") view=PersonPage ssr=SsrMode::Async/>
                <Route path=path!("/w/:workspace/admin/roles") view=RolesPage ssr=SsrMode::Async/>
            </FlatRoutes>
        </Router>
    }
}
