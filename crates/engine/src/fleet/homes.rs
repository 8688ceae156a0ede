//! Homes of instances that were deleted: put aside at once, removed after some days.

use std::path::Path;
use std::time::Duration;

use atelier_domain::Timestamp;
use atelier_domain::compute::InstanceId;
use atelier_domain::marks::{HomeFate, home_fate};
use atelier_domain::time::Span;

use super::{Fleet, Folders, custom_apps};
use crate::clock;
use crate::quarantine::Quarantine;

/// How often is looked.
const EVERY: Duration = Duration::from_secs(60);
/// How long what was deleted can be had back.
pub const KEPT: Span = Span::hours(7 * 24);

/// Looks again and again.
pub(super) async fn run(fleet: Fleet) {
    loop {
        if let Some(engine) = fleet.engine()
            // What the engine does not know is gone; while it does not answer nothing is.
            && let Ok((known, given)) = engine
                .ask(|world| (world.instances().map(|one| one.id).collect::<Vec<_>>(), world.state().instances))
                .await
        {
            if let Err(error) = custom_apps::forget_gone(&fleet, &known).await {
                tracing::warn!(%error, "the applications of deleted instances could not be forgotten");
            }
            let folders = fleet.folders().clone();
            let swept = tokio::task::spawn_blocking(move || {
                put_aside(&folders, &known, given);
                remove_old(&folders.trash(), given);
            });
            if let Err(error) = swept.await {
                tracing::warn!(%error, "the homes of deleted instances could not be looked at");
            }
        }
        tokio::time::sleep(EVERY).await;
    }
}

/// Moves the folders of deleted instances into the trash. One whose number was never given out isn't known to
/// be deleted: it goes into quarantine.
fn put_aside(folders: &Folders, known: &[InstanceId], given: u64) {
    let (instances, trash) = (folders.instances(), folders.trash());
    let Ok(entries) = std::fs::read_dir(&instances) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(id) = name.to_str().and_then(|name| name.parse().ok()).map(InstanceId) else { continue };
        let moved = match home_fate(id, given, known.contains(&id)) {
            HomeFate::Stays => continue,
            HomeFate::Trash => {
                let place = trash.join(format!("instance-{}-{}", id.0, clock::now().0));
                std::fs::create_dir_all(&trash).and_then(|()| std::fs::rename(entry.path(), &place)).map(|()| {
                    tracing::info!(instance = id.0, "the home of a deleted instance is in the trash for 7 days");
                })
            }
            HomeFate::Quarantine => {
                let paths = [Path::new("instances").join(&name)];
                let what = format!("Home and packages of {id}");
                Quarantine::new(folders.clone()).take(&id.to_string(), &what, &paths, clock::now()).map(|held| {
                    tracing::warn!(instance = id.0, name = held.name, "a home that no instance had is in quarantine");
                })
            }
        };
        if let Err(error) = moved {
            tracing::warn!(%error, instance = id.0, "the home of a deleted instance cannot be put aside");
        }
    }
}

/// Removes what was put aside long enough ago; the name says when. What carries a number that was never given
/// out stays.
fn remove_old(trash: &Path, given: u64) {
    let Ok(entries) = std::fs::read_dir(trash) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some((id, at)) = name.to_str().and_then(in_trash) else { continue };
        if home_fate(id, given, false) == HomeFate::Trash
            && clock::now().since(at) > KEPT
            && let Err(error) = std::fs::remove_dir_all(entry.path())
        {
            tracing::warn!(%error, place = %entry.path().display(), "what is in the trash cannot be removed");
        }
    }
}

/// Whose home it was and since when it's in the trash.
pub(crate) fn in_trash(name: &str) -> Option<(InstanceId, Timestamp)> {
    let (id, at) = name.strip_prefix("instance-")?.split_once('-')?;
    Some((InstanceId(id.parse().ok()?), Timestamp(at.parse().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn homes_of_deleted_instances_are_put_aside_and_removed_after_a_week() {
        let data = tempfile::tempdir().expect("a folder");
        let (instances, trash) = (data.path().join("instances"), data.path().join("trash"));
        for id in ["3", "7", "8", "not-ours"] {
            std::fs::create_dir_all(instances.join(id).join("home")).expect("a home");
        }
        std::fs::write(instances.join("7/home/work.txt"), "precious").expect("a file");
        std::fs::write(instances.join("8/home/work.txt"), "newer than the database").expect("a file");
        let folders = Folders::new(data.path());
        put_aside(&folders, &[InstanceId(3)], 7);
        let held = Quarantine::new(folders).list().expect("lists");
        assert_eq!(held.iter().map(|held| (held.label.as_str(), held.bytes)).collect::<Vec<_>>(), [("instance-8", 23)]);
        assert!(instances.join("3/home").is_dir() && instances.join("not-ours").is_dir());
        assert!(!instances.join("7").exists());
        let kept: Vec<_> = std::fs::read_dir(&trash).expect("the trash").flatten().collect();
        assert_eq!(kept.len(), 1);
        assert_eq!(std::fs::read_to_string(kept[0].path().join("home/work.txt")).expect("kept"), "precious");
        remove_old(&trash, 7);
        assert!(kept[0].path().exists(), "not yet");
        let old = trash.join("instance-7-1000");
        std::fs::rename(kept[0].path(), &old).expect("older");
        remove_old(&trash, 7);
        assert!(!old.exists());
        let unproven = trash.join("instance-8-1000");
        std::fs::create_dir(&unproven).expect("made");
        remove_old(&trash, 7);
        assert!(unproven.exists(), "a number that was never given out proves nothing");
    }
}
