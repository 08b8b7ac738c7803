import { UsageError } from './errors.js';
import type { Terminal } from './terminal.js';

/**
 * The value of a secret: typed unseen by a person, or all of standard input but one line break at its end. It is never an argument or an
 * environment variable, which other processes of the machine can read.
 *
 * @param options.twice a person types it again, as nobody sees a slip
 * @throws UsageError when there is none, or the two differ
 */
export async function readSecretValue(terminal: Terminal, options: { twice: boolean }): Promise<string> {
  const value = terminal.isInteractive
    ? await terminal.askHidden('Value')
    : (await terminal.readInput()).replace(/\r?\n$/, '');
  if (value === '') throw new UsageError('The value of the secret is empty. Nothing was changed.');
  if (terminal.isInteractive && options.twice && (await terminal.askHidden('The same again')) !== value) {
    throw new UsageError('The two values differ. Nothing was changed.');
  }
  return value;
}
