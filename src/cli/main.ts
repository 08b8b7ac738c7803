import { CommanderError } from 'commander';
import { EXIT, exitCodeOf } from './errors.js';
import { createProgram } from './program.js';
import { ProcessTerminal } from './terminal.js';

const terminal = new ProcessTerminal();

// `millwright run list | head` closes the pipe before its end.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit(EXIT.ok);
});

try {
  await createProgram(terminal).parseAsync();
} catch (error) {
  // Not process.exit: it would cut off what a pipe has not taken yet.
  process.exitCode = explain(error);
}

/** Says what went wrong; commander has said its own by now. */
function explain(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  const code = exitCodeOf(error);
  if (code === undefined) throw error;
  terminal.say((error as Error).message);
  return code;
}
