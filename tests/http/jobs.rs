//! Jobs as people see them: the list, the form with uploads, the page of one with its log and files,
//! canceling. Nodes and agents are played by the tests.

use std::time::Duration;

use atelier_domain::Timestamp;
use atelier_domain::access::Role;
use atelier_domain::compute::size::SiteName;
use atelier_domain::compute::{JobId, Resources};
use atelier_domain::time::Span;
use atelier_domain::world::{AllocationKey, Exit, Report};
use atelier_engine::fleet::{Collector, LogName};
use atelier_testing::PATIENCE;
use axum::body::{Body, BodyDataStream};
use axum::http::{Request, StatusCode, header};
use futures::StreamExt as _;

use crate::client::{Browser, Page, Server};

const JOBS: &str = "/w/perception/jobs";

/// A server with a place to run on, and an Owner.
async fn furnished() -> (Server, Browser) {
    furnished_with(&[]).await
}

async fn furnished_with(settings: &[(&str, &str)]) -> (Server, Browser) {
    let server = Server::set_up_with(settings).await;
    server.state.engine().report(site()).await.expect("heard");
    let mut owner = server.owner().await;
    let size = [
        ("name", "small"),
        ("family", "general"),
        ("site", "local"),
        ("cores", "2"),
        ("memory", "4"),
        ("price", "0.40"),
    ];
    let answer = owner.call("put_size", &size).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
    (server, owner)
}

fn site() -> Report {
    Report::Site { site: SiteName::parse("local").expect("a name"), capacity: Resources::new(64, 256, 0) }
}

/// What a browser sends for a form with files: fields, and files with their names.
async fn upload(browser: &mut Browser, fields: &[(&str, &str)], files: &[(&str, &[u8])]) -> Page {
    const MARK: &str = "----between";
    let mut body = Vec::new();
    for (name, value) in fields {
        body.extend(format!("--{MARK}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n").bytes());
    }
    for (name, bytes) in files {
        body.extend(
            format!(
                "--{MARK}\r\nContent-Disposition: form-data; name=\"upload\"; filename=\"{name}\"\r\nContent-Type: \
                 application/octet-stream\r\n\r\n"
            )
            .bytes(),
        );
        body.extend(*bytes);
        body.extend(b"\r\n");
    }
    body.extend(format!("--{MARK}--\r\n").bytes());
    let request = Request::post(format!("{JOBS}/upload"))
        .header(header::ACCEPT, "text/html")
        .header(header::CONTENT_TYPE, format!("multipart/form-data; boundary={MARK}"))
        .header("sec-fetch-site", "same-origin");
    browser.send(request.body(Body::from(body)).expect("a request")).await
}

/// Sends the form and looks at the page that comes next.
async fn submit(browser: &mut Browser, fields: &[(&str, &str)], files: &[(&str, &[u8])]) -> Page {
    let answer = upload(browser, fields, files).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.text);
    let next = answer.location().to_owned();
    browser.get(&next).await
}

const SUBMIT: (&str, &str) = ("act", "submit");

/// Brings a submitted serverless job to run: its node comes up, and its part starts.
async fn start(server: &Server, job: u64) -> AllocationKey {
    let engine = server.state.engine();
    let node = engine
        .ask(move |world| world.job(JobId(job)).and_then(|job| job.own_nodes.first().copied()))
        .await
        .expect("answers")
        .expect("a node is wanted");
    engine.report(Report::NodeUp(node)).await.expect("heard");
    let part = AllocationKey { job: JobId(job), attempt: 1, node };
    engine.report(Report::JobStarted(part)).await.expect("heard");
    part
}

async fn end(server: &Server, part: AllocationKey, code: i32) {
    let engine = server.state.engine();
    engine.report(Report::JobExited { part, exit: Exit::Code(code) }).await.expect("heard");
    engine.report(Report::JobOff { part, exit: Exit::Code(code) }).await.expect("heard");
}

#[tokio::test]
async fn an_empty_studio_says_what_jobs_are() {
    let (_server, mut owner) = furnished().await;
    owner.get(JOBS).await.shows("No jobs yet").shows("Submit the first job");
}

#[tokio::test]
async fn a_job_is_submitted_runs_and_ends_and_every_page_says_so() {
    let (server, mut owner) = furnished().await;
    owner
        .get(&format!("{JOBS}/new"))
        .await
        .shows("Submit job")
        .shows("€0.40 <small>an hour at most</small>")
        .shows("No shell runs it");
    let page = submit(
        &mut owner,
        &[
            SUBMIT,
            ("command", "python train.py --name 'two words'"),
            ("environment", "SECRET=hush"),
            ("size", "small"),
            ("tags", "project=churn"),
            ("timeout", "2 h"),
        ],
        &[("train.py", b"print(1)\n"), ("", b"")],
    )
    .await;
    page.shows("job-1 was submitted").shows("python").shows("1 file").shows("SECRET").hides("hush");
    page.shows("2 h").shows("project=churn");
    owner.get(JOBS).await.shows("python").shows("Queued").shows("small").shows("project=churn");
    let part = start(&server, 1).await;
    let logs = server.state.fleet().logs();
    logs.keep(LogName::from(part), 0, b"\x1b[31mhot\x1b[0m <b>\n").expect("keeps");
    let page = owner.get(&format!("{JOBS}/job-1")).await;
    page.shows("Running").shows("<span class=\"a-r\">hot</span>").shows("&lt;b&gt;").shows("id=\"L1\"");
    page.shows("data-log=\"/w/perception/jobs/job-1/log/events\"").hides(" style=\"");
    owner.get(&format!("{JOBS}?state=running")).await.shows("job-1");
    owner.get(&format!("{JOBS}?state=queued")).await.hides("job-1<");
    logs.end(part.into());
    end(&server, part, 3).await;
    let page = owner.get(&format!("{JOBS}/job-1")).await;
    page.shows("The job ended with exit code 3.").shows("Failed").shows("Attempt 1").shows("Timeline");
    page.hides("data-log=").hides("Cancel job").shows("Run again");
    owner.get(&format!("{JOBS}?q=PYTH&tag=project%3Dchurn&owner=me&compute=serverless")).await.shows("job-1");
    owner.get(&format!("{JOBS}?tag=project%3Dother")).await.shows("No job fits");
    owner.get(&format!("{JOBS}?compute=nowhere")).await.shows("No job fits");
}

#[tokio::test]
async fn a_form_that_is_wrong_comes_back_with_everything_and_uploads_nothing_twice() {
    let (server, mut owner) = furnished().await;
    let page = submit(
        &mut owner,
        &[SUBMIT, ("name", "mine"), ("cores", "many"), ("environment", "NOPE"), ("size", "small")],
        &[("data/a.txt", b"hello")],
    )
    .await;
    page.shows("Say what to run").shows("not “many”").shows("Line 1 has no “=”").shows("value=\"mine\"");
    page.shows("Files that come along").shows("data/a.txt");
    let kept = page.text.split("name=\"file\" value=\"").nth(1).and_then(|rest| rest.split('"').next());
    let kept = kept.expect("the file is carried along").to_owned();
    let blob = kept.split(' ').next().expect("a hash");
    let path = server.state.fleet().folders().blob(blob).expect("a hash");
    assert_eq!(std::fs::read(&path).expect("is there"), b"hello");
    // Old enough to be removed, until somebody submits a job with it.
    let blobs = server.state.fleet().blobs();
    assert_eq!(blobs.claim(blob, Timestamp(1_000)), Some(5));
    let page =
        submit(&mut owner, &[SUBMIT, ("command", "cat data/a.txt"), ("size", "small"), ("file", &kept)], &[]).await;
    page.shows("job-1 was submitted").shows("1 file, 5 B");
    let claimed = std::fs::metadata(&path).and_then(|info| info.modified()).expect("is there");
    assert!(claimed > std::time::UNIX_EPOCH + Duration::from_secs(1_000_000_000), "{claimed:?}");
    let tasks = server.state.store().job_tasks(&[JobId(1)]).await.expect("reads");
    assert_eq!(tasks[&JobId(1)].files[0].path, "data/a.txt");
    // A file that is not there any more is said, not forgotten.
    let gone = format!("{} 5 data/a.txt", "0".repeat(64));
    submit(&mut owner, &[SUBMIT, ("command", "x"), ("file", &gone)], &[])
        .await
        .shows("you have uploaded none with the hash");
}

#[tokio::test]
async fn a_refused_upload_leaves_nothing_behind() {
    let (server, mut owner) = furnished_with(&[("upload_limit_mib", "1")]).await;
    let blobs = server.state.fleet().folders().blobs();
    let files = || -> usize {
        let count = |folder: &std::path::Path| std::fs::read_dir(folder).into_iter().flatten().flatten().count();
        std::fs::read_dir(&blobs).into_iter().flatten().flatten().map(|shelf| count(&shelf.path())).sum()
    };
    let large = vec![b'x'; (1 << 20) + 1];
    let page = submit(&mut owner, &[SUBMIT, ("command", "x")], &[("ok.txt", b"fine"), ("large.bin", &large)]).await;
    page.shows("at most 1 MiB together").shows("large.bin");
    assert_eq!(files(), 0);
    for path in ["../../etc/passwd", "/etc/passwd", "a/../../b"] {
        let page = submit(&mut owner, &[SUBMIT, ("command", "x")], &[("ok.txt", b"fine"), (path, b"evil")]).await;
        page.shows("leaves the job’s folder");
        assert_eq!(files(), 0, "{path}");
    }
}

#[tokio::test]
async fn the_price_is_said_before_anything_runs() {
    let (_server, mut owner) = furnished().await;
    let page = submit(
        &mut owner,
        &[("act", "check"), ("command", "x"), ("nodes", "2"), ("timeout", "30"), ("retries", "1"), ("array", "3")],
        &[],
    )
    .await;
    page.shows("€0.80 <small>an hour at most for each of its jobs</small>")
        .shows("2 nodes of size small at €0.40 each");
    page.shows("In all at most €2.40 for 6 runs of 30 min");
    owner.get(JOBS).await.shows("No jobs yet");
}

#[tokio::test]
async fn a_double_click_submits_once() {
    let (_server, mut owner) = furnished().await;
    let fields = [SUBMIT, ("command", "x"), ("command_id", "0123456789abcdef")];
    for _ in 0..2 {
        submit(&mut owner, &fields, &[]).await.shows("job-1 was submitted");
    }
    owner.get(&format!("{JOBS}/job-2")).await.shows("There is no such job");
}

#[tokio::test]
async fn an_array_is_one_line_and_is_ended_as_one() {
    let (_server, mut owner) = furnished().await;
    let page = submit(&mut owner, &[SUBMIT, ("command", "x"), ("name", "sweep"), ("array", "5")], &[]).await;
    page.shows("5 jobs were submitted, from job-1 on").shows("number 4 of its array");
    let list = owner.get(JOBS).await;
    list.shows("array of 5 from job-1").shows("value=\"array-1\"").shows("5 queued").hides("job-5<");
    owner.get(&format!("{JOBS}/job-3")).await.shows("number 2 of 5 from job-1").shows("Run array again");
    let ask = format!("{JOBS}/cancel?id=array-1");
    owner.get(&ask).await.shows("0 running and 5 waiting are ended");
    owner.submit(&ask, "cancel_jobs", &[("ids[]", "array-1")]).await.shows("5 jobs are being canceled");
    owner.get(JOBS).await.shows("5 canceled");
    owner.get(&ask).await.shows("All jobs of this array have ended.");
}

#[tokio::test]
async fn canceling_several_says_what_came_of_each() {
    let (server, mut owner) = furnished().await;
    for name in ["one", "two"] {
        submit(&mut owner, &[SUBMIT, ("command", "x"), ("name", name)], &[]).await;
    }
    let part = start(&server, 1).await;
    let ask = format!("{JOBS}/cancel?id=job-1&id=job-2");
    owner.get(&ask).await.shows("Cancel 2 jobs?").shows("runs, and is ended").shows("leaves the queue");
    end(&server, part, 0).await;
    let page = owner.submit(&ask, "cancel_jobs", &[("ids[]", "job-1"), ("ids[]", "job-2")]).await;
    page.shows("1 job is being canceled.").shows("one was left as it is");
    owner.get(&format!("{JOBS}/job-1")).await.shows("Completed");
    owner.get(&format!("{JOBS}/job-2")).await.shows("was canceled by Ines Okafor");
    owner.submit(&ask, "cancel_jobs", &[]).await.shows("Nothing to do for these 2");
}

#[tokio::test]
async fn a_job_is_run_again_and_copied() {
    let (_server, mut owner) = furnished().await;
    let fields = [
        SUBMIT,
        ("command", "echo 'a b'"),
        ("name", "first"),
        ("size", "small"),
        ("environment", "A=1"),
        ("cores", "0.5"),
    ];
    submit(&mut owner, &fields, &[("in.txt", b"data")]).await;
    let page = format!("{JOBS}/job-1");
    let next = owner.submit(&page, "run_job_again", &[("job", "job-1"), ("command_id", "again-0001")]).await;
    next.shows("job-2 was submitted").shows("first").shows("0.5 cores");
    let form = owner.get(&format!("{JOBS}/new?clone=job-1")).await;
    form.shows("value=\"echo 'a b'\"").shows("A=1").shows("in.txt").shows("value=\"0.5\"");
}

#[tokio::test]
async fn rights_are_judged_for_ones_own_and_for_others() {
    let (server, mut owner) = furnished().await;
    submit(&mut owner, &[SUBMIT, ("command", "x"), ("name", "hers")], &[]).await;
    server.add("Noor", &[Role::Reader]).await;
    server.add("Dana", &[Role::DataScientist]).await;
    let mut reader = server.signed_in("noor@example.org").await;
    reader.get(JOBS).await.shows("hers");
    reader.get(&format!("{JOBS}/job-1")).await.shows("job.submit");
    assert_eq!(reader.get(&format!("{JOBS}/new")).await.status, StatusCode::FORBIDDEN);
    assert_eq!(upload(&mut reader, &[SUBMIT, ("command", "x")], &[]).await.status, StatusCode::FORBIDDEN);
    assert_eq!(reader.call("run_job_again", &[("job", "job-1")]).await.status, StatusCode::FORBIDDEN);
    let mut dana = server.signed_in("dana@example.org").await;
    let refused = dana.call("cancel_jobs", &[("ids[]", "job-1")]).await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN, "{}", refused.text);
    dana.get(&format!("{JOBS}/cancel?id=job-1")).await.shows("Nothing to do for hers");
    submit(&mut dana, &[SUBMIT, ("command", "x")], &[]).await.shows("job-2 was submitted");
    assert_eq!(dana.call("cancel_jobs", &[("ids[]", "job-2")]).await.status, StatusCode::OK);
    for path in ["jobs", "jobs/job-1", "jobs/job-1/log", "jobs/job-1/log/events"] {
        assert_eq!(owner.get(&format!("/w/other/{path}")).await.status, StatusCode::NOT_FOUND, "{path}");
    }
    for path in ["job-99", "job-x", "job-1/log?attempt=1&node=1", "job-1/outputs/1/0/x"] {
        assert_eq!(owner.get(&format!("{JOBS}/{path}")).await.status, StatusCode::NOT_FOUND, "{path}");
    }
}

async fn stream(browser: &mut Browser, path: &str) -> BodyDataStream {
    let request = Request::get(path).header("accept", "text/event-stream").body(Body::empty()).expect("a request");
    let response = browser.raw(request).await;
    assert_eq!(response.status(), StatusCode::OK);
    response.into_body().into_data_stream()
}

async fn read_until(stream: &mut BodyDataStream, part: &str) -> String {
    let mut text = String::new();
    let reading = async {
        while !text.contains(part) {
            match stream.next().await {
                Some(chunk) => text.push_str(&String::from_utf8_lossy(&chunk.expect("a chunk"))),
                None => break,
            }
        }
    };
    tokio::time::timeout(PATIENCE, reading).await.expect("the stream goes on");
    assert!(text.contains(part), "the stream ended without {part:?}: {text}");
    text
}

#[tokio::test]
async fn a_log_is_followed_from_before_it_begins_until_the_job_is_over() {
    let (server, mut owner) = furnished().await;
    submit(&mut owner, &[SUBMIT, ("command", "x")], &[]).await.shows("It has printed nothing yet");
    let mut events = stream(&mut owner, &format!("{JOBS}/job-1/log/events")).await;
    read_until(&mut events, "event: hello").await;
    let part = start(&server, 1).await;
    let (logs, name) = (server.state.fleet().logs(), LogName::from(part));
    logs.keep(name, 0, b"one\ntw").expect("keeps");
    let text = read_until(&mut events, "tw\"").await;
    assert!(text.contains("event: part") && text.contains("{\"at\":0,\"line\":1,\"text\":\"one\\ntw\"}"), "{text}");
    let began = atelier_engine::clock::instant();
    logs.keep(name, 6, "o é".as_bytes()).expect("keeps");
    let text = read_until(&mut events, "o é").await;
    // Told, and not found at the next heartbeat, after 15 s.
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    assert!(text.contains("{\"at\":6,\"line\":2,") && text.contains(&format!("id: 1-{}-10", part.node.0)), "{text}");
    // A browser that reconnects hears only what it has missed.
    let mut again = stream(&mut owner, &format!("{JOBS}/job-1/log/events?after=1-{}-4", part.node.0)).await;
    let text = read_until(&mut again, "two").await;
    assert!(text.contains("{\"at\":4,\"line\":2,\"text\":\"two é\"}") && !text.contains("event: part"), "{text}");
    logs.end(name);
    end(&server, part, 0).await;
    read_until(&mut events, "event: end").await;
    read_until(&mut again, "event: end").await;
}

#[tokio::test]
async fn a_flood_is_skipped_and_a_huge_line_is_cut() {
    let (server, mut owner) = furnished().await;
    submit(&mut owner, &[SUBMIT, ("command", "x")], &[]).await;
    let part = start(&server, 1).await;
    let (logs, name) = (server.state.fleet().logs(), LogName::from(part));
    for piece in 0..64 {
        logs.keep(name, piece << 18, &[b'x'; 1 << 18]).expect("keeps");
    }
    let page = owner.get(&format!("{JOBS}/job-1")).await;
    page.shows("more of this line").shows("16.0 MiB in all").shows("Earlier (");
    assert!(page.text.len() < 200_000, "{}", page.text.len());
    let mut events = stream(&mut owner, &format!("{JOBS}/job-1/log/events?after=1-{}-0", part.node.0)).await;
    let text = read_until(&mut events, "event: log").await;
    assert!(text.contains("event: skip"), "{}", &text[..200]);
    let request = Request::get(format!("{JOBS}/job-1/log?attempt=1&node={}", part.node.0));
    let log = owner.raw(request.body(Body::empty()).expect("a request")).await;
    assert_eq!(log.headers()["content-length"], (16 << 20).to_string());
}

#[tokio::test]
async fn logs_are_paged_searched_and_downloaded() {
    let (server, mut owner) = furnished().await;
    submit(&mut owner, &[SUBMIT, ("command", "x")], &[]).await;
    let part = start(&server, 1).await;
    let text: String = (1..=9_000).map(|number| format!("line number {number}\n")).collect();
    server.state.fleet().logs().keep(part.into(), 0, text.as_bytes()).expect("keeps");
    let page = owner.get(&format!("{JOBS}/job-1")).await;
    page.shows("id=\"L9000\"").shows("line number 9000").shows("Earlier (").hides("id=\"L1\"");
    let found = owner.get(&format!("{JOBS}/job-1?find=NUMBER%201234")).await;
    found.shows("id=\"L1234\"").shows("1 lines with").shows("Back to the end");
    let first = owner.get(&format!("{JOBS}/job-1?attempt=1&node={}&from=0", part.node.0)).await;
    first.shows("id=\"L1\"").shows("Later").shows("To the end").hides("data-log=");
    let log = owner.get(&format!("{JOBS}/job-1/log")).await;
    assert_eq!(log.text, text);
    assert_eq!(log.header("content-type"), "text/plain; charset=utf-8");
    assert_eq!(log.header("x-content-type-options"), "nosniff");
    assert!(log.header("content-disposition").starts_with("attachment; filename=\"job-1.1.node-"));
}

#[tokio::test]
async fn outputs_are_listed_and_handed_out_as_attachments() {
    let (server, mut owner) = furnished().await;
    submit(&mut owner, &[SUBMIT, ("command", "x")], &[]).await;
    let part = start(&server, 1).await;
    let person = server.state.store().account_by_email("ines@example.org").await.expect("reads").expect("is there");
    let outputs = server.state.fleet().folders().outputs(&person.person.id, JobId(1), 1, 0);
    std::fs::create_dir_all(outputs.join("deep")).expect("makes");
    std::fs::write(outputs.join("deep/a b.html"), "<script>").expect("writes");
    std::os::unix::fs::symlink("/etc/passwd", outputs.join("passwd")).expect("links");
    end(&server, part, 0).await;
    let page = owner.get(&format!("{JOBS}/job-1")).await;
    page.shows("deep/a b.html").shows("outputs/1/0/deep/a%20b.html").hides("passwd");
    let file = owner.get(&format!("{JOBS}/job-1/outputs/1/0/deep/a%20b.html")).await;
    assert_eq!((file.status, file.text.as_str()), (StatusCode::OK, "<script>"));
    assert_eq!(file.header("content-type"), "application/octet-stream");
    assert!(file.header("content-disposition").starts_with("attachment;"));
    for path in ["passwd", "../outputs/deep/a%20b.html", "..%2f..%2fx", "deep", "nothing"] {
        let refused = owner.get(&format!("{JOBS}/job-1/outputs/1/0/{path}")).await;
        assert_eq!(refused.status, StatusCode::NOT_FOUND, "{path}");
    }
}

#[tokio::test]
async fn who_is_shut_out_hears_nothing_more_of_a_log() {
    let (server, mut owner) = furnished().await;
    let id = server.add("Dana", &[Role::DataScientist]).await;
    submit(&mut owner, &[SUBMIT, ("command", "x")], &[]).await;
    let mut dana = server.signed_in("dana@example.org").await;
    let mut events = stream(&mut dana, &format!("{JOBS}/job-1/log/events")).await;
    read_until(&mut events, "event: hello").await;
    owner.call("change_accounts", &[("verb", "disable"), ("ids[]", &id)]).await;
    read_until(&mut events, "signed-out").await;
}

#[tokio::test]
async fn what_was_removed_after_its_time_is_not_shown_as_nothing() {
    let (server, mut owner) = furnished_with(&[("keep_logs_days", "0")]).await;
    submit(&mut owner, &[SUBMIT, ("command", "x")], &[]).await;
    let part = start(&server, 1).await;
    let (page, log) = (format!("{JOBS}/job-1"), LogName::from(part));
    server.state.fleet().logs().keep(log, 0, b"a line\n").expect("kept");
    owner.get(&page).await.shows("a line");
    end(&server, part, 0).await;
    server.state.fleet().logs().end(log);
    // Its time is over, and nobody has come for it yet.
    owner.get(&page).await.shows("a line").hides("it was removed");
    let soon = Timestamp(atelier_engine::clock::now().0 + 1);
    let gone = Collector::new(server.state.fleet().clone()).collect(soon, Span::ZERO).await.expect("goes round");
    assert_eq!(gone.logs, 1);
    let words = "kept for 0 days after its end; that is over, and it was removed";
    owner.get(&page).await.shows(words).hides("It has printed nothing").hides("It left no files");
    let file = owner.get(&format!("{page}/log")).await;
    assert_eq!(file.status, StatusCode::GONE);
    file.shows(words);
}

/// The attack: somebody who may see a colleague's job copies it, for its secrets and its files.
#[tokio::test]
async fn a_copy_of_somebody_elses_job_carries_neither_values_nor_files() {
    let (server, mut owner) = furnished().await;
    server.add("Sven", &[Role::DataScientist]).await;
    let fields = [("name", "mine"), ("command", "true"), ("environment", "KEY=hunter2\nMODE=fast"), SUBMIT];
    submit(&mut owner, &fields, &[("secret.txt", b"payroll")]).await.shows("job-1 was submitted");
    let task = server.state.store().job_tasks(&[JobId(1)]).await.expect("reads").remove(&JobId(1)).expect("is there");
    let blob = task.files[0].blob.clone();

    let mut sven = server.signed_in("sven@example.org").await;
    let form = sven.get(&format!("{JOBS}/new?clone=job-1")).await;
    form.hides("hunter2").hides(&blob).shows("KEY=").shows("the values of 2 variables and 1 file");
    form.shows("only its owner can see and use these").shows("secret.txt");
    sven.get(&format!("{JOBS}/job-1")).await.hides("hunter2").hides(&blob);
    let again = sven.call("run_job_again", &[("job", "job-1")]).await;
    assert_eq!(again.status, StatusCode::CONFLICT, "{}", again.text);
    again.shows("the values of 2 variables and 1 file").shows("only its owner can use");
    // Whoever knows the hash all the same opens nothing with it.
    let carried = format!("{blob} 7 secret.txt");
    let fields = [("name", "theirs"), ("command", "cat secret.txt"), ("file", carried.as_str()), SUBMIT];
    submit(&mut sven, &fields, &[]).await.shows("you have uploaded none with the hash");

    // Its owner copies it whole.
    owner.get(&format!("{JOBS}/new?clone=job-1")).await.shows("hunter2").shows(&blob);
    assert_eq!(owner.call("run_job_again", &[("job", "job-1")]).await.status, StatusCode::OK);
    let copied = server.state.store().job_tasks(&[JobId(2)]).await.expect("reads").remove(&JobId(2));
    assert_eq!(copied.expect("is there"), task);
    // What has no secrets runs again for everybody.
    submit(&mut owner, &[("name", "plain"), ("command", "true"), SUBMIT], &[]).await.shows("job-3 was submitted");
    assert_eq!(sven.call("run_job_again", &[("job", "job-3")]).await.status, StatusCode::OK);
}
