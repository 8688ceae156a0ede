//! Folders, files and the trash as pages.

use atelier_domain::access::Role;
use axum::http::StatusCode;

use super::{on_disk, save, upload};
use crate::client::Server;

const HOME: &str = "/w/perception/files?path=Users%2Fines";

#[tokio::test]
async fn a_file_is_uploaded_seen_edited_renamed_deleted_and_brought_back() {
    let server = Server::set_up().await;
    let mut browser = server.owner().await;
    browser.get("/w/perception/files").await.shows("Users").shows("run as one user");
    browser.get(HOME).await.shows("This folder is empty");
    let answer = upload(
        &mut browser,
        "Users/ines",
        &[("train.py", b"print('<b>hi</b>')\n"), ("deep/data.csv", b"a,b\n1,2\n")],
        false,
    )
    .await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.text);
    browser.get(HOME).await.shows("2 files were uploaded").shows("train.py").shows("deep").shows("19 B");
    assert_eq!(on_disk(&server, "Users/ines/train.py").as_deref(), Some("print('<b>hi</b>')\n"));
    // Once more is refused unless it is meant.
    upload(&mut browser, "Users/ines", &[("train.py", b"other")], false).await;
    browser.get(HOME).await.shows("is there already").shows("Tick");
    upload(&mut browser, "Users/ines", &[("train.py", b"print(2)\n")], true).await;
    assert_eq!(on_disk(&server, "Users/ines/train.py").as_deref(), Some("print(2)\n"));
    // Seen with its colours.
    let page = browser.get("/w/perception/files/view?path=Users%2Fines%2Ftrain.py").await;
    page.shows("<span class=\"n\">2</span>").shows("Run as a job").shows("/shared/Users/ines/train.py</code>");
    browser
        .get("/w/perception/files/view?path=Users%2Fines%2Fdeep%2Fdata.csv")
        .await
        .shows("<th scope=\"col\">b</th>")
        .shows("<td>2</td>");
    // Edited.
    let editor = browser.get("/w/perception/files/edit?path=Users%2Fines%2Ftrain.py").await;
    let version = editor
        .text
        .split("name=\"version\" value=\"")
        .nth(1)
        .and_then(|rest| rest.split('"').next())
        .expect("a version")
        .to_owned();
    let fields = [("path", "Users/ines/train.py"), ("version", version.as_str()), ("text", "print(3)\r\nprint(4)\r\n")];
    let saved = save(&mut browser, &fields).await;
    assert_eq!(saved.status, StatusCode::SEE_OTHER);
    browser.get(saved.location()).await.shows("was saved");
    assert_eq!(on_disk(&server, "Users/ines/train.py").as_deref(), Some("print(3)\nprint(4)\n"), "line ends as before");
    // The second writer is told, and both versions are kept.
    let fields = [("path", "Users/ines/train.py"), ("version", version.as_str()), ("text", "print('mine')")];
    let saved = save(&mut browser, &fields).await;
    browser.get(saved.location()).await.shows("Somebody changed").shows("train (yours).py");
    assert_eq!(on_disk(&server, "Users/ines/train (yours).py").as_deref(), Some("print('mine')"));
    assert_eq!(on_disk(&server, "Users/ines/train.py").as_deref(), Some("print(3)\nprint(4)\n"));
    // Renamed and moved.
    let from = "/w/perception/files/move?path=Users%2Fines%2Ftrain.py";
    browser.get(from).await.shows("Rename or move train.py");
    let fields = [("path", "Users/ines/train.py"), ("folder", "Users/ines/deep"), ("name", "data.csv")];
    browser.submit(from, "move_file", &fields).await.shows("is there already");
    let fields = [("path", "Users/ines/train.py"), ("folder", "Users/ines/deep"), ("name", "fit.py")];
    browser.submit(from, "move_file", &fields).await.shows("is now").shows("fit.py");
    // Deleted, and back.
    browser
        .get("/w/perception/files/delete?id=Users%2Fines%2Fdeep")
        .await
        .shows("Delete deep?")
        .shows("all that is in it");
    browser.submit(HOME, "delete_files", &[("ids[]", "Users/ines/deep")]).await.shows("is in the trash now");
    let trash = browser.get("/w/perception/files/trash").await;
    let id = trash
        .text
        .split("name=\"ids[]\" value=\"")
        .nth(1)
        .and_then(|rest| rest.split('"').next())
        .expect("an id")
        .to_owned();
    browser.submit("/w/perception/files/trash", "restore_files", &[("ids[]", &id)]).await.shows("It is back as");
    assert!(on_disk(&server, "Users/ines/deep/fit.py").is_some());
    browser.submit(HOME, "delete_files", &[("ids[]", "Users/ines/deep")]).await;
    browser.get("/w/perception/files/trash/empty").await.shows("Remove 1 thing for good?");
    browser
        .submit("/w/perception/files/trash/empty", "empty_trash", &[])
        .await
        .shows("gone for good")
        .shows("Nothing is in your trash");
}

#[tokio::test]
async fn a_new_file_and_a_new_folder_have_names_that_fit() {
    let server = Server::set_up().await;
    let mut browser = server.owner().await;
    browser.get("/w/perception/files/new?path=Users%2Fines").await.shows("New file");
    for name in ["", "..", "a/b", ".", "x\u{202e}y"] {
        let saved = save(&mut browser, &[("path", "Users/ines"), ("name", name), ("text", "kept <i>")]).await;
        assert!(saved.location().starts_with("/w/perception/files/new"), "{name:?}: {}", saved.location());
        browser.get(saved.location()).await.shows("kept &lt;i&gt;");
    }
    let saved = save(&mut browser, &[("path", "Users/ines"), ("name", "notes.md"), ("text", "# Hi\r\n")]).await;
    browser.get(saved.location()).await.shows("was saved").shows("<h3>Hi</h3>");
    browser
        .submit(HOME, "make_folder", &[("path", "Users/ines"), ("name", "notes.md")])
        .await
        .shows("is there already");
    browser.submit(HOME, "make_folder", &[("path", "Users/ines"), ("name", "data")]).await.shows("was made");
    browser
        .submit("/w/perception/files", "make_folder", &[("path", "Users"), ("name", "x")])
        .await
        .shows("made by Atelier");
    let top = browser.submit("/w/perception/files", "make_folder", &[("path", ""), ("name", "team")]).await;
    top.shows("The folder “team” was made");
    let rights = std::fs::metadata(server.state.fleet().folders().shared().join("team")).expect("is there");
    assert_eq!(
        std::os::unix::fs::PermissionsExt::mode(&rights.permissions()) & 0o777,
        0o777,
        "a shared folder is everybody’s"
    );
    browser.get("/w/perception/activity").await.hides("notes.md");
    browser.submit("/w/perception/files", "delete_files", &[("ids[]", "team")]).await.shows("is in the trash now");
    browser.get("/w/perception/activity").await.shows("moved team to the trash");
}

#[tokio::test]
async fn the_own_folder_is_closed_until_it_is_opened() {
    let server = Server::set_up().await;
    server.add("Noor", &[Role::DataScientist]).await;
    server.add("Rita", &[Role::Reader]).await;
    let (mut ines, mut noor, mut rita) =
        (server.owner().await, server.signed_in("noor@example.org").await, server.signed_in("rita@example.org").await);
    upload(&mut ines, "Users/ines", &[("secret.txt", b"hush")], false).await;
    let file = "/w/perception/files/view?path=Users%2Fines%2Fsecret.txt";
    for browser in [&mut noor, &mut rita] {
        for path in [
            file,
            HOME,
            "/w/perception/files/download?path=Users%2Fines%2Fsecret.txt",
            "/w/perception/files/zip?path=Users%2Fines",
        ] {
            let page = browser.get(path).await;
            assert_eq!(page.status, StatusCode::NOT_FOUND, "{path}");
            page.hides("hush");
        }
        browser.get("/w/perception/files?path=Users").await.shows("ines");
    }
    // Nobody writes into another's folder, open or not.
    for (function, fields) in [
        ("make_folder", &[("path", "Users/ines"), ("name", "x")][..]),
        ("move_file", &[("path", "Users/ines/secret.txt"), ("folder", "Users/noor"), ("name", "x")]),
        ("delete_files", &[("ids[]", "Users/ines/secret.txt")]),
    ] {
        let answer = noor.call(function, fields).await;
        assert_eq!(answer.status, StatusCode::CONFLICT, "{function}: {}", answer.text);
        answer.shows("somebody else");
    }
    // Nor by a name that leads there, whichever folder the form is for.
    for name in ["Users/ines/secret.txt", "Users/ines/new.txt", "Users/noor2/x"] {
        upload(&mut noor, "", &[(name, b"mine now")], true).await;
        noor.get("/w/perception/files").await.shows("somebody else’s own folder");
    }
    upload(&mut noor, "", &[("Users/x.txt", b"x")], true).await;
    assert_eq!(on_disk(&server, "Users/ines/secret.txt").as_deref(), Some("hush"));
    for path in ["Users/ines/new.txt", "Users/noor2/x", "Users/x.txt"] {
        assert_eq!(on_disk(&server, path), None, "{path}");
    }
    upload(&mut noor, "", &[("Users/noor/own.txt", b"mine")], false).await;
    assert_eq!(on_disk(&server, "Users/noor/own.txt").as_deref(), Some("mine"), "one's own is one's own");
    ines.submit(HOME, "open_folder", &[("open", "on")]).await.shows("Everybody may look");
    noor.get(file).await.shows("hush");
    noor.get("/w/perception/files/edit?path=Users%2Fines%2Fsecret.txt").await.hides("hush");
    rita.get(file).await.shows("hush");
    ines.submit(HOME, "open_folder", &[]).await.shows("closed to everybody");
    assert_eq!(noor.get(file).await.status, StatusCode::NOT_FOUND);
    // A reader looks at shared folders and changes nothing.
    noor.submit("/w/perception/files", "make_folder", &[("path", ""), ("name", "team")]).await;
    rita.get("/w/perception/files?path=team").await.shows("This folder is empty");
    for (function, fields) in [
        ("make_folder", &[("path", "team"), ("name", "x")][..]),
        ("delete_files", &[("ids[]", "team")]),
        ("empty_trash", &[]),
        ("open_folder", &[("open", "on")]),
    ] {
        let answer = rita.call(function, fields).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{function}: {}", answer.text);
        answer.shows("file.write");
    }
    upload(&mut rita, "team", &[("x.txt", b"x")], false).await;
    assert_eq!(on_disk(&server, "team/x.txt"), None);
    assert!(!server.state.fleet().folders().shared().join("Users/rita").exists(), "who may not write has no folder");
}

#[tokio::test]
async fn a_refused_save_is_still_about_the_version_that_was_opened() {
    let server = Server::set_up().await;
    let mut browser = server.owner().await;
    upload(&mut browser, "Users/ines", &[("plan.txt", b"one\r\n")], false).await;
    let edit = "/w/perception/files/edit?path=Users%2Fines%2Fplan.txt";
    let version = |text: &str| {
        let found = text.split("name=\"version\" value=\"").nth(1).and_then(|rest| rest.split('"').next());
        found.expect("a version").to_owned()
    };
    let first = version(&browser.get(edit).await.text);
    let long = "x".repeat((1 << 20) + 1);
    let fields =
        [("path", "Users/ines/plan.txt"), ("version", first.as_str()), ("text", long.as_str()), ("crlf", "on")];
    let refused = save(&mut browser, &fields).await;
    // Somebody else is quicker.
    std::fs::write(server.state.fleet().folders().shared().join("Users/ines/plan.txt"), "theirs\n").expect("writes");
    let again = browser.get(refused.location()).await;
    again.shows("at most 1024 KiB").shows("name=\"crlf\"");
    assert_eq!(version(&again.text), first, "not the newer one");
    let fields = [("path", "Users/ines/plan.txt"), ("version", first.as_str()), ("text", "mine\r\n"), ("crlf", "on")];
    let saved = save(&mut browser, &fields).await;
    browser.get(saved.location()).await.shows("Somebody changed");
    assert_eq!(on_disk(&server, "Users/ines/plan.txt").as_deref(), Some("theirs\n"), "theirs is not lost");
    assert_eq!(on_disk(&server, "Users/ines/plan (yours).txt").as_deref(), Some("mine\r\n"));
    // A fresh visit begins with what is there now.
    let fresh = browser.get(edit).await;
    fresh.shows("theirs").hides("name=\"crlf\"");
    assert_ne!(version(&fresh.text), first);
}

#[tokio::test]
async fn the_editor_refuses_what_it_would_change() {
    let server = Server::set_up().await;
    let mut browser = server.owner().await;
    let late = [&b"x".repeat(9_000)[..], b"\0"].concat();
    let files: [(&str, &[u8], &str); 3] = [
        ("mixed.txt", b"a\r\nb\n", "1 of its lines end with a carriage return and 1 without"),
        ("lone.txt", b"a\rb\n", "1 carriage return that ends no line"),
        ("late.txt", &late, "1 character with the number 0"),
    ];
    for (name, bytes, why) in files {
        upload(&mut browser, "Users/ines", &[(name, bytes)], false).await;
        let page = browser.get(&format!("/w/perception/files/edit?path=Users%2Fines%2F{name}")).await;
        page.shows(why).hides("<textarea");
    }
}

#[tokio::test]
async fn a_tree_of_folders_is_beside_each_and_bounded() {
    let server = Server::set_up().await;
    server.add("Noor", &[Role::DataScientist]).await;
    let (mut ines, mut noor) = (server.owner().await, server.signed_in("noor@example.org").await);
    noor.get("/w/perception/files").await.shows("aria-label=\"Folders\"");
    ines.get(HOME).await;
    let home = server.state.fleet().folders().shared().join("Users/ines");
    for number in 0..60 {
        std::fs::create_dir(home.join(format!("data-{number:02}"))).expect("makes");
    }
    std::fs::create_dir(home.join("data-59/deep")).expect("makes");
    let page = ines.get("/w/perception/files?path=Users%2Fines%2Fdata-59%2Fdeep").await;
    let tree = page.text.split("aria-label=\"Folders\"").nth(1).and_then(|rest| rest.split("</nav>").next());
    let tree = tree.expect("a tree");
    for name in ["Files", "Users", "ines", "data-00", "data-48", "data-59", "deep", "… 10 more"] {
        assert!(tree.contains(name), "{name}: {tree}");
    }
    assert!(!tree.contains("data-49") && !tree.contains("noor"), "neither too many nor what is closed: {tree}");
    assert_eq!(tree.matches("aria-current=\"page\"").count(), 1);
    assert!(tree.split("aria-current=\"page\"").nth(1).is_some_and(|rest| rest.contains(">deep<")), "{tree}");
    // Who may not look into a folder does not learn what is in it.
    assert_eq!(noor.get("/w/perception/files?path=Users%2Fines%2Fdata-59").await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn limits_are_said_with_their_numbers() {
    let server = Server::set_up().await;
    let mut browser = server.owner().await;
    browser
        .submit("/w/perception/admin/settings", "set_files_limit", &[("limit", "lots")])
        .await
        .shows("A limit is a size such as");
    browser
        .submit("/w/perception/admin/settings", "set_files_limit", &[("limit", "64 KiB")])
        .await
        .shows("may keep 64.0 KiB");
    upload(&mut browser, "Users/ines", &[("small.bin", &[1; 20 << 10])], false).await;
    upload(&mut browser, "Users/ines", &[("large.bin", &[1; 50 << 10])], false).await;
    browser.get(HOME).await.shows("of the 64.0 KiB that each person may have").shows("small.bin");
    assert_eq!(on_disk(&server, "Users/ines/large.bin"), None, "what is too large leaves nothing behind");
    browser.get("/w/perception/files/usage").await.shows("Your largest files").shows("small.bin").shows("Everybody");
    browser.submit("/w/perception/admin/settings", "set_files_limit", &[("limit", "")]).await.shows("no limit");
    upload(&mut browser, "Users/ines", &[("large.bin", &[b'1'; 50 << 10])], false).await;
    assert!(on_disk(&server, "Users/ines/large.bin").is_some());
    browser.get("/w/perception/activity").await.shows("limited everybody’s files to 64.0 KiB");
}

#[tokio::test]
async fn many_files_come_in_pages_and_can_be_filtered_and_sorted() {
    let server = Server::set_up().await;
    let mut browser = server.owner().await;
    browser.get(HOME).await;
    let folder = server.state.fleet().folders().shared().join("Users/ines");
    for number in 0..450 {
        std::fs::write(folder.join(format!("file-{number:03}.txt")), vec![b'x'; number]).expect("writes");
    }
    browser.get(HOME).await.shows("1 to 200 of 450 entries").shows("file-000.txt").hides("file-300.txt");
    browser.get(&format!("{HOME}&after=400")).await.shows("401 to 450 of 450").shows("file-449.txt");
    browser.get(&format!("{HOME}&sort=size&dir=desc")).await.shows("file-449.txt").hides("file-001.txt");
    browser.get(&format!("{HOME}&q=FILE-44")).await.shows("10 entries");
    browser.get(&format!("{HOME}&q=%3Cscript%3E")).await.shows("Nothing here matches").hides("<script>\"");
}

#[tokio::test]
async fn a_script_is_run_as_a_job_from_its_page() {
    let server = Server::set_up().await;
    let mut browser = server.owner().await;
    upload(&mut browser, "Users/ines", &[("train.py", b"print(1)"), ("a.ipynb", b"{}")], false).await;
    let form = browser.get("/w/perception/jobs/new?file=Users%2Fines%2Ftrain.py").await;
    form.shows("Users/ines/train.py").shows("value=\"Users/ines/results\"").shows("Keep outputs in");
    browser.get("/w/perception/jobs/new?file=Users%2Fines%2Fa.ipynb").await.shows("jupyter nbconvert");
    let gone = browser.get("/w/perception/jobs/new?file=Users%2Fines%2Fgone.py").await;
    assert_eq!(gone.status, StatusCode::NOT_FOUND, "a file that is not there");
    assert_eq!(browser.get("/w/perception/jobs/new?file=a.txt").await.status, StatusCode::NOT_FOUND);
    assert_eq!(browser.get("/w/perception/jobs/new?file=..%2Fx.py").await.status, StatusCode::UNPROCESSABLE_ENTITY);
}
