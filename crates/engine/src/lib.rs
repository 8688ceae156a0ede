//! The imperative shell around [`atelier_domain`]: it owns the store and the loop, and the drivers and the
//! agent hub will live here. It knows no HTTP and no HTML.

pub mod clock;
pub mod drivers;
pub mod environments;
pub mod fleet;
pub mod hands;
pub mod live;
pub mod marks;
pub mod quarantine;
pub mod restore;
pub mod run;
pub mod store;
pub mod uids;
