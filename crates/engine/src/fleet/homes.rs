//! Homes of instances that were deleted: put aside at once, removed after some days.

use std::path::Path;
use std::time::Duration;

use atelier_domain::compute::InstanceId;
use atelier_domain::time::Span;

use super::{Fleet, custom_apps};
use crate::clock;

/// How often is looked.
const EVERY: Duration = Duration::from_secs(60);
/// How long what was deleted can be had back.
pub const KEPT: Span = Span::hours(7 * 24);

/// Looks again and again.
pub(super) async fn run(fleet: Fleet) {
    loop {
        if let Some(engine) = fleet.engine()
            // What the engine does not know is gone; while it does not answer nothing is.
            && let Ok(known) = engine.ask(|world| world.instances().map(|one| one.id).collect::<Vec<_>>()).await
        {
            if let Err(error) = custom_apps::forget_gone(&fleet, &known).await {
                tracing::warn!(%error, "the applications of deleted instances could not be forgotten");
            }
            let folders = fleet.folders().clone();
            let swept = tokio::task::spawn_blocking(move || {
                put_aside(&folders.instances(), &folders.trash(), &known);
                remove_old(&folders.trash());
            });
            if let Err(error) = swept.await {
                tracing::warn!(%error, "the homes of deleted instances could not be looked at");
            }
        }
        tokio::time::sleep(EVERY).await;
    }
}

/// Moves the folders of instances that are not known any more into the trash.
fn put_aside(instances: &Path, trash: &Path, known: &[InstanceId]) {
    let Ok(entries) = std::fs::read_dir(instances) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(id) = name.to_str().and_then(|name| name.parse().ok()).map(InstanceId) else { continue };
        if known.contains(&id) {
            continue;
        }
        let place = trash.join(format!("instance-{}-{}", id.0, clock::now().0));
        let moved = std::fs::create_dir_all(trash).and_then(|()| std::fs::rename(entry.path(), &place));
        match moved {
            Ok(()) => tracing::info!(instance = id.0, "the home of a deleted instance is in the trash for 7 days"),
            Err(error) => tracing::warn!(%error, instance = id.0, "the home of a deleted instance cannot be put aside"),
        }
    }
}

/// Removes what was put aside long enough ago; the name says when.
fn remove_old(trash: &Path) {
    let Ok(entries) = std::fs::read_dir(trash) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let at = name.to_str().and_then(|name| name.strip_prefix("instance-")).and_then(|name| name.rsplit_once('-'));
        let Some(at) = at.and_then(|(_, at)| at.parse().ok()).map(atelier_domain::Timestamp) else { continue };
        if clock::now().since(at) > KEPT
            && let Err(error) = std::fs::remove_dir_all(entry.path())
        {
            tracing::warn!(%error, place = %entry.path().display(), "what is in the trash cannot be removed");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn homes_of_deleted_instances_are_put_aside_and_removed_after_a_week() {
        let data = tempfile::tempdir().expect("a folder");
        let (instances, trash) = (data.path().join("instances"), data.path().join("trash"));
        for id in ["3", "7", "not-ours"] {
            std::fs::create_dir_all(instances.join(id).join("home")).expect("a home");
        }
        std::fs::write(instances.join("7/home/work.txt"), "precious").expect("a file");
        put_aside(&instances, &trash, &[InstanceId(3)]);
        assert!(instances.join("3/home").is_dir() && instances.join("not-ours").is_dir());
        assert!(!instances.join("7").exists());
        let kept: Vec<_> = std::fs::read_dir(&trash).expect("the trash").flatten().collect();
        assert_eq!(kept.len(), 1);
        assert_eq!(std::fs::read_to_string(kept[0].path().join("home/work.txt")).expect("kept"), "precious");
        remove_old(&trash);
        assert!(kept[0].path().exists(), "not yet");
        let old = trash.join("instance-7-1000");
        std::fs::rename(kept[0].path(), &old).expect("older");
        remove_old(&trash);
        assert!(!old.exists());
    }
}
