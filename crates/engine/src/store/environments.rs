//! Named environments: their versions, which never change, and how their builds ended.

use atelier_domain::compute::size::ComputeName;
use atelier_domain::environment::{EnvironmentHash, MAX_VERSIONS, Packages};
use atelier_domain::history::{Event, Topic};
use atelier_domain::text::Problem;
use atelier_domain::{Timestamp, UserId, WorkspaceId};
use sqlx::Row as _;
use sqlx::any::AnyRow;

use super::{Author, Error, Result, Store, WriteTx};
use crate::environments::BuildFailure;

/// An environment, without its versions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvironmentRow {
    pub name: ComputeName,
    pub owner: UserId,
    /// That person's name, as it was then.
    pub owner_name: String,
    /// Since when there is one of that name.
    pub created_at: Timestamp,
}

/// A version of an environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvironmentVersion {
    pub name: ComputeName,
    /// Its number, from 1.
    pub version: u32,
    /// As it was written.
    pub recipe: String,
    /// What was noted about it.
    pub note: String,
    pub author: UserId,
    /// That person's name, as it was then.
    pub author_name: String,
    pub created_at: Timestamp,
    /// When a job was last submitted with it.
    pub used_at: Option<Timestamp>,
}

/// What is kept about a build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildRow {
    pub hash: EnvironmentHash,
    pub state: KeptState,
    /// What was in it.
    pub packages: Packages,
    /// What it takes of the disk, in bytes, or took.
    pub size: u64,
    /// When something last ran with it.
    pub used_at: Option<Timestamp>,
    /// Since when it stands there.
    pub changed_at: Timestamp,
}

/// Where a build stands, as far as that outlives the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeptState {
    /// Somebody wants it built.
    Wanted,
    Ready,
    /// It could not be built.
    Failed(BuildFailure),
    /// It was built and removed, since nobody used it.
    Collected,
}

impl KeptState {
    const fn key(&self) -> &'static str {
        match self {
            Self::Wanted => "wanted",
            Self::Ready => "ready",
            Self::Failed(_) => "failed",
            Self::Collected => "collected",
        }
    }
}

const OF_ENVIRONMENT: &str = "name, owner_id, owner_name, created_at";
const OF_VERSION: &str = "name, version, recipe, note, author_id, author_name, created_at, used_at";
const OF_BUILD: &str = "hash, state, failure, packages, size, used_at, changed_at";

impl Store {
    /// All environments of a workspace, by name.
    pub async fn environments(&self, workspace: &WorkspaceId) -> Result<Vec<EnvironmentRow>> {
        let sql = format!("select {OF_ENVIRONMENT} from environments where workspace_id = $1 order by name");
        let rows = self.reader.rows(sqlx::query(&sql).bind(workspace.as_str())).await?;
        rows.iter().map(environment).collect()
    }

    pub async fn environment(&self, workspace: &WorkspaceId, name: &ComputeName) -> Result<Option<EnvironmentRow>> {
        let sql = format!("select {OF_ENVIRONMENT} from environments where workspace_id = $1 and name = $2");
        let row = self.reader.row(sqlx::query(&sql).bind(workspace.as_str()).bind(name.as_str())).await?;
        row.as_ref().map(environment).transpose()
    }

    /// The versions of all environments of a workspace, or of one; the newest of each first.
    pub async fn environment_versions(
        &self,
        workspace: &WorkspaceId,
        name: Option<&ComputeName>,
    ) -> Result<Vec<EnvironmentVersion>> {
        let only = if name.is_some() { " and name = $2" } else { "" };
        let sql = format!(
            "select {OF_VERSION} from environment_versions where workspace_id = $1{only} order by name, version desc"
        );
        let mut query = sqlx::query(&sql).bind(workspace.as_str());
        if let Some(name) = name {
            query = query.bind(name.as_str());
        }
        self.reader.rows(query).await?.iter().map(version).collect()
    }

    /// One version; the newest if none is said.
    pub async fn environment_version(
        &self,
        workspace: &WorkspaceId,
        name: &ComputeName,
        number: Option<u32>,
    ) -> Result<Option<EnvironmentVersion>> {
        let only = if number.is_some() { " and version = $3" } else { "" };
        let sql = format!(
            "select {OF_VERSION} from environment_versions where workspace_id = $1 and name = $2{only} \
             order by version desc limit 1"
        );
        let mut query = sqlx::query(&sql).bind(workspace.as_str()).bind(name.as_str());
        if let Some(number) = number {
            query = query.bind(i64::from(number));
        }
        self.reader.row(query).await?.as_ref().map(version).transpose()
    }

    /// All versions of all workspaces: what the builder may be asked for.
    pub async fn all_environment_versions(&self) -> Result<Vec<EnvironmentVersion>> {
        let sql = format!("select {OF_VERSION} from environment_versions order by workspace_id, name, version");
        self.reader.rows(sqlx::query(&sql)).await?.iter().map(version).collect()
    }

    /// What is kept about all builds.
    pub async fn environment_builds(&self) -> Result<Vec<BuildRow>> {
        let sql = format!("select {OF_BUILD} from environment_builds order by hash");
        self.reader.rows(sqlx::query(&sql)).await?.iter().map(build).collect()
    }

    /// What is kept about one build.
    pub async fn environment_build(&self, hash: EnvironmentHash) -> Result<Option<BuildRow>> {
        let sql = format!("select {OF_BUILD} from environment_builds where hash = $1");
        self.reader.row(sqlx::query(&sql).bind(hash.to_string())).await?.as_ref().map(build).transpose()
    }

    /// Keeps how a build ended, and tells live pages.
    pub async fn keep_environment_build(&self, row: &BuildRow, now: Timestamp) -> Result<()> {
        let mut tx = self.begin(now).await?;
        tx.put_environment_build(row).await?;
        tx.topics.insert(Topic::Environments);
        tx.topics.insert(Topic::Jobs);
        tx.commit().await?;
        Ok(())
    }

    /// Live pages show how far a build is, which is kept nowhere.
    pub async fn tell_environment_pages(&self, now: Timestamp) -> Result<()> {
        let mut tx = self.begin(now).await?;
        tx.topics.insert(Topic::Environments);
        tx.commit().await?;
        Ok(())
    }

    /// Notes that a version was used, and what was built of it. No revision: nobody waits for it.
    pub async fn note_environment_use(
        &self,
        of: Option<(&WorkspaceId, &ComputeName, u32)>,
        hash: EnvironmentHash,
        now: Timestamp,
    ) -> Result<()> {
        let _in_line = self.write_lock.lock().await;
        let mut tx = self.writer.begin().await?;
        if let Some((workspace, name, number)) = of {
            sqlx::query(
                "update environment_versions set used_at = $1 where workspace_id = $2 and name = $3 and version = $4 \
                 and used_at < $1",
            )
            .bind(now.0)
            .bind(workspace.as_str())
            .bind(name.as_str())
            .bind(i64::from(number))
            .execute(&mut *tx)
            .await?;
        }
        sqlx::query("update environment_builds set used_at = $1 where hash = $2 and used_at < $1")
            .bind(now.0)
            .bind(hash.to_string())
            .execute(&mut *tx)
            .await?;
        tx.commit().await?;
        Ok(())
    }
}

impl WriteTx<'_> {
    /// Makes the next version of an environment; the first makes the environment as well. `is_new` says
    /// whether there must be none of that name, or one. Gives its number, or why it cannot be.
    pub async fn add_environment_version(
        &mut self,
        workspace: &WorkspaceId,
        author: &Author,
        by: (&UserId, &str),
        new: &NewVersion<'_>,
    ) -> Result<std::result::Result<u32, Problem>> {
        let newest = sqlx::query(
            "select cast(coalesce(max(version), 0) as bigint) from environment_versions where workspace_id = $1 and \
             name = $2",
        )
        .bind(workspace.as_str())
        .bind(new.name.as_str())
        .fetch_one(&mut *self.tx)
        .await?;
        let newest = u32::try_from(newest.get::<i64, _>(0)).unwrap_or_default();
        if newest > 0 && !new.is_new && self.is_newest_version(workspace, newest, new).await? {
            // Who asks again gets what was made the first time.
            return Ok(Ok(newest));
        }
        let refuse = |message: String| Ok(Err(Problem::new("name", message)));
        match (newest, new.is_new) {
            (1.., true) => {
                return refuse(format!(
                    "There is an environment “{}” already. Choose another name, or open that one and add a version.",
                    new.name
                ));
            }
            (0, false) => return refuse(format!("There is no environment “{}” any more.", new.name)),
            (MAX_VERSIONS.., _) => {
                return refuse(format!(
                    "An environment has at most {MAX_VERSIONS} versions. Make one of another name."
                ));
            }
            _ => {}
        }
        if newest == 0 {
            sqlx::query(
                "insert into environments (workspace_id, name, owner_id, owner_name, created_at) values ($1, $2, $3, \
                 $4, $5)",
            )
            .bind(workspace.as_str())
            .bind(new.name.as_str())
            .bind(by.0.as_str())
            .bind(by.1)
            .bind(self.now().0)
            .execute(&mut *self.tx)
            .await?;
        }
        let version = newest + 1;
        sqlx::query(
            "insert into environment_versions (workspace_id, name, version, recipe, note, author_id, author_name, \
             created_at, used_at) values ($1, $2, $3, $4, $5, $6, $7, $8, 0)",
        )
        .bind(workspace.as_str())
        .bind(new.name.as_str())
        .bind(i64::from(version))
        .bind(new.recipe)
        .bind(new.note)
        .bind(by.0.as_str())
        .bind(by.1)
        .bind(self.now().0)
        .execute(&mut *self.tx)
        .await?;
        let event = Event::EnvironmentVersionMade { name: new.name.to_string(), version, packages: new.packages };
        self.record(workspace, author, None, &event).await?;
        Ok(Ok(version))
    }

    async fn is_newest_version(&mut self, workspace: &WorkspaceId, newest: u32, new: &NewVersion<'_>) -> Result<bool> {
        let same = sqlx::query(
            "select 1 from environment_versions where workspace_id = $1 and name = $2 and version = $3 and recipe = $4 \
             and note = $5",
        )
        .bind(workspace.as_str())
        .bind(new.name.as_str())
        .bind(i64::from(newest))
        .bind(new.recipe)
        .bind(new.note)
        .fetch_optional(&mut *self.tx)
        .await?;
        Ok(same.is_some())
    }

    /// Deletes an environment with all its versions. False if there is none.
    pub async fn delete_environment(
        &mut self,
        workspace: &WorkspaceId,
        author: &Author,
        name: &ComputeName,
    ) -> Result<bool> {
        let versions = sqlx::query("delete from environment_versions where workspace_id = $1 and name = $2")
            .bind(workspace.as_str())
            .bind(name.as_str())
            .execute(&mut *self.tx)
            .await?
            .rows_affected();
        let gone = sqlx::query("delete from environments where workspace_id = $1 and name = $2")
            .bind(workspace.as_str())
            .bind(name.as_str())
            .execute(&mut *self.tx)
            .await?
            .rows_affected();
        if gone > 0 {
            let versions = u32::try_from(versions).unwrap_or(u32::MAX);
            let event = Event::EnvironmentDeleted { name: name.to_string(), versions };
            self.record(workspace, author, None, &event).await?;
        }
        Ok(gone > 0)
    }

    /// Notes that somebody wants a version built, whatever became of it before.
    pub async fn want_environment_build(
        &mut self,
        workspace: &WorkspaceId,
        author: &Author,
        version: (&ComputeName, u32),
        hash: EnvironmentHash,
    ) -> Result<()> {
        let now = self.now();
        let row = BuildRow {
            hash,
            state: KeptState::Wanted,
            packages: Vec::new(),
            size: 0,
            used_at: Some(now),
            changed_at: now,
        };
        self.put_environment_build(&row).await?;
        let event = Event::EnvironmentBuildAsked { name: version.0.to_string(), version: version.1 };
        self.record(workspace, author, None, &event).await
    }

    async fn put_environment_build(&mut self, row: &BuildRow) -> Result<()> {
        let text = |value: serde_json::Result<String>| {
            value.map_err(|error| Error::Unreadable { what: "a build", value: error.to_string() })
        };
        let failure = match &row.state {
            KeptState::Failed(failure) => text(serde_json::to_string(failure))?,
            _ => String::new(),
        };
        sqlx::query(
            "insert into environment_builds (hash, state, failure, packages, size, used_at, changed_at) \
             values ($1, $2, $3, $4, $5, $6, $7) on conflict (hash) do update set state = excluded.state, \
             failure = excluded.failure, size = excluded.size, \
             packages = case when excluded.packages = '[]' then environment_builds.packages else excluded.packages \
             end, \
             used_at = excluded.used_at, changed_at = excluded.changed_at",
        )
        .bind(row.hash.to_string())
        .bind(row.state.key())
        .bind(failure)
        .bind(text(serde_json::to_string(&row.packages))?)
        .bind(i64::try_from(row.size).unwrap_or(i64::MAX))
        .bind(row.used_at.map_or(0, |at| at.0))
        .bind(row.changed_at.0)
        .execute(&mut *self.tx)
        .await?;
        Ok(())
    }
}

/// A version to be made.
#[derive(Clone, Copy, Debug)]
pub struct NewVersion<'a> {
    pub name: &'a ComputeName,
    /// Whether that is to be made with it.
    pub is_new: bool,
    /// As it was written.
    pub recipe: &'a str,
    /// What is noted about it.
    pub note: &'a str,
    /// How many packages it lists.
    pub packages: u32,
}

fn name(text: String) -> Result<ComputeName> {
    ComputeName::parse(&text).map_err(|_| Error::Unreadable { what: "an environment", value: text })
}

fn moment(at: i64) -> Option<Timestamp> {
    (at > 0).then_some(Timestamp(at))
}

fn environment(row: &AnyRow) -> Result<EnvironmentRow> {
    Ok(EnvironmentRow {
        name: name(row.get(0))?,
        owner: UserId::new(row.get::<String, _>(1)),
        owner_name: row.get(2),
        created_at: Timestamp(row.get(3)),
    })
}

fn version(row: &AnyRow) -> Result<EnvironmentVersion> {
    Ok(EnvironmentVersion {
        name: name(row.get(0))?,
        version: u32::try_from(row.get::<i64, _>(1)).unwrap_or_default(),
        recipe: row.get(2),
        note: row.get(3),
        author: UserId::new(row.get::<String, _>(4)),
        author_name: row.get(5),
        created_at: Timestamp(row.get(6)),
        used_at: moment(row.get(7)),
    })
}

fn build(row: &AnyRow) -> Result<BuildRow> {
    let unreadable = |value: String| Error::Unreadable { what: "a build", value };
    let hash: String = row.get(0);
    let state: String = row.get(1);
    let (failure, packages): (String, String) = (row.get(2), row.get(3));
    let state = match state.as_str() {
        "wanted" => KeptState::Wanted,
        "ready" => KeptState::Ready,
        "collected" => KeptState::Collected,
        "failed" => KeptState::Failed(serde_json::from_str(&failure).map_err(|_| unreadable(failure))?),
        _ => return Err(unreadable(state)),
    };
    Ok(BuildRow {
        hash: EnvironmentHash::parse(&hash).ok_or_else(|| unreadable(hash))?,
        state,
        packages: serde_json::from_str(&packages).map_err(|_| unreadable(packages))?,
        size: u64::try_from(row.get::<i64, _>(4)).unwrap_or_default(),
        used_at: moment(row.get(5)),
        changed_at: Timestamp(row.get(6)),
    })
}
