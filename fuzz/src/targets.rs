//! One function for each kind of input that comes from somebody who is not trusted. Each holds it against
//! what must be true of any input; that nothing panics is the least of it.

use atelier_domain::environment::{Recipe, Requirements};
use atelier_domain::files::FilePath;
use atelier_domain::schedule::{Cron, Timetable, Trigger, Zone};
use atelier_domain::time::Timestamp;
use atelier_pipe::{Wire, http};
use atelier_protocol::{decode_bytes, decode_first, decode_to_agent, decode_to_server, encode};
use atelier_studio::files::{notebook, preview};

/// Takes some bytes, and panics if they lead to what must not be.
pub type Target = fn(&[u8]);

/// All of them, by the names of their corpora.
pub const ALL: [(&str, Target); 9] = [
    ("frames", frames),
    ("messages", messages),
    ("heads", heads),
    ("cron", cron),
    ("sftp", sftp),
    ("zip", zip),
    ("notebook", notebook),
    ("markdown", markdown),
    ("requirements", requirements),
];

/// Binary frames between server and agents.
pub fn frames(bytes: &[u8]) {
    if let Ok(frame) = decode_bytes(bytes) {
        assert_eq!(frame.encode(), bytes, "a frame is written as it was read");
    }
}

/// Text frames in both directions, and what launchers say to the agent.
pub fn messages(bytes: &[u8]) {
    atelier_agent::fuzzed::wire(bytes);
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let _ = decode_first(text);
    if let Ok(message) = decode_to_server(text) {
        let written = encode(&message);
        let again = decode_to_server(&written).map(|again| encode(&again));
        assert_eq!(again, Ok(written), "a message stays what it is");
    }
    if let Ok(message) = decode_to_agent(text) {
        let written = encode(&message);
        let again = decode_to_agent(&written).map(|again| encode(&again));
        assert_eq!(again, Ok(written), "a message stays what it is");
    }
}

thread_local! {
    static RUNTIME: tokio::runtime::Runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
}

/// The answer of an application that says anything.
pub fn heads(bytes: &[u8]) {
    use tokio::io::AsyncWriteExt as _;
    const MOST: usize = 64 << 10;
    RUNTIME.with(|runtime| {
        runtime.block_on(async {
            let (near, mut far) = tokio::io::duplex(bytes.len().max(1) + 1_024);
            far.write_all(bytes).await.expect("there is room");
            far.shutdown().await.expect("said all");
            let question = http::question("GET", "/", "localhost", &[], "").expect("a question");
            if let Ok(answer) = http::ask(Wire::other(near), question).await {
                assert!((100..1_000).contains(&answer.status), "{}", answer.status);
                assert!(answer.headers.len() <= 200, "{}", answer.headers.len());
                if let Ok(body) = answer.whole(MOST).await {
                    assert!(body.len() <= MOST && body.len() <= bytes.len());
                }
            }
        });
    });
}

/// Cron expressions, and when they fire.
pub fn cron(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(cron) = Cron::parse(text) else { return };
    let again = Cron::parse(cron.as_str()).expect("what was read can be read");
    assert_eq!(again.as_str(), cron.as_str());
    let zone = Zone::parse("Europe/Berlin").expect("a zone");
    let Ok(timetable) = Timetable::new(Trigger::Cron(cron), zone, None) else { return };
    assert!(!timetable.sentence().is_empty());
    // Shortly before a clock is put forward.
    let mut at = Timestamp(1_774_746_000_000);
    for _ in 0..4 {
        let Some(next) = timetable.next_after(at) else { break };
        assert!(next.at > at, "it goes on");
        at = next.at;
    }
}

/// Questions of clients that speak SFTP. Only as far as they are read: answering touches files.
pub fn sftp(bytes: &[u8]) {
    atelier_agent::fuzzed::sftp(bytes);
}

/// ZIPs of folders with names and contents of any kind. The first byte of each piece says whether it is a
/// folder, a file or a link.
pub fn zip(bytes: &[u8]) {
    use std::os::unix::ffi::OsStrExt as _;
    let folder = tempfile::tempdir().expect("a folder");
    let area = atelier_files::Area::open(folder.path()).expect("an area");
    let who = atelier_files::Who { handle: "ines".to_owned(), uid: None };
    let top = folder.path().join("top");
    std::fs::create_dir(&top).expect("made");
    let mut things = 0_u64;
    for piece in bytes.split(|byte| *byte == b'/').take(16) {
        let Some((kind, name)) = piece.split_first() else { continue };
        let name: Vec<u8> = name.iter().copied().filter(|byte| *byte != 0).take(200).collect();
        if name.is_empty() || name == b"." || name == b".." {
            continue;
        }
        let path = top.join(std::ffi::OsStr::from_bytes(&name));
        let made = match kind % 3 {
            0 => std::fs::create_dir(&path),
            1 => std::os::unix::fs::symlink("/etc/passwd", &path),
            _ if path.exists() => continue,
            _ => std::fs::write(&path, &name),
        };
        things += u64::from(made.is_ok());
    }
    let mut zip = area.zip(&who, &FilePath::parse("top").expect("a path")).expect("begins");
    let mut whole = Vec::new();
    while let Some(piece) = zip.next_piece().expect("goes on") {
        whole.extend(piece);
    }
    // Behind the directory: 56 bytes that say how many there are, 20 that say where those are, 22 for
    // programs that know no large archives.
    let end = whole.len().checked_sub(22 + 20 + 56).expect("has an end");
    assert_eq!(&whole[end..end + 4], b"PK\x06\x06");
    let count = whole[end + 32..end + 40].try_into().map(u64::from_le_bytes).expect("eight bytes");
    // Links and strange names are left out, and a list says so.
    assert!(count <= things + 1, "{count} entries for {things} things");
    assert!(!whole.windows(5).any(|window| window == b"root:"), "links are not followed");
}

/// Notebooks.
pub fn notebook(bytes: &[u8]) {
    let as_it_is: notebook::Paint<'_> = &|_, text, _| text.to_owned();
    if let Some(read) = notebook::read(bytes, as_it_is) {
        for at in 0..read.cells.len().min(4) {
            let _ = notebook::image(bytes, at, 0);
        }
    }
}

/// Texts in Markdown: whatever stands in them, what comes out is markup of ours.
pub fn markdown(bytes: &[u8]) {
    const TAGS: [&str; 40] = [
        "a",
        "blockquote",
        "br",
        "code",
        "dd",
        "del",
        "div",
        "dl",
        "dt",
        "em",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "hr",
        "img",
        "input",
        "li",
        "ol",
        "p",
        "pre",
        "s",
        "span",
        "strong",
        "sub",
        "sup",
        "table",
        "tbody",
        "td",
        "th",
        "thead",
        "tr",
        "ul",
        "b",
        "i",
        "u",
        "mark",
        "tfoot",
    ];
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let path = FilePath::parse("Users/ines/notes/read me.md").expect("a path");
    let markup = preview::markdown(text, &path, "main");
    for tag in markup.split('<').skip(1) {
        let inside = tag.split('>').next().unwrap_or_default();
        let mut words = inside.trim_start_matches('/').split(|c: char| c.is_whitespace() || c == '/');
        let name = words.next().unwrap_or_default();
        assert!(TAGS.contains(&name), "<{inside}> of {text:?}");
        // Attributes stand before or between quotes.
        for outside in inside.split('"').step_by(2) {
            for attribute in outside.split_whitespace().filter(|word| word.ends_with('=')) {
                assert!(!attribute.starts_with("on") && attribute != "style=", "<{inside}> of {text:?}");
            }
        }
        for at in ["href=\"", "src=\""] {
            let Some(target) = inside.split_once(at).map(|(_, rest)| rest.to_ascii_lowercase()) else { continue };
            let is_fine = ["/", "#", "http://", "https://", "mailto:"].iter().any(|start| target.starts_with(start));
            assert!(is_fine && !target.starts_with("//"), "<{inside}> of {text:?}");
        }
    }
}

/// Lists of packages, for pip and for conda.
pub fn requirements(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(list) = Requirements::parse(text) {
        // What reaches pip are arguments, and none of them is an option.
        assert!(list.lines().all(|line| !line.starts_with('-') && !line.contains('\n')), "{text:?}");
        let again = Requirements::parse(&list.text()).expect("what was read can be read");
        assert_eq!(again.text(), list.text());
    }
    if let Ok(recipe) = Recipe::parse(text, Some("3.11")) {
        assert!(recipe.requirements().lines().all(|line| !line.starts_with('-')), "{text:?}");
    }
}
