use atelier_domain::access::Role;
use axum::http::StatusCode;

use crate::client::{PASSWORD, Server};

const PEOPLE: &str = "/w/perception/admin/people";

/// The temporary password on a page, which is shown once.
fn secret(page: &str) -> String {
    let is_code =
        |word: &&str| word.len() == 24 && word.split('-').count() == 5 && word.split('-').all(|group| group.len() == 4);
    page.split(['<', '>', '"', ' ']).find(is_code).expect("a temporary password").to_owned()
}

#[tokio::test]
async fn a_new_person_signs_in_with_the_temporary_password_and_must_replace_it() {
    let server = Server::set_up().await;
    let mut owner = server.owner().await;
    let page = owner
        .submit(
            &format!("{PEOPLE}/new"),
            "create_person",
            &[
                ("name", "Mara Lindqvist"),
                ("email", "mara@example.org"),
                ("roles[]", "data-scientist"),
                ("why", "joins perception"),
            ],
        )
        .await;
    page.shows("Mara Lindqvist was added").shows("Temporary password of Mara Lindqvist");
    let temporary = secret(&page.text);
    owner.get(PEOPLE).await.shows("mara@example.org").hides(&temporary);

    let mut mara = server.browser();
    let answer = mara.post("/sign-in", "sign_in", &[("email", "mara@example.org"), ("password", &temporary)]).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER);
    for path in ["/w/perception", "/profile", "/w/perception/admin/people"] {
        assert_eq!(mara.get(path).await.location(), "/new-password", "{path}");
    }
    assert_eq!(mara.call("update_profile", &[("name", "x"), ("time_zone", "UTC")]).await.status, StatusCode::CONFLICT);
    let answer = mara
        .post("/new-password", "change_password", &[("current", &temporary), ("password", "harbour-lantern-quilt")])
        .await;
    assert_eq!(answer.location(), "/w/perception");
    mara.get("/w/perception").await.shows("Mara");
    assert_eq!(mara.get("/new-password").await.location(), "/w/perception");
    owner.get("/w/perception/activity").await.shows("added Mara Lindqvist as Data Scientist").shows("joins perception");
}

#[tokio::test]
async fn a_person_that_cannot_be_added_is_refused_beside_the_fields_and_nothing_is_lost() {
    let server = Server::set_up().await;
    let mut owner = server.owner().await;
    let new = format!("{PEOPLE}/new");
    owner
        .submit(&new, "create_person", &[("name", ""), ("email", "x"), ("why", "because")])
        .await
        .shows("Enter a name.")
        .shows("the @ is missing")
        .shows("at least one role")
        .shows("because");
    owner
        .submit(&new, "create_person", &[("name", "Twin"), ("email", "INES@example.org"), ("roles[]", "reader")])
        .await
        .shows("has an account already")
        .shows("value=\"Twin\"");
    owner
        .submit(&new, "create_person", &[("name", "Twin"), ("email", "t@example.org"), ("roles[]", "emperor")])
        .await
        .shows("“emperor” is not a role");
}

#[tokio::test]
async fn disabling_shuts_out_at_once_and_enabling_lets_in_again() {
    let server = Server::set_up().await;
    let id = server.add("Mara", &[Role::DataScientist]).await;
    let mut mara = server.signed_in("mara@example.org").await;
    mara.get("/w/perception").await.shows("1 online now");
    let mut owner = server.owner().await;
    owner.get("/w/perception").await.shows("2 online now");
    let confirm = format!("{PEOPLE}/confirm/disable?id={id}");
    owner.get(&confirm).await.shows("Mara");
    let page = owner
        .submit(&confirm, "change_accounts", &[("verb", "disable"), ("ids[]", &id), ("why", "left the team")])
        .await;
    page.shows("Mara was disabled and can no longer sign in").shows("Disabled").hides("never");
    owner.get("/w/perception").await.shows("1 online now");
    assert!(mara.get("/w/perception").await.location().starts_with("/sign-in"));
    let said = mara.submit("/sign-in", "sign_in", &[("email", "mara@example.org"), ("password", PASSWORD)]).await;
    said.shows("This account is disabled. Ask Ines Okafor to enable it.");
    // Whoever does not know the password is not told.
    mara.submit("/sign-in", "sign_in", &[("email", "mara@example.org"), ("password", "wrong")])
        .await
        .shows("does not fit")
        .hides("disabled.");
    owner
        .submit(&format!("{PEOPLE}/{id}"), "change_accounts", &[("verb", "enable"), ("ids[]", &id)])
        .await
        .shows("Mara was enabled again");
    server.signed_in("mara@example.org").await;
}

#[tokio::test]
async fn the_last_owner_can_neither_go_nor_be_demoted() {
    let server = Server::set_up().await;
    let mut owner = server.owner().await;
    let ines =
        server.state.store().account_by_email("ines@example.org").await.expect("reads").expect("exists").person.id;
    let page = format!("{PEOPLE}/{ines}");
    owner
        .submit(&page, "change_accounts", &[("verb", "disable"), ("ids[]", ines.as_str())])
        .await
        .shows("last Owner who can sign in");
    owner
        .submit(&page, "set_roles", &[("user", ines.as_str()), ("roles[]", "reader")])
        .await
        .shows("last Owner who can sign in");
    owner
        .submit(&page, "change_accounts", &[("verb", "reset-password"), ("ids[]", ines.as_str())])
        .await
        .shows("Change your password in your profile");
    owner.submit(&page, "set_roles", &[("user", ines.as_str())]).await.shows("Choose at least one role");
    let second = server.add("Mara", &[Role::Owner]).await;
    owner
        .submit(&format!("{PEOPLE}/{second}"), "change_accounts", &[("verb", "disable"), ("ids[]", &second)])
        .await
        .shows("Mara was disabled");
}

#[tokio::test]
async fn many_are_changed_at_once_with_an_outcome_for_each() {
    let server = Server::set_up().await;
    let a = server.add("Ada", &[Role::Reader]).await;
    let b = server.add("Bo", &[Role::Reader]).await;
    let mut owner = server.owner().await;
    let ines =
        server.state.store().account_by_email("ines@example.org").await.expect("reads").expect("exists").person.id;
    let confirm = format!("{PEOPLE}/confirm/disable?id={a}&id={b}&id={ines}");
    owner.get(&confirm).await.shows("Ada").shows("Bo").shows("last Owner");
    let page = owner
        .submit(
            &confirm,
            "change_accounts",
            &[("verb", "disable"), ("ids[]", &a), ("ids[]", &b), ("ids[]", ines.as_str())],
        )
        .await;
    page.shows("2 people were disabled").shows("Ines Okafor was left as is");
    assert_eq!(owner.call("change_accounts", &[("verb", "disable")]).await.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(
        owner.call("change_accounts", &[("verb", "disable"), ("ids[]", "nobody")]).await.status,
        StatusCode::NOT_FOUND
    );
    assert_eq!(
        owner.call("change_accounts", &[("verb", "burn"), ("ids[]", &a)]).await.status,
        StatusCode::UNPROCESSABLE_ENTITY
    );
}

#[tokio::test]
async fn a_reset_password_is_temporary_and_ends_sessions() {
    let server = Server::set_up().await;
    let id = server.add("Mara", &[Role::Reader]).await;
    let mut mara = server.signed_in("mara@example.org").await;
    let mut owner = server.owner().await;
    let page =
        owner.submit(&format!("{PEOPLE}/{id}"), "change_accounts", &[("verb", "reset-password"), ("ids[]", &id)]).await;
    page.shows("Temporary password of Mara");
    let temporary = secret(&page.text);
    assert!(mara.get("/w/perception").await.location().starts_with("/sign-in"));
    let answer = mara.call("sign_in", &[("email", "mara@example.org"), ("password", PASSWORD)]).await;
    assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY);
    mara.post("/sign-in", "sign_in", &[("email", "mara@example.org"), ("password", &temporary)]).await;
    assert_eq!(mara.get("/w/perception").await.location(), "/new-password");
}

#[tokio::test]
async fn roles_count_from_the_next_request_on() {
    let server = Server::set_up().await;
    let id = server.add("Mara", &[Role::Reader]).await;
    let mut mara = server.signed_in("mara@example.org").await;
    assert_eq!(mara.get(&format!("{PEOPLE}/new")).await.status, StatusCode::FORBIDDEN);
    let mut owner = server.owner().await;
    owner
        .submit(
            &format!("{PEOPLE}/{id}"),
            "set_roles",
            &[("user", &id), ("roles[]", "owner"), ("roles[]", "reader"), ("why", "deputy")],
        )
        .await
        .shows("Mara is now Reader and Owner");
    assert_eq!(mara.get(&format!("{PEOPLE}/new")).await.status, StatusCode::OK);
    mara.get("/w/perception").await.shows("changed the roles of Mara from Reader to Reader and Owner");
}

#[tokio::test]
async fn the_list_is_filtered_sorted_and_paged_by_its_address() {
    let server = Server::set_up().await;
    for i in 0..60 {
        server.add(&format!("Person{i:02}"), &[if i % 2 == 0 { Role::Reader } else { Role::Contributor }]).await;
    }
    let mut owner = server.owner().await;
    let first = owner.get(PEOPLE).await;
    first.shows("Ines Okafor").shows("Person00").hides("Person59");
    let next = first
        .text
        .split("href=\"")
        .filter_map(|rest| rest.split('"').next())
        .find(|href| href.contains("after="))
        .expect("a next page")
        .replace("&amp;", "&");
    let second = owner.get(&next).await;
    second.shows("Person59").hides("Person00");
    let back = second
        .text
        .split("href=\"")
        .filter_map(|rest| rest.split('"').next())
        .find(|href| href.contains("before="))
        .expect("a page before")
        .replace("&amp;", "&");
    owner.get(&back).await.shows("Person00").hides("Person59");
    owner.get(&format!("{PEOPLE}?q=person07")).await.shows("Person07").hides("Person08");
    owner.get(&format!("{PEOPLE}?role=contributor&sort=name&dir=desc")).await.shows("Person59").hides("Person58");
    owner.get(&format!("{PEOPLE}?state=disabled")).await.hides("Person07");
    owner.get(&format!("{PEOPLE}?q=%3Cscript%3Ealert(1)%3C%2Fscript%3E")).await.hides("<script>alert(1)");
    let nonsense = owner.get(&format!("{PEOPLE}?sort=%01&dir=x&after=zzz&role=emperor&state=9")).await;
    assert_eq!(nonsense.status, StatusCode::OK);
}

#[tokio::test]
async fn verbs_that_the_viewer_has_no_right_to_are_disabled_and_say_why() {
    let server = Server::set_up().await;
    let id = server.add("Mara", &[Role::Reader]).await;
    let mut mara = server.signed_in("mara@example.org").await;
    let reason = "Your role Reader does not include member.write. The role Owner does. Ines Okafor can grant it.";
    let page = mara.get(PEOPLE).await;
    let menu = page.text.split(&format!("<div id=\"m-{id}\"")).nth(1).and_then(|rest| rest.split("</div>").next());
    let menu = menu.expect("the menu of a row");
    for verb in ["Disable…", "Reset password…"] {
        assert!(menu.contains(verb), "{menu}");
    }
    assert!(menu.contains(reason) && menu.matches("<button").count() == 2, "{menu}");
    assert!(menu.matches(" disabled").count() == 2 && !menu.contains("/confirm/"), "{menu}");
    let bar = page.text.split("class=\"bulkbar\"").nth(1).expect("the bar for selected rows");
    assert!(bar.contains("Disable selected") && bar.contains(reason), "{bar}");
    let mut owner = server.owner().await;
    let page = owner.get(PEOPLE).await;
    page.shows("Disable…").shows("/confirm/disable?id=").hides("does not include member.write");
}

#[tokio::test]
async fn passwords_are_reset_one_at_a_time_and_several_are_not_offered() {
    let server = Server::set_up().await;
    let (a, b) = (server.add("Ada", &[Role::Reader]).await, server.add("Bo", &[Role::Reader]).await);
    let mut owner = server.owner().await;
    let one = owner.get(&format!("{PEOPLE}/confirm/reset-password?id={a}")).await;
    one.shows("Reset the password of Ada?").shows("/fn/change_accounts");
    let two = owner.get(&format!("{PEOPLE}/confirm/reset-password?id={a}&id={b}")).await;
    two.shows("Reset one password at a time").hides("/fn/change_accounts");
}

#[tokio::test]
async fn a_server_that_cannot_isolate_people_asks_before_there_is_a_second_one() {
    let server = Server::set_up().await;
    server.state.fleet().mix_people();
    let mut owner = server.owner().await;
    let new = format!("{PEOPLE}/new");
    owner.get(&new).await.shows("run as the same user").shows("name=\"trust\"");
    // One person has nobody to be kept apart from.
    owner.get("/w/perception").await.hides("run as the same user");
    let mara = [("name", "Mara"), ("email", "mara@example.org"), ("roles[]", "reader")];
    let refused = owner.submit(&new, "create_person", &mara).await;
    refused.shows("Confirm that everyone here trusts everyone").hides("was added");
    let confirmed = [mara[0], mara[1], mara[2], ("trust", "on")];
    owner.submit(&new, "create_person", &confirmed).await.shows("Mara was added");
    owner.get("/w/perception/activity").await.shows("confirmed that everybody here trusts everybody");
    // Once is enough.
    let sven = [("name", "Sven"), ("email", "sven@example.org"), ("roles[]", "reader")];
    owner.submit(&new, "create_person", &sven).await.shows("Sven was added");
    owner.get("/w/perception").await.hides("run as the same user");
}

#[tokio::test]
async fn a_team_that_exists_on_such_a_server_is_told_until_an_owner_confirms() {
    let server = Server::set_up().await;
    server.state.fleet().mix_people();
    server.add("Mara", &[Role::DataScientist]).await;
    let (mut owner, mut mara) = (server.owner().await, server.signed_in("mara@example.org").await);
    for page in ["/w/perception", PEOPLE] {
        owner.get(page).await.shows("run as the same user").shows("confirm_trust");
        mara.get(page).await.shows("run as the same user").hides("confirm_trust");
    }
    assert_eq!(mara.call("confirm_trust", &[]).await.status, StatusCode::FORBIDDEN);
    owner.submit("/w/perception", "confirm_trust", &[]).await.hides("run as the same user");
    mara.get("/w/perception").await.hides("run as the same user");
}
