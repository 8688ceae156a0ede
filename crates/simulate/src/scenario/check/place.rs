//! What is there: sites, sizes, clusters.

use atelier_domain::compute::cluster::{DEFAULT_IDLE, ScaleSettings};
use atelier_domain::compute::node::LAUNCH_LIMIT;
use atelier_domain::compute::resources::Resources;
use atelier_domain::compute::size::{ComputeName, Family, MAX_PRICE, Price, SiteName, Size, SizeName};
use atelier_domain::time::Span;

use super::super::draft::{ClusterDraft, HoursDraft, ScheduledMinDraft, SiteDraft, SizeDraft};
use super::super::hours::Hours;
use super::super::{DriverModel, SizeModel};
use super::{Check, find};
use crate::length;
use crate::setup::{Changes, ClusterSetup, QueueOrder, ScheduledMin, Setup, judge};

/// A site without an end: more than any number of nodes can use up.
const ENDLESS: Resources = Resources { cores: u64::MAX / 4, memory: u64::MAX / 4, gpus: u64::MAX / 4 };
/// Unless the scenario says otherwise: what a launch and a removal take.
const DEFAULT_LAUNCH: u64 = 30_000;
const DEFAULT_REMOVAL: u64 = 5_000;

impl Check {
    pub(super) fn sites(&mut self, drafts: &[SiteDraft]) -> (Vec<(SiteName, Resources)>, Vec<DriverModel>) {
        let (mut sites, mut drivers) = (Vec::new(), Vec::new());
        if drafts.is_empty() {
            self.complaints.add("site", "Nodes are made nowhere. Add a [[site]] with a name.");
        }
        for (number, draft) in drafts.iter().enumerate() {
            let path = format!("site[{number}]");
            let Some(name) = self.complaints.take_parsed(&format!("{path}.name"), SiteName::parse(&draft.name)) else {
                continue;
            };
            if sites.iter().any(|(known, _)| *known == name) {
                self.complaints
                    .add(format!("{path}.name"), format!("There are two sites “{name}”; give one another name."));
            }
            let cores = draft.cores.map_or(ENDLESS.cores, |cores| self.cores(&format!("{path}.cores"), cores));
            let memory = draft.memory_gib.map_or(ENDLESS.memory, |gib| self.memory(&format!("{path}.memory_gib"), gib));
            let gpus = draft.gpus.unwrap_or(ENDLESS.gpus).min(ENDLESS.gpus);
            sites.push((name, Resources { cores, memory, gpus }));
            let fields = DriverFields {
                launch: draft.launch.as_deref(),
                removal: draft.removal.as_deref(),
                failed: draft.failed_launches,
                lost: draft.lost_per_hour,
                preempted: draft.preempted_per_hour,
            };
            let launch = (DEFAULT_LAUNCH, DEFAULT_LAUNCH);
            let default = DriverModel { launch, removal: DEFAULT_REMOVAL, ..DriverModel::default() };
            drivers.push(self.driver(&path, &fields, default));
        }
        (sites, drivers)
    }

    fn driver(&mut self, path: &str, fields: &DriverFields<'_>, base: DriverModel) -> DriverModel {
        let mut model = base;
        let field = |name: &str| format!("{path}.{name}");
        if let Some(text) = fields.launch
            && let Some(launch) = self.complaints.take(&field("launch"), length::parse_range(text))
        {
            if Span::millis(launch.0) >= LAUNCH_LIMIT {
                let message = format!(
                    "A launch counts as failed after {LAUNCH_LIMIT}, so none of these would ever work; be quicker."
                );
                self.complaints.add(field("launch"), message);
            }
            model.launch = launch;
        }
        model.removal = self.length_or(&field("removal"), fields.removal, model.removal);
        if let Some(failed) = fields.failed {
            model.failed = self.complaints.number(&field("failed_launches"), failed, 0.0, 1.0, "A share");
        }
        if let Some(lost) = fields.lost {
            model.lost = self.complaints.number(&field("lost_per_hour"), lost, 0.0, 0.99, "A chance in an hour");
        }
        if let Some(preempted) = fields.preempted {
            let name = field("preempted_per_hour");
            model.preempted = self.complaints.number(&name, preempted, 0.0, 0.99, "A chance in an hour");
        }
        model
    }

    pub(super) fn sizes(
        &mut self,
        drafts: &[SizeDraft],
        sites: &[(SiteName, Resources)],
        drivers: &[DriverModel],
    ) -> Vec<SizeModel> {
        let site_names: Vec<String> = sites.iter().map(|(name, _)| name.to_string()).collect();
        let mut sizes: Vec<SizeModel> = Vec::new();
        for (number, draft) in drafts.iter().enumerate() {
            let path = format!("size[{number}]");
            let field = |name: &str| format!("{path}.{name}");
            let name = self.complaints.take_parsed(&field("name"), SizeName::parse(&draft.name));
            let family = self
                .complaints
                .take_parsed(&field("family"), Family::parse(draft.family.as_deref().unwrap_or("general")));
            let site = self.complaints.take(&field("site"), find(&site_names, &draft.site.to_lowercase(), "site"));
            let cores = self.cores(&field("cores"), draft.cores);
            let memory = self.memory(&field("memory_gib"), draft.memory_gib);
            let highest = MAX_PRICE.0 as f64 / 1e6;
            let price = self.complaints.number(&field("price"), draft.price, 0.0, highest, "A price");
            let (Some(name), Some(family), Some(site)) = (name, family, site) else { continue };
            let (Some((site, _)), Some(driver)) = (sites.get(site), drivers.get(site)) else { continue };
            if sizes.iter().any(|known| known.size.name == name) {
                self.complaints.add(field("name"), format!("There are two sizes “{name}”; give one another name."));
            }
            let shape = Resources { cores, memory, gpus: draft.gpus };
            let price = Price((price * 1e6).round() as u64);
            let size = Size { name, family, site: site.clone(), shape, price };
            if let Err(problem) = size.check() {
                self.complaints.add(field(&problem.field), problem.message);
            }
            let fields = DriverFields {
                launch: draft.launch.as_deref(),
                removal: draft.removal.as_deref(),
                failed: draft.failed_launches,
                lost: draft.lost_per_hour,
                preempted: draft.preempted_per_hour,
            };
            let driver = self.driver(&path, &fields, *driver);
            sizes.push(SizeModel { size, driver });
        }
        sizes
    }

    pub(super) fn clusters(&mut self, drafts: &[ClusterDraft], sizes: &[SizeModel]) -> Setup {
        let names: Vec<String> = sizes.iter().map(|model| model.size.name.to_string()).collect();
        let mut setup = Setup::default();
        for (number, draft) in drafts.iter().enumerate() {
            let path = format!("cluster[{number}]");
            let field = |name: &str| format!("{path}.{name}");
            let name = self.complaints.take_parsed(&field("name"), ComputeName::parse(&draft.name));
            let size = self.complaints.take(&field("size"), find(&names, &draft.size.to_lowercase(), "size"));
            let changes = self.changes(
                &path,
                &ChangeFields {
                    min: draft.min,
                    max: Some(draft.max),
                    idle: draft.idle.as_deref(),
                    order: draft.order.as_deref(),
                    backfill: draft.backfill,
                    warm: draft.warm,
                    scheduled_min: draft.scheduled_min.as_ref(),
                },
            );
            let (Some(name), Some(size)) = (name, size.and_then(|size| sizes.get(size))) else { continue };
            if setup.clusters.iter().any(|known| known.name == name) {
                self.complaints.add(field("name"), format!("There are two clusters “{name}”; give one another name."));
            }
            let cluster = ClusterSetup {
                name,
                size: size.size.name.clone(),
                scale: ScaleSettings {
                    min: draft.min.unwrap_or(0),
                    max: draft.max,
                    idle: changes.idle.unwrap_or(DEFAULT_IDLE),
                    warm: changes.warm.unwrap_or_default(),
                },
                scheduled_min: changes.scheduled_min,
                order: changes.order.unwrap_or_default(),
                backfill: changes.backfill.unwrap_or_default(),
            };
            for problem in judge(&cluster) {
                self.complaints.add(field(&problem.field), problem.message);
            }
            setup.clusters.push(cluster);
        }
        setup
    }

    pub(super) fn changes(&mut self, path: &str, fields: &ChangeFields<'_>) -> Changes {
        let field = |name: &str| format!("{path}.{name}");
        let idle = fields.idle.and_then(|idle| self.complaints.take(&field("idle"), length::parse(idle)));
        Changes {
            min: fields.min,
            max: fields.max,
            idle: idle.map(Span::millis),
            order: fields.order.and_then(|order| self.complaints.take(&field("order"), QueueOrder::parse(order))),
            backfill: fields.backfill,
            warm: fields.warm,
            scheduled_min: fields.scheduled_min.and_then(|least| self.scheduled_min(&field("scheduled_min"), least)),
        }
    }

    fn scheduled_min(&mut self, path: &str, draft: &ScheduledMinDraft) -> Option<ScheduledMin> {
        let ScheduledMinDraft { nodes, days, from, to, zone } = draft.clone();
        let hours = self.hours(path, &HoursDraft { days, from, to, zone })?;
        Some(ScheduledMin { nodes, hours })
    }

    pub(super) fn hours(&mut self, path: &str, draft: &HoursDraft) -> Option<Hours> {
        let zone = self.zone_of(&format!("{path}.zone"), draft.zone.as_deref())?;
        let read = Hours::read(draft.days.as_deref(), &draft.from, &draft.to, zone);
        read.map_err(|(field, message)| self.complaints.add(format!("{path}.{field}"), message)).ok()
    }
}

struct DriverFields<'draft> {
    launch: Option<&'draft str>,
    removal: Option<&'draft str>,
    failed: Option<f64>,
    lost: Option<f64>,
    preempted: Option<f64>,
}

pub(super) struct ChangeFields<'draft> {
    pub min: Option<u32>,
    pub max: Option<u32>,
    pub idle: Option<&'draft str>,
    pub order: Option<&'draft str>,
    pub backfill: Option<bool>,
    pub warm: Option<u32>,
    pub scheduled_min: Option<&'draft ScheduledMinDraft>,
}
