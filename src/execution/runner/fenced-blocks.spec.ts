import { describe, expect, it } from '@jest/globals';
import { fencedBlocks } from './fenced-blocks.js';

function lines(...all: string[]): string {
  return all.join('\n');
}

describe('fencedBlocks', () => {
  it('finds every block with its language, in order', () => {
    const text = lines(
      'Do this:',
      '```bash',
      'echo 1',
      '',
      'echo 2',
      '```',
      'and',
      '~~~json',
      '{}',
      '~~~',
      'end',
    );
    expect(fencedBlocks(text)).toEqual([
      { language: 'bash', text: 'echo 1\n\necho 2\n' },
      { language: 'json', text: '{}\n' },
    ]);
  });

  it.each([
    ['no text', ''],
    ['no fence', 'echo 1'],
    ['two backticks', lines('``bash', 'x', '``')],
    ['two tildes', lines('~~bash', 'x', '~~')],
    ['inline code on one line', '```bash echo 1```'],
    ['a backtick in the info string', lines('``` a`b', 'x')],
    ['four spaces before', lines('    ```bash', '    x', '    ```')],
    ['a tab before', lines('\t```bash', '\tx', '\t```')],
    ['text before', lines('see ```bash', 'x')],
    ['a quote mark before', lines('> ```bash', '> x', '> ```')],
    ['a list marker before', '- ```bash'],
  ])('finds none in %s', (_, text) => {
    expect(fencedBlocks(text)).toEqual([]);
  });

  it.each([
    ['```bash', 'bash'],
    ['```  \t bash  ', 'bash'],
    ['``` bash title="a b"', 'bash'],
    ['```bash\ttitle', 'bash'],
    ['```Bash', 'Bash'],
    ['```bash,ignore', 'bash,ignore'],
    ['```{.bash}', '{.bash}'],
    ['```', ''],
    ['```   ', ''],
    ['~~~ b`ash`', 'b`ash`'],
    ['~~~~~bash ~~~', 'bash'],
  ])('reads the language of %j', (fence, language) => {
    expect(fencedBlocks(lines(fence, 'x'))).toEqual([{ language, text: 'x\n' }]);
  });

  it.each([
    ['a longer fence', '`````'],
    ['three spaces before', '   ```'],
    ['spaces and tabs behind', '``` \t '],
  ])('is closed by %s', (_, closing) => {
    expect(fencedBlocks(lines('```', 'x', closing, 'y'))).toEqual([{ language: '', text: 'x\n' }]);
  });

  it.each([
    ['a shorter fence', '```'],
    ['the other character', '~~~~'],
    ['four spaces before', '    ````'],
    ['a tab before', '\t````'],
    ['an info string', '```` bash'],
    ['mixed characters', '````~'],
    ['gaps', '`` ``'],
  ])('is not closed by %s', (_, closing) => {
    expect(fencedBlocks(lines('````', 'x', closing, 'y', '````'))).toEqual([
      { language: '', text: `x\n${closing}\ny\n` },
    ]);
  });

  it('keeps fences of other kinds as content', () => {
    const text = lines('~~~markdown', '```bash', 'rm -r x', '```', '~~~', '````md', '```bash', '```', '````');
    expect(fencedBlocks(text)).toEqual([
      { language: 'markdown', text: '```bash\nrm -r x\n```\n' },
      { language: 'md', text: '```bash\n```\n' },
    ]);
  });

  it('takes as much indentation from its lines as its fence has, and no more', () => {
    expect(fencedBlocks(lines('  ```', '   a', '  b', ' c', 'd', '\te', '  ```'))).toEqual([
      { language: '', text: ' a\nb\nc\nd\n\te\n' },
    ]);
  });

  it('runs to the end of the text without a closing fence', () => {
    expect(fencedBlocks(lines('```bash', 'echo 1', ''))).toEqual([{ language: 'bash', text: 'echo 1\n' }]);
    expect(fencedBlocks(lines('```bash', 'echo 1'))).toEqual([{ language: 'bash', text: 'echo 1\n' }]);
    expect(fencedBlocks(lines('```bash', 'echo 1', '', ''))).toEqual([
      { language: 'bash', text: 'echo 1\n\n' },
    ]);
    expect(fencedBlocks('```bash')).toEqual([{ language: 'bash', text: '' }]);
  });

  it('may be empty', () => {
    expect(fencedBlocks(lines('```bash', '```'))).toEqual([{ language: 'bash', text: '' }]);
    expect(fencedBlocks(lines('```bash', '', '```'))).toEqual([{ language: 'bash', text: '\n' }]);
  });

  it.each([
    ['\\r\\n', '\r\n'],
    ['\\r', '\r'],
  ])('takes %s as a line ending', (_, ending) => {
    expect(fencedBlocks(['```bash', 'a', 'b', '```', 'c'].join(ending))).toEqual([
      { language: 'bash', text: 'a\nb\n' },
    ]);
  });

  it('passes over HTML comments', () => {
    const text = lines(
      '<!--',
      '```bash',
      'old',
      '```',
      '-->',
      '```bash',
      'new',
      '```',
      '<!-- note -->',
      '```',
      'last',
    );
    expect(fencedBlocks(text)).toEqual([
      { language: 'bash', text: 'new\n' },
      { language: '', text: 'last\n' },
    ]);
  });

  it('takes a comment inside a block as content, and one in the middle of a line as text', () => {
    expect(fencedBlocks(lines('```', '<!--', '```', 'see <!--', '```', 'x', '```'))).toEqual([
      { language: '', text: '<!--\n' },
      { language: '', text: 'x\n' },
    ]);
  });

  it('takes time in proportion to the text', () => {
    const text = `${'`'.repeat(500_000)} \`\n${' '.repeat(500_000)}\n${'~'.repeat(500_000)}`;
    expect(fencedBlocks(text)).toHaveLength(1);
  });
});
