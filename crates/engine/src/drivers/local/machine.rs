//! What the server's own machine has, and how it is shared out.

use atelier_domain::compute::Resources;
use atelier_domain::compute::size::{Family, Price, SiteName, Size, SizeName};

/// A core for an hour, in millionths of the currency: a suggestion that operators change.
const CORE_PRICE: u64 = 40_000;
/// A GPU for an hour.
const GPU_PRICE: u64 = 1_000_000;
/// Memory in MiB that is left to the system and the server.
const RESERVED: u64 = 1_024;

/// How people are kept apart, where the server is root.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Isolation {
    /// A user of their own for each and, where bubblewrap works, a private view of the system.
    #[default]
    View,
    /// A user of their own for each.
    Users,
    /// Not at all: everybody is the server's own user.
    Off,
}

impl Isolation {
    /// As it is written in settings.
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "on" => Self::View,
            "users" => Self::Users,
            "off" => Self::Off,
            _ => return None,
        })
    }
}

/// What may be set about the local driver.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// How many times the machine's cores are given out: people's workstations mostly wait. Memory is given
    /// out once.
    pub overcommit: f64,
    /// How people are kept apart where that is possible.
    pub isolation: Isolation,
    /// An agent without a server and without jobs ends itself after so long.
    pub alone_seconds: u64,
    /// The program that agents run; the one that runs now if none is named. For tests, which are programs of
    /// their own.
    pub program: Option<std::path::PathBuf>,
    /// The agent, if the running program carries it as one of its own.
    pub carried: Option<super::Carried>,
    /// Where Python environments are, and the Python that they stand on.
    pub environments: Option<(std::path::PathBuf, std::path::PathBuf)>,
    /// Networks of people's own; none where they share the machine's.
    pub network: Option<super::NetworkSettings>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            overcommit: 2.0,
            isolation: Isolation::View,
            alone_seconds: 86_400,
            program: None,
            carried: None,
            environments: None,
            network: None,
        }
    }
}

/// The machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    pub cores: u64,
    /// Memory in MiB.
    pub memory: u64,
    pub gpus: u64,
    /// Whether the server is root, so that people can have users of their own.
    pub is_root: bool,
    /// Why people cannot have a private view of the system; none if they can.
    pub no_view: Option<String>,
}

impl Machine {
    /// Looks at this one.
    pub fn look() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, |count| count.get() as u64);
        let memory =
            std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| total_memory(&text)).unwrap_or(1_024);
        // The kernel lists NVIDIA's cards here; without its driver there is no such folder.
        let gpus = std::fs::read_dir("/proc/driver/nvidia/gpus").map_or(0, |cards| cards.count() as u64);
        let is_root = rustix::process::geteuid().is_root();
        // Nobody else needs to know, and it takes a process to find out.
        let no_view = if is_root { atelier_confine::bubblewrap().err() } else { None };
        Self { cores, memory, gpus, is_root, no_view }
    }

    /// Whether people have users of their own.
    pub fn has_own_users(&self, isolation: Isolation) -> bool {
        self.is_root && isolation != Isolation::Off
    }

    /// Whether that is all that keeps people apart, so that they come to their folders by the same ways as
    /// everybody.
    pub fn has_users_alone(&self, isolation: Isolation) -> bool {
        self.has_own_users(isolation) && (isolation == Isolation::Users || self.no_view.is_some())
    }

    /// What all nodes together may have.
    pub fn capacity(&self, settings: &Settings) -> Resources {
        let factor = settings.overcommit.clamp(0.1, 64.0);
        let cores = (self.cores as f64 * 1_000.0 * factor).round() as u64;
        let reserved = RESERVED.min(self.memory / 4);
        Resources { cores, memory: self.memory - reserved, gpus: self.gpus }
    }

    /// How people are kept apart, and whether that is as it should be.
    pub fn isolation(&self, isolation: Isolation) -> (String, bool) {
        let not = |why: &str| (format!("People are not isolated from each other: {why}."), false);
        let partly =
            |why: &str| (format!("People have users of their own, but see each other’s processes: {why}."), false);
        match (isolation, self.is_root, &self.no_view) {
            (Isolation::Off, ..) => not("isolation is switched off in the settings"),
            (_, false, _) => not("the server does not run as root, so all jobs run as its own user"),
            (Isolation::Users, ..) => partly("a private view is switched off in the settings"),
            (Isolation::View, _, Some(why)) => partly(why),
            (Isolation::View, _, None) => {
                ("People have users of their own and a private view of the system.".into(), true)
            }
        }
    }
}

fn total_memory(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find(|line| line.starts_with("MemTotal:"))?;
    let kibibytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kibibytes / 1_024)
}

/// Sizes that share a machine out evenly: half a core, one, two, four … up to all real cores, each with its
/// part of the memory, so that cores and memory run out together.
pub(super) fn sizes(site: &SiteName, capacity: Resources, real_cores: u64) -> Vec<Size> {
    let per_core = |millis: u64| {
        let share = u128::from(capacity.memory) * u128::from(millis) / u128::from(capacity.cores.max(1));
        // Whole quarters of a GiB read better; what is smaller stays as it is.
        let share = u64::try_from(share).unwrap_or(u64::MAX);
        if share >= 512 { share / 256 * 256 } else { share.max(1) }
    };
    let size = |name: &str, family: &str, shape: Resources, price: u64| {
        let (name, family) = (SizeName::parse(name).ok()?, Family::parse(family).ok()?);
        Some(Size { name, family, site: site.clone(), shape, price: Price(price) })
    };
    let mut sizes: Vec<Option<Size>> = Vec::new();
    let half = Resources { cores: 500, memory: per_core(500), gpus: 0 };
    sizes.push(size("local-half", "general", half, CORE_PRICE / 2));
    let mut cores = 1;
    while cores <= real_cores {
        let shape = Resources { cores: cores * 1_000, memory: per_core(cores * 1_000), gpus: 0 };
        sizes.push(size(&format!("local-{cores}"), "general", shape, CORE_PRICE * cores));
        cores *= 2;
    }
    for gpus in (0..4).map(|power| 1 << power).take_while(|gpus| *gpus <= capacity.gpus) {
        let cores = (real_cores * gpus / capacity.gpus.max(1)).max(1);
        let shape = Resources { cores: cores * 1_000, memory: per_core(cores * 1_000), gpus };
        sizes.push(size(&format!("local-gpu-{gpus}"), "gpu", shape, CORE_PRICE * cores + GPU_PRICE * gpus));
    }
    sizes.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(cores: u64, memory: u64, gpus: u64) -> Machine {
        Machine { cores, memory, gpus, is_root: false, no_view: None }
    }

    #[test]
    fn a_machine_is_shared_out_evenly() {
        let site = SiteName::parse("local").expect("a name");
        let capacity = machine(8, 33_792, 2).capacity(&Settings::default());
        assert_eq!(capacity, Resources { cores: 16_000, memory: 32_768, gpus: 2 });
        let sizes = sizes(&site, capacity, 8);
        let lines: Vec<String> = sizes.iter().map(|size| format!("{}: {}", size.name, size.shape)).collect();
        assert_eq!(
            lines,
            [
                "local-half: 0.5 cores, 1 GiB",
                "local-1: 1 core, 2 GiB",
                "local-2: 2 cores, 4 GiB",
                "local-4: 4 cores, 8 GiB",
                "local-8: 8 cores, 16 GiB",
                "local-gpu-1: 4 cores, 8 GiB, 1 GPU",
                "local-gpu-2: 8 cores, 16 GiB, 2 GPUs",
            ]
        );
        for size in &sizes {
            assert_eq!(size.check(), Ok(()));
            assert!(size.shape.fits(capacity));
        }
    }

    #[test]
    fn the_smallest_machine_has_sizes_too() {
        let site = SiteName::parse("local").expect("a name");
        let capacity = machine(1, 512, 0).capacity(&Settings { overcommit: 1.0, ..Settings::default() });
        assert_eq!(capacity, Resources { cores: 1_000, memory: 384, gpus: 0 });
        assert_eq!(sizes(&site, capacity, 1).len(), 2);
    }

    #[test]
    fn how_people_are_kept_apart_is_said_as_it_is() {
        let cases = [
            (false, true, Isolation::View, "not isolated from each other: the server does not run as root", [false; 3]),
            (true, true, Isolation::Off, "not isolated from each other: isolation is switched off", [false; 3]),
            (true, true, Isolation::View, "users of their own and a private view", [true, true, false]),
            (true, false, Isolation::View, "see each other’s processes: bubblewrap is ill.", [false, true, true]),
            (true, true, Isolation::Users, "see each other’s processes: a private view is", [false, true, true]),
        ];
        for (is_root, has_view, isolation, words, expected) in cases {
            let no_view = (!has_view).then(|| "bubblewrap is ill".to_owned());
            let machine = Machine { is_root, no_view, ..machine(1, 512, 0) };
            let (sentence, is_isolated) = machine.isolation(isolation);
            assert!(sentence.contains(words), "{sentence}");
            let found = [is_isolated, machine.has_own_users(isolation), machine.has_users_alone(isolation)];
            assert_eq!(found, expected, "{sentence}");
        }
    }

    #[test]
    fn memory_is_read_from_what_the_kernel_says() {
        assert_eq!(total_memory("MemTotal:       24576000 kB\nMemFree: 1 kB\n"), Some(24_000));
        assert_eq!(total_memory("nothing"), None);
    }
}
