//! Outputs of jobs that are kept in Files.

use atelier_studio::files::keep;
use serde_json::json;

use super::on_disk;
use crate::client::Server;
use crate::rest::{id_of, placed, run, with_pool};

#[tokio::test]
async fn outputs_are_copied_once_when_the_job_is_over() {
    let server = Server::set_up().await;
    let api = with_pool(&server, 1).await;
    let body =
        json!({"command": ["true"], "cluster": "pool", "cores": 1, "memory_mib": 256, "keep_in": "Users/ines/results"});
    let job = id_of(&api.post("/jobs", &body).await.is(201));
    let part = placed(&server, job).await;
    let owner =
        server.state.store().account_by_email("ines@example.org").await.expect("reads").expect("is there").person.id;
    let outputs = server.state.fleet().folders().outputs(&owner, job, part.attempt, 0);
    std::fs::create_dir_all(outputs.join("deep")).expect("makes");
    std::fs::write(outputs.join("deep/model.txt"), "weights").expect("writes");
    assert_eq!(keep::round(server.state.studio()).await.done, 0, "it is not over yet");
    run(&server, part, 0).await;
    assert_eq!(keep::round(server.state.studio()).await, keep::Round { done: 1, failed: 0 });
    assert_eq!(on_disk(&server, &format!("Users/ines/results/{job}/deep/model.txt")).as_deref(), Some("weights"));
    assert_eq!(keep::round(server.state.studio()).await, keep::Round::default(), "once");
    let mut browser = server.owner().await;
    let page = browser.get(&format!("/w/perception/jobs/{job}")).await;
    page.shows("The outputs are in Files").shows(&format!("Users/ines/results/{job}"));
}

#[tokio::test]
async fn a_folder_of_somebody_else_is_refused_at_once() {
    let server = Server::set_up().await;
    let api = with_pool(&server, 1).await;
    // A folder of the job's own must fit into it as well.
    let (deep, long) = (["a"; 40].join("/"), [&"x".repeat(200)[..]; 5].join("/") + "/" + &"y".repeat(15));
    for folder in ["Users/noor/x", "../x", "Users", ".atelier", &deep, &long] {
        let body = json!({"command": ["true"], "cluster": "pool", "cores": 1, "memory_mib": 256, "keep_in": folder});
        api.post("/jobs", &body).await.is(422).problem("keep_in");
    }
}

#[tokio::test]
async fn a_job_whose_outputs_cannot_be_kept_does_not_hold_up_the_others() {
    let server = Server::set_up().await;
    let api = with_pool(&server, 1).await;
    let mut browser = server.owner().await;
    super::upload(&mut browser, "Users/ines", &[("taken", b"a file")], false).await;
    let owner =
        server.state.store().account_by_email("ines@example.org").await.expect("reads").expect("is there").person.id;
    let mut jobs = Vec::new();
    for folder in ["Users/ines/taken", "Users/ines/results"] {
        let body = json!({"command": ["true"], "cluster": "pool", "cores": 1, "memory_mib": 256, "keep_in": folder});
        let job = id_of(&api.post("/jobs", &body).await.is(201));
        let part = placed(&server, job).await;
        let outputs = server.state.fleet().folders().outputs(&owner, job, part.attempt, 0);
        std::fs::create_dir_all(&outputs).expect("makes");
        std::fs::write(outputs.join("model.txt"), "weights").expect("writes");
        run(&server, part, 0).await;
        jobs.push(job);
    }
    assert_eq!(keep::round(server.state.studio()).await, keep::Round { done: 2, failed: 0 });
    let page = browser.get(&format!("/w/perception/jobs/{}", jobs[0])).await;
    page.shows("still with the job");
    let kept = format!("Users/ines/results/{}/model.txt", jobs[1]);
    assert_eq!(on_disk(&server, &kept).as_deref(), Some("weights"));
}
