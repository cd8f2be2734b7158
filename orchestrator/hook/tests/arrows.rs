//! The import directions: between the modules of this package, and between the packages of the workspace.
//!
//! Each rule has one table below. The first half of the file holds the real sources to the tables; the second half
//! feeds made-up trees to the same functions, to show that each rule can fail.

use std::fs;
use std::path::{Path, PathBuf};

use toml_edit::{DocumentMut, Item, TableLike};

#[path = "arrows/source.rs"]
mod source;

use source::{What, mentions};

/// The order of the top modules, highest first. A module may import from the layers below its own.
const LAYERS: &[&[&str]] = &[
    &["cli"],
    &["register", "moments"],
    &["digest", "deferred", "naming"],
    &["harness"],
    &["home", "config", "text"],
    &["env"],
];

/// Imports between modules of one layer that are allowed all the same: from, to (a path, and what is below it), why.
const WITHIN_A_LAYER: &[(&str, &str, &str)] = &[
    (
        "deferred",
        "digest::plan",
        "a check is started as a stage is: without secrets, and git as dogwatch calls it",
    ),
    ("home", "text", "a line read from a file of the home is cleaned before anybody sees it"),
    ("config", "text", "an error quotes the file that it is about"),
    ("config", "home::read", "config.toml is a file that a repository brought along, and read as such"),
    ("config", "home::scope", "the rules of [scope] are those that the scope goes by, defaults included"),
    ("config", "home::trust", "a config counts in the state that a person trusted, told by its hash"),
];

/// The map and the entry see every module; that is their work.
const EXEMPT: &[&str] = &["lib.rs", "main.rs"];

/// Where text may go to stdout or stderr: one stray line breaks a JSON reply.
const PRINTS: &str = "cli";

/// Where `unsafe` may stand, from the top of the workspace.
const UNSAFE: &str = "orchestrator/engine/src/process";

/// Which packages of the workspace a package may depend on, by its folder.
const PACKAGES: &[(&str, &[&str])] = &[
    ("orchestrator/engine", &[]),
    ("orchestrator/floor", &[]),
    ("orchestrator/hook", &["dogwatch-engine", "dogwatch-floor"]),
    // It keeps its own account of every harness, so that it can contradict dogwatch.
    ("harness-sim", &["dogwatch-engine"]),
    // The program that it drives the agents with is built from the library.
    ("live-e2e", &["dogwatch-engine", "harness-sim", "dogwatch"]),
];

#[test]
fn imports_point_down() {
    assert_none(&import_faults(&read_tree(&package_top().join("src"))));
}

#[test]
fn only_the_command_line_prints() {
    assert_none(&print_faults(&read_tree(&package_top().join("src"))));
}

#[test]
fn unsafe_stays_in_the_process_module() {
    let mut tree = Vec::new();
    for member in members(&read(&workspace_top().join("Cargo.toml"))) {
        for (path, text) in read_tree(&workspace_top().join(&member).join("src")) {
            tree.push((format!("{member}/src/{path}"), text));
        }
    }
    assert!(!tree.is_empty(), "no source file found below {}", workspace_top().display());
    assert_none(&unsafe_faults(&tree));
}

#[test]
fn packages_depend_downwards() {
    let manifests: Vec<(String, String)> = members(&read(&workspace_top().join("Cargo.toml")))
        .into_iter()
        .map(|member| {
            let text = read(&workspace_top().join(&member).join("Cargo.toml"));
            (member, text)
        })
        .collect();
    assert!(!manifests.is_empty(), "the workspace has no members");
    assert_none(&package_faults(&manifests));
}

/// A source tree: paths from its top, and texts.
type Tree = [(String, String)];

fn import_faults(tree: &Tree) -> Vec<String> {
    let mut faults = Vec::new();
    for (path, text) in tree {
        if EXEMPT.contains(&path.as_str()) {
            continue;
        }
        let module = module_of(path);
        let Some(from) = module.first() else { continue };
        if layer_of(from).is_none() {
            faults.push(unknown(path, 1, from));
            continue;
        }
        let found = match mentions(&module, text) {
            Ok(found) => found,
            Err(error) => {
                faults.push(format!("src/{path}: cannot be read as Rust: {error}"));
                continue;
            }
        };
        for mention in found {
            let What::Path(target) = mention.what else { continue };
            // An empty path is the crate itself, as in `use crate as top`.
            let to = target.first().map_or("", String::as_str);
            faults.extend(match layer_of(to) {
                _ if to == from => None,
                None if matches!(to, "" | "*") => Some(format!(
                    "src/{path}:{}: imports the crate's root as a whole, which hides where the arrow goes; name the module",
                    mention.line
                )),
                None => Some(unknown(path, mention.line, to)),
                Some(_) if allowed(from, &target) => None,
                Some(_) => Some(format!(
                    "src/{path}:{}: {from} → {} is against the order\n    allowed: {}\n    within a layer: {}",
                    mention.line,
                    target.join("::"),
                    order(),
                    exceptions(),
                )),
            });
        }
    }
    faults
}

fn allowed(from: &str, target: &[String]) -> bool {
    let to = &target[0];
    match (layer_of(from), layer_of(to)) {
        (Some(above), Some(below)) if above < below => true,
        (Some(one), Some(other)) if one == other => WITHIN_A_LAYER.iter().any(|(source, path, _)| {
            let path: Vec<&str> = path.split("::").collect();
            *source == from && target.len() >= path.len() && target.iter().zip(&path).all(|(a, b)| a == b)
        }),
        _ => false,
    }
}

fn layer_of(module: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&module))
}

fn order() -> String {
    LAYERS.iter().map(|layer| layer.join(", ")).collect::<Vec<_>>().join(" → ")
}

fn exceptions() -> String {
    WITHIN_A_LAYER.iter().map(|(from, to, _)| format!("{from} → {to}")).collect::<Vec<_>>().join(", ")
}

fn unknown(path: &str, line: usize, module: &str) -> String {
    format!(
        "src/{path}:{line}: no layer is known for `{module}`; if it is a new top module, give it its place in LAYERS \
         of tests/arrows.rs and in CONTRIBUTING.md, else import the item from the module that owns it"
    )
}

/// `home/read.rs` is the module `home::read`, `home/mod.rs` is `home`.
fn module_of(path: &str) -> Vec<String> {
    let mut module: Vec<String> =
        path.trim_end_matches(".rs").split('/').map(|part| part.replace('-', "_")).collect();
    if module.last().is_some_and(|last| last == "mod") {
        module.pop();
    }
    module
}

fn print_faults(tree: &Tree) -> Vec<String> {
    faults_by_mention(tree, |path, what, in_tests| match what {
        What::Print(name) if !in_tests && module_of(path)[0] != PRINTS => {
            Some(format!("`{name}!` outside {PRINTS}/; return the text to the caller"))
        }
        _ => None,
    })
}

fn unsafe_faults(tree: &Tree) -> Vec<String> {
    faults_by_mention(tree, |path, what, _| {
        let inside = path.starts_with(&format!("{UNSAFE}/")) || path == format!("{UNSAFE}.rs");
        (*what == What::Unsafe && !inside).then(|| format!("`unsafe` outside {UNSAFE}"))
    })
}

fn faults_by_mention(tree: &Tree, judge: impl Fn(&str, &What, bool) -> Option<String>) -> Vec<String> {
    let mut faults = Vec::new();
    for (path, text) in tree {
        match mentions(&module_of(path), text) {
            Ok(found) => faults.extend(found.iter().filter_map(|mention| {
                let fault = judge(path, &mention.what, mention.in_tests)?;
                Some(format!("{path}:{}: {fault}", mention.line))
            })),
            Err(error) => faults.push(format!("{path}: cannot be read as Rust: {error}")),
        }
    }
    faults
}

/// Takes the manifests of all members, by their folder.
fn package_faults(manifests: &Tree) -> Vec<String> {
    let documents: Vec<(&str, DocumentMut)> = manifests
        .iter()
        .map(|(folder, text)| {
            (folder.as_str(), text.parse().expect("cargo has read this manifest before us"))
        })
        .collect();
    let name_of =
        |document: &DocumentMut| document["package"]["name"].as_str().unwrap_or_default().to_owned();
    let ours: Vec<String> = documents.iter().map(|(_, document)| name_of(document)).collect();
    let mut faults = Vec::new();
    for (folder, document) in &documents {
        let Some((_, may)) = PACKAGES.iter().find(|(known, _)| known == folder) else {
            faults.push(format!("{folder}: a new package; give it its place in PACKAGES of tests/arrows.rs"));
            continue;
        };
        let own_name = name_of(document);
        for dependency in dependencies(document.as_table()) {
            // A package's dev-dependency on itself turns a feature on.
            if ours.contains(&dependency) && dependency != own_name && !may.contains(&dependency.as_str()) {
                faults.push(format!(
                    "{folder}/Cargo.toml: {own_name} → {dependency} is against the order; it may depend on {}",
                    if may.is_empty() { "no package of ours".to_owned() } else { may.join(", ") }
                ));
            }
        }
    }
    faults
}

/// The packages that a manifest names in any of its dependency tables, those of a target included.
fn dependencies(manifest: &dyn TableLike) -> Vec<String> {
    let mut names = Vec::new();
    for (key, item) in manifest.iter() {
        let Some(table) = item.as_table_like() else { continue };
        match key {
            "dependencies" | "dev-dependencies" | "build-dependencies" => {
                names.extend(table.iter().map(|(name, value)| {
                    // `other = { package = "dogwatch" }` is dogwatch under another name.
                    let package = value.get("package").and_then(Item::as_str);
                    package.unwrap_or(name).to_owned()
                }));
            }
            "target" => {
                for (_, of_target) in table.iter() {
                    names.extend(of_target.as_table_like().map(dependencies).unwrap_or_default());
                }
            }
            _ => {}
        }
    }
    names
}

fn members(workspace: &str) -> Vec<String> {
    let document: DocumentMut = workspace.parse().expect("cargo has read this manifest before us");
    let members = document["workspace"]["members"].as_array().expect("the workspace lists its members");
    members.iter().filter_map(|member| member.as_str()).map(str::to_owned).collect()
}

fn package_top() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn workspace_top() -> PathBuf {
    package_top().join("../..")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Every `.rs` file below `top`, sorted by path.
fn read_tree(top: &Path) -> Vec<(String, String)> {
    let mut files = Vec::new();
    let mut folders = vec![top.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        for entry in entries {
            let path = entry.expect("the folder stays readable").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(top).expect("it was found below the top");
                files.push((name.to_string_lossy().into_owned(), read(&path)));
            }
        }
    }
    files.sort();
    files
}

fn assert_none(faults: &[String]) {
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

mod cases {
    use super::{
        LAYERS, WITHIN_A_LAYER, import_faults, layer_of, package_faults, print_faults, unsafe_faults,
    };

    fn tree(files: &[(&str, &str)]) -> Vec<(String, String)> {
        files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
    }

    fn imports(path: &str, text: &str) -> Vec<String> {
        import_faults(&tree(&[(path, text)]))
    }

    #[track_caller]
    fn one(faults: &[String], parts: &[&str]) {
        assert_eq!(faults.len(), 1, "{faults:#?}");
        for part in parts {
            assert!(faults[0].contains(part), "{part:?} is missing in {:?}", faults[0]);
        }
    }

    #[test]
    fn an_arrow_up_is_named_with_file_line_and_order() {
        let faults = imports("home/state.rs", "//! State.\n\nuse crate::cli::open;\n");
        one(&faults, &["src/home/state.rs:3:", "home → cli::open", "cli → register, moments → digest"]);
    }

    #[test]
    fn an_arrow_down_passes_over_layers() {
        assert!(imports("cli/open.rs", "use crate::{digest, home::read, env};").is_empty());
    }

    #[test]
    fn a_module_may_import_from_itself() {
        assert!(imports("cli/open.rs", "use crate::cli::args; use super::run;").is_empty());
    }

    #[test]
    fn a_path_in_an_expression_counts() {
        one(&imports("text/cut.rs", "fn f() {\n  crate::digest::g();\n}"), &["src/text/cut.rs:2:"]);
    }

    #[test]
    fn a_path_in_a_macro_call_counts() {
        one(
            &imports("text/mod.rs", r#"fn f() { format!("{}", crate::harness::NAME); }"#),
            &["text → harness"],
        );
    }

    #[test]
    fn each_branch_of_a_use_tree_counts() {
        let faults =
            imports("digest/mod.rs", "use crate::{\n  home::{self, read},\n  cli,\n  moments as m,\n};");
        assert_eq!(faults.len(), 2, "{faults:#?}");
        assert!(faults[0].contains("src/digest/mod.rs:3: digest → cli"));
        assert!(faults[1].contains("src/digest/mod.rs:4: digest → moments"));
    }

    #[test]
    fn super_is_followed_to_the_top() {
        one(&imports("home/read.rs", "use super::super::cli;"), &["home → cli"]);
        one(&imports("env.rs", "use super::text;"), &["env → text"]);
        one(&imports("home/mod.rs", "mod tests { use super::super::cli; }"), &["home → cli"]);
        assert!(imports("home/mod.rs", "mod tests { use super::*; }").is_empty());
    }

    #[test]
    fn comments_and_strings_do_not_count() {
        let text = "//! Like `crate::cli`.\n/* crate::cli */\nconst A: &str = \"crate::cli\";\n\
                    const B: &str = r#\"use crate::cli;\"#;\nconst C: char = '\"'; // crate::cli\n";
        assert!(imports("home/mod.rs", text).is_empty());
    }

    #[test]
    fn a_visibility_is_no_import() {
        assert!(imports("home/mod.rs", "pub(crate) fn f() {} pub(in crate::home) fn g() {}").is_empty());
    }

    #[test]
    fn a_sibling_needs_its_line_in_the_table() {
        assert!(imports("config/mod.rs", "use crate::home::read::open_regular;").is_empty());
        one(&imports("config/mod.rs", "use crate::home::state;"), &["config → home::state"]);
        one(&imports("config/mod.rs", "use crate::home;"), &["config → home is"]);
        one(&imports("text/mod.rs", "use crate::home::read;"), &["text → home::read"]);
    }

    #[test]
    fn an_unknown_module_says_where_to_add_it() {
        one(&imports("utils/mod.rs", "fn f() {}"), &["`utils`", "LAYERS of tests/arrows.rs"]);
        one(&imports("cli/open.rs", "use crate::Engine;"), &["`Engine`", "LAYERS of tests/arrows.rs"]);
    }

    #[test]
    fn the_root_as_a_whole_is_refused() {
        one(&imports("text/mod.rs", "use crate::*;"), &["name the module"]);
        one(&imports("text/mod.rs", "use crate::{self as top};"), &["name the module"]);
        one(&imports("text/mod.rs", "use crate as top;"), &["name the module"]);
    }

    #[test]
    fn the_map_and_the_entry_are_exempt() {
        assert!(
            import_faults(&tree(&[("lib.rs", "use crate::cli;"), ("main.rs", "use crate::x;")])).is_empty()
        );
    }

    #[test]
    fn text_that_is_no_rust_is_a_fault() {
        one(&imports("text/mod.rs", "fn f( {"), &["src/text/mod.rs", "cannot be read"]);
    }

    #[test]
    fn the_tables_agree() {
        for (from, to, _) in WITHIN_A_LAYER {
            let to = to.split("::").next().expect("split yields at least one part");
            assert_eq!(layer_of(from), layer_of(to), "{from} → {to} is not within one layer");
            let back = WITHIN_A_LAYER.iter().any(|(a, b, _)| *a == to && b.split("::").next() == Some(from));
            assert!(!back, "{from} and {to} import each other");
        }
        let mut names: Vec<_> = LAYERS.concat();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "a module has two places");
    }

    #[test]
    fn a_print_outside_the_command_line_is_a_fault() {
        let faults = print_faults(&tree(&[
            ("cli/open.rs", "fn f() { println!(); }"),
            ("digest/mod.rs", "fn f() {\n  eprintln!(\"x\");\n}\nmod tests { fn g() { println!(); } }"),
        ]));
        one(&faults, &["digest/mod.rs:2:", "`eprintln!`"]);
    }

    #[test]
    fn unsafe_outside_the_process_module_is_a_fault() {
        let faults = unsafe_faults(&tree(&[
            ("orchestrator/engine/src/process/spawn.rs", "fn f() { unsafe {} }"),
            ("orchestrator/engine/src/lib.rs", "#![deny(unsafe_code)] // unsafe"),
            ("orchestrator/engine/src/stages/mod.rs", "fn f() { unsafe {} }"),
        ]));
        one(&faults, &["orchestrator/engine/src/stages/mod.rs:1:"]);
    }

    const HOOK: (&str, &str) = ("orchestrator/hook", "[package]\nname = \"dogwatch\"\n");

    #[test]
    fn a_dependency_upwards_is_a_fault() {
        for manifest in [
            "[dependencies]\ndogwatch = \"1\"",
            "[dev-dependencies]\nhooks = { package = \"dogwatch\", version = \"1\" }",
            "[target.'cfg(unix)'.dependencies.dogwatch]\nversion = \"1\"",
        ] {
            for (folder, name) in [("orchestrator/engine", "dogwatch-engine"), ("harness-sim", "harness-sim")]
            {
                let manifest = format!("[package]\nname = \"{name}\"\n{manifest}");
                one(&package_faults(&tree(&[HOOK, (folder, &manifest)])), &[&format!("{name} → dogwatch")]);
            }
        }
    }

    #[test]
    fn a_dependency_on_oneself_or_downwards_passes() {
        let engine =
            "[package]\nname = \"dogwatch-engine\"\n[dev-dependencies]\ndogwatch-engine = { path = \".\" }";
        let sim = "[package]\nname = \"harness-sim\"\n[dependencies]\ndogwatch-engine = \"1\"\nserde = \"1\"";
        let all = tree(&[HOOK, ("orchestrator/engine", engine), ("harness-sim", sim)]);
        assert!(package_faults(&all).is_empty());
    }

    #[test]
    fn a_package_without_a_place_is_a_fault() {
        one(&package_faults(&tree(&[("extras", "[package]\nname = \"extras\"")])), &["extras", "PACKAGES"]);
    }
}
