import { describe, expect, it } from '@jest/globals';
import { editDistance, lexiconWords, meantWords, termsOf, wordsOf } from './search-words.js';

describe('wordsOf', () => {
  it.each<[string, string[]]>([
    ['Fix the k8s-Ingress, fix it!', ['fix', 'the', 'k8s', 'ingress', 'it']],
    ['acme/shop:skills/SKILL.md', ['acme', 'shop', 'skills', 'skill', 'md']],
    ['cafe\u0301 ＡＢＣ', ['café', 'abc']],
    ['日本語test', ['日', '本', '語', 'test']],
    ['हिन्दी', ['हिन्दी']],
    ['--- 🚀 \u0000', []],
  ])('of %j are %j', (text, words) => {
    expect(wordsOf(text)).toEqual(words);
  });

  it('are bounded in number, length and what they are taken from', () => {
    const words = wordsOf(Array.from({ length: 50_000 }, (_, n) => `w${n.toString(36)}`).join(' '));
    expect(words).toHaveLength(4_000);
    expect(wordsOf('x'.repeat(900_000))).toEqual(['x'.repeat(64)]);
    expect(wordsOf(`${' '.repeat(100_000)}late`)).toEqual([]);
    expect(termsOf('a b c d e f g h i j')).toHaveLength(8);
  });

  it('are storable, wherever they are cut', () => {
    expect(wordsOf(`${'x'.repeat(63)}𝒳y`).every((word) => word.isWellFormed())).toBe(true);
    expect(wordsOf(`${'x '.repeat(49_999)}x𠮷`).every((word) => word.isWellFormed())).toBe(true);
  });
});

it('the lexicon has no long words, single letters or numbers', () => {
  expect(lexiconWords(['a', 'ci', 'k8s', '12345', 'x'.repeat(33)])).toEqual(['ci', 'k8s']);
});

describe('meantWords', () => {
  const lexicon = [
    'kubernetes',
    'kubectl',
    'test',
    'text',
    'pagination',
    'paginate',
    'ci',
    'cider',
    'release',
  ];
  it.each<[string, string[]]>([
    ['kubernetis', ['kubernetis', 'kubernetes']],
    ['kubernetes', ['kubernetes']],
    ['kube', ['kube', 'kubernetes', 'kubectl']],
    ['test', ['test']],
    ['tset', ['tset', 'test']],
    ['pagnation', ['pagnation', 'pagination']],
    ['pgnaton', ['pgnaton']],
    ['kbernets', ['kbernets', 'kubernetes']],
    ['ci', ['ci']],
    ['re', ['re', 'release']],
    ['zz', ['zz']],
  ])('of %s are %j', (term, words) => {
    expect(meantWords(term, lexicon)).toEqual(words);
  });
});

it.each<[string, string, number]>([
  ['', 'ab', 2],
  ['abc', 'abc', 0],
  ['abcd', 'acbd', 1],
  ['kitten', 'sitting', 3],
  ['ab', 'abcdef', Infinity],
])('from %j to %j it is %d', (a, b, distance) => {
  expect(editDistance(a, b, 3)).toBe(distance);
});
