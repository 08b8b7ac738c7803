import { CliEnvironmentError } from '../config/cli-environment.js';
import { oneLine } from './text/layout.js';

/** How the process ends. */
export const EXIT = { ok: 0, failed: 1, usage: 2, unreachable: 3, interrupted: 130 } as const;

/** The command, or the environment that it was given, makes no sense. */
export class UsageError extends Error {}

/** The service gave no answer. */
export class UnreachableError extends Error {}

/** What was asked for was not achieved, without the service having refused it. */
export class FailedError extends Error {}

/** A person pressed Ctrl-C. */
export class InterruptedError extends Error {}

/** A refusal of the service, as far as the client reads it: application/problem+json. */
export interface ProblemBody {
  error_code: string;
  title?: string;
  detail?: string;
  retryable?: boolean;
  errors?: { field: string; message: string; file?: string; line?: number }[];
}

/** The service refused. */
export class ApiError extends Error {
  constructor(readonly problem: ProblemBody) {
    super(
      [
        oneLine(`${problem.error_code}: ${problem.detail ?? problem.title ?? 'no reason was given'}`),
        ...(problem.errors ?? []).map((error) => `  ${oneLine(lineOf(error))}`),
      ].join('\n'),
    );
  }
}

/** `file:line: field: message`, as far as it is about a file and a field. */
const lineOf = ({ field, message, file, line }: NonNullable<ProblemBody['errors']>[number]): string =>
  [...(file === undefined ? [] : [`${file}:${line ?? 1}`]), ...(field === '' ? [] : [field]), message].join(
    ': ',
  );

/** @returns undefined for a mistake of the client itself */
export function exitCodeOf(error: unknown): number | undefined {
  if (error instanceof UsageError || error instanceof CliEnvironmentError) return EXIT.usage;
  if (error instanceof UnreachableError) return EXIT.unreachable;
  if (error instanceof InterruptedError) return EXIT.interrupted;
  if (error instanceof ApiError || error instanceof FailedError) return EXIT.failed;
  return undefined;
}

/** Whether the same request may succeed in a moment. */
export const isPassing = (error: unknown): boolean =>
  error instanceof UnreachableError || (error instanceof ApiError && error.problem.retryable === true);
