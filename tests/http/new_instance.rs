//! The wizard that makes an instance, step by step and without script.

use atelier_domain::access::Role;
use atelier_domain::compute::instance::InstanceState;
use atelier_domain::schedule::{Action, StopJobs};
use atelier_domain::time::Span;
use axum::body::Body;
use axum::http::{Request, StatusCode, header};

use crate::client::{Browser, Page, Server};
use crate::schedules::{INSTANCES, furnished, id_of, make, sentences, week, with};

const NEW: &str = "/w/perception/compute/instances/new";
const STEP: &str = "/w/perception/compute/instances/new/step";
const MARK: &str = "xXmarkXx";

/// Sends a step of the wizard: fields, and files by the name of their field.
pub async fn post(browser: &mut Browser, fields: &[(&str, &str)], files: &[(&str, &[u8])]) -> Page {
    let mut body = Vec::new();
    for (name, value) in fields {
        body.extend(format!("--{MARK}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n").bytes());
    }
    for (name, bytes) in files {
        let head = format!(
            "--{MARK}\r\nContent-Disposition: form-data; name=\"{name}\"; filename=\"set-up.sh\"\r\nContent-Type: \
             application/octet-stream\r\n\r\n"
        );
        body.extend(head.bytes());
        body.extend(*bytes);
        body.extend(*b"\r\n");
    }
    body.extend(format!("--{MARK}--\r\n").bytes());
    let request = Request::post(STEP)
        .header(header::ACCEPT, "text/html")
        .header(header::CONTENT_TYPE, format!("multipart/form-data; boundary={MARK}"))
        .header("sec-fetch-site", "same-origin");
    browser.send(request.body(Body::from(body)).expect("a request")).await
}

/// Sends a step and looks at the page that comes next.
pub async fn send(browser: &mut Browser, fields: &[(&str, &str)], files: &[(&str, &[u8])]) -> Page {
    let answer = post(browser, fields, files).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.text);
    let next = answer.location().to_owned();
    browser.get(&next).await
}

/// All fields that a page's form would send: those it shows and those it carries, as a browser reads them.
fn form_of(page: &Page) -> Vec<(String, String)> {
    let form = page
        .text
        .split("data-post=\"new_instance\"")
        .nth(1)
        .expect("the form")
        .split("</form>")
        .next()
        .expect("its end");
    let attribute = |tag: &str, name: &str| {
        let rest = tag.split(&format!(" {name}=\"")).nth(1)?;
        Some(unescaped(rest.split('"').next()?))
    };
    let mut fields = Vec::new();
    for tag in form.split("<input").skip(1) {
        let tag = &tag[..tag.find('>').expect("an end")];
        let (Some(name), kind) = (attribute(tag, "name"), attribute(tag, "type").unwrap_or_default()) else { continue };
        let counts = match kind.as_str() {
            "checkbox" | "radio" => tag.contains(" checked"),
            "file" => false,
            _ => true,
        };
        if counts {
            fields.push((name, attribute(tag, "value").unwrap_or_default()));
        }
    }
    for area in form.split("<textarea").skip(1) {
        let (tag, rest) = area.split_once('>').expect("an end");
        let text = rest.split("</textarea>").next().expect("its end");
        fields.push((attribute(tag, "name").expect("a name"), unescaped(text)));
    }
    for select in form.split("<select").skip(1) {
        let (tag, rest) = select.split_once('>').expect("an end");
        let options = rest.split("</select>").next().expect("its end");
        let chosen = options.split("<option").skip(1).find(|option| option.contains(" selected"));
        let chosen = chosen.or_else(|| options.split("<option").nth(1)).expect("an option");
        fields.push((attribute(tag, "name").expect("a name"), attribute(chosen, "value").unwrap_or_default()));
    }
    fields
}

fn unescaped(text: &str) -> String {
    text.replace("&quot;", "\"")
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&#x27;", "'")
        .replace("&#39;", "'")
        .replace("&amp;", "&")
}

/// Fills in a page's form and presses one of its buttons.
async fn press(browser: &mut Browser, page: &Page, typed: &[(&str, &str)], button: (&str, &str)) -> Page {
    let mut fields = form_of(page);
    fields.retain(|(name, _)| !typed.iter().any(|(other, _)| other == name));
    fields.extend(
        typed
            .iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned())),
    );
    fields.push((button.0.to_owned(), button.1.to_owned()));
    let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    send(browser, &fields, &[]).await
}

#[tokio::test]
async fn every_step_keeps_what_was_typed_in_all_of_them() {
    let (server, mut owner) = furnished().await;
    server.add("Noor", &[Role::DataScientist]).await;
    let page = owner.get(NEW).await;
    page.shows("New instance").shows("aria-current=\"step\">Size").shows("Review + create").shows("Noor");
    page.shows("an hour while it runs").hides("role=\"alert\"");
    let page = press(&mut owner, &page, &[("name", "Mara-Fusion"), ("size", "cpu-2")], ("go", "next")).await;
    page.shows("aria-current=\"step\">Schedule").shows("name=\"name\" value=\"Mara-Fusion\"");
    let typed =
        [("scheduled", "on"), ("fri_stop", "16:00"), ("jobs", "drain"), ("drain", "90"), ("idle_minutes", "45")];
    let page = press(&mut owner, &page, &typed, ("go", "access")).await;
    page.shows("Who may open it").shows("name=\"fri_stop\" value=\"16:00\"").shows("per month, about");
    let page = press(&mut owner, &page, &[("quota", "keep")], ("go", "applications")).await;
    page.shows("JupyterLab").shows("name=\"quota\" value=\"keep\"");
    let script = "#!/bin/sh\necho \"<b>hi</b> & 'you'\"\n";
    let typed = [("creation_script", script), ("creation_arguments", "--fast 'two words'")];
    let page = press(&mut owner, &page, &typed, ("go", "tags")).await;
    page.hides("<b>hi</b>");
    // Back to the script and on again: it is as it was.
    let back = press(&mut owner, &page, &[("tags", "project=churn")], ("go", "applications")).await;
    let again = form_of(&back).into_iter().find(|(name, _)| name == "creation_script").expect("carried").1;
    assert_eq!(again, script);
    let page = press(&mut owner, &back, &[], ("go", "review")).await;
    page.shows("Mon–Thu 08:30 to 18:00, Fri 08:30 to 16:00, Europe/Berlin")
        .shows("waits up to 1 h 30 min for jobs")
        .shows("After 45 min without activity")
        .shows("Kept")
        .shows("2 lines, with --fast 'two words', 15 min at most")
        .shows("project=churn")
        .shows("curl -X POST");
    let page = press(&mut owner, &page, &[("begin", "now")], ("go", "create")).await;
    page.shows("mara-fusion was created and starts now.");

    let id = id_of(&server, "mara-fusion").await;
    let (instance, schedules) = server
        .state
        .engine()
        .ask(move |world| {
            let schedules: Vec<_> =
                world.schedules().map(|entry| (entry.schedule.action, entry.schedule.jobs)).collect();
            (world.instance(id).cloned().expect("exists"), schedules)
        })
        .await
        .expect("answers");
    assert!(instance.keeps_quota && instance.scripts_accepted);
    assert_eq!(instance.idle.map(|idle| idle.window), Some(Span::minutes(45)));
    assert_eq!(instance.scripts.creation.map(|one| one.arguments), Some("--fast 'two words'".to_owned()));
    assert_eq!(instance.tags.typed(), "project=churn");
    let drain = StopJobs::Drain(Span::minutes(90));
    assert_eq!(schedules, [(Action::Start, StopJobs::Now), (Action::Stop, drain), (Action::Stop, drain)]);
}

#[tokio::test]
async fn the_review_is_reached_from_the_first_step_and_reloading_loses_nothing() {
    let (server, mut owner) = furnished().await;
    let page = owner.get(&format!("{NEW}?name=quick-one")).await;
    let mut fields = form_of(&page);
    fields.push(("go".into(), "review".into()));
    let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let answer = post(&mut owner, &fields, &[]).await;
    let address = answer.location().to_owned();
    for _ in 0..2 {
        owner
            .get(&address)
            .await
            .shows("aria-current=\"step\">Review")
            .shows("quick-one")
            .shows("After 1 h without activity");
    }
    // Somebody else finds nothing there.
    server.add("Noor", &[Role::DataScientist]).await;
    let mut noor = server.signed_in("noor@example.org").await;
    noor.get(&address).await.shows("no longer kept").hides("quick-one").shows("aria-current=\"step\">Size");
    owner.get(&format!("{NEW}?draft={}&step=review", "0".repeat(64))).await.shows("no longer kept");
    let page = owner.get(&address).await;
    press(&mut owner, &page, &[("begin", "stopped")], ("go", "create"))
        .await
        .shows("It waits, stopped, for its first start.");
    // The same form again is the same command.
    let page = press(&mut owner, &page, &[("begin", "stopped")], ("go", "create")).await;
    page.shows("was created");
    let count = server.state.engine().ask(|world| world.instances().count()).await.expect("answers");
    assert_eq!(count, 1);
}

#[tokio::test]
async fn what_is_wrong_stands_beside_its_field_and_nothing_goes_past_it() {
    let (_server, mut owner) = furnished().await;
    let page = owner.get(NEW).await;
    let page = press(&mut owner, &page, &[("name", "a_b"), ("size", "")], ("go", "review")).await;
    page.shows("aria-current=\"step\">Size")
        .shows("this has “_”")
        .shows("Choose what its node is.")
        .shows("value=\"a_b\"");
    let typed = [("name", "a-b"), ("size", "cpu-2")];
    let page = press(&mut owner, &page, &typed, ("go", "schedule")).await;
    let typed =
        [("scheduled", "on"), ("mon_start", "25:00"), ("tue_start", ""), ("tue_stop", ""), ("idle_minutes", "5")];
    let page = press(&mut owner, &page, &typed, ("go", "review")).await;
    page.shows("aria-current=\"step\">Schedule")
        .shows("“25:00” is not a time of day")
        .shows("Give a start, a stop or both")
        .shows("Idle time is between 15 min and 3 days");
    // Going back is always possible, with what is wrong kept.
    let page = press(&mut owner, &page, &[], ("go", "size")).await;
    page.shows("aria-current=\"step\">Size").shows("name=\"mon_start\" value=\"25:00\"");
    let page = press(&mut owner, &page, &[], ("go", "schedule")).await;
    let typed = [("mon_start", "09:00"), ("tue", ""), ("idle_minutes", "60")];
    let page = press(&mut owner, &page, &typed, ("go", "applications")).await;
    let typed = [("startup_arguments", "x"), ("creation_script", "true"), ("creation_limit", "0")];
    let page = press(&mut owner, &page, &typed, ("go", "next")).await;
    page.shows("aria-current=\"step\">Applications")
        .shows("no script that would read them")
        .shows("A script gets between 1 s");
}

#[tokio::test]
async fn what_only_the_engine_knows_comes_back_to_its_field_too() {
    let (_server, mut owner) = furnished().await;
    make(&mut owner, "taken", &[]).await.shows("taken was created");
    let page = owner.get(NEW).await;
    let page = press(&mut owner, &page, &[("name", "taken")], ("go", "review")).await;
    page.shows("aria-current=\"step\">Review");
    let page = press(&mut owner, &page, &[], ("go", "create")).await;
    page.shows("aria-current=\"step\">Size").shows("taken").shows("aria-invalid=\"true\"");
}

#[tokio::test]
async fn a_script_may_be_uploaded_and_must_be_text() {
    let (server, mut owner) = furnished().await;
    let fields = [
        ("step", "applications"),
        ("go", "review"),
        ("name", "scripted"),
        ("size", "cpu-2"),
        ("creation_limit", "15"),
        ("startup_limit", "15"),
    ];
    let page = send(&mut owner, &fields, &[("startup_file", b"echo one\r\necho two\r\n")]).await;
    page.shows("aria-current=\"step\">Review").shows("2 lines, 15 min at most");
    press(&mut owner, &page, &[("begin", "stopped")], ("go", "create")).await.shows("scripted was created");
    let id = id_of(&server, "scripted").await;
    let script = server.state.engine().ask(move |world| world.instance(id).and_then(|one| one.scripts.startup.clone()));
    let blob = script.await.expect("answers").expect("a script").blob;
    let path = server.state.fleet().folders().blob(&blob).expect("a hash");
    assert_eq!(std::fs::read_to_string(path).expect("kept"), "echo one\necho two\n");

    let page = send(&mut owner, &fields, &[("creation_file", b"\xff\xfe\x00binary")]).await;
    page.shows("aria-current=\"step\">Applications").shows("This file is no text").shows("value=\"scripted\"");
    let large = vec![b'x'; 65 * 1024];
    send(&mut owner, &fields, &[("creation_file", &large)]).await.shows("this file has 65 KiB");
    let huge = vec![b'x'; 600 * 1024];
    let page = post(&mut owner, &fields, &[("creation_file", &huge)]).await;
    assert_eq!(page.status, StatusCode::PAYLOAD_TOO_LARGE);
    page.shows("at most 512 KiB");
}

#[tokio::test]
async fn sizes_are_filtered_and_the_choice_is_kept() {
    let (_server, mut owner) = furnished().await;
    let page = owner.get(NEW).await;
    let page = press(&mut owner, &page, &[("name", "chosen")], ("kind", "gpu")).await;
    page.shows("aria-current=\"step\">Size").shows("No size is of that kind.").shows("value=\"chosen\"");
    page.shows("type=\"hidden\" name=\"size\" value=\"cpu-2\"").shows("aria-pressed=\"true\">GPU");
    let page = press(&mut owner, &page, &[], ("kind", "cpu")).await;
    page.shows("2 cores").shows("aria-pressed=\"true\">CPU");
    let page = press(&mut owner, &page, &[], ("go", "review")).await;
    page.shows("aria-current=\"step\">Review").shows("cpu-2");
}

#[tokio::test]
async fn monday_is_copied_without_script() {
    let (_server, mut owner) = furnished().await;
    let page = owner.get(NEW).await;
    let page = press(&mut owner, &page, &[("name", "copied")], ("go", "schedule")).await;
    let typed = [("scheduled", "on"), ("mon_start", "07:00"), ("mon_stop", "15:00")];
    let page = press(&mut owner, &page, &typed, ("copy", "every-day")).await;
    page.shows("aria-current=\"step\">Schedule").shows("name=\"sun_start\" value=\"07:00\"");
    press(&mut owner, &page, &[], ("go", "review")).await.shows("Every day 07:00 to 15:00");
}

#[tokio::test]
async fn one_is_made_for_somebody_else_only_with_the_right() {
    let (server, mut owner) = furnished().await;
    let noor = server.add("Noor", &[Role::DataScientist]).await;
    let reader = server.add("Reader", &[Role::Reader]).await;
    let page = owner.get(NEW).await;
    page.shows(&format!("value=\"{noor}\"")).hides(&format!("value=\"{reader}\""));
    let typed = [("name", "noors-own"), ("owner", noor.as_str())];
    let page = press(&mut owner, &page, &typed, ("go", "applications")).await;
    page.shows("Noor will own it, and these are yours");
    let page = press(&mut owner, &page, &[("startup_script", "true")], ("go", "review")).await;
    press(&mut owner, &page, &[("begin", "stopped")], ("go", "create")).await.shows("noors-own was created");
    let id = id_of(&server, "noors-own").await;
    let instance =
        server.state.engine().ask(move |world| world.instance(id).cloned()).await.expect("answers").expect("exists");
    assert_eq!(instance.owner.as_str(), noor);
    assert!(instance.awaits_acceptance(), "until Noor has read the script");

    let mut scientist = server.signed_in("noor@example.org").await;
    scientist.get(NEW).await.shows("needs the right instance.create-for");
    let ines = server.state.engine().ask(move |world| world.instance(id).and_then(|one| one.creator.clone()));
    let ines = ines.await.expect("answers").expect("known");
    let page = make(&mut scientist, "for-ines", &[("owner", ines.as_str())]).await;
    page.shows("aria-current=\"step\">Size").shows("does not include instance.create-for");
    let mut looking = server.signed_in("reader@example.org").await;
    let page = looking.get(NEW).await;
    assert_eq!(page.status, StatusCode::FORBIDDEN);
    page.shows("instance.create");
    let page =
        post(&mut looking, &[("step", "review"), ("go", "create"), ("name", "mine"), ("size", "cpu-2")], &[]).await;
    assert_eq!(page.status, StatusCode::FORBIDDEN, "no steps are taken either");
    let count = server.state.engine().ask(|world| world.instances().count()).await.expect("answers");
    assert_eq!(count, 1);
}

#[tokio::test]
async fn names_and_summaries_are_said_while_one_types() {
    let (_server, mut owner) = furnished().await;
    make(&mut owner, "taken", &[]).await.shows("taken was created");
    let check = |name: &str| format!("check_name?name={name}");
    owner
        .ask(&check("free-one"))
        .await
        .shows("Free.")
        .shows("jupyter--free-one--perception.localhost")
        .shows("data-answer");
    owner.ask(&check("taken")).await.shows("Another instance is called taken already.").shows("answer err");
    owner.ask(&check("a_b")).await.shows("this has “_”");
    owner.ask(&check("new")).await.shows("address of the form");
    owner.ask(&check("")).await.hides("Free").hides("err");
    let quote = "quote_instance?name=x-y-z&size=cpu-2&scheduled=on&time_zone=UTC&mon=on&\
                 mon_start=08:00&mon_stop=18:00&idle=on&idle_minutes=60";
    owner
        .ask(quote)
        .await
        .shows("data-quote-part")
        .shows("Mon 08:00 to 18:00")
        .shows("per month, about")
        .shows("after 1 h");
    owner.ask("quote_instance?size=nonsense").await.shows("Choose a size");
}

#[tokio::test]
async fn an_instance_made_stopped_has_its_week() {
    let (server, mut owner) = furnished().await;
    let fields = with(&week(), &[("scheduled", "on"), ("jobs", "skip")]);
    make(&mut owner, "weekly", &fields).await.shows("weekly was created");
    let expected =
        ["Start Mon–Fri at 08:30, Europe/Berlin", "Stop Mon–Fri at 18:00, Europe/Berlin; not while jobs run"];
    assert_eq!(sentences(&server, "weekly").await, expected);
    let id = id_of(&server, "weekly").await;
    let state = server.state.engine().ask(move |world| world.instance(id).map(|one| world.instance_state(one)));
    assert_eq!(state.await.expect("answers"), Some(InstanceState::Stopped));
    owner.get(&format!("{INSTANCES}/weekly")).await.shows("weekly");
}

#[tokio::test]
async fn a_server_without_sizes_says_so() {
    let server = Server::set_up().await;
    server.owner().await.get(NEW).await.shows("There are no sizes yet").shows("Add size");
}
