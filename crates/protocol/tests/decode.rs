//! Whatever comes over the wire, decoding never panics; what is valid comes back as it was; what is too large
//! is refused.

use atelier_domain::UserId;
use atelier_domain::compute::{InstanceId, JobId, NodeId, Resources};
use atelier_domain::time::Span;
use atelier_domain::world::{AllocationKey, Exit};
use atelier_protocol::remote::{Endpoint, Screen, SessionStart};
use atelier_protocol::{
    App, Auth, Bytes, CustomApps, DecodeError, Event, Facts, Hello, JobEnvironment, MAX_BYTES, MAX_FRAME, MAX_HELLO,
    Numbered, Peer, Person, Run, Sample, Start, Target, Task, TaskFile, ToAgent, ToServer, decode_bytes, decode_first,
    decode_to_agent, decode_to_server, encode,
};
use proptest::prelude::*;

fn part() -> impl Strategy<Value = AllocationKey> {
    (any::<u64>(), any::<u32>(), any::<u64>()).prop_map(|(job, attempt, node)| AllocationKey {
        job: JobId(job),
        attempt,
        node: NodeId(node),
    })
}

fn exit() -> impl Strategy<Value = Exit> {
    prop_oneof![any::<i32>().prop_map(Exit::Code), Just(Exit::OutOfMemory), Just(Exit::TimedOut)]
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        part().prop_map(Event::Started),
        (part(), ".{0,50}").prop_map(|(part, detail)| Event::Refused { part, detail: detail.into() }),
        (part(), exit()).prop_map(|(part, exit)| Event::Exited { part, exit }),
        (part(), exit()).prop_map(|(part, exit)| Event::Off { part, exit }),
        part().prop_map(Event::GivenBack),
        Just(Event::Drained),
    ]
}

fn to_server() -> impl Strategy<Value = ToServer> {
    let auth = prop_oneof![
        (".{0,60}", ".{0,60}").prop_map(|(token, secret)| Auth::Join { token, secret }),
        ".{0,60}".prop_map(|secret| Auth::Known { secret }),
    ];
    let hello = (any::<u32>(), any::<u64>(), auth, prop::collection::vec(part(), 0..20)).prop_map(
        |(protocol, node, auth, parts)| {
            ToServer::Hello(Box::new(Hello {
                protocol,
                node: NodeId(node),
                auth,
                facts: Facts::default(),
                parts,
                more: false,
            }))
        },
    );
    let events = prop::collection::vec((any::<u64>(), event()), 0..20).prop_map(|events| {
        ToServer::Events(events.into_iter().map(|(number, event)| Numbered { number, event }).collect())
    });
    let sample = any::<u64>().prop_map(|over| ToServer::Sample(Box::new(Sample { over, ..Sample::default() })));
    let fetch = ("[a-f0-9]{64}", any::<u64>()).prop_map(|(blob, offset)| ToServer::Fetch { blob, offset });
    let identify = "[a-z0-9-]{1,40}".prop_map(|person| ToServer::Identify { person: UserId::new(person) });
    prop_oneof![hello, events, sample, fetch, identify, ".{0,50}".prop_map(|why| ToServer::Leaving { why: why.into() })]
}

fn start() -> impl Strategy<Value = ToAgent> {
    let run =
        prop_oneof![prop::collection::vec(".{0,20}", 0..10).prop_map(Run::Argv), "(?s).{0,200}".prop_map(Run::Script),];
    let pairs = prop::collection::vec((".{0,20}", ".{0,20}"), 0..10);
    (part(), run, pairs, any::<bool>(), any::<u32>()).prop_map(|(part, run, pairs, is_alone, number)| {
        let files =
            pairs.iter().map(|(path, blob)| TaskFile { path: path.clone(), blob: blob.clone(), size: 1 }).collect();
        let peers = pairs.iter().map(|(host, _)| Peer { node: NodeId(1), host: host.clone() }).collect();
        ToAgent::Start(Box::new(Start {
            part,
            rank: number,
            peers,
            shape: Resources::new(1, 2, 3),
            timeout: is_alone.then(|| Span::seconds(number)),
            grace: Span::seconds(5),
            array: is_alone.then_some((JobId(1), number, number)),
            person: Person { id: UserId::new("x"), handle: "x".to_owned(), uid: is_alone.then_some(number) },
            environment: is_alone
                .then(|| JobEnvironment { path: format!("/e/{number}").into(), name: "churn:3".to_owned() }),
            task: Task { run, environment: pairs, files, is_alone },
        }))
    })
}

fn custom_apps() -> impl Strategy<Value = ToAgent> {
    let app = (".{0,16}", prop::collection::vec(".{0,20}", 0..5), any::<Option<u16>>(), any::<bool>()).prop_map(
        |(name, argv, port, has_open_network)| App {
            environment: vec![(name.clone(), name.clone())],
            name,
            argv,
            port,
            has_open_network,
            is_custom: true,
            ..App::default()
        },
    );
    (any::<u64>(), any::<i64>(), prop::collection::vec(app, 0..4)).prop_map(|(instance, revision, apps)| {
        ToAgent::Apps(Box::new(CustomApps { instance: InstanceId(instance), revision, apps }))
    })
}

fn target() -> impl Strategy<Value = Target> {
    let instance = InstanceId(7);
    let session = (proptest::option::of(".{0,50}"), any::<Option<(u16, u16)>>(), ".{0,20}").prop_map(
        move |(command, size, term)| {
            let terminal = size.map(|(columns, rows)| Screen { term: term.clone(), columns, rows });
            let start = SessionStart { command, terminal, environment: vec![("LANG".to_owned(), term)] };
            Target::Session { instance, start: Box::new(start) }
        },
    );
    let endpoint = prop_oneof![
        (".{0,30}", any::<u16>()).prop_map(|(host, port)| Endpoint::Tcp { host, port }),
        ".{0,30}".prop_map(Endpoint::Socket),
    ];
    let connect = endpoint.prop_map(move |to| Target::Connect { instance, to });
    prop_oneof![session, connect, Just(Target::Sftp { instance })]
}

fn to_agent() -> impl Strategy<Value = ToAgent> {
    prop_oneof![
        start(),
        (any::<u64>(), prop::collection::vec((part(), any::<u64>()), 0..20))
            .prop_map(|(heard, kept)| ToAgent::Welcome { heard, kept }),
        (".{0,50}", any::<bool>()).prop_map(|(why, again)| ToAgent::Refused { why: why.into(), again }),
        any::<u64>().prop_map(ToAgent::Heard),
        (part(), any::<u64>(), any::<bool>()).prop_map(|(part, length, again)| ToAgent::Kept { part, length, again }),
        (part(), any::<u32>(), any::<bool>()).prop_map(|(part, grace, is_preempted)| {
            let grace = Span::seconds(grace);
            ToAgent::End { part, grace, is_preempted }
        }),
        custom_apps(),
        (any::<u64>(), ".{0,20}")
            .prop_map(|(instance, name)| ToAgent::RestartApp { instance: InstanceId(instance), name }),
        Just(ToAgent::Drain),
        Just(ToAgent::Undrain),
        (".{0,70}", ".{0,50}").prop_map(|(blob, why)| ToAgent::NoFile { blob, why: why.into() }),
        any::<u32>().prop_map(|grace| ToAgent::Quit { grace: Span::seconds(grace) }),
        (".{0,40}", target()).prop_map(|(ticket, target)| ToAgent::Open { ticket, target }),
    ]
}

fn bytes() -> impl Strategy<Value = Bytes> {
    let content = || prop::collection::vec(any::<u8>(), 0..2_000);
    prop_oneof![
        (part(), 0..u64::MAX / 2, content()).prop_map(|(part, offset, bytes)| Bytes::Output { part, offset, bytes }),
        (any::<[u8; 32]>(), 0..u64::MAX / 4, 0..u64::MAX / 4, content()).prop_map(|(blob, offset, more, bytes)| {
            let total = offset + bytes.len() as u64 + more;
            Bytes::File { blob, offset, total, bytes }
        }),
    ]
}

/// Changes, cuts or doubles a piece of something valid.
fn mangled(text: String) -> impl Strategy<Value = Vec<u8>> {
    let bytes = text.into_bytes();
    let length = bytes.len().max(1);
    (Just(bytes), 0..length, 0..length, any::<u8>(), 0..4_u8).prop_map(|(mut bytes, at, to, with, how)| {
        let (from, to) = (at.min(to), at.max(to).min(bytes.len()));
        match how {
            0 => bytes.truncate(at),
            1 => bytes.get_mut(at).map_or((), |byte| *byte = with),
            2 => drop(bytes.drain(from..to)),
            _ => {
                let piece = bytes[from..to].to_vec();
                bytes.splice(from..from, piece);
            }
        }
        bytes
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 10 } else { 400 }))]

    #[test]
    fn anything_is_decoded_without_a_panic(
        text in "(?s).{0,500}",
        frame in prop::collection::vec(any::<u8>(), 0..500),
    ) {
        let _ = decode_to_server(&text);
        let _ = decode_to_agent(&text);
        let _ = decode_bytes(&frame);
    }

    #[test]
    fn what_an_agent_says_comes_back(message in to_server()) {
        prop_assert_eq!(decode_to_server(&encode(&message)), Ok(message));
    }

    #[test]
    fn what_a_server_says_comes_back(message in to_agent()) {
        prop_assert_eq!(decode_to_agent(&encode(&message)), Ok(message));
    }

    #[test]
    fn bytes_come_back(bytes in bytes()) {
        prop_assert_eq!(decode_bytes(&bytes.encode()), Ok(bytes));
    }

    #[test]
    fn mangled_messages_are_decoded_without_a_panic(
        server in to_server().prop_flat_map(|message| mangled(encode(&message))),
        agent in to_agent().prop_flat_map(|message| mangled(encode(&message))),
    ) {
        let _ = decode_to_server(&String::from_utf8_lossy(&server));
        let _ = decode_to_agent(&String::from_utf8_lossy(&agent));
    }

    #[test]
    fn frames_that_are_cut_or_changed_are_decoded_without_a_panic(
        bytes in bytes(),
        at in any::<prop::sample::Index>(),
        with in any::<u8>(),
    ) {
        let mut frame = bytes.encode();
        let _ = decode_bytes(&frame[..at.index(frame.len())]);
        let index = at.index(frame.len());
        frame[index] = with;
        if let Ok(Bytes::File { offset, total, bytes, .. }) = decode_bytes(&frame) {
            prop_assert!(offset + bytes.len() as u64 <= total);
        }
    }
}

#[test]
fn limits_are_enforced() {
    let part = AllocationKey { job: JobId(1), attempt: 1, node: NodeId(1) };
    let too_many = ToServer::Events(vec![Numbered { number: 1, event: Event::Started(part) }; 4_097]);
    assert!(matches!(decode_to_server(&encode(&too_many)), Err(DecodeError::TooLong { .. })));
    let too_wordy = ToServer::Leaving { why: "x".repeat(5_000).as_str().into() };
    assert!(matches!(decode_to_server(&encode(&too_wordy)), Err(DecodeError::TooLong { .. })));
    let too_large = " ".repeat(MAX_FRAME + 1);
    assert_eq!(decode_to_server(&too_large), Err(DecodeError::TooLarge(MAX_FRAME + 1)));
    assert_eq!(decode_to_agent(&too_large), Err(DecodeError::TooLarge(MAX_FRAME + 1)));
    let longest = Bytes::Output { part, offset: 0, bytes: vec![0; MAX_BYTES] };
    assert_eq!(decode_bytes(&longest.encode()), Ok(longest));
    let too_long = Bytes::Output { part, offset: 0, bytes: vec![0; MAX_BYTES + 100] };
    assert!(matches!(decode_bytes(&too_long.encode()), Err(DecodeError::TooLarge(_))));
    let beyond = Bytes::Output { part, offset: u64::MAX, bytes: vec![0; 10] };
    assert!(matches!(decode_bytes(&beyond.encode()), Err(DecodeError::NotBytes(_))));
    // Nested deeper than any stack would like.
    assert!(decode_to_agent(&"[".repeat(1_000_000)).is_err());
}

#[test]
fn a_hello_is_short_however_much_an_agent_has() {
    let part = |job: u64| AllocationKey { job: JobId(u64::MAX - job), attempt: u32::MAX, node: NodeId(u64::MAX) };
    let hello = |count: u64| Hello {
        protocol: 1,
        node: NodeId(u64::MAX),
        auth: Auth::Join { token: "t".repeat(200), secret: "s".repeat(200) },
        facts: Facts::default(),
        parts: (0..count).map(part).collect(),
        more: false,
    };
    for (count, messages) in [(0, 1), (500, 1), (501, 2), (10_500, 2), (70_000, 8)] {
        let said = hello(count).messages();
        assert_eq!(said.len(), messages, "{count}");
        let texts: Vec<String> = said.iter().map(encode).collect();
        assert!(texts[0].len() <= MAX_HELLO, "{}", texts[0].len());
        // Read again they are whole: as many as there were, and the last one says that it is.
        let Ok(ToServer::Hello(first)) = decode_first(&texts[0]) else { panic!("a hello") };
        let (mut parts, mut more) = (first.parts, first.more);
        for text in &texts[1..] {
            assert!(more);
            let Ok(ToServer::Parts { parts: fresh, more: still }) = decode_to_server(text) else { panic!("parts") };
            parts.extend(fresh);
            more = still;
        }
        assert!(!more);
        assert_eq!(parts, hello(count).parts);
    }
    let long = " ".repeat(MAX_HELLO + 1);
    assert_eq!(decode_first(&long), Err(DecodeError::LongHello(MAX_HELLO + 1)));
}
