//! Hands: whoever carries out what the engine wants done.

use std::collections::BTreeMap;
use std::sync::Arc;

use atelier_domain::compute::size::SiteName;
use atelier_domain::world::Effect;

/// Carries out effects. Told only of what is durable, at least once, maybe again after a restart; every effect has ids
/// that fence what is old. Must not wait: whatever takes time is done elsewhere and reported when it is done.
pub trait Hands: Send + Sync + 'static {
    /// Does these things, in this order where they concern the same node.
    fn act(&self, effects: Vec<Effect>);
}

impl<T: Hands> Hands for Arc<T> {
    fn act(&self, effects: Vec<Effect>) {
        (**self).act(effects);
    }
}

/// The drivers of the product by the site they make nodes on. There are none yet, so there is no site, no size and nothing
/// to do.
#[derive(Default)]
pub struct Drivers {
    by_site: BTreeMap<SiteName, Arc<dyn Hands>>,
}

impl Drivers {
    /// Adds the driver of a site.
    #[must_use]
    pub fn with(mut self, site: SiteName, driver: impl Hands) -> Self {
        self.by_site.insert(site, Arc::new(driver));
        self
    }
}

impl std::fmt::Debug for Drivers {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_list().entries(self.by_site.keys()).finish()
    }
}

impl Hands for Drivers {
    fn act(&self, effects: Vec<Effect>) {
        let mut shares: BTreeMap<&SiteName, Vec<Effect>> = BTreeMap::new();
        for effect in effects {
            let site = match &effect {
                Effect::Launch { site, .. }
                | Effect::Terminate { site, .. }
                | Effect::TerminateUnknown { site, .. } => self.by_site.get_key_value(site).map(|(site, _)| site),
                // For agents, of which there are none without a driver.
                _ => None,
            };
            match site {
                Some(site) => shares.entry(site).or_default().push(effect),
                None => {
                    metrics::counter!("atelier_engine_effects_without_driver_total").increment(1);
                    tracing::warn!(?effect, "nobody is there to do this; it is told again after the next start");
                }
            }
        }
        for (site, share) in shares {
            if let Some(driver) = self.by_site.get(site) {
                driver.act(share);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, PoisonError};

    use atelier_domain::compute::NodeId;

    use super::*;

    #[derive(Default)]
    struct Noted(Mutex<Vec<Effect>>);

    impl Hands for Noted {
        fn act(&self, effects: Vec<Effect>) {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(effects);
        }
    }

    #[test]
    fn each_driver_is_told_what_concerns_its_site_in_order() {
        let site = |name| SiteName::parse(name).expect("a name");
        let terminate = |node, name| Effect::Terminate { node: NodeId(node), site: site(name) };
        let (here, there) = (Arc::new(Noted::default()), Arc::new(Noted::default()));
        let drivers = Drivers::default().with(site("here"), Arc::clone(&here)).with(site("there"), Arc::clone(&there));
        drivers.act(vec![terminate(1, "here"), terminate(2, "there"), terminate(3, "nowhere"), terminate(4, "here")]);
        assert_eq!(*here.0.lock().expect("no panic"), [terminate(1, "here"), terminate(4, "here")]);
        assert_eq!(*there.0.lock().expect("no panic"), [terminate(2, "there")]);
    }
}
