//! Files for jobs over the API.

use atelier_domain::access::Role;
use axum::body::Body;
use axum::http::{Method, Request, header};
use serde_json::{Value, json};

use super::{Answer, Api, make_token, with_pool};
use crate::client::Server;

const MARK: &str = "----between";

/// The parts of an upload: field, file name (none for a plain field), content.
type Part<'a> = (&'a str, Option<&'a str>, &'a [u8]);

fn body_of(parts: &[Part<'_>]) -> Vec<u8> {
    let mut body = Vec::new();
    for (field, file, bytes) in parts {
        let file = file.map(|file| format!("; filename=\"{file}\"")).unwrap_or_default();
        body.extend(format!("--{MARK}\r\nContent-Disposition: form-data; name=\"{field}\"{file}\r\n\r\n").bytes());
        body.extend(*bytes);
        body.extend(b"\r\n");
    }
    body.extend(format!("--{MARK}--\r\n").bytes());
    body
}

async fn send(server: &Server, token: &str, kind: &str, body: Vec<u8>) -> Answer {
    let request = Request::post("/api/v1/files")
        .header(header::AUTHORIZATION, format!("Bearer {token}"))
        .header(header::CONTENT_TYPE, kind)
        .body(Body::from(body))
        .expect("a request");
    Api::with(server, token).raw(request).await
}

async fn upload(server: &Server, token: &str, parts: &[Part<'_>]) -> Answer {
    send(server, token, &format!("multipart/form-data; boundary={MARK}"), body_of(parts)).await
}

/// How many files are kept or on their way.
fn kept(server: &Server) -> usize {
    fn count(folder: &std::path::Path) -> usize {
        let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
        entries.flatten().map(|entry| if entry.path().is_dir() { count(&entry.path()) } else { 1 }).sum()
    }
    count(&server.state.fleet().folders().blobs())
}

#[tokio::test]
async fn files_are_kept_once_and_named_by_a_job() {
    let server = Server::set_up().await;
    let api = with_pool(&server, 1).await;
    let token = make_token(&server, "ines@example.org", 1).await;
    let parts = [("file", Some("src/train.py"), b"print(1)\n" as &[u8]), ("file", Some("empty"), b"")];
    let made = upload(&server, &token, &parts).await.is(201);
    let files = made.json["files"].clone();
    assert_eq!((&files[0]["path"], &files[0]["size"]), (&json!("src/train.py"), &json!(9)), "{}", made.text);
    assert_eq!(files[1]["blob"], "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    // The same again, under another name: nothing more is kept.
    let again = upload(&server, &token, &[("x", Some("other.py"), b"print(1)\n")]).await.is(201);
    assert_eq!(again.json["files"][0]["blob"], files[0]["blob"]);
    assert_eq!(kept(&server), 2);
    let job = json!({"command": ["python", "src/train.py"], "cluster": "pool", "files": files});
    api.post("/jobs", &job).await.is(201);
    let mut owner = server.owner().await;
    owner.get("/w/perception/jobs/job-1").await.shows("2 files");
}

#[tokio::test]
async fn a_job_names_only_files_that_are_there() {
    let server = Server::set_up().await;
    let api = with_pool(&server, 1).await;
    let token = make_token(&server, "ines@example.org", 1).await;
    let file = upload(&server, &token, &[("file", Some("a.txt"), b"four")]).await.is(201).json["files"][0].clone();
    let with = |files: Value| json!({"command": ["true"], "cluster": "pool", "files": files});
    let changed = |field: &str, value: Value| {
        let mut file = file.clone();
        file[field] = value;
        json!([file])
    };
    for (files, said) in [
        (changed("size", json!(5)), "has 4 bytes, not 5"),
        (changed("blob", json!("0".repeat(64))), "is not here"),
        (changed("blob", json!("../../etc/passwd")), "is not here"),
        (changed("path", json!("../a.txt")), "leaves the job’s folder"),
        (json!([file, file]), "is there twice"),
    ] {
        let refused = api.post("/jobs", &with(files)).await.refuses(422, "invalid");
        assert!(refused.problem("files").contains(said), "{}", refused.text);
    }
    api.post("/jobs", &with(json!([file]))).await.is(201);
}

#[tokio::test]
async fn what_is_refused_leaves_nothing_behind() {
    let server = Server::set_up_with(&[("upload_limit_mib", "1")]).await;
    let token = make_token(&server, "ines@example.org", 1).await;
    let large = vec![0; (1 << 20) + 1];
    let refused = upload(&server, &token, &[("file", Some("large"), &large)]).await.refuses(413, "too-large");
    assert!(refused.json["detail"].as_str().expect("a sentence").contains("at most 1 MiB"), "{}", refused.text);
    let outside = upload(&server, &token, &[("file", Some("../up.py"), b"x")]).await.refuses(422, "invalid");
    outside.problem("files");
    let field = [("file", Some("a.py"), b"x" as &[u8]), ("name", None, b"night")];
    upload(&server, &token, &field).await.refuses(422, "invalid").problem("name");
    upload(&server, &token, &[]).await.refuses(422, "invalid").problem("files");
    upload(&server, &token, &[("file", Some(""), b"")]).await.refuses(422, "invalid").problem("files");
    let cut = body_of(&[("file", Some("a.py"), b"never ends")]);
    let kind = format!("multipart/form-data; boundary={MARK}");
    send(&server, &token, &kind, cut[..cut.len() - 20].to_vec()).await.refuses(400, "not-understood");
    send(&server, &token, "multipart/form-data", Vec::new()).await.refuses(400, "not-understood");
    send(&server, &token, "application/json", b"{}".to_vec()).await.refuses(415, "not-multipart");
    assert_eq!(kept(&server), 0);
}

#[tokio::test]
async fn files_are_for_those_who_may_submit() {
    let server = Server::set_up().await;
    server.add("Noor", &[Role::Reader]).await;
    let token = make_token(&server, "noor@example.org", 1).await;
    let refused = upload(&server, &token, &[("file", Some("a.py"), b"x")]).await.refuses(403, "right.missing");
    assert_eq!(refused.problem("right"), "\"job.submit\"");
    assert_eq!(kept(&server), 0);
    upload(&server, "", &[("file", Some("a.py"), b"x")]).await.refuses(401, "token.unknown");
    let owner = Api::owner(&server).await;
    owner.send(Method::PATCH, "/files", &[], None).await.refuses(405, "no-such-method");
}

#[tokio::test]
async fn a_hash_counts_only_for_who_has_sent_the_content() {
    let server = Server::set_up().await;
    let ines = with_pool(&server, 1).await;
    let token = make_token(&server, "ines@example.org", 1).await;
    let sent = upload(&server, &token, &[("file", Some("secret.txt"), b"payroll")]).await.is(201);
    let files = sent.json["files"].clone();
    let job = json!({"cluster": "pool", "command": ["cat", "secret.txt"], "files": files});
    ines.post("/jobs", &job).await.is(201);

    let sven = Api::role(&server, "Sven", Role::DataScientist).await;
    let refused = sven.post("/jobs", &job).await.refuses(422, "invalid");
    assert!(refused.problem("files").contains("you have uploaded none with the hash"), "{}", refused.text);
    // As if there were none: neither the right nor a wrong size tells that it exists.
    let mut wrong = job.clone();
    wrong["files"][0]["size"] = json!(8);
    assert_eq!(sven.post("/jobs", &wrong).await.problem("files"), refused.problem("files"));
    // Scripts are named in the same way.
    let blob = files[0]["blob"].as_str().expect("a hash");
    let instance = json!({"name": "desk", "size": "cpu-2", "starts": false, "scripts": {"startup": {"blob": blob}}});
    let refused = sven.post("/instances", &instance).await.refuses(422, "invalid");
    assert!(refused.problem("startup_script").contains("You have uploaded no file with this hash"), "{}", refused.text);
    // Who has the content may send it, and then name it.
    let svens = make_token(&server, "sven@example.org", 1).await;
    upload(&server, &svens, &[("file", Some("x"), b"payroll")]).await.is(201);
    sven.post("/jobs", &job).await.is(201);
    sven.post("/instances", &instance).await.is(201);
}

#[tokio::test]
async fn files_of_jobs_from_before_belong_to_who_submitted_them() {
    let server = Server::set_up().await;
    let ines = with_pool(&server, 1).await;
    let token = make_token(&server, "ines@example.org", 1).await;
    let sent = upload(&server, &token, &[("file", Some("old.txt"), b"old")]).await.is(201);
    let job = json!({"cluster": "pool", "command": ["true"], "files": sent.json["files"], "array": 3});
    ines.post("/jobs", &job).await.is(201);
    let store = server.state.store();
    let blob = sent.json["files"][0]["blob"].as_str().expect("a hash").to_owned();
    store.forget_uploads(&[blob], atelier_domain::Timestamp(i64::MAX)).await.expect("forgets");
    ines.post("/jobs", &job).await.refuses(422, "invalid");
    store.know_uploads(atelier_engine::clock::now()).await.expect("knows");
    ines.post("/jobs", &job).await.is(201);
}
