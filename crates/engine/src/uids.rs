//! Which numbers of users this machine gives to others than people of Atelier.

use std::path::Path;

use atelier_domain::uids::{Taken, Uids, collisions, in_accounts, in_login_defs, in_sssd, in_subordinates};

use crate::store::{self, Store};

/// All that the files below `/etc` of a machine say.
fn taken(etc: &Path) -> Vec<Taken> {
    let read = |file: &str| std::fs::read(etc.join(file)).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let mut all = Vec::new();
    for file in ["subuid", "subgid"] {
        all.extend(read(file).map(|text| in_subordinates(&text, &format!("/etc/{file}"))).unwrap_or_default());
    }
    for file in ["passwd", "group"] {
        all.extend(read(file).map(|text| in_accounts(&text, &format!("/etc/{file}"))).unwrap_or_default());
    }
    all.extend(read("login.defs").map(|text| in_login_defs(&text)).unwrap_or_default());
    all.extend(read("sssd/sssd.conf").map(|text| in_sssd(&text)).unwrap_or_default());
    all
}

/// Settles where the numbers of people begin: where `wanted` says, else where they began before, else at the
/// default. What overlaps with numbers of others is refused while nobody has one of them, and returned as
/// warnings once somebody has.
///
/// # Errors
/// Why the server must not start, in words.
pub async fn settle(store: &Store, wanted: Option<u32>, etc: &Path) -> Result<Vec<String>, String> {
    let given = store.local_uids().await.map_err(|error: store::Error| error.to_string())?;
    let first = wanted.or_else(|| given.iter().min().copied());
    let uids = first.map_or_else(Uids::default, Uids::from);
    let found = collisions(uids, &taken(etc));
    store.number_people(uids);
    if found.is_empty() || given.iter().any(|uid| uids.is_persons(*uid)) {
        return Ok(found);
    }
    let said = found.join(" ");
    Err(format!("{said} Set first_uid to a number from which {} are free.", uids.whole().count()))
}
