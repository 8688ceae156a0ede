//! Files in pieces: a form with `data-upload` sends what was chosen or dropped to that address piece by
//! piece, shows how far it is, and goes on after a cut. What was begun is noted in the browser, so that the
//! same file goes on where it was, also in a new tab. Without this the form sends everything at once, as
//! forms do.

use std::cell::Cell;
use std::rc::Rc;

use js_sys::{JSON, Object, Reflect};
use leptos::prelude::{document, window};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::{DragEvent, Element, Event, File, FileList, Headers, HtmlInputElement, RequestInit, Response};

use crate::islands::dom::{announce, closest, find_all, listen, sleep, within};

/// How much is sent at once.
const PIECE: f64 = 8_388_608.0;
/// After a cut it is tried again so often, each time a little later: for longer than the minute that the
/// server waits for a piece.
const TRIES: i32 = 20;
/// The first pause after a cut.
const PAUSE_MILLIS: i32 = 500;
const NO_CONTENT: u16 = 204;
const SIGNED_OUT: u16 = 401;
const TOO_MANY: u16 = 429;

pub fn install() {
    let is_busy = Rc::new(Cell::new(false));
    let busy = is_busy.clone();
    listen(&document(), "submit", move |event: Event| {
        let Some(form) = closest(&event, "form[data-upload]") else { return };
        let chosen: Vec<File> = find_all(&form, "input[type=file]")
            .into_iter()
            .filter_map(|input| input.dyn_into::<HtmlInputElement>().ok()?.files())
            .flat_map(|list| files_of(&list))
            .collect();
        if !chosen.is_empty() {
            event.prevent_default();
            event.stop_propagation();
            begin(form, chosen, busy.clone());
        }
    });
    for kind in ["dragover", "dragleave", "drop"] {
        let busy = is_busy.clone();
        listen(&document(), kind, move |event: DragEvent| {
            let Some(form) = closest(&event, "[data-upload]") else { return };
            event.prevent_default();
            if kind == "dragover" {
                let _ = form.set_attribute("data-over", "");
                return;
            }
            let _ = form.remove_attribute("data-over");
            if kind == "drop"
                && let Some(list) = event.data_transfer().and_then(|data| data.files())
            {
                begin(form, files_of(&list), busy.clone());
            }
        });
    }
}

fn files_of(list: &FileList) -> Vec<File> {
    (0..list.length()).filter_map(|at| list.item(at)).collect()
}

fn begin(form: Element, files: Vec<File>, is_busy: Rc<Cell<bool>>) {
    if files.is_empty() || is_busy.replace(true) {
        return;
    }
    spawn_local(async move {
        let said = send_all(&form, &files).await;
        is_busy.set(false);
        match said {
            // The page as it is now; what was uploaded is in it.
            Ok(()) => drop(window().location().reload()),
            Err(why) => {
                say(&form, &why, None);
                announce(&why);
            }
        }
    });
}

async fn send_all(form: &Element, files: &[File]) -> Result<(), String> {
    let (address, into) = (
        form.get_attribute("data-upload").unwrap_or_default(),
        form.get_attribute("data-upload-into").unwrap_or_default(),
    );
    let replaces = within::<HtmlInputElement>(form, "[name=replace]").is_some_and(|input| input.checked());
    let total: f64 = files.iter().map(|file| file.size()).sum();
    let mut done = 0.0;
    for file in files {
        let own =
            Reflect::get(file, &"webkitRelativePath".into()).ok().and_then(|path| path.as_string()).unwrap_or_default();
        let name = if own.is_empty() { file.name() } else { own };
        let path = if into.is_empty() { name.clone() } else { [into.as_str(), "/", &name].concat() };
        let show = |sent: f64| {
            let part = if total > 0.0 { (done + sent) / total * 100.0 } else { 100.0 };
            let percent = whole(part);
            say(form, &[name.as_str(), ": ", &percent, " % of all"].concat(), Some(part));
        };
        send(&address, file, &path, replaces, &show).await.map_err(|why| [name.as_str(), ": ", &why].concat())?;
        done += file.size();
    }
    Ok(())
}

/// Sends one file; goes on where an earlier try of the same file was cut.
async fn send(address: &str, file: &File, path: &str, replaces: bool, show: &dyn Fn(f64)) -> Result<(), String> {
    let size = file.size();
    let key = ["upload ", path, " ", &whole(size), " ", &whole(file.last_modified())].concat();
    let storage = window().local_storage().ok().flatten();
    let forget = || {
        if let Some(storage) = &storage {
            let _ = storage.remove_item(&key);
        }
    };
    let known = storage.as_ref().and_then(|storage| storage.get_item(&key).ok()?);
    let mut id = String::new();
    let mut offset = 0.0;
    if let Some(known) = known
        && let Ok(upload) = ask("GET", &[address, "/", &known].concat(), None).await
        && number(&upload, "size") == size
    {
        // All of it came and the answer was lost.
        if is_done(&upload) {
            forget();
            return Ok(());
        }
        offset = number(&upload, "offset");
        id = known;
    }
    if id.is_empty() {
        let new = Object::new();
        for (name, value) in [("path", path.into()), ("size", size.into()), ("replace", replaces.into())] {
            let _ = Reflect::set(&new, &name.into(), &value);
        }
        let body = JSON::stringify(&new).map_err(|_| String::new())?;
        let upload = ask("POST", address, Some(&body)).await.map_err(|refused| refused.why)?;
        if is_done(&upload) {
            return Ok(());
        }
        id = text(&upload, "id");
        if let Some(storage) = &storage {
            let _ = storage.set_item(&key, &id);
        }
    }
    let place = [address, "/", &id].concat();
    let mut tries = 0;
    loop {
        show(offset);
        let end = (offset + PIECE).min(size);
        let piece = file.slice_with_f64_and_f64(offset, end).map_err(|_| "it cannot be read any more".to_owned())?;
        let mut told = ask("PUT", &[place.as_str(), "?offset=", &whole(offset)].concat(), Some(&piece)).await;
        let is_cut = match &told {
            Ok(upload) => !is_done(upload) && number(upload, "offset") <= offset,
            Err(refused) => refused.is_passing(),
        };
        if is_cut {
            // Cut off, or the server is away for a moment, or it still waits for a piece of ours that never
            // ends: it says how far it has come.
            tries += 1;
            if tries > TRIES {
                return Err(lost());
            }
            sleep(PAUSE_MILLIS * tries).await;
            told = ask("GET", &place, None).await;
        }
        match told {
            Ok(upload) if is_done(&upload) => {
                forget();
                return Ok(());
            }
            Ok(upload) => {
                let now = number(&upload, "offset");
                if now > offset {
                    tries = 0;
                }
                offset = now;
            }
            Err(refused) if refused.is_passing() => {}
            // After signing in it goes on where it was.
            Err(refused) if refused.status == SIGNED_OUT => return Err(refused.why),
            // It will not be taken another time either: what came of it goes, and the same file begins anew.
            Err(refused) => {
                let _ = ask("DELETE", &place, None).await;
                forget();
                return Err(refused.why);
            }
        }
    }
}

fn lost() -> String {
    "the server cannot be reached. Choose the same file again later: it goes on where it was cut.".to_owned()
}

/// Why the server did not take something.
struct Refused {
    /// The status; 0 if there was no answer.
    status: u16,
    code: String,
    why: String,
}

impl Refused {
    /// Whether it may be otherwise in a moment.
    fn is_passing(&self) -> bool {
        self.status == 0
            || self.status == TOO_MANY
            || self.status >= 500
            || self.code == "files.busy"
            || self.code == "files.offset"
    }
}

/// Asks the server. What it says, or why it refuses.
async fn ask(method: &str, address: &str, body: Option<&JsValue>) -> Result<JsValue, Refused> {
    let cut = |_| Refused { status: 0, code: String::new(), why: lost() };
    let answer = fetch(method, address, body).await.map_err(cut)?;
    let (status, is_good) = (answer.status(), answer.ok());
    let words = async { JsFuture::from(answer.text().ok()?).await.ok()?.as_string() }.await.unwrap_or_default();
    let told = JSON::parse(&words).unwrap_or(JsValue::NULL);
    if is_good && (told.is_object() || status == NO_CONTENT) {
        return Ok(told);
    }
    let why = text(&told, "message");
    let why =
        if why.is_empty() { "the server did not take it. Reload the page and try again.".to_owned() } else { why };
    let code = Reflect::get(&told, &"error".into()).map(|error| text(&error, "code")).unwrap_or_default();
    // A page in place of an answer is the one to sign in.
    Err(Refused { status: if is_good { SIGNED_OUT } else { status }, code, why })
}

async fn fetch(method: &str, address: &str, body: Option<&JsValue>) -> Result<Response, JsValue> {
    let init = RequestInit::new();
    init.set_method(method);
    let headers = Headers::new()?;
    headers.set("Accept", "application/json")?;
    init.set_headers(&headers);
    if let Some(body) = body {
        init.set_body(body);
    }
    JsFuture::from(window().fetch_with_str_and_init(address, &init)).await?.dyn_into()
}

fn text(from: &JsValue, name: &str) -> String {
    Reflect::get(from, &name.into()).ok().and_then(|value| value.as_string()).unwrap_or_default()
}

fn number(from: &JsValue, name: &str) -> f64 {
    Reflect::get(from, &name.into()).ok().and_then(|value| value.as_f64()).unwrap_or_default()
}

fn is_done(upload: &JsValue) -> bool {
    Reflect::get(upload, &"is_done".into()).is_ok_and(|done| done.is_truthy())
}

fn say(form: &Element, text: &str, part: Option<f64>) {
    let Ok(Some(place)) = form.query_selector("[data-upload-progress]") else { return };
    let _ = place.remove_attribute("hidden");
    if let (Some(part), Ok(Some(bar))) = (part, place.query_selector("progress")) {
        let _ = bar.set_attribute("value", &whole(part));
    }
    if let Ok(Some(words)) = place.query_selector("[data-upload-said]") {
        words.set_text_content(Some(text));
    }
}

/// A number without its fraction; writing fractions would be code for every browser.
fn whole(number: f64) -> String {
    (number as u64).to_string()
}
