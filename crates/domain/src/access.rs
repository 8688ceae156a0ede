//! Who may do what: actions, roles and the one table that joins them.
//!
//! Every server function, page and command asks [`Rights::check`], and the page Admin → Roles prints the same
//! table, so that what is shown and what is enforced cannot differ. `tests/golden/access.txt` holds the whole
//! matrix for people to review; a change of rights is a change of that file.
//!
//! A right has a scope: **own** things (what one owns or is assigned to) or **any**. People may hold several
//! roles and have the sum of their rights. Nobody, not even an Owner, may open the applications of another's
//! instance, unless its owner shares them ([`crate::app_sharing`]).

use serde::{Deserialize, Serialize};

use crate::text::and_list;

/// How far a right reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Grant {
    /// Not at all.
    No,
    /// On one's own things.
    Own,
    /// On anything in the workspace.
    Any,
}

/// Whose thing an action touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    Own,
    /// Somebody else's, or nobody's in particular.
    Others,
}

crate::keyed_enum! {
    /// The built-in roles, from least to most.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    pub enum Role {
        /// Sees everything, changes nothing.
        Reader = "reader", "Reader";
        /// Works with own instances and jobs.
        DataScientist = "data-scientist", "Data Scientist";
        /// Runs the machines: clusters, sizes, everybody's instances, engines.
        ComputeOperator = "compute-operator", "Compute Operator";
        /// Everything but people, budgets and quotas.
        Contributor = "contributor", "Contributor";
        /// Everything, people and their roles included.
        Owner = "owner", "Owner";
    }
}

impl Role {
    /// What the role is for, in one sentence.
    pub const fn summary(self) -> &'static str {
        match self {
            Self::Reader => "Sees computes, jobs and people, and changes nothing.",
            Self::DataScientist => "The everyday role. Works with own instances and jobs; cannot change limits.",
            Self::ComputeOperator => {
                "Runs the machines: clusters, sizes, engines and everybody’s instances. Submits no jobs."
            }
            Self::Contributor => "Does everything with computes and jobs. Does not manage people, budgets or quotas.",
            Self::Owner => "Does everything, people and their roles included.",
        }
    }

    /// What this role alone grants for an action.
    pub const fn grant(self, action: Action) -> Grant {
        action.row().grants[self as usize]
    }
}

/// What the rights of a workspace are about, as headings of the matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Area {
    Instances,
    /// Clusters, sizes, attached machines and engines.
    Clusters,
    /// Jobs and their queue.
    Jobs,
    /// The files of the workspace.
    Files,
    Money,
    /// The workspace itself, its people and its history.
    Workspace,
}

impl Area {
    /// Every area, in the order in which they are shown.
    pub const ALL: [Self; 6] = [Self::Instances, Self::Clusters, Self::Jobs, Self::Files, Self::Money, Self::Workspace];

    /// The heading for people.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Instances => "Instances",
            Self::Clusters => "Clusters and engines",
            Self::Jobs => "Jobs",
            Self::Files => "Files",
            Self::Money => "Limits and money",
            Self::Workspace => "Workspace",
        }
    }
}

/// One line of the table.
struct Row {
    area: Area,
    key: &'static str,
    /// The verb phrase after "may": "start, stop and extend instances".
    label: &'static str,
    /// The action's names in Azure's role definitions, under `…/workspaces/`; empty where Azure has none.
    azure: &'static str,
    /// By role, in the order of [`Role::ALL`].
    grants: [Grant; 5],
}

macro_rules! actions {
    ($(
        $(#[$doc:meta])*
        $name:ident = $area:ident, $key:literal, $label:literal, $azure:literal, [$($grant:ident)*];
    )*) => {
        /// Something one may have the right to do.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Action { $( $(#[$doc])* #[serde(rename = $key)] $name, )* }

        impl Action {
            /// Every action, in the order of the matrix.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            const fn row(self) -> &'static Row {
                match self {
                    $(Self::$name => &Row {
                        area: Area::$area,
                        key: $key,
                        label: $label,
                        azure: $azure,
                        grants: [$(Grant::$grant,)*],
                    },)*
                }
            }
        }
    };
}

actions! {
    // Grants in the order Reader, Data Scientist, Compute Operator, Contributor, Owner.
    /// List instances and read their state.
    InstanceRead = Instances, "instance.read", "see instances and their state",
        "computes/read", [Any Any Any Any Any];
    /// Create an instance for oneself.
    InstanceCreate = Instances, "instance.create", "create instances",
        "computes/write", [No Own Any Any Any];
    /// Create an instance that somebody else will own.
    InstanceCreateFor = Instances, "instance.create-for", "create instances for someone else",
        "computes/write", [No No Any Any Any];
    /// Power, and putting off a stop.
    InstanceOperate = Instances, "instance.operate", "start, stop, restart and extend instances",
        "computes/start|stop|restart/action", [No Own Any Any Any];
    /// Schedules, idle shutdown, size, rebuild.
    InstanceConfigure = Instances, "instance.configure", "change schedules, idle shutdown and size of instances",
        "computes/updateSchedules|updateIdleShutdownSetting|reimage/action", [No Own Any Any Any];
    /// Applications and terminals run as the owner: never on another's instance.
    InstanceConnect = Instances, "instance.connect", "open applications of instances",
        "computes/applicationaccess/action", [No Own Own Own Own];
    /// Let colleagues open applications: for the owner alone, since what they do there they do as the owner.
    InstanceShare = Instances, "instance.share", "share applications of instances with colleagues",
        "", [No Own Own Own Own];
    /// Give an instance to somebody else, without the secrets in its home. Whoever gets it reads all of that
    /// home: another's is given away by Owners of the workspace alone.
    InstanceTransfer = Instances, "instance.transfer", "give instances to somebody else",
        "", [No Own Own Own Any];
    /// Delete, home directory included.
    InstanceDelete = Instances, "instance.delete", "delete instances",
        "computes/delete", [No Own Any Any Any];

    /// List clusters, nodes and queues.
    ClusterRead = Clusters, "cluster.read", "see clusters, nodes and queues",
        "computes/read|listNodes/action", [Any Any Any Any Any];
    ClusterCreate = Clusters, "cluster.create", "create clusters",
        "computes/write", [No No Any Any Any];
    /// Minimum, maximum, idle seconds, pause.
    ClusterScale = Clusters, "cluster.scale", "change the minimum, maximum and idle time of clusters",
        "computes/write", [No No Any Any Any];
    ClusterDelete = Clusters, "cluster.delete", "delete clusters",
        "computes/delete", [No No Any Any Any];
    /// The catalogue of sizes and prices.
    SizeWrite = Clusters, "size.write", "change sizes and prices",
        "", [No No Any Any Any];
    /// Attached machines, Slurm, Kubernetes, Spark.
    AttachedWrite = Clusters, "attached.write", "attach and detach computes",
        "computes/write|delete", [No No Any Any Any];
    /// Drivers, agents, the loop.
    EngineRead = Clusters, "engine.read", "see engines and agents",
        "", [No No Any Any Any];
    EngineWrite = Clusters, "engine.write", "pause engines and clear their quarantine",
        "", [No No Any Any Any];

    /// List jobs, read their logs and outputs.
    JobRead = Jobs, "job.read", "see jobs and their logs",
        "jobs/read", [Any Any Any Any Any];
    JobSubmit = Jobs, "job.submit", "submit jobs",
        "jobs/write", [No Own No Any Any];
    JobCancel = Jobs, "job.cancel", "cancel jobs",
        "jobs/cancel/action", [No Own No Any Any];
    /// Hold, release and move waiting jobs: one's own among one's own, or anybody's over all others.
    JobQueue = Jobs, "job.queue", "hold, release and move waiting jobs",
        "", [No Own Any Any Any];

    /// Named environments of jobs and notebooks.
    EnvironmentRead = Jobs, "environment.read", "see environments",
        "environments/read", [Any Any Any Any Any];
    /// Make environments and their versions, have them built, delete them.
    EnvironmentWrite = Jobs, "environment.write", "make, build and delete environments",
        "environments/write|versions/write|delete", [No Own Any Any Any];
    /// Look at shared folders and at what others have opened. What somebody has closed stays closed to
    /// everybody.
    FileRead = Files, "file.read", "see files in shared and opened folders",
        "", [Any Any Any Any Any];
    /// The own folder and shared folders; never another's own folder.
    FileWrite = Files, "file.write", "change files in the own folder and in shared folders",
        "", [No Own Own Own Own];

    CostRead = Money, "cost.read", "see cost",
        "", [Own Own Any Any Any];
    /// Budgets of the workspace and of people.
    BudgetWrite = Money, "budget.write", "set budgets",
        "", [No No No No Any];
    /// Quota limits, and the weights of shares.
    QuotaWrite = Money, "quota.write", "set quotas and shares",
        "locations/updateQuotas/action", [No No No No Any];

    /// The workspace exists and has a name.
    WorkspaceRead = Workspace, "workspace.read", "see the workspace",
        "read", [Any Any Any Any Any];
    WorkspaceWrite = Workspace, "workspace.write", "change the workspace’s settings",
        "write", [No No No Any Any];
    /// One's own name, time zone, theme, password and sessions; nobody's else.
    ProfileWrite = Workspace, "profile.write", "change the own profile, password and sessions",
        "", [Own Own Own Own Own];
    /// Who is here and with which roles.
    MemberRead = Workspace, "member.read", "see people and their roles",
        "", [Any Any Any Any Any];
    MemberWrite = Workspace, "member.write", "manage people and their roles",
        "roleAssignments/write", [No No No No Any];
    /// The append-only history; own means what one did or what was done to one.
    HistoryRead = Workspace, "history.read", "see the history",
        "", [Own Own Any Any Any];
}

impl Action {
    /// The name in the API and in refusals.
    pub const fn key(self) -> &'static str {
        self.row().key
    }

    /// A verb phrase for people, in lower case: "create instances".
    pub const fn label(self) -> &'static str {
        self.row().label
    }

    /// The heading under which it is shown.
    pub const fn area(self) -> Area {
        self.row().area
    }

    /// What Azure calls it; empty where Azure has no such action.
    pub const fn azure(self) -> &'static str {
        self.row().azure
    }

    /// Whether it changes nothing.
    pub const fn only_looks(self) -> bool {
        matches!(
            self,
            Self::InstanceRead
                | Self::ClusterRead
                | Self::EngineRead
                | Self::JobRead
                | Self::EnvironmentRead
                | Self::FileRead
                | Self::CostRead
                | Self::WorkspaceRead
                | Self::MemberRead
                | Self::HistoryRead
        )
    }

    /// The roles that grant this action at least as far as `whose` needs.
    pub fn granted_by(self, whose: Whose) -> Vec<Role> {
        Role::ALL.into_iter().filter(|role| reaches(role.grant(self), whose)).collect()
    }
}

const fn reaches(grant: Grant, whose: Whose) -> bool {
    matches!((grant, whose), (Grant::Any, _) | (Grant::Own, Whose::Own))
}

/// What somebody may do: the sum of their roles in one workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rights {
    roles: Vec<Role>,
}

impl Rights {
    /// The rights of somebody with these roles.
    pub fn of(roles: &[Role]) -> Self {
        let mut roles = roles.to_vec();
        roles.sort_unstable();
        roles.dedup();
        Self { roles }
    }

    /// The roles, from least to most.
    pub fn roles(&self) -> &[Role] {
        &self.roles
    }

    /// How far an action may be taken.
    pub fn grant(&self, action: Action) -> Grant {
        self.roles.iter().map(|role| role.grant(action)).max().unwrap_or(Grant::No)
    }

    /// Whether the action may be taken at all, if only on one's own things.
    pub fn may_at_all(&self, action: Action) -> bool {
        self.grant(action) != Grant::No
    }

    /// Allows the action or says what is missing.
    pub fn check(&self, action: Action, whose: Whose) -> Result<(), Denied> {
        if reaches(self.grant(action), whose) {
            Ok(())
        } else {
            Err(Denied { action, held: self.roles.clone(), needed: action.granted_by(whose) })
        }
    }
}

/// Why an action was refused: the missing right, the roles held and the roles that would do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{}", self.sentence())]
pub struct Denied {
    pub action: Action,
    /// The roles of who was refused.
    pub held: Vec<Role>,
    /// The roles that include the right; empty if none does.
    pub needed: Vec<Role>,
}

impl Denied {
    /// The whole reason: what is missing and which roles have it. Who can grant it is for the caller to add,
    /// since people live in the store.
    pub fn sentence(&self) -> String {
        let held = match self.held.as_slice() {
            [] => "You hold no role here".to_owned(),
            [one] => format!("Your role {} does not include {}", one.label(), self.action.key()),
            many => {
                let names: Vec<&str> = many.iter().map(|role| role.label()).collect();
                format!("Your roles {} do not include {}", and_list(&names), self.action.key())
            }
        };
        let needed: Vec<&str> = self.needed.iter().map(|role| role.label()).collect();
        match needed.as_slice() {
            [] => format!("{held}; no role does, since it concerns what belongs to somebody else."),
            [one] => format!("{held}. The role {one} does."),
            many => format!("{held}. The roles {} do.", and_list(many)),
        }
    }
}

/// Parses the keys of a set of roles, as they come from a form; a person keeps at least one.
pub fn parse_roles(keys: &[String]) -> Result<Vec<Role>, crate::text::Problem> {
    let mut roles = Vec::new();
    for key in keys.iter().filter(|key| !key.is_empty()) {
        let role = Role::from_key(key).ok_or_else(|| {
            let known: Vec<&str> = Role::ALL.iter().map(|role| role.key()).collect();
            let shown = crate::text::shortened(key);
            crate::text::Problem::new("roles", format!("“{shown}” is not a role; the roles are {}.", and_list(&known)))
        })?;
        roles.push(role);
    }
    roles.sort_unstable();
    roles.dedup();
    if roles.is_empty() {
        return Err(crate::text::Problem::new(
            "roles",
            "Choose at least one role; to shut somebody out, disable the account.",
        ));
    }
    Ok(roles)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_refusal_names_the_right_and_the_roles() {
        let denied = Rights::of(&[Role::DataScientist]).check(Action::ClusterScale, Whose::Others);
        assert_eq!(
            denied.map_err(|d| d.sentence()),
            Err(
                "Your role Data Scientist does not include cluster.scale. The roles Compute Operator, Contributor and \
                 Owner do."
                    .into()
            )
        );
        let denied = Rights::of(&[]).check(Action::MemberWrite, Whose::Others);
        assert_eq!(denied.map_err(|d| d.sentence()), Err("You hold no role here. The role Owner does.".into()));
    }

    #[test]
    fn nobody_opens_the_applications_of_another() {
        for role in Role::ALL {
            assert!(Rights::of(&[role]).check(Action::InstanceConnect, Whose::Others).is_err());
        }
        let denied = Rights::of(&[Role::Owner]).check(Action::InstanceConnect, Whose::Others);
        assert!(denied.is_err_and(|d| d.sentence().contains("belongs to somebody else")));
    }

    #[test]
    fn keys_are_unique_and_well_formed() {
        let mut keys: Vec<&str> = Action::ALL.iter().map(|action| action.key()).collect();
        assert!(keys.iter().all(|key| key.split('.').count() == 2));
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), Action::ALL.len());
        for role in Role::ALL {
            assert_eq!(Role::from_key(role.key()), Some(role));
        }
    }

    #[test]
    fn roles_from_a_form_are_parsed_or_refused_by_name() {
        let keys = |list: &[&str]| list.iter().map(|key| (*key).to_owned()).collect::<Vec<_>>();
        assert_eq!(parse_roles(&keys(&["owner", "reader", "owner", ""])), Ok(vec![Role::Reader, Role::Owner]));
        assert!(parse_roles(&keys(&["god"])).is_err_and(|p| p.message.contains("“god”")));
        assert!(parse_roles(&[]).is_err_and(|p| p.field == "roles"));
    }

    proptest! {
        /// Roles only ever add: whoever holds more roles may do at least as much.
        #[test]
        fn another_role_never_takes_a_right_away(
            held in proptest::collection::vec(0usize..5, 0..4),
            more in 0usize..5,
        ) {
            let held: Vec<Role> = held.into_iter().map(|i| Role::ALL[i]).collect();
            let wider: Vec<Role> = held.iter().copied().chain([Role::ALL[more]]).collect();
            for action in Action::ALL {
                prop_assert!(Rights::of(&wider).grant(*action) >= Rights::of(&held).grant(*action));
            }
        }
    }
}
