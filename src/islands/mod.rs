//! The browser's half: what makes a complete page live and quick.
//!
//! Pages are whole without script, so nothing in here is needed to use the portal. [`Enhance`] listens to the
//! document and acts on attributes that components write; [`Live`] follows the stream of revisions and brings
//! the page up to date. Neither knows a page. The attributes are the contract:
//!
//! | attribute | on | what happens |
//! | --- | --- | --- |
//! | `data-pending-label` | submit button | the label while the form is on its way |
//! | `data-copy` | button | copies its value; a `data-copy-word` in it says so for a moment |
//! | `data-bulk` | form | counts ticked boxes named `id`; `data-bulk-all`, `-count` and `-label` are its parts |
//! | `data-confirm` | link or submit | shows the `data-confirm-card` of the target page as a dialog |
//! | `data-confirm-cancel` | link in such a card | closes the dialog |
//! | `data-filter`, `data-search` | input | focused by `/` and by Ctrl+K |
//! | `data-autosubmit` | field | sends its form when it changes |
//! | `data-zone-proposal` | select | gets the browser's time zone while nothing is chosen |
//! | `data-check="password"` | input | is checked by the server's own rule, with the form's `email` or `data-email` |
//! | `data-quote` | element with a form | that server function makes its `data-quote-part` anew; see `quote.rs` |
//! | `data-ask` | input | its `data-answer` is what that server function says about it; see `name_check.rs` |
//! | `data-week` | fieldset | the weekly grid, whose bars are dragged; see `week_grid.rs` |
//! | `data-upload` | form | sends its files in pieces to that address, into `data-upload-into`; see `upload.rs` |
//! | `data-dismiss` | link or button in a toast | removes the toast; a warning stays away while the tab lives |
//! | `data-log` | section | follows what a job prints; see `log.rs` |
//! | `data-live` | element | is brought up to date; `data-key` or `id` tells its rows apart |
//! | `data-every` | element | the page is brought up to date every so many seconds, for what no revision tells |
//! | `data-go` | element | the browser goes there as soon as it appears |
//! | `data-announce` | the same element | the noun for announcements: `person|people` |
//!
//! Ground rules: `web-sys` and `js-sys` only, no formatting or parsing crates, since all of this is sent to
//! every browser; whatever fails falls back to what the plain page would have done.

#[cfg(feature = "hydrate")]
mod dom;
pub mod enhance;
pub mod live;
#[cfg(feature = "hydrate")]
mod log;
mod part;
#[cfg(feature = "hydrate")]
mod press;
#[cfg(feature = "hydrate")]
pub mod typing;

pub use crate::islands::enhance::Enhance;
pub use crate::islands::live::Live;
pub use crate::islands::part::Part;
