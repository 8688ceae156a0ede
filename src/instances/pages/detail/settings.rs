//! What can be changed about an instance: how it stops, its quota, its size, its tags, its scripts; and how it goes.

use atelier_domain::compute::idle::Source;
use atelier_domain::compute::verb::InstanceVerb;
use atelier_domain::paths;
use atelier_domain::text::MAX_WHY;
use atelier_engine::run::CommandId;
use atelier_studio::instances::detail::InstanceDetail;
use atelier_studio::sizes::row::SizeRow;
use leptos::prelude::*;

use crate::components::{Card, Checkbox, Field, LinkButton, Look, PostForm, SizeTable, SubmitButton, TagsCard};
use crate::frame::Visit;
use crate::instances::bulk::BulkVerb;
use crate::instances::changes::source_key;
use crate::instances::pages::detail::page::blocked;
use crate::instances::pages::detail::scripts;
use crate::instances::pages::detail::scripts::Texts;

/// What this tab reads.
pub struct Content {
    /// The sizes there are.
    pub sizes: Vec<SizeRow>,
    /// Its scripts, for who may read them.
    pub scripts: Texts,
}

/// The tab. It is not live: nobody's typing is overtaken.
pub fn tab(visit: &Visit, detail: &InstanceDetail, content: Content) -> AnyView {
    let because = blocked(visit, detail, InstanceVerb::Configure);
    let (idle, tags) = (idle(visit, detail, because.clone()), tags(visit, detail, because));
    let (size, scripts) = (size(visit, detail, content.sizes), scripts::form(visit, detail, &content.scripts));
    let danger = danger(visit, detail);
    let freeze = format!("{}?from={}", paths::new_environment(visit.slug()), detail.row.name);
    let stranger = (!detail.row.is_own).then(|| "Only its owner sees what is installed in it.".to_owned());
    let schedules = paths::instance_schedules(visit.slug(), &detail.row.name);
    view! {
        <div class="split">
            <div class="stack">{idle}{scripts}{size}{danger}</div>
            <aside class="stack">
                {tags}
                <Card heading="Environment">
                    <p class="muted">"What you have installed here, as an environment that jobs and other instances can use."</p>
                    <div class="row"><LinkButton href=freeze icon="code" disabled_because=stranger>"Freeze into an environment"</LinkButton></div>
                </Card>
                <Card heading="Schedules">
                    <p class="muted">"When it starts and stops by itself."</p>
                    <div class="row"><LinkButton href=schedules icon="calendar">"Edit schedules"</LinkButton></div>
                </Card>
            </aside>
        </div>
    }
    .into_any()
}

fn hidden(detail: &InstanceDetail) -> Vec<(&'static str, String)> {
    vec![("instance", detail.row.name.clone()), ("command_id", CommandId::random().as_str().to_owned())]
}

fn idle(visit: &Visit, detail: &InstanceDetail, because: Option<String>) -> AnyView {
    let state = visit.form("configure_instance");
    let policy = detail.watched.policy.as_ref();
    let minutes = policy.map(|policy| (policy.window.as_millis() / 60_000).to_string()).unwrap_or_default();
    let rules = &detail.rules;
    let required = if rules.is_required { "It is required here." } else { "Leave it empty for never." };
    let help = format!("Between {} and {} in this workspace. {required}", rules.min, rules.max);
    let counted = Source::ALL.into_iter().filter(|source| !matches!(source, Source::Job | Source::Extension));
    let boxes: Vec<_> = counted
        .map(|source| {
            let key = source_key(source);
            let is_counted = policy.is_none_or(|policy| policy.counts(source));
            let ticked = state.is_ticked("counts", key, is_counted);
            view! { <Checkbox name="counts[]" value=key label=label(source) ticked=ticked/> }
        })
        .collect();
    let counts_problem = state.problem("counts").map(|problem| view! { <p class="err">{problem}</p> });
    let hidden = hidden(detail);
    let fixed = because.is_some();
    let keeps = state.is_ticked("keeps_quota", "on", detail.keeps_quota);
    view! {
        <section id="idle">
            <Card heading="Idle shutdown and quota">
                <PostForm function="configure_instance" state=state.clone() hidden=hidden>
                    <Field
                        label="Stop after so many minutes without activity" name="idle" kind="number"
                        value=state.value("idle", &minutes) problem=state.problem("idle") help=help readonly=fixed
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
                    <div class="row">
                        <SubmitButton look=Look::Plain pending="Saving…" icon="check" disabled_because=because>"Save"</SubmitButton>
                    </div>
                </PostForm>
            </Card>
        </section>
    }
    .into_any()
}

const fn label(source: Source) -> &'static str {
    match source {
        Source::Kernel => "Notebook kernels that are busy",
        Source::Terminal => "Something typed or printed in a terminal",
        Source::Editor => "Typing in VS Code",
        Source::Ssh => "Bytes over SSH",
        Source::Job => "Jobs",
        Source::App => "Changes made in an application",
        Source::Processor => "Processes that use the processor",
        Source::Gpu => "Processes that use a GPU",
        Source::Extension => "Kept running by somebody",
    }
}

fn tags(visit: &Visit, detail: &InstanceDetail, because: Option<String>) -> AnyView {
    let (tags, typed) = (detail.tags.clone(), detail.tags_typed.clone());
    let (state, hidden, fixed) = (visit.form("tag_instance"), hidden(detail), because.is_some());
    view! { <TagsCard tags=tags typed=typed function="tag_instance" state=state hidden=hidden fixed=fixed/> }.into_any()
}

fn size(visit: &Visit, detail: &InstanceDetail, sizes: Vec<SizeRow>) -> AnyView {
    let because = blocked(visit, detail, InstanceVerb::Resize);
    let state = visit.form("resize_instance");
    if let Some(because) = because {
        let now = format!("It is of the size {}: {}.", detail.row.size, detail.row.shape);
        return view! {
            <section id="size"><Card heading="Size"><p>{now}</p><p class="muted">{because}</p></Card></section>
        }
        .into_any();
    }
    let hidden = hidden(detail);
    let chosen = state.value("size", &detail.row.size);
    view! {
        <section id="size">
            <Card heading="Size">
                <PostForm function="resize_instance" state=state.clone() hidden=hidden>
                    <SizeTable rows=sizes chosen=chosen problem=state.problem("size") for_oneself=true/>
                    <Field
                        label="Why" name="why" id="resize-why" value=state.value("why", "") problem=state.problem("why")
                        autocomplete="off" maxlength=MAX_WHY as u32 help="Goes to the history with your name."
                    />
                    <div class="row">
                        <SubmitButton look=Look::Plain pending="Changing…" icon="cpu">"Change size"</SubmitButton>
                    </div>
                </PostForm>
            </Card>
        </section>
    }
    .into_any()
}

fn danger(visit: &Visit, detail: &InstanceDetail) -> AnyView {
    let ask = |verb: BulkVerb| format!("{}?id={}", paths::confirm_instances(visit.slug(), verb.key()), detail.row.name);
    let rebuild = view! {
        <LinkButton
            href=ask(BulkVerb::Rebuild) icon="bolt" dialog=true
            disabled_because=blocked(visit, detail, InstanceVerb::Rebuild)
        >
            "Rebuild environment"
        </LinkButton>
    };
    let transfer = view! {
        <LinkButton
            href=paths::transfer_instance(visit.slug(), &detail.row.name) icon="user"
            disabled_because=blocked(visit, detail, InstanceVerb::Transfer)
        >
            "Give to somebody else"
        </LinkButton>
    };
    let delete = view! {
        <LinkButton
            href=ask(BulkVerb::Delete) icon="trash" look=Look::DangerQuiet dialog=true
            disabled_because=blocked(visit, detail, InstanceVerb::Delete)
        >
            "Delete instance"
        </LinkButton>
    };
    view! {
        <Card heading="Danger zone" class="danger-zone">
            <p class="muted">
                "A rebuild keeps the home and makes a fresh environment. Given to somebody else, it takes its home along, without keys \
                 and tokens. Deleting takes the home too."
            </p>
            <div class="row">{rebuild}{transfer}{delete}</div>
        </Card>
    }
    .into_any()
}
