//! Opening a database: connections, pragmas, migrations, and the refusal to touch what a newer version made.

use std::path::Path;
use std::str::FromStr as _;
use std::sync::OnceLock;
use std::time::Duration;

use sqlx::any::AnyConnectOptions;
use sqlx::migrate::{MigrateError, Migrator};
use sqlx::{Any, AnyConnection, AnyPool, Connection as _, Executor as _, Pool};

use super::readers::Readers;
use super::{Kind, Store, migrations, pool_options};
use crate::live::Live;

/// Why a database cannot be used. Each says what to do; none changed anything.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The address is of no database we know.
    #[error("the database address must start with sqlite: or postgres:")]
    UnknownKind,
    #[error("the database cannot be opened: {source}")]
    Connect {
        /// What the database said.
        source: sqlx::Error,
    },
    /// There is no database of ours.
    #[error("there is no Atelier database there yet; `atelier serve` makes one")]
    Missing,
    /// It cannot be written.
    #[error("the database cannot be written: {source}")]
    ReadOnly {
        /// What the database said.
        source: sqlx::Error,
    },
    /// A newer version of Atelier was here.
    #[error(
        "the database was made by a newer Atelier: it has step {found} and this binary knows steps up to {known}. \
         Start the newer binary, or restore a backup from before the upgrade. Nothing was changed"
    )]
    Newer {
        /// The newest step found.
        found: i64,
        /// The newest step known.
        known: i64,
    },
    /// A step that was applied is not the one we know.
    #[error(
        "step {step} of the database is not the one that this binary knows; it was made by another build of Atelier"
    )]
    Different { step: i64 },
    #[error("the database could not be brought up to date: {source}")]
    Migrate { source: MigrateError },
    /// The first look at the data failed.
    #[error("the database could not be read: {source}")]
    Read { source: super::Error },
}

impl Store {
    /// Opens the embedded database in a file, which is made if it does not exist and may be.
    pub async fn open_sqlite(file: &Path, missing: Missing) -> Result<Self, OpenError> {
        if missing == Missing::Refuse && !file.exists() {
            return Err(OpenError::Missing);
        }
        make_private(file);
        let mut url = String::from("sqlite://");
        // The path goes through a URL, so what a URL would take as its own is encoded.
        for byte in file.as_os_str().as_encoded_bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => {
                    url.push(char::from(*byte))
                }
                other => url.push_str(&format!("%{other:02X}")),
            }
        }
        Self::open(&format!("{url}?mode=rwc"), missing).await
    }

    /// Opens a database by its address, brings it up to date, and makes it ours.
    pub async fn open(url: &str, missing: Missing) -> Result<Self, OpenError> {
        sqlx::any::install_default_drivers();
        let kind = match url.split(':').next() {
            Some("sqlite") => Kind::Sqlite,
            Some("postgres" | "postgresql") => Kind::Postgres,
            _ => return Err(OpenError::UnknownKind),
        };
        let options = AnyConnectOptions::from_str(url).map_err(|source| OpenError::Connect { source })?;
        let writer = connect_writer(kind, options.clone()).await?;
        let migrations = migrations::carried().await.map_err(|source| OpenError::Migrate { source })?;
        refuse_newer(&writer, &migrations, missing).await?;
        check_writable(&writer).await?;
        if kind == Kind::Sqlite {
            // Kept in the file, so once is enough; only now, since a database that is refused must stay as it
            // is.
            writer.execute("pragma journal_mode = wal").await.map_err(|source| OpenError::ReadOnly { source })?;
        }
        migrations.run(&writer).await.map_err(|source| match source {
            MigrateError::VersionMismatch(step) => OpenError::Different { step },
            source => OpenError::Migrate { source },
        })?;
        let reader = Readers::connect(kind, options).await.map_err(|source| OpenError::Connect { source })?;
        let folder = folder(kind, &writer).await.map_err(|source| OpenError::Connect { source })?;
        let write_lock = tokio::sync::Mutex::default();
        let (marks, uids) = (OnceLock::new(), OnceLock::new());
        let store = Self { kind, writer, write_lock, reader, live: Live::starting_at(0), folder, marks, uids };
        let revision = store.claim_installation().await.map_err(|source| OpenError::Read { source })?;
        Ok(Self { live: Live::starting_at(revision), ..store })
    }
}

/// What to do where there is no database yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    Make,
    /// Refuse: a mistyped directory must not become an empty installation.
    Refuse,
}

/// What a connection is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
}

async fn connect_writer(kind: Kind, options: AnyConnectOptions) -> Result<AnyPool, OpenError> {
    pool_options()
        .max_connections(1)
        .min_connections(1)
        .acquire_timeout(Duration::from_secs(10))
        // A commit that failed for lack of room ends SQLite's transaction without sqlx knowing it; such a
        // connection would take later changes into a transaction that nobody ever commits.
        .before_acquire(|connection, _| Box::pin(async move { Ok(!connection.is_in_transaction()) }))
        .after_connect(move |connection, _| Box::pin(prepare(connection, kind, Access::Write)))
        .connect_with(options)
        .await
        .map_err(|source| OpenError::Connect { source })
}

/// Tells a new connection what it is for.
pub(super) async fn prepare(connection: &mut AnyConnection, kind: Kind, access: Access) -> sqlx::Result<()> {
    let statements: &[&str] = match (kind, access) {
        // FULL: what was acknowledged survives a power cut, not only a crash of ours.
        (Kind::Sqlite, Access::Write) => {
            &["pragma synchronous = full", "pragma foreign_keys = on", "pragma busy_timeout = 5000"]
        }
        (Kind::Sqlite, Access::Read) => {
            &["pragma query_only = on", "pragma busy_timeout = 5000", "pragma cache_size = -2000"]
        }
        // A server that hangs must not hold the one writer for ever. Nor may a server that froze in the
        // middle of a change hold its successor; and fencing counts on what is committed being seen.
        (Kind::Postgres, Access::Write) => &[
            "set statement_timeout = '30s'",
            "set idle_in_transaction_session_timeout = '30s'",
            "set default_transaction_isolation = 'read committed'",
        ],
        (Kind::Postgres, Access::Read) => {
            &["set statement_timeout = '30s'", "set session characteristics as transaction read only"]
        }
    };
    for statement in statements {
        connection.execute(*statement).await?;
    }
    Ok(())
}

/// Where an embedded database lies, by its own word: the address may be written in many ways.
async fn folder(kind: Kind, writer: &AnyPool) -> sqlx::Result<Option<std::path::PathBuf>> {
    if kind == Kind::Postgres {
        return Ok(None);
    }
    let file: String = sqlx::query_scalar("select cast(file as text) from pragma_database_list where name = 'main'")
        .fetch_one(writer)
        .await?;
    // One in memory has no file.
    Ok(Path::new(&file).parent().filter(|folder| !folder.as_os_str().is_empty()).map(Path::to_owned))
}

/// Makes the file before SQLite does, so that nobody else may read it: it holds password hashes.
fn make_private(file: &Path) {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    // It exists already, or SQLite will say why it cannot be made.
    drop(options.open(file));
}

/// Looks at the applied steps before anything is written.
async fn refuse_newer(pool: &Pool<Any>, migrations: &Migrator, missing: Missing) -> Result<(), OpenError> {
    let known = migrations.iter().map(|step| step.version).max().unwrap_or_default();
    // A fresh database has no such table; then there is nothing newer either.
    let found: Option<i64> = sqlx::query_scalar("select cast(max(version) as bigint) from _sqlx_migrations")
        .fetch_one(pool)
        .await
        .unwrap_or(None);
    match found {
        Some(found) if found > known => Err(OpenError::Newer { found, known }),
        None if missing == Missing::Refuse => Err(OpenError::Missing),
        _ => Ok(()),
    }
}

/// Tries a write that is rolled back, so that the refusal comes before the first migration.
async fn check_writable(pool: &Pool<Any>) -> Result<(), OpenError> {
    let attempt = async {
        let mut tx = pool.begin().await?;
        tx.execute("create table atelier_write_check (a bigint)").await?;
        tx.rollback().await
    };
    attempt.await.map_err(|source| OpenError::ReadOnly { source })
}
