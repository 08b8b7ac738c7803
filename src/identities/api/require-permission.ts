import { applyDecorators, createParamDecorator, type ExecutionContext, SetMetadata } from '@nestjs/common';
import {
  ApiBearerAuth,
  ApiExtension,
  ApiForbiddenResponse,
  ApiHeader,
  ApiSecurity,
  ApiUnauthorizedResponse,
} from '@nestjs/swagger';
import { Problem } from '../../kernel/errors/problem.js';
import { ACCESS } from '../../kernel/http/access.js';
import type { AccountCaller, Caller, RunCaller, UserCaller } from '../domain/caller.js';
import type { Permission } from '../domain/permission.js';
import type { AuthenticatedRequest } from './access.guard.js';

const TEAM_HEADER = {
  name: 'X-Team-Uid',
  required: false,
  description: 'The team to act for, when the user belongs to several',
  schema: { type: 'string', format: 'uuid' },
} as const;

/** The route may be called with a key that has this permission. */
export const RequirePermission = (permission: Permission): MethodDecorator =>
  applyDecorators(
    SetMetadata(ACCESS, permission),
    ApiBearerAuth(),
    ApiExtension('x-required-permission', permission),
    ApiUnauthorizedResponse({ description: 'No API key, or one that is unknown, expired or revoked' }),
    ApiForbiddenResponse({ description: `The key has not the permission \`${permission}\`` }),
    ApiHeader(TEAM_HEADER),
  );

/** The route may be called without a key; with one, by whoever has this permission. What somebody without a key gets is the use case's to say. */
export const AnonymousOr = (permission: Permission): MethodDecorator =>
  applyDecorators(
    SetMetadata(ACCESS, { anonymousOr: permission }),
    ApiSecurity({}),
    ApiBearerAuth(),
    ApiUnauthorizedResponse({
      description: 'No API key where one is needed, or one that is unknown, expired or revoked',
    }),
    ApiHeader(TEAM_HEADER),
  );

/** Whoever the guard let through. */
export const CurrentCaller = createParamDecorator((_: unknown, context: ExecutionContext): Caller =>
  callerOf(context),
);

/** Whoever calls; undefined for somebody without a key. */
export const OptionalCaller = createParamDecorator(
  (_: unknown, context: ExecutionContext): Caller | undefined =>
    context.switchToHttp().getRequest<AuthenticatedRequest>().caller,
);

/** The person who calls. @throws Problem 403 for any other caller */
export const CurrentUser = createParamDecorator((_: unknown, context: ExecutionContext): UserCaller => {
  const caller = callerOf(context);
  if (caller.kind !== 'user')
    throw new Problem('not_authorized', { detail: 'This takes the API key of a user' });
  return caller;
});

/** Whoever calls with an account of their own: a person or an agent identity. @throws Problem 403 for a run's key */
export const CurrentAccount = createParamDecorator((_: unknown, context: ExecutionContext): AccountCaller => {
  const caller = callerOf(context);
  if (caller.kind === 'run') {
    throw new Problem('not_authorized', {
      detail: 'This takes the API key of a user or of an agent identity',
    });
  }
  return caller;
});

/** The execution that reports. @throws Problem 403 for any other caller */
export const CurrentExecution = createParamDecorator((_: unknown, context: ExecutionContext): RunCaller => {
  const caller = callerOf(context);
  if (caller.kind !== 'run')
    throw new Problem('not_authorized', { detail: "This takes a run's own API key" });
  return caller;
});

export function callerOf(context: ExecutionContext): Caller {
  const { caller } = context.switchToHttp().getRequest<AuthenticatedRequest>();
  if (caller === undefined) throw new Error('the guard has not identified the caller of this route');
  return caller;
}
