//! Instances: set up, applications, activity, and that nothing of them is left.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

use atelier_domain::compute::idle::Source;
use atelier_domain::time::Span;
use atelier_domain::world::Exit;
use atelier_protocol::{Activity, AppState, Event, Signal, ToAgent};
use atelier_testing::wait_until;

use crate::common::agent::{Agent, is_root, marker, processes_with};
use crate::common::hosting::{INSTANCE, Kind, agent, app_target, best, kinds, python, request, web};
use crate::common::jobs::{part, script};
use crate::common::{PATIENCE, Server};

fn count(events: &[Event], is_it: impl Fn(&Event) -> bool) -> usize {
    events.iter().filter(|event| is_it(event)).count()
}

const fn is_set_up(event: &Event) -> bool {
    matches!(event, Event::SetUp { .. })
}

#[tokio::test]
async fn a_layer_stands_on_its_base_and_keeps_what_is_put_there() {
    for kind in kinds() {
        let (agent, mut server) = agent(kind).await;
        let mut set_up = agent.set_up();
        set_up.base = Some(agent.base());
        assert_eq!(server.set_up(&set_up).await, None, "{kind:?}");
        let layer = agent.instance().join("layers/1");
        let (home, base) = (agent.instance().join("home"), set_up.base.clone().unwrap());
        if is_root() && kind != Kind::None {
            for folder in [&home, &layer, &agent.instance().join("run")] {
                let found = std::fs::metadata(folder).unwrap();
                assert_eq!((found.uid(), found.mode() & 0o777), (70_001, 0o700), "{}", folder.display());
            }
        }
        // What a job on the instance sees: its home, its layer, what the base has.
        let look = "
            echo kept > $HOME/kept
            which python; which tool; tool
            python -c 'import base_module, both, sys; print(sys.prefix, base_module.WHERE, both.WHERE)'
            python -c 'import site; open(site.getsitepackages()[0] + \"/both.py\", \"w\").write(\"WHERE = 1\")'
            python -c 'import both; print(both.WHERE)'
            touch $(dirname $(readlink -f $(which tool)))/x && echo mine is writable
            (echo x > '@base@/x') 2>/dev/null || echo the base is not; echo $PROJECT $VIRTUAL_ENV";
        server.start(&script(1, &look.replace("@base@", &base.display().to_string()))).await;
        assert_eq!(server.off(part(1)).await, Exit::Code(0), "{}", server.text(part(1)));
        let text = server.text(part(1));
        let place = layer.display();
        let mut expected = vec![
            format!("{place}/bin/python"),
            format!("{place}/bin/tool"),
            format!("{place}"),
            format!("{place} base base"),
            "1".to_owned(),
            "mine is writable".to_owned(),
        ];
        // Root may write anywhere.
        expected.extend((kind != Kind::None).then(|| "the base is not".to_owned()));
        expected.push(format!("apollo {place}"));
        assert_eq!(text.lines().collect::<Vec<_>>(), expected, "{kind:?}");
        assert_eq!(std::fs::read_to_string(home.join("kept")).unwrap(), "kept\n");
        // A restart keeps the layer; a rebuild does not, and keeps the home.
        let again = "cat $HOME/kept; python -c 'import both; print(both.WHERE)'";
        set_up.generation = 2;
        assert_eq!(server.set_up(&set_up).await, None);
        server.start(&script(2, again)).await;
        server.off(part(2)).await;
        assert_eq!(server.text(part(2)), "kept\n1\n", "{kind:?}");
        (set_up.generation, set_up.layer) = (3, 2);
        assert_eq!(server.set_up(&set_up).await, None);
        server.start(&script(3, again)).await;
        server.off(part(3)).await;
        assert_eq!(server.text(part(3)), "kept\nbase\n", "{kind:?}");
        assert!(!layer.exists());
        wait_until("the old layer to go", PATIENCE, || {
            let left = std::fs::read_dir(agent.instance()).unwrap().flatten();
            let names = left.map(|entry| entry.file_name().to_string_lossy().into_owned());
            (!names.into_iter().any(|name| name.starts_with(".gone"))).then_some(())
        });
    }
}

#[tokio::test]
async fn the_same_generation_again_says_the_same_and_an_older_one_nothing() {
    let (agent, mut server) = best().await;
    let mut set_up = agent.set_up_with(web());
    set_up.generation = 5;
    assert_eq!(server.set_up(&set_up).await, None);
    let ready = server.app(AppState::Ready).await;
    assert!(ready.took_ms.is_some());
    let pids = processes_with("serve_forever");
    for generation in [5, 4, 5] {
        set_up.generation = generation;
        server.say(&ToAgent::SetUp(Box::new(set_up.clone()))).await;
    }
    server.until("the answer to come again", |server| (count(&server.events, is_set_up) == 3).then_some(())).await;
    // Nothing was started again, and the first time that it answered was said once.
    assert_eq!(processes_with("serve_forever"), pids);
    assert_eq!(count(&server.events, |event| matches!(event, Event::Healthy { generation: 5, .. })), 1);
    // A later one begins anew.
    set_up.generation = 6;
    server.set_up(&set_up).await;
    let is_healthy = |event: &Event| matches!(event, Event::Healthy { generation: 6, .. });
    server.until("it to be healthy again", |server| (count(&server.events, is_healthy) == 1).then_some(())).await;
    assert!(processes_with("serve_forever").iter().all(|pid| !pids.contains(pid)));
}

#[tokio::test]
async fn what_cannot_be_set_up_is_said_in_words() {
    let (agent, mut server) = best().await;
    let mut set_up = agent.set_up();
    std::fs::create_dir_all(agent.instance().parent().unwrap()).unwrap();
    std::fs::write(agent.instance(), "in the way").unwrap();
    let why = server.set_up(&set_up).await.unwrap();
    assert!(why.contains("instance-3 cannot be made"), "{why}");
    std::fs::remove_file(agent.instance()).unwrap();
    set_up.generation = 2;
    if is_root() {
        set_up.person.uid = None;
        assert!(server.set_up(&set_up).await.unwrap().contains("no user of the system"));
    }
    // Without an environment there is an instance, and applications say why they do not run.
    let mut set_up = agent.set_up_with(web());
    set_up.generation = 3;
    set_up.apps[0].argv[0] = "{layer}/bin/python".to_owned();
    assert_eq!(server.set_up(&set_up).await, None);
    let failed = server.app(AppState::Failed).await;
    assert!(failed.last_lines[0].contains("There is no environment"), "{failed:?}");
    set_up.generation = 4;
    set_up.apps[0].argv[0] = "no-such-program".to_owned();
    assert_eq!(server.set_up(&set_up).await, None);
    let failed = server.app(AppState::Failed).await;
    assert!(failed.last_lines[0].contains("“no-such-program” was not found"), "{failed:?}");
    let why = server.open(app_target()).await.err().unwrap();
    assert!(why.starts_with("web does not run; its last lines:\nIt cannot be started"), "{why}");
}

#[tokio::test]
async fn an_application_that_crashes_comes_back_and_one_that_always_does_fails_with_its_last_lines() {
    let (agent, mut server) = best().await;
    server.set_up(&agent.set_up_with(web())).await;
    server.app(AppState::Ready).await;
    let mut stream = server.open(app_target()).await.unwrap();
    tokio::io::AsyncWriteExt::write_all(&mut stream, b"GET /crash HTTP/1.1\r\n\r\n").await.unwrap();
    let ended = server.app(AppState::BackingOff).await;
    assert!(ended.last_lines.last().unwrap().starts_with("It ended with code 7"), "{ended:?}");
    let back = server.app(AppState::Ready).await;
    assert_eq!(back.restarts, 1);
    let mut stream = server.open(app_target()).await.unwrap();
    assert_eq!(request(&mut stream, "GET /x HTTP/1.1\r\nhost: x\r\n\r\n").await, "hello from /x");
    let mut set_up = agent.set_up_with(python("print('line one'); print('out of luck'); raise SystemExit(3)"));
    set_up.generation = 2;
    server.set_up(&set_up).await;
    let failed = server.app(AppState::Failed).await;
    assert_eq!(failed.restarts, 4);
    assert_eq!(failed.last_lines[..2], ["line one", "out of luck"]);
    assert!(failed.last_lines[2].starts_with("It ended with code 3"), "{failed:?}");
    let why = server.open(app_target()).await.err().unwrap();
    assert!(why.contains("web does not run") && why.contains("out of luck"), "{why}");
    let log = std::fs::read_to_string(agent.instance().join("logs/web.log")).unwrap();
    assert_eq!(log.matches("out of luck").count(), 5);
}

#[tokio::test]
async fn applications_outlive_the_server() {
    let (agent, mut server) = best().await;
    server.set_up(&agent.set_up_with(web())).await;
    server.app(AppState::Ready).await;
    let pids = processes_with("serve_forever");
    server.drop_link();
    server.instance.apps.clear();
    server.welcome().await;
    // Said again without being asked.
    server.app(AppState::Ready).await;
    assert_eq!(processes_with("serve_forever"), pids);
    let mut stream = server.open(app_target()).await.unwrap();
    assert_eq!(request(&mut stream, "GET /x HTTP/1.1\r\nhost: x\r\n\r\n").await, "hello from /x");
}

fn signal(activity: &Activity, source: Source) -> Signal {
    activity.signals.iter().find(|signal| signal.source == source).unwrap().clone()
}

#[tokio::test]
async fn what_goes_on_is_told_and_our_own_questions_do_not_count() {
    let (agent, mut server) = best().await;
    server.set_up(&agent.set_up_with(web())).await;
    server.app(AppState::Ready).await;
    // Starting it was work; from then on it is quiet, however often it is asked.
    server.activity().await;
    for _ in 0..5 {
        let quiet = server.activity().await;
        assert_eq!(quiet.instance, INSTANCE);
        assert!(quiet.signals.iter().all(|signal| !signal.is_active), "{quiet:?}");
    }
    let quiet = server.activity().await;
    assert_eq!(&*signal(&quiet, Source::Kernel).detail, "no kernel runs");
    assert_eq!(&*signal(&quiet, Source::Terminal).detail, "no terminal is open");
    assert!(signal(&quiet, Source::Processor).detail.ends_with("% of a core"));
    assert!(quiet.processes.iter().any(|process| process.name.starts_with("python3")), "{quiet:?}");
    // A kernel that is busy, with its notebook.
    let home = agent.instance().join("home");
    std::fs::write(
        home.join("kernels.json"),
        r#"[{"id": "k", "execution_state": "busy"}, {"id": "l", "execution_state": "idle"}]"#,
    )
    .unwrap();
    std::fs::write(home.join("sessions.json"), r#"[{"path": "analysis.ipynb", "kernel": {"id": "k"}}]"#).unwrap();
    let busy = signal(&server.activity().await, Source::Kernel);
    assert!(busy.is_active && &*busy.detail == "analysis.ipynb busy", "{busy:?}");
    std::fs::write(home.join("kernels.json"), r#"[{"id": "k", "execution_state": "idle"}]"#).unwrap();
    let idle = signal(&server.activity().await, Source::Kernel);
    assert!(!idle.is_active && &*idle.detail == "1 kernel, not busy", "{idle:?}");
    // Somebody types; then they only look.
    let mut terminal = server.terminal("1").await;
    terminal.type_in("echo t''yped\n").await;
    terminal.until("typed\r\n").await;
    let typing = signal(&server.activity().await, Source::Terminal);
    assert!(typing.is_active && typing.detail.starts_with("terminal 1: 13 bytes typed"), "{typing:?}");
    server.activity().await;
    let looking = signal(&server.activity().await, Source::Terminal);
    assert!(!looking.is_active && &*looking.detail == "1 terminal, quiet", "{looking:?}");
    // A program that says nothing and works hard.
    terminal.type_in("while :; do :; done &\n").await;
    terminal.until("[1]").await;
    server.activity().await;
    // On a machine that has much else to do it may take a few looks until it got its share.
    let working = loop {
        let activity = server.activity().await;
        if signal(&activity, Source::Processor).is_active {
            break activity;
        }
    };
    assert!(!signal(&working, Source::Terminal).is_active, "{working:?}");
    assert!(working.processes[0].cores > 0 && working.processes[0].name == "bash", "{working:?}");
    // A job.
    server.start(&script(1, "echo runs; sleep 1000")).await;
    server.printed(part(1), "runs").await;
    let job = signal(&server.activity().await, Source::Job);
    assert!(job.is_active && &*job.detail == "job-1 runs", "{job:?}");
}

#[tokio::test]
async fn nothing_is_left_when_the_node_ends() {
    for kind in kinds() {
        let (mut agent, mut server) = agent(kind).await;
        let marker = marker();
        // One that does not want to end, and what it has detached.
        let stubborn = format!(
            "import os, signal, subprocess, sys\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n\
             subprocess.Popen(['setsid', 'sleep', '{marker}'])\nimport time\ntime.sleep(1000)"
        );
        server.set_up(&agent.set_up_with(python(&stubborn))).await;
        let mut terminal = server.terminal("1").await;
        terminal.type_in(&format!("sleep {marker} & echo be''gun\n")).await;
        terminal.until("begun").await;
        wait_until("both to run", PATIENCE, || (processes_with(&format!("sleep {marker}")).len() >= 2).then_some(()));
        server.say(&ToAgent::Quit { grace: Span::millis(300) }).await;
        server.until_closed().await;
        assert!(agent.ended().success());
        assert_eq!(processes_with(&marker), [0_u32; 0], "{kind:?}");
        assert!(agent.instance().join("home").exists());
    }
}

/// A small disk of its own.
struct Disk(std::path::PathBuf);

impl Disk {
    fn mount(at: &Path) -> Option<Self> {
        let mount = Command::new("mount").args(["-t", "tmpfs", "-o", "size=1m", "none"]).arg(at).status();
        mount.is_ok_and(|status| status.success()).then(|| Self(at.to_owned()))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        drop(Command::new("umount").arg("-l").arg(&self.0).status());
    }
}

#[tokio::test]
async fn a_full_disk_stops_no_stop() {
    let (mut agent, mut server) = best().await;
    std::fs::create_dir_all(agent.instance()).unwrap();
    let Some(_disk) = Disk::mount(&agent.instance()) else {
        println!("skipped: nothing can be mounted here");
        return;
    };
    let marker = marker();
    let code = format!("import subprocess, time\nsubprocess.Popen(['sleep', '{marker}'])\ntime.sleep(1000)");
    assert_eq!(server.set_up(&agent.set_up_with(python(&code))).await, None);
    let mut terminal = server.terminal("1").await;
    terminal.type_in("head -c 3000000 /dev/zero > full; df . | tail -1; echo f''ull\n").await;
    let text = terminal.until("full\r\n").await;
    assert!(text.contains("100%"), "{text}");
    server.say(&ToAgent::Quit { grace: Span::seconds(2) }).await;
    server.until_closed().await;
    assert!(agent.ended().success());
    assert_eq!(processes_with(&marker), [0_u32; 0]);
}

#[tokio::test]
async fn applications_listen_where_the_path_is_too_long_for_a_socket() {
    for kind in kinds() {
        let (mut agent, mut server) = agent(kind).await;
        let mut set_up = agent.set_up_with(web());
        set_up.folder = agent.folder.path().join("a-very-long-name".repeat(8)).join("instance-3");
        std::fs::create_dir_all(set_up.folder.parent().unwrap()).unwrap();
        assert_eq!(server.set_up(&set_up).await, None, "{kind:?}");
        server.app(AppState::Ready).await;
        let mut stream = server.open(app_target()).await.unwrap();
        assert_eq!(request(&mut stream, "GET /x HTTP/1.1\r\nhost: x\r\n\r\n").await, "hello from /x", "{kind:?}");
        let log = std::fs::read_to_string(set_up.folder.join("logs/web.log")).unwrap();
        let socket = log.lines().find_map(|line| line.strip_prefix("listens on ")).unwrap();
        assert!(socket.len() < 100, "{socket}");
        server.say(&ToAgent::Quit { grace: Span::seconds(1) }).await;
        server.until_closed().await;
        assert!(agent.ended().success());
        assert!(!Path::new(socket).exists() && !Path::new(socket).ancestors().nth(2).unwrap().join("run").exists());
    }
}

#[tokio::test]
async fn what_is_killed_with_its_sandbox_comes_back_in_a_new_one() {
    let (agent, mut server) = best().await;
    server.set_up(&agent.set_up_with(web())).await;
    server.app(AppState::Ready).await;
    let mut terminal = server.terminal("1").await;
    terminal.type_in("echo re''ady\n").await;
    terminal.until("ready").await;
    // In a private view one process looks after another.
    let is_ours = |pid: &u32| {
        parent(*pid)
            .into_iter()
            .flat_map(|above| [Some(above), parent(above)])
            .flatten()
            .any(|above| above == agent.pid())
    };
    for process in processes_with("launcher resident").into_iter().filter(is_ours) {
        // The other may be gone already.
        drop(Command::new("sh").args(["-c", "kill -9 \"$1\"", "sh", &process.to_string()]).status());
    }
    assert_eq!(terminal.ended().await, 137);
    server.app(AppState::BackingOff).await;
    server.app(AppState::Ready).await;
    let mut terminal = server.terminal("1").await;
    terminal.type_in("echo a''gain\n").await;
    terminal.until("again").await;
}

fn parent(pid: u32) -> Option<u32> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("PPid:")?.trim().parse().ok())
}

#[tokio::test]
async fn without_a_server_for_too_long_it_ends_the_instance_and_itself() {
    let (mut agent, mut server) = Agent::with_config(|config| config.alone_seconds = 1).await;
    let marker = marker();
    let code = format!("import subprocess, time\nsubprocess.Popen(['sleep', '{marker}'])\ntime.sleep(1000)");
    assert_eq!(server.set_up(&agent.set_up_with(python(&code))).await, None);
    wait_until("it to run", PATIENCE, || (!processes_with(&format!("sleep {marker}")).is_empty()).then_some(()));
    drop(server);
    assert!(agent.ended().success());
    assert_eq!(processes_with(&marker), [0_u32; 0]);
}

#[tokio::test]
async fn without_root_an_instance_works_too() {
    let mut agent = Agent::prepared();
    let nobody = is_root().then_some(65_534);
    let give = |path: &Path| std::os::unix::fs::chown(path, nobody, nobody).unwrap();
    let config = agent.folder.path().join("config.json");
    agent.config.write(&config).unwrap();
    let mut server = Server::unix(&agent.socket());
    for path in [agent.folder.path(), &config, &agent.socket()] {
        give(path);
    }
    agent.start_as(nobody);
    server.welcome().await;
    assert_eq!(server.set_up(&agent.set_up_with(web())).await, None);
    server.app(AppState::Ready).await;
    let mut stream = server.open(app_target()).await.unwrap();
    assert_eq!(request(&mut stream, "GET /x HTTP/1.1\r\nhost: x\r\n\r\n").await, "hello from /x");
    let mut terminal = server.terminal("1").await;
    // What nothing better limits is limited for each process.
    terminal.type_in("ulimit -v; echo d''one\n").await;
    assert!(terminal.until("done\r\n").await.contains("2097152"), "{}", terminal.text);
    // Where nothing counts for it, the work of processes is added up.
    terminal.type_in("while :; do :; done &\n").await;
    terminal.until("[1]").await;
    while !signal(&server.activity().await, Source::Processor).is_active {}
    server.say(&ToAgent::Quit { grace: Span::seconds(1) }).await;
    server.until_closed().await;
    assert!(agent.ended().success());
}

/// With an environment that has JupyterLab, named by `ATELIER_TEST_ENVIRONMENT`.
#[tokio::test]
async fn jupyter_lab_runs_with_its_kernels_in_the_layer() {
    let Some(base) = std::env::var_os("ATELIER_TEST_ENVIRONMENT") else {
        println!("skipped: ATELIER_TEST_ENVIRONMENT names no environment with JupyterLab");
        return;
    };
    for kind in kinds().into_iter().filter(|kind| *kind != Kind::None) {
        let (agent, mut server) = agent(kind).await;
        let argv = [
            "{layer}/bin/python",
            "-m",
            "jupyterlab",
            "--no-browser",
            "--ServerApp.sock={socket}",
            "--ServerApp.sock_mode=0600",
            "--ServerApp.root_dir={home}",
            "--ServerApp.base_url=/",
            "--ServerApp.allow_remote_access=True",
            "--IdentityProvider.token=",
            "--PasswordIdentityProvider.hashed_password=",
        ];
        let mut app = web();
        (app.argv, app.health) = (argv.map(ToOwned::to_owned).to_vec(), "/api".to_owned());
        let mut set_up = agent.set_up_with(app);
        set_up.base = Some(base.clone().into());
        assert_eq!(server.set_up(&set_up).await, None);
        let ready = server.app(AppState::Ready).await;
        let log = std::fs::read_to_string(agent.instance().join("logs/setup-1.log")).unwrap();
        println!("{kind:?}: {log}JupyterLab answers after {:?} ms", ready.took_ms);
        let mut stream = server.open(app_target()).await.unwrap();
        let ask =
            "POST /api/kernels HTTP/1.1\r\nhost: x\r\ncookie: _xsrf=x\r\nx-xsrftoken: x\r\ncontent-length: 2\r\n\r\n{}";
        let kernel = request(&mut stream, ask).await;
        assert!(kernel.contains("\"name\": \"python3\""), "{kernel}");
        let page = request(&mut stream, "GET /lab HTTP/1.1\r\nhost: x\r\n\r\n").await;
        assert!(page.contains("JupyterLab"), "{page}");
        let found = loop {
            let activity = server.activity().await;
            let found = signal(&activity, Source::Kernel);
            if &*found.detail == "1 kernel, not busy"
                && activity.processes.iter().any(|process| process.name.contains("ipykernel"))
            {
                break activity;
            }
        };
        println!("{kind:?}: {found:#?}");
        let mut terminal = server.terminal("1").await;
        terminal.type_in("pip --version; which jupyter pip; jupyter --version | head -3; echo d''one\n").await;
        println!("{}", terminal.until("done\r\n").await);
    }
}
