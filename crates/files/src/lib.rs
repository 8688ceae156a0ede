//! The files of a workspace, on disk.
//!
//! An [`Area`] is one folder. Every path in it is a [`FilePath`](atelier_domain::files::FilePath) and is
//! opened by the kernel *beneath* that folder (`openat2`, links never followed), so that neither a name nor
//! somebody who swaps folders for links meanwhile leads outside. Everything is done as the person who asks
//! ([`Who`]): where people have users of their own, the kernel judges each step exactly as in their sandbox.
//!
//! A change is whole or not at all: content is written beside, made durable, and renamed to its place.
//! Nothing here is async, and nothing knows the time; both come from outside.
//!
//! | module | what is in it |
//! | --- | --- |
//! | `area` | the folder, opening things in it, everybody's own folders |
//! | `list` | what is in a folder |
//! | `change` | new folders, other names and places, rights |
//! | `stage` | content on its way, and its last step |
//! | `upload` | content that comes in several requests |
//! | `trash` | what was deleted, and back |
//! | `zip` | a folder as one stream |
//! | `usage` | who uses how much |
//! | `keep` | outputs of jobs into a folder |
//! | `identity` | as whom |

mod area;
mod change;
mod entry;
mod error;
mod identity;
mod keep;
mod list;
mod stage;
mod trash;
mod tree;
mod upload;
mod usage;
mod zip;

pub use area::{Area, Who};
pub use entry::{Entry, Kind};
pub use error::{Error, Result};
pub use keep::Kept;
pub use list::{Folders, Listing, Order, Wanted};
pub use stage::{Expect, Staged};
pub use trash::Deleted;
pub use upload::{NewUpload, Upload};
pub use usage::{Large, Usage, UsedBy};
pub use zip::Zip;
