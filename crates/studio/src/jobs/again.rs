//! What a job ran, submitted once more.

use atelier_domain::access::{Action, Whose};
use atelier_domain::error::AppError;
use atelier_domain::files::FilePath;
use atelier_engine::run::CommandId;

use crate::caller::Caller;
use crate::jobs::detail::find;
use crate::jobs::submit::{Submitted, submit};
use crate::jobs::typed::{Withheld, request_of};
use crate::jobs::view::Compute;
use crate::orders::ask;

/// Submits the same with the same settings; an array as a whole. Needs `job.submit`.
pub async fn run_again(caller: &Caller, id: CommandId, job: &str) -> Result<Submitted, AppError> {
    caller.authorise_for(Action::JobSubmit, Whose::Own).await?;
    let row = find(caller, job).await?;
    let mut tasks = caller.checked(caller.store().job_tasks(&[row.job.id]).await)?;
    let mut task = tasks.remove(&row.job.id).ok_or_else(|| AppError::not_found("command of this job"))?;
    let is_own = row.job.owner == caller.actor()?.person.id;
    if !is_own && let Some(what) = Withheld::from(&mut task).what() {
        return Err(AppError::Refused {
            code: "job.owners-alone".into(),
            message: format!(
                "{job} needs {what} that only its owner can use. Copy the job and fill in your own, or ask its owner \
                 to run it again."
            ),
        });
    }
    let target = row.job.spec.target.clone();
    let compute = ask(caller, move |world| Compute::of(world, &target)).await?;
    if let Compute::Gone(_) | Compute::Instance(_) = compute {
        let ran_on = compute.label();
        return Err(AppError::Refused {
            code: "job.compute-gone".into(),
            message: format!("It ran on {ran_on}, which takes no more jobs. Copy the job and choose another compute."),
        });
    }
    let keep_in = caller.checked(caller.store().keeps_in(row.job.id).await)?;
    let mut request = request_of(&row, &task, &compute, &keep_in);
    // What somebody else kept in their own folder is no place for one's own.
    if !is_own && FilePath::parse(&keep_in).is_ok_and(|path| path.person().is_some()) {
        request.keep_in.clear();
    }
    request.array = row.job.array.map(|place| place.count);
    submit(caller, id, &request).await
}
