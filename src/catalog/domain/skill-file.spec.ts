import { describe, expect, it } from '@jest/globals';
import { parseSkillFile } from './skill-file.js';

const parse = (content: string | Uint8Array) =>
  parseSkillFile(typeof content === 'string' ? Buffer.from(content) : content, 'deploy', 'deploy');

const withFields = (fields: string): string => `---\nname: deploy\n${fields}\n---\nDo it.\n`;

describe('a SKILL.md', () => {
  it.each([
    ['---\nname: deploy\ndescription: Deploys\n---\n\n# How\n\nDo it.\n\n', '# How\n\nDo it.'],
    ['---\r\nname: deploy\r\ndescription: Deploys\r\n---\r\nDo it.\r\n', 'Do it.'],
    ['\uFEFF---\nname: deploy\ndescription: Deploys\n---', ''],
    ['---\nname: deploy\ndescription: >\n  Deploys\n---\na\n---\nb', 'a\n---\nb'],
  ])('%j is read', (text, body) => {
    expect(parse(text)).toEqual({ outcome: 'parsed', name: 'deploy', description: 'Deploys', body });
  });

  it('may have the optional fields, and fields that nobody knows', () => {
    const fields =
      'description: Deploys\nlicense: MIT\ncompatibility: Requires make\nmetadata:\n  version: 1.0\nallowed-tools: Bash Read\nmodel: x';
    expect(parse(withFields(fields)).outcome).toBe('parsed');
    expect(parse(withFields('description: Deploys\nallowed-tools: [Bash, Read]')).outcome).toBe('parsed');
  });

  it('at the root of a repository may have any name', () => {
    expect(parseSkillFile(Buffer.from(withFields('description: x')), undefined, 'repository')).toMatchObject({
      outcome: 'parsed',
      name: 'deploy',
    });
  });

  it.each([
    ['', 'The front matter is missing: the first line must be ---'],
    ['# Deploy', 'The front matter is missing: the first line must be ---'],
    ['---\nname: deploy\n', 'The front matter does not end: no line --- within 8192 characters'],
    ['---\n- name\n---\n', 'The front matter must be a mapping of names to values'],
    ['---\nname\n---\n', 'The front matter must be a mapping of names to values'],
    ['---\n---\n', '`name` is missing'],
    ['---\nname: deploy\n---\n', '`description` is missing'],
    ['---\nname: deploy\ndescription: ""\n---\n', '`description` must be text of 1 to 1024 characters'],
    ['---\nname: deploy\ndescription: 7\n---\n', '`description` must be text of 1 to 1024 characters'],
    [withFields(`description: ${'x'.repeat(1025)}`), '`description` must be text of 1 to 1024 characters'],
    [withFields('description: x\nlicense: [MIT]'), '`license` must be text'],
    [withFields('description: x\ncompatibility: ""'), '`compatibility` must be text of 1 to 500 characters'],
    [withFields('description: x\nmetadata: v1'), '`metadata` must be a mapping of names to values'],
    [withFields('description: x\nallowed-tools: {a: b}'), '`allowed-tools` must be text or a list of texts'],
    [withFields('description: a\0b'), 'The file contains a NUL character'],
    [Buffer.from([0x2d, 0xff]), 'The file is not UTF-8 text'],
  ])('%j is malformed: %s', (text, error) => {
    expect(parse(text)).toMatchObject({ outcome: 'malformed', name: 'deploy', error });
  });

  it.each(['Deploy', '-deploy', 'deploy-', 'de--ploy', 'dé', 'a b', 'x'.repeat(65), '7.5'])(
    'cannot be named %s',
    (name) => {
      expect(parse(`---\nname: ${name}\ndescription: x\n---\n`)).toMatchObject({
        outcome: 'malformed',
        name: 'deploy',
        error: '`name` must be 1 to 64 lowercase letters, digits and single hyphens, not at its ends',
      });
    },
  );

  it('whose description has 1,024 characters beyond the basic plane is within the limit', () => {
    expect(parse(withFields(`description: ${'😀'.repeat(1024)}`)).outcome).toBe('parsed');
  });

  it('must be named like its directory', () => {
    expect(parse('---\nname: other\ndescription: x\n---\n')).toEqual({
      outcome: 'malformed',
      name: 'other',
      error: '`name` must be that of the directory, `deploy`',
    });
  });

  it('that was too large to be read says so', () => {
    expect(parseSkillFile(undefined, 'deploy', 'deploy')).toMatchObject({
      outcome: 'malformed',
      error: expect.stringContaining('larger than 256 KiB') as unknown,
    });
  });

  it('with broken YAML tells the line in the file', () => {
    expect(parse('---\nname: deploy\ndescription: x\nname: again\n---\n')).toMatchObject({
      outcome: 'malformed',
      error: expect.stringMatching(/unique \(line 4\)$/) as unknown,
    });
    expect(parse('---\nname: deploy\ndescription: a: b\n---\n')).toMatchObject({
      error: expect.stringMatching(/^The front matter is not valid YAML: .+ \(line 3\)$/) as unknown,
    });
  });

  it.each([
    [
      'aliases that multiply',
      `a: &a [x, x, x, x, x, x, x, x, x]\n${'b c d e f g h i'
        .split(' ')
        .map(
          (name, index) =>
            `${name}: &${name} [${Array(9)
              .fill(`*${'abcdefgh'[index] ?? ''}`)
              .join(', ')}]`,
        )
        .join('\n')}`,
    ],
    ['deep nesting', `a: ${'['.repeat(8000)}`],
    ['many keys', Array.from({ length: 1300 }, (_, index) => `${index}: `).join('\n')],
  ])('with %s in it is refused without harm', (_, yaml) => {
    expect(parse(`---\n${yaml}\n---\n`)).toMatchObject({ outcome: 'malformed', name: 'deploy' });
  });
});
