//! What people see. A page is: what the address says → a read → layout; no rule is decided here.
//!
//! Each page is made by [`frame::studio`], which puts it into the shell if the viewer may see it, and reads through
//! [`frame::load`], which shows the fitting help page if that fails. So no page handles a missing right or an error by itself.
//! Forms post to server functions under `/fn`; their field names are those functions' arguments.

mod account;
mod activity;
mod compute;
mod events;
mod frame;
mod help;
mod home;
mod people;
mod profile;
mod roles;
mod search;

pub use account::{NewPasswordPage, SetUpPage, SignInPage};
pub use activity::ActivityPage;
pub use compute::{ComputePage, ComputeStart};
pub use help::UnknownPage;
pub use home::HomePage;
pub use people::{ConfirmPeoplePage, NewPersonPage, PeoplePage, PersonPage};
pub use profile::ProfilePage;
pub use roles::RolesPage;
pub use search::SearchPage;
