//! Every address of the portal, built in one place so that a link cannot point nowhere.

/// The page that makes the first account.
pub const SET_UP: &str = "/set-up";
/// The sign-in page.
pub const SIGN_IN: &str = "/sign-in";
pub const PROFILE: &str = "/profile";
/// Where a temporary password is replaced.
pub const NEW_PASSWORD: &str = "/new-password";
/// Where server functions live; `/api` is kept for the REST API.
pub const FUNCTIONS: &str = "/fn";

/// Home of a workspace.
pub fn home(workspace: &str) -> String {
    format!("/w/{workspace}")
}

/// The compute page; `tab` is one of `instances`, `clusters`, `attached`, `serverless`.
pub fn compute(workspace: &str, tab: &str) -> String {
    format!("/w/{workspace}/compute/{tab}")
}

/// The history of the workspace.
pub fn activity(workspace: &str) -> String {
    format!("/w/{workspace}/activity")
}

/// The list of jobs.
pub fn jobs(workspace: &str) -> String {
    format!("/w/{workspace}/jobs")
}

/// The jobs of one array, by the first of them.
pub fn job_array(workspace: &str, first: &str) -> String {
    format!("/w/{workspace}/jobs?array={first}")
}

/// The form that submits a job; `?clone=job-12` and `?cluster=name` fill it in.
pub fn new_job(workspace: &str) -> String {
    format!("/w/{workspace}/jobs/new")
}

/// Where that form is sent: fields and files together.
pub fn upload_job(workspace: &str) -> String {
    format!("/w/{workspace}/jobs/upload")
}

/// The page that asks before jobs are ended; the ids follow as `?id=…&id=…`.
pub fn cancel_jobs(workspace: &str) -> String {
    format!("/w/{workspace}/jobs/cancel")
}

/// The page that asks before jobs are held, released or evicted; the ids follow as `?id=…&id=…`.
pub fn confirm_jobs(workspace: &str, verb: &str) -> String {
    format!("/w/{workspace}/jobs/confirm/{verb}")
}

/// One job.
pub fn job(workspace: &str, id: &str) -> String {
    format!("/w/{workspace}/jobs/{id}")
}

/// What a job printed, as a file: `?attempt=1&node=7`, or the newest.
pub fn job_log(workspace: &str, id: &str) -> String {
    format!("/w/{workspace}/jobs/{id}/log")
}

/// The same as a stream.
pub fn job_log_events(workspace: &str, id: &str) -> String {
    format!("/w/{workspace}/jobs/{id}/log/events")
}

/// A file that one part of one attempt of a job left behind; the path is escaped already.
pub fn job_output(workspace: &str, id: &str, attempt: u32, rank: u32, path: &str) -> String {
    format!("/w/{workspace}/jobs/{id}/outputs/{attempt}/{rank}/{path}")
}

/// The list of people.
pub fn people(workspace: &str) -> String {
    format!("/w/{workspace}/admin/people")
}

/// The form that adds a person.
pub fn new_person(workspace: &str) -> String {
    format!("/w/{workspace}/admin/people/new")
}

/// One person.
pub fn person(workspace: &str, id: &str) -> String {
    format!("/w/{workspace}/admin/people/{id}")
}

/// The page that asks before a verb is carried out on people; the ids follow as `?id=…&id=…`.
pub fn confirm_people(workspace: &str, verb: &str) -> String {
    format!("/w/{workspace}/admin/people/confirm/{verb}")
}

/// The matrix of roles.
pub fn roles(workspace: &str) -> String {
    format!("/w/{workspace}/admin/roles")
}

/// One cluster, by its name.
pub fn cluster(workspace: &str, name: &str) -> String {
    format!("/w/{workspace}/compute/clusters/{name}")
}

/// The form that makes a cluster.
pub fn new_cluster(workspace: &str) -> String {
    format!("/w/{workspace}/compute/clusters/new")
}

/// The page that asks before a cluster is deleted.
pub fn delete_cluster(workspace: &str, name: &str) -> String {
    format!("/w/{workspace}/compute/clusters/{name}/delete")
}

/// What other settings would have done to a cluster's jobs of the last days.
pub fn preview_cluster(workspace: &str, name: &str) -> String {
    format!("/w/{workspace}/compute/clusters/{name}/preview")
}

/// The chart of one's last preview.
pub fn preview_chart(workspace: &str) -> String {
    format!("/w/{workspace}/preview.svg")
}

/// The catalogue of sizes.
pub fn sizes(workspace: &str) -> String {
    format!("/w/{workspace}/admin/sizes")
}

/// The form for a size: a new one, or the one of that name.
pub fn size(workspace: &str, name: &str) -> String {
    format!("/w/{workspace}/admin/sizes/{name}")
}

/// The page that asks before a size is removed.
pub fn remove_size(workspace: &str, name: &str) -> String {
    format!("/w/{workspace}/admin/sizes/{name}/remove")
}

/// The named environments of jobs and notebooks.
pub fn environments(workspace: &str) -> String {
    format!("/w/{workspace}/environments")
}

/// The form that makes one; `?of=name` for another version of one, `?from=instance` with what an instance
/// holds.
pub fn new_environment(workspace: &str) -> String {
    format!("/w/{workspace}/environments/new")
}

/// The page that compares two versions: `?before=churn:2&after=churn:3`.
pub fn compare_environments(workspace: &str) -> String {
    format!("/w/{workspace}/environments/compare")
}

/// One named environment; `?version=2`, or the newest.
pub fn named_environment(workspace: &str, name: &str) -> String {
    format!("/w/{workspace}/environments/{name}")
}

/// The question before it is deleted.
pub fn delete_environment(workspace: &str, name: &str) -> String {
    format!("/w/{workspace}/environments/{name}/delete")
}

/// The Python environment of instances.
pub fn environment(workspace: &str) -> String {
    format!("/w/{workspace}/admin/environment")
}

/// Drivers, agents and the loop.
pub fn engines(workspace: &str) -> String {
    format!("/w/{workspace}/admin/engines")
}

/// The page that asks before something unknown is removed; what follows as `?site=…&name=…`.
pub fn remove_unknown(workspace: &str) -> String {
    format!("/w/{workspace}/admin/engines/remove")
}

/// The page that asks what becomes of something in quarantine; what follows as `?name=…`.
pub fn quarantine(workspace: &str) -> String {
    format!("/w/{workspace}/admin/engines/quarantine")
}

/// What computes, people and jobs cost: `?days=30`, or `?from=…&to=…`, and `by`.
pub fn cost(workspace: &str) -> String {
    format!("/w/{workspace}/cost")
}

/// What may be spent in a month.
pub fn budgets(workspace: &str) -> String {
    format!("/w/{workspace}/cost/budgets")
}

/// The cost of a selection as a file for spreadsheets.
pub fn cost_file(workspace: &str) -> String {
    format!("/w/{workspace}/cost.csv")
}

/// What may be held, what is, and by what.
pub fn quota(workspace: &str) -> String {
    format!("/w/{workspace}/admin/quota")
}

/// Who is meant to have how much of what is shared.
pub fn shares(workspace: &str) -> String {
    format!("/w/{workspace}/admin/shares")
}

/// Search everywhere.
pub fn search(workspace: &str) -> String {
    format!("/w/{workspace}/search")
}

/// The stream of revisions.
pub fn events(workspace: &str) -> String {
    format!("/w/{workspace}/events")
}

/// Whether an address is that of a server function.
pub fn is_function(path: &str) -> bool {
    path.strip_prefix(FUNCTIONS).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The address of a server function.
pub fn function(name: &str) -> String {
    format!("{FUNCTIONS}/{name}")
}

/// The page that leads into an application of an instance, and says so where that cannot be.
pub fn open_app(workspace: &str, instance: &str, app: &str, next: &str) -> String {
    let query = query("next", next);
    format!("/w/{workspace}/instances/{instance}/open/{app}{query}")
}

/// Goes into an application with a code that counts once.
pub fn enter_app(workspace: &str, instance: &str, app: &str, next: &str) -> String {
    let query = query("next", next);
    format!("/w/{workspace}/instances/{instance}/enter/{app}{query}")
}

/// One instance, by its name.
pub fn instance(workspace: &str, name: &str) -> String {
    format!("/w/{workspace}/compute/instances/{name}")
}

/// The wizard that makes an instance; what was typed so far follows as `?draft=…&step=…`.
pub fn new_instance(workspace: &str) -> String {
    format!("/w/{workspace}/compute/instances/new")
}

/// Where each step of the wizard is sent.
pub fn new_instance_step(workspace: &str) -> String {
    format!("/w/{workspace}/compute/instances/new/step")
}

/// When an instance starts and stops by itself.
pub fn instance_schedules(workspace: &str, name: &str) -> String {
    format!("/w/{workspace}/compute/instances/{name}/schedules")
}

/// What starts and stops by itself this week.
pub fn schedules(workspace: &str) -> String {
    format!("/w/{workspace}/schedules")
}

/// The settings of the workspace.
pub fn settings(workspace: &str) -> String {
    format!("/w/{workspace}/admin/settings")
}

/// A tab of the page of an instance: `apps`, `jobs`, `logs`, `monitoring`, `history`, `sharing` or
/// `settings`; empty for the first.
pub fn instance_tab(workspace: &str, name: &str, tab: &str) -> String {
    match tab {
        "" => instance(workspace, name),
        tab => format!("/w/{workspace}/compute/instances/{name}/{tab}"),
    }
}

/// The page that asks to whom an instance is given, and says what that means.
pub fn transfer_instance(workspace: &str, name: &str) -> String {
    format!("/w/{workspace}/compute/instances/{name}/transfer")
}

/// The page that asks before a verb is carried out on instances; the names follow as `?id=…&id=…`.
pub fn confirm_instances(workspace: &str, verb: &str) -> String {
    format!("/w/{workspace}/instances/confirm/{verb}")
}

/// What an instance printed, as a file: `setup-3`, or the name of an application.
pub fn instance_log(workspace: &str, name: &str, log: &str) -> String {
    format!("/w/{workspace}/instances/{name}/logs/{log}")
}

/// The same as a stream.
pub fn instance_log_events(workspace: &str, name: &str, log: &str) -> String {
    format!("/w/{workspace}/instances/{name}/logs/{log}/events")
}

/// Where the form for scripts is sent: texts and files together.
pub fn instance_scripts(workspace: &str, name: &str) -> String {
    format!("/w/{workspace}/instances/{name}/scripts")
}

/// `?key=value`, with everything escaped that is neither letter nor digit.
fn query(key: &str, value: &str) -> String {
    format!("?{key}={}", percent_encoding::utf8_percent_encode(value, percent_encoding::NON_ALPHANUMERIC))
}

fn with_path(page: String, path: &str) -> String {
    if path.is_empty() {
        return page;
    }
    let query = query("path", path);
    format!("{page}{query}")
}

/// A folder of the workspace's files; empty for the top.
pub fn files(workspace: &str, path: &str) -> String {
    with_path(format!("/w/{workspace}/files"), path)
}

/// A page about one file or folder: `view`, `edit`, `new`, `move`.
pub fn file_page(workspace: &str, page: &str, path: &str) -> String {
    with_path(format!("/w/{workspace}/files/{page}"), path)
}

/// What was deleted.
pub fn trash(workspace: &str) -> String {
    format!("/w/{workspace}/files/trash")
}

/// Who uses how much, and what could go.
pub fn files_usage(workspace: &str) -> String {
    format!("/w/{workspace}/files/usage")
}

/// The page that asks before something is deleted; the paths follow as `?id=…&id=…`.
pub fn delete_files(workspace: &str) -> String {
    format!("/w/{workspace}/files/delete")
}

/// A file as it is.
pub fn file_download(workspace: &str, path: &str) -> String {
    with_path(format!("/w/{workspace}/files/download"), path)
}

/// A folder as one archive.
pub fn file_zip(workspace: &str, path: &str) -> String {
    with_path(format!("/w/{workspace}/files/zip"), path)
}

/// A picture, to be shown in a page.
pub fn file_image(workspace: &str, path: &str) -> String {
    with_path(format!("/w/{workspace}/files/image"), path)
}

/// A picture in a notebook.
pub fn notebook_image(workspace: &str, path: &str, cell: usize, output: usize) -> String {
    format!("{}&cell={cell}&output={output}", with_path(format!("/w/{workspace}/files/notebook-image"), path))
}

/// Where files are sent, into the folder at `path`.
pub fn file_upload(workspace: &str, path: &str) -> String {
    with_path(format!("/w/{workspace}/files/upload"), path)
}

/// Where the editor sends its text.
pub fn file_save(workspace: &str) -> String {
    format!("/w/{workspace}/files/save")
}

/// Uploads in pieces.
pub fn file_pieces(workspace: &str) -> String {
    format!("/w/{workspace}/files/uploads")
}
