//! The steps that bring a database up to date, carried in the program.
//!
//! `sqlx::migrate!` would do the same, but its macros compile both database drivers a second time, for the
//! compiler to load.

use std::borrow::Cow;
use std::future::Future;
use std::pin::Pin;

use sqlx::error::BoxDynError;
use sqlx::migrate::{MigrateError, Migration, MigrationSource, MigrationType, Migrator};

/// Names and texts in the order of their numbers; `build.rs` lists the folder.
const STEPS: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/migrations.rs"));

#[derive(Debug)]
struct Carried;

type Resolved = Result<Vec<Migration>, BoxDynError>;

impl MigrationSource<'static> for Carried {
    fn resolve(self) -> Pin<Box<dyn Future<Output = Resolved> + Send>> {
        Box::pin(async { STEPS.iter().map(|(name, sql)| step(name, sql)).collect() })
    }
}

/// Reads number and description from a name such as `0002_engine.sql`, as sqlx does.
fn step(name: &str, sql: &'static str) -> Result<Migration, BoxDynError> {
    let (number, rest) = name.split_once('_').ok_or_else(|| format!("{name} has no number"))?;
    let description = rest.trim_end_matches(".sql").replace('_', " ");
    let kind = MigrationType::from_filename(rest);
    Ok(Migration::new(number.parse()?, Cow::Owned(description), kind, Cow::Borrowed(sql), false))
}

pub(super) async fn carried() -> Result<Migrator, MigrateError> {
    Migrator::new(Carried).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn all_steps_are_carried_as_sqlx_itself_reads_them() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../migrations");
        let read = Migrator::new(folder).await.expect("the folder is there");
        let carried = carried().await.expect("they are carried");
        let of = |migrator: &Migrator| -> Vec<_> {
            let steps = migrator.iter().map(|step| (step.version, step.description.clone(), step.checksum.clone()));
            steps.collect()
        };
        assert!(!of(&carried).is_empty());
        assert_eq!(of(&carried), of(&read));
    }
}
