//! Fair shares: who is meant to have how much, and how queues are served.

use crate::compute::ClusterId;
use crate::compute::fair_share::{FairShare, FairShareRules, QueuePolicy, check_half_life, check_weight};
use crate::compute::verb::ClusterVerb;
use crate::id::UserId;
use crate::reason::Reason;
use crate::time::Span;
use crate::world::{Answer, Command, PoolKey, World};

impl World {
    pub(super) fn set_fair_share(&mut self, command: &Command, person: &UserId, weight: i64) -> Result<Answer, Reason> {
        let weight = check_weight(weight).map_err(Reason::invalid)?;
        let before = self.person(&command.workspace, person).and_then(|person| person.fair_share).unwrap_or_default();
        if before.weight == weight {
            return Ok(Answer::Already);
        }
        self.put_fair_share(&command.workspace, person, FairShare { weight, ..before });
        Ok(Answer::Done)
    }

    pub(super) fn set_half_life(&mut self, command: &Command, half_life: Span) -> Result<Answer, Reason> {
        let half_life = check_half_life(half_life).map_err(Reason::invalid)?;
        let rules = self.fair_share_rules(&command.workspace);
        if rules.half_life == half_life {
            return Ok(Answer::Already);
        }
        self.rebase_fair_shares(&command.workspace);
        self.put_fair_share_rules(
            &command.workspace,
            FairShareRules { half_life, ..self.fair_share_rules(&command.workspace) },
        );
        Ok(Answer::Done)
    }

    pub(super) fn set_queue_policy(
        &mut self,
        command: &Command,
        cluster: Option<ClusterId>,
        policy: QueuePolicy,
    ) -> Result<Answer, Reason> {
        let workspace = &command.workspace;
        if let Some(id) = cluster {
            let before = self.cluster_for(id, workspace, ClusterVerb::Scale)?.queue;
            if before == policy {
                return Ok(Answer::Already);
            }
            self.edit_cluster(id, |cluster| cluster.queue = policy);
            self.reorder_pool(&PoolKey::Cluster(id), workspace);
            return Ok(Answer::Done);
        }
        let rules = self.fair_share_rules(workspace);
        if rules.serverless == policy {
            return Ok(Answer::Already);
        }
        self.put_fair_share_rules(workspace, FairShareRules { serverless: policy, ..rules });
        let queues = self.pools.keys().filter(|key| matches!(key, PoolKey::Serverless(of, ..) if of == workspace));
        for key in queues.cloned().collect::<Vec<_>>() {
            self.reorder_pool(&key, workspace);
        }
        Ok(Answer::Done)
    }
}
