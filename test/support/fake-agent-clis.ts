import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const PROGRAM = join(import.meta.dirname, 'fake-agent-cli.mjs');

/** A start of a fake agent CLI, as it saw it. */
export interface CliCall {
  name: string;
  args: string[];
  prompt: string;
  /** What the session's file held. */
  earlier: string;
  /** The file that names its MCP servers. */
  mcp: string;
  cwd: string;
  environment: Record<string, string>;
  pid: number;
}

/** Puts commands named like the agent CLIs into a directory. @returns the directory, for PATH */
export async function installFakeAgentClis(home: string): Promise<string> {
  const directory = join(home, 'bin');
  await mkdir(directory);
  for (const name of ['claude', 'codex', 'gemini']) {
    const path = join(directory, name);
    await writeFile(path, `#!/bin/sh\nexec "${process.execPath}" "${PROGRAM}" ${name} "$@"\n`);
    await chmod(path, 0o755);
  }
  return directory;
}

export async function cliCalls(home: string): Promise<CliCall[]> {
  const text = await readFile(join(home, 'calls.jsonl'), 'utf8').catch(() => '');
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as CliCall);
}
