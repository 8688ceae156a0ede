//! The bar at the top: workspace, search, live indicator, bell, account.

use atelier_domain::account::Theme;
use atelier_domain::history::Topic;
use atelier_domain::paths;
use leptos::prelude::*;

use crate::components::avatar::Avatar;
use crate::components::icon::{Icon, Mark, sprite};
use crate::components::time::Time;
use crate::islands::Live;
use crate::viewer::{Notice, Viewer, WorkspaceView};

/// The bar at the top, with its menus.
#[component]
pub fn TopBar(viewer: Viewer, topics: Vec<Topic>) -> AnyView {
    let slug = viewer.workspace.slug.clone();
    let topics = topics.into_iter().map(Topic::key).collect::<Vec<_>>().join(",");
    let waiting = viewer.unread.saturating_add((viewer.warnings.len() + viewer.budgets.len()) as u32);
    let unread = (waiting > 0).then(|| if waiting > 99 { "99+".to_owned() } else { waiting.to_string() });
    let bell = match waiting {
        0 => "Notifications, none unread".to_owned(),
        count => format!("Notifications, {count} unread"),
    };
    let account = format!("Account: {}", viewer.name);
    html! {
        <header class="topbar">
            <a class="phone-only" href=paths::home(&slug) aria-label="Atelier, home"><Mark/></a>
            <button class="switcher" type="button" popovertarget="m-ws">
                <Badge workspace=viewer.workspace.clone()/>
                <span class="sr">"Workspace: "</span>
                <span class="name">{viewer.workspace.name.clone()}</span>
                <Icon name="updown" class="i-s"/>
            </button>
            <form class="search" role="search" aria-label="Everywhere" method="get" action=paths::search(&slug)>
                <Icon name="search"/>
                <input
                    type="search" name="q" aria-label="Search people and pages" placeholder="Search people and pages"
                    autocomplete="off" data-search=""
                />
                <kbd class="needs-script" aria-hidden="true">"Ctrl K"</kbd>
            </form>
            <div class="topbar-end">
                <Live stream=paths::events(&slug) revision=viewer.revision topics=topics sprite=sprite().to_owned()/>
                <a class="btn ghost icon phone-only" href=paths::search(&slug) aria-label="Search">
                    <Icon name="search"/>
                </a>
                <span data-live="bell">
                    <button
                        class="btn ghost icon bell" type="button" popovertarget="m-bell" aria-label=bell
                        data-count=unread
                    >
                        <Icon name="bell"/>
                    </button>
                </span>
                <button class="btn ghost icon" type="button" popovertarget="m-user">
                    <Avatar name=viewer.name.clone() large=true/>
                    <span class="sr">{account}</span>
                </button>
            </div>
            <WorkspaceMenu workspace=viewer.workspace.clone()/>
            <BellMenu viewer=viewer.clone()/>
            <UserMenu viewer=viewer/>
        </header>
    }
}

/// The letter of a workspace.
#[component]
fn Badge(workspace: WorkspaceView) -> AnyView {
    let letter: String = workspace.name.chars().take(1).flat_map(char::to_uppercase).collect();
    html! { <span class="ws" aria-hidden="true">{letter}</span> }
}

/// The workspaces that one belongs to.
#[component]
fn WorkspaceMenu(
    /// The workspace of the page.
    workspace: WorkspaceView,
) -> AnyView {
    html! {
        <div class="menu start" id="m-ws" popover="auto">
            <h3>"Workspaces"</h3>
            <a href=paths::home(&workspace.slug) aria-current="true">
                <Badge workspace=workspace.clone()/>
                {workspace.name}
                <Icon name="check" class="push"/>
            </a>
        </div>
    }
}

/// What others did to this person lately.
#[component]
fn BellMenu(viewer: Viewer) -> AnyView {
    let warnings = crate::components::warning::in_bell(&viewer);
    let has_warnings = !viewer.warnings.is_empty() || !viewer.budgets.is_empty();
    let (now, zone) = (viewer.now, viewer.time_zone);
    let list = if viewer.notices.is_empty() && has_warnings {
        ().into_any()
    } else if viewer.notices.is_empty() {
        html! {
            <p class="nothing">"Nothing yet. When somebody changes your account or your roles, it is said here."</p>
        }
    } else {
        let notices: Vec<_> = viewer
            .notices
            .into_iter()
            .map(|Notice { text, at, is_new }| {
                view! {
                    <li class=is_new.then_some("new")>
                        <Icon name=if is_new { "bell" } else { "check" } label=if is_new { "New" } else { "Read" }/>
                        <span>{text}<small><Time at=at now=now zone=zone.clone()/></small></span>
                    </li>
                }
            })
            .collect();
        html! { <ul class="notices">{notices}</ul> }
    };
    let read = (viewer.unread > 0).then(|| {
        view! {
            <hr/>
            <form method="post" action=paths::function("read_notices")>
                <button type="submit"><Icon name="check"/>"Mark all as read"</button>
            </form>
        }
    });
    html! {
        <div class="menu bell-menu" id="m-bell" popover="auto">
            <h3>"Notifications"</h3>
            <div data-live="bell-warnings">{warnings}</div>
            {list}
            {read}
        </div>
    }
}

/// The account: who one is, how it looks, the way out.
#[component]
fn UserMenu(viewer: Viewer) -> AnyView {
    let roles = match viewer.role_labels().as_slice() {
        [] => "no role here".to_owned(),
        labels => atelier_domain::text::and_list(labels),
    };
    let place = format!("{roles} · {}", viewer.workspace.name);
    let themes: Vec<_> = Theme::ALL
        .into_iter()
        .map(|theme| {
            let word = match theme {
                Theme::System => "System",
                Theme::Light => "Light",
                Theme::Dark => "Dark",
            };
            let pressed = if theme == viewer.theme { "true" } else { "false" };
            view! { <button type="submit" name="theme" value=theme.key() aria-pressed=pressed>{word}</button> }
        })
        .collect();
    html! {
        <div class="menu" id="m-user" popover="auto">
            <h3><b>{viewer.name}</b><br/>{place}</h3>
            <a href=paths::PROFILE><Icon name="user"/>"Profile"</a>
            <form method="post" action=paths::function("set_theme")>
                <div class="seg" role="group" aria-label="Theme">{themes}</div>
            </form>
            <hr/>
            <form method="post" action=paths::function("sign_out")>
                <button type="submit"><Icon name="logout"/>"Sign out"</button>
            </form>
        </div>
    }
}
