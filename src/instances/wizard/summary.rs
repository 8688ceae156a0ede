//! What the instance in the wizard would be: its price, its hours, the quota after it, and the
//! same as a request to the API. Only the server works this out; script asks again while one types.

use atelier_domain::access::{Action, Whose};
use atelier_domain::compute::quota::{Resource, UseKey};
use atelier_domain::compute::resources::Cores;
use atelier_domain::compute::size::{Size, SizeName};
use atelier_domain::fields::Fields;
use atelier_domain::money::MONTH;
use atelier_domain::time::Span;
use atelier_domain::world::World;
use atelier_domain::{Money, UserId, WorkspaceId};
use atelier_studio::caller::Caller;
use atelier_studio::orders::ask;
use atelier_studio::schedules::request::ScheduleRequest;
use atelier_studio::schedules::typed::{idle_of, week_of};
use atelier_studio::schedules::week::say_week;
use serde_json::Value;

use crate::error::AppError;
use crate::instances::wizard::judge::{Known, NewInstanceForm, judge};
use crate::instances::wizard::steps::{known, owner_of};

/// What the wizard's side says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// The number that counts, and what it is for; none without a size.
    pub price: Option<(String, String)>,
    pub how: String,
    pub facts: Vec<(&'static str, String)>,
    pub quota: Option<QuotaAfter>,
    pub notes: Vec<String>,
    /// The same over the API, if the form is whole.
    pub request: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuotaAfter {
    /// Of what: `General cores after this`.
    pub label: String,
    pub after: u64,
    pub limit: u64,
    /// In words: `8 of 8 GPUs`.
    pub said: String,
    pub note: String,
}

/// The summary for the fields in the query of a page. Needs `instance.create`.
pub async fn quote(caller: &Caller, fields: &Fields) -> Result<Summary, AppError> {
    caller.authorise_for(Action::InstanceCreate, Whose::Own).await?;
    let known = known(caller).await?;
    let judged = judge(fields, &known).ok();
    summarise(caller, fields, &known, judged.as_ref()).await
}

/// The summary of what was typed.
pub(super) async fn summarise(
    caller: &Caller,
    fields: &Fields,
    known: &Known,
    whole: Option<&NewInstanceForm>,
) -> Result<Summary, AppError> {
    let config = caller.studio.settings();
    let catalogue = caller.studio.engine().catalogue();
    let size = SizeName::parse(fields.get("size")).ok().and_then(|name| catalogue.size(&name).cloned());
    let request = whole.map(|form| as_request(form, config.address.as_str()));
    let owner = owner_of(fields, known);
    let mut facts = vec![];
    if let Some((_, name)) = known.people.iter().find(|(id, _)| *id == owner) {
        facts.push(("For", name.clone()));
    }
    let Some(size) = size else {
        let notes = vec!["Choose a size to see what it costs.".to_owned()];
        return Ok(Summary { notes, request, facts, ..Summary::default() });
    };
    let week = fields.is_on("scheduled").then(|| week_of(fields).ok()).flatten();
    let (price, how) = priced(&size, week.as_ref().and_then(|week| week.grid.awake()), &config.currency);
    facts.push(("Size", size.name.to_string()));
    facts.push((
        "Awake",
        match (&week, fields.is_on("scheduled")) {
            (Some(week), _) if !week.grid.is_empty() => say_week(&week.grid),
            (_, true) => "not clear yet".to_owned(),
            _ => "when you start it".to_owned(),
        },
    ));
    facts.push((
        "Idle shutdown",
        match idle_of(fields) {
            Ok(0) => "off".to_owned(),
            Ok(minutes) => format!("after {}", Span::minutes(minutes)),
            Err(_) => "not clear yet".to_owned(),
        },
    ));
    facts.push(("Always on would be", format!("{} a month", Money::of_month(size.price).said(&config.currency))));
    let workspace = caller.actor()?.workspace.id.clone();
    let (quota, notes) =
        ask(caller, move |world| (quota_after(world, &size, &workspace, &owner), notes(world, &size))).await?;
    Ok(Summary { price: Some(price), how, facts, quota, notes, request })
}

/// A month by the schedule, or an hour if the run time is unknown.
fn priced(size: &Size, awake_a_week: Option<Span>, currency: &str) -> ((String, String), String) {
    let hour = size.price.said(currency);
    let Some(week) = awake_a_week else {
        let how = "Counted from the wish for its node until that is gone. Stopped, it costs nothing.".to_owned();
        return ((hour, "an hour while it runs".to_owned()), how);
    };
    let month = month_of(week);
    let hours = (month.as_millis() + 1_800_000) / 3_600_000;
    let how = format!("{hours} h awake at {hour}, if nobody starts or stops it by hand");
    ((Money::of(size.price, month).said(currency), "per month, about".to_owned()), how)
}

/// A week's hours as a month's.
pub fn month_of(week: Span) -> Span {
    let (millis, hours) = (week.as_millis().unsigned_abs(), MONTH.as_millis().unsigned_abs() / 3_600_000);
    Span::millis(millis.saturating_mul(hours) / (7 * 24))
}

fn notes(world: &World, size: &Size) -> Vec<String> {
    let free = world.free_capacity(&size.site);
    let is_full = free == atelier_domain::compute::Resources::NONE || free.holds(size.shape) == 0;
    is_full
        .then(|| format!("{} has no room for it right now: it waits until there is.", size.site))
        .into_iter()
        .collect()
}

/// The tightest of the limits on cores and GPUs, of the workspace and of the owner.
fn quota_after(world: &World, size: &Size, workspace: &WorkspaceId, owner: &UserId) -> Option<QuotaAfter> {
    let mut all = Vec::new();
    for (resource, need) in
        [(Resource::Cores(size.family.clone()), size.shape.cores), (Resource::Gpus, size.shape.gpus)]
    {
        if need == 0 {
            continue;
        }
        for (person, whose) in [(None, "the workspace’s"), (Some(owner.clone()), "their own")] {
            let key = UseKey { workspace: workspace.clone(), person, resource: resource.clone() };
            let Some(limit) = world.limit(&key) else { continue };
            let after = world.used(&key).saturating_add(need);
            let left = i128::from(limit) - i128::from(after);
            all.push((
                left,
                QuotaAfter {
                    label: match &resource {
                        Resource::Cores(family) => format!("Cores of {family} after this, {whose} quota"),
                        _ => format!("GPUs after this, {whose} quota"),
                    },
                    after,
                    limit,
                    said: match &resource {
                        Resource::Cores(_) => format!("{} of {}", plain(after), Cores(limit)),
                        _ => format!("{after} of {limit}"),
                    },
                    note: match left {
                        0 => "This takes the last of it.".to_owned(),
                        left if left < 0 && need > limit => {
                            "One such node is more than the limit: choose a smaller size.".to_owned()
                        }
                        left if left < 0 => "More than is left: it waits until others give some back.".to_owned(),
                        _ => String::new(),
                    },
                },
            ));
        }
    }
    all.into_iter().min_by_key(|(left, _)| *left).map(|(_, quota)| quota)
}

fn plain(cores: u64) -> String {
    Cores(cores).to_string().split(' ').next().unwrap_or_default().to_owned()
}

/// The whole form as calls of the API.
fn as_request(form: &NewInstanceForm, address: &str) -> String {
    let call = |path: &str, body: &Value| {
        let body = serde_json::to_string_pretty(body).unwrap_or_default();
        format!(
            "curl -X POST {address}/api/v1{path} \\\n  -H \"Authorization: Bearer $ATELIER_TOKEN\" \\\n  \
             -H \"Content-Type: application/json\" \\\n  -d {}",
            shell_words::quote(&body)
        )
    };
    let mut body = serde_json::to_value(&form.request).unwrap_or_default();
    prune(&mut body);
    let mut calls = vec![call("/instances", &body)];
    for new in &form.schedules {
        let body = serde_json::to_value(ScheduleRequest::of(new)).unwrap_or_default();
        calls.push(call(&format!("/instances/{}/schedules", form.request.name), &body));
    }
    calls.join("\n\n")
}

/// Leaves out what is so anyway.
fn prune(body: &mut Value) {
    let Value::Object(fields) = body else { return };
    for (_, value) in fields.iter_mut() {
        prune(value);
    }
    fields.retain(|name, value| match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Object(inside) => !inside.is_empty(),
        Value::Array(inside) => !inside.is_empty(),
        Value::Bool(is_so) => *is_so == (name != "starts"),
        Value::Number(_) => true,
    });
}

#[cfg(test)]
mod tests {
    use atelier_domain::compute::Resources;
    use atelier_domain::compute::idle::IdleRules;
    use atelier_domain::compute::size::{Family, Price, SiteName};

    use super::*;
    use crate::instances::wizard::judge::defaults;

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
    fn a_schedule_makes_a_month_of_an_hour() {
        let ((figure, per), how) = priced(&small(), None, "EUR");
        assert_eq!((figure.as_str(), per.as_str()), ("€0.40", "an hour while it runs"));
        assert!(how.contains("costs nothing"));
        // 47.5 hours a week are 206.4 a month.
        let ((figure, per), how) = priced(&small(), Some(Span::minutes(5 * 570)), "EUR");
        assert_eq!((figure.as_str(), per.as_str()), ("€82.56", "per month, about"));
        assert!(how.starts_with("206 h awake at €0.40"), "{how}");
    }

    #[test]
    fn the_request_says_only_what_is_not_so_anyway() {
        let mut fields = defaults("Europe/Berlin", &IdleRules::default());
        fields.set("name", "mara-fusion");
        fields.set("size", "small");
        fields.set("scheduled", "on");
        fields.set("creation_script", "echo 'hi'");
        let known =
            Known { me: UserId::new("ines"), rules: IdleRules::default(), not_for_others: None, people: vec![] };
        let form = judge(&fields, &known).expect("an instance");
        let text = as_request(&form, "http://localhost:3000");
        assert!(text.starts_with("curl -X POST http://localhost:3000/api/v1/instances \\\n"), "{text}");
        assert!(text.contains("\"name\": \"mara-fusion\"") && text.contains("\"idle_minutes\": 60"), "{text}");
        for left_out in ["owner", "keeps_quota", "starts", "startup", "tags", "blob", "idle_counts"] {
            assert!(!text.contains(&format!("\"{left_out}\"")), "{left_out}: {text}");
        }
        assert_eq!(text.matches("/api/v1/instances/mara-fusion/schedules").count(), 2, "{text}");
        assert!(text.contains("30 8 * * MON-FRI"), "{text}");
        // The script has a quote in it, and the words of the shell still end where they should.
        let words =
            shell_words::split(text.split("\n\n").next().expect("a call").trim_start_matches("curl ")).expect("words");
        let body: Value = serde_json::from_str(words.last().expect("a body")).expect("JSON");
        assert_eq!(body["scripts"]["creation"]["text"], "echo 'hi'");
    }
}
