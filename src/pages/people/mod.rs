//! Admin → People: the list, one person, the form that adds one, and the question before accounts are changed.

mod confirm;
mod list;
mod new;
mod person;
mod roles;
mod row;
mod verbs;

pub use confirm::ConfirmPeoplePage;
pub use list::PeoplePage;
pub use new::NewPersonPage;
pub use person::PersonPage;
