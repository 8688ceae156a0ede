//! Who is looking at a page, and what every page needs to know of them.

use atelier_domain::access::{Action, Denied, Rights, Role, Whose};
use atelier_domain::account::Theme;
use atelier_domain::{Timestamp, UserId, WorkspaceId};
use atelier_studio::offer::Hindrance;

/// The person a page is made for, in the workspace it belongs to.
#[derive(Clone, Debug)]
pub struct Viewer {
    pub id: UserId,
    /// What the person is called.
    pub name: String,
    /// The sign-in name.
    pub email: String,
    /// The IANA time zone that times are shown in.
    pub time_zone: String,
    /// How the portal looks.
    pub theme: Theme,
    /// Whether the navigation is folded to icons.
    pub nav_collapsed: bool,
    /// What the person may do here.
    pub rights: Rights,
    pub workspace: WorkspaceView,
    /// Names of people who can grant rights, at most three.
    pub helpers: Vec<String>,
    /// The revision that this page shows; the live stream goes on from here.
    pub revision: i64,
    /// What others did to this person lately, newest first.
    pub notices: Vec<Notice>,
    /// How many of them are new.
    pub unread: u32,
    /// Stops of the person's own instances that were announced, the next first.
    pub warnings: Vec<atelier_studio::schedules::warnings::Warning>,
    /// Budgets that concern the person and of which much is spent.
    pub budgets: Vec<atelier_studio::schedules::warnings::BudgetNote>,
    /// The time for which the page is made.
    pub now: Timestamp,
}

/// What a page shows of a workspace.
#[derive(Clone, Debug)]
pub struct WorkspaceView {
    pub id: WorkspaceId,
    /// The short name in paths.
    pub slug: String,
    /// The name for people.
    pub name: String,
}

/// One entry of the bell's menu.
#[derive(Clone, Debug)]
pub struct Notice {
    pub text: String,
    pub at: Timestamp,
    /// Whether it came after the last look.
    pub is_new: bool,
}

impl Viewer {
    /// Allows an action on things that are not one's own in particular, or says why not.
    pub fn may(&self, action: Action) -> Result<(), Denied> {
        self.rights.check(action, Whose::Others)
    }

    /// The labels of the person's roles.
    pub fn role_labels(&self) -> Vec<&'static str> {
        self.rights.roles().iter().map(|role: &Role| role.label()).collect()
    }

    /// Why a control is disabled that needs a right on things that aren't one's own; none if it isn't.
    pub fn refusal(&self, action: Action) -> Option<String> {
        self.refused(action, Whose::Others)
    }

    /// The same for one's own or others' things.
    pub fn refused(&self, action: Action, whose: Whose) -> Option<String> {
        self.rights.check(action, whose).err().map(|denied| self.why_not(&denied))
    }

    /// The reason for a disabled control, be it the right or the state.
    pub fn hindered(&self, hindrance: &Hindrance) -> String {
        match hindrance {
            Hindrance::Right(denied) => self.why_not(denied),
            Hindrance::State(why) => (*why).to_owned(),
        }
    }

    /// The reason for a disabled control: the missing right and who can grant it.
    pub fn why_not(&self, denied: &Denied) -> String {
        let names = atelier_domain::text::and_list(&self.helpers);
        if names.is_empty() { denied.sentence() } else { format!("{} {names} can grant it.", denied.sentence()) }
    }
}
