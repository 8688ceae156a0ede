//! The pages.

pub mod profile;
pub mod profile_ssh;
pub mod profile_tokens;
pub mod sign_in;
