//! The fields of the form that submits a job.

use atelier_domain::compute::job::{MAX_ARRAY, MAX_RETRIES, Priority};
use atelier_domain::compute::size::Tier;
use atelier_domain::files::bytes;
use atelier_studio::jobs::form::JobForm;
use leptos::prelude::*;
use leptos::tachys::html::InertElement;

use crate::components::{Card, Checkbox, Field, SelectField, SizeTable, TextField, problem_line, tier_choice};
use crate::form::FormState;

pub fn what(state: &FormState, form: &JobForm) -> AnyView {
    let state = state.clone();
    let files = files(&state, form);
    let mut environments = vec![(String::new(), "What the system has".to_owned())];
    environments.extend(form.environments.iter().cloned());
    html! {
        <Card heading="What to run">
            <div class="stack">
                <Field
                    form=&state label="Command" name="command" autocomplete="off"
                    placeholder="python train.py --epochs 3"
                    help="A program and its arguments, split at spaces; quotation marks keep words together. No shell \
                          runs it, so there are no pipes and no variables in it."
                />
                <TextField
                    form=&state label="Script" name="script" rows=6
                    help="In place of a command: lines for sh, or for what the first line names, such as \
                          #!/usr/bin/env python3."
                />
                {files}
                <SelectField
                    form=&state label="Python packages" name="python_environment" options=environments
                    help="A named environment: its newest version is fixed when the job is submitted. The job waits \
                          without a node until it is built."
                />
                <TextField
                    form=&state label="Variables" name="environment" rows=3
                    help="One NAME=value a line."
                />
                <Field
                    form=&state label="Name" name="name" autocomplete="off"
                    help="What the list calls it; the command’s first word if empty."
                />
            </div>
        </Card>
    }
}

/// Files that were uploaded before, and the way to add more.
fn files(state: &FormState, form: &JobForm) -> AnyView {
    let known = form.values.get("file").cloned().unwrap_or_default();
    let kept: Vec<_> = known
        .into_iter()
        .map(|value| {
            let mut parts = value.splitn(3, ' ');
            let (_, size, path) = (parts.next(), parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
            let size = size.parse().map(bytes).unwrap_or_default();
            let path = path.to_owned();
            view! {
                <label class="check">
                    <input type="checkbox" name="file" value=value.clone() checked=true/>
                    <span class="mono">{path}<span class="help">{size}</span></span>
                </label>
            }
        })
        .collect();
    let kept = (!kept.is_empty()).then(|| {
        view! { <fieldset class="field kept"><legend class="label">"Files that come along"</legend>{kept}</fieldset> }
    });
    let problem = problem_line("f-upload-problem", state.problem("files"));
    let described = if problem.is_some() { "f-upload-problem f-upload-help" } else { "f-upload-help" };
    let most = bytes(form.upload_limit);
    let help = format!("They lie in the job’s folder, where it starts. At most {most} in one upload.");
    // The view macro does not know the attribute that lets one choose a folder.
    let off = if form.is_disk_low { " disabled" } else { "" };
    let folder =
        format!(r#"<input class="input" id="f-folder" name="upload" type="file" multiple webkitdirectory{off}>"#);
    html! {
        {kept}
        <div class="field">
            <label for="f-upload">"Add files"<span class="opt">" optional"</span></label>
            <input
                class="input" id="f-upload" name="upload" type="file" multiple=true aria-describedby=described
                disabled=form.is_disk_low
            />
            {problem}
            <p class="help" id="f-upload-help">{help}</p>
        </div>
        <div class="field">
            <label for="f-folder">"Add a folder"<span class="opt">" optional"</span></label>
            {InertElement::new(folder)}
        </div>
    }
}

/// Where, and on how much.
pub fn place(state: &FormState, form: &JobForm) -> AnyView {
    let state = state.clone();
    let value = |field: &str| state.value(field, "");
    let mut options = vec![(String::new(), "Serverless: nodes of its own, of the size below".to_owned())];
    options.extend(form.clusters.iter().map(|(name, size)| (name.clone(), format!("{name}, nodes of size {size}"))));
    let sizes = if form.sizes.is_empty() {
        html! { <p class="muted">"There is no size to run on yet. An operator adds one."</p> }
    } else {
        let otherwise = "The cheapest that fits; a cluster has its own.".to_owned();
        html! {
            <SizeTable
                legend="Size, if it is serverless" rows=form.sizes.clone() chosen=value("size") otherwise=otherwise
                for_oneself=true problem=state.problem("size")
            />
        }
    };
    let tier = match value("tier") {
        typed if typed.is_empty() => Tier::default().key().to_owned(),
        typed => typed,
    };
    let tier = tier_choice(&tier, state.problem("tier"));
    let nodes = match state.value("nodes", "1") {
        nodes if nodes.is_empty() => "1".to_owned(),
        nodes => nodes,
    };
    html! {
        <Card heading="Where">
            <div class="stack">
                <SelectField form=&state label="Compute" name="cluster" options=options/>
                {sizes}
                {tier}
                <div class="cols-4">
                    <Field
                        label="Nodes" name="nodes" value=nodes problem=state.problem("nodes") autocomplete="off"
                        help="At once."
                    />
                    <Field
                        form=&state label="Cores" name="cores" autocomplete="off"
                        help="On each; all if empty."
                    />
                    <Field
                        form=&state label="Memory" name="memory" autocomplete="off"
                        help="MiB, or such as 2 GiB; all if empty."
                    />
                    <Field
                        form=&state label="GPUs" name="gpus" autocomplete="off" help="On each; all if empty."
                    />
                </div>
            </div>
        </Card>
    }
}

/// How, and what else.
pub fn more(state: &FormState) -> AnyView {
    let state = state.clone();
    let value = |field: &str| state.value(field, "");
    let priorities: Vec<(String, String)> = Priority::ALL
        .into_iter()
        .map(|priority| {
            let words = match priority {
                Priority::High => "High: before all others",
                Priority::Medium => "Medium",
                Priority::Low => "Low: after all others",
            };
            (priority.key().to_owned(), words.to_owned())
        })
        .collect();
    let priority = match value("priority") {
        typed if typed.is_empty() => Priority::default().key().to_owned(),
        typed => typed,
    };
    let alone = state.is_ticked("own_sandbox", "on", false);
    let (most_retries, most_array) =
        (format!("At most {MAX_RETRIES}."), format!("At most {} jobs.", atelier_domain::text::grouped(MAX_ARRAY)));
    html! {
        <Card heading="How">
            <div class="stack">
                <div class="cols-4">
                    <SelectField
                        label="Priority" name="priority" value=priority options=priorities
                        problem=state.problem("priority")
                    />
                    <Field
                        form=&state label="Time limit" name="timeout" autocomplete="off"
                        help="Minutes, or such as 90 s or 2 h."
                    />
                    <Field
                        form=&state label="Retries" name="retries" autocomplete="off" help=most_retries
                    />
                    <Field form=&state label="Array" name="array" autocomplete="off" help=most_array/>
                </div>
                <p class="help">
                    "A retry follows a lost node, a lack of memory or an exit code other than 0. Each job of an array \
                     has its own ATELIER_ARRAY_INDEX, from 0."
                </p>
                <div class="cols-2">
                    <Field
                        form=&state label="After success of" name="after" autocomplete="off"
                        placeholder="job-12, job-15"
                        help="Ids or links of jobs that must end well first; if one does not, this never starts."
                    />
                    <Field
                        form=&state label="After any end of" name="after_any" autocomplete="off"
                        placeholder="job-12" help="Jobs that must be over first, however they ended."
                    />
                </div>
                <TextField
                    form=&state label="Tags" name="tags" rows=2
                    help="One name=value a line, to find it again."
                />
                <Field
                    form=&state label="Keep outputs in" name="keep_in" autocomplete="off"
                    placeholder="Users/ines/results"
                    help="A folder of Files. When the job is over its outputs are copied there, into a folder named by \
                          the job."
                />
                <Checkbox
                    name="own_sandbox" label="A sandbox of its own" ticked=alone
                    help="It starts a little later and shares nothing with your other jobs on the same node."
                />
            </div>
        </Card>
    }
}
