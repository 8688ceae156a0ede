use atelier_domain::access::Role;
use atelier_domain::compute::node::Holder;
use atelier_domain::compute::size::SiteName;
use atelier_domain::compute::{NodeId, Resources};
use atelier_domain::world::{FoundNode, Report};
use axum::http::StatusCode;

use crate::client::{Browser, Server};

const CLUSTERS: &str = "/w/perception/compute/clusters";
pub const NEW: &str = "/w/perception/compute/clusters/new";

/// A site with 16 cores, as a driver would report it.
async fn with_site(server: &Server) {
    let capacity = Resources::new(16, 64, 0);
    server.state.engine().report(Report::Site { site: site(), capacity }).await.expect("reported");
}

fn site() -> SiteName {
    SiteName::parse("local").expect("a name")
}

/// A site and the size `small`: 2 cores, 8 GiB, 0.4 an hour.
pub async fn with_sizes(server: &Server) -> Browser {
    with_site(server).await;
    let mut owner = server.owner().await;
    let fields = small();
    owner
        .submit("/w/perception/admin/sizes/new", "put_size", &fields)
        .await
        .shows("The size small is in the catalogue");
    owner
}

fn small() -> [(&'static str, &'static str); 7] {
    [
        ("name", "small"),
        ("family", "general"),
        ("site", "local"),
        ("cores", "2"),
        ("memory", "8"),
        ("gpus", "0"),
        ("price", "0.4"),
    ]
}

pub fn cluster<'a>(name: &'a str, min: &'a str, max: &'a str) -> [(&'a str, &'a str); 6] {
    [("name", name), ("size", "small"), ("min", min), ("max", max), ("idle", "120"), ("tags", "project=churn")]
}

async fn nodes(server: &Server) -> Vec<NodeId> {
    let ask = server.state.engine().ask(|world| {
        world.nodes().filter(|node| matches!(node.holder, Holder::Cluster(_))).map(|node| node.id).collect::<Vec<_>>()
    });
    ask.await.expect("answered")
}

#[tokio::test]
async fn clusters_are_made_seen_scaled_tagged_paused_and_deleted() {
    let server = Server::set_up().await;
    let mut owner = server.owner().await;
    owner.get(CLUSTERS).await.shows("Clusters that grow with the work").shows("No driver has reported");
    owner.get(NEW).await.shows("There are no sizes yet");
    let mut owner = with_sizes(&server).await;
    owner.get(CLUSTERS).await.shows(&format!("href=\"{NEW}\"")).hides("No driver has reported");
    owner.get(NEW).await.shows("2 cores").shows("8 GiB").shows("€0.40").shows("8 free now").shows("no limit");

    let page = owner.submit(NEW, "create_cluster", &cluster("train-pool", "1", "4")).await;
    page.shows("train-pool was created. It makes its first node now.").shows("Resizing").shows("project=churn");
    let path = format!("{CLUSTERS}/train-pool");
    let node = nodes(&server).await[0];
    owner.get(&path).await.shows(&format!("{node}: preparing")).shows("has not called yet");
    server.state.engine().report(Report::NodeUp(node)).await.expect("reported");
    owner.get(&path).await.shows("Steady").shows(&format!("{node}: idle")).shows("Nothing waits.").shows("€0.40/h now");
    owner.get(CLUSTERS).await.shows("train-pool").shows("1 to 4").shows("0 waiting").shows("€0.00");
    owner.get("/w/perception/compute/instances").await.shows("Clusters<span class=\"count\">1</span>");
    owner.get("/w/perception").await.shows("Perception has 1 cluster").shows("with 1 node");

    let fields = [("cluster", "train-pool"), ("min", "0"), ("max", "6"), ("idle", "30"), ("why", "more to do")];
    owner.submit(&path, "scale_cluster", &fields).await.shows("keeps 0 to 6 nodes, idle ones for 30 s");
    owner.get("/w/perception/activity").await.shows("set the cluster train-pool to 0 to 6 nodes").shows("more to do");
    owner.submit(&path, "tag_cluster", &[("cluster", "train-pool"), ("tags", "team=blue")]).await.shows("team=blue");
    owner
        .submit(&path, "pause_cluster", &[("cluster", "train-pool")])
        .await
        .shows("is paused")
        .shows("/fn/resume_cluster");
    owner.submit(&path, "pause_cluster", &[("cluster", "train-pool")]).await.shows("was paused already");
    owner.get(&format!("{CLUSTERS}?state=paused&q=BLUE")).await.shows("train-pool");
    owner.get(&format!("{CLUSTERS}?state=steady")).await.shows("No cluster fits this filter");
    owner.submit(&path, "resume_cluster", &[("cluster", "train-pool")]).await.shows("goes on with its queue");

    owner
        .get(&format!("{path}/delete"))
        .await
        .shows("Delete train-pool?")
        .shows("0 jobs run now")
        .shows("End them now");
    let fields = [("cluster", "train-pool"), ("jobs", "end")];
    owner.submit(&format!("{path}/delete"), "delete_cluster", &fields).await.shows("train-pool is being deleted");
    owner.get(&path).await.shows("Deleting").shows("It is being deleted.");
    for node in nodes(&server).await {
        server.state.engine().report(Report::NodeGone(node)).await.expect("reported");
    }
    assert_eq!(owner.get(&path).await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn what_is_wrong_with_a_cluster_stands_beside_its_fields_and_nothing_is_lost() {
    let server = Server::set_up().await;
    let mut owner = with_sizes(&server).await;
    let fields = [("name", "X"), ("size", ""), ("min", "two"), ("max", ""), ("idle", "1.5"), ("tags", "a=1\na=2")];
    owner
        .submit(NEW, "create_cluster", &fields)
        .await
        .shows("3 to 24 characters; this has 1")
        .shows("Choose what the nodes are.")
        .shows("“two”")
        .shows("The maximum is missing")
        .shows("“1.5”")
        .shows("The tag “a” is there twice.")
        .shows("value=\"two\"");
    owner.submit(NEW, "create_cluster", &cluster("new", "0", "1")).await.shows("is the address of the form");
    owner
        .submit(NEW, "create_cluster", &cluster("abc", "5", "2"))
        .await
        .shows("minimum of 5 is above the maximum of 2");
    owner.submit(NEW, "create_cluster", &cluster("abc", "0", "70000")).await.shows("at most 65000 nodes");
    owner.submit(NEW, "create_cluster", &cluster("abc", "20", "20")).await.hides("was created");
    let mut odd = cluster("abc", "0", "1");
    odd[1] = ("size", "huge");
    owner.submit(NEW, "create_cluster", &odd).await.shows("huge").hides("was created");
    owner.submit(NEW, "create_cluster", &cluster("abc", "0", "1")).await.shows("abc was created");
    let page = owner.submit(NEW, "create_cluster", &cluster("abc", "0", "1")).await;
    page.shows("f-name-problem").shows("value=\"abc\"");
    let fields = [("cluster", "abc"), ("min", "3"), ("max", "2"), ("idle", "60")];
    owner
        .submit(&format!("{CLUSTERS}/abc"), "scale_cluster", &fields)
        .await
        .shows("f-min-problem")
        .shows("value=\"3\"");
    let fields = [("cluster", "abc"), ("jobs", "perhaps")];
    owner.submit(&format!("{CLUSTERS}/abc/delete"), "delete_cluster", &fields).await.shows("“wait” or “end”");
}

#[tokio::test]
async fn the_same_form_sent_twice_makes_one_cluster() {
    let server = Server::set_up().await;
    let mut owner = with_sizes(&server).await;
    let mut fields = cluster("abc", "0", "1").to_vec();
    fields.push(("command_id", "click-on-create-1"));
    for _ in 0..2 {
        owner.submit(NEW, "create_cluster", &fields).await.shows("abc was created");
    }
    let count = server.state.engine().ask(|world| world.clusters().count()).await.expect("answered");
    assert_eq!(count, 1);
    assert!(owner.get(NEW).await.text.contains("name=\"command_id\""));
}

#[tokio::test]
async fn who_lacks_the_right_sees_clusters_and_changes_nothing() {
    let server = Server::set_up().await;
    let mut owner = with_sizes(&server).await;
    owner.submit(NEW, "create_cluster", &cluster("train-pool", "0", "2")).await.shows("was created");
    server.add("Rene", &[Role::Reader]).await;
    let mut reader = server.signed_in("rene@example.org").await;
    let path = format!("{CLUSTERS}/train-pool");
    reader
        .get(CLUSTERS)
        .await
        .shows("train-pool")
        .shows("does not include cluster.create")
        .hides(&format!("href=\"{NEW}\""));
    reader.get(&path).await.shows("does not include cluster.scale").shows("does not include cluster.delete");
    for path in [NEW, &format!("{path}/delete"), "/w/perception/admin/sizes/new", "/w/perception/admin/engines"] {
        assert_eq!(reader.get(path).await.status, StatusCode::FORBIDDEN, "{path}");
    }
    let named = [("cluster", "train-pool")];
    let scale = [("cluster", "train-pool"), ("min", "0"), ("max", "9"), ("idle", "9")];
    let delete = [("cluster", "train-pool"), ("jobs", "end")];
    let unknown = [("site", "local"), ("name", "x")];
    let mine = cluster("mine", "0", "1");
    let calls: [(&str, &[(&str, &str)]); 10] = [
        ("create_cluster", &mine),
        ("scale_cluster", &scale),
        ("tag_cluster", &named),
        ("pause_cluster", &named),
        ("resume_cluster", &named),
        ("delete_cluster", &delete),
        ("put_size", &small()),
        ("remove_size", &[("name", "small")]),
        ("pause_engine", &[]),
        ("remove_unknown", &unknown),
    ];
    for (function, fields) in calls {
        let answer = reader.call(function, fields).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{function}: {}", answer.text);
    }
    let found = server.state.engine().ask(|world| {
        let cluster = world.clusters().next().cloned();
        (cluster, world.sizes().count(), world.state().pause.is_some())
    });
    let (cluster, sizes, is_paused) = found.await.expect("answered");
    assert_eq!(cluster.map(|cluster| (cluster.scale.max, cluster.is_active())), Some((2, true)));
    assert!(sizes == 1 && !is_paused);
}

#[tokio::test]
async fn what_does_not_exist_is_not_found_whatever_it_is_called() {
    let server = Server::set_up().await;
    let mut owner = with_sizes(&server).await;
    for path in [
        "/w/perception/compute/clusters/nobody",
        "/w/perception/compute/clusters/nobody/delete",
        "/w/perception/compute/clusters/%3Cscript%3E",
        "/w/perception/admin/sizes/nothing",
        "/w/perception/admin/sizes/nothing/remove",
        "/w/perception/admin/engines/remove?site=local&name=x",
        "/w/elsewhere/compute/clusters",
        "/w/perception/compute/nonsense",
    ] {
        let page = owner.get(path).await;
        assert_eq!(page.status, StatusCode::NOT_FOUND, "{path}");
        page.hides("<script>alert");
    }
    let answer = owner.call("pause_cluster", &[("cluster", "nobody")]).await;
    assert_eq!(answer.status, StatusCode::NOT_FOUND, "{}", answer.text);
}

#[tokio::test]
async fn sizes_are_changed_and_removed_unless_something_is_made_of_them() {
    let server = Server::set_up().await;
    let mut owner = with_sizes(&server).await;
    let sizes = "/w/perception/admin/sizes";
    owner.get(&format!("{sizes}/small")).await.shows("value=\"0.4\"").shows("value=\"8\"").shows("Price per hour, EUR");
    let mut odd = small();
    odd[3] = ("cores", "many");
    odd[6] = ("price", "-1");
    let page = owner.submit(&format!("{sizes}/small"), "put_size", &odd).await;
    page.shows("“many”").shows("“-1”").shows("value=\"many\"");
    let mut odd = small();
    odd[2] = ("site", "moon");
    owner.submit(&format!("{sizes}/new"), "put_size", &odd).await.shows("f-site-problem").shows("moon");
    owner.submit(NEW, "create_cluster", &cluster("abc", "0", "1")).await.shows("was created");
    let mut larger = small();
    larger[3] = ("cores", "4");
    owner.submit(&format!("{sizes}/small"), "put_size", &larger).await.shows("abc").shows("f-name-problem");
    let mut dearer = small();
    dearer[6] = ("price", "1.25");
    owner.submit(&format!("{sizes}/small"), "put_size", &dearer).await.shows("€1.25");
    // What the form shows of a size that is in use can be sent again.
    let mut odd = small();
    (odd[0], odd[4]) = (("name", "odd"), ("memory", "2.7197"));
    owner.submit(&format!("{sizes}/new"), "put_size", &odd).await.shows("The size odd is in the catalogue");
    owner.get(&format!("{sizes}/odd")).await.shows("value=\"2.7197\"");
    owner.submit(&format!("{sizes}/odd/remove"), "remove_size", &[("name", "odd")]).await.shows("was removed");
    owner.submit(&format!("{sizes}/small/remove"), "remove_size", &[("name", "small")]).await.shows("abc");
    let delete = [("cluster", "abc"), ("jobs", "wait")];
    owner.submit(&format!("{CLUSTERS}/abc/delete"), "delete_cluster", &delete).await.shows("abc is being deleted");
    owner
        .submit(&format!("{sizes}/small/remove"), "remove_size", &[("name", "small")])
        .await
        .shows("was removed from the catalogue")
        .shows("The catalogue is empty");
}

#[tokio::test]
async fn prices_are_shown_in_the_currency_of_the_installation() {
    let server = Server::set_up_with(&[("currency", "CHF")]).await;
    let mut owner = with_sizes(&server).await;
    owner.get(NEW).await.shows("0.40 CHF");
}

#[tokio::test]
async fn engines_show_sites_and_the_loop_and_can_be_paused() {
    let server = Server::set_up().await;
    let path = "/w/perception/admin/engines";
    let mut owner = server.owner().await;
    owner.get(path).await.shows("No driver has reported yet").shows("There are no nodes now.").shows("Epoch");
    let mut owner = with_sizes(&server).await;
    owner.submit(NEW, "create_cluster", &cluster("abc", "1", "1")).await.shows("was created");
    owner
        .get(path)
        .await
        .shows("2 of 16 cores")
        .shows("8 GiB of 64 GiB")
        .shows("node-1")
        .shows(&format!("{CLUSTERS}/abc"));
    owner.submit(path, "pause_engine", &[("why", "the storage is moved")]).await.shows("Ines Okafor paused all acting");
    owner.get(CLUSTERS).await.shows("the storage is moved");
    owner.submit(path, "resume_engine", &[]).await.shows("The engine acts again").shows("Pause all acting");

    let found = vec![FoundNode { name: "stray <b>".into(), node: None }];
    let as_of = atelier_domain::time::Mono(u64::MAX);
    server.state.engine().report(Report::Found { site: site(), nodes: found, as_of }).await.expect("reported");
    owner.get(path).await.shows("stray &lt;b&gt;").hides("stray <b>");
    let ask = format!("{path}/remove?site=local&name=stray+%3Cb%3E");
    owner.get(&ask).await.shows("Remove stray &lt;b&gt; from local?");
    let fields = [("site", "local"), ("name", "stray <b>")];
    owner.submit(&ask, "remove_unknown", &fields).await.shows("It is being removed already.");
}

#[tokio::test]
async fn the_chart_follows_what_nodes_do() {
    let server = Server::set_up().await;
    let mut owner = with_sizes(&server).await;
    owner.submit(NEW, "create_cluster", &cluster("abc", "2", "4")).await.shows("was created");
    let keeper = tokio::spawn(atelier::server::chart_keeper::keep(server.state.clone()));
    let id = server.state.engine().ask(|world| world.clusters().next().map(|cluster| cluster.id)).await;
    let id = id.expect("answered").expect("a cluster");
    let written = async {
        loop {
            let rows = server.state.store().cluster_counts(id, atelier_domain::Timestamp(0)).await.expect("reads");
            if !rows.is_empty() {
                return rows;
            }
            tokio::task::yield_now().await;
        }
    };
    let rows = tokio::time::timeout(atelier_testing::PATIENCE, written).await.expect("counts are written");
    assert_eq!(rows.first().map(|(_, counts)| counts.preparing), Some(2));
    owner
        .get(&format!("{CLUSTERS}/abc"))
        .await
        .shows("class=\"fill s-move\"")
        .shows("2 now, at most 2; the limit is 4");
    keeper.abort();
}
