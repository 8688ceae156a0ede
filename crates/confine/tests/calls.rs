//! What a sandbox refuses, and what people need and still have, with the real kernel.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::fmt::Write as _;
use std::process::{Command, Output};

use atelier_confine::{REFUSED, When, refuse_calls, refused_calls_program};

/// The kernel has no such call (`ENOSYS`).
const MISSING: i32 = 38;

/// Runs a command as everything in a sandbox runs.
fn confined(mut command: Command) -> Output {
    let thread = std::thread::spawn(move || {
        refuse_calls().unwrap();
        command.output().unwrap()
    });
    thread.join().unwrap()
}

fn python(text: &str) -> Command {
    let mut command = Command::new("/usr/bin/python3");
    command.args(["-I", "-c", text]);
    command
}

fn printed(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Each call that the table names, as a program would try it: its name and its error.
fn attempts() -> String {
    let mut text = String::from("import ctypes, os\nc = ctypes.CDLL(None, use_errno=True)\n");
    for call in REFUSED.iter().flat_map(|reason| reason.calls) {
        let first: &[i32] = match call.when {
            When::Always => &[0],
            When::Flags(values) | When::Is(values) => values,
        };
        for first in first {
            let _ = write!(
                text,
                "ctypes.set_errno(0)\nif c.syscall({}, {first}, 0, 0, 0, 0) == 0 and {:?} == 'clone': os._exit(0)\n\
                 print({:?}, ctypes.get_errno())\n",
                call.number, call.name, call.name
            );
        }
    }
    text
}

#[test]
fn every_call_of_the_table_is_missing() {
    let text = printed(&confined(python(&attempts())));
    let missing = format!(" {MISSING}");
    let present: Vec<&str> = text.lines().filter(|line| !line.ends_with(&missing)).collect();
    assert_eq!(present, Vec::<&str>::new());
    assert!(text.lines().count() > 40, "{text}");
}

/// Also from the numbering of x32, if the kernel has it.
#[cfg(target_arch = "x86_64")]
#[test]
fn no_other_numbering_leads_around_it() {
    let text = "import ctypes\nc = ctypes.CDLL(None, use_errno=True)\n\
                print(c.syscall(0x40000000 | 39), ctypes.get_errno())";
    assert_eq!(printed(&confined(python(text))).trim(), format!("-1 {MISSING}"));
}

#[test]
fn what_people_need_works() {
    for (what, text) in [
        (
            "threads and processes",
            "import threading, subprocess, os, time\n\
             t = threading.Thread(target=lambda: print('thread')); t.start(); t.join()\n\
             pid = os.fork()\nif pid == 0: os._exit(7)\nprint(os.waitpid(pid, 0)[1] >> 8)\n\
             print(subprocess.run(['sh', '-c', 'echo child | cat'], capture_output=True, text=True).stdout.strip())",
        ),
        (
            "loaders with many workers and shared memory",
            "import multiprocessing as m\nfrom multiprocessing import shared_memory\n\
             def square(x): return x * x\n\
             with m.get_context('fork').Pool(4) as pool: print(sum(pool.map(square, range(100))))\n\
             s = shared_memory.SharedMemory(create=True, size=1 << 20); s.buf[7] = 42\n\
             o = shared_memory.SharedMemory(name=s.name); print(o.buf[7]); o.close(); s.close(); s.unlink()",
        ),
        (
            "files in memory, mappings, events",
            "import os, mmap, select, socket, signal\n\
             f = os.memfd_create('x'); os.ftruncate(f, 4096); m = mmap.mmap(f, 4096); m[:2] = b'hi'; print(m[:2])\n\
             e = select.epoll(); a, b = socket.socketpair(); e.register(b, select.EPOLLIN); a.send(b'x')\n\
             print(len(e.poll(5))); socket.socket(socket.AF_INET); socket.socket(socket.AF_INET6)\n\
             socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)\n\
             os.unshare(os.CLONE_FILES) if hasattr(os, 'unshare') else None",
        ),
        (
            "a debugger of one's own processes",
            "import ctypes, os, signal\nc = ctypes.CDLL(None, use_errno=True)\npid = os.fork()\n\
             if pid == 0: signal.pause()\n\
             print(c.ptrace(16, pid, 0, 0)); os.waitpid(pid, 0); print(c.ptrace(17, pid, 0, 0)); os.kill(pid, 9)",
        ),
        ("a sandbox of a program's own", "import ctypes\nc = ctypes.CDLL(None)\nprint(c.prctl(38, 1, 0, 0, 0))"),
    ] {
        let with = printed(&confined(python(text)));
        let without = printed(&python(text).output().unwrap());
        assert_eq!(with, without, "{what}");
    }
}

/// Programs that people use, as far as this machine has them.
#[test]
fn programs_that_people_use_run() {
    for (program, script) in [
        (
            "git",
            "cd $(mktemp -d) && git init -q . && git -c user.name=x -c user.email=x@y.z commit -q --allow-empty -m x \
             && git log --format=%s",
        ),
        (
            "node",
            "node -e \"const worker = new (require('worker_threads').Worker)('process.exit(0)', {eval: true});\
             worker.on('exit', code => require('fs').promises.readFile('/etc/passwd').then(() => console.log(code)))\"",
        ),
        ("npm", "npm --version"),
        ("gdb", "sleep 60 & gdb -nx -batch -p $! -ex 'info inferiors' 2>/dev/null | grep -c 'process '; kill $!"),
        ("strace", "strace -qq -e trace=none -f sh -c 'echo traced' 2>/dev/null"),
        ("gcc", "cd $(mktemp -d) && echo 'int main(void){return 0;}' > x.c && gcc -o x x.c && ./x && echo built"),
    ] {
        if !["/usr/bin", "/usr/local/bin"].iter().any(|folder| std::path::Path::new(folder).join(program).exists()) {
            println!("{program} is not here");
            continue;
        }
        let run = || {
            let mut command = Command::new("/bin/sh");
            command.args(["-c", script]);
            command
        };
        assert_eq!(printed(&confined(run())), printed(&run().output().unwrap()), "{program}");
    }
}

#[test]
fn it_holds_for_what_is_started_and_cannot_be_taken_off() {
    let mut unshare = Command::new("/bin/sh");
    unshare.args(["-c", "unshare --user true 2>/dev/null && echo out; grep ^Seccomp: /proc/self/status; exec true"]);
    assert_eq!(printed(&confined(unshare)).split_whitespace().collect::<Vec<_>>(), ["Seccomp:", "2"]);
}

#[test]
fn bubblewrap_reads_the_same_program() {
    let bytes = refused_calls_program().unwrap();
    assert!(bytes.len().is_multiple_of(8) && bytes.len() > 400, "{}", bytes.len());
}

/// Newcomers read there what is refused.
#[test]
fn the_docs_name_every_call() {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/security.md")).unwrap();
    let is_named = |name: &str| text.contains(&format!("`{name}`"));
    let calls = REFUSED.iter().flat_map(|reason| reason.calls);
    let unnamed: Vec<&str> = calls.map(|call| call.name).filter(|name| !is_named(name)).collect();
    assert_eq!(unnamed, Vec::<&str>::new());
}
