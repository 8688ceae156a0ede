//! Numbered ids. The core counts them up itself, so that a replay gives the same ones and people can say
//! them.

use serde::{Deserialize, Serialize};

macro_rules! numbered_id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub u64);

        impl $name {
            /// Reads what [`std::fmt::Display`] writes; nothing else is an id.
            pub fn parse(text: &str) -> Option<Self> {
                let digits = text.strip_prefix(concat!($prefix, "-"))?;
                let is_plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
                let is_canonical = digits.len() == 1 || !digits.starts_with('0');
                (is_plain && is_canonical).then(|| digits.parse().ok().map(Self)).flatten()
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(out, concat!($prefix, "-{}"), self.0)
            }
        }
    };
}

numbered_id!(InstanceId, "instance");
numbered_id!(
    /// An autoscaling pool of nodes.
    ClusterId,
    "cluster"
);
numbered_id!(
    /// One machine, process or pod on which an agent runs. Never used twice: a node that is launched again is
    /// another node, so its id fences off everything that its predecessor still says.
    NodeId,
    "node"
);
numbered_id!(JobId, "job");
numbered_id!(
    /// A timetable with what it does.
    ScheduleId,
    "schedule"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_read_what_they_write_and_nothing_else() {
        assert_eq!(JobId::parse("job-41"), Some(JobId(41)));
        assert_eq!(JobId::parse(&JobId(u64::MAX).to_string()), Some(JobId(u64::MAX)));
        for text in ["", "41", "job-", "job-041", "job-+1", "node-41", "job-18446744073709551616", "job-4 1"] {
            assert_eq!(JobId::parse(text), None, "{text}");
        }
    }
}
