//! What every request can reach.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};

use atelier_domain::SessionKey;
use atelier_engine::environments::Environments;
use atelier_engine::environments::editor::Editors;
use atelier_engine::fleet::Fleet;
use atelier_engine::live::Live;
use atelier_engine::run::EngineHandle;
use atelier_engine::store::{self, Store, Workspace};
use atelier_gateway::HostKey;
use axum::extract::FromRef;
use leptos::config::LeptosOptions;

use super::apps::{Codes, Doors, Pool, Ports, ShareUses};
use super::config::Config;
use super::flash::Flashes;
use super::passwords::Passwords;
use super::presence::Presence;
use super::rest::{TokenCache, Workloads};
use crate::studio::files::Files;
use crate::studio::forecast::Forecasts;
use crate::studio::preview::Previews;

/// The shared state of the server. Cheap to clone.
#[derive(Clone)]
pub struct AppState {
    inner: Arc<Inner>,
    leptos_options: LeptosOptions,
}

struct Inner {
    config: Config,
    store: Arc<Store>,
    engine: EngineHandle,
    fleet: Fleet,
    environments: Environments,
    editors: Editors,
    passwords: Passwords,
    presence: Arc<Presence>,
    tokens: Arc<TokenCache>,
    workloads: Workloads,
    flashes: Flashes,
    workspaces: RwLock<Vec<Workspace>>,
    has_people: AtomicBool,
    set_up_code: Mutex<Option<String>>,
    doors: Doors,
    share_uses: ShareUses,
    app_codes: Codes,
    app_pool: Pool,
    app_ports: Option<Ports>,
    host_key: OnceLock<HostKey>,
    streams: Mutex<HashMap<SessionKey, usize>>,
    files: Arc<Files>,
    forecasts: Forecasts,
    previews: Previews,
    metrics: metrics_exporter_prometheus::PrometheusHandle,
}

impl AppState {
    /// Gathers the parts. Reads the workspaces and whether anybody has an account.
    pub async fn new(
        config: Config,
        store: Arc<Store>,
        engine: EngineHandle,
        fleet: Fleet,
        passwords: Passwords,
        metrics: metrics_exporter_prometheus::PrometheusHandle,
    ) -> store::Result<Self> {
        let workspaces = store.workspaces().await?;
        let has_people = store.has_people().await?;
        let leptos_options = LeptosOptions::builder()
            .output_name(super::assets::pkg_name())
            .site_pkg_dir("pkg")
            .site_addr(config.listen)
            .build();
        let environments = Environments::new(Arc::clone(&store), config.environments.clone());
        let editors = Editors::new(Arc::clone(&store), config.environments.clone());
        let app_ports = config.apps_ports.map(|range| Ports::open(range, config.data.join("app-ports.json")));
        let inner = Inner {
            config,
            store,
            engine,
            fleet,
            environments,
            editors,
            passwords,
            presence: Arc::default(),
            tokens: Arc::default(),
            workloads: Workloads::default(),
            flashes: Flashes::default(),
            workspaces: RwLock::new(workspaces),
            has_people: AtomicBool::new(has_people),
            set_up_code: Mutex::default(),
            doors: Doors::default(),
            share_uses: ShareUses::default(),
            app_codes: Codes::default(),
            app_pool: Pool::default(),
            app_ports,
            host_key: OnceLock::new(),
            streams: Mutex::default(),
            files: Arc::default(),
            forecasts: Forecasts::default(),
            previews: Previews::default(),
            metrics,
        };
        Ok(Self { inner: Arc::new(inner), leptos_options })
    }

    /// The configuration.
    pub fn config(&self) -> &Config {
        &self.inner.config
    }

    /// The store.
    pub fn store(&self) -> &Arc<Store> {
        &self.inner.store
    }

    /// The engine.
    pub fn engine(&self) -> &EngineHandle {
        &self.inner.engine
    }

    /// Nodes, their agents, and what jobs print.
    pub fn fleet(&self) -> &Fleet {
        &self.inner.fleet
    }

    /// The Python environment of instances.
    pub fn environments(&self) -> &Environments {
        &self.inner.environments
    }

    /// VS Code for instances.
    pub fn editors(&self) -> &Editors {
        &self.inner.editors
    }

    /// The hub of live changes.
    pub fn live(&self) -> &Live {
        self.inner.store.live()
    }

    /// The password hasher.
    pub fn passwords(&self) -> &Passwords {
        &self.inner.passwords
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

    /// Who is let in at applications' addresses.
    pub fn doors(&self) -> &Doors {
        &self.inner.doors
    }

    /// When shares of applications were last used.
    pub fn share_uses(&self) -> &ShareUses {
        &self.inner.share_uses
    }

    /// Codes that lead from the portal into applications.
    pub fn app_codes(&self) -> &Codes {
        &self.inner.app_codes
    }

    /// Connections to applications that wait for their next request.
    pub fn app_pool(&self) -> &Pool {
        &self.inner.app_pool
    }

    /// The ports of applications, where they have ports in place of names.
    pub fn app_ports(&self) -> Option<&Ports> {
        self.inner.app_ports.as_ref()
    }

    /// The server's key for SSH; nothing where there is no SSH.
    pub fn host_key(&self) -> Option<&HostKey> {
        self.inner.host_key.get()
    }

    /// Notes the server's key for SSH. The first one stays.
    pub fn set_host_key(&self, key: HostKey) {
        let _ = self.inner.host_key.set(key);
    }

    /// What waits to be shown once.
    pub fn flashes(&self) -> &Flashes {
        &self.inner.flashes
    }

    /// The files of the workspace.
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

    /// The metrics as text.
    pub fn metrics_text(&self) -> String {
        self.inner.metrics.render()
    }

    /// Folds what was measured into the histograms; left alone, it would pile up until somebody asks.
    pub fn tend_metrics(&self) {
        self.inner.metrics.run_upkeep();
    }

    /// Leptos' own options.
    pub fn leptos_options(&self) -> &LeptosOptions {
        &self.leptos_options
    }

    /// The workspace with that short name.
    pub fn workspace_by_slug(&self, slug: &str) -> Option<Workspace> {
        let workspaces = self.inner.workspaces.read().unwrap_or_else(PoisonError::into_inner);
        workspaces.iter().find(|workspace| workspace.slug == slug).cloned()
    }

    /// The workspace with that id.
    pub fn workspace_by_id(&self, id: &atelier_domain::WorkspaceId) -> Option<Workspace> {
        let workspaces = self.inner.workspaces.read().unwrap_or_else(PoisonError::into_inner);
        workspaces.iter().find(|workspace| workspace.id == *id).cloned()
    }

    /// The name of the only workspace, for the sign-in page; none while there are none or several.
    pub fn only_workspace_name(&self) -> Option<String> {
        let workspaces = self.inner.workspaces.read().unwrap_or_else(PoisonError::into_inner);
        match workspaces.as_slice() {
            [only] => Some(only.name.clone()),
            _ => None,
        }
    }

    /// Whether anybody has an account. Once somebody has, that stays so; before, the store is asked, since another server
    /// on the same database may have been set up.
    pub async fn has_people(&self) -> store::Result<bool> {
        if self.inner.has_people.load(Ordering::Acquire) {
            return Ok(true);
        }
        if self.inner.store.has_people().await? {
            self.set_up_done().await?;
            return Ok(true);
        }
        Ok(false)
    }

    /// Notes that the first account exists and forgets the set-up code.
    pub async fn set_up_done(&self) -> store::Result<()> {
        let found = self.inner.store.workspaces().await?;
        *self.inner.workspaces.write().unwrap_or_else(PoisonError::into_inner) = found;
        *self.inner.set_up_code.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.inner.has_people.store(true, Ordering::Release);
        Ok(())
    }

    /// How many live streams each session holds.
    pub fn streams(&self) -> MutexGuard<'_, HashMap<SessionKey, usize>> {
        self.inner.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The set-up code, made at the first call.
    pub fn set_up_code(&self) -> String {
        let mut code = self.inner.set_up_code.lock().unwrap_or_else(PoisonError::into_inner);
        code.get_or_insert_with(|| super::passwords::readable_code(3)).clone()
    }
}

impl FromRef<AppState> for LeptosOptions {
    fn from_ref(state: &AppState) -> Self {
        state.leptos_options.clone()
    }
}
