//! The parts that pages are made of. They exist on the server only and are plain HTML: each is complete
//! without script, and what [`crate::islands::Enhance`] makes quicker is marked with data attributes.
//!
//! Ground rules: one component a file with its style sheet of the same name under `style/components`; no
//! inline style (the content security policy forbids it), so variants are classes and `data-state`; words
//! come from the domain, never composed here; everything typed by people goes through the view macro, which
//! escapes it.

mod avatar;
mod banner;
mod bars;
mod bulk;
mod button;
mod card;
mod chart;
mod choice;
mod code;
mod confirm;
mod deflist;
mod empty;
mod field;
mod filter;
mod icon;
mod line_chart;
mod meter;
mod nav;
mod node_map;
mod page;
mod pager;
mod post_form;
pub mod price;
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
mod tags;
mod tier;
mod time;
mod timeline;
mod toast;
mod token_scope;
mod topbar;
mod trust_banner;
pub mod warning;
mod why;

#[cfg(test)]
mod testing;

pub use atelier_domain::portal::NavItem;

pub use crate::components::avatar::{Avatar, Who};
pub use crate::components::banner::Banner;
pub use crate::components::bars::{BarChart, BarSeries};
pub use crate::components::bulk::{BulkAction, BulkBar, BulkForm, PickAll, PickCell};
pub use crate::components::button::{Button, LinkButton, Look, SubmitButton};
pub use crate::components::card::Card;
pub use crate::components::chart::{Layer, StepChart};
pub use crate::components::choice::{Checkbox, Choice, ChoiceKind, ChoiceList};
pub use crate::components::code::CodeBlock;
pub use crate::components::confirm::{ConfirmCard, Consequence, NothingToDo, VerbCard};
pub use crate::components::deflist::{Def, DefList};
pub use crate::components::empty::{EmptyState, NothingFits, NothingLeft, WayOut};
pub use crate::components::field::{Field, SelectField, TextField, WhyField, options, problem_line, zones};
pub use crate::components::filter::{FilterBar, QuickFilter};
pub use crate::components::icon::{Glyph, Icon, Mark, sprite};
pub use crate::components::line_chart::{ChartLine, LineChart, shape};
pub use crate::components::meter::Meter;
pub use crate::components::node_map::{NodeLegend, NodeMap, NodeSquare};
pub use crate::components::page::{Crumb, Page};
pub use crate::components::pager::{Pager, shown_of};
pub use crate::components::post_form::{PostForm, SaveRow};
pub use crate::components::query::Query;
pub use crate::components::secret::SecretOnce;
pub use crate::components::shell::Shell;
pub use crate::components::sign::BareShell;
pub use crate::components::size_table::SizeTable;
pub use crate::components::sort::{Sort, SortHeader};
pub use crate::components::spark::Spark;
pub use crate::components::state::{StateTag, StateWord};
pub use crate::components::table::{Table, TableWrap, heads};
pub use crate::components::tabs::{Tab, Tabs};
pub use crate::components::tags::TagsCard;
pub use crate::components::tier::{tier_choice, tier_tag};
pub use crate::components::time::{ago, ago_or, at_time};
pub use crate::components::timeline::{Fall, FallBar};
pub use crate::components::toast::Toast;
pub use crate::components::token_scope::TokenScopeCard;
pub use crate::components::trust_banner::TrustBanner;
pub use crate::components::why::{Tone, Why};
