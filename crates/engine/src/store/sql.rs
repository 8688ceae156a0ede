//! Statements put together from parts, for filters. sqlx's own builder writes `?` for the Any driver, which
//! PostgreSQL does not take; this one numbers its placeholders.

use sqlx::Any;
use sqlx::any::{AnyArguments, AnyRow};
use sqlx::query::Query;

use super::Result;
use super::readers::Readers;

/// A statement in the making. Only fixed text is pushed; whatever came from outside is bound.
#[derive(Debug)]
pub(super) struct Sql {
    text: String,
    values: Vec<Value>,
}

#[derive(Debug)]
enum Value {
    Text(String),
    Number(i64),
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

#[expect(private_bounds, reason = "values are text or numbers, and only this module says so")]
impl Sql {
    /// Starts with fixed text.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), values: Vec::new() }
    }

    pub fn push(&mut self, text: &str) -> &mut Self {
        self.text.push_str(text);
        self
    }

    /// Adds a placeholder and its value.
    pub fn bind(&mut self, value: impl Into<Value>) -> &mut Self {
        self.values.push(value.into());
        self.text.push_str(&format!("${}", self.values.len()));
        self
    }

    /// Adds `($1, $2, …)` with a value each.
    pub fn bind_list<'a>(&mut self, values: impl Iterator<Item = &'a str>) -> &mut Self {
        self.push("(");
        for (index, value) in values.enumerate() {
            if index > 0 {
                self.push(", ");
            }
            self.bind(value);
        }
        self.push(")")
    }

    /// Runs it and gives all rows.
    pub async fn rows(self, readers: &Readers) -> Result<Vec<AnyRow>> {
        let mut query: Query<'_, Any, AnyArguments<'_>> = sqlx::query(&self.text);
        for value in self.values {
            query = match value {
                Value::Text(text) => query.bind(text),
                Value::Number(number) => query.bind(number),
            };
        }
        Ok(readers.rows(query).await?)
    }

    /// Runs it and gives the one count that it selects.
    pub async fn count(self, readers: &Readers) -> Result<u64> {
        use sqlx::Row as _;
        let rows = self.rows(readers).await?;
        Ok(rows.first().map_or(0, |row| u64::try_from(row.get::<i64, _>(0)).unwrap_or_default()))
    }
}
