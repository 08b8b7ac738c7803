import { QueryFailedError } from 'typeorm';

/** The SQLSTATE codes that this code base reacts to, by their names in the PostgreSQL manual (appendix A). */
export const SQLSTATE = {
  uniqueViolation: '23505',
  foreignKeyViolation: '23503',
  serializationFailure: '40001',
  deadlockDetected: '40P01',
  invalidAuthorization: '28000',
  invalidPassword: '28P01',
  invalidCatalogName: '3D000',
  insufficientPrivilege: '42501',
  queryCanceled: '57014',
  adminShutdown: '57P01',
  crashShutdown: '57P02',
  cannotConnectNow: '57P03',
  ioError: '58030',
} as const;

/** The SQLSTATE of a database error, or the code of a socket error such as `ECONNREFUSED`; undefined for other errors. */
export function databaseErrorCode(error: unknown): string | undefined {
  const driverError: unknown = error instanceof QueryFailedError ? error.driverError : error;
  if (typeof driverError !== 'object' || driverError === null || !('code' in driverError)) return undefined;
  return typeof driverError.code === 'string' ? driverError.code : undefined;
}

/** Whether a row was refused by this unique constraint or index. */
export function violatesUnique(error: unknown, name: string): boolean {
  const driverError: unknown = error instanceof QueryFailedError ? error.driverError : error;
  if (databaseErrorCode(error) !== SQLSTATE.uniqueViolation) return false;
  return driverError instanceof Error && 'constraint' in driverError && driverError.constraint === name;
}

/** Two transactions got in each other's way and PostgreSQL undid this one: running it again is right. */
export function isTransactionConflict(error: unknown): boolean {
  const code = databaseErrorCode(error);
  return code === SQLSTATE.serializationFailure || code === SQLSTATE.deadlockDetected;
}

const UNREACHABLE = new Set<string>([
  SQLSTATE.adminShutdown,
  SQLSTATE.crashShutdown,
  SQLSTATE.cannotConnectNow,
  SQLSTATE.queryCanceled,
  SQLSTATE.ioError,
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
]);

const REFUSALS = new Set<string>([
  SQLSTATE.invalidAuthorization,
  SQLSTATE.invalidPassword,
  SQLSTATE.invalidCatalogName,
  SQLSTATE.insufficientPrivilege,
]);

/** The database does not let us in, or not to what we need: the operator's to put right. */
export const isDatabaseRefusal = (error: unknown): boolean => REFUSALS.has(databaseErrorCode(error) ?? '');

/** pg reports some lost connections by message alone. */
const UNREACHABLE_MESSAGE =
  /^(Connection terminated|Client has encountered a connection error|Query read timeout|timeout e(xceeded|xpired))/i;

/** Connection exceptions; insufficient resources: a full disk, no memory, too many connections. */
const UNAVAILABLE_CLASSES = new Set(['08', '53']);

/** The database cannot be reached, is overloaded or has no room: our fault, and worth another try. */
export function isDatabaseUnavailable(error: unknown): boolean {
  const code = databaseErrorCode(error);
  if (code !== undefined) return UNREACHABLE.has(code) || UNAVAILABLE_CLASSES.has(code.slice(0, 2));
  return error instanceof Error && UNREACHABLE_MESSAGE.test(error.message);
}
