//! The connection to the stream of revisions, with its losses.
//!
//! Browsers reconnect by themselves, but at a fixed pace and without end, all tabs of all people at the same
//! moment after a restart. So the connection is closed at its first error and opened again after a pause that
//! doubles up to a limit, with a random part. A hidden tab has none at all: over HTTP/1.1 a browser has six
//! connections for a whole server.

use std::cell::RefCell;
use std::rc::Rc;

use leptos::prelude::{GetUntracked, RwSignal, Set, Update, document, window};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::spawn_local;
use web_sys::{Event, EventSource, MessageEvent, VisibilityState};

use crate::islands::dom::{self, announce, find, listen, sleep, told};
use crate::islands::live::Connection;
use crate::islands::live::refresh::Refresher;

/// The first pause before a new try, and the longest.
const PAUSE_MILLIS: (f64, f64) = (500.0, 15_000.0);
/// So long without a connection, and what is shown is called stale.
const STALE_MILLIS: f64 = 60_000.0;
/// So long without an answer to a new connection, and it counts as lost.
const PATIENCE_MILLIS: f64 = 10_000.0;
/// So long without a sign of life from a server that gives them, and the connection counts as lost.
const SILENCE_MILLIS: f64 = 50_000.0;
/// How often the above are looked at.
const TICK_MILLIS: i32 = 2_000;

struct Stream {
    address: String,
    topics: Vec<String>,
    /// The last revision seen; a new connection goes on from here.
    revision: i64,
    source: Option<EventSource>,
    is_open: bool,
    /// Counts connections, so that an answer of an older one is known as such.
    generation: u32,
    opened_at: f64,
    /// The last event; none before the first sign of life, since a server may send only comments, which are
    /// not seen.
    heard_at: Option<f64>,
    /// When the connection was lost; none while there is one or none is wanted.
    lost_at: Option<f64>,
    failures: u32,
    /// Nobody is signed in any more: nothing is tried again.
    has_ended: bool,
    connection: RwSignal<Connection>,
    is_said: RwSignal<bool>,
    refresher: Refresher,
    /// When the page was last brought up to date for the sake of `data-every`.
    asked_at: f64,
}

type Shared = Rc<RefCell<Stream>>;

/// Follows the stream for as long as the page lives.
pub fn follow(
    address: String,
    revision: i64,
    topics: String,
    connection: RwSignal<Connection>,
    is_said: RwSignal<bool>,
) {
    let topics: Vec<String> = topics.split(',').filter(|topic| !topic.is_empty()).map(str::to_owned).collect();
    let stream: Shared = Rc::new_cyclic(|this: &std::rc::Weak<RefCell<Stream>>| {
        let this = this.clone();
        let on_signed_out = move || {
            if let Some(stream) = this.upgrade() {
                end(&stream);
            }
        };
        RefCell::new(Stream {
            address,
            topics,
            revision,
            source: None,
            is_open: false,
            generation: 0,
            opened_at: 0.0,
            heard_at: None,
            lost_at: None,
            failures: 0,
            has_ended: false,
            connection,
            is_said,
            refresher: Refresher::new(on_signed_out),
            asked_at: now(),
        })
    });
    let watched = stream.clone();
    listen(&document(), "visibilitychange", move |_: Event| follow_visibility(&watched));
    // A page that is kept for the way back must not hold a connection, or it is not kept.
    let left = stream.clone();
    listen(&window(), "pagehide", move |_: Event| close(&left));
    let shown = stream.clone();
    listen(&window(), "pageshow", move |_: Event| follow_visibility(&shown));
    follow_visibility(&stream);
    spawn_local(watch(stream));
}

fn now() -> f64 {
    js_sys::Date::now()
}

fn is_visible() -> bool {
    document().visibility_state() == VisibilityState::Visible
}

fn follow_visibility(stream: &Shared) {
    if !is_visible() {
        close(stream);
    } else if stream.borrow().source.is_none() {
        open(stream);
    }
}

fn close(stream: &Shared) {
    let mut this = stream.borrow_mut();
    this.generation += 1;
    this.is_open = false;
    this.lost_at = None;
    if let Some(source) = this.source.take() {
        source.close();
    }
}

fn open(stream: &Shared) {
    close(stream);
    let (generation, source) = {
        let mut this = stream.borrow_mut();
        if this.has_ended {
            return;
        }
        this.opened_at = now();
        this.heard_at = None;
        let since = this.revision.to_string();
        let address = [this.address.as_str(), "?topics=", &this.topics.join(","), "&since=", &since].concat();
        (this.generation, EventSource::new(&address))
    };
    let Ok(source) = source else { return };
    on(stream, &source, generation, "open", |stream, _| is_connected(stream));
    on(stream, &source, generation, "error", |stream, _| is_lost(stream));
    on(stream, &source, generation, "beat", |stream, _| stream.borrow_mut().heard_at = Some(now()));
    on(stream, &source, generation, "revision", take_revision);
    on(stream, &source, generation, "bye", |stream, event| {
        if event.data().as_string().as_deref() == Some("signed-out") { end(stream) } else { is_lost(stream) }
    });
    stream.borrow_mut().source = Some(source);
}

fn on(stream: &Shared, source: &EventSource, generation: u32, kind: &str, handle: fn(&Shared, &MessageEvent)) {
    let stream = stream.clone();
    listen(source, kind, move |event: MessageEvent| {
        if stream.borrow().generation == generation {
            handle(&stream, &event);
        }
    });
}

fn is_connected(stream: &Shared) {
    let mut this = stream.borrow_mut();
    this.is_open = true;
    this.failures = 0;
    this.lost_at = None;
    this.connection.set(Connection::Live);
}

fn is_lost(stream: &Shared) {
    let (pause, generation) = {
        let lost_at = stream.borrow().lost_at;
        close(stream);
        let mut this = stream.borrow_mut();
        this.lost_at = lost_at.or_else(|| Some(now()));
        this.failures += 1;
        this.is_said.set(true);
        this.connection.update(|shown| {
            if !matches!(shown, Connection::Stale(_)) {
                *shown = Connection::Reconnecting;
            }
        });
        // The stream cannot say why it was refused. A fetch can: the session may have ended in the meantime.
        if this.failures % 4 == 2 {
            this.refresher.ask();
        }
        (pause(this.failures, js_sys::Math::random()), this.generation)
    };
    let stream = stream.clone();
    spawn_local(async move {
        sleep(pause).await;
        let is_current = stream.borrow().generation == generation;
        if is_current && is_visible() {
            let lost_at = stream.borrow().lost_at;
            open(&stream);
            stream.borrow_mut().lost_at = lost_at;
        }
    });
}

/// The pause before the next try: doubled for each failure, and anywhere between half of that and all of it.
fn pause(failures: u32, dice: f64) -> i32 {
    let (first, longest) = PAUSE_MILLIS;
    let doubled = first * f64::from(1_u32 << failures.min(6));
    let pause = doubled.min(longest) * (0.5 + dice / 2.0);
    pause as i32
}

fn take_revision(stream: &Shared, event: &MessageEvent) {
    let Some(get) = told(event) else { return };
    let mut this = stream.borrow_mut();
    this.heard_at = this.heard_at.map(|_| now());
    if let Some(revision) = get("revision").as_f64() {
        this.revision = this.revision.max(revision as i64);
    }
    let told_topics: js_sys::Array = get("topics").dyn_into().unwrap_or_default();
    let concerns_us = told_topics.iter().any(|topic| this.topics.iter().any(|ours| topic == ours.as_str()));
    if concerns_us {
        this.refresher.ask();
    }
}

/// Nobody is signed in any more: says so, and stops.
fn end(stream: &Shared) {
    close(stream);
    {
        let mut this = stream.borrow_mut();
        if this.has_ended {
            return;
        }
        this.has_ended = true;
        this.connection.set(Connection::Stale(clock(now())));
    }
    let _ = show_signed_out();
}

fn show_signed_out() -> Option<()> {
    let location = window().location();
    let here = [location.pathname().ok()?, location.search().ok()?].concat();
    let banner = document().create_element("div").ok()?;
    banner.set_class_name("banner");
    banner.set_attribute("data-state", "warning").ok()?;
    banner.set_attribute("role", "alert").ok()?;
    let words = document().create_element("p").ok()?;
    words.set_text_content(Some("You are signed out. What is shown stays as it was. "));
    let link = document().create_element("a").ok()?;
    let next = String::from(js_sys::encode_uri_component(&here));
    link.set_attribute("href", &[atelier_domain::paths::SIGN_IN, "?next=", &next].concat()).ok()?;
    link.set_text_content(Some("Sign in again"));
    words.append_child(&link).ok()?;
    banner.append_child(&words).ok()?;
    find("#main .page").or_else(|| find("#main"))?.prepend_with_node_1(&banner).ok()?;
    announce("You are signed out.");
    Some(())
}

/// Looks from time to time at what no event tells.
async fn watch(stream: Shared) {
    loop {
        sleep(TICK_MILLIS).await;
        if stream.borrow().has_ended {
            return;
        }
        if !is_visible() {
            continue;
        }
        let (is_hanging, stale_since) = {
            let this = stream.borrow();
            let is_unanswered = this.source.is_some() && !this.is_open && now() - this.opened_at > PATIENCE_MILLIS;
            let is_silent = this.is_open && this.heard_at.is_some_and(|heard_at| now() - heard_at > SILENCE_MILLIS);
            let stale_since = this.lost_at.filter(|lost_at| now() - lost_at > STALE_MILLIS);
            (is_unanswered || is_silent, stale_since)
        };
        if is_hanging {
            is_lost(&stream);
        }
        ask_every(&stream);
        if let Some(since) = stale_since {
            let connection = stream.borrow().connection;
            let stale = Connection::Stale(clock(since));
            if connection.get_untracked() != stale {
                connection.set(stale);
            }
        }
    }
}

/// Some pages show what no revision tells, such as how busy a node is: they say how often they are to be
/// fetched.
fn ask_every(stream: &Shared) {
    let Some(every) = find("[data-every]").and_then(|place| place.get_attribute("data-every")) else { return };
    let every: u32 = every.parse().unwrap_or(u32::MAX);
    let mut this = stream.borrow_mut();
    if this.is_open && now() - this.asked_at >= f64::from(every) * 1_000.0 {
        this.asked_at = now();
        this.refresher.ask();
    }
}

/// The time of day in the browser's zone, as `14:32`.
fn clock(millis: f64) -> String {
    let date = js_sys::Date::new(&JsValue::from_f64(millis));
    dom::clock(date.get_hours(), date.get_minutes())
}
