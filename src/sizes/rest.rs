//! The catalogue of sizes: read by everybody, changed by those who may.

use atelier_domain::access::Action;
use atelier_domain::compute::resources::Resources;
use atelier_domain::compute::size::{Family, Price, SiteName, Size, SizeName};
use atelier_domain::text::{Problem, parse_why};
use atelier_studio::sizes::commands as size;
use atelier_studio::typed::Problems;
use axum::extract::Path;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::error::AppError;
use crate::server::rest::asked::{Asked, Json, NoParameters, Parameters};
use crate::server::rest::problem::{Answered, Refusal};
use crate::server::rest::view::{ResourcesView, created, json, listed, object, ok};

fn view(size: Size, currency: &str) -> impl Serialize + use<> {
    object! {
        name: size.name.to_string(),
        family: size.family.to_string(),
        site: size.site.to_string(),
        resources: ResourcesView::from(size.shape),
        price_per_hour: size.price.per_hour().decimal(),
        currency: currency.to_owned(),
        links: json!({ "self": path(&size.name) }),
    }
}

fn path(name: &SizeName) -> String {
    format!("/api/v1/sizes/{name}")
}

/// `GET /sizes`: the cheapest first.
pub async fn list(asked: Asked, _: NoParameters) -> Answered {
    let sizes = size::list(&asked.caller).await?;
    let currency = &asked.caller.studio.settings().currency;
    listed("sizes", sizes.into_iter().map(|size| view(size, currency)))
}

/// `GET /sizes/{name}`.
pub async fn show(asked: Asked, Path(name): Path<String>, _: NoParameters) -> Answered {
    let size = found(&asked, &name).await?.ok_or_else(|| Refusal::not_found("size"))?;
    ok(&view(size, &asked.caller.studio.settings().currency))
}

async fn found(asked: &Asked, name: &str) -> Answered<Option<Size>> {
    let sizes = size::list(&asked.caller).await?;
    Ok(sizes.into_iter().find(|size| size.name.as_str() == name))
}

/// A size as a whole. Only GPUs may be left out: a price that was forgotten would be a gift.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    family: String,
    site: String,
    cores: f64,
    memory_mib: u64,
    #[serde(default)]
    gpus: u64,
    price_per_hour: f64,
}

impl Wanted {
    fn named(&self, name: &str) -> Result<Size, AppError> {
        let mut problems = Problems::default();
        let name = problems.take(size::name_of(name));
        let family = problems.take(Family::parse(&self.family));
        let site = problems.take(SiteName::parse(&self.site));
        let price = problems.take(match self.price_per_hour {
            price if price < 0.0 => Err(Problem::new("price", format!("A price is 0 or more; this is {price}."))),
            price => Ok(Price((price * 1e6).round().clamp(0.0, 1e18) as u64)),
        });
        let (Some(name), Some(family), Some(site), Some(price)) = (name, family, site, price) else {
            return Err(problems.into_error());
        };
        let cores = (self.cores * 1_000.0).round().clamp(0.0, 1e12) as u64;
        let shape = Resources { cores, memory: self.memory_mib, gpus: self.gpus };
        Ok(Size { name, family, site, shape, price })
    }
}

/// `PUT /sizes/{name}`: adds it, or puts it in the place of the one of that name.
pub async fn put(asked: Asked, Path(name): Path<String>, _: NoParameters, Json(wanted): Json<Wanted>) -> Answered {
    let id = asked.id_for("put-size", &(&name, &wanted));
    let before = found(&asked, &name).await?;
    asked.caller.authorise(Action::SizeWrite).await?;
    let size = wanted.named(&name).map_err(by_its_own_field)?;
    size::put(&asked.caller, id, size).await.map_err(by_its_own_field)?;
    let size = found(&asked, &name).await?.ok_or_else(|| Refusal::not_found("size"))?;
    let address = path(&size.name);
    let view = view(size, &asked.caller.studio.settings().currency);
    Ok(if before.is_none() { created(&address, &view) } else { json(StatusCode::OK, &view) })
}

/// The fields as they are called here.
fn by_its_own_field(error: AppError) -> AppError {
    let AppError::Invalid { problems } = error else { return error };
    let renamed = |problem: Problem| {
        let field = match problem.field.as_str() {
            "size" => "name",
            "memory" => "memory_mib",
            "price" => "price_per_hour",
            other => other,
        };
        Problem::new(field.to_owned(), problem.message)
    };
    AppError::Invalid { problems: problems.into_iter().map(renamed).collect() }
}

/// `DELETE /sizes/{name}?why=`.
pub async fn delete(asked: Asked, Path(name): Path<String>, mut parameters: Parameters) -> Answered {
    let why = parse_why(&parameters.take("why")?.unwrap_or_default())?;
    parameters.none_left(&["why"])?;
    let id = asked.id_for("delete-size", &name);
    let size = SizeName::parse(&name).map_err(|_| Refusal::not_found("size"))?;
    match size::remove(&asked.caller, id, &size, why).await {
        Ok(_) => {}
        Err(AppError::Refused { code, .. }) if code == "unknown-size" => return Err(Refusal::not_found("size")),
        Err(error) => return Err(error.into()),
    }
    ok(&json!({ "name": size, "state": "deleted" }))
}
