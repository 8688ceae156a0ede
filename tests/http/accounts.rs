use atelier_domain::access::Role;
use axum::body::Body;
use axum::http::{Request, StatusCode, header};

use crate::client::{PASSWORD, Server};
use crate::rest::{Api, make_token};

#[tokio::test]
async fn signing_in_leads_to_where_one_wanted_to_go_and_nowhere_else() {
    let server = Server::set_up().await;
    let asked = server.browser().get("/w/perception/admin/people?q=a").await;
    assert_eq!(asked.location(), "/sign-in?next=%2Fw%2Fperception%2Fadmin%2Fpeople%3Fq%3Da");
    for (next, lands) in [
        ("/w/perception/admin/people?q=a", "/w/perception/admin/people?q=a"),
        ("https://evil.example/", "/w/perception"),
        ("//evil.example", "/w/perception"),
        ("", "/w/perception"),
    ] {
        let fields = [("email", " INES@example.org "), ("password", PASSWORD), ("next", next)];
        let answer = server.browser().post("/sign-in", "sign_in", &fields).await;
        assert_eq!((answer.status, answer.location()), (StatusCode::SEE_OTHER, lands), "{next:?}");
    }
}

#[tokio::test]
async fn a_wrong_password_says_how_many_tries_are_left_alike_for_unknown_accounts() {
    let server = Server::set_up().await;
    let mut answers = Vec::new();
    for email in ["ines@example.org", "nobody@example.org"] {
        let mut browser = server.browser();
        let mut said = Vec::new();
        for _ in 0..6 {
            let answer = browser.call("sign_in", &[("email", email), ("password", "wrong")]).await;
            said.push((answer.status, answer.text.clone()));
        }
        answers.push(said);
    }
    assert_eq!(answers[0], answers[1]);
    assert!(answers[0][0].1.contains("4 tries left before a pause of 15 min"), "{:?}", answers[0]);
    assert_eq!(answers[0][4].0, StatusCode::TOO_MANY_REQUESTS);
    // Even the right password waits now.
    let page =
        server.browser().submit("/sign-in", "sign_in", &[("email", "ines@example.org"), ("password", PASSWORD)]).await;
    page.shows("Too many failed tries").shows("value=\"ines@example.org\"").hides(PASSWORD);
}

#[tokio::test]
async fn many_tries_at_once_do_not_slip_past_the_count() {
    let server = Server::set_up().await;
    let mut tries = tokio::task::JoinSet::new();
    for _ in 0..30 {
        let mut browser = server.browser();
        tries.spawn(async move {
            browser.call("sign_in", &[("email", "ines@example.org"), ("password", "wrong")]).await.status
        });
    }
    let looked_at =
        tries.join_all().await.into_iter().filter(|status| *status == StatusCode::UNPROCESSABLE_ENTITY).count();
    // The fifth failure is answered with the pause itself; each core more may have one try under way.
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    assert!(looked_at <= 4 + cores, "{looked_at} tries were looked at");
}

#[tokio::test]
async fn a_stranger_cannot_keep_somebody_out_from_elsewhere() {
    let server = Server::set_up().await;
    let mut stranger = server.browser();
    stranger.address = [203, 0, 113, 5].into();
    for _ in 0..8 {
        stranger.call("sign_in", &[("email", "ines@example.org"), ("password", "wrong")]).await;
    }
    server.owner().await;
}

#[tokio::test]
async fn one_address_cannot_try_every_account() {
    let server = Server::set_up().await;
    let mut browser = server.browser();
    for i in 0..20 {
        browser.call("sign_in", &[("email", &format!("p{i}@example.org")), ("password", "wrong")]).await;
    }
    let answer = browser.call("sign_in", &[("email", "ines@example.org"), ("password", PASSWORD)]).await;
    assert_eq!(answer.status, StatusCode::TOO_MANY_REQUESTS);
    answer.shows("from your network address");
    let mut elsewhere = server.browser();
    elsewhere.address = [198, 51, 100, 7].into();
    assert_eq!(
        elsewhere.call("sign_in", &[("email", "ines@example.org"), ("password", PASSWORD)]).await.status,
        StatusCode::OK
    );
}

#[tokio::test]
async fn the_session_id_is_new_at_each_sign_in_and_its_cookie_is_closed() {
    let server = Server::set_up().await;
    let mut browser = server.owner().await;
    let first = browser.cookies["atelier_session"].clone();
    // A session that was planted before sign-in is not taken over.
    let answer = browser
        .post("/sign-in", "sign_in", &[("email", "ines@example.org"), ("password", PASSWORD), ("keep", "on")])
        .await;
    let cookie = answer
        .headers
        .get_all(header::SET_COOKIE)
        .iter()
        .find_map(|value| value.to_str().ok().filter(|text| text.starts_with("atelier_session")));
    let cookie = cookie.expect("a session cookie");
    assert!(
        cookie.contains("HttpOnly")
            && cookie.contains("SameSite=Lax")
            && cookie.contains("Path=/")
            && cookie.contains("Max-Age"),
        "{cookie}"
    );
    assert_ne!(first, browser.cookies["atelier_session"]);
    let mut old = server.browser();
    old.cookies.insert("atelier_session".into(), first);
    assert!(old.get("/w/perception").await.location().starts_with("/sign-in"));
}

#[tokio::test]
async fn under_tls_the_cookie_is_tied_to_the_host_and_browsers_stay_on_tls() {
    let server = Server::set_up_with(&[("public_url", "https://atelier.example")]).await;
    let mut browser = server.browser();
    let answer = browser.post("/sign-in", "sign_in", &[("email", "ines@example.org"), ("password", PASSWORD)]).await;
    assert!(browser.cookies.contains_key("__Host-atelier"), "{:?}", browser.cookies);
    assert_eq!(answer.header("strict-transport-security"), "max-age=31536000");
    let all: Vec<_> =
        answer.headers.get_all(header::SET_COOKIE).iter().filter_map(|value| value.to_str().ok()).collect();
    assert!(all.iter().all(|cookie| cookie.contains("Secure")), "{all:?}");
}

#[tokio::test]
async fn signing_out_ends_the_session_on_the_server() {
    let server = Server::set_up().await;
    let mut browser = server.owner().await;
    let kept = browser.cookies.clone();
    browser.submit("/w/perception", "sign_out", &[]).await.shows("You are signed out");
    let mut thief = server.browser();
    thief.cookies = kept;
    assert!(thief.get("/w/perception").await.location().starts_with("/sign-in"));
}

#[tokio::test]
async fn sign_out_everywhere_ends_every_session() {
    let server = Server::set_up().await;
    let mut here = server.owner().await;
    let mut there = server.owner().await;
    here.get("/profile").await.shows("Sign out everywhere");
    here.submit("/profile", "sign_out_everywhere", &[]).await.shows("signed out everywhere");
    assert!(there.get("/w/perception").await.location().starts_with("/sign-in"));
}

#[tokio::test]
async fn one_session_of_ones_own_can_be_ended_and_nobody_elses() {
    let server = Server::set_up().await;
    server.add("Mara", &[Role::Owner]).await;
    let mut here = server.owner().await;
    let mut there = server.owner().await;
    let mut mara = server.signed_in("mara@example.org").await;
    let ines =
        server.state.store().account_by_email("ines@example.org").await.expect("reads").expect("exists").person.id;
    let sessions = server.state.store().web_sessions_of(&ines).await.expect("reads");
    assert_eq!(sessions.len(), 2);
    let page = mara.call("end_session", &[("key", sessions[0].key.as_str())]).await;
    assert_eq!(page.status, StatusCode::NOT_FOUND, "{}", page.text);
    for session in &sessions {
        here.post("/profile", "end_session", &[("key", session.key.as_str())]).await;
    }
    assert!(there.get("/w/perception").await.location().starts_with("/sign-in"));
    assert_eq!(mara.get("/w/perception").await.status, StatusCode::OK);
}

#[tokio::test]
async fn changing_the_password_needs_the_old_one_and_ends_other_sessions() {
    let server = Server::set_up().await;
    let mut here = server.owner().await;
    let mut there = server.owner().await;
    let new = "harbour-lantern-quilt";
    here.submit("/profile", "change_password", &[("current", "wrong"), ("password", new)])
        .await
        .shows("not your present password");
    here.submit("/profile", "change_password", &[("current", PASSWORD), ("password", "Password2024!!")])
        .await
        .shows("first passwords anyone would try");
    here.submit("/profile", "change_password", &[("current", PASSWORD), ("password", "short")])
        .await
        .shows("at least 12 characters");
    here.submit("/profile", "change_password", &[("current", PASSWORD), ("password", new)])
        .await
        .shows("Your password is changed. 1 session elsewhere ended.");
    assert_eq!(here.get("/profile").await.status, StatusCode::OK);
    assert!(there.get("/profile").await.location().starts_with("/sign-in"));
    assert_eq!(
        server.browser().call("sign_in", &[("email", "ines@example.org"), ("password", new)]).await.status,
        StatusCode::OK
    );
}

#[tokio::test]
async fn the_profile_is_kept_and_wrong_values_come_back() {
    let server = Server::set_up().await;
    let mut browser = server.owner().await;
    browser
        .submit(
            "/profile",
            "update_profile",
            &[("name", "Ines <b>O.</b>"), ("time_zone", "Nowhere/Land"), ("theme", "dark")],
        )
        .await
        .shows("is not a time zone")
        .shows("Ines &lt;b&gt;O.&lt;/b&gt;");
    let page = browser
        .submit(
            "/profile",
            "update_profile",
            &[("name", "Ines O."), ("time_zone", "Asia/Kathmandu"), ("theme", "dark")],
        )
        .await;
    page.shows("Your profile is saved").shows("data-theme=\"dark\"").shows("Asia/Kathmandu");
    browser.get("/profile").await.hides("Your profile is saved");
}

#[tokio::test]
async fn pages_carry_the_headers_that_protect_them() {
    let server = Server::set_up().await;
    let page = server.browser().get("/sign-in").await;
    for (name, part) in [
        ("content-security-policy", "script-src 'self' 'nonce-"),
        ("x-frame-options", "DENY"),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "same-origin"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cache-control", "no-store"),
        ("x-request-id", ""),
    ] {
        assert!(page.header(name).contains(part) && !page.header(name).is_empty(), "{name}: {:?}", page.header(name));
    }
    let nonce = page
        .header("content-security-policy")
        .split("'nonce-")
        .nth(1)
        .and_then(|rest| rest.split('\'').next())
        .expect("a nonce")
        .to_owned();
    page.shows(&format!("nonce=\"{nonce}\""));
}

#[tokio::test]
async fn too_much_and_malformed_bodies_are_refused_in_words() {
    let server = Server::set_up().await;
    let mut browser = server.browser();
    let huge = "x".repeat(100 * 1024);
    let page = browser.post("/sign-in", "sign_in", &[("email", huge.as_str()), ("password", "x")]).await;
    assert_eq!(page.status, StatusCode::PAYLOAD_TOO_LARGE);
    page.shows("at most 64 kB");
    let request =
        Request::post("/fn/sign_in").header("sec-fetch-site", "same-origin").header(header::ACCEPT, "application/json");
    let answer = browser.send(request.body(Body::from("not=enough")).expect("a request")).await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{}", answer.text);
}

/// The attack: from many addresses, so that no single one is paused before the account is.
#[tokio::test]
async fn strangers_everywhere_cannot_keep_somebody_out_from_where_they_signed_in_before() {
    let server = Server::set_up().await;
    server.owner().await;
    let wrong = [("email", "ines@example.org"), ("password", "wrong")];
    for i in 0..15 {
        let mut stranger = server.browser();
        stranger.address = [203, 0, 113, i].into();
        for _ in 0..4 {
            stranger.call("sign_in", &wrong).await;
        }
    }
    let mut elsewhere = server.browser();
    elsewhere.address = [198, 51, 100, 7].into();
    let right = [("email", "ines@example.org"), ("password", PASSWORD)];
    assert_eq!(elsewhere.call("sign_in", &right).await.status, StatusCode::TOO_MANY_REQUESTS);
    server.owner().await;
}

/// Whoever has to wait takes nobody's place: the hasher is full, and the answer comes all the same.
#[tokio::test]
async fn a_paused_try_is_refused_before_it_waits_for_the_hasher() {
    let server = Server::set_up().await;
    let mut stranger = server.browser();
    let wrong = [("email", "ines@example.org"), ("password", "wrong")];
    for _ in 0..5 {
        stranger.call("sign_in", &wrong).await;
    }
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let mut turns = Vec::new();
    for _ in 0..(cores / 2).max(1) {
        turns.push(server.state.passwords().turn().await.expect("a turn"));
    }
    let answer = tokio::time::timeout(atelier_testing::PATIENCE, stranger.call("sign_in", &wrong)).await;
    let answer = answer.expect("it waits for nobody");
    assert_eq!(answer.status, StatusCode::TOO_MANY_REQUESTS);
    answer.shows("Too many failed tries");
}

#[tokio::test]
async fn changing_or_resetting_a_password_ends_tokens_and_keys_if_that_is_wanted() {
    const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFh1mEm9PIUj6mTxXFcSJLdQ0nZjxhgUqGX6N8H2tGkQ mara@laptop";
    let server = Server::set_up().await;
    let store = server.state.store();
    let id = server.add("Mara", &[Role::DataScientist]).await;
    let user = atelier_domain::UserId::new(id.as_str());
    let left = async || {
        let tokens = store.tokens_of(&user).await.expect("reads").len();
        (tokens, store.ssh_keys_of(&user).await.expect("reads").len())
    };
    let api = Api::of(&server, "mara@example.org").await;
    let mut mara = server.signed_in("mara@example.org").await;
    mara.submit("/profile", "add_ssh_key", &[("key", KEY), ("name", "laptop")]).await.shows("was added");
    mara.get("/profile").await.shows("name=\"end_tokens\"").shows("name=\"end_ssh_keys\"");
    // Not unless it is wanted.
    let (first, second) = ("harbour-lantern-quilt", "quilt-lantern-harbour");
    mara.submit("/profile", "change_password", &[("current", PASSWORD), ("password", first)]).await;
    assert_eq!(left().await, (1, 1));
    api.get("").await.is(200);
    let fields = [("current", first), ("password", second), ("end_tokens", "on"), ("end_ssh_keys", "on")];
    let page = mara.submit("/profile", "change_password", &fields).await;
    page.shows("Your password is changed. 1 token was revoked and 1 SSH key was removed.");
    assert_eq!(left().await, (0, 0));
    api.get("").await.is(401);

    // An Owner is offered the same.
    make_token(&server, "mara@example.org", 1).await;
    mara.submit("/profile", "add_ssh_key", &[("key", KEY), ("name", "laptop")]).await.shows("was added");
    let mut owner = server.owner().await;
    let ask = format!("/w/perception/admin/people/confirm/reset-password?id={id}");
    owner.get(&ask).await.shows("name=\"end_tokens\"").shows("name=\"end_ssh_keys\"");
    let fields = [("verb", "reset-password"), ("ids[]", id.as_str()), ("end_ssh_keys", "on")];
    owner.submit(&ask, "change_accounts", &fields).await.shows("1 SSH key was removed.");
    assert_eq!(left().await, (1, 0));
    owner.get("/w/perception/activity").await.shows("removed the SSH key “laptop”").shows("of Mara");
}
