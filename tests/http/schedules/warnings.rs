use atelier_domain::access::Role;
use atelier_domain::schedule::Zone;
use atelier_domain::time::Span;

use super::{INSTANCES, furnished, id_of, make, page_of, run, with};

/// A stop in ten minutes, as cron in UTC.
fn soon() -> String {
    let at = atelier_engine::clock::now().plus(Span::minutes(10));
    let (hour, minute) = Zone::parse("UTC").expect("a zone").local(at).time();
    format!("{minute} {hour} * * *")
}

#[tokio::test]
async fn a_stop_that_comes_is_told_everywhere_and_can_be_put_off_or_left_out() {
    let (server, mut owner) = furnished().await;
    server.add("Noor", &[Role::DataScientist]).await;
    make(&mut owner, "mara", &[("begin", "now")]).await.shows("starts now");
    run(&server, "mara").await;
    owner.get("/w/perception").await.hides("stops at").shows("Notifications, none unread");
    let page = page_of("mara");
    let cron = soon();
    let rule = [
        ("instance", "mara"),
        ("action", "stop"),
        ("cron", cron.as_str()),
        ("time_zone", "UTC"),
        ("jobs", "now"),
        ("drain", "60"),
    ];
    owner.submit(&page, "add_rule", &rule).await.shows("Added");

    // On any page: the corner and the bell. On its own: what can be done.
    let people = owner.get("/w/perception/admin/people").await;
    people
        .shows("by schedule, in ")
        .shows("class=\"toast warning\"")
        .shows("Notifications, 1 unread")
        .shows("warnings");
    let shown = owner.get(&page).await;
    shown.shows("It stops soon").shows("/fn/extend_instance").shows("/fn/keep_instance").shows("/fn/skip_stop");
    // It is nobody else's business.
    let mut noor = server.signed_in("noor@example.org").await;
    noor.get("/w/perception").await.hides("by schedule, in ").shows("Notifications, none unread");

    owner
        .submit(&page, "extend_instance", &[("instance", "mara"), ("hours", "1")])
        .await
        .hides("It stops soon")
        .shows("put off by Ines Okafor");
    let id = id_of(&server, "mara").await;
    let kept = server.state.engine().ask(move |world| world.instance(id).and_then(|one| one.postponed.clone()));
    assert!(kept.await.expect("answers").is_some());
    owner.get(&format!("{INSTANCES}/mara")).await.shows("mara");

    // Another one, which is left out.
    make(&mut owner, "noor-two", &[("begin", "now")]).await;
    run(&server, "noor-two").await;
    let two = page_of("noor-two");
    owner.submit(&two, "add_rule", &with(&rule, &[("instance", "noor-two")])).await.shows("It stops soon");
    owner.submit(&two, "skip_stop", &[("instance", "noor-two")]).await.hides("It stops soon").shows("skipped");
    owner.get("/w/perception").await.hides("by schedule, in ");
}
