interface ErrorEntry {
  readonly status: number;
  readonly title: string;
  /** Whether the same request can succeed later. One occurrence may say otherwise. */
  readonly retryable: boolean;
  /** For the page behind the problem's `type`. */
  readonly meaning: string;
  readonly resolution: string;
}

/**
 * Every error code of the API: the stable names that clients switch on. The `type` of a problem document (RFC 9457) is the page
 * `/errors/{code}` that is made from this table.
 */
export const ERROR_CATALOGUE = {
  invalid_request: {
    status: 400,
    title: 'The request is not valid',
    retryable: false,
    meaning: 'A field, a parameter or the body as a whole breaks a rule of this route.',
    resolution:
      'Read `errors`: it names each field and what it must be. Correct the request and send it again.',
  },
  authentication_required: {
    status: 401,
    title: 'Authentication is required',
    retryable: false,
    meaning: 'The request carries no API key, or one that is unknown, expired or revoked.',
    resolution: 'Send a valid key in the header `Authorization: Bearer <API key>`.',
  },
  not_authorized: {
    status: 403,
    title: 'Not allowed',
    retryable: false,
    meaning: 'The API key is valid, but what it belongs to may not do this.',
    resolution: 'Use a key with the permission that the route names, or ask an admin of the team for it.',
  },
  feature_not_available: {
    status: 403,
    title: 'This feature is not available',
    retryable: false,
    meaning: 'The feature is switched off on this installation, or is beyond the plan of the team.',
    resolution: 'Ask the operator of this installation to switch it on or to raise the limit.',
  },
  budget_exceeded: {
    status: 403,
    title: 'A limit is reached',
    retryable: false,
    meaning: 'The team already has as many of these as its limit allows.',
    resolution: 'Delete what is no longer needed, or ask the operator to raise the limit.',
  },
  integration_disabled: {
    status: 403,
    title: 'The integration is disabled',
    retryable: false,
    meaning: 'The request needs an integration that is switched off.',
    resolution: 'Ask an admin of the team to switch the integration on.',
  },
  resource_not_found: {
    status: 404,
    title: 'Not found',
    retryable: false,
    meaning: 'There is no such resource, or the caller may not know of it.',
    resolution: 'Check the id and the path, and that the key belongs to the team that owns the resource.',
  },
  method_not_allowed: {
    status: 405,
    title: 'The method is not allowed here',
    retryable: false,
    meaning: 'The path exists, but not with this HTTP method.',
    resolution: 'Use one of the methods in the `Allow` header.',
  },
  conflict: {
    status: 409,
    title: 'The request conflicts with the present state',
    retryable: false,
    meaning: 'The resource is in a state in which this cannot be done, or another request got there first.',
    resolution:
      'Read the resource again. Where `retryable` is true, the same request can succeed a moment later.',
  },
  payload_too_large: {
    status: 413,
    title: 'The body is too large',
    retryable: false,
    meaning: 'The body is larger than this route accepts.',
    resolution: 'Send less; `detail` gives the limit.',
  },
  operation_not_supported: {
    status: 422,
    title: 'This operation is not supported here',
    retryable: false,
    meaning: 'The request is well formed, but this kind of resource does not support the operation.',
    resolution: 'See the description of the route for what supports it.',
  },
  environment_setup_failed: {
    status: 422,
    title: 'The environment could not be set up',
    retryable: false,
    meaning: 'Cloning the repositories of the environment or one of its set-up commands failed.',
    resolution:
      'Read the failing command and its output in the message of the run, and correct the environment.',
  },
  rate_limited: {
    status: 429,
    title: 'Too many requests',
    retryable: true,
    meaning: 'The caller has spent its budget of requests.',
    resolution: 'Wait as many seconds as `Retry-After` says, then send the request again.',
  },
  internal_error: {
    status: 500,
    title: 'Something went wrong on our side',
    retryable: true,
    meaning: 'The service met an error that it did not expect. It has been logged under the trace id.',
    resolution:
      'Send the request again. If it persists, give `trace_id` to the operator of this installation.',
  },
  resource_unavailable: {
    status: 503,
    title: 'Temporarily unavailable',
    retryable: true,
    meaning: 'Something that the service needs, such as its database, cannot be reached at the moment.',
    resolution: 'Wait as many seconds as `Retry-After` says, then send the request again.',
  },
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof ERROR_CATALOGUE;
