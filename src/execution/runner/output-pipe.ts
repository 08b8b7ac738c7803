import { execFile } from 'node:child_process';
import { closeSync, constants, openSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

export interface OutputPipe {
  /** Does not keep the process alive. */
  readEnd: Socket;
  /** To be given to a child as its output; close it here afterwards. */
  writeEnd: number;
}

/**
 * A real pipe. What Node itself makes for a child's output is a pair of sockets: those cannot be opened by name, so that
 * `echo … > /dev/stderr` fails in a script, and one of them cannot serve both outputs, so that their order is lost.
 */
export async function openOutputPipe(): Promise<OutputPipe> {
  const directory = await mkdtemp(join(tmpdir(), 'millwright-pipe-'));
  try {
    const path = join(directory, 'output');
    await promisify(execFile)('mkfifo', ['-m', '600', path]);
    // Without O_NONBLOCK this would wait for a writer, and the next one needs a reader.
    const readEnd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const writeEnd = openSync(path, constants.O_WRONLY);
    const socket = new Socket({ fd: readEnd, readable: true, writable: false });
    socket.unref();
    return { readEnd: socket, writeEnd };
  } finally {
    // Open ends need no name.
    await rm(directory, { recursive: true, force: true });
  }
}

export function closeWriteEnd(pipe: OutputPipe): void {
  closeSync(pipe.writeEnd);
}
