//! Uploads in pieces, as the portal's script sends them.

use axum::body::Body;
use axum::http::{Request, StatusCode, header};
use serde_json::{Value, json};

use super::{on_disk, upload};
use crate::client::{Browser, Server};

async fn ask(browser: &mut Browser, method: &str, path: &str, body: Body) -> (StatusCode, Value) {
    let request = Request::builder()
        .method(method)
        .uri(format!("/w/perception/files/uploads{path}"))
        .header(header::ACCEPT, "application/json")
        .header(header::HOST, "localhost:3000")
        .header(header::ORIGIN, "http://localhost:3000")
        .header("sec-fetch-site", "same-origin");
    let page = browser.send(request.body(body).expect("a request")).await;
    (page.status, serde_json::from_str(&page.text).unwrap_or(Value::Null))
}

#[tokio::test]
async fn an_upload_goes_on_after_a_cut_and_is_never_half_there() {
    let server = Server::set_up().await;
    let mut browser = server.owner().await;
    let new = json!({"path": "Users/ines/big.bin", "size": 10});
    let (status, begun) = ask(&mut browser, "POST", "", Body::from(new.to_string())).await;
    assert_eq!((status, &begun["offset"]), (StatusCode::OK, &json!(0)), "{begun}");
    let id = begun["id"].as_str().expect("an id").to_owned();
    // Cut in the middle of a piece: what came counts.
    let cut = futures::stream::iter([Ok("0123".to_owned()), Err(std::io::Error::other("cut"))]);
    let (_, half) = ask(&mut browser, "PUT", &format!("/{id}?offset=0"), Body::from_stream(cut)).await;
    assert_eq!((&half["offset"], &half["is_done"]), (&json!(4), &json!(false)), "{half}");
    assert_eq!(on_disk(&server, "Users/ines/big.bin"), None);
    let (_, look) = ask(&mut browser, "GET", &format!("/{id}"), Body::empty()).await;
    assert_eq!(look["offset"], 4);
    // What does not follow is refused with where to go on.
    let (status, wrong) = ask(&mut browser, "PUT", &format!("/{id}?offset=0"), Body::from("0123456789")).await;
    assert_eq!(status, StatusCode::CONFLICT);
    assert!(wrong["message"].as_str().expect("words").contains("byte 4"), "{wrong}");
    let (status, _) = ask(&mut browser, "PUT", &format!("/{id}?offset=4"), Body::from("4567890")).await;
    assert_eq!(status, StatusCode::CONFLICT, "more than was said");
    let (_, look) = ask(&mut browser, "GET", &format!("/{id}"), Body::empty()).await;
    let offset = look["offset"].as_u64().expect("a number") as usize;
    let (status, done) =
        ask(&mut browser, "PUT", &format!("/{id}?offset={offset}"), Body::from(&"0123456789"[offset..])).await;
    assert_eq!((status, &done["is_done"]), (StatusCode::OK, &json!(true)), "{done}");
    assert_eq!(on_disk(&server, "Users/ines/big.bin").as_deref(), Some("0123456789"));
    // Whoever did not hear the last answer asks again, and is told the same.
    let (status, told) = ask(&mut browser, "GET", &format!("/{id}"), Body::empty()).await;
    assert_eq!((status, &told["is_done"], &told["offset"]), (StatusCode::OK, &json!(true), &json!(10)), "{told}");
    let (status, told) = ask(&mut browser, "PUT", &format!("/{id}?offset=4"), Body::from("456789")).await;
    assert_eq!((status, &told["is_done"]), (StatusCode::OK, &json!(true)), "{told}");
    assert_eq!(ask(&mut browser, "DELETE", &format!("/{id}"), Body::empty()).await.0, StatusCode::NO_CONTENT);
    assert_eq!(ask(&mut browser, "GET", &format!("/{id}"), Body::empty()).await.0, StatusCode::NOT_FOUND);
    assert_eq!(on_disk(&server, "Users/ines/big.bin").as_deref(), Some("0123456789"), "only the note is gone");
    // An empty file is there at once; a name that is taken is refused before anything is sent.
    let (_, empty) =
        ask(&mut browser, "POST", "", Body::from(json!({"path": "Users/ines/empty", "size": 0}).to_string())).await;
    assert_eq!(empty["is_done"], true);
    assert_eq!(ask(&mut browser, "POST", "", Body::from(new.to_string())).await.0, StatusCode::CONFLICT);
    for bad in [
        json!({"path": "../x", "size": 1}),
        json!({"path": "Users/noor/x", "size": 1}),
        json!({"path": "", "size": 1}),
        json!({"path": "Users/x", "size": 1}),
        json!(3),
    ] {
        let (status, _) = ask(&mut browser, "POST", "", Body::from(bad.to_string())).await;
        assert!(status.is_client_error(), "{bad}: {status}");
    }
    // Given up.
    let (_, begun) =
        ask(&mut browser, "POST", "", Body::from(json!({"path": "Users/ines/b", "size": 5}).to_string())).await;
    let id = begun["id"].as_str().expect("an id").to_owned();
    assert_eq!(ask(&mut browser, "DELETE", &format!("/{id}"), Body::empty()).await.0, StatusCode::NO_CONTENT);
}

#[tokio::test]
async fn a_request_that_never_ends_gives_way_to_the_next() {
    let server = Server::set_up().await;
    let (mut first, mut second) = (server.owner().await, server.owner().await);
    let new = json!({"path": "Users/ines/big.bin", "size": 10}).to_string();
    let (_, begun) = ask(&mut first, "POST", "", Body::from(new)).await;
    let id = begun["id"].as_str().expect("an id").to_owned();
    // A client that is gone without a word: its body stays open. When its first bytes were asked for, the
    // upload is in its hands.
    let (asked, is_asked) = tokio::sync::oneshot::channel();
    let body = futures::stream::unfold(Some(asked), |asked| async move {
        let Some(asked) = asked else { return std::future::pending().await };
        let _ = asked.send(());
        Some((Ok::<_, std::io::Error>("012".to_owned()), None))
    });
    let place = format!("/{id}?offset=0");
    let held = ask(&mut first, "PUT", &place, Body::from_stream(body));
    let next = async {
        is_asked.await.expect("the first has it");
        // What does not fit disturbs nobody.
        let (status, _) = ask(&mut second, "PUT", &format!("/{id}?offset=7"), Body::from("789")).await;
        assert_eq!(status, StatusCode::CONFLICT);
        ask(&mut second, "PUT", &place, Body::from("0123456789")).await
    };
    let ((old, refused), (status, done)) = tokio::join!(held, next);
    assert_eq!((old, &refused["error"]["code"]), (StatusCode::CONFLICT, &json!("files.busy")), "{refused}");
    assert_eq!((status, &done["is_done"]), (StatusCode::OK, &json!(true)), "{done}");
    assert_eq!(on_disk(&server, "Users/ines/big.bin").as_deref(), Some("0123456789"));
}

#[tokio::test]
async fn uploads_at_once_stay_within_the_limit_together() {
    let server = Server::set_up().await;
    let mut browser = server.owner().await;
    browser.submit("/w/perception/admin/settings", "set_files_limit", &[("limit", "64 KiB")]).await;
    let mut ids = Vec::new();
    for name in ["a", "b"] {
        let new = json!({"path": format!("Users/ines/{name}"), "size": 40 << 10}).to_string();
        let (status, begun) = ask(&mut browser, "POST", "", Body::from(new)).await;
        assert_eq!(status, StatusCode::OK, "{begun}");
        ids.push(begun["id"].as_str().expect("an id").to_owned());
    }
    let piece = |count: usize| Body::from(vec![b'x'; count]);
    let (status, told) = ask(&mut browser, "PUT", &format!("/{}?offset=0", ids[0]), piece(39 << 10)).await;
    assert_eq!((status, &told["is_done"]), (StatusCode::OK, &json!(false)), "{told}");
    let (status, told) = ask(&mut browser, "PUT", &format!("/{}?offset=0", ids[1]), piece(40 << 10)).await;
    assert_eq!((status, &told["error"]["code"]), (StatusCode::CONFLICT, &json!("files.limit")), "{told}");
    // What is given up counts no more, and what is finished counts once.
    assert_eq!(ask(&mut browser, "DELETE", &format!("/{}", ids[0]), Body::empty()).await.0, StatusCode::NO_CONTENT);
    let (status, told) = ask(&mut browser, "PUT", &format!("/{}?offset=0", ids[1]), piece(40 << 10)).await;
    assert_eq!((status, &told["is_done"]), (StatusCode::OK, &json!(true)), "{told}");
    upload(&mut browser, "Users/ines", &[("c", &[b'x'; 20 << 10])], false).await;
    assert!(on_disk(&server, "Users/ines/c").is_some());
}

#[tokio::test]
async fn an_upload_is_its_beginners_alone_and_old_ones_go() {
    let server = Server::set_up().await;
    server.add("Noor", &[atelier_domain::access::Role::DataScientist]).await;
    let (mut ines, mut noor) = (server.owner().await, server.signed_in("noor@example.org").await);
    let new = json!({"path": "Users/ines/a", "size": 5}).to_string();
    let (_, begun) = ask(&mut ines, "POST", "", Body::from(new)).await;
    let id = begun["id"].as_str().expect("an id").to_owned();
    for method in ["GET", "DELETE"] {
        assert_eq!(ask(&mut noor, method, &format!("/{id}"), Body::empty()).await.0, StatusCode::NOT_FOUND);
    }
    assert_eq!(ask(&mut noor, "PUT", &format!("/{id}?offset=0"), Body::from("12345")).await.0, StatusCode::NOT_FOUND);
    upload(&mut ines, "Users/ines", &[("old.txt", b"x")], false).await;
    ines.call("delete_files", &[("ids[]", "Users/ines/old.txt")]).await;
    let now = atelier_engine::clock::now();
    let sweep = |days: i64| {
        atelier_studio::files::sweep::sweep(server.state.studio(), atelier_domain::Timestamp(now.0 + days * 86_400_000))
    };
    assert_eq!(sweep(0).await, Ok((0, 0)));
    assert_eq!(sweep(2).await, Ok((2, 0)));
    assert_eq!(sweep(31).await, Ok((0, 1)));
}
