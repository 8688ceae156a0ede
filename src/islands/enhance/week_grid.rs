//! The weekly grid by pointer and keys. The fields hold the truth: a drag writes into them, and the bars
//! follow them, however they were changed.
//!
//! `data-week` holds rows with `data-day`; in each a box, two times, and a `data-bar` with `.on`, `.spill`
//! and two grips. Drag an end to move it, the middle to move all, an empty place to begin anew. On a grip,
//! arrows move by a quarter of an hour, Page Up and Down by an hour, Home and End to the ends of the day.
//! `name="copy"` copies Monday in place.

use std::cell::RefCell;
use std::rc::Rc;

use leptos::prelude::document;
use web_sys::{Element, Event, HtmlInputElement, KeyboardEvent, PointerEvent};

use crate::islands::dom::{self, all, closest, find_all, listen, within};

const DAY: i32 = 1_440;
/// What times snap to.
const STEP: i32 = 15;
/// How near to an end a pointer takes it, in pixels.
const NEAR: f64 = 9.0;

/// A drag that goes on.
struct Drag {
    row: Element,
    bar: Element,
    from: i32,
    /// The hours before.
    start: i32,
    stop: i32,
    what: What,
}

#[derive(Clone, Copy, PartialEq)]
enum What {
    Start,
    Stop,
    All,
    New,
}

pub fn install() {
    let drag: Rc<RefCell<Option<Drag>>> = Rc::default();
    let began = drag.clone();
    listen(&document(), "pointerdown", move |event: PointerEvent| {
        if let Some(new) = begin(&event) {
            event.prevent_default();
            let _ = new.bar.set_pointer_capture(event.pointer_id());
            *began.borrow_mut() = Some(new);
        }
    });
    let moved = drag.clone();
    listen(&document(), "pointermove", move |event: PointerEvent| {
        if let Some(drag) = moved.borrow().as_ref() {
            follow(drag, &event);
        }
    });
    for ending in ["pointerup", "pointercancel"] {
        let ended = drag.clone();
        listen(&document(), ending, move |_: Event| {
            if let Some(drag) = ended.borrow_mut().take() {
                tell(&drag.row);
            }
        });
    }
    listen(&document(), "keydown", |event: KeyboardEvent| {
        if let Some(row) = press(&event) {
            event.prevent_default();
            tell(&row);
        }
    });
    listen(&document(), "input", |event: Event| {
        if let Some(week) = closest(&event, "[data-week]") {
            draw(&week);
        }
    });
    listen(&document(), "click", |event: Event| {
        let Some(button) = closest(&event, "[data-week] button[name=copy]") else { return };
        if let Some(week) = button.closest("[data-week]").ok().flatten() {
            event.prevent_default();
            copy(&week, if button.get_attribute("value").as_deref() == Some("workdays") { 5 } else { 7 });
        }
    });
    for week in all("[data-week]") {
        draw(&week);
    }
}

/// The boxes and fields of a row.
struct Row {
    on: HtmlInputElement,
    start: HtmlInputElement,
    stop: HtmlInputElement,
}

fn row_of(row: &Element) -> Option<Row> {
    Some(Row {
        on: within(row, "input[type=checkbox]")?,
        start: within(row, "input[name$=_start]")?,
        stop: within(row, "input[name$=_stop]")?,
    })
}

/// Minutes after midnight.
fn minutes(text: &str) -> Option<i32> {
    let (hour, minute) = text.split_once(':')?;
    Some(hour.parse::<i32>().ok()? * 60 + minute.get(..2)?.parse::<i32>().ok()?)
}

/// `08:30`; the end of the day is the midnight after it.
fn clock(minutes: i32) -> String {
    let minutes = minutes.rem_euclid(DAY).unsigned_abs();
    dom::clock(minutes / 60, minutes % 60)
}

/// The hours of a row, as long as they lie within its day: a stop before the start ends with the day here.
fn hours(row: &Row) -> Option<(i32, i32)> {
    if !row.on.checked() {
        return None;
    }
    let (start, stop) = (minutes(&row.start.value())?, minutes(&row.stop.value())?);
    Some((start, if stop > start { stop } else { DAY }))
}

fn begin(event: &PointerEvent) -> Option<Drag> {
    if event.button() != 0 {
        return None;
    }
    let bar = closest(event, "[data-bar]")?;
    let row = bar.closest("[data-day]").ok()??;
    let from = place(&bar, event);
    let near = (NEAR / bar.get_bounding_client_rect().width().max(1.0) * f64::from(DAY)) as i32;
    let fields = row_of(&row)?;
    let (what, start, stop) = match hours(&fields) {
        Some((start, stop)) if (from - start).abs() <= near => (What::Start, start, stop),
        Some((start, stop)) if (from - stop).abs() <= near => (What::Stop, start, stop),
        Some((start, stop)) if (start..stop).contains(&from) => (What::All, start, stop),
        _ => (What::New, from, from),
    };
    Some(Drag { row, bar, from, start, stop, what })
}

/// Where a pointer is on a bar, as a minute.
fn place(bar: &Element, event: &PointerEvent) -> i32 {
    let area = bar.get_bounding_client_rect();
    let share = (f64::from(event.client_x()) - area.left()) / area.width().max(1.0);
    (share.clamp(0.0, 1.0) * f64::from(DAY)) as i32
}

fn snap(minutes: i32) -> i32 {
    ((minutes + STEP / 2) / STEP * STEP).clamp(0, DAY)
}

fn follow(drag: &Drag, event: &PointerEvent) {
    let here = place(&drag.bar, event);
    let (start, stop) = match drag.what {
        What::Start => (snap(here).min(drag.stop - STEP), drag.stop),
        What::Stop => (drag.start, snap(here).max(drag.start + STEP)),
        What::All => {
            let length = drag.stop - drag.start;
            let start = snap(drag.start + here - drag.from).clamp(0, DAY - length);
            (start, start + length)
        }
        // A click alone draws nothing.
        What::New if (here - drag.from).abs() < STEP => return,
        What::New => (snap(here.min(drag.from)), snap(here.max(drag.from))),
    };
    write(&drag.row, start.max(0), stop.min(DAY));
}

/// Puts hours into the fields of a row.
fn write(row: &Element, start: i32, stop: i32) -> Option<()> {
    let fields = row_of(row)?;
    fields.on.set_checked(true);
    fields.start.set_value(&clock(start.min(DAY - STEP)));
    fields.stop.set_value(&clock(stop));
    draw(&row.closest("[data-week]").ok()??);
    Some(())
}

/// Moves a grip by keys.
fn press(event: &KeyboardEvent) -> Option<Element> {
    let grip = closest(event, "[data-grip]")?;
    let row = grip.closest("[data-day]").ok()??;
    let (start, stop) = hours(&row_of(&row)?)?;
    let is_start = grip.get_attribute("data-grip").as_deref() == Some("start");
    let at = if is_start { start } else { stop };
    let to = match event.key().as_str() {
        "ArrowLeft" | "ArrowDown" => at - STEP,
        "ArrowRight" | "ArrowUp" => at + STEP,
        "PageDown" => at - 60,
        "PageUp" => at + 60,
        "Home" => 0,
        "End" => DAY,
        _ => return None,
    };
    if is_start {
        write(&row, to.clamp(0, stop - STEP), stop)?;
    } else {
        write(&row, start, to.clamp(start + STEP, DAY))?;
    }
    Some(row)
}

/// Says that fields have changed, as typing would.
fn tell(row: &Element) {
    let Some(fields) = row_of(row) else { return };
    if let Ok(event) = document().create_event("Event") {
        event.init_event_with_bubbles_and_cancelable("input", true, false);
        let _ = fields.start.dispatch_event(&event);
    }
}

fn copy(week: &Element, count: usize) -> Option<()> {
    let rows = find_all(week, "[data-day]");
    let monday = row_of(rows.first()?)?;
    for row in rows.iter().skip(1).take(count - 1).filter_map(row_of) {
        row.on.set_checked(monday.on.checked());
        row.start.set_value(&monday.start.value());
        row.stop.set_value(&monday.stop.value());
    }
    tell(rows.first()?);
    Some(())
}

/// Draws all bars as the fields are.
fn draw(week: &Element) {
    let rows = find_all(week, "[data-day]");
    let fields: Vec<Option<Row>> = rows.iter().map(row_of).collect();
    for (day, row) in rows.iter().enumerate() {
        let own = fields[day].as_ref().and_then(hours);
        // What the night before leaves in this day.
        let before = fields[(day + rows.len() - 1) % rows.len()].as_ref().filter(|row| row.on.checked());
        let spill = before.and_then(|row| Some((minutes(&row.start.value())?, minutes(&row.stop.value())?)));
        let spill = spill.filter(|(start, stop)| stop < start).map_or(0, |(_, stop)| stop);
        let (start, stop) = own.unwrap_or((0, 0));
        set(row, ".on", &[("x", percent(start)), ("width", percent(stop - start))]);
        set(row, ".spill", &[("width", percent(spill))]);
        for (grip, at) in [("start", start), ("stop", stop)] {
            let selector = ["[data-grip=", grip, "]"].concat();
            set(
                row,
                &selector,
                &[("x", percent(at)), ("aria-valuenow", at.to_string()), ("aria-valuetext", clock(at))],
            );
            if let Ok(Some(element)) = row.query_selector(&selector) {
                let _ = if own.is_some() {
                    element.remove_attribute("data-off")
                } else {
                    element.set_attribute("data-off", "")
                };
            }
        }
        if let (Ok(Some(bar)), Some(fields)) = (row.query_selector("[data-bar]"), &fields[day]) {
            let _ = bar.set_attribute("aria-label", &label(row, fields));
        }
    }
}

fn label(row: &Element, fields: &Row) -> String {
    let name = row.query_selector("label").ok().flatten().and_then(|label| label.text_content()).unwrap_or_default();
    let (start, stop) = (fields.start.value(), fields.stop.value());
    let said = match (fields.on.checked(), start.is_empty(), stop.is_empty()) {
        (false, ..) | (true, true, true) => "no hours of its own".to_owned(),
        (true, false, true) => ["starts at ", &start].concat(),
        (true, true, false) => ["stops at ", &stop].concat(),
        (true, false, false) => ["awake ", &start, " to ", &stop].concat(),
    };
    [name.trim(), ": ", &said].concat()
}

fn set(row: &Element, selector: &str, attributes: &[(&str, String)]) {
    let Ok(Some(element)) = row.query_selector(selector) else { return };
    for (name, value) in attributes {
        let _ = element.set_attribute(name, value);
    }
}

fn percent(minutes: i32) -> String {
    let parts = minutes * 10_000 / DAY;
    let rest = parts % 100;
    let whole = (parts / 100).to_string();
    [whole.as_str(), if rest < 10 { ".0" } else { "." }, rest.to_string().as_str(), "%"].concat()
}
