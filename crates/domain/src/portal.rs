//! The pages of the portal: one table for the navigation and the search.

use crate::access::{Action, Rights};
use crate::paths;

/// The part of the portal that a page belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NavItem {
    Home,
    /// Instances, clusters, attached and serverless computes.
    Compute,
    Jobs,
    /// Named environments of jobs and notebooks.
    Environments,
    /// The files of the workspace.
    Files,
    /// What starts and stops by itself.
    Schedules,
    /// What computes, people and jobs cost.
    Cost,
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

/// A group of the navigation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NavGroup {
    /// The first, without a heading.
    Main,
    /// What happened and what it cost.
    Insight,
    /// What few people change.
    Administration,
}

impl NavGroup {
    /// All of them, in order.
    pub const ALL: [Self; 3] = [Self::Main, Self::Insight, Self::Administration];

    pub const fn heading(self) -> Option<&'static str> {
        match self {
            Self::Main => None,
            Self::Insight => Some("Insight"),
            Self::Administration => Some("Administration"),
        }
    }
}

/// A page that can be found.
#[derive(Clone, Copy, Debug)]
pub struct PortalPage {
    /// What it is called, in the navigation and in what was found.
    pub name: &'static str,
    pub icon: &'static str,
    /// The right to read what is on it. Who lacks it altogether does not see the page.
    pub needs: Action,
    /// The address, by the workspace's short name.
    pub href: fn(&str) -> String,
    /// What else it is found by.
    pub words: &'static str,
    /// Where it stands in the navigation, if it does.
    pub nav: Option<(NavGroup, NavItem)>,
}

impl PortalPage {
    /// Whether these rights open it, if only for one's own things.
    pub fn is_for(&self, rights: &Rights) -> bool {
        rights.may_at_all(self.needs)
    }

    const fn at(self, group: NavGroup, item: NavItem) -> Self {
        Self { nav: Some((group, item)), ..self }
    }

    /// Whether its name or its words hold this text, which is in small letters.
    pub fn is_about(&self, text: &str) -> bool {
        format!("{} {}", self.name, self.words).to_lowercase().contains(text)
    }
}

/// The pages in a group of the navigation, in order.
pub fn entries(group: NavGroup) -> impl Iterator<Item = (NavItem, &'static PortalPage)> {
    PAGES.iter().filter_map(move |page| page.nav.filter(|(of, _)| *of == group).map(|(_, item)| (item, page)))
}

const fn page(
    name: &'static str,
    icon: &'static str,
    needs: Action,
    href: fn(&str) -> String,
    words: &'static str,
) -> PortalPage {
    PortalPage { name, icon, needs, href, words, nav: None }
}

fn instances(workspace: &str) -> String {
    paths::compute(workspace, "instances")
}

pub static PAGES: [PortalPage; 26] = [
    page("Home", "home", Action::WorkspaceRead, paths::home, "What runs and what happened")
        .at(NavGroup::Main, NavItem::Home),
    page("Compute", "compute", Action::InstanceRead, instances, "What your work runs on")
        .at(NavGroup::Main, NavItem::Compute),
    page(
        "Instances",
        "compute",
        Action::InstanceRead,
        instances,
        "Workstations with JupyterLab, VS Code and a terminal",
    ),
    page(
        "Clusters",
        "compute",
        Action::ClusterRead,
        |slug| paths::compute(slug, "clusters"),
        "Nodes that come and go with their queue",
    ),
    page(
        "Attached",
        "compute",
        Action::ClusterRead,
        |slug| paths::compute(slug, "attached"),
        "SSH machines, Slurm, Kubernetes, Spark",
    ),
    page(
        "Serverless",
        "compute",
        Action::JobRead,
        |slug| paths::compute(slug, "serverless"),
        "Jobs on nodes of their own",
    ),
    page(
        "Create cluster",
        "plus",
        Action::ClusterCreate,
        paths::new_cluster,
        "Nodes that come and go with their queue",
    ),
    page("Jobs", "jobs", Action::JobRead, paths::jobs, "What runs, waits and has run")
        .at(NavGroup::Main, NavItem::Jobs),
    page("Submit job", "plus", Action::JobSubmit, paths::new_job, "A command, a script, files"),
    page(
        "Files",
        "folder",
        Action::FileRead,
        |slug| paths::files(slug, ""),
        "Your own folder and shared ones, in every instance and job",
    )
    .at(NavGroup::Main, NavItem::Files),
    page("Trash", "trash", Action::FileRead, paths::trash, "What you deleted in Files"),
    page(
        "Environments",
        "notebook",
        Action::EnvironmentRead,
        paths::environments,
        "Named Python packages for jobs and notebooks",
    )
    .at(NavGroup::Main, NavItem::Environments),
    page("Schedules", "calendar", Action::InstanceRead, paths::schedules, "When instances start and stop")
        .at(NavGroup::Main, NavItem::Schedules),
    page(
        "Cost",
        "cost",
        Action::CostRead,
        paths::cost,
        "The ledger by day, compute, person and job, as a chart and as CSV",
    )
    .at(NavGroup::Insight, NavItem::Cost),
    page("Budgets", "cost", Action::CostRead, paths::budgets, "What a month may cost, and what then"),
    page("Activity", "audit", Action::HistoryRead, paths::activity, "The history: who did what, and why")
        .at(NavGroup::Insight, NavItem::Activity),
    page("People", "users", Action::MemberRead, paths::people, "Accounts, roles, passwords")
        .at(NavGroup::Administration, NavItem::People),
    page("Add person", "plus", Action::MemberWrite, paths::new_person, "A new account with a temporary password"),
    page("Roles", "shield", Action::MemberRead, paths::roles, "What each role may do")
        .at(NavGroup::Administration, NavItem::Roles),
    page("Sizes", "cpu", Action::ClusterRead, paths::sizes, "What nodes have and what they cost")
        .at(NavGroup::Administration, NavItem::Sizes),
    page("Quota", "gauge", Action::ClusterRead, paths::quota, "Limits, what is held, and by what")
        .at(NavGroup::Administration, NavItem::Quota),
    page("Fair shares", "gauge", Action::ClusterRead, paths::shares, "Weights, recent use, and how queues are served"),
    page(
        "Engines",
        "server",
        Action::EngineRead,
        paths::engines,
        "Drivers, agents, the loop, the quarantine, the pause switch",
    )
    .at(NavGroup::Administration, NavItem::Engines),
    page(
        "Environment",
        "code",
        Action::EngineRead,
        paths::environment,
        "The Python packages that instances start with",
    )
    .at(NavGroup::Administration, NavItem::Environment),
    page("Settings", "gear", Action::WorkspaceRead, paths::settings, "Idle shutdown and the limit on files")
        .at(NavGroup::Administration, NavItem::Settings),
    page(
        "Profile",
        "user",
        Action::WorkspaceRead,
        |_| paths::PROFILE.to_owned(),
        "Name, time zone, theme, password, sessions",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Role;

    #[test]
    fn every_page_is_found_by_its_name() {
        for page in &PAGES {
            let found: Vec<&str> = PAGES
                .iter()
                .filter(|other| other.is_about(&page.name.to_lowercase()))
                .map(|other| other.name)
                .collect();
            assert!(found.contains(&page.name), "{}: {found:?}", page.name);
        }
        let in_nav = NavGroup::ALL.into_iter().flat_map(entries).count();
        assert_eq!(in_nav, PAGES.iter().filter(|page| page.nav.is_some()).count());
    }

    #[test]
    fn every_role_sees_every_entry_that_it_may_read() {
        let entries = || NavGroup::ALL.into_iter().flat_map(entries).map(|(_, page)| page);
        for role in Role::ALL {
            let rights = Rights::of(&[role]);
            let seen = entries().filter(|page| page.is_for(&rights)).count();
            // Engines and the environment are for who runs the machines.
            let wanted = if rights.may_at_all(Action::EngineRead) { 15 } else { 13 };
            assert_eq!(seen, wanted, "{role:?}");
        }
        assert!(entries().all(|page| !page.is_for(&Rights::default())));
    }
}
