//! What fuzzers and the tests that replay their findings reach of this crate.

/// What a launcher or a worker says, in a message.
pub fn wire(bytes: &[u8]) {
    let _ = serde_json::from_slice::<crate::wire::Said>(bytes);
    let _ = serde_json::from_slice::<crate::wire::Order>(bytes);
}

/// A question of an SFTP client, read and not answered.
pub fn sftp(bytes: &[u8]) {
    crate::launcher::read_sftp(bytes);
}
