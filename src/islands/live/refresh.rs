//! Brings the page up to date: fetches it again and changes what is marked as live.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use leptos::prelude::{document, window};
use wasm_bindgen::JsValue;
use wasm_bindgen_futures::spawn_local;
use web_sys::{Element, Event};

use crate::islands::dom::{all, announce, fetch_page, find, focus, is_signed_out, parse_page, sleep};
use crate::islands::live::morph::{Changes, morph};
use crate::islands::press::released;

/// Between two fetches: at most two a second.
const APART_MILLIS: i32 = 500;
/// How long a changed cell is tinted.
const FLASH_MILLIS: i32 = 600;
const QUIET_MILLIS: i32 = 3_000;

/// Fetches when asked, one at a time; further requests become one more fetch.
#[derive(Clone)]
pub struct Refresher(Rc<Inner>);

struct Inner {
    is_wanted: Cell<bool>,
    is_running: Cell<bool>,
    /// Counts since the last announcement; some while one is due.
    unsaid: RefCell<Option<Counts>>,
    on_signed_out: Box<dyn Fn()>,
}

/// How many rows came, went and changed, and what they are called.
struct Counts {
    noun: String,
    changes: [usize; 3],
}

impl Refresher {
    /// A refresher that calls `on_signed_out` when the server wants a sign-in instead.
    pub fn new(on_signed_out: impl Fn() + 'static) -> Self {
        Self(Rc::new(Inner {
            is_wanted: Cell::new(false),
            is_running: Cell::new(false),
            unsaid: RefCell::new(None),
            on_signed_out: Box::new(on_signed_out),
        }))
    }

    /// Asks for a fetch, soon.
    pub fn ask(&self) {
        self.0.is_wanted.set(true);
        if self.0.is_running.replace(true) {
            return;
        }
        let this = self.clone();
        spawn_local(async move {
            while this.0.is_wanted.replace(false) {
                // A fetch that fails is made up for: the stream is lost at the same time, and its return asks
                // again.
                let _ = this.refresh().await;
                sleep(APART_MILLIS).await;
            }
            this.0.is_running.set(false);
        });
    }

    async fn refresh(&self) -> Result<(), JsValue> {
        // A form is on its way and the page is about to be left. What it deletes may be what this page shows:
        // the answer to the form says so, and must not be cut off.
        if find("form[data-sent]").is_some() {
            return Ok(());
        }
        let answer = fetch_page(&window().location().href()?).await?;
        if is_signed_out(&answer) {
            (self.0.on_signed_out)();
            return Ok(());
        }
        let is_refused = matches!(answer.status(), 403 | 404);
        if !answer.ok() && !is_refused {
            return Ok(());
        }
        let page = parse_page(&answer).await?;
        released().await;
        let is_left = find("form[data-sent]").is_some();
        if is_refused && heading(&page) != heading(&document()) {
            // The page is not for this person any more; the server's page says why. One that said so before
            // stays.
            return if is_left { Ok(()) } else { window().location().reload() };
        }
        let focused = document().active_element();
        for region in all("[data-live]") {
            let name = region.get_attribute("data-live").unwrap_or_default();
            let Some(fresh) = page.query_selector(&["[data-live=\"", &name, "\"]"].concat())? else { continue };
            let changes = morph(&region, &fresh);
            flash(&changes.touched);
            if let Some(noun) = region.get_attribute("data-announce") {
                self.say_later(noun, &changes);
            }
        }
        // A row that moved has lost the focus on its way.
        if let Some(focused) =
            focused.filter(|focused| focused.is_connected() && document().active_element().as_ref() != Some(focused))
        {
            focus(&focused);
        }
        document().dispatch_event(&Event::new("atelier:refreshed")?)?;
        Ok(())
    }

    /// Adds to the next announcement, of which there is at most one in a while.
    fn say_later(&self, noun: String, changes: &Changes) {
        let news = [changes.added.len(), changes.removed, changes.changed.len()];
        if news == [0; 3] {
            return;
        }
        let is_due = {
            let mut unsaid = self.0.unsaid.borrow_mut();
            let is_due = unsaid.is_some();
            let counts = unsaid.get_or_insert(Counts { noun, changes: [0; 3] });
            for (sum, more) in counts.changes.iter_mut().zip(news) {
                *sum += more;
            }
            is_due
        };
        if is_due {
            return;
        }
        let this = self.clone();
        spawn_local(async move {
            sleep(QUIET_MILLIS).await;
            let counts = this.0.unsaid.borrow_mut().take();
            if let Some(counts) = counts.filter(|_| find("#announcer").is_some()) {
                announce(&counts.sentence());
            }
        });
    }
}

impl Counts {
    /// "2 people added, 1 person changed."
    fn sentence(&self) -> String {
        let (one, many) = self.noun.split_once('|').unwrap_or((&self.noun, &self.noun));
        let parts: Vec<String> = [" added", " removed", " changed"]
            .iter()
            .zip(self.changes)
            .filter(|(_, count)| *count > 0)
            .map(|(verb, count)| [count.to_string().as_str(), " ", if count == 1 { one } else { many }, verb].concat())
            .collect();
        [parts.join(", ").as_str(), "."].concat()
    }
}

/// What a page is about.
fn heading(page: &web_sys::Document) -> Option<String> {
    page.query_selector("h1").ok().flatten().and_then(|heading| heading.text_content())
}

/// Tints what changed for a moment.
fn flash(touched: &[Element]) {
    let touched = touched.to_vec();
    for element in &touched {
        let _ = element.class_list().add_1("changed");
    }
    spawn_local(async move {
        sleep(FLASH_MILLIS).await;
        for element in &touched {
            let _ = element.class_list().remove_1("changed");
        }
    });
}
