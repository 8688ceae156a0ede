//! Every field of the wizard, judged by itself: what is wrong names its field.

use atelier_domain::UserId;
use atelier_domain::compute::idle::{IdlePolicy, IdleRules};
use atelier_domain::compute::script::ScriptKind;
use atelier_domain::compute::size::SizeName;
use atelier_domain::compute::tags::Tags;
use atelier_domain::fields::Fields;
use atelier_domain::text::Problem;
use atelier_domain::time::Span;
use atelier_engine::run::CommandId;
use atelier_studio::instances::create::{InstanceRequest, name_of};
use atelier_studio::instances::scripts::{ScriptRequest, ScriptsRequest};
use atelier_studio::schedules::commands::NewSchedule;
use atelier_studio::schedules::typed;
use atelier_studio::schedules::typed::{idle_of, week_of};
use atelier_studio::typed::{Problems, whole};

/// What decides beside what was typed.
#[derive(Clone, Debug)]
pub struct Known {
    pub me: UserId,
    /// What the workspace allows and demands of idle shutdown.
    pub rules: IdleRules,
    /// Why they may not make instances for others, if so.
    pub not_for_others: Option<String>,
    /// The people whom one may be for, by name.
    pub people: Vec<(UserId, String)>,
}

/// A requested instance; every field is checked.
#[derive(Clone, Debug)]
pub struct NewInstanceForm {
    /// The id of the command, so that the same form sent twice makes one instance.
    pub id: CommandId,
    pub request: InstanceRequest,
    pub schedules: Vec<NewSchedule>,
}

/// Reads the form; every problem beside its field.
pub fn judge(fields: &Fields, known: &Known) -> Result<NewInstanceForm, Vec<Problem>> {
    let mut problems = Problems::default();
    let name = problems.take(name_of(fields.get("name").trim()));
    let size = problems.take(match fields.get("size") {
        "" => Err(Problem::new("size", "Choose what its node is.")),
        typed => SizeName::parse(typed),
    });
    let owner = problems.take(owner_of(fields.get("owner"), known));
    let schedules = match fields.is_on("scheduled") {
        true => {
            week_of(fields).map_err(|more| problems.0.extend(more)).map(|week| week.schedules()).unwrap_or_default()
        }
        false => Vec::new(),
    };
    let idle_minutes = problems.take(idle(fields, &known.rules));
    let scripts = ScriptsRequest {
        creation: script(fields, ScriptKind::Creation, &mut problems),
        startup: script(fields, ScriptKind::Startup, &mut problems),
    };
    problems.0.extend(scripts.check());
    let tags = problems.take(Tags::parse(fields.get("tags")));
    let id = problems.take(match fields.get("command_id") {
        "" => Ok(CommandId::random()),
        typed => CommandId::parse(typed),
    });
    match (id, name, size, owner, tags) {
        (Some(id), Some(name), Some(size), Some(owner), Some(tags)) if problems.0.is_empty() => {
            let request = InstanceRequest {
                name: name.to_string(),
                size: size.to_string(),
                owner,
                idle_minutes,
                idle_counts: None,
                keeps_quota: fields.get("quota") == "keep",
                scripts,
                tags,
                starts: fields.get("begin") != "stopped",
            };
            Ok(NewInstanceForm { id, request, schedules })
        }
        _ => Err(problems.0),
    }
}

/// The account whose it will be; empty for one's own.
fn owner_of(typed: &str, known: &Known) -> Result<String, Problem> {
    if typed.is_empty() || typed == known.me.as_str() {
        return Ok(String::new());
    }
    if let Some(why) = &known.not_for_others {
        return Err(Problem::new("owner", why.clone()));
    }
    match known.people.iter().any(|(id, _)| id.as_str() == typed) {
        true => Ok(typed.to_owned()),
        false => Err(Problem::new("owner", "There is no such person here, or their account is disabled.")),
    }
}

/// After how many minutes; 0 for never.
fn idle(fields: &Fields, rules: &IdleRules) -> Result<u32, Problem> {
    let minutes = idle_of(fields)?;
    let policy = (minutes > 0).then(|| IdlePolicy::after(Span::minutes(minutes)));
    rules.judge(policy.as_ref()).map_err(|problem| Problem::new("idle_minutes", problem.message))?;
    Ok(minutes)
}

/// The script of that kind, as far as it can be read here.
fn script(fields: &Fields, kind: ScriptKind, problems: &mut Problems) -> ScriptRequest {
    let field = |what: &str| format!("{}_{what}", kind.key());
    let text = fields.get(&field("script")).to_owned();
    let arguments = fields.get(&field("arguments")).trim().to_owned();
    if text.trim().is_empty() {
        if !arguments.is_empty() {
            let message = "There are arguments and no script that would read them.";
            problems.0.push(Problem::new(field("arguments"), message));
        }
        return ScriptRequest::default();
    }
    let limit = match fields.get(&field("limit")).trim() {
        "" => Ok(None),
        typed => whole("limit", "The time limit in minutes", typed).map(|minutes| Some(minutes.saturating_mul(60))),
    };
    let limit_seconds = limit.unwrap_or_else(|problem| {
        problems.0.push(Problem::new(field("limit"), problem.message));
        None
    });
    ScriptRequest { text, blob: String::new(), arguments, limit_seconds }
}

/// The form as a person finds it first.
pub fn defaults(zone: &str, rules: &IdleRules) -> Fields {
    let mut fields: Fields = typed::workdays(zone);
    let idle = rules.default.unwrap_or_else(|| Span::minutes(60).clamp(rules.min, rules.max));
    fields.set("idle", if rules.default.is_some() || rules.is_required { "on" } else { "" });
    fields.set("idle_minutes", (idle.as_millis() / 60_000).to_string());
    fields.set("quota", "release");
    fields.set("begin", "now");
    for kind in ScriptKind::ALL {
        fields.set(&format!("{}_limit", kind.key()), "15");
    }
    fields
}

#[cfg(test)]
mod tests {
    use atelier_domain::compute::script::MAX_SCRIPT_BYTES;

    use super::*;

    fn known() -> Known {
        Known {
            me: UserId::new("ines"),
            rules: IdleRules::default(),
            not_for_others: None,
            people: vec![(UserId::new("noor"), "Noor".into())],
        }
    }

    fn named(zone: &str, rules: &IdleRules, name: &str, size: &str) -> Fields {
        let mut fields = defaults(zone, rules);
        fields.set("name", name);
        fields.set("size", size);
        fields
    }

    fn wrong(fields: &Fields, known: &Known) -> Vec<String> {
        judge(fields, known).expect_err("refused").into_iter().map(|problem| problem.field).collect()
    }

    #[test]
    fn the_defaults_with_a_name_and_a_size_are_an_instance() {
        let mut fields = named("Europe/Berlin", &IdleRules::default(), "Mara-Fusion", "small");
        let form = judge(&fields, &known()).expect("an instance");
        assert_eq!((form.request.name.as_str(), form.request.size.as_str()), ("mara-fusion", "small"));
        assert_eq!(form.request.idle_minutes, Some(60));
        assert!(form.request.starts && !form.request.keeps_quota && form.request.owner.is_empty());
        assert!(form.schedules.is_empty());
        fields.set("scheduled", "on");
        fields.set("owner", "noor");
        fields.set("begin", "stopped");
        fields.set("creation_script", "pip install x\r\necho done");
        fields.set("creation_arguments", "--fast 'two words'");
        let form = judge(&fields, &known()).expect("an instance");
        assert_eq!(form.request.owner, "noor");
        assert_eq!(form.schedules.len(), 2, "one start and one stop on all workdays");
        assert!(!form.request.starts);
        assert_eq!(form.request.scripts.creation.limit_seconds, Some(900));
        assert!(form.request.scripts.startup.is_empty());
    }

    #[test]
    fn everything_that_is_wrong_is_said_at_once_beside_its_field() {
        let mut fields = named("UTC", &IdleRules::default(), "new", "");
        fields.set("owner", "nobody");
        fields.set("scheduled", "on");
        fields.set("time_zone", "Mars/Olympus");
        fields.set("tue_start", "25:00");
        fields.set("idle_minutes", "5");
        fields.set("creation_arguments", "x");
        fields.set("startup_script", "#!/bin/sh");
        fields.set("startup_arguments", "'open");
        fields.set("tags", "a=1\na=2");
        let fields = wrong(&fields, &known());
        let expected = [
            "name",
            "size",
            "owner",
            "time_zone",
            "tue_start",
            "idle_minutes",
            "creation_arguments",
            "startup_arguments",
            "tags",
        ];
        assert_eq!(fields, expected);
    }

    #[test]
    fn scripts_are_bounded_and_text() {
        let mut fields = named("UTC", &IdleRules::default(), "mara", "small");
        fields.set("startup_script", "x".repeat(MAX_SCRIPT_BYTES + 1));
        assert_eq!(wrong(&fields, &known()), ["startup_script"]);
        fields.set("startup_script", "a\0b");
        fields.set("startup_limit", "1441");
        assert_eq!(wrong(&fields, &known()), ["startup_script", "startup_limit"]);
        fields.set("startup_limit", "soon");
        assert_eq!(wrong(&fields, &known()), ["startup_limit", "startup_script"]);
    }

    #[test]
    fn what_a_workspace_demands_of_idle_shutdown_counts() {
        let mut known = known();
        known.rules = IdleRules { is_required: true, max: Span::minutes(90), ..IdleRules::default() };
        let mut fields = named("UTC", &known.rules, "mara", "small");
        assert!(judge(&fields, &known).is_ok());
        fields.set("idle_minutes", "91");
        assert_eq!(wrong(&fields, &known), ["idle_minutes"]);
        fields.set("idle", "");
        assert_eq!(wrong(&fields, &known), ["idle_minutes"]);
        known.not_for_others = Some("Your role does not include it.".into());
        fields.set("idle", "on");
        fields.set("idle_minutes", "60");
        fields.set("owner", "noor");
        assert_eq!(wrong(&fields, &known), ["owner"]);
    }
}
