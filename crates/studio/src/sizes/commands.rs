//! The catalogue of sizes.

use atelier_domain::access::Action;
use atelier_domain::compute::size::{Size, SizeName};
use atelier_domain::error::AppError;
use atelier_domain::text::Problem;
use atelier_domain::world::{Answer, Order};
use atelier_engine::run::CommandId;

use crate::caller::Caller;
use crate::orders::{ask, order};
use crate::typed::free_name;

/// All sizes, the cheapest first.
pub async fn list(caller: &Caller) -> Result<Vec<Size>, AppError> {
    caller.authorise(Action::ClusterRead).await?;
    let mut sizes: Vec<Size> = ask(caller, |world| world.sizes().cloned().collect()).await?;
    sizes.sort_by(|a, b| (a.price, &a.name).cmp(&(b.price, &b.name)));
    Ok(sizes)
}

/// Adds a size or changes it; nodes that exist stay as they are.
pub async fn put(caller: &Caller, id: CommandId, size: Size) -> Result<Answer, AppError> {
    caller.authorise(Action::SizeWrite).await?;
    size.check()?;
    order(caller, id, Order::PutSize(size), None, None).await
}

/// The name of a size to be made.
pub fn name_of(typed: &str) -> Result<SizeName, Problem> {
    SizeName::parse(typed).and_then(|name| free_name("size", name, "sizes"))
}

/// Takes a size out of the catalogue.
pub async fn remove(caller: &Caller, id: CommandId, name: &SizeName, why: Option<String>) -> Result<Answer, AppError> {
    caller.authorise(Action::SizeWrite).await?;
    order(caller, id, Order::RemoveSize(name.clone()), None, why).await
}
