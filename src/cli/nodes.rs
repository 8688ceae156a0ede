//! Nodes on this machine, for operators with a shell on the server.

use atelier_engine::drivers::local;
use atelier_engine::fleet::Folders;
use atelier_engine::run::{DataLock, StartError};
use atelier_engine::store::Missing;

use crate::server::config::Config;
use crate::server::serve::open_store;

/// Lists what is changed about this machine for people's networks.
pub async fn network(config: Config) -> Result<(), String> {
    let folders = Folders::new(&config.data);
    let store = open_store(&config, Missing::Refuse).await?;
    let installation = store.installation_id().await.map_err(|error| error.to_string())?;
    store.close().await;
    let changes = local::network_changes(&installation, &folders);
    if changes.is_empty() {
        println!("Nothing is changed about this machine’s network.");
    }
    changes.iter().for_each(|line| println!("{line}"));
    Ok(())
}

/// Ends all nodes that a stopped server has left running. While a server runs it would only make new ones.
pub async fn stop_all(config: Config) -> Result<(), String> {
    let folders = Folders::new(&config.data);
    let _lock = match DataLock::take(&config.data) {
        Ok(lock) => lock,
        Err(StartError::Locked(folder)) => {
            return Err(format!(
                "a server works on the data in {folder} and would replace its nodes; stop it first, or delete its \
                 clusters in the portal"
            ));
        }
        Err(error) => return Err(error.to_string()),
    };
    let store = open_store(&config, Missing::Refuse).await?;
    let installation = store.installation_id().await.map_err(|error| error.to_string())?;
    store.close().await;
    let ended = local::stop_all(&installation, &folders).await?;
    local::undo_network(&installation, &folders);
    if ended.is_empty() {
        println!("No node runs on this machine.");
        return Ok(());
    }
    let mut failed = 0;
    for (node, result) in ended {
        match result {
            Ok(()) => println!("{node} has ended."),
            Err(why) => {
                failed += 1;
                println!("{node} is still there: {why}.");
            }
        }
    }
    if failed > 0 { Err(format!("{failed} nodes could not be ended")) } else { Ok(()) }
}
