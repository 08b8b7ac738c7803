import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DeclaredFiles } from './declared-files.js';
import { SecretMask } from './secret-mask.js';

let directory: string;
let files: DeclaredFiles;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'millwright-declared-'));
  files = new DeclaredFiles(new SecretMask(['s3cret-value']), directory);
});
afterEach(() => rm(directory, { recursive: true }));

const changed = async (): Promise<[path: string, mimeType: string, text: string][]> => {
  const found: [string, string, string][] = [];
  for await (const { path, mimeType, bytes } of files.changed())
    found.push([path, mimeType, bytes.toString('latin1')]);
  return found;
};

describe('the files that an agent declares', () => {
  it('are given out once, and again when they have changed', async () => {
    await mkdir(join(directory, 'a'));
    await writeFile(join(directory, 'a', 'report.html'), '<h1>');
    await writeFile(join(directory, 'b'), 'x');
    expect(await changed()).toEqual([
      ['a/report.html', 'text/html', '<h1>'],
      ['b', 'application/octet-stream', 'x'],
    ]);
    expect(await changed()).toEqual([]);
    await writeFile(join(directory, 'b'), 'longer');
    expect(await changed()).toEqual([['b', 'application/octet-stream', 'longer']]);
  });

  it('have secrets masked, and are left as they are elsewhere', async () => {
    await writeFile(join(directory, 'log.txt'), 'token s3cret-value');
    await writeFile(join(directory, 'x.log'), Buffer.from('v=s3cret-value\xff', 'latin1'));
    await writeFile(join(directory, 'z.bin'), Buffer.from([0xff, 0x00]));
    expect(await changed()).toEqual([
      ['log.txt', 'text/plain', 'token ***'],
      ['x.log', 'text/plain', 'v=***\u00ff'],
      ['z.bin', 'application/octet-stream', '\u00ff\u0000'],
    ]);
  });

  it('have secrets masked in their names too', async () => {
    await mkdir(join(directory, 's3cret-value'));
    await writeFile(join(directory, 's3cret-value', 'of-s3cret-value.txt'), 'x');
    expect(await changed()).toEqual([['***/of-***.txt', 'text/plain', 'x']]);
    expect(await changed()).toEqual([]);
  });

  it('are no links', async () => {
    await symlink('/etc/passwd', join(directory, 'link'));
    expect(await changed()).toEqual([]);
  });

  it('are none where there is no directory', async () => {
    files = new DeclaredFiles(new SecretMask([]), join(directory, 'gone'));
    expect(await changed()).toEqual([]);
  });
});
