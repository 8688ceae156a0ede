//! The few words in which the islands speak to the browser.

use leptos::prelude::document;
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{
    Document, DomParser, Element, Event, EventTarget, Headers, HtmlElement, MessageEvent, Node, RequestInit, Response,
    SupportedType,
};

/// Listens for as long as the page lives; nothing in the islands ever stops listening.
pub fn listen<E: JsCast>(target: &EventTarget, kind: &str, mut handler: impl FnMut(E) + 'static) {
    attach(target, kind, Box::new(move |event: Event| handler(event.unchecked_into())), false);
}

/// Listens in the capture phase, which is the only one in which `blur` and `toggle` reach the document.
pub fn listen_first<E: JsCast>(target: &EventTarget, kind: &str, mut handler: impl FnMut(E) + 'static) {
    attach(target, kind, Box::new(move |event: Event| handler(event.unchecked_into())), true);
}

fn attach(target: &EventTarget, kind: &str, handler: Box<dyn FnMut(Event)>, first: bool) {
    let closure = Closure::wrap(handler);
    // It fails only for options that are not given here.
    let _ = target.add_event_listener_with_callback_and_bool(kind, closure.as_ref().unchecked_ref(), first);
    closure.forget();
}

pub async fn sleep(millis: i32) {
    let promise = js_sys::Promise::new(&mut |resolve, _| {
        let _ = leptos::prelude::window().set_timeout_with_callback_and_timeout_and_arguments_0(&resolve, millis);
    });
    let _ = JsFuture::from(promise).await;
}

/// The element that an event came from, or the nearest around it that fits the selector.
pub fn closest(event: &Event, selector: &str) -> Option<Element> {
    event.target()?.dyn_into::<Element>().ok()?.closest(selector).ok()?
}

/// The first element in the document that fits the selector.
pub fn find(selector: &str) -> Option<Element> {
    document().query_selector(selector).ok()?
}

/// All elements under `root` that fit the selector.
pub fn find_all(root: &Element, selector: &str) -> Vec<Element> {
    let Ok(list) = root.query_selector_all(selector) else { return Vec::new() };
    (0..list.length()).filter_map(|at| list.item(at)?.dyn_into().ok()).collect()
}

/// All elements in the document that fit the selector.
pub fn all(selector: &str) -> Vec<Element> {
    document().document_element().map(|root| find_all(&root, selector)).unwrap_or_default()
}

/// The first element under `root` that fits the selector, as what it is.
pub fn within<E: JsCast>(root: &Element, selector: &str) -> Option<E> {
    root.query_selector(selector).ok()??.dyn_into().ok()
}

/// What an event of a stream says, field by field.
pub fn told(event: &MessageEvent) -> Option<impl Fn(&str) -> JsValue + use<>> {
    let told = js_sys::JSON::parse(&event.data().as_string()?).ok()?;
    Some(move |key: &str| js_sys::Reflect::get(&told, &JsValue::from_str(key)).unwrap_or(JsValue::UNDEFINED))
}

/// `08:30`.
pub fn clock(hours: u32, minutes: u32) -> String {
    let two = |number: u32| [if number < 10 { "0" } else { "" }, &number.to_string()].concat();
    [two(hours), two(minutes)].join(":")
}

/// The words of a button or line, without its icon.
pub fn words(element: &Element) -> String {
    holder_of_words(element).and_then(|holder| holder.text_content()).unwrap_or_default()
}

/// Changes the words of a button or line and keeps its icon.
pub fn set_words(element: &Element, text: &str) {
    if let Some(holder) = holder_of_words(element) {
        holder.set_text_content(Some(text));
    }
}

/// The last text of the element itself, or its last `<span>`, or the element if it holds nothing else.
fn holder_of_words(element: &Element) -> Option<Node> {
    let children = element.child_nodes();
    let is_text = |node: &Node| {
        node.node_type() == Node::TEXT_NODE && node.text_content().is_some_and(|text| !text.trim().is_empty())
    };
    let text = (0..children.length()).rev().filter_map(|at| children.item(at)).find(is_text);
    text.or_else(|| find_all(element, "span").pop().map(Node::from))
        .or_else(|| (element.child_element_count() == 0).then(|| element.clone().into()))
}

/// Moves the focus without moving the page.
pub fn focus(element: &Element) {
    if let Some(element) = element.dyn_ref::<HtmlElement>() {
        let options = web_sys::FocusOptions::new();
        options.set_prevent_scroll(true);
        let _ = element.focus_with_options(&options);
    }
}

/// Says something to screen readers through the shell's one polite region.
pub fn announce(text: &str) {
    if let Some(region) = find("#announcer") {
        region.set_text_content(Some(text));
    }
}

/// Fetches a page as this person would see it, without the marks of a visit.
pub async fn fetch_page(url: &str) -> Result<Response, JsValue> {
    let headers = Headers::new()?;
    headers.set("Accept", "text/html")?;
    headers.set("X-Atelier-Refresh", "1")?;
    let init = RequestInit::new();
    init.set_headers(&headers);
    let answer = JsFuture::from(leptos::prelude::window().fetch_with_str_and_init(url, &init)).await?;
    answer.dyn_into()
}

/// Reads an answer as a document; scripts in it do not run.
pub async fn parse_page(answer: &Response) -> Result<Document, JsValue> {
    parse(&JsFuture::from(answer.text()?).await?.as_string().unwrap_or_default())
}

/// Reads a page, or a piece of one, which is in the body then.
pub fn parse(html: &str) -> Result<Document, JsValue> {
    DomParser::new()?.parse_from_string(html, SupportedType::TextHtml)
}

/// Whether an answer is the sign-in page instead of what was asked for.
pub fn is_signed_out(answer: &Response) -> bool {
    let path = web_sys::Url::new(&answer.url()).map(|url| url.pathname()).unwrap_or_default();
    answer.status() == 401 || (answer.redirected() && path == atelier_domain::paths::SIGN_IN)
}
