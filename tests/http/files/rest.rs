//! Files over the API.

use axum::body::Body;
use axum::http::{Request, header};
use serde_json::json;

use crate::client::Server;
use crate::rest::{Answer, Api, make_token};

async fn send(
    server: &Server,
    token: &str,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<Body>,
) -> Answer {
    let mut request = Request::builder()
        .method(method)
        .uri(format!("/api/v1/files{path}"))
        .header(header::AUTHORIZATION, format!("Bearer {token}"));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    Api::with(server, token).raw(request.body(body.into()).expect("a request")).await
}

#[tokio::test]
async fn files_are_put_read_in_parts_listed_moved_and_deleted() {
    let server = Server::set_up().await;
    let token = make_token(&server, "ines@example.org", 1).await;
    let go = |method: &'static str, path: &'static str, headers: Vec<(&'static str, String)>, body: &'static str| {
        let (server, token) = (&server, token.clone());
        async move {
            let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
            send(server, &token, method, path, &headers, body).await
        }
    };
    let none = Vec::new;
    let made = go("PUT", "/content/Users/ines/a%20b.txt", none(), "0123456789").await.is(201);
    assert_eq!((&made.json["path"], &made.json["size"]), (&json!("Users/ines/a b.txt"), &json!(10)));
    let version = made.json["version"].as_str().expect("a version").to_owned();
    let read = go("GET", "/content/Users/ines/a%20b.txt", none(), "").await.is(200);
    assert_eq!(read.text, "0123456789");
    let part = go("GET", "/content/Users/ines/a%20b.txt", vec![("range", "bytes=2-4".into())], "").await.is(206);
    assert_eq!(part.text, "234");
    go("GET", "/content/Users/ines/a%20b.txt", vec![("range", "bytes=99-".into())], "").await.is(416);
    go("GET", "/content/Users/ines/a%20b.txt", vec![("if-none-match", format!("\"{version}\""))], "").await.is(304);
    // Two writers.
    let tag = format!("\"{version}\"");
    go("PUT", "/content/Users/ines/a%20b.txt", vec![("if-match", tag.clone())], "second").await.is(201);
    let late = go("PUT", "/content/Users/ines/a%20b.txt", vec![("if-match", tag)], "third").await.is(412);
    assert_eq!(late.json["code"], "files.changed");
    go("PUT", "/content/Users/ines/a%20b.txt", vec![("if-none-match", "*".into())], "x").await.is(409);
    go("PUT", "/content/Users/ines/a%20b.txt", vec![("if-match", "nonsense".into())], "x").await.is(422);
    // Folders.
    go("POST", "/folders", vec![("content-type", "application/json".into())], r#"{"path": "Users/ines/data"}"#)
        .await
        .is(201);
    let json = || vec![("content-type", "application/json".to_owned())];
    go("POST", "/move", json(), r#"{"from": "Users/ines/a b.txt", "to": "Users/ines/data/b.txt"}"#).await.is(200);
    let list = go("GET", "?path=Users/ines/data", none(), "").await.is(200);
    assert_eq!((&list.json["entries"][0]["name"], &list.json["total"]), (&json!("b.txt"), &json!(1)), "{}", list.text);
    go("GET", "/stat/Users/ines/data", none(), "").await.is(200);
    let zip = go("GET", "/zip/Users/ines/data", none(), "").await.is(200);
    assert!(zip.text.starts_with("PK"), "an archive");
    let usage = go("GET", "/usage", none(), "").await.is(200);
    assert!(usage.json["disk_free"].as_u64().is_some_and(|free| free > 0), "{}", usage.text);
    go("DELETE", "/content/Users/ines/data", none(), "").await.is(204);
    let trash = go("GET", "/trash", none(), "").await.is(200);
    let id = trash.json["entries"][0]["id"].as_str().expect("an id").to_owned();
    let back = send(&server, &token, "POST", &format!("/trash/{id}/restore"), &[], "").await.is(200);
    assert_eq!(back.json["path"], "Users/ines/data");
    go("DELETE", "/content/Users/ines/data", none(), "").await.is(204);
    go("DELETE", "/trash", none(), "").await.is(204);
    send(&server, &token, "DELETE", &format!("/trash/{id}"), &[], "").await.is(404);
    // In pieces.
    let begun = go("POST", "/uploads", json(), r#"{"path": "Users/ines/c.bin", "size": 6}"#).await.is(201);
    let id = begun.json["id"].as_str().expect("an id").to_owned();
    send(&server, &token, "PUT", &format!("/uploads/{id}?offset=0"), &[], "abc").await.is(200);
    let done = send(&server, &token, "PUT", &format!("/uploads/{id}?offset=3"), &[], "def").await.is(200);
    assert_eq!(done.json["is_done"], true);
    assert_eq!(go("GET", "/content/Users/ines/c.bin", none(), "").await.is(200).text, "abcdef");
}

#[tokio::test]
async fn refusals_are_problems_with_their_codes() {
    let server = Server::set_up().await;
    server.add("Rita", &[atelier_domain::access::Role::Reader]).await;
    let (token, reader) =
        (make_token(&server, "ines@example.org", 1).await, make_token(&server, "rita@example.org", 1).await);
    for (method, path, status) in [
        ("GET", "/content/nothing", 404),
        ("GET", "/content/%2e%2e/secret", 422),
        ("GET", "/content/Users", 409),
        ("PUT", "/content/Users/rita/x", 403),
        ("PUT", "/content/Users/x", 403),
        ("DELETE", "/content/Users", 403),
        ("DELETE", "/content/Users/ines", 403),
        ("GET", "?path=..", 422),
        ("GET", "?limit=0", 422),
        ("GET", "?sort=weight", 422),
        ("GET", "?nonsense=1", 422),
        ("GET", "/uploads/nonsense", 404),
        ("GET", "/zip/Users", 409),
        ("POST", "/trash/nonsense/restore", 404),
    ] {
        let answer = send(&server, &token, method, path, &[], "x").await;
        assert_eq!(answer.status.as_u16(), status, "{method} {path}: {}", answer.text);
    }
    for (method, path) in [("PUT", "/content/x"), ("DELETE", "/content/x"), ("DELETE", "/trash")] {
        let answer = send(&server, &reader, method, path, &[], "x").await;
        assert_eq!(answer.status.as_u16(), 403, "{method} {path}: {}", answer.text);
    }
    send(&server, &reader, "GET", "", &[], "").await.is(200);
}
