use atelier_domain::access::Role;
use serde_json::json;

use super::{furnished, make};
use crate::rest::Api;

#[tokio::test]
async fn schedules_are_added_listed_changed_skipped_and_deleted() {
    let (server, mut owner) = furnished().await;
    make(&mut owner, "mara", &[]).await;
    let api = Api::owner(&server).await;
    let path = "/instances/mara/schedules";
    assert_eq!(api.get(path).await.is(200).json, json!({"schedules": []}));
    let body = json!({
        "action": "stop", "cron": "0 18 * * MON-FRI", "time_zone": "Europe/Berlin", "jobs": "drain",
        "drain_minutes": 60,
    });
    let made = api.keyed(path, "the-first-one", &body).await.is(201);
    assert_eq!(made.header("location"), "/api/v1/instances/mara/schedules/schedule-1");
    assert_eq!(made.json["sentence"], "Stop Mon–Fri at 18:00, Europe/Berlin; waits up to 1 h for jobs");
    assert_eq!(made.json["next"].as_array().map(Vec::len), Some(5));
    assert_eq!((&made.json["drain_minutes"], &made.json["enabled"]), (&json!(60), &json!(true)));
    // Asked again, it is the same one.
    assert_eq!(api.keyed(path, "the-first-one", &body).await.is(201).json["id"], "schedule-1");
    assert_eq!(api.get(path).await.is(200).json["schedules"].as_array().map(Vec::len), Some(1));

    let one = "/instances/mara/schedules/schedule-1";
    let changed = api.patch(one, &json!({"cron": "0 20 * * *", "enabled": false})).await.is(200).json;
    assert_eq!(changed["sentence"], "Stop every day at 20:00, Europe/Berlin; waits up to 1 h for jobs (disabled)");
    assert_eq!((&changed["next"], &changed["enabled"]), (&json!([]), &json!(false)));
    api.post(&format!("{one}/skip"), &json!({})).await.refuses(409, "cannot-skip");
    api.patch(one, &json!({"enabled": true})).await.is(200);
    let skipped = api.post(&format!("{one}/skip"), &json!({})).await.is(200).json;
    assert_eq!(skipped["skipped"], skipped["next"][0]["at"]);
    assert_eq!(api.post(&format!("{one}/skip"), &json!({"skip": false})).await.is(200).json["skipped"], json!(null));
    assert_eq!(api.get(one).await.is(200).json["action"], "stop");

    let counted = json!({
        "action": "start", "recurrence": {"frequency": "hour", "interval": 36}, "start": "2026-05-01T08:30",
        "enabled": false,
    });
    let made = api.post(path, &counted).await.is(201).json;
    assert_eq!(
        (&made["cron"], &made["recurrence"]["interval"], &made["time_zone"]),
        (&json!(null), &json!(36), &json!("UTC"))
    );
    assert_eq!(made["enabled"], false);
    assert_eq!(api.delete(one).await.is(200).json, json!({"id": "schedule-1", "state": "deleted"}));
    api.get(one).await.refuses(404, "not-found");
    api.delete(one).await.refuses(404, "not-found");
}

#[tokio::test]
async fn refusals_name_what_is_wrong() {
    let (server, mut owner) = furnished().await;
    make(&mut owner, "mara", &[]).await;
    let api = Api::owner(&server).await;
    let path = "/instances/mara/schedules";
    let wrong = api
        .post(path, &json!({"action": "dance", "cron": "@daily", "time_zone": "Mars", "jobs": "later"}))
        .await
        .refuses(422, "invalid");
    for field in ["action", "cron", "time_zone", "jobs"] {
        assert!(!wrong.problem(field).is_empty());
    }
    api.post(path, &json!({"action": "start", "cron": "0 8 * * *", "color": "red"}))
        .await
        .refuses(422, "invalid")
        .problem("body");
    api.post("/instances/nobody/schedules", &json!({"action": "start", "cron": "0 8 * * *"}))
        .await
        .refuses(404, "not-found");
    api.get("/instances/mara/schedules?x=1").await.refuses(422, "invalid").problem("x");
    api.patch("/instances/mara/schedules/schedule-9", &json!({"enabled": true})).await.refuses(404, "not-found");
    api.get("/instances/mara/schedules/nonsense").await.refuses(404, "not-found");
    api.post(path, &json!({"action": "start", "cron": "0 8 * * *"})).await.is(201);
    api.patch("/instances/mara/schedules/schedule-1", &json!({})).await.refuses(422, "invalid").problem("body");
    api.patch("/instances/mara/schedules/schedule-1", &json!({"cron": "x"}))
        .await
        .refuses(422, "invalid")
        .problem("cron");
}

#[tokio::test]
async fn rights_are_those_of_the_portal() {
    let (server, mut owner) = furnished().await;
    make(&mut owner, "mara", &[]).await;
    let owners = Api::owner(&server).await;
    let path = "/instances/mara/schedules";
    let body = json!({"action": "stop", "cron": "0 18 * * *"});
    owners.post(path, &body).await.is(201);
    let one = "/instances/mara/schedules/schedule-1";
    for (name, role) in [("Noor", Role::DataScientist), ("Reader", Role::Reader)] {
        let api = Api::role(&server, name, role).await;
        api.get(path).await.is(200);
        api.post(path, &body).await.refuses(403, "right.missing").problem("right");
        api.patch(one, &json!({"enabled": false})).await.refuses(403, "right.missing");
        api.post(&format!("{one}/skip"), &json!({})).await.refuses(403, "right.missing");
        api.delete(one).await.refuses(403, "right.missing");
    }
    Api::role(&server, "Oper", Role::ComputeOperator).await.patch(one, &json!({"enabled": false})).await.is(200);
}

#[tokio::test]
async fn times_are_previewed_without_saving() {
    let (server, _owner) = furnished().await;
    let api = Api::owner(&server).await;
    let body =
        json!({"cron": "30 8 * * MON-FRI", "time_zone": "Europe/Berlin", "count": 3, "elsewhere": "America/New_York"});
    let view = api.post("/schedules/preview", &body).await.is(200).json;
    assert_eq!(view["sentence"], "Mon–Fri at 08:30, Europe/Berlin");
    let times = view["times"].as_array().expect("times");
    assert_eq!(times.len(), 3);
    for time in times {
        assert!(time["local"].as_str().is_some_and(|local| local.ends_with("T08:30")), "{time}");
        assert!(time["there"].as_str().is_some_and(|there| there.contains("T0")), "{time}");
    }
    for (wrong, field) in [
        (json!({"cron": "x"}), "cron"),
        (json!({}), "cron"),
        (json!({"cron": "0 8 * * *", "recurrence": {"frequency": "day", "hours": [8], "minutes": [0]}}), "recurrence"),
        (json!({"recurrence": {"frequency": "week", "hours": [8], "minutes": [0]}}), "weekdays"),
        (json!({"cron": "0 8 * * *", "count": 101}), "count"),
        (json!({"cron": "0 8 * * *", "elsewhere": "Mars"}), "elsewhere"),
    ] {
        api.post("/schedules/preview", &wrong).await.refuses(422, "invalid").problem(field);
    }
}
