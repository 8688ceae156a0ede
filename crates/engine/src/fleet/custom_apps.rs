//! Applications that people added to their instances: what agents are told of them.
//!
//! What counts is in the database. An agent hears of it when it sets an instance up, when something has
//! changed, and when it has called anew; each time all of it, with how new it is, so that nothing older
//! counts and nothing runs twice.

use atelier_domain::compute::app::{CustomApp, Network};
use atelier_domain::compute::{InstanceId, NodeId};
use atelier_protocol::{App, CUSTOM_APPS, CustomApps, ToAgent};

use super::Fleet;
use crate::store;

impl Fleet {
    /// Something has changed about an instance's own applications: its agent is told, where there is one.
    pub async fn apps_changed(&self, instance: InstanceId) {
        let Some(engine) = self.engine() else { return };
        let node = engine.ask(move |world| world.instance(instance).and_then(|one| one.node)).await;
        if let Ok(Some(node)) = node {
            self.tell_apps(node, instance).await;
        }
    }

    /// Ends an application and starts it again; false if its agent cannot be told.
    pub async fn restart_app(&self, instance: InstanceId, name: &str) -> bool {
        let Some(engine) = self.engine() else { return false };
        let node = engine.ask(move |world| world.instance(instance).and_then(|one| one.node)).await;
        let Ok(Some(node)) = node else { return false };
        self.takes_apps(node) && self.say(node, ToAgent::RestartApp { instance, name: name.to_owned() })
    }

    /// An agent has called: it may have missed something.
    pub(super) async fn tell_apps_on(&self, node: NodeId) {
        let Some(engine) = self.engine() else { return };
        let found = engine.ask(move |world| world.instances().find(|one| one.node == Some(node)).map(|one| one.id));
        if let Ok(Some(instance)) = found.await {
            self.tell_apps(node, instance).await;
        }
    }

    async fn tell_apps(&self, node: NodeId, instance: InstanceId) {
        if !self.takes_apps(node) {
            return;
        }
        match self.custom_apps(instance).await {
            Ok(custom) => drop(self.say(node, ToAgent::Apps(Box::new(custom)))),
            // It hears of it with the next change, or when it calls again.
            Err(error) => tracing::error!(%error, %instance, "the applications of an instance could not be read"),
        }
    }

    /// What an agent is told.
    pub(super) async fn custom_apps(&self, instance: InstanceId) -> store::Result<CustomApps> {
        // Before they are read: what is newer than it says does no harm, what is older would.
        let revision = self.store().live().newest();
        let apps = self.store().apps_of(instance).await?.into_iter().map(app).collect();
        Ok(CustomApps { instance, revision, apps })
    }

    fn takes_apps(&self, node: NodeId) -> bool {
        self.connections().get(&node).is_some_and(|agent| agent.protocol >= CUSTOM_APPS)
    }
}

/// An application as an agent keeps it.
fn app(custom: CustomApp) -> App {
    let draft = &custom.draft;
    App {
        argv: custom.argv(),
        health: draft.health.clone(),
        label: custom.label().to_owned(),
        environment: draft.environment.clone().into_iter().collect(),
        port: draft.port,
        has_open_network: draft.network == Network::Open,
        remedy: draft.preset.remedy().unwrap_or_default(),
        is_custom: true,
        name: custom.name.to_string(),
        ..App::default()
    }
}

/// Forgets the applications of instances that are no more, and that they could be entered by SSH.
pub(super) async fn forget_gone(fleet: &Fleet, known: &[InstanceId]) -> store::Result<()> {
    let (apps, ssh) = (fleet.store().instances_with_apps().await?, fleet.store().instances_with_ssh().await?);
    let strange: Vec<InstanceId> = apps.into_iter().chain(ssh).filter(|one| !known.contains(one)).collect();
    if strange.is_empty() {
        return Ok(());
    }
    // One that is not known may have been made since that was asked, so it is asked again.
    let Some(engine) = fleet.engine() else { return Ok(()) };
    let asked = engine.ask(move |world| strange.into_iter().filter(|one| world.instance(*one).is_none()).collect());
    let gone: Vec<InstanceId> = asked.await.unwrap_or_default();
    for instance in gone {
        fleet.store().drop_apps_of(instance).await?;
        fleet.store().drop_ssh_of(instance).await?;
    }
    Ok(())
}
