//! What somebody may do to a thing now: a verdict for each verb of its noun, by the table of rights and the
//! table of verbs.

use atelier_domain::access::{Denied, Rights, Whose};
use atelier_domain::compute::job::JobState;
use atelier_domain::compute::node::{Holder, NodeState};
use atelier_domain::compute::verb::{ClusterState, ClusterVerb, JobVerb, NodeVerb, Verb};

/// Why a verb can't be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hindrance {
    Right(Denied),
    State(&'static str),
}

/// The verbs of a noun, each with why it can't be used; none if it can. The right counts first, then the
/// state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer<V>(Vec<(V, Option<Hindrance>)>);

impl<V: Copy + PartialEq> Offer<V> {
    fn judge(
        verbs: &[V],
        rights: &Rights,
        row: impl Fn(V) -> (Verb, Whose),
        why_not: impl Fn(V) -> Option<&'static str>,
    ) -> Self {
        let judged = |verb: &V| {
            let (row, whose) = row(*verb);
            let denied = rights.check(row.right(), whose).err().map(Hindrance::Right);
            (*verb, denied.or_else(|| why_not(*verb).map(Hindrance::State)))
        };
        Self(verbs.iter().map(judged).collect())
    }

    /// Why a verb can't be used; none if it can.
    pub fn hindrance(&self, verb: V) -> Option<&Hindrance> {
        self.0.iter().find(|(known, _)| *known == verb).and_then(|(_, hindrance)| hindrance.as_ref())
    }

    /// The right that is missing for a verb, whatever the state.
    pub fn denied(&self, verb: V) -> Option<&Denied> {
        match self.hindrance(verb)? {
            Hindrance::Right(denied) => Some(denied),
            Hindrance::State(_) => None,
        }
    }

    /// The verbs that can be used now.
    pub fn allowed(&self) -> impl Iterator<Item = V> + '_ {
        self.0.iter().filter(|(_, hindrance)| hindrance.is_none()).map(|(verb, _)| *verb)
    }
}

impl Offer<ClusterVerb> {
    pub fn of_cluster(rights: &Rights, state: ClusterState) -> Self {
        let row = |verb: ClusterVerb| (verb.verb(), verb.whose());
        Self::judge(&ClusterVerb::ALL, rights, row, |verb| verb.why_not(state))
    }
}

impl Offer<NodeVerb> {
    pub fn of_node(rights: &Rights, holder: Holder, state: NodeState) -> Self {
        let row = |verb: NodeVerb| (verb.verb(), Whose::Others);
        Self::judge(&NodeVerb::ALL, rights, row, |verb| verb.why_not(holder, state))
    }
}

impl Offer<JobVerb> {
    pub fn of_job(rights: &Rights, whose: Whose, state: JobState, is_held: bool) -> Self {
        let row = |verb: JobVerb| (verb.verb(), whose);
        Self::judge(&JobVerb::ALL, rights, row, |verb| verb.why_not(state, is_held))
    }
}

#[cfg(test)]
mod tests {
    use atelier_domain::access::Role;

    use super::*;

    #[test]
    fn the_right_counts_before_the_state() {
        let reader = Offer::of_cluster(&Rights::of(&[Role::Reader]), ClusterState::Paused);
        assert_eq!(reader.allowed().count(), 0);
        assert!(ClusterVerb::ALL.into_iter().all(|verb| reader.denied(verb).is_some()));
        let owner = Offer::of_cluster(&Rights::of(&[Role::Owner]), ClusterState::Paused);
        let paused = Hindrance::State("It's already paused.");
        assert_eq!(owner.hindrance(ClusterVerb::Pause), Some(&paused));
        assert_eq!(owner.denied(ClusterVerb::Pause), None);
        let allowed: Vec<_> = owner.allowed().collect();
        assert_eq!(allowed, [ClusterVerb::Scale, ClusterVerb::Resume, ClusterVerb::Submit, ClusterVerb::Delete]);
    }

    #[test]
    fn ones_own_jobs_can_be_canceled_and_others_cannot() {
        let rights = Rights::of(&[Role::DataScientist]);
        let offer = |whose| Offer::of_job(&rights, whose, JobState::Running, false);
        assert!(offer(Whose::Own).allowed().any(|verb| verb == JobVerb::Cancel));
        assert!(offer(Whose::Others).denied(JobVerb::Cancel).is_some());
    }
}
