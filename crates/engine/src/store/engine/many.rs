//! Many rows in few statements.
//!
//! A batch writes hundreds of rows, and a statement costs a trip to the database whatever it carries; so rows of one
//! table are gathered and written together.

use sqlx::any::AnyArguments;
use sqlx::query::Query;
use sqlx::{Any, AnyConnection};

use crate::store::{Kind, Result};

/// Values in one statement: SQLite takes 32,766 and PostgreSQL 65,535.
const MOST_VALUES: usize = 30_000;

/// A statement that is longer is not kept for another time, so there is no point in making it longer still.
const MOST_ROWS: usize = 512;

/// One value of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cell {
    /// A text.
    Text(String),
    /// A number.
    Number(i64),
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<i64> for Cell {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

impl From<u64> for Cell {
    /// Numbers here count things or milliseconds and never come near the end.
    fn from(number: u64) -> Self {
        Self::Number(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

/// Rows of one table.
#[derive(Clone, Debug)]
pub(crate) struct Many {
    /// `insert into t (a, b) values`.
    head: &'static str,
    /// How many values a row has.
    width: usize,
    /// `on conflict …`.
    tail: &'static str,
    cells: Vec<Cell>,
}

impl Many {
    /// No rows yet.
    pub const fn new(head: &'static str, width: usize, tail: &'static str) -> Self {
        Self { head, width, tail, cells: Vec::new() }
    }

    /// Adds a row.
    pub fn push<const N: usize>(&mut self, row: [Cell; N]) {
        debug_assert_eq!(N, self.width, "{}", self.head);
        self.cells.extend(row);
    }

    /// All values, row by row.
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// Writes them all.
    pub async fn write(&self, kind: Kind, connection: &mut AnyConnection) -> Result<()> {
        let rows_at_once = (MOST_VALUES / self.width).clamp(1, MOST_ROWS);
        for cells in self.cells.chunks(rows_at_once * self.width) {
            let rows = cells.len() / self.width;
            let mut text = String::with_capacity(self.head.len() + self.tail.len() + cells.len() * 6 + rows * 3);
            text.push_str(self.head);
            for row in 0..rows {
                text.push_str(if row == 0 { " (" } else { ", (" });
                placeholders(&mut text, kind, row * self.width, self.width);
                text.push(')');
            }
            text.push(' ');
            text.push_str(self.tail);
            bind(sqlx::query(&text), cells).execute(&mut *connection).await?;
        }
        Ok(())
    }
}

/// Runs `head (…) tail` for all of these values, which may be very many.
pub(crate) async fn write_in(
    kind: Kind,
    connection: &mut AnyConnection,
    head: &'static str,
    values: &[Cell],
) -> Result<()> {
    for some in values.chunks(MOST_VALUES) {
        let text = in_list(head, kind, some.len());
        bind(sqlx::query(&text), some).execute(&mut *connection).await?;
    }
    Ok(())
}

/// `head ($1, $2, …)`.
pub(crate) fn in_list(head: &str, kind: Kind, count: usize) -> String {
    let mut text = String::with_capacity(head.len() + count * 6 + 2);
    text.push_str(head);
    text.push('(');
    placeholders(&mut text, kind, 0, count);
    text.push(')');
    text
}

/// Binds all values.
pub(crate) fn bind<'q>(
    mut query: Query<'q, Any, AnyArguments<'q>>,
    cells: &'q [Cell],
) -> Query<'q, Any, AnyArguments<'q>> {
    for cell in cells {
        query = match cell {
            Cell::Text(text) => query.bind(text.as_str()),
            Cell::Number(number) => query.bind(*number),
        };
    }
    query
}

/// SQLite takes `$1` for a name and looks each name up among all before it; with thousands of them that is most of the
/// work. A plain `?` has no name.
fn placeholders(text: &mut String, kind: Kind, before: usize, count: usize) {
    use std::fmt::Write as _;
    for index in 0..count {
        if index > 0 {
            text.push(',');
        }
        match kind {
            Kind::Sqlite => text.push('?'),
            // Writing to a string cannot fail.
            Kind::Postgres => drop(write!(text, "${}", before + index + 1)),
        }
    }
}
