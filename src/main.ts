import { InvalidConfigError } from './config/parse-config.js';
import { loadConfig } from './config/load-config.js';
import { EmbeddedPostgresError } from './database/embedded-postgres.js';
import { isDatabaseRefusal, isDatabaseUnavailable } from './kernel/persistence/sqlstate.js';
import { Service } from './service.js';

const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

/** Signals that end the service: the first one drains it, a later one ends it at once. */
const STOP_SIGNALS = ['SIGINT', 'SIGTERM'] as const;
/** A terminal and npm both send Ctrl-C: one key press arrives twice. */
const SAME_KEY_PRESS_MS = 1000;

async function main(): Promise<void> {
  const service = new Service(loadConfig(), say);
  let stopped: Promise<void> | undefined;
  let stoppedAt = 0;
  const stop = (): Promise<void> => {
    stoppedAt ||= performance.now();
    return (stopped ??= service.stop());
  };
  for (const signal of STOP_SIGNALS) {
    process.on(signal, () => {
      if (stopped !== undefined && performance.now() - stoppedAt > SAME_KEY_PRESS_MS) process.exit(1);
      stop().then(() => process.exit(0), fail);
    });
  }
  try {
    await service.start();
  } catch (error) {
    await stop();
    throw error;
  }
}

function fail(error: unknown): never {
  process.stderr.write(`${explain(error)}\n`);
  process.exit(1);
}

function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof InvalidConfigError || error instanceof EmbeddedPostgresError) return error.message;
  if ('code' in error && error.code === 'EADDRINUSE') {
    return `The address is in use already: ${error.message}. Set PORT to another one, or stop what listens there.`;
  }
  if (isDatabaseUnavailable(error) || isDatabaseRefusal(error)) {
    return `The database of DATABASE_URL cannot be used: ${error.message}`;
  }
  return error.stack ?? error.message;
}

main().catch(fail);
