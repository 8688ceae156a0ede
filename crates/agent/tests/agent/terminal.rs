//! Terminals: they outlive those who look, and end with the instance.

use atelier_domain::time::Span;
use atelier_protocol::ToAgent;
use atelier_testing::wait_until;

use crate::common::PATIENCE;
use crate::common::agent::{marker, processes_with};
use crate::common::hosting::{Kind, agent, best, kinds, terminal_target};

#[tokio::test]
async fn what_is_typed_runs_as_the_person_in_their_home() {
    for kind in kinds() {
        let (agent, mut server) = agent(kind).await;
        assert_eq!(server.set_up(&agent.set_up()).await, None, "{kind:?}");
        let mut terminal = server.terminal("1").await;
        terminal.resize(93, 27).await;
        terminal
            .type_in("echo $((40 + 2)) $PROJECT $CI_NAME $CI_WORKSPACE; stty size; id -u; pwd; tty; echo d''one\n")
            .await;
        let text = terminal.until("done\r\n").await;
        assert!(text.contains("42 apollo anna-ws lab"), "{kind:?}: {text}");
        assert!(text.contains("27 93"), "{kind:?}: {text}");
        let (uid, home) = match kind {
            Kind::View => ("70001", "/home/handle1".to_owned()),
            Kind::Users => ("70001", agent.instance().join("home").display().to_string()),
            Kind::None => ("0", agent.instance().join("home").display().to_string()),
        };
        if crate::common::agent::is_root() {
            assert!(text.contains(&format!("\n{uid}\r")), "{kind:?}: {text}");
        }
        assert!(text.contains(&format!("\n{home}\r")) && text.contains("/dev/pts/"), "{kind:?}: {text}");
        // The layer's programs come first, also in a login shell; keys that end a program reach it.
        terminal.type_in("echo first is ${PATH%%:*}; sleep 977977; echo in''terrupted $?\n").await;
        terminal.until(&format!("first is {}/layers/1/bin", agent.instance().display())).await;
        wait_until("the program to run", PATIENCE, || (!processes_with("sleep 977977").is_empty()).then_some(()));
        terminal.type_in("\u{3}").await;
        terminal.type_in("echo in''terrupted $?\n").await;
        terminal.until("interrupted 130").await;
        server.until("it to be named", |server| (server.instance.apps.last()?.terminals == ["1"]).then_some(())).await;
        terminal.type_in("exit 5\n").await;
        assert_eq!(terminal.ended().await, 5);
        server
            .until("it to be forgotten", |server| server.instance.apps.last()?.terminals.is_empty().then_some(()))
            .await;
    }
}

#[tokio::test]
async fn a_shell_outlives_those_who_look_and_shows_what_it_showed() {
    let (agent, mut server) = best().await;
    server.set_up(&agent.set_up()).await;
    let mut first = server.terminal("work").await;
    first.type_in("kept=here; echo be''fore\n").await;
    first.until("before\r\n").await;
    drop(first);
    let mut again = server.terminal("work").await;
    again.until("before\r\n").await;
    // Two look at the same time, and see the same.
    let mut other = server.terminal("work").await;
    other.type_in("echo still $kept\n").await;
    other.until("still here").await;
    again.until("still here").await;
    // It also outlives the server.
    server.drop_link();
    server.welcome().await;
    server
        .until("how it does to be said again", |server| {
            (server.instance.apps.last()?.terminals == ["work"]).then_some(())
        })
        .await;
    let mut after = server.terminal("work").await;
    after.type_in("echo and now $kept\n").await;
    after.until("and now here").await;
    // Another name is another shell.
    let mut another = server.terminal("2").await;
    another.type_in("echo \"<$kept>\"\n").await;
    another.until("<>").await;
}

#[tokio::test]
async fn much_output_arrives_whole_and_the_last_of_it_is_remembered() {
    let (agent, mut server) = best().await;
    server.set_up(&agent.set_up()).await;
    let mut terminal = server.terminal("1").await;
    terminal.type_in("stty -echo; echo; seq 1 200000; echo al''l\n").await;
    let text = terminal.until("all\r\n").await;
    let numbers: Vec<u32> = text.lines().filter_map(|line| line.trim().parse().ok()).collect();
    assert!(numbers.iter().copied().eq(1..=200_000), "{} numbers came", numbers.len());
    let mut again = server.terminal("1").await;
    let text = again.until("all\r\n").await;
    assert!(text.len() <= 256 << 10, "{} bytes", text.len());
    let numbers: Vec<u32> = text.lines().filter_map(|line| line.trim().parse().ok()).collect();
    assert!(
        numbers.len() > 30_000 && numbers.windows(2).all(|two| two[0] + 1 == two[1]) && numbers.ends_with(&[200_000])
    );
}

#[tokio::test]
async fn somebody_who_does_not_read_stops_nobody() {
    let (agent, mut server) = best().await;
    server.set_up(&agent.set_up()).await;
    let _asleep = server.terminal("1").await;
    let mut awake = server.terminal("1").await;
    awake.type_in("stty -echo; echo; seq 1 400000; echo al''l\n").await;
    awake.until("all\r\n").await;
}

#[tokio::test]
async fn what_was_left_running_goes_on_until_the_instance_ends() {
    let (agent, mut server) = best().await;
    server.set_up(&agent.set_up()).await;
    let mut terminal = server.terminal("1").await;
    let marker = marker();
    terminal.type_in(&format!("nohup sleep {marker} > /dev/null 2>&1 & exit\n")).await;
    assert_eq!(terminal.ended().await, 0);
    // The shell may be gone before what it left behind has become `sleep`.
    atelier_testing::wait_until("it runs on", PATIENCE, || {
        (processes_with(&format!("sleep {marker}")).len() == 1).then_some(())
    });
    // The next with that name is a new one.
    let mut terminal = server.terminal("1").await;
    terminal.type_in("echo n''ew\n").await;
    terminal.until("new\r\n").await;
    server.say(&ToAgent::Quit { grace: Span::seconds(30) }).await;
    assert_eq!(terminal.ended().await, 129);
    server.until_closed().await;
    assert_eq!(processes_with(&format!("sleep {marker}")), [0_u32; 0]);
}

#[tokio::test]
async fn names_and_numbers_have_limits_and_there_must_be_an_instance() {
    let (agent, mut server) = best().await;
    let why = server.open(terminal_target("1")).await.err().unwrap();
    assert!(why.contains("no instance"), "{why}");
    server.set_up(&agent.set_up()).await;
    let why = server.open(terminal_target("../evil")).await.err().unwrap();
    assert!(why.contains("cannot be the name"), "{why}");
    let mut open = Vec::new();
    for number in 1..=16 {
        open.push(server.terminal(&number.to_string()).await);
    }
    let why = server.open(terminal_target("17")).await.err().unwrap();
    assert!(why.contains("16 terminals are open"), "{why}");
    open[4].type_in("exit\n").await;
    open[4].ended().await;
    server.terminal("17").await;
}

#[tokio::test]
async fn a_terminal_rescues_an_instance_whose_set_up_failed() {
    let (agent, mut server) = best().await;
    let mut set_up = agent.set_up();
    set_up.base = Some(agent.folder.path().join("environments/nowhere"));
    std::fs::create_dir_all(set_up.base.as_ref().unwrap()).unwrap();
    let why = server.set_up(&set_up).await.unwrap();
    assert!(why.contains("is not there"), "{why}");
    let mut terminal = server.terminal("1").await;
    terminal.type_in("echo res''cued\n").await;
    terminal.until("rescued\r\n").await;
}
