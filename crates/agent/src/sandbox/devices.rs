//! The device files of a node's GPUs: its own cards, and what all cards need.

use std::fs;
use std::path::{Path, PathBuf};

/// Of GPUs by their numbers; none for who has none.
pub fn of(gpus: &[u64]) -> Vec<PathBuf> {
    find(Path::new("/dev"), Path::new("/proc/driver/nvidia/gpus"), gpus)
}

fn find(devices: &Path, driver: &Path, gpus: &[u64]) -> Vec<PathBuf> {
    let Some(entries) = fs::read_dir(devices).ok().filter(|_| !gpus.is_empty()) else { return Vec::new() };
    let minors = minors(driver);
    let number = |gpu: &u64| usize::try_from(*gpu).ok().and_then(|at| minors.get(at).copied()).unwrap_or(*gpu);
    let own: Vec<u64> = gpus.iter().map(number).collect();
    let is_ours = |name: &str| match name.strip_prefix("nvidia") {
        // `nvidia0` is a card; `nvidiactl`, `nvidia-uvm` and the like are for all.
        Some(rest) => rest.parse().map_or(true, |card: u64| own.contains(&card)),
        None => false,
    };
    let names = entries.flatten().filter(|entry| entry.file_name().to_str().is_some_and(is_ours));
    let mut found: Vec<PathBuf> = names.map(|entry| entry.path()).collect();
    found.sort();
    found
}

/// The numbers of the device files, in the order in which GPUs are counted: by their place on the bus. The
/// two often agree, and need not.
fn minors(driver: &Path) -> Vec<u64> {
    let Ok(entries) = fs::read_dir(driver) else { return Vec::new() };
    let mut cards: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    cards.sort();
    let minor = |card: &PathBuf| {
        let text = fs::read_to_string(card.join("information")).ok()?;
        text.lines().find_map(|line| line.strip_prefix("Device Minor:")?.trim().parse().ok())
    };
    // One that does not say so leaves all others in doubt: then the number is the number.
    cards.iter().map(minor).collect::<Option<Vec<u64>>>().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_has_its_own_cards_and_what_all_need() {
        let folder = tempfile::tempdir().unwrap();
        let (devices, driver) = (folder.path().join("dev"), folder.path().join("gpus"));
        fs::create_dir(&devices).unwrap();
        for name in ["nvidia0", "nvidia1", "nvidia2", "nvidia10", "nvidiactl", "nvidia-uvm", "null", "sda"] {
            fs::write(devices.join(name), "").unwrap();
        }
        let found = |gpus: &[u64]| -> Vec<String> {
            let paths = find(&devices, &driver, gpus);
            paths.iter().map(|path| path.file_name().unwrap().to_string_lossy().into_owned()).collect()
        };
        assert_eq!(found(&[]), [""; 0]);
        assert_eq!(found(&[1]), ["nvidia-uvm", "nvidia1", "nvidiactl"]);
        assert_eq!(found(&[0, 2]), ["nvidia-uvm", "nvidia0", "nvidia2", "nvidiactl"]);
        // The second card on the bus has the third file.
        for (bus, minor) in [("0000:41:00.0", 2), ("0000:01:00.0", 0), ("0000:c1:00.0", 1)] {
            let card = driver.join(bus);
            fs::create_dir_all(&card).unwrap();
            fs::write(card.join("information"), format!("Model: \t X\nDevice Minor: \t {minor}\n")).unwrap();
        }
        assert_eq!(found(&[1]), ["nvidia-uvm", "nvidia2", "nvidiactl"]);
        assert_eq!(found(&[0, 2]), ["nvidia-uvm", "nvidia0", "nvidia1", "nvidiactl"]);
    }
}
