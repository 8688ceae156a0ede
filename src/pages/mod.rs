//! What people see. A page is: what the address says → a read → layout; no rule is decided here.
//!
//! Each page is made by [`frame::studio`], which puts it into the shell if the viewer may see it, and reads through
//! [`frame::load`], which shows the fitting help page if that fails. So no page handles a missing right or an error by itself.
//! Forms post to server functions under `/fn`; their field names are those functions' arguments.

mod account;
mod activity;
mod admin;
mod budgets;
pub(crate) mod compute;
mod cost;
mod environments;
mod events;
mod files;
mod frame;
mod help;
mod home;
mod jobs;
mod people;
mod profile;
mod profile_ssh;
mod profile_tokens;
mod roles;
mod schedules;
mod search;

pub use account::{NewPasswordPage, SetUpPage, SignInPage};
pub use activity::ActivityPage;
pub use admin::EnvironmentPage;
pub use admin::QuotaPage;
pub use admin::SettingsPage;
pub use admin::SharesPage;
pub use admin::{EnginesPage, RemoveSizePage, RemoveUnknownPage, SizePage, SizesPage};
pub use budgets::BudgetsPage;
pub use compute::{ClusterPage, ComputePage, ComputeStart, DeleteClusterPage, NewClusterPage};
pub use compute::{ConfirmInstancesPage, InstancePage, OpenAppPage, PreviewPage, TransferPage};
pub use compute::{NEW_INSTANCE_FORM, NewInstancePage, name_answer, summary_part};
pub use cost::CostPage;
pub use environments::{
    CompareEnvironmentsPage, DeleteEnvironmentPage, EnvironmentsPage, NamedEnvironmentPage, NewEnvironmentPage,
};
pub use files::{
    DeleteFilesPage, EditFilePage, EmptyTrashPage, FilePage, FilesPage, FilesUsagePage, MoveFilePage, NewFilePage,
    TrashPage,
};
pub use help::UnknownPage;
pub use home::HomePage;
pub use jobs::{CancelJobsPage, ConfirmJobsPage, JobPage, JobsPage, NewJobPage};
pub use people::{ConfirmPeoplePage, NewPersonPage, PeoplePage, PersonPage};
pub use profile::ProfilePage;
pub use roles::RolesPage;
pub use schedules::{InstanceSchedulesPage, SchedulesPage, cron_answer, outlook_part};
pub use search::SearchPage;
