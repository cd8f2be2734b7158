//! Reading `git status --porcelain=v2 --branch -z` (git-status(1), "Porcelain Format Version 2").

/// What git said. Whatever is not understood is passed over: later versions of git may add to it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Status {
    pub head: Option<Head>,
    pub commit: Option<Vec<u8>>,
    /// There is no commit yet.
    pub unborn: bool,
    pub upstream: Option<Vec<u8>>,
    /// Commits ahead of and behind the upstream; `None` if it does not exist.
    pub divergence: Option<(u64, u64)>,
    pub staged: usize,
    pub changed: usize,
    pub untracked: usize,
    pub conflicted: usize,
    pub paths: Vec<Changed>,
    /// The output ends in the middle of an entry, so the counts are too low.
    pub cut: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Head {
    Branch(Vec<u8>),
    Detached,
}

/// A path that differs.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Changed {
    pub kind: Kind,
    /// Two letters: the index, the work tree.
    pub code: Vec<u8>,
    pub path: Vec<u8>,
    /// Where a renamed or copied path came from.
    pub from: Option<Vec<u8>>,
}

/// In the order in which paths are worth a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Conflicted,
    Staged,
    Changed,
    Untracked,
}

impl Status {
    pub(super) fn parse(stdout: &[u8]) -> Self {
        let mut status = Self::default();
        let whole = stdout.iter().rposition(|&byte| byte == 0).map_or(0, |last| last + 1);
        status.cut = whole < stdout.len();
        let mut entries = stdout[..whole].split(|&byte| byte == 0);
        while let Some(entry) = entries.next() {
            match entry {
                [b'#', b' ', header @ ..] => status.header(header),
                [b'1', b' ', ..] => status.tracked(entry, 8, None),
                // The path that a renamed one had is an entry of its own.
                [b'2', b' ', ..] => status.tracked(entry, 9, entries.next()),
                [b'u', b' ', ..] => {
                    if let Some((code, path)) = fields(entry, 10) {
                        status.conflicted += 1;
                        status.add(Kind::Conflicted, code, path, None);
                    }
                }
                [b'?', b' ', path @ ..] => {
                    status.untracked += 1;
                    status.add(Kind::Untracked, b"??", path, None);
                }
                _ => {}
            }
        }
        status
    }

    fn header(&mut self, header: &[u8]) {
        let Some(blank) = header.iter().position(|&byte| byte == b' ') else { return };
        let (key, value) = (&header[..blank], &header[blank + 1..]);
        match key {
            b"branch.oid" if value == b"(initial)" => self.unborn = true,
            b"branch.oid" => self.commit = Some(value.to_vec()),
            b"branch.head" if value == b"(detached)" => self.head = Some(Head::Detached),
            b"branch.head" => self.head = Some(Head::Branch(value.to_vec())),
            b"branch.upstream" => self.upstream = Some(value.to_vec()),
            b"branch.ab" => {
                let number =
                    |sign: char, text: &str| text.strip_prefix(sign).and_then(|digits| digits.parse().ok());
                self.divergence = std::str::from_utf8(value)
                    .ok()
                    .and_then(|value| value.split_once(' '))
                    .and_then(|(ahead, behind)| Some((number('+', ahead)?, number('-', behind)?)));
            }
            _ => {}
        }
    }

    fn tracked(&mut self, entry: &[u8], before_path: usize, from: Option<&[u8]>) {
        let Some((code, path)) = fields(entry, before_path) else { return };
        let staged = code.first().is_some_and(|&index| index != b'.');
        let changed = code.get(1).is_some_and(|&tree| tree != b'.');
        self.staged += usize::from(staged);
        self.changed += usize::from(changed);
        self.add(if staged { Kind::Staged } else { Kind::Changed }, code, path, from);
    }

    fn add(&mut self, kind: Kind, code: &[u8], path: &[u8], from: Option<&[u8]>) {
        self.paths.push(Changed {
            kind,
            code: code.to_vec(),
            path: path.to_vec(),
            from: from.map(<[u8]>::to_vec),
        });
    }
}

/// The state letters of an entry and its path, which stands behind `before_path` fields and may hold blanks.
fn fields(entry: &[u8], before_path: usize) -> Option<(&[u8], &[u8])> {
    let mut fields = entry.splitn(before_path + 1, |&byte| byte == b' ');
    let code = fields.nth(1)?;
    let path = fields.nth(before_path - 2)?;
    Some((code, path))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const IDS: &str = "100644 100644 100644 1111111111111111111111111111111111111111 2222222222222222222222222222222222222222";

    #[test]
    fn reads_every_kind_of_entry() {
        let stdout = format!(
            "# branch.oid abc\0# branch.head main\0# branch.upstream o/main\0# branch.ab +2 -3\0# stash 4\0\
             1 MM N... {IDS} a b\0\
             2 R. N... {IDS} R100 new name\0? old name\0\
             u UU N... 100644 {IDS} 3333333333333333333333333333333333333333 both\0\
             ? new\0! ignored\0future stuff\0"
        );
        let status = Status::parse(stdout.as_bytes());
        assert_eq!(status.head, Some(Head::Branch(b"main".to_vec())));
        assert_eq!(status.divergence, Some((2, 3)));
        assert_eq!((status.conflicted, status.staged, status.changed, status.untracked), (1, 2, 1, 1));
        let paths: Vec<_> =
            status.paths.iter().map(|path| String::from_utf8_lossy(&path.path).into_owned()).collect();
        assert_eq!(paths, ["a b", "new name", "both", "new"]);
        assert_eq!(status.paths[1].from.as_deref(), Some(b"? old name".as_slice()));
        assert!(!status.cut);
    }

    #[test]
    fn an_entry_that_was_cut_is_not_read() {
        let status = Status::parse(b"# branch.head main\0? a\0? half of a na");
        assert!(status.cut);
        assert_eq!((status.untracked, status.paths.len()), (1, 1));
    }

    proptest! {
        #[test]
        fn takes_any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = Status::parse(&bytes);
        }

        #[test]
        fn takes_anything_alike(text in "([#12u?] |branch\\.(head|oid|ab) |[MRU.]{2}|[+-][0-9]{1,25}|[ \0]|x){0,60}") {
            let _ = Status::parse(text.as_bytes());
        }
    }
}
