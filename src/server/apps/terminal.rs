//! The terminal: a page of our own at an address of its own, and the socket behind it.

use std::sync::Arc;
use std::time::Duration;

use atelier_pipe::Wire;
use atelier_protocol::Target;
use atelier_protocol::terminal::TerminalFrame;
use atelier_studio::html::attribute as escape;
use axum::body::Body;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::extract::{FromRequestParts as _, Request};
use axum::http::{Method, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use futures::{SinkExt as _, StreamExt as _};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::server::apps::access::Access;
use crate::server::apps::host::Place;
use crate::server::apps::visits::AppVisit;
use crate::server::apps::{pages, visits};
use crate::server::assets;
use crate::server::state::AppState;

/// xterm.js puts style sheets into its page, which is alone at this address.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; font-src 'self'; \
                      img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/// The largest message of a browser: what somebody pastes at once.
const MAX_MESSAGE: usize = 1 << 20;
/// How long a browser gets to hear why its terminal is closed. Nothing else passes meanwhile.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// Serves the page, its files, and the socket.
pub async fn serve(state: &AppState, visit: &Arc<AppVisit>, place: &Place, request: Request) -> Response {
    let (mut parts, _) = request.into_parts();
    let path = parts.uri.path().to_owned();
    if let Some(session) = path.strip_prefix("/session/") {
        let Some(node) = visit.node else { return pages::not_running(state, place) };
        let is_name = |text: &str| {
            (1..=16).contains(&text.len())
                && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
        };
        if !is_name(session) {
            return (StatusCode::NOT_FOUND, "There is no such terminal.").into_response();
        }
        let upgrade = match WebSocketUpgrade::from_request_parts(&mut parts, state).await {
            Ok(upgrade) => upgrade,
            Err(refusal) => return refusal.into_response(),
        };
        // A shell begins with who opens it first; looking begins nothing.
        let is_open = |name: &str| {
            let known = state.fleet().board().node_apps(node);
            known.is_some_and(|(_, status)| status.terminals.iter().any(|open| open == name))
        };
        if visit.access.is_read_only() && !is_open(session) {
            let text =
                "No terminal of this name is open. Whoever may only look sees terminals that others have opened.";
            return (StatusCode::NOT_FOUND, text).into_response();
        }
        let target = Target::Terminal { instance: visit.instance, session: session.to_owned() };
        let opened = tokio::select! {
            opened = state.fleet().open(node, target) => opened,
            () = visit.closed() => {
                return (StatusCode::UNAUTHORIZED, "The right to open this terminal has ended.").into_response();
            }
        };
        return match opened {
            Ok(wire) => {
                let (state, visit, place) = (state.clone(), Arc::clone(visit), place.clone());
                upgrade.max_message_size(MAX_MESSAGE).on_upgrade(move |socket| talk(state, visit, place, socket, wire))
            }
            Err(why) => pages::unreachable(state, place, &why.to_string()),
        };
    }
    if !matches!(parts.method, Method::GET | Method::HEAD) {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    }
    if path == "/" {
        return page(place, visit.access.is_read_only());
    }
    let file = match path.as_str() {
        "/terminal.js" | "/terminal.css" | "/xterm.js" | "/xterm.css" | "/addon-fit.js" => format!("/terminal{path}"),
        "/favicon.svg" => path,
        _ => return (StatusCode::NOT_FOUND, "There is nothing here.").into_response(),
    };
    assets::respond(&parts.method, &assets::url(&file), &parts.headers)
        .unwrap_or_else(|| StatusCode::NOT_FOUND.into_response())
}

fn page(place: &Place, is_read_only: bool) -> Response {
    let (words, look) = if is_read_only {
        (", read only", "<p id=\"look\" role=\"note\">You may look only: what you type here is not sent.</p>")
    } else {
        ("", "")
    };
    let title = escape(&format!("Terminal · {}{words}", place.instance));
    let text = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\"><meta name=\"color-scheme\" \
         content=\"dark\"><title>{title}</title><link rel=\"icon\" href=\"/favicon.svg\"><link rel=\"stylesheet\" \
         href=\"/xterm.css\"><link rel=\"stylesheet\" href=\"/terminal.css\"></head><body><main id=\"terminal\" \
         aria-label=\"{title}\"></main>{look}<p id=\"state\" role=\"status\"></p><noscript>A terminal needs \
         JavaScript.</noscript><script src=\"/xterm.js\"></script><script src=\"/addon-fit.js\"></script><script \
         src=\"/terminal.js\"></script></body></html>"
    );
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (headers, Body::from(text)).into_response()
}

/// From the browser: the first byte says whether it is something typed (0) or the window's size (1). To the
/// browser: what is printed, and a text once the shell has ended, and one that says why nobody may stay.
async fn talk(state: AppState, visit: Arc<AppVisit>, place: Place, socket: WebSocket, wire: Wire) {
    let (mut to_browser, mut from_browser) = socket.split();
    let (mut from_shell, mut to_shell) = tokio::io::split(wire);
    let typed = async {
        let mut frames = Vec::new();
        while let Some(Ok(message)) = from_browser.next().await {
            let Message::Binary(bytes) = message else {
                if matches!(message, Message::Close(_)) {
                    break;
                }
                continue;
            };
            let frame = match bytes.split_first() {
                Some((0, typed)) if !typed.is_empty() => TerminalFrame::Bytes(typed.to_vec()),
                Some((1, &[a, b, c, d])) => TerminalFrame::Size(u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])),
                _ => continue,
            };
            if visit.access.is_read_only() {
                // Neither typing nor the size of the window reaches the shell.
                continue;
            }
            if matches!(frame, TerminalFrame::Bytes(_)) {
                let visitor = (visit.access != Access::Own).then_some(visit.name.as_str());
                state.fleet().board().terminal_used(visit.instance, visitor);
                state.presence().note(&visit.user, &visit.session, atelier_engine::clock::now());
            }
            frames.clear();
            frame.encode(&mut frames);
            if to_shell.write_all(&frames).await.is_err() {
                break;
            }
        }
    };
    let printed = async {
        let mut buffer: Vec<u8> = Vec::new();
        loop {
            while let Ok(Some((frame, length))) = TerminalFrame::decode(&buffer) {
                buffer.drain(..length);
                let message = match frame {
                    TerminalFrame::Bytes(bytes) => Message::Binary(bytes.into()),
                    TerminalFrame::Ended(code) => Message::Text(format!("{{\"ended\":{code}}}").into()),
                    TerminalFrame::Size(..) => continue,
                };
                if to_browser.send(message).await.is_err() {
                    return false;
                }
            }
            if buffer.capacity() > 256 << 10 {
                buffer = Vec::new();
            }
            match from_shell.read_buf(&mut buffer).await {
                Ok(0) | Err(_) => return true,
                Ok(_) => {}
            }
        }
    };
    let somebody_listens = tokio::select! {
        () = visit.closed() => true,
        () = typed => false,
        somebody_listens = printed => somebody_listens,
    };
    if !somebody_listens {
        return;
    }
    // The shell may be gone before anybody has heard why: what counts is how things are now.
    let farewell = async {
        if let Some(why) = visits::why_over(&state, &visit, &place).await {
            let text = serde_json::json!({ "over": why }).to_string();
            let _ = to_browser.send(Message::Text(text.into())).await;
        }
        let _ = to_browser.close().await;
    };
    let _ = tokio::time::timeout(LAST_WORDS, farewell).await;
}
