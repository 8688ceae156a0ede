//! The base environment of instances, built for real: with Python, pip, and an index of the test's own.

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use atelier_domain::WorkspaceId;
use atelier_engine::clock;
use atelier_engine::environments::{
    BaseStatus, Built, Cancel, Environments, Failure, News, Phase, Requirements, Settings, build_now,
};
use atelier_engine::store::{BaseEnvironment, HistoryFilter, Kind, Store};
use atelier_testing::index::Index;
use atelier_testing::wait_until;

use crate::common::{Place, author};

/// Long enough on any machine; nothing here takes so long unless it is broken.
const PATIENCE: Duration = Duration::from_secs(180);

/// A server's worth of environments.
struct Site {
    index: Index,
    settings: Settings,
    store: Arc<Store>,
    workspace: WorkspaceId,
    place: Place,
}

impl Site {
    async fn new(packages: &[(&str, &str)]) -> Self {
        let place = Place::new(Kind::Sqlite);
        let store = place.open().await;
        let (workspace, _) = Place::workspace(&store).await;
        let index = Index::open(packages);
        let settings = Settings {
            pip: index.variables(),
            retries: [Duration::from_secs(3_600); 3],
            ..Settings::of(place.folder.path())
        };
        Self { index, settings, store, workspace, place }
    }

    fn environments(&self) -> Environments {
        Environments::new(Arc::clone(&self.store), self.settings.clone())
    }

    async fn want(&self, environments: &Environments, list: &str) -> bool {
        let list = Requirements::parse(list).expect("a list");
        let tx = self.store.begin(clock::now()).await.expect("begins");
        environments.base().set_requirements(tx, &self.workspace, &author(), &list).await.expect("is kept")
    }

    async fn sentences(&self) -> Vec<String> {
        let filter = HistoryFilter { limit: 50, ..HistoryFilter::default() };
        let found = self.store.history(&self.workspace, &filter).await.expect("reads");
        found.into_iter().map(|entry| entry.sentence).collect()
    }
}

/// Waits until the status is as it should be.
async fn status(it: &Environments, what: &str, fits: impl FnMut(&BaseStatus) -> bool) -> BaseStatus {
    let mut watch = it.base().watch();
    match tokio::time::timeout(PATIENCE, watch.wait_for(fits)).await {
        Ok(found) => found.expect("somebody looks after it").clone(),
        Err(_) => panic!("waited in vain for {what}: {:?}", it.base().status()),
    }
}

async fn ready(it: &Environments) -> Arc<Built> {
    let settled =
        |status: &BaseStatus| matches!(status, BaseStatus::Ready(_) | BaseStatus::Failed { .. } | BaseStatus::Off);
    match status(it, "a result", settled).await {
        BaseStatus::Ready(built) => built,
        other => panic!("{other:?}"),
    }
}

fn imports(built: &Built, module: &str) -> bool {
    let mut python = Command::new(built.path.join("bin/python"));
    python.args(["-I", "-c", &format!("import {module}")]).stderr(Stdio::null());
    python.status().expect("Python starts").success()
}

fn mode(path: &Path) -> u32 {
    std::fs::symlink_metadata(path).expect("is there").permissions().mode() & 0o7777
}

/// Every file and folder below.
fn everything(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![folder.to_owned()];
    for entry in std::fs::read_dir(folder).expect("reads") {
        let entry = entry.expect("reads");
        match entry.file_type().expect("is known") {
            kind if kind.is_dir() => found.extend(everything(&entry.path())),
            kind if kind.is_file() => found.push(entry.path()),
            _ => {}
        }
    }
    found
}

#[tokio::test]
async fn it_is_built_once_for_all_to_read_and_a_new_list_replaces_it_when_it_is_done() {
    let site = Site::new(&[("tiny", "x = 1"), ("other", "import tiny")]).await;
    let first = site.environments();
    assert!(site.want(&first, "tiny").await);
    assert!(!site.want(&first, "tiny\n").await, "that is the list already");
    assert_eq!((first.base().status(), first.base().current()), (BaseStatus::Waiting, None));
    first.start();
    let built = ready(&first).await;
    assert_eq!(first.base().current().as_ref(), Some(&built.path));
    let packages: Vec<&str> = built.packages.iter().map(|(name, _)| name.as_str()).collect();
    assert!(packages.contains(&"tiny") && packages.contains(&"pip"), "{packages:?}");
    assert!(imports(&built, "tiny") && !imports(&built, "other"));
    for path in everything(&built.path) {
        let mode = mode(&path);
        assert_eq!(mode & 0o222, 0, "{} can be written: {mode:o}", path.display());
        assert_eq!(mode & 0o444, 0o444, "{} cannot be read by all: {mode:o}", path.display());
        assert!(!path.is_dir() || mode & 0o111 == 0o111, "{}", path.display());
    }
    let compiled = everything(&built.path.join("lib")).into_iter().any(|path| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("later.cpython"))
            && path.components().any(|part| part.as_os_str() == "tiny")
    });
    assert!(compiled, "nobody can compile it later");
    first.stop().await;

    // Another start finds it and builds nothing.
    let downloads = site.index.gate.seen();
    let second = site.environments();
    second.start();
    assert_eq!(ready(&second).await, built);
    assert_eq!(site.index.gate.seen(), downloads);

    // The new one is built beside it.
    site.index.gate.close();
    assert!(site.want(&second, "tiny\nother").await);
    let at_the_gate = |status: &BaseStatus| match status {
        BaseStatus::Building { phase: Phase::Resolving, packages, .. } => *packages > 0,
        _ => false,
    };
    status(&second, "a build at the gate", at_the_gate).await;
    assert_eq!(second.base().current().as_ref(), Some(&built.path), "the old one stays in use meanwhile");
    assert_eq!(second.base().collect(&BTreeSet::new()).await, Vec::<PathBuf>::new(), "nothing goes while one is built");
    site.index.gate.open();
    status(&second, "the new one", |status| matches!(status, BaseStatus::Ready(now) if now.hash != built.hash)).await;
    let newer = ready(&second).await;
    assert!(imports(&newer, "other"));
    assert_eq!(site.store.base_environment().await.expect("reads").in_use, newer.hash);

    // The old one goes once nobody has it.
    assert_eq!(second.base().collect(&BTreeSet::from([built.path.clone()])).await, Vec::<PathBuf>::new());
    assert_eq!(second.base().collect(&BTreeSet::new()).await, std::slice::from_ref(&built.path));
    assert!(!built.path.exists() && newer.path.exists());
    second.stop().await;
    let said = site.sentences().await;
    assert!(said.iter().any(|line| line.contains("base environment of instances: added other")), "{said:?}");
}

#[tokio::test]
async fn a_failure_says_why_and_leaves_the_old_one_in_use() {
    let site = Site::new(&[("tiny", "")]).await;
    let it = site.environments();
    site.want(&it, "tiny").await;
    it.start();
    let built = ready(&it).await;

    site.want(&it, "tiny\nno-such-thing>=3").await;
    let BaseStatus::Failed { failure: Failure { why, help, lines, .. }, next_try } =
        status(&it, "a failure", |status| matches!(status, BaseStatus::Failed { .. })).await
    else {
        unreachable!("a failure was waited for")
    };
    assert!(why.starts_with("The index has nothing that satisfies “no-such-thing>=3”"), "{why}");
    assert!(help.starts_with("Correct the name"), "{help}");
    assert!(lines.iter().any(|line| line.contains("No matching distribution")), "{lines:?}");
    assert!(next_try > clock::now(), "it is tried again");
    let log = std::fs::read_to_string(it.base().log().expect("is logged")).expect("reads");
    assert!(log.contains("No matching distribution"), "{log}");
    assert_eq!(it.base().current().as_ref(), Some(&built.path));
    let folders = std::fs::read_dir(&site.settings.folder).expect("reads").flatten();
    let left = folders.filter(|entry| entry.path().join("bin").exists()).count();
    assert_eq!(left, 1, "what is left of a failed build goes");

    // Back to a list that is there: no build.
    let downloads = site.index.gate.seen();
    site.want(&it, "tiny").await;
    status(&it, "the old one", |status| matches!(status, BaseStatus::Ready(_))).await;
    assert_eq!(site.index.gate.seen(), downloads);

    it.stop().await;
}

#[tokio::test]
async fn the_same_list_anew_is_another_one() {
    let site = Site::new(&[("tiny", "")]).await;
    let it = site.environments();
    site.want(&it, "tiny").await;
    it.start();
    let built = ready(&it).await;
    site.index.gate.close();
    let rebuild = async || {
        let tx = site.store.begin(clock::now()).await.expect("begins");
        it.base().rebuild(tx, &site.workspace, &author()).await
    };
    rebuild().await.expect("is begun");
    status(&it, "a new one", |status| matches!(status, BaseStatus::Building { packages: 1, .. })).await;
    assert!(rebuild().await.is_err_and(|error| error.to_string().contains("being built already")));
    assert_eq!(it.base().current().as_ref(), Some(&built.path));
    it.stop().await;
    let said = site.sentences().await;
    let times = said.iter().filter(|line| *line == "had the base environment of instances built anew").count();
    assert_eq!(times, 1, "{said:?}");
}

#[tokio::test]
async fn what_failed_is_tried_again_by_itself() {
    let mut site = Site::new(&[("tiny", "")]).await;
    let python = site.place.folder.path().join("python3");
    site.settings = Settings {
        python: python.clone(),
        has_own_users: false,
        retries: [Duration::from_millis(20); 3],
        ..site.settings
    };
    let it = site.environments();
    site.want(&it, "tiny").await;
    it.start();
    let BaseStatus::Failed { failure, .. } =
        status(&it, "a failure", |status| matches!(status, BaseStatus::Failed { .. })).await
    else {
        unreachable!("a failure was waited for")
    };
    assert_eq!(failure.why, format!("There is no Python at {}.", python.display()));
    assert!(failure.help.contains("apt-get install python3 python3-venv"), "{failure:?}");
    std::os::unix::fs::symlink("/usr/bin/python3", &python).expect("linked");
    status(&it, "the next try", |status| matches!(status, BaseStatus::Ready(_))).await;
    it.stop().await;
}

/// Builds a list at once and gives why that did not work.
async fn failure_of(settings: Settings, list: &str) -> Failure {
    let wanted = BaseEnvironment { requirements: list.into(), ..BaseEnvironment::default() };
    let building = move || build_now(&settings, &wanted, &Cancel::default(), &mut |_| {});
    tokio::task::spawn_blocking(building).await.expect("ends").expect_err("cannot work")
}

#[tokio::test]
async fn what_was_built_and_does_not_work_is_not_used() {
    let site = Site::new(&[("broken", "import nothing_like_that")]).await;
    let failure = failure_of(site.settings.clone(), "broken").await;
    assert!(failure.why.contains("broken: import broken: ModuleNotFoundError"), "{failure:?}");
}

#[tokio::test]
async fn an_index_that_cannot_be_reached_is_said_to_be_so() {
    let site = Site::new(&[]).await;
    let closed = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
    let mut settings = site.settings.clone();
    settings.pip.push(("PIP_INDEX_URL".into(), format!("http://{closed}/simple")));
    settings.pip.push(("PIP_RETRIES".into(), "1".into()));
    let failure = failure_of(settings, "tiny").await;
    assert_eq!(failure.why, "pip could not reach the package index.", "{failure:?}");
}

/// A package that tries what it can while it is imported, and says what came of it.
const HOSTILE: &str = r#"
import ctypes, os, signal, socket, sys, time
sys.stdout.reconfigure(line_buffering=True)
print("user", os.getuid())
print("filter", [line.split()[1] for line in open("/proc/self/status") if line.startswith("Seccomp:")])
print("namespace", ctypes.CDLL(None).unshare(0x10000000))
count = 0
try:
    for _ in range(1000):
        if os.fork() == 0:
            os.setsid()
            time.sleep(600)
            os._exit(0)
        count += 1
except OSError:
    pass
print("forked", "enough" if count > 400 else count, "all" if count == 1000 else "bounded")
raise SystemExit("over")
"#;

fn said<'a>(failure: &'a Failure, what: &str) -> Option<&'a str> {
    failure.lines.iter().find_map(|line| line.strip_prefix(what)).map(str::trim)
}

/// Whether something runs that was started from there.
fn runs(folder: &Path) -> bool {
    let folder = folder.display().to_string();
    let entries = std::fs::read_dir("/proc").expect("reads").flatten();
    let mut lines = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.any(|line| String::from_utf8_lossy(&line).contains(&folder))
}

#[tokio::test]
async fn a_build_is_bounded() {
    let site = Site::new(&[("hostile", HOSTILE)]).await;
    let failure = failure_of(site.settings.clone(), "hostile").await;
    assert_eq!(said(&failure, "filter"), Some("['2']"), "{failure:?}");
    assert_eq!(said(&failure, "namespace"), Some("-1"), "{failure:?}");
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        return println!("skipped: needs root for the rest");
    }
    assert_eq!(said(&failure, "user"), Some("199999"), "{failure:?}");
    assert!(!runs(&site.settings.folder), "nothing outlives the build");
    if atelier_confine::Confinement::detect().is_some() {
        assert_eq!(said(&failure, "forked"), Some("enough bounded"), "{failure:?}");
        let mut settings = site.settings.clone();
        settings.bounds.memory = 256;
        let site = Site::new(&[("greedy", "x = [bytearray(b'x') * (1 << 20) for _ in range(2_000)]")]).await;
        settings.pip = site.index.variables();
        let failure = failure_of(settings, "greedy").await;
        assert!(failure.why.starts_with("It needed more than 256 MiB of memory"), "{failure:?}");
    }
    let mut settings = site.settings.clone();
    settings.bounds.disk = 8 << 20;
    let failure = failure_of(settings, "hostile").await;
    assert_eq!(failure.why, "It had more than 8 MiB on the disk and was stopped.", "{failure:?}");
}

#[tokio::test]
async fn a_build_that_takes_too_long_is_stopped() {
    let site = Site::new(&[("slow", "import time\ntime.sleep(600)")]).await;
    let settings = Settings { limit: Duration::from_secs(20), ..site.settings.clone() };
    let failure = failure_of(settings, "slow").await;
    assert!(failure.why.starts_with("It was not done after 0 minutes and was stopped"), "{failure:?}");
}

#[tokio::test]
async fn switched_off_nothing_is_built() {
    let site = Site::new(&[]).await;
    let off = Environments::new(Arc::clone(&site.store), Settings { builds: false, ..site.settings.clone() });
    off.start();
    let tx = site.store.begin(clock::now()).await.expect("begins");
    let refused = off.base().rebuild(tx, &site.workspace, &author()).await;
    assert!(refused.is_err_and(|error| error.to_string().contains("switched off")));
    off.stop().await;
    assert_eq!((off.base().status(), off.base().current()), (BaseStatus::Off, None));
}

/// The folder of the builder that is killed, in its environment.
const BUILDER: &str = "ATELIER_TEST_BUILDER";

/// Not a test by itself: what the next one starts as a process of its own, to be killed.
#[test]
#[ignore = "started by another test"]
fn a_builder_on_its_own() {
    let Some(told) = std::env::var_os(BUILDER) else { return };
    let told = told.into_string().expect("text");
    let (folder, address) = told.split_once('|').expect("a folder and an index");
    let settings = Settings {
        has_own_users: false,
        pip: vec![("PIP_INDEX_URL".into(), address.into()), ("NO_PROXY".into(), "127.0.0.1".into())],
        ..Settings::of(Path::new(folder))
    };
    let wanted = BaseEnvironment { requirements: "tiny".into(), ..BaseEnvironment::default() };
    drop(build_now(&settings, &wanted, &Cancel::default(), &mut |_| {}));
}

#[tokio::test]
async fn a_builder_that_was_killed_leaves_nothing_that_counts() {
    let mut site = Site::new(&[("tiny", "")]).await;
    site.settings.has_own_users = false;
    site.index.gate.close();
    let mut process = Command::new(std::env::current_exe().expect("a program"));
    process
        .args(["--exact", "base_environment::a_builder_on_its_own", "--ignored", "--nocapture"])
        .stdout(Stdio::null());
    let told = format!("{}|{}/simple", site.place.folder.path().display(), site.index.address);
    let mut process = process.env(BUILDER, told).spawn().expect("starts");
    let gate = Arc::clone(&site.index.gate);
    let waits = move || wait_until("a build at the gate", PATIENCE, || (gate.seen() > 0).then_some(()));
    tokio::task::spawn_blocking(waits).await.expect("gets there");
    process.kill().expect("is killed");
    process.wait().expect("is gone");

    let it = site.environments();
    site.want(&it, "tiny").await;
    it.start();
    // pip has outlived its parent and holds the lock until it notices.
    status(&it, "the lock's holder", |status| matches!(status, BaseStatus::Building { phase: Phase::Elsewhere, .. }))
        .await;
    assert_eq!(it.base().current(), None);
    site.index.gate.open();
    let built = ready(&it).await;
    assert!(imports(&built, "tiny"));
    it.stop().await;
}

#[tokio::test]
async fn of_two_builders_one_builds_and_both_have_it() {
    let mut site = Site::new(&[("tiny", "")]).await;
    // Where everybody may pass, it is built by a user of its own without a view of its own.
    std::fs::set_permissions(site.place.folder.path(), std::fs::Permissions::from_mode(0o755)).expect("opened");
    site.settings.is_shared = true;
    let (one, two) = (site.environments(), site.environments());
    site.want(&one, "tiny").await;
    site.index.gate.close();
    one.start();
    two.start();
    let waits = |status: &BaseStatus| matches!(status, BaseStatus::Building { phase: Phase::Elsewhere, .. });
    let (mut first, mut second) = (one.base().watch(), two.base().watch());
    let one_waits = async {
        tokio::select! {
            found = first.wait_for(waits) => found.is_ok(),
            found = second.wait_for(waits) => found.is_ok(),
        }
    };
    assert!(tokio::time::timeout(PATIENCE, one_waits).await.expect("one of them waits"));
    site.index.gate.open();
    let (a, b) = (ready(&one).await, ready(&two).await);
    assert_eq!(a, b);
    assert_eq!(site.index.gate.seen(), 1, "it was downloaded once");
    assert_eq!(one.base().collect(&BTreeSet::new()).await, Vec::<PathBuf>::new(), "others may use what is shared");
    one.stop().await;
    two.stop().await;
}

#[tokio::test]
async fn a_build_that_is_stopped_leaves_nothing_behind() {
    let site = Site::new(&[("tiny", "")]).await;
    site.index.gate.close();
    let it = site.environments();
    site.want(&it, "tiny").await;
    it.start();
    let gate = Arc::clone(&site.index.gate);
    let waits = move || wait_until("a build at the gate", PATIENCE, || (gate.seen() > 0).then_some(()));
    tokio::task::spawn_blocking(waits).await.expect("gets there");
    it.stop().await;
    // Whoever could still write there would hold the lock.
    let settings = Settings { builds: true, ..site.settings.clone() };
    site.index.gate.open();
    let wanted = BaseEnvironment { requirements: "tiny".into(), ..BaseEnvironment::default() };
    let waited = tokio::task::spawn_blocking(move || {
        let mut waited = false;
        let mut hear = |news: News<'_>| waited |= matches!(news, News::Phase(Phase::Elsewhere, _));
        build_now(&settings, &wanted, &Cancel::default(), &mut hear).map(|_| waited)
    });
    assert_eq!(waited.await.expect("ends"), Ok(false));
}

async fn the_list_is_kept(kind: Kind) {
    let place = Place::new(kind);
    let store = place.open().await;
    let (workspace, _) = Place::workspace(&store).await;
    assert_eq!(store.base_environment().await.expect("reads"), BaseEnvironment::default());
    let it = Environments::new(Arc::clone(&store), Settings { builds: false, ..Settings::of(place.folder.path()) });
    assert_eq!(it.base().requirements().await.expect("reads"), Requirements::default());
    let list = Requirements::parse("jupyterlab\npolars").expect("a list");
    let tx = store.begin(clock::now()).await.expect("begins");
    assert!(it.base().set_requirements(tx, &workspace, &author(), &list).await.expect("is kept"));
    store.use_base_environment("abc", clock::now()).await.expect("is kept");
    store.close().await;
    let found = place.open().await.base_environment().await.expect("reads");
    assert_eq!(found, BaseEnvironment { requirements: list.text(), edition: 0, in_use: "abc".into() });
}

#[tokio::test]
async fn the_list_is_kept_in_sqlite() {
    the_list_is_kept(Kind::Sqlite).await;
}

#[tokio::test]
async fn the_list_is_kept_in_postgres() {
    the_list_is_kept(Kind::Postgres).await;
}
