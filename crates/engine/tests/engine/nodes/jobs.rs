//! Jobs on real nodes.

use atelier_domain::compute::job::{JobState, Verdict};
use atelier_domain::time::Span;
use atelier_protocol::Run;

use super::site::Site;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_goes_from_zero_to_a_job_and_back() {
    let data = tempfile::tempdir().expect("a folder");
    let site = Site::start(data.path()).await;
    let pool = site.cluster("pool", "local-half", 0, 2, Span::seconds(1)).await;
    let job = site.script(pool, "echo one; echo two >&2; exit 3").await;
    let (record, verdict) = site.over(job).await;
    assert_eq!(verdict, Verdict::Exited { code: 3 });
    assert_eq!(site.log(job), "one\ntwo\n");
    assert!(record.when.assigned.is_some() && record.when.started.is_some());
    site.until("the cluster is back at zero", |world| world.nodes().next().is_none().then_some(())).await;

    let missing = site.submit(Site::spec(pool), Run::Argv(vec!["no-such-program".into()])).await;
    let (_, verdict) = site.over(missing).await;
    let Verdict::StartFailed { detail } = verdict else { panic!("{verdict:?}") };
    assert!(detail.contains("no-such-program") && detail.contains("not found"), "{detail}");
    site.tear_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_server_finds_its_jobs_again() {
    let data = tempfile::tempdir().expect("a folder");
    let site = Site::start(data.path()).await;
    let pool = site.cluster("pool", "local-half", 0, 2, Span::seconds(600)).await;
    let flag = data.path().join("flag");
    let wait = format!(
        "echo before; while [ ! -e /shared/flag ] && [ ! -e {} ]; do sleep 0.05; done; echo after",
        flag.display()
    );
    let job = site.script(pool, &wait).await;
    site.until_state(job, JobState::Running).await;
    site.crash().await;
    std::fs::write(data.path().join("files/shared/flag"), "").expect("written");
    std::fs::write(&flag, "").expect("written");
    let site = Site::start(data.path()).await;
    let (record, verdict) = site.over(job).await;
    assert_eq!(verdict, Verdict::Succeeded);
    assert_eq!(record.attempt, 1);
    assert_eq!(site.log(job), "before\nafter\n");
    site.tear_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_agent_is_named_and_the_job_is_tried_again() {
    let data = tempfile::tempdir().expect("a folder");
    let site = Site::start(data.path()).await;
    let pool = site.cluster("pool", "local-half", 0, 1, Span::seconds(600)).await;
    let mut spec = Site::spec(pool);
    spec.retry = Some(Box::new(atelier_domain::compute::job::RetryPolicy {
        max: 1,
        on: vec![atelier_domain::compute::job::RetryCause::NodeLost],
        exit_codes: Vec::new(),
        pause: Span::ZERO,
    }));
    let run = Run::Script("echo attempt $ATELIER_ATTEMPT; [ $ATELIER_ATTEMPT = 2 ] || sleep 1000".into());
    let job = site.submit(spec, run).await;
    site.until_state(job, JobState::Running).await;
    // What an agent has not sent dies with it.
    site.until_log(job, "attempt 1\n").await;
    let agent = site.fleet.board().agents().remove(0);
    let pid = rustix::process::Pid::from_raw(i32::try_from(agent.facts.pid).expect("a number")).expect("a process");
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("it runs");
    let (record, verdict) = site.over(job).await;
    assert_eq!(verdict, Verdict::Succeeded);
    assert_eq!(record.past.len(), 1);
    assert_eq!(record.past[0].verdict, Verdict::NodeLost { node: agent.node });
    assert_eq!(site.log(job), "attempt 1\nattempt 2\n");
    site.tear_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_killed_agent_had_on_disk_is_in_the_log() {
    let data = tempfile::tempdir().expect("a folder");
    let site = Site::start(data.path()).await;
    let pool = site.cluster("pool", "local-half", 0, 1, Span::seconds(600)).await;
    let flag = data.path().join("flag");
    let wait = format!(
        "while [ ! -e /shared/flag ] && [ ! -e {} ]; do sleep 0.05; done; seq 1 9999999; sleep 1000",
        flag.display()
    );
    let job = site.script(pool, &wait).await;
    site.until_state(job, JobState::Running).await;
    let agent = site.fleet.board().agents().remove(0);
    site.crash().await;
    // Without a server, output is more than fits into memory.
    std::fs::write(data.path().join("files/shared/flag"), "").expect("written");
    std::fs::write(&flag, "").expect("written");
    let spool = data.path().join("nodes").join(agent.node.to_string()).join("spool").join(format!("{}.1", job.0));
    let length = atelier_testing::wait_until("much output on disk", atelier_testing::PATIENCE, || {
        std::fs::metadata(&spool).ok().map(|file| file.len()).filter(|length| *length > 20 << 20)
    });
    let pid = rustix::process::Pid::from_raw(i32::try_from(agent.facts.pid).expect("a number")).expect("a process");
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("it runs");
    let site = Site::start(data.path()).await;
    let (_, verdict) = site.over(job).await;
    assert_eq!(verdict, Verdict::NodeLost { node: agent.node });
    let log = site.log(job);
    assert!(log.len() as u64 >= length, "{} of {length}", log.len());
    let lines: Vec<&str> = log.lines().collect();
    assert!(lines[..lines.len() - 1].iter().zip(1_u32..).all(|(line, number)| *line == number.to_string()));
    site.tear_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_cannot_be_made_says_why() {
    let data = tempfile::tempdir().expect("a folder");
    let program = Some(std::path::PathBuf::from("/bin/false"));
    let settings = atelier_engine::drivers::local::Settings { program, ..Default::default() };
    let site = Site::start_with(data.path(), settings).await;
    let pool = site.cluster("pool", "local-half", 1, 1, Span::seconds(600)).await;
    let failed = site
        .until("the launch has failed", move |world| {
            let cluster = world.cluster(pool)?;
            cluster.trouble.history.first().map(|failed| failed.detail.to_string())
        })
        .await;
    assert!(failed.starts_with("its agent ended at once"), "{failed}");
    site.tear_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_quick_array_runs_ahead_and_every_job_has_its_own_record() {
    let data = tempfile::tempdir().expect("a folder");
    let site = Site::start(data.path()).await;
    let pool = site.cluster("pool", "local-half", 0, 1, Span::seconds(600)).await;
    let task = atelier_protocol::Task {
        run: Run::Script("echo $ATELIER_ARRAY_INDEX of $ATELIER_ARRAY_COUNT".into()),
        environment: Vec::new(),
        files: Vec::new(),
        is_alone: false,
    };
    let payload = atelier_engine::run::Payload::of("sweep", atelier_domain::compute::tags::Tags::default(), &task);
    let order = atelier_domain::world::Order::SubmitArray { spec: Site::spec(pool), count: 60 };
    let made = site.give(order, Some(payload)).await;
    let atelier_domain::world::Answer::Jobs { first, count: 60 } = made else { panic!("{made:?}") };
    for index in 0..60 {
        let (record, verdict) = site.over(atelier_domain::compute::JobId(first.0 + index)).await;
        assert_eq!(verdict, Verdict::Succeeded);
        assert_eq!(record.attempt, 1);
        assert_eq!(site.log(record.id), format!("{index} of 60\n"));
    }
    let is_quick = site.until("the cluster is there", move |world| world.cluster(pool).map(|pool| pool.is_quick)).await;
    assert!(is_quick, "such jobs are handed over ahead of time");
    site.tear_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_evicted_job_keeps_a_checkpoint_and_its_next_attempt_resumes() {
    let data = tempfile::tempdir().expect("a folder");
    let site = Site::start(data.path()).await;
    let pool = site.cluster("pool", "local-half", 0, 1, Span::seconds(600)).await;
    let text = "[ -e checkpoint ] && echo attempt $ATELIER_ATTEMPT resumes at $(cat checkpoint) && exit 0\n\
                trap '[ -f $ATELIER_EVICTION_FILE ] && echo notice && echo 41 >checkpoint; exit 1' TERM\n\
                echo ready; while :; do sleep 0.05; done";
    let job = site.script(pool, text).await;
    site.until_state(job, JobState::Running).await;
    site.until_log(job, "ready\n").await;
    site.give(atelier_domain::world::Order::EvictJob(job), None).await;
    let (record, verdict) = site.over(job).await;
    assert_eq!(verdict, Verdict::Succeeded);
    assert_eq!((record.attempt, record.retries, record.past.len()), (2, 0, 1));
    assert!(matches!(record.past[0].verdict, Verdict::Preempted { .. }), "{:?}", record.past[0].verdict);
    // The shell may say that the program it waited for was ended too.
    assert_eq!(site.log(job).replace("Terminated\n", ""), "ready\nnotice\nattempt 2 resumes at 41\n");
    site.tear_down().await;
}
