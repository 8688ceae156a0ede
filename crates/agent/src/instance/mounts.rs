//! What a sandbox of an instance sees.

use std::path::{Path, PathBuf};

use atelier_protocol::{Person, SetUp};

use super::folders::{Folders, KERNELS};
use crate::config::AgentConfig;
use crate::environment::PATH;
use crate::facts::Isolation;
use crate::identity::{self, Place};
use crate::network;

/// Where the sockets of applications are in a private view.
const APPS: &str = "/run/atelier/apps";
/// What every private view has, so that a Python in there needs no bind.
const SYSTEM: [&str; 8] = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt"];

/// A folder of the machine that a private view has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bind {
    /// Where it is on the machine.
    pub from: PathBuf,
    /// Where it is in the view.
    pub to: PathBuf,
    /// Whether it can be changed there.
    pub is_writable: bool,
}

/// What makes a person's sandbox on this node that of their instance: what is mounted in it, and what it is
/// called.
#[derive(Clone, Debug)]
pub struct Mounts {
    pub person: Person,
    /// The home, on the machine.
    pub home: PathBuf,
    /// Where jobs run, if not where the person's other jobs do.
    pub jobs: Option<PathBuf>,
    /// What the machine is called in a private view.
    pub host: String,
    /// What a private view has beside that.
    pub binds: Vec<Bind>,
    /// Variables for everything that runs there, jobs too.
    pub variables: Vec<(String, String)>,
    /// Whether a private view has a network of its own, with nothing but loopback.
    pub has_own_network: bool,
    /// Whether it has the files of the workspace.
    pub has_files: bool,
}

/// Where things are, as programs see them.
#[derive(Clone, Debug)]
pub struct Inside {
    pub home: String,
    pub layer: PathBuf,
    /// The sockets of applications.
    pub run: PathBuf,
    pub environment: Vec<(String, String)>,
}

/// What mounts are derived from.
pub struct Plan<'a> {
    pub set_up: &'a SetUp,
    pub config: &'a AgentConfig,
    pub isolation: &'a Isolation,
    pub folders: &'a Folders,
}

impl Plan<'_> {
    const fn has_view(&self) -> bool {
        matches!(self.isolation, Isolation::View(_))
    }

    /// With the person's home.
    pub fn own(&self) -> (Mounts, Inside) {
        self.mounts(&self.set_up.person, &self.folders.home, None, &self.folders.layer, false)
    }

    /// With empty folders in place of everything that is the person's, as another user.
    pub fn scratch(&self, user: Option<u32>) -> (Mounts, Inside) {
        let scratch = &self.folders.scratch;
        let person = Person { uid: user, ..self.set_up.person.clone() };
        self.mounts(&person, &scratch.join("home"), Some(scratch.join("jobs")), &scratch.join("layer"), true)
    }

    fn mounts(
        &self,
        person: &Person,
        home: &Path,
        jobs: Option<PathBuf>,
        layer: &Path,
        is_scratch: bool,
    ) -> (Mounts, Inside) {
        let (set_up, has_view) = (self.set_up, self.has_view());
        // Python environments cannot be moved: a layer is where it is, in a view too.
        let layer_inside = if has_view { self.folders.layer.clone() } else { layer.to_owned() };
        let mut binds = vec![Bind { from: layer.to_owned(), to: layer_inside.clone(), is_writable: true }];
        if let Some(base) = &set_up.base {
            let read_only = |path: PathBuf| Bind { from: path.clone(), to: path, is_writable: false };
            binds.push(read_only(base.clone()));
            binds.extend(python_of(&base.join("bin/python3")).map(read_only));
        }
        if let Some(kernels) = set_up.kernels.as_ref().filter(|kernels| kernels.is_dir()) {
            binds.push(Bind { from: kernels.clone(), to: kernels.clone(), is_writable: false });
        }
        binds.extend(set_up.programs.iter().map(|path| Bind {
            from: path.clone(),
            to: path.clone(),
            is_writable: false,
        }));
        if !is_scratch {
            binds.push(Bind { from: self.folders.run.clone(), to: PathBuf::from(APPS), is_writable: true });
        }
        let run = if has_view { PathBuf::from(APPS) } else { self.folders.run.clone() };
        let home_inside = if has_view { format!("/home/{}", set_up.person.handle) } else { home.display().to_string() };
        let variables = self.variables(&layer_inside, &run, is_scratch);
        let inside = Inside {
            environment: self.environment(&home_inside, &variables, is_scratch),
            home: home_inside,
            layer: layer_inside,
            run,
        };
        let person = person.clone();
        let (home, host) = (home.to_owned(), host(&set_up.name));
        let has_files = !is_scratch;
        let mounts = Mounts { person, home, jobs, host, binds, variables, has_own_network: false, has_files };
        (mounts, inside)
    }

    /// What makes programs find the layer and its base, and know where they are.
    fn variables(&self, layer: &Path, run: &Path, is_scratch: bool) -> Vec<(String, String)> {
        let set_up = self.set_up;
        let mut path = format!("{}/bin", layer.display());
        if let Some(base) = &set_up.base {
            path = format!("{path}:{}/bin", base.display());
        }
        let place = Place::of(self.config, self.isolation, &set_up.person.id);
        let path = if is_scratch { format!("{path}:{PATH}") } else { format!("{path}:{PATH}:{}", place.tools()) };
        let mut all = vec![
            ("PATH".to_owned(), path.clone()),
            // Login shells forget the other one.
            ("ATELIER_PATH".to_owned(), path),
            ("VIRTUAL_ENV".to_owned(), layer.display().to_string()),
            ("CI_NAME".to_owned(), set_up.name.clone()),
            ("CI_WORKSPACE".to_owned(), set_up.workspace.clone()),
            ("CI_LOCAL_UBUNTU_USER".to_owned(), set_up.person.handle.clone()),
            ("ATELIER_INSTANCE".to_owned(), set_up.name.clone()),
            ("ATELIER_WORKSPACE".to_owned(), set_up.workspace.clone()),
        ];
        if !is_scratch {
            // Connection files and sockets of kernels.
            all.push(("JUPYTER_RUNTIME_DIR".to_owned(), run.join(KERNELS).display().to_string()));
        }
        if let Some(base) = &set_up.base {
            // What the base has beside packages: kernels, settings, the pages of JupyterLab.
            for (name, below) in [
                ("JUPYTER_PATH", "share/jupyter"),
                ("JUPYTER_CONFIG_PATH", "etc/jupyter"),
                ("JUPYTERLAB_DIR", "share/jupyter/lab"),
            ] {
                let mut value = base.join(below).display().to_string();
                if let (Some(kernels), "JUPYTER_PATH") = (&set_up.kernels, name) {
                    value = format!("{value}:{}", kernels.display());
                }
                if !is_scratch && name == "JUPYTER_CONFIG_PATH" {
                    value = format!("{}:{value}", place.jupyter());
                }
                all.push((name.to_owned(), value));
            }
        }
        all.extend(network::variables(self.config));
        // What opens doors is not for scripts that the person has not accepted.
        let is_secret = |name: &str| {
            let name = name.to_ascii_uppercase();
            ["TOKEN", "SECRET", "PASSWORD", "KEY", "CREDENTIAL"].iter().any(|word| name.contains(word))
        };
        all.extend(set_up.environment.iter().filter(|(name, _)| !is_scratch || !is_secret(name)).cloned());
        if let Some((_, url)) =
            set_up.environment.iter().find(|(name, _)| name == "ATELIER_URL").filter(|_| !is_scratch)
        {
            let url = network::url(self.config).unwrap_or_else(|| url.clone());
            all.extend(identity::variables(&url, &place));
        }
        all
    }

    /// The whole environment of what runs in the instance.
    fn environment(&self, home: &str, variables: &[(String, String)], is_scratch: bool) -> Vec<(String, String)> {
        let mut all: Vec<(String, String)> = Vec::new();
        let mut set = |name: &str, value: String| all.push((name.to_owned(), value));
        let handle = &self.set_up.person.handle;
        let cores = self.config.shape.cores.div_ceil(1_000).max(1).to_string();
        set("HOME", home.to_owned());
        set("USER", handle.clone());
        set("LOGNAME", handle.clone());
        set("LANG", "C.UTF-8".to_owned());
        set("TMPDIR", "/tmp".to_owned());
        let shell = if Path::new("/bin/bash").exists() { "/bin/bash" } else { "/bin/sh" };
        set("SHELL", shell.to_owned());
        set("OMP_NUM_THREADS", cores.clone());
        let gpus = &self.config.gpus;
        let list = |gpus: Vec<u64>| gpus.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        let seen = if self.has_view() { (0..gpus.len() as u64).collect() } else { gpus.clone() };
        set("CUDA_DEVICE_ORDER", "PCI_BUS_ID".to_owned());
        set("CUDA_VISIBLE_DEVICES", list(seen));
        set("NVIDIA_VISIBLE_DEVICES", if gpus.is_empty() { "void".to_owned() } else { list(gpus.clone()) });
        let shared = if self.has_view() { "/shared".to_owned() } else { self.config.shared.display().to_string() };
        if !is_scratch {
            set("ATELIER_SHARED_DIR", shared);
        }
        set("ATELIER_CORES", cores);
        set("ATELIER_MEMORY_MIB", self.config.shape.memory.to_string());
        all.extend(variables.iter().cloned());
        all
    }
}

/// The folder of the Python that environments stand on, if a private view does not have it anyway.
pub fn python_of(program: &Path) -> Option<PathBuf> {
    let program = std::fs::canonicalize(program).ok()?;
    let folder = program.parent()?.parent()?;
    (!SYSTEM.iter().any(|system| folder.starts_with(system)) && folder.parent().is_some()).then(|| folder.to_owned())
}

/// A name that a machine can have.
fn host(name: &str) -> String {
    let safe: String = name.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(63).collect();
    if safe.is_empty() { "instance".to_owned() } else { safe }
}
