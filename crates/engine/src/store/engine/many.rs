//! Many rows in few statements.
//!
//! A batch writes hundreds of rows, and a statement costs a trip to the database whatever it carries; so rows
//! of one table are gathered and written together.

use sqlx::AnyConnection;

use crate::store::sql::{Value, bind, on_conflict};
use crate::store::{Kind, Result};

/// Rows in one statement. With 13 values in the widest row, a job's, that is far from what SQLite (32,766)
/// and PostgreSQL (65,535) take.
const MOST_ROWS: usize = 256;

/// Values that SQLite is given in one go; see [`run`].
const TOGETHER: usize = 64;

/// Rows of one table.
#[derive(Clone, Debug)]
pub(crate) struct Many {
    table: &'static str,
    /// What becomes of a row that is there already, as [`on_conflict`] takes it.
    or_update: Option<(&'static str, &'static [&'static str])>,
    /// The columns of every row.
    columns: Vec<&'static str>,
    values: Vec<Value>,
}

impl Many {
    pub const fn new(table: &'static str) -> Self {
        Self { table, or_update: None, columns: Vec::new(), values: Vec::new() }
    }

    /// Rows that change these columns of those that have their `key` already.
    pub const fn or_update(table: &'static str, key: &'static str, columns: &'static [&'static str]) -> Self {
        Self { table, or_update: Some((key, columns)), columns: Vec::new(), values: Vec::new() }
    }

    /// Adds a row; all have the same columns in the same order.
    pub fn push<const N: usize>(&mut self, row: [(&'static str, Value); N]) {
        if self.columns.is_empty() {
            self.columns.extend(row.iter().map(|(column, _)| *column));
        }
        debug_assert!(row.iter().map(|(column, _)| column).eq(&self.columns), "{}", self.table);
        self.values.extend(row.into_iter().map(|(_, value)| value));
    }

    /// All values, row by row.
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// The statements that write them. Rows go by powers of two, so that there are few different texts and
    /// the database has them ready: reading a statement of a thousand values takes longer than carrying it
    /// out.
    pub fn statements<'a>(&'a self, kind: Kind, into: &mut Vec<Statement<'a>>) {
        if self.values.is_empty() {
            return;
        }
        let width = self.columns.len();
        let tail = self.or_update.map(|(key, columns)| on_conflict(key, columns)).unwrap_or_default();
        let head = format!("insert into {} ({}) values", self.table, self.columns.join(", "));
        let mut rest = self.values.as_slice();
        while !rest.is_empty() {
            let rows = power_within(rest.len() / width);
            let (values, others) = rest.split_at(rows * width);
            rest = others;
            let mut text = String::with_capacity(head.len() + tail.len() + values.len() * 5 + rows * 3);
            text.push_str(&head);
            for row in 0..rows {
                text.push_str(if row == 0 { " (" } else { ",(" });
                placeholders(&mut text, kind, row * width, width);
                text.push(')');
            }
            text.push_str(&tail);
            into.push((text, values));
        }
    }
}

/// The largest power of two that is not above.
const fn power_within(count: usize) -> usize {
    if count >= MOST_ROWS { MOST_ROWS } else { 1 << count.ilog2() }
}

/// A text and the values that belong into it.
pub(crate) type Statement<'a> = (String, &'a [Value]);

/// `head (…)` for all of these values, which may be very many.
pub(crate) fn in_statements<'a>(
    kind: Kind,
    head: &'static str,
    mut values: &'a [Value],
    into: &mut Vec<Statement<'a>>,
) {
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
        let mut sum = 0;
        let fits = |(_, values): &&Statement<'_>| {
            sum += values.len();
            sum <= TOGETHER
        };
        let count = if kind == Kind::Sqlite { rest.iter().take_while(fits).count().max(1) } else { 1 };
        let (some, others) = rest.split_at(count);
        rest = others;
        match some {
            [(text, values)] => {
                bind(sqlx::query(text), values).execute(&mut *connection).await?;
            }
            several => {
                let text = several.iter().map(|(text, _)| text.as_str()).collect::<Vec<_>>().join(";");
                let mut query = sqlx::query(&text);
                for (_, values) in several {
                    query = bind(query, values);
                }
                query.execute(&mut *connection).await?;
            }
        }
    }
    Ok(())
}

/// `head ($1, $2, …)`.
fn in_list(head: &str, kind: Kind, count: usize) -> String {
    let mut text = String::with_capacity(head.len() + count * 6 + 2);
    text.push_str(head);
    text.push('(');
    placeholders(&mut text, kind, 0, count);
    text.push(')');
    text
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
