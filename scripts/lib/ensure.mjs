// Brings a fresh clone into the state that a command needs: Node's version, node_modules, dist. Node's own modules only.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { constants } from 'node:os';
import { join, relative, sep } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ROOT } from './tools.mjs';

const MODULES = join(ROOT, 'node_modules');
const MODULES_STAMP = join(MODULES, '.millwright-stamp');
const MODULES_RECORD = join(MODULES, '.package-lock.json');
const DIST = join(ROOT, 'dist');
const DIST_STAMP = join(DIST, '.millwright-stamp');
const LOCK = join(ROOT, '.setup-lock');
const LOCK_TIMEOUT_MS = 10 * 60_000;
const LOCK_POLL_MS = 200;
/** Between making the lock and writing the pid into it there is a moment without a pid. */
const LOCK_UNSIGNED_MS = 5_000;

/** An image brings node_modules and dist along, and no sources to make them from. */
const isPrebuilt = () => !existsSync(join(ROOT, 'src'));

export function ensureNode() {
  const { engines } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const [major, minor] = /(\d+)\.(\d+)/.exec(engines.node).slice(1).map(Number);
  const [ownMajor, ownMinor] = process.versions.node.split('.').map(Number);
  if (ownMajor > major || (ownMajor === major && ownMinor >= minor)) return;
  fail(`Millwright needs Node ${major}.${minor} or later; this is Node ${process.versions.node}.`);
}

/** @param {(line: string) => void} say */
export async function ensureDependencies(say) {
  if (isPrebuilt()) return;
  const machine = `${process.versions.node.split('.')[0]} ${process.platform} ${process.arch}`;
  const wanted = `${machine} ${hash([readFileSync(join(ROOT, 'package-lock.json'))])}`;
  const isCurrent = () => {
    const stamp = read(MODULES_STAMP);
    if (stamp === wanted && modified(MODULES_RECORD) <= modified(MODULES_STAMP)) return true;
    if (!(stamp ?? machine).startsWith(machine) || !isInstalledByHand()) return false;
    writeFileSync(MODULES_STAMP, wanted);
    return true;
  };
  if (isCurrent()) return;
  await withLock(say, async () => {
    if (isCurrent()) return;
    const done = announce(say, 'Installing dependencies');
    const npm = npmCommand();
    const args = ['ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error'];
    const status = await run(npm.file, [...npm.args, ...args], {
      env: installEnvironment(),
      shell: npm.shell,
    });
    if (status !== 0) fail(`Dependencies could not be installed (npm ci ended with ${status}).`, status);
    writeFileSync(MODULES_STAMP, wanted);
    done();
  });
}

/** @param {(line: string) => void} say */
export async function ensureBuild(say) {
  if (isPrebuilt()) return;
  const isCurrent = () => read(DIST_STAMP) === hashSources();
  if (isCurrent()) return;
  await withLock(say, async () => {
    const wanted = hashSources();
    if (read(DIST_STAMP) === wanted) return;
    const done = announce(say, 'Building');
    // The compiler leaves the output of deleted sources behind, and skips what its own record says it has written.
    rmSync(DIST_STAMP, { force: true });
    rmSync(DIST, { recursive: true, force: true });
    const status = await run(process.execPath, [join(MODULES, '@nestjs', 'cli', 'bin', 'nest.js'), 'build']);
    if (status !== 0) fail(`The build failed (nest build ended with ${status}).`, status);
    writeFileSync(DIST_STAMP, wanted);
    done();
  });
}

/** By content: times say nothing on a fresh clone. Specs are not part of the build. */
function hashSources() {
  const sources = readdirSync(join(ROOT, 'src'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.spec.ts'))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name));
  const settings = readdirSync(ROOT)
    .filter((name) => /^tsconfig.*\.json$|^nest-cli\.json$|^package-lock\.json$/.test(name))
    .map((name) => join(ROOT, name));
  const files = [...sources, ...settings].sort();
  return hash(files.flatMap((file) => [relative(ROOT, file).replaceAll(sep, '/'), readFileSync(file)]));
}

/**
 * Somebody ran npm: its own record in node_modules tells better than our stamp, which then is missing, of another lock file or older.
 */
function isInstalledByHand() {
  const record = read(MODULES_RECORD);
  if (record === undefined) return false;
  const installed = JSON.parse(record).packages;
  const wanted = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')).packages;
  return Object.entries(wanted).every(([path, { version, integrity, optional }]) => {
    if (path === '') return true;
    const found = installed[path];
    return found ? found.version === version && found.integrity === integrity : optional === true;
  });
}

/** The npm that runs this script; another package manager's path stands in the same variable. */
function npmCommand() {
  const running = process.env.npm_execpath ?? '';
  if (/npm-cli\.c?js$/.test(running)) return { file: process.execPath, args: [running], shell: false };
  const isWindows = process.platform === 'win32';
  return { file: isWindows ? 'npm.cmd' : 'npm', args: [], shell: isWindows };
}

/** Whatever leaves out devDependencies also leaves out the compiler. `ignore-scripts` stays as the user wants it. */
function installEnvironment() {
  const dropped = /^(node_env|npm_config_(omit|only|include|production))$/i;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !dropped.test(name)));
}

/** Two commands in one checkout must not install or build into each other's feet. */
async function withLock(say, work) {
  const deadline = Date.now() + LOCK_TIMEOUT_MS;
  let told = false;
  while (!tryLock()) {
    if (Date.now() > deadline)
      fail(`Another process has been installing or building for too long. If none is, delete ${LOCK}.`);
    if (!told) say('Waiting for another process that installs or builds here …');
    told = true;
    await delay(LOCK_POLL_MS);
  }
  const unlock = () => rmSync(LOCK, { recursive: true, force: true });
  process.once('exit', unlock);
  try {
    await work();
  } finally {
    process.off('exit', unlock);
    unlock();
  }
}

function tryLock() {
  try {
    mkdirSync(LOCK);
    writeFileSync(join(LOCK, 'pid'), String(process.pid));
    return true;
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
  }
  if (isAbandoned()) {
    const aside = `${LOCK}.${process.pid}`; // of those who find it abandoned one can rename it
    try {
      renameSync(LOCK, aside);
      rmSync(aside, { recursive: true, force: true });
    } catch {
      // Another one did.
    }
  }
  return false;
}

function isAbandoned() {
  const pid = Number(read(join(LOCK, 'pid')));
  if (!pid) {
    const age = Date.now() - (statSync(LOCK, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
    return age > LOCK_UNSIGNED_MS;
  }
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return error.code === 'ESRCH';
  }
}

/** Runs a command to its end; a signal for us ends it too, or it would go on writing without the lock. */
function run(file, args, options) {
  return new Promise((resolve) => {
    const child = spawn(file, args, { cwd: ROOT, stdio: 'inherit', ...options });
    const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
    const stop = (signal) => {
      child.kill(signal);
      child.once('close', () => process.exit(128 + constants.signals[signal]));
    };
    for (const signal of signals) process.on(signal, stop);
    child.once('error', ({ message }) => fail(`${file} could not be started: ${message}`));
    child.once('close', (code, signal) => {
      for (const name of signals) process.off(name, stop);
      resolve(code ?? 128 + constants.signals[signal]);
    });
  });
}

function announce(say, what) {
  const began = performance.now();
  say(`${what} …`);
  return () => say(`${what}: done in ${((performance.now() - began) / 1000).toFixed(1)} s`);
}

function hash(parts) {
  const sum = createHash('sha256');
  for (const part of parts) sum.update(part).update('\0');
  return sum.digest('hex');
}

const modified = (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;

function read(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

function fail(message, status = 1) {
  console.error(message);
  process.exit(status);
}
