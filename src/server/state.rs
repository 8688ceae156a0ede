//! What every request can reach.

use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use atelier_domain::SessionKey;
use atelier_engine::fleet::Fleet;
use atelier_engine::run::EngineHandle;
use atelier_engine::store::{self, Store};
use atelier_gateway::HostKey;
use atelier_studio::seats::Seats;
use atelier_studio::studio::Studio;
use axum::extract::FromRef;
use leptos::config::LeptosOptions;

use crate::server::actor::Actors;
use crate::server::apps::{AppVisits, Codes, Pool, Ports};
use crate::server::config::Config;
use crate::server::flash::Flashes;
use crate::server::passwords::Passwords;

/// The shared state of the server: the studio, and what only its web side needs. Cheap to clone.
#[derive(Clone)]
pub struct AppState {
    inner: Arc<Inner>,
    leptos_options: LeptosOptions,
}

struct Inner {
    config: Config,
    studio: Studio,
    passwords: Passwords,
    actors: Arc<Actors>,
    flashes: Flashes,
    has_people: AtomicBool,
    set_up_code: Mutex<Option<String>>,
    visits: AppVisits,
    app_codes: Codes,
    app_pool: Pool,
    app_ports: Option<Ports>,
    host_key: OnceLock<HostKey>,
    streams: Seats<SessionKey>,
    metrics: metrics_exporter_prometheus::PrometheusHandle,
}

/// A server is a studio with doors: what commands and reads reach, its doors reach too.
impl Deref for AppState {
    type Target = Studio;

    fn deref(&self) -> &Studio {
        &self.inner.studio
    }
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
        let has_people = store.has_people().await?;
        let studio = Studio::new(config.studio_settings(), config.environments.clone(), store, engine, fleet).await?;
        let leptos_options = LeptosOptions::builder()
            .output_name(crate::server::assets::pkg_name())
            .site_pkg_dir("pkg")
            .site_addr(config.listen)
            .build();
        let app_ports = config.apps_ports.map(|range| Ports::open(range, config.data.join("app-ports.json")));
        let inner = Inner {
            config,
            studio,
            passwords,
            actors: Arc::default(),
            flashes: Flashes::default(),
            has_people: AtomicBool::new(has_people),
            set_up_code: Mutex::default(),
            visits: AppVisits::default(),
            app_codes: Codes::default(),
            app_pool: Pool::default(),
            app_ports,
            host_key: OnceLock::new(),
            streams: Seats::default(),
            metrics,
        };
        Ok(Self { inner: Arc::new(inner), leptos_options })
    }

    pub fn config(&self) -> &Config {
        &self.inner.config
    }

    pub fn studio(&self) -> &Studio {
        &self.inner.studio
    }

    pub fn passwords(&self) -> &Passwords {
        &self.inner.passwords
    }

    /// Who is signed in.
    pub fn actors(&self) -> &Arc<Actors> {
        &self.inner.actors
    }

    /// Who is let in at applications' addresses.
    pub fn app_visits(&self) -> &AppVisits {
        &self.inner.visits
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

    pub fn metrics_text(&self) -> String {
        self.inner.metrics.render()
    }

    /// Folds what was measured into the histograms; left alone, it would pile up until somebody asks.
    pub fn tend_metrics(&self) {
        self.inner.metrics.run_upkeep();
    }

    pub fn leptos_options(&self) -> &LeptosOptions {
        &self.leptos_options
    }

    /// Whether anybody has an account. Once somebody has, that stays so; before, the store is asked, since
    /// another server on the same database may have been set up.
    pub async fn has_people(&self) -> store::Result<bool> {
        if self.inner.has_people.load(Ordering::Acquire) {
            return Ok(true);
        }
        if self.inner.studio.store().has_people().await? {
            self.set_up_done().await?;
            return Ok(true);
        }
        Ok(false)
    }

    /// Notes that the first account exists and forgets the set-up code.
    pub async fn set_up_done(&self) -> store::Result<()> {
        self.inner.studio.read_workspaces().await?;
        *self.inner.set_up_code.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.inner.has_people.store(true, Ordering::Release);
        Ok(())
    }

    /// How many live streams each session holds.
    pub fn streams(&self) -> &Seats<SessionKey> {
        &self.inner.streams
    }

    /// The set-up code, made at the first call.
    pub fn set_up_code(&self) -> String {
        let mut code = self.inner.set_up_code.lock().unwrap_or_else(PoisonError::into_inner);
        code.get_or_insert_with(|| crate::server::passwords::readable_code(3)).clone()
    }
}

impl FromRef<AppState> for LeptosOptions {
    fn from_ref(state: &AppState) -> Self {
        state.leptos_options.clone()
    }
}
