import { describe, expect, it } from '@jest/globals';
import { fields, oneLine, printable, table } from './layout.js';

describe('printable', () => {
  it('keeps lines and tabs, and nothing that commands a terminal', () => {
    expect(printable('a\tb\r\nc\u001b[31mred\u001b[0m\u001b]0;title\u0007\u0000\u009b2J\r.')).toBe(
      'a\tb\ncred.',
    );
  });
});

describe('oneLine', () => {
  it('joins lines', () => {
    expect(oneLine(' a\n\n b\tc ')).toBe('a b c');
  });

  it.each([
    ['abcd', 4, 'abcd'],
    ['abcde', 4, 'abc…'],
    ['🚀🚀🚀', 2, '🚀…'],
  ])('cuts %s to %i characters', (text, length, expected) => {
    expect(oneLine(text, length)).toBe(expected);
  });
});

describe('table', () => {
  it('aligns its columns, marks what is absent and ends no line with spaces', () => {
    expect(
      table(
        ['ID', 'NAME', 'NOTE'],
        [
          ['1', 'long name', undefined],
          ['22', 'ü', 'two\nlines'],
        ],
      ),
    ).toBe(['ID  NAME       NOTE', '1   long name  -', '22  ü          two lines'].join('\n'));
  });

  it('is its heading when there is nothing', () => {
    expect(table(['ID', 'NAME'], [])).toBe('ID  NAME');
  });
});

describe('fields', () => {
  it('aligns the values and leaves out those that are absent', () => {
    expect(fields({ run: '1', message: undefined, 'run time': 'PT1S', started: null, title: '' })).toBe(
      'run       1\nrun time  PT1S',
    );
  });
});
