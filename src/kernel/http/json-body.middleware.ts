import { json, type NextFunction, type Request, type Response } from 'express';

const MEBIBYTE = 1024 * 1024;

/** Creating a run carries attachments: five of 10 MiB in base64, and the rest. */
const CREATE_RUN = /^\/v1\/agent\/runs?\/?$/;
const CREATE_RUN_LIMIT = 72 * MEBIBYTE;
const DEFAULT_LIMIT = MEBIBYTE;

// The content type is not looked at: a body on these routes is JSON or it is wrong, and curl's default says otherwise.
// Nor is it whether a body is an object: clients send `null` where nothing is wanted, and elsewhere the validation says so.
const parser = (limit: number) => json({ limit, strict: false, type: () => true });
const createRunParser = parser(CREATE_RUN_LIMIT);
const defaultParser = parser(DEFAULT_LIMIT);

/** Parses JSON bodies under `/v1`, up to the limit of the route. Everything else is left to be streamed. */
export function jsonBodyMiddleware(request: Request, response: Response, next: NextFunction): void {
  if (!request.path.startsWith('/v1/')) {
    next();
  } else if (request.method === 'POST' && CREATE_RUN.test(request.path)) {
    createRunParser(request, response, next);
  } else {
    defaultParser(request, response, next);
  }
}
