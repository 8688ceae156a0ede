//! The connection: joining, being away and coming back, being refused, being alone, leaving.

use atelier_domain::time::Span;
use atelier_domain::world::Exit;
use atelier_protocol::{Auth, Event, Limits, ToAgent};

use crate::common::agent::{Agent, marker, processes_with};
use crate::common::jobs::{NODE, argv, part, script};
use crate::common::{Listener, Server};

#[tokio::test]
async fn it_joins_with_its_token_and_the_same_secret_until_it_is_let_in() {
    let mut agent = Agent::prepared();
    let mut server = Server::unix(&agent.socket());
    agent.start();
    server.accept().await;
    // The welcome is lost.
    server.drop_link();
    server.welcome().await;
    server.drop_link();
    server.welcome().await;
    let secrets: Vec<(Option<&str>, &str)> = server
        .hellos
        .iter()
        .map(|hello| match &hello.auth {
            Auth::Join { token, secret } => (Some(token.as_str()), secret.as_str()),
            Auth::Known { secret } => (None, secret.as_str()),
        })
        .collect();
    let secret = secrets[0].1;
    assert_eq!(secret.len(), 64);
    assert_eq!(secrets, [(Some("the-token"), secret), (Some("the-token"), secret), (None, secret)]);
    let facts = &server.hellos[0].facts;
    assert_eq!((server.hellos[0].node, facts.pid), (NODE, agent.pid()));
    if atelier_confine::Confinement::detect().is_some() {
        assert!(matches!(facts.limits, Limits::CgroupV1 | Limits::CgroupV2));
    }
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &std::fs::metadata(agent.config.folder.join("secret")).unwrap().permissions(),
    );
    assert_eq!(mode & 0o777, 0o600);
}

#[tokio::test]
async fn a_second_agent_of_the_same_node_ends_at_once() {
    let (mut agent, _server) = Agent::with_server().await;
    let first = agent.child.take().unwrap();
    agent.start();
    assert!(!agent.ended().success());
    assert!(agent.log().contains(&format!("has an agent already: process {}", first.id())), "{}", agent.log());
    agent.child = Some(first);
}

#[tokio::test]
async fn events_and_output_arrive_once_although_the_server_was_away() {
    let (_agent, mut server) = Agent::with_server().await;
    let busy = "i=0; while [ $i -lt 200 ]; do echo line $i; i=$((i+1)); sleep 0.01; done";
    server.start(&script(1, busy)).await;
    server.start(&argv(2, &["echo", "quick"])).await;
    server.printed(part(1), "line 5\n").await;
    // Away with everything unconfirmed; what came is kept or not, as it happens.
    server.confirms = false;
    let (confirmed, known) = (server.heard, server.events.len());
    server.printed(part(1), "line 20\n").await;
    server.off(part(2)).await;
    let heard = server.heard;
    server.drop_link();
    server.heard = confirmed;
    server.events.truncate(known);
    server.off.clear();
    server.accept().await;
    assert!(server.hellos.last().unwrap().parts.contains(&part(1)));
    assert!(!server.hellos.last().unwrap().parts.contains(&part(2)));
    // Refused for a moment.
    server.say(&ToAgent::Refused { why: "not now".into(), again: true }).await;
    server.drop_link();
    server.confirms = true;
    server.welcome().await;
    assert_eq!(server.off(part(2)).await, Exit::Code(0));
    assert!(server.heard >= heard);
    // The same starts again, late.
    server.start(&script(1, busy)).await;
    server.start(&argv(2, &["echo", "quick"])).await;
    for _ in 0..5 {
        server.next().await;
        server.drop_link();
        server.welcome().await;
    }
    assert_eq!(server.off(part(1)).await, Exit::Code(0));
    let expected: String = (0..200).map(|number| format!("line {number}\n")).collect();
    assert_eq!(server.text(part(1)), expected);
    assert_eq!(server.text(part(2)), "quick\n");
    server.start(&script(1, "echo again")).await;
    server.start(&argv(3, &["true"])).await;
    server.off(part(3)).await;
    for number in [1, 2] {
        let ends =
            server.events.iter().filter(|event| matches!(event, Event::Off { part: of, .. } if *of == part(number)));
        assert_eq!(ends.count(), 1);
    }
    assert_eq!(server.text(part(1)), expected);
}

#[tokio::test]
async fn jobs_that_end_while_the_server_is_away_are_handed_over() {
    let (agent, mut server) = Agent::with_server().await;
    for number in 1..=3 {
        server
            .start(&script(
                number,
                "until [ -e $ATELIER_SHARED_DIR/go ]; do sleep 0.02; done; head -c 3000000 /dev/zero
                 : > $ATELIER_SHARED_DIR/over-$ATELIER_JOB; exit 4",
            ))
            .await;
    }
    server.started(part(1)).await;
    server.started(part(3)).await;
    server.drop_link();
    std::fs::write(agent.config.shared.join("go"), "").unwrap();
    atelier_testing::wait_until("the jobs to end", crate::common::PATIENCE, || {
        let over = (1..=3).filter(|job| agent.config.shared.join(format!("over-job-{job}")).exists());
        (over.count() == 3).then_some(())
    });
    server.welcome().await;
    for number in 1..=3 {
        assert_eq!(server.off(part(number)).await, Exit::Code(4));
        assert_eq!(server.output[&part(number)].length, 3_000_000);
    }
}

#[tokio::test]
async fn refused_for_now_it_comes_back_by_itself() {
    let mut agent = Agent::prepared();
    let mut server = Server::unix(&agent.socket());
    agent.start();
    for _ in 0..3 {
        server.accept().await;
        server.say(&ToAgent::Refused { why: "not now".into(), again: true }).await;
        // It hangs up; the server does not.
        server.until_closed().await;
    }
    server.welcome().await;
    server.start(&argv(1, &["true"])).await;
    assert_eq!(server.off(part(1)).await, Exit::Code(0));
}

#[tokio::test]
async fn refused_for_good_it_finishes_its_jobs_and_ends() {
    let (mut agent, mut server) = Agent::with_server().await;
    server.start(&script(1, "sleep 0.3; echo done > $ATELIER_OUTPUT_DIR/file")).await;
    server.started(part(1)).await;
    server.drop_link();
    server.accept().await;
    server.say(&ToAgent::Refused { why: "unknown".into(), again: false }).await;
    assert!(agent.ended().success());
    assert_eq!(std::fs::read_to_string(agent.config.jobs.join("person-1/1.1.0/outputs/file")).unwrap(), "done\n");
}

#[tokio::test]
async fn alone_for_good_it_finishes_its_jobs_and_ends_itself() {
    let (mut agent, mut server) = Agent::with_config(|config| config.alone_seconds = 1).await;
    server.start(&script(1, "sleep 2; echo done > $ATELIER_OUTPUT_DIR/file")).await;
    server.started(part(1)).await;
    drop(server);
    std::fs::remove_file(agent.socket()).unwrap();
    assert!(agent.ended().success());
    assert_eq!(std::fs::read_to_string(agent.config.jobs.join("person-1/1.1.0/outputs/file")).unwrap(), "done\n");
}

#[tokio::test]
async fn it_drains_and_says_so_each_time() {
    let (_agent, mut server) = Agent::with_server().await;
    let drained = |count: usize| {
        move |server: &Server| {
            (server.events.iter().filter(|event| **event == Event::Drained).count() == count).then_some(())
        }
    };
    server.say(&ToAgent::Drain).await;
    server.until("it to be drained", drained(1)).await;
    server.start(&script(1, "sleep 0.2")).await;
    server.say(&ToAgent::Drain).await;
    server.until("it to be drained again", drained(2)).await;
    assert!(server.off.contains(&part(1)));
    server.say(&ToAgent::Drain).await;
    server.until("it to be drained a third time", drained(3)).await;
}

#[tokio::test]
async fn told_to_go_it_ends_its_jobs_and_leaves_nothing() {
    let (mut agent, mut server) = Agent::with_server().await;
    let marker = marker();
    server
        .start(&script(1, &format!("trap '' TERM; setsid sleep {marker} & echo ready; sleep {marker}; sleep {marker}")))
        .await;
    server.printed(part(1), "ready").await;
    server.say(&ToAgent::Quit { grace: Span::millis(100) }).await;
    assert_eq!(server.off(part(1)).await, Exit::Code(137));
    server.until("it to say goodbye", |server| server.leaving.clone()).await;
    assert!(agent.ended().success());
    assert_eq!(processes_with(&marker), [0_u32; 0]);
    if let Some(confinement) = atelier_confine::Confinement::detect() {
        assert!(!confinement.node(&agent.config.installation, NODE.0).exists());
    }
}

#[tokio::test]
async fn a_signal_ends_it_like_the_server_would() {
    let (mut agent, mut server) = Agent::with_server().await;
    server.start(&argv(1, &["sleep", "1000"])).await;
    server.started(part(1)).await;
    atelier_testing::terminate(agent.pid()).unwrap();
    assert_eq!(server.off(part(1)).await, Exit::Code(143));
    assert!(agent.ended().success());
}

#[tokio::test]
async fn killed_it_takes_its_jobs_along() {
    let (mut agent, mut server) = Agent::with_server().await;
    let marker = marker();
    server.start(&script(1, &format!("setsid sleep {marker} & echo ready; sleep {marker}"))).await;
    server.printed(part(1), "ready").await;
    agent.child.as_mut().unwrap().kill().unwrap();
    agent.ended();
    atelier_testing::wait_until("its jobs to end", crate::common::PATIENCE, || {
        processes_with(&marker).is_empty().then_some(())
    });
}

#[tokio::test]
async fn it_speaks_over_tcp_and_says_how_the_node_is_doing() {
    let mut agent = Agent::prepared();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    agent.config.server = format!("ws://{}/agent", listener.local_addr().unwrap());
    let mut server = Server::on(Listener::Tcp(listener));
    agent.start();
    server.welcome().await;
    server.start(&script(1, "while :; do :; done")).await;
    let found = |server: &Server| {
        server.samples.iter().find(|sample| sample.parts.iter().any(|part| part.cores > 100)).cloned()
    };
    let sample = server.until("a sample of a busy node", found).await;
    assert!(sample.cores > 100 && sample.disk_total > sample.disk_free && sample.disk_free > 0, "{sample:?}");
    assert_eq!((sample.parts[0].part, sample.parts[0].processes, sample.gpus.len()), (part(1), 1, 0));
}

#[tokio::test]
async fn a_socket_with_a_long_path_is_found() {
    let mut agent = Agent::prepared();
    let folder = agent.folder.path().join("a".repeat(60)).join("b".repeat(60));
    std::fs::create_dir_all(&folder).unwrap();
    let near = agent.folder.path().join("near");
    std::os::unix::fs::symlink(&folder, &near).unwrap();
    let mut server = Server::unix(&near.join("s"));
    agent.config.server = format!("unix:{}", folder.join("s").display());
    agent.start();
    server.welcome().await;
}

#[tokio::test]
async fn it_speaks_over_tls_and_trusts_nobody_else() {
    use std::sync::Arc;
    let mut agent = Agent::prepared();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let made = || rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let (ours, other) = (made(), made());
    let file = agent.folder.path().join("ca.pem");
    std::fs::write(&file, ours.cert.pem()).unwrap();
    agent.config.server = format!("wss://localhost:{}/agent", listener.local_addr().unwrap().port());
    agent.config.ca = Some(file);
    let acceptor = |certified: &rcgen::CertifiedKey<rcgen::KeyPair>| {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let key = rustls::pki_types::PrivateKeyDer::try_from(certified.signing_key.serialize_der()).unwrap();
        let config =
            rustls::ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let config = config.with_no_client_auth().with_single_cert(vec![certified.cert.der().clone()], key).unwrap();
        tokio_rustls::TlsAcceptor::from(Arc::new(config))
    };
    agent.start();
    let (stream, _) = listener.accept().await.unwrap();
    assert!(acceptor(&other).accept(stream).await.is_err());
    let (stream, _) = listener.accept().await.unwrap();
    let stream: Box<dyn crate::common::Stream> = Box::new(acceptor(&ours).accept(stream).await.unwrap());
    let mut server = Server::on(Listener::Tcp(listener));
    server.link = Some(tokio_tungstenite::accept_async(stream).await.unwrap());
    let hello = server.next().await;
    assert!(matches!(hello, Some(atelier_protocol::ToServer::Hello(_))));
}
