//! Files that try to run something on the portal's own address, and paths that try to leave the area.

use axum::http::StatusCode;

use super::{on_disk, upload};
use crate::client::Server;

#[tokio::test]
async fn nothing_of_a_file_is_markup_on_a_page() {
    let server = Server::set_up().await;
    let mut browser = server.owner().await;
    let notebook = br#"{"metadata": {}, "cells": [
        {"cell_type": "markdown", "source": "<script>alert(1)</script> [x](javascript:alert(1))"},
        {"cell_type": "code", "source": "</code><script>alert(2)</script>", "outputs": [
            {"output_type": "display_data",
             "data": {"text/html": "<script>alert(3)</script>", "application/javascript": "alert(4)"}},
            {"output_type": "stream", "text": "<img src=x onerror=alert(5)>"}]}]}"#;
    let files: [(&str, &[u8]); 6] = [
        ("page.html", b"<script>alert('html')</script>"),
        ("drawing.svg", b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>"),
        ("text.md", b"<script>alert('md')</script> <img src=x onerror=alert(1)> [a](javascript:alert(1))"),
        ("table.csv", b"<script>alert('csv')</script>,b\n<img src=x onerror=alert(1)>,2\n"),
        ("note.ipynb", notebook),
        ("<img src=x onerror=alert(1)>.txt", b"x"),
    ];
    upload(&mut browser, "Users/ines", &files, false).await;
    browser.get("/w/perception/files?path=Users%2Fines").await.hides("<img src=x").shows("&lt;img src=x");
    for (name, _) in &files {
        let query = url::form_urlencoded::Serializer::new(String::new())
            .append_pair("path", &format!("Users/ines/{name}"))
            .finish();
        let page = browser.get(&format!("/w/perception/files/view?{query}")).await;
        assert_eq!(page.status, StatusCode::OK, "{name}");
        for bad in ["<script>alert", "<img src=x", "<svg xmlns", "href=\"javascript"] {
            page.hides(bad);
        }
        let page = browser.get(&format!("/w/perception/files/edit?{query}")).await;
        page.hides("<script>alert").hides("<img src=x").hides("<svg xmlns");
        // As they are, they are attachments of no kind, in a box without rights.
        let file = browser.get(&format!("/w/perception/files/download?{query}")).await;
        assert_eq!(file.header("content-type"), "application/octet-stream", "{name}");
        assert!(file.header("content-disposition").starts_with("attachment"), "{name}");
        assert_eq!(file.header("x-content-type-options"), "nosniff");
        assert!(file.header("content-security-policy").contains("sandbox"), "{name}");
        // What is no picture is never shown as one, whatever it is called.
        assert_eq!(
            browser.get(&format!("/w/perception/files/image?{query}")).await.status,
            StatusCode::NOT_FOUND,
            "{name}"
        );
    }
    browser.get("/w/perception/files/view?path=Users%2Fines%2Fnote.ipynb").await.shows("could run in your browser");
}

#[tokio::test]
async fn pictures_are_shown_by_their_bytes_in_a_box() {
    let server = Server::set_up().await;
    let mut browser = server.owner().await;
    let png = b"\x89PNG\r\n\x1a\nrest";
    upload(&mut browser, "Users/ines", &[("plot.html", png), ("plot.png", b"<script>alert(1)</script>")], false).await;
    let shown = browser.get("/w/perception/files/image?path=Users%2Fines%2Fplot.html").await;
    assert_eq!((shown.status, shown.header("content-type")), (StatusCode::OK, "image/png"));
    assert!(
        shown.header("content-security-policy").contains("sandbox")
            && shown.header("x-content-type-options") == "nosniff"
    );
    assert_eq!(
        browser.get("/w/perception/files/image?path=Users%2Fines%2Fplot.png").await.status,
        StatusCode::NOT_FOUND
    );
}

#[tokio::test]
async fn no_path_leaves_the_area() {
    let server = Server::set_up().await;
    let mut browser = server.owner().await;
    browser.get("/w/perception/files").await;
    let shared = server.state.fleet().folders().shared();
    std::fs::write(shared.parent().expect("has one").join("secret"), "hush").expect("writes");
    std::os::unix::fs::symlink("../secret", shared.join("link")).expect("links");
    std::os::unix::fs::symlink("/etc", shared.join("way")).expect("links");
    for path in [
        "../secret",
        "Users/../../secret",
        "/etc/passwd",
        "link",
        "way/passwd",
        ".atelier/trash/ines",
        "a%00b",
        "Users//ines",
        "%2e%2e/secret",
    ] {
        for page in ["view", "edit", "download", "image", "zip", "move", "new"] {
            let query = url::form_urlencoded::Serializer::new(String::new()).append_pair("path", path).finish();
            let answer = browser.get(&format!("/w/perception/files/{page}?{query}")).await;
            assert!(answer.status != StatusCode::INTERNAL_SERVER_ERROR, "{page} {path}: {}", answer.status);
            answer.hides("hush").hides("root:x:");
        }
    }
    let before = std::fs::read_dir(shared.parent().expect("has one")).expect("reads").count();
    for name in ["../evil.txt", "..\\evil.txt", "/etc/evil.txt", "a/../../evil.txt", ".atelier/evil"] {
        upload(&mut browser, "", &[(name, b"x")], true).await;
    }
    for folder in ["..", "../..", "/tmp", ".atelier", "way"] {
        upload(&mut browser, folder, &[("evil.txt", b"x")], true).await;
        browser.call("make_folder", &[("path", folder), ("name", "evil")]).await;
        browser.call("move_file", &[("path", "link"), ("folder", folder), ("name", "evil")]).await;
    }
    assert_eq!(std::fs::read_dir(shared.parent().expect("has one")).expect("reads").count(), before);
    assert!(!std::path::Path::new("/etc/evil.txt").exists() && !std::path::Path::new("/etc/evil").exists());
    assert!(!std::path::Path::new("/tmp/evil.txt").exists() && !std::path::Path::new("/tmp/evil").exists());
    assert_eq!(on_disk(&server, ".atelier/evil"), None);
}
