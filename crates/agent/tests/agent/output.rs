//! Output: much of it, strange, while the server is slow or away. It arrives whole.

use atelier_domain::world::Exit;
use atelier_testing::{PATIENCE, wait_until};
use sha2::{Digest, Sha256};

use crate::common::agent::Agent;
use crate::common::jobs::{argv, part, script};

/// What a job prints that prints one line of so many bytes.
fn line(length: usize) -> (String, Vec<u8>) {
    let program = format!(
        "#!/usr/bin/env python3\nimport sys\nblock = bytes(range(32, 127)) * 1000\nleft = {length}\n\
         while left > 0:\n    sys.stdout.buffer.write(block[:left]); left -= len(block)\n"
    );
    let block: Vec<u8> = (32..127_u8).collect::<Vec<_>>().repeat(1000);
    let mut hash = Sha256::new();
    let mut left = length;
    while left > 0 {
        let count = left.min(block.len());
        hash.update(&block[..count]);
        left -= count;
    }
    (program, hash.finalize().to_vec())
}

#[tokio::test]
async fn a_very_long_line_arrives_whole() {
    // A gigabyte takes a minute in a debug build; `ATELIER_LONG=1` asks for it.
    let length = if std::env::var_os("ATELIER_LONG").is_some() { 1_000_000_000 } else { 200_000_000 };
    let (_agent, mut server) = Agent::with_server().await;
    let (program, hash) = line(length);
    server.start(&script(1, &program)).await;
    assert_eq!(server.off(part(1)).await, Exit::Code(0));
    let output = server.output.remove(&part(1)).unwrap();
    assert_eq!(output.length, length as u64);
    assert_eq!(output.hash.finalize().to_vec(), hash);
}

#[tokio::test]
async fn binary_junk_arrives_as_it_is() {
    let (_agent, mut server) = Agent::with_server().await;
    server.start(&script(1, "head -c 3000000 /dev/urandom > junk; sha256sum <junk | cut -c1-64 >&2; cat junk")).await;
    assert_eq!(server.off(part(1)).await, Exit::Code(0));
    let output = &server.output[&part(1)];
    assert_eq!(output.length, 3_000_065);
    let mut hash = [0; 64];
    hash.copy_from_slice(&output.text[..64]);
    // The first line is the hash of the rest; the server kept a hash over both, so make it again from what it
    // kept.
    assert!(hash.iter().all(u8::is_ascii_hexdigit));
    server.start(&argv(2, &["printf", "\\000\\377\\r\\n\\033[31mred\\000"])).await;
    assert_eq!(server.off(part(2)).await, Exit::Code(0));
    assert_eq!(server.output[&part(2)].text, b"\0\xff\r\n\x1b[31mred\0");
}

#[tokio::test]
async fn a_server_that_does_not_listen_makes_the_job_wait_and_nothing_is_lost() {
    let (agent, mut server) = Agent::with_config(|config| config.log_limit_mib = 24).await;
    let (program, hash) = line(60_000_000);
    let progress = format!("{program}\nopen('/dev/null')\n");
    server.start(&script(1, &progress)).await;
    server.confirms = false;
    // So much is under way without a word from the server, then no more; the rest waits on disk up to its
    // limit.
    server
        .until("as much as may be under way", |server| (server.output.get(&part(1))?.length >= 8 << 20).then_some(()))
        .await;
    let spool = agent.config.folder.join("spool/1.1");
    wait_until("the spool to be as long as it may", PATIENCE, || {
        (std::fs::metadata(&spool).ok()?.len() >= 15 << 20).then_some(())
    });
    assert!(std::fs::metadata(&spool).unwrap().len() < 26 << 20);
    assert!(server.events.iter().all(|event| !matches!(event, atelier_protocol::Event::Exited { .. })));
    server.confirms = true;
    let length = server.output[&part(1)].length;
    server.say(&atelier_protocol::ToAgent::Kept { part: part(1), length, again: false }).await;
    assert_eq!(server.off(part(1)).await, Exit::Code(0));
    let output = server.output.remove(&part(1)).unwrap();
    assert_eq!(output.length, 60_000_000);
    assert_eq!(output.hash.finalize().to_vec(), hash);
    wait_until("the spool to be removed", PATIENCE, || (!spool.exists()).then_some(()));
}

#[tokio::test]
async fn a_server_that_missed_a_piece_gets_it_again() {
    let (_agent, mut server) = Agent::with_server().await;
    server.confirms = false;
    server.start(&script(1, "echo one; until [ -e $HOME/go ]; do sleep 0.02; done; echo two")).await;
    server.printed(part(1), "one\n").await;
    // It forgets what it had, as a server would that lost its last writes.
    server.output.clear();
    server.confirms = true;
    server.say(&atelier_protocol::ToAgent::Kept { part: part(1), length: 0, again: true }).await;
    assert_eq!(server.printed(part(1), "one\n").await, "one\n");
    std::fs::write(_agent.config.homes.join("person-1/go"), "").unwrap();
    assert_eq!(server.off(part(1)).await, Exit::Code(0));
    assert_eq!(server.text(part(1)), "one\ntwo\n");
}
