use axum::http::StatusCode;

use crate::client::{PASSWORD, Server};

#[tokio::test]
async fn the_code_from_the_log_opens_a_fresh_server_once() {
    let server = Server::fresh().await;
    let code = server.state.set_up_code();
    let mut browser = server.browser();
    let fields = |code: &'static str| {
        [
            ("code", code),
            ("workspace", "Perception"),
            ("name", "Ines Okafor"),
            ("email", "Ines@Example.org"),
            ("password", PASSWORD),
            ("time_zone", "Europe/Berlin"),
        ]
    };
    let page = browser.submit("/set-up", "set_up", &fields("wrong-code")).await;
    page.shows("This is not the code").shows("Ines Okafor").hides(PASSWORD);

    let code: &'static str = Box::leak(code.to_uppercase().into_boxed_str());
    let answer = browser.post("/set-up", "set_up", &fields(code)).await;
    assert_eq!((answer.status, answer.location()), (StatusCode::SEE_OTHER, "/w/perception"));
    browser.get("/w/perception").await.shows("Perception").shows("Ines").shows("Welcome");

    // Nobody else can do it again.
    let again = server.browser().post("/set-up", "set_up", &fields(code)).await;
    assert_eq!((again.status, again.location()), (StatusCode::SEE_OTHER, "/sign-in"));
    let page = server.browser().get("/set-up").await;
    assert!(page.location().starts_with("/sign-in"), "{}", page.location());
}

#[tokio::test]
async fn wrong_fields_are_all_named_at_once_and_kept() {
    let server = Server::fresh().await;
    let code = server.state.set_up_code();
    let mut browser = server.browser();
    let fields = [
        ("code", code.as_str()),
        ("workspace", ""),
        ("name", " "),
        ("email", "ines"),
        ("password", "short"),
        ("time_zone", "Mars/Base"),
    ];
    let page = browser.submit("/set-up", "set_up", &fields).await;
    page.shows("Enter a name for the workspace")
        .shows("Enter a name.")
        .shows("the @ is missing")
        .shows("at least 12 characters")
        .shows("is not a time zone");
    page.shows("value=\"ines\"").shows(&code);
    assert!(!server.state.store().has_people().await.expect("reads"));
}

#[tokio::test]
async fn guessing_the_code_is_paused() {
    let server = Server::fresh().await;
    let mut browser = server.browser();
    let fields = [
        ("code", "aaaa-bbbb-cccc"),
        ("workspace", "P"),
        ("name", "I"),
        ("email", "i@e.org"),
        ("password", PASSWORD),
        ("time_zone", "UTC"),
    ];
    for _ in 0..20 {
        browser.submit("/set-up", "set_up", &fields).await.shows("This is not the code");
    }
    browser.submit("/set-up", "set_up", &fields).await.shows("Too many failed tries");
}
