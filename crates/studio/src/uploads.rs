//! Files that were sent, and who may name them in a job or a script.
//!
//! Files are found by the hash of their content, and whoever names a hash gets the content. So a hash opens
//! nothing by itself: it counts for who has sent that content, and for who owns a job or an instance with it.
//! For everybody else there is no such file.

use std::collections::HashSet;

use atelier_domain::error::AppError;
use atelier_engine::clock;

use crate::caller::Caller;
use crate::orders::ask;

/// Notes that the caller has sent files of these hashes.
pub async fn note(caller: &Caller, hashes: &[String]) -> Result<(), AppError> {
    let me = &caller.actor()?.person.id;
    caller.checked(caller.store().note_uploads(me, hashes, clock::now()).await)
}

/// Which of these the caller may name.
pub async fn nameable(caller: &Caller, hashes: &[String]) -> Result<HashSet<String>, AppError> {
    let me = caller.actor()?.person.id.clone();
    let mut known = caller.checked(caller.store().uploads_of(&me, hashes).await)?;
    let others: HashSet<String> = hashes.iter().filter(|hash| !known.contains(*hash)).cloned().collect();
    if !others.is_empty() {
        // Scripts of an own instance: whoever has set them, its owner reads them.
        let own = ask(caller, move |world| {
            let own = world.instances().filter(|instance| instance.owner == me);
            let scripts = own.flat_map(|one| one.scripts.creation.iter().chain(&one.scripts.startup));
            scripts.map(|script| script.blob.clone()).filter(|blob| others.contains(blob)).collect::<Vec<_>>()
        });
        known.extend(own.await?);
    }
    Ok(known)
}
