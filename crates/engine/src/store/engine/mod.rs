//! What the engine's loop keeps: see `migrations/0002_engine.sql`. One batch is one transaction of few
//! statements.

mod batch;
mod load;
mod many;
mod moment;
mod prune;
mod replay;
mod trace;

pub use batch::Known;
pub(crate) use batch::{Answered, BatchRow, CommandRow};
pub use load::{Loaded, Previous};
pub use moment::{Moment, Which};
pub use prune::Keep;
pub use replay::{Replay, ReplayError};
pub(crate) use trace::{Trace, json};
