"""Another person's job on the same node: tries everything on the first, and says of each attempt what came of it.

Each attempt returns what it got; nothing, or an error of the system, means that it held.
"""
import ctypes, glob, json, os, signal, socket, subprocess, sys, urllib.request

shared = os.environ["ATELIER_SHARED_DIR"]
facts = json.load(open(os.path.join(shared, "facts.json")))
given = json.loads(sys.argv[1])
libc = ctypes.CDLL(None, use_errno=True)
victims = [facts["pid"], facts["child"]]
ATTEMPTS = {}


def attempt(function):
    ATTEMPTS[function.__name__.replace("_", "-")] = function
    return function


def read(path):
    with open(path, "rb") as file:
        return file.read(4096)


def any_of(paths, do=read):
    """What the first of them gives."""
    for path in paths:
        try:
            got = do(path)
        except OSError:
            continue
        if got:
            return "%s: %r" % (path, got[:60] if isinstance(got, bytes) else got)


def append(path):
    with open(path, "ab") as file:
        file.write(b"")
    return "can be written"


def secret(got):
    return got if facts["secret"].encode() in got else None


def connected(family, address):
    with socket.socket(family) as stream:
        stream.settimeout(5)
        stream.connect(address)
        return stream.recv(100) or b"connected"


def call(name, *arguments):
    ctypes.set_errno(0)
    result = getattr(libc, name)(*arguments)
    if result == -1:
        raise OSError(ctypes.get_errno(), name)
    return result


def is_victims(pid):
    """Whether a process of that number here is the victim's: in a view of its own it is somebody else's."""
    try:
        return os.stat("/proc/%d" % pid).st_uid == facts["uid"]
    except OSError:
        return False


@attempt
def loopback():
    return connected(socket.AF_INET, ("127.0.0.1", facts["port"]))


@attempt
def loopback_tables():
    needle = ":%04X " % facts["port"]
    return needle if needle in open("/proc/net/tcp").read() else None


@attempt
def abstract_sockets():
    return connected(socket.AF_UNIX, "\0" + facts["abstract"])


@attempt
def abstract_names():
    return facts["abstract"] if facts["abstract"] in open("/proc/net/unix").read() else None


@attempt
def server_ports_on_other_addresses():
    # Whoever takes “localhost” for the other family would send tokens here.
    with socket.socket(socket.AF_INET6) as stream:
        stream.bind(("::1", given["port"]))
        return "[::1]:%d" % given["port"]


@attempt
def server_by_name():
    host = os.environ["ATELIER_URL"].split("//")[1].rsplit(":", 1)[0]
    return host if any(c.isalpha() for c in host) and not host.startswith("[") else None


@attempt
def process_list():
    return any_of(glob.glob("/proc/[0-9]*/cmdline"), lambda path: b"86399" in read(path) and "seen")


@attempt
def process_memory():
    names = ["environ", "mem", "maps", "fd/0", "root/etc/passwd", "cwd/result", "stack", "syscall", "auxv"]
    return any_of("/proc/%d/%s" % (pid, name) for pid in victims if is_victims(pid) for name in names)


@attempt
def signals():
    for pid in victims:
        if is_victims(pid):
            for number in [0, signal.SIGSTOP, signal.SIGKILL]:
                try:
                    os.kill(pid, number)
                    return "signal %d" % number
                except PermissionError:
                    pass


@attempt
def ptrace():
    for pid in victims:
        if is_victims(pid):
            try:
                return call("ptrace", 16, pid, 0, 0) == 0 and "attached"
            except OSError:
                pass


@attempt
def launcher():
    """The processes of ours that hold connections to the agent."""
    above, seen = os.getppid(), []
    while above > 1 and len(seen) < 8:
        seen.append(above)
        above = int(open("/proc/%d/stat" % above).read().rsplit(")", 1)[1].split()[1])
    seen.append(1)
    names = ["environ", "mem", "maps", "fd/0"]
    got = any_of("/proc/%d/%s" % (pid, name) for pid in seen for name in names if os.getpid() != pid)
    for pid in seen:
        try:
            return got or (call("ptrace", 16, pid, 0, 0) == 0 and "attached to %d" % pid)
        except OSError:
            pass
    return got


@attempt
def tmp_open_files():
    return any_of([facts["tmp_open"]], lambda path: secret(read(path)))


@attempt
def tmp_closed_files():
    return any_of([facts["tmp_closed"]])


@attempt
def shared_memory_open():
    return any_of([facts["shm_open"]], lambda path: secret(read(path)))


@attempt
def shared_memory_closed():
    return any_of([facts["shm_closed"]])


def segment(key):
    number = call("shmget", key, 4096, 0)
    libc.shmat.restype = ctypes.c_void_p
    at = libc.shmat(number, None, 0o10000)
    return None if at in (None, ctypes.c_void_p(-1).value) else ctypes.string_at(at, 30)


@attempt
def sysv_memory_open():
    return segment(facts["sysv_open"])


@attempt
def sysv_memory_closed():
    return segment(facts["sysv_closed"])


@attempt
def keyrings():
    numbers = given["calls"]
    got = [libc.syscall(numbers["keyctl"], 0, ring, 0) for ring in (-3, -4, -5)]
    got.append(libc.syscall(numbers["add_key"], b"user", b"x", b"y", 1, -4))
    return got if any(number != -1 for number in got) else None


@attempt
def control_groups():
    found = glob.glob("/sys/fs/cgroup/**/cgroup.procs", recursive=True)
    found += glob.glob("/sys/fs/cgroup/**/*limit_in_bytes", recursive=True)
    found += glob.glob("/sys/fs/cgroup/**/memory.max", recursive=True)
    return any_of(found, append)


@attempt
def homes():
    paths = [facts["homefile"], os.path.join(given["data"], "files/homes", given["victim"], "file")]
    homes = [facts["home"], os.path.join(given["data"], "files/homes"), os.path.join(given["data"], "instances")]
    mine = os.path.realpath(os.environ["HOME"])
    files = [path for path in paths if os.path.realpath(os.path.dirname(path)) != mine]
    folders = [home for home in homes if os.path.realpath(home) != mine]
    return any_of(files, lambda path: secret(read(path))) or any_of(folders, os.listdir)


@attempt
def own_folders_in_files():
    path = facts["own"]
    return any_of([path]) or any_of([path], append) or any_of([os.path.dirname(path)], os.listdir)


@attempt
def files_of_others_removed():
    os.unlink(facts["shared"])
    return "removed"


@attempt
def files_of_others_changed():
    return append(facts["shared"])


@attempt
def job_folders():
    paths = [facts["output"], os.path.join(given["data"], "jobs", given["victim"])]
    if os.path.dirname(os.path.realpath(facts["folder"])) != os.path.dirname(os.path.realpath(os.getcwd())):
        paths.append(facts["folder"])
    return any_of(paths, lambda path: os.listdir(path) if os.path.isdir(path) else secret(read(path)))


@attempt
def logs_and_outputs_on_disk():
    places = ["logs", "outputs", "blobs", "samples", "trash", "quarantine"]
    return any_of((os.path.join(given["data"], place) for place in places), os.listdir)


@attempt
def tokens():
    own = os.path.realpath(os.environ["ATELIER_TOKEN_FILE"])
    found = [facts["token"]] + glob.glob(os.path.join(given["data"], "**/token"), recursive=True)
    return any_of(path for path in found if os.path.realpath(path) != own)


@attempt
def server_files():
    names = ["atelier.db", "atelier.db-wal", "engine.lock", "workload_key", "atelier.toml", "password"]
    nodes = glob.glob(os.path.join(given["data"], "nodes/*/*")) + [os.path.join(given["data"], "nodes")]
    paths = [os.path.join(given["data"], name) for name in names] + nodes
    return any_of(paths, lambda path: os.listdir(path) if os.path.isdir(path) else read(path))


@attempt
def agents_socket():
    return any_of([os.path.join(given["data"], "agents.sock")], lambda path: connected(socket.AF_UNIX, path))


@attempt
def environment_caches():
    place = os.path.join(given["data"], "environments")
    found = glob.glob(os.path.join(place, "**"), recursive=True)[:2000]
    found = [path for path in [place] + found if not os.path.islink(path)]
    return any_of(found, lambda path: os.access(path, os.W_OK) and "can be written")


@attempt
def namespaces():
    return call("unshare", 0x10000000) == 0 and "a user namespace"


@attempt
def more_rights():
    status = open("/proc/self/status").read()
    expected = ["NoNewPrivs:\t1", "Seccomp:\t2", "CapEff:\t0000000000000000", "CapPrm:\t0000000000000000"]
    missing = [line for line in expected if line not in status]
    return missing or None


@attempt
def devices():
    return any_of(["/dev/mem", "/dev/kmsg", "/dev/sda", "/dev/vda", "/proc/kcore", "/dev/fuse", "/dev/net/tun"])


@attempt
def system_files():
    places = ["/etc/passwd", "/usr/bin/env", "/etc", "/usr/lib"]
    return any_of(places, lambda path: os.access(path, os.W_OK) and "can be written")


@attempt
def jobs_over_rest():
    token = open(os.environ["ATELIER_TOKEN_FILE"]).read()
    headers = {"Authorization": "Bearer " + token}
    for path in ["/log", "/outputs", "/outputs/result"]:
        url = "%s/api/v1/jobs/%s%s" % (os.environ["ATELIER_URL"], given["job"], path)
        try:
            with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=20) as answer:
                return path, answer.read(60)
        except urllib.error.HTTPError as error:
            if error.code not in (403, 404):
                return path, error.code


@attempt
def jobs_changed_over_rest():
    token = open(os.environ["ATELIER_TOKEN_FILE"]).read()
    headers = {"Authorization": "Bearer " + token, "Content-Type": "application/json"}
    for path in ["/cancel", "/retry", "/hold"]:
        url = "%s/api/v1/jobs/%s%s" % (os.environ["ATELIER_URL"], given["job"], path)
        try:
            with urllib.request.urlopen(urllib.request.Request(url, b"{}", headers), timeout=20) as answer:
                return path, answer.status
        except urllib.error.HTTPError as error:
            if error.code not in (403, 404, 405):
                return path, error.code


for name, run in ATTEMPTS.items():
    try:
        got = run()
    except (OSError, AttributeError) as error:
        got = None
    print("%s: %s" % (name, "held" if not got else "GOT %r" % (got,)), flush=True)
print("network: %s" % ("shared" if os.readlink("/proc/self/ns/net") == facts["network"] else "own"))
