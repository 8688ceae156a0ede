//! What has been kept long enough is removed, and nothing else is.

use std::path::Path;

use atelier_domain::Timestamp;
use atelier_domain::compute::JobId;
use atelier_domain::compute::job::{JobState, Verdict};
use atelier_domain::compute::script::{DEFAULT_SCRIPT, Script, Scripts};
use atelier_domain::compute::size::{ComputeName, SizeName};
use atelier_domain::compute::tags::Tags;
use atelier_domain::time::Span;
use atelier_domain::world::{Answer, NewInstance, Order};
use atelier_engine::clock;
use atelier_engine::fleet::{Collected, Collector};
use atelier_engine::run::Payload;
use atelier_protocol::{Run, Task, TaskFile};
use sha2::{Digest as _, Sha256};

use super::site::Site;

const KEEP: Span = Span::hours(24 * 90);

fn later(days: u32) -> Timestamp {
    Timestamp(clock::now().0 + Span::hours(24 * days).as_millis())
}

fn upload(site: &Site, data: &Path, content: &[u8]) -> String {
    let hash: String = Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect();
    let coming = data.join("coming");
    std::fs::write(&coming, content).expect("written");
    site.fleet.blobs().take_in(&coming, &hash).expect("taken in");
    hash
}

/// Submits a job that prints a file, as the server does: what it names is claimed first.
async fn submit(site: &Site, pool: atelier_domain::compute::ClusterId, blob: &str) -> JobId {
    let size = site.fleet.blobs().claim(blob, clock::now()).expect("is there");
    let task = Task {
        run: Run::Argv(vec!["cat".into(), "file".into()]),
        environment: Vec::new(),
        files: vec![TaskFile { path: "file".into(), blob: blob.into(), size }],
        is_alone: false,
    };
    let payload = Payload::of("prints a file", Tags::default(), &task);
    let Answer::Job(id) = site.give(Order::Submit(Site::spec(pool)), Some(payload)).await else { panic!("a job") };
    id
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn uploads_that_no_job_names_go_after_a_day() {
    let data = tempfile::tempdir().expect("a folder");
    let site = Site::start(data.path()).await;
    let pool = site.cluster("pool", "local-half", 0, 1, Span::seconds(600)).await;
    let [named, left, fresh] = ["named", "left", "fresh"].map(|content| upload(&site, data.path(), content.as_bytes()));
    let job = submit(&site, pool, &named).await;
    assert_eq!(site.over(job).await.1, Verdict::Succeeded);
    assert_eq!(site.log(job), "named");
    // A job without files, so that not every payload has some.
    let plain = site.script(pool, "echo '\"files\":'").await;
    site.over(plain).await;

    // The script of an instance is as good as a job.
    let script =
        Script { blob: upload(&site, data.path(), b"script"), arguments: String::new(), limit: DEFAULT_SCRIPT };
    let scripted = script.blob.clone();
    let instance = NewInstance {
        name: ComputeName::parse("workstation").expect("a name"),
        size: SizeName::parse("local-half").expect("a name"),
        owner: site.owner.clone(),
        owner_name: "Ines".into(),
        scripts: Scripts { creation: None, startup: Some(script) },
        tags: Tags::default(),
        keeps_quota: false,
        idle: None,
        starts: false,
    };
    let Answer::Instance(instance) = site.give(Order::CreateInstance(Box::new(instance)), None).await else {
        panic!("an instance")
    };

    let is_there = |hash: &str| site.fleet.folders().blob(hash).expect("a hash").exists();
    let mut collector = Collector::new(site.fleet.clone());
    assert_eq!(collector.collect(clock::now(), KEEP).await.expect("goes round"), Collected::default());
    site.fleet.blobs().claim(&fresh, later(2)).expect("is there");
    let gone = collector.collect(later(2), KEEP).await.expect("goes round");
    assert_eq!((gone.uploads, gone.upload_bytes), (1, 4));
    assert_eq!([&named, &left, &fresh, &scripted].map(|hash| is_there(hash)), [true, false, true, true]);
    site.give(Order::DeleteInstance(instance), None).await;
    site.until("the instance is gone", move |world| world.instance(instance).is_none().then_some(())).await;
    let gone = collector.collect(later(2), KEEP).await.expect("goes round");
    assert_eq!((gone.uploads, is_there(&scripted)), (1, false));

    // A job that comes later is seen by the next sweep, and by a server that has just started.
    let job = submit(&site, pool, &fresh).await;
    assert_eq!(site.over(job).await.1, Verdict::Succeeded);
    assert_eq!(collector.collect(later(5), KEEP).await.expect("goes round"), Collected::default());
    let mut restarted = Collector::new(site.fleet.clone());
    assert_eq!(restarted.collect(later(5), KEEP).await.expect("goes round"), Collected::default());
    assert!(is_there(&fresh));
    assert_eq!(site.fleet.blobs().claim(&left, clock::now()), None);
    site.tear_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn logs_and_outputs_go_some_time_after_the_end_of_their_job() {
    let data = tempfile::tempdir().expect("a folder");
    let site = Site::start(data.path()).await;
    let pool = site.cluster("pool", "local-half", 0, 1, Span::seconds(600)).await;
    let job =
        site.script(pool, "echo printed; echo kept > $ATELIER_OUTPUT_DIR/file; chmod 0 $ATELIER_OUTPUT_DIR").await;
    site.over(job).await;
    let running = site.script(pool, "echo running; sleep 1000").await;
    site.until_state(running, JobState::Running).await;
    site.until_log(running, "running\n").await;

    let folders = site.fleet.folders();
    let outputs = folders.outputs(&site.owner, job, 1, 0);
    let own = folders.job(&site.owner, job, 1, 0).parent().expect("of a person").to_owned();
    // What people put there themselves: a link to elsewhere under the name of that job, and things that are
    // none of it.
    let elsewhere = data.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).expect("made");
    std::fs::write(elsewhere.join("file"), "x").expect("written");
    std::os::unix::fs::symlink(&elsewhere, own.join(format!("{}.9.0", job.0))).expect("linked");
    for name in ["notes", "999999.1.0"] {
        std::fs::create_dir(own.join(name)).expect("made");
    }

    let mut collector = Collector::new(site.fleet.clone());
    assert_eq!(collector.collect(later(89), KEEP).await.expect("goes round"), Collected::default());
    assert!(outputs.is_dir() && site.log(job) == "printed\n");
    let gone = collector.collect(later(91), KEEP).await.expect("goes round");
    assert_eq!((gone.logs, gone.folders), (1, 2));
    assert_eq!((site.fleet.logs().list(job), outputs.parent().expect("a folder").exists()), (Vec::new(), false));
    assert!(own.join("notes").exists() && own.join("999999.1.0").exists() && elsewhere.join("file").exists());
    // What runs has all it had, and goes on printing where it was.
    assert_eq!(site.log(running), "running\n");
    assert!(folders.outputs(&site.owner, running, 1, 0).is_dir());
    assert_eq!(collector.collect(later(91), KEEP).await.expect("goes round"), Collected::default());
    // The job itself is still known.
    assert_eq!(site.over(job).await.1, Verdict::Succeeded);
    site.tear_down().await;
}
