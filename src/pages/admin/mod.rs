//! Administration of machines: the catalogue of sizes, quotas, and the engine.

mod editors;
mod engine_nodes;
mod engines;
mod environments;
mod quota;
mod remove_unknown;
mod settings;
mod shares;
mod size_form;
mod sizes;

pub use engines::EnginesPage;
pub use environments::EnvironmentPage;
pub use quota::QuotaPage;
pub use remove_unknown::RemoveUnknownPage;
pub use settings::SettingsPage;
pub use shares::SharesPage;
pub(super) use shares::policy_fields;
pub use size_form::{RemoveSizePage, SizePage};
pub use sizes::SizesPage;
