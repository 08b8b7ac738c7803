import type { LoggerService } from '@nestjs/common';
import pino, { type Level, type Logger as PinoLogger } from 'pino';
import pretty from 'pino-pretty';
import type { AppConfig } from '../../config/app-config.js';
import { currentRequest } from '../http/request-context.js';

/** What Nest tells of its own start is of use to nobody who operates the service. */
const FRAMEWORK_CONTEXTS = new Set<unknown>([
  'InstanceLoader',
  'NestApplication',
  'NestFactory',
  'RouterExplorer',
  'RoutesResolver',
]);

/**
 * Logs go to standard error, one JSON object a line (pretty on a terminal), each with the trace id of the request that it is about.
 * Standard output is left to what a person who starts the service reads.
 */
export class StructuredLogger implements LoggerService {
  private readonly pino: PinoLogger;

  constructor(config: Pick<AppConfig, 'logLevel'>) {
    const options: pino.LoggerOptions = {
      level: config.logLevel,
      base: undefined,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      mixin: () => {
        const request = currentRequest();
        return request === undefined ? {} : { trace_id: request.traceId };
      },
    };
    this.pino = process.stderr.isTTY
      ? pino(
          options,
          pretty({ destination: 2, sync: true, ignore: 'pid,hostname', translateTime: 'HH:MM:ss' }),
        )
      : pino(options, pino.destination({ dest: 2, sync: true }));
  }

  log(message: unknown, ...rest: unknown[]): void {
    this.write(FRAMEWORK_CONTEXTS.has(rest.at(-1)) ? 'debug' : 'info', message, rest);
  }

  error(message: unknown, ...rest: unknown[]): void {
    this.write('error', message, rest);
  }

  warn(message: unknown, ...rest: unknown[]): void {
    this.write('warn', message, rest);
  }

  debug(message: unknown, ...rest: unknown[]): void {
    this.write('debug', message, rest);
  }

  verbose(message: unknown, ...rest: unknown[]): void {
    this.write('trace', message, rest);
  }

  fatal(message: unknown, ...rest: unknown[]): void {
    this.write('fatal', message, rest);
  }

  /** Nest calls with (message, …, context); our own code with (fields, message, context). */
  private write(level: Level, message: unknown, rest: unknown[]): void {
    if (!this.pino.isLevelEnabled(level)) return;
    const context = rest.length > 0 && typeof rest.at(-1) === 'string' ? (rest.at(-1) as string) : undefined;
    const fields = context === undefined ? {} : { context };
    if (message instanceof Error) {
      this.pino[level]({ ...fields, err: message }, message.message);
    } else if (typeof message === 'object' && message !== null) {
      const text = typeof rest[0] === 'string' && rest.length > 1 ? rest[0] : undefined;
      this.pino[level]({ ...fields, ...message }, text);
    } else {
      const stack = rest.length > 1 && typeof rest[0] === 'string' ? { stack: rest[0] } : {};
      this.pino[level]({ ...fields, ...stack }, String(message));
    }
  }
}
