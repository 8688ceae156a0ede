//! The launcher of sandboxes for single jobs. It has the view of its person and is still root, and each of
//! its workers gets a copy of that view with processes, files in memory and temporary files of its own. To
//! put a whole view together for each job would take several times as long.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{CWD, Mode, OFlags, StatVfsMountFlags, open, statvfs};
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, mount, mount_change, mount_remount, move_mount,
};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space};

use super::resident;

/// Where the temporary files of a worker are.
const TEMPORARY: &str = "/tmp";

/// Makes workers whose jobs run as that user, each as the first process of a space of its own: when it ends,
/// the system ends all that is in there.
pub fn serve(socket: &OwnedFd, user: &str) -> io::Result<()> {
    let own = File::open("/proc/self/ns/pid")?;
    resident::serve(socket, &mut |files| {
        unshare(UnshareFlags::NEWPID)?;
        let started = resident::start(files, &["apart", user]);
        // The next one needs a space of its own again, and can only have one from here.
        move_into_link_name_space(own.as_fd(), Some(LinkNameSpaceType::ProcessID))?;
        started
    })
}

/// Makes workers that are processes of their own and no more, where there are no views.
pub fn serve_plainly(socket: &OwnedFd, user: Option<&str>) -> io::Result<()> {
    let arguments: Vec<&str> = ["worker"].into_iter().chain(user).collect();
    resident::serve(socket, &mut |files| resident::start(files, &arguments))
}

/// Turns the view of this process into one of its own. Its temporary files came as its standard output.
pub fn become_apart() -> io::Result<()> {
    unshare(UnshareFlags::NEWNS | UnshareFlags::NEWIPC)?;
    // Nothing that is mounted from here on is seen elsewhere.
    mount_change("/", MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC)?;
    move_mount(io::stdout().as_fd(), "", CWD, TEMPORARY, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?;
    mount_change(TEMPORARY, MountPropagationFlags::PRIVATE)?;
    mount_remount(TEMPORARY, MountFlags::BIND | kept_flags(TEMPORARY)? | MountFlags::NOSUID | MountFlags::NODEV, "")?;
    rustix::stdio::dup2_stdout(open("/dev/null", OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?)?;
    let no_programs = MountFlags::NOSUID | MountFlags::NOEXEC;
    mount("proc", "/proc", "proc", no_programs | MountFlags::NODEV, None)?;
    mount("devpts", "/dev/pts", "devpts", no_programs, c"newinstance,ptmxmode=0666,mode=620")?;
    mount("tmpfs", "/dev/shm", "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, c"mode=1777")?;
    Ok(())
}

/// What whoever set up the machine has said about a mount, and must stay.
fn kept_flags(path: &str) -> io::Result<MountFlags> {
    let found = statvfs(path)?.f_flag;
    let mut flags = MountFlags::empty();
    for (has, flag) in [
        (StatVfsMountFlags::RDONLY, MountFlags::RDONLY),
        (StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
        (StatVfsMountFlags::NOATIME, MountFlags::NOATIME),
        (StatVfsMountFlags::NODIRATIME, MountFlags::NODIRATIME),
        (StatVfsMountFlags::RELATIME, MountFlags::RELATIME),
    ] {
        flags.set(flag, found.contains(has));
    }
    Ok(flags)
}

#[expect(
    deprecated,
    reason = "it is unsafe only to have other open files than other threads, which is not asked for here"
)]
fn unshare(what: UnshareFlags) -> rustix::io::Result<()> {
    rustix::thread::unshare(what)
}
