import { homedir, tmpdir } from 'node:os';

/** These variables of this machine's environment, and none else: for a child process that must not see our secrets. */
export const inheritedEnvironment = (names: string[]): NodeJS.ProcessEnv =>
  Object.fromEntries(names.map((name) => [name, process.env[name]]));

/** All that a run of the built-in worker gets of this machine's environment: nothing of it is a secret of the service. */
export function hostEnvironment(): { HOME: string; PATH: string; TMPDIR: string; LANG?: string } {
  const { PATH = '/usr/local/bin:/usr/bin:/bin', LANG } = process.env;
  return { HOME: homedir(), PATH, TMPDIR: tmpdir(), ...(LANG === undefined ? {} : { LANG }) };
}
