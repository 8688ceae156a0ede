//! System calls that no sandbox has. To the programs in it they are missing, as in a kernel that was built
//! without them (`ENOSYS`), so that whatever has another way takes it.
//!
//! What people work with goes on working: threads, processes, shared and anonymous memory, debuggers of one's
//! own processes (`ptrace`), sandboxes that programs make for themselves by `seccomp` or Landlock. What does
//! not: containers inside a sandbox, Chromium's own sandbox (it needs `--no-sandbox`), 32-bit programs.
//!
//! `docs/security.md` names every one of them; a test compares.

use std::collections::BTreeMap;
use std::io;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, sock_filter,
};

/// When a call is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    Always,
    /// If its first argument has one of these bits.
    Flags(&'static [i32]),
    /// If its first argument is one of these.
    Is(&'static [i32]),
}

/// A call that is refused.
#[derive(Clone, Copy, Debug)]
pub struct Refused {
    pub name: &'static str,
    pub number: i64,
    pub when: When,
}

/// Calls that are refused for the same reason.
#[derive(Clone, Copy, Debug)]
pub struct Reason {
    pub why: &'static str,
    pub calls: &'static [Refused],
}

/// What makes a namespace, in which somebody without rights is root and reaches much more of the kernel.
const NAMESPACES: &[i32] = &[
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];

const fn always(name: &'static str, number: i64) -> Refused {
    Refused { name, number, when: When::Always }
}

/// All of them.
pub const REFUSED: &[Reason] = &[
    Reason {
        why: "A new user namespace makes anybody root inside it, and opens most of what the kernel keeps for root",
        calls: &[
            Refused { name: "clone", number: libc::SYS_clone, when: When::Flags(NAMESPACES) },
            Refused { name: "unshare", number: libc::SYS_unshare, when: When::Flags(NAMESPACES) },
            always("setns", libc::SYS_setns),
        ],
    },
    Reason {
        why: "Its flags lie in memory where no filter sees them; the C library falls back to clone",
        calls: &[always("clone3", libc::SYS_clone3)],
    },
    Reason {
        why: "Keyrings belong to users and sessions, not to sandboxes",
        calls: &[
            always("add_key", libc::SYS_add_key),
            always("request_key", libc::SYS_request_key),
            always("keyctl", libc::SYS_keyctl),
        ],
    },
    Reason {
        why: "Programs in the kernel, and what they can watch of others",
        calls: &[always("bpf", libc::SYS_bpf), always("perf_event_open", libc::SYS_perf_event_open)],
    },
    Reason {
        why: "Holds up the kernel, and whoever looks at the process, for as long as the program likes",
        calls: &[always("userfaultfd", libc::SYS_userfaultfd)],
    },
    Reason {
        why: "Does what other calls do, past any filter, and is a frequent source of holes",
        calls: &[
            always("io_uring_setup", libc::SYS_io_uring_setup),
            always("io_uring_enter", libc::SYS_io_uring_enter),
            always("io_uring_register", libc::SYS_io_uring_register),
        ],
    },
    Reason {
        why: "Opens files past the folders that lead to them",
        calls: &[always("open_by_handle_at", libc::SYS_open_by_handle_at)],
    },
    Reason {
        why: "What is mounted is decided outside",
        calls: &[
            always("mount", libc::SYS_mount),
            always("umount2", libc::SYS_umount2),
            always("pivot_root", libc::SYS_pivot_root),
            always("move_mount", libc::SYS_move_mount),
            always("open_tree", libc::SYS_open_tree),
            always("fsopen", libc::SYS_fsopen),
            always("fsconfig", libc::SYS_fsconfig),
            always("fsmount", libc::SYS_fsmount),
            always("fspick", libc::SYS_fspick),
            always("mount_setattr", libc::SYS_mount_setattr),
        ],
    },
    Reason {
        why: "Changes the kernel or the machine",
        calls: &[
            always("init_module", libc::SYS_init_module),
            always("finit_module", libc::SYS_finit_module),
            always("delete_module", libc::SYS_delete_module),
            always("kexec_load", libc::SYS_kexec_load),
            always("kexec_file_load", libc::SYS_kexec_file_load),
            always("reboot", libc::SYS_reboot),
            always("swapon", libc::SYS_swapon),
            always("swapoff", libc::SYS_swapoff),
            always("acct", libc::SYS_acct),
            always("quotactl", libc::SYS_quotactl),
            always("quotactl_fd", libc::SYS_quotactl_fd),
            #[cfg(target_arch = "x86_64")]
            always("iopl", libc::SYS_iopl),
            #[cfg(target_arch = "x86_64")]
            always("ioperm", libc::SYS_ioperm),
        ],
    },
    Reason { why: "The kernel's log names programs of others", calls: &[always("syslog", libc::SYS_syslog)] },
    Reason {
        why: "AF_VSOCK leads out of every network namespace, AF_ALG deep into the kernel; hardly anything uses them",
        calls: &[Refused { name: "socket", number: libc::SYS_socket, when: When::Is(&[libc::AF_VSOCK, libc::AF_ALG]) }],
    },
];

/// Calls of another numbering (x32) begin here. The table above does not know their numbers, so none is let
/// through.
#[cfg(target_arch = "x86_64")]
const OTHER_NUMBERS: u32 = 0x4000_0000;

/// Refuses these calls to this thread and all that it starts from now on, for good.
///
/// # Errors
/// Where the kernel cannot.
pub fn refuse_calls() -> io::Result<()> {
    seccompiler::apply_filter(&program()?).map_err(io::Error::other)
}

/// The same as a program for the kernel, as `bwrap --seccomp` reads it.
///
/// # Errors
/// On machines whose calls are not known.
pub fn refused_calls_program() -> io::Result<Vec<u8>> {
    let bytes = |line: sock_filter| {
        let ([c, d], [e, f, g, h]) = (line.code.to_ne_bytes(), line.k.to_ne_bytes());
        [c, d, line.jt, line.jf, e, f, g, h]
    };
    Ok(program()?.into_iter().flat_map(bytes).collect())
}

fn program() -> io::Result<BpfProgram> {
    let missing = || SeccompAction::Errno(libc::ENOSYS.cast_unsigned());
    let strange = |error: seccompiler::BackendError| io::Error::other(error);
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(strange)?;
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    for call in REFUSED.iter().flat_map(|reason| reason.calls) {
        let (values, is_mask) = match call.when {
            When::Always => (&[][..], false),
            When::Flags(bits) => (bits, true),
            When::Is(values) => (values, false),
        };
        let rule = |value: &i32| {
            let value = u64::from(value.cast_unsigned());
            let how = if is_mask { SeccompCmpOp::MaskedEq(value) } else { SeccompCmpOp::Eq };
            SeccompCondition::new(0, SeccompCmpArgLen::Dword, how, value)
                .and_then(|condition| SeccompRule::new(vec![condition]))
        };
        // No condition means always.
        rules.insert(call.number, values.iter().map(rule).collect::<Result<_, _>>().map_err(strange)?);
    }
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, missing(), arch).map_err(strange)?;
    let program: BpfProgram = filter.try_into().map_err(strange)?;
    #[cfg(target_arch = "x86_64")]
    let program = {
        let line = |code: u32, jf: u8, k: u32| sock_filter { code: code as u16, jt: 0, jf, k };
        let mut before = vec![
            line(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0),
            line(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, 1, OTHER_NUMBERS),
            line(libc::BPF_RET | libc::BPF_K, 0, missing().into()),
        ];
        before.extend(program);
        before
    };
    Ok(program)
}
