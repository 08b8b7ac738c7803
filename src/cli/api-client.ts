import type { CliEnvironment } from '../config/cli-environment.js';
import { ApiError, FailedError, type ProblemBody, UnreachableError, UsageError } from './errors.js';

/** A success: what came over the wire, and what it says. Both are empty for a 204. */
export interface Answer<T> {
  text: string;
  body: T;
}

/** Repositories of skills may have to be cloned first. */
const TIMEOUT_MS = 120_000;

/** A path below /v1 from text and values; a value stays one segment of it, whatever it holds. */
export function path(texts: TemplateStringsArray, ...values: string[]): string {
  const segments = values.map((value) => {
    // A URL drops these, and the request would go to another route.
    if (['', '.', '..'].includes(value)) throw new UsageError(`'${value}' is not an id or a name.`);
    return encodeURIComponent(value);
  });
  return String.raw({ raw: texts }, ...segments);
}

/** The API over HTTP. It never repeats a request: the caller decides. */
export class ApiClient {
  private readonly headers: Record<string, string>;

  /** @param teamUid the team to act for; undefined = the one that the service chooses */
  constructor(
    private readonly environment: CliEnvironment,
    teamUid: string | undefined,
  ) {
    if (teamUid !== undefined && !/^[\x21-\x7e]+$/.test(teamUid)) {
      throw new UsageError('--team-uid is not the id of a team.');
    }
    this.headers = {
      Authorization: `Bearer ${environment.apiKey}`,
      Accept: 'application/json',
      'X-Api-Source': 'CLI',
      ...(teamUid === undefined ? {} : { 'X-Team-Uid': teamUid }),
    };
  }

  /**
   * @param route below /v1, with its query
   * @throws ApiError when the service refuses, UnreachableError when there is no answer, FailedError when it is not an answer of the API
   */
  async call<T>(method: string, route: string, body?: object): Promise<Answer<T>> {
    const { status, text } = await this.exchange(method, route, body);
    const parsed = text === '' ? undefined : parse(text);
    if (status >= 200 && status < 300 && (text === '' || parsed !== undefined)) {
      return { text, body: parsed as T };
    }
    if (isProblem(parsed)) throw new ApiError(parsed);
    throw new FailedError(
      `${this.environment.url} answers ${status}, and not as Millwright does. Check MILLWRIGHT_URL.`,
    );
  }

  private async exchange(
    method: string,
    route: string,
    body: object | undefined,
  ): Promise<{ status: number; text: string }> {
    try {
      const response = await fetch(`${this.environment.url}/v1${route}`, {
        method,
        headers: body === undefined ? this.headers : { ...this.headers, 'Content-Type': 'application/json' },
        body: body === undefined ? undefined : JSON.stringify(body),
        redirect: 'manual',
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      return { status: response.status, text: await response.text() };
    } catch (cause) {
      throw new UnreachableError(
        `Millwright cannot be reached at ${this.environment.url} (${reason(cause)}). Is it running, and is MILLWRIGHT_URL right?`,
        { cause },
      );
    }
  }
}

/** @returns undefined for what is not JSON; no answer of the API is a bare null */
function parse(text: string): unknown {
  try {
    return JSON.parse(text) ?? undefined;
  } catch {
    return undefined;
  }
}

const isProblem = (body: unknown): body is ProblemBody =>
  typeof body === 'object' && body !== null && 'error_code' in body && typeof body.error_code === 'string';

/** fetch says only that it failed; why stands in the cause. */
function reason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === 'TimeoutError') return `no answer within ${TIMEOUT_MS / 1000} seconds`;
  const { cause } = error;
  if (cause instanceof Error) return 'code' in cause ? String(cause.code) : cause.message;
  return error.message;
}
