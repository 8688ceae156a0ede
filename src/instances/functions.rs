//! What the forms of instances post to.

use atelier_domain::compute::app::{Network, Preset};
use atelier_domain::compute::idle::Source;
use atelier_domain::compute::verb::InstanceVerb;
#[cfg(feature = "ssr")]
use atelier_domain::{
    Timestamp,
    compute::app::{AppDraft, AppName, parse_variables},
    compute::size::SizeName,
    compute::tags::Tags,
    compute::verb::Verb,
    paths,
    text::{Problem, parse_why, shortened},
    time::Span,
    world::{Answer, Order},
};
#[cfg(feature = "ssr")]
use atelier_studio::{
    caller::Caller,
    clock,
    instances::commands::{Settings, Subject, accept_scripts as accept, carry_out, configure, extend, find, find_for},
    instances::create::OF_SIZE,
    instances::sharing::ShareRequest,
    instances::{bulk, custom_apps, sharing, transfer},
    orders::command_id as id_of,
    typed::{Problems, whole},
};
use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use crate::done::Done;
use crate::error::FnError;
#[cfg(feature = "ssr")]
use crate::{error::AppError, server::caller::here};

/// Gives an instance a node. Needs `instance.operate`.
#[server(prefix = "/fn", endpoint = "start_instance")]
pub async fn start_instance(#[server(default)] command_id: String, instance: String) -> Result<Done, FnError> {
    let caller = here()?;
    let subject = find(&caller, &instance).await?;
    let order = Order::StartInstance(subject.id);
    let (name, answer) = (&subject.name, carry_out(&caller, id_of(&command_id)?, &subject, order, None).await?);
    Ok(Done::stay(match answer {
        Answer::Already => format!("{name} was on its way already."),
        Answer::Later => format!("{name} starts as soon as it has stopped."),
        _ => format!("{name} is starting."),
    }))
}

/// The same from the page that waits for an application, and back there. Needs `instance.connect` and
/// `instance.operate`.
#[server(prefix = "/fn", endpoint = "wake_instance")]
pub async fn wake_instance(
    #[server(default)] command_id: String,
    instance: String,
    app: String,
    #[server(default)] next: String,
) -> Result<Done, FnError> {
    let caller = here()?;
    // Who could not open it starts it without pretending to.
    let subject = find_for(&caller, &instance, Verb::OpenInstance).await?;
    carry_out(&caller, id_of(&command_id)?, &subject, Order::WakeInstance(subject.id), None).await?;
    let next = crate::server::local_path::parse(&next).unwrap_or_else(|| "/".into());
    let slug = &caller.actor()?.workspace.slug;
    Ok(Done::go(paths::open_app(slug, subject.name.as_str(), &app, &next), ""))
}

/// Starts, stops, restarts, rebuilds or deletes instances, by name. Each is judged by itself.
#[server(prefix = "/fn", endpoint = "change_instances")]
pub async fn change_instances(
    #[server(default)] command_id: String,
    verb: InstanceVerb,
    #[server(default)] ids: Vec<String>,
    #[server(default)] why: String,
) -> Result<Done, FnError> {
    let caller = here()?;
    let changed = bulk::change(&caller, &id_of(&command_id)?, verb, &ids, parse_why(&why)?).await?;
    let slug = &caller.actor()?.workspace.slug;
    let next = match changed.done.as_slice() {
        [only] if ids.len() == 1 && verb != InstanceVerb::Delete => paths::instance(slug, only.name.as_str()),
        _ => paths::compute(slug, "instances"),
    };
    Ok(Done::go(next, changed.sentences(verb.verb())))
}

/// Keeps an instance running for some hours: puts off the stop that is planned, or its idle shutdown. Needs
/// `instance.operate`.
#[server(prefix = "/fn", endpoint = "extend_instance")]
pub async fn extend_instance(
    #[server(default)] command_id: String,
    instance: String,
    hours: String,
) -> Result<Done, FnError> {
    let caller = here()?;
    let subject = find_for(&caller, &instance, Verb::ExtendInstance).await?;
    let by = Span::hours(whole("hours", "The number of hours", &hours)?);
    let until = extend(&caller, id_of(&command_id)?, &subject, by).await?;
    Ok(Done::stay(match until {
        Some(until) => format!("{} stops {} instead.", subject.name, said(&caller, until)?),
        None => format!("{} is kept running for {by}.", subject.name),
    }))
}

/// Keeps an instance running until then, in the caller's time zone. Needs `instance.operate`.
#[server(prefix = "/fn", endpoint = "keep_instance")]
pub async fn keep_instance(
    #[server(default)] command_id: String,
    instance: String,
    #[server(default)] until: String,
) -> Result<Done, FnError> {
    let caller = here()?;
    let subject = find_for(&caller, &instance, Verb::PostponeStop).await?;
    let until = typed_time(&caller, &until)?.ok_or_else(|| Problem::new("until", "Choose a day and a time."))?;
    let order = Order::PostponeStop { instance: subject.id, until };
    carry_out(&caller, id_of(&command_id)?, &subject, order, None).await?;
    Ok(Done::stay(format!("{} is kept running until {}.", subject.name, said(&caller, until)?)))
}

/// Leaves the next scheduled stop out. Needs `instance.operate`.
#[server(prefix = "/fn", endpoint = "skip_stop")]
pub async fn skip_stop(#[server(default)] command_id: String, instance: String) -> Result<Done, FnError> {
    let caller = here()?;
    let subject = find(&caller, &instance).await?;
    let order = Order::SkipStop { instance: subject.id };
    carry_out(&caller, id_of(&command_id)?, &subject, order, None).await?;
    Ok(Done::stay(format!("The next stop of {} is left out.", subject.name)))
}

/// Gives a stopped instance another size. Needs `instance.configure`.
#[server(prefix = "/fn", endpoint = "resize_instance")]
pub async fn resize_instance(
    #[server(default)] command_id: String,
    instance: String,
    #[server(default)] size: String,
    #[server(default)] why: String,
) -> Result<Done, FnError> {
    let caller = here()?;
    let subject = find_for(&caller, &instance, Verb::ResizeInstance).await?;
    let mut problems = Problems::default();
    let size = problems.take(match size.trim() {
        "" => Err(Problem::new("size", "Choose the new size.")),
        size => SizeName::parse(size),
    });
    let why = problems.take(parse_why(&why));
    let (Some(size), Some(why)) = (size, why) else { return Err(problems.into_error().into()) };
    let order = Order::ResizeInstance { instance: subject.id, size: size.clone() };
    let answer = carry_out(&caller, id_of(&command_id)?, &subject, order, why).await;
    Ok(Done::stay(match answer.map_err(|error| error.beside(&OF_SIZE))? {
        Answer::Already => format!("{} is of the size {size} already.", subject.name),
        _ => format!("{} moves to the size {size}.", subject.name),
    }))
}

/// How an instance stops and what it keeps, as it is typed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SettingsForm {
    pub command_id: String,
    pub instance: String,
    /// In minutes; nothing for never.
    pub idle: String,
    pub counts: Vec<Source>,
    /// Ticked or not.
    pub keeps_quota: Option<String>,
}

/// Changes idle shutdown and whether the instance keeps its quota. Needs
/// `instance.configure`.
#[server(prefix = "/fn", endpoint = "configure_instance")]
pub async fn configure_instance(#[server(flatten)] form: SettingsForm) -> Result<Done, FnError> {
    let caller = here()?;
    let subject = find_for(&caller, &form.instance, Verb::ConfigureInstance).await?;
    let minutes = match form.idle.trim() {
        "" => 0,
        typed => whole("idle", "The idle time in minutes", typed)?,
    };
    let settings = Settings {
        idle_minutes: Some(minutes),
        idle_counts: Some(form.counts.into_iter().collect()),
        keeps_quota: Some(form.keeps_quota.is_some()),
    };
    let (idle, keeps_quota) = configure(&caller, id_of(&form.command_id)?, &subject, settings, None).await?;
    let said = match idle {
        Some(idle) => format!("stops after {} without activity", idle.window),
        None => "is not stopped for want of activity".to_owned(),
    };
    let quota = if keeps_quota { "keeps" } else { "gives back" };
    Ok(Done::stay(format!("{} {said}, and {quota} its quota while it is stopped.", subject.name)))
}

/// Replaces the tags of an instance. Needs `instance.configure`.
#[server(prefix = "/fn", endpoint = "tag_instance")]
pub async fn tag_instance(
    #[server(default)] command_id: String,
    instance: String,
    #[server(default)] tags: String,
) -> Result<Done, FnError> {
    let caller = here()?;
    let subject = find_for(&caller, &instance, Verb::TagInstance).await?;
    let order = Order::TagInstance { instance: subject.id, tags: Tags::parse(&tags)? };
    carry_out(&caller, id_of(&command_id)?, &subject, order, None).await?;
    Ok(Done::stay(format!("The tags of {} were saved.", subject.name)))
}

/// Accepts scripts that another person set. Only for the owner.
#[server(prefix = "/fn", endpoint = "accept_scripts")]
pub async fn accept_scripts(
    #[server(default)] command_id: String,
    instance: String,
    revision: String,
) -> Result<Done, FnError> {
    let caller = here()?;
    let subject = find_for(&caller, &instance, Verb::AcceptScripts).await?;
    let revision = whole("revision", "The number of the change", &revision)?;
    Ok(Done::stay(match accept(&caller, id_of(&command_id)?, &subject, revision).await? {
        true => format!("{} can be started now, with all that is in it.", subject.name),
        false => format!("The scripts of {} get your home from its next start on.", subject.name),
    }))
}

/// Gives a stopped instance to somebody else, without what opens doors in its home. Needs
/// `instance.transfer`.
#[server(prefix = "/fn", endpoint = "transfer_instance")]
pub async fn transfer_instance(
    #[server(default)] command_id: String,
    instance: String,
    #[server(default)] to: String,
    #[server(default)] why: String,
) -> Result<Done, FnError> {
    let caller = here()?;
    let (id, why) = (id_of(&command_id)?, parse_why(&why)?);
    let (subject, person, answer) = transfer::transfer(&caller, id, &instance, &to, why).await?;
    let said = match answer {
        Answer::Already => format!("{} is {}’s already.", subject.name, person.name),
        _ => {
            format!("{} is {}’s now. It can be started when its home is clean, in a moment.", subject.name, person.name)
        }
    };
    Ok(Done::go(paths::instance(&caller.actor()?.workspace.slug, subject.name.as_str()), said))
}

/// An application as typed into its form.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct AppForm {
    pub instance: String,
    /// Its name so far, if it is changed.
    pub replaces: String,
    pub preset: Preset,
    pub name: String,
    pub label: String,
    pub command: String,
    pub environment: String,
    /// `socket`, else a port.
    pub listens: String,
    pub port: String,
    pub network: Network,
    pub health: String,
    pub page: String,
}

#[cfg(feature = "ssr")]
impl AppForm {
    /// What was typed; a problem beside each field that cannot be read. The rest is judged with the whole.
    fn draft(self) -> Result<AppDraft, AppError> {
        let mut problems = Problems::default();
        let port = problems.take(match self.port.trim() {
            _ if self.listens == "socket" => Ok(None),
            "" => Err(Problem::new("port", "Enter the port on which it listens.")),
            text => text.parse::<u16>().map(Some).map_err(|_| {
                let message = format!("A port is a number from 1025 to 65534, not “{}”.", shortened(text));
                Problem::new("port", message)
            }),
        });
        let environment = problems.take(parse_variables(&self.environment));
        let (Some(port), Some(environment)) = (port, environment) else { return Err(problems.into_error()) };
        let path = |text: &str| if text.trim().is_empty() { "/".to_owned() } else { text.trim().to_owned() };
        Ok(AppDraft {
            health: path(&self.health),
            page: path(&self.page),
            name: self.name,
            label: self.label,
            preset: self.preset,
            command: self.command,
            environment,
            port,
            network: self.network,
        })
    }
}

/// Adds an application to an instance, or changes it. For the owner alone.
#[server(prefix = "/fn", endpoint = "put_app")]
pub async fn put_app(#[server(flatten)] form: AppForm) -> Result<Done, FnError> {
    let caller = here()?;
    let subject = find(&caller, &form.instance).await?;
    let replaces = match form.replaces.trim() {
        "" => None,
        name => Some(app_name(name)?),
    };
    let (app, is_new) = custom_apps::put_app(&caller, &subject, form.draft()?, replaces.as_ref()).await?;
    let said = match is_new && replaces.is_none() {
        true => format!("{} was added to {}.", app.label(), subject.name),
        false => format!("{} was saved. It starts again if something has changed.", app.label()),
    };
    Ok(Done::go(apps_tab(&caller, &subject)?, said))
}

/// Takes an application from an instance. For the owner alone.
#[server(prefix = "/fn", endpoint = "remove_app")]
pub async fn remove_app(instance: String, app: String) -> Result<Done, FnError> {
    let caller = here()?;
    let subject = find(&caller, &instance).await?;
    let name = app_name(&app)?;
    custom_apps::remove_app(&caller, &subject, &name).await?;
    let said = format!("{name} was removed from {}. Its files are kept.", subject.name);
    Ok(Done::go(apps_tab(&caller, &subject)?, said))
}

/// Ends an application of a running instance and starts it again. For the owner alone.
#[server(prefix = "/fn", endpoint = "restart_app")]
pub async fn restart_app(instance: String, app: String) -> Result<Done, FnError> {
    let caller = here()?;
    let subject = find(&caller, &instance).await?;
    custom_apps::restart_app(&caller, &subject, &app).await?;
    Ok(Done::stay(format!("{app} starts again.")))
}

/// With whom an application is shared, as it is typed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ShareForm {
    pub instance: String,
    pub person: String,
    pub app: String,
    pub level: String,
    /// In the caller's time zone; nothing for no end.
    pub until: String,
}

/// Shares an application of one's own instance, or changes how it is shared. Needs `instance.share`.
#[server(prefix = "/fn", endpoint = "share_app")]
pub async fn share_app(#[server(flatten)] form: ShareForm) -> Result<Done, FnError> {
    let caller = here()?;
    let ShareForm { instance, person, app, level, until } = form;
    let request = ShareRequest { person, app, level, until: typed_time(&caller, &until) };
    let (subject, row) = sharing::put(&caller, &instance, request).await?;
    let zone = &caller.actor()?.person.time_zone;
    let end = row.until.map(|until| format!(" until {}", clock::date_and_time(until, zone))).unwrap_or_default();
    let (label, level, name) = (&row.label, row.level.key(), &row.person.name);
    Ok(Done::stay(format!("{label} of {} is shared with {name} to {level}{end}.", subject.name)))
}

/// Takes a share back. Needs `instance.share`.
#[server(prefix = "/fn", endpoint = "revoke_share")]
pub async fn revoke_share(instance: String, app: String, person: String) -> Result<Done, FnError> {
    let caller = here()?;
    let (name, label) = sharing::revoke(&caller, &instance, &app, &person).await?;
    Ok(Done::stay(format!("{label} is not shared with {name} any more; what they had open is closed.")))
}

/// An instant for the caller, in their time zone.
#[cfg(feature = "ssr")]
fn said(caller: &Caller, at: Timestamp) -> Result<String, AppError> {
    Ok(clock::relative(at, atelier_engine::clock::now(), &caller.actor()?.person.time_zone))
}

/// The field `until`, in the caller's time zone; none if it is empty.
#[cfg(feature = "ssr")]
fn typed_time(caller: &Caller, typed: &str) -> Result<Option<Timestamp>, Problem> {
    let typed = typed.trim();
    let zone = caller.actor().map(|actor| actor.person.time_zone.as_str()).unwrap_or("UTC");
    match clock::parse_local(typed, zone) {
        None if !typed.is_empty() => {
            let start = shortened(typed);
            Err(Problem::new("until", format!("A day and a time look like 2026-03-19T19:30; this is “{start}”.")))
        }
        at => Ok(at),
    }
}

#[cfg(feature = "ssr")]
fn app_name(typed: &str) -> Result<AppName, AppError> {
    AppName::parse(typed).map_err(|_| AppError::not_found("application"))
}

#[cfg(feature = "ssr")]
fn apps_tab(caller: &Caller, subject: &Subject) -> Result<String, AppError> {
    Ok(paths::instance_tab(&caller.actor()?.workspace.slug, subject.name.as_str(), "apps"))
}
