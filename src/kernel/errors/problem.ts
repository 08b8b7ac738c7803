import { ERROR_CATALOGUE, type ErrorCode } from './error-catalogue.js';

/** One field that breaks a rule; `field` is a path such as `config.harness.type`. */
export interface FieldError {
  field: string;
  message: string;
  /** Of a file that the request carries: which, and the line, counted from 1. */
  file?: string;
  line?: number;
}

interface ProblemOptions {
  /** What is wrong with this very request; shown to the client. */
  detail?: string;
  errors?: FieldError[];
  /** Overrules the catalogue for this occurrence. */
  retryable?: boolean;
  headers?: Record<string, string>;
  cause?: unknown;
}

/** An error that is meant for the client. The filter turns it into `application/problem+json`; nothing else knows HTTP. */
export class Problem extends Error {
  readonly detail: string | undefined;
  readonly errors: FieldError[] | undefined;
  readonly retryable: boolean;
  readonly headers: Record<string, string>;

  constructor(
    readonly code: ErrorCode,
    options: ProblemOptions = {},
  ) {
    super(options.detail ?? ERROR_CATALOGUE[code].title, { cause: options.cause });
    this.detail = options.detail;
    this.errors = options.errors;
    this.retryable = options.retryable ?? ERROR_CATALOGUE[code].retryable;
    this.headers = options.headers ?? {};
  }

  /** A 400 that names the fields. */
  static invalid(errors: FieldError[]): Problem {
    const detail = errors.map(({ field, message }) => `${field}: ${message}`).join('; ');
    return new Problem('invalid_request', { detail, errors });
  }

  static notFound(what: string): Problem {
    return new Problem('resource_not_found', { detail: `There is no such ${what}` });
  }
}
