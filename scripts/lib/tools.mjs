import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';

/** The root of the repository. Every tool runs here. */
export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const GRACE_MS = 5000;
const POLL_MS = 250;
const HAS_GROUPS = process.platform !== 'win32';

/** The tools that run now. Each leads a process group of its own, so that what it starts ends with it. */
const running = new Set();
let stopping = false;

/**
 * Runs `node ...args` and tells how it ended.
 *
 * @param {string[]} args
 * @param {{ stdio?: 'inherit', env?: Record<string, string> }} [options] without `inherit` the output is collected
 * @returns {Promise<{ code: number, output: string, seconds: number }>}
 */
export function runNode(args, { stdio, env } = {}) {
  const began = performance.now();
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, {
      cwd: ROOT,
      detached: HAS_GROUPS,
      env: { ...process.env, ...env },
      stdio: stdio ?? ['ignore', 'pipe', 'pipe'],
    });
    running.add(child);
    const chunks = [];
    child.stdout?.on('data', (chunk) => chunks.push(chunk));
    child.stderr?.on('data', (chunk) => chunks.push(chunk));
    child.once('error', reject);
    child.once('close', (code, signal) => {
      if (stopping) return;
      running.delete(child);
      resolve({
        code: code ?? 128 + (constants.signals[signal] ?? 0),
        output: Buffer.concat(chunks).toString(),
        seconds: (performance.now() - began) / 1000,
      });
    });
  });
}

/**
 * Runs tools, two at a time and in the given order, and prints a line for each: its name, its seconds, and all that it said if it failed.
 *
 * @param {{ name: string, args: string[], env?: Record<string, string> }[]} tools
 * @returns {Promise<{ passed: number, failed: number }>}
 */
export async function runTools(tools) {
  const queue = [...tools];
  const counts = { passed: 0, failed: 0 };
  const lane = async () => {
    for (let tool = queue.shift(); tool !== undefined; tool = queue.shift()) {
      const { code, output, seconds } = await runNode(tool.args, { env: tool.env });
      counts[code === 0 ? 'passed' : 'failed'] += 1;
      console.log(
        `${code === 0 ? 'ok    ' : 'FAILED'} ${tool.name.padEnd(12)} ${seconds.toFixed(1).padStart(5)} s`,
      );
      if (code !== 0) console.log(output.trim() || `(no output, exit code ${code})`);
    }
  };
  await Promise.all([lane(), lane()]);
  return counts;
}

/** Ends the tools and then this process on a signal, and when the parent is gone: npm leaves its scripts running when it is killed. */
export function stopWithParent() {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => void stop(signal));
  whenParentIsGone(() => void stop('SIGTERM'));
}

/** npm that is told to stop dies at once and leaves its script running, which then holds ports and databases. */
export function whenParentIsGone(react) {
  const parents = parentage();
  const watch = setInterval(() => {
    if (parentage() === parents) return;
    clearInterval(watch);
    react();
  }, POLL_MS);
  watch.unref();
}

/** The parent, and below npm the parent's parent too: on Linux npm starts a shell, which outlives a `kill -9` of npm. */
function parentage() {
  if (process.platform !== 'linux' || process.env.npm_lifecycle_event === undefined)
    return String(process.ppid);
  try {
    const status = readFileSync(`/proc/${process.ppid}/status`, 'utf8');
    return `${process.ppid} ${/^PPid:\s*(\d+)/m.exec(status)?.[1]}`;
  } catch {
    return 'gone';
  }
}

async function stop(signal) {
  if (stopping) return;
  stopping = true;
  signalAll('SIGTERM');
  const deadline = Date.now() + GRACE_MS;
  while (signalAll(0) && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 50));
  signalAll('SIGKILL');
  process.exit(128 + constants.signals[signal]);
}

/** True while one of the tools, or anything that one of them started and left behind, is alive. */
function signalAll(signal) {
  let alive = false;
  for (const { pid } of running) {
    try {
      process.kill(HAS_GROUPS ? -pid : pid, signal);
      alive = true;
    } catch {
      // Gone already.
    }
  }
  return alive;
}
