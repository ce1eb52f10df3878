//! Words of a text with the place of each, from a stream, without a string per word.

use std::io::BufRead;

use super::error::{BvhError, BvhProblem};
use crate::import::Refusal;

/// No word, and no joint's name, is longer.
pub(super) const LONGEST: usize = 1024;

/// Where a word begins, both from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) line: usize,
    pub(super) column: usize,
}

impl Place {
    pub(super) fn problem(self, problem: BvhProblem) -> Refusal {
        BvhError { line: self.line, column: self.column, problem }.into()
    }
}

/// Splits at white space; braces are words of their own. Lines end with LF, CR LF or CR.
pub(super) struct Tokens<R> {
    reader: R,
    /// The next byte's.
    place: Place,
    after_return: bool,
    word: Vec<u8>,
    word_place: Place,
    again: bool,
}

impl<R: BufRead> Tokens<R> {
    pub(super) fn new(reader: R) -> Self {
        let start = Place { line: 1, column: 1 };
        Self {
            reader,
            place: start,
            after_return: false,
            word: Vec::with_capacity(64),
            word_place: start,
            again: false,
        }
    }

    /// Leaves out the mark that some editors put before the first character of a UTF-8 text.
    pub(super) fn skip_byte_order_mark(&mut self) -> Result<(), Refusal> {
        let mark = [0xef, 0xbb, 0xbf];
        if fill(&mut self.reader)?.starts_with(&mark) {
            self.reader.consume(mark.len());
        }
        Ok(())
    }

    /// Goes on to the next word; false at the end.
    pub(super) fn next(&mut self) -> Result<bool, Refusal> {
        if std::mem::take(&mut self.again) {
            return Ok(!self.word.is_empty());
        }
        self.word.clear();
        loop {
            let bytes = fill(&mut self.reader)?;
            if bytes.is_empty() {
                if self.word.is_empty() {
                    self.word_place = self.place;
                }
                return Ok(!self.word.is_empty());
            }
            let (mut used, mut ended) = (0, false);
            for &byte in bytes {
                let brace = matches!(byte, b'{' | b'}');
                let space = byte.is_ascii_whitespace() || byte == 0x0b;
                if !self.word.is_empty() && (space || brace) {
                    ended = true;
                    break;
                }
                used += 1;
                if !space {
                    if self.word.is_empty() {
                        self.word_place = self.place;
                    }
                    if self.word.len() == LONGEST {
                        return Err(self.word_place.problem(BvhProblem::LongWord { most: LONGEST }));
                    }
                    self.word.push(byte);
                }
                match byte {
                    b'\n' if self.after_return => {}
                    b'\n' | b'\r' => self.place = Place { line: self.place.line + 1, column: 1 },
                    // Continuation bytes of UTF-8 are no columns.
                    0x80..=0xbf => {}
                    _ => self.place.column += 1,
                }
                self.after_return = byte == b'\r';
                if brace {
                    ended = true;
                    break;
                }
            }
            self.reader.consume(used);
            if ended {
                return Ok(true);
            }
        }
    }

    /// The next call of [`Self::next`] stays at this word.
    pub(super) fn unread(&mut self) {
        self.again = true;
    }

    /// Where the word begins; where the text ends, at the end.
    #[allow(clippy::misnamed_getters, reason = "of the last word, not of the reader")]
    pub(super) fn place(&self) -> Place {
        self.word_place
    }

    /// The word; empty at the end.
    pub(super) fn word(&self) -> &[u8] {
        &self.word
    }

    /// True if the word is this one, in any case.
    pub(super) fn is(&self, word: &str) -> bool {
        self.word.eq_ignore_ascii_case(word.as_bytes())
    }

    /// The word as text for names and messages.
    pub(super) fn text(&self) -> String {
        if self.word.is_empty() {
            return "the end of the file".to_owned();
        }
        String::from_utf8_lossy(&self.word).into_owned()
    }

    /// The word as a number; `None` if it is none.
    pub(super) fn number(&self) -> Option<f64> {
        number(&self.word)
    }

    /// A refusal at this word, which should have been something else.
    pub(super) fn unexpected(&self, expected: impl Into<String>) -> Refusal {
        let found = self.text();
        self.place().problem(BvhProblem::Expected { expected: expected.into(), found })
    }
}

/// A number as C programs write it: also `1.`, `.5`, `+1`, `1e-3`, and what is not finite.
pub(super) fn number(word: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(word).ok()?;
    // Microsoft's runtime writes `-1.#IND` and `1.#QNAN`.
    if text.contains('#') && text.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
        return Some(f64::NAN);
    }
    let text = text.strip_suffix("(ind)").unwrap_or(text);
    text.parse().ok()
}

fn fill<R: BufRead>(reader: &mut R) -> Result<&[u8], Refusal> {
    // Two calls, because a borrow that is returned from a loop would last beyond it.
    while let Err(error) = reader.fill_buf() {
        if error.kind() != std::io::ErrorKind::Interrupted {
            return Err(error.into());
        }
    }
    Ok(reader.fill_buf()?)
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    #[test]
    fn words_have_their_lines_and_columns_whatever_ends_a_line_and_however_small_the_buffer() {
        let text = "\u{feff}ab  c{d\r\n\té }\rx\n\ny";
        for capacity in [3, 4, 7, 64] {
            let mut tokens = Tokens::new(BufReader::with_capacity(capacity, text.as_bytes()));
            tokens.skip_byte_order_mark().expect("reads");
            let mut found = Vec::new();
            while tokens.next().expect("reads") {
                found.push((tokens.text(), tokens.place().line, tokens.place().column));
            }
            let want = [
                ("ab", 1, 1),
                ("c", 1, 5),
                ("{", 1, 6),
                ("d", 1, 7),
                ("é", 2, 2),
                ("}", 2, 4),
                ("x", 3, 1),
                ("y", 5, 1),
            ];
            let found = found.iter().map(|(word, line, column)| (word.as_str(), *line, *column));
            assert_eq!(found.collect::<Vec<_>>(), want, "{capacity}");
        }
    }

    #[test]
    fn an_endless_word_is_refused_before_it_is_kept() {
        let text = vec![b'a'; 1 << 20];
        let mut tokens = Tokens::new(text.as_slice());
        let error = tokens.next().expect_err("too long").to_string();
        assert!(error.contains("line 1, column 1"), "{error}");
        assert!(tokens.word.capacity() <= 2 * LONGEST);
    }

    #[test]
    fn numbers_of_many_printers() {
        for (text, want) in [("1.", 1.0), (".5", 0.5), ("+2", 2.0), ("-1.5E-2", -0.015), ("-0", 0.0)] {
            assert_eq!(number(text.as_bytes()), Some(want), "{text}");
        }
        for text in ["nan", "-nan", "NaN", "-nan(ind)", "inf", "-Infinity", "1e999", "-1.#IND", "1.#QNAN0"] {
            assert!(number(text.as_bytes()).is_some_and(|value| !value.is_finite()), "{text}");
        }
        for text in ["", "1,5", "0x10", "one", "--1", "1e"] {
            assert_eq!(number(text.as_bytes()), None, "{text}");
        }
    }
}
