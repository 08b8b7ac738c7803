/** Of a longer text the beginning is searched. */
const MAX_CHARACTERS = 100_000;
const MAX_WORDS = 4_000;
/** Longer words are known by their beginning. */
const MAX_WORD_LENGTH = 64;

/** A search for more words than that goes by the first ones. */
const MAX_TERMS = 8;

/** Longer words, and numbers, are found as they are written only: they are what logs and identifiers consist of. */
const MAX_LEXICON_WORD_LENGTH = 32;
const MAX_LEXICON_DIGITS = 4;

/** Letters, marks and digits in a row; in scripts that put no spaces between words each character by itself. */
const WORD =
  /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}]|(?:(?![\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}])[\p{L}\p{M}\p{N}])+/gu;

/** The distinct words of a text, in lower case, as the index knows them. Bounded, whatever the text. */
export function wordsOf(...texts: (string | null)[]): string[] {
  const words = new Set<string>();
  for (const text of texts) {
    const folded = (text ?? '').slice(0, MAX_CHARACTERS).toWellFormed().normalize('NFKC').toLowerCase();
    for (const [word] of folded.matchAll(WORD)) {
      words.add(word.slice(0, MAX_WORD_LENGTH).toWellFormed());
      if (words.size === MAX_WORDS) return [...words];
    }
  }
  return [...words];
}

/** The words that somebody searches for. */
export const termsOf = (q: string): string[] => wordsOf(q).slice(0, MAX_TERMS);

/** Those of a run's words that a search may find by their beginning or in spite of a typing error. */
export const lexiconWords = (words: string[]): string[] =>
  words.filter(
    (word) =>
      word.length >= 2 &&
      word.length <= MAX_LEXICON_WORD_LENGTH &&
      word.replace(/\P{N}/gu, '').length <= MAX_LEXICON_DIGITS,
  );

/**
 * The words that a term stands for: itself and what begins with it; words a letter off, if it is long enough to be told from them; and
 * if there is nothing of all that, words that are further off.
 *
 * @param similar words of the lexicon that may be meant
 */
export function meantWords(term: string, similar: string[]): string[] {
  const known = similar.includes(term);
  const begun = similar.filter((word) => word.startsWith(term));
  if (term.length < 3) return known ? [term] : [...new Set([term, ...begun])];
  const off = (distance: number) => similar.filter((word) => editDistance(term, word, distance) <= distance);
  const near = [...begun, ...(term.length >= 5 ? off(1) : [])];
  if (known || near.length > 0) return [...new Set([term, ...near])];
  return [...new Set([term, ...off(term.length >= 6 ? 2 : 1)])];
}

/**
 * How many letters must be put in, left out, replaced or swapped with their neighbour (optimal string alignment).
 *
 * @param limit what is certainly further off is answered with Infinity
 */
export function editDistance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) > limit) return Infinity;
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = at(last, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const swapped =
        i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
          ? at(beforeLast, j - 2) + 1
          : Infinity;
      row.push(Math.min(replaced, swapped, at(last, j) + 1, at(row, j - 1) + 1));
    }
    beforeLast = last;
    last = row;
  }
  return at(last, b.length);
}

const at = (row: number[], index: number): number => row[index] ?? Infinity;
