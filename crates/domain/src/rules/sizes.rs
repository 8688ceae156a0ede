//! The catalogue of sizes, and limits.

use crate::compute::quota::{LimitKey, Resource, Scope, UseKey};
use crate::compute::resources::Resources;
use crate::compute::size::{Size, SizeName};
use crate::id::WorkspaceId;
use crate::reason::Reason;
use crate::world::{Answer, Key, PoolKey, World};

/// More sizes than this nobody finds his way in.
const MAX_SIZES: usize = 1_000;

impl World {
    pub(super) fn known_size(&self, name: &SizeName) -> Result<&Size, Reason> {
        self.sizes.get(name).ok_or_else(|| Reason::UnknownSize {
            size: name.to_string(),
            known: self.sizes.keys().take(20).map(ToString::to_string).collect(),
        })
    }

    /// The sizes on which such a job would fit, the cheapest first.
    pub(super) fn sizes_for(&self, shape: Resources) -> Vec<String> {
        let mut fitting: Vec<&Size> = self.sizes.values().filter(|size| shape.fits(size.shape)).collect();
        fitting.sort_by_key(|size| (size.price, size.shape, size.name.clone()));
        fitting.into_iter().take(5).map(|size| size.name.to_string()).collect()
    }

    pub(super) fn put_size(&mut self, workspace: &WorkspaceId, size: &Size) -> Result<Answer, Reason> {
        size.check().map_err(Reason::invalid)?;
        if !self.sites.contains_key(&size.site) {
            let known = self.sites.keys().map(ToString::to_string).collect();
            return Err(Reason::UnknownSite { site: size.site.to_string(), known });
        }
        if let Some(before) = self.sizes.get(&size.name) {
            let is_other = (before.shape, &before.family, &before.site) != (size.shape, &size.family, &size.site);
            let by = self.users_of(workspace, &size.name);
            if is_other && !by.is_empty() {
                return Err(Reason::InUse { what: format!("The size {}", size.name), by });
            }
        } else if self.sizes.len() >= MAX_SIZES {
            let message = format!("There are at most {MAX_SIZES} sizes.");
            return Err(Reason::invalid(crate::text::Problem::new("size", message)));
        }
        self.sizes.insert(size.name.clone(), size.clone());
        self.changed(Key::Size(size.name.clone()));
        Ok(Answer::Done)
    }

    pub(super) fn remove_size(&mut self, workspace: &WorkspaceId, name: &SizeName) -> Result<Answer, Reason> {
        self.known_size(name)?;
        let by = self.users_of(workspace, name);
        if !by.is_empty() {
            return Err(Reason::InUse { what: format!("The size {name}"), by });
        }
        self.sizes.remove(name);
        self.gone(Key::Size(name.clone()));
        Ok(Answer::Done)
    }

    /// What is made of a size: by name in that workspace, by number elsewhere.
    fn users_of(&self, workspace: &WorkspaceId, name: &SizeName) -> Vec<String> {
        let instances = self.instances.values().filter(|one| one.size == *name).map(|one| (&one.workspace, &one.name));
        let clusters = self.clusters.values().filter(|one| one.size == *name).map(|one| (&one.workspace, &one.name));
        let (own, others): (Vec<_>, Vec<_>) = instances.chain(clusters).partition(|(of, _)| *of == workspace);
        let jobs = self
            .pools
            .iter()
            .any(|(key, pool)| matches!(key, PoolKey::Serverless(_, size, _) if size == name) && pool.all_jobs() > 0);
        let mut by: Vec<String> = own.iter().take(5).map(|(_, name)| name.to_string()).collect();
        if own.len() > 5 {
            by.push(format!("{} more", own.len() - 5));
        }
        if !others.is_empty() {
            by.push(format!("{} in other workspaces", others.len()));
        }
        by.extend(jobs.then(|| "serverless jobs".to_owned()));
        by
    }

    pub(super) fn set_limit(
        &mut self,
        workspace: &WorkspaceId,
        scope: &Scope,
        resource: &Resource,
        limit: Option<u64>,
    ) -> Result<Answer, Reason> {
        let key = LimitKey { workspace: workspace.clone(), scope: scope.clone(), resource: resource.clone() };
        if resource.is_running() && *scope == Scope::Workspace {
            let message = "Limits of what runs are for everybody, or for one person; not for the workspace.";
            return Err(Reason::invalid(crate::text::Problem::new("scope", message)));
        }
        if let Some(limit) = limit {
            let holders: Vec<UseKey> = match scope {
                Scope::Workspace => {
                    vec![UseKey { workspace: workspace.clone(), person: None, resource: resource.clone() }]
                }
                Scope::Person(person) => {
                    vec![UseKey {
                        workspace: workspace.clone(),
                        person: Some(person.clone()),
                        resource: resource.clone(),
                    }]
                }
                // Everybody who has no limit of their own.
                Scope::Everybody if resource.is_running() => self
                    .people(workspace)
                    .map(|(person, _)| person)
                    .filter(|person| {
                        let scope = Scope::Person((*person).clone());
                        !self.limits.contains_key(&LimitKey { scope, ..key.clone() })
                    })
                    .map(|person| UseKey {
                        workspace: workspace.clone(),
                        person: Some(person.clone()),
                        resource: resource.clone(),
                    })
                    .collect(),
                Scope::Everybody => self
                    .usage
                    .keys()
                    .filter(|used| used.workspace == *workspace && used.resource == *resource)
                    .filter(|used| {
                        used.person.as_ref().is_some_and(|person| {
                            let scope = Scope::Person(person.clone());
                            !self.limits.contains_key(&LimitKey { scope, ..key.clone() })
                        })
                    })
                    .cloned()
                    .collect(),
            };
            if let Some(used) = holders.iter().find(|used| self.used(used) > limit) {
                let shortage = self.name_shortage(used, limit, self.used(used), limit);
                return Err(Reason::LimitBelowUse { shortage });
            }
            self.limits.insert(key.clone(), limit);
            self.changed(Key::Limit(key));
        } else if self.limits.remove(&key).is_some() {
            self.gone(Key::Limit(key));
        } else {
            return Ok(Answer::Already);
        }
        self.wake_starved();
        self.unpark_everybody();
        Ok(Answer::Done)
    }
}
