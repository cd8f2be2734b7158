//! What a Rust source file says about its neighbours: the paths into its own crate, the print macros, `unsafe`.
//!
//! The file is read as tokens, so that a comment or a string never counts and the inside of a macro call does.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// One thing that the rules look at, with the line it stands on.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Mention {
    pub(crate) line: usize,
    pub(crate) what: What,
    /// Whether it stands in a module named `tests`.
    pub(crate) in_tests: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// A path from the crate's root: `["home", "read"]` for `crate::home::read`, also when written with `super`.
    Path(Vec<String>),
    /// A call of one of the print macros, by its name.
    Print(String),
    /// The word `unsafe`.
    Unsafe,
}

/// Reads the source of the module `module` (`["home", "read"]` for `home/read.rs`).
///
/// # Errors
/// Says where the text is no Rust.
pub(crate) fn mentions(module: &[String], source: &str) -> Result<Vec<Mention>, String> {
    let tokens: TokenStream = source.parse().map_err(|error| format!("{error}"))?;
    let mut reader = Reader { found: Vec::new() };
    reader.walk(module, tokens);
    Ok(reader.found)
}

struct Reader {
    found: Vec<Mention>,
}

impl Reader {
    fn walk(&mut self, module: &[String], tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            let token = &tokens[at];
            if let TokenTree::Group(group) = token {
                // `mod name { … }` is one level deeper: `super` in it means this module.
                let inner = match at.checked_sub(2).map(|two| (&tokens[two], &tokens[two + 1])) {
                    Some((TokenTree::Ident(word), TokenTree::Ident(name))) if word == "mod" => {
                        [module, &[name.to_string()]].concat()
                    }
                    _ => module.to_vec(),
                };
                self.walk(&inner, group.stream());
                at += 1;
                continue;
            }
            let TokenTree::Ident(word) = token else {
                at += 1;
                continue;
            };
            let line = word.span().start().line;
            let word = word.to_string();
            match word.as_str() {
                // In the middle of a longer path (`self::super::…`, `$crate::…`) the same words mean the same.
                "crate" | "super" if follows_colons(&tokens, at) => {
                    at = self.path(module, &tokens, at);
                    continue;
                }
                "crate" if matches!(tokens.get(at + 1), Some(TokenTree::Ident(next)) if next == "as") => {
                    self.push(module, line, What::Path(Vec::new()));
                }
                "println" | "print" | "eprintln" | "eprint" | "dbg" if is_bang(&tokens, at + 1) => {
                    self.push(module, line, What::Print(word));
                }
                "unsafe" => self.push(module, line, What::Unsafe),
                _ => {}
            }
            at += 1;
        }
    }

    /// Follows the path that begins at `at` with `crate` or `super`; the answer is where the walk goes on.
    fn path(&mut self, module: &[String], tokens: &[TokenTree], at: usize) -> usize {
        let line = tokens[at].span().start().line;
        let base = match &tokens[at] {
            TokenTree::Ident(word) if word == "super" => parent(module),
            _ => Vec::new(),
        };
        self.rest_of_path(module, base, tokens, at + 1, line)
    }

    /// `at` is behind a path's segment, where `::` may follow.
    fn rest_of_path(
        &mut self,
        module: &[String],
        mut path: Vec<String>,
        tokens: &[TokenTree],
        mut at: usize,
        line: usize,
    ) -> usize {
        while is_colons(tokens, at) {
            match tokens.get(at + 2) {
                Some(TokenTree::Ident(word)) if word == "super" => path = parent(&path),
                Some(TokenTree::Ident(word)) if word == "self" => {}
                Some(TokenTree::Ident(word)) => path.push(word.to_string()),
                Some(TokenTree::Punct(star)) if star.as_char() == '*' => path.push("*".to_owned()),
                Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                    self.use_tree(module, &path, group.stream());
                    return at + 3;
                }
                // `crate::x::<T>`: the types between the brackets are walked like anything else.
                _ => break,
            }
            at += 3;
        }
        self.push(module, line, What::Path(path));
        at
    }

    /// The inside of the braces of a `use`, below `base`.
    fn use_tree(&mut self, module: &[String], base: &[String], tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        let mut at_entry = true;
        while at < tokens.len() {
            let line = tokens[at].span().start().line;
            match &tokens[at] {
                TokenTree::Punct(comma) if comma.as_char() == ',' => {
                    at_entry = true;
                    at += 1;
                }
                TokenTree::Punct(star) if at_entry && star.as_char() == '*' => {
                    self.push(module, line, What::Path([base, &["*".to_owned()]].concat()));
                    at_entry = false;
                    at += 1;
                }
                TokenTree::Ident(word) if at_entry => {
                    let path = match word.to_string().as_str() {
                        "self" => base.to_vec(),
                        "super" => parent(base),
                        name => [base, &[name.to_owned()]].concat(),
                    };
                    at_entry = false;
                    at = self.rest_of_path(module, path, &tokens, at + 1, line);
                }
                // What is left of `name as other`.
                _ => at += 1,
            }
        }
    }

    fn push(&mut self, module: &[String], line: usize, what: What) {
        let in_tests = module.iter().any(|name| name == "tests");
        self.found.push(Mention { line, what, in_tests });
    }
}

fn parent(path: &[String]) -> Vec<String> {
    path[..path.len().saturating_sub(1)].to_vec()
}

fn follows_colons(tokens: &[TokenTree], at: usize) -> bool {
    is_colons(tokens, at + 1)
}

fn is_colons(tokens: &[TokenTree], at: usize) -> bool {
    let colon = |token: Option<&TokenTree>| matches!(token, Some(TokenTree::Punct(p)) if p.as_char() == ':');
    colon(tokens.get(at)) && colon(tokens.get(at + 1))
}

fn is_bang(tokens: &[TokenTree], at: usize) -> bool {
    matches!(tokens.get(at), Some(TokenTree::Punct(p)) if p.as_char() == '!')
        // `print != x` compares.
        && !matches!(tokens.get(at + 1), Some(TokenTree::Punct(p)) if p.as_char() == '=')
}
