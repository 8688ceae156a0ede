//! The navigation: one table for the column at the left, the bar on phones and the search.

use atelier_domain::access::{Action, Rights};
use atelier_domain::paths;
use leptos::prelude::*;

use crate::components::icon::{Icon, Mark};
use crate::viewer::Viewer;

/// The part of the portal that a page belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NavItem {
    /// Home.
    Home,
    /// Instances, clusters, attached and serverless computes.
    Compute,
    /// Jobs.
    Jobs,
    /// Named environments of jobs and notebooks.
    Environments,
    /// The files of the workspace.
    Files,
    /// What starts and stops by itself.
    Schedules,
    /// What computes, people and jobs cost.
    Cost,
    /// The history.
    Activity,
    /// People and their accounts.
    People,
    /// The matrix of roles.
    Roles,
    /// The catalogue of sizes.
    Sizes,
    /// What may be held.
    Quota,
    /// Drivers, agents and the loop.
    Engines,
    /// The Python environment of instances.
    Environment,
    /// What holds for the whole workspace.
    Settings,
    /// One's own profile, which stands in the user menu.
    Profile,
    /// A page that no entry leads to.
    Elsewhere,
}

/// A heading and the entries under it.
#[derive(Debug)]
pub struct NavGroup {
    /// The heading; the first group has none.
    pub heading: Option<&'static str>,
    /// The entries, in order.
    pub entries: &'static [NavEntry],
}

/// One entry.
#[derive(Debug)]
pub struct NavEntry {
    /// What it leads to.
    pub item: NavItem,
    /// The word.
    pub label: &'static str,
    /// The icon.
    pub icon: &'static str,
    /// The right to read what is behind it. Who lacks it altogether does not see the entry.
    pub needs: Action,
    /// The address, by the workspace's short name.
    pub href: fn(&str) -> String,
}

impl NavEntry {
    /// Whether these rights open it, if only for one's own things.
    pub fn is_for(&self, rights: &Rights) -> bool {
        rights.may_at_all(self.needs)
    }
}

/// The whole navigation.
pub static NAV: [NavGroup; 3] = [
    NavGroup {
        heading: None,
        entries: &[
            NavEntry {
                item: NavItem::Home,
                label: "Home",
                icon: "home",
                needs: Action::WorkspaceRead,
                href: paths::home,
            },
            NavEntry {
                item: NavItem::Compute,
                label: "Compute",
                icon: "compute",
                needs: Action::InstanceRead,
                href: instances,
            },
            NavEntry { item: NavItem::Jobs, label: "Jobs", icon: "jobs", needs: Action::JobRead, href: paths::jobs },
            NavEntry { item: NavItem::Files, label: "Files", icon: "folder", needs: Action::FileRead, href: files },
            NavEntry {
                item: NavItem::Environments,
                label: "Environments",
                icon: "notebook",
                needs: Action::EnvironmentRead,
                href: paths::environments,
            },
            NavEntry {
                item: NavItem::Schedules,
                label: "Schedules",
                icon: "calendar",
                needs: Action::InstanceRead,
                href: paths::schedules,
            },
        ],
    },
    NavGroup {
        heading: Some("Insight"),
        entries: &[
            NavEntry { item: NavItem::Cost, label: "Cost", icon: "cost", needs: Action::CostRead, href: paths::cost },
            NavEntry {
                item: NavItem::Activity,
                label: "Activity",
                icon: "audit",
                needs: Action::HistoryRead,
                href: paths::activity,
            },
        ],
    },
    NavGroup {
        heading: Some("Administration"),
        entries: &[
            NavEntry {
                item: NavItem::People,
                label: "People",
                icon: "users",
                needs: Action::MemberRead,
                href: paths::people,
            },
            NavEntry {
                item: NavItem::Roles,
                label: "Roles",
                icon: "shield",
                needs: Action::MemberRead,
                href: paths::roles,
            },
            NavEntry {
                item: NavItem::Sizes,
                label: "Sizes",
                icon: "cpu",
                needs: Action::ClusterRead,
                href: paths::sizes,
            },
            NavEntry {
                item: NavItem::Quota,
                label: "Quota",
                icon: "gauge",
                needs: Action::ClusterRead,
                href: paths::quota,
            },
            NavEntry {
                item: NavItem::Engines,
                label: "Engines",
                icon: "server",
                needs: Action::EngineRead,
                href: paths::engines,
            },
            NavEntry {
                item: NavItem::Environment,
                label: "Environment",
                icon: "code",
                needs: Action::EngineRead,
                href: paths::environment,
            },
            NavEntry {
                item: NavItem::Settings,
                label: "Settings",
                icon: "gear",
                needs: Action::WorkspaceRead,
                href: paths::settings,
            },
        ],
    },
];

/// What the bar on phones has room for, beside the profile.
const THUMBS: [NavItem; 4] = [NavItem::Home, NavItem::Compute, NavItem::Jobs, NavItem::People];

fn files(workspace: &str) -> String {
    paths::files(workspace, "")
}

fn instances(workspace: &str) -> String {
    paths::compute(workspace, "instances")
}

/// The column at the left.
#[component]
pub fn Nav(
    /// Who looks.
    viewer: Viewer,
    /// The part that the page belongs to.
    current: NavItem,
) -> AnyView {
    let slug = viewer.workspace.slug.clone();
    let groups: Vec<_> = NAV
        .iter()
        .filter(|group| group.entries.iter().any(|entry| entry.is_for(&viewer.rights)))
        .map(|group| {
            let entries: Vec<_> = group
                .entries
                .iter()
                .filter(|entry| entry.is_for(&viewer.rights))
                .map(|entry| {
                    view! {
                        <li>
                            <a
                                class="item" href=(entry.href)(&slug) title=entry.label
                                aria-current=(entry.item == current).then_some("page")
                            >
                                <Icon name=entry.icon/>
                                <span>{entry.label}</span>
                            </a>
                        </li>
                    }
                })
                .collect();
            view! { {group.heading.map(|heading| view! { <h2>{heading}</h2> })}<ul class="items">{entries}</ul> }
        })
        .collect();
    let (word, collapsed) = if viewer.nav_collapsed { ("Expand", "off") } else { ("Collapse", "on") };
    let label = format!("{word} the navigation");
    view! {
        <nav class="nav" aria-label="Main">
            <a class="brand" href=paths::home(&slug) aria-label="Atelier, home"><Mark/><span>"Atelier"</span></a>
            {groups}
            <div class="foot">
                <form method="post" action=paths::function("set_nav")>
                    <input type="hidden" name="collapsed" value=collapsed/>
                    <button class="collapse" type="submit" aria-label=label title=word><Icon name="collapse"/><span>{word}</span></button>
                </form>
            </div>
        </nav>
    }
    .into_any()
}

/// The bar on phones: at most five places that a thumb reaches.
#[component]
pub fn TabBar(
    /// Who looks.
    viewer: Viewer,
    /// The part that the page belongs to.
    current: NavItem,
) -> AnyView {
    let slug = viewer.workspace.slug.clone();
    let entries: Vec<_> = NAV
        .iter()
        .flat_map(|group| group.entries)
        .filter(|entry| THUMBS.contains(&entry.item) && entry.is_for(&viewer.rights))
        .map(|entry| {
            let current = (entry.item == current).then_some("page");
            view! { <a href=(entry.href)(&slug) aria-current=current><Icon name=entry.icon/>{entry.label}</a> }
        })
        .collect();
    let profile = (current == NavItem::Profile).then_some("page");
    view! {
        <nav class="tabbar" aria-label="Main, compact">
            {entries}
            <a href=paths::PROFILE aria-current=profile><Icon name="user"/>"Profile"</a>
        </nav>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use atelier_domain::access::Role;

    use super::*;

    #[test]
    fn every_role_sees_every_entry_that_it_may_read() {
        for role in Role::ALL {
            let rights = Rights::of(&[role]);
            let seen = NAV.iter().flat_map(|group| group.entries).filter(|entry| entry.is_for(&rights)).count();
            // Engines and the environment are for who runs the machines.
            let wanted = if rights.may_at_all(Action::EngineRead) { 15 } else { 13 };
            assert_eq!(seen, wanted, "{role:?}");
        }
        assert!(NAV.iter().flat_map(|group| group.entries).all(|entry| !entry.is_for(&Rights::default())));
    }

    #[test]
    fn the_bar_on_phones_has_at_most_five_places() {
        const { assert!(THUMBS.len() < 5, "the profile is the fifth") };
        assert!(THUMBS.iter().all(|item| NAV.iter().flat_map(|group| group.entries).any(|entry| entry.item == *item)));
    }
}
