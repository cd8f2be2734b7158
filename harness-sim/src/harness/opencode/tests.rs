//! Which files OpenCode loads.

use std::fs;
use std::path::Path;

use super::*;

fn put(folder: &Path, name: &str) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, "").unwrap();
}

#[test]
fn the_user_comes_first_then_every_folder_up_to_the_top_of_the_repository() {
    let top = tempfile::tempdir().unwrap();
    let (home, project) = (top.path().join("h"), top.path().join("r/inner"));
    put(top.path(), "r/.git");
    for name in ["r/inner/.opencode/plugin/a.js", "r/.opencode/plugins/b.ts", ".opencode/plugin/above.js"] {
        put(top.path(), name);
    }
    for name in [".config/opencode/plugins/u.js", ".config/opencode/plugin/v.mjs", ".opencode/plugin/w.js"] {
        put(&home, name);
    }
    let place = Place { project: &project, home: Some(&home), trusted: false };
    let modules = OpenCode.modules(place, &|_| None);
    let expected = [
        "h/.config/opencode/plugins/u.js",
        "r/inner/.opencode/plugin/a.js",
        "r/.opencode/plugins/b.ts",
        "h/.opencode/plugin/w.js",
    ];
    assert_eq!(modules.files, expected.map(|name| top.path().join(name)));
    assert!(modules.warnings.iter().any(|warning| warning.contains("v.mjs: not loaded")));

    let other = top.path().join("c");
    put(&other, "opencode/plugin/x.js");
    let modules = OpenCode.modules(place, &|name| (name == "XDG_CONFIG_HOME").then(|| other.clone().into()));
    assert_eq!(modules.files[0], other.join("opencode/plugin/x.js"));
}
