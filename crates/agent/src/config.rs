//! What a driver tells an agent before it starts. The type is the protocol's, since drivers write what agents
//! read.

pub use atelier_protocol::AgentConfig;
