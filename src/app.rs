//! The portal as one document: its head, and which page answers which address.

use atelier_domain::account::Theme;
use leptos::prelude::*;
use leptos_meta::{MetaTags, provide_meta_context};
use leptos_router::components::{FlatRoutes, Route, Router};
use leptos_router::{SsrMode, path};

use crate::account::pages::profile::ProfilePage;
use crate::account::pages::sign_in::{NewPasswordPage, SetUpPage, SignInPage};
use crate::clusters::pages::delete::DeleteClusterPage;
use crate::clusters::pages::detail::ClusterPage;
use crate::clusters::pages::new::NewClusterPage;
use crate::clusters::pages::preview::PreviewPage;
use crate::compute::page::{ComputePage, ComputeStart};
use crate::cost::pages::budgets::BudgetsPage;
use crate::cost::pages::cost::CostPage;
use crate::engines::pages::page::EnginesPage;
use crate::engines::pages::quarantine::QuarantinePage;
use crate::engines::pages::remove_unknown::RemoveUnknownPage;
use crate::environments::pages::base::EnvironmentPage;
use crate::environments::pages::compare::CompareEnvironmentsPage;
use crate::environments::pages::delete::DeleteEnvironmentPage;
use crate::environments::pages::detail::NamedEnvironmentPage;
use crate::environments::pages::form::NewEnvironmentPage;
use crate::environments::pages::list::EnvironmentsPage;
use crate::files::pages::ask::{DeleteFilesPage, EmptyTrashPage, MoveFilePage};
use crate::files::pages::edit::{EditFilePage, NewFilePage};
use crate::files::pages::list::FilesPage;
use crate::files::pages::trash::TrashPage;
use crate::files::pages::usage::FilesUsagePage;
use crate::files::pages::view::FilePage;
use crate::frame::help::UnknownPage;
use crate::history::page::ActivityPage;
use crate::home::HomePage;
use crate::instances::pages::detail::confirm::ConfirmInstancesPage;
use crate::instances::pages::detail::page::InstancePage;
use crate::instances::pages::detail::transfer::TransferPage;
use crate::instances::pages::open_app::OpenAppPage;
use crate::instances::wizard::page::NewInstancePage;
use crate::jobs::pages::confirm::{CancelJobsPage, ConfirmJobsPage};
use crate::jobs::pages::detail::JobPage;
use crate::jobs::pages::list::JobsPage;
use crate::jobs::pages::new::NewJobPage;
use crate::people::pages::confirm::ConfirmPeoplePage;
use crate::people::pages::list::PeoplePage;
use crate::people::pages::new::NewPersonPage;
use crate::people::pages::person::PersonPage;
use crate::people::pages::roles::RolesPage;
use crate::quota::pages::fair_shares::SharesPage;
use crate::quota::pages::quota::QuotaPage;
use crate::schedules::pages::instance::InstanceSchedulesPage;
use crate::schedules::pages::week::SchedulesPage;
use crate::search::SearchPage;
use crate::server::{assets, page};
use crate::settings::SettingsPage;
use crate::sizes::pages::form::{RemoveSizePage, SizePage};
use crate::sizes::pages::list::SizesPage;

/// The document around every page.
///
/// The theme is on the root element, so that the first paint is right: the person's own, or the cookie's for
/// who is not signed in. "As the system" is no attribute at all, and style follows the browser then.
pub fn shell() -> impl IntoView {
    let theme = Some(page::theme()).filter(|theme| *theme != Theme::System).map(Theme::key);
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
                <BrowserHalf/>
                <MetaTags/>
            </head>
            <body><App/></body>
        </html>
    }
}

/// Loads the browser's half and wakes the islands as soon as the page is read.
///
/// Leptos' own script waits for a moment in which the browser is idle and sets no limit, so that on a busy
/// machine a page may never come alive. What is here does not wait; it is a module, which runs when the page
/// is whole and keeps nothing up before that.
#[component]
fn BrowserHalf() -> impl IntoView {
    // What follows is plain HTML; only islands are ever hydrated.
    if let Some(context) = Owner::current_shared_context() {
        context.set_is_hydrating(false);
    }
    let name = assets::pkg_name();
    let (script, wasm) = (format!("/pkg/{name}.js"), format!("/pkg/{name}_bg.wasm"));
    let wake = format!(
        "import * as half from \"{script}\";\n\
         await half.default({{ module_or_path: \"{wasm}\" }});\n\
         half.hydrate();\n\
         for (const island of document.querySelectorAll(\"leptos-island\")) half[island.dataset.component]?.(island);"
    );
    let nonce = leptos::nonce::use_nonce();
    view! {
        <link rel="modulepreload" href=script nonce=nonce.clone()/>
        <link as="fetch" rel="preload" type="application/wasm" crossorigin="anonymous" href=wasm/>
        <script type="module" nonce=nonce inner_html=wake></script>
    }
}

/// Every page is rendered whole before the first byte is sent, so that its status is the true one and nothing
/// is left to script.
const WHOLE: SsrMode = SsrMode::Async;

/// Which page answers which address; `atelier_domain::paths` builds the same addresses for links.
#[component]
pub fn App() -> impl IntoView {
    provide_meta_context();
    view! {
        <Router>
            <FlatRoutes fallback=UnknownPage>
                <Route path=path!("/set-up") view=SetUpPage ssr=WHOLE/>
                <Route path=path!("/sign-in") view=SignInPage ssr=WHOLE/>
                <Route path=path!("/new-password") view=NewPasswordPage ssr=WHOLE/>
                <Route path=path!("/profile") view=ProfilePage ssr=WHOLE/>
                <Route path=path!("/w/:workspace") view=HomePage ssr=WHOLE/>
                <Route path=path!("/w/:workspace/compute") view=ComputeStart ssr=WHOLE/>
                <Route path=path!("/w/:workspace/compute/:tab") view=ComputePage ssr=WHOLE/>
                <Route path=path!("/w/:workspace/jobs") view=JobsPage ssr=WHOLE/>
                <Route path=path!("/w/:workspace/jobs/new") view=NewJobPage ssr=WHOLE/>
                <Route path=path!("/w/:workspace/jobs/cancel") view=CancelJobsPage ssr=WHOLE/>
                <Route path=path!("/w/:workspace/jobs/confirm/:verb") view=ConfirmJobsPage ssr=WHOLE/>
                <Route path=path!("/w/:workspace/jobs/:id") view=JobPage ssr=WHOLE/>
                <Route path=path!("/w/:workspace/compute/clusters/new") view=NewClusterPage ssr=WHOLE/>
                <Route path=path!("/w/:workspace/compute/clusters/:name") view=ClusterPage ssr=WHOLE/>
                <Route path=path!("/w/:workspace/compute/clusters/:name/delete") view=DeleteClusterPage ssr=WHOLE/>
                <Route path=path!("/w/:workspace/compute/clusters/:name/preview") view=PreviewPage ssr=WHOLE/>
                <Route path=path!("/w/:workspace/compute/instances/new") view=NewInstancePage ssr=WHOLE/>
                <Route path=path!("/w/:workspace/compute/instances/:name") view=InstancePage ssr=WHOLE/>
                <Route path=path!("/w/:workspace/compute/instances/:name/jobs") view=InstancePage ssr=WHOLE/>
                <Route path=path!("/w/:workspace/compute/instances/:name/logs") view=InstancePage ssr=WHOLE/>
                <Route path=path!("/w/:workspace/compute/instances/:name/monitoring") view=InstancePage ssr=WHOLE/>
                <Route path=path!("/w/:workspace/compute/instances/:name/history") view=InstancePage ssr=WHOLE/>
                <Route path=path!("/w/:workspace/compute/instances/:name/apps") view=InstancePage ssr=WHOLE/>
                <Route path=path!("/w/:workspace/compute/instances/:name/settings") view=InstancePage ssr=WHOLE/>
                <Route path=path!("/w/:workspace/compute/instances/:name/sharing") view=InstancePage ssr=WHOLE/>
                <Route path=path!("/w/:workspace/compute/instances/:name/transfer") view=TransferPage ssr=WHOLE/>
                <Route path=path!("/w/:workspace/instances/confirm/:verb") view=ConfirmInstancesPage ssr=WHOLE/>
                <Route path=path!("/w/:workspace/instances/:name/open/:app") view=OpenAppPage ssr=WHOLE/>
                <Route
                    path=path!("/w/:workspace/compute/instances/:name/schedules") view=InstanceSchedulesPage
                    ssr=WHOLE
                />
                <Route path=path!("/w/:workspace/schedules") view=SchedulesPage ssr=WHOLE/>
                <Route path=path!("/w/:workspace/environments") view=EnvironmentsPage ssr=WHOLE/>
                <Route path=path!("/w/:workspace/environments/new") view=NewEnvironmentPage ssr=WHOLE/>
                <Route path=path!("/w/:workspace/environments/compare") view=CompareEnvironmentsPage ssr=WHOLE/>
                <Route path=path!("/w/:workspace/environments/:name") view=NamedEnvironmentPage ssr=WHOLE/>
                <Route path=path!("/w/:workspace/environments/:name/delete") view=DeleteEnvironmentPage ssr=WHOLE/>
                <Route path=path!("/w/:workspace/admin/settings") view=SettingsPage ssr=WHOLE/>
                <Route path=path!("/w/:workspace/cost") view=CostPage ssr=WHOLE/>
                <Route path=path!("/w/:workspace/cost/budgets") view=BudgetsPage ssr=WHOLE/>
                <Route path=path!("/w/:workspace/admin/quota") view=QuotaPage ssr=WHOLE/>
                <Route path=path!("/w/:workspace/admin/shares") view=SharesPage ssr=WHOLE/>
                <Route path=path!("/w/:workspace/files") view=FilesPage ssr=WHOLE/>
                <Route path=path!("/w/:workspace/files/view") view=FilePage ssr=WHOLE/>
                <Route path=path!("/w/:workspace/files/edit") view=EditFilePage ssr=WHOLE/>
                <Route path=path!("/w/:workspace/files/new") view=NewFilePage ssr=WHOLE/>
                <Route path=path!("/w/:workspace/files/move") view=MoveFilePage ssr=WHOLE/>
                <Route path=path!("/w/:workspace/files/delete") view=DeleteFilesPage ssr=WHOLE/>
                <Route path=path!("/w/:workspace/files/trash") view=TrashPage ssr=WHOLE/>
                <Route path=path!("/w/:workspace/files/trash/empty") view=EmptyTrashPage ssr=WHOLE/>
                <Route path=path!("/w/:workspace/files/usage") view=FilesUsagePage ssr=WHOLE/>
                <Route path=path!("/w/:workspace/activity") view=ActivityPage ssr=WHOLE/>
                <Route path=path!("/w/:workspace/search") view=SearchPage ssr=WHOLE/>
                <Route path=path!("/w/:workspace/admin/people") view=PeoplePage ssr=WHOLE/>
                <Route path=path!("/w/:workspace/admin/people/new") view=NewPersonPage ssr=WHOLE/>
                <Route path=path!("/w/:workspace/admin/people/confirm/:verb") view=ConfirmPeoplePage ssr=WHOLE/>
                <Route path=path!("/w/:workspace/admin/people/:id") view=PersonPage ssr=WHOLE/>
                <Route path=path!("/w/:workspace/admin/roles") view=RolesPage ssr=WHOLE/>
                <Route path=path!("/w/:workspace/admin/sizes") view=SizesPage ssr=WHOLE/>
                <Route path=path!("/w/:workspace/admin/sizes/:name") view=SizePage ssr=WHOLE/>
                <Route path=path!("/w/:workspace/admin/sizes/:name/remove") view=RemoveSizePage ssr=WHOLE/>
                <Route path=path!("/w/:workspace/admin/environment") view=EnvironmentPage ssr=WHOLE/>
                <Route path=path!("/w/:workspace/admin/engines") view=EnginesPage ssr=WHOLE/>
                <Route path=path!("/w/:workspace/admin/engines/remove") view=RemoveUnknownPage ssr=WHOLE/>
                <Route path=path!("/w/:workspace/admin/engines/quarantine") view=QuarantinePage ssr=WHOLE/>
            </FlatRoutes>
        </Router>
    }
}
