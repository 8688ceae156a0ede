//! Statements put together from parts, and rows read by the names of their columns.
//!
//! Only fixed text goes into a statement; whatever comes from outside is bound. A `?` stands for each value:
//! SQLite looks a numbered placeholder up among all before it, which takes long for lists of ids. PostgreSQL
//! knows only numbered ones, so it gets those.

use std::fmt::Write as _;

use atelier_domain::compute::size::ComputeName;
use atelier_domain::compute::{ClusterId, InstanceId, JobId, NodeId, ScheduleId};
use atelier_domain::time::Mono;
use atelier_domain::{SessionKey, SshKeyId, Timestamp, TokenId, UserId, WorkspaceId};
use serde::de::DeserializeOwned;
use sqlx::any::{AnyArguments, AnyRow};
use sqlx::query::Query;
use sqlx::{Any, AnyConnection, Decode, Row as _, Transaction, Type};

use super::readers::Readers;
use super::{Error, Kind, Result};

/// How many values one list names at most.
pub(super) const AT_ONCE: usize = 500;

/// A statement in the making.
#[derive(Debug)]
pub(super) struct Sql {
    text: String,
    values: Vec<Value>,
    has_condition: bool,
    /// How many columns an insert has so far, until its `values` are written.
    inserted: Option<usize>,
}

/// Where a page of a list begins, and how long it is.
#[derive(Debug)]
pub(super) struct Page<'a, const N: usize> {
    /// What the list is sorted by; the last column tells apart what is equal in the others.
    pub by: [&'a str; N],
    pub order: Order,
    /// Only rows whose columns are below these.
    pub before: Option<[Value; N]>,
    /// Only rows whose columns are above these.
    pub after: Option<[Value; N]>,
    pub limit: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Ascending,
    Descending,
}

impl Sql {
    /// Fixed text, with a `?` for each value that is bound to it.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), values: Vec::new(), has_condition: false, inserted: None }
    }

    /// `select` of these columns; what follows `from` may be a join.
    pub fn select(columns: &str, from: &str) -> Self {
        Self::new(format!("select {columns} from {from}"))
    }

    /// `select` of what makes a record.
    pub fn of<R: Record>(from: &str) -> Self {
        Self::select(&R::columns(), from)
    }

    pub fn count_of(from: &str) -> Self {
        Self::select("count(*)", from)
    }

    /// An insert of one row; its columns follow with [`Self::set`].
    pub fn insert(table: &str) -> Self {
        Self { inserted: Some(0), ..Self::new(format!("insert into {table} (")) }
    }

    /// An update of the columns that follow with [`Self::set`].
    pub fn update(table: &str) -> Self {
        Self::new(format!("update {table} set "))
    }

    pub fn delete(table: &str) -> Self {
        Self::new(format!("delete from {table}"))
    }

    /// Gives a column of an insert or update its value.
    pub fn set(mut self, column: &str, value: impl Into<Value>) -> Self {
        self.text.push_str(if self.values.is_empty() { "" } else { ", " });
        self.text.push_str(column);
        match &mut self.inserted {
            Some(count) => *count += 1,
            None => self.text.push_str(" = ?"),
        }
        self.bind(value)
    }

    /// An insert changes these columns of the row that has its `key` already; see [`on_conflict`].
    pub fn or_update(self, key: &str, columns: &[&str]) -> Self {
        self.push(&on_conflict(key, columns))
    }

    pub fn push(mut self, text: &str) -> Self {
        self.close_insert();
        self.text.push_str(text);
        self
    }

    /// Another statement in the same text, which SQLite takes.
    pub fn then(mut self, next: Self) -> Self {
        self.values.extend(next.values);
        self.push(";").push(&next.text)
    }

    /// The value of the next `?`.
    pub fn bind(mut self, value: impl Into<Value>) -> Self {
        self.values.push(value.into());
        self
    }

    /// One more condition.
    pub fn and(mut self, condition: &str) -> Self {
        let word = if std::mem::replace(&mut self.has_condition, true) { " and " } else { " where " };
        self.push(word).push(condition)
    }

    /// One more condition, if there is a value for it.
    pub fn and_if(self, condition: &str, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.and(condition).bind(value),
            None => self,
        }
    }

    pub fn eq(self, column: &str, value: impl Into<Value>) -> Self {
        self.and(column).push(" = ?").bind(value)
    }

    /// `column in (…)`.
    pub fn within<V: Into<Value>>(self, column: &str, values: impl IntoIterator<Item = V>) -> Self {
        let mut sql = self.and(column);
        let before = sql.values.len();
        sql.values.extend(values.into_iter().map(Into::into));
        let marks = vec!["?"; sql.values.len() - before].join(", ");
        sql.push(&format!(" in ({marks})"))
    }

    /// One of the columns, in lower case, has that part; any has an empty one.
    pub fn like(self, columns: &[&str], part: &str) -> Self {
        let part = part.trim();
        if part.is_empty() {
            return self;
        }
        let either: Vec<String> = columns.iter().map(|column| format!("{column} like ? escape '\\'")).collect();
        columns.iter().fold(self.and(&format!("({})", either.join(" or "))), |sql, _| sql.bind(like_pattern(part)))
    }

    /// The order of a list and the part of it that is shown.
    pub fn page<const N: usize>(self, page: Page<'_, N>) -> Self {
        self.page_with("", page)
    }

    /// The same for groups of rows that are equal in what they are sorted by.
    pub fn page_of_groups<const N: usize>(self, page: Page<'_, N>) -> Self {
        self.page_with(&format!(" group by {}", page.by.join(", ")), page)
    }

    fn page_with<const N: usize>(mut self, groups: &str, page: Page<'_, N>) -> Self {
        let (columns, marks) = (page.by.join(", "), ["?"; N].join(", "));
        for (sign, bound) in [("<", page.before), (">", page.after)] {
            if let Some(values) = bound {
                self = values.into_iter().fold(self.and(&format!("({columns}) {sign} ({marks})")), Self::bind);
            }
        }
        let direction = if page.order == Order::Descending { " desc" } else { "" };
        let order = page.by.map(|column| format!("{column}{direction}")).join(", ");
        self.push(&format!("{groups} order by {order}")).limit(page.limit)
    }

    pub fn limit(self, most: i64) -> Self {
        self.push(" limit ?").bind(most)
    }

    pub async fn rows(self, db: impl Into<Db<'_>>) -> Result<Vec<AnyRow>> {
        let db = db.into();
        let (text, values) = self.finish(db.kind());
        let query = bind(sqlx::query(&text), &values);
        Ok(match db {
            Db::Readers(readers) => readers.rows(query).await?,
            Db::Connection(connection) => query.fetch_all(connection).await?,
        })
    }

    /// The first row, if there is one.
    pub async fn row(self, db: impl Into<Db<'_>>) -> Result<Option<AnyRow>> {
        let db = db.into();
        let (text, values) = self.finish(db.kind());
        let query = bind(sqlx::query(&text), &values);
        Ok(match db {
            Db::Readers(readers) => readers.row(query).await?,
            Db::Connection(connection) => query.fetch_optional(connection).await?,
        })
    }

    /// Hands out its rows one by one, for those that are too many to hold at once.
    pub async fn each(self, readers: &Readers, take: impl FnMut(&AnyRow)) -> Result<()> {
        let (text, values) = self.finish(readers.kind());
        Ok(readers.each(bind(sqlx::query(&text), &values), take).await?)
    }

    /// All rows as records; the statement began with [`Self::of`] the same.
    pub async fn all<R: Record>(self, db: impl Into<Db<'_>>) -> Result<Vec<R>> {
        self.rows(db).await?.iter().map(R::read).collect()
    }

    /// The first record, if there is one.
    pub async fn first<R: Record>(self, db: impl Into<Db<'_>>) -> Result<Option<R>> {
        self.row(db).await?.as_ref().map(R::read).transpose()
    }

    /// The one column of the first row, if there is one.
    pub async fn value<F: Field>(self, db: impl Into<Db<'_>>) -> Result<Option<F>> {
        self.row(db).await?.map(|row| F::of(row.try_get(0)?)).transpose()
    }

    /// The one column of all rows.
    pub async fn values<F: Field>(self, db: impl Into<Db<'_>>) -> Result<Vec<F>> {
        self.rows(db).await?.iter().map(|row| F::of(row.try_get(0)?)).collect()
    }

    /// The number that it selects.
    pub async fn count(self, db: impl Into<Db<'_>>) -> Result<u64> {
        Ok(self.value(db).await?.unwrap_or_default())
    }

    /// Runs it, and says how many rows it changed.
    pub async fn run(self, connection: &mut AnyConnection) -> Result<u64> {
        let (text, values) = self.finish(kind_of(connection));
        Ok(bind(sqlx::query(&text), &values).execute(connection).await?.rows_affected())
    }

    fn close_insert(&mut self) {
        if let Some(count) = self.inserted.take() {
            self.text.push_str(&format!(") values ({})", vec!["?"; count].join(", ")));
        }
    }

    fn finish(mut self, kind: Kind) -> (String, Vec<Value>) {
        self.close_insert();
        debug_assert_eq!(self.text.matches('?').count(), self.values.len(), "{}", self.text);
        if kind == Kind::Sqlite {
            return (self.text, self.values);
        }
        let mut parts = self.text.split('?');
        let mut text = parts.next().unwrap_or_default().to_owned();
        for (index, part) in parts.enumerate() {
            // Writing to a string cannot fail.
            let _ = write!(text, "${}{part}", index + 1);
        }
        (text, self.values)
    }
}

/// What becomes of a row whose `key` is there already: these columns of it take the new values, or what a
/// text such as `a = t.a + excluded.a` says.
pub(super) fn on_conflict(key: &str, columns: &[&str]) -> String {
    let set = |column: &&str| match column.contains('=') {
        true => (*column).to_owned(),
        false => format!("{column} = excluded.{column}"),
    };
    let sets: Vec<String> = columns.iter().map(set).collect();
    format!(" on conflict ({key}) do update set {}", sets.join(", "))
}

/// Where a statement runs.
pub(super) enum Db<'a> {
    Readers(&'a Readers),
    Connection(&'a mut AnyConnection),
}

impl Db<'_> {
    fn kind(&self) -> Kind {
        match self {
            Self::Readers(readers) => readers.kind(),
            Self::Connection(connection) => kind_of(connection),
        }
    }
}

impl<'a> From<&'a Readers> for Db<'a> {
    fn from(readers: &'a Readers) -> Self {
        Self::Readers(readers)
    }
}

impl<'a> From<&'a mut Transaction<'static, Any>> for Db<'a> {
    fn from(tx: &'a mut Transaction<'static, Any>) -> Self {
        Self::Connection(tx)
    }
}

impl<'a> From<&'a mut AnyConnection> for Db<'a> {
    fn from(connection: &'a mut AnyConnection) -> Self {
        Self::Connection(connection)
    }
}

fn kind_of(connection: &AnyConnection) -> Kind {
    if connection.backend_name() == "SQLite" { Kind::Sqlite } else { Kind::Postgres }
}

/// A value that goes into a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Text(String),
    Number(i64),
}

pub(super) fn bind<'q>(
    query: Query<'q, Any, AnyArguments<'q>>,
    values: &'q [Value],
) -> Query<'q, Any, AnyArguments<'q>> {
    values.iter().fold(query, |query, value| match value {
        Value::Text(text) => query.bind(text.as_str()),
        Value::Number(number) => query.bind(*number),
    })
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

impl From<u64> for Value {
    /// Numbers here count things or milliseconds and never come near the end; whoever types an id beyond it
    /// finds nothing.
    fn from(number: u64) -> Self {
        Self::Number(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

/// What a column of a row is read as. The store writes what is unset as an empty text or 0, so that is what
/// an `Option` reads as none.
pub(super) trait Field: Sized {
    type Raw: for<'r> Decode<'r, Any> + Type<Any>;

    fn of(raw: Self::Raw) -> Result<Self>;
}

/// What is unset.
pub(super) trait Unset {
    fn is_unset(&self) -> bool;
}

impl Unset for String {
    fn is_unset(&self) -> bool {
        self.is_empty()
    }
}

impl Unset for i64 {
    fn is_unset(&self) -> bool {
        *self <= 0
    }
}

impl<F: Field> Field for Option<F>
where
    F::Raw: Unset,
    Option<F::Raw>: for<'r> Decode<'r, Any> + Type<Any>,
{
    type Raw = Option<F::Raw>;

    fn of(raw: Self::Raw) -> Result<Self> {
        raw.filter(|raw| !raw.is_unset()).map(F::of).transpose()
    }
}

/// Types that columns are read as, and how they come out of a text or a number.
macro_rules! fields {
    ($($raw:ty => $($type:ty: $read:expr),+;)+) => {
        $($(impl Field for $type {
            type Raw = $raw;

            fn of(raw: $raw) -> Result<Self> {
                let read: fn($raw) -> Result<Self> = $read;
                read(raw)
            }
        })+)+
    };
}

/// Ids and the like, which go into a statement as they come out of it.
macro_rules! texts {
    ($($type:ident),+) => {$(
        fields!(String => $type: |text| Ok(Self::new(text)););

        impl From<&$type> for Value {
            fn from(id: &$type) -> Self {
                id.as_str().into()
            }
        }
    )+};
}

macro_rules! numbers {
    ($($type:ident),+) => {$(
        fields!(i64 => $type: |number| u64::of(number).map(Self););

        impl From<$type> for Value {
            fn from(id: $type) -> Self {
                id.0.into()
            }
        }
    )+};
}

fields! {
    String => String: Ok, ComputeName: |text| {
        Self::parse(&text).map_err(|_| Error::Unreadable { what: "a name", value: text })
    };
    i64 =>
        i64: Ok,
        u64: |number| Ok(Self::try_from(number).unwrap_or_default()),
        u32: |number| Ok(Self::try_from(number.max(0)).unwrap_or(Self::MAX)),
        bool: |number| Ok(number != 0),
        Timestamp: |at| Ok(Self(at));
}
texts!(UserId, WorkspaceId, TokenId, SshKeyId, SessionKey);
numbers!(InstanceId, ClusterId, NodeId, JobId, ScheduleId, Mono);

/// Also what a plain number in the code is.
impl From<i32> for Value {
    fn from(number: i32) -> Self {
        i64::from(number).into()
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        i64::from(number).into()
    }
}

impl From<Timestamp> for Value {
    fn from(at: Timestamp) -> Self {
        at.0.into()
    }
}

impl From<bool> for Value {
    fn from(is_so: bool) -> Self {
        i64::from(is_so).into()
    }
}

/// Rows read by the names of their columns. What is missing or of another type is an error.
pub(super) trait Columns {
    fn read<F: Field>(&self, column: &str) -> Result<F>;

    /// A column that holds JSON; `what` names it in the error.
    fn json<T: DeserializeOwned>(&self, what: &'static str, column: &str) -> Result<T>;
}

impl Columns for AnyRow {
    fn read<F: Field>(&self, column: &str) -> Result<F> {
        F::of(self.try_get(column)?)
    }

    fn json<T: DeserializeOwned>(&self, what: &'static str, column: &str) -> Result<T> {
        from_json(what, self.try_get(column)?)
    }
}

pub(super) fn from_json<T: DeserializeOwned>(what: &'static str, text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|error| {
        let start: String = text.chars().take(80).collect();
        Error::Unreadable { what, value: format!("{start}… ({error})") }
    })
}

/// What a row is read as: its columns are listed once, where they are read.
pub(super) trait Record: Sized {
    /// As a statement selects them: plain ones such as `u.id`, which are read by that name, and
    /// `expression as name`.
    const COLUMNS: &'static [&'static str];

    fn read(row: &AnyRow) -> Result<Self>;

    /// The list of a `select`.
    fn columns() -> String {
        let mut list = String::with_capacity(Self::COLUMNS.len() * 32);
        for column in Self::COLUMNS {
            list.push_str(if list.is_empty() { "" } else { ", " });
            list.push_str(column);
            // Its table is part of the name, so that records of joined tables do not take each other's.
            if column.contains('.') && !column.contains(' ') {
                let _ = write!(list, " as \"{column}\"");
            }
        }
        list
    }
}

impl<A: Record, B: Record> Record for (A, B) {
    const COLUMNS: &'static [&'static str] = &[];

    fn read(row: &AnyRow) -> Result<Self> {
        Ok((A::read(row)?, B::read(row)?))
    }

    fn columns() -> String {
        format!("{}, {}", A::columns(), B::columns())
    }
}

/// A record whose fields are columns.
macro_rules! record {
    ($type:ty { $($field:ident: $column:literal),+ $(,)? }) => {
        impl $crate::store::sql::Record for $type {
            const COLUMNS: &'static [&'static str] = &[$($column),+];

            fn read(row: &sqlx::any::AnyRow) -> $crate::store::Result<Self> {
                use $crate::store::sql::Columns as _;
                Ok(Self { $($field: row.read($column)?),+ })
            }
        }
    };
}
pub(super) use record;

/// Escapes what `like` would take as a pattern; statements say `escape '\'`.
pub(super) fn like_pattern(part: &str) -> String {
    let mut pattern = String::from("%");
    for c in part.to_lowercase().chars() {
        if matches!(c, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern.push('%');
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_have_the_placeholders_of_their_database() {
        let page = || Page {
            by: ["at", "id"],
            order: Order::Descending,
            before: Some([7.into(), "b".into()]),
            after: None,
            limit: 3,
        };
        let sql = || Sql::select("id", "t").and("a = 0").and_if("b = ?", None::<i64>).like(&["c"], " 5% ").page(page());
        let text = "select id from t where a = 0 and (c like ? escape '\\') and (at, id) < (?, ?) order by at desc, id \
                    desc limit ?";
        let values: Vec<Value> = vec!["%5\\%%".into(), 7.into(), "b".into(), 3.into()];
        assert_eq!(sql().finish(Kind::Sqlite), (text.to_owned(), values.clone()));
        let text = "select id from t where a = 0 and (c like $1 escape '\\') and (at, id) < ($2, $3) order by at desc, \
                    id desc limit $4";
        assert_eq!(sql().finish(Kind::Postgres), (text.to_owned(), values));
        let groups = Sql::select("at, id", "t").page_of_groups(Page { before: None, ..page() });
        assert_eq!(groups.text, "select at, id from t group by at, id order by at desc, id desc limit ?");
        let insert = Sql::insert("t").set("a", 1).set("b", "x").or_update("a", &["b", "n = t.n + 1"]);
        assert_eq!(
            insert.finish(Kind::Postgres).0,
            "insert into t (a, b) values ($1, $2) on conflict (a) do update set b = excluded.b, n = t.n + 1"
        );
        let update = Sql::update("t").set("a", 1).set("b", 2).eq("c", 3).within("d", ["x", "y"]);
        assert_eq!(update.finish(Kind::Sqlite).0, "update t set a = ?, b = ? where c = ? and d in (?, ?)");
    }

    #[tokio::test]
    async fn what_a_row_does_not_have_is_an_error() {
        sqlx::any::install_default_drivers();
        let mut connection = <AnyConnection as sqlx::Connection>::connect("sqlite::memory:").await.expect("opens");
        let sql = || Sql::new("select 'x' as \"t.name\", 0 as at, '' as who");
        let row = sql().row(&mut connection).await.expect("reads").expect("a row");
        assert_eq!(row.read::<String>("t.name").expect("is there"), "x");
        assert_eq!(row.read::<Option<Timestamp>>("at").expect("is there"), None);
        assert_eq!(row.read::<Option<UserId>>("who").expect("is there"), None);
        assert!(matches!(row.read::<String>("name"), Err(Error::Database(sqlx::Error::ColumnNotFound(_)))));
        assert!(matches!(row.read::<i64>("t.name"), Err(Error::Database(sqlx::Error::ColumnDecode { .. }))));
        assert!(matches!(row.json::<Vec<u8>>("a list", "t.name"), Err(Error::Unreadable { what: "a list", .. })));
    }
}
