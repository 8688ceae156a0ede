//! GPUs, by NVIDIA's own library, where there is one.

use atelier_protocol::Gpu;
use nvml_wrapper::Nvml;

/// The node's GPUs. A node without any, or a machine without the library, has an empty list and no error.
pub struct Gpus {
    library: Option<Nvml>,
    /// Their numbers on the machine.
    own: Vec<u32>,
}

impl std::fmt::Debug for Gpus {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let has_library = self.library.is_some();
        out.debug_struct("Gpus").field("has_library", &has_library).field("own", &self.own).finish()
    }
}

impl Gpus {
    /// Those with these numbers on the machine; the others are none of the node's business.
    pub fn find(own: &[u64]) -> Self {
        let own: Vec<u32> = own.iter().filter_map(|gpu| u32::try_from(*gpu).ok()).collect();
        Self { library: if own.is_empty() { None } else { Nvml::init().ok() }, own }
    }

    /// What they are called.
    pub fn names(&self) -> Vec<String> {
        let Some(library) = &self.library else { return Vec::new() };
        self.own.iter().filter_map(|index| library.device_by_index(*index).ok()?.name().ok()).collect()
    }

    /// What they do right now.
    pub fn sample(&self) -> Vec<Gpu> {
        let Some(library) = &self.library else { return Vec::new() };
        let one = |index: &u32| {
            let device = library.device_by_index(*index).ok()?;
            let memory = device.memory_info().ok()?;
            // Percentages below 2^24 are exact.
            #[expect(clippy::cast_precision_loss, reason = "a percentage")]
            let busy = device.utilization_rates().map_or(0.0, |rates| rates.gpu as f32);
            Some(Gpu { busy, memory: memory.used >> 20, total: memory.total >> 20 })
        };
        self.own.iter().filter_map(one).collect()
    }
}
