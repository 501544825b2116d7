use super::{Ambiguous, text};

/// The words of a command line that every shell and `shlex` part alike: bare words of `[A-Za-z0-9_@%+=:,./-]` and
/// single-quoted texts without quotes inside, one space between them. The first is a command's name: bare, without `=`, no word
/// of the shell's own grammar.
pub fn argv(line: &str) -> Result<Vec<String>, Ambiguous> {
    read(line).ok_or(Ambiguous::Shell)
}

/// Words that begin something other than a command somewhere.
const GRAMMAR: [&str; 20] = [
    "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "in",
    "select", "function", "time", "coproc", "repeat", "foreach", "end",
];

fn read(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut rest = line;
    loop {
        let (word, after) = match rest.strip_prefix('\'') {
            Some(quoted) => quoted.split_once('\'').filter(|(word, _)| text(word).is_ok())?,
            None => rest
                .split_at_checked(rest.find(' ').unwrap_or(rest.len()))
                .filter(|(word, _)| is_bare(word))?,
        };
        let named = !words.is_empty()
            || !rest.starts_with('\'')
                && !word.contains('=')
                && !word.starts_with('-')
                && !GRAMMAR.contains(&word);
        if !named {
            return None;
        }
        words.push(word.to_owned());
        if after.is_empty() {
            return Some(words);
        }
        rest = after.strip_prefix(' ')?;
    }
}

/// An `=` in front expands in one shell.
fn is_bare(word: &str) -> bool {
    let good = |byte: u8| byte.is_ascii_alphanumeric() || b"_@%+=:,./-".contains(&byte);
    !word.is_empty() && !word.starts_with('=') && word.bytes().all(good)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_has_one_reading() {
        let check = |input: &str, expected: Option<&[&str]>| {
            let words = argv(input).ok();
            assert_eq!(
                words.as_deref().map(|w| w.iter().map(String::as_str).collect()),
                expected.map(<[_]>::to_vec),
                "{input:?}"
            );
        };
        check("pytest -q", Some(&["pytest", "-q"]));
        check("python3 -m pytest tests/unit", Some(&["python3", "-m", "pytest", "tests/unit"]));
        check("grep 'two words' a.txt", Some(&["grep", "two words", "a.txt"]));
        check("printf ''", Some(&["printf", ""]));
        check("env A=b make", Some(&["env", "A=b", "make"]));
        check("git log --format=%H", Some(&["git", "log", "--format=%H"]));
        check("/usr/bin/true", Some(&["/usr/bin/true"]));
        check("", None);
        check(" ls", None);
        check("ls ", None);
        check("ls  -l", None);
        check("ls\t-l", None);
        check("ls\n-l", None);
        check("ls; rm x", None);
        check("ls && rm x", None);
        check("ls | wc", None);
        check("ls > x", None);
        check("ls $HOME", None);
        check("ls `x`", None);
        check("ls \"x\"", None);
        check("ls \\x", None);
        check("ls a'b'", None);
        check("ls 'a'b", None);
        check("ls 'a''b'", None);
        check("ls 'a", None);
        check("ls 'a\nb'", None);
        check("ls *", None);
        check("ls ~", None);
        check("ls {a,b}", None);
        check("ls #x", None);
        check("ls =x", None);
        check("ls \u{e9}", None);
        check("ls 'Zoë'", Some(&["ls", "Zoë"]));
        check("A=b make", None);
        check("'ls' x", None);
        check("if x", None);
        check("time make", None);
        check("! ls", None);
        check("-x", None);
    }
}
