//! The way into instances by SSH, with the clients of OpenSSH as people have them.

mod doors;
mod studio;

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Command, Stdio};

use atelier_testing::{PATIENCE, free_port, wait_until};

use crate::ssh::studio::{Studio, noise, read, with_input, words};

#[test]
fn commands_and_terminals_are_as_they_are_on_the_machine_itself() {
    let studio = Studio::start();
    // Codes, and both kinds of output apart.
    let output = studio.ssh("laptop", "desk").arg("echo out; echo err >&2; exit 7").output().expect("runs");
    assert_eq!(output.status.code(), Some(7), "{}", words(&output));
    assert_eq!((&output.stdout[..], &output.stderr[..]), (&b"out\n"[..], &b"err\n"[..]));
    let killed = studio.ssh("laptop", "desk").arg("kill -TERM $$").output().expect("runs");
    assert_eq!(killed.status.code(), Some(143), "{}", words(&killed));
    // The workspace can be named, either way.
    for user in ["studio+desk", "desk--studio"] {
        let output = studio.ssh("laptop", user).arg("echo $ATELIER_INSTANCE").output().expect("runs");
        let workspace = user.replace("desk", "").replace(['+', '-'], "");
        let slug = studio.get("")["workspace"]["slug"].as_str().expect("a slug").to_owned();
        assert_eq!(output.status.success(), slug == workspace, "{}", words(&output));
    }

    // Megabytes in both directions at once, every byte as it was.
    let large = noise(8 << 20);
    let mut cat = studio.ssh("laptop", "desk");
    cat.arg("cat");
    let output = with_input(cat, &large);
    assert!(output.status.success() && output.stdout == large, "{} bytes came back", output.stdout.len());
    // What nobody reads does not keep a command from ending.
    let mut deaf = studio.ssh("laptop", "desk");
    deaf.arg("head -c 3; echo; exec 0<&-; echo done");
    let output = with_input(deaf, &large);
    assert!(String::from_utf8_lossy(&output.stdout).ends_with("\ndone\n"), "{}", words(&output));
    // Much of what goes to errors, and a process left behind that holds the pipes open.
    let output = studio.ssh("laptop", "desk").arg("seq 200000 >&2; sleep 30 & echo here").output().expect("runs");
    assert_eq!((output.stderr.len(), &output.stdout[..]), (1_288_895, &b"here\n"[..]));

    // Variables: those that say how text is shown, and no others.
    let mut command = studio.ssh_with("laptop", &["-o", "SendEnv=LC_PAPER EDITOR_OF_TEST"], "desk");
    command.env("LC_PAPER", "de_DE").env("EDITOR_OF_TEST", "x").arg("echo $LC_PAPER/$EDITOR_OF_TEST/$HOME/$(pwd)");
    let shown = String::from_utf8_lossy(&command.output().expect("runs").stdout).into_owned();
    assert!(shown.starts_with("de_DE//") && shown.contains("/home"), "{shown}");

    // A terminal, its kind, its size, and that it can change.
    let script = format!(
        "import os, pty, sys, fcntl, termios, struct, select, time\n\
         pid, fd = pty.fork()\n\
         if pid == 0: os.environ['TERM'] = 'vt220'; os.execvp('ssh', sys.argv[1:])\n\
         size = lambda rows, columns: fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack('HHHH', rows, columns, 0, 0))\n\
         seen = b''\n\
         def until(text, ask):\n\
         \x20   global seen\n\
         \x20   end = time.time() + {patience}\n\
         \x20   while text not in seen:\n\
         \x20       if time.time() > end: print(seen); sys.exit('did not see ' + text.decode())\n\
         \x20       os.write(fd, ask)\n\
         \x20       if select.select([fd], [], [], 1)[0]: seen += os.read(fd, 65536)\n\
         size(31, 97)\n\
         until(b'31 97', b'stty size\\n')\n\
         until(b'kind=vt220', b'echo kind=$TERM\\n')\n\
         size(50, 132)\n\
         until(b'50 132', b'stty size\\n')\n\
         os.write(fd, b'exit 9\\n')\n\
         while True:\n\
         \x20   try:\n\
         \x20       if not os.read(fd, 65536): break\n\
         \x20   except OSError: break\n\
         sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n",
        patience = PATIENCE.as_secs()
    );
    let ssh = studio.ssh_with("laptop", &["-tt"], "desk");
    let mut python = Command::new("python3");
    python.args(["-c", &script]).arg(ssh.get_program()).args(ssh.get_args());
    let output = python.output().expect("runs");
    assert_eq!(output.status.code(), Some(9), "{}", words(&output));

    // Whoever goes away takes along what ran for them, and leaves what was made independent.
    let mark = studio.home().join("mark");
    let mut held = studio.ssh("laptop", "desk");
    // The mark is made when that process has left the group of the others, and not before.
    let inside = "setsid sh -c 'echo > free; exec sleep 987' & trap '' HUP; sleep 986 & \
                  until [ -e free ]; do sleep 0.05; done; echo $$ > mark; wait";
    held.arg(inside).stdout(Stdio::null());
    let mut held = held.spawn().expect("starts");
    wait_until("it runs", PATIENCE, || std::fs::read_to_string(&mark).ok().filter(|text| text.ends_with('\n')));
    held.kill().expect("runs");
    held.wait().expect("ends");
    wait_until("its processes are gone", PATIENCE, || {
        let running = studio.run("ps -eo args");
        (!running.contains("sleep 986") && running.contains("sleep 987")).then_some(())
    });

    // All of it stands in the history.
    let history = wait_until("the end is written", PATIENCE, || {
        Some(studio.history())
            .filter(|lines| lines.iter().any(|line| line.starts_with("left desk, by SSH from 127.0.0.1")))
    });
    let connected = "connected to desk by SSH from 127.0.0.1 with the key “laptop”";
    assert!(history.iter().any(|line| line == connected), "{history:?}");
    assert!(history.iter().any(|line| line.contains("8.0 MiB came in, 8.0 MiB went out")), "{history:?}");
    assert!(studio.get("/ssh-keys")["keys"][0]["last_used"].is_string());
}

#[test]
fn files_go_in_and_out_with_sftp_and_scp() {
    let studio = Studio::start();
    let (large, home) = (noise(5_000_003), studio.home());
    std::fs::write(studio.file("large"), &large).expect("written");
    std::fs::write(studio.file("small"), "hello").expect("written");
    let batch = format!(
        "mkdir work\ncd work\nput {large} large\nput {small} small\nrename small renamed\nchmod 640 renamed\n\
         ln -s renamed link\nls -l\npwd\nget large {back}\nrm link\nmkdir gone\nrmdir gone\nput {small} second\n\
         rename second renamed\ndf\nls -1\n",
        large = studio.file("large").display(),
        small = studio.file("small").display(),
        back = studio.file("back").display(),
    );
    std::fs::write(studio.file("batch"), batch).expect("written");
    let output =
        studio.client("sftp").arg("-b").arg(studio.file("batch")).arg("desk@localhost").output().expect("runs");
    assert!(output.status.success(), "{}", words(&output));
    let listed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(listed.contains("-rw-r-----") && listed.contains("lrwxrwxrwx") && listed.contains("/work\n"), "{listed}");
    assert!(listed.ends_with("sftp> ls -1\nlarge\nrenamed\n"), "{listed}");
    assert!(read(&home.join("work/large")) == large && read(&studio.file("back")) == large);
    assert_eq!(read(&home.join("work/renamed")), b"hello");

    // Rights are those of the person, not of the server.
    let refused = with_input(
        {
            let mut sftp = studio.client("sftp");
            sftp.args(["-b", "-"]).arg("desk@localhost");
            sftp
        },
        b"get /etc/shadow /dev/null\n",
    );
    let said = words(&refused);
    assert!(!refused.status.success() && (said.contains("ermission denied") || said.contains("not found")), "{said}");

    for (options, to) in [(&["-p"][..], "copied"), (&["-O"][..], "old-way")] {
        let mut scp = studio.client("scp");
        scp.args(options).arg(studio.file("large")).arg(format!("desk@localhost:{to}"));
        let output = scp.output().expect("runs");
        assert!(output.status.success() && read(&home.join(to)) == large, "{}", words(&output));
        let mut scp = studio.client("scp");
        scp.args(options).arg(format!("desk@localhost:{to}")).arg(studio.file(to));
        let output = scp.output().expect("runs");
        assert!(output.status.success() && read(&studio.file(to)) == large, "{}", words(&output));
    }
    let mut scp = studio.client("scp");
    scp.args(["-r", "desk@localhost:work"]).arg(studio.file("tree"));
    let output = scp.output().expect("runs");
    assert!(output.status.success() && read(&studio.file("tree/renamed")) == b"hello", "{}", words(&output));
}

#[test]
fn ports_and_sockets_inside_are_reached_from_outside() {
    let studio = Studio::start();
    let inside = "import socket, threading, os\n\
                  def serve(listener):\n\
                  \x20   while True:\n\
                  \x20       peer = listener.accept()[0]\n\
                  \x20       data = b''\n\
                  \x20       while (piece := peer.recv(65536)): data += piece\n\
                  \x20       peer.sendall(str(os.getuid()).encode() + b' ' + data); peer.close()\n\
                  tcp = socket.create_server(('127.0.0.1', 0))\n\
                  local = socket.socket(socket.AF_UNIX); local.bind('echo.sock'); local.listen()\n\
                  for listener in (tcp, local): threading.Thread(target=serve, args=(listener,)).start()\n\
                  open('port.new', 'w').write(str(tcp.getsockname()[1])); os.rename('port.new', 'port')\n";
    std::fs::write(studio.file("echo.py"), inside).expect("written");
    let put = with_input(
        {
            let mut ssh = studio.ssh("laptop", "desk");
            ssh.arg("cat > echo.py; setsid python3 echo.py >/dev/null 2>&1 &");
            ssh
        },
        inside.as_bytes(),
    );
    assert!(put.status.success(), "{}", words(&put));
    let port = wait_until("it listens", PATIENCE, || std::fs::read_to_string(studio.home().join("port")).ok());
    let uid = studio.run("id -u").trim().to_owned();

    let (own, other) = (free_port(), free_port());
    let forwards = [format!("{own}:127.0.0.1:{port}"), format!("{other}:{}/echo.sock", studio.run("pwd").trim())];
    let options = ["-N", "-o", "ExitOnForwardFailure=yes", "-L", &forwards[0], "-L", &forwards[1]];
    let mut tunnel = studio.ssh_with("laptop", &options, "desk").spawn().expect("starts");
    let large = noise(3 << 20);
    for local in [own, other] {
        let mut stream = wait_until("the tunnel is there", PATIENCE, || TcpStream::connect(("127.0.0.1", local)).ok());
        stream.write_all(&large).expect("written");
        stream.shutdown(std::net::Shutdown::Write).expect("said");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("read");
        let start = format!("{uid} ");
        assert!(answer.starts_with(start.as_bytes()) && answer[start.len()..] == large, "{} bytes", answer.len());
    }
    // What does not listen is said as such, and the connection goes on.
    let nobody = free_port();
    let output = studio.ssh_with("laptop", &["-W", &format!("127.0.0.1:{nobody}")], "desk").output().expect("runs");
    let said = words(&output);
    assert!(!output.status.success() && said.contains("cannot be reached") && said.contains("efused"), "{said}");
    tunnel.kill().expect("runs");
    tunnel.wait().expect("ends");
}
