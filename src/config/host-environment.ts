import { homedir, tmpdir } from 'node:os';

/** All that a run of the built-in worker gets of this machine's environment: nothing of it is a secret of the service. */
export function hostEnvironment(): { HOME: string; PATH: string; TMPDIR: string; LANG?: string } {
  const { PATH = '/usr/local/bin:/usr/bin:/bin', LANG } = process.env;
  return { HOME: homedir(), PATH, TMPDIR: tmpdir(), ...(LANG === undefined ? {} : { LANG }) };
}
