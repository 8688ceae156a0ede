//! Jobs run: their output, their exit codes, what they are given, what becomes of what they leave behind.

use atelier_domain::compute::JobId;
use atelier_domain::world::Exit;
use atelier_protocol::{Peer, TaskFile};

use crate::common::agent::Agent;
use crate::common::jobs::{NODE, argv, part, script};

#[tokio::test]
async fn a_job_runs_and_its_output_and_exit_code_arrive() {
    let (_agent, mut server) = Agent::with_server().await;
    server.start(&argv(1, &["echo", "hello", "world"])).await;
    assert_eq!(server.off(part(1)).await, Exit::Code(0));
    assert_eq!(server.text(part(1)), "hello world\n");
    server.start(&script(2, "echo out; echo err >&2; exit 3")).await;
    assert_eq!(server.off(part(2)).await, Exit::Code(3));
    assert_eq!(server.text(part(2)), "out\nerr\n");
    server.start(&script(3, "kill -9 $$")).await;
    assert_eq!(server.off(part(3)).await, Exit::Code(137));
    server.start(&script(4, "#!/usr/bin/env python3\nprint('from python')")).await;
    assert_eq!(server.off(part(4)).await, Exit::Code(0));
    assert_eq!(server.text(part(4)), "from python\n");
}

#[tokio::test]
async fn a_program_that_is_not_there_is_refused_at_once() {
    let (_agent, mut server) = Agent::with_server().await;
    server.start(&argv(1, &["no-such-program", "--now"])).await;
    let why = server.refused(part(1)).await;
    assert!(why.contains("“no-such-program” was not found (PATH is /"), "{why}");
    server.start(&argv(2, &["./missing"])).await;
    assert!(server.refused(part(2)).await.contains("“./missing” was not found"));
    server.start(&argv(3, &["/etc/passwd"])).await;
    assert!(server.refused(part(3)).await.contains("permission denied"));
    server.start(&argv(4, &["/usr"])).await;
    assert!(server.refused(part(4)).await.contains("it is a folder"));
    server.start(&argv(5, &[])).await;
    assert!(server.refused(part(5)).await.contains("no program was named"));
    server.start(&script(6, "#!/no/such/interpreter\n")).await;
    assert!(server.refused(part(6)).await.contains("not found"));
    server.start(&argv(7, &["echo", &"x".repeat(200_000)])).await;
    assert!(server.refused(part(7)).await.contains("too long"));
    server.start(&argv(8, &["echo", "zero\0byte"])).await;
    assert!(server.refused(part(8)).await.contains("cannot be executed"));
    server.start(&argv(9, &["true"])).await;
    assert_eq!(server.off(part(9)).await, Exit::Code(0));
}

#[tokio::test]
async fn a_job_knows_where_it_is_and_who_else_there_is() {
    let (_agent, mut server) = Agent::with_server().await;
    let mut start = script(12, "env | sort; pwd");
    start.rank = 1;
    start.peers = ["10.0.0.1", "10.0.0.2"].map(|host| Peer { node: NODE, host: host.to_owned() }).to_vec();
    start.array = Some((JobId(10), 2, 5));
    start.shape.cores = 1_500;
    start.task.environment = vec![
        ("MINE".to_owned(), "of my own".to_owned()),
        ("ATELIER_JOB".to_owned(), "forged".to_owned()),
        ("OMP_NUM_THREADS".to_owned(), "7".to_owned()),
    ];
    server.start(&start).await;
    assert_eq!(server.off(part(12)).await, Exit::Code(0));
    let text = server.text(part(12));
    for line in [
        "ATELIER_JOB=job-12",
        "ATELIER_ATTEMPT=1",
        "ATELIER_NODE=node-7",
        "ATELIER_NODE_RANK=1",
        "ATELIER_NODE_COUNT=2",
        "ATELIER_NODE_HOSTS=10.0.0.1,10.0.0.2",
        "ATELIER_ARRAY_JOB=job-10",
        "ATELIER_ARRAY_INDEX=2",
        "ATELIER_ARRAY_COUNT=5",
        "ATELIER_CORES=2",
        "SLURM_ARRAY_TASK_ID=2",
        "MASTER_ADDR=10.0.0.1",
        "MASTER_PORT=20373",
        "RANK=1",
        "NODE_RANK=1",
        "WORLD_SIZE=2",
        "LOCAL_RANK=0",
        "LOCAL_WORLD_SIZE=1",
        "OMPI_COMM_WORLD_RANK=1",
        "OMPI_COMM_WORLD_SIZE=2",
        "PMI_RANK=1",
        "PMI_SIZE=2",
        "MINE=of my own",
        "OMP_NUM_THREADS=7",
        "USER=handle1",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} is missing in\n{text}");
    }
    assert!(text.trim_end().ends_with("/12.1.1"), "{text}");
}

#[tokio::test]
async fn files_are_fetched_once_and_put_into_the_folder() {
    let (_agent, mut server) = Agent::with_server().await;
    let large: Vec<u8> = (0..700_000_u32).flat_map(|number| number.to_le_bytes()).collect();
    let files =
        [("in/large.bin", large.as_slice()), ("small.txt", b"small\n"), ("empty", b""), ("again.txt", b"small\n")];
    let list: Vec<TaskFile> = files.iter().map(|(path, content)| server.file(path, content)).collect();
    let mut start =
        script(1, "sha256sum in/large.bin | cut -c1-64; cat small.txt again.txt; wc -c <empty; ls -a | tr '\\n' ' '");
    start.task.files = list.clone();
    server.start(&start).await;
    assert_eq!(server.off(part(1)).await, Exit::Code(0));
    let expected = format!("{}\nsmall\nsmall\n0\n", list[0].blob);
    assert!(server.text(part(1)).starts_with(&expected), "{}", server.text(part(1)));
    let fetched = server.fetched;
    assert_eq!(fetched, 11 + 1 + 1);
    let mut start = argv(2, &["cat", "small.txt"]);
    start.task.files = list;
    server.start(&start).await;
    assert_eq!(server.off(part(2)).await, Exit::Code(0));
    assert_eq!(server.fetched, fetched);
}

#[tokio::test]
async fn more_files_than_one_message_holds() {
    let (_agent, mut server) = Agent::with_server().await;
    let mut start = script(1, "cat files/* | sort -n | tail -1; ls files | wc -l");
    start.task.files = (0..450).map(|number| server.file(&format!("files/{number}"), b"449\n")).collect();
    server.start(&start).await;
    assert_eq!(server.off(part(1)).await, Exit::Code(0));
    assert_eq!(server.text(part(1)), "449\n450\n");
}

#[tokio::test]
async fn files_that_cannot_be_are_refused() {
    let (agent, mut server) = Agent::with_server().await;
    for (number, path) in [(1, "../outside"), (2, "/etc/cron.d/evil"), (3, "a/../../b"), (4, "")] {
        let mut start = argv(number, &["true"]);
        start.task.files = vec![server.file(path, b"evil")];
        server.start(&start).await;
        assert!(server.refused(part(number)).await.contains("does not lie in the job's folder"));
    }
    let mut start = argv(5, &["true"]);
    start.task.files = vec![server.file("gone.txt", b"gone")];
    server.blobs.clear();
    server.start(&start).await;
    let why = server.refused(part(5)).await;
    assert!(why.contains("gone.txt") && why.contains("it was removed"), "{why}");
    let mut start = argv(6, &["true"]);
    start.task.files = vec![TaskFile { path: "x".to_owned(), blob: "../../../etc/passwd".to_owned(), size: 1 }];
    server.start(&start).await;
    assert!(server.refused(part(6)).await.contains("has no hash"));
    // A folder where the file should be, a file where the folder should be.
    let mut start = argv(7, &["true"]);
    start.task.files = vec![server.file("a", b"file"), server.file("a/b", b"below")];
    server.start(&start).await;
    assert!(server.refused(part(7)).await.contains("cannot be written"));
    assert!(!agent.folder.path().join("outside").exists());
    server.start(&argv(8, &["true"])).await;
    assert_eq!(server.off(part(8)).await, Exit::Code(0));
}

#[tokio::test]
async fn outputs_stay_and_everything_else_goes() {
    let (agent, mut server) = Agent::with_server().await;
    let keep = "echo kept > $ATELIER_OUTPUT_DIR/result; mkdir -p junk/deep; echo x > junk/deep/file; chmod 000 \
                junk/deep junk .";
    server.start(&script(1, keep)).await;
    assert_eq!(server.off(part(1)).await, Exit::Code(0));
    let jobs = agent.config.jobs.join("person-1");
    let left = |path: &str| -> Vec<String> {
        let entries = std::fs::read_dir(jobs.join(path)).unwrap().flatten();
        entries.map(|entry| entry.file_name().into_string().unwrap()).collect()
    };
    assert_eq!(left("1.1.0"), ["outputs"]);
    assert_eq!(std::fs::read_to_string(jobs.join("1.1.0/outputs/result")).unwrap(), "kept\n");
    server.start(&script(2, "echo x > junk")).await;
    server.off(part(2)).await;
    // It removes its folder, or puts links in its place: nothing breaks, and nothing else is touched.
    server.start(&script(3, "cd /; rm -rf \"$OLDPWD\"; echo gone")).await;
    assert_eq!(server.off(part(3)).await, Exit::Code(0));
    assert_eq!(server.text(part(3)), "gone\n");
    let links = "echo precious > $HOME/precious; rm -rf outputs; ln -s $HOME outputs; ln -s $HOME home; mkdir d; ln -s \
                 $HOME d/home";
    server.start(&script(4, links)).await;
    assert_eq!(server.off(part(4)).await, Exit::Code(0));
    assert_eq!(std::fs::read_to_string(agent.config.homes.join("person-1/precious")).unwrap(), "precious\n");
    assert_eq!(left("."), ["1.1.0"]);
}

#[tokio::test]
async fn jobs_wait_for_room_in_order_and_too_large_ones_are_refused() {
    let (agent, mut server) = Agent::with_server().await;
    let mut large = argv(1, &["true"]);
    large.shape.cores = 2_001;
    server.start(&large).await;
    assert!(server.refused(part(1)).await.contains("more than the whole node"));
    let gate = agent.folder.path().join("shared/gate");
    let path = |name: &str| format!("until [ -e $ATELIER_SHARED_DIR/{name} ]; do sleep 0.02; done");
    for number in 2..=5 {
        let mut start = script(number, &path("gate"));
        start.shape.cores = 1_000;
        server.start(&start).await;
    }
    server.started(part(2)).await;
    server.started(part(3)).await;
    assert!(!server.events.contains(&atelier_protocol::Event::Started(part(4))));
    std::fs::write(gate, "").unwrap();
    for number in 2..=5 {
        assert_eq!(server.off(part(number)).await, Exit::Code(0));
    }
}

#[tokio::test]
async fn what_waits_is_given_back_and_what_has_begun_goes_on() {
    let (agent, mut server) = Agent::with_server().await;
    let gate = agent.folder.path().join("shared/gate");
    for number in 1..=2 {
        let mut start = script(number, "until [ -e $ATELIER_SHARED_DIR/gate ]; do sleep 0.02; done; echo ran");
        start.shape.cores = 2_000;
        server.start(&start).await;
    }
    server.started(part(1)).await;
    // The second waits, the first has begun, the third never came: only the first stays.
    for number in 1..=3 {
        server.say(&atelier_protocol::ToAgent::GiveBack { part: part(number) }).await;
    }
    for number in 2..=3 {
        let given = atelier_protocol::Event::GivenBack(part(number));
        server.until("it is given back", |server| server.events.contains(&given).then_some(())).await;
    }
    // A start that comes late changes nothing.
    let mut late = script(2, "echo ran");
    late.shape.cores = 2_000;
    server.start(&late).await;
    std::fs::write(gate, "").unwrap();
    assert_eq!(server.off(part(1)).await, Exit::Code(0));
    server.start(&argv(4, &["true"])).await;
    assert_eq!(server.off(part(4)).await, Exit::Code(0));
    assert!(!server.events.contains(&atelier_protocol::Event::GivenBack(part(1))));
    assert_eq!(server.text(part(2)), "");
}

/// What Jupyter reads in every job; it is run here the way Jupyter runs it.
#[tokio::test]
async fn a_notebook_that_runs_as_a_job_has_a_kernel_that_nobody_else_can_reach() {
    let (_agent, mut server) = Agent::with_server().await;
    let look = r"python3 - <<'END'
import os
from types import SimpleNamespace as Some
c = Some(KernelManager=Some())
exec(open(os.environ['JUPYTER_CONFIG_PATH'] + '/jupyter_config.py').read(), {'get_config': lambda: c})
file = c.KernelManager.connection_file
print(c.KernelManager.transport, oct(os.stat(os.path.dirname(file)).st_mode & 0o777), len(file) < 60)
END";
    server.start(&script(1, look)).await;
    server.off(part(1)).await;
    assert_eq!(server.text(part(1)), "ipc 0o700 True\n");
}
