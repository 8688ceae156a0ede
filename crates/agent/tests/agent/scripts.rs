//! Scripts of instances: one after another, with an end, and without what is not theirs.

use atelier_protocol::AppState;

use crate::common::agent::{marker, processes_with};
use crate::common::hosting::{Kind, THROW_AWAY, agent, app_target, best, kinds, web};
use crate::common::jobs::{part, script};

#[tokio::test]
async fn scripts_run_one_after_another_before_the_applications() {
    for kind in kinds() {
        let (agent, mut server) = agent(kind).await;
        let mut set_up = agent.set_up_with(web());
        set_up.has_scripts = true;
        assert_eq!(server.set_up(&set_up).await, None);
        server.app(AppState::Waiting).await;
        assert_eq!(server.open(app_target()).await.err().unwrap(), "web starts when the instance is set up");
        let mut creation =
            server.script("creation", "echo $1 > made; echo $CI_NAME $CI_LOCAL_UBUNTU_USER $API_TOKEN; pwd; id -u");
        creation.arguments = vec!["two words".to_owned(), "more".to_owned()];
        let startup = server.script("startup", "#!/usr/bin/env python3\nprint('python', open('made').read())");
        let (creation_done, failure) = server.run_scripts(1, vec![creation, startup], true).await;
        assert_eq!((creation_done, failure), (true, None), "{kind:?}");
        server.app(AppState::Ready).await;
        let log = std::fs::read_to_string(agent.instance().join("logs/setup-1.log")).unwrap();
        let home = if kind == Kind::View {
            "/home/handle1".to_owned()
        } else {
            agent.instance().join("home").display().to_string()
        };
        assert!(log.contains(&format!("anna-ws handle1 secret\n{home}\n")), "{kind:?}: {log}");
        assert!(log.contains("python two words"), "{kind:?}: {log}");
        assert_eq!(std::fs::read_to_string(agent.instance().join("home/made")).unwrap(), "two words\n");
    }
}

#[tokio::test]
async fn a_script_that_fails_keeps_applications_from_starting_and_says_why() {
    let (agent, mut server) = best().await;
    let mut set_up = agent.set_up_with(web());
    set_up.has_scripts = true;
    server.set_up(&set_up).await;
    let marker = marker();
    let creation = server.script("creation", "echo fine");
    let startup =
        server.script("startup", &format!("setsid sleep {marker} & echo one; echo the disk is too small >&2; exit 3"));
    let never = server.script("later", "touch never");
    let (creation_done, failure) = server.run_scripts(1, vec![creation, startup, never], true).await;
    let failure = failure.unwrap();
    assert!(
        creation_done && failure.starts_with("the startup script ended with code 3 after 0 s; its last lines:\n"),
        "{failure}"
    );
    assert!(failure.ends_with("one\nthe disk is too small"), "{failure}");
    assert_eq!(processes_with(&format!("sleep {marker}")), [0_u32; 0]);
    assert!(!agent.instance().join("home/never").exists());
    let why = server.open(app_target()).await.err().unwrap();
    assert_eq!(why, "web was not started, since a set-up script has failed");
    // A terminal opens, and a restart tries again.
    server.terminal("1").await;
    set_up.generation = 2;
    server.set_up(&set_up).await;
    let startup = server.script("startup", "true");
    assert_eq!(server.run_scripts(2, vec![startup], true).await.1, None);
    server.app(AppState::Ready).await;
}

#[tokio::test]
async fn a_script_that_takes_too_long_is_ended_with_all_it_started() {
    let (agent, mut server) = best().await;
    let mut set_up = agent.set_up();
    set_up.has_scripts = true;
    server.set_up(&set_up).await;
    let marker = marker();
    let mut slow =
        server.script("creation", &format!("trap '' TERM; setsid sleep {marker} & echo waits; sleep {marker}"));
    slow.limit_seconds = 1;
    let (creation_done, failure) = server.run_scripts(1, vec![slow], true).await;
    let failure = failure.unwrap();
    assert!(!creation_done && failure.contains("took longer than its limit of 1 s"), "{failure}");
    assert!(failure.ends_with("waits"), "{failure}");
    assert_eq!(processes_with(&marker), [0_u32; 0]);
    // A text that cannot be had is a failure too.
    set_up.generation = 2;
    server.set_up(&set_up).await;
    let mut gone = server.script("startup", "gone");
    server.blobs.clear();
    gone.blob = gone.blob.replace('a', "b");
    let failure = server.run_scripts(2, vec![gone], true).await.1.unwrap();
    assert!(failure.contains("the startup script cannot be had: it was removed"), "{failure}");
}

#[tokio::test]
async fn scripts_that_the_owner_has_not_accepted_see_nothing_of_theirs_and_leave_nothing() {
    for kind in kinds() {
        let (agent, mut server) = agent(kind).await;
        let mut set_up = agent.set_up_with(web());
        (set_up.has_scripts, set_up.base) = (true, Some(agent.base()));
        server.set_up(&set_up).await;
        // Something that is the owner's: in the home, in the layer, of a job.
        server
            .start(&script(
                1,
                "echo private > $HOME/private; echo mine > $VIRTUAL_ENV/mine; echo x > $ATELIER_OUTPUT_DIR/x",
            ))
            .await;
        server.off(part(1)).await;
        let look = server.script(
            "creation",
            "ls -A $HOME; cat $HOME/private; ls $VIRTUAL_ENV/mine /jobs; echo \"<$API_TOKEN>\"; echo $PROJECT
             python -c 'import base_module; print(base_module.WHERE)'
             echo planted > $HOME/planted; echo planted > $VIRTUAL_ENV/bin/planted && echo written; true",
        );
        let (creation_done, failure) = server.run_scripts(1, vec![look], false).await;
        assert_eq!((creation_done, failure), (true, None), "{kind:?}");
        let log = std::fs::read_to_string(agent.instance().join("logs/setup-1.log")).unwrap();
        assert!(log.contains("private': No such file") || log.contains("private: No such file"), "{kind:?}: {log}");
        assert!(log.contains("mine': No such file") && !log.contains("\nmine\n"), "{kind:?}: {log}");
        assert!(log.contains("<>\napollo\nbase\nwritten\n"), "{kind:?}: {log}");
        let shared_words = match kind {
            Kind::View => "",
            Kind::Users => "this node has no private views",
            Kind::None => "this node does not isolate people",
        };
        assert!(log.contains(shared_words) && log.contains("as a throw-away user"), "{kind:?}: {log}");
        if kind == Kind::View {
            assert!(!log.contains("1.1.0"), "{log}");
        }
        assert!(!agent.instance().join("home/planted").exists());
        assert!(!agent.instance().join("layers/1/bin/planted").exists());
        assert!(!agent.instance().join("scratch").exists());
        assert_eq!(std::fs::read_to_string(agent.instance().join("home/private")).unwrap(), "private\n");
        server.app(AppState::Ready).await;
    }
}

/// The attack: a Contributor's creation script, or an operator's `PUT …/scripts`, goes for the owner's files.
#[tokio::test]
async fn scripts_that_the_owner_has_not_accepted_reach_none_of_the_owners_files() {
    for kind in kinds().into_iter().filter(|kind| *kind != Kind::None) {
        let (agent, mut server) = agent(kind).await;
        let mut set_up = agent.set_up_with(web());
        set_up.has_scripts = true;
        server.set_up(&set_up).await;
        let mine = "cd $ATELIER_SHARED_DIR && echo payroll > Users/handle1/payroll && chmod 666 Users/handle1/payroll";
        server.start(&script(1, mine)).await;
        server.off(part(1)).await;
        let (shared, home) = (agent.config.shared.display(), agent.instance().join("home"));
        let attack = format!(
            "id -u; id -G
             for folder in /shared {shared} $ATELIER_SHARED_DIR; do
                 cat $folder/Users/handle1/payroll
                 echo planted > $folder/Users/handle1/planted
                 rm -f $folder/Users/handle1/payroll
             done
             ls -d /shared && echo has-files
             cat {}/.bashrc; echo planted > {}/planted
             echo \"<$ATELIER_URL><$ATELIER_TOKEN_FILE><$ATELIER_SHARED_DIR>\"; true",
            home.display(),
            home.display()
        );
        let attack = server.script("creation", &attack);
        let (_, failure) = server.run_scripts(1, vec![attack], false).await;
        assert_eq!(failure, None, "{kind:?}");
        let log = std::fs::read_to_string(agent.instance().join("logs/setup-1.log")).unwrap();
        assert!(log.contains(&format!("\n{THROW_AWAY}\n{THROW_AWAY}\n")), "{kind:?}: {log}");
        assert!(!log.contains("\npayroll\n") && !log.contains("has-files"), "{kind:?}: {log}");
        assert!(log.contains("<><><>"), "{kind:?}: {log}");
        let own = agent.config.shared.join("Users/handle1");
        assert_eq!(std::fs::read_to_string(own.join("payroll")).unwrap(), "payroll\n", "{kind:?}");
        assert!(!own.join("planted").exists() && !home.join("planted").exists(), "{kind:?}");
        // Once the owner has accepted them, they are the owner's own.
        set_up.generation = 2;
        server.set_up(&set_up).await;
        let accepted = server.script("creation", "id -u; cat $ATELIER_SHARED_DIR/Users/handle1/payroll");
        assert_eq!(server.run_scripts(2, vec![accepted], true).await.1, None, "{kind:?}");
        let log = std::fs::read_to_string(agent.instance().join("logs/setup-2.log")).unwrap();
        assert!(log.contains("70001\npayroll\n"), "{kind:?}: {log}");
    }
}

#[tokio::test]
async fn scripts_are_not_run_where_no_throw_away_user_is_named() {
    for kind in kinds().into_iter().filter(|kind| *kind != Kind::None) {
        for named in [None, Some(0), Some(70_001)] {
            let (agent, mut server) = agent(kind).await;
            let mut set_up = agent.set_up();
            set_up.has_scripts = true;
            server.set_up(&set_up).await;
            let creation = server.script("creation", "echo ran");
            let (is_done, failure) = server.run_scripts_as(1, vec![creation], false, named).await;
            assert!(!is_done && failure.unwrap().contains("named no throw-away user"), "{kind:?} {named:?}");
        }
    }
}
