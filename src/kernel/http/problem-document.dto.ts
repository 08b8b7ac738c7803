import { ApiProperty } from '@nestjs/swagger';
import { ERROR_CATALOGUE, type ErrorCode } from '../errors/error-catalogue.js';
import type { FieldError } from '../errors/problem.js';

/** A field that breaks a rule. */
export class FieldErrorDocument implements FieldError {
  /**
   * The path of the field.
   * @example "config.harness.type"
   */
  field: string;

  /**
   * The rule that it breaks.
   * @example "must be one of the following values: oz, claude, gemini, codex"
   */
  message: string;

  /**
   * The file that is at fault, where the request carries files.
   * @example "webhooks/github.yaml"
   */
  file?: string;

  /**
   * The line in that file, counted from 1.
   * @example 3
   */
  line?: number;
}

/** The body of every error, `application/problem+json` (RFC 9457). */
export class ProblemDocument {
  /**
   * A page that says what the error means and how to resolve it.
   * @example "https://mill.example/errors/invalid_request"
   */
  type: string;

  /**
   * The error in a few words, the same for every occurrence.
   * @example "The request is not valid"
   */
  title: string;

  /**
   * The HTTP status.
   * @example 400
   */
  status: number;

  /**
   * Title and detail in one text.
   * @example "The request is not valid (prompt: should not be empty)"
   */
  error: string;

  /**
   * The stable name of the error, to switch on.
   * @example "invalid_request"
   */
  @ApiProperty({ enum: Object.keys(ERROR_CATALOGUE) })
  error_code: ErrorCode;

  /**
   * What is wrong with this very request.
   * @example "prompt: should not be empty"
   */
  detail?: string;

  /**
   * The path that was requested.
   * @example "/v1/agent/runs"
   */
  instance: string;

  /**
   * Whether the same request can succeed later.
   * @example false
   */
  retryable: boolean;

  /**
   * Under this id the request is logged; also in the header `X-Trace-Id`.
   * @example "4bf92f3577b34da6a3ce929d0e0e4736"
   */
  trace_id: string;

  /** The fields that are wrong, where the error is about fields. */
  errors?: FieldErrorDocument[];
}
