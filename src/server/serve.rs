//! Starting, running and stopping the server.

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use atelier_domain::Timestamp;
use atelier_domain::time::Span;
use atelier_engine::clock;
use atelier_engine::drivers::Driver;
use atelier_engine::drivers::local::{Local, Machine, Settings as LocalSettings, undo_network};
use atelier_engine::fleet::{Fleet, Signer, rotate_workload_key, workload_key};
use atelier_engine::live::Cut;
use atelier_engine::marks::MarksFile;
use atelier_engine::restore;
use atelier_engine::run::{DataLock, Engine, MachineClock, Options, StartError, make_room};
use atelier_engine::store::{Missing, Store};
use axum_server::Handle;
use axum_server::tls_rustls::RustlsConfig;
use metrics_exporter_prometheus::PrometheusBuilder;
use secrecy::ExposeSecret as _;

use crate::server::apps::{AppPort, PortRange};
use crate::server::config::Config;
use crate::server::connections::{Gate, Limits, PATIENCE, Placed, Watched};
use crate::server::passwords::Passwords;
use crate::server::state::AppState;
use crate::server::{agents, first_owner, ssh, uploads};

/// How long running requests may take to end when the server stops.
const GRACE: Duration = Duration::from_secs(10);

/// What to do with a database that is older than the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restored {
    Refuse,
    /// The operator has said that it was restored on purpose.
    Accept,
}

/// Runs the server until it is told to stop. An error is one line for people.
pub async fn run(config: Config, restored: Restored, routes: fn(&AppState) -> axum::Router) -> Result<(), String> {
    let started = clock::instant();
    let files = allow_files(config.max_connections);
    // The port first: a second server must not touch the data of the first.
    let mut handed = Handed::from_env();
    let listeners = bind_both(&mut handed, config.listen)?;
    let for_apps = config.apps_ports.into_iter().flat_map(PortRange::ports);
    let for_apps = for_apps.map(|port| {
        let address = SocketAddr::new(config.listen.ip(), port);
        Ok((port, handed.take(address).unwrap_or_else(|| bind("apps_ports", address))?))
    });
    let for_apps = for_apps.collect::<Result<Vec<_>, String>>()?;
    let for_ssh = config.ssh_listen.map(|address| handed.take(address).unwrap_or_else(|| bind("ssh_listen", address)));
    let for_ssh = for_ssh.transpose()?;
    handed.refuse_rest()?;
    let tls = match &config.tls {
        Some((cert, key)) => Some(load_tls(cert, key).await?),
        None => None,
    };
    let lock = lock_data(&config)?;
    // It tries bubblewrap out, which is a process or two: meanwhile the database is opened.
    let machine = tokio::task::spawn_blocking(Machine::look);
    let store = Arc::new(open_own_store(&config).await?);
    let marks = fitting(&store, &config, restored).await?;
    store.count_with(Arc::clone(&marks));
    tokio::spawn(Arc::clone(&marks).keep());
    let metrics = PrometheusBuilder::new()
        .set_buckets(&[0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0])
        .map_err(|error| error.to_string())?
        .install_recorder()
        .map_err(|error| error.to_string())?;
    let passwords = Passwords::new().map_err(|error| error.to_string())?;
    let machine = machine.await.map_err(|error| error.to_string())?;
    let has_own_users = config.local.as_ref().is_some_and(|local| machine.has_own_users(local.isolation));
    let has_view = config
        .local
        .as_ref()
        .is_some_and(|local| machine.has_own_users(local.isolation) && !machine.has_users_alone(local.isolation));
    if has_own_users {
        for warning in atelier_engine::uids::settle(&store, config.first_uid, Path::new("/etc")).await? {
            tracing::warn!("{warning}");
        }
    }
    let fleet = Fleet::new(&config.data, Arc::clone(&store), has_own_users);
    let installation = store.installation_id().await.map_err(|error| error.to_string())?;
    if config.local.is_some() && !has_own_users {
        fleet.mix_people();
    }
    let local = match &config.local {
        Some(settings) => {
            let environments = Some((config.environments.folder.clone(), config.environments.python.clone()));
            let mut settings = LocalSettings { environments, ..settings.clone() };
            if let Some(network) = &mut settings.network {
                network.denied = database_addresses(&config).await;
            }
            Some(local_driver(&store, &fleet, machine, &settings).await?)
        }
        None => None,
    };
    let shares_network = local.as_ref().is_some_and(|local| !local.capabilities().is_isolated);
    let options = Options { lock, ..Options::default() };
    let (engine, engine_task) = Engine::start(Arc::clone(&store), fleet.clone(), MachineClock::new(), options)
        .await
        .map_err(|error| error.to_string())?;
    let state = AppState::new(config, store, engine.clone(), fleet.clone(), passwords, metrics)
        .await
        .map_err(|error| error.to_string())?;
    first_owner::prepare(&state).await?;
    ssh::prepare(&state)?;
    uploads::clear(fleet.folders());
    agents::listen(&state, fleet.folders())?;
    // Before the first effect: instances that are set up now stand on it.
    fleet.stand_on(state.environments().clone());
    let key = workload_key(&state.config().data).map_err(|error| format!("the key of tokens: {error}"))?;
    fleet.identify_with(Signer::new(&key, state.config().address_by_number()));
    state.store().know_uploads(clock::now()).await.map_err(|error| error.to_string())?;
    state.environments().start();
    fleet.edit_with(state.editors().clone());
    fleet.attach(engine, local.into_iter().map(|driver| Arc::new(driver) as Arc<dyn Driver>).collect());
    let ssh_task = match for_ssh {
        Some(listener) => ssh::listen(&state, listener)?,
        None => None,
    };
    let router = routes(&state);
    agents::serve_api(&router, fleet.folders())?;
    let handle = Handle::new();
    tokio::spawn(stop_on_signal(state.clone(), handle.clone()));
    let chores = tokio::spawn(chores(state.clone()));
    tokio::spawn(crate::server::chart_keeper::keep(state.clone()));
    let seen_at = if has_view { std::path::PathBuf::from("/shared") } else { fleet.folders().shared() };
    state.files().see_at(seen_at);
    // Before any sandbox is there: its names are ours from the beginning.
    if let Err(error) = state.files().area(&fleet) {
        tracing::error!(%error, "the files of the workspace cannot be opened");
    }
    tokio::spawn(atelier_studio::files::keep::run(state.studio().clone()));
    tokio::spawn(atelier_studio::files::sweep::run(state.studio().clone()));
    tokio::spawn(crate::server::collector::run(state.clone()));
    tokio::spawn(crate::server::apps::keep(state.clone()));
    let cautions = [
        state.config().apps_trouble(),
        state.config().apps_caution(),
        atelier_studio::engines::cookie_caution(&state.config().address(), !shares_network),
    ];
    for trouble in cautions.into_iter().flatten() {
        tracing::warn!("{trouble}");
    }
    let took_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    tracing::info!(took_ms, open_files = files, "Atelier is ready at {}", state.config().address());
    if !state.config().is_secure() && !state.config().listen.ip().is_loopback() {
        tracing::warn!(
            "passwords travel unencrypted: this address is reachable from elsewhere without TLS; set --tls-cert and \
             --tls-key, or --public-url https://… behind a proxy"
        );
    }
    let gate = Gate::new(Limits {
        most: usize::try_from(state.config().max_connections).unwrap_or(usize::MAX),
        per_address: usize::try_from(state.config().max_connections_per_address).unwrap_or(usize::MAX),
        trusted: state.config().trusted_proxies.clone(),
    });
    for (port, listener) in for_apps {
        let router = router.clone().layer(axum::Extension(AppPort(port)));
        tokio::spawn(serve(listener, tls.clone(), handle.clone(), router, gate.clone()));
    }
    let mut all = tokio::task::JoinSet::new();
    for listener in listeners {
        all.spawn(serve(listener, tls.clone(), handle.clone(), router.clone(), gate.clone()));
    }
    // Both families end together, by the handle.
    let served = all.join_all().await.into_iter().collect::<std::io::Result<Vec<()>>>();
    chores.abort();
    // Whoever is connected hears that the server stops; those who take nothing are not waited for.
    if let Some(ssh_task) = ssh_task
        && state.live().is_stopping()
    {
        let _ = tokio::time::timeout(GRACE, ssh_task).await;
    }
    state.editors().stop();
    state.environments().stop().await;
    state.engine().stop();
    if tokio::time::timeout(GRACE, engine_task).await.is_err() {
        tracing::warn!("the engine did not end its batch in time; the next start finds out what became of it");
    }
    state.presence().flush(state.store(), clock::now()).await;
    state.tokens().flush(state.store(), clock::now()).await;
    if let Err(error) = marks.flush() {
        tracing::warn!(%error, "how far ids were counted could not be noted");
    }
    // A database that does not answer must not keep us from ending.
    if tokio::time::timeout(Duration::from_secs(5), state.store().close()).await.is_err() {
        tracing::warn!("the database did not answer; its connections are dropped");
    }
    let running = fleet.connected();
    // Nodes that run on need what was changed about the machine for them.
    undo_network(&installation, fleet.folders());
    if running > 0 {
        tracing::info!(
            "{running} nodes go on running, with their jobs; start the server again and it finds them, or end them \
             with: atelier stop-all --data {}",
            fleet.folders().data().display()
        );
    }
    tracing::info!("Atelier has stopped");
    served.map(drop).map_err(|error| format!("the server stopped: {error}"))
}

/// Answers at one port until the handle says that it is enough.
async fn serve(
    listener: TcpListener,
    tls: Option<RustlsConfig>,
    handle: Handle<SocketAddr>,
    router: axum::Router,
    gate: Gate,
) -> std::io::Result<()> {
    let service = Placed::new(router.into_make_service_with_connect_info::<SocketAddr>(), gate);
    match tls {
        Some(tls) => {
            let server = axum_server::from_tcp_rustls(listener, tls)?;
            let mut server = server
                .map(|acceptor| acceptor.handshake_timeout(PATIENCE.first_request).acceptor(Watched))
                .handle(handle);
            limit_headers(server.http_builder());
            server.serve(service).await
        }
        None => {
            let server = axum_server::from_tcp(listener)?;
            let mut server = server.acceptor(Watched).handle(handle);
            limit_headers(server.http_builder());
            server.serve(service).await
        }
    }
}

/// Takes the data directory for this server alone, before anything in it is touched, and makes room where
/// there is none.
fn lock_data(config: &Config) -> Result<Option<DataLock>, String> {
    if config.database_url.is_some() {
        return Ok(None);
    }
    make_folder(&config.data)?;
    make_room(&config.data);
    match DataLock::take(&config.data) {
        Ok(lock) => Ok(Some(lock)),
        // Where nothing can be written the database says so in better words.
        Err(StartError::Lock(..)) => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

/// Opens the database of this data directory. One that has had a database does not get an empty one.
async fn open_own_store(config: &Config) -> Result<Store, String> {
    let kept = MarksFile::read(&config.data)?;
    let missing = if kept.is_some() { Missing::Refuse } else { Missing::Make };
    open_store(config, missing).await.map_err(|why| match kept {
        Some(kept) if why.contains("there is no Atelier database there yet") => format!(
            "the data in {} belongs to the installation {}, but its database is missing. Restore it from a backup, or \
             choose another directory with --data",
            config.data.display(),
            kept.installation
        ),
        _ => why,
    })
}

/// Makes sure that database and data directory belong together, and takes an older database back if that was
/// asked for.
async fn fitting(store: &Store, config: &Config, restored: Restored) -> Result<Arc<MarksFile>, String> {
    if restored == Restored::Accept {
        // First, so that a server killed in between has no token left that was made before.
        rotate_workload_key(&config.data).map_err(|error| format!("the key of tokens: {error}"))?;
        let accepted = restore::accept(store, &config.data, clock::now()).await.map_err(|error| error.to_string())?;
        match accepted {
            Some(accepted) => {
                for node in &accepted.ended {
                    tracing::warn!("{node} was ended: the restored database doesn't know it");
                }
                for held in &accepted.held {
                    tracing::warn!(bytes = held.bytes, "in quarantine: {} ({})", held.what, held.name);
                }
                for instance in &accepted.put_back {
                    tracing::warn!("the home of {instance} is back from the trash");
                }
                tracing::warn!("the restored database was accepted; everybody has to sign in again");
            }
            None => tracing::info!("the database isn't older than the data: there was nothing to accept"),
        }
    }
    restore::check(store, &config.data).await.map(Arc::new).map_err(|error| error.to_string())
}

/// The driver that makes nodes on this machine.
async fn local_driver(
    store: &Store,
    fleet: &Fleet,
    machine: Machine,
    settings: &LocalSettings,
) -> Result<Local, String> {
    let installation = store.installation_id().await.map_err(|error| error.to_string())?;
    fleet.folders().make().map_err(|why| format!("data: {why}"))?;
    let local = Local::on(machine, &installation, fleet.folders().clone(), settings.clone());
    let local = local.map_err(|problem| problem.message)?;
    local.prepare();
    let capabilities = local.capabilities();
    if !capabilities.is_isolated {
        tracing::warn!("nodes on this machine: {}", capabilities.isolation);
    }
    Ok(local)
}

pub async fn open_store(config: &Config, missing: Missing) -> Result<Store, String> {
    if let Some(url) = &config.database_url {
        return Store::open(url.expose_secret(), missing).await.map_err(|error| format!("database_url: {error}"));
    }
    let folder = &config.data;
    if missing == Missing::Make {
        make_folder(folder)?;
    }
    let file = folder.join("atelier.db");
    Store::open_sqlite(&file, missing).await.map_err(|error| format!("data: {}: {error}", file.display()))
}

/// Makes the data directory for us alone: it holds password hashes. One that exists keeps its rights, which
/// are somebody's decision.
fn make_folder(folder: &std::path::Path) -> Result<(), String> {
    if folder.is_dir() {
        return Ok(());
    }
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).map_err(|error| format!("data: the directory {} cannot be made: {error}", folder.display()))
}

/// Listeners that whoever started the server holds open for it, so that nobody takes their ports while it
/// restarts (`LISTEN_FDS`, as systemd does it).
struct Handed(Vec<Result<TcpListener, String>>);

impl Handed {
    fn from_env() -> Self {
        let mut given = listenfd::ListenFd::from_env();
        let count = given.len();
        let take = |index| {
            let listener = given.take_tcp_listener(index).transpose()?;
            let cannot =
                |error: std::io::Error| format!("listen: the listener that was handed over cannot be used: {error}");
            Some(listener.and_then(|listener| listener.set_nonblocking(true).map(|()| listener)).map_err(cannot))
        };
        Self((0..count).filter_map(take).collect())
    }

    /// The one for an address, if it was handed over. One that listens everywhere is the one for its port.
    fn take(&mut self, address: SocketAddr) -> Option<Result<TcpListener, String>> {
        let fits = |one: &Result<TcpListener, String>| match one {
            Ok(listener) => listener.local_addr().is_ok_and(|own| {
                own.port() == address.port() && (own.ip() == address.ip() || own.ip().is_unspecified())
            }),
            Err(_) => true,
        };
        let index = self.0.iter().position(fits)?;
        Some(self.0.swap_remove(index))
    }

    /// One that no setting names would listen and answer nobody.
    fn refuse_rest(self) -> Result<(), String> {
        let Some(Ok(one)) = self.0.into_iter().next() else { return Ok(()) };
        let address = one.local_addr().map_or_else(|_| "a listener".to_owned(), |address| address.to_string());
        Err(format!("listen: {address} was handed over, but no setting names it; set listen to that address"))
    }
}

/// Listens on loopback of both families where one is asked for: whoever has the other's port would be taken
/// for us by programs that say “localhost”.
fn bind_both(handed: &mut Handed, address: SocketAddr) -> Result<Vec<TcpListener>, String> {
    let first = handed.take(address).unwrap_or_else(|| bind("listen", address))?;
    let other: std::net::IpAddr = match address.ip() {
        ip if ip == std::net::Ipv4Addr::LOCALHOST => std::net::Ipv6Addr::LOCALHOST.into(),
        ip if ip == std::net::Ipv6Addr::LOCALHOST => std::net::Ipv4Addr::LOCALHOST.into(),
        _ => return Ok(vec![first]),
    };
    let port = first.local_addr().map_or(address.port(), |own| own.port());
    if let Some(second) = handed.take(SocketAddr::new(other, port)) {
        return Ok(vec![first, second?]);
    }
    match TcpListener::bind((other, port)) {
        Ok(second) => {
            second.set_nonblocking(true).map_err(|error| format!("listen: {other} cannot be used: {error}"))?;
            Ok(vec![first, second])
        }
        Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => {
            Err(format!("listen: port {port} of {other} is taken by another program, which could pose as this server"))
        }
        // A machine without that family.
        Err(_) => Ok(vec![first]),
    }
}

/// The addresses of a database elsewhere, which is nobody's but ours.
async fn database_addresses(config: &Config) -> Vec<(std::net::Ipv4Addr, u16)> {
    let Some(url) = config.database_url.as_ref().and_then(|url| url::Url::parse(url.expose_secret()).ok()) else {
        return Vec::new();
    };
    let Some(host) = url.host_str() else { return Vec::new() };
    let found = tokio::net::lookup_host((host, url.port().unwrap_or(5_432))).await;
    let v4 = |address: SocketAddr| match address.ip().to_canonical() {
        std::net::IpAddr::V4(ip) => Some((ip, address.port())),
        std::net::IpAddr::V6(_) => None,
    };
    found.into_iter().flatten().filter_map(v4).collect()
}

fn bind(setting: &str, address: SocketAddr) -> Result<TcpListener, String> {
    let listener = TcpListener::bind(address).map_err(|error| match error.kind() {
        std::io::ErrorKind::AddrInUse => {
            format!(
                "{setting}: port {} of {} is taken by another program; stop it or choose another with --{}",
                address.port(),
                address.ip(),
                setting.replace('_', "-")
            )
        }
        _ => format!("{setting}: {address} cannot be used: {error}"),
    })?;
    listener.set_nonblocking(true).map_err(|error| format!("{setting}: {address} cannot be used: {error}"))?;
    Ok(listener)
}

async fn load_tls(cert: &std::path::Path, key: &std::path::Path) -> Result<RustlsConfig, String> {
    // A second start in one process keeps the first.
    let _ = rustls::crypto::ring::default_provider().install_default();
    for (name, file) in [("tls_cert", cert), ("tls_key", key)] {
        std::fs::File::open(file)
            .map_err(|error| format!("{name}: the file {} cannot be read: {error}", file.display()))?;
    }
    RustlsConfig::from_pem_file(cert, key).await.map_err(|error| {
        format!("tls_cert: {} with tls_key: {} cannot be used: {error}", cert.display(), key.display())
    })
}

/// Slow or huge headers end the connection instead of holding it.
fn limit_headers(builder: &mut hyper_util::server::conn::auto::Builder<hyper_util::rt::TokioExecutor>) {
    builder
        .http1()
        .timer(hyper_util::rt::TokioTimer::new())
        .header_read_timeout(Duration::from_secs(15))
        .max_buf_size(64 * 1024);
    // Whoever does not answer a ping is gone; connections without requests end by `connections::PATIENCE`.
    builder
        .http2()
        .timer(hyper_util::rt::TokioTimer::new())
        .max_header_list_size(64 * 1024)
        .max_concurrent_streams(128)
        .keep_alive_interval(Duration::from_secs(30))
        .keep_alive_timeout(Duration::from_secs(20));
}

/// Raises the limit of open files to what the system allows, and says what there is. Each connection is one,
/// and one that leads to an application is two.
fn allow_files(connections: u32) -> u64 {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        let raised = rustix::process::Rlimit { current: limit.maximum, ..limit };
        match setrlimit(Resource::Nofile, raised) {
            Ok(()) => limit = raised,
            Err(error) => tracing::warn!(%error, "the limit of open files could not be raised"),
        }
    }
    let files = limit.current.unwrap_or(u64::MAX);
    let needed = 2 * u64::from(connections) + 1024;
    if files < needed {
        tracing::warn!(
            "max_connections is {connections}, which needs up to {needed} open files, and the system allows {files}; \
             raise the hard limit (LimitNOFILE= in systemd, --ulimit nofile= in Docker) or lower max_connections"
        );
    }
    files
}

async fn stop_on_signal(state: AppState, handle: Handle<SocketAddr>) {
    let word = wait_for_signal().await;
    tracing::info!("{word}: stopping; running requests have {} s to end", GRACE.as_secs());
    // Streams would never end by themselves.
    state.live().cut(Cut::All);
    handle.graceful_shutdown(Some(GRACE));
    wait_for_signal().await;
    tracing::info!("asked again: stopping at once");
    handle.shutdown();
}

#[cfg(unix)]
async fn wait_for_signal() -> &'static str {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut terminate) = signal(SignalKind::terminate()) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => "Ctrl-C",
        _ = terminate.recv() => "SIGTERM",
    }
}

#[cfg(not(unix))]
async fn wait_for_signal() -> &'static str {
    match tokio::signal::ctrl_c().await {
        Ok(()) => "Ctrl-C",
        Err(_) => std::future::pending().await,
    }
}

fn tried<T>(what: &str, removed: atelier_engine::store::Result<T>) {
    if let Err(error) = removed {
        tracing::warn!(%error, "{what} were not removed; the next minute tries again");
    }
}

/// Once a minute: last-seen times, sessions that ended, failures that are forgotten.
async fn chores(state: AppState) {
    let mut minute = tokio::time::interval(Duration::from_secs(60));
    minute.tick().await;
    loop {
        minute.tick().await;
        let now = clock::now();
        state.tend_metrics();
        state.presence().flush(state.store(), now).await;
        state.tokens().flush(state.store(), now).await;
        let idle_before = atelier_domain::Timestamp(now.0 - state.config().sessions.idle.as_millis());
        tried("ended sessions", state.store().delete_ended_web_sessions(now, idle_before).await);
        tried("ended sessions at applications", state.store().drop_ended_app_sessions().await);
        state.app_pool().tidy();
        state.share_uses().flush(state.store()).await;
        crate::server::apps::tend_shares(&state, now).await;
        let before = atelier_domain::Timestamp(now.0 - 2 * atelier_domain::throttle::ADDRESS.window.as_millis());
        let long_ago = Timestamp(clock::now().0.saturating_sub(Span::hours(90 * 24).as_millis()));
        tried("old addresses of sign-ins", state.store().drop_old_addresses(long_ago).await);
        tried("old sign-in failures", state.store().drop_old_failures(before).await);
        // Tokens are shown as expired for a month, so that people see why something stopped working.
        let before = atelier_domain::Timestamp(now.0 - atelier_domain::time::Span::hours(24 * 30).as_millis());
        tried("old tokens", state.store().drop_old_tokens(before).await);
    }
}
