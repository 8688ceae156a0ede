//! What something would cost as it stands in a form, before anybody presses a button. Only the server works
//! prices out; script asks again while one types.

use atelier_domain::Money;
use atelier_domain::access::Action;
use atelier_domain::compute::cluster::ScaleSettings;
use atelier_domain::compute::size::{Price, Size, SizeName};
use atelier_domain::error::AppError;
use atelier_domain::money::MONTH;
use atelier_domain::text::{Problem, counted};

use crate::caller::Caller;
use crate::clusters::commands as cluster;
use crate::clusters::typed::TypedScale;
use crate::orders::ask;
use crate::typed::Problems;

/// A price, or why there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Quoted {
    Price(Quote),
    /// What decides about it is wrong.
    Unclear(Vec<String>),
    /// The form says what is so already.
    Unchanged,
}

/// A price in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quote {
    /// The number that counts: `€1.60`.
    pub figure: String,
    /// What it is for: `an hour at most`.
    pub per: String,
    /// How it comes about.
    pub lines: Vec<String>,
}

impl Quoted {
    /// What is wrong, in the words of the fields.
    pub fn unclear(problems: Vec<Problem>) -> Self {
        Self::Unclear(problems.into_iter().map(|problem| problem.message).collect())
    }
}

/// A cluster to be made of `size` with so many nodes. Needs `cluster.read`.
pub async fn quote_new_cluster(caller: &Caller, size: &str, scale: [&str; 3]) -> Result<Quoted, AppError> {
    caller.authorise(Action::ClusterRead).await?;
    let catalogue = caller.studio.engine().catalogue();
    let mut problems = Problems::default();
    let size = problems.take(SizeName::parse(size).and_then(|name| {
        let missing = || Problem::new("size", format!("There is no size “{name}”."));
        catalogue.size(&name).ok_or_else(missing)
    }));
    let scale = typed(scale).read(&mut problems, 0);
    Ok(match (size, scale) {
        (Some(size), Some(scale)) => Quoted::Price(of_cluster(size, scale, &caller.studio.settings().currency)),
        _ => Quoted::unclear(problems.0),
    })
}

/// A cluster that is to scale otherwise. Needs `cluster.read`.
pub async fn quote_scaling(caller: &Caller, name: &str, scale: [&str; 3]) -> Result<Quoted, AppError> {
    let id = cluster::find(caller, name).await?;
    let present = ask(caller, move |world| world.cluster(id).map(|it| (it.size.clone(), it.scale))).await?;
    let (size, present) = present.ok_or_else(|| AppError::not_found("cluster"))?;
    let catalogue = caller.studio.engine().catalogue();
    let size = catalogue.size(&size).ok_or_else(|| AppError::not_found("size"))?;
    let mut problems = Problems::default();
    Ok(match typed(scale).read(&mut problems, present.warm) {
        None => Quoted::unclear(problems.0),
        Some(wanted) if wanted == (ScaleSettings { idle: wanted.idle, ..present }) => Quoted::Unchanged,
        Some(wanted) => Quoted::Price(of_cluster(size, wanted, &caller.studio.settings().currency)),
    })
}

const fn typed<'a>([min, max, warm]: [&'a str; 3]) -> TypedScale<'a> {
    TypedScale { min, max, idle: None, warm }
}

/// At its most, and when nothing runs.
fn of_cluster(size: &Size, scale: ScaleSettings, currency: &str) -> Quote {
    let price = |nodes: u32| times(size.price, nodes).said(currency);
    let nodes = |count: u32| counted(u64::from(count), "node", "nodes");
    let most = format!("{} of size {} at {} each.", nodes(scale.max), size.name, price(1));
    // Nodes of the minimum that are idle are ready too: the larger number counts.
    let least = match scale.min.max(scale.warm) {
        0 => "When nothing waits or runs it has no nodes and costs nothing.".to_owned(),
        min => {
            let month = Money::of(times(size.price, min), MONTH).said(currency);
            let (kept, hourly) = (nodes(min), price(min));
            format!("It keeps {kept} also when nothing runs: {hourly} an hour, {month} a month.")
        }
    };
    let ready = (scale.warm > 0).then(|| {
        let (warm, hourly) = (nodes(scale.warm), price(scale.warm));
        format!("While jobs run, {warm} more up to the maximum wait idle for the next: {hourly} an hour.")
    });
    let lines = [most, least].into_iter().chain(ready).collect();
    Quote { figure: price(scale.max), per: "an hour at most".to_owned(), lines }
}

const fn times(price: Price, count: u32) -> Price {
    Price(price.0.saturating_mul(count as u64))
}

#[cfg(test)]
mod tests {
    use atelier_domain::compute::Resources;
    use atelier_domain::compute::cluster::DEFAULT_IDLE;
    use atelier_domain::compute::size::{Family, SiteName};

    use super::*;

    fn small() -> Size {
        Size {
            name: SizeName::parse("small").expect("a name"),
            family: Family::parse("general").expect("a name"),
            site: SiteName::parse("local").expect("a name"),
            shape: Resources::new(2, 8, 0),
            price: Price(400_000),
        }
    }

    #[test]
    fn a_cluster_costs_its_most_and_what_it_keeps() {
        let quote = |min, max| of_cluster(&small(), ScaleSettings { min, max, idle: DEFAULT_IDLE, warm: 0 }, "EUR");
        let none = quote(0, 4);
        assert_eq!((none.figure.as_str(), none.per.as_str()), ("€1.60", "an hour at most"));
        assert_eq!(
            none.lines,
            ["4 nodes of size small at €0.40 each.", "When nothing waits or runs it has no nodes and costs nothing."]
        );
        assert_eq!(quote(2, 2).lines[1], "It keeps 2 nodes also when nothing runs: €0.80 an hour, €584.00 a month.");
        let warm = of_cluster(&small(), ScaleSettings { min: 1, max: 4, idle: DEFAULT_IDLE, warm: 2 }, "EUR");
        assert_eq!(
            warm.lines[1..],
            [
                "It keeps 2 nodes also when nothing runs: €0.80 an hour, €584.00 a month.",
                "While jobs run, 2 nodes more up to the maximum wait idle for the next: €0.80 an hour.",
            ]
        );
        assert_eq!(quote(0, 1).lines[0], "1 node of size small at €0.40 each.");
    }
}
