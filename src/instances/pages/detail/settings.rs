//! What can be changed about an instance: how it stops, its quota, its size, its tags, its scripts; and how
//! it goes.

use atelier_domain::compute::idle::Source;
use atelier_domain::compute::verb::Verb;
use atelier_domain::paths;
use atelier_domain::text::MAX_WHY;
use atelier_engine::run::CommandId;
use atelier_studio::instances::detail::InstanceDetail;
use atelier_studio::sizes::row::SizeRow;
use leptos::prelude::*;

use crate::components::{Card, Checkbox, Field, LinkButton, Look, PostForm, SaveRow, SizeTable, TagsCard};
use crate::frame::Visit;
use crate::instances::pages::detail::parts::{asks_at, blocked, icon};
use crate::instances::pages::detail::scripts;
use crate::instances::pages::detail::scripts::Texts;

pub struct Content {
    pub sizes: Vec<SizeRow>,
    /// Its scripts, for who may read them.
    pub scripts: Texts,
}

/// The tab. It is not live, so that typing isn't lost.
pub fn tab(visit: &Visit, detail: &InstanceDetail, content: Content) -> AnyView {
    let because = blocked(visit, &detail.view, Verb::ConfigureInstance);
    let (idle, tags) = (idle(visit, detail, because.clone()), tags(visit, detail, because));
    let (size, scripts) = (size(visit, detail, content.sizes), scripts::form(visit, detail, &content.scripts));
    let danger = danger(visit, detail);
    let freeze = format!("{}?from={}", paths::new_environment(visit.slug()), detail.view.name);
    let stranger = (!detail.view.is_own()).then(|| "Only its owner sees what is installed in it.".to_owned());
    let schedules = paths::instance_schedules(visit.slug(), &detail.view.name);
    html! {
        <div class="split">
            <div class="stack">{idle}{scripts}{size}{danger}</div>
            <aside class="stack">
                {tags}
                <Card heading="Environment">
                    <p class="muted">
                        "What you have installed here, as an environment that jobs and other instances can use."
                    </p>
                    <div class="row">
                        <LinkButton href=freeze icon="code" disabled_because=stranger>
                            "Freeze into an environment"
                        </LinkButton>
                    </div>
                </Card>
                <Card heading="Schedules">
                    <p class="muted">"When it starts and stops by itself."</p>
                    <div class="row"><LinkButton href=schedules icon="calendar">"Edit schedules"</LinkButton></div>
                </Card>
            </aside>
        </div>
    }
}

fn hidden(detail: &InstanceDetail) -> Vec<(&'static str, String)> {
    vec![("instance", detail.view.name.clone()), ("command_id", CommandId::random().as_str().to_owned())]
}

fn idle(visit: &Visit, detail: &InstanceDetail, because: Option<String>) -> AnyView {
    let state = visit.form("configure_instance");
    let policy = detail.watched.policy.as_ref();
    let minutes = policy.map(|policy| (policy.window.as_millis() / 60_000).to_string()).unwrap_or_default();
    let rules = &detail.rules;
    let required = if rules.is_required { "It is required here." } else { "Leave it empty for never." };
    let help = format!("Between {} and {} in this workspace. {required}", rules.min, rules.max);
    let counted = Source::ALL.into_iter().filter(|source| !source.always_counts());
    let boxes: Vec<_> = counted
        .map(|source| {
            let (key, label) = (source.key(), source.words().counts_when);
            let is_counted = policy.is_none_or(|policy| policy.counts(source));
            let ticked = state.is_ticked("counts", key, is_counted);
            view! { <Checkbox name="counts[]" value=key label=label ticked=ticked/> }
        })
        .collect();
    let counts_problem = state.problem("counts").map(|problem| view! { <p class="err">{problem}</p> });
    let hidden = hidden(detail);
    let fixed = because.is_some();
    let keeps = state.is_ticked("keeps_quota", "on", detail.view.instance.keeps_quota);
    html! {
        <section id="idle">
            <Card heading="Idle shutdown and quota">
                <PostForm function="configure_instance" state=state.clone() hidden=hidden>
                    <Field
                        form=&state label="Stop after so many minutes without activity" name="idle" kind="number"
                        value=&minutes help=help readonly=fixed
                    />
                    <fieldset class="field stack-s">
                        <legend class="label">"What counts as activity"</legend>
                        <p class="help">"Jobs, and somebody who keeps it running, always count."</p>
                        {boxes}
                        {counts_problem}
                    </fieldset>
                    <Checkbox
                        name="keeps_quota" label="Keep its quota while it is stopped" ticked=keeps
                        help="Then it can always start again; else others may use its share meanwhile."
                    />
                    <SaveRow label="Save" disabled_because=because/>
                </PostForm>
            </Card>
        </section>
    }
}

fn tags(visit: &Visit, detail: &InstanceDetail, because: Option<String>) -> AnyView {
    let tags = &detail.view.instance.tags;
    let (state, hidden, fixed) = (visit.form("tag_instance"), hidden(detail), because.is_some());
    html! {
        <TagsCard tags=tags.said() typed=tags.typed() function="tag_instance" state=state hidden=hidden fixed=fixed/>
    }
}

fn size(visit: &Visit, detail: &InstanceDetail, sizes: Vec<SizeRow>) -> AnyView {
    let because = blocked(visit, &detail.view, Verb::ResizeInstance);
    let state = visit.form("resize_instance");
    if let Some(because) = because {
        let now = format!("It is of the size {}: {}.", detail.view.instance.size, detail.view.shape());
        return html! {
            <section id="size"><Card heading="Size"><p>{now}</p><p class="muted">{because}</p></Card></section>
        };
    }
    let hidden = hidden(detail);
    let chosen = state.value("size", detail.view.instance.size.as_str());
    html! {
        <section id="size">
            <Card heading="Size">
                <PostForm function="resize_instance" state=state.clone() hidden=hidden>
                    <SizeTable rows=sizes chosen=chosen problem=state.problem("size") for_oneself=true/>
                    <Field
                        form=&state label="Why" name="why" id="resize-why" autocomplete="off" maxlength=MAX_WHY as u32
                        help="Goes to the history with your name."
                    />
                    <SaveRow label="Change size" icon="cpu" pending="Changing…"/>
                </PostForm>
            </Card>
        </section>
    }
}

fn danger(visit: &Visit, detail: &InstanceDetail) -> AnyView {
    let (view, name) = (&detail.view, &detail.view.name);
    let button = |verb: Verb, href: String, words: &'static str, look: Look| {
        let (because, dialog) = (blocked(visit, view, verb), verb.ask().is_some());
        view! {
            <LinkButton href=href icon=icon(verb) look=look dialog=dialog disabled_because=because>{words}</LinkButton>
        }
    };
    let asking = |verb: Verb| asks_at(visit, name, verb);
    let rebuild = Verb::RebuildInstance;
    let rebuild = button(rebuild, asking(rebuild), rebuild.label(), Look::Plain);
    let give = paths::transfer_instance(visit.slug(), name);
    let transfer = button(Verb::TransferInstance, give, "Give to somebody else", Look::Plain);
    let delete = Verb::DeleteInstance;
    let delete = button(delete, asking(delete), "Delete instance", Look::DangerQuiet);
    html! {
        <Card heading="Danger zone" class="danger-zone">
            <p class="muted">
                "A rebuild keeps the home and makes a fresh environment. Given to somebody else, it takes its home \
                 along, without keys and tokens. Deleting takes the home too."
            </p>
            <div class="row">{rebuild}{transfer}{delete}</div>
        </Card>
    }
}
