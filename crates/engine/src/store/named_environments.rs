//! Named environments: their versions, which never change, and how their builds ended.

use atelier_domain::compute::size::ComputeName;
use atelier_domain::environment::{EnvironmentHash, MAX_VERSIONS, Packages};
use atelier_domain::history::{Event, Topic};
use atelier_domain::text::Problem;
use atelier_domain::{Timestamp, UserId, WorkspaceId};
use sqlx::any::AnyRow;

use super::sql::{Columns as _, Record, Sql, record};
use super::{Author, Error, Result, Store, WriteTx};
use crate::environments::BuildFailure;

/// A named environment, without its versions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedEnvironment {
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

record!(NamedEnvironment { name: "name", owner: "owner_id", owner_name: "owner_name", created_at: "created_at" });

record!(EnvironmentVersion {
    name: "name",
    version: "version",
    recipe: "recipe",
    note: "note",
    author: "author_id",
    author_name: "author_name",
    created_at: "created_at",
    used_at: "used_at",
});

impl Record for BuildRow {
    const COLUMNS: &'static [&'static str] = &["hash", "state", "failure", "packages", "size", "used_at", "changed_at"];

    fn read(row: &AnyRow) -> Result<Self> {
        let unreadable = |value: String| Error::Unreadable { what: "a build", value };
        let (hash, state): (String, String) = (row.read("hash")?, row.read("state")?);
        Ok(Self {
            hash: EnvironmentHash::parse(&hash).ok_or_else(|| unreadable(hash))?,
            state: match state.as_str() {
                "wanted" => KeptState::Wanted,
                "ready" => KeptState::Ready,
                "collected" => KeptState::Collected,
                "failed" => KeptState::Failed(row.json("a build", "failure")?),
                _ => return Err(unreadable(state)),
            },
            packages: row.json("a build", "packages")?,
            size: row.read("size")?,
            used_at: row.read("used_at")?,
            changed_at: row.read("changed_at")?,
        })
    }
}

impl Store {
    /// All environments of a workspace, by name.
    pub async fn named_environments(&self, workspace: &WorkspaceId) -> Result<Vec<NamedEnvironment>> {
        let sql = Sql::of::<NamedEnvironment>("environments").eq("workspace_id", workspace);
        sql.push(" order by name").all(&self.reader).await
    }

    pub async fn named_environment(
        &self,
        workspace: &WorkspaceId,
        name: &ComputeName,
    ) -> Result<Option<NamedEnvironment>> {
        let sql = Sql::of::<NamedEnvironment>("environments").eq("workspace_id", workspace);
        sql.eq("name", name.as_str()).first(&self.reader).await
    }

    /// The versions of all environments of a workspace, or of one; the newest of each first.
    pub async fn environment_versions(
        &self,
        workspace: &WorkspaceId,
        name: Option<&ComputeName>,
    ) -> Result<Vec<EnvironmentVersion>> {
        let sql = Sql::of::<EnvironmentVersion>("environment_versions").eq("workspace_id", workspace);
        let sql = sql.and_if("name = ?", name.map(ComputeName::as_str));
        sql.push(" order by name, version desc").all(&self.reader).await
    }

    /// One version; the newest if none is said.
    pub async fn environment_version(
        &self,
        workspace: &WorkspaceId,
        name: &ComputeName,
        number: Option<u32>,
    ) -> Result<Option<EnvironmentVersion>> {
        let sql = Sql::of::<EnvironmentVersion>("environment_versions").eq("workspace_id", workspace);
        let sql = sql.eq("name", name.as_str()).and_if("version = ?", number);
        sql.push(" order by version desc limit 1").first(&self.reader).await
    }

    /// All versions of all workspaces: what the builder may be asked for.
    pub async fn all_environment_versions(&self) -> Result<Vec<EnvironmentVersion>> {
        let sql = Sql::of::<EnvironmentVersion>("environment_versions");
        sql.push(" order by workspace_id, name, version").all(&self.reader).await
    }

    /// What is kept about all builds.
    pub async fn environment_builds(&self) -> Result<Vec<BuildRow>> {
        Sql::of::<BuildRow>("environment_builds").push(" order by hash").all(&self.reader).await
    }

    /// What is kept about one build.
    pub async fn environment_build(&self, hash: EnvironmentHash) -> Result<Option<BuildRow>> {
        Sql::of::<BuildRow>("environment_builds").eq("hash", hash.to_string()).first(&self.reader).await
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
        let version = of.map(|(workspace, name, number)| {
            let sql = Sql::update("environment_versions").set("used_at", now).eq("workspace_id", workspace);
            sql.eq("name", name.as_str()).eq("version", number).and("used_at < ?").bind(now)
        });
        let build = Sql::update("environment_builds").set("used_at", now).eq("hash", hash.to_string());
        self.write_all(version.into_iter().chain([build.and("used_at < ?").bind(now)]).collect()).await
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
        let newest = Sql::select("max(version)", "environment_versions").eq("workspace_id", workspace);
        let newest = newest.eq("name", new.name.as_str()).value::<Option<u32>>(&mut self.tx).await?;
        let newest = newest.flatten().unwrap_or_default();
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
            Sql::insert("environments")
                .set("workspace_id", workspace)
                .set("name", new.name.as_str())
                .set("owner_id", by.0)
                .set("owner_name", by.1)
                .set("created_at", self.now())
                .run(&mut self.tx)
                .await?;
        }
        let version = newest + 1;
        Sql::insert("environment_versions")
            .set("workspace_id", workspace)
            .set("name", new.name.as_str())
            .set("version", version)
            .set("recipe", new.recipe)
            .set("note", new.note)
            .set("author_id", by.0)
            .set("author_name", by.1)
            .set("created_at", self.now())
            .set("used_at", 0)
            .run(&mut self.tx)
            .await?;
        let event = Event::EnvironmentVersionMade { name: new.name.to_string(), version, packages: new.packages };
        self.record(workspace, author, None, &event).await?;
        Ok(Ok(version))
    }

    async fn is_newest_version(&mut self, workspace: &WorkspaceId, newest: u32, new: &NewVersion<'_>) -> Result<bool> {
        let same = Sql::select("1", "environment_versions")
            .eq("workspace_id", workspace)
            .eq("name", new.name.as_str())
            .eq("version", newest)
            .eq("recipe", new.recipe)
            .eq("note", new.note);
        Ok(same.row(&mut self.tx).await?.is_some())
    }

    /// Deletes an environment with all its versions. False if there is none.
    pub async fn delete_named_environment(
        &mut self,
        workspace: &WorkspaceId,
        author: &Author,
        name: &ComputeName,
    ) -> Result<bool> {
        let of_name = |table| Sql::delete(table).eq("workspace_id", workspace).eq("name", name.as_str());
        let versions = of_name("environment_versions").run(&mut self.tx).await?;
        let gone = of_name("environments").run(&mut self.tx).await?;
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
        let keep_packages = "packages = case when excluded.packages = '[]' then environment_builds.packages else \
                             excluded.packages end";
        Sql::insert("environment_builds")
            .set("hash", row.hash.to_string())
            .set("state", row.state.key())
            .set("failure", failure)
            .set("packages", text(serde_json::to_string(&row.packages))?)
            .set("size", row.size)
            .set("used_at", row.used_at.map_or(0, |at| at.0))
            .set("changed_at", row.changed_at)
            .or_update("hash", &["state", "failure", keep_packages, "size", "used_at", "changed_at"])
            .run(&mut self.tx)
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
