//! The parts that pages are made of. They exist on the server only and are plain HTML: each is complete without script,
//! and what [`crate::islands::Enhance`] makes quicker is marked with data attributes.
//!
//! Ground rules: one component a file with its style sheet of the same name under `style/components`; no inline style (the
//! content security policy forbids it), so variants are classes and `data-state`; words come from the domain, never
//! composed here; everything typed by people goes through the view macro, which escapes it.

mod avatar;
mod banner;
mod bars;
mod bulk;
mod button;
mod card;
mod chart;
mod choice;
pub mod clock;
mod code;
mod confirm;
mod deflist;
mod empty;
mod escape;
mod field;
mod filter;
mod icon;
mod line_chart;
mod meter;
pub mod money;
mod nav;
mod node_map;
mod page;
mod pager;
mod post_form;
mod query;
mod secret;
mod shell;
mod sign;
mod size_table;
mod sort;
mod spark;
mod state;
mod table;
mod tabs;
mod time;
mod toast;
mod topbar;
pub mod warning;
mod why;

#[cfg(test)]
mod testing;

pub use avatar::{Avatar, Who};
pub use banner::Banner;
pub use bars::{BarChart, BarSeries};
pub use bulk::{BulkAction, BulkBar, BulkForm, PickAll, PickCell};
pub use button::{Button, LinkButton, Look, SubmitButton};
pub use card::Card;
pub use chart::{Layer, StepChart};
pub use choice::{Checkbox, Choice, ChoiceKind, ChoiceList};
pub use code::CodeBlock;
pub use confirm::{ConfirmCard, Consequence};
pub use deflist::{Def, DefList};
pub use empty::{EmptyState, WayOut};
pub(crate) use escape::text as escape_text;
pub use field::{Field, SelectField, TextField};
pub use filter::{FilterBar, QuickFilter, grouped};
pub use icon::{Glyph, Icon, Mark, sprite};
pub use line_chart::{ChartLine, LineChart};
pub use meter::Meter;
pub use nav::{NAV, NavItem};
pub use node_map::{NodeLegend, NodeMap, NodeSquare};
pub use page::{Crumb, Page};
pub use pager::Pager;
pub use post_form::PostForm;
pub use query::Query;
pub use secret::SecretOnce;
pub use shell::Shell;
pub use sign::BareShell;
pub use size_table::{QuotaLeft, SizeRow, SizeTable};
pub use sort::{Sort, SortHeader};
pub use spark::Spark;
pub use state::{StateTag, StateWord};
pub use table::TableWrap;
pub use tabs::{Tab, Tabs};
pub use time::Time;
pub use toast::Toast;
pub use why::{Tone, Why};
