//! Many rows in few statements.
//!
//! A batch writes hundreds of rows, and a statement costs a trip to the database whatever it carries; so rows
//! of one table are gathered and written together.

use sqlx::any::AnyArguments;
use sqlx::query::Query;
use sqlx::{Any, AnyConnection};

use crate::store::{Kind, Result};

/// Rows in one statement. With 13 values in the widest row, a job's, that is far from what SQLite (32,766)
/// and PostgreSQL (65,535) take.
const MOST_ROWS: usize = 256;

/// Values that SQLite is given in one go; see [`run`].
const TOGETHER: usize = 64;

/// One value of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cell {
    Text(String),
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
    pub const fn new(head: &'static str, width: usize, tail: &'static str) -> Self {
        Self { head, width, tail, cells: Vec::new() }
    }

    pub fn push<const N: usize>(&mut self, row: [Cell; N]) {
        debug_assert_eq!(N, self.width, "{}", self.head);
        self.cells.extend(row);
    }

    /// All values, row by row.
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// The statements that write them. Rows go by powers of two, so that there are few different texts and
    /// the database has them ready: reading a statement of a thousand values takes longer than carrying it
    /// out.
    pub fn statements<'a>(&'a self, kind: Kind, into: &mut Vec<Statement<'a>>) {
        let mut rest = self.cells.as_slice();
        while !rest.is_empty() {
            let rows = power_within(rest.len() / self.width);
            let (cells, others) = rest.split_at(rows * self.width);
            rest = others;
            let mut text = String::with_capacity(self.head.len() + self.tail.len() + cells.len() * 5 + rows * 3);
            text.push_str(self.head);
            for row in 0..rows {
                text.push_str(if row == 0 { " (" } else { ",(" });
                placeholders(&mut text, kind, row * self.width, self.width);
                text.push(')');
            }
            text.push(' ');
            text.push_str(self.tail);
            into.push((text, cells));
        }
    }
}

/// The largest power of two that is not above.
const fn power_within(count: usize) -> usize {
    if count >= MOST_ROWS { MOST_ROWS } else { 1 << count.ilog2() }
}

/// A text and the values that belong into it.
pub(crate) type Statement<'a> = (String, &'a [Cell]);

/// `head (…)` for all of these values, which may be very many.
pub(crate) fn in_statements<'a>(kind: Kind, head: &'static str, mut values: &'a [Cell], into: &mut Vec<Statement<'a>>) {
    while !values.is_empty() {
        let (some, others) = values.split_at(power_within(values.len()));
        values = others;
        into.push((in_list(head, kind, some.len()), some));
    }
}

/// Carries statements out. SQLite runs in a thread of its own, and the way there and back takes longer than a
/// small statement; it takes several in one text, with their values one after another. Large ones go by
/// themselves, as their texts would hardly come together in the same way again.
pub(crate) async fn run(kind: Kind, connection: &mut AnyConnection, statements: &[Statement<'_>]) -> Result<()> {
    let mut rest = statements;
    while !rest.is_empty() {
        let mut values = 0;
        let fits = |(_, cells): &&Statement<'_>| {
            values += cells.len();
            values <= TOGETHER
        };
        let count = if kind == Kind::Sqlite { rest.iter().take_while(fits).count().max(1) } else { 1 };
        let (some, others) = rest.split_at(count);
        rest = others;
        match some {
            [(text, cells)] => {
                bind(sqlx::query(text), cells).execute(&mut *connection).await?;
            }
            several => {
                let text = several.iter().map(|(text, _)| text.as_str()).collect::<Vec<_>>().join(";");
                let mut query = sqlx::query(&text);
                for (_, cells) in several {
                    query = bind(query, cells);
                }
                query.execute(&mut *connection).await?;
            }
        }
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

/// SQLite takes `$1` for a name and looks each name up among all before it; with thousands of them that is
/// most of the work. A plain `?` has no name.
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
