//! GPUs of one machine: every node has its own. The machine is made up; its agents and jobs are real.

use std::path::Path;
use std::sync::Arc;

use atelier_domain::compute::ClusterId;
use atelier_domain::compute::node::{Holder, Node, NodePhase};
use atelier_domain::time::Span;
use atelier_domain::world::Order;
use atelier_engine::drivers::Driver;
use atelier_engine::drivers::local::{Local, Machine, Settings};
use atelier_protocol::{AgentConfig, Run};

use super::site::{Site, agent_program};

async fn site(data: &Path) -> Site {
    let has_own_users = rustix::process::geteuid().is_root();
    let local = |fleet: &atelier_engine::fleet::Fleet, installation: &str| -> Arc<dyn Driver> {
        let machine = Machine { gpus: 2, ..Machine::look() };
        let settings = Settings { overcommit: 4.0, program: Some(agent_program()), ..Settings::default() };
        Arc::new(Local::on(machine, installation, fleet.folders().clone(), settings).expect("a driver"))
    };
    let site = Site::start_on(data, has_own_users, local).await;
    // They come one by one.
    site.until("there is a size with a GPU", |world| {
        world.sizes().find(|size| size.name.as_str() == "local-gpu-1").map(|_| ())
    })
    .await;
    site
}

/// A cluster of one node with one GPU.
async fn cluster(site: &Site, name: &str) -> ClusterId {
    let id = site.cluster(name, "local-gpu-1", 1, 1, Span::seconds(600)).await;
    site.until("its node is ready", move |world| {
        let is_it = |node: &&Node| node.holder == Holder::Cluster(id) && matches!(node.phase, NodePhase::Ready);
        world.nodes().find(is_it).map(|_| ())
    })
    .await;
    id
}

/// What a job there is told about its GPUs.
async fn told(site: &Site, cluster: ClusterId, gpus: u64) -> String {
    let mut spec = Site::spec(cluster);
    spec.shape.gpus = gpus;
    let job = site.submit(spec, Run::Script("echo $NVIDIA_VISIBLE_DEVICES:$CUDA_VISIBLE_DEVICES".into())).await;
    site.over(job).await;
    site.log(job).trim().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_of_one_machine_never_share_a_gpu() {
    let data = tempfile::tempdir().expect("a folder");
    let site_before = site(data.path()).await;
    let one = cluster(&site_before, "one").await;
    let two = cluster(&site_before, "two").await;
    let plain = site_before.cluster("plain", "local-half", 0, 1, Span::seconds(600)).await;
    let has_view = site_before.fleet.board().agents().iter().all(|agent| agent.facts.has_private_view);
    // Who sees only the node's own card counts it as the first.
    let seen = |gpu: &str| format!("{gpu}:{}", if has_view { "0" } else { gpu });
    assert_eq!(told(&site_before, one, 1).await, seen("0"));
    assert_eq!(told(&site_before, two, 1).await, seen("1"));
    assert_eq!(told(&site_before, plain, 0).await, "void:");
    site_before.crash().await;

    // A server that comes back finds what its nodes hold, and gives out what is free again.
    let site = site(data.path()).await;
    site.give(Order::DeleteCluster { cluster: one, ends_jobs: true }, None).await;
    site.until("its node is gone", move |world| world.cluster(one).is_none().then_some(())).await;
    let three = cluster(&site, "three").await;
    assert_eq!(told(&site, three, 1).await, seen("0"));
    assert_eq!(told(&site, two, 1).await, seen("1"));

    // Somebody else's node, of which the engine knows nothing, keeps its card as well.
    site.give(Order::DeleteCluster { cluster: three, ends_jobs: true }, None).await;
    site.until("its node is gone", move |world| world.cluster(three).is_none().then_some(())).await;
    let stray = atelier_domain::compute::NodeId(900_001);
    let folder = site.fleet.folders().node(stray);
    std::fs::create_dir_all(&folder).expect("made");
    let mut config = AgentConfig::new("unix:/nowhere", stray, "t", &folder);
    (config.shape.gpus, config.gpus) = (1, vec![0]);
    config.write(&folder.join("agent.json")).expect("written");
    let four = site.cluster("four", "local-gpu-1", 1, 1, Span::seconds(600)).await;
    let failed = site
        .until("the launch has failed", move |world| {
            let cluster = world.cluster(four)?;
            cluster.trouble.history.first().map(|failed| failed.detail.to_string())
        })
        .await;
    assert!(failed.contains("needs 1 GPU, and 0 of the machine’s 2 are free"), "{failed}");
    site.tear_down().await;
}
