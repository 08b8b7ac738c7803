type Log = (details: object, message: string) => void;

/** The part of a pino logger that the worker uses. */
export interface WorkerLogger {
  debug: Log;
  info: Log;
  warn: Log;
  error: Log;
}
