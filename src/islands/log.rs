//! Logs that grow while one looks.
//!
//! | attribute | on | what it is |
//! | --- | --- | --- |
//! | `data-log` | section | the address of the stream; without it nothing is followed |
//! | `data-log-after` | the same | how far the page got: `attempt-node-offset` |
//! | `data-log-link` | the same | what links to lines begin with, where a log is not one of a job |
//! | `data-log-end` | section | a log that is over, whose end is shown first |
//! | `data-log-lines` | list in it | the lines; the last is `data-open` if more of it may come |
//! | `data-log-follow` | button in it | whether the end is kept in sight |
//! | `data-log-status` | element in it | one line about the connection |
//!
//! Text goes into the page as text, never as markup. However much comes, the page keeps a bounded number of
//! lines of bounded length; the whole is what one downloads.

use std::cell::RefCell;
use std::rc::Rc;

use atelier_domain::ansi::{Painter, cut};
use leptos::prelude::document;
use web_sys::{Element, Event, EventSource, MessageEvent, VisibilityState};

use crate::islands::dom::{find, listen, told};

/// How many lines are kept in the page.
const MOST_LINES: u32 = 2_000;
/// How much of a line is shown, as on the server.
const MOST_OF_A_LINE: usize = 4 << 10;
/// Nearer to the end than this, in pixels, counts as being there.
const NEAR: i32 = 40;

struct Log {
    section: Element,
    lines: Element,
    source: Option<EventSource>,
    /// How far it got.
    mark: String,
    /// The line that is not at its end: its text, its element, and the colours before it.
    open: String,
    row: Option<Element>,
    painter: Painter,
    /// The number of the line that is open, and the byte from which it can be found again.
    number: Option<f64>,
    at: f64,
    has_ended: bool,
}

type Shared = Rc<RefCell<Log>>;

pub fn install() {
    // A log that is over is read from its end, unless a line of it was asked for.
    if let Some(lines) = find("[data-log-end] [data-log-lines]").filter(|_| find(":target").is_none()) {
        lines.set_scroll_top(lines.scroll_height());
    }
    let Some(section) = find("[data-log]") else { return };
    let Ok(Some(lines)) = section.query_selector("[data-log-lines]") else { return };
    let log = Rc::new(RefCell::new(Log {
        mark: section.get_attribute("data-log-after").unwrap_or_default(),
        section,
        lines,
        source: None,
        open: String::new(),
        row: None,
        painter: Painter::default(),
        number: None,
        at: 0.0,
        has_ended: false,
    }));
    show_end(&log.borrow());
    install_follow(&log);
    // A hidden page holds no connection; it resumes where it was.
    let seen = Rc::clone(&log);
    listen(&document(), "visibilitychange", move |_: Event| {
        if document().visibility_state() == VisibilityState::Hidden {
            close(&seen);
        } else {
            connect(&seen);
        }
    });
    connect(&log);
}

/// The button mirrors whether the end is in sight, and brings one there.
fn install_follow(log: &Shared) {
    let Some(button) = button(&log.borrow()) else { return };
    let clicked = Rc::clone(log);
    listen(&button, "click", move |_: Event| {
        let log = clicked.borrow();
        let follows = !follows(&log);
        set_follows(&log, follows);
        if follows {
            show_end(&log);
        }
    });
    let scrolled = Rc::clone(log);
    let lines = log.borrow().lines.clone();
    listen(&lines, "scroll", move |_: Event| {
        // While lines are being added the borrow is taken, and the place is ours.
        if let Ok(log) = scrolled.try_borrow() {
            let rest = log.lines.scroll_height() - log.lines.scroll_top() - log.lines.client_height();
            set_follows(&log, rest < NEAR);
        }
    });
}

fn button(log: &Log) -> Option<Element> {
    log.section.query_selector("[data-log-follow]").ok()?
}

fn follows(log: &Log) -> bool {
    button(log).is_some_and(|button| button.get_attribute("aria-pressed").as_deref() == Some("true"))
}

fn set_follows(log: &Log, follows: bool) {
    if let Some(button) = button(log) {
        let _ = button.set_attribute("aria-pressed", if follows { "true" } else { "false" });
    }
}

fn show_end(log: &Log) {
    log.lines.set_scroll_top(log.lines.scroll_height());
}

fn say(log: &Log, words: &str) {
    if let Ok(Some(status)) = log.section.query_selector("[data-log-status]") {
        status.set_text_content(Some(words));
    }
}

fn close(log: &Shared) {
    if let Some(source) = log.borrow_mut().source.take() {
        source.close();
    }
}

fn connect(log: &Shared) {
    close(log);
    let (address, mark) = {
        let log = log.borrow();
        if log.has_ended {
            return;
        }
        (log.section.get_attribute("data-log").unwrap_or_default(), log.mark.clone())
    };
    let joint = if address.contains('?') { "&after=" } else { "?after=" };
    let Ok(source) = EventSource::new(&[address.as_str(), joint, mark.as_str()].concat()) else { return };
    on(&source, "hello", log, |log, _| say(log, "Following: what is printed appears here."));
    on(&source, "part", log, |log, event| {
        begin_anew(log);
        log.mark = event.last_event_id();
    });
    on(&source, "log", log, |log, event| {
        take(log, event);
        log.mark = event.last_event_id();
    });
    on(&source, "skip", log, |log, event| {
        log.mark = event.last_event_id();
        let bytes = event.data().as_string().unwrap_or_default();
        finish_line(log);
        note(log, &["… ", &bytes, " bytes are left out here; download the log for all of it."].concat());
    });
    for kind in ["end", "bye"] {
        on(&source, kind, log, |log, event| {
            log.has_ended = true;
            if let Some(source) = log.source.take() {
                source.close();
            }
            if let Some(button) = button(log) {
                let _ = button.set_attribute("hidden", "");
            }
            let is_over = event.type_() == "end";
            say(log, if is_over { "Nothing more comes." } else { "No longer followed. Reload the page to go on." });
        });
    }
    on(&source, "error", log, |log, _| {
        let is_closed = log.source.as_ref().is_some_and(|source| source.ready_state() == EventSource::CLOSED);
        say(log, if is_closed { "Not followed. Reload the page to go on." } else { "Reconnecting…" });
    });
    log.borrow_mut().source = Some(source);
}

/// Listens to one kind of event for as long as the source lives.
fn on(source: &EventSource, kind: &str, log: &Shared, act: impl Fn(&mut Log, &MessageEvent) + 'static) {
    let log = Rc::clone(log);
    listen(source, kind, move |event: MessageEvent| act(&mut log.borrow_mut(), &event));
}

/// Another log: the lines of the one before go.
fn begin_anew(log: &mut Log) {
    log.lines.set_text_content(None);
    (log.row, log.number, log.painter) = (None, None, Painter::default());
    log.open.clear();
}

fn take(log: &mut Log, event: &MessageEvent) {
    let Some(get) = told(event) else { return };
    let text = get("text").as_string().unwrap_or_default();
    if log.row.is_none() && log.open.is_empty() {
        // The server showed the beginning of this line; all of it comes again.
        if let Ok(Some(stale)) = log.lines.query_selector("[data-open]") {
            stale.remove();
        }
        log.number = get("line").as_f64();
        log.at = get("at").as_f64().unwrap_or_default();
    }
    let was_followed = follows(log);
    let mut pieces = text.split('\n');
    // Between two pieces a line ends; after the last one it stays open.
    let mut piece = pieces.next();
    while let Some(part) = piece {
        if log.open.len() <= MOST_OF_A_LINE {
            log.open.push_str(part);
        }
        piece = pieces.next();
        if piece.is_some() {
            show_line(log);
            finish_line(log);
            log.number = log.number.map(|number| number + 1.0);
        } else if !log.open.is_empty() {
            show_line(log);
        }
    }
    while log.lines.child_element_count() > MOST_LINES {
        match log.lines.first_element_child() {
            Some(first) => first.remove(),
            None => break,
        }
    }
    if was_followed {
        show_end(log);
    }
}

/// The open line is at its end: its colours go on in the next.
fn finish_line(log: &mut Log) {
    if log.row.take().is_some() || !log.open.is_empty() {
        let (shown, _) = cut(&log.open, MOST_OF_A_LINE);
        log.painter.paint(shown);
    }
    log.open.clear();
}

/// Shows the open line as it is now.
fn show_line(log: &mut Log) {
    if log.row.is_none() {
        log.row = new_row(log);
    }
    let Some(text) = log.row.as_ref().and_then(Element::last_element_child) else { return };
    text.set_text_content(None);
    let (shown, left_out) = cut(&log.open, MOST_OF_A_LINE);
    let mut painter = log.painter;
    for piece in painter.paint(shown) {
        add(&text, &piece.class, &piece.text);
    }
    if left_out > 0 {
        add(&text, "a-d", " … more of this line: download the log");
    }
}

fn new_row(log: &Log) -> Option<Element> {
    let row = document().create_element("li").ok()?;
    let link = document().create_element("a").ok()?;
    if let Some(number) = log.number {
        let number = (number as u64).to_string();
        let anchor = ["L", number.as_str()].concat();
        row.set_id(&anchor);
        let mut places = log.mark.split('-');
        let (attempt, node) = (places.next().unwrap_or_default(), places.next().unwrap_or_default());
        let from = (log.at as u64).to_string();
        let address = match log.section.get_attribute("data-log-link") {
            Some(log) => [log.as_str(), "&from=", &from, "#", &anchor].concat(),
            None => ["?attempt=", attempt, "&node=", node, "&from=", &from, "#", &anchor].concat(),
        };
        link.set_attribute("href", &address).ok()?;
        link.set_attribute("tabindex", "-1").ok()?;
        link.set_text_content(Some(&number));
    }
    row.append_child(&link).ok()?;
    let text = document().create_element("span").ok()?;
    row.append_child(&text).ok()?;
    log.lines.append_child(&row).ok()?;
    Some(row)
}

/// A remark of ours between the lines.
fn note(log: &Log, words: &str) {
    let row = document().create_element("li").ok();
    if let Some(row) = row.filter(|row| log.lines.append_child(row).is_ok()) {
        add(&row, "", "");
        add(&row, "a-d", words);
    }
}

fn add(to: &Element, class: &str, words: &str) {
    if let Ok(span) = document().create_element("span") {
        if !class.is_empty() {
            span.set_class_name(class);
        }
        span.set_text_content(Some(words));
        let _ = to.append_child(&span);
    }
}
