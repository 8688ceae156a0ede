//! Named environments: kept on both databases, built for real with an index of the test's own, shared,
//! collected.

use std::collections::BTreeSet;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use atelier_domain::compute::size::ComputeName;
use atelier_domain::environment::{EnvironmentHash, Recipe};
use atelier_domain::time::Span;
use atelier_domain::{Timestamp, UserId, WorkspaceId};
use atelier_engine::clock;
use atelier_engine::environments::{BaseStatus, BuildFailure, BuildState, Environments, Named, Settings};
use atelier_engine::store::{BuildRow, HistoryFilter, KeptState, Kind, NewVersion, Store};
use atelier_testing::index::Index;

use crate::common::{Place, author};

const PATIENCE: Duration = Duration::from_secs(180);

fn name(text: &str) -> ComputeName {
    ComputeName::parse(text).expect("a name")
}

async fn add(store: &Store, workspace: &WorkspaceId, called: &str, is_new: bool, recipe: &str) -> Result<u32, String> {
    let mut tx = store.begin(clock::now()).await.expect("begins");
    let by = (&UserId::new("user-ines"), "Ines Okafor");
    let name = name(called);
    let new = NewVersion { name: &name, is_new, recipe, note: "", packages: 1 };
    let made = tx.add_environment_version(workspace, &author(), by, &new).await.expect("works");
    if made.is_ok() {
        tx.commit().await.expect("commits");
    }
    made.map_err(|problem| problem.message)
}

async fn versions_are_kept(kind: Kind) {
    let place = Place::new(kind);
    let store = place.open().await;
    let (workspace, _) = Place::workspace(&store).await;
    assert_eq!(add(&store, &workspace, "churn", true, "numpy").await, Ok(1));
    assert!(add(&store, &workspace, "churn", true, "numpy").await.is_err_and(|why| why.contains("already")));
    assert!(add(&store, &workspace, "other", false, "numpy").await.is_err_and(|why| why.contains("no environment")));
    assert_eq!(add(&store, &workspace, "churn", false, "numpy\npandas").await, Ok(2));
    assert_eq!(add(&store, &workspace, "churn", false, "numpy\npandas").await, Ok(2), "who asks again gets the same");
    assert_eq!(add(&store, &workspace, "atlas", true, "six").await, Ok(1));

    let all = store.named_environments(&workspace).await.expect("reads");
    let names: Vec<&str> = all.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names, ["atlas", "churn"]);
    let churn = name("churn");
    let versions = store.environment_versions(&workspace, Some(&churn)).await.expect("reads");
    assert_eq!(versions.iter().map(|version| version.version).collect::<Vec<_>>(), [2, 1]);
    assert_eq!(versions[1].recipe, "numpy");
    let newest = store.environment_version(&workspace, &churn, None).await.expect("reads").expect("is there");
    assert_eq!((newest.version, newest.used_at), (2, None));
    assert_eq!(store.environment_version(&workspace, &churn, Some(3)).await.expect("reads"), None);

    let hash = EnvironmentHash([9; 10]);
    let mut tx = store.begin(clock::now()).await.expect("begins");
    tx.want_environment_build(&workspace, &author(), (&churn, 2), hash).await.expect("is kept");
    tx.commit().await.expect("commits");
    store.note_environment_use(Some((&workspace, &churn, 2)), hash, Timestamp(i64::MAX / 2)).await.expect("is kept");
    let failure = BuildFailure { why: "Line 2 failed".into(), help: "Mend it.".into(), line: Some(2), printed: vec![] };
    let row = store.environment_build(hash).await.expect("reads").expect("is there");
    assert_eq!((row.state.clone(), row.used_at), (KeptState::Wanted, Some(Timestamp(i64::MAX / 2))));
    let failed = BuildRow { state: KeptState::Failed(failure), ..row };
    store.keep_environment_build(&failed, clock::now()).await.expect("is kept");
    store.close().await;

    let store = place.open().await;
    assert_eq!(store.environment_builds().await.expect("reads"), [failed]);
    let newest = store.environment_version(&workspace, &churn, None).await.expect("reads").expect("is there");
    assert_eq!(newest.used_at, Some(Timestamp(i64::MAX / 2)));
    let mut tx = store.begin(clock::now()).await.expect("begins");
    assert!(tx.delete_named_environment(&workspace, &author(), &churn).await.expect("works"));
    assert!(!tx.delete_named_environment(&workspace, &author(), &churn).await.expect("works"));
    tx.commit().await.expect("commits");
    assert_eq!(store.named_environment(&workspace, &churn).await.expect("reads"), None);
    assert_eq!(store.all_environment_versions().await.expect("reads").len(), 1);
    let filter = HistoryFilter { limit: 50, ..HistoryFilter::default() };
    let said: Vec<String> =
        store.history(&workspace, &filter).await.expect("reads").into_iter().map(|entry| entry.sentence).collect();
    for sentence in [
        "deleted the environment churn with 2 versions",
        "had the environment churn:2 built",
        "made version 2 of the environment churn, of 1 package",
        "made the environment churn of 1 package",
    ] {
        assert!(said.iter().any(|line| line == sentence), "{sentence}: {said:?}");
    }
}

#[tokio::test]
async fn versions_are_kept_in_sqlite() {
    versions_are_kept(Kind::Sqlite).await;
}

#[tokio::test]
async fn versions_are_kept_in_postgres() {
    versions_are_kept(Kind::Postgres).await;
}

/// A server's worth of named environments.
struct Site {
    index: Index,
    settings: Settings,
    store: Arc<Store>,
    workspace: WorkspaceId,
    _place: Place,
}

impl Site {
    async fn new(packages: &[(&str, &str)]) -> Self {
        let place = Place::new(Kind::Sqlite);
        let store = place.open().await;
        let (workspace, _) = Place::workspace(&store).await;
        let index = Index::open(packages);
        // What instances stand on is not wanted here: its list is one that is there.
        let settings = Settings { pip: index.variables(), ..Settings::of(place.folder.path()) };
        Self { index, settings, store, workspace, _place: place }
    }

    async fn start(&self) -> Environments {
        let it = Environments::new(Arc::clone(&self.store), self.settings.clone());
        let tiny = atelier_engine::environments::Requirements::parse("base").expect("a list");
        let tx = self.store.begin(clock::now()).await.expect("begins");
        it.base().set_requirements(tx, &self.workspace, &author(), &tiny).await.expect("is kept");
        it.start();
        it
    }

    async fn make(&self, named: &Named, called: &str, recipe: &str) -> EnvironmentHash {
        add(&self.store, &self.workspace, called, true, recipe).await.expect("is made");
        named.hash(&Recipe::parse(recipe, None).expect("a recipe")).await.expect("a hash")
    }
}

/// Waits until it is settled.
async fn settled(named: &Named, hash: EnvironmentHash) -> BuildState {
    let until = tokio::time::Instant::now() + PATIENCE;
    loop {
        let state = named.state(hash).await.expect("reads");
        if matches!(state, BuildState::Ready(_) | BuildState::Failed { .. }) {
            return state;
        }
        assert!(tokio::time::Instant::now() < until, "waited in vain: {state:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Waits until what instances stand on is there.
async fn ready_base(it: &Environments) {
    let until = tokio::time::Instant::now() + PATIENCE;
    while !matches!(it.base().status(), BaseStatus::Ready(_)) {
        assert!(tokio::time::Instant::now() < until, "waited in vain: {:?}", it.base().status());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn kernels(settings: &Settings) -> Vec<String> {
    let entries = std::fs::read_dir(settings.kernels.join("kernels")).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

/// Waits until JupyterLab would see these.
async fn shown(settings: &Settings, wanted: &[&str]) {
    let until = tokio::time::Instant::now() + PATIENCE;
    while kernels(settings) != wanted {
        assert!(tokio::time::Instant::now() < until, "{:?} and not {wanted:?}", kernels(settings));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn two_that_mean_the_same_are_built_once_offered_as_kernels_and_collected_when_unused() {
    let site = Site::new(&[("base", ""), ("tiny", "x = 1"), ("ipykernel", ""), ("nbconvert", "")]).await;
    let it = site.start().await;
    let named = it.named().clone();
    let one = site.make(&named, "churn", "# mine\ntiny >= 1.0").await;
    let two = site.make(&named, "other", "dependencies:\n  - tiny>=1.0\n").await;
    assert_eq!(one, two, "they mean the same");
    assert_eq!(named.state(one).await.expect("reads"), BuildState::Absent);
    named.need(one);
    named.need(one);
    let BuildState::Ready(built) = settled(&named, one).await else { panic!("{:?}", named.state(one).await) };
    assert!(built.has_kernel && built.packages.iter().any(|(name, _)| name == "tiny"), "{built:?}");
    let mut python = Command::new(built.path.join("bin/python"));
    assert!(python.args(["-I", "-c", "import tiny"]).status().expect("starts").success());
    shown(&site.settings, &["churn-1", "other-1"]).await;
    let log = std::fs::read_to_string(named.log(one).expect("is logged")).expect("reads");
    assert!(log.contains("Successfully installed tiny"), "{log}");

    // Nothing goes while something is built.
    ready_base(&it).await;
    // Used now, used lately, used long ago.
    let (now, keep) = (clock::now(), Span::hours(24 * 30));
    let later = Timestamp(now.0 + 31 * 86_400_000);
    assert_eq!(named.collect(&BTreeSet::new(), keep, now).await.expect("works"), []);
    assert_eq!(named.collect(&BTreeSet::from([one]), keep, later).await.expect("works"), []);
    let latest = Timestamp(later.0 + 31 * 86_400_000);
    assert_eq!(named.collect(&BTreeSet::new(), keep, latest).await.expect("works"), [one]);
    assert!(!built.path.exists());
    let state = named.state(one).await.expect("reads");
    let BuildState::Collected { at, packages } = &state else { panic!("{state:?}") };
    assert_eq!((*at, packages), (latest, &built.packages), "what was in it is known still");
    shown(&site.settings, &[]).await;

    // The next use builds it again, as it was, and a new server finds it.
    named.need(one);
    let BuildState::Ready(rebuilt) = settled(&named, one).await else { panic!("it is not built") };
    assert_eq!(rebuilt.packages, built.packages);
    let log = std::fs::read_to_string(named.log(one).expect("is logged")).expect("reads");
    assert!(log.contains("the versions that it had when it was built before"), "{log}");
    // Whoever is about to use it keeps it.
    named.claim(one);
    let last = Timestamp(latest.0 + 62 * 86_400_000);
    assert_eq!(named.collect(&BTreeSet::new(), keep, last).await.expect("works"), []);
    it.stop().await;
    let downloads = site.index.gate.seen();
    let again = site.start().await;
    assert!(matches!(again.named().state(one).await.expect("reads"), BuildState::Ready(_)));
    assert_eq!(site.index.gate.seen(), downloads);
    again.stop().await;
}

#[tokio::test]
async fn a_broken_one_names_its_line_and_what_ipykernel_does_not_fit_is_for_jobs_alone() {
    let site = Site::new(&[("base", ""), ("tiny", ""), ("broken", "import nothing_like_that")]).await;
    let it = site.start().await;
    let named = it.named().clone();
    let missing = site.make(&named, "missing", "# first\ntiny\nno-such-thing>=3").await;
    named.need(missing);
    let BuildState::Failed { failure, .. } = settled(&named, missing).await else { panic!("it cannot work") };
    assert_eq!(failure.line, Some(3));
    assert!(failure.why.starts_with("Line 3, “no-such-thing>=3” failed: The index has nothing"), "{failure:?}");
    assert!(failure.printed.iter().any(|line| line.contains("No matching distribution")), "{failure:?}");
    let broken = site.make(&named, "broken", "tiny\nbroken").await;
    named.need(broken);
    let BuildState::Failed { failure, .. } = settled(&named, broken).await else { panic!("it cannot work") };
    assert_eq!(failure.line, Some(2), "{failure:?}");
    let plain = site.make(&named, "plain", "tiny").await;
    named.need(plain);
    let BuildState::Ready(built) = settled(&named, plain).await else { panic!("{:?}", named.state(plain).await) };
    assert!(!built.has_kernel, "the index has no ipykernel");
    // Those that cannot be used are shown as such.
    shown(&site.settings, &["broken-1", "missing-1"]).await;
    let spec = std::fs::read_to_string(site.settings.kernels.join("kernels/missing-1/kernel.json")).expect("reads");
    assert!(spec.contains("missing (v1): not built, line 3 failed"), "{spec}");
    it.stop().await;

    // A failure is known after a restart.
    let again = site.start().await;
    assert!(matches!(again.named().state(missing).await.expect("reads"), BuildState::Failed { .. }));
    again.stop().await;
}

#[tokio::test]
async fn what_was_wanted_when_the_server_stopped_is_built_by_the_next() {
    let site = Site::new(&[("base", ""), ("tiny", "")]).await;
    site.index.gate.close();
    let it = site.start().await;
    let hash = site.make(it.named(), "churn", "tiny").await;
    let mut tx = site.store.begin(clock::now()).await.expect("begins");
    tx.want_environment_build(&site.workspace, &author(), (&name("churn"), 1), hash).await.expect("is kept");
    tx.commit().await.expect("commits");
    it.named().need(hash);
    it.stop().await;
    assert!(!site.settings.folder.join(hash.to_string()).exists(), "nothing half-built has its name");
    site.index.gate.open();
    let again = site.start().await;
    assert!(matches!(settled(again.named(), hash).await, BuildState::Ready(_)));
    again.stop().await;
}
