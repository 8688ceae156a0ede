//! Everything that commands and reads can reach: the store, the engine, the nodes, and what is remembered
//! beside them.

use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use atelier_domain::history::Topic;
use atelier_domain::{UserId, WorkspaceId, session};
use atelier_engine::environments::editor::Editors;
use atelier_engine::environments::{Environments, Settings as EnvironmentSettings};
use atelier_engine::fleet::Fleet;
use atelier_engine::live::Live;
use atelier_engine::run::EngineHandle;
use atelier_engine::store::{self, HistoryEntry, Person, Store, Workspace};

use crate::clusters::preview::Previews;
use crate::counts::ComputeCounts;
use crate::files::desk::Files;
use crate::forecast::etas::Forecasts;
use crate::instances::share_uses::ShareUses;
use crate::instances::ssh::Directions;
use crate::jobs::list::JobView;
use crate::kept::Kept;
use crate::people::list::FirstPage;
use crate::presence::Presence;
use crate::schedules::warnings::Announced;
use crate::tokens::TokenCache;
use crate::workloads::Workloads;

/// What the operator chose that people can tell by what the studio does.
#[derive(Clone, Debug)]
pub struct Settings {
    pub currency: String,
    pub sessions: session::Limits,
    /// So many bytes may come with one job.
    pub upload_limit: u64,
    /// So many days logs and outputs of jobs are kept after their end.
    pub keep_logs_days: u32,
    /// So many days environments that nobody uses are kept.
    pub keep_environments_days: u32,
    /// The address to tell people.
    pub address: String,
    /// Below which name applications have their addresses.
    pub apps_domain: String,
    /// The ports of applications, where they have ports in place of names: `3100 to 3109`.
    pub apps_ports: Option<String>,
    /// Why applications cannot be reached at addresses of their own, if so.
    pub apps_trouble: Option<String>,
    /// What is to be known about the addresses of applications.
    pub apps_caution: Option<String>,
}

/// What every page, Home or the list of people shows, as it was read lately. All of it is the same for
/// everybody who may see it, so a change costs one read and not one for each open page.
pub(crate) struct Reads {
    /// The names of who can grant rights.
    pub helpers: Kept<WorkspaceId, Vec<String>>,
    /// What others did to a person, newest first.
    pub notices: Kept<UserId, Vec<HistoryEntry>>,
    /// The newest entries of the history: of all of it, or of what concerns one person.
    pub events: Kept<(WorkspaceId, Option<UserId>, usize), Vec<HistoryEntry>>,
    pub people: Kept<WorkspaceId, u64>,
    pub first_people: Kept<(WorkspaceId, FirstPage), Vec<Person>>,
    pub jobs: Kept<(WorkspaceId, usize), Vec<JobView>>,
    pub computes: Kept<WorkspaceId, ComputeCounts>,
    pub warnings: Kept<WorkspaceId, Announced>,
}

impl Default for Reads {
    fn default() -> Self {
        Self {
            helpers: Kept::of(&[Topic::People]),
            notices: Kept::of(&[Topic::History]),
            events: Kept::of(&[Topic::History]),
            people: Kept::of(&[Topic::People]),
            first_people: Kept::of(&[Topic::People]),
            jobs: Kept::of_world(&[Topic::Jobs, Topic::People, Topic::Environments]),
            computes: Kept::of_world(&[]),
            warnings: Kept::of_world(&[]),
        }
    }
}

/// The studio. Cheap to clone.
#[derive(Clone)]
pub struct Studio {
    inner: Arc<Inner>,
}

struct Inner {
    settings: Settings,
    store: Arc<Store>,
    engine: EngineHandle,
    fleet: Fleet,
    environments: Environments,
    editors: Editors,
    presence: Arc<Presence>,
    tokens: Arc<TokenCache>,
    workloads: Workloads,
    share_uses: ShareUses,
    workspaces: RwLock<Vec<Workspace>>,
    directions: OnceLock<Directions>,
    files: Arc<Files>,
    forecasts: Forecasts,
    previews: Previews,
    reads: Reads,
}

impl Studio {
    /// Gathers the parts and reads the workspaces.
    pub async fn new(
        settings: Settings,
        environments: EnvironmentSettings,
        store: Arc<Store>,
        engine: EngineHandle,
        fleet: Fleet,
    ) -> store::Result<Self> {
        let workspaces = store.workspaces().await?;
        let inner = Inner {
            settings,
            environments: Environments::new(Arc::clone(&store), environments.clone()),
            editors: Editors::new(Arc::clone(&store), environments),
            store,
            engine,
            fleet,
            presence: Arc::default(),
            tokens: Arc::default(),
            workloads: Workloads::default(),
            share_uses: ShareUses::default(),
            workspaces: RwLock::new(workspaces),
            directions: OnceLock::new(),
            files: Arc::default(),
            forecasts: Forecasts::default(),
            previews: Previews::default(),
            reads: Reads::default(),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    pub fn settings(&self) -> &Settings {
        &self.inner.settings
    }

    pub fn store(&self) -> &Arc<Store> {
        &self.inner.store
    }

    /// The hub of live changes.
    pub fn live(&self) -> &Live {
        self.inner.store.live()
    }

    pub fn engine(&self) -> &EngineHandle {
        &self.inner.engine
    }

    /// Whether the disk has so little room that only what frees some is carried out.
    pub fn is_disk_low(&self) -> bool {
        self.inner.engine.status().is_disk_low
    }

    /// Nodes, their agents, and what jobs print.
    pub fn fleet(&self) -> &Fleet {
        &self.inner.fleet
    }

    pub fn environments(&self) -> &Environments {
        &self.inner.environments
    }

    /// VS Code for instances.
    pub fn editors(&self) -> &Editors {
        &self.inner.editors
    }

    /// Who was here when.
    pub fn presence(&self) -> &Arc<Presence> {
        &self.inner.presence
    }

    /// Personal tokens in use.
    pub fn tokens(&self) -> &Arc<TokenCache> {
        &self.inner.tokens
    }

    /// Instances and jobs that act in their owners' names.
    pub fn workloads(&self) -> &Workloads {
        &self.inner.workloads
    }

    /// When shares of applications were last used.
    pub fn share_uses(&self) -> &ShareUses {
        &self.inner.share_uses
    }

    /// How people connect by SSH; nothing where nobody can.
    pub fn directions(&self) -> Option<&Directions> {
        self.inner.directions.get()
    }

    /// Notes how people connect by SSH. The first one stays.
    pub fn set_directions(&self, directions: Directions) {
        let _ = self.inner.directions.set(directions);
    }

    pub fn files(&self) -> &Arc<Files> {
        &self.inner.files
    }

    /// When waiting jobs will start.
    pub fn forecasts(&self) -> &Forecasts {
        &self.inner.forecasts
    }

    /// What settings would have done.
    pub fn previews(&self) -> &Previews {
        &self.inner.previews
    }

    pub(crate) fn reads(&self) -> &Reads {
        &self.inner.reads
    }

    pub fn workspace_by_slug(&self, slug: &str) -> Option<Workspace> {
        self.workspace(|workspace| workspace.slug == slug)
    }

    pub fn workspace_by_id(&self, id: &WorkspaceId) -> Option<Workspace> {
        self.workspace(|workspace| workspace.id == *id)
    }

    fn workspace(&self, is_it: impl Fn(&Workspace) -> bool) -> Option<Workspace> {
        self.inner.workspaces.read().unwrap_or_else(PoisonError::into_inner).iter().find(|it| is_it(it)).cloned()
    }

    /// The name of the only workspace, for the sign-in page; none while there are none or several.
    pub fn only_workspace_name(&self) -> Option<String> {
        let workspaces = self.inner.workspaces.read().unwrap_or_else(PoisonError::into_inner);
        match workspaces.as_slice() {
            [only] => Some(only.name.clone()),
            _ => None,
        }
    }

    /// Reads the workspaces again: the first one has been made.
    pub async fn read_workspaces(&self) -> store::Result<()> {
        let found = self.inner.store.workspaces().await?;
        *self.inner.workspaces.write().unwrap_or_else(PoisonError::into_inner) = found;
        Ok(())
    }
}
