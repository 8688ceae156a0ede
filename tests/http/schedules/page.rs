use atelier_domain::access::Role;
use atelier_domain::time::Span;
use axum::http::StatusCode;

use super::{furnished, id_of, make, page_of, sentences, week, with};

const SAVE: &str = "save_week";

fn saving<'a>(fields: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let mut all = vec![("instance", "mara")];
    all.extend(fields);
    all
}

#[tokio::test]
async fn a_week_is_saved_changed_and_taken_away() {
    let (server, mut owner) = furnished().await;
    make(&mut owner, "mara", &[]).await;
    let page = page_of("mara");
    owner.get(&page).await.shows("When is mara awake?").shows("Nothing is planned").shows("There are none.");
    let saved = owner.submit(&page, SAVE, &saving(&week())).await;
    saved.shows("mara is awake workdays 08:30 to 18:00, Europe/Berlin.").shows("Next times").shows("per month, about");
    saved.shows("Start Mon–Fri at 08:30, Europe/Berlin").shows("part of the week above");
    let two = ["Start Mon–Fri at 08:30, Europe/Berlin", "Stop Mon–Fri at 18:00, Europe/Berlin"];
    assert_eq!(sentences(&server, "mara").await, two);

    // A skipped time stays skipped when something else is changed.
    let stop = [("instance", "mara"), ("schedule", "schedule-2")];
    owner.submit(&page, "skip_schedule", &with(&stop, &[("skip", "on")])).await.shows("left out").shows("Don’t skip");
    let friday = with(&week(), &[("fri_stop", "16:00"), ("jobs", "drain"), ("drain", "45"), ("idle_minutes", "90")]);
    owner.submit(&page, SAVE, &saving(&friday)).await.shows("mara is awake Mon–Thu 08:30 to 18:00, Fri 08:30 to 16:00");
    let sentences_now = sentences(&server, "mara").await;
    assert_eq!(sentences_now[0], two[0]);
    assert!(sentences_now.iter().all(|one| one.starts_with("Start") || one.ends_with("; waits up to 45 min for jobs")));
    assert_eq!(sentences_now.len(), 3);
    let id = id_of(&server, "mara").await;
    let idle = server.state.engine().ask(move |world| world.instance(id).and_then(|one| one.idle.clone()));
    assert_eq!(idle.await.expect("answers").map(|idle| idle.window), Some(Span::minutes(90)));

    let none = [("time_zone", "UTC"), ("jobs", "now"), ("drain", "60"), ("idle_minutes", "90")];
    owner
        .submit(&page, SAVE, &saving(&none))
        .await
        .shows("mara has no weekly hours any more.")
        .shows("Nothing is planned");
    assert!(sentences(&server, "mara").await.is_empty());
    owner.get("/w/perception/activity").await.shows("mara");
}

#[tokio::test]
async fn what_is_wrong_comes_back_as_it_was_typed() {
    let (server, mut owner) = furnished().await;
    make(&mut owner, "mara", &[]).await;
    let wrong = [
        ("tue_start", "8 o’clock"),
        ("wed_stop", "08:30"),
        ("time_zone", "Mars/Olympus"),
        ("jobs", "drain"),
        ("drain", "0"),
        ("idle_minutes", "5"),
    ];
    let page = owner.submit(&page_of("mara"), SAVE, &saving(&with(&week(), &wrong))).await;
    page.shows("“8 o’clock” is not a time of day")
        .shows("Mars/Olympus")
        .shows("A stop waits for jobs between 1 min and 1 day")
        .shows("Idle time is between 15 min and 3 days")
        .shows("value=\"8 o’clock\"")
        .shows("name=\"drain\" type=\"number\" value=\"0\"")
        .shows("f-tue-start-problem");
    assert!(sentences(&server, "mara").await.is_empty(), "nothing was changed");
    let twice = with(&week(), &[("wed_stop", "08:30")]);
    owner.submit(&page_of("mara"), SAVE, &saving(&twice)).await.shows("It would start and stop at 08:30");
}

#[tokio::test]
async fn hours_are_looked_at_before_they_are_saved() {
    let (server, mut owner) = furnished().await;
    make(&mut owner, "mara", &[]).await;
    let query: String = week().iter().map(|(field, value)| format!("&{field}={value}")).collect();
    let page = owner.get(&format!("{}?look=1{query}", page_of("mara"))).await;
    page.shows("name=\"mon_start\" value=\"08:30\"").shows("Europe/Berlin").hides("Nothing is planned");
    let page = owner.get(&format!("{}?copy=every-day{query}", page_of("mara"))).await;
    page.shows("Sunday: awake 08:30 to 18:00");
    assert!(sentences(&server, "mara").await.is_empty(), "looking saves nothing");
    let part = owner.ask(&format!("quote_schedule?instance=mara{query}")).await;
    part.shows("data-quote-part").shows("per month, about").shows("Start").shows("Stop");
    let query = query.replace("mon_start=08:30", "mon_start=nonsense");
    let part = owner.ask(&format!("quote_schedule?instance=mara{query}")).await;
    part.shows("data-quote-part");
    assert_eq!(owner.ask("quote_schedule?instance=nobody").await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn rules_beside_the_week_are_added_changed_switched_skipped_and_deleted() {
    let (server, mut owner) = furnished().await;
    make(&mut owner, "mara", &[]).await;
    let page = page_of("mara");
    owner.submit(&page, SAVE, &saving(&week())).await.shows("mara is awake");
    let rule = [
        ("instance", "mara"),
        ("action", "stop"),
        ("cron", "0 12 1 * *"),
        ("time_zone", "UTC"),
        ("jobs", "skip"),
        ("drain", "60"),
    ];
    let added = owner.submit(&page, "add_rule", &rule).await;
    added.shows("Added: Stop on the 1st of the month at 12:00, UTC; not while jobs run.").shows("value=\"0 12 1 * *\"");
    assert_eq!(sentences(&server, "mara").await.len(), 3);
    let wrong = with(&rule, &[("cron", "@monthly"), ("time_zone", "")]);
    let refused = owner.submit(&page, "add_rule", &wrong).await;
    refused.shows("value=\"@monthly\"").shows("Choose a time zone").shows("<details open");
    let rule_three = [("instance", "mara"), ("schedule", "schedule-3")];
    let change = with(&rule, &[("schedule", "schedule-3"), ("action", "start"), ("cron", "15 7 * * SAT")]);
    owner.submit(&page, "change_rule", &change).await.shows("Changed: Start Sat at 07:15, UTC.");
    owner
        .submit(&page, "skip_schedule", &with(&rule_three, &[("skip", "on")]))
        .await
        .shows("skipped")
        .shows("Don’t skip");
    let again = owner.submit(&page, "skip_schedule", &with(&rule_three, &[("skip", "on")])).await;
    again.shows("is skipped already");
    owner.submit(&page, "skip_schedule", &rule_three).await.shows("The next time counts again.");
    owner.submit(&page, "switch_schedule", &rule_three).await.shows("The schedule is disabled.").shows("Enable: ");
    owner
        .submit(&page, "pause_schedules", &[("instance", "mara"), ("paused", "on")])
        .await
        .shows("2 schedules disabled")
        .shows("All schedules are disabled");
    owner.get(&page).await.shows("Resume schedules").shows("Monday: awake 08:30 to 18:00");
    owner.submit(&page, "pause_schedules", &[("instance", "mara")]).await.shows("3 schedules enabled");
    owner.submit(&page, "remove_schedule", &rule_three).await.shows("The schedule was deleted.");
    assert_eq!(sentences(&server, "mara").await.len(), 2);
    owner.submit(&page, "remove_schedule", &rule_three).await.shows("There is no such schedule");
    // Schedules of another instance are not reached through this one.
    make(&mut owner, "other", &[]).await;
    let answer = owner.call("remove_schedule", &[("instance", "other"), ("schedule", "schedule-1")]).await;
    assert_eq!(answer.status, StatusCode::NOT_FOUND, "{}", answer.text);
}

#[tokio::test]
async fn the_seventeenth_schedule_is_refused_with_the_numbers() {
    let (_server, mut owner) = furnished().await;
    make(&mut owner, "mara", &[]).await;
    let page = page_of("mara");
    let rule = [("instance", "mara"), ("action", "stop"), ("time_zone", "UTC"), ("jobs", "now"), ("drain", "60")];
    for day in 1..=16 {
        let cron = format!("0 12 {day} * *");
        owner.submit(&page, "add_rule", &with(&rule, &[("cron", &cron)])).await.shows("Added");
    }
    let refused = owner.submit(&page, "add_rule", &with(&rule, &[("cron", "0 12 17 * *")])).await;
    refused.shows("There are 16 schedules already and 16 are allowed");
}

#[tokio::test]
async fn cron_is_read_in_words_while_one_types() {
    let (_server, mut owner) = furnished().await;
    let read = |cron: &str| format!("check_cron?cron={}&time_zone=Europe/Berlin", cron.replace(' ', "+"));
    owner
        .ask(&read("30 8 * * MON-FRI"))
        .await
        .shows("Mon–Fri at 08:30, Europe/Berlin")
        .shows("Next: ")
        .shows("data-answer=\"cron\"");
    owner.ask(&read("99 8 * * *")).await.shows("The minute “99” is not allowed").shows("answer err");
    owner.ask(&read("")).await.shows("Minute, hour, day of month");
}

#[tokio::test]
async fn owners_change_their_own_operators_all_and_readers_nothing() {
    let (server, mut owner) = furnished().await;
    server.add("Noor", &[Role::DataScientist]).await;
    server.add("Oper", &[Role::ComputeOperator]).await;
    server.add("Reader", &[Role::Reader]).await;
    let mut noor = server.signed_in("noor@example.org").await;
    make(&mut noor, "mara", &[]).await.shows("mara was created");
    make(&mut owner, "others", &[]).await;
    let page = page_of("mara");
    noor.submit(&page, SAVE, &saving(&week())).await.shows("mara is awake");
    let theirs = [("instance", "others"), ("action", "stop"), ("cron", "0 1 * * *"), ("time_zone", "UTC")];
    noor.get(&page_of("others")).await.shows("does not include instance.configure").hides("Add a rule by cron");
    for function in ["save_week", "add_rule", "pause_schedules"] {
        let answer = noor.call(function, &theirs).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{function}: {}", answer.text);
    }
    let mut oper = server.signed_in("oper@example.org").await;
    oper.submit(&page, SAVE, &saving(&with(&week(), &[("mon", "")]))).await.shows("mara is awake Tue–Fri");
    let mut reader = server.signed_in("reader@example.org").await;
    reader.get(&page).await.shows("Tue–Fri").shows("disabled").hides("Pause schedules");
    let one = [("instance", "mara"), ("schedule", "schedule-1"), ("skip", "on"), ("enabled", "on")];
    for function in ["save_week", "skip_schedule", "switch_schedule", "remove_schedule", "change_rule"] {
        let answer = reader.call(function, &one).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{function}: {}", answer.text);
    }
    assert_eq!(owner.get(&page_of("nobody")).await.status, StatusCode::NOT_FOUND);
}
