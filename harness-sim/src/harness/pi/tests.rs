//! Which files Pi loads.

use std::fs;
use std::path::Path;

use super::*;

fn put(folder: &Path, name: &str) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, "").unwrap();
}

fn found(project: &Path, home: &Path, trusted: bool) -> Vec<String> {
    let modules = Pi.modules(Place { project, home: Some(home), trusted }, &|_| None);
    let name = |path: &PathBuf| path.strip_prefix(project.parent().unwrap()).unwrap().display().to_string();
    modules.files.iter().map(name).collect()
}

#[test]
fn the_project_comes_first_and_only_when_it_is_trusted() {
    let top = tempfile::tempdir().unwrap();
    let (project, home) = (top.path().join("p"), top.path().join("h"));
    for name in ["b.js", "a.ts", "c.mjs", ".d.js", "e/index.js", "f/readme.js"] {
        put(&project, &format!(".pi/extensions/{name}"));
    }
    put(&home, ".pi/agent/extensions/u.js");
    let of_project = ["p/.pi/extensions/a.ts", "p/.pi/extensions/b.js", "p/.pi/extensions/e/index.js"];
    let of_user = "h/.pi/agent/extensions/u.js";
    assert_eq!(found(&project, &home, true), [of_project.as_slice(), &[of_user]].concat());
    assert_eq!(found(&project, &home, false), [of_user]);
}

#[test]
fn an_index_in_the_folder_hides_what_is_beside_it() {
    let top = tempfile::tempdir().unwrap();
    let (project, home) = (top.path().join("p"), top.path().join("h"));
    put(&home, ".pi/agent/extensions/index.js");
    put(&home, ".pi/agent/extensions/u.js");
    fs::create_dir(&project).unwrap();
    assert_eq!(found(&project, &home, true), ["h/.pi/agent/extensions/index.js"]);
}

#[test]
fn the_agents_folder_may_be_elsewhere() {
    let top = tempfile::tempdir().unwrap();
    put(top.path(), "agent/extensions/u.js");
    let place = Place { project: top.path(), home: Some(top.path()), trusted: true };
    let modules = Pi.modules(place, &|name| (name == "PI_CODING_AGENT_DIR").then(|| "~/agent".into()));
    assert_eq!(modules.files, [top.path().join("agent/extensions/u.js")]);
}
