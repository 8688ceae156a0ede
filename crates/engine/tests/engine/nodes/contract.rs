//! What every driver must do. A new driver adds one test that calls [`keeps_the_contract`].

use std::sync::Arc;

use atelier_domain::compute::node::NodePhase;
use atelier_domain::compute::{NodeId, Resources};
use atelier_domain::time::Span;
use atelier_domain::world::Order;
use atelier_engine::drivers::{Driver, NewNode};

use super::site::{PATIENCE, Site};

async fn names(driver: &Arc<dyn Driver>) -> Vec<String> {
    driver.list().await.expect("lists").into_iter().map(|found| found.name).collect()
}

/// The contract, on a site that has nothing yet.
pub async fn keeps_the_contract(site: &Site, size: &str) {
    let driver = &site.driver;
    let capacity = driver.capacity().await.expect("has a capacity");
    assert!(capacity.cores > 0 && capacity.memory > 0);
    let capabilities = driver.capabilities();
    assert!(capabilities.limits.ends_with('.') && capabilities.isolation.ends_with('.'), "sentences for people");
    for size in driver.default_sizes(capacity) {
        assert_eq!(size.check(), Ok(()));
        assert!(size.shape.fits(capacity) && size.site == *driver.site());
    }

    // What does not exist is gone already.
    assert_eq!(driver.list().await.expect("lists"), []);
    assert_eq!(driver.exists(NodeId(4_711)).await, Ok(false));
    driver.terminate(driver.name_of(NodeId(4_711))).await.expect("is gone already");

    // A node that is wanted comes to exist, and its agent calls.
    let pool = site.cluster("contract", size, 1, 1, Span::seconds(600)).await;
    let is_ready = move |world: &atelier_domain::world::World| {
        world.nodes().find(|node| matches!(node.phase, NodePhase::Ready)).map(|node| (node.id, node.shape))
    };
    let (node, shape) = site.until("the node's agent has called", is_ready).await;
    assert_eq!(names(driver).await, [driver.name_of(node)]);
    assert_eq!(driver.exists(node).await, Ok(true));
    let agent = site.fleet.board().agent(node).expect("is on the board");
    assert!(agent.is_connected && agent.facts.shape == shape);

    // Launching what exists makes no second one, and the one that is there stays who it is.
    let again = NewNode { node, shape, token: "another-token-another-token".into() };
    let _ = driver.launch(again).await;
    assert_eq!(names(driver).await, [driver.name_of(node)]);
    assert!(site.fleet.board().agent(node).expect("is on the board").is_connected);

    // A job runs there.
    let job = site.script(pool, "echo hello from $ATELIER_NODE").await;
    let (_, verdict) = site.over(job).await;
    assert_eq!(verdict, atelier_domain::compute::job::Verdict::Succeeded);
    assert_eq!(site.log(job), format!("hello from {node}\n"));

    // What is not wanted any more is removed, and only then counts as gone.
    site.give(Order::DeleteCluster { cluster: pool, ends_jobs: true }, None).await;
    site.until("the node is gone", |world| world.nodes().next().is_none().then_some(())).await;
    assert_eq!(driver.list().await.expect("lists"), []);
    assert_eq!(driver.exists(node).await, Ok(false));

    // Something of ours that the engine does not know is listed, quarantined, and removed when somebody says
    // so. It finds nobody who would tell it that it is not wanted, after which it would end by itself.
    site.close_door();
    let stray = NodeId(900_001);
    let shape = Resources { cores: 500, memory: 256, gpus: 0 };
    driver.launch(NewNode { node: stray, shape, token: "nobody-knows-this-token".into() }).await.expect("is made");
    assert_eq!(names(driver).await, [driver.name_of(stray)]);
    tokio::time::timeout(PATIENCE, async {
        let name = driver.name_of(stray);
        site.until_quarantined(&name).await;
        let order = Order::RemoveUnknown { site: driver.site().clone(), name };
        site.give(order, None).await;
    })
    .await
    .expect("is quarantined");
    site.until("it is removed", |world| world.unknown().next().is_none().then_some(())).await;
    assert_eq!(driver.list().await.expect("lists"), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_local_driver_keeps_the_contract() {
    let data = tempfile::tempdir().expect("a folder");
    let site = Site::start(data.path()).await;
    keeps_the_contract(&site, "local-half").await;
    let left = std::fs::read_dir(site.fleet.folders().nodes()).map_or(0, Iterator::count);
    assert_eq!(left, 0, "no folder is left");
    site.tear_down().await;
}
