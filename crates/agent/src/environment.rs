//! The environment of a job: where it is, what it may use, and how the parts of a job on several nodes find
//! each other.

use atelier_protocol::Start;

/// What programs are found in.
pub const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// What programs are found in, ours included where there is a folder of them.
pub fn path(tools: Option<&str>) -> String {
    tools.map_or_else(|| PATH.to_owned(), |tools| format!("{PATH}:{tools}"))
}

/// Where things are, as the job sees them.
#[derive(Clone, Debug)]
pub struct Places {
    pub home: String,
    /// The folder that everybody shares.
    pub shared: String,
    /// Where the person's jobs run.
    pub jobs: String,
    /// Variables for everything that runs there.
    pub variables: Vec<(String, String)>,
    /// Where the program `atelier` is; nothing where nobody's name is to be used.
    pub tools: Option<String>,
}

impl Places {
    /// The folder of a part of a job.
    pub fn folder(&self, start: &Start) -> String {
        format!("{}/{}.{}.{}", self.jobs, start.part.job.0, start.part.attempt, start.rank)
    }
}

/// The environment of a job with these GPUs, by their numbers on the machine and as the job counts those that
/// it can see. `identity` is what leads to its owner's token.
pub fn environment(
    start: &Start,
    places: &Places,
    gpus: &[u64],
    seen: &[u64],
    identity: Vec<(String, String)>,
) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = Vec::with_capacity(40 + start.task.environment.len());
    let mut set = |name: &str, value: String| all.push((name.to_owned(), value));
    let folder = places.folder(start);
    let cores = start.shape.cores.div_ceil(1_000).max(1).to_string();
    let (rank, count) = (start.rank.to_string(), start.peers.len().max(1).to_string());
    let job = start.part.job.0;

    set("PATH", path(places.tools.as_deref()));
    set("HOME", places.home.clone());
    set("USER", start.person.handle.clone());
    set("LOGNAME", start.person.handle.clone());
    set("LANG", "C.UTF-8".to_owned());
    set("TMPDIR", "/tmp".to_owned());
    set("OMP_NUM_THREADS", cores.clone());
    places.variables.iter().for_each(|(name, value)| set(name, value.clone()));
    if let Some(environment) = &start.environment {
        let path = format!("{}/bin:{PATH}", environment.path.display());
        set("PATH", path.clone());
        // Login shells forget the other one.
        set("ATELIER_PATH", path);
        set("VIRTUAL_ENV", environment.path.display().to_string());
    }
    // Also where there are none, since a job without a private view sees all cards of the machine.
    let list = |gpus: &[u64]| gpus.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    set("CUDA_DEVICE_ORDER", "PCI_BUS_ID".to_owned());
    set("CUDA_VISIBLE_DEVICES", list(seen));
    set("NVIDIA_VISIBLE_DEVICES", if gpus.is_empty() { "void".to_owned() } else { list(gpus) });

    // PyTorch and what has learnt from it; then the two ways in which MPI is started. One process on each
    // node.
    let first = start.peers.first().map_or_else(|| "127.0.0.1".to_owned(), |peer| peer.host.clone());
    set("RANK", rank.clone());
    set("NODE_RANK", rank.clone());
    set("GROUP_RANK", rank.clone());
    set("WORLD_SIZE", count.clone());
    set("LOCAL_RANK", "0".to_owned());
    set("LOCAL_WORLD_SIZE", "1".to_owned());
    set("MASTER_ADDR", first);
    set("MASTER_PORT", port(job, start.part.attempt).to_string());
    for (name, value) in [("RANK", &rank), ("SIZE", &count)] {
        set(&format!("OMPI_COMM_WORLD_{name}"), value.clone());
        set(&format!("PMI_{name}"), value.clone());
    }
    set("OMPI_COMM_WORLD_LOCAL_RANK", "0".to_owned());
    set("OMPI_COMM_WORLD_LOCAL_SIZE", "1".to_owned());
    if let Some((_, index, of)) = start.array {
        set("SLURM_ARRAY_TASK_ID", index.to_string());
        set("SLURM_ARRAY_TASK_COUNT", of.to_string());
    }

    for (name, value) in &start.task.environment {
        if !name.starts_with("ATELIER_") {
            set(name, value.clone());
        }
    }

    identity.into_iter().for_each(|(name, value)| set(&name, value));
    set("ATELIER_JOB", format!("job-{job}"));
    if let Some(environment) = &start.environment {
        set("ATELIER_ENVIRONMENT", environment.name.clone());
    }
    set("ATELIER_ATTEMPT", start.part.attempt.to_string());
    set("ATELIER_NODE", format!("node-{}", start.part.node.0));
    set("ATELIER_PART", format!("{job}.{}.{}", start.part.attempt, start.part.node.0));
    set("ATELIER_OUTPUT_DIR", format!("{folder}/{}", "outputs"));
    set("ATELIER_EVICTION_FILE", format!("{folder}/{}", crate::launcher::EVICTION));
    set("ATELIER_SHARED_DIR", places.shared.clone());
    set("ATELIER_CORES", cores);
    set("ATELIER_MEMORY_MIB", start.shape.memory.to_string());
    set("ATELIER_NODE_RANK", rank);
    set("ATELIER_NODE_COUNT", count);
    let hosts: Vec<&str> = start.peers.iter().map(|peer| peer.host.as_str()).collect();
    set("ATELIER_NODE_HOSTS", hosts.join(","));
    if let Some((array, index, of)) = start.array {
        set("ATELIER_ARRAY_JOB", format!("job-{}", array.0));
        set("ATELIER_ARRAY_INDEX", index.to_string());
        set("ATELIER_ARRAY_COUNT", of.to_string());
    }
    all
}

/// A port that the parts of one attempt agree on without asking, and others hardly ever use.
const fn port(job: u64, attempt: u32) -> u64 {
    20_000 + job.wrapping_mul(31).wrapping_add(attempt as u64) % 20_000
}
