//! Files over HTTP: pages, uploads, downloads, rights, and what must never happen.

mod hostile;
mod outputs;
mod pages;
mod rest;
mod uploads;

use axum::body::Body;
use axum::http::{Request, header};

use crate::client::{Browser, Page, Server};

const MARK: &str = "----between";

/// Sends files as the form does.
pub async fn upload(browser: &mut Browser, folder: &str, files: &[(&str, &[u8])], replaces: bool) -> Page {
    let mut body = Vec::new();
    if replaces {
        body.extend(format!("--{MARK}\r\nContent-Disposition: form-data; name=\"replace\"\r\n\r\non\r\n").bytes());
    }
    for (name, bytes) in files {
        let head = format!("--{MARK}\r\nContent-Disposition: form-data; name=\"upload\"; filename=\"{name}\"\r\n\r\n");
        body.extend(head.bytes());
        body.extend(*bytes);
        body.extend(b"\r\n");
    }
    body.extend(format!("--{MARK}--\r\n").bytes());
    let query = url::form_urlencoded::Serializer::new(String::new()).append_pair("path", folder).finish();
    let request =
        post(&format!("/w/perception/files/upload?{query}"), &format!("multipart/form-data; boundary={MARK}"));
    browser.send(request.body(Body::from(body)).expect("a request")).await
}

/// A post of a page of ours.
pub fn post(path: &str, kind: &str) -> axum::http::request::Builder {
    Request::post(path)
        .header(header::ACCEPT, "text/html")
        .header(header::HOST, "localhost:3000")
        .header(header::ORIGIN, "http://localhost:3000")
        .header("sec-fetch-site", "same-origin")
        .header(header::CONTENT_TYPE, kind)
}

/// Saves a text as the editor does.
pub async fn save(browser: &mut Browser, fields: &[(&str, &str)]) -> Page {
    let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    let request = post("/w/perception/files/save", "application/x-www-form-urlencoded");
    browser.send(request.body(Body::from(body)).expect("a request")).await
}

/// What the disk has at a path of the area.
pub fn on_disk(server: &Server, path: &str) -> Option<String> {
    std::fs::read_to_string(server.state.fleet().folders().shared().join(path)).ok()
}
