"""One person's job: it leaves everything lying about that a job can, each with a secret in it, and tells where."""
import ctypes, json, os, secrets, socket, subprocess, sys, threading, time

SECRET = "the-victims-secret"
# Names of its own: where people share the machine, what another run left may belong to somebody else.
MARK = secrets.token_hex(4)
KEY = secrets.randbits(30) | 1
shared = os.environ["ATELIER_SHARED_DIR"]
libc = ctypes.CDLL(None, use_errno=True)
os.umask(0)


def write(path, mode):
    with open(path, "w") as file:
        file.write(SECRET)
    os.chmod(path, mode)
    return path


def serve(listener):
    while True:
        connection, _ = listener.accept()
        connection.sendall(SECRET.encode())
        connection.close()


def listen(family, address):
    listener = socket.socket(family)
    listener.bind(address)
    listener.listen(16)
    threading.Thread(target=serve, args=(listener,), daemon=True).start()
    return listener.getsockname()


def segment(key, mode):
    number = libc.shmget(key, 4096, 0o1000 | mode)
    libc.shmat.restype = ctypes.c_void_p
    ctypes.memmove(libc.shmat(number, None, 0), SECRET.encode(), len(SECRET))
    return key


# A process of its own with the secret in its environment and its command line, to be found and looked into.
child = subprocess.Popen(["sleep", "86399"], env={"SECRET": SECRET})
home = os.environ["HOME"]
facts = {
    "secret": SECRET,
    "pid": os.getpid(),
    "child": child.pid,
    "uid": os.getuid(),
    "home": home,
    "homefile": write(os.path.join(home, "file"), 0o666),
    "folder": os.getcwd(),
    "output": write(os.path.join(os.environ["ATELIER_OUTPUT_DIR"], "result"), 0o666),
    "token": os.environ.get("ATELIER_TOKEN_FILE", ""),
    "tmp_open": write(f"/tmp/victim-{MARK}-open", 0o666),
    "tmp_closed": write(f"/tmp/victim-{MARK}-closed", 0o600),
    "shm_open": write(f"/dev/shm/victim-{MARK}-open", 0o666),
    "shm_closed": write(f"/dev/shm/victim-{MARK}-closed", 0o600),
    "sysv_open": segment(KEY, 0o666),
    "sysv_closed": segment(KEY + 1, 0o600),
    "port": listen(socket.AF_INET, ("127.0.0.1", 0))[1],
    "abstract": "victim-%d" % os.getpid(),
    "network": os.readlink("/proc/self/ns/net"),
    "ipc": os.readlink("/proc/self/ns/ipc"),
}
listen(socket.AF_UNIX, "\0" + facts["abstract"])
own = os.path.join(shared, "Users", sys.argv[1])
facts["own"] = write(os.path.join(own, "private"), 0o666)
facts["shared"] = write(os.path.join(shared, "victims-file"), 0o644)
beside = os.path.join(shared, "facts.new")
with open(beside, "w") as file:
    json.dump(facts, file)
os.chmod(beside, 0o644)
os.rename(beside, os.path.join(shared, "facts.json"))
while not os.path.exists(os.path.join(shared, "over")):
    time.sleep(0.1)
# Whether all of it is as it was.
untouched = child.poll() is None and all(
    open(facts[name]).read() == SECRET
    for name in ["homefile", "output", "tmp_open", "tmp_closed", "shm_closed", "own", "shared"]
)
print("untouched" if untouched else "touched")
