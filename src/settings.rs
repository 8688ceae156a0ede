//! The settings of the workspace: what is allowed and demanded of idle shutdown.

use atelier_domain::access::Action;
use atelier_domain::compute::idle::{IdleRules, MAX_WINDOW, MIN_WINDOW};
use atelier_domain::files::bytes;
use atelier_domain::history::Topic;
use atelier_domain::text::counted;
use atelier_domain::time::Span;
use atelier_engine::run::CommandId;
use atelier_studio::files::list::files_limit;
use atelier_studio::schedules::idle;
use leptos::prelude::*;

use crate::components::{Card, Checkbox, Field, Look, NavItem, Page, PostForm, SaveRow};
use crate::frame::{Place, Visit, load, studio};
use crate::server::caller::here;

/// The settings of the workspace.
#[component]
pub fn SettingsPage() -> impl IntoView {
    studio(Place::of(NavItem::Settings, Action::WorkspaceRead, &[Topic::Engine]), |visit| {
        let read = async {
            let caller = here()?;
            Ok((idle::read(&caller).await?, files_limit(&caller).await?))
        };
        load(visit.viewer.clone(), read, move |((rules, count), limit)| show(&visit, &rules, count, limit))
    })
}

fn minutes(span: Span) -> String {
    (span.as_millis() / 60_000).to_string()
}

fn show(visit: &Visit, rules: &IdleRules, count: usize, limit: Option<u64>) -> AnyView {
    let files = files_card(visit, limit);
    let state = visit.form("set_idle_rules");
    let because = visit.viewer.refusal(Action::WorkspaceWrite);
    let fixed = because.is_some();
    let hidden = vec![("command_id", CommandId::random().as_str().to_owned())];
    let default = state.value("default", &rules.default.map(minutes).unwrap_or_default());
    let (min, max) = (state.value("min", &minutes(rules.min)), state.value("max", &minutes(rules.max)));
    let required = state.is_ticked("required", "on", rules.is_required);
    let demanded = if fixed {
        let words = if rules.is_required {
            "Every instance must have idle shutdown."
        } else {
            "Instances may go without idle shutdown."
        };
        html! { <p>{words}</p> }
    } else {
        html! {
            <Checkbox
                name="required" label="Every instance must have idle shutdown" ticked=required
                help="Instances without it get the default, and nobody can switch it off."
            />
        }
    };
    let bounds = format!("{MIN_WINDOW} to {MAX_WINDOW}, written in minutes.");
    let follow = format!(
        "{} in this workspace. Those that break the rules are changed when you save, and say so in their history.",
        counted(count as u64, "instance is", "instances are")
    );
    html! {
        <Page heading="Settings" sub="What holds for the whole workspace.">
            <Card heading="Idle shutdown" note="of instances">
                <PostForm function="set_idle_rules" state=state.clone() hidden=hidden>
                    <p class="muted">
                        "An instance stops when nobody has used it for this long. Its owner is warned five minutes \
                         before, and can keep it running."
                    </p>
                    <div class="cols-3">
                        <Field
                            form=&state label="Default for new instances, minutes" name="default" kind="number"
                            value=default readonly=fixed
                            help="Empty: new instances have none unless somebody asks for it."
                        />
                        <Field
                            form=&state label="Shortest, minutes" name="min" kind="number" value=min required=true
                            readonly=fixed help=bounds.clone()
                        />
                        <Field
                            form=&state label="Longest, minutes" name="max" kind="number" value=max required=true
                            readonly=fixed help=bounds
                        />
                    </div>
                    {demanded}
                    <p class="faint xs">{follow}</p>
                    <SaveRow label="Save rules" look=Look::Primary disabled_because=because/>
                </PostForm>
            </Card>
            {files}
        </Page>
    }
}

/// How much each person may keep in Files.
fn files_card(visit: &Visit, limit: Option<u64>) -> AnyView {
    let state = visit.form("set_files_limit");
    let because = visit.viewer.refusal(Action::WorkspaceWrite);
    let (fixed, value) = (because.is_some(), state.value("limit", &limit.map(bytes).unwrap_or_default()));
    html! {
        <Card heading="Files" note="of each person">
            <PostForm function="set_files_limit" state=state.clone()>
                <p class="muted">
                    "Uploads, the editor and kept outputs are refused beyond it, with the numbers. Programs in \
                     instances and jobs are not stopped by it, but what they write counts."
                </p>
                <Field
                    form=&state label="Each person may keep" name="limit" value=value readonly=fixed autocomplete="off"
                    placeholder="20 GiB" help="A size such as 20 GiB; empty for no limit."
                />
                <SaveRow label="Save limit" look=Look::Primary disabled_because=because/>
            </PostForm>
        </Card>
    }
}
